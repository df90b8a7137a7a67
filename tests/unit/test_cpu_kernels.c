/* The strip kernels of every instruction set this machine has, against f64 libm and plain loops: accuracy over the
 * whole range, odd and zero sizes, in place, NaN, infinities, denormals, negatives; conversions bit by bit; reductions
 * under each policy; rows; data movement. */
#include "tests/support/cpu_kernels_test.h"

static const cpuk_lanes *L;
static const cpuk_rows *R;
static const char *isa;
static bool fused; /* has FMA: the errors in kernels.h hold; portable is allowed half an ulp more */

/* ---- accuracy of f32 functions ---- */

static double ulps(float got, double want) {
  if (isnan(want)) return isnan(got) ? 0 : 1e9;
  if ((float)want == got) return 0;
  if (isinf(got) || isinf((float)want)) return 1e9;
  int e;
  frexp(want == 0 ? 0x1p-149 : want, &e);
  return fabs(got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}
static const struct function {
  scalar_code op;
  double ulp, relative; /* allowed: ulp units + relative * |x| */
} functions[] = {
    {SC_NEG, 0, 0},        {SC_ABS, 0, 0},       {SC_EXP, 1.05, 0},    {SC_LOG, 1, 0},
    {SC_SQRT, 0.5001, 0},  {SC_RSQRT, 1.5, 0},   {SC_TANH, 2, 0},      {SC_ERF, 2, 0},
    {SC_SIGMOID, 2.5, 0},  {SC_RELU, 0, 0},      {SC_GELU, 2, 0x1p-24}, {SC_GELU_TANH, 2, 0x1p-23},
    {SC_SILU, 3.5, 0},     {SC_SIN, 2, 0},       {SC_COS, 2, 0},       {SC_FLOOR, 0, 0},
    {SC_ROUND, 0, 0},
};
static double reference(scalar_code op, double x) {
  const double a[3] = {x};
  return scalar_rows[op].f64(0, a);
}

static float sixteen_bits(uint32_t bf16, uint32_t bits) {
  uint16_t h = (uint16_t)bits;
  return (float)test_read(bf16 ? CPUK_BF16 : CPUK_F16, &h, 0);
}

static void check_functions(void) {
  enum { N = 4099 };
  static float x[N], y[N];
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
    const struct function *fn = &functions[f];
    double worst = 0;
    float at = 0;
    for (int round = 0; round < 60 + 250 + 32;
         round++) { /* random bits and ranges; a million f32 more; all values of f16 and bf16 */
      for (int i = 0; i < N; i++) {
        float s = round < 20 ? test_bits(test_u32()) : (float)(test_unit() * (round < 30 ? 1 : round < 45 ? 10 : 110));
        x[i] = s;
        if (round >= 310)
          x[i] = sixteen_bits((uint32_t)((round - 310) / 16), (uint32_t)((round - 310) % 16 * 4096 + i));
      }
      static const float special[] = {0,        -0.0f,     1,          -1,        INFINITY, -INFINITY,
                                      NAN,      0x1p-149f, -0x1p-149f, 0x1p-126f, 3.4e38f,  -3.4e38f,
                                      88.7228f, 88.73f,    -87.4f,     -103.9f,   -104.1f};
      if (round < 310) memcpy(x, special, sizeof special);
      L->unary[fn->op][CPUK_CT_F32](y, x, N);
      for (int i = 0; i < N; i++) {
        double want = reference(fn->op, x[i]), u = ulps(y[i], want);
        double slack = isfinite(x[i]) ? fn->relative * fabs(x[i]) : 0;
        if (fn->op == SC_SILU) slack = 0x1p-140; /* its sigmoid is denormal there */
        if (slack > 0 && fabs(y[i] - want) <= slack) u = 0;
        if (u > worst) worst = u, at = x[i];
      }
    }
    CHECK(worst <= fn->ulp + (fused ? 0 : 1), "%s %s: %.3f ulp at %a (%g)", isa, scalar_rows[fn->op].name, worst, at,
          at);
  }
}

