/* C (+)= A B for at most CPUK_SKINNY_M rows, B plain and read once: one kind, included with these macros set, which it
 * undefines.
 *
 *   S_FN(name) S_EXTERN        names this kind's functions; the name of the one that the table holds
 *   S_FAMILY_F32, _F64, _I32   the arithmetic; I32 works on pairs of 16-bit k
 *   S_AS S_B                   elements of A and B in memory
 *   S_READ_A(dst, src, n)      converts n elements of A to S_AE
 *   S_GROUP(p, ld) S_GROUP_N   vector of S_LANES neighbouring columns' groups of k, the rows of k being ld apart
 *   S_DOT(p) S_DOT_N(p, n)     vector of S_LANES groups along k (S_LANES * S_KR elements)
 *
 * Row-major B: strips of columns with 8 groups of k side by side, C's strip in L1; one chain over k per element, as
 * in block. Transposed B: four columns side by side, S_LANES chains over k per element, then a fixed tree. S_UNROLL
 * may be set once by a file that wants them small. */

#ifndef S_UNROLL
#define S_UNROLL CPUK_UNROLL
#endif

#if defined(S_FAMILY_F32)
#define S_A float
#define S_AE float
#define S_C float
#define S_VEC vf
#define S_LANES VF
#define S_KR 1
#define S_LOAD(p) v_load(p)
#define S_LOAD_N(p, n) v_load_n(p, n)
#define S_STORE(p, v) v_store(p, v)
#define S_STORE_N(p, v, n) v_store_n(p, v, n)
#define S_ZERO v_set1(0)
#define S_BCAST(p) v_set1(*(p))
#define S_MADD(acc, a, b) v_fma(a, b, acc)
#define S_SUM(v) v_sum(v)
#define S_SUM4(to, v) v_sum4(to, v)
#elif defined(S_FAMILY_F64)
#define S_A double
#define S_AE double
#define S_C double
#define S_VEC vd
#define S_LANES VD
#define S_KR 1
#define S_LOAD(p) vd_load(p)
#define S_LOAD_N(p, n) vd_load_n(p, n)
#define S_STORE(p, v) vd_store(p, v)
#define S_STORE_N(p, v, n) vd_store_n(p, v, n)
#define S_ZERO vd_set1(0)
#define S_BCAST(p) vd_set1(*(p))
#define S_MADD(acc, a, b) vd_fma(a, b, acc)
#define S_SUM(v) skinny_sum_f64(v)
#define S_SUM4(to, v) skinny_sum4_f64(to, v)
#else
#define S_A int32_t
#define S_AE int16_t
#define S_C int32_t
#define S_VEC vi
#define S_LANES VF
#define S_KR 2
#define S_LOAD(p) vi_load(p)
#define S_LOAD_N(p, n) vi_load_n(p, n)
#define S_STORE(p, v) vi_store(p, v)
#define S_STORE_N(p, v, n) vi_store_n(p, v, n)
#define S_ZERO vi_set1(0)
#define S_BCAST(p) vi_set1(*(p))
#define S_MADD(acc, a, b) ((acc) + vi_madd16(a, b))
#define S_SUM(v) skinny_sum_i32(v)
#define S_SUM4(to, v) skinny_sum4_i32(to, v)
#endif

enum { S_FN(chunk) = 256, S_FN(width) = S_LANES * S_KR };
/* Kinds that attention has get code of their own for it; the others' would make the library larger for nothing. */
#if defined(S_FAMILY_F32) && !defined(S_SMALL)
enum { S_FN(attends) = 1 };
#else
enum { S_FN(attends) = 0 };
#endif

