"builtin.module"() ({
  "tessera.target.program"() ({
  ^bb0(%A: tensor<100003xf32>, %B: tensor<100003xf32>):
    %C = "tessera.target.buffer"() : () -> tensor<100003xf32>
    "tessera.target.launch"(%A, %B, %C) {kernel = "add"} : (tensor<100003xf32>, tensor<100003xf32>, tensor<100003xf32>) -> ()
    "tessera.target.return"(%C) : (tensor<100003xf32>) -> ()
  }) {sym_name = "main"} : () -> ()
  "tessera.target.kernel"() ({
  ^bb0(%a: !tessera.ptr<f32, "global">, %b: !tessera.ptr<f32, "global">, %c: !tessera.ptr<f32, "global">):
    %0 = "tessera.target.const"() {value = 0 : i64} : () -> index
    %1 = "tessera.target.const"() {value = 1024 : i64} : () -> index
    %2 = "tessera.target.const"() {value = 100003 : i64} : () -> index
    %3 = "tessera.target.const"() {value = 1 : i64} : () -> index
    %4 = "tessera.target.const"() {value = 0.0 : f64} : () -> f32
    %5 = "tessera.target.const"() {value = 32 : i64} : () -> index
    %6 = "tessera.target.const"() {value = 4 : i64} : () -> index
    %7 = "tessera.target.const"() {value = 512 : i64} : () -> index
    %8 = "tessera.target.const"() {value = 2 : i64} : () -> index
    %9 = "tessera.target.const"() {value = 3 : i64} : () -> index
    %10 = "tessera.target.const"() {value = 513 : i64} : () -> index
    %11 = "tessera.target.const"() {value = 514 : i64} : () -> index
    %12 = "tessera.target.const"() {value = 515 : i64} : () -> index
    %13 = "tessera.target.lane_id"() : () -> index
    %14 = "tessera.target.warp_id"() : () -> index
    %15 = "tessera.target.block_id"() {axis = 0 : i64} : () -> index
    %16 = "tessera.target.mul"(%15, %1) : (index, index) -> index
    %17 = "tessera.target.sub"(%2, %16) : (index, index) -> index
    %18 = "tessera.target.min"(%17, %1) : (index, index) -> index
    %19 = "tessera.target.compare"(%18, %1) {predicate = "ge"} : (index, index) -> i1
    %20:8 = "tessera.target.if"(%19) ({
      %21 = "tessera.target.mul"(%14, %5) : (index, index) -> index
      %22 = "tessera.target.add"(%21, %13) : (index, index) -> index
      %23 = "tessera.target.mul"(%22, %6) : (index, index) -> index
      %24 = "tessera.target.add"(%16, %23) : (index, index) -> index
      %25 = "tessera.target.load"(%a, %24) : (!tessera.ptr<f32, "global">, index) -> vector<4xf32>
      %26 = "tessera.target.extract"(%25) {at = 0 : i64} : (vector<4xf32>) -> f32
      %27 = "tessera.target.extract"(%25) {at = 1 : i64} : (vector<4xf32>) -> f32
      %28 = "tessera.target.extract"(%25) {at = 2 : i64} : (vector<4xf32>) -> f32
      %29 = "tessera.target.extract"(%25) {at = 3 : i64} : (vector<4xf32>) -> f32
      %30 = "tessera.target.add"(%24, %7) : (index, index) -> index
      %31 = "tessera.target.load"(%a, %30) : (!tessera.ptr<f32, "global">, index) -> vector<4xf32>
      %32 = "tessera.target.extract"(%31) {at = 0 : i64} : (vector<4xf32>) -> f32
      %33 = "tessera.target.extract"(%31) {at = 1 : i64} : (vector<4xf32>) -> f32
      %34 = "tessera.target.extract"(%31) {at = 2 : i64} : (vector<4xf32>) -> f32
      %35 = "tessera.target.extract"(%31) {at = 3 : i64} : (vector<4xf32>) -> f32
      "tessera.target.yield"(%26, %27, %28, %29, %32, %33, %34, %35) : (f32, f32, f32, f32, f32, f32, f32, f32) -> ()
    }, {
      %36 = "tessera.target.mul"(%14, %5) : (index, index) -> index
      %37 = "tessera.target.add"(%36, %13) : (index, index) -> index
      %38 = "tessera.target.mul"(%37, %6) : (index, index) -> index
      %39 = "tessera.target.compare"(%38, %18) {predicate = "lt"} : (index, index) -> i1
      %40 = "tessera.target.add"(%16, %38) : (index, index) -> index
      %41 = "tessera.target.select"(%39, %40, %0) : (i1, index, index) -> index
      %42 = "tessera.target.load"(%a, %41) : (!tessera.ptr<f32, "global">, index) -> f32
      %43 = "tessera.target.select"(%39, %42, %4) : (i1, f32, f32) -> f32
      %44 = "tessera.target.add"(%38, %3) : (index, index) -> index
      %45 = "tessera.target.compare"(%44, %18) {predicate = "lt"} : (index, index) -> i1
      %46 = "tessera.target.add"(%40, %3) : (index, index) -> index
      %47 = "tessera.target.select"(%45, %46, %0) : (i1, index, index) -> index
      %48 = "tessera.target.load"(%a, %47) : (!tessera.ptr<f32, "global">, index) -> f32
      %49 = "tessera.target.select"(%45, %48, %4) : (i1, f32, f32) -> f32
      %50 = "tessera.target.add"(%38, %8) : (index, index) -> index
      %51 = "tessera.target.compare"(%50, %18) {predicate = "lt"} : (index, index) -> i1
      %52 = "tessera.target.add"(%40, %8) : (index, index) -> index
      %53 = "tessera.target.select"(%51, %52, %0) : (i1, index, index) -> index
      %54 = "tessera.target.load"(%a, %53) : (!tessera.ptr<f32, "global">, index) -> f32
      %55 = "tessera.target.select"(%51, %54, %4) : (i1, f32, f32) -> f32
      %56 = "tessera.target.add"(%38, %9) : (index, index) -> index
      %57 = "tessera.target.compare"(%56, %18) {predicate = "lt"} : (index, index) -> i1
      %58 = "tessera.target.add"(%40, %9) : (index, index) -> index
      %59 = "tessera.target.select"(%57, %58, %0) : (i1, index, index) -> index
      %60 = "tessera.target.load"(%a, %59) : (!tessera.ptr<f32, "global">, index) -> f32
      %61 = "tessera.target.select"(%57, %60, %4) : (i1, f32, f32) -> f32
      %62 = "tessera.target.add"(%38, %7) : (index, index) -> index
      %63 = "tessera.target.compare"(%62, %18) {predicate = "lt"} : (index, index) -> i1
      %64 = "tessera.target.add"(%40, %7) : (index, index) -> index
      %65 = "tessera.target.select"(%63, %64, %0) : (i1, index, index) -> index
      %66 = "tessera.target.load"(%a, %65) : (!tessera.ptr<f32, "global">, index) -> f32
      %67 = "tessera.target.select"(%63, %66, %4) : (i1, f32, f32) -> f32
      %68 = "tessera.target.add"(%38, %10) : (index, index) -> index
      %69 = "tessera.target.compare"(%68, %18) {predicate = "lt"} : (index, index) -> i1
      %70 = "tessera.target.add"(%40, %10) : (index, index) -> index
      %71 = "tessera.target.select"(%69, %70, %0) : (i1, index, index) -> index
      %72 = "tessera.target.load"(%a, %71) : (!tessera.ptr<f32, "global">, index) -> f32
      %73 = "tessera.target.select"(%69, %72, %4) : (i1, f32, f32) -> f32
      %74 = "tessera.target.add"(%38, %11) : (index, index) -> index
      %75 = "tessera.target.compare"(%74, %18) {predicate = "lt"} : (index, index) -> i1
      %76 = "tessera.target.add"(%40, %11) : (index, index) -> index
      %77 = "tessera.target.select"(%75, %76, %0) : (i1, index, index) -> index
      %78 = "tessera.target.load"(%a, %77) : (!tessera.ptr<f32, "global">, index) -> f32
      %79 = "tessera.target.select"(%75, %78, %4) : (i1, f32, f32) -> f32
      %80 = "tessera.target.add"(%38, %12) : (index, index) -> index
      %81 = "tessera.target.compare"(%80, %18) {predicate = "lt"} : (index, index) -> i1
      %82 = "tessera.target.add"(%40, %12) : (index, index) -> index
      %83 = "tessera.target.select"(%81, %82, %0) : (i1, index, index) -> index
      %84 = "tessera.target.load"(%a, %83) : (!tessera.ptr<f32, "global">, index) -> f32
      %85 = "tessera.target.select"(%81, %84, %4) : (i1, f32, f32) -> f32
      "tessera.target.yield"(%43, %49, %55, %61, %67, %73, %79, %85) : (f32, f32, f32, f32, f32, f32, f32, f32) -> ()
    }) : (i1) -> (f32, f32, f32, f32, f32, f32, f32, f32)
    %86:8 = "tessera.target.if"(%19) ({
      %87 = "tessera.target.mul"(%14, %5) : (index, index) -> index
      %88 = "tessera.target.add"(%87, %13) : (index, index) -> index
      %89 = "tessera.target.mul"(%88, %6) : (index, index) -> index
      %90 = "tessera.target.add"(%16, %89) : (index, index) -> index
      %91 = "tessera.target.load"(%b, %90) : (!tessera.ptr<f32, "global">, index) -> vector<4xf32>
      %92 = "tessera.target.extract"(%91) {at = 0 : i64} : (vector<4xf32>) -> f32
      %93 = "tessera.target.extract"(%91) {at = 1 : i64} : (vector<4xf32>) -> f32
      %94 = "tessera.target.extract"(%91) {at = 2 : i64} : (vector<4xf32>) -> f32
      %95 = "tessera.target.extract"(%91) {at = 3 : i64} : (vector<4xf32>) -> f32
      %96 = "tessera.target.add"(%90, %7) : (index, index) -> index
      %97 = "tessera.target.load"(%b, %96) : (!tessera.ptr<f32, "global">, index) -> vector<4xf32>
      %98 = "tessera.target.extract"(%97) {at = 0 : i64} : (vector<4xf32>) -> f32
      %99 = "tessera.target.extract"(%97) {at = 1 : i64} : (vector<4xf32>) -> f32
      %100 = "tessera.target.extract"(%97) {at = 2 : i64} : (vector<4xf32>) -> f32
      %101 = "tessera.target.extract"(%97) {at = 3 : i64} : (vector<4xf32>) -> f32
      "tessera.target.yield"(%92, %93, %94, %95, %98, %99, %100, %101) : (f32, f32, f32, f32, f32, f32, f32, f32) -> ()
    }, {
      %102 = "tessera.target.mul"(%14, %5) : (index, index) -> index
      %103 = "tessera.target.add"(%102, %13) : (index, index) -> index
      %104 = "tessera.target.mul"(%103, %6) : (index, index) -> index
      %105 = "tessera.target.compare"(%104, %18) {predicate = "lt"} : (index, index) -> i1
      %106 = "tessera.target.add"(%16, %104) : (index, index) -> index
      %107 = "tessera.target.select"(%105, %106, %0) : (i1, index, index) -> index
      %108 = "tessera.target.load"(%b, %107) : (!tessera.ptr<f32, "global">, index) -> f32
      %109 = "tessera.target.select"(%105, %108, %4) : (i1, f32, f32) -> f32
      %110 = "tessera.target.add"(%104, %3) : (index, index) -> index
      %111 = "tessera.target.compare"(%110, %18) {predicate = "lt"} : (index, index) -> i1
      %112 = "tessera.target.add"(%106, %3) : (index, index) -> index
      %113 = "tessera.target.select"(%111, %112, %0) : (i1, index, index) -> index
      %114 = "tessera.target.load"(%b, %113) : (!tessera.ptr<f32, "global">, index) -> f32
      %115 = "tessera.target.select"(%111, %114, %4) : (i1, f32, f32) -> f32
      %116 = "tessera.target.add"(%104, %8) : (index, index) -> index
      %117 = "tessera.target.compare"(%116, %18) {predicate = "lt"} : (index, index) -> i1
      %118 = "tessera.target.add"(%106, %8) : (index, index) -> index
      %119 = "tessera.target.select"(%117, %118, %0) : (i1, index, index) -> index
      %120 = "tessera.target.load"(%b, %119) : (!tessera.ptr<f32, "global">, index) -> f32
      %121 = "tessera.target.select"(%117, %120, %4) : (i1, f32, f32) -> f32
      %122 = "tessera.target.add"(%104, %9) : (index, index) -> index
      %123 = "tessera.target.compare"(%122, %18) {predicate = "lt"} : (index, index) -> i1
      %124 = "tessera.target.add"(%106, %9) : (index, index) -> index
      %125 = "tessera.target.select"(%123, %124, %0) : (i1, index, index) -> index
      %126 = "tessera.target.load"(%b, %125) : (!tessera.ptr<f32, "global">, index) -> f32
      %127 = "tessera.target.select"(%123, %126, %4) : (i1, f32, f32) -> f32
      %128 = "tessera.target.add"(%104, %7) : (index, index) -> index
      %129 = "tessera.target.compare"(%128, %18) {predicate = "lt"} : (index, index) -> i1
      %130 = "tessera.target.add"(%106, %7) : (index, index) -> index
      %131 = "tessera.target.select"(%129, %130, %0) : (i1, index, index) -> index
      %132 = "tessera.target.load"(%b, %131) : (!tessera.ptr<f32, "global">, index) -> f32
      %133 = "tessera.target.select"(%129, %132, %4) : (i1, f32, f32) -> f32
      %134 = "tessera.target.add"(%104, %10) : (index, index) -> index
      %135 = "tessera.target.compare"(%134, %18) {predicate = "lt"} : (index, index) -> i1
      %136 = "tessera.target.add"(%106, %10) : (index, index) -> index
      %137 = "tessera.target.select"(%135, %136, %0) : (i1, index, index) -> index
      %138 = "tessera.target.load"(%b, %137) : (!tessera.ptr<f32, "global">, index) -> f32
      %139 = "tessera.target.select"(%135, %138, %4) : (i1, f32, f32) -> f32
      %140 = "tessera.target.add"(%104, %11) : (index, index) -> index
      %141 = "tessera.target.compare"(%140, %18) {predicate = "lt"} : (index, index) -> i1
      %142 = "tessera.target.add"(%106, %11) : (index, index) -> index
      %143 = "tessera.target.select"(%141, %142, %0) : (i1, index, index) -> index
      %144 = "tessera.target.load"(%b, %143) : (!tessera.ptr<f32, "global">, index) -> f32
      %145 = "tessera.target.select"(%141, %144, %4) : (i1, f32, f32) -> f32
      %146 = "tessera.target.add"(%104, %12) : (index, index) -> index
      %147 = "tessera.target.compare"(%146, %18) {predicate = "lt"} : (index, index) -> i1
      %148 = "tessera.target.add"(%106, %12) : (index, index) -> index
      %149 = "tessera.target.select"(%147, %148, %0) : (i1, index, index) -> index
      %150 = "tessera.target.load"(%b, %149) : (!tessera.ptr<f32, "global">, index) -> f32
      %151 = "tessera.target.select"(%147, %150, %4) : (i1, f32, f32) -> f32
      "tessera.target.yield"(%109, %115, %121, %127, %133, %139, %145, %151) : (f32, f32, f32, f32, f32, f32, f32, f32) -> ()
    }) : (i1) -> (f32, f32, f32, f32, f32, f32, f32, f32)
    %152 = "tessera.target.mul"(%14, %5) : (index, index) -> index
    %153 = "tessera.target.add"(%152, %13) : (index, index) -> index
    %154 = "tessera.target.mul"(%153, %6) : (index, index) -> index
    %155 = "tessera.target.add"(%20#0, %86#0) : (f32, f32) -> f32
    %156 = "tessera.target.add"(%154, %3) : (index, index) -> index
    %157 = "tessera.target.add"(%20#1, %86#1) : (f32, f32) -> f32
    %158 = "tessera.target.add"(%154, %8) : (index, index) -> index
    %159 = "tessera.target.add"(%20#2, %86#2) : (f32, f32) -> f32
    %160 = "tessera.target.add"(%154, %9) : (index, index) -> index
    %161 = "tessera.target.add"(%20#3, %86#3) : (f32, f32) -> f32
    %162 = "tessera.target.add"(%154, %7) : (index, index) -> index
    %163 = "tessera.target.add"(%20#4, %86#4) : (f32, f32) -> f32
    %164 = "tessera.target.add"(%154, %10) : (index, index) -> index
    %165 = "tessera.target.add"(%20#5, %86#5) : (f32, f32) -> f32
    %166 = "tessera.target.add"(%154, %11) : (index, index) -> index
    %167 = "tessera.target.add"(%20#6, %86#6) : (f32, f32) -> f32
    %168 = "tessera.target.add"(%154, %12) : (index, index) -> index
    %169 = "tessera.target.add"(%20#7, %86#7) : (f32, f32) -> f32
    "tessera.target.if"(%19) ({
      %170 = "tessera.target.vector"(%155, %157, %159, %161) : (f32, f32, f32, f32) -> vector<4xf32>
      %171 = "tessera.target.add"(%16, %154) : (index, index) -> index
      "tessera.target.store"(%170, %c, %171) : (vector<4xf32>, !tessera.ptr<f32, "global">, index) -> ()
      %172 = "tessera.target.vector"(%163, %165, %167, %169) : (f32, f32, f32, f32) -> vector<4xf32>
      %173 = "tessera.target.add"(%171, %7) : (index, index) -> index
      "tessera.target.store"(%172, %c, %173) : (vector<4xf32>, !tessera.ptr<f32, "global">, index) -> ()
      "tessera.target.yield"() : () -> ()
    }, {
      %174 = "tessera.target.compare"(%154, %18) {predicate = "lt"} : (index, index) -> i1
      "tessera.target.if"(%174) ({
        %175 = "tessera.target.add"(%16, %154) : (index, index) -> index
        "tessera.target.store"(%155, %c, %175) : (f32, !tessera.ptr<f32, "global">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (i1) -> ()
      %176 = "tessera.target.compare"(%156, %18) {predicate = "lt"} : (index, index) -> i1
      "tessera.target.if"(%176) ({
        %177 = "tessera.target.add"(%16, %154) : (index, index) -> index
        %178 = "tessera.target.add"(%177, %3) : (index, index) -> index
        "tessera.target.store"(%157, %c, %178) : (f32, !tessera.ptr<f32, "global">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (i1) -> ()
      %179 = "tessera.target.compare"(%158, %18) {predicate = "lt"} : (index, index) -> i1
      "tessera.target.if"(%179) ({
        %180 = "tessera.target.add"(%16, %154) : (index, index) -> index
        %181 = "tessera.target.add"(%180, %8) : (index, index) -> index
        "tessera.target.store"(%159, %c, %181) : (f32, !tessera.ptr<f32, "global">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (i1) -> ()
      %182 = "tessera.target.compare"(%160, %18) {predicate = "lt"} : (index, index) -> i1
      "tessera.target.if"(%182) ({
        %183 = "tessera.target.add"(%16, %154) : (index, index) -> index
        %184 = "tessera.target.add"(%183, %9) : (index, index) -> index
        "tessera.target.store"(%161, %c, %184) : (f32, !tessera.ptr<f32, "global">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (i1) -> ()
      %185 = "tessera.target.compare"(%162, %18) {predicate = "lt"} : (index, index) -> i1
      "tessera.target.if"(%185) ({
        %186 = "tessera.target.add"(%16, %154) : (index, index) -> index
        %187 = "tessera.target.add"(%186, %7) : (index, index) -> index
        "tessera.target.store"(%163, %c, %187) : (f32, !tessera.ptr<f32, "global">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (i1) -> ()
      %188 = "tessera.target.compare"(%164, %18) {predicate = "lt"} : (index, index) -> i1
      "tessera.target.if"(%188) ({
        %189 = "tessera.target.add"(%16, %154) : (index, index) -> index
        %190 = "tessera.target.add"(%189, %10) : (index, index) -> index
        "tessera.target.store"(%165, %c, %190) : (f32, !tessera.ptr<f32, "global">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (i1) -> ()
      %191 = "tessera.target.compare"(%166, %18) {predicate = "lt"} : (index, index) -> i1
      "tessera.target.if"(%191) ({
        %192 = "tessera.target.add"(%16, %154) : (index, index) -> index
        %193 = "tessera.target.add"(%192, %11) : (index, index) -> index
        "tessera.target.store"(%167, %c, %193) : (f32, !tessera.ptr<f32, "global">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (i1) -> ()
      %194 = "tessera.target.compare"(%168, %18) {predicate = "lt"} : (index, index) -> i1
      "tessera.target.if"(%194) ({
        %195 = "tessera.target.add"(%16, %154) : (index, index) -> index
        %196 = "tessera.target.add"(%195, %12) : (index, index) -> index
        "tessera.target.store"(%169, %c, %196) : (f32, !tessera.ptr<f32, "global">, index) -> ()
        "tessera.target.yield"() : () -> ()
      }) : (i1) -> ()
      "tessera.target.yield"() : () -> ()
    }) : (i1) -> ()
    "tessera.target.return"() : () -> ()
  }) {sym_name = "add", grid = [98 : i64, 1 : i64, 1 : i64], outputs = 1 : i64, dialect = "cuda", block = [128 : i64, 1 : i64, 1 : i64], subgroup = 32 : i64, shared_bytes = 0 : i64, arch = "sm_80"} : () -> ()
}) : () -> ()

