/* core/passes/simt/whole/tma.c - see simt/whole/tma.h. */
#include "core/passes/simt/whole/tma.h"

#include "core/base/dtype.h"

bool simt_tma_view(const ir_type *v) {
  int64_t strides[TSR_MAX_RANK], size = (int64_t)tsr_dtype_size(v->dtype);
  int dims = 0;
  ir_type_strides(v, strides);
  if (v->offset) return false;
  for (int d = 0; d < v->rank; d++) {
    if (v->dims[d] >= INT32_MAX) return false;
    if (d < v->rank - 1 && v->dims[d] > 1 && strides[d] && (strides[d] * size) % 16) return false;
    dims += d >= v->rank - 2 || (v->dims[d] > 1 && strides[d]);
  }
  return dims <= 5 && strides[v->rank - 1] == 1;
}

int simt_tma_dims(const ir_type *v, int *dims) {
  int64_t strides[TSR_MAX_RANK];
  int n = 0;
  ir_type_strides(v, strides);
  for (int d = v->rank - 1; d >= 0; d--)
    if (d >= v->rank - 2 || (v->dims[d] > 1 && strides[d])) dims[n++] = d;
  return n;
}

ir_value *simt_tma_map(tgb *t, ir_value *arg, const ir_type *v, int box0, int box1) {
  int dims[TSR_MAX_RANK], n = simt_tma_dims(v, dims);
  int64_t extent[5], stride[5], strides[TSR_MAX_RANK], box[5] = {box0, box1, 1, 1, 1};
  ir_type token = {.kind = IR_T_TOKEN};
  ir_type_strides(v, strides);
  for (int i = 0; i < n; i++) {
    extent[i] = v->dims[dims[i]];
    if (i) stride[i - 1] = strides[dims[i]] * (int64_t)tsr_dtype_size(v->dtype);
    /* A dimension of one element may have any stride; TMA wants a multiple of 16. */
    if (i && (extent[i] == 1 || !stride[i - 1] || stride[i - 1] % 16))
      stride[i - 1] = (extent[0] * (int64_t)tsr_dtype_size(v->dtype) + 15) / 16 * 16;
  }
  ir_value *r = tg_value(t, "tessera.target.tensor_map", ir_type_get(t->m, &token), TG_V(arg));
  if (!r) return NULL;
  if (!ir_set_attr(r->def, "dims", ir_attr_ints(t->m, extent, n)) ||
      !ir_set_attr(r->def, "strides", ir_attr_ints(t->m, stride, n - 1)) ||
      !ir_set_attr(r->def, "box", ir_attr_ints(t->m, box, n)))
    t->b.failed = true;
  tg_int(t, r->def, "swizzle", SIMT_TMA_LINE);
  return r;
}

int simt_tma_coordinates(const simt_place *p, const ir_op *window, ir_value *inner, ir_value *outer, ir_value **out) {
  int dims[TSR_MAX_RANK], n = simt_tma_dims(window->operands[0]->type, dims);
  for (int i = 0; i < n; i++) {
    out[i] = simt_place_offset(p, window, dims[i]);
    if (i == 0 && inner) out[i] = tg_add(p->t, out[i], inner);
    if (i == 1 && outer) out[i] = tg_add(p->t, out[i], outer);
  }
  return n;
}
