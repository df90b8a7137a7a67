"tessera.graph.func"() ({
^bb0(%a: tensor<2x1xf16>, %b: tensor<3xf16>):
  %0 = "tessera.graph.complex"(%a, %b)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
