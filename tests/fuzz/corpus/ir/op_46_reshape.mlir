"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xf32>):
%0 = "tessera.graph.reshape"(%a) {shape = [4, -1]}
"tessera.graph.return"(%0) : (tensor<4x6xf32>) -> ()
}) : () -> ()
