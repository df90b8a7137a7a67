"builtin.module"() ({
  "tessera.schedule.program"() ({
  ^bb0(%A: tensor<4x4xf32>):
    %0:2 = "tessera.schedule.kernel"(%A) ({
    ^bb0(%a: tensor<4x4xf32>):
      "tessera.schedule.tile"(%a) {m = 4, n = 4} : (tensor<4x4xf32>) -> ()
      "tessera.schedule.vectorize"() {n = 4}
      "tessera.schedule.use_shared_memory"() {enable, padding = 1}
      "tessera.schedule.async_copy"() {enable = false}
      "tessera.schedule.pipeline_stages"() {n = 3}
      "tessera.schedule.legalized"() {original = "x", reason = "y"}
      %m = "tessera.graph.exp"(%a)
      %n = "tessera.graph.neg"(%m)
      "tessera.schedule.yield"(%m, %n)
    }) {sym_name = "k", family = "elementwise", space = [16]} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
    "tessera.schedule.return"(%0#1) : (tensor<4x4xf32>) -> ()
  }) {sym_name = "main"} : () -> ()
}) : () -> ()
