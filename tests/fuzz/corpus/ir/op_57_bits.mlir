"tessera.graph.func"() ({
^bb0(%a: tensor<2x1xi8>, %b: tensor<3xi8>, %x: tensor<2x1xf32>, %y: tensor<3xf32>):
%0 = "tessera.graph.shift_left"(%a, %b) : (tensor<2x1xi8>, tensor<3xi8>) -> tensor<2x3xi8>
%1 = "tessera.graph.shift_right"(%0, %b) : (tensor<2x3xi8>, tensor<3xi8>) -> tensor<2x3xi8>
%2 = "tessera.graph.xor"(%1, %a) : (tensor<2x3xi8>, tensor<2x1xi8>) -> tensor<2x3xi8>
%3 = "tessera.graph.prelu"(%x, %y) : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>
"tessera.graph.return"(%2, %3) : (tensor<2x3xi8>, tensor<2x3xf32>) -> ()
}) {sym_name = "main"} : () -> ()
