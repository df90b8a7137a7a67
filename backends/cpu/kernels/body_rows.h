/* Fused row kernels of softmax and the norms. Included once per instruction set, after body_math.h and body_reduce.h. */

/* Loads and stores of VF elements as floats, whole or the first n, by row type. */
#define ROW_TYPE(t, T, LOAD, LOAD_N, STORE, STORE_N)                                  \
  VINL vf row_load_##t(const T *p) { return LOAD; }                                   \
  VINL vf row_load_n_##t(const T *p, size_t n) { return LOAD_N; }                     \
  VINL void row_store_##t(T *p, vf v) { STORE; }                                      \
  VINL void row_store_n_##t(T *p, vf v, size_t n) { STORE_N; }
ROW_TYPE(f32, float, v_load(p), v_load_n(p, n), v_store(p, v), v_store_n(p, v, n))
ROW_TYPE(bf16, uint16_t, v_from_bf16(vh_load(p)), v_from_bf16(vh_load_n(p, n)), vh_store(p, v_to_bf16(v)), vh_store_n(p, v_to_bf16(v), n))
ROW_TYPE(f16, uint16_t, v_from_f16(vh_load(p)), v_from_f16(vh_load_n(p, n)), vh_store(p, v_to_f16(v)), vh_store_n(p, v_to_f16(v), n))

/* Runs `each` on every vector x of the row with acc[i] its accumulator; in the tail, lanes past n hold `fill`. */
#define ROW_LOOP(t, T, fill, each, each_tail)                              \
  do {                                                                     \
    size_t k = 0;                                                          \
    for (; k + 64 <= n; k += 64)                                           \
      EACH_ACC                                                             \
      for (int i = 0; i < NACC; i++) {                                     \
        size_t o = k + (size_t)i * VF;                                     \
        vf x = row_load_##t(p + o);                                        \
        each;                                                              \
      }                                                                    \
    for (int i = 0; k < n; i++, k += VF) {                                 \
      size_t o = k, left = n - k < VF ? n - k : VF;                        \
      vf x = row_load_n_##t(p + o, left);                                  \
      if (left < VF) x = v_sel(vi_lt(row_lane_index(), vi_set1((int32_t)left)), x, v_set1(fill)); \
      each_tail;                                                           \
    }                                                                      \
  } while (0)
static const int32_t row_lane_indices[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
VINL vi row_lane_index(void) { return vi_load(row_lane_indices); }

/* The kernels of a row's second pass, which runs from cache, fetch meanwhile a row that comes later, so that memory doesn't rest. */
#define ROW_AHEAD(p) __builtin_prefetch(p, 0, 2)

/* e^x for x <= 0 that was a 16-bit number less another: in one step, 2^n 2^f with f = x log2(e) - n, since the product's rounding, 2^-24 |x log2(e)|,
 * shows only where e^x is small beside the row's largest. */
VINL vf v_exp_short(vf x) {
  vf t = v_max_raw(v_set1(-150.0f), x * 0x1.715476p0f), n = v_rint(t);
  return v_scale(POLY(t - n, 0x1.000002p0f, 0x1.62e428p-1f, 0x1.ebf918p-3f, 0x1.c6b6e4p-5f, 0x1.3d0c52p-7f, 0x1.5c08e4p-10f), n);
}
#define row_e_f32 v_exp
#define row_e_bf16 v_exp_short
#define row_e_f16 v_exp_short

#define ROW_REDUCTIONS(t, T)                                                           \
  static float row_max_##t(const void *x_, size_t n) {                                 \
    const T *p = x_;                                                                   \
    vf acc[NACC];                                                                      \
    float r;                                                                           \
    for (int i = 0; i < NACC; i++) acc[i] = v_set1(INF_NEG);                           \
    ROW_LOOP(t, T, INF_NEG, acc[i] = v_max(x, acc[i]), acc[i] = v_max(x, acc[i]));     \
    REDUCE_TREE(float, vf, v, r, acc, v_max, f32_max);                                 \
    return r;                                                                          \
  }                                                                                    \
  static float row_sum_##t(const void *x_, size_t n) {                                 \
    const T *p = x_;                                                                   \
    vf acc[NACC];                                                                      \
    float r;                                                                           \
    for (int i = 0; i < NACC; i++) acc[i] = v_set1(0);                                 \
    ROW_LOOP(t, T, 0, acc[i] += x, acc[i] += x);                                       \
    REDUCE_TREE(float, vf, v, r, acc, OP_ADD, OP_ADD);                                 \
    return r;                                                                          \
  }                                                                                    \
  static float row_sqdev_##t(const void *x_, float mean, size_t n, ptrdiff_t ahead) {  \
    const T *p = x_;                                                                   \
    vf acc[NACC], mu = v_set1(mean);                                                   \
    float r;                                                                           \
    for (int i = 0; i < NACC; i++) acc[i] = v_set1(0);                                 \
    ROW_LOOP(t, T, mean, ROW_AHEAD(p + ahead + o); x -= mu; acc[i] = v_fma(x, x, acc[i]), x -= mu; acc[i] = v_fma(x, x, acc[i])); \
    REDUCE_TREE(float, vf, v, r, acc, OP_ADD, OP_ADD);                                 \
    return r;                                                                          \
  }
