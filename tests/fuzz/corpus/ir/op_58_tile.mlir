"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xf32>):
%0 = "tessera.graph.tile"(%a) {repeats = [2, 3]}
"tessera.graph.return"(%0) : (tensor<4x9xf32>) -> ()
}) : () -> ()
