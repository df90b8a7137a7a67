"tessera.graph.func"() ({
^bb0(%a: tensor<5x6xf32>):
  %0 = "tessera.graph.rfft"(%a)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