/* A lane's result has the bits that it has alone, whatever stands beside it. */
static void check_neighbours(void) {
  enum { N = 64 };
  static const float far[] = {1e5f, INFINITY, NAN, -3e38f, 0x1p-149f, 1e3f};
  float x[N], together[N], alone;
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
    for (int round = 0; round < 50; round++) {
      for (int i = 0; i < N; i++) x[i] = i % 7 == round % 7 ? far[(i + round) % 6] : (float)(test_unit() * 100);
      L->unary[functions[f].op][CPUK_CT_F32](together, x, N);
      for (int i = 0; i < N; i++) {
        L->unary[functions[f].op][CPUK_CT_F32](&alone, x + i, 1);
        CHECK(test_to_bits(alone) == test_to_bits(together[i]) || isnan(alone),
              "%s %s of %a: %a alone, %a among others", isa, scalar_rows[functions[f].op].name, x[i], alone, together[i]);
      }
    }
}

/* ---- exact elementwise, sizes, in place ---- */

static float f32_rem(float a, float b) { return fmodf(a, b); }
static void check_binary(void) {
  for (size_t n = 0; n < 70; n++) {
    float a[70] = {0}, b[70] = {0}, d[71], e[71];
    int32_t ia[70] = {0}, ib[70] = {0}, id[71];
    for (size_t i = 0; i < n; i++) {
      a[i] = (float)test_unit() * 8, b[i] = (float)test_unit() * 8;
      ia[i] = (int32_t)test_u32(), ib[i] = (int32_t)(test_u32() % 7) - 3;
      if (test_u32() % 8 == 0) a[i] = NAN;
      if (test_u32() % 8 == 0) b[i] = NAN;
      if (test_u32() % 8 == 0) ia[i] = INT32_MIN;
    }
    d[n] = e[n] = 77, id[n] = 77;
#define BIN(op, expr)                                                                                          \
  L->binary[op][CPUK_CT_F32](d, a, b, n);                                                                      \
  for (size_t i = 0; i < n; i++) {                                                                             \
    float x = a[i], y = b[i], w = expr;                                                                        \
    CHECK(isnan(w) ? isnan(d[i]) : d[i] == w, "%s op %d: %g %g gives %g", isa, op, x, y, d[i]);                \
  }                                                                                                            \
  if (n) L->binary_vs[op][CPUK_CT_F32](d, a, b, n);                                                            \
  if (n) L->binary_sv[op][CPUK_CT_F32](e, b, a, n);                                                            \
  for (size_t i = 0; i < n; i++) {                                                                             \
    float x = a[i], y = b[0], w = expr;                                                                        \
    CHECK(isnan(w) ? isnan(d[i]) : d[i] == w, "%s op %d vs: %g %g gives %g", isa, op, x, y, d[i]);             \
    x = b[0], y = a[i], w = expr;                                                                              \
    CHECK(isnan(w) ? isnan(e[i]) : e[i] == w, "%s op %d sv: %g %g gives %g", isa, op, x, y, e[i]);             \
  }
    BIN(SC_ADD, x + y)
    BIN(SC_SUB, x - y)
    BIN(SC_MUL, x *y)
    BIN(SC_DIV, x / y)
    BIN(SC_MIN, isnan(x) || isnan(y) ? NAN : fminf(x, y))
    BIN(SC_MAX, isnan(x) || isnan(y) ? NAN : fmaxf(x, y))
    BIN(SC_REM, f32_rem(x, y))
#define IBIN(op, expr)                                                                                      \
  L->binary[op][CPUK_CT_I32](id, ia, ib, n);                                                                \
  for (size_t i = 0; i < n; i++) {                                                                          \
    int32_t x = ia[i], y = ib[i], w = expr;                                                                 \
    CHECK(id[i] == w, "%s i32 op %d: %d %d gives %d not %d", isa, op, x, y, id[i], w);                      \
  }
    IBIN(SC_ADD, (int32_t)((uint32_t)x + (uint32_t)y))
    IBIN(SC_SUB, (int32_t)((uint32_t)x - (uint32_t)y))
    IBIN(SC_MUL, (int32_t)((uint32_t)x * (uint32_t)y))
    IBIN(SC_DIV, y == 0 ? 0 : y == -1 ? (int32_t)(0u - (uint32_t)x) : x / y)
    IBIN(SC_REM, y == 0 ? x : y == -1 ? 0 : x % y)
    IBIN(SC_MIN, x < y ? x : y)
    IBIN(SC_MAX, x > y ? x : y)
    IBIN(SC_XOR, x ^ y)
    IBIN(SC_MUL_HIGH, (int32_t)((uint64_t)(uint32_t)x * (uint32_t)y >> 32))
    uint8_t c[71];
    c[n] = 77;
#define CMPF(op, expr)                                                                  \
  L->cmp[op][CPUK_CT_F32](c, a, b, n);                                                  \
  for (size_t i = 0; i < n; i++) {                                                      \
    float x = a[i], y = b[i];                                                           \
    CHECK(c[i] == (expr), "%s cmp %d: %g %g gives %d", isa, op, x, y, c[i]);            \
  }                                                                                     \
  if (n) L->cmp_vs[op][CPUK_CT_F32](c, a, b, n);                                        \
  for (size_t i = 0; i < n; i++) {                                                      \
    float x = a[i], y = b[0];                                                           \
    CHECK(c[i] == (expr), "%s cmp_vs %d: %g %g gives %d", isa, op, x, y, c[i]);         \
  }
    CMPF(CPUK_EQ, x == y)
    CMPF(CPUK_NE, x != y) CMPF(CPUK_LT, x < y) CMPF(CPUK_LE, x <= y) CMPF(CPUK_GT, x > y) CMPF(CPUK_GE, x >= y)
        L->select[2](e, c, a, 1, b, 1, n);
    for (size_t i = 0; i < n; i++) CHECK(test_to_bits(e[i]) == test_to_bits(c[i] ? a[i] : b[i]), "%s select", isa);
    if (n) L->select[2](e, c, a, 0, b, 1, n);
    for (size_t i = 0; i < n; i++)
      CHECK(test_to_bits(e[i]) == test_to_bits(c[i] ? a[0] : b[i]), "%s select scalar", isa);
    memcpy(e, a, n * 4);
    L->unary[SC_NEG][CPUK_CT_F32](e, e, n);
    L->binary[SC_ADD][CPUK_CT_F32](e, e, b, n);
    for (size_t i = 0; i < n; i++) CHECK(isnan(a[i]) || isnan(b[i]) || e[i] == -a[i] + b[i], "%s in place", isa);
    L->fma[CPUK_CT_F32](d, a, b, a, n);
    for (size_t i = 0; i < n; i++)
      CHECK(isnan(a[i]) || isnan(b[i]) || fabs(d[i] - (double)a[i] * b[i] - a[i]) <= 1e-5, "%s fma", isa);
    CHECK(d[n] == 77 && e[n] == 77 && id[n] == 77 && c[n] == 77, "%s wrote past %zu", isa, n);
  }
}

