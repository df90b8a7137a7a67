"tessera.graph.func"() ({
^bb0(%a: tensor<5x4xbf16>, %b: tensor<6x5xbf16>):
%0 = "tessera.graph.matmul"(%a, %b) {transpose_a = true, transpose_b, accum_dtype = "f32", tile_shape = [64, 64, 32]}
"tessera.graph.return"(%0) : (tensor<4x6xbf16>) -> ()
}) : () -> ()
