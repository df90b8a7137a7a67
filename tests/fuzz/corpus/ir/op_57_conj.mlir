"tessera.graph.func"() ({
^bb0(%a: tensor<2xcomplex<f32>>):
  %0 = "tessera.graph.conj"(%a)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
