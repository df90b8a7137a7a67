"tessera.graph.func"() ({
^bb0(%a: tensor<1x3x9x7xf32>):
%0 = "tessera.graph.max_pool"(%a) {kernel = [3, 2], strides = [2, 1], padding = "same"}
%1 = "tessera.graph.average_pool"(%0) {kernel = [2, 2], low = [1, 0], high = [0, 1], dilations = [2, 1], ceil_mode = true, count_include_pad = true}
%2 = "tessera.graph.average_pool"(%1) {layout = "nhwc"}
"tessera.graph.return"(%2) : (tensor<1x1x1x7xf32>) -> ()
}) : () -> ()
