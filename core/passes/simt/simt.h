/* core/passes/simt/simt.h - Tile IR (block-collective) to Target IR (code of one thread) for the SPIR-V, CUDA, HIP and
 * host dialects; everything that differs between devices comes from tsr_caps.
 *
 * How a fragment becomes registers. A layout says, per dimension, which element a register of a thread holds:
 *     element = (((rep * warps + warp) * inner + i) * lanes + lane) * vec + e
 * with e < vec, lane < lanes, i < inner, warp < warps and rep as large as the extent asks for; lane and warp are digits
 * of the thread's lane and subgroup number, the last dimension's digit being the fastest. Registers are numbered
 * row-major over the dimensions' (rep, i, e). Elements past the extent exist but mean nothing; dimensions of extent 1
 * are repeated over their lanes and warps. Fragments that meet in an elementwise op, a loop or a reduction get one
 * layout (simt/layout.c), so these never move data. The accumulators of mma.sync (vec 2, lanes 8x4, inner 2), wgmma,
 * MFMA (vec 4 rows) and WMMA are such layouts too: their maps, reductions and stores need no code of their own.
 * Registers are SSA scalars.
 *
 * A kernel with the attribute `cluster` = [c, 1, 1] has blocks of c times the threads: their subgroups count on through
 * the cluster, so that layouts spread a fragment over all of it. Reductions then combine in each block, and the blocks'
 * results through each other's shared memory; nothing else may exchange data (simt/cluster.c).
 *
 * Threads of a block (kernel attribute `warps` wins): registers wanted per thread = 64 for a gemm accumulator, 32 for
 * other fragments of a kernel with a reduction, 8 else (128, 128 and 16 on subgroups of at most 8 lanes, where a
 * subgroup is a SIMD register of a CPU); an fft stage gets one thread per radix points. Rounded up to a power of two of
 * subgroups.
 *
 * A matrix path is a way to do gemm. To add one: fill a simt_matrix_path, list it in simt_paths (simt/matrix/paths.c),
 * best first. `fits` is asked for every gemm of a kernel; the first path that takes them all is used, else `fma` (the
 * SIMT outer product, which always fits). The kernel's attribute `matrix`, or TSR_MATRIX, forces one by name. The
 * kernel's attributes `path` and `why` tell the outcome.
 *   - layout: fills vec, lanes, inner and warps of the accumulator's two dimensions, for the smallest accumulator
 * extents of the group (m, n); it must use all of c->warps where it can. reps is derived.
 *   - gemm: acc (scalars in that layout) + A * B -> out. Operands are simt_mem: pointer, base index, strides, both for
 * shared and for global memory; `frag` is set when the operand is a fragment (its registers, for paths that feed them
 *     directly; mem is then its spilled copy, made only if `wants_mem(operand)`).
 *   - opaque paths (cooperative matrices) keep accumulators as n_opaque values of their own types; they add `fill` (a
 * constant accumulator), `to_regs` and `from_regs` (conversion to and from scalars in the layout, through
 * simt_scratch), `store` (whole tile to memory without conversion, false if it can't) and optionally `map`, `load` and
 * `reduce` on accumulators, with `keeps`. A loop carries them as they are. Helpers for paths: the sx_ functions build
 * simplified, value-numbered code at the insertion point; simt_read / simt_write announce shared memory accesses and
 * insert the barriers that hazards need; simt_scratch gives shared bytes for the current op. */
#ifndef CORE_PASSES_SIMT_SIMT_H
#define CORE_PASSES_SIMT_SIMT_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Lowers all kernels and the program of a verified Tile IR module. The result is verified. TSR_UNSUPPORTED names the op
 * and the missing capability or exceeded limit. */
tsr_status tile_to_simt(const ir_module *tile, const tsr_caps *caps, ir_module **out);

typedef struct simt simt;

typedef struct simt_layout {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  int vec[TSR_MAX_RANK], lanes[TSR_MAX_RANK], inner[TSR_MAX_RANK], warps[TSR_MAX_RANK], reps[TSR_MAX_RANK];
  int n_regs;
} simt_layout;

/* A fragment's value. Exactly one of: splat (every element), v with n registers, v with n opaque values. */
typedef struct simt_frag {
  const simt_layout *layout;
  tsr_dtype dtype;
  ir_value *splat;
  ir_value **v;
  int n;
  bool opaque;
} simt_frag;

/* Memory of a tile: element (c0, c1, ...) lies at ptr[base + sum c_i * strides_i]. Coordinates are inside while c_i <
 * limit[i] (NULL: always, within dims) and `inside` holds (NULL: always); outside reads are 0. */
