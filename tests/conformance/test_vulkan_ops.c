/* The numbers that emitted SPIR-V computes on the device: every scalar function and cast over edge values against C's
 * library in f64 and core/base/dtype.c. Bounds are in units in the last place of f32, stated per function. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/scalar_ops.h"
#include "core/passes/simt/simt.h"
#include "tests/conformance/vulkan_run.h"
#include "tests/support/tile_gen.h"

static vr dev;

static double ref_gelu(double a) { return a == -INFINITY ? -0.0 : 0.5 * a * (1 + erf(a / sqrt(2))); }
static double ref_gelu_tanh(double a) {
  return a == -INFINITY ? -0.0 : 0.5 * a * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (a + 0.044715 * a * a * a)));
}
static double ref_sigmoid(double a) { return 1 / (1 + exp(-a)); }
static double ref_silu(double a) { return a == -INFINITY ? -0.0 : a / (1 + exp(-a)); }
static double ref_rsqrt(double a) { return 1 / sqrt(a); }
static double ref_relu(double a) { return isnan(a) ? a : a > 0 ? a : 0; }
static double ref_neg(double a) { return -a; }

/* ulp: bound relative to the result; absolute: added for results that cancel (gelu of large negative numbers). */
static const struct { const char *name; double (*f)(double); double ulp, absolute, lo, hi; } functions[] = {
    {"exp", exp, 2, 1e-37, -110, 100}, {"log", log, 4, 1e-7, 0, 1e30}, {"sqrt", sqrt, 2, 1e-22, 0, 1e30}, {"rsqrt", ref_rsqrt, 4, 0, 1e-30, 1e30},
    {"tanh", tanh, 4, 1e-37, -20, 20}, {"erf", erf, 4, 1e-37, -6, 6}, {"sin", sin, 2.5, 0, -1000, 1000}, {"cos", cos, 2.5, 0, -1000, 1000},
    {"sin", sin, 2.5, 0, -1e30, 1e30}, {"cos", cos, 2.5, 0, -1e30, 1e30},
    {"floor", floor, 0, 0, -1e6, 1e6}, {"round", nearbyint, 0, 0, -1e3, 1e3}, {"sigmoid", ref_sigmoid, 6, 1e-37, -90, 90}, {"relu", ref_relu, 0, 0, -5, 5}, {"gelu", ref_gelu, 6, 1e-6, -10, 10},
    {"gelu_tanh", ref_gelu_tanh, 8, 1e-6, -10, 10}, {"silu", ref_silu, 8, 1e-37, -80, 80}, {"neg", ref_neg, 0, 0, -1e30, 1e30}, {"abs", fabs, 0, 0, -1e30, 1e30},
};

enum { N = 4096 };
static char text[8192];

static void one_op(const char *line, const char *in, const char *out, int n) {
  char loads[1024] = "", *p = loads;
  for (int i = 0; i < n; i++)
    p += sprintf(p, "  %%x%d = \"tessera.target.load\"(%%a%d, %%t) : (!tessera.ptr<%s, \"global\">, index) -> %s\n", i,
                 i, in, in);
  char args[512] = "", *q = args;
  for (int i = 0; i < n; i++) q += sprintf(q, "%%a%d: !tessera.ptr<%s, \"global\">, ", i, in);
  snprintf(text, sizeof text,
           "\"tessera.target.kernel\"() ({\n^bb0(%s%%o: !tessera.ptr<%s, \"global\">):\n  %%i = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n"
           "  %%b = \"tessera.target.block_id\"() {axis = 0} : () -> index\n  %%c = \"tessera.target.const\"() {value = 64} : () -> index\n"
           "  %%m = \"tessera.target.mul\"(%%b, %%c) : (index, index) -> index\n  %%t = \"tessera.target.add\"(%%m, %%i) : (index, index) -> index\n%s  %s\n"
           "  \"tessera.target.store\"(%%r, %%o, %%t) : (%s, !tessera.ptr<%s, \"global\">, index) -> ()\n  \"tessera.target.return\"() : () -> ()\n"
           "}) {sym_name = \"k\", dialect = \"spirv\", grid = [%d, 1, 1], block = [64, 1, 1]} : () -> ()\n",
           args, out, loads, line, out, out, N / 64);
}

