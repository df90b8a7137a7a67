"tessera.graph.func"() ({
^bb0(%a: tensor<2xi8>, %b: tensor<2xi8>):
%0 = "tessera.graph.min"(%a, %b)
"tessera.graph.return"(%0) : (tensor<2xi8>) -> ()
}) : () -> ()
