"tessera.graph.func"() ({
^bb0(%a: tensor<1x1x4x4xf32>, %g: tensor<1x2x3x2xf32>):
%0 = "tessera.graph.grid_sample"(%a, %g)
"tessera.graph.return"(%0)
}) {sym_name = "main"} : () -> ()
