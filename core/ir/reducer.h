/* core/ir/reducer.h - how the elements of a row, lane or tile become one, a row each: the attribute `op` of reductions
 * in Tile and Target IR, and the `op` of a recipe's folds. */
#ifndef CORE_IR_REDUCER_H
#define CORE_IR_REDUCER_H
#include "core/ir/ir.h"
#include "core/ir/scalar_ops.h"

/* The order is that of the CPU's code image (core/emit/cpu/code.h). */
enum { REDUCER_SUM, REDUCER_PROD, REDUCER_MAX, REDUCER_MIN, N_REDUCERS };
#define REDUCER_WORDS "sum, prod, max, min"

typedef struct ir_reducer {
  const char *name;
  int code; /* SC_*: what joins two elements */
} ir_reducer;
extern const ir_reducer ir_reducers[N_REDUCERS];

/* NULL: there is none of that name. */
const ir_reducer *ir_reducer_named(const char *name);
/* Of the attribute `op`: a sum where it is left out or, in what wasn't verified, unknown. */
const ir_reducer *ir_reducer_of(const ir_op *op);
/* What a reduction in elements of t starts with: it leaves every other element as it is. */
double ir_reducer_identity(const ir_reducer *r, tsr_dtype t);
#endif
