// What moves elements: slices and transposes become strided loads, concat and pad kernels of their own.
"builtin.module"() ({
  "tessera.graph.func"() ({
  ^bb0(%A: tensor<40x50xi32>, %B: tensor<50x40xi32>):
    %0 = "tessera.graph.transpose"(%B) {perm = [1, 0]}
    %1 = "tessera.graph.add"(%A, %0)
    %2 = "tessera.graph.slice"(%1) {starts = [0, 10], sizes = [40, 20]}
    %3 = "tessera.graph.neg"(%2)
    %4 = "tessera.graph.concat"(%3, %2) {axis = 0}
    %5 = "tessera.graph.pad"(%4) {low = [0, 1], high = [2, 3], value = 7}
    "tessera.graph.return"(%5)
  }) {sym_name = "moves"}
}) : () -> ()
