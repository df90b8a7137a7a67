/* core/ir/graph/ops.h - Graph IR: the algebra of tensors.
 *
 *   "tessera.graph.func"() ({
 *   ^bb0(%A: tensor<96x200xf32>, %B: tensor<200x72xf32>):
 *     %0 = "tessera.graph.matmul"(%A, %B) : (...) -> tensor<96x72xf32>
 *     "tessera.graph.return"(%0) : (tensor<96x72xf32>) -> ()
 *   }) {sym_name = "main"} : () -> ()
 *
 * Every op but func and return is pure, and all but some composite ones have one result. Nothing aliases, nothing is
 * written in place; there is no implicit cast; operands are broadcast only where the op says so (elementwise ops and
 * matmul's leading dimensions, by numpy's rule). Dimensions may be '?'. The ops stand in ir/graph/ops, a file a kind:
 * rows, shape and type rules, evaluation, derivatives. */
#ifndef CORE_IR_GRAPH_OPS_H
#define CORE_IR_GRAPH_OPS_H
#include "core/ir/ir.h"
#include "core/ir/scalar_ops.h"

/* One code per row of the table, in its order. The elementwise ops but cast are those of ir/scalar_ops.h. */
typedef enum graph_code {
  G_FUNC,
  G_RETURN,
  G_CUSTOM,
  G_CONSTANT,
  G_MATMUL,
#define GRAPH_CODE_GRAPH(CODE) G_##CODE,
#define GRAPH_CODE_OWN(CODE) G_##CODE,
#define GRAPH_CODE_KERNEL(CODE)
#define GRAPH_CODE_PART(CODE)
#define GRAPH_CODE(CODE, name, n, types, help, level, ...) GRAPH_CODE_##level(CODE)
  SCALAR_ALL(GRAPH_CODE)
#undef GRAPH_CODE
#undef GRAPH_CODE_GRAPH
#undef GRAPH_CODE_OWN
#undef GRAPH_CODE_KERNEL
#undef GRAPH_CODE_PART
  G_CAST,
  G_REDUCE_SUM,
  G_REDUCE_MEAN,
  G_REDUCE_MAX,
  G_REDUCE_MIN,
  G_REDUCE_PROD,
  G_SOFTMAX,
  G_LAYERNORM,
  G_RMSNORM,
  G_BROADCAST,
  G_RESHAPE,
  G_TRANSPOSE,
  G_SLICE,
  G_CONCAT,
  G_PAD,
  G_IOTA,
  G_CLIP,
  G_WHERE,
  G_TRIL,
  G_TRIU,
  G_TILE,
  G_SPLIT,
  G_ONE_HOT,
  G_BATCH_NORM,
  G_GROUP_NORM,
  G_INSTANCE_NORM,
  G_LOGSUMEXP,
  G_LOG_SOFTMAX,
  G_ROPE,
  G_MSE,
  G_KL,
  G_CROSS_ENTROPY,
  G_QKV_PROJECTION,
  G_FACTORIZED_MATMUL,
  G_DEPTH_TO_SPACE,
  G_SPACE_TO_DEPTH,
  G_EINSUM,
  G_GATHER,
  G_GATHER_ELEMENTS,
  G_GATHER_ND,
  G_EMBEDDING,
  G_SCATTER,
  G_SCATTER_ADD,
  G_SCATTER_ND,
  G_MAX_POOL,
  G_AVERAGE_POOL,
  G_RESIZE,
  G_GRID_SAMPLE,
  G_COMPLEX,
  G_REAL,
  G_IMAG,
  G_CONJ,
  G_AS_REAL,
  G_AS_COMPLEX,
  G_FLASH_ATTENTION,
  G_FLASH_ATTENTION_BACKWARD,
  G_RNG_UNIFORM,
  G_RNG_NORMAL,
  G_DROPOUT,
  G_STOCHASTIC_CAST,
  G_SGD,
  G_ADAMW,
  G_CHECK_NUMERICS,
  G_GLOBAL_NORM,
  G_CLIP_BY_GLOBAL_NORM,
  G_LOSS_SCALE,
  G_QUANTIZE,
  G_QUANTIZE_DELAYED,
  G_RESCALE,
  G_FAKE_QUANTIZE,
  G_TRI_SOLVE,
  G_CHOLESKY,
  G_QR,
  G_SVD,
  G_CUMSUM,
  G_CUMPROD,
  G_NONZERO,
  G_ARGMAX,
  G_ARGMIN,
  G_TOPK,
  G_SORT,
  G_ROUTER,
  G_MOE_DISPATCH,
  G_MOE_COMBINE,
  G_GROUPED_MATMUL,
  G_RECURSIVE_MIXTURE,
  G_FFT,
  G_IFFT,
  G_RFFT,
  G_IRFFT,
  G_POINTWISE_MUL,
  G_DFT,
  G_DCT,
  G_STFT,
  G_ISTFT,
  G_SPECTRAL_CONV,
  G_RNN,
  G_GRU,
  G_LSTM,
  G_RECURRENCE,
  G_PATCHES,
  G_CONV1D,
  G_CONV2D,
  G_CONV3D,
  G_CONV_TRANSPOSE,
  G_CACHE_UPDATE,
  G_IF,
  G_WHILE,
  G_CONTROL,
  G_ALL_REDUCE,
  G_REDUCE_SCATTER,
  G_ALL_GATHER,
  G_ALL_TO_ALL,
  G_BROADCAST_FROM,
  G_SEND,
  G_RECV,
  G_BARRIER,
  G_SHARD_SLICE,
  G_SHARD_MASK,
  G_DEQUANTIZE,
  G_BLOCK_MATMUL,
  G_AS_SIGNED,
  G_AS_UNSIGNED,
  G_AS_BYTES,
  G_AS_PACKED,
  G_AS_F16,
  G_N_CODES
} graph_code;

