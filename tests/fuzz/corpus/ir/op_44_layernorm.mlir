"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xbf16>, %g: tensor<3xf32>, %b: tensor<3xbf16>):
%0 = "tessera.graph.layernorm"(%a, %g, %b) {eps = 0.001}
"tessera.graph.return"(%0) : (tensor<2x3xbf16>) -> ()
}) : () -> ()
