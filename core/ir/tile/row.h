/* core/ir/tile/row.h - the parts of a tessera.tile.row by name: what verifier, expansion and the CPU, which takes it
 * whole, read, so that none of them finds a norm again in maps and reductions.
 *
 *   %y = "tessera.tile.row"(rows..., weights..., others...) ({prologue}, {epilogue})
 *        {recipe = "rmsnorm", maps = "mn,mn", tile = [m, n], weights = 1, eps = 1.0e-5}
 *
 * means: X = the elements that the prologue gives of `rows`; Y = what the recipe (ir/recipe.h) computes of each row of
 * X, times the first weight, plus the second; the results are what the epilogue gives of Y and `others`, and with
 * keeps_rows X behind them. */
#ifndef CORE_IR_TILE_ROW_H
#define CORE_IR_TILE_ROW_H
#include "core/ir/ir.h"
#include "core/ir/recipe.h"

enum { TILE_ROW_MOST = 32 }; /* operands */

typedef enum tile_row_role { ROW_X, ROW_WEIGHT, ROW_OTHER, ROW_N_ROLES } tile_row_role;

/* Rows whose squares leave the type's range, or that differ by no more than their mean is rounded to. */
typedef enum tile_row_care {
  ROW_CARE_NEVER,  /* there are none */
  ROW_CARE_LOST,   /* found, and computed again by the careful recipe */
  ROW_CARE_ALWAYS, /* all rows are computed by the careful recipe */
} tile_row_care;

typedef struct tile_row {
  const row_recipe *recipe;
  int n[ROW_N_ROLES];           /* operands of each role */
  ir_value **v[ROW_N_ROLES];    /* and where they begin */
  bool swapped[TILE_ROW_MOST];  /* by operand: it lies [n, m] */
  int64_t m, columns;           /* the tile: rows, and elements of a row */
  const ir_block *prologue, *epilogue;
  tsr_dtype type;               /* that X and Y have, and that the recipe is computed in */
  tsr_dtype wrap;               /* an integer type narrower than that, which sums keep; else TSR_DTYPE_NONE */
  double eps;
  tile_row_care care;
  bool keeps_rows; /* the last result is X */
} tile_row;

extern const char *const tile_row_cares[]; /* by tile_row_care, NULL at the end */

/* Fails, as the verifier would, on an op that isn't well formed. */
tsr_status tile_row_get(const ir_op *op, tile_row *out);
bool tile_row_swapped(const tile_row *r, tile_row_role role, int i);
/* Elements of a row of Y: those of X, or one. */
int64_t tile_row_width(const tile_row *r);

tsr_status tile_infer_row(ir_op *op, const ir_type **results);
tsr_status tile_verify_row(const ir_op *op);
#endif
