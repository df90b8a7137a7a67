/* core/passes/cpu/row_memory.c - see cpu/row_memory.h. */
#include "core/passes/cpu/row_memory.h"

#include "core/ir/tile/contract.h"
#include "core/ir/tile/tile.h"

bool rows_dtype(tsr_dtype t) { return t == TSR_F32 || t == TSR_BF16 || t == TSR_F16; }

bool rows_type(const ir_type *t) {
  int64_t strides[TSR_MAX_RANK];
  if (t->rank != 2 || !rows_dtype(t->dtype)) return false;
  ir_type_strides(t, strides);
  return strides[1] == 1;
}

bool rows_inside(const ir_value *v) {
  const ir_op *w = v->def;
  int64_t sizes[TSR_MAX_RANK] = {0}, at;
  if (!rows_type(v->type)) return false;
  if (!w || w->def->code != T_WINDOW) return true;
  int d = ir_get_ints(w, "sizes", sizes, TSR_MAX_RANK) - 1;
  while (d > 0 && !sizes[d]) d--;
  return d >= 0 && tile_const_index(w->operands[1 + d], &at) && at >= 0 && at <= w->operands[0]->type->dims[d] &&
         sizes[d] <= w->operands[0]->type->dims[d] - at;
}
