"builtin.module"() ({
  "tessera.target.program"() ({
  ^bb0(%X: tensor<100x60xi32>):
    %Y = "tessera.target.buffer"() : () -> tensor<60x100xi32>
    "tessera.target.launch"(%X, %Y) {kernel = "transpose"} : (tensor<100x60xi32>, tensor<60x100xi32>) -> ()
    "tessera.target.return"(%Y) : (tensor<60x100xi32>) -> ()
  }) {sym_name = "main"} : () -> ()
  "tessera.target.kernel"() ({
  ^bb0(%x: !tessera.ptr<i32, "global">, %y: !tessera.ptr<i32, "global">):
    %0 = "tessera.target.const"() {value = 0 : i64} : () -> index
    %1 = "tessera.target.const"() {value = 32 : i64} : () -> index
    %2 = "tessera.target.const"() {value = 100 : i64} : () -> index
    %3 = "tessera.target.const"() {value = 60 : i64} : () -> index
    %4 = "tessera.target.const"() {value = 1920 : i64} : () -> index
    %5 = "tessera.target.const"() {value = 1 : i64} : () -> index
    %6 = "tessera.target.const"() {value = 3200 : i64} : () -> index
    %7 = "tessera.target.const"() {value = 0 : i64} : () -> i32
    %8 = "tessera.target.const"() {value = 4 : i64} : () -> index
    %9 = "tessera.target.const"() {value = 3 : i64} : () -> index
    %10 = "tessera.target.const"() {value = 7 : i64} : () -> index
    %11 = "tessera.target.const"() {value = 960 : i64} : () -> index
    %12 = "tessera.target.const"() {value = 16 : i64} : () -> index
    %13 = "tessera.target.const"() {value = 33 : i64} : () -> index
    %14 = "tessera.target.const"() {value = 132 : i64} : () -> index
    %15 = "tessera.target.const"() {value = 66 : i64} : () -> index
    %16 = "tessera.target.const"() {value = 99 : i64} : () -> index
    %17 = "tessera.target.const"() {value = 49 : i64} : () -> index
    %18 = "tessera.target.const"() {value = 82 : i64} : () -> index
    %19 = "tessera.target.const"() {value = 115 : i64} : () -> index
    %20 = "tessera.target.const"() {value = 2 : i64} : () -> index
    %21 = "tessera.target.const"() {value = 528 : i64} : () -> index
    %22 = "tessera.target.const"() {value = 529 : i64} : () -> index
    %23 = "tessera.target.const"() {value = 530 : i64} : () -> index
    %24 = "tessera.target.const"() {value = 531 : i64} : () -> index
    %25 = "tessera.target.const"() {value = 1600 : i64} : () -> index
    %26 = "tessera.target.lane_id"() : () -> index
    %27 = "tessera.target.warp_id"() : () -> index
    %28 = "tessera.target.block_id"() {axis = 0 : i64} : () -> index
    %29 = "tessera.target.block_id"() {axis = 1 : i64} : () -> index
    %30 = "tessera.target.mul"(%29, %1) : (index, index) -> index
    %31 = "tessera.target.mul"(%28, %1) : (index, index) -> index
    %32 = "tessera.target.sub"(%2, %30) : (index, index) -> index
    %33 = "tessera.target.min"(%32, %1) : (index, index) -> index
    %34 = "tessera.target.mul"(%29, %4) : (index, index) -> index
    %35 = "tessera.target.sub"(%3, %31) : (index, index) -> index
    %36 = "tessera.target.min"(%35, %1) : (index, index) -> index
    %37 = "tessera.target.add"(%34, %31) : (index, index) -> index
    %38 = "tessera.target.mul"(%28, %6) : (index, index) -> index
    %39 = "tessera.target.add"(%38, %30) : (index, index) -> index
    %40 = "tessera.target.compare"(%33, %1) {predicate = "ge"} : (index, index) -> i1
    %41 = "tessera.target.compare"(%36, %1) {predicate = "ge"} : (index, index) -> i1
    %42 = "tessera.target.and"(%40, %41) : (i1, i1) -> i1
    %43:8 = "tessera.target.if"(%42) ({
      %44 = "tessera.target.mul"(%27, %8) : (index, index) -> index
      %45 = "tessera.target.shr"(%26, %9) : (index, index) -> index
      %46 = "tessera.target.add"(%44, %45) : (index, index) -> index
      %47 = "tessera.target.mul"(%46, %3) : (index, index) -> index
      %48 = "tessera.target.add"(%37, %47) : (index, index) -> index
      %49 = "tessera.target.and"(%26, %10) : (index, index) -> index
      %50 = "tessera.target.mul"(%49, %8) : (index, index) -> index
      %51 = "tessera.target.add"(%48, %50) : (index, index) -> index
      %52 = "tessera.target.load"(%x, %51) : (!tessera.ptr<i32, "global">, index) -> vector<4xi32>
      %53 = "tessera.target.extract"(%52) {at = 0 : i64} : (vector<4xi32>) -> i32
      %54 = "tessera.target.extract"(%52) {at = 1 : i64} : (vector<4xi32>) -> i32
      %55 = "tessera.target.extract"(%52) {at = 2 : i64} : (vector<4xi32>) -> i32
      %56 = "tessera.target.extract"(%52) {at = 3 : i64} : (vector<4xi32>) -> i32
      %57 = "tessera.target.add"(%51, %11) : (index, index) -> index
      %58 = "tessera.target.load"(%x, %57) : (!tessera.ptr<i32, "global">, index) -> vector<4xi32>
      %59 = "tessera.target.extract"(%58) {at = 0 : i64} : (vector<4xi32>) -> i32
      %60 = "tessera.target.extract"(%58) {at = 1 : i64} : (vector<4xi32>) -> i32
      %61 = "tessera.target.extract"(%58) {at = 2 : i64} : (vector<4xi32>) -> i32
      %62 = "tessera.target.extract"(%58) {at = 3 : i64} : (vector<4xi32>) -> i32
      "tessera.target.yield"(%53, %54, %55, %56, %59, %60, %61, %62) : (i32, i32, i32, i32, i32, i32, i32, i32) -> ()
    }, {
      %63 = "tessera.target.mul"(%27, %8) : (index, index) -> index
      %64 = "tessera.target.shr"(%26, %9) : (index, index) -> index
      %65 = "tessera.target.add"(%63, %64) : (index, index) -> index
      %66 = "tessera.target.compare"(%65, %33) {predicate = "lt"} : (index, index) -> i1
      %67 = "tessera.target.and"(%26, %10) : (index, index) -> index
      %68 = "tessera.target.mul"(%67, %8) : (index, index) -> index
      %69 = "tessera.target.compare"(%68, %36) {predicate = "lt"} : (index, index) -> i1
      %70 = "tessera.target.and"(%66, %69) : (i1, i1) -> i1
      %71 = "tessera.target.mul"(%65, %3) : (index, index) -> index
      %72 = "tessera.target.add"(%37, %71) : (index, index) -> index
      %73 = "tessera.target.add"(%72, %68) : (index, index) -> index
      %74 = "tessera.target.select"(%70, %73, %0) : (i1, index, index) -> index
      %75 = "tessera.target.load"(%x, %74) : (!tessera.ptr<i32, "global">, index) -> vector<4xi32>
      %76 = "tessera.target.extract"(%75) {at = 0 : i64} : (vector<4xi32>) -> i32
      %77 = "tessera.target.select"(%70, %76, %7) : (i1, i32, i32) -> i32
      %78 = "tessera.target.extract"(%75) {at = 1 : i64} : (vector<4xi32>) -> i32
      %79 = "tessera.target.select"(%70, %78, %7) : (i1, i32, i32) -> i32
      %80 = "tessera.target.extract"(%75) {at = 2 : i64} : (vector<4xi32>) -> i32
      %81 = "tessera.target.select"(%70, %80, %7) : (i1, i32, i32) -> i32
      %82 = "tessera.target.extract"(%75) {at = 3 : i64} : (vector<4xi32>) -> i32
      %83 = "tessera.target.select"(%70, %82, %7) : (i1, i32, i32) -> i32
      %84 = "tessera.target.add"(%65, %12) : (index, index) -> index
      %85 = "tessera.target.compare"(%84, %33) {predicate = "lt"} : (index, index) -> i1
      %86 = "tessera.target.and"(%85, %69) : (i1, i1) -> i1
      %87 = "tessera.target.add"(%73, %11) : (index, index) -> index
      %88 = "tessera.target.select"(%86, %87, %0) : (i1, index, index) -> index
      %89 = "tessera.target.load"(%x, %88) : (!tessera.ptr<i32, "global">, index) -> vector<4xi32>
      %90 = "tessera.target.extract"(%89) {at = 0 : i64} : (vector<4xi32>) -> i32
      %91 = "tessera.target.select"(%86, %90, %7) : (i1, i32, i32) -> i32
      %92 = "tessera.target.extract"(%89) {at = 1 : i64} : (vector<4xi32>) -> i32
      %93 = "tessera.target.select"(%86, %92, %7) : (i1, i32, i32) -> i32
      %94 = "tessera.target.extract"(%89) {at = 2 : i64} : (vector<4xi32>) -> i32
      %95 = "tessera.target.select"(%86, %94, %7) : (i1, i32, i32) -> i32
      %96 = "tessera.target.extract"(%89) {at = 3 : i64} : (vector<4xi32>) -> i32
      %97 = "tessera.target.select"(%86, %96, %7) : (i1, i32, i32) -> i32
      "tessera.target.yield"(%77, %79, %81, %83, %91, %93, %95, %97) : (i32, i32, i32, i32, i32, i32, i32, i32) -> ()
    }) : (i1) -> (i32, i32, i32, i32, i32, i32, i32, i32)
    %98 = "tessera.target.shared"() {offset = 0 : i64} : () -> !tessera.ptr<i32, "shared">
    %99 = "tessera.target.mul"(%27, %8) : (index, index) -> index
    %100 = "tessera.target.shr"(%26, %9) : (index, index) -> index
    %101 = "tessera.target.add"(%99, %100) : (index, index) -> index
    %102 = "tessera.target.and"(%26, %10) : (index, index) -> index
    %103 = "tessera.target.mul"(%102, %8) : (index, index) -> index
    %104 = "tessera.target.mul"(%102, %14) : (index, index) -> index
    %105 = "tessera.target.add"(%101, %104) : (index, index) -> index
    "tessera.target.store"(%43#0, %98, %105) : (i32, !tessera.ptr<i32, "shared">, index) -> ()
    %106 = "tessera.target.add"(%105, %13) : (index, index) -> index
    "tessera.target.store"(%43#1, %98, %106) : (i32, !tessera.ptr<i32, "shared">, index) -> ()
    %107 = "tessera.target.add"(%105, %15) : (index, index) -> index
    "tessera.target.store"(%43#2, %98, %107) : (i32, !tessera.ptr<i32, "shared">, index) -> ()
    %108 = "tessera.target.add"(%105, %16) : (index, index) -> index
    "tessera.target.store"(%43#3, %98, %108) : (i32, !tessera.ptr<i32, "shared">, index) -> ()
    %109 = "tessera.target.add"(%105, %12) : (index, index) -> index
    "tessera.target.store"(%43#4, %98, %109) : (i32, !tessera.ptr<i32, "shared">, index) -> ()
    %110 = "tessera.target.add"(%105, %17) : (index, index) -> index
    "tessera.target.store"(%43#5, %98, %110) : (i32, !tessera.ptr<i32, "shared">, index) -> ()
    %111 = "tessera.target.add"(%105, %18) : (index, index) -> index
    "tessera.target.store"(%43#6, %98, %111) : (i32, !tessera.ptr<i32, "shared">, index) -> ()
    %112 = "tessera.target.add"(%105, %19) : (index, index) -> index
    "tessera.target.store"(%43#7, %98, %112) : (i32, !tessera.ptr<i32, "shared">, index) -> ()
    "tessera.target.barrier"() : () -> ()
    %113 = "tessera.target.mul"(%101, %13) : (index, index) -> index
    %114 = "tessera.target.add"(%113, %103) : (index, index) -> index
    %115 = "tessera.target.load"(%98, %114) : (!tessera.ptr<i32, "shared">, index) -> i32
    %116 = "tessera.target.add"(%114, %5) : (index, index) -> index
    %117 = "tessera.target.load"(%98, %116) : (!tessera.ptr<i32, "shared">, index) -> i32
    %118 = "tessera.target.add"(%114, %20) : (index, index) -> index
    %119 = "tessera.target.load"(%98, %118) : (!tessera.ptr<i32, "shared">, index) -> i32
    %120 = "tessera.target.add"(%114, %9) : (index, index) -> index
    %121 = "tessera.target.load"(%98, %120) : (!tessera.ptr<i32, "shared">, index) -> i32
    %122 = "tessera.target.add"(%114, %21) : (index, index) -> index
    %123 = "tessera.target.load"(%98, %122) : (!tessera.ptr<i32, "shared">, index) -> i32
    %124 = "tessera.target.add"(%114, %22) : (index, index) -> index
    %125 = "tessera.target.load"(%98, %124) : (!tessera.ptr<i32, "shared">, index) -> i32
    %126 = "tessera.target.add"(%114, %23) : (index, index) -> index
    %127 = "tessera.target.load"(%98, %126) : (!tessera.ptr<i32, "shared">, index) -> i32
    %128 = "tessera.target.add"(%114, %24) : (index, index) -> index
    %129 = "tessera.target.load"(%98, %128) : (!tessera.ptr<i32, "shared">, index) -> i32
    %130 = "tessera.target.and"(%41, %40) : (i1, i1) -> i1
    "tessera.target.if"(%130) ({
      %131 = "tessera.target.vector"(%115, %117, %119, %121) : (i32, i32, i32, i32) -> vector<4xi32>
      %132 = "tessera.target.mul"(%101, %2) : (index, index) -> index
      %133 = "tessera.target.add"(%39, %132) : (index, index) -> index
      %134 = "tessera.target.add"(%133, %103) : (index, index) -> index
      "tessera.target.store"(%131, %y, %134) : (vector<4xi32>, !tessera.ptr<i32, "global">, index) -> ()
      %135 = "tessera.target.vector"(%123, %125, %127, %129) : (i32, i32, i32, i32) -> vector<4xi32>
      %136 = "tessera.target.add"(%134, %25) : (index, index) -> index
      "tessera.target.store"(%135, %y, %136) : (vector<4xi32>, !tessera.ptr<i32, "global">, index) -> ()
      "tessera.target.yield"() : () -> ()
    }, {
      %137 = "tessera.target.compare"(%101, %36) {predicate = "lt"} : (index, index) -> i1
      %138 = "tessera.target.compare"(%103, %33) {predicate = "lt"} : (index, index) -> i1
      %139 = "tessera.target.and"(%137, %138) : (i1, i1) -> i1
      "tessera.target.if"(%139) ({
        %140 = "tessera.target.vector"(%115, %117, %119, %121) : (i32, i32, i32, i32) -> vector<4xi32>
        %141 = "tessera.target.mul"(%101, %2) : (index, index) -> index
        %142 = "tessera.target.add"(%39, %141) : (index, index) -> index
        %143 = "tessera.target.add"(%142, %103) : (index, index) -> index
        "tessera.target.store"(%140, %y, %143) : (vector<4xi32>, !tessera.ptr<i32, "global">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (i1) -> ()
      %144 = "tessera.target.add"(%101, %12) : (index, index) -> index
      %145 = "tessera.target.compare"(%144, %36) {predicate = "lt"} : (index, index) -> i1
      %146 = "tessera.target.and"(%145, %138) : (i1, i1) -> i1
      "tessera.target.if"(%146) ({
        %147 = "tessera.target.vector"(%123, %125, %127, %129) : (i32, i32, i32, i32) -> vector<4xi32>
        %148 = "tessera.target.mul"(%101, %2) : (index, index) -> index
        %149 = "tessera.target.add"(%39, %148) : (index, index) -> index
        %150 = "tessera.target.add"(%149, %103) : (index, index) -> index
        %151 = "tessera.target.add"(%150, %25) : (index, index) -> index
        "tessera.target.store"(%147, %y, %151) : (vector<4xi32>, !tessera.ptr<i32, "global">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (i1) -> ()
      "tessera.target.yield"() : () -> ()
    }) : (i1) -> ()
    "tessera.target.return"() : () -> ()
  }) {sym_name = "transpose", grid = [2 : i64, 4 : i64, 1 : i64], outputs = 1 : i64, dialect = "spirv", block = [128 : i64, 1 : i64, 1 : i64], subgroup = 32 : i64, shared_bytes = 4224 : i64, arch = "spirv1.6"} : () -> ()
}) : () -> ()