static const float edges[] = {0.0f,          -0.0f,         1.0f,           -1.0f,           INFINITY,
                              -INFINITY,     NAN,           3.40282347e38f, -3.40282347e38f, 1.17549435e-38f,
                              0.5f,          -0.5f,         2.0f,           88.0f,           -87.0f,
                              1e-6f,         -1e-6f,        127.5f,         -128.5f,         255.5f,
                              65504.0f,      65520.0f,      448.0f,         480.0f,          57344.0f,
                              2147483648.0f, -2147483904.0f};
enum { N_EDGES = sizeof edges / sizeof *edges };

/* Where two roundings to nearest (by way of f32) give another number than one: just beside ties of f16, bf16 and fp8.
 */
static const double ties[] = {65519.99999999999, 16842753,         -16842753,        33685505,
                              4311810305,        -4311810305,      1.00390625000001, 1.00048828125001,
                              1.0625000000001,   1.12500000000001, 2148532225,       1125899906842623.0};
enum { N_TIES = sizeof ties / sizeof *ties };

static void fill(float *x, double lo, double hi) {
  uint32_t seed = 12345;
  for (int i = 0; i < N; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = i < N_EDGES ? edges[i] : (float)(lo + (hi - lo) * (seed >> 8) / 16777216.0);
    if (i >= N_EDGES && hi > 1e20)
      x[i] = (float)(((seed & 1) && lo < 0 ? -1 : 1) * exp(-60 + 120 * (double)(seed >> 8) / 16777216.0));
  }
}

static void functions_edge_and_random_values_within_bounds(void **state) {
  static float x[N], y[N];
  int bad = 0;
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
    char line[128];
    double worst = 0;
    snprintf(line, sizeof line, "%%r = \"tessera.target.%s\"(%%x0) : (f32) -> f32", functions[f].name);
    one_op(line, "f32", "f32", 1);
    fill(x, functions[f].lo, functions[f].hi);
    vr_run(&dev, text, (vr_arg[]){{x, NULL, sizeof x}, {NULL, y, sizeof y}}, 2, 1);
    for (int i = 0; i < N; i++) {
      double want = functions[f].f(x[i]), got = y[i];
      if (isnan(want) || isinf(want) || fabs(want) > 3.40282347e38) {
        bool ok = isnan(want) ? isnan(got) : isinf(got) && (got > 0) == (want > 0);
        if (!ok && bad++ < 20) print_error("%s(%g) = %g, want %g\n", functions[f].name, x[i], got, want);
        continue;
      }
      double allowed = functions[f].ulp * fabs(want) * 1.1920929e-7 + functions[f].absolute;
      double error = fabs(got - want);
      if (error - functions[f].absolute > worst * fabs(want) && want != 0)
        worst = (error - functions[f].absolute) / fabs(want);
      if (!(error <= allowed) && bad++ < 20)
        print_error("%s(%.9g) = %.9g, want %.9g (%.1f ulp)\n", functions[f].name, x[i], got, want,
                    error / fabs(want) / 1.19e-7);
    }
    print_message("%-10s worst %.2f ulp\n", functions[f].name, worst / 1.1920929e-7);
  }
  assert_int_equal(bad, 0);
}

