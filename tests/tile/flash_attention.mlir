// Causal attention, 4 heads of width 64, 200 positions, f16 in and out: K and V stream through shared memory, the
// softmax is kept online (running maximum m and sum l per row), scores never leave the block.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%Q: tensor<4x200x64xf16>, %K: tensor<4x200x64xf16>, %V: tensor<4x200x64xf16>):
    %O = "tessera.tile.buffer"() : () -> tensor<4x200x64xf16>
    "tessera.tile.launch"(%Q, %K, %V, %O) {kernel = "attention"}
    "tessera.tile.return"(%O)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%q: !tessera.view<4x200x64xf16>, %k: !tessera.view<4x200x64xf16>, %v: !tessera.view<4x200x64xf16>, %o: !tessera.view<4x200x64xf16>):
    %bq = "tessera.tile.block_id"() {axis = 0}
    %head = "tessera.tile.block_id"() {axis = 1}
    %zero = "tessera.tile.const"() {value = 0}
    %rows = "tessera.tile.const"() {value = 64}
    %cols = "tessera.tile.const"() {value = 32}
    %length = "tessera.tile.const"() {value = 200}
    %q0 = "tessera.tile.mul"(%bq, %rows)
    %q_end = "tessera.tile.add"(%q0, %rows)
    %kv_end = "tessera.tile.min"(%q_end, %length)
    %scale = "tessera.tile.const"() {value = 0.125} : () -> f32
    %masked = "tessera.tile.const"() {value = -1.0e30} : () -> f32
    %sq = "tessera.tile.alloc"() : () -> !tessera.shared<64x64xf16, pad=8>
    %sk = "tessera.tile.alloc"() : () -> !tessera.shared<32x64xf16, pad=8>
    %sv = "tessera.tile.alloc"() : () -> !tessera.shared<32x64xf16, pad=8>
    %wq = "tessera.tile.window"(%q, %head, %q0, %zero) {sizes = [0, 64, 64]}
    "tessera.tile.copy"(%wq, %sq)
    %m0 = "tessera.tile.fill"() {value = -1.0e30} : () -> !tessera.frag<64x1xf32>
    %l0 = "tessera.tile.fill"() {value = 0.0} : () -> !tessera.frag<64x1xf32>
    %a0 = "tessera.tile.fill"() {value = 0.0} : () -> !tessera.frag<64x64xf32>
    %m, %l, %acc = "tessera.tile.for"(%zero, %kv_end, %cols, %m0, %l0, %a0) ({
    ^bb0(%j: index, %m_old: !tessera.frag<64x1xf32>, %l_old: !tessera.frag<64x1xf32>, %a_old: !tessera.frag<64x64xf32>):
      %wk = "tessera.tile.window"(%k, %head, %j, %zero) {sizes = [0, 32, 64]}
      %wv = "tessera.tile.window"(%v, %head, %j, %zero) {sizes = [0, 32, 64]}
      "tessera.tile.copy"(%wk, %sk) {async = true}
      "tessera.tile.copy"(%wv, %sv) {async = true}
      "tessera.tile.wait"()
      %s0 = "tessera.tile.fill"() {value = 0.0} : () -> !tessera.frag<64x32xf32>
      %s1 = "tessera.tile.gemm"(%s0, %sq, %sk) {transpose_b = true}
      %s = "tessera.tile.map"(%s1) ({
      ^bb0(%x: f32):
        %r = "tessera.tile.index"() {dim = 0}
        %c = "tessera.tile.index"() {dim = 1}
        %row = "tessera.tile.add"(%q0, %r)
        %col = "tessera.tile.add"(%j, %c)
        %before = "tessera.tile.compare"(%col, %row) {predicate = "le"}
        %inside = "tessera.tile.compare"(%col, %length) {predicate = "lt"}
        %keep = "tessera.tile.and"(%before, %inside)
        %scaled = "tessera.tile.mul"(%x, %scale)
        %y = "tessera.tile.select"(%keep, %scaled, %masked)
        "tessera.tile.yield"(%y)
      })
      %m_block = "tessera.tile.reduce"(%s) {axis = 1, op = "max"}
      %m_new, %shrink = "tessera.tile.map"(%m_old, %m_block) ({
      ^bb0(%x: f32, %y: f32):
        %top = "tessera.tile.max"(%x, %y)
        %d = "tessera.tile.sub"(%x, %top)
        %e = "tessera.tile.exp"(%d)
        "tessera.tile.yield"(%top, %e)
      })
      %p = "tessera.tile.map"(%s, %m_new) ({
      ^bb0(%x: f32, %y: f32):
        %d = "tessera.tile.sub"(%x, %y)
        %e = "tessera.tile.exp"(%d)
        "tessera.tile.yield"(%e)
      })
      %l_block = "tessera.tile.reduce"(%p) {axis = 1, op = "sum"}
      %l_new = "tessera.tile.map"(%l_old, %shrink, %l_block) ({
      ^bb0(%x: f32, %y: f32, %z: f32):
        %t = "tessera.tile.fma"(%x, %y, %z)
        "tessera.tile.yield"(%t)
      })
      %a_scaled = "tessera.tile.map"(%a_old, %shrink) ({
      ^bb0(%x: f32, %y: f32):
        %t = "tessera.tile.mul"(%x, %y)
        "tessera.tile.yield"(%t)
      })
      %ph = "tessera.tile.map"(%p) ({
      ^bb0(%x: f32):
        %h = "tessera.tile.cast"(%x) : (f32) -> f16
        "tessera.tile.yield"(%h)
      })
      %a_new = "tessera.tile.gemm"(%a_scaled, %ph, %sv)
      "tessera.tile.yield"(%m_new, %l_new, %a_new)
    }) {stages = 2}
    %out = "tessera.tile.map"(%acc, %l) ({
    ^bb0(%x: f32, %y: f32):
      %t = "tessera.tile.div"(%x, %y)
      "tessera.tile.yield"(%t)
    })
    %wo = "tessera.tile.window"(%o, %head, %q0, %zero) {sizes = [0, 64, 64]}
    "tessera.tile.store"(%out, %wo)
    "tessera.tile.return"()
  }) {sym_name = "attention", grid = [4, 4, 1], outputs = 1, family = "attention"}
}) : () -> ()
