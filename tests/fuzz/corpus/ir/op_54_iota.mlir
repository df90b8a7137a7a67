"tessera.graph.func"() ({
^bb0(%a: tensor<2x3xf32>):
%0 = "tessera.graph.iota"() {shape = [2, 3], axis = 0, dtype = "f32"}
%1 = "tessera.graph.add"(%0, %a)
%2 = "tessera.graph.transpose"(%0)
%3 = "tessera.graph.reduce_sum"(%2) {axes = [1]}
"tessera.graph.return"(%1, %3) : (tensor<2x3xf32>, tensor<3xf32>) -> ()
}) : () -> ()
