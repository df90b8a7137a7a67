"tessera.graph.func"() ({
^bb0(%q: tensor<1x4x5x8xf32>, %k: tensor<1x2x6x8xf32>, %v: tensor<1x2x6x3xf32>, %y: tensor<1x4x5x3xf32>, %l: tensor<1x4x5xf32>, %s: tensor<1x4x5xf32>, %m: tensor<5x6xi1>):
%0, %1, %2 = "tessera.graph.flash_attention_backward"(%q, %k, %v, %y, %l, %s, %m) {causal = true, window = 4, softcap = 9.0, scale = 0.5}
"tessera.graph.return"(%0, %1, %2) : (tensor<1x4x5x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32>) -> ()
}) : () -> ()
