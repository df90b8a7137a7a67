"tessera.graph.func"() ({
^bb0(%a: tensor<9x?xf32>):
%0 = "tessera.graph.slice"(%a) {starts = [1, 2], sizes = [4, -1], strides = [2, 1]}
"tessera.graph.return"(%0) : (tensor<4x?xf32>) -> ()
}) : () -> ()
