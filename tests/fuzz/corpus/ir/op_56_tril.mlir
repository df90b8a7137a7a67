"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x3xf32>):
%0 = "tessera.graph.tril"(%a) {diagonal = 1}
%1 = "tessera.graph.softmax"(%0)
"tessera.graph.return"(%1) : (tensor<2x3x3xf32>) -> ()
}) : () -> ()
