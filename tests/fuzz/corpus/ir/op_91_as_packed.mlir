"tessera.graph.func"() ({
^bb0(%a: tensor<8xui8>):
  %0 = "tessera.graph.as_packed"(%a) {shape = [3, 5], dtype = "u4"}
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
