"tessera.graph.func"() ({
^bb0(%a: tensor<5x4xcomplex<f32>>):
  %0 = "tessera.graph.irfft"(%a) {n = 7}
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
