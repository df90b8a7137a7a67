/* core/ir/graph/control.h - control flow of Graph IR: `if` and `while`, whose regions are functions of their own. A
 * region's arguments are the op's operands (of `if` those behind the condition) and it sees no other values; it ends
 * with return. Where it pays, or where derivatives and the like ask for it, they are written out as other ops
 * (ir/graph/expand.h); else the pass `outline` makes functions of the regions and a `control` of the op, which runs
 * their programs. */
#ifndef CORE_IR_GRAPH_CONTROL_H
#define CORE_IR_GRAPH_CONTROL_H
#include "core/ir/graph/ops.h"

enum { GRAPH_MOST_UNROLLED = 1024, GRAPH_CONTROL_OPERANDS = 192, GRAPH_CONTROL_RESULTS = 60 };

/* Regions: of `if` then and else, of `while` the condition and the body. */
enum { REGION_THEN, REGION_ELSE, REGION_COND = 0, REGION_BODY };

/* Has op regions of control flow? */
static inline bool graph_has_regions(const ir_op *op) { return graph_is_kind(op, GRAPH_CONTROL) && op->n_regions; }
/* The first operand that is an argument of the regions. */
static inline int graph_region_first(const ir_op *op) { return graph_is(op, G_IF) ? 1 : 0; }
/* Of `while`: how many operands the body gives anew; the others stay as they are. */
int graph_carried(const ir_op *op);
/* Of `while`: the trips that it makes whatever its operands are; -1: they decide. */
int64_t graph_trips(const ir_op *op);
/* Of `if`: which region runs whatever its operands are; -1: the condition decides. */
int graph_branch(const ir_op *op);
/* The region's ops at b, for these arguments; results[i] gets what it returns. False when out of memory. */
bool graph_inline(ir_builder *b, const ir_block *region, ir_value *const *args, ir_value **results);
/* A function at b, in any module, that is the region. NULL when out of memory. */
ir_op *graph_outline(ir_builder *b, const ir_block *region, const char *name);
/* An `if` or `while` at b whose regions are copies of these functions; its types are inferred. */
tsr_status graph_control_build(ir_builder *b, graph_code c, int n, ir_value *const *operands, const ir_op *first,
                               const ir_op *second, int64_t carried, int64_t max_trips, ir_op **out);
#endif
