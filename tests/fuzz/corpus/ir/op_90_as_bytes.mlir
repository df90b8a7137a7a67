"tessera.graph.func"() ({
^bb0(%a: tensor<3x5xi4>):
  %0 = "tessera.graph.as_bytes"(%a)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
