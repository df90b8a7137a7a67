// C[b] = A[b] * transpose(B), A[3,64,128] f16, B[96,128] f16 shared by the batch: no staging, operands read where they lie.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%A: tensor<3x64x128xf16>, %B: tensor<96x128xf16>):
    %C = "tessera.tile.buffer"() : () -> tensor<3x64x96xf32>
    "tessera.tile.launch"(%A, %B, %C) {kernel = "matmul_direct"}
    "tessera.tile.return"(%C)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%a: !tessera.view<3x64x128xf16>, %b: !tessera.view<96x128xf16>, %c: !tessera.view<3x64x96xf32>):
    %bn = "tessera.tile.block_id"() {axis = 0}
    %bm = "tessera.tile.block_id"() {axis = 1}
    %z = "tessera.tile.block_id"() {axis = 2}
    %zero = "tessera.tile.const"() {value = 0}
    %tile_m = "tessera.tile.const"() {value = 16}
    %tile_n = "tessera.tile.const"() {value = 32}
    %bk = "tessera.tile.const"() {value = 16}
    %k_end = "tessera.tile.const"() {value = 128}
    %m0 = "tessera.tile.mul"(%bm, %tile_m)
    %n0 = "tessera.tile.mul"(%bn, %tile_n)
    %acc0 = "tessera.tile.fill"() {value = 0.0} : () -> !tessera.frag<16x32xf32>
    %acc = "tessera.tile.for"(%zero, %k_end, %bk, %acc0) ({
    ^bb0(%k: index, %part: !tessera.frag<16x32xf32>):
      %wa = "tessera.tile.window"(%a, %z, %m0, %k) {sizes = [0, 16, 16]}
      %wb = "tessera.tile.window"(%b, %n0, %k) {sizes = [32, 16]}
      %next = "tessera.tile.gemm"(%part, %wa, %wb) {transpose_b = true}
      "tessera.tile.yield"(%next)
    })
    %wc = "tessera.tile.window"(%c, %z, %m0, %n0) {sizes = [0, 16, 32]}
    "tessera.tile.store"(%acc, %wc)
    "tessera.tile.return"()
  }) {sym_name = "matmul_direct", grid = [3, 4, 3], outputs = 1, family = "matmul"}
}) : () -> ()
