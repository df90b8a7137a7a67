"tessera.graph.func"() ({
^bb0(%a: tensor<?x3xf32>, %b: tensor<4x3xf32>):
%0 = "tessera.graph.mul"(%a, %b)
"tessera.graph.return"(%0) : (tensor<4x3xf32>) -> ()
}) : () -> ()
