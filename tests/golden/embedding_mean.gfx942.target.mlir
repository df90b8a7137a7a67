"builtin.module"() ({
  "tessera.target.program"() ({
  ^bb0(%IDS: tensor<5x12xi32>, %COUNTS: tensor<5xi32>, %TABLE: tensor<50x200xf32>):
    %Y = "tessera.target.buffer"() : () -> tensor<5x200xf32>
    "tessera.target.launch"(%IDS, %COUNTS, %TABLE, %Y) {kernel = "embedding_mean"} : (tensor<5x12xi32>, tensor<5xi32>, tensor<50x200xf32>, tensor<5x200xf32>) -> ()
    "tessera.target.return"(%Y) : (tensor<5x200xf32>) -> ()
  }) {sym_name = "main"} : () -> ()
  "tessera.target.kernel"() ({
  ^bb0(%ids: !tessera.ptr<i32, "global">, %counts: !tessera.ptr<i32, "global">, %table: !tessera.ptr<f32, "global">, %y: !tessera.ptr<f32, "global">):
    %0 = "tessera.target.const"() {value = 0 : i64} : () -> index
    %1 = "tessera.target.const"() {value = 1 : i64} : () -> index
    %2 = "tessera.target.const"() {value = 0.0 : f64} : () -> f32
    %3 = "tessera.target.const"() {value = 12 : i64} : () -> index
    %4 = "tessera.target.const"() {value = 0 : i64} : () -> i32
    %5 = "tessera.target.const"() {value = 4 : i64} : () -> index
    %6 = "tessera.target.const"() {value = 200 : i64} : () -> index
    %7 = "tessera.target.const"() {value = 50 : i64} : () -> index
    %8 = "tessera.target.const"() {value = 199 : i64} : () -> index
    %9 = "tessera.target.const"() {value = 2 : i64} : () -> index
    %10 = "tessera.target.const"() {value = 198 : i64} : () -> index
    %11 = "tessera.target.const"() {value = 3 : i64} : () -> index
    %12 = "tessera.target.const"() {value = 197 : i64} : () -> index
    %13 = "tessera.target.const"() {value = -1.0 : f64} : () -> f32
    %14 = "tessera.target.thread_id"() : () -> index
    %15 = "tessera.target.block_id"() {axis = 0 : i64} : () -> index
    %16 = "tessera.target.load"(%counts, %15) : (!tessera.ptr<i32, "global">, index) -> i32
    %17 = "tessera.target.cast"(%16) : (i32) -> index
    %18 = "tessera.target.cast"(%16) : (i32) -> f32
    %19 = "tessera.target.compare"(%17, %0) {predicate = "gt"} : (index, index) -> i1
    %20:4 = "tessera.target.if"(%19) ({
      %21 = "tessera.target.mul"(%15, %3) : (index, index) -> index
      %22 = "tessera.target.mul"(%14, %5) : (index, index) -> index
      %23 = "tessera.target.compare"(%22, %6) {predicate = "lt"} : (index, index) -> i1
      %24 = "tessera.target.compare"(%22, %8) {predicate = "lt"} : (index, index) -> i1
      %25 = "tessera.target.compare"(%22, %10) {predicate = "lt"} : (index, index) -> i1
      %26 = "tessera.target.compare"(%22, %12) {predicate = "lt"} : (index, index) -> i1
      %27:4 = "tessera.target.for"(%0, %17, %1, %2, %2, %2, %2) ({
      ^bb0(%28: index, %29: f32, %30: f32, %31: f32, %32: f32):
        %33 = "tessera.target.compare"(%28, %3) {predicate = "lt"} : (index, index) -> i1
        %34 = "tessera.target.add"(%21, %28) : (index, index) -> index
        %35 = "tessera.target.select"(%33, %34, %0) : (i1, index, index) -> index
        %36 = "tessera.target.load"(%ids, %35) : (!tessera.ptr<i32, "global">, index) -> i32
        %37 = "tessera.target.select"(%33, %36, %4) : (i1, i32, i32) -> i32
        %38 = "tessera.target.cast"(%37) : (i32) -> index
        %39 = "tessera.target.compare"(%38, %0) {predicate = "ge"} : (index, index) -> i1
        %40 = "tessera.target.and"(%23, %39) : (i1, i1) -> i1
        %41 = "tessera.target.compare"(%38, %7) {predicate = "lt"} : (index, index) -> i1
        %42 = "tessera.target.and"(%40, %41) : (i1, i1) -> i1
        %43 = "tessera.target.mul"(%38, %6) : (index, index) -> index
        %44 = "tessera.target.and"(%42, %23) : (i1, i1) -> i1
        %45 = "tessera.target.add"(%43, %22) : (index, index) -> index
        %46 = "tessera.target.select"(%44, %45, %0) : (i1, index, index) -> index
        %47 = "tessera.target.load"(%table, %46) : (!tessera.ptr<f32, "global">, index) -> f32
        %48 = "tessera.target.select"(%44, %47, %2) : (i1, f32, f32) -> f32
        %49 = "tessera.target.and"(%24, %39) : (i1, i1) -> i1
        %50 = "tessera.target.and"(%49, %41) : (i1, i1) -> i1
        %51 = "tessera.target.and"(%50, %24) : (i1, i1) -> i1
        %52 = "tessera.target.add"(%45, %1) : (index, index) -> index
        %53 = "tessera.target.select"(%51, %52, %0) : (i1, index, index) -> index
        %54 = "tessera.target.load"(%table, %53) : (!tessera.ptr<f32, "global">, index) -> f32
        %55 = "tessera.target.select"(%51, %54, %2) : (i1, f32, f32) -> f32
        %56 = "tessera.target.and"(%25, %39) : (i1, i1) -> i1
        %57 = "tessera.target.and"(%56, %41) : (i1, i1) -> i1
        %58 = "tessera.target.and"(%57, %25) : (i1, i1) -> i1
        %59 = "tessera.target.add"(%45, %9) : (index, index) -> index
        %60 = "tessera.target.select"(%58, %59, %0) : (i1, index, index) -> index
        %61 = "tessera.target.load"(%table, %60) : (!tessera.ptr<f32, "global">, index) -> f32
        %62 = "tessera.target.select"(%58, %61, %2) : (i1, f32, f32) -> f32
        %63 = "tessera.target.and"(%26, %39) : (i1, i1) -> i1
        %64 = "tessera.target.and"(%63, %41) : (i1, i1) -> i1
        %65 = "tessera.target.and"(%64, %26) : (i1, i1) -> i1
        %66 = "tessera.target.add"(%45, %11) : (index, index) -> index
        %67 = "tessera.target.select"(%65, %66, %0) : (i1, index, index) -> index
        %68 = "tessera.target.load"(%table, %67) : (!tessera.ptr<f32, "global">, index) -> f32
        %69 = "tessera.target.select"(%65, %68, %2) : (i1, f32, f32) -> f32
        %70 = "tessera.target.add"(%29, %48) : (f32, f32) -> f32
        %71 = "tessera.target.add"(%30, %55) : (f32, f32) -> f32
        %72 = "tessera.target.add"(%31, %62) : (f32, f32) -> f32
        %73 = "tessera.target.add"(%32, %69) : (f32, f32) -> f32
        "tessera.target.yield"(%70, %71, %72, %73) : (f32, f32, f32, f32) -> ()
      }) : (index, index, index, f32, f32, f32, f32) -> (f32, f32, f32, f32)
      %74 = "tessera.target.div"(%27#0, %18) : (f32, f32) -> f32
      %75 = "tessera.target.div"(%27#1, %18) : (f32, f32) -> f32
      %76 = "tessera.target.div"(%27#2, %18) : (f32, f32) -> f32
      %77 = "tessera.target.div"(%27#3, %18) : (f32, f32) -> f32
      "tessera.target.yield"(%74, %75, %76, %77) : (f32, f32, f32, f32) -> ()
    }, {
      "tessera.target.yield"(%13, %13, %13, %13) : (f32, f32, f32, f32) -> ()
    }) : (i1) -> (f32, f32, f32, f32)
    %78 = "tessera.target.mul"(%14, %5) : (index, index) -> index
    %79 = "tessera.target.compare"(%78, %6) {predicate = "lt"} : (index, index) -> i1
    %80 = "tessera.target.mul"(%15, %6) : (index, index) -> index
    %81 = "tessera.target.add"(%80, %78) : (index, index) -> index
    "tessera.target.if"(%79) ({
      "tessera.target.store"(%20#0, %y, %81) : (f32, !tessera.ptr<f32, "global">, index) -> ()
      "tessera.target.yield"() : () -> ()
    }) : (i1) -> ()
    %82 = "tessera.target.compare"(%78, %8) {predicate = "lt"} : (index, index) -> i1
    %83 = "tessera.target.add"(%81, %1) : (index, index) -> index
    "tessera.target.if"(%82) ({
      "tessera.target.store"(%20#1, %y, %83) : (f32, !tessera.ptr<f32, "global">, index) -> ()
      "tessera.target.yield"() : () -> ()
    }) : (i1) -> ()
    %84 = "tessera.target.compare"(%78, %10) {predicate = "lt"} : (index, index) -> i1
    %85 = "tessera.target.add"(%81, %9) : (index, index) -> index
    "tessera.target.if"(%84) ({
      "tessera.target.store"(%20#2, %y, %85) : (f32, !tessera.ptr<f32, "global">, index) -> ()
      "tessera.target.yield"() : () -> ()
    }) : (i1) -> ()
    %86 = "tessera.target.compare"(%78, %12) {predicate = "lt"} : (index, index) -> i1
    %87 = "tessera.target.add"(%81, %11) : (index, index) -> index
    "tessera.target.if"(%86) ({
      "tessera.target.store"(%20#3, %y, %87) : (f32, !tessera.ptr<f32, "global">, index) -> ()
      "tessera.target.yield"() : () -> ()
    }) : (i1) -> ()
    "tessera.target.return"() : () -> ()
  }) {sym_name = "embedding_mean", grid = [5 : i64, 1 : i64, 1 : i64], outputs = 1 : i64, dialect = "hip", block = [64 : i64, 1 : i64, 1 : i64], subgroup = 64 : i64, shared_bytes = 0 : i64, arch = "gfx942"} : () -> ()
}) : () -> ()
