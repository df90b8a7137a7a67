/* The CPU's integer lanes over the types' whole ranges on every instruction set this machine has: i64 arithmetic,
 * comparisons, reductions and conversions against plain C, bit by bit. What a double holds exactly is in
 * test_cpu_kernels.c, products in test_cpu_gemm.c. */
#include "tests/support/cpu_kernels_test.h"

static const cpuk_lanes *L;
static const char *isa;

static int64_t wrapped(uint64_t x) { return (int64_t)x; }
static int64_t power(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  uint64_t r = 1;
  for (int64_t i = 0; i < b; i++) r *= (uint64_t)a; /* b is small here */
  return wrapped(r);
}

static void check_arithmetic(void) {
  enum { N = 67 };
  int64_t a[N], b[N], e[N], d[N + 1];
  uint8_t c[N];
  for (int round = 0; round < 200; round++) {
    for (int i = 0; i < N; i++)
      a[i] = test_i64(), b[i] = i % 9 == 0 ? 0 : i % 7 == 0 ? -1 : test_i64(), e[i] = (int64_t)(test_u32() % 40) - 3;
    a[1] = a[7] = INT64_MIN, b[1] = -1, a[2] = INT64_MAX;
    d[N] = 77;
#define TWO(op, expr)                                                                                     \
  L->binary[op][CPUK_CT_I64](d, a, y_of, N);                                                              \
  for (int i = 0; i < N; i++) {                                                                           \
    int64_t x = a[i], y = y_of[i], w = expr;                                                              \
    CHECK(d[i] == w, "%s i64 op %d: %lld %lld", isa, op, (long long)x, (long long)y);                     \
  }                                                                                                       \
  L->binary_vs[op][CPUK_CT_I64](d, a, y_of, N);                                                           \
  for (int i = 0; i < N; i++) {                                                                           \
    int64_t x = a[i], y = y_of[0], w = expr;                                                              \
    CHECK(d[i] == w, "%s i64 op %d vs: %lld %lld", isa, op, (long long)x, (long long)y);                  \
  }
    const int64_t *y_of = b;
    TWO(SC_ADD, wrapped((uint64_t)x + (uint64_t)y))
    TWO(SC_SUB, wrapped((uint64_t)x - (uint64_t)y))
    TWO(SC_MUL, wrapped((uint64_t)x * (uint64_t)y))
    TWO(SC_DIV, y == 0 ? 0 : y == -1 ? wrapped(0 - (uint64_t)x) : x / y)
    TWO(SC_REM, y == 0 ? x : y == -1 ? 0 : x % y)
    TWO(SC_MIN, x < y ? x : y)
    TWO(SC_MAX, x > y ? x : y)
    TWO(SC_AND, x & y)
    TWO(SC_OR, x | y)
    TWO(SC_XOR, x ^ y)
    TWO(SC_MUL_HIGH, wrapped((uint64_t)(uint32_t)x * (uint32_t)y >> 32))
    y_of = e;
    TWO(SC_POW, power(x, y))
#define ONE(op, expr)                                                                          \
  L->unary[op][CPUK_CT_I64](d, a, N);                                                          \
  for (int i = 0; i < N; i++) {                                                                \
    int64_t x = a[i], w = expr;                                                                \
    CHECK(d[i] == w, "%s i64 unary %d: %lld", isa, op, (long long)x);                          \
  }
    ONE(SC_NEG, wrapped(0 - (uint64_t)x))
    ONE(SC_ABS, x < 0 ? wrapped(0 - (uint64_t)x) : x)
    ONE(SC_RELU, x < 0 ? 0 : x)
    ONE(SC_NOT, ~x)
    for (int op = 0; op < CPUK_N_CMP; op++) {
      L->cmp[op][CPUK_CT_I64](c, a, b, N);
      for (int i = 0; i < N; i++) {
        bool w[CPUK_N_CMP] = {a[i] == b[i], a[i] != b[i], a[i] < b[i], a[i] <= b[i], a[i] > b[i], a[i] >= b[i]};
        CHECK(c[i] == w[op], "%s i64 compare %d: %lld %lld", isa, op, (long long)a[i], (long long)b[i]);
      }
    }
    L->fma[CPUK_CT_I64](d, a, b, e, N);
    for (int i = 0; i < N; i++)
      CHECK(d[i] == wrapped((uint64_t)a[i] * (uint64_t)b[i] + (uint64_t)e[i]), "%s i64 fma", isa);
    CHECK(d[N] == 77, "%s wrote past the end", isa);
  }
}

