"tessera.graph.func"() ({
^bb0(%a: tensor<2xi1>, %b: tensor<2xi1>):
%0 = "tessera.graph.and"(%a, %b)
"tessera.graph.return"(%0) : (tensor<2xi1>) -> ()
}) : () -> ()
