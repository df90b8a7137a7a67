/* The CPU backend's vectorised micro-kernels, behind one const table per instruction set.
 *
 * The Tile IR interpreter calls these on strips and blocks that are hot in L1 or L2; nothing here allocates, starts
 * threads, reads the environment or keeps state. Every function is reentrant. Choose a table once with cpuk_select and
 * keep the pointer.
 *
 * General rules, unless a function says otherwise:
 *  - n, rows, cols, m, k count elements and may be 0 (then nothing is read or written);
 *  - strides are in elements, may be negative where the type is ptrdiff_t; `_bytes` means bytes;
 *  - pointers need only the natural alignment of their element; 64-byte alignment is faster, and required for packed
 *    panels;
 *  - a destination may be exactly equal to a source of the same element size (in place); any other overlap is
 *    undefined;
 *  - f16 and bf16 are stored as uint16_t, f8 and bool as uint8_t (bool: 0 or 1 on output, any non-zero is true on
 *    input);
 *  - a NULL table entry means that the combination doesn't exist (for example exp over i32).
 * How the speed was found, and how to drive the gemm: docs/cpu-kernels.md and bench/kernels/gemm_driver.c. */
#ifndef BACKENDS_CPU_KERNELS_H
#define BACKENDS_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/block_product.h"
#include "core/ir/scalar_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Storage types. */
typedef enum cpuk_dtype {
  CPUK_F32, CPUK_F64, CPUK_F16, CPUK_BF16, CPUK_I8, CPUK_U8, CPUK_I32, CPUK_BOOL,
  CPUK_F8E4M3, /* OCP e4m3: no infinity, S.1111.111 is NaN, max 448 */
  CPUK_F8E5M2, /* OCP e5m2: IEEE-like, max 57344 */
  CPUK_I16, CPUK_I64,
  CPUK_N_DTYPE
} cpuk_dtype;

size_t cpuk_dtype_bytes(cpuk_dtype t);

/* Compute types of the elementwise and reduction kernels: other storage types are converted to one of these first. */
typedef enum cpuk_ct { CPUK_CT_F32, CPUK_CT_F64, CPUK_CT_I32, CPUK_CT_BOOL, CPUK_CT_I64, CPUK_N_CT } cpuk_ct;

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

/* f32 accuracy, in ulp of the result against the exact value, over all finite inputs incl. denormals, on machines with
 * FMA (portable: one ulp more); tests/unit/test_cpu_kernels.c checks these. Exact: neg abs relu floor not. 0.5: sqrt.
 * 1: log. 1.05: exp. 1.5: rsqrt. 2: tanh erf sin cos. 2.5: sigmoid.
 * gelu: 2 + 2^-24 |x|, gelu_tanh: 2 + 2^-23 |x|: they cancel for negative x, and the absolute error is what a layer
 * sees. Arguments of sin or cos beyond 30000 take libm, each lane for itself. NaN in gives NaN out; exp(-inf)=0,
 * log(0)=-inf, log(<0)=NaN, rsqrt(0)=inf, sigmoid, tanh, erf and what is made of them have their limits at +-inf
 * (gelu(-inf) = -0, and what it underflows to keeps x's sign). relu(NaN)=NaN, relu(-0) is a zero of either sign. f64
 * uses libm's accuracy.
 * Denormal results aren't flushed. cpuk_lanes.unary, by scalar_code (core/ir/scalar_ops.h); f32 f64: all but NOT; i32
 * i64: NEG ABS RELU (wrapping) and NOT (bitwise); bool: NOT (logical).
 *
 * cpuk_lanes.binary, by scalar_code. f32, f64: ADD SUB MUL DIV are IEEE; MIN MAX give NaN if either operand is NaN, and
 * -0 < +0 isn't promised; REM is C's fmod (sign of a, exact); POW is C's pow within 1 ulp for f32. i32, i64: wrapping;
 * DIV truncates, x/0 = 0, INT_MIN/-1 = INT_MIN; REM has the sign of a, x rem 0 = x, INT_MIN rem -1 = 0; POW by
 * squaring, a negative exponent gives 0 except for bases 1 and -1; AND OR XOR bitwise; MUL_HIGH bits 32 to 63 of the
 * product of the low 32 bits, unsigned. bool: AND OR XOR, and MIN = and,
 * MAX = or, ADD = or, MUL = and. AND OR XOR don't exist for floats. */

