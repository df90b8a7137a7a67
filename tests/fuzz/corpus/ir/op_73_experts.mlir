"tessera.graph.func"() ({
^bb0(%a: tensor<6x8xf32>, %g: tensor<2x8x3xf32>, %u: tensor<3x8x5xf32>, %d: tensor<3x5x8xf32>):
%0, %1, %2, %3 = "tessera.graph.router"(%a) {k = 2, softmax = "all"}
%4 = "tessera.graph.moe_dispatch"(%a, %2) {rows = 12}
%5 = "tessera.graph.constant"() {value = dense<[3, 0, 9]> : tensor<3xi32>}
%6 = "tessera.graph.grouped_matmul"(%4, %u, %5)
%7 = "tessera.graph.moe_combine"(%6, %2, %0)
%8 = "tessera.graph.recursive_mixture"(%a, %g, %u, %d) {k = 1, capacity = 4, activation = "silu"}
"tessera.graph.return"(%1, %7, %8) : (tensor<6x2xi32>, tensor<6x5xf32>, tensor<6x8xf32>) -> ()
}) : () -> ()
