"tessera.graph.func"() ({
^bb0(%a: tensor<3x20x6x2xf32>):
  %0 = "tessera.graph.dft"(%a) {axis = 1, twiddle = true}
  %1 = "tessera.graph.dft"(%0) {axis = 2, to = 0, inverse = true, scale = 0.25}
  "tessera.graph.return"(%1)
}) {sym_name = "main"}
