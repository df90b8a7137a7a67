"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xf32>):
%0 = "tessera.graph.reduce_sum"(%a) {axes = [0, -1]}
"tessera.graph.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()
