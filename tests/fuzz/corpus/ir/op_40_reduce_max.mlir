"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xi32>):
%0 = "tessera.graph.reduce_max"(%a)
"tessera.graph.return"(%0) : (tensor<i32>) -> ()
}) : () -> ()
