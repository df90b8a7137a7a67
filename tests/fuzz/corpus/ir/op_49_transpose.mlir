"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xf32>):
%0 = "tessera.graph.transpose"(%a) {perm = [0, -1, 1]}
"tessera.graph.return"(%0) : (tensor<2x4x3xf32>) -> ()
}) : () -> ()
