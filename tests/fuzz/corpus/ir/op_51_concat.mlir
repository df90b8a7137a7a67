"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xf32>, %b: tensor<2x?xf32>, %c: tensor<2x1xf32>):
%0 = "tessera.graph.concat"(%a, %b, %c) {axis = -1}
"tessera.graph.return"(%0) : (tensor<2x?xf32>) -> ()
}) : () -> ()
