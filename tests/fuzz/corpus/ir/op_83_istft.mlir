"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xcomplex<f64>>):
  %0 = "tessera.graph.istft"(%a) {hop = 2}
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
