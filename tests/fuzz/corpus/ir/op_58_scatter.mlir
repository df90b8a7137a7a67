"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xi8>, %i: tensor<5x3xi32>, %u: tensor<5x3xi8>):
%0 = "tessera.graph.scatter"(%a, %i, %u)
"tessera.graph.return"(%0) : (tensor<2x3xi8>) -> ()
}) : () -> ()