/* Ordered IEEE comparisons: every one but NE is false when an operand is NaN; NE is then true. */
typedef enum cpuk_cmp_op { CPUK_EQ, CPUK_NE, CPUK_LT, CPUK_LE, CPUK_GT, CPUK_GE, CPUK_N_CMP } cpuk_cmp_op;

/* dst[i] = op(a[i]); dst may equal a. */
typedef void (*cpuk_unary_fn)(void *dst, const void *a, size_t n);
/* dst[i] = a[i] op b[i]. In the _vs form b points to one scalar used for every i, in the _sv form a does. dst may equal
 * a or b (a scalar is read before anything is written). Compare writes uint8_t 0 or 1; there dst may equal no operand
 * unless the compute type is bool. */
typedef void (*cpuk_binary_fn)(void *dst, const void *a, const void *b, size_t n);
/* dst[i] = cond[i] ? a[i * a_step] : b[i * b_step]; steps are 0 (scalar) or 1. Chosen by element size, not type. */
typedef void (*cpuk_select_fn)(void *dst, const uint8_t *cond, const void *a, int a_step, const void *b, int b_step,
                               size_t n);
/* dst[i] = a[i] * b[i] + c[i], rounded once where the ISA has FMA (all but portable, which rounds as the compiler's
 * a*b+c). */
typedef void (*cpuk_fma_fn)(void *dst, const void *a, const void *b, const void *c, size_t n);

#include "backends/cpu/kernels/map_args.h"

/* ---- conversion -------------------------------------------------------------------------------------------------- */

/* Every pair of cpuk_dtype, the identity included. Float to narrower float: round to nearest even; NaN stays NaN
 * (quiet, sign kept); overflow gives infinity, except to f8e4m3, which has none: +-448. Denormals are kept. Float to
 * integer: toward zero, saturate, NaN gives 0. Integer to narrower integer saturates. Anything to bool: x != 0 (NaN is
 * true). No double rounding on any pair. dst may equal src only when the element sizes are equal. */
typedef void (*cpuk_convert_fn)(void *dst, const void *src, size_t n);

/* ---- reductions -------------------------------------------------------------------------------------------------- */

typedef enum cpuk_reduce_op { CPUK_RSUM, CPUK_RPROD, CPUK_RMAX, CPUK_RMIN, CPUK_N_REDUCE } cpuk_reduce_op;

/* FAST and DETERMINISTIC are the same code: element i goes to lane i % 64 (f64: i % 32), lanes are combined in a fixed
 * halving tree (lane j with lane j + half). So the bits depend on n alone: not on the ISA, the alignment or the run.
 * KAHAN is Neumaier's compensated sum per lane, lanes combined compensated: |error| <= (2u + O(n u^2)) * sum |x|; for
 * ops other than SUM and for integers it equals DETERMINISTIC. */
typedef enum cpuk_policy { CPUK_FAST, CPUK_DETERMINISTIC, CPUK_KAHAN, CPUK_N_POLICY } cpuk_policy;

/* acc[0] = acc[0] op reduce(a[0..n)). Under KAHAN SUM, acc has two elements, {sum, compensation}: the value is acc[0] +
 * acc[1], and the pair carries over from strip to strip. The caller starts from cpuk_reduce_init. Integer sums and
 * products wrap; MAX and MIN propagate NaN. */
typedef void (*cpuk_reduce_fn)(void *acc, const void *a, size_t n);
/* acc[j] = acc[j] op x[i * ldx + j] for i = 0..rows-1 in that order, j < cols. comp is NULL, or under KAHAN SUM holds
 * the columns' compensation (zero at first; add it to acc at the end). One pass over x. */
typedef void (*cpuk_reduce_cols_fn)(void *acc, void *comp, const void *x, ptrdiff_t ldx, size_t rows, size_t cols);

/* Writes the identity of op (0, 1, -inf or the type's minimum, +inf or its maximum) to acc[0], and 0 to acc[1] under
 * KAHAN SUM. */
void cpuk_reduce_init(cpuk_reduce_op op, cpuk_ct ct, cpuk_policy policy, void *acc);

/* ---- fused reduction kernels ------------------------------------------------------------------------------------- */

/* Sources and destinations of the reduction kernels. */
typedef enum cpuk_row_type { CPUK_ROW_F32, CPUK_ROW_BF16, CPUK_ROW_F16, CPUK_N_ROW } cpuk_row_type;

