"tessera.graph.func"() ({
^bb0(%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>, %c: tensor<5x3xf64>):
%l = "tessera.graph.cholesky"(%a) {upper = true}
%x = "tessera.graph.tri_solve"(%l, %b) {upper = true, transpose = true, unit_diagonal = false}
%q, %r = "tessera.graph.qr"(%c)
%u, %s, %v = "tessera.graph.svd"(%c)
"tessera.graph.return"(%x, %q, %r, %u, %s, %v)
}) : () -> ()
