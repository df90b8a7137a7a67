"tessera.graph.func"() ({
^bb0(%a: tensor<2xf64>, %b: tensor<2xf64>):
%0 = "tessera.graph.pow"(%a, %b)
"tessera.graph.return"(%0) : (tensor<2xf64>) -> ()
}) : () -> ()
