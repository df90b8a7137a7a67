"tessera.graph.func"() ({
^bb0(%a: tensor<2x4x3xf32>, %b: tensor<4xf32>):
%0 = "tessera.graph.group_norm"(%a, %b) {groups = 2}
%1 = "tessera.graph.instance_norm"(%0, %b, %b)
"tessera.graph.return"(%1) : (tensor<2x4x3xf32>) -> ()
}) : () -> ()
