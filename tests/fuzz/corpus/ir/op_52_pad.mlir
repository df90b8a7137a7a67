"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xf32>):
%0 = "tessera.graph.pad"(%a) {low = [1, 0], high = [0, 2], value = -1}
"tessera.graph.return"(%0) : (tensor<3x5xf32>) -> ()
}) : () -> ()
