"tessera.graph.func"() ({
^bb0(%a: tensor<1x4x9x7xf32>, %w: tensor<6x2x3x2xf32>, %b: tensor<6xf32>, %v: tensor<6x2x2x2xf32>, %l: tensor<3x4x2xf32>, %m: tensor<3x2x1x3x1xf32>):
%0 = "tessera.graph.conv2d"(%a, %w, %b) {groups = 2, strides = [2, 1], padding = "same"}
%1 = "tessera.graph.conv_transpose"(%0, %v) {strides = [1, 2], low = [1, 0], output_padding = [0, 1]}
%2 = "tessera.graph.patches"(%1) {kernel = [2, 2], dilations = [2, 1], groups = 2, flat = true}
%3 = "tessera.graph.conv1d"(%2, %l) {layout = "nhwc", low = [2]}
%4 = "tessera.graph.reshape"(%3) {shape = [1, 2, 2, 21, 2]}
%5 = "tessera.graph.conv3d"(%4, %m) {strides = [1, 2, 1]}
"tessera.graph.return"(%5) : (tensor<1x3x2x10x2xf32>) -> ()
}) : () -> ()