static void casts_every_pair_same_as_host(void **state) {
  static const tsr_dtype types[] = {TSR_F64, TSR_F32, TSR_F16, TSR_BF16, TSR_F8E4M3, TSR_F8E5M2,
                                    TSR_I64, TSR_I32, TSR_I16, TSR_I8,   TSR_U8,     TSR_BOOL};
  static const char *const names[] = {"f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2",
                                      "i64", "i32", "i16", "i8",   "ui8",      "i1"};
  static float x[N];
  static double in[N], out[N]; /* raw storage */
  int bad = 0;
  for (int a = 0; a < 12; a++)
    for (int b = 0; b < 12; b++) {
      char line[128];
      snprintf(line, sizeof line, "%%r = \"tessera.target.cast\"(%%x0) : (%s) -> %s", names[a], names[b]);
      one_op(line, names[a], names[b], 1);
      fill(x, -300, 300);
      for (int i = 0; i < N; i++)
        dtype_store(types[a], in, (size_t)i,
                    i > N / 2                              ? ldexp(x[i], (i % 48) - 24)
                    : i >= N_EDGES && i < N_EDGES + N_TIES ? ties[i - N_EDGES]
                                                           : x[i]);
      memset(out, 0, sizeof out);
      vr_run(&dev, text,
             (vr_arg[]){{in, NULL, N * tsr_dtype_size(types[a])}, {NULL, out, N * tsr_dtype_size(types[b])}}, 2, 1);
      for (int i = 0; i < N; i++) {
        double value = dtype_load(types[a], in, (size_t)i), want_raw = 0, got = dtype_load(types[b], out, (size_t)i);
        if (types[a] == TSR_I64 && fabs(value) >= 9007199254740992.0) continue; /* not exact in the reference */
        if (fabs(value) < 1.2e-38 && value != 0) continue;                    /* f32 subnormals may be flushed */
        uint64_t raw = 0;
        dtype_store(types[b], &raw, 0, value);
        want_raw = dtype_load(types[b], &raw, 0);
        if (fabs(want_raw) < 6.2e-5 && types[b] == TSR_F16 && fabs(got - want_raw) < 6.2e-5)
          continue; /* f16 subnormals may be flushed */
        if (!(got == want_raw || (isnan(got) && isnan(want_raw))) && bad++ < 20)
          print_error("%s -> %s: %.9g gives %.9g, want %.9g\n", names[a], names[b], value, got, want_raw);
      }
    }
  assert_int_equal(bad, 0);
}

static void rounding_through_a_narrower_float_kept(void **state) {
  static const struct { tsr_dtype wide, narrow; const char *wide_name, *name; } trips[] = {
      {TSR_F32, TSR_F16, "f32", "f16"}, {TSR_F32, TSR_BF16, "f32", "bf16"}, {TSR_F32, TSR_F8E4M3, "f32", "f8E4M3FN"}, {TSR_F32, TSR_F8E5M2, "f32", "f8E5M2"}, {TSR_F64, TSR_F32, "f64", "f32"}};
  static float x[N];
  static double in[N], out[N]; /* raw storage */
  for (size_t t = 0; t < sizeof trips / sizeof *trips; t++) {
    char line[256];
    size_t bytes = N * tsr_dtype_size(trips[t].wide);
    const char *w = trips[t].wide_name, *s = trips[t].name;
    snprintf(line, sizeof line,
             "%%y = \"tessera.target.cast\"(%%x0) : (%s) -> %s\n  %%r = \"tessera.target.cast\"(%%y) : (%s) -> %s", w,
             s, s, w);
    one_op(line, w, w, 1);
    fill(x, -300, 300);
    for (size_t i = 0; i < N; i++) dtype_store(trips[t].wide, in, i, x[i] * (trips[t].wide == TSR_F64 ? 1.1 : 1.0));
    vr_run(&dev, text, (vr_arg[]){{in, NULL, bytes}, {NULL, out, bytes}}, 2, 1);
    for (size_t i = N_EDGES; i < N; i++) {
      double want, got = dtype_load(trips[t].wide, out, i);
      uint64_t raw = 0;
      dtype_store(trips[t].narrow, &raw, 0, dtype_load(trips[t].wide, in, i));
      want = dtype_load(trips[t].narrow, &raw, 0);
      if (got != want)
        fail_msg("%s -> %s -> %s: %.17g gives %.17g, want %.17g", w, s, w, dtype_load(trips[t].wide, in, i), got, want);
    }
  }
}

