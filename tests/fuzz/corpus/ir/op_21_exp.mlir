"tessera.graph.func"() ({
^bb0(%a: tensor<2xbf16>):
%0 = "tessera.graph.exp"(%a)
"tessera.graph.return"(%0) : (tensor<2xbf16>) -> ()
}) : () -> ()
