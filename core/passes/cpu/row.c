/* core/passes/cpu/row.c - tessera.tile.row by one call of a fused kernel (backends/cpu/rows.c), which reads the rows
 * where they are and looks after those that f32 loses; prologue and epilogue are maps before and after it, but for what
 * of a prologue the kernel of a sum does itself (cpu/row_steps.h). */
#include <string.h>

#include "core/ir/tile/row.h"
#include "core/ir/tile/tile.h"
#include "core/passes/cpu/lower.h"
#include "core/passes/cpu/patterns.h"
#include "core/passes/cpu/row_takes.h"

static bool gives_argument(const ir_block *region) {
  return region->last->n_operands == 1 && region->last->operands[0] == region->args[0];
}

static bool is_whole(const tile_row *r, const ir_type *t) {
  return t->dims[0] == r->m && t->dims[1] == r->columns;
}

static tsr_status tile(lower *l, ir_builder *b, const ir_op *op, int64_t m, int64_t n, ir_value **out) {
  const ir_type t = {.kind = IR_T_FRAG, .dtype = TSR_F32, .rank = 2, .dims = {m, n}};
  return cpu_new_tile(l, b, op, &t, op->scratch, scratch_end(op), out);
}

static tsr_status copied(lower *l, ir_builder *b, const ir_op *op, const ir_value *v, ir_value **out) {
  TSR_TRY(tile(l, b, op, v->type->dims[0], v->type->dims[1], out));
  return cpu_call2(l, b, "copy", *out, cpu_at(v)) ? NULL : st_oom();
}

/* The rows: the operand that the kernel's steps start with as it is, else a tile of what the prologue gives: `into`,
 * where that isn't NULL. */
static tsr_status rows(lower *l, ir_builder *b, const tile_row *r, const cpu_row_steps *s, const ir_op *op,
                       ir_value *into, ir_value **out) {
  const ir_block *region = r->prologue;
  ir_value *operands[TILE_ROW_MOST];
  if (s->x) {
    *out = cpu_at(s->x);
    return s->x->type->kind == IR_T_FRAG || rows_inside(s->x) ? NULL : copied(l, b, op, s->x, out);
  }
  *out = into;
  for (int i = 0; i < r->n[ROW_X]; i++) {
    const ir_value *v = r->v[ROW_X][i];
    operands[i] = NULL;
    if (!region->args[i]->n_uses) continue;
    TSR_TRY(cpu_read_operand(l, b, op, v, region->args[i]->type, false, &operands[i]));
    const bool is_copy = operands[i] != cpu_at(v) && region->args[i]->type->dtype == TSR_F32;
    if (is_copy && !into && is_whole(r, v->type)) *out = operands[i]; /* its elements are computed in place */
  }
  if (!*out) TSR_TRY(tile(l, b, op, r->m, r->columns, out));
  return cpu_lower_region(l, b, region, operands, out);
}

/* The kernels read a weight as f32. */
static tsr_status weight(lower *l, ir_builder *b, const ir_op *op, const ir_value *v, ir_value **out) {
  *out = cpu_at(v);
  if (v->type->kind == IR_T_FRAG || (v->type->dtype == TSR_F32 && rows_type(v->type))) return NULL;
  return copied(l, b, op, v, out);
}

static bool set_number(ir_op *call, const char *name, double v) {
  return v == 0 || ir_set_attr(call, name, ir_attr_float(call->module, v));
}

static bool set_numbers(ir_op *call, const cpu_row_kernel *k) {
  return set_number(call, "mean_scale", k->mean_scale) && set_number(call, "square_scale", k->square_scale) &&
         set_number(call, "eps", k->eps);
}

/* Of a norm of one row: the epilogue adds another row, which the kernel takes for the second weight. */
static bool adds_row(const tile_row *r, const cpu_row_kernel *k) {
  const ir_value *y = r->epilogue->last->operands[0];
  if (!k->is_norm || r->m != 1 || r->n[ROW_WEIGHT] > 1 || r->n[ROW_OTHER] != 1 ||
      r->epilogue->last->n_operands != 1 || !y->def || y->def != r->epilogue->first || y->def->def->code != SC_ADD ||
      r->v[ROW_OTHER][0]->type->dims[1] != r->columns)
    return false;
  ir_value *const *v = y->def->operands, *const *args = r->epilogue->args;
  return (v[0] == args[0] && v[1] == args[1]) || (v[0] == args[1] && v[1] == args[0]);
}

static tsr_status kernel(lower *l, ir_builder *b, const tile_row *r, const cpu_row_kernel *k, const ir_op *op,
                         ir_value *x, ir_value *y) {
  static const char *const names[] = {"scale", "shift"};
  const ir_value *weights[] = {r->n[ROW_WEIGHT] > 0 ? r->v[ROW_WEIGHT][0] : NULL,
                               r->n[ROW_WEIGHT] > 1 ? r->v[ROW_WEIGHT][1] : adds_row(r, k) ? r->v[ROW_OTHER][0] : NULL};
  ir_value *operands[4] = {y, x};
  int n = 2;
  for (int i = 0; i < 2; i++)
    if (weights[i]) TSR_TRY(weight(l, b, op, weights[i], &operands[n++]));
  ir_op *call = cpu_call(l, b, k->name, n, operands);
  if (!call) return st_oom();
  for (int i = 0; i < 2; i++)
    if (weights[i] && !ir_set_attr(call, names[i], ir_attr_bool(l->m, true))) return st_oom();
  return set_numbers(call, k) ? NULL : st_oom();
}

/* Memory that the op reads must not be written by the kernel before it has read all of it. */
static bool is_read(const ir_op *op, const ir_value *v) {
  for (int i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type->kind == IR_T_VIEW && cpu_memory_of(op->operands[i]) == cpu_memory_of(v)) return true;
  return false;
}