/* What an op is to those who fuse, schedule and count: they ask for its kind, never for its code. */
typedef enum graph_kind {
  GRAPH_PROGRAM,     /* func, return */
  GRAPH_CONSTANT,
  GRAPH_POINTWISE,   /* each result element from the same element of the broadcast operands */
  GRAPH_REDUCTION,   /* over the axes of `axes` */
  GRAPH_NORM,        /* over one axis, which the result keeps */
  GRAPH_CONTRACTION, /* sums of products */
  GRAPH_MOVE,        /* elements repeated or in another order; in a kernel a strided load */
  GRAPH_COPY,        /* several or padded operands in one result: a kernel of its own */
  GRAPH_INDEX,       /* each element from where it stands: no operands, nothing in memory */
  GRAPH_COMPOSITE,   /* written as other ops, which take its place before any other pass (ir/graph/expand.h) */
  GRAPH_GATHER,      /* elements of the first operand at coordinates that the second holds: graph_indexed */
  GRAPH_SCATTER,     /* the first operand with the third's elements at such coordinates */
  GRAPH_ATTENTION,   /* two products about a softmax: graph_attention. A composite op with a kernel of its own */
  GRAPH_ATTENTION_BACKWARD, /* its gradients, likewise */
  GRAPH_ROUTINE,     /* a whole algorithm: a call of the host (runtime/routine.h). May be composite besides */
  GRAPH_SPECTRAL,    /* Fourier transforms along some axes: complex numbers, so gone below passes/graph/complex.h */
  GRAPH_DFT,         /* what they are then: graph_dft */
  GRAPH_WINDOWS,     /* elements of its operand at coordinates that are affine in its own; 0 beyond the operand */
  GRAPH_CONTROL,     /* if, while: functions of the operands as regions, or by name. See ir/graph/control.h */
  GRAPH_CUSTOM,      /* the application's */
  GRAPH_COLLECTIVE   /* by all devices of a mesh, or depends on the rank: between programs (ir/graph/collective.h) */
} graph_kind;

typedef struct graph_evaluator graph_evaluator;

/* Computes at least element `at` (row-major) of op's result in the evaluator. See ir/graph/eval.h. */
typedef tsr_status (*graph_eval_fn)(graph_evaluator *e, ir_op *op, int64_t at);
/* Given the gradient of op's result, builds the gradients of its operands: grads[i] stays NULL where there is none.
 * False when out of memory (the builder then has failed set). Of an op with several results g is the first one's
 * gradient, and each result's `data` its own; NULL where it has none. See ir/graph/ops/adjoint.h. */