static void binary_ops_edge_values_as_documented(void **state) {
  static float a[N], b[N], y[N];
  static const char *const names[] = {"add", "sub", "mul", "div", "rem", "pow", "min", "max"};
  int bad = 0;
  for (int i = 0; i < N; i++) {
    a[i] = i < N_EDGES * N_EDGES ? edges[i / N_EDGES] : (float)(i % 61) * 0.37f - 7.0f;
    b[i] = i < N_EDGES * N_EDGES ? edges[i % N_EDGES] : (float)(i % 17) * 0.91f - 6.0f;
  }
  for (int o = 0; o < 8; o++) {
    char line[128];
    double worst = 0;
    snprintf(line, sizeof line, "%%r = \"tessera.target.%s\"(%%x0, %%x1) : (f32, f32) -> f32", names[o]);
    one_op(line, "f32", "f32", 2);
    vr_run(&dev, text, (vr_arg[]){{a, NULL, sizeof a}, {b, NULL, sizeof b}, {NULL, y, sizeof y}}, 3, 1);
    for (int i = 0; i < N; i++) {
      double p = a[i], q = b[i];
      double want = o == 0                 ? a[i] + b[i]
                    : o == 1               ? a[i] - b[i]
                    : o == 2               ? a[i] * b[i]
                    : o == 3               ? a[i] / b[i]
                    : o == 4               ? fmodf(a[i], b[i])
                    : o == 5               ? pow(p, q)
                    : isnan(p) || isnan(q) ? NAN
                    : o == 6               ? (p < q ? p : q)
                    : p > q                ? p
                                           : q;
      if (o == 3 && (fabs(q) < 1.2e-38 || fabs(q) > 1.7e38 || fabs(want) < 1.2e-38))
        continue; /* Vulkan's bound on division ends there */
      double allowed = (o == 3   ? 2.5
                        : o == 4 ? 0
                        : o == 5 ? 2
                                 : 0.51) *
                           1.1920929e-7 * fabs(want) +
                       (o == 4 ? 0 : 1.3e-38);
      bool ok = isnan(want)                                 ? isnan(y[i])
                : isinf(want) || fabs(want) > 3.40282347e38 ? isinf(y[i]) && (y[i] > 0) == (want > 0)
                                                            : fabs(y[i] - want) <= allowed;
      if (isfinite(want) && want != 0 && fabs(want) > 1e-37 && isfinite(y[i]) && fabs(y[i] / want - 1) > worst)
        worst = fabs(y[i] / want - 1);
      if (!ok && bad++ < 20) print_error("%s(%.9g, %.9g) = %.9g, want %.9g\n", names[o], p, q, y[i], want);
    }
    print_message("%-10s worst %.2f ulp\n", names[o], worst / 1.1920929e-7);
  }
  assert_int_equal(bad, 0);
}

static void integer_division_by_zero_as_documented(void **state) {
  static int32_t a[N], b[N], y[N];
  static const int32_t v[] = {0, 1, -1, 7, -7, INT32_MAX, INT32_MIN, 100, -100, 3};
  for (int i = 0; i < N; i++) a[i] = v[i % 10], b[i] = v[i / 10 % 10];
  for (int o = 0; o < 2; o++) {
    char line[128];
    snprintf(line, sizeof line, "%%r = \"tessera.target.%s\"(%%x0, %%x1) : (i32, i32) -> i32", o ? "rem" : "div");
    one_op(line, "i32", "i32", 2);
    vr_run(&dev, text, (vr_arg[]){{a, NULL, sizeof a}, {b, NULL, sizeof b}, {NULL, y, sizeof y}}, 3, 1);
    for (int i = 0; i < N; i++) {
      int64_t want = !b[i] ? (o ? a[i] : 0) : o ? (int64_t)a[i] % b[i] : (int64_t)a[i] / b[i];
      assert_int_equal(y[i], (int32_t)want);
    }
  }
}

/* Bytes of an i64 in memory order, and back: on 8 lanes a load of eight i8 is one of an i64. */
static void bitcast_of_eight_bytes_and_one_i64(void **state) {
  static int64_t x[N], y[N];
  static int32_t b[N];
  for (int i = 0; i < N; i++) x[i] = (int64_t)((uint64_t)i * 0x9e3779b97f4a7c15u);
  for (int at = 0; at < 8; at++) {
    char line[400];
    snprintf(line, sizeof line,
             "%%v = \"tessera.target.bitcast\"(%%x0) : (i64) -> vector<8xi8>\n  %%e = \"tessera.target.extract\"(%%v) "
             "{at = %d} : (vector<8xi8>) -> i8\n  %%r = \"tessera.target.cast\"(%%e) : (i8) -> i32",
             at);
    one_op(line, "i64", "i32", 1);
    vr_run(&dev, text, (vr_arg[]){{x, NULL, sizeof x}, {NULL, b, sizeof b}}, 2, 1);
    for (int i = 0; i < N; i++) assert_int_equal(b[i], (int8_t)(x[i] >> 8 * at));
  }
  one_op("%v = \"tessera.target.bitcast\"(%x0) : (i64) -> vector<8xi8>\n  %n = \"tessera.target.neg\"(%v) : "
         "(vector<8xi8>) -> vector<8xi8>\n"
         "  %r = \"tessera.target.bitcast\"(%n) : (vector<8xi8>) -> i64",
         "i64", "i64", 1);
  vr_run(&dev, text, (vr_arg[]){{x, NULL, sizeof x}, {NULL, y, sizeof y}}, 2, 1);
  for (int i = 0; i < N; i++)
    for (int at = 0; at < 8; at++) assert_int_equal((int8_t)(y[i] >> 8 * at), (int8_t)-(x[i] >> 8 * at));
}

