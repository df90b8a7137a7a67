#!/usr/bin/env bash
# Worked examples of CONTRIBUTING.md's "Adding things", as real additions to a copy of the tree, built once; ccache
# makes it quick.
# An elementwise op: one row in core/ir/scalar_ops.h and one line in backends/cpu/kernels/body_elementwise.h. Held
# against the row's meaning: expansion, derivative and the CPU's kernels of every instruction set (test_scalar_ops), the
# text of CUDA and HIP emulated (test_simt_ops), whole programs on the CPU and on lavapipe (tessera bench compares with
# the oracle).
# A contraction with another index map: its code in core/ir/graph/ops.h and its row in core/ir/graph/ops/contraction.c,
# and the rows of the tests of gradients (autodiff_cases.h) and of each op in each type against the oracle
# (test_op_types, on the CPU and on lavapipe). With prologue, epilogue and batch its code for the CPU, CUDA and HIP is
# that of a matmul which says by an attribute how its operand lies.
# A norm: its code and its row, which points to a recipe, in core/ir/graph/ops/norm.c, and the same tests' rows. Its
# code
# is that of a layernorm without weights.
set -eu
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
(cd "$SOURCE" && tar c --exclude=./build --exclude=./.git .) | tar x -C "$copy"

add() {  # file, the start of the line before, what is added
  grep -q "^  $2" "$copy/$1" || { echo "$1 has no line '$2'"; exit 1; }
  AT="  $2" NEW="$3" awk 'index($0, ENVIRON["AT"]) == 1 && !done { print ENVIRON["NEW"]; done = 1 } { print }' \
    "$copy/$1" >"$copy/added"
  mv "$copy/added" "$copy/$1"
}
add core/ir/scalar_ops.h 'X(SILU,' \
  '  X(TANHSHRINK, "tanhshrink", 1, F, "a - tanh(a)", GRAPH, SCALAR_FUNCTION, a - tanh(a), NONE, 12 * fabs(a), \
    "mul(g, mul(tanh(a), tanh(a)))", "sub(a, tanh(a))") \'
add backends/cpu/kernels/body_elementwise.h 'X(SILU,' '  X(TANHSHRINK, x - v_tanh(x), x - tanh(x)) \'
add core/ir/graph/ops.h 'G_MATMUL,' '  G_LINEAR,'
add core/ir/graph/ops/contraction.c '  {NAME(MATMUL' \
  '    {NAME(LINEAR, "linear"), CONTRACTION("*mk,*nk->*mn"), .help = "x times the transpose of w: [..., m, k] by [..., n, k]."},'
add tests/unit/autodiff_cases.h '  {"matmul", X' \
  '    {"linear", X ", %y: tensor<5x4xf64>", OP("0", "linear", "%x, %y"), "3x5", -1, 1},'
add tests/conformance/test_op_types.c '  ONE("silu")' '    ONE("tanhshrink"),'
add tests/conformance/test_op_types.c '  {"matmul", "%a: tensor<$Rx$Cx' \
  '    {"linear", "%a: tensor<3x$Cx$Rx$T>, %b: tensor<$Cx$Rx$T>", "%r = \"tessera.graph.linear\"(%a, %b)"},'
add core/ir/graph/ops.h 'G_LAYERNORM,' '  G_STANDARDIZE,'
add core/ir/graph/ops/norm.c '  {NAME(LAYERNORM' \
  '    {NAME(STANDARDIZE, "standardize"), .flags = IR_PURE | IR_REDUCES, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = FLOATS, .attrs = eps_attr, .infer = infer_norm,
     .ext = ROW(GRAPH_NORM, eval_norm, adjoint_norm, "*n->*n", .per_point = 1), .recipe = &recipe_about_mean,
     .help = "(x - mean) / sqrt(variance + eps) over the last dimension."},'
add tests/unit/autodiff_cases.h '  {"layernorm plain"' \
  '    {"standardize", X, OPA("0", "standardize", "%x", "eps = 0.1"), "3x4", -1, 1},'
add tests/conformance/test_op_types.c '  {"layernorm"' \
  '    {"standardize", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.standardize\"(%a)"},'

