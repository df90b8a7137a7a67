/* core/ir/graph/ops.h - Graph IR: the algebra of tensors.
 *
 *   "tessera.graph.func"() ({
 *   ^bb0(%A: tensor<96x200xf32>, %B: tensor<200x72xf32>):
 *     %0 = "tessera.graph.matmul"(%A, %B) : (...) -> tensor<96x72xf32>
 *     "tessera.graph.return"(%0) : (tensor<96x72xf32>) -> ()
 *   }) {sym_name = "main"} : () -> ()
 *
 * Every op but func and return is pure and has one result. Nothing aliases, nothing is written in place; there is no
 * implicit cast; operands are broadcast only where the op says so (elementwise ops and matmul's leading dimensions, by
 * numpy's rule). Dimensions may be '?'. The rows are in ir/graph/ops.c, shape and type rules in ir/graph/infer.c. */
#ifndef CORE_IR_GRAPH_OPS_H
#define CORE_IR_GRAPH_OPS_H
#include "core/ir/ir.h"

typedef enum graph_code {
  G_FUNC,
  G_RETURN,
  G_CUSTOM,
  G_CONSTANT,
  G_MATMUL,
  G_ADD,
  G_SUB,
  G_MUL,
  G_DIV,
  G_REM,
  G_POW,
  G_MIN,
  G_MAX,
  G_AND,
  G_OR,
  G_NEG,
  G_ABS,
  G_EXP,
  G_LOG,
  G_SQRT,
  G_RSQRT,
  G_TANH,
  G_ERF,
  G_SIGMOID,
  G_RELU,
  G_GELU,
  G_SILU,
  G_SIN,
  G_COS,
  G_FLOOR,
  G_NOT,
  G_COMPARE,
  G_SELECT,
  G_CAST,
  G_BROADCAST,
  G_REDUCE_SUM,
  G_REDUCE_MEAN,
  G_REDUCE_MAX,
  G_REDUCE_MIN,
  G_REDUCE_PROD,
  G_SOFTMAX,
  G_LAYERNORM,
  G_RMSNORM,
  G_RESHAPE,
  G_TRANSPOSE,
  G_SLICE,
  G_CONCAT,
  G_PAD,
  G_N_CODES
} graph_code;

/* What a sharded operand makes of the result; read by the distribution planner. */
typedef enum graph_shard {
  SHARD_NONE,        /* not a tensor computation */
  SHARD_REPLICATE,   /* the result is whole on every device */
  SHARD_ELEMENTWISE, /* result axis i is sharded as the operands' axis i (aligned at the right) */
  SHARD_BROADCAST,   /* as elementwise; new axes are replicated */
  SHARD_CONTRACT,    /* matmul: m, n and batch axes carry over, a sharded k leaves partial sums */
  SHARD_REDUCE,      /* kept axes carry over, a sharded reduced axis leaves partial values */
  SHARD_ROW,         /* as elementwise, but the normalised axis must be whole */
  SHARD_RESHAPE,     /* axes that keep their extent carry over */
  SHARD_PERMUTE,     /* axes move with perm */
  SHARD_SLICE,       /* axes taken whole carry over */
  SHARD_CONCAT,      /* as elementwise, but the joined or padded axis must be whole */
  SHARD_OPAQUE       /* custom: operands are gathered */
} graph_shard;
const char *graph_shard_name(graph_shard s);

typedef struct graph_evaluator graph_evaluator;

/* One element of an elementwise op from the same element of its operands. `variant` is graph_variant(op). */
typedef double (*graph_scalar_fn)(int variant, const double *x);
typedef int64_t (*graph_integer_fn)(int variant, const int64_t *x);
/* Computes at least element `at` (row-major) of op's result in the evaluator. See ir/graph/eval.h. */
typedef tsr_status (*graph_eval_fn)(graph_evaluator *e, ir_op *op, int64_t at);
/* Given the gradient of op's result, builds the gradients of its operands: grads[i] stays NULL where there is none.
 * False when out of memory (the builder then has failed set). See ir/graph/adjoint.c. */
typedef bool (*graph_adjoint_fn)(ir_builder *b, ir_op *op, ir_value *grad, ir_value **grads);

/* The part of a row that only Graph IR has: ir_opdef.ext. */
typedef struct graph_row {
  graph_eval_fn eval;
  graph_scalar_fn scalar;   /* elementwise ops */
  graph_integer_fn integer; /* the same for integers, wrapping; NULL where the op takes none */
  graph_adjoint_fn adjoint; /* NULL: not differentiable */
  graph_shard shard;
} graph_row;

static inline bool graph_is(const ir_op *op, graph_code c) {
  return op && op->def->level == IR_GRAPH && op->def->code == (int)c;
}
static inline const graph_row *graph_ext(const ir_op *op) { return op->def->level == IR_GRAPH ? op->def->ext : NULL; }
const ir_opdef *graph_def(graph_code c);

