"tessera.graph.func"() ({
^bb0(%c: tensor<i1>, %x: tensor<4x4xf32>, %y: tensor<4x4xf32>):
%r = "tessera.graph.if"(%c, %x, %y) ({
^bb0(%v: tensor<4x4xf32>, %w: tensor<4x4xf32>):
  %p = "tessera.graph.matmul"(%v, %w)
  "tessera.graph.return"(%p)
}, {
^bb0(%v: tensor<4x4xf32>, %w: tensor<4x4xf32>):
  %p = "tessera.graph.softmax"(%v)
  %s = "tessera.graph.sub"(%p, %w)
  "tessera.graph.return"(%s)
})
"tessera.graph.return"(%r)
}) {sym_name = "main"} : () -> ()
