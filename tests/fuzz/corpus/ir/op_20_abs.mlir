"tessera.graph.func"() ({
^bb0(%a: tensor<2xi32>):
%0 = "tessera.graph.abs"(%a)
"tessera.graph.return"(%0) : (tensor<2xi32>) -> ()
}) : () -> ()
