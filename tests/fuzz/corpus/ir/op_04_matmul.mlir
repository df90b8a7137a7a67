"tessera.graph.func"() ({
^bb0(%a: tensor<4x5xui8>, %b: tensor<5x6xi8>):
%0 = "tessera.graph.matmul"(%a, %b)
"tessera.graph.return"(%0) : (tensor<4x6xi32>) -> ()
}) : () -> ()
