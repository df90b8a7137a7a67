/* core/passes/cpu/lower.h - what the files of the CPU lowering share: the kernel being lowered, tiles in its scratch
 * memory, calls. */
#ifndef CORE_PASSES_CPU_LOWER_H
#define CORE_PASSES_CPU_LOWER_H
#include "core/ir/ir.h"
#include "core/ir/tile/row.h"
#include "core/passes/cpu/row_memory.h"
#include "core/passes/cpu/row_plan.h"
#include "core/passes/cpu/scratch.h"

typedef struct lower lower;
struct lower {
  ir_module *m; /* output */
  scratch_intervals scratch;
  ir_op *kernel; /* input */
  row_plan rows; /* of the block being lowered */
  /* Upward: a region's ops, for the files below cpu/from_tile.c. */
  tsr_status (*block)(lower *l, ir_block *from, ir_builder *b);
};

/* What v became in the output; NULL = nothing yet. */
static inline ir_value *cpu_at(const ir_value *v) { return v->data; }
/* The scratch tile of a fragment is dense in the compute type; a shared tile keeps its own type and padding. */
const ir_type *cpu_tile_type(lower *l, const ir_type *t);
/* Fails for what the CPU can't compute with, or hold. */
tsr_status cpu_check_type(const ir_op *op, const ir_type *t);
/* v lies where `of` does, in memory or in a tile, which is kept as long as v is used. */
void cpu_alias(lower *l, ir_value *v, const ir_value *of);
/* Copies a scalar-like op under the target prefix; results are registers or views. */
tsr_status cpu_copy_op(lower *l, ir_builder *b, ir_op *op);
/* A scratch tile of a fragment's or shared tile's type that lives from position start to end; op: for messages. */
tsr_status cpu_new_tile(lower *l, ir_builder *b, const ir_op *op, const ir_type *type, int64_t start, int64_t end,
                        ir_value **out);
/* The same for v, while it is used. */
tsr_status cpu_tile_for(lower *l, ir_builder *b, ir_value *v);
/* A tessera.target.call; NULL when out of memory, or refused. */
ir_op *cpu_call(lower *l, ir_builder *b, const char *fn, int n, ir_value *const *operands);
bool cpu_call2(lower *l, ir_builder *b, const char *fn, ir_value *x, ir_value *y);
/* Those of the named attributes (ended by NULL) that `from` has. */
bool cpu_copy_attrs(ir_op *to, const ir_op *from, const char *const *names);
/* An elementwise region's ops but its yield, behind b; what its arguments became must be set. */
tsr_status cpu_lower_elements(lower *l, ir_builder *b, const ir_block *from);

/* Products over all of k (cpu/contraction.c): a loop written by hand that cpu_find_contraction knows, and
 * tessera.tile.contract. */
struct cpu_contraction;
tsr_status cpu_lower_contraction(lower *l, ir_builder *b, const struct cpu_contraction *c, ir_value *sum);
tsr_status cpu_lower_contract(lower *l, ir_builder *b, ir_op *op);

/* Fills the tile with an unfold's elements, from where its indices are; transposed: it lies the other way. */
tsr_status cpu_unfold(lower *l, ir_builder *b, const ir_op *unfold, ir_value *tile, bool transposed);

/* Loops and branches (cpu/control.c). */
tsr_status cpu_lower_for(lower *l, ir_builder *b, ir_op *op);
tsr_status cpu_lower_if(lower *l, ir_builder *b, ir_op *op);

/* tessera.tile.row, by one call of a reduction kernel (cpu/row.c). */
tsr_status cpu_lower_row(lower *l, ir_builder *b, ir_op *op);
/* Where a reduction kernel may write v at once: the memory of its store, else a tile. */
tsr_status cpu_row_target(lower *l, ir_builder *b, ir_value *v);

/* An elementwise region of an op as one map: what it yields goes to `to`, by yielded value (NULL: nowhere); its
 * arguments are `operands` (NULL: not used). */
tsr_status cpu_lower_region(lower *l, ir_builder *b, const ir_block *region, ir_value *const *operands,
                            ir_value *const *to);
/* The same, of a region whose first argument becomes what the steps of a sum's or maximum's finish make of it first. */
tsr_status cpu_finish_region(lower *l, ir_builder *b, const ir_block *region, ir_value *const *operands,
                             ir_value *const *to, const recipe_step *finish, int64_t count);
/* What a region reads of a view or fragment v, `like` being its argument: memory of that type as it is, else a tile;
 * `written`: as if it were of another type. */
tsr_status cpu_read_operand(lower *l, ir_builder *b, const ir_op *op, const ir_value *v, const ir_type *like,
                            bool written, ir_value **out);
#endif
