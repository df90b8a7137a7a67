"tessera.graph.func"() ({
^bb0(%a: tensor<2xi64>, %b: tensor<2xi64>):
%0 = "tessera.graph.max"(%a, %b)
"tessera.graph.return"(%0) : (tensor<2xi64>) -> ()
}) : () -> ()