typedef bool (*graph_adjoint_fn)(ir_builder *b, ir_op *op, ir_value *grad, ir_value **grads);
/* Of a composite op whose dimensions are all known: builds what it stands for, out of its operands; results[i] gets
 * what result i is, of the type that inference gave. False when out of memory. */
typedef bool (*graph_expand_fn)(ir_builder *b, const ir_op *op, ir_value **results);
/* Of a move: which axis of the result has the elements along the operand's `axis`; -1: none. */
typedef int (*graph_axis_fn)(const ir_op *op, int axis);
/* Of a move that isn't an alias: the operand's elements lie at `offset` and `strides` by its axes; where in the same
 * memory those of the result lie. */
typedef void (*graph_window_fn)(const ir_op *op, const int64_t *strides, int64_t *offset, int64_t *to);
/* Of a routine: its floating-point operations on the matrices of one batch entry. */
typedef double (*graph_work_fn)(const ir_op *op);
/* What a device other than the host does with a routine that other ops can say too: it runs the ops, leaves it to the
 * host where a fall-back is allowed, or leaves it to the host. */
typedef enum graph_host { HOST_NEVER, HOST_IF_ALLOWED, HOST_ALWAYS } graph_host;
typedef graph_host (*graph_host_fn)(const ir_op *op);
/* Of a convolution whose dimensions are all known. With `why`: sets it to why spectra can't give its result, NULL where
 * they can, and builds nothing. Else, before op: what gives its result as products of spectra. NULL: out of memory. */
typedef ir_value *(*graph_spectra_fn)(ir_builder *b, const ir_op *op, const char **why);
/* Of a copy: the element of the result at which operand number `operand` begins. Asked for all in order: `at` has what
 * the one before was given, zeros at first. */
typedef void (*graph_start_fn)(const ir_op *op, int operand, int64_t *at);

/* Which elements of its operand a move has. */
typedef enum graph_moves {
  MOVES_NOTHING, /* the op is no move */
  MOVES_PAIRS,   /* complex numbers as pairs of real ones, unsigned integers as signed ones, packed ones as bytes, or
                  * back: the same memory, of another element type */
  MOVES_ALIAS,   /* each once in the same row-major order: the same memory under another shape */
  MOVES_ORDER,   /* each once, in another order */
  MOVES_REPEATS, /* some several times, all in order */
  MOVES_PART     /* some, in order */
} graph_moves;

/* What an index of a gather or scatter is. */
typedef enum graph_addressing {
  INDEX_NONE,     /* the op is neither */
  INDEX_FIRST,    /* a place along the first axis */
  INDEX_AXIS,     /* along `axis`: the indices' dimensions take its place */
  INDEX_ELEMENTS, /* along `axis`, one for each element */
  INDEX_ROWS      /* the indices' last dimension: leading coordinates behind `batch_dims` */
} graph_addressing;

/* Complex numbers: builds op on their parts. x: its operands, of complex types as pairs, tensors of the parts with a
 * last axis of 2; so is the result given where its type is complex. NULL when out of memory. See ir/graph/ops/pairs.c.
 */
typedef ir_value *(*graph_pairs_fn)(ir_builder *b, ir_op *op, ir_value *const *x);
/* u16, u32 and u64: the same on signed words of as many bits. See ir/graph/ops/words.c. */
typedef graph_pairs_fn graph_words_fn;
/* i4 and u4: the same of every op that has such words, on elements in i8 and u8. See ir/graph/packed.c. */
ir_value *graph_packed_op(ir_builder *b, ir_op *op, ir_value *const *x);
/* v's elements as i8 or u8, read where v is in memory; its data field is v's bytes where it is a reshape of pairs along
 * a last axis of 2, which stands beside v's others. */
ir_value *graph_unpack(ir_builder *b, ir_value *v);
/* x, of i8 or u8, two to a byte: as type t, or as the bytes u8[(n + 1) / 2]. */
ir_value *graph_pack(ir_builder *b, ir_value *x, const ir_type *t);
ir_value *graph_pack_bytes(ir_builder *b, ir_value *x);

