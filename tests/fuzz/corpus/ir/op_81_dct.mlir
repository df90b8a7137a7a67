"tessera.graph.func"() ({
^bb0(%a: tensor<3x7xf32>):
  %0 = "tessera.graph.dct"(%a) {type = 3, norm = "ortho"}
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
