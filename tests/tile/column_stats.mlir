// Per column of x[300, 90]: the compensated sum and the maximum, rows streamed in chunks of 32 (the last one ragged: rows
// beyond the end must not count for the maximum, so they are replaced inside the map).
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%X: tensor<300x90xf32>):
    %S = "tessera.tile.buffer"() : () -> tensor<90xf32>
    %M = "tessera.tile.buffer"() : () -> tensor<90xf32>
    "tessera.tile.launch"(%X, %S, %M) {kernel = "column_stats"}
    "tessera.tile.return"(%S, %M)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%x: !tessera.view<300x90xf32>, %s: !tessera.view<90xf32>, %m: !tessera.view<90xf32>):
    %bc = "tessera.tile.block_id"() {axis = 0}
    %zero = "tessera.tile.const"() {value = 0}
    %tile = "tessera.tile.const"() {value = 32}
    %end = "tessera.tile.const"() {value = 300}
    %low = "tessera.tile.const"() {value = -3.0e38} : () -> f32
    %c0 = "tessera.tile.mul"(%bc, %tile)
    %s0 = "tessera.tile.fill"() {value = 0.0} : () -> !tessera.frag<1x32xf32>
    %m0 = "tessera.tile.fill"() {value = -3.0e38} : () -> !tessera.frag<1x32xf32>
    %sum, %top = "tessera.tile.for"(%zero, %end, %tile, %s0, %m0) ({
    ^bb0(%r: index, %ps: !tessera.frag<1x32xf32>, %pm: !tessera.frag<1x32xf32>):
      %w = "tessera.tile.window"(%x, %r, %c0) {sizes = [32, 32]}
      %v = "tessera.tile.load"(%w)
      %u = "tessera.tile.map"(%v) ({
      ^bb0(%p: f32):
        %d = "tessera.tile.index"() {dim = 0}
        %row = "tessera.tile.add"(%r, %d)
        %in = "tessera.tile.compare"(%row, %end) {predicate = "lt"}
        %y = "tessera.tile.select"(%in, %p, %low)
        "tessera.tile.yield"(%y)
      })
      %cs = "tessera.tile.reduce"(%v) {axis = 0, op = "sum", policy = "kahan_sum"}
      %cm = "tessera.tile.reduce"(%u) {axis = 0, op = "max"}
      %ns, %nm = "tessera.tile.map"(%ps, %pm, %cs, %cm) ({
      ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
        %e = "tessera.tile.add"(%a, %c)
        %f = "tessera.tile.max"(%b, %d)
        "tessera.tile.yield"(%e, %f)
      })
      "tessera.tile.yield"(%ns, %nm)
    })
    %fs = "tessera.tile.reshape"(%sum) : (!tessera.frag<1x32xf32>) -> !tessera.frag<32xf32>
    %fm = "tessera.tile.reshape"(%top) : (!tessera.frag<1x32xf32>) -> !tessera.frag<32xf32>
    %ws = "tessera.tile.window"(%s, %c0) {sizes = [32]}
    %wm = "tessera.tile.window"(%m, %c0) {sizes = [32]}
    "tessera.tile.store"(%fs, %ws)
    "tessera.tile.store"(%fm, %wm)
    "tessera.tile.return"()
  }) {sym_name = "column_stats", grid = [3, 1, 1], outputs = 2}
}) : () -> ()