/* r rows of C, g groups of k, w columns. */
VINL void S_FN(rows_step)(const int r, const int g, S_C *c, ptrdiff_t ldc, const S_A *a, const S_B *b, ptrdiff_t ldb,
                          ptrdiff_t ldpair, size_t w) {
  size_t j = 0;
  (void)ldpair;
  const size_t pairs = S_FN(attends) && g > 1 ? w : 0;
  CPUK_NO_UNROLL
  for (; j + 2 * S_LANES <= pairs; j += 2 * S_LANES) { /* two vectors share what is read of A */
    S_VEC acc[4][2];
    S_UNROLL
    for (int i = 0; i < r; i++) acc[i][0] = S_LOAD(c + i * ldc + j), acc[i][1] = S_LOAD(c + i * ldc + j + S_LANES);
    S_UNROLL
    for (int q = 0; q < g; q++) {
      const S_VEC b0 = S_GROUP(b + q * S_KR * ldb + j, ldpair), b1 = S_GROUP(b + q * S_KR * ldb + j + S_LANES, ldpair);
      S_UNROLL
      for (int i = 0; i < r; i++) {
        const S_VEC x = S_BCAST(a + i * (S_FN(chunk) / S_KR) + q);
        acc[i][0] = S_MADD(acc[i][0], x, b0), acc[i][1] = S_MADD(acc[i][1], x, b1);
      }
    }
    S_UNROLL
    for (int i = 0; i < r; i++) S_STORE(c + i * ldc + j, acc[i][0]), S_STORE(c + i * ldc + j + S_LANES, acc[i][1]);
  }
  CPUK_NO_UNROLL
  for (; j + S_LANES <= w; j += S_LANES) {
    S_VEC acc[4];
    S_UNROLL
    for (int i = 0; i < r; i++) acc[i] = S_LOAD(c + i * ldc + j);
    S_UNROLL
    for (int q = 0; q < g; q++) {
      S_VEC bv = S_GROUP(b + q * S_KR * ldb + j, ldpair);
      S_UNROLL
      for (int i = 0; i < r; i++) acc[i] = S_MADD(acc[i], S_BCAST(a + i * (S_FN(chunk) / S_KR) + q), bv);
    }
    S_UNROLL
    for (int i = 0; i < r; i++) S_STORE(c + i * ldc + j, acc[i]);
  }
  if (j == w) return;
  for (int i = 0; i < r; i++) {
    S_VEC acc = S_LOAD_N(c + i * ldc + j, w - j);
    for (int q = 0; q < g; q++)
      acc = S_MADD(acc, S_BCAST(a + i * (S_FN(chunk) / S_KR) + q), S_GROUP_N(b + q * S_KR * ldb + j, ldpair, w - j));
    S_STORE_N(c + i * ldc + j, acc, w - j);
  }
}
#define S_ROWS_CASES(g)                                                                  \
  switch (r) {                                                                           \
    case 1: S_FN(rows_step)(1, g, c, ldc, a, b, ldb, ldpair, w); break;                  \
    case 2: S_FN(rows_step)(2, g, c, ldc, a, b, ldb, ldpair, w); break;                  \
    case 3: S_FN(rows_step)(3, g, c, ldc, a, b, ldb, ldpair, w); break;                  \
    default: S_FN(rows_step)(4, g, c, ldc, a, b, ldb, ldpair, w); break;                 \
  }
static void S_FN(rows8)(size_t r, S_C *c, ptrdiff_t ldc, const S_A *a, const S_B *b, ptrdiff_t ldb, ptrdiff_t ldpair,
                        size_t w) {
  S_ROWS_CASES(8)
}
static void S_FN(rows1)(size_t r, S_C *c, ptrdiff_t ldc, const S_A *a, const S_B *b, ptrdiff_t ldb, ptrdiff_t ldpair,
                        size_t w) {
  S_ROWS_CASES(1)
}

/* The chunk of A, [m][chunk], zero-padded to whole groups and, for the dot form, whole vectors. */
static void S_FN(read_a)(S_A *buf, const cpuk_skinny_args *p, size_t k0, size_t w) {
  for (size_t i = 0; i < p->m; i++) {
    S_AE *d = (S_AE *)(buf + i * (S_FN(chunk) / S_KR));
    S_READ_A(d, (const S_AS *)p->a + (ptrdiff_t)i * p->lda + (ptrdiff_t)k0, w);
    size_t padded = (w + S_FN(width) - 1) / S_FN(width) * S_FN(width);
    for (size_t q = w; q < padded; q++) d[q] = 0;
  }
}

static void S_FN(row_major)(const cpuk_skinny_args *p) {
  _Alignas(64) S_A a[CPUK_SKINNY_M * S_FN(chunk) / S_KR];
  size_t strip = p->m <= 8 ? 4096 / p->m / S_LANES * S_LANES : 512;
  for (size_t j = 0; j < p->n; j += strip) {
    size_t w = p->n - j < strip ? p->n - j : strip;
    S_C *c = (S_C *)p->c + j;
    if (!p->accumulate)
      for (size_t i = 0; i < p->m; i++) memset(c + (ptrdiff_t)i * p->ldc, 0, w * sizeof(S_C));
    for (size_t k0 = 0; k0 < p->k; k0 += S_FN(chunk)) {
      size_t kw = p->k - k0 < S_FN(chunk) ? p->k - k0 : S_FN(chunk), q = 0;
      S_FN(read_a)(a, p, k0, kw);
      for (; q < kw; ) {
        size_t step = kw - q >= 8 * S_KR ? 8 : 1;
        const S_B *b = (const S_B *)p->b + (ptrdiff_t)(k0 + q) * p->b_rs + (ptrdiff_t)j;
        ptrdiff_t ldpair =
            kw - q < S_KR ? 0 : p->b_rs; /* a missing second row is read as the first and meets a zero of A */
        skinny_fetch(b, p->b_rs * (ptrdiff_t)sizeof(S_B), w * sizeof(S_B), 8 * S_KR, step * S_KR);
        for (size_t i = 0; i < p->m; i += 4) {
          size_t r = p->m - i < 4 ? p->m - i : 4;
          (step == 8 ? S_FN(rows8) : S_FN(rows1))(r, c + (ptrdiff_t)i * p->ldc, p->ldc,
                                                  a + i * (S_FN(chunk) / S_KR) + q / S_KR, b, p->b_rs, ldpair, w);
        }
        q += step * S_KR;
      }
    }
  }
}