typedef struct simt_mem {
  ir_value *ptr, *base;
  tsr_dtype dtype;
  bool shared;
  int rank;
  int64_t dims[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  int64_t mult;               /* base is a multiple of it, in elements; 0 = base is 0 */
  ir_value *limit[TSR_MAX_RANK];
  int64_t limit_mult[TSR_MAX_RANK]; /* the limit is a multiple of it */
  ir_value *inside;
  int64_t lo, hi;             /* shared: byte range, for hazards */
} simt_mem;

typedef struct simt_operand {
  simt_mem mem;
  const simt_frag *frag; /* NULL when the operand lies in memory */
  bool transposed;       /* a: stored [k, m]; b: stored [n, k] */
} simt_operand;

typedef struct simt_gemm {
  const ir_op *op;
  int64_t m, n, k;
  tsr_dtype a, b, c;
  bool kahan;
  simt_operand A, B; /* valid in gemm(), not in fits() */
} simt_gemm;

typedef struct simt_matrix_path {
  const char *name;
  matrix_scope scope; /* of cooperative matrices: those of a subgroup, or of the whole block */
  unsigned ops; /* the set of ops it is made of (core/device/dialect.h); 0: every GPU's */
  bool opaque;
  bool wide_index; /* kernels compute indices in 64 bits and number their lanes apart from threads */
  bool broadcasts; /* all lanes read the same of a, a word at a time */
  /* NULL if the path can do it, else a constant sentence: why not; empty where the device has nothing of the kind. */
  const char *(*fits)(const simt *c, const simt_gemm *g);
  void (*layout)(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l);
  bool (*wants_mem)(const simt *c, const simt_gemm *g, int operand);
  tsr_status (*gemm)(simt *c, const simt_gemm *g, const simt_frag *acc, simt_frag *out);
  /* opaque paths only */
  tsr_status (*fill)(simt *c, const simt_layout *l, tsr_dtype t, ir_value *scalar, simt_frag *out);
  tsr_status (*to_regs)(simt *c, const simt_frag *f, simt_frag *out);
  tsr_status (*from_regs)(simt *c, const simt_frag *f, simt_frag *out);
  bool (*store)(simt *c, const simt_frag *f, const simt_mem *to);
  /* Optional: will v stay opaque? Then maps, loads and reductions of such values: *done = false leaves them to the
   * registers. */
  bool (*keeps)(const simt *c, const ir_value *v);
  tsr_status (*map)(simt *c, ir_op *op, bool *done);
  tsr_status (*load)(simt *c, const ir_op *op, const simt_mem *m, const simt_layout *l, simt_frag *out, bool *done);
  tsr_status (*reduce)(simt *c, ir_op *op, bool *done);
  int64_t (*shared_kept)(const simt *c); /* bytes of shared memory that the driver takes */
} simt_matrix_path;

extern const simt_matrix_path *const simt_paths[]; /* ended by NULL; the last one is fma */

struct simt {
  const tsr_caps *caps;
  ir_module *m;      /* Target IR being made */
  const ir_op *tile; /* the kernel being lowered */
  ir_op *out;        /* its Target IR kernel */
  ir_builder b;      /* insertion point */
  ir_op *anchor;     /* constants go before it */
  int subgroup;
  int cluster;       /* blocks that share the kernel's tile; 1 = none */
  int warps, threads; /* of all of them */
  ir_value *lane, *warp, *tid; /* warp counts through the cluster, tid within the block */
  ir_value *rank, *block_warp; /* this block in the cluster; the subgroup within the block */
  const simt_matrix_path *path;
  const char *requested_path; /* as simt_requested_path says; set by simt_choose_path */
  const char *why;
  const char *refused; /* why a lowering of whole kernels that was asked for doesn't take this one; or NULL */
  tsr_matrix_shape shape; /* chosen by the path's fits/layout, where it needs one */
  bool wide_index;
  struct simt_impl *in;   /* private to the pass */
};

/* ---- building code (simt/build.c) ------------------------------------------------------------------------ */

/* All return NULL after out of memory, and accept NULL operands then; c->b.failed is sticky. */
ir_value *sx_op(simt *c, int code, const ir_type *type, int n,
                ir_value *const *operands); /* result type NULL = the first operand's */
ir_op *sx_effect(simt *c, int code, int n, ir_value *const *operands);                      /* no result */
ir_value *sx_int(simt *c, int64_t v);                                                       /* index */
ir_value *sx_num(simt *c, tsr_dtype t, double v);
bool sx_const(const ir_value *v, int64_t *out);
ir_value *sx_add(simt *c, ir_value *a, ir_value *b);
ir_value *sx_sub(simt *c, ir_value *a, ir_value *b);
ir_value *sx_mul(simt *c, ir_value *a, ir_value *b);
ir_value *sx_div(simt *c, ir_value *a, ir_value *b); /* index operands must not be negative */
ir_value *sx_rem(simt *c, ir_value *a, ir_value *b);
ir_value *sx_min(simt *c, ir_value *a, ir_value *b);
ir_value *sx_addi(simt *c, ir_value *a, int64_t k);
ir_value *sx_muli(simt *c, ir_value *a, int64_t k);
ir_value *sx_compare(simt *c, const char *predicate, ir_value *a, ir_value *b);
ir_value *sx_all(simt *c, ir_value *a, ir_value *b); /* and of two bools; NULL = true */
ir_value *sx_select(simt *c, ir_value *cond, ir_value *a, ir_value *b);
ir_value *sx_cast(simt *c, ir_value *v, tsr_dtype t); /* scalar or vector, no-op if it is one already */
ir_value *sx_fma(simt *c, ir_value *a, ir_value *b, ir_value *acc);
ir_value *sx_load(simt *c, const simt_mem *m, ir_value *index, int n); /* n = 1 scalar, else vector */
/* The index that a masked load reads instead, its value unused: the tile's own first element where other parts of the
 * memory may be written at the same time, else 0. */
ir_value *simt_harmless(simt *c, const simt_mem *m);
void sx_store(simt *c, const simt_mem *m, ir_value *index, ir_value *v);
ir_value *sx_extract(simt *c, ir_value *v, int at);
ir_value *sx_vector(simt *c, int n, ir_value *const *v);
/* Registers that a region yields, w neighbours as one vector (of sx_pack_type), and back. w = sx_together(n, run): on
 * AMD the run of neighbours in memory, since its compiler spreads narrow ones over a register each; elsewhere 1. */
int sx_together(const simt *c, int n, int run);
const ir_type *sx_pack_type(simt *c, tsr_dtype t, int w);
void sx_pack(simt *c, int n, int w, ir_value *const *v, ir_value **out); /* out may be v */
void sx_unpack(simt *c, int n, int w, ir_value *const *v, ir_value **out);
/* A region on which the insertion point stands until sx_close; results are what it yields. */
ir_op *sx_if(simt *c, ir_value *cond, int n_results, const ir_type *const *types, bool with_else);
void sx_else(simt *c, ir_op *op, int n, ir_value *const *yields); /* closes the first region, opens the second */
void sx_close(simt *c, ir_op *op, int n, ir_value *const *yields);

/* ---- layouts ------------------------------------------------------------------------------------------------------
 */

/* Fills reps and n_regs. */
void simt_layout_finish(simt_layout *l);
/* Offset of register r along dimension d, apart from the thread's part. */
int64_t simt_reg_offset(const simt_layout *l, int r, int d);
/* The thread's part of the coordinate along d. */
ir_value *simt_thread_offset(simt *c, const simt_layout *l, int d);
/* Largest value of the thread's part. */
int64_t simt_thread_max(const simt_layout *l, int d);
/* Lane digit and warp digit of the thread along d. */
ir_value *simt_lane_of(simt *c, const simt_layout *l, int d);
ir_value *simt_warp_of(simt *c, const simt_layout *l, int d);
/* True in the one thread of several that hold the same element; NULL if no element is held twice. */
ir_value *simt_owner(simt *c, const simt_layout *l);
/* f as registers of its layout (materialises splats, converts opaque values). */
tsr_status simt_regs(simt *c, const simt_frag *f, simt_frag *out);

/* ---- shared memory ------------------------------------------------------------------------------------------------
 */

/* Bytes of shared memory for the op being lowered; *lo receives their offset. TSR_UNSUPPORTED beyond the device's
 * limit. */
tsr_status simt_scratch(simt *c, int64_t bytes, int64_t *lo);
/* A row-major tile of the given dims in that memory, rows padded by pad elements. */
tsr_status simt_scratch_tile(simt *c, tsr_dtype t, int rank, const int64_t *dims, int64_t pad, simt_mem *out);
/* Announce that the block is about to read or write shared bytes [lo, hi): a barrier is inserted if an earlier access
 * since the last barrier conflicts. */
void simt_read(simt *c, int64_t lo, int64_t hi);
void simt_write(simt *c, int64_t lo, int64_t hi);
/* A barrier now; forgets all pending accesses. */
void simt_barrier(simt *c);
/* A fragment's registers to memory and back, with bounds, conversion and the widest legal accesses. */
tsr_status simt_store_frag(simt *c, const simt_frag *f, const simt_mem *to);
tsr_status simt_load_frag(simt *c, const simt_mem *from, const simt_layout *l, tsr_dtype t, simt_frag *out);

#endif
