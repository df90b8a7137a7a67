// c = a + b over 100003 elements: blocks of 1024, the last one ragged.
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%A: tensor<100003xf32>, %B: tensor<100003xf32>):
    %C = "tessera.tile.buffer"() : () -> tensor<100003xf32>
    "tessera.tile.launch"(%A, %B, %C) {kernel = "add"}
    "tessera.tile.return"(%C)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%a: !tessera.view<100003xf32>, %b: !tessera.view<100003xf32>, %c: !tessera.view<100003xf32>):
    %i = "tessera.tile.block_id"() {axis = 0}
    %size = "tessera.tile.const"() {value = 1024}
    %at = "tessera.tile.mul"(%i, %size)
    %wa = "tessera.tile.window"(%a, %at) {sizes = [1024]}
    %wb = "tessera.tile.window"(%b, %at) {sizes = [1024]}
    %wc = "tessera.tile.window"(%c, %at) {sizes = [1024]}
    %x = "tessera.tile.load"(%wa)
    %y = "tessera.tile.load"(%wb)
    %z = "tessera.tile.map"(%x, %y) ({
    ^bb0(%p: f32, %q: f32):
      %s = "tessera.tile.add"(%p, %q)
      "tessera.tile.yield"(%s)
    })
    "tessera.tile.store"(%z, %wc)
    "tessera.tile.return"()
  }) {sym_name = "add", grid = [98, 1, 1], outputs = 1}
}) : () -> ()
