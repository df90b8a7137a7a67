"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xbf16>, %b: tensor<3xf32>):
%0 = "tessera.graph.batch_norm"(%a, %b, %b, %b, %b) {axis = -2, eps = 0.1}
"tessera.graph.return"(%0) : (tensor<2x3x4xbf16>) -> ()
}) : () -> ()
