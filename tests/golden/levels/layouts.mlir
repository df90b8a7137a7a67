"tessera.graph.func"() ({
^bb0(%x: tensor<48x64xf16, {layout = [1, 0]}>, %w: tensor<64x32xf16>, %i: tensor<2x8x4x6xf32, {layout = [0, 2, 3, 1]}>):
  %y = "tessera.graph.matmul"(%x, %w)
  %z = "tessera.graph.relu"(%y) : (tensor<48x32xf16>) -> tensor<48x32xf16, {layout = [1, 0]}>
  %j = "tessera.graph.exp"(%i) : (tensor<2x8x4x6xf32>) -> tensor<2x8x4x6xf32, {layout = [0, 2, 3, 1]}>
  "tessera.graph.return"(%z, %j) : (tensor<48x32xf16>, tensor<2x8x4x6xf32>) -> ()
}) : () -> ()
