"tessera.graph.func"() ({
^bb0(%a: tensor<2x1xcomplex<f32>>, %b: tensor<3xcomplex<f32>>):
  %0 = "tessera.graph.mul"(%a, %b)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