static tsr_status target(lower *l, ir_builder *b, const ir_op *op, ir_value *v) {
  ir_op *store = NULL;
  const ir_value *memory = v->n_uses ? cpu_store_target(v, &store) : NULL;
  return memory && is_read(op, memory) ? cpu_tile_for(l, b, v) : cpu_row_target(l, b, v);
}

/* The same of the epilogue's map, which converts and writes memory of every kind. */
static tsr_status map_target(lower *l, ir_builder *b, const ir_op *op, ir_value *v) {
  ir_op *store = NULL;
  const ir_value *memory = v->n_uses ? cpu_store_target(v, &store) : NULL;
  if (!memory || !cpu_at(memory) || is_read(op, memory)) return cpu_tile_for(l, b, v);
  v->data = cpu_at(memory);
  store->data = store; /* done */
  return NULL;
}

static tsr_status map_targets(lower *l, ir_builder *b, const tile_row *r, const ir_op *op) {
  for (int i = 0; i < r->epilogue->last->n_operands; i++) TSR_TRY(map_target(l, b, op, op->results[i]));
  return NULL;
}

/* The epilogue's results of y, which have their places. */
static tsr_status epilogue(lower *l, ir_builder *b, const tile_row *r, const cpu_row_kernel *k, const ir_op *op,
                           ir_value *y) {
  ir_value *operands[TILE_ROW_MOST + 1] = {y}, *to[TILE_ROW_MOST];
  const int n = r->epilogue->last->n_operands;
  if (n > TILE_ROW_MOST) return ir_error(op, NULL, "has too many results");
  for (int i = 0; i < r->n[ROW_OTHER]; i++) {
    const ir_value *arg = r->epilogue->args[1 + i];
    operands[1 + i] = NULL;
    if (arg->n_uses) TSR_TRY(cpu_read_operand(l, b, op, r->v[ROW_OTHER][i], arg->type, false, &operands[1 + i]));
  }
  for (int i = 0; i < n; i++) to[i] = cpu_at(op->results[i]);
  return cpu_finish_region(l, b, r->epilogue, operands, to, k->finish, r->columns);
}

/* ---- sums and maxima ------------------------------------------------------------------------------------------- */

/* y = the number of each row. The kernels take numbers from tiles. */
static tsr_status reduce(lower *l, ir_builder *b, const tile_row *r, const cpu_row_steps *s, const cpu_row_kernel *k,
                         const ir_op *op, ir_value *y) {
  ir_value *x, *kept = r->keeps_rows ? op->results[op->n_results - 1] : NULL, *operands[4];
  int n = 0;
  if (kept) TSR_TRY(cpu_tile_for(l, b, kept));
  TSR_TRY(rows(l, b, r, s, op, kept ? cpu_at(kept) : NULL, &x));
  operands[n++] = k->writes_rows && kept ? cpu_at(kept) : y;
  if (k->writes_rows && !kept) TSR_TRY(tile(l, b, op, r->m, r->columns, operands));
  operands[n++] = x;
  if (s->number) {
    operands[n] = cpu_at(s->number);
    if (operands[n]->type->kind != IR_T_ARRAY) TSR_TRY(copied(l, b, op, s->number, &operands[n]));
    n++;
  }
  if (k->writes_rows) operands[n++] = y;
  ir_op *call = cpu_call(l, b, k->name, n, operands);
  return call && (!s->number || ir_set_attr(call, "mean", ir_attr_bool(l->m, true))) &&
                 (!k->writes_rows || ir_set_attr(call, "sums", ir_attr_bool(l->m, true)))
             ? NULL
             : st_oom();
}

static tsr_status reduction(lower *l, ir_builder *b, const tile_row *r, const cpu_row_steps *s, const cpu_row_kernel *k,
                            const ir_op *op) {
  ir_value *y;
  const bool is_result = gives_argument(r->epilogue) && cpu_row_finish(k->finish)->code == STEP_END;
  if (is_result) TSR_TRY(cpu_tile_for(l, b, op->results[0]));
  if (is_result) return reduce(l, b, r, s, k, op, cpu_at(op->results[0]));
  TSR_TRY(map_targets(l, b, r, op));
  y = cpu_at(op->results[0]);
  const bool in_place = y->type->kind == IR_T_ARRAY && y->type->dtype == TSR_F32;
  if (!in_place) TSR_TRY(tile(l, b, op, r->m, 1, &y));
  TSR_TRY(reduce(l, b, r, s, k, op, y));
  return epilogue(l, b, r, k, op, y);
}

/* ---- the op ---------------------------------------------------------------------------------------------------- */

tsr_status cpu_lower_row(lower *l, ir_builder *b, ir_op *op) {
  tile_row r;
  cpu_row_steps s;
  cpu_row_kernel k;
  ir_value *x, *y;
  TSR_TRY(tile_row_get(op, &r));
  if (!cpu_row_takes(op, &r, &s, &k))
    return ir_error_at(op, op->loc, TSR_UNSUPPORTED, "tile_expand_row", "has to be written out for the CPU");
  if (k.finish) return reduction(l, b, &r, &s, &k, op);
  TSR_TRY(rows(l, b, &r, &s, op, NULL, &x));
  if (gives_argument(r.epilogue) || adds_row(&r, &k)) {
    TSR_TRY(target(l, b, op, op->results[0]));
    return kernel(l, b, &r, &k, op, x, cpu_at(op->results[0]));
  }
  TSR_TRY(tile(l, b, op, r.m, r.columns, &y));
  TSR_TRY(kernel(l, b, &r, &k, op, x, y));
  TSR_TRY(map_targets(l, b, &r, op));
  return epilogue(l, b, &r, &k, op, y);
}
