/* Fused reduction and normalization kernels (softmax and the norms), and the table of them: the whole of rows_<isa>.c.
 * Included after vec_<isa>.h and kernels.h. */
#include "body_math.h"
#include "body_reduce_order.h"

/* Loads and stores of VF elements as floats, whole or the first n, by row type. */
#define ROW_TYPE(t, T, LOAD, LOAD_N, STORE_N)                                         \
  VINL vf row_load_##t(const T *p) { return LOAD; }                                   \
  VINL vf row_load_n_##t(const T *p, size_t n) { return LOAD_N; }                     \
  VINL void row_store_n_##t(T *p, vf v, size_t n) { STORE_N; }
ROW_TYPE(f32, float, v_load(p), v_load_n(p, n), v_store_n(p, v, n))
ROW_TYPE(bf16, uint16_t, v_from_bf16(vh_load(p)), v_from_bf16(vh_load_n(p, n)), vh_store_n(p, v_to_bf16(v), n))
ROW_TYPE(f16, uint16_t, v_from_f16(vh_load(p)), v_from_f16(vh_load_n(p, n)), vh_store_n(p, v_to_f16(v), n))

/* 2 VF elements as floats, in whatever order is cheapest: what is summed or compared needs no other. */
VINL void row_load_two_f32(const float *p, vf x[2]) {
  x[0] = v_load(p);
  x[1] = v_load(p + VF);
}
VINL void row_load_two_bf16(const uint16_t *p, vf x[2]) { /* the odd elements, the even ones */
  vu words;
  memcpy(&words, p, sizeof words);
  x[0] = (vf)(words & 0xffff0000u);
  x[1] = (vf)(words << 16);
}
VINL void row_load_two_f16(const uint16_t *p, vf x[2]) {
  x[0] = row_load_f16(p);
  x[1] = row_load_f16(p + VF);
}

/* The accumulator of x[h] when the pair starts at vector i of 64 elements: the same 64 lanes on every instruction set,
 * those of vectors of 16. */
#define row_acc_f32(i, h) ((i) + (h))
#define row_acc_f16 row_acc_f32
#define ROW_PER_16 (16 / VF)
#define row_acc_bf16(i, h) ((i) / 2 / ROW_PER_16 * 2 * ROW_PER_16 + (h) * ROW_PER_16 + (i) / 2 % ROW_PER_16)

/* Runs `fetch` once for 64 elements, `each` on the vectors x[0] and x[1] that hold the row's elements from o on, with
 * acc[i] and acc[i + 1] their accumulators; in the tail `each_tail` on x[0] and acc[i], whose lanes past n hold `fill`.
 */
#define ROW_LOOP(t, T, fill, fetch, each, each_tail)                                                    \
  do {                                                                                                  \
    size_t k = 0;                                                                                       \
    vf x[2];                                                                                            \
    for (; k + 64 <= n; k += 64) {                                                                      \
      fetch;                                                                                            \
      EACH_ACC                                                                                          \
      for (int i = 0; i < NACC; i += 2) {                                                               \
        size_t o = k + (size_t)i * VF;                                                                  \
        each;                                                                                           \
      }                                                                                                 \
    }                                                                                                   \
    for (int i = 0; k < n; i++, k += VF) {                                                              \
      size_t o = k, left = n - k < VF ? n - k : VF;                                                     \
      x[0] = row_load_n_##t(p + o, left);                                                               \
      if (left < VF) x[0] = v_sel(vi_lt(row_lane_index(), vi_set1((int32_t)left)), x[0], v_set1(fill)); \
      each_tail;                                                                                        \
    }                                                                                                   \
  } while (0)
