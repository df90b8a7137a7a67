"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xf16>, %i: tensor<2x7xi64>):
%0 = "tessera.graph.gather_elements"(%a, %i) {axis = 1}
"tessera.graph.return"(%0) : (tensor<2x7xf16>) -> ()
}) : () -> ()