/* ---- conversions ---- */

/* Nearest even in a small float format, by comparing all its values' neighbours: too simple to be wrong. */
static double nearest(double x, int mbits, int min_exp, double max, bool saturate) {
  if (isnan(x) || x == 0) return x;
  if (isinf(x)) return saturate ? copysign(max, x) : x;
  int e;
  frexp(x, &e);
  if (e - 1 < min_exp) e = min_exp + 1;
  double unit = ldexp(1, e - 1 - mbits), r = nearbyint(x / unit) * unit;
  if (fabs(r) > max) r = copysign(saturate ? max : INFINITY, x);
  return r;
}
static double rounded(cpuk_dtype t, double x) {
  switch (t) {
    case CPUK_F64: return x;
    case CPUK_F32: return (float)x;
    case CPUK_F16: return nearest(x, 10, -14, 65504, false);
    case CPUK_BF16: return nearest(x, 7, -126, 0x1.fep127, false);
    case CPUK_F8E4M3: return nearest(x, 3, -6, 448, true);
    case CPUK_F8E5M2: return nearest(x, 2, -14, 57344, false);
    case CPUK_BOOL: return x != 0;
    default: break;
  }
  double lo = t == CPUK_I8 ? -128 : t == CPUK_U8 ? 0 : t == CPUK_I16 ? -32768 : t == CPUK_I64 ? -0x1p63 : INT32_MIN;
  double hi = t == CPUK_I8 ? 127 : t == CPUK_U8 ? 255 : t == CPUK_I16 ? 32767 : t == CPUK_I64 ? 0x1p63 : INT32_MAX;
  return isnan(x) ? 0 : x < lo ? lo : x > hi ? hi : trunc(x);
}
static void check_conversions(void) {
  enum { N = 1031 };
  static uint64_t src[N + 1], dst[N + 1];
  for (int from = 0; from < CPUK_N_DTYPE; from++)
    for (int to = 0; to < CPUK_N_DTYPE; to++)
      for (int round = 0; round < 6; round++) {
        size_t n = round < 4 ? N : (size_t)(test_u32() % 40), es = cpuk_dtype_bytes((cpuk_dtype)from),
               ed = cpuk_dtype_bytes((cpuk_dtype)to);
        for (size_t i = 0; i < n; i++) {
          if (from == CPUK_F64)
            ((double *)src)[i] = round % 2 ? test_unit() * ldexp(1, (int)(test_u32() % 60) - 40)
                                           : ldexp((double)(1 + 2 * (test_u32() % 4096)), (int)(test_u32() % 40) - 30);
          else if (from == CPUK_F32) ((float *)src)[i] = round % 2 ? test_bits(test_u32()) : (float)(test_unit() * 600);
          else if (from == CPUK_I64)
            ((int64_t *)src)[i] =
                (test_i64() >> 11) *
                ((int64_t)1 << test_u32() % 11); /* what a double holds: test_cpu_integers has the rest */
          else if (from == CPUK_I32) ((int32_t *)src)[i] = (int32_t)(test_u32() >> (test_u32() % 31));
          else
            for (size_t b = 0; b < es; b++)
              ((uint8_t *)src)[i * es + b] = (uint8_t)(i < 512 && es == 2 && b == 0 ? i : test_u32());
        }
        memset((char *)dst + n * ed, 0x5a, 8);
        L->convert[from][to](dst, src, n);
        CHECK(((char *)dst)[n * ed] == 0x5a, "%s %d to %d wrote past %zu", isa, from, to, n);
        for (size_t i = 0; i < n; i++) {
          double x = test_read((cpuk_dtype)from, src, i), got = test_read((cpuk_dtype)to, dst, i),
                 want = rounded((cpuk_dtype)to, x);
          if (from == to && es <= 4 && to != CPUK_BOOL) want = x;
          bool is_float = to < CPUK_I8 || to == CPUK_F8E4M3 || to == CPUK_F8E5M2;
          CHECK(isnan(want) ? isnan(got) : got == want && (!is_float || signbit(got) == signbit(want)),
                "%s %d to %d: %.17g gives %.17g not %.17g", isa, from, to, x, got, want);
        }
      }
}

