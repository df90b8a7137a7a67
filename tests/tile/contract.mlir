// D[123,77] = gelu(S + bias[77]) + R[123,77], S = (A[123,95] * scale[123]) * B[77,95] transposed, in bf16 with f32 sums;
// R lies [77,123]; S is written too. Sizes that divide nothing; one tessera.tile.contract with all its regions.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%A: tensor<123x95xbf16>, %scale: tensor<123xbf16>, %B: tensor<77x95xbf16>, %V: tensor<77xf32>, %R: tensor<77x123xbf16>):
    %D = "tessera.tile.buffer"() : () -> tensor<123x77xbf16>
    %S = "tessera.tile.buffer"() : () -> tensor<123x77xf32>
    "tessera.tile.launch"(%A, %scale, %B, %V, %R, %D, %S) {kernel = "scaled_product"}
    "tessera.tile.return"(%D, %S)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%a: !tessera.view<123x95xbf16>, %scale: !tessera.view<123xbf16>, %b: !tessera.view<77x95xbf16>, %bias: !tessera.view<77xf32>, %r: !tessera.view<77x123xbf16>, %d: !tessera.view<123x77xbf16>, %s: !tessera.view<123x77xf32>):
    %bn = "tessera.tile.block_id"() {axis = 0}
    %bm = "tessera.tile.block_id"() {axis = 1}
    %zero = "tessera.tile.const"() {value = 0}
    %k_end = "tessera.tile.const"() {value = 95}
    %tile = "tessera.tile.const"() {value = 64}
    %m0 = "tessera.tile.mul"(%bm, %tile)
    %n0 = "tessera.tile.mul"(%bn, %tile)
    %rows = "tessera.tile.view"(%scale) : (!tessera.view<123xbf16>) -> !tessera.view<123x1xbf16, strides=[1, 0]>
    %columns = "tessera.tile.view"(%bias) : (!tessera.view<77xf32>) -> !tessera.view<1x77xf32, strides=[0, 1]>
    %wa = "tessera.tile.window"(%a, %m0, %zero) {sizes = [64, 32]}
    %ws = "tessera.tile.window"(%rows, %m0, %zero) {sizes = [64, 1]}
    %wb = "tessera.tile.window"(%b, %n0, %zero) {sizes = [64, 32]}
    %wv = "tessera.tile.window"(%columns, %zero, %n0) {sizes = [1, 64]}
    %wr = "tessera.tile.window"(%r, %n0, %m0) {sizes = [64, 64]}
    %wd = "tessera.tile.window"(%d, %m0, %n0) {sizes = [64, 64]}
    %wsum = "tessera.tile.window"(%s, %m0, %n0) {sizes = [64, 64]}
    "tessera.tile.contract"(%zero, %k_end, %wa, %ws, %wb, %wv, %wr, %wd, %wsum) ({
    ^bb0(%x: f32, %y: f32):
      %z = "tessera.tile.mul"(%x, %y)
      "tessera.tile.yield"(%z)
    }, {
    ^bb0(%x: bf16):
      "tessera.tile.yield"(%x)
    }, {
    ^bb0(%sum: f32, %q: f32, %t: f32):
      %u = "tessera.tile.add"(%sum, %q)
      %g = "tessera.tile.gelu"(%u)
      %o = "tessera.tile.add"(%g, %t)
      "tessera.tile.yield"(%o, %sum)
    }) {maps = "mk,mk,nk,mn,nm->mn,mn", tile = [64, 64, 32], a_type = "bf16", stages = 2, padding = 8}
    "tessera.tile.return"()
  }) {sym_name = "scaled_product", grid = [2, 2, 1], outputs = 2, family = "matmul"}
}) : () -> ()
