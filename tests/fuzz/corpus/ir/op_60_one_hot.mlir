"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xi64>):
%0 = "tessera.graph.one_hot"(%a) {depth = 4, axis = 1, on = 2.0, off = -1.0, dtype = "bf16"}
"tessera.graph.return"(%0) : (tensor<2x4x3xbf16>) -> ()
}) : () -> ()
