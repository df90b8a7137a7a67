"tessera.graph.func"() ({
^bb0(%a: tensor<2x?xf32>):
%0 = "tessera.graph.cast"(%a) {dtype = "fp8_e5m2"}
"tessera.graph.return"(%0) : (tensor<2x?xf8E5M2>) -> ()
}) : () -> ()
