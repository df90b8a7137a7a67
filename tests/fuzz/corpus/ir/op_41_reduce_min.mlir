"tessera.graph.func"() ({
^bb0(%a: tensor<2x?x4xf32>):
%0 = "tessera.graph.reduce_min"(%a) {axes = [0]}
"tessera.graph.return"(%0) : (tensor<?x4xf32>) -> ()
}) : () -> ()
