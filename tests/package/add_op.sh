# Read by additions.sh. Worked examples of CONTRIBUTING.md's "Adding things".
# An elementwise op: one row in core/ir/scalar_ops.h and one line in backends/cpu/kernels/body_elementwise.h. Held
# against the row's meaning: expansion, derivative and the CPU's kernels of every instruction set (test_scalar_ops), the
# text of CUDA and HIP emulated (test_simt_ops), whole programs on the CPU and on lavapipe (tessera bench compares with
# the oracle).
# A contraction with another index map: its code in core/ir/graph/ops.h and its row in core/ir/graph/ops/contraction.c,
# and the rows of the tests of gradients (autodiff_cases.h) and of each op in each type against the oracle
# (test_op_types, on the CPU and on lavapipe). With prologue, epilogue and batch its code for the CPU, CUDA and HIP is
# that of a matmul which says by an attribute how its operand lies.
# A norm with a recipe that no other has: its code in core/ir/graph/ops.h, and in core/ir/graph/ops/norm.c the recipe,
# the row, the evaluation and the derivative; the same tests' rows. Held besides against numbers that a program works
# out on its own, of rows of one element to thousands, on the CPU and on lavapipe.
targets+=(test_scalar_ops test_simt_ops test_graph_autodiff test_graph_tangents test_op_types test_absnorm)
add_line() { before "$1" "  $2" "$3"; }

change_op() {
  add_line core/ir/scalar_ops.h 'X(SILU,' \
    '  X(TANHSHRINK, "tanhshrink", 1, F, "a - tanh(a)", GRAPH, SCALAR_FUNCTION, a - tanh(a), NONE, 12 * fabs(a), \
    "mul(g, mul(tanh(a), tanh(a)))", "sub(a, tanh(a))") \'
  add_line backends/cpu/kernels/body_elementwise.h 'X(SILU,' '  X(TANHSHRINK, x - v_tanh(x), x - tanh(x)) \'
  add_line core/ir/graph/ops.h 'G_MATMUL,' '  G_LINEAR,'
  add_line core/ir/graph/ops/contraction.c '  {NAME(MATMUL' \
    '    {NAME(LINEAR, "linear"), CONTRACTION("*mk,*nk->*mn"), .help = "x times the transpose of w: [..., m, k] by [..., n, k]."},'
  add_line tests/unit/autodiff_cases.h '  {"matmul", X' \
    '    {"linear", X ", %y: tensor<5x4xf64>", OP("0", "linear", "%x, %y"), "3x5", -1, 1},'
  add_line tests/conformance/test_op_types.c '  ONE("silu")' '    ONE("tanhshrink"),'
  add_line tests/conformance/test_op_types.c '  {"matmul", "%a: tensor<$Rx$Cx' \
    '    {"linear", "%a: tensor<3x$Cx$Rx$T>, %b: tensor<$Cx$Rx$T>", "%r = \"tessera.graph.linear\"(%a, %b)"},'
  add_line core/ir/graph/ops.h 'G_LAYERNORM,' '  G_ABSNORM,'
  before core/ir/graph/ops/norm.c 'static const ir_opdef rows[] = {' \
    'static tsr_status eval_absnorm(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *x = op->operands[0], *y = op->results[0];
  const ir_type *t = x->type;
  const int64_t n = t->dims[t->rank - 1], first = at - at % n;
  double u = num_unit(t->dtype), mean = ir_get_float(op, "eps", 1e-5), off = 0;
  for (int64_t i = 0; i < n; i++) {
    graph_num a = graph_read(e, x, first + i);
    mean += fabs(a.v) / (double)n, off += num_carried(a) / (double)n;
  }
  for (int64_t i = 0; i < n && !e->st; i++) {
    graph_num a = graph_read(e, x, first + i);
    double v = a.v / mean, r = graph_rounding(t->dtype, v);
    double own = num_carried(a) / mean + fabs(v) * (off / mean + (2 * sqrt((double)n) + 8) * u);
    graph_write(e, y, first + i, (graph_num){v, own + r, r});
  }
  return NULL;
}
/* With m the mean and y = x / m: dx = (g - sign(x) mean(g y)) / m. */
BEGIN(adjoint_absnorm) {
  ir_value *x = IN(0), *m = row_mean(b, graph_op1(b, G_ABS, x));
  m = ADD(m, NUM(ir_get_float(op, "eps", 1e-5)));
  grads[0] = DIV(SUB(g, MUL(graph_op1(b, G_SIGN, x), row_mean(b, MUL(g, OUT)))), m);
  END;
}
static const row_recipe recipe_absnorm = {
    .n_folds = 1, .per_element = true,
    .fold = {{.op = "sum", .term = {{SC_ABS, ARG_NONE}, {SC_MUL, ARG_SHARE}, LAST},
              .finish = {{SC_ADD, ARG_EPS}, {STEP_RECIPROCAL, ARG_NONE}, LAST}}},
    .apply = {{SC_MUL, STAT(0)}, LAST}};'
  add_line core/ir/graph/ops/norm.c '  {NAME(LAYERNORM' \
    '    {NAME(ABSNORM, "absnorm"), .flags = IR_PURE | IR_REDUCES, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = FLOATS, .attrs = eps_attr, .infer = infer_norm,
     .ext = ROW(GRAPH_NORM, eval_absnorm, adjoint_absnorm, "*n->*n", .per_point = 1), .recipe = &recipe_absnorm,
     .help = "x / (mean(|x|) + eps) over the last dimension."},'
  add_line tests/unit/autodiff_cases.h '  {"layernorm plain"' \
    '    {"absnorm", X, OPA("0", "absnorm", "%x", "eps = 0.1"), "3x4", -1, 1},'
  add_line tests/conformance/test_op_types.c '  {"layernorm"' \
    '    {"absnorm", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.absnorm\"(%a)"},'
  cat >"$copy/tests/conformance/test_absnorm.c" <<'EOF'
