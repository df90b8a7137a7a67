"tessera.graph.func"() ({
^bb0(%a: tensor<2xf32>):
%0 = "tessera.graph.silu"(%a)
"tessera.graph.return"(%0) : (tensor<2xf32>) -> ()
}) : () -> ()
