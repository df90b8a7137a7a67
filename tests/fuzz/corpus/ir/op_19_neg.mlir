"tessera.graph.func"() ({
^bb0(%a: tensor<2xf16>):
%0 = "tessera.graph.neg"(%a)
"tessera.graph.return"(%0) : (tensor<2xf16>) -> ()
}) : () -> ()
