/* core/passes/simt/loop.h - loops and the values that they carry. */
#ifndef CORE_PASSES_SIMT_LOOP_H
#define CORE_PASSES_SIMT_LOOP_H
#include "core/passes/simt/state.h"

bool simt_is_carried_opaque(const simt *c, const ir_op *loop, int i);
/* A Tile IR loop's carried values: initial ones flattened, bound to the region's arguments, yielded, bound to the
 * results. */
tsr_status simt_carry(simt *c, ir_op *op, simt_frag **shape, ir_value ***v, int *n);
tsr_status simt_carry_in(simt *c, ir_op *op, const simt_frag *shape, ir_value **v);
tsr_status simt_carry_yield(simt *c, ir_op *op, ir_value **v);
tsr_status simt_carry_out(simt *c, ir_op *op, const simt_frag *shape, ir_value **v);
/* Refuses a counter that may leave 64 bits and so never end, and widens the kernel's indices to hold the others. */
tsr_status simt_check_counter(simt *c, const ir_op *op);
/* Binds the loop's counter to v; `first` is added to the range's lower end. */
void simt_bind_counter(simt *c, const ir_op *op, ir_value *v, int64_t first);
tsr_status simt_flatten(simt *c, const ir_value *t, bool opaque, ir_value **v, int *n);
tsr_status simt_unflatten(simt *c, ir_value *t, const simt_frag *shape, ir_value **v, int *at);
/* Upper bound of how many values n Tile IR values become. */
tsr_status simt_count_values(simt *c, ir_value **t, int n, int *count);
/* A loop whose body the insertion point enters; v holds the initial values, then the carried ones, at last the results.
 */
tsr_status simt_begin_for(simt *c, ir_value *from, ir_value *to, ir_value *step, int n, ir_value **v, ir_op **out);
tsr_status simt_end_for(simt *c, ir_op *loop, int n, ir_value **v);

#endif
