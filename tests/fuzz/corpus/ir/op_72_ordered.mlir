"tessera.graph.func"() ({
^bb0(%a: tensor<4x?xf32>, %b: tensor<70x3xi8>):
%0, %1 = "tessera.graph.topk"(%a) {k = 3, largest = false, dtype = "i64"}
%2, %3 = "tessera.graph.sort"(%b) {axis = 0, descending = true}
%4 = "tessera.graph.cumsum"(%a) {exclusive = true, reverse = true}
%5 = "tessera.graph.cumprod"(%b) {axis = 0}
%6, %7 = "tessera.graph.nonzero"(%b) {size = 5, fill = -7}
%8 = "tessera.graph.argmax"(%2) {axis = 0, keepdims = true}
%9 = "tessera.graph.argmin"(%b) {select_last_index = true}
"tessera.graph.return"(%1, %4, %5, %6, %8, %9) : (tensor<4x3xi64>, tensor<4x?xf32>, tensor<70x3xi8>, tensor<2x5xi32>, tensor<1x3xi32>, tensor<70xi32>) -> ()
}) : () -> ()
