"tessera.tile.kernel"() ({
^bb0(%a: !tessera.view<96x200xf32>, %c: !tessera.view<96x200xf32, strides=[200, 1], offset=0>):
  %i = "tessera.tile.block_id"() {axis = 0} : () -> index
  %z = "tessera.tile.const"() {value = 0} : () -> index
  %w = "tessera.tile.window"(%a, %i, %z) {sizes = [1, 200]} : (!tessera.view<96x200xf32>, index, index) -> !tessera.view<1x200xf32, strides=[200, 1]>
  %f = "tessera.tile.load"(%a) : (!tessera.view<96x200xf32>) -> !tessera.frag<96x200xf32>
  "tessera.tile.store"(%f, %c) : (!tessera.frag<96x200xf32>, !tessera.view<96x200xf32, strides=[200, 1], offset=0>) -> ()
  "tessera.tile.return"() : () -> ()
}) {sym_name = "k", grid = [2, 1, 1], outputs = 1} : () -> ()
