// gelu(A B + b), then softmax of each row: two kernels. The guides in docs/ show what becomes of it.
"builtin.module"() ({
  "tessera.graph.func"() ({
  ^bb0(%A: tensor<64x64xf32>, %B: tensor<64x64xf32>, %b: tensor<64xf32>):
    %0 = "tessera.graph.matmul"(%A, %B) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = "tessera.graph.add"(%0, %b) : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
    %2 = "tessera.graph.gelu"(%1) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = "tessera.graph.softmax"(%2) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    "tessera.graph.return"(%3) : (tensor<64x64xf32>) -> ()
  }) {sym_name = "main"} : () -> ()
}) : () -> ()
