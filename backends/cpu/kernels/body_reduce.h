/* Reductions. Included once per instruction set, after vec_<isa>.h. */
#include "body_reduce_order.h"

VINL vd vd_max(vd a, vd b) { return vd_sel((vl)(a != a) | (vl)(a > b), a, b); }
VINL vd vd_min(vd a, vd b) { return vd_sel((vl)(a != a) | (vl)(a < b), a, b); }
static inline float f32_min(float a, float b) { return a != a || a < b ? a : b; }

#define OP_MUL(a, b) ((a) * (b))

/* name: acc op= reduce(a[0..n)) in the fixed order; the tail block is filled up with the identity. */
#define REDUCE(name, T, V, P, identity, vop, sop)                                          \
  static void name(void *out, const void *a, size_t n) {                                   \
    enum { W = VF * 4 / sizeof(T), LANES = W * NACC };                                     \
    const T *p = a;                                                                        \
    V acc[NACC];                                                                           \
    EACH_ACC                                                                               \
    for (int i = 0; i < NACC; i++) acc[i] = P##_set1(identity);                            \
    size_t k = 0;                                                                          \
    for (; k + LANES <= n; k += LANES)                                                     \
      EACH_ACC                                                                             \
      for (int i = 0; i < NACC; i++) acc[i] = vop(acc[i], P##_load(p + k + i * W));        \
    if (k < n) {                                                                           \
      T t[LANES];                                                                          \
      for (int i = 0; i < LANES; i++) t[i] = identity;                                     \
      memcpy(t, p + k, (n - k) * sizeof(T));                                               \
      EACH_ACC                                                                             \
      for (int i = 0; i < NACC; i++) acc[i] = vop(acc[i], P##_load(t + i * W));            \
    }                                                                                      \
    T r, *o = out;                                                                         \
    REDUCE_TREE(T, V, P, r, acc, vop, sop);                                                \
    o[0] = sop(o[0], r);                                                                   \
  }
#define INF_POS INFINITY
REDUCE(reduce_sum_f32, float, vf, v, 0, OP_ADD, OP_ADD)
REDUCE(reduce_prod_f32, float, vf, v, 1, OP_MUL, OP_MUL)
REDUCE(reduce_max_f32, float, vf, v, INF_NEG, v_max, f32_max)
REDUCE(reduce_min_f32, float, vf, v, INF_POS, v_min, f32_min)
REDUCE(reduce_sum_f64, double, vd, vd, 0, OP_ADD, OP_ADD)
REDUCE(reduce_prod_f64, double, vd, vd, 1, OP_MUL, OP_MUL)
REDUCE(reduce_max_f64, double, vd, vd, INF_NEG, vd_max, f64_max)
REDUCE(reduce_min_f64, double, vd, vd, INF_POS, vd_min, f64_min)

#define REDUCE_INT(name, T, init, expr)                              \
  static void name(void *out, const void *a, size_t n) {             \
    const T *p = a;                                                  \
    T *o = out, r = init;                                            \
    for (size_t i = 0; i < n; i++) {                                 \
      T x = p[i];                                                    \
      r = expr;                                                      \
    }                                                                \
    T x = o[0];                                                      \
    o[0] = expr;                                                     \
  }
#define REDUCE_INTS(p, T, U, MIN, MAX)                               \
  REDUCE_INT(reduce_sum_##p, T, 0, p##_wrap((U)r + (U)x))            \
  REDUCE_INT(reduce_prod_##p, T, 1, p##_wrap((U)r * (U)x))           \
  REDUCE_INT(reduce_max_##p, T, MIN, x < r ? r : x)                  \
  REDUCE_INT(reduce_min_##p, T, MAX, r < x ? r : x)
REDUCE_INTS(i32, int32_t, uint32_t, INT32_MIN, INT32_MAX)
REDUCE_INTS(i64, int64_t, uint64_t, INT64_MIN, INT64_MAX)

/* ---- compensated sums ---- */

#define REDUCE_KAHAN(name, T, V, P)                                                        \
  static void name(void *out, const void *a, size_t n) {                                   \
    enum { W = VF * 4 / sizeof(T), LANES = W * NACC };                                     \
    const T *p = a;                                                                        \
    V s[NACC], c[NACC];                                                                    \
    EACH_ACC                                                                               \
    for (int i = 0; i < NACC; i++) s[i] = c[i] = P##_set1(0);                              \
    size_t k = 0;                                                                          \
    for (; k + LANES <= n; k += LANES)                                                     \
      EACH_ACC                                                                             \
      for (int i = 0; i < NACC; i++) TWO_SUM_INTO(V, s[i], c[i], P##_load(p + k + i * W)); \
    T t[LANES] = {0}, u[LANES];                                                            \
    if (k < n) memcpy(t, p + k, (n - k) * sizeof(T));                                      \
    EACH_ACC                                                                               \
    for (int i = 0; i < NACC; i++) {                                                       \
      TWO_SUM_INTO(V, s[i], c[i], P##_load(t + i * W));                                    \
      P##_store(t + i * W, s[i]);                                                          \
      P##_store(u + i * W, c[i]);                                                          \
    }                                                                                      \
    for (int h = LANES / 2; h > 0; h /= 2)                                                 \
      for (int i = 0; i < h; i++) {                                                        \
        u[i] += u[i + h];                                                                  \
        TWO_SUM_INTO(T, t[i], u[i], t[i + h]);                                             \
      }                                                                                    \
    T *o = out;                                                                            \
    o[1] += u[0];                                                                          \
    TWO_SUM_INTO(T, o[0], o[1], t[0]);                                                     \
    if (!isfinite(o[0])) o[1] = 0; /* the error term of an overflow is NaN */              \
  }
REDUCE_KAHAN(reduce_kahan_f32, float, vf, v)
REDUCE_KAHAN(reduce_kahan_f64, double, vd, vd)

/* ---- columns: acc[j] op= x[i][j], rows in order, four rows a sweep ---- */

#define REDUCE_COLS(name, T, expr)                                                                          \
  static void name(void *acc, void *comp, const void *x, ptrdiff_t ldx, size_t rows, size_t cols) {         \
    T *o = acc;                                                                                             \
    const T *p = x;                                                                                         \
    size_t i = 0;                                                                                           \
    (void)comp;                                                                                             \
    for (; i + 4 <= rows; i += 4, p += 4 * ldx)                                                             \
      for (size_t j = 0; j < cols; j++) {                                                                   \
        T r = o[j], y = p[j];                                                                               \
        r = expr;                                                                                           \
        y = p[ldx + (ptrdiff_t)j];                                                                          \
        r = expr;                                                                                           \
        y = p[2 * ldx + (ptrdiff_t)j];                                                                      \
        r = expr;                                                                                           \
        y = p[3 * ldx + (ptrdiff_t)j];                                                                      \
        o[j] = expr;                                                                                        \
      }                                                                                                     \
    for (; i < rows; i++, p += ldx)                                                                         \
      for (size_t j = 0; j < cols; j++) {                                                                   \
        T r = o[j], y = p[j];                                                                               \
        o[j] = expr;                                                                                        \
      }                                                                                                     \
  }
REDUCE_COLS(cols_sum_f32, float, r + y)
REDUCE_COLS(cols_prod_f32, float, r *y)
REDUCE_COLS(cols_max_f32, float, f32_max(r, y))
REDUCE_COLS(cols_min_f32, float, f32_min(r, y))
REDUCE_COLS(cols_sum_f64, double, r + y)
REDUCE_COLS(cols_prod_f64, double, r *y)
REDUCE_COLS(cols_max_f64, double, f64_max(r, y))
REDUCE_COLS(cols_min_f64, double, f64_min(r, y))
#define REDUCE_COLS_INTS(p, T, U)                                \
  REDUCE_COLS(cols_sum_##p, T, p##_wrap((U)r + (U)y))            \
  REDUCE_COLS(cols_prod_##p, T, p##_wrap((U)r * (U)y))           \
  REDUCE_COLS(cols_max_##p, T, r < y ? y : r)                    \
  REDUCE_COLS(cols_min_##p, T, y < r ? y : r)
REDUCE_COLS_INTS(i32, int32_t, uint32_t)
REDUCE_COLS_INTS(i64, int64_t, uint64_t)

#define REDUCE_COLS_KAHAN(name, T, plain)                                                                   \
  static void name(void *acc, void *comp, const void *x, ptrdiff_t ldx, size_t rows, size_t cols) {         \
    T *o = acc, *c = comp;                                                                                  \
    const T *p = x;                                                                                         \
    if (c == NULL) {                                                                                        \
      plain(acc, comp, x, ldx, rows, cols);                                                                 \
      return;                                                                                               \
    }                                                                                                       \
    for (size_t i = 0; i < rows; i++, p += ldx)                                                             \
      for (size_t j = 0; j < cols; j++) {                                                                   \
        T s = o[j], e = c[j];                                                                               \
        TWO_SUM_INTO(T, s, e, p[j]);                                                                        \
        o[j] = s;                                                                                           \
        c[j] = s - s == 0 ? e : 0; /* not finite: no compensation */                                        \
      }                                                                                                     \
  }
REDUCE_COLS_KAHAN(cols_kahan_f32, float, cols_sum_f32)
REDUCE_COLS_KAHAN(cols_kahan_f64, double, cols_sum_f64)

#define SAME3(f) {f, f, f}
#define REDUCE_ROWS(p)                                                                                           \
  {                                                                                                              \
    [CPUK_RSUM] = {{p##_sum_f32, p##_sum_f32, p##_kahan_f32}, {p##_sum_f64, p##_sum_f64, p##_kahan_f64}, SAME3(p##_sum_i32), {NULL}, SAME3(p##_sum_i64)}, \
    [CPUK_RPROD] = {SAME3(p##_prod_f32), SAME3(p##_prod_f64), SAME3(p##_prod_i32), {NULL}, SAME3(p##_prod_i64)}, \
    [CPUK_RMAX] = {SAME3(p##_max_f32), SAME3(p##_max_f64), SAME3(p##_max_i32), {NULL}, SAME3(p##_max_i64)},      \
    [CPUK_RMIN] = {SAME3(p##_min_f32), SAME3(p##_min_f64), SAME3(p##_min_i32), {NULL}, SAME3(p##_min_i64)},      \
  }