/* ---- reductions ---- */

static float sum_in_order(const float *a, size_t n) { /* 64 lanes, then halves */
  float lane[64] = {0};
  for (size_t i = 0; i < n; i++) lane[i % 64] += a[i];
  for (int h = 32; h > 0; h /= 2)
    for (int i = 0; i < h; i++) lane[i] += lane[i + h];
  return lane[0];
}
static void check_reductions(void) {
  static float a[5000];
  static double a64[5000];
  static int32_t ai[5000];
  for (size_t n = 0; n < 5000; n = n < 200 ? n + 1 : n * 3) {
    int32_t isum = 5, imax = INT32_MIN;
    double dsum = 0, dabs = 0;
    float big = -INFINITY;
    for (size_t i = 0; i < n; i++) {
      a[i] = (float)test_unit(), a64[i] = test_unit(), ai[i] = (int32_t)test_u32();
      isum = (int32_t)((uint32_t)isum + (uint32_t)ai[i]), imax = ai[i] > imax ? ai[i] : imax;
      dsum += a[i], dabs += fabs(a[i]), big = a[i] > big ? a[i] : big;
    }
    for (int p = 0; p < CPUK_N_POLICY; p++) {
      float f[2], w = sum_in_order(a, n);
      cpuk_reduce_init(CPUK_RSUM, CPUK_CT_F32, (cpuk_policy)p, f);
      L->reduce[CPUK_RSUM][CPUK_CT_F32][p](f, a, n);
      if (p != CPUK_KAHAN) CHECK(f[0] == 0 + w, "%s sum of %zu: %a not %a", isa, n, f[0], w);
      else CHECK(fabs((double)f[0] + f[1] - dsum) <= 0x1p-46 * (double)(n + 1) * dabs, "%s kahan of %zu", isa, n);
      cpuk_reduce_init(CPUK_RMAX, CPUK_CT_F32, (cpuk_policy)p, f);
      L->reduce[CPUK_RMAX][CPUK_CT_F32][p](f, a, n);
      CHECK(f[0] == big, "%s max of %zu", isa, n);
      double d[2];
      cpuk_reduce_init(CPUK_RPROD, CPUK_CT_F64, (cpuk_policy)p, d);
      L->reduce[CPUK_RPROD][CPUK_CT_F64][p](d, a64, n < 3 ? n : 3);
      double prod = 1;
      for (size_t i = 0; i < n && i < 3; i++) prod *= a64[i];
      CHECK(fabs(d[0] - prod) <= 1e-15, "%s prod", isa);
      int32_t t = 5;
      L->reduce[CPUK_RSUM][CPUK_CT_I32][p](&t, ai, n);
      CHECK(t == isum, "%s isum", isa);
      cpuk_reduce_init(CPUK_RMAX, CPUK_CT_I32, (cpuk_policy)p, &t);
      L->reduce[CPUK_RMAX][CPUK_CT_I32][p](&t, ai, n);
      CHECK(t == imax, "%s imax", isa);
    }
    if (n > 0) {
      a[n / 2] = NAN;
      float f = -INFINITY;
      L->reduce[CPUK_RMAX][CPUK_CT_F32][CPUK_FAST](&f, a, n);
      CHECK(isnan(f) && isnan(R->max[CPUK_ROW_F32](a, n)), "%s max with NaN of %zu", isa, n);
    }
  }
  /* 1, 1e8, -1e8 over and over: the naive sum loses the ones. */
  for (int i = 0; i < 4800; i++) a[i] = i % 3 == 0 ? 1 : i % 3 == 1 ? 1e9f : -1e9f;
  float naive = 0, k[2] = {0, 0};
  for (int i = 0; i < 4800; i++) naive += a[i];
  L->reduce[CPUK_RSUM][CPUK_CT_F32][CPUK_KAHAN](k, a, 4800);
  CHECK(k[0] + k[1] == 1600 && fabsf(naive - 1600) > 100, "%s adversarial: %g, naive %g", isa, k[0] + k[1], naive);
  a[17] = INFINITY, k[0] = k[1] = 0;
  L->reduce[CPUK_RSUM][CPUK_CT_F32][CPUK_KAHAN](k, a, 4800);
  CHECK(isinf(k[0] + k[1]), "%s kahan with inf: %g %g", isa, k[0], k[1]);
  /* columns */
  float acc[37], comp[37], want[37];
  for (size_t rows = 0; rows < 11; rows++) {
    for (int j = 0; j < 37; j++) acc[j] = want[j] = (float)j, comp[j] = 0;
    for (int i = 0; i < 11 * 41; i++) a[i] = (float)test_unit();
    for (size_t i = 0; i < rows; i++)
      for (int j = 0; j < 37; j++) want[j] += a[i * 41 + (size_t)j];
    L->reduce_cols[CPUK_RSUM][CPUK_CT_F32][CPUK_DETERMINISTIC](acc, NULL, a, 41, rows, 37);
    CHECK(memcmp(acc, want, sizeof acc) == 0, "%s columns of %zu rows", isa, rows);
    for (int j = 0; j < 37; j++) acc[j] = 1e8f;
    for (int i = 0; i < 11 * 41; i++) a[i] = 1;
    L->reduce_cols[CPUK_RSUM][CPUK_CT_F32][CPUK_KAHAN](acc, comp, a, 41, rows, 37);
    CHECK((double)acc[36] + comp[36] == 1e8 + (double)rows, "%s kahan columns", isa);
  }
}

