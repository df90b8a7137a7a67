"tessera.graph.func"() ({
^bb0(%a: tensor<?x5xf32>, %b: tensor<?x6xf32>):
%0 = "tessera.graph.matmul"(%a, %b)
"tessera.graph.return"(%0) : (tensor<?x6xf32>) -> ()
}) : () -> ()
