/* The fixed order of reductions (kernels.h), shared by body_reduce.h and body_rows.h. Included once per file, after
 * vec_<isa>.h.
 *
 * LANES = 64 floats or 32 doubles as NACC vectors whatever the vector's width, so every instruction set adds the same
 * numbers in the same order and the fast sum is also the deterministic one. */

#define NACC (64 / VF)
#if VF == 4
#define EACH_ACC CPUK_NO_UNROLL /* 16 accumulators: no use in registers */
#else
#define EACH_ACC CPUK_UNROLL
#endif

static inline float f32_max(float a, float b) { return a != a || a > b ? a : b; }

/* Halving tree over the lanes of NACC vectors: lane j with lane j + half. vop and sop are the same operation on vectors
 * and scalars. */
#define REDUCE_TREE(T, V, P, r, acc, vop, sop)                                             \
  do {                                                                                     \
    T lane_[VF * 4 / sizeof(T)];                                                           \
    EACH_ACC                                                                               \
    for (int h_ = NACC / 2; h_ > 0; h_ /= 2)                                               \
      for (int i_ = 0; i_ < h_; i_++) acc[i_] = vop(acc[i_], acc[i_ + h_]);                \
    P##_store(lane_, acc[0]);                                                              \
    for (int h_ = (int)(VF * 2 / sizeof(T)); h_ > 0; h_ /= 2)                              \
      for (int i_ = 0; i_ < h_; i_++) lane_[i_] = sop(lane_[i_], lane_[i_ + h_]);          \
    r = lane_[0];                                                                          \
  } while (0)

#define OP_ADD(a, b) ((a) + (b))
#define INF_NEG (-INFINITY)
