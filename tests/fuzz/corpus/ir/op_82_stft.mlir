"tessera.graph.func"() ({
^bb0(%a: tensor<2x20xf32>, %b: tensor<6xf32>):
  %0 = "tessera.graph.stft"(%a, %b) {size = 6, hop = 4}
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
