"tessera.tile.program"() ({
^bb0(%a: tensor<2x4x3xf32>):
%q = "tessera.tile.buffer"() : () -> tensor<2x4x3xf32>
%r = "tessera.tile.buffer"() : () -> tensor<2x3x3xf32>
"tessera.tile.routine"(%a, %q, %r) {callee = "qr"} : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>) -> ()
"tessera.tile.return"(%q, %r) : (tensor<2x4x3xf32>, tensor<2x3x3xf32>) -> ()
}) {sym_name = "main"} : () -> ()
