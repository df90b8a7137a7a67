"tessera.graph.func"() ({
^bb0(%a: tensor<2x6xf32>):
%0, %1 = "tessera.graph.split"(%a) {axis = 1, sizes = [2, 4]}
%2:3 = "tessera.graph.split"(%a) {axis = -1}
"tessera.graph.return"(%1, %0, %2#1) : (tensor<2x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> ()
}) : () -> ()
