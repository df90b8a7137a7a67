/* The scalar ops' list (core/ir/scalar_ops.h) against itself and against the CPU's kernels of every instruction set:
 * each op by its row, so that a new one is held without a line here. All 16-bit inputs and edge values, in every type
 * that computes. Other backends: tests/conformance/test_precision.c (devices), tests/simt/test_simt_ops.c (the text of
 * CUDA and HIP, emulated). */
#include "core/base/dtype.h"
#include "tests/support/cpu_kernels_test.h"

enum { N = 1 << 16 };
#define LEAST 0x1p-1012 /* a denormal factor of f64, by 710 at most: what comes of it may be gone */
static double x[2 * N + 64];
static int n_x;

/* All values of f16 and bf16 (zeros of both signs, infinities, NaN, subnormals among them), and the edges of f32. */
static void fill(void) {
  static const double edges[] = {0x1p-149, -0x1p-149, 0x1p-126, 3.4028234663852886e38, -3.4028234663852886e38,
                                 88.7228,  88.73,     -87.4,    -103.9,                -104.1, 0.5, 1, -1,
                                  INFINITY, -INFINITY, NAN, 0, -0.0, 89.4, -1e-10, 1e30, -1e30, -200,
                                  0.99999994, -0.99999994};
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < N; i++) {
      uint16_t h = (uint16_t)i;
      x[n_x++] = dtype_load(t ? TSR_BF16 : TSR_F16, &h, 0);
    }
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) x[n_x++] = (float)edges[i];
}

/* ---- the list against itself ----------------------------------------------------------------------------------- */

typedef struct point {
  double x[3], y, g;
  int depth;
} point;

static scalar_value point_name(void *user, char name) {
  point *p = user;
  return (scalar_value){.v = name == 'y' ? p->y : name == 'g' ? p->g : p->x[name - 'a']};
}
static scalar_value point_number(void *user, double v) { return (scalar_value){.v = v}; }
static scalar_value point_apply(void *user, int code, int variant, const scalar_value *v) {
  const double a[3] = {v[0].v, v[1].v, v[2].v};
  if (code == SCALAR_FINITE) return (scalar_value){.v = a[0] == -INFINITY ? -1 : a[0]};
  if (scalar_is_composite(code)) { /* by its own expansion: composites are made of composites */
    point p = {.x = {a[0], a[1], a[2]}};
    const char *text = scalar_rows[code].expansion;
    scalar_reader r = {&p, point_name, point_number, point_apply};
    scalar_value y = {.v = NAN};
    scalar_read(&text, &r, &y);
    return y;
  }
  return (scalar_value){.v = scalar_rows[code].f64(variant, a)};
}
static const scalar_reader points = {NULL, point_name, point_number, point_apply};

static bool read_at(const char **text, point *p, double *out) {
  scalar_reader r = points;
  scalar_value v = {.v = 0};
  r.user = p;
  bool some = scalar_read(text, &r, &v);
  *out = v.v;
  return some;
}

static bool close_to(double got, double want, double slack) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  return got == want || fabs(got - want) <= slack;
}

/* Expansions give the meaning, at -inf and NaN too; sums that cancel by the row's own error. */
static void check_expansions(void) {
  for (int c = 0; c < SC_ALL; c++) {
    const scalar_row *row = &scalar_rows[c];
    int step = scalar_is_composite(c) ? 13 : 1; /* all 16-bit values: on devices, tests/conformance/test_precision.c */
    for (int i = 0; row->expansion && row->f64 && i < n_x; i += i < 2 * N ? step : 1) {
      point p = {.x = {x[i], 0.3, 0.6}}; /* behind the operands: attributes */
      if (row->error(p.x, fabs(row->f64(0, p.x))) == INFINITY) continue; /* a part, where it isn't used */
      const char *text = row->expansion;
      double got, want = row->f64(0, p.x);
      CHECK(read_at(&text, &p, &got) && !*text, "%s: expansion is one expression", row->name);
      CHECK(close_to(got, want, 0x1p-52 * (4 * row->error(p.x, fabs(want)) + fabs(want)) + LEAST),
            "%s(%a): expansion gives %a, not %a", row->name, x[i], got, want);
      if (want == 0 && got == 0 && (isinf(x[i]) || (x[i] == 0 && scalar_is_composite(c))))
        CHECK(!signbit(got) == !signbit(want), "%s(%a): the sign of its zero", row->name, x[i]);
    }
  }
}

