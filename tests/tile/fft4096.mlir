// Forward FFT of 6 complex rows of 4096 points, split into real and imaginary parts: three Stockham stages of radix 16.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%XR: tensor<6x4096xf32>, %XI: tensor<6x4096xf32>):
    %YR = "tessera.tile.buffer"() : () -> tensor<6x4096xf32>
    %YI = "tessera.tile.buffer"() : () -> tensor<6x4096xf32>
    "tessera.tile.launch"(%XR, %XI, %YR, %YI) {kernel = "fft4096"}
    "tessera.tile.return"(%YR, %YI)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%xr: !tessera.view<6x4096xf32>, %xi: !tessera.view<6x4096xf32>, %yr: !tessera.view<6x4096xf32>, %yi: !tessera.view<6x4096xf32>):
    %row = "tessera.tile.block_id"() {axis = 0}
    %zero = "tessera.tile.const"() {value = 0}
    %wxr = "tessera.tile.window"(%xr, %row, %zero) {sizes = [0, 4096]}
    %wxi = "tessera.tile.window"(%xi, %row, %zero) {sizes = [0, 4096]}
    %wyr = "tessera.tile.window"(%yr, %row, %zero) {sizes = [0, 4096]}
    %wyi = "tessera.tile.window"(%yi, %row, %zero) {sizes = [0, 4096]}
    %r0 = "tessera.tile.load"(%wxr)
    %i0 = "tessera.tile.load"(%wxi)
    %r1, %i1 = "tessera.tile.fft_stage"(%r0, %i0) {radix = 16, span = 1}
    %r2, %i2 = "tessera.tile.fft_stage"(%r1, %i1) {radix = 16, span = 16}
    %r3, %i3 = "tessera.tile.fft_stage"(%r2, %i2) {radix = 16, span = 256}
    "tessera.tile.store"(%r3, %wyr)
    "tessera.tile.store"(%i3, %wyi)
    "tessera.tile.return"()
  }) {sym_name = "fft4096", grid = [6, 1, 1], outputs = 2, family = "fft"}
}) : () -> ()
