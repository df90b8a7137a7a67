"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xf32>):
%0 = "tessera.graph.transpose"(%a)
"tessera.graph.return"(%0) : (tensor<4x3x2xf32>) -> ()
}) : () -> ()
