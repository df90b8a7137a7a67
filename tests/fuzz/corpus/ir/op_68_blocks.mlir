"tessera.graph.func"() ({
^bb0(%a: tensor<1x8x2x3xi8>):
%0 = "tessera.graph.depth_to_space"(%a) {block = 2, order = "crd"}
%1 = "tessera.graph.space_to_depth"(%0) {block = 2, layout = "nchw"}
"tessera.graph.return"(%1) : (tensor<1x8x2x3xi8>) -> ()
}) : () -> ()
