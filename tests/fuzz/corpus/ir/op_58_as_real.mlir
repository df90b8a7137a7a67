"tessera.graph.func"() ({
^bb0(%a: tensor<complex<f32>>):
  %0 = "tessera.graph.as_real"(%a)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
