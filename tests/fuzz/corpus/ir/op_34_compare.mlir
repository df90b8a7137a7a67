"tessera.graph.func"() ({
^bb0(%a: tensor<2x1xf32>, %b: tensor<3xf32>):
%0 = "tessera.graph.compare"(%a, %b) {predicate = "le"}
"tessera.graph.return"(%0) : (tensor<2x3xi1>) -> ()
}) : () -> ()
