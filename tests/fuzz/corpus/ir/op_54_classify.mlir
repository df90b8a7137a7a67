"tessera.graph.func"() ({
^bb0(%a: tensor<2xf32>):
%0 = "tessera.graph.ceil"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%1 = "tessera.graph.round"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%2 = "tessera.graph.trunc"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%3 = "tessera.graph.sign"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%4 = "tessera.graph.isnan"(%a) : (tensor<2xf32>) -> tensor<2xi1>
%5 = "tessera.graph.isinf"(%a) : (tensor<2xf32>) -> tensor<2xi1>
"tessera.graph.return"(%0, %1, %2, %3, %4, %5) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi1>, tensor<2xi1>) -> ()
}) {sym_name = "main"} : () -> ()
