"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xf32>, %i: tensor<5x2xi32>, %u: tensor<5x4xf32>):
%0 = "tessera.graph.scatter_nd"(%a, %i, %u) {reduction = "add"}
"tessera.graph.return"(%0) : (tensor<2x3x4xf32>) -> ()
}) : () -> ()