/* ---- rows ---- */

static void check_rows(void) {
  static const cpuk_dtype type[CPUK_N_ROW] = {CPUK_F32, CPUK_BF16, CPUK_F16};
  static uint64_t xs[600], ys[600 + 8];
  static float f[600], g[600], b[600];
  for (int s = 0; s < CPUK_N_ROW; s++)
    for (int d = 0; d < CPUK_N_ROW; d++)
      for (size_t n = 0; n < 600; n = n < 70 ? n + 1 : n * 2 + 1) {
        double sum = 0, big = -INFINITY, dev = 0, esum = 0;
        for (size_t i = 0; i < n; i++)
          f[i] = (float)(test_unit() * 4), g[i] = (float)test_unit(), b[i] = (float)test_unit();
        L->convert[CPUK_F32][type[s]](xs, f, n);
        for (size_t i = 0; i < n; i++) {
          double x = test_read(type[s], xs, i);
          sum += x, big = x > big ? x : big, dev += (x - 0.25) * (x - 0.25), esum += exp(x - 1);
        }
        CHECK(R->max[s](xs, n) == big, "%s row_max", isa);
        CHECK(fabs(R->sum[s](xs, n) - sum) <= 1e-4, "%s row_sum %zu", isa, n);
        CHECK(fabs(R->sqdev[s](xs, 0.25f, n, xs) - dev) <= 1e-5 * dev, "%s row_sqdev %zu", isa, n);
        size_t e = cpuk_dtype_bytes(type[d]);
        double u = type[d] == CPUK_F32 ? 3e-7 : type[d] == CPUK_BF16 ? 0x1.1p-8 : 0x1.1p-11;
        memset((char *)ys + n * e, 0x5a, 8);
        if (d == CPUK_ROW_F32) {
          float *e32 = (float *)(void *)ys;
          CHECK(fabs(R->exp[s](e32, xs, 1, n, xs) - esum) <= 1e-5 * esum, "%s row_exp sum %zu", isa, n);
          for (size_t i = 0; i < n; i++) {
            double w = exp(test_read(type[s], xs, i) - 1);
            CHECK(fabs(e32[i] - w) <= u * w + 0x1p-25, "%s row_exp", isa);
          }
        }
        for (int v = 0; v < 4; v++) {
          cpuk_norm_args p = {ys, xs, v & 1 ? g : NULL, v & 2 ? b : NULL, 0.5f, 1.5f, n, v == 3};
          static _Alignas(64) uint64_t aligned[600];
          if (v == 3) p.dst = aligned;
          R->norm[s][d](&p);
          for (size_t i = 0; i < n; i++) {
            double w = (test_read(type[s], xs, i) - 0.5) * 1.5 * (v & 1 ? g[i] : 1) + (v & 2 ? b[i] : 0);
            CHECK(fabs(test_read(type[d], p.dst, i) - w) <= u * (fabs(w) + 1) * 4, "%s row_norm %d", isa, v);
          }
        }
        CHECK(((char *)ys)[n * e] == 0x5a, "%s rows wrote past %zu", isa, n);
      }
  float masked[5] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
  CHECK(R->exp[0](masked, masked, -INFINITY, 5, masked) == 0 && masked[4] == 0, "%s row of -inf", isa);
}