launcher=()
[ -z "${LAUNCHER:-}" ] || launcher=("-DCMAKE_C_COMPILER_LAUNCHER=$LAUNCHER")
export CCACHE_BASEDIR=$copy CCACHE_NOHASHDIR=1
"$CMAKE" -S "$copy" -B "$copy/build" -G "$GENERATOR" -DCMAKE_BUILD_TYPE=Release -DTSR_WERROR=ON "${launcher[@]}" \
  >"$copy/log" || { tail -20 "$copy/log"; exit 1; }
"$CMAKE" --build "$copy/build" --parallel "$(nproc)" --target tessera test_scalar_ops test_simt_ops \
  test_graph_autodiff test_graph_tangents test_op_types >"$copy/log" 2>&1 ||
  { grep -E -A5 'error|FAILED' "$copy/log" | head -30; exit 1; }
cd "$copy"
find build -name test_scalar_ops -type f -exec {} \; | tee log
grep -q ' 0 failures' log
rc=0
"$(find "$copy/build" -name test_simt_ops -type f)" >log 2>&1 || rc=$?
[ $rc = 0 ] || [ $rc = 77 ] || { cat log; exit 1; }
tessera=$(find "$copy/build/tools" -name tessera -type f)
"$tessera" ops | grep -q 'tessera.graph.tanhshrink' || { echo "tessera ops doesn't list it"; exit 1; }
for device in cpu:0 vulkan:0; do
  rc=0
  "$tessera" bench tanhshrink --device $device --shape 33x65 --dtype f32,bf16 --milliseconds 5 --json >log 2>&1 || rc=$?
  if [ $rc = 3 ]; then echo "$device is not here"; continue; fi
  [ $rc = 0 ] && ! grep -q '"ok": false' log || { cat log; exit 1; }
  echo "tanhshrink on $device: right"
done

program() {  # op, its attributes
  cat <<EOF
"tessera.graph.func"() ({
^bb0(%x: tensor<2x65x96xf32>, %w: tensor<72x96xf32>, %v: tensor<130x72xf32>, %c: tensor<72xf32>):
  %e = "tessera.graph.exp"(%x)
  %0 = "tessera.graph.$1"(%e, %w) $2
  %1 = "tessera.graph.add"(%0, %c)
  %2 = "tessera.graph.relu"(%1)
  %t = "tessera.graph.transpose"(%v) {perm = [1, 0]}
  %3 = "tessera.graph.$1"(%2, %t) $3
  "tessera.graph.return"(%3)
}) {sym_name = "main"}
EOF
}
program linear '' '{transpose_b = true}' >linear.mlir
program matmul '{transpose_b = true}' '' >matmul.mlir
"$tessera" ops | grep -q 'tessera.graph.linear' || { echo "tessera ops doesn't list it"; exit 1; }
for device in cpu:0 vulkan:0; do
  rc=0
  TSR_TEST_DEVICE=$device "$(find build -name test_op_types -type f)" tanhshrink linear standardize >log 2>&1 || rc=$?
  if [ $rc = 77 ]; then echo "$device is not here"; continue; fi
  [ $rc = 0 ] || { cat log; exit 1; }
  echo "the three in every type on $device: right"
done
for name in test_graph_autodiff test_graph_tangents; do
  "$(find build -name $name -type f)" >log 2>&1 || { cat log; exit 1; }
done
row() { # op: rows with what a kernel takes along
  cat <<EOF
"tessera.graph.func"() ({
^bb0(%x: tensor<65x200xbf16>, %y: tensor<65x200xbf16>):
  %0 = "tessera.graph.add"(%x, %y)
  %1 = "tessera.graph.$1"(%0)
  %2 = "tessera.graph.relu"(%1)
  "tessera.graph.return"(%2)
}) {sym_name = "main"}
EOF
}
row standardize >standardize.mlir
row layernorm >layernorm.mlir
same() { # op, of which it has the code
  for device in cpu:0 cuda:sm_90a hip:gfx942; do
    "$tessera" dump $1.mlir --level target --device $device | sed "s/$1/$2/g" >$1.$device
    "$tessera" dump $2.mlir --level target --device $device >$2.$device
    cmp $1.$device $2.$device || { diff $1.$device $2.$device | head -20; exit 1; }
    echo "$1 for $device: the $2's code"
  done
}
same linear matmul
same standardize layernorm
