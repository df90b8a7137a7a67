// Softmax over the rows of 70x1000: four rows a block, each row read once.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%X: tensor<70x1000xf32>):
    %Y = "tessera.tile.buffer"() : () -> tensor<70x1000xf32>
    "tessera.tile.launch"(%X, %Y) {kernel = "softmax"}
    "tessera.tile.return"(%Y)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%x: !tessera.view<70x1000xf32>, %y: !tessera.view<70x1000xf32>):
    %i = "tessera.tile.block_id"() {axis = 0}
    %rows = "tessera.tile.const"() {value = 4}
    %zero = "tessera.tile.const"() {value = 0}
    %at = "tessera.tile.mul"(%i, %rows)
    %wx = "tessera.tile.window"(%x, %at, %zero) {sizes = [4, 1000]}
    %wy = "tessera.tile.window"(%y, %at, %zero) {sizes = [4, 1000]}
    %v = "tessera.tile.load"(%wx)
    %m = "tessera.tile.reduce"(%v) {axis = 1, op = "max"}
    %e = "tessera.tile.map"(%v, %m) ({
    ^bb0(%p: f32, %q: f32):
      %d = "tessera.tile.sub"(%p, %q)
      %f = "tessera.tile.exp"(%d)
      "tessera.tile.yield"(%f)
    })
    %s = "tessera.tile.reduce"(%e) {axis = 1, op = "sum"}
    %r = "tessera.tile.map"(%e, %s) ({
    ^bb0(%p: f32, %q: f32):
      %d = "tessera.tile.div"(%p, %q)
      "tessera.tile.yield"(%d)
    })
    "tessera.tile.store"(%r, %wy)
    "tessera.tile.return"()
  }) {sym_name = "softmax", grid = [18, 1, 1], outputs = 1}
}) : () -> ()
