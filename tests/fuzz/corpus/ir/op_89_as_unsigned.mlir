"tessera.graph.func"() ({
^bb0(%a: tensor<i64>):
  %0 = "tessera.graph.as_unsigned"(%a)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
