"tessera.graph.func"() ({
^bb0(%c: tensor<2x1xi1>, %a: tensor<3xf16>, %b: tensor<f16>):
%0 = "tessera.graph.where"(%c, %a, %b)
"tessera.graph.return"(%0) : (tensor<2x3xf16>) -> ()
}) : () -> ()