/* One expression an operand, that agrees with the difference quotient away from kinks. */
static void check_derivatives(void) {
  static const double at[] = {0.3, 0.7, 1.6, 2.9, -0.4, -1.3, -2.2};
  for (int c = 0; c < SC_ALL; c++) {
    const scalar_row *row = &scalar_rows[c];
    if (!row->name || !row->derivative || !row->f64 || c == SC_COMPARE || c == SC_SELECT) continue;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
      point p = {.x = {at[i], 1.2, 0.6}, .g = 1};
      const char *text = row->derivative;
      p.y = row->f64(0, p.x);
      if (isnan(p.y)) continue;
      for (int k = 0; k < row->operands; k++) {
        double h = 1e-6, up[3] = {p.x[0], p.x[1], p.x[2]}, down[3] = {p.x[0], p.x[1], p.x[2]}, got;
        up[k] += h, down[k] -= h;
        double want = (row->f64(0, up) - row->f64(0, down)) / (2 * h);
        bool some = read_at(&text, &p, &got);
        if (!some) got = 0;
        if (isnan(want) || (c == SC_POW && at[i] < 0)) continue;
        CHECK(fabs(got - want) <= 1e-5 * (1 + fabs(want)), "%s at %g: d%d is %g, quotient %g", row->name, at[i], k, got,
              want);
      }
      CHECK(!*text, "%s: more derivatives than operands", row->name);
    }
  }
}

/* A row says whether it is of the list of composites. */
static void check_composites(void) {
#define KNOWN(CODE, name, ...) CHECK(!(scalar_rows[SC_##CODE].traits & SCALAR_COMPOSITE), "%s is no composite", name);
#define MADE(CODE, name, ...) CHECK(scalar_rows[SC_##CODE].traits & SCALAR_COMPOSITE, "%s is a composite", name);
  SCALAR_OPS(KNOWN)
  SCALAR_COMPOSITES(MADE)
  CHECK(!scalar_is_composite(SCALAR_FINITE), "finite has its own form");
}

/* Codes, names and traits that go together. */
static void check_rows(void) {
  for (int c = 0; c < SC_ALL; c++) {
    const scalar_row *row = &scalar_rows[c];
    if (c == SC_N) continue;
    CHECK(row->f64 || row->integer, "%s has no meaning", row->name);
    CHECK(!(row->traits & SCALAR_FLOATS) == (row->integer != NULL), "%s: floats only", row->name);
    CHECK(!(row->traits & SCALAR_INTEGERS) == (row->f64 != NULL), "%s: integers only", row->name);
    CHECK(scalar_is_composite(c) ? row->expansion != NULL : !row->expansion || row->operands == 1,
          "%s: a composite has an expansion, others one of one operand", row->name);
    double v[3] = {1.5, -0.75, 3}, w[3] = {-0.75, 1.5, 3};
    if (row->traits & SCALAR_COMMUTES && row->f64) CHECK(row->f64(0, v) == row->f64(0, w), "%s commutes", row->name);
    int64_t i[3] = {12, -5, 7}, j[3] = {-5, 12, 7};
    if (row->traits & SCALAR_COMMUTES) CHECK(row->integer(0, i) == row->integer(0, j), "%s commutes", row->name);
  }
  for (int p = 0; p < N_CMP; p++) CHECK(scalar_predicate(scalar_predicate_name(p)) == p, "predicate %d", p);
  CHECK(scalar_predicate("near") == N_CMP, "an unknown predicate");
}

/* ---- the CPU's kernels ----------------------------------------------------------------------------------------- */

static const char *isa;

/* libm and the vector functions are within the allowance of the row and the rounding of the result; what a denormal on
 * the way loses counts as in kernels.h. */
static void check_floats(const cpuk_lanes *l, int c) {
  static float in[2 * N + 64], out[2 * N + 64];
  static double in64[2 * N + 64], out64[2 * N + 64];
  const scalar_row *row = &scalar_rows[c];
  for (int i = 0; i < n_x; i++) in[i] = (float)x[i], in64[i] = x[i];
  CHECK(l->unary[c][CPUK_CT_F32] && l->unary[c][CPUK_CT_F64], "%s: no kernel for %s", isa, row->name);
  if (!l->unary[c][CPUK_CT_F32] || !l->unary[c][CPUK_CT_F64]) return;
  l->unary[c][CPUK_CT_F32](out, in, (size_t)n_x);
  l->unary[c][CPUK_CT_F64](out64, in64, (size_t)n_x);
  for (int i = 0; i < n_x; i++) {
    const double a[3] = {x[i]};
    double want = row->f64(0, a), allowed = row->error(a, isfinite(want) ? fabs(want) : 0) + fabs(want);
    bool exact = row->traits & SCALAR_EXACT;
    CHECK(close_to(out[i], (float)want, exact ? 0 : 0x1p-24 * allowed + 0x1p-140), "%s: %s(%a) of f32 is %a, not %a",
          isa, row->name, x[i], out[i], want);
    CHECK(close_to(out64[i], want, exact ? 0 : 0x1p-53 * allowed + LEAST), "%s: %s(%a) of f64 is %a, not %a", isa,
          row->name, x[i], out64[i], want);
  }
}