/* x + 0.25 normalised, times -2: the numbers by two loops here. TSR_TEST_DEVICE (cpu:0). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/conformance/open_device.h"

static tsr_context *ctx;
static tsr_device *dev;

static int one(tsr_dtype t, int rows, int n, double scale) {
  enum { MOST = 5 * 5000 };
  static char x[MOST * 8], y[MOST * 8];
  char text[700], type[64];
  tsr_program *p = NULL;
  tsr_binding in = {0}, out = {0};
  snprintf(type, sizeof type, "tensor<%dx%dx%s>", rows, n, dtype_get(t)->mlir);
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: %s):\n%%q = \"tessera.graph.constant\"() {value = dense<0.25> : %s}\n"
           "%%m = \"tessera.graph.constant\"() {value = dense<-2.0> : %s}\n%%a = \"tessera.graph.add\"(%%x, %%q)\n"
           "%%n = \"tessera.graph.absnorm\"(%%a) {eps = 0.5}\n%%r = \"tessera.graph.mul\"(%%n, %%m)\n"
           "\"tessera.graph.return\"(%%r)\n}) {sym_name = \"main\"}\n", type, type, type);
  for (int i = 0; i < rows * n; i++) dtype_store(t, x, (size_t)i, scale * (i * 7919 % 2003 - 1001) / 256.0);
  size_t bytes = tsr_dtype_bytes(t, (size_t)rows * (size_t)n);
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "absnorm", NULL, &p);
  if (!st) st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &in.buffer);
  if (!st) st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &out.buffer);
  if (!st) st = tsr_buffer_write(in.buffer, 0, x, bytes);
  if (!st) st = tsr_program_run(p, NULL, &in, &out);
  if (!st) st = tsr_buffer_read(out.buffer, 0, y, bytes);
  if (st) return printf("FAIL %dx%d: %s\n", rows, n, tsr_status_message(st)), 1;
  double worst = 0, u = dtype_get(t)->eps, least = t == TSR_F64 ? 0x1p-53 : 0x1p-24;
  for (int r = 0; r < rows; r++) {
    double mean = 0.5;
    for (int i = 0; i < n; i++) mean += fabs(dtype_load(t, x, (size_t)(r * n + i)) + 0.25) / n;
    for (int i = 0; i < n; i++) {
      double a = dtype_load(t, x, (size_t)(r * n + i)) + 0.25, want = -2 * a / mean;
      /* The result's rounding and the sum's before it, by f32 at best; the mean's of n terms; a few operations. */
      double off = fabs(dtype_load(t, y, (size_t)(r * n + i)) - want);
      double may = (4 * u + (sqrt(n) + 8) * least) * fabs(want) + 1e-9 * u;
      worst = !(off <= may) ? INFINITY : fmax(worst, may > 0 ? off / may : 0);
    }
  }
  if (!(worst <= 1)) printf("FAIL %s %dx%d scaled by %g\n", tsr_dtype_name(t), rows, n, scale);
  tsr_buffer_destroy(&in.buffer), tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  return !(worst <= 1);
}

