/* tests/simt/test_simt_ops.c - every elementwise op of the graph on each kind of type, two programs a type, on an
 * emulated device against the reference and within its tolerances: all values of the 16-bit types, of others edge
 * values (NaN, infinities, -0 and subnormals among them) and random ones. The ops are those of core/ir/scalar_ops.h and
 * core/ir/scalar_composites.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "core/base/str.h"
#include "core/ir/graph/eval.h"
#include "core/ir/scalar_ops.h"
#include "tessera/tessera.h"
#include "tests/simt/backend_emu.h"
#include "tests/simt/emu_check.h"

/* As in bench/kernels/precision.h: what functions compute on the way may be subnormal, and flushed. */
#define SUBNORMAL 0x1p-120
enum { FEW = 240, BYTES = 1 << 13, ALL = 1 << 16, MAX_OUT = 48 };
static int N;
static tsr_context *ctx;

/* What an op is defined for, and its shape. */
enum { FLOATS = 1, INTEGERS = 2, TWO = 8, COMPARE = 16, SELECT = 32 };
#define ON_A FLOATS | INTEGERS
#define ON_F FLOATS
#define ON_I INTEGERS
#define OP_GRAPH(name, n, types) {name, (ON_##types) | (n == 2 ? TWO : 0)},
#define OP_OWN(name, n, types)
#define OP_KERNEL(name, n, types)
#define OP_PART(name, n, types)
#define OP(CODE, name, n, types, help, level, ...) OP_##level(name, n, types)
static const struct { const char *name; int flags; } ops[] = {
    SCALAR_ALL(OP){"gelu", FLOATS}, {"gelu\"(%x) {approximate = \"tanh\"}", FLOATS},
    {"eq", FLOATS | INTEGERS | COMPARE}, {"ne", FLOATS | INTEGERS | COMPARE}, {"lt", FLOATS | INTEGERS | COMPARE}, {"le", FLOATS | INTEGERS | COMPARE},
    {"gt", FLOATS | INTEGERS | COMPARE}, {"ge", FLOATS | INTEGERS | COMPARE}, {"select", FLOATS | INTEGERS | SELECT},
    {"isnan", FLOATS}, {"isinf", FLOATS}, {"leaky_relu", FLOATS}, {"elu", FLOATS}, {"celu\"(%x) {alpha = 0.7}", FLOATS},
    {"hardsigmoid", FLOATS}, {"mul_high", INTEGERS | TWO}, {"shift_left", INTEGERS | TWO}, {"shift_right", INTEGERS | TWO}};
enum { N_OPS = sizeof ops / sizeof *ops };

/* x, y and p (at least 0) of a type; the names of the ops whose results the program returns, in order: half of them. */
static int put_program(strb *b, tsr_dtype t, int half, const char *names[MAX_OUT]) {
  const char *mlir = dtype_get(t)->mlir;
  int n = 0;
  strb_printf(b,
              "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx%s>, %%y: tensor<%dx%s>, %%p: "
              "tensor<%dx%s>):\n",
              N, mlir, N, mlir, N, mlir);
  for (int i = half; i < N_OPS; i += 2) {
    int f = ops[i].flags;
    if (!(f & (dtype_is_float(t) ? FLOATS : INTEGERS))) continue;
    if (f & COMPARE)
      strb_printf(b, "%%r%d = \"tessera.graph.compare\"(%%x, %%y) {predicate = \"%s\"}\n", n, ops[i].name);
    else if (f & SELECT)
      strb_printf(b,
                  "%%c = \"tessera.graph.compare\"(%%x, %%y) {predicate = \"lt\"}\n%%r%d = "
                  "\"tessera.graph.select\"(%%c, %%x, %%p)\n",
                  n);
    else if (strchr(ops[i].name, '(')) strb_printf(b, "%%r%d = \"tessera.graph.%s\n", n, ops[i].name);
    else strb_printf(b, "%%r%d = \"tessera.graph.%s\"(%%x%s)\n", n, ops[i].name, f & TWO ? ", %y" : "");
    names[n++] = ops[i].name;
  }
  strb_puts(b, "\"tessera.graph.return\"(");
  for (int i = 0; i < n; i++) strb_printf(b, "%s%%r%d", i ? ", " : "", i);
  strb_puts(b, ")\n}) {sym_name = \"main\"} }) : () -> ()\n");
  return n;
}

/* 0: all values of an 8 or 16-bit float and of 16-bit integers, else edges and random ones; 1: edges, each beside all
 * of them; 2: their magnitudes. */
