"tessera.graph.func"() ({
^bb0():
%0 = "tessera.graph.constant"() {value = dense<[[1.0, 2.0]]> : tensor<1x2xf64>}
"tessera.graph.return"(%0) : (tensor<1x2xf64>) -> ()
}) : () -> ()
