"tessera.graph.func"() ({
^bb0(%a: tensor<2xui16>):
  %0 = "tessera.graph.as_signed"(%a)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
