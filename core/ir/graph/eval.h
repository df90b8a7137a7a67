/* core/ir/graph/eval.h - the oracle: a plain double-precision evaluator of Graph IR, too simple to be wrong, against
 * which every backend, rewrite and fusion is compared. Whole results, or single elements of results too large to
 * compute whole.
 *
 * Rounding: inputs and constants are read exactly as their types hold them, casts round, the values given to the caller
 * are not yet rounded to the result's type (graph_eval's buffers are). Intermediate results stay unrounded, because a
 * backend may or may not keep them in registers; the tolerance covers both.
 *
 * Tolerance: each element carries `e`, what an implementation may differ by, propagated forward from op to op as random
 * errors are (the analogue of six standard deviations; a worst-case bound would be void after a few layers):
 *  - one rounding contributes at most r = u |v|, and as six standard deviations of a uniform error 3.5 r to what
 *    follows;
 *  - an elementwise op contributes how far it moves when each operand moves by its error (evaluated, not linearised),
 *    the operands' shares as independent errors, its implementation's own error (scalar_row.error) and the rounding of
 *    its result;
 *  - a sum of n terms contributes 2 sqrt(n) u S, u the unit roundoff of the accumulator and S the sum of magnitudes
 *    (the probabilistic bound of Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019, with lambda = 2), and its operands'
 *    errors as independent ones, with half of their mean relative size once more as an error common to all.
 * Overflow: where a value, or a sum in some order of its terms, may leave the type, what follows from it has an
 * infinite tolerance. Integers are exact, i64 by a number of its own beside the double. Complex elements are two
 * numbers, each with its tolerance: wherever elements are counted here, these are. Not thread-safe; the
 * function's values' data fields are in use while an evaluator lives. */
#ifndef CORE_IR_GRAPH_EVAL_H
#define CORE_IR_GRAPH_EVAL_H
#include "core/ir/graph/ops.h"

typedef struct graph_num {
  double v, e; /* the value and the tolerance around it */
  double r;    /* the part of e that is the last rounding; infinite where an implementation may hold an infinity in v's
                  place */
  int64_t i;   /* of an i64 value, exactly; v is its nearest double */
} graph_num;

/* How many numbers a tensor has: its elements, of complex types twice as many. As ir_type_count where it has none. */
int64_t graph_numbers(const ir_type *t);

/* inputs[i]: argument i of func, row-major in the argument's type; borrowed until destroy. All dimensions must be
 * known. */
tsr_status graph_evaluator_create(ir_op *func, const void *const *inputs, graph_evaluator **out);
void graph_evaluator_destroy(graph_evaluator **e);
/* How ops without a rule of their own (custom) are evaluated: fn writes every element of the op's result. */
typedef tsr_status (*graph_custom_fn)(void *user, graph_evaluator *e, ir_op *op);
void graph_evaluator_set_custom(graph_evaluator *e, graph_custom_fn fn, void *user);
/* Computes every element of every value, in program order: element access is then cheap and never recurses. */
tsr_status graph_evaluate_all(graph_evaluator *e);
/* Element `at` (row-major) of a value of func; computes just what it needs. Chains of any length: the stack that it
 * takes does not grow with the graph's depth. */
tsr_status graph_element(graph_evaluator *e, ir_value *v, int64_t at, graph_num *out);

/* Evaluates func whole. outputs[i] receives result i in its own type; tolerance may be NULL, else tolerance[i] (may be
 * NULL too) receives one double per number. */
tsr_status graph_eval(ir_op *func, const void *const *inputs, void *const *outputs, double *const *tolerance);

/* The tolerance of a sum of n terms whose magnitudes add up to sum_abs, kept in `accum` and rounded to `result` at
 * `value`. */
double graph_tolerance(tsr_dtype result, tsr_dtype accum, int64_t n, double value, double sum_abs);
/* Largest error of one rounding of v to t, flushed subnormals included. */
double graph_rounding(tsr_dtype t, double v);
/* Is `got`, read from an implementation's result of type t, within the tolerance of want? NaN agrees with NaN only,
 * infinity with that of its sign or with what overflows; an infinite tolerance says that nothing is known. */
bool graph_agrees(tsr_dtype t, double got, graph_num want);

/* ---- for the rows' evaluation functions (ir/graph/ops) ----------------------------------------------------------- */

struct graph_evaluator {
  const tsr_allocator *al;
  ir_op *given, *func; /* func: what is evaluated, a copy in `scratch` where the given one has composite ops */
  ir_module *scratch;
  struct graph_slot *slots;
  size_t n_slots;
  bool whole;    /* every operand is complete: compute in lines */
  bool rounded;  /* each op's result is rounded to its type: an implementation without any fusion, for tests of the
                    tolerance */
  int depth;     /* of element-wise recursion */
  struct {       /* the element that a read deeper than that needs first; st is set too, so that the ops above end */
    ir_value *value;
    int64_t at;
  } first;
  tsr_status st; /* first failure; reads then give 0 */
  graph_custom_fn custom;
  void *custom_user;
};

/* Reads element i, computing it if need be; {0, 0} after a failure (in e->st). */
graph_num graph_read(graph_evaluator *e, ir_value *v, int64_t i);
void graph_write(graph_evaluator *e, ir_value *v, int64_t i, graph_num x);
#endif
