"tessera.graph.func"() ({
^bb0(%a: tensor<4x5xf32>, %b: tensor<4x5xf32>):
%0 = "tessera.graph.mse"(%a, %b) {reduction = "none"}
%1 = "tessera.graph.kl"(%0, %b) {reduction = "sum", log_target = true}
%2 = "tessera.graph.kl"(%a, %b)
"tessera.graph.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
}) : () -> ()
