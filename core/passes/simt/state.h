/* core/passes/simt/state.h - what all files of the pass stand on: the types, bindings of values, refusals, what an op
 * asks for; see simt/simt.h. Each other file declares what it gives in a header of its own name. */
#ifndef CORE_PASSES_SIMT_STATE_H
#define CORE_PASSES_SIMT_STATE_H
#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/device/caps.h"
#include "core/ir/matrix_path.h"
#include "core/ir/target/target.h"
#include "core/ir/tile/tile.h"

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
  int64_t windowed;           /* elements of an argument that is bound piece by piece (caps max_range_bytes), else 0 */
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
  bool only_asked; /* taken where it is asked for by its name alone */
  bool rasters;    /* blocks walk the output in the order of simt_raster_order */
  bool two_waves;  /* AMD: accumulators that half of a lane's registers hold, see kernel.c */
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
  const matrix_path *requested_path; /* as simt_requested_path says; set by simt_choose_path */
  const char *why;
  const char *refused; /* why a lowering of whole kernels that was asked for doesn't take this one; or NULL */
  tsr_matrix_shape shape; /* chosen by the path's fits/layout, where it needs one */
  bool wide_index;
  struct simt_impl *in;   /* private to the pass */
};

/* Fragments that must share a layout (union-find over values). */
typedef struct simt_group {
  struct simt_group *up; /* NULL = root */
  int rank;
  int64_t min_dims[TSR_MAX_RANK]; /* smallest extent above 1 per dimension, 1 if there is none */
  int64_t max_dims[TSR_MAX_RANK];
  int64_t max_count;
  bool reduced[TSR_MAX_RANK];
  int access;                 /* elements of the widest access that all loads and stores allow; 0 = none seen */
  int word;                   /* elements in 8 bytes of what is loaded from global memory; 0 = nothing is */
  const ir_op *gemm;          /* first gemm with its accumulator here */
  int radix;                  /* of the last fft stage */
  bool done;
  simt_layout l;              /* vec, lanes, inner, warps; dims unset */
} simt_group;

/* What a Tile IR value became; hangs on ir_value.data while its kernel is lowered. */
typedef enum simt_kind { SV_NONE, SV_SCALAR, SV_MEM, SV_FRAG } simt_kind;

typedef struct simt_val {
  simt_kind kind;
  ir_value *v;       /* SV_SCALAR: index or scalar */
  ir_value *wide;    /* SV_SCALAR: the value in the type that a cast of v asks for, without v's rounding; or NULL */
  int64_t lo, hi;    /* SV_SCALAR of index type: range, and a divisor */
  int64_t mult;      /* 0 = the value is 0 */
  simt_mem mem;      /* SV_MEM */
  simt_frag frag;    /* SV_FRAG */
  int stages;        /* SV_MEM of a shared tile: copies kept for a pipelined loop */
  int64_t stage_bytes;
  simt_group *group; /* fragments */
} simt_val;

typedef struct simt_known { /* value-numbering entry */
  uint64_t hash;
  ir_value *v;
  uint32_t below; /* index + 1 of the entry before it in its bucket */
} simt_known;

typedef struct simt_access { int64_t lo, hi; bool write; } simt_access;
typedef struct simt_region {
  int64_t lo, hi;
  int from, to;
} simt_region; /* shared bytes over a range of op positions */

enum { SIMT_MAX_ACCESS = 64, SIMT_MAX_REGION = 96, SIMT_MAX_REGS = 1024 };
enum { SIMT_BUCKETS = 1024, SIMT_CONSTANT_BUCKETS = 256 };

struct simt_impl {
  simt_known *known;
  size_t n_known, cap_known;
  uint32_t buckets[SIMT_BUCKETS]; /* index + 1 of the newest entry */
  const ir_opdef *defs[TG_MAP + 2];
  simt_known *constants;
  size_t n_constants, cap_constants;
  uint32_t constant_buckets[SIMT_CONSTANT_BUCKETS];
  simt_layout **layouts;
  size_t n_layouts, cap_layouts;
  /* shared memory */
  simt_access access[SIMT_MAX_ACCESS];
  int n_access;
  simt_region region[SIMT_MAX_REGION];
  int n_region;
  int64_t shared_bytes;
  bool unstaged; /* pipelined copies of tiles are not wanted */
  bool staged;   /* some tile has them */
  bool overflow; /* an allocation failed */
  tsr_status (*lower)(simt *c, ir_op *op); /* simt_lower_op, for the files below simt/walk.c */
  const ir_op *op; /* being lowered */
  int position; /* of the Tile IR op being lowered */
  int64_t exchange, exchange_end; /* free bytes for the exchanges of a cluster */
  struct simt_stage_queue *queue; /* a loop of TMA and wgmma, see simt/whole/stage_queue.c; NULL = none */
  bool cluster_begun; /* other blocks are known to run: cluster_sync's first half was waited for */
  ir_value *block_id[3];
  ir_value *coord[TSR_MAX_RANK]; /* of the element whose map region is being inlined */
  int64_t coord_max[TSR_MAX_RANK];
};

#define SIMT_WHERE(op, hint_) ST_WHERE("tile", (op)->def->name, hint_)

static inline simt_val *simt_of(const ir_value *v) { return v->data; }
/* Binds v (in the target module's arena); NULL when out of memory. */
simt_val *simt_bind(simt *c, ir_value *v, simt_kind kind);
tsr_status simt_unsupported(const simt *c, const ir_op *op, const char *hint, const char *fmt, ...) TSR_PRINTF(4, 5);
/* At most `widest`, and what the access op asks for in `vectorize`. */
int simt_asked_width(const ir_op *access, int widest);
simt_gemm simt_gemm_of(const ir_op *op); /* shapes and types of a gemm or mma_sync */
tsr_status simt_lower_block(simt *c, const ir_block *b);
/* Do indices into it need 64 bits? */
bool simt_view_is_wide(const ir_type *t);
/* Of a shared tile; more than any device has where the number overflows. */
int64_t simt_shared_bytes(const ir_type *t);

/* tf32 names how a matrix instruction reads a float. */
static inline tsr_dtype simt_in_memory(tsr_dtype t) { return t == TSR_TF32 ? TSR_F32 : t; }

#endif
