"tessera.graph.func"() ({
^bb0(%a: tensor<4x5xf8E4M3FN>, %b: tensor<5x6xbf16>):
%0 = "tessera.graph.matmul"(%a, %b)
"tessera.graph.return"(%0) : (tensor<4x6xbf16>) -> ()
}) : () -> ()
