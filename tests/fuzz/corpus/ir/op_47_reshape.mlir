"tessera.graph.func"() ({
^bb0(%a: tensor<?x4xf32>):
%0 = "tessera.graph.reshape"(%a) {shape = [-1, 2]}
"tessera.graph.return"(%0) : (tensor<?x2xf32>) -> ()
}) : () -> ()