/* For sums and maxima: `add` joins a vector to its accumulator. */
#define ROW_STAT_LOOP(t, T, fill, fetch, add)                             \
  ROW_LOOP(t, T, fill, fetch,                                             \
           row_load_two_##t(p + o, x);                                    \
           for (int h = 0; h < 2; h++) add(acc[row_acc_##t(i, h)], x[h]), \
           add(acc[i], x[0]))
static const int32_t row_lane_indices[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
VINL vi row_lane_index(void) { return vi_load(row_lane_indices); }

/* Fetches the lines of 64 elements, `bytes` in all, into L2. */
VINL void row_fetch(const char *p, size_t bytes) {
  for (size_t line = 0; line < bytes / 64; line++) __builtin_prefetch(p + line * 64, 0, 2);
}

/* e^x for x that was a 16-bit number less another: in one step, 2^t with t = x log2(e), since the product's rounding,
 * 2^-24 |t|, shows only where e^x is small beside the row's largest. The polynomial is 2^f on [0, 1], within 2^-23.4 of
 * it. */
#define row_e_f32 v_exp
#define row_e_bf16(x) v_exp2((x)*0x1.715476p0f)
#define row_e_f16 row_e_bf16
#define ROW_EXP2(f) \
  POLY(f, 0x1.fffffep-1f, 0x1.62e4f6p-1f, 0x1.ebd5a8p-3f, 0x1.c95446p-5f, 0x1.26900cp-7f, 0x1.ec320ap-10f)
VINL vf v_exp2(vf t) {
#ifdef v_fraction /* takes -inf, and v_scale rounds the exponent down itself */
  return v_scale(ROW_EXP2(v_fraction(t)), t);
#else
  vf whole = v_floor(t = v_max_raw(v_set1(-150.0f), t));
  return v_scale(ROW_EXP2(t - whole), whole);
#endif
}

#define ROW_MAX_OF(a, x) a = v_max(x, a)
#define ROW_ADD(a, x) a += x
#define ROW_ADD_SQUARE(a, x) x -= mu, a = v_fma(x, x, a)
#define ROW_REDUCTIONS(t, T)                                                                                   \
  static float row_max_##t(const void *x_, size_t n) {                                                         \
    const T *p = x_;                                                                                           \
    vf acc[NACC];                                                                                              \
    float r;                                                                                                   \
    for (int i = 0; i < NACC; i++) acc[i] = v_set1(INF_NEG);                                                   \
    ROW_STAT_LOOP(t, T, INF_NEG, , ROW_MAX_OF);                                                                \
    REDUCE_TREE(float, vf, v, r, acc, v_max, f32_max);                                                         \
    return r;                                                                                                  \
  }                                                                                                            \
  static float row_sum_##t(const void *x_, size_t n) {                                                         \
    const T *p = x_;                                                                                           \
    vf acc[NACC];                                                                                              \
    float r;                                                                                                   \
    for (int i = 0; i < NACC; i++) acc[i] = v_set1(0);                                                         \
    ROW_STAT_LOOP(t, T, 0, , ROW_ADD);                                                                         \
    REDUCE_TREE(float, vf, v, r, acc, OP_ADD, OP_ADD);                                                         \
    return r;                                                                                                  \
  }                                                                                                            \
  static float row_sqdev_##t(const void *x_, float mean, size_t n, const void *ahead) {                        \
    const T *p = x_;                                                                                           \
    vf acc[NACC], mu = v_set1(mean);                                                                           \
    float r;                                                                                                   \
    for (int i = 0; i < NACC; i++) acc[i] = v_set1(0);                                                         \
    ROW_STAT_LOOP(t, T, mean, row_fetch((const char *)ahead + k * sizeof(T), 64 * sizeof(T)), ROW_ADD_SQUARE); \
    REDUCE_TREE(float, vf, v, r, acc, OP_ADD, OP_ADD);                                                         \
    return r;                                                                                                  \
  }
ROW_REDUCTIONS(f32, float)
ROW_REDUCTIONS(bf16, uint16_t)
ROW_REDUCTIONS(f16, uint16_t)

#define ROW_EXP(s, S)                                                                               \
  static float row_exp_##s(float *q, const void *x_, float m, size_t n, const void *ahead) {        \
    const S *p = x_;                                                                                \
    vf acc[NACC], mv = v_set1(m == INF_NEG ? 0 : m);                                                \
    float r;                                                                                        \
    for (int i = 0; i < NACC; i++) acc[i] = v_set1(0);                                              \
    ROW_LOOP(s, S, INF_NEG, row_fetch((const char *)ahead + k * sizeof(S), 64 * sizeof(S)),         \
             for (int h = 0; h < 2; h++) {                                                          \
               vf e = row_e_##s(row_load_##s(p + o + (size_t)h * VF) - mv);                         \
               v_store(q + o + (size_t)h * VF, e);                                                  \
               acc[i + h] += e;                                                                     \
             },                                                                                     \
             x[0] = row_e_##s(x[0] - mv); v_store_n(q + o, x[0], left); acc[i] += x[0]);            \
    REDUCE_TREE(float, vf, v, r, acc, OP_ADD, OP_ADD);                                              \
    return r;                                                                                       \
  }