static int64_t at_ct(cpuk_ct ct, const void *p, int i) {
  if (ct == CPUK_CT_I32) return ((const int32_t *)p)[i];
  return ct == CPUK_CT_I64 ? ((const int64_t *)p)[i] : ((const uint8_t *)p)[i];
}
static void put_ct(cpuk_ct ct, void *p, int i, int64_t v) {
  if (ct == CPUK_CT_I32) ((int32_t *)p)[i] = (int32_t)v;
  else if (ct == CPUK_CT_I64) ((int64_t *)p)[i] = v;
  else ((uint8_t *)p)[i] = (uint8_t)v;
}
static int64_t wrapped(cpuk_ct ct, int64_t v) { return ct == CPUK_CT_I32 ? (int32_t)(uint32_t)v : v; }

static int whole_numbers(cpuk_ct ct, void *out) {
  int64_t least = ct == CPUK_CT_I32 ? INT32_MIN : INT64_MIN, most = ct == CPUK_CT_I32 ? INT32_MAX : INT64_MAX;
  int n = 0;
  for (int64_t v = -32768; v < 32768; v += 37) put_ct(ct, out, n++, v);
  const int64_t edges[] = {least, least + 1, most, most - 1, 0, 1, -1, 2, -2, 31, 32, 63, 64};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    put_ct(ct, out, n++, edges[i]);
  return n;
}

static void check_integers(const cpuk_lanes *l, int c, cpuk_ct ct) {
  static int64_t in[4096], out[4096];
  const scalar_row *row = &scalar_rows[c];
  int n = ct == CPUK_CT_BOOL ? 2 : whole_numbers(ct, in);
  if (ct == CPUK_CT_BOOL) put_ct(ct, in, 0, 0), put_ct(ct, in, 1, 1);
  int variant = c == SC_NOT && ct == CPUK_CT_BOOL;
  if (row->operands == 1 && l->unary[c][ct]) {
    l->unary[c][ct](out, in, (size_t)n);
    for (int i = 0; i < n; i++) {
      const int64_t a[3] = {at_ct(ct, in, i)};
      int64_t want = wrapped(ct, row->integer(variant, a));
      CHECK(at_ct(ct, out, i) == want, "%s: %s(%lld) of ct %d is %lld, not %lld", isa, row->name, (long long)a[0], ct,
            (long long)at_ct(ct, out, i), (long long)want);
    }
  }
  if (row->operands != 2 || ct == CPUK_CT_BOOL || !l->binary[c][ct]) return;
  for (int k = 0; k < n; k += n - k > 32 ? 61 : 1) { /* the second operand: some, and all edges */
    l->binary_vs[c][ct](out, in, ct == CPUK_CT_I32 ? (void *)((int32_t *)in + k) : (void *)(in + k), (size_t)n);
    for (int i = 0; i < n; i++) {
      const int64_t a[3] = {at_ct(ct, in, i), at_ct(ct, in, k)};
      int64_t want = wrapped(ct, row->integer(0, a));
      CHECK(at_ct(ct, out, i) == want, "%s: %s(%lld, %lld) of ct %d is %lld, not %lld", isa, row->name, (long long)a[0],
            (long long)a[1], ct, (long long)at_ct(ct, out, i), (long long)want);
    }
  }
}

static void check_kernels(const cpuk_lanes *l) {
  for (int c = 0; c < SC_N; c++) {
    const scalar_row *row = &scalar_rows[c];
    if (c == SC_COMPARE || c == SC_CAST) continue; /* tables of their own */
    if (row->operands == 1 && row->f64) check_floats(l, c);
    if (row->operands == 2 && row->f64)
      CHECK(l->binary[c][CPUK_CT_F32] && l->binary[c][CPUK_CT_F64], "%s: no kernel for %s", isa, row->name);
    for (int ct = CPUK_CT_I32; row->integer && ct < CPUK_N_CT; ct++) check_integers(l, c, (cpuk_ct)ct);
  }
}

int main(void) {
  const cpuk_table *t;
  const cpuk_lanes *last = NULL;
  fill();
  check_composites();
  check_rows();
  check_expansions();
  check_derivatives();
  for (size_t i = 0; (t = cpuk_available(i)) != NULL; i++) {
    if (t->lanes == last) continue;
    last = t->lanes, isa = t->isa;
    check_kernels(t->lanes);
  }
  return test_report("test_scalar_ops");
}
