"tessera.graph.func"() ({
^bb0(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %n: tensor<i32>):
%z = "tessera.graph.constant"() {value = dense<0> : tensor<i32>}
%i, %r = "tessera.graph.while"(%z, %x, %y, %n) ({
^bb0(%k: tensor<i32>, %v: tensor<4x4xf32>, %w: tensor<4x4xf32>, %m: tensor<i32>):
  %c = "tessera.graph.compare"(%k, %m) {predicate = "lt"}
  "tessera.graph.return"(%c)
}, {
^bb0(%k: tensor<i32>, %v: tensor<4x4xf32>, %w: tensor<4x4xf32>, %m: tensor<i32>):
  %one = "tessera.graph.constant"() {value = dense<1> : tensor<i32>}
  %k1 = "tessera.graph.add"(%k, %one)
  %p = "tessera.graph.matmul"(%v, %w)
  %t = "tessera.graph.tanh"(%p)
  "tessera.graph.return"(%k1, %t)
}) {carried = 2, max_trips = 5}
"tessera.graph.return"(%r, %i)
}) {sym_name = "main"} : () -> ()
