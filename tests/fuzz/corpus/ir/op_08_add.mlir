"tessera.graph.func"() ({
^bb0(%a: tensor<4x1xf32>, %b: tensor<3xf32>):
%0 = "tessera.graph.add"(%a, %b)
"tessera.graph.return"(%0) : (tensor<4x3xf32>) -> ()
}) : () -> ()
