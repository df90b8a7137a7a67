"tessera.graph.func"() ({
^bb0(%x: tensor<3x2x4xf32>, %w: tensor<2x12x4xf32>, %r: tensor<2x12x3xf32>, %b: tensor<2x24xf32>, %l: tensor<2xi32>, %h: tensor<2x2x3xf32>):
%y, %s, %c = "tessera.graph.lstm"(%x, %w, %r, %b, %l, %h, %h) {direction = "bidirectional"}
%wg = "tessera.graph.slice"(%w) {starts = [0, 0, 0], sizes = [1, 9, 4]}
%rg = "tessera.graph.slice"(%r) {starts = [0, 0, 0], sizes = [1, 9, 3]}
%g, %t = "tessera.graph.gru"(%x, %wg, %rg) {direction = "reverse", linear_before_reset = true}
%wr = "tessera.graph.slice"(%w) {starts = [0, 0, 0], sizes = [1, 3, 4]}
%rr = "tessera.graph.slice"(%r) {starts = [0, 0, 0], sizes = [1, 3, 3]}
%n, %u = "tessera.graph.rnn"(%x, %wr, %rr) {activation = "relu"}
"tessera.graph.return"(%y, %g, %n)
}) : () -> ()
