# Read by additions.sh. The worked example of CONTRIBUTING.md's "A matrix instruction": one row in
# core/device/matrix_instr.c, RDNA 4's product of the two types of fp8. Before it such a product runs as multiply-adds
# on gfx1201, with it by the instruction: the plan, the lowering, the printed wrapper with its builtin. The row is held
# against itself (test_matrix_instr) and compiled by clang where it knows the architecture.
targets+=(test_matrix_instr)

change_instruction() {
  cat >"$copy/product.mlir" <<'END'
"builtin.module"() ({
  "tessera.graph.func"() ({
  ^bb0(%A: tensor<64x64xf8e4m3>, %B: tensor<64x64xf8e5m2>):
    %0 = "tessera.graph.matmul"(%A, %B) {transpose_b = true, out_dtype = "f32", tile_shape = [64, 64, 64]}
    "tessera.graph.return"(%0)
  }) {sym_name = "main"}
})
END
  path() { "$1" dump "$copy/product.mlir" --device hip:gfx1201 --level target 2>>"$log" |
    grep -o 'path = "[a-z0-9]*'; }
  [ "$(path "$TESSERA")" = 'path = "fma' ] || { echo "the tree has the instruction already: choose another"; exit 1; }

  rows=$copy/core/device/matrix_instr.c
  grep -q '^    WM(TSR_F8E5M2' "$rows" || { echo "matrix_instr.c has no line 'WM(TSR_F8E5M2'"; exit 1; }
  row=$(
    printf %s \
      '    {MATRIX_WMMA, 16, {16}, 16, TSR_F8E4M3, TSR_F8E5M2, TSR_F32, 32, "gfx12 ", "", of_wmma12_8, ' \
      '"f32_16x16x16_fp8_bf8_w32_gfx12", V("int", 2), F8, ONE(2048)},'
  )
  sed -i "/^    WM(TSR_F8E5M2/i\\$row" "$rows"
}

check_instruction() {
  "$(built test_matrix_instr)" >"$log" 2>&1 || { cat "$log"; exit 1; }
  [ "$(path "$tessera")" = 'path = "wmma' ] || { echo "the product doesn't take it: $(path "$tessera")"; exit 1; }
  "$tessera" dump "$copy/product.mlir" --device hip:gfx1201 --level source >"$copy/product.hip" 2>>"$log"
  grep -q '__builtin_amdgcn_wmma_f32_16x16x16_fp8_bf8_w32_gfx12' "$copy/product.hip" ||
    { echo "the text doesn't say it"; exit 1; }
  echo "gfx1201: f8e4m3 by f8e5m2 runs by the new instruction"
  for clang in clang clang-19 clang-18 clang-17; do
    command -v $clang >/dev/null || continue
    echo | $clang -x hip --offload-arch=gfx1201 --cuda-device-only -nogpuinc -nogpulib -c - -o /dev/null 2>/dev/null ||
      continue
    $clang -x hip --offload-arch=gfx1201 --cuda-device-only -nogpuinc -nogpulib -O3 -S "$copy/product.hip" -o \
      "$copy/product.s"
    grep -q 'v_wmma_f32_16x16x16_fp8_bf8' "$copy/product.s" ||
      { echo "$clang makes no such instruction of it"; exit 1; }
    echo "$clang makes v_wmma_f32_16x16x16_fp8_bf8 of it"
    return
  done
  echo "no clang here knows gfx1201: the text was not compiled"
}