/* A row as read: max(x), sum(x); all in f32, in the fixed lane order of the reductions; of bf16 the lanes are dealt
 * otherwise (body_rows.h), on every instruction set alike. n = 0 gives -inf and 0. */
typedef float (*cpuk_row_reduce_fn)(const void *x, size_t n);
/* sum over i of (x[i] - mean)^2; mean = 0 gives rmsnorm's sum of squares. Meanwhile the row at `ahead`, of as many
 * bytes as this one, is fetched into L2. It needn't exist. */
typedef float (*cpuk_row_sqdev_fn)(const void *x, float mean, size_t n, const void *ahead);
/* dst[i] = exp(x[i] - m), returns their sum. m = -inf (a row that is masked everywhere) is
 * taken as 0, so exp(-inf) = 0 and no NaN arises. dst may equal an f32 x. Fetches ahead as row_sqdev does. */
typedef float (*cpuk_row_exp_fn)(float *dst, const void *x, float m, size_t n, const void *ahead);
/* dst[i] = ((x[i] - mean) * rstd) * g[i] + b[i]; g NULL = 1, b NULL = 0. With mean 0, g and b NULL this is a plain
 * scale. g and b are f32. stream: write with non-temporal stores where dst is 64-byte aligned and won't be read soon
 * (an output larger than half of L3); the kernel fences before it returns. */
typedef struct cpuk_norm_args {
  void *dst;
  const void *x;
  const float *g, *b;
  float mean, rstd;
  size_t n;
  bool stream;
} cpuk_norm_args;
typedef void (*cpuk_row_norm_fn)(const cpuk_norm_args *args);

/* Three rows a call, each at another stage, so that the memory of one and the arithmetic of another go on at once: the
 * result of row r is written (non-temporal stores), the second number of row r + 1 is computed and the first number of
 * row r + 2.
 *   softmax: e[i] of row r * factor; e = exp(x[1] - m) and its sum; max(x[2])
 *   norm:    as cpuk_norm_args from x[0]; the sum of (x[1] - m)^2; sum(x[2])
 * Same element type in and out, the same bits as the single kernels. dst 64-byte aligned and so are the rows' bytes;
 * n a multiple of 64. The line at `ahead` + k is fetched when line k of x[2] is read. A table that can't stream has
 * none (NULL). */
typedef struct cpuk_pipe_args {
  void *dst;
  const void *x[3];   /* softmax doesn't read x[0] */
  float *e;           /* softmax: of row r on entry, of row r + 1 on return */
  const float *g, *b; /* norm */
  float mean, factor; /* of row r; softmax reads the factor */
  float m;            /* maximum or mean of row r + 1 */
  size_t n;
  const void *ahead;
  float second, first; /* results */
} cpuk_pipe_args;
typedef void (*cpuk_row_pipe_fn)(cpuk_pipe_args *args);

/* ---- data movement ----------------------------------------------------------------------------------------------- */

/* dst[r * dst_rs + c * dst_cs] = src[r * src_rs + c * src_cs], elements of 1, 2, 4 or 8 bytes (esize), r < rows, c <
 * cols. Fast when one stride on each side is 1 (row copies, block transposes); any strides are right. src strides may
 * be 0 (broadcast). No overlap. */
typedef struct cpuk_copy_args {
  void *dst;
  const void *src;
  ptrdiff_t dst_rs, dst_cs, src_rs, src_cs;
  size_t rows, cols, esize;
} cpuk_copy_args;
typedef void (*cpuk_copy2d_fn)(const cpuk_copy_args *args);
/* Copies bytes to memory that won't be read soon, past the caches where the machine can: no line of dst is read first.
 * No overlap. After the last such copy of a piece of work, and before another thread may read it, stream_fence. */
typedef void (*cpuk_stream_fn)(void *dst, const void *src, size_t bytes);
typedef void (*cpuk_fence_fn)(void);
/* dst[i] = *value, i < n. esize 1, 2, 4, 8. */
typedef void (*cpuk_fill_fn)(void *dst, const void *value, size_t esize, size_t n);
/* dst[i] = start + i * step (wrapping). */
typedef void (*cpuk_iota_fn)(int32_t *dst, int32_t start, int32_t step, size_t n);

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* convolve_width elements next to each other in the image, of which those in the set bits of `lanes`, n of them, are
 * places, next to each other in the result: where the first element is in the image, and the first place in a row of
 * the result. All elements are read. */
