"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xf32>):
%0 = "tessera.graph.reduce_mean"(%a) {axes = [1], keepdims = true}
"tessera.graph.return"(%0) : (tensor<2x1x4xf32>) -> ()
}) : () -> ()
