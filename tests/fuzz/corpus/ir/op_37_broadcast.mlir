"tessera.graph.func"() ({
^bb0(%a: tensor<2x1xf32>):
%0 = "tessera.graph.broadcast"(%a) {shape = [3, -1, 4]}
"tessera.graph.return"(%0) : (tensor<3x2x4xf32>) -> ()
}) : () -> ()
