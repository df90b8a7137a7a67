"tessera.graph.func"() ({
^bb0(%a: tensor<2x3x4xf32>, %b: tensor<4x2x?xf32>, %c: tensor<3x3xf32>):
%0 = "tessera.graph.einsum"(%a, %b) {equation = "bij,jbk->ik"}
%1 = "tessera.graph.einsum"(%a, %c, %c) {equation = "...ij,ii,ki->k..."}
"tessera.graph.return"(%0, %1) : (tensor<3x?xf32>, tensor<3x2xf32>) -> ()
}) : () -> ()
