"tessera.graph.func"() ({
^bb0(%a: tensor<5x4xcomplex<f32>>, %b: tensor<4xcomplex<f32>>):
  %0 = "tessera.graph.pointwise_mul"(%a, %b)
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