/* acc[r][cols] += rows of A times columns of B over kw elements of k. */
VINL void S_FN(dot_step)(const int r, const int cols, S_VEC *sum, const S_A *a, const S_B *b, ptrdiff_t ldb,
                         size_t kw) {
  S_VEC acc[4][4];
  S_UNROLL
  for (int i = 0; i < r; i++)
    S_UNROLL
    for (int j = 0; j < cols; j++) acc[i][j] = sum[i * 4 + j];
  size_t q = 0;
  CPUK_NO_UNROLL
  for (; q + S_FN(width) <= kw; q += S_FN(width)) {
    S_UNROLL
    for (int j = 0; j < cols; j++) {
      S_VEC bv = S_DOT(b + j * ldb + q);
      S_UNROLL
      for (int i = 0; i < r; i++) acc[i][j] = S_MADD(acc[i][j], S_LOAD(a + i * (S_FN(chunk) / S_KR) + q / S_KR), bv);
    }
  }
  if (q < kw) {
    S_UNROLL
    for (int j = 0; j < cols; j++) {
      S_VEC bv = S_DOT_N(b + j * ldb + q, kw - q);
      S_UNROLL
      for (int i = 0; i < r; i++) acc[i][j] = S_MADD(acc[i][j], S_LOAD(a + i * (S_FN(chunk) / S_KR) + q / S_KR), bv);
    }
  }
  S_UNROLL
  for (int i = 0; i < r; i++)
    S_UNROLL
    for (int j = 0; j < cols; j++) sum[i * 4 + j] = acc[i][j];
}
static void S_FN(dot)(size_t r, size_t cols, S_VEC *sum, const S_A *a, const S_B *b, ptrdiff_t ldb, size_t kw) {
  switch ((r - 1) * 2 + (cols == 4)) {
    case 0: S_FN(dot_step)(1, 1, sum, a, b, ldb, kw); break;
    case 1: S_FN(dot_step)(1, 4, sum, a, b, ldb, kw); break;
    case 2: S_FN(dot_step)(2, 1, sum, a, b, ldb, kw); break;
    case 3: S_FN(dot_step)(2, 4, sum, a, b, ldb, kw); break;
    case 4: S_FN(dot_step)(3, 1, sum, a, b, ldb, kw); break;
    case 5: S_FN(dot_step)(3, 4, sum, a, b, ldb, kw); break;
    case 6: S_FN(dot_step)(4, 1, sum, a, b, ldb, kw); break;
    default: S_FN(dot_step)(4, 4, sum, a, b, ldb, kw); break;
  }
}

/* Four columns of r rows, all of k being one chunk: side by side, or long ones one after the other, as a processor sees
 * them come. */