/* A row's sum has the same bits on every instruction set. */
static void check_row_sums_alike(void) {
  static const cpuk_dtype type[CPUK_N_ROW] = {CPUK_F32, CPUK_BF16, CPUK_F16};
  enum { N = 700 };
  static float f[N];
  static uint32_t x[N];
  for (int i = 0; i < N; i++) f[i] = (float)(test_unit() * exp2((int)(test_u32() % 20) - 10));
  for (int s = 0; s < CPUK_N_ROW; s++)
    for (size_t n = 0; n < N; n++) {
      const cpuk_table *t = cpuk_available(0), *other;
      t->lanes->convert[CPUK_F32][type[s]](x, f, n);
      uint32_t want = test_to_bits(t->rows->sum[s](x, n));
      for (size_t i = 1; (other = cpuk_available(i)) != NULL; i++)
        CHECK(test_to_bits(other->rows->sum[s](x, n)) == want, "sum of %zu of type %d: %s and %s differ", n, type[s],
              t->isa, other->isa);
    }
}

/* The same bits as the single kernels, one row after the other. */
static void check_row_pipes(void) {
  static const cpuk_dtype type[CPUK_N_ROW] = {CPUK_F32, CPUK_BF16, CPUK_F16};
  enum { N = 320 };
  static _Alignas(64) uint64_t rows[3 * N], got[N], want[N];
  static float f[3 * N], e[N], e_want[N], scaled[N], g[N], b[N];
  for (int t = 0; t < CPUK_N_ROW; t++)
    for (size_t n = 64; n <= N; n += 64)
      for (int form = 0; form < 3; form++) { /* masked rows of a softmax, a norm with weights, one without */
        cpuk_row_pipe_fn pipe = form ? R->norm_pipe[t] : R->softmax_pipe[t];
        if (!pipe) continue;
        size_t bytes = n * cpuk_dtype_bytes(type[t]);
        for (size_t i = 0; i < 3 * n; i++) f[i] = form == 0 && i % 5 == 0 ? -INFINITY : (float)(test_unit() * 4);
        if (form == 0 && n == 128)
          for (size_t i = n; i < 2 * n; i++) f[i] = -INFINITY;
        for (size_t i = 0; i < n; i++)
          e[i] = scaled[i] = (float)test_unit(), g[i] = (float)test_unit(), b[i] = (float)test_unit();
        L->convert[CPUK_F32][type[t]](rows, f, 3 * n);
        const char *x = (const char *)rows;
        float m = form ? 0.25f : R->max[t](x + bytes, n);
        cpuk_norm_args one = {
            want, form ? (const void *)x : scaled, form == 1 ? g : NULL, form == 1 ? b : NULL, form ? 0.5f : 0, 1.5f, n,
            true};
        R->norm[form ? t : CPUK_ROW_F32][t](&one);
        float second = form ? R->sqdev[t](x + bytes, m, n, x) : R->exp[t](e_want, x + bytes, m, n, x),
              first = (form ? R->sum : R->max)[t](x + 2 * bytes, n);
        cpuk_pipe_args a = {.dst = got,
                            .x = {x, x + bytes, x + 2 * bytes},
                            .e = e,
                            .g = one.g,
                            .b = one.b,
                            .mean = one.mean,
                            .factor = one.rstd,
                            .m = m,
                            .n = n,
                            .ahead = x};
        pipe(&a);
        CHECK(memcmp(got, want, bytes) == 0, "%s pipe %d type %d n %zu: results", isa, form, t, n);
        CHECK(a.second == second && a.first == first, "%s pipe %d type %d n %zu: %g %g and %g %g", isa, form, t, n,
              (double)a.second, (double)second, (double)a.first, (double)first);
        CHECK(form || memcmp(e, e_want, n * sizeof *e) == 0, "%s pipe type %d n %zu: exponentials", isa, t, n);
      }
}

