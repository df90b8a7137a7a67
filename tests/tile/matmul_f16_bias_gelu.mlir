// D[123,77] = gelu(A[123,95] * B[95,77] + bias[77]) in f16 with f32 sums: sizes that divide nothing.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%A: tensor<123x95xf16>, %B: tensor<95x77xf16>, %V: tensor<77xf16>):
    %D = "tessera.tile.buffer"() : () -> tensor<123x77xf16>
    "tessera.tile.launch"(%A, %B, %V, %D) {kernel = "matmul_bias_gelu"}
    "tessera.tile.return"(%D)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%a: !tessera.view<123x95xf16>, %b: !tessera.view<95x77xf16>, %bias: !tessera.view<77xf16>, %d: !tessera.view<123x77xf16>):
    %bn = "tessera.tile.block_id"() {axis = 0}
    %bm = "tessera.tile.block_id"() {axis = 1}
    %zero = "tessera.tile.const"() {value = 0}
    %tile = "tessera.tile.const"() {value = 64}
    %bk = "tessera.tile.const"() {value = 32}
    %k_end = "tessera.tile.const"() {value = 95}
    %m0 = "tessera.tile.mul"(%bm, %tile)
    %n0 = "tessera.tile.mul"(%bn, %tile)
    %sa = "tessera.tile.alloc"() : () -> !tessera.shared<64x32xf16, pad=8>
    %sb = "tessera.tile.alloc"() : () -> !tessera.shared<32x64xf16, pad=8>
    %acc0 = "tessera.tile.fill"() {value = 0.0} : () -> !tessera.frag<64x64xf32>
    %acc = "tessera.tile.for"(%zero, %k_end, %bk, %acc0) ({
    ^bb0(%k: index, %part: !tessera.frag<64x64xf32>):
      %wa = "tessera.tile.window"(%a, %m0, %k) {sizes = [64, 32]}
      %wb = "tessera.tile.window"(%b, %k, %n0) {sizes = [32, 64]}
      "tessera.tile.copy"(%wa, %sa) {async = true}
      "tessera.tile.copy"(%wb, %sb) {async = true}
      "tessera.tile.wait"()
      %next = "tessera.tile.gemm"(%part, %sa, %sb)
      "tessera.tile.yield"(%next)
    }) {stages = 2}
    %bias_rows = "tessera.tile.view"(%bias) : (!tessera.view<77xf16>) -> !tessera.view<1x77xf16, strides=[0, 1]>
    %wv = "tessera.tile.window"(%bias_rows, %zero, %n0) {sizes = [1, 64]}
    %v = "tessera.tile.load"(%wv) : (!tessera.view<1x64xf16, strides=[0, 1]>) -> !tessera.frag<1x64xf32>
    %out = "tessera.tile.map"(%acc, %v) ({
    ^bb0(%p: f32, %q: f32):
      %s = "tessera.tile.add"(%p, %q)
      %g = "tessera.tile.gelu"(%s)
      "tessera.tile.yield"(%g)
    })
    %wd = "tessera.tile.window"(%d, %m0, %n0) {sizes = [64, 64]}
    "tessera.tile.store"(%out, %wd)
    "tessera.tile.return"()
  }) {sym_name = "matmul_bias_gelu", grid = [2, 2, 1], outputs = 1, family = "matmul"}
}) : () -> ()
