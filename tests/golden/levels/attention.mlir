// Scaled dot-product attention from its parts over batched heads, with a mask.
"builtin.module"() ({
  "tessera.graph.func"() ({
  ^bb0(%Q: tensor<4x96x64xf32>, %K: tensor<4x96x64xf32>, %V: tensor<4x96x64xf32>, %M: tensor<96x96xi1>):
    %s = "tessera.graph.constant"() {value = dense<0.125> : tensor<f32>}
    %low = "tessera.graph.constant"() {value = dense<-1.0e30> : tensor<f32>}
    %0 = "tessera.graph.matmul"(%Q, %K) {transpose_b = true}
    %1 = "tessera.graph.mul"(%0, %s)
    %2 = "tessera.graph.select"(%M, %1, %low)
    %3 = "tessera.graph.softmax"(%2)
    %4 = "tessera.graph.matmul"(%3, %V)
    %5 = "tessera.graph.transpose"(%4) {perm = [1, 0, 2]}
    %6 = "tessera.graph.reshape"(%5) {shape = [96, 256]}
    "tessera.graph.return"(%6)
  }) {sym_name = "attention"}
}) : () -> ()
