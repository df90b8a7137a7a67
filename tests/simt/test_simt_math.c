/* tests/simt/test_simt_math.c - HIP's scalar functions as they are emitted: hipRTC has no library of them without
 * ROCm's device code, so they are the text's own, and the emulator's prelude stands in for them everywhere else. Here
 * they are compiled for the host and compared with C's, in units in the last place of the result's type: edge values,
 * and some thousand over each range. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/str.h"
#include "core/emit/text/prelude.h"
#include "tests/simt/simt.h"

enum { N = 4000 };
static emu_module *module;
static double *x, *y, *out;

typedef struct function {
  const char *name; /* of one argument, or two where ref2 is set */
  double (*ref)(double), (*ref2)(double, double);
  double lo, hi, ulp32, ulp64; /* where it is tried; the bounds */
  double absolute32, absolute64; /* added to them */
} function;

static double rsqrt_ref(double a) { return 1 / sqrt(a); }
/* fsin and fcos of f64 are good to 1e9 (their own comment), of f32 everywhere; erf's and tanh's f64 forms cancel
 * near 1. */
static const function functions[] = {
    {"fexp", exp, NULL, -110, 90, 2, 4, 1e-45, 5e-324},  {"flog", log, NULL, 0, 1e30, 2, 4, 1e-7, 1e-15}, {"ftanh", tanh, NULL, -20, 20, 2, 16, 1e-45, 0}, {"ferf", erf, NULL, -7, 7, 2, 16, 1e-45, 0},
    {"fsin", sin, NULL, -1000, 1000, 2, 4, 1e-9, 1e-14}, {"fcos", cos, NULL, -1000, 1000, 2, 4, 1e-9, 1e-14}, {"fsqrt", sqrt, NULL, 0, 1e30, 1, 1, 0, 0}, {"frsqrt", rsqrt_ref, NULL, 1e-30, 1e30, 2, 2, 0, 0},
    {"ffloor", floor, NULL, -1e6, 1e6, 0, 0, 0, 0},      {"frint", rint, NULL, -1e6, 1e6, 0, 0, 0, 0}, {"fabs_", fabs, NULL, -1e6, 1e6, 0, 0, 0, 0},       {"fpow", NULL, pow, 0, 20, 2, 64, 1e-45, 5e-324}, {"ffmod", NULL, fmod, -20, 20, 0, 0, 0, 0},
    {"ffmod", NULL, fmod, 0, 0, 0, 0, 0, 0},             {"fsin", sin, NULL, 0, 0, 2, 4, 1e-9, 1e-14},         {"fcos", cos, NULL, 0, 0, 2, 4, 1e-9, 1e-14}}; /* lo = hi = 0: random bits */
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* The part of HIP's primitives that is plain C++, as `hip::`, and a kernel that calls one of its functions on all of x
 * (and y). */
static void put_text(strb *b) {
  strb base;
  strb_init(&base, &al_default);
  text_hip_base(&base, &(text_use){.features = TEXT_MATH, .arch = "gfx942", .wave = 64});
  const char *first = strstr(strb_text(&base), "FN float fmin_nan("),
             *last = strstr(strb_text(&base), "FN float fpow(");
  assert_non_null(first);
  assert_non_null(last);
  const char *end = strchr(last, '\n');
  strb_printf(b,
              "#include TSR_EMULATOR\nnamespace hip {\n%.*s\n}\nnamespace tsr {\ntemplate <class F> void compute(int "
              "which, const double *x, const double *y, double *out, int i) {\n",
              (int)(end - first), first);
  strb_puts(b, "F a = (F)x[i], b = (F)y[i], r = 0;\nswitch (which) {\n");
  for (int f = 0; f < N_FUNCTIONS; f++)
    strb_printf(b, "case %d: r = hip::%s(a%s); break;\n", f, functions[f].name, functions[f].ref2 ? ", b" : "");
  strb_printf(b,
              "}\nout[i] = (double)r;\n}\nKERNEL(1) probe(const double *x, const double *y, double *out) {\nint which "
              "= (int)x[%d];\n",
              N);
  strb_printf(b,
              "for (int i = 0; i < %d; i++)\nif (x[%d] != 0) compute<double>(which, x, y, out, i);\nelse "
              "compute<float>(which, x, y, out, i);\n}\n} // namespace tsr\n",
              N, N + 1);
  strb_clear(&base);
}

/* Any number of f32; with more bits of mantissa for f64. */
static void random_bits(uint32_t *seed, bool wide, double v[2]) {
  for (int k = 0; k < 2; k++) {
    uint32_t bits = *seed = *seed * 1664525u + 1013904223u;
    float f;
    memcpy(&f, &bits, 4);
    v[k] = wide ? (double)f * 1.000000119 : (double)f;
  }
}

