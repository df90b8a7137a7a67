"tessera.graph.func"() ({
^bb0(%c: tensor<2x1xi1>, %a: tensor<3xf32>, %b: tensor<f32>):
%0 = "tessera.graph.select"(%c, %a, %b)
"tessera.graph.return"(%0) : (tensor<2x3xf32>) -> ()
}) : () -> ()