static void fill(tsr_dtype t, int which, void *data) {
  const double max = dtype_get(t)->max;
  const double edges[] = {0,    1,   -1,  2,    -2, 3,    7,        -7,        100, -100,     127,       -128, 0.5,
                          -0.5, 1.5, 2.5, -2.5, 11, -0.0, INFINITY, -INFINITY, NAN, 0x1p-140, -0x1p-140, max,  -max,
                          0x1p-1074, -0x1.8p-1023, 0x1p-1022, 15, -8};
  enum { N_EDGES = sizeof edges / sizeof *edges };
  uint32_t seed = 77u + (uint32_t)which;
  for (int i = 0; i < N; i++) {
    seed = seed * 1664525u + 1013904223u;
    double v = ((double)(seed >> 8) / (1 << 23) - 1) * 6;
    if (i < FEW - 40 || N != FEW) v = edges[(!which ? i : N == BYTES ? i / 256 : i / 10) % N_EDGES];
    if (which == 2) v = fabs(v);
    if (!dtype_is_float(t)) v = dtype_get(t)->is_signed ? trunc(v) : fabs(trunc(v));
    dtype_store(t, data, (size_t)i, v);
    if (N == BYTES && !which) ((uint8_t *)data)[i] = (uint8_t)i;
    if (N != ALL || which) continue;
    ((uint16_t *)data)[i] = (uint16_t)i;
    if (isnan(dtype_load(t, data, (size_t)i)))
      ((uint16_t *)data)[i] |= t == TSR_F16 ? 0x200 : 0x40; /* quiet: the host's powf(signalling, 0) is NaN */
  }
}

static void run_on(const char *device, tsr_dtype t, const strb *text, int n, void *const data[3], double *got[MAX_OUT],
                   tsr_dtype type[MAX_OUT]) {
  tsr_device *dev;
  tsr_program *p;
  tsr_binding in[3] = {{0}}, out[MAX_OUT] = {{0}};
  static uint64_t raw[ALL];
  ok(tsr_device_open(ctx, device, &dev), device);
  ok(tsr_program_parse(dev, strb_text(text), text->n, tsr_dtype_name(t), NULL, &p), device);
  for (int i = 0; i < 3; i++) {
    size_t bytes = tsr_program_input(p, i).bytes;
    ok(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &in[i].buffer), device);
    ok(tsr_buffer_write(in[i].buffer, 0, data[i], bytes), device);
  }
  for (int i = 0; i < n; i++)
    ok(tsr_buffer_create(dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &out[i].buffer), device);
  ok(tsr_program_run(p, NULL, in, out), device);
  for (int i = 0; i < n; i++) {
    tsr_tensor_info info = tsr_program_output(p, i);
    ok(tsr_buffer_read(out[i].buffer, 0, raw, info.bytes), device);
    for (int e = 0; e < N; e++) got[i][e] = dtype_load(info.dtype, raw, (size_t)e);
    type[i] = info.dtype;
    tsr_buffer_destroy(&out[i].buffer);
  }
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
}

static void check_half(tsr_dtype t, int half, const char *device) {
  static double values[3][MAX_OUT][ALL];
  double *want[MAX_OUT], *tolerance[MAX_OUT], *got[MAX_OUT];
  tsr_dtype type[MAX_OUT];
  const char *names[MAX_OUT];
  static uint64_t raw[3][ALL];
  void *in[3] = {raw[0], raw[1], raw[2]};
  tsr_graph *g;
  strb text;
  N = tsr_dtype_size(t) == 2 ? ALL : tsr_dtype_size(t) == 1 && dtype_is_float(t) ? BYTES : FEW;
  strb_init(&text, &al_default);
  int n = put_program(&text, t, half, names);
  for (int i = 0; i < 3; i++) fill(t, i, raw[i]);
  for (int i = 0; i < n; i++) want[i] = values[0][i], tolerance[i] = values[1][i], got[i] = values[2][i];
  ok(tsr_graph_parse(ctx, strb_text(&text), text.n, tsr_dtype_name(t), &g), "parse");
  ok(tsr_graph_reference(g, (const void *const *)in, want, tolerance), "reference");
  run_on(device, t, &text, n, in, got, type);
  for (int i = 0; i < n; i++)
    for (int e = 0; e < N; e++) {
      double a = want[i][e], b = got[i][e];
      bool same = graph_agrees(type[i], b, (graph_num){.v = a, .e = tolerance[i][e]}) ||
                  (t != TSR_F64 && fabs(a - b) <= SUBNORMAL);
      if (!same)
        fail_msg("%s of %s on %s: element %d is %.17g, not %.17g", names[i], tsr_dtype_name(t), device, e, b, a);
    }
  tsr_graph_destroy(&g);
  strb_clear(&text);
}

static void ops_on_every_type_match_the_reference(void **state) {
  static const tsr_dtype types[] = {TSR_F32,    TSR_F64,    TSR_BF16, TSR_TF32, TSR_I64, TSR_I32,
                                    TSR_I8,     TSR_U8,     TSR_F16,  TSR_I16,  TSR_U64, TSR_F8E4M3,
                                    TSR_F8E5M2, TSR_F8E4M3, TSR_I4,   TSR_U32,  TSR_U4,  TSR_U16};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    char device[16];
    snprintf(device, sizeof device, "emu:%d", (int)(i % EMU_N_DEVICES));
    for (int half = 0; half < 2; half++) check_half(types[i], half, device);
  }
}

int main(void) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  const void *extra[] = {&emu_backend, NULL};
  ok(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .extra_backends = extra}, &ctx), "context");
  const struct CMUnitTest tests[] = {cmocka_unit_test(ops_on_every_type_match_the_reference)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tsr_context_destroy(&ctx);
  return failed != 0;
}
