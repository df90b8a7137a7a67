"tessera.graph.func"() ({
^bb0(%x: tensor<2x64xf32>, %w: tensor<3x40xui8>, %k: tensor<2x256xf32>, %v: tensor<5x210xui8>):
%0 = "tessera.graph.dequantize"(%w) {format = "q4_1"}
%1 = "tessera.graph.matmul"(%x, %0) {transpose_b = true}
%2 = "tessera.graph.block_matmul"(%x, %w) {format = "q4_1", activations = "q8_1"}
%3 = "tessera.graph.block_matmul"(%k, %v) {format = "q6_k", activations = "q8_0"}
"tessera.graph.return"(%1, %2, %3) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x5xf32>) -> ()
}) : () -> ()