/* The part of a row that only Graph IR has: ir_opdef.ext.
 *
 * index: which axes of the iteration space address each operand and the result, as einsum writes it, in the order of
 * their dimensions: "*mk,*kn->*mn". '*' stands for all leading axes of the result, which operands broadcast; the last
 * term counts for all further operands; an axis that the result lacks is reduced. n is the axis named by `axis` where
 * the op has one, r all axes of a reduction's `axes`; transpose_a and transpose_b swap the last two letters of theirs.
 * A contraction's first operand has the result's last axis but one, its second the last.
 * NULL: an element of the result is an element of an operand, which one the attributes say. From it follow iteration
 * space, reduced axes, floating-point operations and bytes (graph_space_of), and what a sharded operand makes of the
 * result (graph_shard_of). */
typedef struct graph_row {
  graph_kind kind;
  graph_eval_fn eval;
  graph_adjoint_fn adjoint; /* NULL: not differentiable */
  const char *index;
  int scalar;       /* pointwise: SC_*, of cast SC_CAST */
  double per_point; /* operations at each point of the space, as modelled: 1, of a product 2 */
  graph_moves moves;     /* of moves */
  graph_window_fn window; /* of moves, NULL of an alias */
  graph_axis_fn axis_of; /* of moves without an index; NULL: axes stay where they are */
  graph_start_fn start;  /* of copies; what no operand covers is the attribute `value` */
  graph_addressing indices; /* of gathers and scatters */
  bool adds;             /* of scatters: whatever their attributes say */
  const char *shown; /* in reports; NULL: its name's words, capitalised */
  int tile_rows;     /* docs/tuning.md, "Default tiles": rows of a block, one a warp; 0: not in that table */
  graph_expand_fn expand; /* of composite ops, whose evaluation, derivative, work and sharding follow from it */
  graph_expand_fn expand_windows; /* the same where products read windows over an image in place; NULL: as expand */
  bool (*may_expand)(const ir_op *op); /* of composite ops that can't always be written out; NULL: they can */
  graph_pairs_fn pairs; /* NULL: takes no complex numbers */
  graph_words_fn words; /* NULL: takes no u16, u32, u64, i4 and u4, but where it is composite */
  graph_work_fn work;   /* of routines, whose leading dimensions are a batch */
  graph_host_fn host;   /* of routines that are composite too; NULL: never */
  /* Of a transform of pairs. Before op: what gives its result by transforms of at most `most` points each; 0: without
   * any. NULL: out of memory. */
  ir_value *(*by_passes)(ir_builder *b, const ir_op *op, int64_t most);
  graph_spectra_fn by_spectra; /* of convolutions */
} graph_row;

static inline bool graph_is(const ir_op *op, graph_code c) {
  return op && op->def->level == IR_GRAPH && op->def->code == (int)c;
}
static inline const graph_row *graph_ext(const ir_op *op) { return op->def->level == IR_GRAPH ? op->def->ext : NULL; }
static inline graph_kind graph_kind_of(const ir_op *op) { return graph_ext(op) ? graph_ext(op)->kind : GRAPH_PROGRAM; }
static inline bool graph_is_kind(const ir_op *op, graph_kind k) {
  return op && graph_ext(op) && graph_ext(op)->kind == k;
}
/* Has it a meaning as other ops: of kind GRAPH_COMPOSITE, or one with a kernel of its own besides? */
static inline bool graph_is_composite(const ir_op *op) {
  const graph_row *r = op ? graph_ext(op) : NULL;
  return r && r->expand && (!r->may_expand || r->may_expand(op));
}
static inline graph_moves graph_moves_of(const ir_op *op) {
  return op && graph_ext(op) ? graph_ext(op)->moves : MOVES_NOTHING;
}
/* A move that gives the same memory another shape; that alone; one that is a strided window of it. */
static inline bool graph_is_alias(const ir_op *op) {
  return graph_moves_of(op) == MOVES_ALIAS || graph_moves_of(op) == MOVES_PAIRS;
}
static inline bool graph_reshapes(const ir_op *op) { return graph_moves_of(op) == MOVES_ALIAS; }
static inline bool graph_is_window(const ir_op *op) {
  const graph_moves m = graph_moves_of(op);
  return m == MOVES_ORDER || m == MOVES_REPEATS || m == MOVES_PART;
}
/* A move that repeats elements and leaves them in order. */
static inline bool graph_repeats(const ir_op *op) { return graph_moves_of(op) == MOVES_REPEATS; }
/* By its name without the dialect; NULL: there is none. */
const graph_row *graph_row_named(const char *name);
static inline const ir_opdef *graph_def(graph_code c) { return ir_row(IR_GRAPH, (size_t)c); }
/* Works along whole rows: a reduction or a norm. */
static inline bool graph_is_row_op(const ir_op *op) {
  return graph_is_kind(op, GRAPH_REDUCTION) || graph_is_kind(op, GRAPH_NORM);
}
/* The first op of a kind in a block, NULL if it has none. */
ir_op *graph_first_of(const ir_block *b, graph_kind k);
/* The first contraction of a block, NULL if it has none. */
ir_op *graph_contraction(const ir_block *b);
/* The scalar op that a pointwise op computes: its row's, of gelu by its formula. */
int graph_scalar(const ir_op *op);
/* A pointwise op of a dozen instructions or more on a GPU. */
bool graph_is_function(const ir_op *op);

