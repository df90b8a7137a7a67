"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xf32>, %i: tensor<2x5xi64>, %u: tensor<2x5xf32>):
%0 = "tessera.graph.scatter_add"(%a, %i, %u) {axis = -1}
"tessera.graph.return"(%0) : (tensor<2x3xf32>) -> ()
}) : () -> ()
