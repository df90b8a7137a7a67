"tessera.graph.func"() ({
^bb0(%x: tensor<3x5xf32>, %g: tensor<3x5xbf16>, %m: tensor<3x5xf32>, %r: tensor<f32>, %s: tensor<i32>):
%0, %n = "tessera.graph.clip_by_global_norm"(%g) {max_norm = 0.5} : (tensor<3x5xbf16>) -> (tensor<3x5xbf16>, tensor<f32>)
%1, %2, %3 = "tessera.graph.adamw"(%x, %0, %m, %m, %r, %s) {beta2 = 0.99} : (tensor<3x5xf32>, tensor<3x5xbf16>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<f32>, tensor<i32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
%4, %5 = "tessera.graph.sgd"(%1, %0, %n, %m) {momentum = 0.9} : (tensor<3x5xf32>, tensor<3x5xbf16>, tensor<f32>, tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>)
%6 = "tessera.graph.global_norm"(%4, %5) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<f32>
%7, %8 = "tessera.graph.check_numerics"(%2, %3, %6) : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<f32>) -> (tensor<i32>, tensor<i32>)
"tessera.graph.return"(%4, %7, %8) : (tensor<3x5xf32>, tensor<i32>, tensor<i32>) -> ()
}) : () -> ()