typedef struct cpuk_convolve_strip {
  int32_t from, to, n;
  uint32_t lanes;
} cpuk_convolve_strip;

/* So many places get all their rows before the next ones. */
enum { CPUK_CONVOLVE_PLACES = 384 };
/* c[i][to + j] = sum over l of a[i][l] * image[from + lane(j) + offsets[l]], lane(j) the j-th of `lanes`, a chain in
 * the order of l. Strips may overlap. */
typedef struct cpuk_convolve_args {
  float *c;
  ptrdiff_t ldc;
  const float *a; /* m x k, row-major */
  ptrdiff_t lda;
  const float *image;
  const int32_t *offsets; /* k */
  const cpuk_convolve_strip *strips;
  size_t n_strips, m, k;
  size_t k_step; /* as much of k is done for those places before the rest; 0: all */
  float *sums;   /* between two steps: m x CPUK_CONVOLVE_PLACES; not used if there is one */
} cpuk_convolve_args;
typedef void (*cpuk_convolve_fn)(const cpuk_convolve_args *args);

/* The kernels over strips, one per instruction set. */
typedef struct cpuk_lanes {
  cpuk_unary_fn unary[SC_N][CPUK_N_CT];
  cpuk_binary_fn binary[SC_N][CPUK_N_CT];
  cpuk_binary_fn binary_vs[SC_N][CPUK_N_CT];
  cpuk_binary_fn binary_sv[SC_N][CPUK_N_CT];
  cpuk_binary_fn cmp[CPUK_N_CMP][CPUK_N_CT];
  cpuk_binary_fn cmp_vs[CPUK_N_CMP][CPUK_N_CT];
  cpuk_select_fn select[4]; /* by log2 of the element size: 1, 2, 4, 8 bytes */
  cpuk_fma_fn fma[CPUK_N_CT]; /* all but bool */
  cpuk_convert_fn convert[CPUK_N_DTYPE][CPUK_N_DTYPE]; /* [from][to] */
  cpuk_convert_fn round_tf32; /* f32 to the nearest with ten digits behind the point, ties to even */
  cpuk_reduce_fn reduce[CPUK_N_REDUCE][CPUK_N_CT][CPUK_N_POLICY]; /* all but bool */
  cpuk_reduce_cols_fn reduce_cols[CPUK_N_REDUCE][CPUK_N_CT][CPUK_N_POLICY];
  cpuk_copy2d_fn copy2d;
  cpuk_stream_fn stream;
  cpuk_fence_fn stream_fence;
  cpuk_fill_fn fill;
  cpuk_iota_fn iota;
  cpuk_map_fn map; /* f32 */
  cpuk_convolve_fn convolve; /* f32 */
  int convolve_width;
} cpuk_lanes;

/* The fused reduction kernels, one table per instruction set. */
typedef struct cpuk_rows {
  cpuk_row_reduce_fn max[CPUK_N_ROW], sum[CPUK_N_ROW];
  cpuk_row_sqdev_fn sqdev[CPUK_N_ROW];
  cpuk_row_exp_fn exp[CPUK_N_ROW];
  cpuk_row_norm_fn norm[CPUK_N_ROW][CPUK_N_ROW]; /* [source][destination] */
  cpuk_row_pipe_fn softmax_pipe[CPUK_N_ROW], norm_pipe[CPUK_N_ROW];
} cpuk_rows;

/* ---- matrix multiplication --------------------------------------------------------------------------------------- */

/* C[m x n] = A[m x k] B[k x n]. A kind fixes the arithmetic; the operands' storage types may be any that pack can
 * convert exactly. */
typedef enum cpuk_gemm_kind {
  CPUK_GEMM_F32,       /* f32 x f32 -> f32. Also f16 x f16 and mixed floats: they're converted while they're packed */
  CPUK_GEMM_BF16,      /* bf16 x bf16 -> f32; packed as f32 where that's faster than the machine's bf16 dot product */
  CPUK_GEMM_F16,       /* f16 x f16 -> f32 (packed as f32) */
  CPUK_GEMM_S8S8,      /* s8 x s8 -> s32, exact (wrapping only past 2^31) */
  CPUK_GEMM_U8S8,      /* u8 x s8 -> s32, exact: the only signs that vpdpbusd multiplies */
  CPUK_GEMM_F64,       /* f64 x f64 -> f64; also any float, converted */
  CPUK_GEMM_F32_KAHAN, /* f32 (or f16, bf16) x same -> f64 accumulators: products exact, error far under Kahan's bound;
                          round C once at the end */
  CPUK_GEMM_F64_KAHAN, /* f64 x f64 -> f64 with a compensation matrix: Dot2 (Ogita, Rump, Oishi 2005), as if in twice
                          the precision */
  CPUK_GEMM_S16,       /* s8, u8 and s16 in any pair -> s32, exact (wrapping past 2^31); packed as s16 */
  CPUK_GEMM_S32,       /* integers of up to 32 bits in any pair -> s32, wrapping */
  CPUK_GEMM_S64,       /* any integers -> s64, wrapping */
  CPUK_N_GEMM
} cpuk_gemm_kind;