int main(void) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16};
  static const int lengths[] = {1, 2, 7, 64, 300, 1000, 5000};
  const char *device;
  int bad = 0, rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &ctx, &dev, &device);
  if (rc) return rc;
  for (int t = 0; t < 4; t++)
    for (int l = 0; l < 7; l++) {
      bad += one(types[t], l % 2 ? 5 : 1, lengths[l], 1);
      bad += one(types[t], 3, lengths[l], t < 2 ? 1e6 : 4);
    }
  /* Magnitudes whose sum leaves f32: each is divided by their number before. */
  bad += one(TSR_F32, 2, 1000, 1e36);
  close_for_test(&ctx, &dev);
  printf("absnorm on %s: %d wrong\n", device, bad);
  return bad != 0;
}
EOF
}

check_op() {
  "$(built test_scalar_ops)" | tee log
  grep -q ' 0 failures' log
  rc=0
  "$(built test_simt_ops)" >log 2>&1 || rc=$?
  [ $rc = 0 ] || [ $rc = 77 ] || { cat log; exit 1; }
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
    TSR_TEST_DEVICE=$device "$(built test_op_types)" tanhshrink linear absnorm >log 2>&1 || rc=$?
    if [ $rc = 77 ]; then echo "$device is not here"; continue; fi
    [ $rc = 0 ] || { cat log; exit 1; }
    echo "the three in every type on $device: right"
  done
  for name in test_graph_autodiff test_graph_tangents; do
    "$(built $name)" >log 2>&1 || { cat log; exit 1; }
  done
  "$tessera" ops | grep -q 'tessera.graph.absnorm' || { echo "tessera ops doesn't list it"; exit 1; }
  for device in cpu:0 vulkan:0; do
    rc=0
    TSR_TEST_DEVICE=$device "$(built test_absnorm)" || rc=$?
    [ $rc = 0 ] || [ $rc = 77 ] || exit 1
  done
  cat >absnorm.mlir <<'EOF'
"tessera.graph.func"() ({
^bb0(%x: tensor<65x200xbf16>, %y: tensor<65x200xbf16>):
  %0 = "tessera.graph.add"(%x, %y)
  %1 = "tessera.graph.absnorm"(%0)
  %2 = "tessera.graph.relu"(%1)
  "tessera.graph.return"(%2)
}) {sym_name = "main"}
EOF
  for device in cpu:0 cuda:sm_90a hip:gfx942; do  # with what stands before and after, one kernel
    kernels=$("$tessera" dump absnorm.mlir --level target --device $device | grep -c '"tessera.target.kernel"')
    [ "$kernels" = 1 ] || { echo "absnorm for $device: $kernels kernels"; exit 1; }
  done
  same() { # op, of which it has the code
    for device in cpu:0 cuda:sm_90a hip:gfx942; do
      "$tessera" dump $1.mlir --level target --device $device | sed "s/$1/$2/g" >$1.$device
      "$tessera" dump $2.mlir --level target --device $device >$2.$device
      cmp $1.$device $2.$device || { diff $1.$device $2.$device | head -20; exit 1; }
      echo "$1 for $device: the $2's code"
    done
  }
  same linear matmul
}
