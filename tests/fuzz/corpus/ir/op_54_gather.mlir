"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xf32>, %i: tensor<5x6xi32>):
%0 = "tessera.graph.gather"(%a, %i) {axis = 1}
"tessera.graph.return"(%0) : (tensor<2x5x6x4xf32>) -> ()
}) : () -> ()
