"tessera.graph.func"() ({
^bb0(%a: tensor<2xcomplex<f64>>):
  %0 = "tessera.graph.abs"(%a)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
