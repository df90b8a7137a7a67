/* core/passes/cpu/region.c - the elementwise regions of ops that the CPU takes whole, as maps; see cpu/lower.h. */
#include <stdio.h>

#include "core/passes/cpu/lower.h"
#include "core/passes/cpu/row_kernel.h"

tsr_status cpu_read_operand(lower *l, ir_builder *b, const ir_op *op, const ir_value *v, const ir_type *like,
                            bool written, ir_value **out) {
  *out = cpu_at(v);
  if (v->type->kind == IR_T_FRAG || (v->type->dtype == like->dtype && !written)) return NULL;
  const ir_type t = {.kind = IR_T_FRAG, .dtype = like->dtype, .rank = 2, .dims = {v->type->dims[0], v->type->dims[1]}};
  TSR_TRY(cpu_new_tile(l, b, op, &t, op->scratch, scratch_end(op), out));
  return cpu_call2(l, b, "copy", *out, cpu_at(v)) ? NULL : st_oom();
}

/* x as the steps leave it. */
static ir_value *finished(ir_builder *r, const recipe_step *s, int64_t count, ir_value *x) {
  char name[32];
  for (s = cpu_row_finish(s); x && s->code != STEP_END; s = cpu_row_finish(s + 1)) {
    ir_value *n = ir_build1(r, "tessera.target.const", x->type, 0, NULL);
    const double v = s->arg == ARG_SHARE ? 1 / (double)count : (double)count;
    if (!n || !ir_set_attr(n->def, "value", ir_attr_float(r->m, v))) return NULL;
    snprintf(name, sizeof name, "tessera.target.%s", scalar_rows[s->code].name);
    x = ir_build1(r, name, NULL, 2, (ir_value *[]){x, n});
  }
  return x;
}

tsr_status cpu_lower_region(lower *l, ir_builder *b, const ir_block *region, ir_value *const *operands,
                            ir_value *const *to) {
  return cpu_finish_region(l, b, region, operands, to, NULL, 0);
}

tsr_status cpu_finish_region(lower *l, ir_builder *b, const ir_block *region, ir_value *const *operands,
                             ir_value *const *to, const recipe_step *finish, int64_t count) {
  enum { MOST = 80 };
  ir_value *all[MOST], *y[MOST];
  int n = 0, outputs = 0;
  if (region->last->n_operands + region->n_args > MOST)
    return ir_error(region->parent, NULL, "has too many operands");
  for (int i = 0; i < region->last->n_operands; i++)
    if (to[i]) all[outputs++] = to[i];
  n = outputs;
  for (int i = 0; i < region->n_args; i++)
    if (operands[i]) all[n++] = operands[i];
  ir_op *map = ir_build0(b, "tessera.target.map", n, all);
  if (!map || !ir_set_attr(map, "outputs", ir_attr_int(l->m, outputs))) return st_oom();
  for (int i = 0; i < region->n_args; i++)
    if (operands[i] && !(region->args[i]->data = ir_block_arg(l->m, map->regions[0],
                                                               ir_type_get(l->m, region->args[i]->type), NULL)))
      return st_oom();
  ir_builder r = ir_at_end(l->m, map->regions[0]);
  ir_value *first = cpu_at(region->args[0]);
  if (finish && !(region->args[0]->data = finished(&r, finish, count, first))) return st_oom();
  TSR_TRY(cpu_lower_elements(l, &r, region));
  for (int i = 0, at = 0; i < region->last->n_operands; i++)
    if (to[i]) y[at++] = cpu_at(region->last->operands[i]);
  return ir_build0(&r, "tessera.target.yield", outputs, y) ? NULL : st_oom();
}
