"tessera.graph.func"() ({
^bb0():
  %0 = "tessera.graph.constant"() {value = dense<[(1.0, 2.0), (0x7FC00000, -3.5)]> : tensor<2xcomplex<f32>>}
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
