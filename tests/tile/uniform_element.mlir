// y = (x - d) * s: s is the maximum of a block of 4 rows; d, a number a row, is the row's maximum where s is above 0.9 (nearly always), else its
// minimum. The one element of a fragment as a scalar, and a branch of the whole block with a reduction in one of its regions.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%X: tensor<64x70xf32>):
    %Y = "tessera.tile.buffer"() : () -> tensor<64x70xf32>
    "tessera.tile.launch"(%X, %Y) {kernel = "uniform_element"}
    "tessera.tile.return"(%Y)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%x: !tessera.view<64x70xf32>, %y: !tessera.view<64x70xf32>):
    %b = "tessera.tile.block_id"() {axis = 1}
    %four = "tessera.tile.const"() {value = 4} : () -> index
    %zero = "tessera.tile.const"() {value = 0} : () -> index
    %at = "tessera.tile.mul"(%b, %four)
    %w = "tessera.tile.window"(%x, %at, %zero) {sizes = [4, 70]}
    %o = "tessera.tile.window"(%y, %at, %zero) {sizes = [4, 70]}
    %v = "tessera.tile.load"(%w)
    %r = "tessera.tile.reduce"(%v) {axis = 1, op = "max"}
    %m = "tessera.tile.reduce"(%r) {axis = 0, op = "max"}
    %s = "tessera.tile.load_scalar"(%m)
    %limit = "tessera.tile.const"() {value = 0.9} : () -> f32
    %c = "tessera.tile.compare"(%s, %limit) {predicate = "gt"}
    %d = "tessera.tile.if"(%c) ({
      "tessera.tile.yield"(%r)
    }, {
      %n = "tessera.tile.reduce"(%v) {axis = 1, op = "min"}
      "tessera.tile.yield"(%n)
    }) {likely = true}
    %e = "tessera.tile.map"(%v, %d) ({
    ^bb0(%a: f32, %f: f32):
      %g = "tessera.tile.sub"(%a, %f)
      %h = "tessera.tile.mul"(%g, %s)
      "tessera.tile.yield"(%h)
    })
    "tessera.tile.store"(%e, %o)
    "tessera.tile.return"()
  }) {sym_name = "uniform_element", grid = [1, 16, 1], outputs = 1}
}) : () -> ()