/* ---- movement ---- */

static void check_copies(void) {
  static uint8_t src[80000], dst[80000], want[80000];
  for (size_t i = 0; i < sizeof src; i++) src[i] = (uint8_t)test_u32();
  for (size_t e = 1; e <= 8; e *= 2)
    for (int round = 0; round < 200; round++) {
      size_t rows = test_u32() % 50, cols = test_u32() % 50;
      int form = (int)(test_u32() % 6);
      ptrdiff_t pad = (ptrdiff_t)(test_u32() % 3), R = (ptrdiff_t)rows + pad, C = (ptrdiff_t)cols + pad;
      size_t at = e == 1 ? 0 : (size_t)round % e; /* groups of smaller elements lie anywhere */
      cpuk_copy_args p = {dst + at, src + at, C, 1, C, 1, rows, cols, e};
      if (form == 1) p.src_rs = 1, p.src_cs = R;
      if (form == 2) p.dst_rs = 1, p.dst_cs = R;
      if (form == 3) p.src_rs = 1, p.src_cs = R, p.dst_rs = 1, p.dst_cs = R;
      if (form == 4) p.src_rs = 2 * C, p.src_cs = 2;
      if (form == 5) p.src_rs = 0, p.src_cs = 1;
      memset(dst, 0, sizeof dst), memset(want, 0, sizeof want);
      for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
          memcpy(want + at + ((ptrdiff_t)r * p.dst_rs + (ptrdiff_t)c * p.dst_cs) * (ptrdiff_t)e,
                 src + at + ((ptrdiff_t)r * p.src_rs + (ptrdiff_t)c * p.src_cs) * (ptrdiff_t)e, e);
      L->copy2d(&p);
      CHECK(memcmp(dst, want, sizeof dst) == 0, "%s copy2d form %d esize %zu %zux%zu", isa, form, e, rows, cols);
      uint64_t v = 0x0123456789abcdefull;
      memset(dst, 0, 600);
      L->fill(dst + 8, &v, e, rows);
      CHECK((rows == 0 || memcmp(dst + 8 + (rows - 1) * e, &v, e) == 0) && dst[8 + rows * e] == 0, "%s fill", isa);
    }
  int32_t t[50];
  L->iota(t, 7, -3, 50);
  CHECK(t[0] == 7 && t[49] == 7 - 147, "%s iota", isa);
}

int main(void) {
  const cpuk_table *t;
  for (size_t i = 0; (t = cpuk_available(i)) != NULL; i++) {
    if (t->lanes == L) continue; /* tested already */
    int before = n_failures;
    L = t->lanes, R = t->rows, isa = t->isa, fused = strcmp(isa, "portable") != 0, test_seed = 7;
    check_functions();
    check_neighbours();
    check_binary();
    check_conversions();
    check_reductions();
    check_rows();
    check_row_pipes();
    check_copies();
    printf("%s: %s\n", isa, n_failures == before ? "ok" : "FAILED");
  }
  check_row_sums_alike();
  return test_report("test_cpu_kernels");
}