static void fill(const function *f, bool wide) {
  static const double edges[] = {0.0,       -0.0, 1,      -1,     2,      -2,     0.5,    -0.5,   3,    -3,   INFINITY,
                                 -INFINITY, NAN,  0.0499, 0.0501, 0.6249, 0.6251, 0.9277, 0.9278, 1e-8, 1e-30};
  static const double wider[] = {0.0,   -0.0,  1,     -1,     0.1,      3,         6,   1e5, 1e10, -1e10,  3e38,
                                 -3e38, 1e-38, 1e-40, -1e-44, INFINITY, -INFINITY, NAN, 1.5, 2,    0x1p100};
  enum { N_EDGES = sizeof edges / sizeof *edges };
  _Static_assert(sizeof edges == sizeof wider, "as many");
  const double *edge = f->lo == f->hi ? wider : edges;
  uint32_t seed = 99;
  for (int i = 0; i < N; i++) {
    double v[2];
    for (int k = 0; k < 2; k++) {
      seed = seed * 1664525u + 1013904223u;
      v[k] = f->lo + (f->hi - f->lo) * (double)(seed >> 4) / (1 << 28);
      if (f->hi > 1e20 && i % 2) v[k] = exp(-60 + 120 * (double)(seed >> 4) / (1 << 28));
    }
    if (f->lo == f->hi) random_bits(&seed, wide, v);
    x[i] = i < N_EDGES * N_EDGES ? edge[i % N_EDGES] : v[0];
    y[i] = i < N_EDGES * N_EDGES ? edge[i / N_EDGES] : f->lo == f->hi ? v[1] : v[1] / 2 - 5;
    if (!wide) x[i] = (double)(float)x[i], y[i] = (double)(float)y[i];
  }
}

static int check(const function *f, int which, bool wide) {
  static emu_report r;
  double worst = 0, eps = wide ? 0x1p-52 : 0x1p-23, most = wide ? 1.7976931348623157e308 : 3.4028234663852886e38,
         least = wide ? 2.3e-308 : 1.2e-38;
  int bad = 0;
  fill(f, wide);
  x[N] = which;
  x[N + 1] = wide;
  void *args[] = {&x, &y, &out};
  emu_range ranges[] = {{x, (N + 2) * 8, false}, {y, N * 8, false}, {out, N * 8, true}};
  memset(&r, 0, sizeof r);
  assert_true(emu_run(
      module,
      &(emu_run_desc){
          .kernel = "probe", .grid = {1}, .block = {1}, .args = args, .n_args = 3, .ranges = ranges, .n_ranges = 3},
      &r));
  for (int i = 0; i < N; i++) {
    double want = f->ref ? f->ref(x[i]) : f->ref2(x[i], y[i]), got = out[i];
    if (fabs(want) > most) want = copysign(INFINITY, want);
    bool sine = !strcmp(f->name, "fsin") || !strcmp(f->name, "fcos");
    if (wide && sine && fabs(x[i]) > 1000 && isfinite(x[i])) continue; /* the bound's range */
    if (isinf(x[i]) && (!strcmp(f->name, "fsin") || !strcmp(f->name, "fcos"))) want = NAN;
    double allowed = (wide ? f->ulp64 : f->ulp32) * eps * fabs(want) + (wide ? f->absolute64 : f->absolute32);
    bool ok = isnan(want) || isinf(want)
                  ? (isnan(want) ? isnan(got) : got == want)
                  : fabs(got - want) <= allowed || (fabs(want) < least && fabs(got - want) < least * eps * 8);
    if (fabs(want) > least && !isinf(want) && fabs(got - want) / (eps * fabs(want)) > worst)
      worst = fabs(got - want) / (eps * fabs(want));
    if (!ok && bad++ < 5)
      fprintf(stderr, "%s %s(%.17g, %.17g) is %.17g, not %.17g (%.1f ulp)\n", wide ? "f64" : "f32", f->name, x[i], y[i],
              got, want, fabs(got - want) / (eps * fabs(want)));
  }
  print_message("%s %-7s worst %.2f ulp\n", wide ? "f64" : "f32", f->name, worst);
  return bad;
}

static void functions_of_hip_are_within_bounds(void **state) {
  int bad = 0;
  for (int f = 0; f < N_FUNCTIONS; f++)
    for (int wide = 0; wide < 2; wide++) bad += check(&functions[f], f, wide);
  assert_int_equal(bad, 0);
}

int main(void) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  const char *const name = "probe";
  char *log;
  strb text;
  strb_init(&text, &al_default);
  put_text(&text);
  module = emu_compile(&(emu_compile_desc){.source = strb_text(&text), .kernels = &name, .n_kernels = 1}, &log);
  if (!module) fprintf(stderr, "%s\n", log);
  free(log);
  if (!module) return 1;
  x = aligned_alloc(64, (N + 8) * 8);
  y = aligned_alloc(64, (N + 8) * 8);
  out = aligned_alloc(64, (N + 8) * 8);
  const struct CMUnitTest tests[] = {cmocka_unit_test(functions_of_hip_are_within_bounds)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(x), free(y), free(out);
  emu_module_destroy(module);
  strb_clear(&text);
  return failed != 0;
}