/* Loops whose bounds only the block knows, over addresses 4 TiB behind the buffer: llvmpipe goes on through a body that
 * all lanes have left or never entered, and makes the loads whose address is the same for all lanes. Block b adds up
 * a[0..7] in the first loop if it is 0, else nothing, and a[0..b) in the second. */
static void loops_read_nothing_after_their_end(void **state) {
  enum { BLOCKS = 4, LANES = 64 };
  static float a[16], y[BLOCKS * LANES];
  for (int i = 0; i < 16; i++) a[i] = (float)(1 << i);
  snprintf(text, sizeof text,
           "\"tessera.target.kernel\"() ({\n^bb0(%%a: !tessera.ptr<f32, \"global\">, %%o: !tessera.ptr<f32, \"global\">):\n"
           "  %%t = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n  %%b = \"tessera.target.block_id\"() {axis = 0} : () -> index\n"
           "  %%far = \"tessera.target.const\"() {value = %lld} : () -> index\n  %%c0 = \"tessera.target.const\"() {value = 0} : () -> index\n"
           "  %%c1 = \"tessera.target.const\"() {value = 1} : () -> index\n  %%c8 = \"tessera.target.const\"() {value = 8} : () -> index\n"
           "  %%z = \"tessera.target.const\"() {value = 0.0} : () -> f32\n  %%from = \"tessera.target.mul\"(%%b, %%far) : (index, index) -> index\n"
           "  %%s = \"tessera.target.for\"(%%from, %%far, %%far, %%z) ({\n  ^bb0(%%i: index, %%p: f32):\n"
           "    %%u = \"tessera.target.for\"(%%c0, %%c8, %%c1, %%p) ({\n    ^bb0(%%j: index, %%q: f32):\n"
           "      %%at = \"tessera.target.add\"(%%i, %%j) : (index, index) -> index\n      %%x = \"tessera.target.load\"(%%a, %%at) : (!tessera.ptr<f32, \"global\">, index) -> f32\n"
           "      %%n = \"tessera.target.add\"(%%q, %%x) : (f32, f32) -> f32\n      \"tessera.target.yield\"(%%n) : (f32) -> ()\n"
           "    }) : (index, index, index, f32) -> f32\n    \"tessera.target.yield\"(%%u) : (f32) -> ()\n  }) : (index, index, index, f32) -> f32\n"
           "  %%v = \"tessera.target.for\"(%%c0, %%b, %%c1, %%s) ({\n  ^bb0(%%k: index, %%r: f32):\n"
           "    %%w = \"tessera.target.load\"(%%a, %%k) : (!tessera.ptr<f32, \"global\">, index) -> f32\n    %%m = \"tessera.target.add\"(%%r, %%w) : (f32, f32) -> f32\n"
           "    \"tessera.target.yield\"(%%m) : (f32) -> ()\n  }) : (index, index, index, f32) -> f32\n"
           "  %%c = \"tessera.target.const\"() {value = %d} : () -> index\n  %%row = \"tessera.target.mul\"(%%b, %%c) : (index, index) -> index\n"
           "  %%e = \"tessera.target.add\"(%%row, %%t) : (index, index) -> index\n  \"tessera.target.store\"(%%v, %%o, %%e) : (f32, !tessera.ptr<f32, \"global\">, index) -> ()\n"
           "  \"tessera.target.return\"() : () -> ()\n}) {sym_name = \"far_loops\", dialect = \"spirv\", grid = [%d, 1, 1], block = [%d, 1, 1], wide_index = true} : () -> ()\n",
           1ll << 40, LANES, BLOCKS, LANES);
  vr_run(&dev, text, (vr_arg[]){{a, NULL, sizeof a}, {NULL, y, sizeof y}}, 2, 1);
  for (int i = 0; i < BLOCKS * LANES; i++)
    assert_float_equal(y[i], i < LANES ? 255 : (1 << i / LANES) - 1, 0); /* small integers: exact */
}

