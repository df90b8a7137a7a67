// 3x3 convolution, stride 2, padding 1, NHWC: x[2,15,17,8] * w[3,3,8,24] -> y[2,8,9,24], f32, as an implicit matrix product:
// row m = (image, y, x) of the output, depth k = (ky, kx, channel). The patch matrix is gathered tile by tile, never stored.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%X: tensor<2x15x17x8xf32>, %W: tensor<3x3x8x24xf32>):
    %Y = "tessera.tile.buffer"() : () -> tensor<2x8x9x24xf32>
    "tessera.tile.launch"(%X, %W, %Y) {kernel = "conv2d"}
    "tessera.tile.return"(%Y)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%x: !tessera.view<2x15x17x8xf32>, %w: !tessera.view<3x3x8x24xf32>, %y: !tessera.view<2x8x9x24xf32>):
    %bm = "tessera.tile.block_id"() {axis = 0}
    %zero = "tessera.tile.const"() {value = 0}
    %one = "tessera.tile.const"() {value = 1}
    %two = "tessera.tile.const"() {value = 2}
    %three = "tessera.tile.const"() {value = 3}
    %tile = "tessera.tile.const"() {value = 32}
    %bk = "tessera.tile.const"() {value = 16}
    %depth = "tessera.tile.const"() {value = 72}
    %channels = "tessera.tile.const"() {value = 8}
    %out_h = "tessera.tile.const"() {value = 8}
    %out_w = "tessera.tile.const"() {value = 9}
    %m0 = "tessera.tile.mul"(%bm, %tile)
    %w2 = "tessera.tile.view"(%w) : (!tessera.view<3x3x8x24xf32>) -> !tessera.view<72x24xf32>
    %y2 = "tessera.tile.view"(%y) : (!tessera.view<2x8x9x24xf32>) -> !tessera.view<144x24xf32>
    %sa = "tessera.tile.alloc"() : () -> !tessera.shared<32x16xf32, pad=4>
    %sb = "tessera.tile.alloc"() : () -> !tessera.shared<16x24xf32>
    %acc0 = "tessera.tile.fill"() {value = 0.0} : () -> !tessera.frag<32x24xf32>
    %acc = "tessera.tile.for"(%zero, %depth, %bk, %acc0) ({
    ^bb0(%k0: index, %part: !tessera.frag<32x24xf32>):
      "tessera.tile.gather"(%x, %sa) ({
      ^bb0(%i: index, %j: index):
        %m = "tessera.tile.add"(%m0, %i)
        %k = "tessera.tile.add"(%k0, %j)
        %ox = "tessera.tile.rem"(%m, %out_w)
        %mr = "tessera.tile.div"(%m, %out_w)
        %oy = "tessera.tile.rem"(%mr, %out_h)
        %image = "tessera.tile.div"(%mr, %out_h)
        %c = "tessera.tile.rem"(%k, %channels)
        %kr = "tessera.tile.div"(%k, %channels)
        %kx = "tessera.tile.rem"(%kr, %three)
        %ky = "tessera.tile.div"(%kr, %three)
        %oy2 = "tessera.tile.mul"(%oy, %two)
        %ox2 = "tessera.tile.mul"(%ox, %two)
        %iy1 = "tessera.tile.add"(%oy2, %ky)
        %ix1 = "tessera.tile.add"(%ox2, %kx)
        %iy = "tessera.tile.sub"(%iy1, %one)
        %ix = "tessera.tile.sub"(%ix1, %one)
        %valid = "tessera.tile.compare"(%k, %depth) {predicate = "lt"}
        "tessera.tile.yield"(%image, %iy, %ix, %c, %valid)
      })
      %ww = "tessera.tile.window"(%w2, %k0, %zero) {sizes = [16, 24]}
      "tessera.tile.copy"(%ww, %sb) {async = true}
      "tessera.tile.wait"()
      %next = "tessera.tile.gemm"(%part, %sa, %sb)
      "tessera.tile.yield"(%next)
    })
    %wy = "tessera.tile.window"(%y2, %m0, %zero) {sizes = [32, 24]}
    "tessera.tile.store"(%acc, %wy)
    "tessera.tile.return"()
  }) {sym_name = "conv2d", grid = [5, 1, 1], outputs = 1, family = "conv"}
}) : () -> ()
