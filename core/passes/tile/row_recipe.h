/* core/passes/tile/row_recipe.h - the statistics of a row operation as Tile IR, from its recipe (ir/recipe.h): of rows
 * that lie in a block's registers, or by loops over their chunks. */
#ifndef CORE_PASSES_TILE_ROW_RECIPE_H
#define CORE_PASSES_TILE_ROW_RECIPE_H
#include "core/ir/recipe.h"
#include "core/ir/tile/row.h"
#include "core/passes/tile/build.h"

/* The elements of rows in registers after some steps, which later chains that begin alike go on from. */
typedef struct row_memo { const recipe_step *steps; int n; ir_value *v; } row_memo;

/* One row operation. */
typedef struct row_work {
  const row_recipe *recipe; /* the plain one or, where every row is taken so, the careful one */
  double count, eps;        /* elements of a row; what is added to its variance */
  tsr_dtype wrap;           /* an integer type that sums are kept in, or TSR_DTYPE_NONE */
  bool may_lose;            /* rows that the plain recipe loses are found, and computed by the careful one */
  ir_value *x;              /* the rows, [rows, elements]; NULL: they are taken in chunks, by `fold` and `online` */
  /* Of rows in chunks: */
  ir_op *op;              /* the graph's, or the row op */
  const ir_type *orig;    /* of the graph's operand */
  const kb_space *row;    /* whole rows */
  tsr_dtype type;         /* that elements have */
  int64_t chunk;          /* columns */
  int64_t careful_chunk;  /* the same of the careful folds: these are hardly ever run, so few columns each: less to
                             compile, and fewer registers are taken from the others */
  tsr_status (*operand)(kb_kernel *k, const struct row_work *w, const kb_space *chunk, ir_value **out);
  const void *from;       /* what `operand` reads */
  ir_value *stat[RECIPE_STATS];
  tsr_status (*fold)(kb_kernel *k, struct row_work *w, const recipe_fold *f, ir_value **out);
  tsr_status (*online)(kb_kernel *k, struct row_work *w); /* statistics 0 and 1 of an online recipe together */
  row_memo memo[RECIPE_STATS * RECIPE_STEPS];
  int n_memo;
} row_work;

/* The work of a graph op on rows of n elements, but where these are. */
row_work kb_row_work(ir_op *op, int64_t n);
/* Fills in w->stat; with rows that the plain folds might lose, w->recipe becomes the careful one. */
tsr_status kb_row_stats(kb_kernel *k, row_work *w);
/* Whether the plain statistics in w hold all rows of the block: a condition that all of its threads see alike. */
ir_value *kb_rows_held(kb_kernel *k, const row_work *w);
/* The chain's value from x, and from w->x. NULL: out of memory. */
ir_value *kb_row_chain(kb_kernel *k, const row_work *w, const recipe_step *steps, ir_value *x);
ir_value *kb_row_elements(kb_kernel *k, row_work *w, const recipe_step *steps);
#endif
