"tessera.graph.func"() ({
^bb0(%a: tensor<4x5xf32>, %w: tensor<5x6xf32>, %u: tensor<6x2xf32>, %b: tensor<6xf32>):
%q, %k, %v = "tessera.graph.qkv_projection"(%a, %w, %b) {sizes = [3, 1, 2]}
%0 = "tessera.graph.factorized_matmul"(%a, %w, %u)
"tessera.graph.return"(%q, %0) : (tensor<4x3xf32>, tensor<4x2xf32>) -> ()
}) : () -> ()
