// y[c, r] = x[r, c] for 100x60 i32: each square tile is loaded in memory order and transposed through shared memory, so that rows are read and written.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%X: tensor<100x60xi32>):
    %Y = "tessera.tile.buffer"() : () -> tensor<60x100xi32>
    "tessera.tile.launch"(%X, %Y) {kernel = "transpose"}
    "tessera.tile.return"(%Y)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%x: !tessera.view<100x60xi32>, %y: !tessera.view<60x100xi32>):
    %bc = "tessera.tile.block_id"() {axis = 0}
    %br = "tessera.tile.block_id"() {axis = 1}
    %tile = "tessera.tile.const"() {value = 32}
    %r0 = "tessera.tile.mul"(%br, %tile)
    %c0 = "tessera.tile.mul"(%bc, %tile)
    %wx = "tessera.tile.window"(%x, %r0, %c0) {sizes = [32, 32]}
    %wy = "tessera.tile.window"(%y, %c0, %r0) {sizes = [32, 32]}
    %t = "tessera.tile.load"(%wx)
    %u = "tessera.tile.transpose"(%t) {perm = [1, 0]}
    "tessera.tile.store"(%u, %wy)
    "tessera.tile.return"()
  }) {sym_name = "transpose", grid = [2, 4, 1], outputs = 1}
}) : () -> ()
