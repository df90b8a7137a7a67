"tessera.graph.func"() ({
^bb0(%a: tensor<4x3x2xcomplex<f64>>):
  %0 = "tessera.graph.ifft"(%a) {axes = [0, 2]}
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
