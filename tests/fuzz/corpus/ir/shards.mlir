"builtin.module"() ({
"tessera.graph.func"() ({
^bb0(%x: tensor<8x6xf32, {shard = ["dp+tp", "*"]}>, %w: tensor<6x4xf32, {shard = ["*", "tp"], partial = ["pp:max"]}>):
  %h = "tessera.graph.matmul"(%x, %w) : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32, {partial = ["dp"], shard = ["*", "tp"]}>
  %s = "tessera.graph.all_reduce"(%h) {axes = "dp", ranks = 2, reduction = "sum"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %g = "tessera.graph.all_gather"(%s) {axes = "tp", ranks = 2, dim = 1} : (tensor<8x4xf32>) -> tensor<8x8xf32>
  %m = "tessera.graph.send"(%g) {axes = "pp", ranks = 3, shift = -1} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "tessera.graph.recv"(%m) {axes = "pp", ranks = 3} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %k = "tessera.graph.shard_mask"(%r) {axes = "tp", ranks = 2, dim = 0, extent = 13} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  "tessera.graph.return"(%k) : (tensor<8x8xf32>) -> ()
}) {sym_name = "main", mesh = "tp=2,dp=2,pp=3"} : () -> ()
}) : () -> ()