ROW_REDUCTIONS(f32, float)
ROW_REDUCTIONS(bf16, uint16_t)
ROW_REDUCTIONS(f16, uint16_t)

#define ROW_EXP(s, S, d, D)                                                                         \
  static float row_exp_##s##_##d(void *dst, const void *x_, float m, size_t n, ptrdiff_t ahead) {   \
    const S *p = x_;                                                                                \
    D *q = dst;                                                                                     \
    vf acc[NACC], mv = v_set1(m == INF_NEG ? 0 : m);                                                \
    float r;                                                                                        \
    for (int i = 0; i < NACC; i++) acc[i] = v_set1(0);                                              \
    ROW_LOOP(s, S, INF_NEG, ROW_AHEAD(p + ahead + o); x = row_e_##s(x - mv); row_store_##d(q + o, x); acc[i] += x,             \
             x = row_e_##s(x - mv); row_store_n_##d(q + o, x, left); acc[i] += x);                      \
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
#define row_stream_bf16(q, x, y) v_stream((float *)(void *)(q), v_to_bf16_pair(x, y))
#define row_stream_f16(q, x, y) v_stream((float *)(void *)(q), v_to_f16_pair(x, y))
#define row_store2_bf16(q, x, y) v_store16((q), v_to_bf16_pair(x, y))
#define row_store2_f16(q, x, y) v_store16((q), v_to_f16_pair(x, y))
VINL void v_store16(uint16_t *q, vf v) { memcpy(q, &v, sizeof v); }

#define ROW_NORM(s, S, d, D)                                                                                   \
  VINL void row_norm_body_##s##_##d(const cpuk_norm_args *a, const float *g, const float *b, const bool stream) { \
    const S *p = a->x;                                                                                         \
    D *q = a->dst;                                                                                             \
    vf mean = v_set1(a->mean), rstd = v_set1(a->rstd);                                                         \
    size_t k = 0, n = a->n;                                                                                    \
    for (; k + 2 * VF <= n; k += 2 * VF) {                                                                     \
      vf x = row_norm_one(row_load_##s(p + k), mean, rstd, g, b, k, VF);                                       \
      vf y = row_norm_one(row_load_##s(p + k + VF), mean, rstd, g, b, k + VF, VF);                             \
      if (stream) {                                                                                            \
        row_stream_##d(q + k, x, y);                                                                           \
      } else {                                                                                                 \
        row_store2_##d(q + k, x, y);                                                                           \
      }                                                                                                        \
    }                                                                                                          \
    for (; k < n; k += VF) {                                                                                   \
      size_t left = n - k < VF ? n - k : VF;                                                                   \
      row_store_n_##d(q + k, row_norm_one(row_load_n_##s(p + k, left), mean, rstd, g, b, k, left), left);      \
    }                                                                                                          \
    if (stream) v_stream_fence();                                                                              \
  }                                                                                                            \
  static void row_norm_##s##_##d(const cpuk_norm_args *a) {                                                    \
    if (a->stream && ((uintptr_t)a->dst & 63) == 0) row_norm_body_##s##_##d(a, a->g, a->b, true);              \
    else row_norm_body_##s##_##d(a, a->g, a->b, false);                                                        \
  }
#define ROW_PAIRS(s, S)                                                                                       \
  ROW_EXP(s, S, f32, float) ROW_EXP(s, S, bf16, uint16_t) ROW_EXP(s, S, f16, uint16_t)                        \
  ROW_NORM(s, S, f32, float) ROW_NORM(s, S, bf16, uint16_t) ROW_NORM(s, S, f16, uint16_t)
ROW_PAIRS(f32, float)
ROW_PAIRS(bf16, uint16_t)
ROW_PAIRS(f16, uint16_t)

#define ROW_EACH(f) {f##_f32, f##_bf16, f##_f16}