VINL vf row_norm_one(vf x, vf mean, vf rstd, const float *g, const float *b, size_t o, size_t left) {
  x = (x - mean) * rstd;
  if (g != NULL) x *= left == VF ? v_load(g + o) : v_load_n(g + o, left);
  if (b != NULL) x += left == VF ? v_load(b + o) : v_load_n(b + o, left);
  return x;
}
/* 16-bit results are streamed two vectors at a time, as one vector of 32-bit words. */
VINL void row_stream_f32(float *q, vf x, vf y) {
  v_stream(q, x);
  v_stream(q + VF, y);
}
VINL void row_store2_f32(float *q, vf x, vf y) {
  v_store(q, x);
  v_store(q + VF, y);
}
VINL vf v_to_f16_pair(vf x, vf y) {
  union {
    vh h[2];
    vf f;
  } u = {{v_to_f16(x), v_to_f16(y)}};
  return u.f;
}
#ifndef row_bf16_pair
#define row_bf16_pair v_to_bf16_pair
#endif
#define row_stream_bf16(q, x, y) v_stream((float *)(void *)(q), row_bf16_pair(x, y))
#define row_stream_f16(q, x, y) v_stream((float *)(void *)(q), v_to_f16_pair(x, y))
#define row_store2_bf16(q, x, y) v_store16((q), row_bf16_pair(x, y))
#define row_store2_f16(q, x, y) v_store16((q), v_to_f16_pair(x, y))
VINL void v_store16(uint16_t *q, vf v) { memcpy(q, &v, sizeof v); }

#define ROW_NORM(s, S, d, D)                                                                                      \
  VINL void row_norm_body_##s##_##d(const cpuk_norm_args *a, const float *g, const float *b, const bool stream) { \
    const S *p = a->x;                                                                                            \
    D *q = a->dst;                                                                                                \
    vf mean = v_set1(a->mean), rstd = v_set1(a->rstd);                                                            \
    size_t k = 0, n = a->n;                                                                                       \
    for (; k + 2 * VF <= n; k += 2 * VF) {                                                                        \
      vf x = row_norm_one(row_load_##s(p + k), mean, rstd, g, b, k, VF);                                          \
      vf y = row_norm_one(row_load_##s(p + k + VF), mean, rstd, g, b, k + VF, VF);                                \
      if (stream) {                                                                                               \
        row_stream_##d(q + k, x, y);                                                                              \
      } else {                                                                                                    \
        row_store2_##d(q + k, x, y);                                                                              \
      }                                                                                                           \
    }                                                                                                             \
    for (; k < n; k += VF) {                                                                                      \
      size_t left = n - k < VF ? n - k : VF;                                                                      \
      row_store_n_##d(q + k, row_norm_one(row_load_n_##s(p + k, left), mean, rstd, g, b, k, left), left);         \
    }                                                                                                             \
    if (stream) v_stream_fence();                                                                                 \
  }                                                                                                               \
  static void row_norm_##s##_##d(const cpuk_norm_args *a) {                                                       \
    if (a->stream && ((uintptr_t)a->dst & 63) == 0) row_norm_body_##s##_##d(a, a->g, a->b, true);                 \
    else row_norm_body_##s##_##d(a, a->g, a->b, false);                                                           \
  }
#define ROW_PAIRS(s, S)                                                                                       \
  ROW_EXP(s, S)                                                                                               \
  ROW_NORM(s, S, f32, float) ROW_NORM(s, S, bf16, uint16_t) ROW_NORM(s, S, f16, uint16_t)
ROW_PAIRS(f32, float)
ROW_PAIRS(bf16, uint16_t)
ROW_PAIRS(f16, uint16_t)

