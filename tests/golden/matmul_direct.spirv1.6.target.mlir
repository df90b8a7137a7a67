"builtin.module"() ({
  "tessera.target.program"() ({
  ^bb0(%A: tensor<3x64x128xf16>, %B: tensor<96x128xf16>):
    %C = "tessera.target.buffer"() : () -> tensor<3x64x96xf32>
    "tessera.target.launch"(%A, %B, %C) {kernel = "matmul_direct"} : (tensor<3x64x128xf16>, tensor<96x128xf16>, tensor<3x64x96xf32>) -> ()
    "tessera.target.return"(%C) : (tensor<3x64x96xf32>) -> ()
  }) {sym_name = "main"} : () -> ()
  "tessera.target.kernel"() ({
  ^bb0(%a: !tessera.ptr<f16, "global">, %b: !tessera.ptr<f16, "global">, %c: !tessera.ptr<f32, "global">):
    %0 = "tessera.target.const"() {value = 0 : i64} : () -> index
    %1 = "tessera.target.const"() {value = 16 : i64} : () -> index
    %2 = "tessera.target.const"() {value = 32 : i64} : () -> index
    %3 = "tessera.target.const"() {value = 128 : i64} : () -> index
    %4 = "tessera.target.const"() {value = 0.0 : f64} : () -> f32
    %5 = "tessera.target.const"() {value = 8192 : i64} : () -> index
    %6 = "tessera.target.const"() {value = 2048 : i64} : () -> index
    %7 = "tessera.target.const"() {value = 4096 : i64} : () -> index
    %8 = "tessera.target.const"() {value = 6144 : i64} : () -> index
    %9 = "tessera.target.const"() {value = 96 : i64} : () -> index
    %10 = "tessera.target.const"() {value = 1536 : i64} : () -> index
    %11 = "tessera.target.block_id"() {axis = 0 : i64} : () -> index
    %12 = "tessera.target.block_id"() {axis = 1 : i64} : () -> index
    %13 = "tessera.target.block_id"() {axis = 2 : i64} : () -> index
    %14 = "tessera.target.mul"(%11, %2) : (index, index) -> index
    %15 = "tessera.target.mat_fill"(%4) : (f32) -> !tessera.matrix<16x16xf32, "acc">
    %16 = "tessera.target.mul"(%13, %5) : (index, index) -> index
    %17 = "tessera.target.mul"(%12, %6) : (index, index) -> index
    %18 = "tessera.target.add"(%16, %17) : (index, index) -> index
    %19 = "tessera.target.mul"(%11, %7) : (index, index) -> index
    %20:2 = "tessera.target.for"(%0, %3, %1, %15, %15) ({
    ^bb0(%21: index, %22: !tessera.matrix<16x16xf32, "acc">, %23: !tessera.matrix<16x16xf32, "acc">):
      %24 = "tessera.target.add"(%18, %21) : (index, index) -> index
      %25 = "tessera.target.add"(%19, %21) : (index, index) -> index
      %26 = "tessera.target.mat_load"(%a, %24, %3) {align = 16 : i64} : (!tessera.ptr<f16, "global">, index, index) -> !tessera.matrix<16x16xf16, "a">
      %27 = "tessera.target.mat_load"(%b, %25, %3) {layout = "col", align = 16 : i64} : (!tessera.ptr<f16, "global">, index, index) -> !tessera.matrix<16x16xf16, "b">
      %28 = "tessera.target.mat_mma"(%26, %27, %22) : (!tessera.matrix<16x16xf16, "a">, !tessera.matrix<16x16xf16, "b">, !tessera.matrix<16x16xf32, "acc">) -> !tessera.matrix<16x16xf32, "acc">
      %29 = "tessera.target.add"(%25, %6) : (index, index) -> index
      %30 = "tessera.target.mat_load"(%b, %29, %3) {layout = "col", align = 16 : i64} : (!tessera.ptr<f16, "global">, index, index) -> !tessera.matrix<16x16xf16, "b">
      %31 = "tessera.target.mat_mma"(%26, %30, %23) : (!tessera.matrix<16x16xf16, "a">, !tessera.matrix<16x16xf16, "b">, !tessera.matrix<16x16xf32, "acc">) -> !tessera.matrix<16x16xf32, "acc">
      "tessera.target.yield"(%28, %31) : (!tessera.matrix<16x16xf32, "acc">, !tessera.matrix<16x16xf32, "acc">) -> ()
    }) : (index, index, index, !tessera.matrix<16x16xf32, "acc">, !tessera.matrix<16x16xf32, "acc">) -> (!tessera.matrix<16x16xf32, "acc">, !tessera.matrix<16x16xf32, "acc">)
    %32 = "tessera.target.mul"(%13, %8) : (index, index) -> index
    %33 = "tessera.target.mul"(%12, %10) : (index, index) -> index
    %34 = "tessera.target.add"(%32, %33) : (index, index) -> index
    %35 = "tessera.target.add"(%34, %14) : (index, index) -> index
    "tessera.target.mat_store"(%20#0, %c, %35, %9) {align = 16 : i64} : (!tessera.matrix<16x16xf32, "acc">, !tessera.ptr<f32, "global">, index, index) -> ()
    %36 = "tessera.target.add"(%35, %1) : (index, index) -> index
    "tessera.target.mat_store"(%20#1, %c, %36, %9) {align = 16 : i64} : (!tessera.matrix<16x16xf32, "acc">, !tessera.ptr<f32, "global">, index, index) -> ()
    "tessera.target.return"() : () -> ()
  }) {sym_name = "matmul_direct", grid = [3 : i64, 4 : i64, 3 : i64], outputs = 1 : i64, family = "matmul", dialect = "spirv", block = [32 : i64, 1 : i64, 1 : i64], subgroup = 32 : i64, shared_bytes = 0 : i64, arch = "spirv1.6", path = "coopmat", why = "the first path that takes every gemm of the kernel"} : () -> ()
}) : () -> ()
