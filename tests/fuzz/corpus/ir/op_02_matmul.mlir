"tessera.graph.func"() ({
^bb0(%a: tensor<7x1x4x5xf16>, %b: tensor<3x5x6xf16>):
%0 = "tessera.graph.matmul"(%a, %b) {out_dtype = "f32"}
"tessera.graph.return"(%0) : (tensor<7x3x4x6xf32>) -> ()
}) : () -> ()
