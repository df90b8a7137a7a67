// Layer normalisation of 37x768 in bf16 with gain and bias, computed in f32.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%X: tensor<37x768xbf16>, %G: tensor<768xf32>, %B: tensor<768xf32>):
    %Y = "tessera.tile.buffer"() : () -> tensor<37x768xbf16>
    "tessera.tile.launch"(%X, %G, %B, %Y) {kernel = "layernorm"}
    "tessera.tile.return"(%Y)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%x: !tessera.view<37x768xbf16>, %g: !tessera.view<768xf32>, %b: !tessera.view<768xf32>, %y: !tessera.view<37x768xbf16>):
    %i = "tessera.tile.block_id"() {axis = 0}
    %rows = "tessera.tile.const"() {value = 2}
    %zero = "tessera.tile.const"() {value = 0}
    %at = "tessera.tile.mul"(%i, %rows)
    %wx = "tessera.tile.window"(%x, %at, %zero) {sizes = [2, 768]}
    %wy = "tessera.tile.window"(%y, %at, %zero) {sizes = [2, 768]}
    %g2 = "tessera.tile.view"(%g) : (!tessera.view<768xf32>) -> !tessera.view<1x768xf32>
    %b2 = "tessera.tile.view"(%b) : (!tessera.view<768xf32>) -> !tessera.view<1x768xf32>
    %v = "tessera.tile.load"(%wx) : (!tessera.view<2x768xbf16, strides=[768, 1]>) -> !tessera.frag<2x768xf32>
    %gain = "tessera.tile.load"(%g2)
    %bias = "tessera.tile.load"(%b2)
    %sum = "tessera.tile.reduce"(%v) {axis = 1, op = "sum"}
    %n = "tessera.tile.const"() {value = 768.0} : () -> f32
    %eps = "tessera.tile.const"() {value = 1.0e-5} : () -> f32
    %d = "tessera.tile.map"(%v, %sum) ({
    ^bb0(%p: f32, %q: f32):
      %mean = "tessera.tile.div"(%q, %n)
      %c = "tessera.tile.sub"(%p, %mean)
      "tessera.tile.yield"(%c)
    })
    %sq = "tessera.tile.map"(%d) ({
    ^bb0(%p: f32):
      %c = "tessera.tile.mul"(%p, %p)
      "tessera.tile.yield"(%c)
    })
    %var = "tessera.tile.reduce"(%sq) {axis = 1, op = "sum"}
    %r = "tessera.tile.map"(%d, %var, %gain, %bias) ({
    ^bb0(%p: f32, %q: f32, %gg: f32, %bb: f32):
      %mean = "tessera.tile.div"(%q, %n)
      %safe = "tessera.tile.add"(%mean, %eps)
      %inv = "tessera.tile.rsqrt"(%safe)
      %s = "tessera.tile.mul"(%p, %inv)
      %t = "tessera.tile.fma"(%s, %gg, %bb)
      "tessera.tile.yield"(%t)
    })
    "tessera.tile.store"(%r, %wy)
    "tessera.tile.return"()
  }) {sym_name = "layernorm", grid = [19, 1, 1], outputs = 1}
}) : () -> ()