/* Small integers: products and their sums are exact in every order, so are the results. */
static int64_t small(int64_t i, int64_t seed) { return (i * 2654435761u + seed) / 65536 % 7 - 3; }

static void check_lane_n(const tile_matmul_case *c, const char *path) {
  enum { MOST = 1 << 14 };
  static uint8_t a[MOST * 4], b[MOST * 4], out[MOST * 4];
  int64_t batch = c->batch ? c->batch : 1;
  size_t in = tsr_dtype_size(c->in), o = tsr_dtype_size(c->out);
  strb tile, target;
  ir_module *from, *to;
  assert_true(batch * c->m * c->k <= MOST && batch * c->k * c->n <= MOST && batch * c->m * c->n <= MOST);
  for (int64_t i = 0; i < batch * c->m * c->k; i++) dtype_store(c->in, a, (size_t)i, (double)small(i, 1));
  for (int64_t i = 0; i < batch * c->k * c->n; i++) dtype_store(c->in, b, (size_t)i, (double)small(i, 77));
  memset(out, 0xff, sizeof out);
  strb_init(&tile, NULL);
  strb_init(&target, NULL);
  tile_gen_matmul(&tile, c);
  VR_OK(ir_parse(&al_default, strb_text(&tile), tile.n, c->name, &from));
  VR_OK(tile_to_simt(from, &dev.caps, &to));
  ir_print(&target, to);
  if (path && dev.caps.subgroup == 8 && dev.caps.subgroup_max == 8) {
    char expected[64];
    snprintf(expected, sizeof expected, "path = \"%s\"", path);
    if (!strstr(strb_text(&target), expected)) fail_msg("%s: no %s", c->name, expected);
  }
  vr_run(&dev, strb_text(&target),
         (vr_arg[]){{a, NULL, (size_t)(batch * c->m * c->k) * in},
                    {b, NULL, (size_t)(batch * c->k * c->n) * in},
                    {NULL, out, (size_t)(batch * c->m * c->n) * o}},
         3, 1);
  for (int64_t i = 0; i < batch * c->m * c->n; i++) {
    int64_t z = i / (c->m * c->n), row = i / c->n % c->m, col = i % c->n;
    double sum = 0;
    for (int64_t k = 0; k < c->k; k++)
      sum += dtype_load(c->in, a, (size_t)(z * c->m * c->k + (c->ta ? k * c->m + row : row * c->k + k))) *
             dtype_load(c->in, b, (size_t)(z * c->n * c->k + (c->tb ? col * c->k + k : k * c->n + col)));
    if (dtype_load(c->out, out, (size_t)i) != sum)
      fail_msg("%s: element %lld is %g, not %g", c->name, (long long)i, dtype_load(c->out, out, (size_t)i), sum);
  }
  ir_module_destroy(&from);
  ir_module_destroy(&to);
  strb_clear(&tile);
  strb_clear(&target);
}