/* ---- reading attributes (all normalised; the op must have been verified) ---------------------------------------- */

/* compare: its predicate (N_CMP: unknown); not: 1 of a bool; else 0. As scalar_row's functions take it. */
int graph_variant(const ir_op *op);

/* The number attributes of a pointwise op, in the order of its row: alpha, beta. */
enum { GRAPH_MAX_NUMBERS = 2 };
int graph_number_attrs(const ir_op *op, double out[GRAPH_MAX_NUMBERS]);
/* The `axis` attribute counted from the front. */
int graph_axis(const ir_op *op);
/* Which dimensions of a reduction's operand are reduced; returns how many. */
int graph_axes(const ir_op *op, bool reduced[TSR_MAX_RANK]);
/* transpose: result axis i is operand axis perm[i]. */
void graph_perm(const ir_op *op, int perm[TSR_MAX_RANK]);
void graph_slice(const ir_op *op, int64_t starts[TSR_MAX_RANK], int64_t strides[TSR_MAX_RANK]);
void graph_pad(const ir_op *op, int64_t low[TSR_MAX_RANK], int64_t high[TSR_MAX_RANK]);
/* iota: the `axis` attribute counted from the front. */
int graph_iota_axis(const ir_op *op);

/* A gather or scatter as all see it. Its space is what is moved, element by element: a gather's result, a scatter's
 * third operand. The element at c of the space is the table's (its first operand's) whose coordinate along an axis is c
 * along the space's axis that has it in of_table, and along indexed[k] number k of the index at c. A negative index
 * counts from the end; what is outside the table is read as 0 and not written. */
typedef struct graph_indexed {
  const ir_type *table, *indices;
  int n_indexed, indexed[TSR_MAX_RANK];
  int component; /* the indices' axis along which an index has its numbers; -1: it is one number */
  int rank;      /* of the space */
  int of_table[TSR_MAX_RANK], of_indices[TSR_MAX_RANK]; /* by its axes: those of the operands, -1 = none */
  bool scatters,
      adds; /* adds: to what is there, in the order of the space's row-major places; else the last one wins */
} graph_indexed;
/* The operands' types, number and attributes must be those that the op's rule takes; its result need not have a type.
 */
graph_indexed graph_indexed_get(const ir_op *op);
enum { GRAPH_SPECTRAL_AXES = 3 };
/* The axes that a Fourier transform goes along, counted from the front; returns how many. */
int graph_spectral_axes(const ir_op *op, int axes[GRAPH_SPECTRAL_AXES]);
bool graph_spectral_inverts(const ir_op *op);
/* The factor by `norm`, of so many points. */
double graph_spectral_scale(const ir_op *op, double points);

/* A transform of pairs as all see it: point k of line l is pair l / inner * n * inner + l % inner + k * inner of the
 * operand, and of the result with an `inner` of its own. */
typedef struct graph_dft {
  int axis, to;
  int64_t n, lines, in_inner, out_inner;
  int64_t twiddled; /* places of the dimension behind the axis, if results are multiplied by twiddle factors; else 0 */
  bool inverse;
  double scale;
} graph_dft;
/* The attributes must be those that the op's rule takes; a dimension that is unknown counts as 1. */
graph_dft graph_dft_get(const ir_op *op);

/* An op of kind GRAPH_WINDOWS as all who lower and evaluate one see it. Its result is [batch.., rows, columns]; these
 * three are split into row-major digits, n[i] of them, whose extents follow one another. The operand's coordinate d is
 * origin[d] plus the sum of digit times step. */
