/* core/emit/spirv/arrays.c - arrays in registers: Function variables, whose indices are known wherever loops are
 * unrolled. */
#include "core/emit/spirv/internal.h"

static uint32_t array_element(emitter *e, const ir_value *array, const sv *index, int offset, uint32_t *type) {
  tsr_dtype t = array->type->dtype;
  int bits = e->wide ? 64 : 32;
  *type = e_element(e, t);
  uint32_t i = index->is_const ? e_const_int(e, bits, wrap_add(index->c, offset), 1)
                               : e_add_const(e, index->part[0], offset, bits);
  return VAL(&e->s, OpAccessChain, e_ptr(e, StorageFunction, *type), e_value(e, array)->part[0], i);
}

tsr_status e_array_op(emitter *e, const ir_op *op) {
  uint32_t type;
  if (op->def->code == TG_LOCAL) {
    const ir_type *t = op->results[0]->type;
    uint32_t array = TYPE(&e->s, OpTypeArray, e_element(e, t->dtype), e_u32(e, (uint32_t)ir_type_count(t)));
    e_define(e, op->results[0], (sv){.part = {e_local(e, array)}});
    return NULL;
  }
  bool get = op->def->code == TG_GET;
  const ir_value *array = op->operands[get ? 0 : 1];
  const sv *index = e_value(e, op->operands[get ? 1 : 2]);
  const ir_type *vt_ = get ? op->results[0]->type : op->operands[0]->type;
  int n = e_length(vt_);
  uint32_t x[SV_ELEMENTS];
  if (n > SV_ELEMENTS) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "vectors have at most 16 elements");
  if (!get) e_scatter(e, vt_, e_value(e, op->operands[0]), x);
  for (int i = 0; i < n; i++) {
    uint32_t p = array_element(e, array, index, i, &type);
    if (get) x[i] = VAL(&e->s, OpLoad, type, p);
    else SPV(&e->s, e->s.body, OpStore, p, x[i]);
  }
  if (!get) return NULL;
  e_define(e, op->results[0], e_assemble(e, vt_, x));
  return NULL;
}