static void lane_n_in_lanes_are_exact_at_edges_too(void **state) {
#define LANE_N .direct = true, .path = "lane_n"
  static const struct { tile_matmul_case c; const char *path; } cases[] = {
      {{.name = "f32", .m = 64, .n = 64, .k = 96, .bm = 16, .bn = 16, .bk = 32, .in = TSR_F32, .out = TSR_F32, .warps = 1, LANE_N}, "lane_n"},
      {{.name = "f32_warps", .m = 64, .n = 64, .k = 64, .bm = 32, .bn = 64, .bk = 64, .in = TSR_F32, .out = TSR_F32, .warps = 8, LANE_N}, "lane_n"},
      {{.name = "f32_edges", .m = 50, .n = 76, .k = 40, .bm = 16, .bn = 16, .bk = 32, .in = TSR_F32, .out = TSR_F32, .warps = 1, LANE_N}, "lane_n"},
      {{.name = "f32_rows", .m = 50, .n = 64, .k = 96, .bm = 16, .bn = 32, .bk = 32, .in = TSR_F32, .out = TSR_F32, .warps = 2, LANE_N}, "lane_n"},
      {{.name = "f32_last_row", .m = 1, .n = 32, .k = 48, .bm = 16, .bn = 32, .bk = 16, .in = TSR_F32, .out = TSR_F32, .warps = 2, LANE_N}, "lane_n"},
      {{.name = "f32_ta_rows", .m = 19, .n = 32, .k = 64, .bm = 16, .bn = 32, .bk = 32, .in = TSR_F32, .out = TSR_F32, .ta = true, .warps = 1, LANE_N}, "lane_n"},
      {{.name = "f16_batch_rows", .m = 5, .n = 32, .k = 32, .batch = 3, .bm = 8, .bn = 32, .bk = 32, .in = TSR_F16, .out = TSR_F32, .warps = 1, LANE_N}, "lane_n"},
      {{.name = "bf16_rows", .m = 37, .n = 64, .k = 48, .bm = 32, .bn = 32, .bk = 16, .in = TSR_BF16, .out = TSR_F32, .warps = 4, LANE_N}, "lane_n"},
      {{.name = "i8_rows", .m = 23, .n = 64, .k = 64, .bm = 16, .bn = 64, .bk = 32, .in = TSR_I8, .out = TSR_I32, .warps = 2, LANE_N}, "lane_n"},
      {{.name = "f32_odd", .m = 19, .n = 33, .k = 21, .bm = 16, .bn = 32, .bk = 16, .in = TSR_F32, .out = TSR_F32, .warps = 2, LANE_N}, "lane_n"},
      {{.name = "f32_ta", .m = 32, .n = 32, .k = 32, .bm = 16, .bn = 32, .bk = 32, .in = TSR_F32, .out = TSR_F32, .ta = true, .warps = 1, LANE_N}, "lane_n"},
      {{.name = "f32_tb", .m = 32, .n = 32, .k = 32, .bm = 16, .bn = 32, .bk = 32, .in = TSR_F32, .out = TSR_F32, .tb = true, .warps = 1, LANE_N}, "fma"},
      {{.name = "row", .m = 1, .n = 128, .k = 64, .bm = 1, .bn = 128, .bk = 32, .in = TSR_F32, .out = TSR_F32, .warps = 1, LANE_N}, "lane_n"},
      {{.name = "bf16", .m = 32, .n = 64, .k = 48, .bm = 16, .bn = 32, .bk = 16, .in = TSR_BF16, .out = TSR_F32, .warps = 2, LANE_N}, "lane_n"},
      {{.name = "f16_batch", .m = 16, .n = 32, .k = 32, .batch = 3, .bm = 16, .bn = 16, .bk = 32, .in = TSR_F16, .out = TSR_F32, .warps = 1, LANE_N}, "lane_n"},
      {{.name = "i8", .m = 32, .n = 64, .k = 64, .bm = 16, .bn = 64, .bk = 32, .in = TSR_I8, .out = TSR_I32, .warps = 4, LANE_N}, "lane_n"},
      {{.name = "i8_odd", .m = 18, .n = 37, .k = 33, .bm = 16, .bn = 32, .bk = 16, .in = TSR_I8, .out = TSR_I32, .warps = 1, LANE_N}, "lane_n"},
      {{.name = "f32_staged", .m = 32, .n = 32, .k = 32, .bm = 16, .bn = 32, .bk = 16, .in = TSR_F32, .out = TSR_F32, .warps = 2, .path = "lane_n"}, "lane_n"}};
#undef LANE_N
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_lane_n(&cases[i].c, cases[i].path);
}

static int setup(void **state) { return vr_open(&dev) ? 0 : 77; }

int main(void) {
  if (setup(NULL)) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(functions_edge_and_random_values_within_bounds),
                                     cmocka_unit_test(casts_every_pair_same_as_host),
                                     cmocka_unit_test(rounding_through_a_narrower_float_kept),
                                     cmocka_unit_test(binary_ops_edge_values_as_documented),
                                     cmocka_unit_test(integer_division_by_zero_as_documented),
                                     cmocka_unit_test(bitcast_of_eight_bytes_and_one_i64),
                                     cmocka_unit_test(loops_read_nothing_after_their_end),
                                     cmocka_unit_test(lane_n_in_lanes_are_exact_at_edges_too)};
  int r = cmocka_run_group_tests(tests, NULL, NULL);
  return vr_close(&dev) ? 1 : r;
}
