"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xf32>):
%0 = "tessera.graph.reduce_prod"(%a) {axes = [], keepdims = true}
"tessera.graph.return"(%0) : (tensor<1x1xf32>) -> ()
}) : () -> ()
