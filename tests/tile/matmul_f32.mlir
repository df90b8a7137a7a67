// C[96,72] = A[96,200] * B[200,72] in f32: the canonical staged loop.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%A: tensor<96x200xf32>, %B: tensor<200x72xf32>):
    %C = "tessera.tile.buffer"() : () -> tensor<96x72xf32>
    "tessera.tile.launch"(%A, %B, %C) {kernel = "matmul"}
    "tessera.tile.return"(%C)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%a: !tessera.view<96x200xf32>, %b: !tessera.view<200x72xf32>, %c: !tessera.view<96x72xf32>):
    %bn = "tessera.tile.block_id"() {axis = 0}
    %bm = "tessera.tile.block_id"() {axis = 1}
    %zero = "tessera.tile.const"() {value = 0}
    %tile = "tessera.tile.const"() {value = 32}
    %bk = "tessera.tile.const"() {value = 16}
    %k_end = "tessera.tile.const"() {value = 200}
    %m0 = "tessera.tile.mul"(%bm, %tile)
    %n0 = "tessera.tile.mul"(%bn, %tile)
    %sa = "tessera.tile.alloc"() : () -> !tessera.shared<32x16xf32, pad=4>
    %sb = "tessera.tile.alloc"() : () -> !tessera.shared<16x32xf32, pad=4>
    %acc0 = "tessera.tile.fill"() {value = 0.0} : () -> !tessera.frag<32x32xf32>
    %acc = "tessera.tile.for"(%zero, %k_end, %bk, %acc0) ({
    ^bb0(%k: index, %part: !tessera.frag<32x32xf32>):
      %wa = "tessera.tile.window"(%a, %m0, %k) {sizes = [32, 16]}
      %wb = "tessera.tile.window"(%b, %k, %n0) {sizes = [16, 32]}
      "tessera.tile.copy"(%wa, %sa) {async = true}
      "tessera.tile.copy"(%wb, %sb) {async = true}
      "tessera.tile.wait"()
      %next = "tessera.tile.gemm"(%part, %sa, %sb)
      "tessera.tile.yield"(%next)
    }) {stages = 2}
    %wc = "tessera.tile.window"(%c, %m0, %n0) {sizes = [32, 32]}
    "tessera.tile.store"(%acc, %wc)
    "tessera.tile.return"()
  }) {sym_name = "matmul", grid = [3, 3, 1], outputs = 1, family = "matmul"}
}) : () -> ()
