// y[b, :] = mean over j < counts[b] of table[ids[b, j], :], with b < 5, at most 12 ids, width 200: scalars read by the
// block, a gather of whole rows, a column sum with compensation, and a branch for empty bags (their row becomes -1).
"builtin.module"() ({
  "tessera.tile.program"() ({
  ^bb0(%IDS: tensor<5x12xi32>, %COUNTS: tensor<5xi32>, %TABLE: tensor<50x200xf32>):
    %Y = "tessera.tile.buffer"() : () -> tensor<5x200xf32>
    "tessera.tile.launch"(%IDS, %COUNTS, %TABLE, %Y) {kernel = "embedding_mean"}
    "tessera.tile.return"(%Y)
  }) {sym_name = "main"}
  "tessera.tile.kernel"() ({
  ^bb0(%ids: !tessera.view<5x12xi32>, %counts: !tessera.view<5xi32>, %table: !tessera.view<50x200xf32>, %y: !tessera.view<5x200xf32>):
    %b = "tessera.tile.block_id"() {axis = 0}
    %zero = "tessera.tile.const"() {value = 0}
    %one = "tessera.tile.const"() {value = 1}
    %n32 = "tessera.tile.load_scalar"(%counts, %b)
    %n = "tessera.tile.cast"(%n32) : (i32) -> index
    %nf = "tessera.tile.cast"(%n32) : (i32) -> f32
    %some = "tessera.tile.compare"(%n, %zero) {predicate = "gt"}
    %mean = "tessera.tile.if"(%some) ({
      %sum0 = "tessera.tile.fill"() {value = 0.0} : () -> !tessera.frag<1x200xf32>
      %sum = "tessera.tile.for"(%zero, %n, %one, %sum0) ({
      ^bb0(%j: index, %part: !tessera.frag<1x200xf32>):
        %id32 = "tessera.tile.load_scalar"(%ids, %b, %j)
        %id = "tessera.tile.cast"(%id32) : (i32) -> index
        %row = "tessera.tile.gather"(%table) ({
        ^bb0(%r: index, %c: index):
          "tessera.tile.yield"(%id, %c)
        }) : (!tessera.view<50x200xf32>) -> !tessera.frag<1x200xf32>
        %next = "tessera.tile.map"(%part, %row) ({
        ^bb0(%p: f32, %q: f32):
          %s = "tessera.tile.add"(%p, %q)
          "tessera.tile.yield"(%s)
        })
        "tessera.tile.yield"(%next)
      })
      %m = "tessera.tile.map"(%sum) ({
      ^bb0(%p: f32):
        %d = "tessera.tile.div"(%p, %nf)
        "tessera.tile.yield"(%d)
      })
      "tessera.tile.yield"(%m)
    }, {
      %none = "tessera.tile.fill"() {value = -1.0} : () -> !tessera.frag<1x200xf32>
      "tessera.tile.yield"(%none)
    })
    "tessera.tile.scatter"(%mean, %y) ({
    ^bb0(%r: index, %c: index):
      "tessera.tile.yield"(%b, %c)
    })
    "tessera.tile.return"()
  }) {sym_name = "embedding_mean", grid = [5, 1, 1], outputs = 1}
}) : () -> ()