/* The kind for sums in acc (F32, F64, I32 or I64; the result's type before it is narrowed) of products of these types.
 */
cpuk_gemm_kind cpuk_gemm_kind_for(cpuk_dtype acc, cpuk_dtype a, cpuk_dtype b, bool compensated);

/* What pack_a and pack_b read. For A: rows = m, cols = k. For B: rows = k, cols = n. Any strides, so a transposed
 * operand is a swap of the two. */
typedef struct cpuk_pack_args {
  void *dst;       /* 64-byte aligned, packed_a_bytes(rows, cols) or packed_b_bytes(rows, cols) */
  const void *src; /* element (0, 0) */
  cpuk_dtype type; /* of src; see pack_types */
  ptrdiff_t rs, cs;
  size_t rows, cols;
} cpuk_pack_args;

/* One call of block: C (+)= A B. */
typedef struct cpuk_block_args {
  void *c;       /* m x n of acc_type, row-major; never read when accumulate is false */
  ptrdiff_t ldc; /* row stride of C (and of comp), >= n */
  void *comp;    /* F64_KAHAN only: m x n f64, read when accumulate, always written. The result is c + comp */
  const void *a; /* packed by pack_a when lda == 0, else in place: row-major, a_inplace type, row stride lda */
  ptrdiff_t lda;
  const void *b; /* packed by pack_b with the same k */
  /* Or plain B, packed b_chunk panels at a time on the way: then `b` is NULL, b_plain tells the source (k x n; its dst
   * is scratch of b_chunk * b_panel_bytes(k), 64-byte aligned, one per thread). For when few blocks share a piece of B:
   * it never goes to memory. */
  const cpuk_pack_args *b_plain;
  size_t m, n, k; /* any values; k = 0 gives C = 0 (or leaves it when accumulate) */
  bool accumulate; /* C = C + A B; false: C = A B */
  /* Kinds whose instruction flushes denormals: whether the sums in C may hold some, or numbers that add up to some.
   * False before the first of the blocks that make one product; each block sets it where it could have made such sums.
   * NULL: nothing is known, so sums that are accumulated to are looked at. */
  bool *small_sums;
} cpuk_block_args;

/* Few rows: C (+)= A B for m <= CPUK_SKINNY_M, B plain and read once from memory, in order, at memory speed. */
#define CPUK_SKINNY_M 16
typedef struct cpuk_skinny_args {
  void *c;       /* m x n of acc_type, row-major */
  ptrdiff_t ldc;
  const void *a; /* m x k, row-major, the kind's A type (F32, BF16, F16, S8, U8, F64) */
  ptrdiff_t lda;
  const void *b; /* the kind's B type; b_cs == 1 (row-major K x N) or b_rs == 1 (transposed, N x K row-major) */
  ptrdiff_t b_rs, b_cs;
  size_t m, n, k;
  bool accumulate;
} cpuk_skinny_args;

/* One kind's kernels. In all of them every element of C is one chain of operations over k in ascending order, whose
 * order depends on (kind, ISA, k) only: the bits don't depend on where blocks of m and n are cut, nor on which thread
 * runs them; for f32 on FMA machines and for integers they don't even depend on how k is cut (accumulate continues the
 * same chain; BF16 dot kernels: cut at multiples of kr). skinny has an order of its own, so choose it by shape alone
 * (cpuk_gemm_plan does). */
