/* core/passes/tile/row_loop.h - loops over the chunks of rows that lie in memory: a fold of a recipe as one loop that
 * keeps a partial result per lane and column of the chunk, and combines these once at its end. */
#ifndef CORE_PASSES_TILE_ROW_LOOP_H
#define CORE_PASSES_TILE_ROW_LOOP_H
#include "core/passes/tile/row_recipe.h"

enum { ROW_LOOP_CARRIES = 2 };

/* Space s is the chunk's, alone in its loop, so that no value of another loop is taken for one of its own. */
typedef struct row_loop {
  kb_space *s;
  ir_op *loop;
  ir_builder outside;
  ir_value *carried[ROW_LOOP_CARRIES];
} row_loop;

/* Opens a loop over the row's chunks that carries n values: k builds in it until row_loop_end is told the next ones. */
tsr_status row_loop_begin(kb_kernel *k, const kb_space *row, int64_t chunk, int n, ir_value *const *init, row_loop *p);
tsr_status row_loop_end(kb_kernel *k, row_loop *p, int n, ir_value *const *next);
/* A chunk of v; x with `other` in columns beyond the row. */
ir_value *row_loop_constant(kb_kernel *k, const row_work *w, tsr_dtype t, double v);
ir_value *row_loop_within(kb_kernel *k, const row_loop *p, ir_value *x, double other);
/* A row_work's `fold` where it says what its chunks are. */
tsr_status row_loop_fold(kb_kernel *k, row_work *w, const recipe_fold *f, ir_value **out);
#endif
