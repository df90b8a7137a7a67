/* core/passes/tile/raise_rows.c - see tile/fuse_maps.h: reductions in text that was written by hand become row ops.
 * What Schedule IR was lowered to, which says its family, has them from the start, but where it was written out since
 * no kernel takes it. */
#include "core/base/policy.h"
#include "core/ir/reducer.h"
#include "core/passes/tile/build.h"
#include "core/passes/tile/fuse_maps.h"

/* The recipe that computes the same of rows of f32; NULL: none. */
static const char *recipe_of(const ir_op *op) {
  if (op->def->level != IR_TILE || op->def->code != T_REDUCE || ir_policy(op) == TSR_POLICY_KAHAN_SUM) return NULL;
  const ir_type *t = op->operands[0]->type;
  if (t->rank != 2 || t->dtype != TSR_F32 || t->dims[1] < 2 || ir_get_int(op, "axis", 0) != 1) return NULL;
  const int code = ir_reducer_of(op)->code;
  return code == SC_ADD ? "reduce_sum" : code == SC_MAX ? "reduce_max" : NULL;
}

static tsr_status raise_in(ir_op *kernel, ir_block *b, bool *any) {
  for (ir_op *o = b->first, *next; o; o = next) {
    next = o->next;
    for (int r = 0; r < o->n_regions; r++) TSR_TRY(raise_in(kernel, o->regions[r], any));
    const char *recipe = recipe_of(o);
    if (!recipe) continue;
    const tile_options opts = {.policy = ir_get_str(o, "policy", "fast")};
    kb_kernel k = {.m = o->module, .b = ir_before(o), .opts = &opts};
    ir_value *y = kb_row_of(&k, recipe, o->operands[0], NULL);
    if (!y) return st_oom();
    y->def->loc = o->loc;
    ir_replace_uses(kernel, o->results[0], y);
    ir_op_remove(o);
    *any = true;
  }
  return NULL;
}

tsr_status tile_raise_rows(ir_module *m) {
  bool any = false;
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_TILE && o->def->code == T_KERNEL && !ir_get_attr(o, "family") &&
        ir_get_bool(o, "reduction_kernels", true))
      TSR_TRY(raise_in(o, o->regions[0], &any));
  if (!any) return NULL;
  TSR_TRY(tile_fuse_rows(m));
  return ir_verify(m);
}
