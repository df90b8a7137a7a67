"tessera.graph.func"() ({
^bb0(%a: tensor<f32>, %b: tensor<0x3xf32>):
%0 = "tessera.graph.sub"(%a, %b)
"tessera.graph.return"(%0) : (tensor<0x3xf32>) -> ()
}) : () -> ()
