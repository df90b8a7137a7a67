"tessera.graph.func"() ({
^bb0(%x: tensor<3x5xf32>, %h: tensor<2xf32>, %s: tensor<f32>, %c: tensor<i32>, %k: tensor<2xi32>, %n: tensor<4xi32>):
%0, %1 = "tessera.graph.quantize"(%x) {scales = "block", block = 2, powers_of_two = true} : (tensor<3x5xf32>) -> (tensor<3x5xf8E4M3FN>, tensor<3x3xf32>)
%2 = "tessera.graph.rescale"(%0, %1) {scales = "block", block = 2, dtype = "bf16"} : (tensor<3x5xf8E4M3FN>, tensor<3x3xf32>) -> tensor<3x5xbf16>
%3, %4, %5 = "tessera.graph.quantize_delayed"(%x, %h) {dtype = "fp8_e5m2", margin = 1} : (tensor<3x5xf32>, tensor<2xf32>) -> (tensor<3x5xf8E5M2>, tensor<f32>, tensor<2xf32>)
%6 = "tessera.graph.fake_quantize"(%x, %4) {dtype = "f16"} : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
%7 = "tessera.graph.stochastic_cast"(%6, %k, %n) {dtype = "bf16"} : (tensor<3x5xf32>, tensor<2xi32>, tensor<4xi32>) -> tensor<3x5xbf16>
%8, %9, %10, %11 = "tessera.graph.loss_scale"(%s, %c, %2) {interval = 3} : (tensor<f32>, tensor<i32>, tensor<3x5xbf16>) -> (tensor<f32>, tensor<i32>, tensor<i1>, tensor<3x5xf32>)
%12 = "tessera.graph.sgd"(%7, %11, %8, %k, %n) : (tensor<3x5xbf16>, tensor<3x5xf32>, tensor<f32>, tensor<2xi32>, tensor<4xi32>) -> tensor<3x5xbf16>
"tessera.graph.return"(%3, %5, %9, %10, %12) : (tensor<3x5xf8E5M2>, tensor<2xf32>, tensor<i32>, tensor<i1>, tensor<3x5xbf16>) -> ()
}) : () -> ()
