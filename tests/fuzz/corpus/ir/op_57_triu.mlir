"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xi8>):
%0 = "tessera.graph.triu"(%a)
"tessera.graph.return"(%0) : (tensor<2x3xi8>) -> ()
}) : () -> ()