VINL void S_FN(four_step)(const int r, const bool apart, const cpuk_skinny_args *p, size_t row, size_t j,
                          const S_A *a) {
  const S_B *b = (const S_B *)p->b + (ptrdiff_t)j * p->b_cs;
  S_C *c = (S_C *)p->c + (ptrdiff_t)row * p->ldc + (ptrdiff_t)j;
  S_VEC sum[4 * 4];
  for (int i = 0; i < r * 4; i++) sum[i] = S_ZERO;
  if (apart)
    for (int q = 0; q < 4; q++) S_FN(dot)((size_t)r, 1, sum + q, a, b + q * p->b_cs, p->b_cs, p->k);
  else S_FN(dot_step)(r, 4, sum, a, b, p->b_cs, p->k);
  for (int i = 0; i < r; i++) { /* r is no constant where columns are apart */
    S_C s[4];
    S_SUM4(s, sum + i * 4);
    for (int q = 0; q < 4; q++) c[i * p->ldc + q] = p->accumulate ? (S_C)(c[i * p->ldc + q] + s[q]) : s[q];
  }
}
/* Three rows at most of columns side by side: there are no registers for more. */
static void S_FN(four)(const cpuk_skinny_args *p, size_t j, const S_A *a) {
  const bool apart = p->k * sizeof(S_B) >= SKINNY_SHORT;
  skinny_fetch((const S_B *)p->b + (ptrdiff_t)j * p->b_cs, p->b_cs * (ptrdiff_t)sizeof(S_B), p->k * sizeof(S_B), 4, 4);
  for (size_t i = 0, r; i < p->m; i += r) {
    const S_A *ai = a + i * (S_FN(chunk) / S_KR);
    r = p->m - i <= 3 ? p->m - i : apart ? 4 : p->m - i == 4 ? 2 : 3;
    if (apart) S_FN(four_step)((int)r, true, p, i, j, ai);
    else if (r == 1) S_FN(four_step)(1, false, p, i, j, ai);
    else if (r == 2) S_FN(four_step)(2, false, p, i, j, ai);
    else S_FN(four_step)(3, false, p, i, j, ai);
  }
}

/* A's chunk is read once if it is all of k, or once for a run, whose partial sums wait on the stack. */
static void S_FN(transposed)(const cpuk_skinny_args *p) {
  enum { RUN = 16 };
  _Alignas(64) S_A a[CPUK_SKINNY_M * S_FN(chunk) / S_KR];
  S_VEC sum[RUN / 4][CPUK_SKINNY_M * 4];
  const bool once = S_FN(attends) && p->k <= S_FN(chunk);
  if (once) S_FN(read_a)(a, p, 0, p->k);
  for (size_t j0 = 0; j0 < p->n; j0 += RUN) {
    size_t run = p->n - j0 < RUN ? p->n - j0 : RUN, at = 0;
    if (once) {
      for (; at + 4 <= run; at += 4) S_FN(four)(p, j0 + at, a);
      if (at == run) continue;
    } else
      skinny_fetch((const S_B *)p->b + (ptrdiff_t)j0 * p->b_cs, p->b_cs * (ptrdiff_t)sizeof(S_B), p->k * sizeof(S_B),
                   RUN, run);
    for (size_t g = 0; g < RUN / 4; g++)
      for (size_t i = 0; i < p->m * 4; i++) sum[g][i] = S_ZERO;
    for (size_t k0 = 0; k0 < p->k; k0 += S_FN(chunk)) {
      size_t kw = p->k - k0 < S_FN(chunk) ? p->k - k0 : S_FN(chunk);
      if (!once) S_FN(read_a)(a, p, k0, kw);
      for (size_t j = at; j < run;) {
        size_t cols = run - j >= 4 ? 4 : 1;
        const S_B *b = (const S_B *)p->b + (ptrdiff_t)(j0 + j) * p->b_cs + (ptrdiff_t)k0;
        for (size_t i = 0; i < p->m; i += 4)
          S_FN(dot)
          (p->m - i < 4 ? p->m - i : 4, cols, &sum[j / 4][i * 4 + j % 4], a + i * (S_FN(chunk) / S_KR), b, p->b_cs, kw);
        j += cols;
      }
    }
    for (size_t i = 0; i < p->m; i++)
      for (size_t j = at; j < run; j++) {
        S_C *c = (S_C *)p->c + (ptrdiff_t)i * p->ldc + (ptrdiff_t)(j0 + j);
        S_C s = S_SUM(sum[j / 4][i * 4 + j % 4]);
        *c = p->accumulate ? (S_C)(*c + s) : s;
      }
  }
}

void S_EXTERN(const cpuk_skinny_args *p) {
  if (p->m == 0 || p->n == 0) return;
  if (p->b_cs == 1) S_FN(row_major)(p);
  else S_FN(transposed)(p);
}

#undef S_ROWS_CASES
#undef S_FN
#undef S_EXTERN
#undef S_FAMILY_F32
#undef S_FAMILY_F64
#undef S_FAMILY_I32
#undef S_AS
#undef S_B
#undef S_READ_A
#undef S_GROUP
#undef S_GROUP_N
#undef S_DOT
#undef S_DOT_N
#undef S_A
#undef S_AE
#undef S_C
#undef S_VEC
#undef S_LANES
#undef S_KR
#undef S_LOAD
#undef S_LOAD_N
#undef S_STORE
#undef S_STORE_N
#undef S_ZERO
#undef S_BCAST
#undef S_MADD
#undef S_SUM
#undef S_SUM4
