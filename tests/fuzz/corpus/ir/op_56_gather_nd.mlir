"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xf32>, %i: tensor<2x5x1xi32>):
%0 = "tessera.graph.gather_nd"(%a, %i) {batch_dims = 1}
"tessera.graph.return"(%0) : (tensor<2x5x4xf32>) -> ()
}) : () -> ()
