/* core/ir/graph/ops/row.h - what the files of ops share: the macros of their rows, and helpers of shape rules (shape.c)
 * and of evaluation (num.c). Each file is one kind of op with all that is known of it: rows, shape and type rules,
 * evaluation, derivatives, index expressions. Only ir/graph/ops and the table ir/graph/table.c include this. */
#ifndef CORE_IR_GRAPH_OPS_ROW_H
#define CORE_IR_GRAPH_OPS_ROW_H
#include "core/base/dtype.h"
#include "core/ir/graph/eval.h"
#include "core/ir/recipe.h"
#include "core/ir/tables.h"

/* Rows in the enum's order. */
extern const ir_rows graph_program_ops, graph_contraction_ops, graph_pointwise_ops, graph_reduce_ops,
    graph_norm_ops, graph_move_ops, graph_index_ops, graph_compose_shape_ops,
    graph_compose_norm_ops, graph_compose_loss_ops, graph_compose_product_ops, graph_compose_einsum_ops,
    graph_indexed_ops, graph_compose_pool_ops, graph_compose_resize_ops, graph_complex_ops,
    graph_attention_ops, graph_attention_backward_ops,
    graph_compose_random_ops, graph_compose_train_ops, graph_compose_scaling_ops, graph_linalg_ops,
    graph_compose_scan_ops, graph_compose_order_ops, graph_compose_moe_ops, graph_spectral_ops, graph_dft_ops,
    graph_compose_spectral_ops, graph_recurrent_ops, graph_patches_ops, graph_conv_ops, graph_compose_cache_ops,
    graph_compose_grid_ops, graph_compose_spectral_conv_ops, graph_control_ops,
    graph_collective_ops,
    graph_blocks_ops, graph_words_ops, graph_packed_ops;

#define A_END {NULL, IR_A_UNIT, false, NULL, NULL}
#define ATTRS(...) (const ir_attr_def[]){__VA_ARGS__, A_END}
#define ROW(...) &(const graph_row){__VA_ARGS__}
/* Ends a chain of a recipe's steps. */
#define LAST {STEP_END, ARG_NONE}
#define NAME(CODE, s) .name = "tessera.graph." s, .level = IR_GRAPH, .code = G_##CODE

#define FLOATS "f64, f32, f16, bf16, fp8"
#define INTEGERS "i64, i32, i16, i8, i4, u64, u32, u16, u8, u4"
#define NUMBERS FLOATS ", " INTEGERS
#define ANY NUMBERS ", bool"
#define AND_COMPLEX ", complex"

/* ---- complex numbers ------------------------------------------------------------------------------------------- */

/* Does op compute on complex numbers, or give them? */
static inline bool complex_is(const ir_op *op) {
  bool is = false;
  for (int i = 0; i < op->n_operands; i++) is |= dtype_is_complex(op->operands[i]->type->dtype);
  return is || dtype_is_complex(op->results[0]->type->dtype);
}
/* Number `at` of a pointwise op's result, which has real and imaginary parts in turn (complex.c). */
tsr_status complex_eval(graph_evaluator *e, ir_op *op, int64_t at);
/* How the ops are computed on parts (pairs.c). */
#define PAIRS(name) ir_value *name(ir_builder *b, ir_op *op, ir_value *const *x)
PAIRS(pairs_pointwise);
PAIRS(pairs_reduce);
PAIRS(pairs_move);
PAIRS(pairs_constant);
/* How the ops are computed on words (words.c). */
#define WORDS(name) PAIRS(name)
WORDS(words_pointwise);
WORDS(words_cast);
WORDS(words_reduce);
WORDS(words_same);
WORDS(words_pad);
WORDS(words_iota);
WORDS(words_constant);

/* ---- shape and type rules -------------------------------------------------------------------------------------- */

extern const char graph_no_cast[]; /* the remedy where types differ */

tsr_status shape_finish(ir_op *op, tsr_dtype t, int rank, const int64_t *dims, const ir_type **results);
/* "f32[2, ?]", in buf. */
const char *shape_text(const ir_type *t, char *buf, size_t size);
tsr_status shape_tensors(ir_op *op);
/* As shape_tensors, and the first is of complex numbers. */
tsr_status shape_complex(ir_op *op);
/* As shape_tensors, and the first is of floats. */
tsr_status shape_floats(ir_op *op);
/* Extents that can't be the same: an unknown one may be any. */
static inline bool shape_differs(int64_t a, int64_t b) { return a != b && a != IR_DYNAMIC && b != IR_DYNAMIC; }
/* Operands from `first` on: their broadcast shape, that they have one type. */
tsr_status shape_broadcast(ir_op *op, int first, int *rank, int64_t *dims);
tsr_status shape_same_dtype(ir_op *op, int first);
/* A bool condition and two values of one type, broadcast together. */
tsr_status shape_select(ir_op *op, const ir_type **results);
tsr_status shape_dtype_attr(ir_op *op, const char *name, tsr_dtype *out);
tsr_status shape_list_attr(const ir_op *op, const char *name, int rank, bool optional, int64_t dflt, int64_t *v);
tsr_status shape_axis(ir_op *op, const char *name, int64_t axis, int rank);

/* ---- evaluation ------------------------------------------------------------------------------------------------ */

/* Row-major index <-> coordinates. */
void num_split(const ir_type *t, int64_t at, int64_t *x);
int64_t num_join(const ir_type *t, const int64_t *x);
/* The element of an operand of type `from` that is broadcast to element x of a result of rank `rank`. */
int64_t num_broadcast_at(const ir_type *from, int rank, const int64_t *x);
/* Unit roundoff of what implementations compute in: f32 for narrower floats. */
double num_unit(tsr_dtype t);
int64_t num_wrap(tsr_dtype t, int64_t v);
int64_t num_to_integer(double v);
double num_convert(tsr_dtype t, double v);
/* x as the integer that it is; i as a number of type t, wrapped. */
int64_t num_exact(const ir_value *v, graph_num x);
graph_num num_integer(tsr_dtype t, int64_t i);
/* The error that x brings into an op: its last rounding counts as a random one. */
double num_carried(graph_num x);

/* The larger or the smaller; NaN if either is. */
double num_extreme(bool max, double a, double b);

typedef struct num_sum {
  double v, abs, e1, e2, x2;
  uint64_t exact; /* integers */
} num_sum;
void num_sum_add(num_sum *s, double x, double e);
/* The operands' own errors in a sum: independent ones, and half their mean relative size as a common factor that is
 * off. */
double num_sum_inherited(const num_sum *s);
/* own: the summation's. Of a sum that may overflow nothing is known, though its inherited error be NaN. */
double num_sum_error(const num_sum *s, double own);
#endif
