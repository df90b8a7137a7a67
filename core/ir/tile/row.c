/* core/ir/tile/row.c - see tile/row.h: what the parts of a row op are, and which are well formed. */
#include "core/ir/tile/row.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/tile/structured.h"
#include "core/ir/tile/tile.h"

static const char *const role_names[ROW_N_ROLES] = {"row", "weight", "other"};
const char *const tile_row_cares[] = {
    [ROW_CARE_NEVER] = "never", [ROW_CARE_LOST] = "lost", [ROW_CARE_ALWAYS] = "always", NULL};

static int first_of(const tile_row *r, tile_row_role role) {
  int at = 0;
  for (int i = 0; i < (int)role; i++) at += r->n[i];
  return at;
}

bool tile_row_swapped(const tile_row *r, tile_row_role role, int i) { return r->swapped[first_of(r, role) + i]; }
int64_t tile_row_width(const tile_row *r) { return r->recipe->per_element ? r->columns : 1; }

/* A map an operand: mn or nm. */
static tsr_status read_maps(const ir_op *op, tile_row *r) {
  const char *at = ir_get_str(op, "maps", "");
  for (int i = 0; i < op->n_operands; i++) {
    if (i && *at++ != ',') return ir_error(op, NULL, "maps has fewer operands than the op");
    if (!tile_read_map(&at, 'm', 'n', &r->swapped[i]))
      return ir_error(op, "one map an operand: mn or nm", "maps doesn't say how operand %d lies", i);
  }
  return *at ? ir_error(op, NULL, "maps goes on after the last operand: \"%s\"", at) : NULL;
}

static tsr_status count_operands(const ir_op *op, tile_row *r) {
  const int64_t weights = ir_get_int(op, "weights", 0);
  r->keeps_rows = ir_get_bool(op, "keeps_rows", false);
  const int yields = op->n_results - r->keeps_rows;
  if (op->n_regions != 2 || yields < 1)
    return ir_error(op, NULL, "needs two regions and a result%s", r->keeps_rows ? " beside the rows" : "");
  TSR_TRY(tile_check_region(op, 0, 1, 1, "one scalar"));
  TSR_TRY(tile_check_region(op, 1, yields, yields, "a scalar for each result"));
  r->prologue = op->regions[0], r->epilogue = op->regions[1];
  if (weights < 0 || weights > 2) return ir_error(op, "0, 1 or 2", "weights = %lld", (long long)weights);
  if (op->n_operands > TILE_ROW_MOST)
    return ir_error(op, NULL, "%d operands; at most %d", op->n_operands, TILE_ROW_MOST);
  r->n[ROW_X] = r->prologue->n_args, r->n[ROW_WEIGHT] = (int)weights, r->n[ROW_OTHER] = r->epilogue->n_args - 1;
  for (int role = 0; role < ROW_N_ROLES; role++) r->v[role] = op->operands + first_of(r, (tile_row_role)role);
  const int all = first_of(r, ROW_N_ROLES);
  return all == op->n_operands ? NULL
                               : ir_error(op, NULL, "the regions and weights are of %d operands, not %d", all,
                                          op->n_operands);
}

/* Sums, products and extremes take every number; all else that recipes do is of floats. */
static bool needs_floats(const row_recipe *r) {
  return r->per_element || (r->fold[0].finish[0].code != STEP_END && r->fold[0].finish[0].code != STEP_WRAP);
}

static tsr_status read_types(const ir_op *op, tile_row *r) {
  const ir_type *x = r->prologue->last->operands[0]->type;
  const char *wrap = ir_get_str(op, "wrap", "");
  r->type = r->epilogue->args[0]->type->dtype;
  r->wrap = *wrap ? dtype_parse_real(wrap) : TSR_DTYPE_NONE;
  if (x && x->dtype != r->type)
    return ir_error(op, "cast it in the region", "the prologue yields %s, the epilogue takes %s",
                    tsr_dtype_name(x->dtype), tsr_dtype_name(r->type));
  if (r->type != TSR_F32 && r->type != TSR_F64 && r->type != TSR_I32 && r->type != TSR_I64)
    return ir_error(op, "f32, f64, i32, i64", "rows aren't computed in %s", tsr_dtype_name(r->type));
  if (needs_floats(r->recipe) && !dtype_is_float(r->type))
    return ir_error(op, "f32, f64", "\"%s\" is of floats", ir_get_str(op, "recipe", ""));
  if (*wrap && (!r->wrap || dtype_is_float(r->wrap)))
    return ir_error(op, "an integer type", "wrap = \"%s\"", wrap);
  return NULL;
}