typedef struct cpuk_gemm {
  const char *name;     /* for traces: "f32 6x64 avx512" */
  cpuk_dtype pack_type; /* what the operands become in the panels: F32, F64, BF16, I8, I16, I32, I64 */
  cpuk_dtype acc_type;  /* F32, F64, I32 or I64 */
  uint32_t pack_types;  /* bit (1u << t): pack_a and pack_b accept cpuk_dtype t */
  int a_inplace; /* the cpuk_dtype that A must have to be used without packing, or -1: A must always be packed. In place
                  * k must be a multiple of kr */
  uint16_t mr, nr, kr;  /* register tile: rows, columns; k is padded with zeros to a multiple of kr in the panels */
  uint16_t b_chunk;     /* panels packed at a time from a plain B: about 512 bytes of each of its rows */
  /* Bytes of packed operands. B is n/nr panels of b_panel_bytes(k) each, one after the other, so columns [j, j + w)
   * with j a multiple of nr may be packed on their own, by any thread, to dst + (j / nr) * b_panel_bytes(k), in any
   * order; and a block may start there. A likewise: rows [i, i + h), i a multiple of mr, to dst + (i / mr) *
   * a_panel_bytes(k). All are multiples of 64. */
  size_t (*a_panel_bytes)(size_t k);
  size_t (*b_panel_bytes)(size_t k);
  void (*pack_a)(const cpuk_pack_args *args);
  void (*pack_b)(const cpuk_pack_args *args);
  void (*block)(const cpuk_block_args *args);
  void (*skinny)(const cpuk_skinny_args *args); /* NULL where there's none (the KAHAN kinds, S16, S32, S64) */
} cpuk_gemm;

static inline size_t cpuk_packed_a_bytes(const cpuk_gemm *g, size_t m, size_t k) {
  return (m + g->mr - 1) / g->mr * g->a_panel_bytes(k);
}
static inline size_t cpuk_packed_b_bytes(const cpuk_gemm *g, size_t k, size_t n) {
  return (n + g->nr - 1) / g->nr * g->b_panel_bytes(k);
}

/* ---- Fourier transforms ------------------------------------------------------------------------------------------ */

enum { CPUK_DFT_MOST_RADIX = 16, CPUK_DFT_MOST_STAGES = 24 };

/* One pass over a line: m s r = its length, s the product of the radices before. r is 2, 3, 4, 5, 7, 8, 11, 13 or
 * 16. */
typedef struct cpuk_dft_stage {
  int radix;
  size_t m, s;
  const void *w; /* exp(-2 pi i p k / (r m)) for each p < m and 0 < k < r, pairs of the element type */
} cpuk_dft_stage;

/* Of lines of n points; tables are of the element type but for those of twiddle factors, which are doubles. */
typedef struct cpuk_dft_plan {
  size_t n, length; /* length: of the passes; n, or what a convolution has that n points become */
  int n_stages;
  cpuk_dft_stage stage[CPUK_DFT_MOST_STAGES];
  const void *chirp;    /* NULL: no convolution. exp(-pi i j^2 / n), n pairs */
  const void *spectrum; /* of the other chirp: `length` pairs */
  /* Transforms of n points that are a pass of one of n times `twiddled` points; 0: they are not. exp(-2 pi i e / all)
   * of any e is coarse[e / n_fine] fine[e % n_fine]; beside: for each k that of k times the lane. */
  size_t twiddled, n_fine;
  const double *coarse, *fine;
  const void *beside;
} cpuk_dft_plan;

/* Of tensors of pairs of numbers, in elements: how far the points of a line are from one another, and its two parts;
 * and where each line begins. */
typedef struct cpuk_dft_side {
  ptrdiff_t point, part;
  const ptrdiff_t *line;
} cpuk_dft_side;

/* As many lines as there are lanes, or fewer, at least one. Results are multiplied by scale. inverse: the exponents'
 * sign is +. */
typedef struct cpuk_dft_args {
  const cpuk_dft_plan *plan;
  const void *x;
  void *y;
  cpuk_dft_side in, out;
  size_t n_lines;
  const size_t *place; /* of each line, below plan->twiddled */
  bool in_row; /* places follow one another and none but the first is a multiple of the lanes' number */
  double scale;
  bool inverse;
  void *scratch; /* cpuk_dft_scratch_bytes, 64-byte aligned */
} cpuk_dft_args;

/* [0]: f32, [1]: f64. */
typedef struct cpuk_dft {
  int lanes[2];
  void (*lines[2])(const cpuk_dft_args *args);
} cpuk_dft;

