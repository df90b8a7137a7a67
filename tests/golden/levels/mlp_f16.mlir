// A product with bias and activation, then a second product added to the input: prologue, epilogue, residual.
"builtin.module"() ({
  "tessera.graph.func"() ({
  ^bb0(%X: tensor<200x256xf16>, %W: tensor<256x512xf16>, %B: tensor<512xf16>, %V: tensor<512x256xf16>):
    %0 = "tessera.graph.matmul"(%X, %W) {tile_shape = [64, 128, 32]}
    %1 = "tessera.graph.add"(%0, %B)
    %2 = "tessera.graph.gelu"(%1)
    %3 = "tessera.graph.matmul"(%2, %V)
    %4 = "tessera.graph.add"(%3, %X)
    "tessera.graph.return"(%4)
  }) {sym_name = "mlp"}
}) : () -> ()