/* ---- reading attributes (all normalised; the op must have been verified) ---------------------------------------- */

/* compare: its predicate, see below; gelu: 1 for tanh; else 0. */
int graph_variant(const ir_op *op);
enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, N_CMP };
const char *graph_predicate_name(int predicate);

/* The `axis` attribute counted from the front. */
int graph_axis(const ir_op *op);
/* Which dimensions of a reduction's operand are reduced; returns how many. */
int graph_axes(const ir_op *op, bool reduced[TSR_MAX_RANK]);
/* transpose: result axis i is operand axis perm[i]. */
void graph_perm(const ir_op *op, int perm[TSR_MAX_RANK]);
void graph_slice(const ir_op *op, int64_t starts[TSR_MAX_RANK], int64_t strides[TSR_MAX_RANK]);
void graph_pad(const ir_op *op, int64_t low[TSR_MAX_RANK], int64_t high[TSR_MAX_RANK]);

typedef struct graph_matmul {
  int64_t m, n, k;
  int n_batch;                    /* leading result dimensions */
  int64_t batch[TSR_MAX_RANK];
  bool transpose_a, transpose_b;
  tsr_dtype accum;
  int64_t tile[3];                /* tile_shape; 0 = not given */
} graph_matmul;
graph_matmul graph_matmul_get(const ir_op *op);

/* The type in which sums of t are kept by default: f32 for floats of up to 32 bits, f64, i32. */
tsr_dtype graph_accum_default(tsr_dtype t);

/* Is op a constant whose elements are all the same? */
bool graph_splat(const ir_op *op, double *value);
/* Element i of a constant. */
double graph_constant_at(const ir_op *op, int64_t i);

/* Writes function_type anew, where a function has it, after its arguments or results changed. False when out of memory.
 */
bool graph_sign(ir_op *func);

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* Types are inferred; the operands must satisfy the op's rule. NULL when out of memory (sticky in b). */
ir_value *graph_build(ir_builder *b, graph_code c, int n, ir_value *const *operands);
/* The same op with the same attributes on other operands, in the same module. */
ir_value *graph_build_like(ir_builder *b, const ir_op *op, ir_value *const *operands);
#define graph_op1(b, c, x) graph_build(b, c, 1, (ir_value *[]){x})
#define graph_op2(b, c, x, y) graph_build(b, c, 2, (ir_value *[]){x, y})
#define graph_op3(b, c, x, y, z) graph_build(b, c, 3, (ir_value *[]){x, y, z})
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
ir_value *graph_matmul_build(ir_builder *b, ir_value *x, ir_value *y, bool transpose_a, bool transpose_b);
ir_value *graph_compare(ir_builder *b, int predicate, ir_value *x, ir_value *y);

/* The function called `name`, or the first if NULL. NULL if there is none. */
ir_op *graph_find_func(const ir_module *m, const char *name);

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* numpy's rule for two shapes; false if they don't fit. '?' fits everything; dims may be one of the inputs. */
bool graph_broadcast_dims(int ra, const int64_t *a, int rb, const int64_t *b, int *rank, int64_t *dims);

/* ---- rules of the rows (ir/graph/infer.c, ir/graph/eval_ops.c, ir/graph/scalar.c, ir/graph/adjoint.c)
 * ------------------------- */

tsr_status graph_infer_constant(ir_op *op, const ir_type **results);
tsr_status graph_infer_matmul(ir_op *op, const ir_type **results);
tsr_status graph_infer_arith(ir_op *op, const ir_type **results);   /* numbers, broadcast */
tsr_status graph_infer_float(ir_op *op, const ir_type **results);   /* floats only */
tsr_status graph_infer_logic(ir_op *op, const ir_type **results);   /* bool and integers */
tsr_status graph_infer_compare(ir_op *op, const ir_type **results);
tsr_status graph_infer_select(ir_op *op, const ir_type **results);
tsr_status graph_infer_cast(ir_op *op, const ir_type **results);
tsr_status graph_infer_broadcast(ir_op *op, const ir_type **results);
tsr_status graph_infer_reduce(ir_op *op, const ir_type **results);
tsr_status graph_infer_softmax(ir_op *op, const ir_type **results);
tsr_status graph_infer_norm(ir_op *op, const ir_type **results);
tsr_status graph_infer_reshape(ir_op *op, const ir_type **results);
tsr_status graph_infer_transpose(ir_op *op, const ir_type **results);
tsr_status graph_infer_slice(ir_op *op, const ir_type **results);
tsr_status graph_infer_concat(ir_op *op, const ir_type **results);
tsr_status graph_infer_pad(ir_op *op, const ir_type **results);
#endif
