"builtin.module"() ({
  "tessera.target.kernel"() ({
  ^bb0(%a: !tessera.ptr<bf16, "global">, %b: !tessera.ptr<bf16, "global">, %c: !tessera.ptr<bf16, "global">):
    %thread = "tessera.target.thread_id"() : () -> index
    %warp = "tessera.target.warp_id"() : () -> index
    %0 = "tessera.target.tensor_map"(%a) {dims = [128 : i64, 128 : i64], strides = [256 : i64], box = [64 : i64, 64 : i64], swizzle = 128 : i64} : (!tessera.ptr<bf16, "global">) -> !tessera.token
    %1 = "tessera.target.tensor_map"(%b) {dims = [128 : i64, 128 : i64], strides = [256 : i64], box = [64 : i64, 64 : i64], swizzle = 128 : i64} : (!tessera.ptr<bf16, "global">) -> !tessera.token
    %2 = "tessera.target.tensor_map"(%c) {dims = [128 : i64, 128 : i64], strides = [256 : i64], box = [64 : i64, 64 : i64], swizzle = 128 : i64} : (!tessera.ptr<bf16, "global">) -> !tessera.token
    %a_tiles = "tessera.target.shared"() {offset = 8192 : i64} : () -> !tessera.ptr<bf16, "shared">
    %b_tiles = "tessera.target.shared"() {offset = 73728 : i64} : () -> !tessera.ptr<bf16, "shared">
    %c_tile = "tessera.target.shared"() {offset = 0 : i64} : () -> !tessera.ptr<bf16, "shared">
    %full = "tessera.target.shared"() {offset = 139264 : i64} : () -> !tessera.ptr<i64, "shared">
    %empty = "tessera.target.shared"() {offset = 139328 : i64} : () -> !tessera.ptr<i64, "shared">
    %3 = "tessera.target.const"() {value = 0 : i64} : () -> index
    %4 = "tessera.target.compare"(%thread, %3) {predicate = "eq"} : (index, index) -> i1
    "tessera.target.if"(%4) ({
      %5 = "tessera.target.const"() {value = 1 : i64} : () -> index
      %6 = "tessera.target.const"() {value = 8 : i64} : () -> index
      %7 = "tessera.target.const"() {value = 0 : i64} : () -> index
      "tessera.target.for"(%7, %6, %5) ({
      ^bb0(%stage: index):
        "tessera.target.mbar_init"(%full, %stage) {count = 1 : i64} : (!tessera.ptr<i64, "shared">, index) -> ()
        "tessera.target.mbar_init"(%empty, %stage) {count = 4 : i64} : (!tessera.ptr<i64, "shared">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (index, index, index) -> ()
      "tessera.target.fence"() {kind = "mbarrier_init"} : () -> ()
      "tessera.target.yield"() : () -> ()
    }, {
    }) : (i1) -> ()
    "tessera.target.barrier"() : () -> ()
    %8 = "tessera.target.const"() {value = 2 : i64} : () -> index
    %9 = "tessera.target.shr"(%warp, %8) : (index, index) -> index
    %10 = "tessera.target.const"() {value = 1 : i64} : () -> index
    %11 = "tessera.target.compare"(%9, %10) {predicate = "eq"} : (index, index) -> i1
    "tessera.target.if"(%11) ({
      %12 = "tessera.target.const"() {value = -128 : i64} : () -> index
      %13 = "tessera.target.add"(%thread, %12) : (index, index) -> index
      %14 = "tessera.target.const"() {value = 0 : i64} : () -> index
      %15 = "tessera.target.compare"(%13, %14) {predicate = "eq"} : (index, index) -> i1
      "tessera.target.if"(%15) ({
        %phase = "tessera.target.const"() {value = 0 : i64} : () -> index
        %16 = "tessera.target.const"() {value = 0 : i64} : () -> index
        %17 = "tessera.target.block_id"() : () -> index
        %18 = "tessera.target.const"() {value = 4 : i64} : () -> index
        %19 = "tessera.target.const"() {value = 4 : i64} : () -> index
        %20:2 = "tessera.target.for"(%17, %19, %18, %16, %phase) ({
        ^bb0(%unit: index, %21: index, %22: index):
          %23 = "tessera.target.const"() {value = 2 : i64} : () -> index
          %24 = "tessera.target.shr"(%unit, %23) : (index, index) -> index
          %25 = "tessera.target.const"() {value = 3 : i64} : () -> index
          %26 = "tessera.target.and"(%unit, %25) : (index, index) -> index
          %27 = "tessera.target.const"() {value = 2 : i64} : () -> index
          %28 = "tessera.target.mul"(%24, %27) : (index, index) -> index
          %29 = "tessera.target.const"() {value = 1 : i64} : () -> index
          %30 = "tessera.target.and"(%26, %29) : (index, index) -> index
          %tile_y = "tessera.target.add"(%28, %30) : (index, index) -> index
          %31 = "tessera.target.const"() {value = 1 : i64} : () -> index
          %tile_x = "tessera.target.shr"(%26, %31) : (index, index) -> index
          %32 = "tessera.target.const"() {value = 64 : i64} : () -> index
          %33 = "tessera.target.const"() {value = 128 : i64} : () -> index
          %34 = "tessera.target.const"() {value = 0 : i64} : () -> index
          %35:2 = "tessera.target.for"(%34, %33, %32, %21, %22) ({
          ^bb0(%k: index, %36: index, %37: index):
            %38 = "tessera.target.const"() {value = 1 : i64} : () -> index
            %39 = "tessera.target.xor"(%37, %38) : (index, index) -> index
            "tessera.target.mbar_wait"(%empty, %36, %39) : (!tessera.ptr<i64, "shared">, index, index) -> ()
            "tessera.target.mbar_expect"(%full, %36) {bytes = 16384 : i64} : (!tessera.ptr<i64, "shared">, index) -> ()
            %40 = "tessera.target.const"() {value = 4096 : i64} : () -> index
            %41 = "tessera.target.mul"(%36, %40) : (index, index) -> index
            %42 = "tessera.target.const"() {value = 4096 : i64} : () -> index
            %43 = "tessera.target.mul"(%36, %42) : (index, index) -> index
            %44 = "tessera.target.const"() {value = 64 : i64} : () -> index
            %45 = "tessera.target.mul"(%tile_y, %44) : (index, index) -> index
            %46 = "tessera.target.ptr_add"(%full, %36) : (!tessera.ptr<i64, "shared">, index) -> !tessera.ptr<i64, "shared">
            "tessera.target.tma_load"(%0, %a_tiles, %41, %46, %k, %45) : (!tessera.token, !tessera.ptr<bf16, "shared">, index, !tessera.ptr<i64, "shared">, index, index) -> ()
            %47 = "tessera.target.const"() {value = 64 : i64} : () -> index
            %48 = "tessera.target.mul"(%tile_x, %47) : (index, index) -> index
            %49 = "tessera.target.ptr_add"(%full, %36) : (!tessera.ptr<i64, "shared">, index) -> !tessera.ptr<i64, "shared">
            "tessera.target.tma_load"(%1, %b_tiles, %43, %49, %48, %k) : (!tessera.token, !tessera.ptr<bf16, "shared">, index, !tessera.ptr<i64, "shared">, index, index) -> ()
            %50 = "tessera.target.const"() {value = 1 : i64} : () -> index
            %51 = "tessera.target.add"(%36, %50) : (index, index) -> index
            %52 = "tessera.target.const"() {value = 8 : i64} : () -> index
            %53 = "tessera.target.compare"(%51, %52) {predicate = "eq"} : (index, index) -> i1
            %54 = "tessera.target.const"() {value = 0 : i64} : () -> index
            %55 = "tessera.target.select"(%53, %54, %51) : (i1, index, index) -> index
            %56 = "tessera.target.const"() {value = 1 : i64} : () -> index
            %57 = "tessera.target.xor"(%37, %56) : (index, index) -> index
            %58 = "tessera.target.select"(%53, %57, %37) : (i1, index, index) -> index
            "tessera.target.yield"(%55, %58) : (index, index) -> ()
          }) {unroll_by = 1 : i64} : (index, index, index, index, index) -> (index, index)
          "tessera.target.yield"(%35#0, %35#1) : (index, index) -> ()
        }) {unroll_by = 1 : i64} : (index, index, index, index, index) -> (index, index)
        "tessera.target.yield"() : () -> ()
      }, {
      }) : (i1) -> ()
      "tessera.target.warp_barrier"() : () -> ()
      "tessera.target.yield"() : () -> ()
    }, {
      %59 = "tessera.target.const"() {value = 127 : i64} : () -> index
      %in_group = "tessera.target.and"(%thread, %59) : (index, index) -> index
      %60 = "tessera.target.const"() {value = 31 : i64} : () -> index
      %lane = "tessera.target.and"(%thread, %60) : (index, index) -> index
      %61 = "tessera.target.const"() {value = 3 : i64} : () -> index
      %62 = "tessera.target.and"(%warp, %61) : (index, index) -> index
      %acc = "tessera.target.local"() : () -> !tessera.array<32xf32>
      %63 = "tessera.target.const"() {value = 0 : i64} : () -> index
      %64 = "tessera.target.const"() {value = 0 : i64} : () -> index
      %65 = "tessera.target.block_id"() : () -> index
      %66 = "tessera.target.const"() {value = 4 : i64} : () -> index
      %67 = "tessera.target.const"() {value = 4 : i64} : () -> index
      %68:2 = "tessera.target.for"(%65, %67, %66, %64, %63) ({
      ^bb0(%69: index, %70: index, %71: index):
        %72 = "tessera.target.const"() {value = 2 : i64} : () -> index
        %73 = "tessera.target.shr"(%69, %72) : (index, index) -> index
        %74 = "tessera.target.const"() {value = 3 : i64} : () -> index
        %75 = "tessera.target.and"(%69, %74) : (index, index) -> index
        %76 = "tessera.target.const"() {value = 2 : i64} : () -> index
        %77 = "tessera.target.mul"(%73, %76) : (index, index) -> index
        %78 = "tessera.target.const"() {value = 1 : i64} : () -> index
        %79 = "tessera.target.and"(%75, %78) : (index, index) -> index
        %80 = "tessera.target.add"(%77, %79) : (index, index) -> index
        %81 = "tessera.target.const"() {value = 1 : i64} : () -> index
        %82 = "tessera.target.shr"(%75, %81) : (index, index) -> index
        %83 = "tessera.target.const"() {value = 1 : i64} : () -> index
        %84 = "tessera.target.const"() {value = 32 : i64} : () -> index
        %85 = "tessera.target.const"() {value = 0 : i64} : () -> index
        "tessera.target.for"(%85, %84, %83) ({
        ^bb0(%i: index):
          %86 = "tessera.target.const"() {value = 0.0 : f64} : () -> f32
          "tessera.target.set"(%86, %acc, %i) : (f32, !tessera.array<32xf32>, index) -> ()
          "tessera.target.yield"() : () -> ()
        }) {unroll = true} : (index, index, index) -> ()
        %87 = "tessera.target.const"() {value = 64 : i64} : () -> index
        %88 = "tessera.target.const"() {value = 128 : i64} : () -> index
        %89 = "tessera.target.const"() {value = 0 : i64} : () -> index
        %90:2 = "tessera.target.for"(%89, %88, %87, %70, %71) ({
        ^bb0(%91: index, %92: index, %93: index):
          "tessera.target.mbar_wait"(%full, %92, %93) : (!tessera.ptr<i64, "shared">, index, index) -> ()
          "tessera.target.wgmma_fence"(%acc) : (!tessera.array<32xf32>) -> ()
          %94 = "tessera.target.const"() {value = 4096 : i64} : () -> index
          %95 = "tessera.target.mul"(%92, %94) : (index, index) -> index
          %96 = "tessera.target.const"() {value = 4096 : i64} : () -> index
          %97 = "tessera.target.mul"(%92, %96) : (index, index) -> index
          %98 = "tessera.target.const"() {value = 4096 : i64} : () -> index
          %99 = "tessera.target.mul"(%9, %98) : (index, index) -> index
          %100 = "tessera.target.add"(%95, %99) : (index, index) -> index
          "tessera.target.wgmma"(%acc, %a_tiles, %100, %b_tiles, %97) {n = 64 : i64, k = 16 : i64, a = "bf16", b = "bf16", c = "f32", swizzle = 128 : i64, transpose_b = true, lbo_a = 16 : i64, sbo_a = 1024 : i64, lbo_b = 8192 : i64, sbo_b = 1024 : i64} : (!tessera.array<32xf32>, !tessera.ptr<bf16, "shared">, index, !tessera.ptr<bf16, "shared">, index) -> ()
          %101 = "tessera.target.const"() {value = 16 : i64} : () -> index
          %102 = "tessera.target.add"(%100, %101) : (index, index) -> index
          %103 = "tessera.target.const"() {value = 1024 : i64} : () -> index
          %104 = "tessera.target.add"(%97, %103) : (index, index) -> index
          "tessera.target.wgmma"(%acc, %a_tiles, %102, %b_tiles, %104) {n = 64 : i64, k = 16 : i64, a = "bf16", b = "bf16", c = "f32", swizzle = 128 : i64, transpose_b = true, lbo_a = 16 : i64, sbo_a = 1024 : i64, lbo_b = 8192 : i64, sbo_b = 1024 : i64} : (!tessera.array<32xf32>, !tessera.ptr<bf16, "shared">, index, !tessera.ptr<bf16, "shared">, index) -> ()
          %105 = "tessera.target.const"() {value = 32 : i64} : () -> index
          %106 = "tessera.target.add"(%100, %105) : (index, index) -> index
          %107 = "tessera.target.const"() {value = 2048 : i64} : () -> index
          %108 = "tessera.target.add"(%97, %107) : (index, index) -> index
          "tessera.target.wgmma"(%acc, %a_tiles, %106, %b_tiles, %108) {n = 64 : i64, k = 16 : i64, a = "bf16", b = "bf16", c = "f32", swizzle = 128 : i64, transpose_b = true, lbo_a = 16 : i64, sbo_a = 1024 : i64, lbo_b = 8192 : i64, sbo_b = 1024 : i64} : (!tessera.array<32xf32>, !tessera.ptr<bf16, "shared">, index, !tessera.ptr<bf16, "shared">, index) -> ()
          %109 = "tessera.target.const"() {value = 48 : i64} : () -> index
          %110 = "tessera.target.add"(%100, %109) : (index, index) -> index
          %111 = "tessera.target.const"() {value = 3072 : i64} : () -> index
          %112 = "tessera.target.add"(%97, %111) : (index, index) -> index
          "tessera.target.wgmma"(%acc, %a_tiles, %110, %b_tiles, %112) {n = 64 : i64, k = 16 : i64, a = "bf16", b = "bf16", c = "f32", swizzle = 128 : i64, transpose_b = true, lbo_a = 16 : i64, sbo_a = 1024 : i64, lbo_b = 8192 : i64, sbo_b = 1024 : i64} : (!tessera.array<32xf32>, !tessera.ptr<bf16, "shared">, index, !tessera.ptr<bf16, "shared">, index) -> ()
          "tessera.target.wgmma_commit"() : () -> ()
          "tessera.target.wgmma_wait"(%acc) {pending = 1 : i64} : (!tessera.array<32xf32>) -> ()
          %113 = "tessera.target.const"() {value = 0 : i64} : () -> index
          %114 = "tessera.target.compare"(%91, %113) {predicate = "gt"} : (index, index) -> i1
          "tessera.target.if"(%114) ({
            %115 = "tessera.target.const"() {value = -1 : i64} : () -> index
            %116 = "tessera.target.add"(%92, %115) : (index, index) -> index
            %117 = "tessera.target.const"() {value = 7 : i64} : () -> index
            %118 = "tessera.target.const"() {value = 0 : i64} : () -> index
            %119 = "tessera.target.compare"(%92, %118) {predicate = "eq"} : (index, index) -> i1
            %120 = "tessera.target.select"(%119, %117, %116) : (i1, index, index) -> index
            %121 = "tessera.target.const"() {value = 1 : i64} : () -> index
            %122 = "tessera.target.compare"(%lane, %121) {predicate = "lt"} : (index, index) -> i1
            "tessera.target.if"(%122) ({
              "tessera.target.mbar_arrive"(%empty, %120) : (!tessera.ptr<i64, "shared">, index) -> ()
              "tessera.target.yield"() : () -> ()
            }, {
            }) : (i1) -> ()
            "tessera.target.yield"() : () -> ()
          }, {
          }) : (i1) -> ()
          %123 = "tessera.target.const"() {value = 1 : i64} : () -> index
          %124 = "tessera.target.add"(%92, %123) : (index, index) -> index
          %125 = "tessera.target.const"() {value = 8 : i64} : () -> index
          %126 = "tessera.target.compare"(%124, %125) {predicate = "eq"} : (index, index) -> i1
          %127 = "tessera.target.const"() {value = 0 : i64} : () -> index
          %128 = "tessera.target.select"(%126, %127, %124) : (i1, index, index) -> index
          %129 = "tessera.target.const"() {value = 1 : i64} : () -> index
          %130 = "tessera.target.xor"(%93, %129) : (index, index) -> index
          %131 = "tessera.target.select"(%126, %130, %93) : (i1, index, index) -> index
          "tessera.target.yield"(%128, %131) : (index, index) -> ()
        }) {unroll_by = 1 : i64} : (index, index, index, index, index) -> (index, index)
        "tessera.target.wgmma_wait"(%acc) {pending = 0 : i64} : (!tessera.array<32xf32>) -> ()
        %132 = "tessera.target.const"() {value = -1 : i64} : () -> index
        %133 = "tessera.target.add"(%90#0, %132) : (index, index) -> index
        %134 = "tessera.target.const"() {value = 7 : i64} : () -> index
        %135 = "tessera.target.const"() {value = 0 : i64} : () -> index
        %136 = "tessera.target.compare"(%90#0, %135) {predicate = "eq"} : (index, index) -> i1
        %137 = "tessera.target.select"(%136, %134, %133) : (i1, index, index) -> index
        %138 = "tessera.target.const"() {value = 1 : i64} : () -> index
        %139 = "tessera.target.compare"(%lane, %138) {predicate = "lt"} : (index, index) -> i1
        "tessera.target.if"(%139) ({
          "tessera.target.mbar_arrive"(%empty, %137) : (!tessera.ptr<i64, "shared">, index) -> ()
          "tessera.target.yield"() : () -> ()
        }, {
        }) : (i1) -> ()
        %140 = "tessera.target.const"() {value = 0 : i64} : () -> index
        %141 = "tessera.target.compare"(%in_group, %140) {predicate = "eq"} : (index, index) -> i1
        "tessera.target.if"(%141) ({
          "tessera.target.tma_wait"() {pending = 0 : i64} : () -> ()
          "tessera.target.yield"() : () -> ()
        }, {
        }) : (i1) -> ()
        "tessera.target.named_barrier"() {id = 1 : i64, threads = 128 : i64} : () -> ()
        %142 = "tessera.target.const"() {value = 64 : i64} : () -> index
        %143 = "tessera.target.mul"(%9, %142) : (index, index) -> index
        %144 = "tessera.target.const"() {value = 16 : i64} : () -> index
        %145 = "tessera.target.mul"(%62, %144) : (index, index) -> index
        %146 = "tessera.target.const"() {value = 15 : i64} : () -> index
        %147 = "tessera.target.and"(%lane, %146) : (index, index) -> index
        %148 = "tessera.target.add"(%143, %145) : (index, index) -> index
        %149 = "tessera.target.add"(%148, %147) : (index, index) -> index
        %150 = "tessera.target.const"() {value = 4 : i64} : () -> index
        %151 = "tessera.target.shr"(%lane, %150) : (index, index) -> index
        %152 = "tessera.target.const"() {value = 1 : i64} : () -> index
        %153 = "tessera.target.const"() {value = 4 : i64} : () -> index
        %154 = "tessera.target.const"() {value = 0 : i64} : () -> index
        "tessera.target.for"(%154, %153, %152) ({
        ^bb0(%j: index):
          %155 = "tessera.target.const"() {value = 8 : i64} : () -> index
          %156 = "tessera.target.mul"(%j, %155) : (index, index) -> index
          %157 = "tessera.target.get"(%acc, %156) : (!tessera.array<32xf32>, index) -> f32
          %158 = "tessera.target.const"() {value = 1 : i64} : () -> index
          %159 = "tessera.target.add"(%156, %158) : (index, index) -> index
          %160 = "tessera.target.get"(%acc, %159) : (!tessera.array<32xf32>, index) -> f32
          %161 = "tessera.target.cast"(%157) : (f32) -> bf16
          %162 = "tessera.target.cast"(%160) : (f32) -> bf16
          %163 = "tessera.target.vector"(%161, %162) : (bf16, bf16) -> vector<2xbf16>
          %164 = "tessera.target.bitcast"(%163) : (vector<2xbf16>) -> i32
          %165 = "tessera.target.const"() {value = 8 : i64} : () -> index
          %166 = "tessera.target.mul"(%j, %165) : (index, index) -> index
          %167 = "tessera.target.const"() {value = 2 : i64} : () -> index
          %168 = "tessera.target.add"(%166, %167) : (index, index) -> index
          %169 = "tessera.target.get"(%acc, %168) : (!tessera.array<32xf32>, index) -> f32
          %170 = "tessera.target.const"() {value = 3 : i64} : () -> index
          %171 = "tessera.target.add"(%166, %170) : (index, index) -> index
          %172 = "tessera.target.get"(%acc, %171) : (!tessera.array<32xf32>, index) -> f32
          %173 = "tessera.target.cast"(%169) : (f32) -> bf16
          %174 = "tessera.target.cast"(%172) : (f32) -> bf16
          %175 = "tessera.target.vector"(%173, %174) : (bf16, bf16) -> vector<2xbf16>
          %176 = "tessera.target.bitcast"(%175) : (vector<2xbf16>) -> i32
          %177 = "tessera.target.const"() {value = 8 : i64} : () -> index
          %178 = "tessera.target.mul"(%j, %177) : (index, index) -> index
          %179 = "tessera.target.const"() {value = 4 : i64} : () -> index
          %180 = "tessera.target.add"(%178, %179) : (index, index) -> index
          %181 = "tessera.target.get"(%acc, %180) : (!tessera.array<32xf32>, index) -> f32
          %182 = "tessera.target.const"() {value = 5 : i64} : () -> index
          %183 = "tessera.target.add"(%178, %182) : (index, index) -> index
          %184 = "tessera.target.get"(%acc, %183) : (!tessera.array<32xf32>, index) -> f32
          %185 = "tessera.target.cast"(%181) : (f32) -> bf16
          %186 = "tessera.target.cast"(%184) : (f32) -> bf16
          %187 = "tessera.target.vector"(%185, %186) : (bf16, bf16) -> vector<2xbf16>
          %188 = "tessera.target.bitcast"(%187) : (vector<2xbf16>) -> i32
          %189 = "tessera.target.const"() {value = 8 : i64} : () -> index
          %190 = "tessera.target.mul"(%j, %189) : (index, index) -> index
          %191 = "tessera.target.const"() {value = 6 : i64} : () -> index
          %192 = "tessera.target.add"(%190, %191) : (index, index) -> index
          %193 = "tessera.target.get"(%acc, %192) : (!tessera.array<32xf32>, index) -> f32
          %194 = "tessera.target.const"() {value = 7 : i64} : () -> index
          %195 = "tessera.target.add"(%190, %194) : (index, index) -> index
          %196 = "tessera.target.get"(%acc, %195) : (!tessera.array<32xf32>, index) -> f32
          %197 = "tessera.target.cast"(%193) : (f32) -> bf16
          %198 = "tessera.target.cast"(%196) : (f32) -> bf16
          %199 = "tessera.target.vector"(%197, %198) : (bf16, bf16) -> vector<2xbf16>
          %200 = "tessera.target.bitcast"(%199) : (vector<2xbf16>) -> i32
          %201 = "tessera.target.const"() {value = 3 : i64} : () -> index
          %202 = "tessera.target.and"(%j, %201) : (index, index) -> index
          %203 = "tessera.target.const"() {value = 2 : i64} : () -> index
          %204 = "tessera.target.mul"(%202, %203) : (index, index) -> index
          %205 = "tessera.target.add"(%204, %151) : (index, index) -> index
          %206 = "tessera.target.const"() {value = 7 : i64} : () -> index
          %207 = "tessera.target.and"(%149, %206) : (index, index) -> index
          %208 = "tessera.target.xor"(%205, %207) : (index, index) -> index
          %209 = "tessera.target.const"() {value = 8 : i64} : () -> index
          %210 = "tessera.target.mul"(%208, %209) : (index, index) -> index
          %211 = "tessera.target.const"() {value = 64 : i64} : () -> index
          %212 = "tessera.target.mul"(%149, %211) : (index, index) -> index
          %213 = "tessera.target.add"(%212, %210) : (index, index) -> index
          %214 = "tessera.target.const"() {value = 2 : i64} : () -> index
          %215 = "tessera.target.shr"(%j, %214) : (index, index) -> index
          %216 = "tessera.target.const"() {value = 4096 : i64} : () -> index
          %217 = "tessera.target.mul"(%215, %216) : (index, index) -> index
          %218 = "tessera.target.add"(%217, %213) : (index, index) -> index
          %219 = "tessera.target.vector"(%164, %176, %188, %200) : (i32, i32, i32, i32) -> vector<4xi32>
          "tessera.target.stmatrix"(%219, %c_tile, %218) : (vector<4xi32>, !tessera.ptr<bf16, "shared">, index) -> ()
          "tessera.target.yield"() : () -> ()
        }) {unroll = true} : (index, index, index) -> ()
        "tessera.target.fence"() {kind = "async_proxy"} : () -> ()
        "tessera.target.named_barrier"() {id = 1 : i64, threads = 128 : i64} : () -> ()
        "tessera.target.if"(%141) ({
          %220 = "tessera.target.const"() {value = 64 : i64} : () -> index
          %221 = "tessera.target.mul"(%9, %220) : (index, index) -> index
          %222 = "tessera.target.const"() {value = 64 : i64} : () -> index
          %223 = "tessera.target.mul"(%82, %222) : (index, index) -> index
          %224 = "tessera.target.const"() {value = 64 : i64} : () -> index
          %225 = "tessera.target.mul"(%80, %224) : (index, index) -> index
          %226 = "tessera.target.add"(%225, %221) : (index, index) -> index
          %227 = "tessera.target.const"() {value = 64 : i64} : () -> index
          %228 = "tessera.target.mul"(%221, %227) : (index, index) -> index
          "tessera.target.tma_store"(%2, %c_tile, %228, %223, %226) : (!tessera.token, !tessera.ptr<bf16, "shared">, index, index, index) -> ()
          "tessera.target.tma_commit"() : () -> ()
          "tessera.target.yield"() : () -> ()
        }, {
        }) : (i1) -> ()
        "tessera.target.yield"(%90#0, %90#1) : (index, index) -> ()
      }) {unroll_by = 1 : i64} : (index, index, index, index, index) -> (index, index)
      %229 = "tessera.target.const"() {value = 0 : i64} : () -> index
      %230 = "tessera.target.compare"(%in_group, %229) {predicate = "eq"} : (index, index) -> i1
      "tessera.target.if"(%230) ({
        "tessera.target.tma_wait"() {pending = 0 : i64} : () -> ()
        "tessera.target.yield"() : () -> ()
      }, {
      }) : (i1) -> ()
      "tessera.target.warp_barrier"() : () -> ()
      "tessera.target.yield"() : () -> ()
    }) : (i1) -> ()
    "tessera.target.return"() : () -> ()
  }) {sym_name = "mm_x", family = "matmul", outputs = 1 : i64, dialect = "cuda", arch = "sm_90a", path = "wgmma m64n64k16, 8 stages, cluster 1, 1+1 warpgroups, TMA epilogue", subgroup = 32 : i64, shared_bytes = 139392 : i64, grid = [4 : i64, 1 : i64, 1 : i64], block = [256 : i64, 1 : i64, 1 : i64]} : () -> ()
}) : () -> ()

