// Residual, norm and statistics in one pass over the rows; two results; an identity that the rewrites take out.
"builtin.module"() ({
  "tessera.graph.func"() ({
  ^bb0(%X: tensor<300x1000xbf16>, %R: tensor<300x1000xbf16>, %G: tensor<1000xbf16>, %B: tensor<1000xbf16>):
    %one = "tessera.graph.constant"() {value = dense<1.0> : tensor<bf16>}
    %0 = "tessera.graph.add"(%X, %R)
    %1 = "tessera.graph.mul"(%0, %one)
    %2 = "tessera.graph.layernorm"(%1, %G, %B)
    %3 = "tessera.graph.cast"(%2) {dtype = "f32"}
    %4 = "tessera.graph.mul"(%3, %3)
    %5 = "tessera.graph.reduce_max"(%4) {axes = [1]}
    "tessera.graph.return"(%2, %5)
  }) {sym_name = "norms"}
}) : () -> ()