enum { GRAPH_MOST_DIGITS = 2 * TSR_MAX_RANK };
typedef struct graph_windows {
  int n[3];
  int64_t extent[GRAPH_MOST_DIGITS], step[GRAPH_MOST_DIGITS][TSR_MAX_RANK], origin[TSR_MAX_RANK];
} graph_windows;
graph_windows graph_windows_get(const ir_op *op);
/* The same windows of an op without groups as the rows of one matrix, [batch rows, columns]. */
ir_value *graph_windows_flat(ir_builder *b, const ir_op *op);

/* A contraction as all who lower one see it: a [.., m, k] by b [.., k, n]; how the operands lie is said by the row's
 * index expression and the attributes. */
typedef struct graph_contract {
  int64_t m, n, k;
  int n_batch;                   /* leading result dimensions */
  int64_t batch[TSR_MAX_RANK];
  bool transpose_a, transpose_b; /* a is stored [.., k, m], b [.., n, k] */
  tsr_dtype accum;
  int64_t tile[3];                /* tile_shape; 0 = not given */
} graph_contract;
graph_contract graph_contract_get(const ir_op *op);
/* transpose_a or transpose_b of a contraction whose result need not have a type yet. */
bool graph_is_transposed(const ir_op *op, int operand);
/* Sets the attributes of a contraction so that its operands are stored this way. False when out of memory. */
bool graph_orient(ir_op *op, bool transpose_a, bool transpose_b);

/* Attention as all see it: of each of `heads` heads in each entry of the batch, m queries of width k against n keys and
 * their values of width v, of which each kv_heads-th part of the heads has its own. score = cap(scale q.k) + bias;
 * query i stands at key i + n - m. With lengths, n is that of the entry. Results: the average of the values and, where
 * there are two, the logarithm of the sum of exp(score). */
typedef struct graph_attention {
  int64_t batch, heads, kv_heads, m, n, k, v;
  double scale, softcap; /* softcap tanh(x / softcap); 0: none */
  bool causal;           /* a query sees no key after its place */
  int64_t window;        /* nor one that is so far from it, or farther; 0: any */
  int bias, lengths;     /* numbers of these operands; 0: there is none */
  bool has_bias, has_mask;
  tsr_dtype accum;
} graph_attention;
/* op, of kind GRAPH_ATTENTION or its gradients', must have been verified. */
graph_attention graph_attention_get(const ir_op *op);
/* The first operand that may be absent: the bias, or the lengths. */
int graph_attention_first_optional(const ir_op *op);
/* Are there keys that a query doesn't see by its place? Might it see none at all? */
static inline bool graph_attention_is_banded(const graph_attention *x) { return x->causal || x->window; }
static inline bool graph_attention_may_hide_rows(const graph_attention *x) {
  return x->bias || x->lengths || (graph_attention_is_banded(x) && x->m > x->n);
}
/* Why no kernel takes it whole, so that it must be written as its parts; NULL: one does. */
const char *graph_attention_refusal(const ir_op *op);

/* The type in which sums of t are kept by default: f32 for floats of up to 32 bits, f64, i32. */
tsr_dtype graph_accum_default(tsr_dtype t);

/* Is op a constant whose elements are all the same, and no complex numbers? */
bool graph_splat(const ir_op *op, double *value);
/* Element i of a constant; of complex types number i, as dtype_load counts. */
double graph_constant_at(const ir_op *op, int64_t i);

/* Writes function_type anew, where a function has it, after its arguments or results changed. False when out of memory.
 */
