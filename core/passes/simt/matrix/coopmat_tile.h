/* core/passes/simt/matrix/coopmat_tile.h - a fragment as cooperative matrices, of a subgroup or (the path's scope) of
 * the whole block. */
#ifndef CORE_PASSES_SIMT_MATRIX_COOPMAT_TILE_H
#define CORE_PASSES_SIMT_MATRIX_COOPMAT_TILE_H
#include "core/passes/simt/state.h"

enum { COOP_ROUND_BYTES = 8192 }; /* scratch of the subgroups for one round of conversions */

/* Matrices that hold a fragment: those of one subgroup, or (wide) of the whole block. A fragment of extent 1 along a
 * dimension has one matrix there, which repeats its values over all rows (columns). */
typedef struct coop_grid {
  const simt_layout *l;
  bool wide;
  int size[2];    /* of a matrix */
  int per_rep[2]; /* matrices per rep */
  int n[2];       /* matrices */
} coop_grid;

coop_grid coop_grid_of(const simt *c, const simt_layout *l);
/* Do the matrices cover the fragment's extents exactly, each held once? */
bool coop_covers(const simt *c, const coop_grid *g, const int64_t *dims);
/* First row (column) of matrix i: the part that depends on the subgroup, and the constant part. */
ir_value *coop_origin(simt *c, const coop_grid *g, int d);
int64_t coop_offset(const coop_grid *g, int d, int i);
/* A matrix used as "a", "b" or "acc". */
const ir_type *coop_type(simt *c, tsr_dtype t, int rows, int cols, const char *use);
const ir_type *coop_acc_type(simt *c, tsr_dtype t);
/* Does the device have accumulators of this type and the kernel's shape? */
bool coop_has_accumulator(const simt *c, tsr_dtype t);
/* Can matrices be loaded from (stored to) memory in its own order? minor: elements of one of their rows (columns, where
 * those lie side by side). clipped: its ends may fall inside, which takes tensor addressing. */
bool coop_reaches(const simt *c, const simt_mem *m, int64_t minor, bool clipped);
/* minor of an accumulator. */
int64_t coop_acc_minor(const simt *c, bool col);
/* Memory to accumulator matrices and back; (row, column) of the matrix's first element are origin and constant offset.
 */
typedef struct coop_place { ir_value *origin[2]; int64_t off[2]; } coop_place;
ir_value *coop_load(simt *c, const ir_type *type, const simt_mem *m, const coop_place *at, bool col, bool clipped);
void coop_store(simt *c, ir_value *v, const simt_mem *m, const coop_place *at, bool col, bool clipped);
ir_value *coop_cast(simt *c, ir_value *v, const ir_type *type);
/* Are neighbours of a column, not of a row, side by side? */
bool coop_is_col(const simt_mem *m);
/* Accumulators to scalars in their layout and back. */
tsr_status coop_to_regs(simt *c, const simt_frag *f, simt_frag *out);
tsr_status coop_from_regs(simt *c, const simt_frag *f, simt_frag *out);

#endif
