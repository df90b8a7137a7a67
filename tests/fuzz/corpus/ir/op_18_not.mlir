"tessera.graph.func"() ({
^bb0(%a: tensor<2xi1>):
%0 = "tessera.graph.not"(%a)
"tessera.graph.return"(%0) : (tensor<2xi1>) -> ()
}) : () -> ()
