"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xf32>):
%0 = "tessera.graph.rmsnorm"(%a)
"tessera.graph.return"(%0) : (tensor<2x3xf32>) -> ()
}) : () -> ()
