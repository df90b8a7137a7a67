"tessera.graph.func"() ({
^bb0(%a: tensor<4x5xf32>, %l: tensor<4xi64>, %b: tensor<4x5xf32>):
%0 = "tessera.graph.cross_entropy"(%a, %l) {reduction = "none", ignore_index = -100}
%1 = "tessera.graph.cross_entropy"(%a, %b) {axis = 0}
"tessera.graph.return"(%0, %1) : (tensor<4xf32>, tensor<f32>) -> ()
}) : () -> ()
