"tessera.graph.func"() ({
^bb0(%a: tensor<?x3xcomplex<f64>>):
  %0 = "tessera.graph.real"(%a)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
