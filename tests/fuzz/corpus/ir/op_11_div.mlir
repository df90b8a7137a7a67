"tessera.graph.func"() ({
^bb0(%a: tensor<?x1xf32>, %b: tensor<1x3xf32>):
%0 = "tessera.graph.div"(%a, %b)
"tessera.graph.return"(%0) : (tensor<?x3xf32>) -> ()
}) : () -> ()
