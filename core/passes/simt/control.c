/* core/passes/simt/control.c - for and if.
 * A loop's body is made once; if the accesses pending at its end could conflict with those at its start, it is made
 * again with them pending at the start, so that a barrier appears exactly where an iteration meets the one before. */
#include <string.h>

#include "core/device/dialect.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/control.h"
#include "core/passes/simt/hoist.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/loop.h"
#include "core/passes/simt/pipeline.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/state.h"

/* ---- for --------------------------------------------------------------------------------------------------------- */

typedef struct carried { simt_frag *shape; ir_value **v; int n; } carried;

/* In the part of a branch that is hardly ever taken. */
static bool hardly_runs(const ir_op *op) {
  const ir_op *in = op->parent->parent;
  return in->def->code == T_IF && ir_get_bool(in, "likely", false) && op->parent != in->regions[0];
}

static tsr_status for_body(simt *c, ir_op *op, const carried *in, ir_op **loop, ir_value **v) {
  const ir_block *b = op->regions[0];
  int at = 0, n = 0;
  memcpy(v, in->v, sizeof *v * (size_t)in->n);
  TSR_TRY(simt_begin_for(c, simt_of(op->operands[0])->v, simt_of(op->operands[1])->v, simt_of(op->operands[2])->v,
                         in->n, v, loop));
  /* A gemv is as fast as it has bytes in flight: the loads of four steps together. Conversions from 8-bit floats take
   * many registers on some devices. */
  bool f8 = c->tile->regions[0]->n_args > 1 && dtype_is_float(c->tile->regions[0]->args[1]->type->dtype) &&
            tsr_dtype_size(c->tile->regions[0]->args[1]->type->dtype) == 1;
  const matrix_path *asked = matrix_path_find(ir_get_str(c->tile, "matrix_path", "auto"));
  const bool rolled =
      ir_get_bool(op, "rolled", false) && (dialect_of(c->caps)->moves_freely || hardly_runs(op));
  const int by = asked && !asked->has_tiles ? (f8 ? 1 : 4) : rolled;
  if (by && !ir_set_attr(*loop, "unroll_by", ir_attr_int(c->m, by))) return st_oom();
  simt_bind_counter(c, op, (*loop)->regions[0]->args[0], 0);
  for (int i = 0; i < op->n_results; i++) TSR_TRY(simt_unflatten(c, b->args[1 + i], &in->shape[i], v, &at));
  TSR_TRY(simt_lower_block(c, b));
  for (int i = 0; i < op->n_results; i++)
    TSR_TRY(simt_flatten(c, b->last->operands[i], simt_is_carried_opaque(c, op, i), v, &n));
  return simt_end_for(c, *loop, n, v);
}

tsr_status simt_lower_for(simt *c, ir_op *op) {
  carried in = {0};
  bool done = false;
  TSR_TRY(simt_check_counter(c, op));
  TSR_TRY(simt_pipeline_for(c, op, &done));
  if (done) return NULL;
  TSR_TRY(simt_carry(c, op, &in.shape, &in.v, &in.n));
  ir_value **v = arena_array(&c->m->arena, ir_value *, in.n + 1);
  simt_shared_state before, after;
  ir_op *loop = NULL;
  if (!v) return st_oom();
  simt_shared_save(c, &before);
  TSR_TRY(for_body(c, op, &in, &loop, v));
  simt_shared_save(c, &after);
  simt_shared_restore(c, &before);
  if (simt_shared_join(c, &after)) {
    ir_op_remove(loop);
    TSR_TRY(for_body(c, op, &in, &loop, v));
    simt_shared_join(c, &before); /* the loop may not run at all */
  }
  return simt_carry_out(c, op, in.shape, v);
}

/* ---- if ---------------------------------------------------------------------------------------------------------- */

static tsr_status if_types(simt *c, ir_op *op, const ir_type **types, simt_frag *shape, int *n) {
  tsr_status st = NULL;
  *n = 0;
  for (int i = 0; i < op->n_results; i++) {
    const ir_type *t = op->results[i]->type;
    if (t->kind != IR_T_FRAG) {
      types[(*n)++] = ir_type_get(c->m, t);
      continue;
    }
    const simt_layout *l = simt_layout_of(c, op->results[i], &st);
    if (!l) return st;
    shape[i] = (simt_frag){.layout = l, .dtype = t->dtype, .n = l->n_regs};
    for (int r = 0; r < l->n_regs; r++) types[(*n)++] = ir_type_scalar(c->m, t->dtype);
  }
  return NULL;
}

static tsr_status if_region(simt *c, const ir_op *op, int region, ir_value **v) {
  int n = 0;
  const ir_block *b = op->regions[region];
  TSR_TRY(simt_lower_block(c, b));
  for (int i = 0; i < op->n_results; i++) TSR_TRY(simt_flatten(c, b->last->operands[i], false, v, &n));
  return NULL;
}

tsr_status simt_lower_if(simt *c, ir_op *op) {
  int most, n, at = 0;
  TSR_TRY(simt_count_values(c, op->results, op->n_results, &most));
  ir_value **v = arena_array(&c->m->arena, ir_value *, most);
  const ir_type **types = arena_array(&c->m->arena, const ir_type *, most);
  simt_frag *shape = arena_array(&c->m->arena, simt_frag, op->n_results + 1);
  simt_shared_state before, after;
  if (!v || !types || !shape) return st_oom();
  TSR_TRY(if_types(c, op, types, shape, &n));
  simt_shared_save(c, &before);
  ir_op *branch = sx_if(c, simt_of(op->operands[0])->v, n, types, op->n_regions == 2);
  bool likely = ir_get_bool(op, "likely", false);
  if (!branch || (likely && !ir_set_attr(branch, "likely", ir_attr_bool(c->m, true)))) return st_oom();
  TSR_TRY(if_region(c, op, 0, v));
  simt_shared_save(c, &after);
  simt_shared_restore(c, &before);
  if (op->n_regions == 2) {
    sx_else(c, branch, n, v);
    TSR_TRY(if_region(c, op, 1, v));
  }
  sx_close(c, branch, n, v);
  if (likely && !n && !caps_simd_like(c->caps)) sx_sink(branch->regions[0]);
  simt_shared_join(c, &after);
  if (c->b.failed) return st_oom();
  for (int i = 0; i < op->n_results; i++) TSR_TRY(simt_unflatten(c, op->results[i], &shape[i], branch->results, &at));
  return NULL;
}
