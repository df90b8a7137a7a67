"tessera.graph.func"() ({
^bb0(%a: tensor<2xf32>):
%0 = "tessera.graph.expm1"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%1 = "tessera.graph.log1p"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%2 = "tessera.graph.tan"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%3 = "tessera.graph.asin"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%4 = "tessera.graph.acos"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%5 = "tessera.graph.atan"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%6 = "tessera.graph.sinh"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%7 = "tessera.graph.cosh"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%8 = "tessera.graph.asinh"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%9 = "tessera.graph.acosh"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%10 = "tessera.graph.atanh"(%a) : (tensor<2xf32>) -> tensor<2xf32>
"tessera.graph.return"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
}) {sym_name = "main"} : () -> ()