static inline size_t cpuk_dft_scratch_bytes(const cpuk_dft *d, bool f64, size_t length) {
  return 4 * length * (size_t)d->lanes[f64] * (f64 ? 8 : 4);
}

/* ---- the tables -------------------------------------------------------------------------------------------------- */

typedef struct cpuk_table {
  const char *isa;      /* the knob's word: portable, avx2, avx512, amx, neon */
  const char *features; /* what is used: "avx512 vnni bf16" */
  const cpuk_lanes *lanes;
  const cpuk_rows *rows;
  const cpuk_dft *dft;
  const cpuk_gemm *gemm[CPUK_N_GEMM]; /* all non-NULL */
  const block_kernels *blocks; /* products with matrices in block formats */
  const struct cpuk_winograd *winograd; /* winograd.h */
  /* Once per thread before, and once after, a run of gemm calls: AMX loads and releases its tile configuration;
   * elsewhere they do nothing. Cheap (tens of ns), so a worker may bracket each launch. A table's other functions may
   * be called in between. */
  void (*thread_begin)(void);
  void (*thread_end)(void);
} cpuk_table;

/* The table for isa: NULL, "" or "auto" is the best that this machine has; a name (TSR_CPU_ISA's words) forces it.
 * Returns NULL and writes one line to err (cut at err_bytes) for an unknown name or one that this machine can't run.
 * The first call for amx asks the kernel for permission (arch_prctl), which later threads inherit. Thread-safe. */
const cpuk_table *cpuk_select(const char *isa, char *err, size_t err_bytes);
/* The i-th table that this machine can run, from best to portable; NULL past the end. For tests and `tessera devices`.
 */
const cpuk_table *cpuk_available(size_t i);

/* Cache sizes in bytes, as one thread sees them; from cpuid or sysfs, with 32 KiB, 512 KiB, 8 MiB where nothing is
 * known. Asked for once. */
typedef struct cpuk_caches {
  size_t l1d, l2, l3;
} cpuk_caches;
cpuk_caches cpuk_cache_sizes(void);

/* How to run one matmul. What the bits depend on, skinny and bk, depends on kind, table, shape and caches, never on the
 * number of threads. The launch:
 *   skinny: split n (multiples of nr) over the threads, one skinny call each; nothing below applies.
 *   else: the grid of C blocks is bm x bn. B is packed once per launch (or ahead) into a shared buffer, for each k
 *   block of bk rows: panels of nr columns, k block kb starting at packed_b_bytes(kb * bk ...) i.e. at
 *   kb * (n_panels * b_panel_bytes(bk)). Then each C block runs its k blocks in order: pack (or use in place)
 *   A[bm x bk], block(accumulate = kb > 0). Threads take C blocks in the order of `column_major` so that neighbours
 *   share what is in L2/L3. See docs/cpu-kernels.md. */
typedef struct cpuk_plan {
  bool skinny;
  bool a_inplace;    /* A needn't be packed: its rows don't collide in the caches and its type is the kernel's */
  bool b_on_the_way; /* B is packed inside block (b_plain); no shared buffer, no flags */
  bool column_major; /* walk C blocks down the columns of the grid (B panel hot) rather than along its rows (A block
                        hot) */
  size_t bm, bn, bk; /* bm a multiple of mr, bn of nr, bk of kr; at most the padded shape */
} cpuk_plan;

typedef struct cpuk_plan_args {
  cpuk_gemm_kind kind;
  size_t m, n, k;
  cpuk_dtype a_type, b_type;
  ptrdiff_t a_rs, a_cs, b_rs, b_cs;
  bool b_packed;    /* B was packed ahead, so skinny (which wants plain B) isn't chosen */
  unsigned threads; /* 0 = 1. Moves bm and bn only */
} cpuk_plan_args;
cpuk_plan cpuk_gemm_plan(const cpuk_table *t, const cpuk_plan_args *args);
cpuk_plan cpuk_gemm_plan_for(const cpuk_table *t, const cpuk_plan_args *args,
                             const cpuk_caches *caches); /* for a machine of these caches */
/* The skinny kernel takes these operand types, and is the fastest for so few rows. Reads kind, m, the types and B's
 * strides. */
bool cpuk_skinny_fits(const cpuk_gemm *g, const cpuk_plan_args *args);
/* A tile's rows, `stride` bytes apart, find room in L1 together. */
bool cpuk_rows_keep(const cpuk_gemm *g, size_t stride);

#ifdef __cplusplus
}
#endif
#endif
