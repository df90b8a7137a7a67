/* core/passes/simt/state.h - what the files of the pass share and matrix paths don't need; see simt/simt.h. */
#ifndef CORE_PASSES_SIMT_STATE_H
#define CORE_PASSES_SIMT_STATE_H
#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/ir/target/target.h"
#include "core/ir/tile/tile.h"
#include "core/passes/simt/simt.h"

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
  size_t below; /* index + 1 of the entry before it in its bucket */
} simt_known;

typedef struct simt_access { int64_t lo, hi; bool write; } simt_access;
typedef struct simt_region {
  int64_t lo, hi;
  int from, to;
} simt_region; /* shared bytes over a range of op positions */

enum { SIMT_MAX_ACCESS = 64, SIMT_MAX_REGION = 96, SIMT_BUCKETS = 4096, SIMT_MAX_REGS = 1024 };

struct simt_impl {
  simt_known *known;
  size_t n_known, cap_known;
  size_t buckets[SIMT_BUCKETS]; /* index + 1 of the newest entry */
  const ir_opdef *defs[TG_MAP + 2];
  simt_known *constants;
  size_t n_constants, cap_constants;
  size_t constant_buckets[SIMT_BUCKETS];
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

/* build */
ir_value *sx_constant(simt *c, const ir_type *type, bool is_int, int64_t i, double f);
/* An op that is made once for the same operands. */
ir_value *sx_numbered(simt *c, int code, const ir_type *type, const char *predicate, int n, ir_value *const *v);
size_t sx_mark(const simt *c);
void sx_forget(simt *c, size_t mark);
int sx_hoist(ir_op *kernel); /* moves loop-invariant pure ops out of loops */
ir_value *sx_splat(simt *c, int n, ir_value *v);

/* analysis */
tsr_status simt_analyse(simt *c);
tsr_status simt_choose_threads(simt *c);
const simt_layout *simt_layout_of(simt *c, const ir_value *frag, tsr_status *st);
const simt_layout *simt_layout_intern(simt *c, const simt_layout *l);
simt_group *simt_group_of(const ir_value *v);
/* Layout of a copy of dims: neighbouring threads along the last dimension, v elements each. */
const simt_layout *simt_copy_layout(simt *c, int rank, const int64_t *dims, int vec);
bool simt_is_carried_opaque(const simt *c, const ir_op *loop, int i);

/* memory */
int simt_access_width(const simt *c, const simt_mem *m, int want);
/* At most `widest`, and what the access op asks for in `vectorize`. */
int simt_asked_width(const ir_op *access, int widest);
/* Registers [r0, r1) of a fragment in layout l, from or to memory; v is indexed from r0. clipped: check m's limits too.
 */
tsr_status simt_access_regs(simt *c, const simt_layout *l, const simt_mem *m, bool store, bool clipped, int r0, int r1,
                            ir_value **v);
/* The condition under which register r (and its w - 1 neighbours) lies in the tile and, if clipped, in the view; NULL =
 * always. *never: statically outside. */
ir_value *simt_register_guard(simt *c, const simt_layout *l, const simt_mem *m, bool clipped, int r, bool *never);
ir_value *simt_interior(simt *c, const simt_mem *m); /* NULL = always inside */
tsr_status simt_lower_view(simt *c, ir_op *op);
tsr_status simt_lower_window(simt *c, ir_op *op);
tsr_status simt_copy_async(simt *c, const simt_layout *l, const simt_mem *from, const simt_mem *to, int w);
tsr_status simt_copy(simt *c, const ir_op *op, const simt_mem *from, const simt_mem *to);
tsr_status simt_load_clipped(simt *c, const simt_layout *l, const simt_mem *m, ir_value **v);
tsr_status simt_gather_reg(simt *c, const ir_op *op, const simt_layout *l, const simt_mem *view, int r, ir_value **out);
tsr_status simt_lower_gather(simt *c, ir_op *op, const simt_mem *to);
tsr_status simt_lower_scatter(simt *c, ir_op *op);

/* simd */
bool simt_is_simd(const simt *c); /* a subgroup is a SIMD register of a CPU */
enum { SIMT_LANE_N_WORD = 4 }; /* bytes that a lane reads at once on the path lane_n */
tsr_status simt_fma_gemm(simt *c, const simt_gemm *g, const simt_frag *acc,
                         simt_frag *out); /* gemm of fma and lane_n */
ir_value *simt_simd_load(simt *c, const simt_mem *m, ir_value *index, const ir_type *type,
                         int n); /* NULL: an ordinary load will do */

/* element code */
tsr_status simt_lower_scalar(simt *c, ir_op *op);
tsr_status simt_inline(simt *c, const ir_block *region, ir_value **yields); /* region arguments must be bound */
/* The register of a (possibly repeated) operand that belongs to register r of the result. */
int simt_operand_reg(const simt_layout *result, const simt_layout *operand, int r);
tsr_status simt_lower_map(simt *c, ir_op *op);
tsr_status simt_lower_reduce(simt *c, ir_op *op);
/* A compensated sum's result: with what it lost, where that is finite; an infinite sum's loss is inf - inf. */
ir_value *simt_compensated(simt *c, ir_value *sum, ir_value *lost);
tsr_status simt_lower_transpose(simt *c, ir_op *op);
tsr_status simt_lower_reshape(simt *c, ir_op *op);
tsr_status simt_lower_fft(simt *c, ir_op *op);
tsr_status simt_lower_gemm(simt *c, ir_op *op);
simt_gemm simt_gemm_of(const ir_op *op); /* shapes and types of a gemm or mma_sync */
tsr_status simt_choose_path(simt *c);
/* The matrix path that the kernel, its schedule or TSR_MATRIX asks for; "auto" where nobody does. */
const char *simt_requested_path(const ir_op *kernel);

/* clusters */
tsr_status
simt_cluster_check(const simt *c); /* TSR_UNSUPPORTED where the kernel has an op that a cluster can't share */
tsr_status simt_cluster_plan(simt *c);        /* shared memory for the exchanges of all reductions */
void simt_cluster_enter(simt *c);             /* rank and warp through the cluster; says that this block runs */
/* Each v, which all threads of a block have alike, of every block: that of block b is all[i * cluster + b]. */
tsr_status simt_cluster_gather(simt *c, tsr_dtype t, int n, ir_value *const *v, ir_value **all);
void simt_cluster_leave(simt *c);

/* stage queue */
const char *simt_stage_queue_plan(simt *c, const ir_op *kernel); /* sets in->queue, or says why not */
int simt_stage_queue_warps(const struct simt_stage_queue *r);           /* of the consumers */
int simt_stage_queue_threads(const struct simt_stage_queue *r);         /* of a block */
tsr_status simt_stage_queue_lower(simt *c);                      /* the whole kernel but its return */
tsr_status simt_stage_queue_op(simt *c, ir_op *op, bool *done);  /* ops that mean something else to a consumer */
bool simt_is_address_op(const ir_op *op);

/* raster */
void simt_raster(simt *c); /* other blocks for block_id[], after the path is known */

/* control */
tsr_status simt_lower_block(simt *c, const ir_block *b);
tsr_status simt_lower_op(simt *c, ir_op *op);
tsr_status simt_lower_for(simt *c, ir_op *op);
tsr_status simt_lower_if(simt *c, ir_op *op);
/* A Tile IR loop's carried values: initial ones flattened, bound to the region's arguments, yielded, bound to the
 * results. */
tsr_status simt_carry(simt *c, ir_op *op, simt_frag **shape, ir_value ***v, int *n);
tsr_status simt_carry_in(simt *c, ir_op *op, const simt_frag *shape, ir_value **v);
tsr_status simt_carry_yield(simt *c, ir_op *op, ir_value **v);
tsr_status simt_carry_out(simt *c, ir_op *op, const simt_frag *shape, ir_value **v);
/* Binds the loop's counter to v; `first` is added to the range's lower end. */
void simt_bind_counter(simt *c, const ir_op *op, ir_value *v, int64_t first);
tsr_status simt_flatten(simt *c, const ir_value *t, bool opaque, ir_value **v, int *n);
tsr_status simt_unflatten(simt *c, ir_value *t, const simt_frag *shape, ir_value **v, int *at);
/* Upper bound of how many values n Tile IR values become. */
tsr_status simt_count_values(simt *c, ir_value **t, int n, int *count);
int simt_pipeline_stages(const simt *c,
                         const ir_value *shared); /* copies that a pipelined loop wants of a tile, 1 = none */
tsr_status simt_pipeline_for(simt *c, ir_op *op, bool *done);

/* A loop whose body the insertion point enters; v holds the initial values, then the carried ones, at last the results.
 */
tsr_status simt_begin_for(simt *c, ir_value *from, ir_value *to, ir_value *step, int n, ir_value **v, ir_op **out);
tsr_status simt_end_for(simt *c, ir_op *loop, int n, ir_value **v);

/* shared */
tsr_status simt_shared_plan(simt *c);
tsr_status simt_shared_alloc(simt *c, const ir_op *op, int64_t bytes, int from, int to, int64_t *lo);
typedef struct simt_shared_state { simt_access access[SIMT_MAX_ACCESS]; int n_access, n_region; } simt_shared_state;
void simt_shared_save(const simt *c, simt_shared_state *s);
void simt_shared_restore(simt *c, const simt_shared_state *s);
bool simt_shared_join(simt *c, const simt_shared_state *s); /* pending accesses of both; true if s added any */

/* tf32 names how a matrix instruction reads a float. */
static inline tsr_dtype simt_in_memory(tsr_dtype t) { return t == TSR_TF32 ? TSR_F32 : t; }

/* Index arithmetic of constants wraps, as it does on the device. */
static inline int64_t simt_plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t simt_minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t simt_times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

#endif