bool graph_sign(ir_op *func);
/* The type that function_type must be; NULL when out of memory. */
const ir_type *graph_signature(const ir_op *func);

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* Types are inferred; the operands must satisfy the op's rule. NULL when out of memory (sticky in b). */
ir_value *graph_build(ir_builder *b, graph_code c, int n, ir_value *const *operands);
/* The same op with the same attributes on other operands, in the same module. */
ir_value *graph_build_like(ir_builder *b, const ir_op *op, ir_value *const *operands);
#define graph_op1(b, c, x) graph_build(b, c, 1, (ir_value *[]){x})
#define graph_op2(b, c, x, y) graph_build(b, c, 2, (ir_value *[]){x, y})
#define graph_op3(b, c, x, y, z) graph_build(b, c, 3, (ir_value *[]){x, y, z})
/* A constant of the elements that a dense attribute has; NULL: out of memory. */
ir_value *graph_constant(ir_builder *b, ir_attr *value);
/* Of that type, NULL: out of memory, with elements that are copied, as many as it has. */
ir_value *graph_elements(ir_builder *b, const ir_type *type, const void *data);
/* A constant tensor of the given type with every element `value`. */
ir_value *graph_fill(ir_builder *b, const ir_type *type, double value);
/* A rank-0 constant: what elementwise ops broadcast. */
ir_value *graph_number(ir_builder *b, tsr_dtype t, double value);
ir_value *graph_cast(ir_builder *b, ir_value *x, tsr_dtype t);
ir_value *graph_reshape(ir_builder *b, ir_value *x, int rank, const int64_t *dims);
ir_value *graph_broadcast(ir_builder *b, ir_value *x, int rank, const int64_t *dims);
ir_value *graph_transpose(ir_builder *b, ir_value *x, const int *perm);
ir_value *graph_reduce(ir_builder *b, graph_code c, ir_value *x, const bool reduced[TSR_MAX_RANK], bool keepdims);
ir_value *graph_concat(ir_builder *b, int n, ir_value *const *x, int axis);
/* A contraction of like's kind without its attributes, on operands that are stored this way. */
ir_value *graph_contract_build(ir_builder *b, const ir_op *like, ir_value *x, ir_value *y, bool transpose_a,
                               bool transpose_b);
/* A gather or scatter with the attribute `name` (axis or batch_dims) of that value. adds: a scatter_nd's reduction.
 * Operands may be NULL: so is the result then. */
ir_value *graph_indexed_build(ir_builder *b, graph_code c, int n, ir_value *const *operands, const char *name,
                              int64_t value, bool adds);
ir_value *graph_compare(ir_builder *b, int predicate, ir_value *x, ir_value *y);
/* The part of x from starts on. */
ir_value *graph_cut(ir_builder *b, ir_value *x, const int64_t *starts, const int64_t *sizes);
/* A tensor of the dimensions of `like` whose elements are their places along one axis. */
ir_value *graph_iota(ir_builder *b, tsr_dtype t, const ir_type *like, int axis);
/* The same memory as pairs (as_real), and back (as_complex). */
ir_value *graph_as_real(ir_builder *b, ir_value *x);
ir_value *graph_as_complex(ir_builder *b, ir_value *x);

/* The function called `name`, or the first if NULL. NULL if there is none. */
ir_op *graph_find_func(const ir_module *m, const char *name);

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* numpy's rule for two shapes; false if they don't fit. '?' fits everything; dims may be one of the inputs. */
bool graph_broadcast_dims(int ra, const int64_t *a, int rb, const int64_t *b, int *rank, int64_t *dims);

/* ---- iteration space ------------------------------------------------------------------------------------------- */

typedef struct graph_space {
  int n; /* axes: those of the result in order, then the reduced ones */
  int64_t extent[2 * TSR_MAX_RANK];
  bool reduced[2 * TSR_MAX_RANK];
  double points;       /* product of the extents */
  double flops, bytes; /* bytes: each operand read, the result written once */
} graph_space;

/* False where a dimension is unknown. op must have been verified and have a result; the axes are those of the first. */
bool graph_space_of(const ir_op *op, graph_space *out);
/* op's index expression with its attributes applied, ends written out for each operand: "*km,*kn->*mn". Empty where the
 * row has none. */
void graph_index(const ir_op *op, char *out, size_t size);

/* ---- sharding -------------------------------------------------------------------------------------------------- */

/* What becomes of the result where an axis of one operand is sharded. */
typedef enum graph_shard {
  SHARD_CARRIES, /* the result is sharded along axis *to */
  SHARD_PARTIAL, /* the axis is reduced: each device has partial values of the result */
  SHARD_WHOLE    /* the op needs the axis whole: the operand is gathered first; so for an unknown extent */
} graph_shard;
/* op must have been verified and have a result; of several, what is true of all. */
graph_shard graph_shard_of(const ir_op *op, int operand, int axis, int *to);
#endif
