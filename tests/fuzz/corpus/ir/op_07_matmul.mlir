"tessera.graph.func"() ({
^bb0(%a: tensor<4x0xf32>, %b: tensor<0x6xf32>):
%0 = "tessera.graph.matmul"(%a, %b)
"tessera.graph.return"(%0) : (tensor<4x6xf32>) -> ()
}) : () -> ()
