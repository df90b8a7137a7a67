"tessera.graph.func"() ({
^bb0(%a: tensor<3x10xui8>):
  %0 = "tessera.graph.as_f16"(%a)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
