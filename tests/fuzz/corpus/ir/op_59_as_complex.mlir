"tessera.graph.func"() ({
^bb0(%a: tensor<?x2xf64>):
  %0 = "tessera.graph.as_complex"(%a)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
