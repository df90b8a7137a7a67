"builtin.module"() ({
"tessera.graph.func"() ({
^bb0(%x: tensor<8x6xf32, {layout = [1, 0], shard = ["dp", "*"]}>, %i: tensor<1x0x3xi4, {layout = [2, 0, 1]}>, %s: tensor<f32, {layout = []}>):
  %y = "tessera.graph.exp"(%x) : (tensor<8x6xf32>) -> tensor<8x6xf32, {partial = ["dp"], shard = ["*", "*"], layout = [0, 1]}>
  %z = "tessera.graph.neg"(%x) : (tensor<8x6xf32, {layout = [1, 0]}>) -> tensor<8x6xf32, {layout = [1, 0]}>
  "tessera.graph.return"(%x, %y, %z, %i, %s) : (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<1x0x3xi4>, tensor<f32>) -> ()
}) {sym_name = "main"} : () -> ()
}) : () -> ()
