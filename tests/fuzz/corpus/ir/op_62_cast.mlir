"tessera.graph.func"() ({
^bb0(%a: tensor<2xi32>):
  %0 = "tessera.graph.cast"(%a) {dtype = "complex64"}
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
