"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xf32>, %p: tensor<3xi32>, %c: tensor<3x2xf32>):
%0 = "tessera.graph.rope"(%a) {base = 500.0}
%1 = "tessera.graph.rope"(%0, %p) {interleaved = true}
%2 = "tessera.graph.rope"(%1, %c, %c)
"tessera.graph.return"(%2) : (tensor<2x3x4xf32>) -> ()
}) : () -> ()