static void check_reductions(void) {
  enum { N = 300 };
  int64_t a[N];
  for (size_t n = 0; n <= N; n = n < 70 ? n + 1 : n + 37)
    for (int op = 0; op < CPUK_N_REDUCE; op++) {
      uint64_t w = op == CPUK_RPROD;
      int64_t most = INT64_MIN, least = INT64_MAX, got, columns[2];
      for (size_t i = 0; i < n; i++) {
        a[i] = test_i64() | (op == CPUK_RPROD); /* odd factors never become 0 */
        w = op == CPUK_RPROD ? w * (uint64_t)a[i] : w + (uint64_t)a[i];
        most = a[i] > most ? a[i] : most, least = a[i] < least ? a[i] : least;
      }
      int64_t want = op == CPUK_RMAX ? most : op == CPUK_RMIN ? least : wrapped(w);
      cpuk_reduce_init((cpuk_reduce_op)op, CPUK_CT_I64, CPUK_KAHAN, &got);
      L->reduce[op][CPUK_CT_I64][CPUK_KAHAN](&got, a, n);
      CHECK(got == want, "%s i64 reduce %d of %zu", isa, op, n);
      cpuk_reduce_init((cpuk_reduce_op)op, CPUK_CT_I64, CPUK_FAST, &columns[0]);
      columns[1] = 5;
      L->reduce_cols[op][CPUK_CT_I64][CPUK_FAST](columns, NULL, a, 1, n, 1);
      CHECK(columns[0] == want && columns[1] == 5, "%s i64 columns %d of %zu", isa, op, n);
    }
}

/* i64 to a float of m mantissa bits, rounded once: the quotient by the unit and its rest are integers. */
static double nearest(int64_t x, int m, double max) {
  uint64_t u = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, q = u, rest = 0, half = 0;
  int e = 0;
  while (u >> e >= (uint64_t)2 << m) e++;
  if (e) q = u >> e, rest = u & (((uint64_t)1 << e) - 1), half = (uint64_t)1 << (e - 1);
  q += rest > half || (e && rest == half && (q & 1));
  double r = ldexp((double)q, e);
  if (r > max) r = INFINITY;
  return x < 0 ? -r : r;
}

static void check_conversions(void) {
  enum { N = 4099 };
  static int64_t a[N];
  static uint64_t out[N];
  static const struct {
    cpuk_dtype t;
    int mantissa;
    double max;
  } floats[] = {{CPUK_F64, 52, INFINITY},
                {CPUK_F32, 23, INFINITY},
                {CPUK_F16, 10, 65504},
                {CPUK_BF16, 7, INFINITY},
                {CPUK_F8E5M2, 2, 57344}};
  static const struct {
    cpuk_dtype t;
    int64_t low, high;
  } integers[] = {{CPUK_I8, -128, 127},
                  {CPUK_U8, 0, 255},
                  {CPUK_I16, -32768, 32767},
                  {CPUK_I32, INT32_MIN, INT32_MAX},
                  {CPUK_BOOL, 0, 1}};
  for (int i = 0; i < N; i++) a[i] = test_i64();
  for (int i = 0; i < 200; i++)
    a[i] = wrapped(((uint64_t)1 << (20 + i % 44)) + ((uint64_t)1 << (i % 20)) * (uint64_t)(i % 5) -
                   1); /* beside and on the ties */
  a[0] = INT64_MIN, a[1] = INT64_MAX, a[2] = 0, a[3] = (1ll << 40) + (1ll << 16), a[4] = (1ll << 40) + (1ll << 16) + 1;
  for (size_t f = 0; f < sizeof floats / sizeof *floats; f++) {
    L->convert[CPUK_I64][floats[f].t](out, a, N);
    for (int i = 0; i < N; i++) {
      double got = test_read(floats[f].t, out, (size_t)i), want = nearest(a[i], floats[f].mantissa, floats[f].max);
      CHECK(got == want, "%s i64 %lld to type %d: %a not %a", isa, (long long)a[i], floats[f].t, got, want);
    }
  }
  for (size_t t = 0; t < sizeof integers / sizeof *integers; t++) {
    L->convert[CPUK_I64][integers[t].t](out, a, N);
    for (int i = 0; i < N; i++) {
      int64_t want = integers[t].t == CPUK_BOOL ? a[i] != 0
                     : a[i] < integers[t].low   ? integers[t].low
                     : a[i] > integers[t].high  ? integers[t].high
                                                : a[i];
      CHECK(test_read(integers[t].t, out, (size_t)i) == (double)want, "%s i64 %lld to type %d", isa, (long long)a[i],
            integers[t].t);
    }
  }
  static const float big[] = {0x1p63f, -0x1p63f, 0x1.fffffep62f, INFINITY, -INFINITY, NAN, -0.75f, 1e30f};
  static const int64_t whole[] = {INT64_MAX, INT64_MIN, 0x7fffff8000000000, INT64_MAX, INT64_MIN, 0, 0, INT64_MAX};
  int64_t got[8];
  L->convert[CPUK_F32][CPUK_I64](got, big, 8);
  for (int i = 0; i < 8; i++) CHECK(got[i] == whole[i], "%s f32 %a to i64: %lld", isa, big[i], (long long)got[i]);
}

int main(void) {
  const cpuk_table *t;
  for (size_t i = 0; (t = cpuk_available(i)) != NULL; i++) {
    L = t->lanes, isa = t->isa;
    check_arithmetic();
    check_reductions();
    check_conversions();
  }
  return test_report("test_cpu_integers");
}