#ifdef v_stream
/* One loop over the three rows; SECOND adds up what x[1] gives, RESULT is a vector of the results. */
#define ROW_PIPE(name, s, S, start, JOIN_FIRST, SECOND, RESULT, FIRST)                             \
  static void row_##name##_pipe_##s(cpuk_pipe_args *a) {                                           \
    const S *p0 = a->x[0], *p1 = a->x[1], *p2 = a->x[2];                                           \
    const float *g = a->g, *b = a->b;                                                              \
    const char *ahead = a->ahead;                                                                  \
    S *q = a->dst;                                                                                 \
    float *e = a->e;                                                                               \
    vf acc1[NACC], acc2[NACC];                                                                     \
    vf m = v_set1(a->m == INF_NEG ? 0 : a->m), mean = v_set1(a->mean), factor = v_set1(a->factor); \
    for (int i = 0; i < NACC; i++) acc1[i] = v_set1(0), acc2[i] = v_set1(start);                   \
    for (size_t k = 0, n = a->n; k < n; k += 64) {                                                 \
      row_fetch(ahead + k * sizeof(S), 64 * sizeof(S));                                            \
      EACH_ACC                                                                                     \
      for (int i = 0; i < NACC; i += 2) {                                                          \
        size_t o = k + (size_t)i * VF;                                                             \
        vf x[2], y[2];                                                                             \
        row_load_two_##s(p2 + o, x);                                                               \
        for (int h = 0; h < 2; h++) JOIN_FIRST(acc2[row_acc_##s(i, h)], x[h]);                     \
        for (int h = 0; h < 2; h++) y[h] = RESULT(s, o + (size_t)h * VF);                          \
        row_stream_##s(q + o, y[0], y[1]);                                                         \
        SECOND(s, o, i);                                                                           \
      }                                                                                            \
    }                                                                                              \
    v_stream_fence();                                                                              \
    (void)p0, (void)e, (void)g, (void)b, (void)mean;                                               \
    REDUCE_TREE(float, vf, v, a->second, acc1, OP_ADD, OP_ADD);                                    \
    FIRST;                                                                                         \
  }
#define PIPE_EXP(s, o, i)                                            \
  for (int h = 0; h < 2; h++) {                                      \
    vf z = row_e_##s(row_load_##s(p1 + (o) + (size_t)h * VF) - m);   \
    v_store(e + (o) + (size_t)h * VF, z);                            \
    acc1[(i) + h] += z;                                              \
  }
#define PIPE_SQDEV(s, o, i)                                          \
  row_load_two_##s(p1 + (o), x);                                     \
  for (int h = 0; h < 2; h++) x[h] -= m, acc1[row_acc_##s(i, h)] = v_fma(x[h], x[h], acc1[row_acc_##s(i, h)])
#define PIPE_SCALE(s, o) v_load(e + (o)) * factor
#define PIPE_NORM(s, o) row_norm_one(row_load_##s(p0 + (o)), mean, factor, g, b, o, VF)
#define ROW_PIPES(s, S) \
  ROW_PIPE(softmax, s, S, INF_NEG, ROW_MAX_OF, PIPE_EXP, PIPE_SCALE, REDUCE_TREE(float, vf, v, a->first, acc2, v_max, f32_max)) \
  ROW_PIPE(norm, s, S, 0, ROW_ADD, PIPE_SQDEV, PIPE_NORM, REDUCE_TREE(float, vf, v, a->first, acc2, OP_ADD, OP_ADD))
ROW_PIPES(f32, float)
ROW_PIPES(bf16, uint16_t)
ROW_PIPES(f16, uint16_t)
#define ROW_PIPE_TABLE .softmax_pipe = ROW_EACH(row_softmax_pipe), .norm_pipe = ROW_EACH(row_norm_pipe),
#else
#define ROW_PIPE_TABLE
#endif

#define ROW_EACH(f) {f##_f32, f##_bf16, f##_f16}
const cpuk_rows CPUK_FN(rows) = {
    .max = ROW_EACH(row_max),
    .sum = ROW_EACH(row_sum),
    .sqdev = ROW_EACH(row_sqdev),
    .exp = ROW_EACH(row_exp),
    .norm = {ROW_EACH(row_norm_f32), ROW_EACH(row_norm_bf16), ROW_EACH(row_norm_f16)},
    ROW_PIPE_TABLE
};
