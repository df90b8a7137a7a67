"tessera.graph.func"() ({
^bb0(%a: tensor<2xi32>, %b: tensor<2xi32>):
%0 = "tessera.graph.or"(%a, %b)
"tessera.graph.return"(%0) : (tensor<2xi32>) -> ()
}) : () -> ()
