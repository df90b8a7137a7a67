/* core/passes/simt/gather.c - gather and scatter: elements at addresses that a region computes. */
#include <string.h>

#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/element.h"
#include "core/passes/simt/gather.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/registers.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/state.h"

/* y, which lies in s's range, brought into 0..n - 1. */
static ir_value *clamped(simt *c, const simt_val *s, ir_value *y, int64_t n) {
  if (s->lo < 0) y = sx_op(c, SC_MAX, NULL, 2, (ir_value *[]){y, sx_int(c, 0)});
  return s->hi >= n ? sx_min(c, y, sx_int(c, n - 1)) : y;
}

/* Inlines op's region for register r of layout l; *at receives the element's address in `view`, *ok its condition.
 * clamp: where that does not hold, an address in the view all the same. */
static tsr_status indexed(simt *c, const ir_op *op, const simt_layout *l, const simt_mem *view, int r, bool clamp,
                          ir_value **at, ir_value **ok) {
  const ir_block *region = op->regions[0];
  ir_value *y[TSR_MAX_RANK + 1];
  bool never;
  ir_value *cond = view->inside, *index = view->base;
  for (int d = 0; d < l->rank; d++) {
    simt_val *s = simt_bind(c, region->args[d], SV_SCALAR);
    if (!s) return st_oom();
    int64_t k = simt_reg_offset(l, r, d);
    s->v = sx_addi(c, simt_thread_offset(c, l, d), k);
    s->lo = 0;
    s->hi = simt_thread_max(l, d) + k;
    s->mult = 1;
  }
  TSR_TRY(simt_inline(c, region, y));
  simt_mem tile = {.rank = l->rank};
  memcpy(tile.dims, l->dims, sizeof tile.dims);
  cond = sx_all(c, cond, simt_register_guard(c, l, &tile, false, r, &never));
  for (int d = 0; d < view->rank; d++) {
    const simt_val *s = simt_of(region->last->operands[d]);
    if (s->lo < 0) cond = sx_all(c, cond, sx_compare(c, "ge", y[d], sx_int(c, 0)));
    if (view->limit[d]) cond = sx_all(c, cond, sx_compare(c, "lt", y[d], view->limit[d]));
    else if (s->hi >= view->dims[d]) cond = sx_all(c, cond, sx_compare(c, "lt", y[d], sx_int(c, view->dims[d])));
    ir_value *place = clamp ? clamped(c, s, y[d], view->dims[d]) : y[d];
    index = sx_add(c, index, sx_muli(c, place, view->strides[d]));
  }
  if (region->last->n_operands > view->rank) cond = sx_all(c, cond, y[view->rank]);
  *ok = never ? sx_num(c, TSR_BOOL, 0) : cond;
  *at = index;
  return c->b.failed ? st_oom() : NULL;
}

/* Each element is read by the thread alone that would write it: what another one writes there at the same time is never
 * seen, not even by a read whose value is dropped. The address is good for drivers that read where no lane asks. */
static tsr_status gather_owned(simt *c, const ir_op *op, const simt_layout *l, const simt_mem *view, int r,
                               ir_value **out) {
  ir_value *at, *ok, *zero = sx_num(c, view->dtype, 0);
  TSR_TRY(indexed(c, op, l, view, r, true, &at, &ok));
  ok = sx_all(c, simt_owner(c, l), ok);
  if (!ok) return *out = sx_load(c, view, at, 1), NULL;
  const ir_type *t = ir_type_scalar(c->m, view->dtype);
  ir_op *branch = t ? sx_if(c, ok, 1, &t, true) : NULL;
  if (!branch) return st_oom();
  ir_value *v = sx_load(c, view, at, 1);
  sx_else(c, branch, 1, &v);
  sx_close(c, branch, 1, &zero);
  *out = branch->results[0];
  return c->b.failed ? st_oom() : NULL;
}

tsr_status simt_gather_reg(simt *c, const ir_op *op, const simt_layout *l, const simt_mem *view, int r,
                           ir_value **out) {
  ir_value *at, *ok;
  if (ir_get_bool(op, "owned", false)) return gather_owned(c, op, l, view, r, out);
  TSR_TRY(indexed(c, op, l, view, r, false, &at, &ok));
  if (ok) at = sx_select(c, ok, at, simt_harmless(c, view));
  *out = sx_load(c, view, at, 1);
  if (ok) *out = sx_select(c, ok, *out, sx_num(c, view->dtype, 0));
  return NULL;
}

tsr_status simt_lower_gather(simt *c, ir_op *op, const simt_mem *to) {
  const simt_mem *view = &simt_of(op->operands[0])->mem;
  tsr_status st = NULL;
  if (!to) {
    const simt_layout *l = simt_layout_of(c, op->results[0], &st);
    ir_value **v = l ? arena_array(&c->m->arena, ir_value *, l->n_regs + 1) : NULL;
    if (!v) return st ? st : st_oom();
    tsr_dtype t = op->results[0]->type->dtype;
    for (int r = 0; r < l->n_regs; r++) {
      TSR_TRY(simt_gather_reg(c, op, l, view, r, &v[r]));
      v[r] = sx_cast(c, v[r], t);
    }
    simt_val *s = simt_bind(c, op->results[0], SV_FRAG);
    s->frag = (simt_frag){.layout = l, .dtype = t, .v = v, .n = l->n_regs};
    return NULL;
  }
  const simt_layout *l = simt_copy_layout(c, to->rank, to->dims, 1);
  if (!l) return st_oom();
  simt_write(c, to->lo, to->hi);
  ir_value *owner = simt_owner(c, l);
  ir_op *only = owner ? sx_if(c, owner, 0, NULL, false) : NULL;
  for (int r = 0; r < l->n_regs; r++) {
    ir_value *v;
    TSR_TRY(simt_gather_reg(c, op, l, view, r, &v));
    TSR_TRY(simt_access_regs(c, l, to, true, false, r, r + 1, &v));
  }
  if (only) sx_close(c, only, 0, NULL);
  return NULL;
}

tsr_status simt_lower_scatter(simt *c, ir_op *op) {
  simt_frag f;
  TSR_TRY(simt_regs(c, &simt_of(op->operands[0])->frag, &f));
  const simt_mem *view = &simt_of(op->operands[1])->mem;
  ir_value *owner = simt_owner(c, f.layout);
  ir_op *only = owner ? sx_if(c, owner, 0, NULL, false) : NULL;
  for (int r = 0; r < f.n; r++) {
    ir_value *at, *ok;
    TSR_TRY(indexed(c, op, f.layout, view, r, false, &at, &ok));
    ir_op *branch = ok ? sx_if(c, ok, 0, NULL, false) : NULL;
    sx_store(c, view, at, sx_cast(c, f.v[r], view->dtype));
    if (branch) sx_close(c, branch, 0, NULL);
  }
  if (only) sx_close(c, only, 0, NULL);
  return c->b.failed ? st_oom() : NULL;
}
