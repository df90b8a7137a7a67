"tessera.graph.func"() ({
^bb0(%a: tensor<100x8xbf16>, %i: tensor<2x5xi32>):
%0 = "tessera.graph.embedding"(%a, %i)
"tessera.graph.return"(%0) : (tensor<2x5x8xbf16>) -> ()
}) : () -> ()
