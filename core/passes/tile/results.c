/* core/passes/tile/results.c - where a kernel's results are written: their windows, and the stores of the values that
 * the body returns. */
#include <string.h>

#include "core/passes/tile/build.h"

static kb_mem result_mem(const kb_kernel *k, int i) {
  const ir_block *args = k->op->regions[0];
  const ir_type *t = k->src->results[i]->type;
  kb_mem m = {.arg = args->args[k->src->n_operands + (k->split == SPLIT_SUM) + i], .dtype = t->dtype, .rank = t->rank};
  memcpy(m.dims, t->dims, sizeof m.dims);
  ir_type_strides(t, m.strides);
  return m;
}

tsr_status kb_result_window(kb_kernel *k, int i, const kb_space *s, const ir_type *orig, ir_value **window) {
  kb_mem m = result_mem(k, i);
  int64_t strides[TSR_MAX_RANK + 2];
  kb_space_strides(&m, s, kb_form_of(k->src->results[i]->type, orig), strides);
  return kb_window(k, &m, s, strides, NULL, window);
}

tsr_status kb_result_windows(kb_kernel *k, const kb_space *s, const ir_type *orig, ir_value **windows) {
  if (k->src->n_results > MAX_LEAVES) return ir_error(k->src, NULL, "has too many results");
  for (int i = 0; i < k->src->n_results; i++) TSR_TRY(kb_result_window(k, i, s, orig, &windows[i]));
  return NULL;
}

tsr_status kb_expand(kb_kernel *k, ir_value **v, const ir_type *like) {
  const ir_type *t = (*v)->type;
  if (t->dims[0] == like->dims[0] && t->dims[1] == like->dims[1]) return NULL;
  ir_value *zero = kb_fill(&k->b, kb_frag(k, t->dtype, like->dims[0], like->dims[1]), 0);
  if (!zero) return st_oom();
  ir_op *map = ir_op_new(&k->b, ir_find_op("tessera.tile.map"), 2, (ir_value *[]){*v, zero}, 1, NULL, 1);
  if (!map) return st_oom();
  ir_value *x = ir_block_arg(k->m, map->regions[0], ir_type_scalar(k->m, t->dtype), NULL);
  ir_builder r = ir_at_end(k->m, map->regions[0]);
  if (!x || !ir_block_arg(k->m, map->regions[0], x->type, NULL) || !ir_build0(&r, "tessera.tile.yield", 1, &x))
    return st_oom();
  TSR_TRY(map->def->infer(map, &map->results[0]->type));
  *v = map->results[0];
  return NULL;
}

tsr_status kb_store_result(kb_kernel *k, int i, const kb_space *s, const ir_type *orig, ir_value *window) {
  ir_value *y = k->src->regions[0]->last->operands[i], *v;
  TSR_TRY(kb_value(k, y, s, orig, kb_form_of(y->type, orig), &v));
  TSR_TRY(kb_expand(k, &v, window->type));
  return ir_build0(&k->b, "tessera.tile.store", 2, (ir_value *[]){v, window}) ? NULL : st_oom();
}

tsr_status kb_store_results(kb_kernel *k, const kb_space *s, const ir_type *orig, ir_value *const *windows) {
  for (int i = 0; i < k->src->regions[0]->last->n_operands; i++) TSR_TRY(kb_store_result(k, i, s, orig, windows[i]));
  return NULL;
}

tsr_status kb_write_results(kb_kernel *k, const kb_space *s, const ir_type *orig) {
  ir_value *windows[MAX_LEAVES];
  TSR_TRY(kb_result_windows(k, s, orig, windows));
  return kb_store_results(k, s, orig, windows);
}