static tsr_status read_care(const ir_op *op, tile_row *r) {
  const char *care = ir_get_str(op, "care", "lost");
  int i = 0;
  while (tile_row_cares[i] && strcmp(tile_row_cares[i], care)) i++;
  if (!tile_row_cares[i]) return ir_error(op, "never, lost, always", "care = \"%s\"", care);
  r->care = r->recipe->careful ? (tile_row_care)i : ROW_CARE_NEVER;
  return NULL;
}

tsr_status tile_row_get(const ir_op *op, tile_row *r) {
  const char *name = ir_get_str(op, "recipe", "");
  int64_t tile[2];
  memset(r, 0, sizeof *r);
  if (!(r->recipe = recipe_named(name))) return ir_error(op, NULL, "there is no recipe \"%s\"", name);
  TSR_TRY(count_operands(op, r));
  if (r->n[ROW_WEIGHT] && !r->recipe->per_element)
    return ir_error(op, NULL, "\"%s\" gives a number a row, which takes no weights", name);
  TSR_TRY(tile_read_extents(op, 2, tile));
  if (tile[0] > INT32_MAX / tile[1]) return ir_error(op, "use smaller tiles", "the tile is too large");
  r->m = tile[0], r->columns = tile[1];
  r->eps = ir_get_float(op, "eps", 0);
  if (!(r->eps >= 0)) return ir_error(op, "a small positive number", "eps is %g", r->eps);
  TSR_TRY(read_types(op, r));
  TSR_TRY(read_care(op, r));
  return read_maps(op, r);
}

/* An operand's extents are those that it is combined with, or 1 where it repeats. */
static tsr_status check_operand(const ir_op *op, const tile_row *r, tile_row_role role, int i) {
  const ir_type *t = r->v[role][i]->type;
  const bool frag = t->kind == IR_T_FRAG, swapped = tile_row_swapped(r, role, i);
  const tsr_dtype element = role == ROW_X      ? r->prologue->args[i]->type->dtype
                            : role == ROW_OTHER ? r->epilogue->args[1 + i]->type->dtype
                                                : r->type;
  if (t->rank != 2 || (t->kind != IR_T_VIEW && !frag))
    return ir_error(op, NULL, "%s operand %d must be a view or a fragment of rank 2", role_names[role], i);
  for (int d = 0; d < 2; d++) {
    const int64_t all = d == swapped ? r->m : role == ROW_OTHER ? tile_row_width(r) : r->columns;
    if (t->dims[d] != all && t->dims[d] != 1)
      return ir_error(op, NULL, "%s operand %d has extent %lld along %c, the tile %lld", role_names[role], i,
                      (long long)t->dims[d], d == swapped ? 'm' : 'n', (long long)all);
  }
  if (frag && t->dtype != element)
    return ir_error(op, "cast it in the region", "%s operand %d is a fragment of %s, not %s", role_names[role], i,
                    tsr_dtype_name(t->dtype), tsr_dtype_name(element));
  return NULL;
}

tsr_status tile_infer_row(ir_op *op, const ir_type **results) {
  tile_row r;
  TSR_TRY(tile_row_get(op, &r));
  const int64_t dims[2] = {r.m, tile_row_width(&r)}, whole[2] = {r.m, r.columns};
  for (int i = 0; i < r.epilogue->last->n_operands; i++) {
    const ir_type *y = r.epilogue->last->operands[i]->type;
    if (y && !(results[i] = ir_type_frag(op->module, y->dtype, 2, dims))) return st_oom();
  }
  if (!r.keeps_rows) return NULL;
  return (results[op->n_results - 1] = ir_type_frag(op->module, r.type, 2, whole)) ? NULL : st_oom();
}

tsr_status tile_verify_row(const ir_op *op) {
  tile_row r;
  TSR_TRY(tile_row_get(op, &r));
  for (int role = 0; role < ROW_N_ROLES; role++)
    for (int i = 0; i < r.n[role]; i++) TSR_TRY(check_operand(op, &r, (tile_row_role)role, i));
  return ir_check_policy(op);
}
