"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x8x8xf32>, %w: tensor<3x4x4x3xcomplex<f32>>):
%0 = "tessera.graph.spectral_conv"(%a, %w)
"tessera.graph.return"(%0)
}) {sym_name = "main"} : () -> ()
