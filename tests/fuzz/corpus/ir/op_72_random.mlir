"tessera.graph.func"() ({
^bb0(%k: tensor<2xi32>, %c: tensor<4xi32>, %x: tensor<3x5xf16>):
%0 = "tessera.graph.rng_uniform"(%k, %c) {shape = [6], dtype = "i32"} : (tensor<2xi32>, tensor<4xi32>) -> tensor<6xi32>
%1 = "tessera.graph.rng_normal"(%k) {shape = [3, 5]} : (tensor<2xi32>) -> tensor<3x5xf32>
%2 = "tessera.graph.dropout"(%x, %k, %c) {p = 0.25} : (tensor<3x5xf16>, tensor<2xi32>, tensor<4xi32>) -> tensor<3x5xf16>
%3 = "tessera.graph.mul_high"(%0, %0) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
"tessera.graph.return"(%3, %1, %2) : (tensor<6xi32>, tensor<3x5xf32>, tensor<3x5xf16>) -> ()
}) : () -> ()
