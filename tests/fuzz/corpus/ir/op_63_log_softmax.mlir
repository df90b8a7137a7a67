"tessera.graph.func"() ({
^bb0(%a: tensor<3x?xf16>):
%0 = "tessera.graph.log_softmax"(%a) {axis = 0}
%1 = "tessera.graph.logsumexp"(%0) {axes = [1], keepdims = true}
"tessera.graph.return"(%0, %1) : (tensor<3x?xf16>, tensor<3x1xf16>) -> ()
}) : () -> ()
