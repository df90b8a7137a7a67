"tessera.graph.func"() ({
^bb0(%a: tensor<2xf32>):
%0 = "tessera.graph.hardsigmoid"(%a) {alpha = 0.2, beta = 0.5} : (tensor<2xf32>) -> tensor<2xf32>
%1 = "tessera.graph.hardswish"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%2 = "tessera.graph.leaky_relu"(%a) {alpha = 0.2} : (tensor<2xf32>) -> tensor<2xf32>
%3 = "tessera.graph.elu"(%a) {alpha = 2.0} : (tensor<2xf32>) -> tensor<2xf32>
%4 = "tessera.graph.celu"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%5 = "tessera.graph.selu"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%6 = "tessera.graph.softplus"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%7 = "tessera.graph.mish"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%8 = "tessera.graph.softsign"(%a) : (tensor<2xf32>) -> tensor<2xf32>
"tessera.graph.return"(%0, %1, %2, %3, %4, %5, %6, %7, %8) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
}) {sym_name = "main"} : () -> ()
