/* core/passes/tile/contract_parts.c - see tile/contract_parts.h: the windows of a contraction's operands. */
#include "core/passes/tile/contract_parts.h"

#include "core/ir/tile/tile.h"

ir_value *contract_number(expansion *e, int64_t v) {
  ir_value *x = ir_build1(&e->b, "tessera.tile.const", ir_type_index(e->m), 0, NULL);
  return x && ir_set_attr(x->def, "value", ir_attr_int(e->m, v)) ? x : NULL;
}

/* The offset, by x further. */
static ir_value *further(expansion *e, ir_value *offset, ir_value *x) {
  int64_t at;
  const bool zero = tile_const_index(offset, &at) && !at;
  return !x || zero ? x : ir_build1(&e->b, "tessera.tile.add", NULL, 2, (ir_value *[]){offset, x});
}

ir_value *contract_window(expansion *e, contract_role role, int i, ir_value *k, int row) {
  const ir_op *w = e->c.v[role][i]->def;
  ir_value *operands[1 + TSR_MAX_RANK];
  int64_t sizes[TSR_MAX_RANK];
  const ir_type *t = w->results[0]->type;
  const int rank = ir_get_ints(w, "sizes", sizes, TSR_MAX_RANK);
  for (int j = 0; j < w->n_operands; j++) operands[j] = w->operands[j];
  if (k && !tile_contract_repeats(&e->c, role, i)) {
    ir_value **at = &operands[1 + tile_contract_k_offset(&e->c, role, i)];
    if (!(*at = further(e, *at, k))) return NULL;
  }
  const int m = row < 0 ? 0 : tile_contract_row_offset(&e->c, role, i);
  const bool one = row >= 0 && sizes[m] > 1;
  if (one) sizes[m] = 1;
  if (one && row && !(operands[1 + m] = further(e, operands[1 + m], contract_number(e, row)))) return NULL;
  ir_op *n = ir_op_new(&e->b, w->def, w->n_operands, operands, 1, one ? NULL : &t, 0);
  if (!n || !ir_attrs_copy(n, w) || !ir_set_attr(n, "sizes", ir_attr_ints(e->m, sizes, rank))) return NULL;
  tsr_status st = one ? n->def->infer(n, &n->results[0]->type) : NULL;
  return st ? ir_refuse(e->m, st), NULL : n->results[0];
}
