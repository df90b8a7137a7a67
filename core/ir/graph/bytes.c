/* core/ir/graph/bytes.c - see ir/graph/bytes.h. */
#include "core/ir/graph/bytes.h"

#include <string.h>

bool graph_is_bytes(const ir_value *v) { return v && (v->type->dtype == TSR_I8 || v->type->dtype == TSR_U8); }

/* v = cast(x), or cast(x) - zero in i32. */
static bool centred(const ir_value *v, graph_scaled *out) {
  const ir_op *op = v->def;
  out->zero = NULL;
  if (graph_is(op, G_SUB) && op->operands[0]->type == v->type && v->type->dtype == TSR_I32) {
    out->zero = op->operands[1];
    op = op->operands[0]->def;
  }
  if (!graph_is(op, G_CAST) || !graph_is_bytes(op->operands[0])) return false;
  out->x = op->operands[0];
  return true;
}

bool graph_scaled_bytes(const ir_value *v, graph_scaled *out) {
  if (!v || v->type->dtype != TSR_F32 || !graph_is(v->def, G_MUL)) return false;
  for (int i = 0; i < 2; i++) {
    const ir_value *x = v->def->operands[i];
    out->scale = v->def->operands[1 - i];
    if (x->type != v->type || !graph_is(x->def, G_CAST)) continue;
    if (centred(x, out) || centred(x->def->operands[0], out)) return true;
  }
  return false;
}

void graph_byte_sums(const ir_op *constant, int from, int to, uint32_t *sums) {
  const ir_type *t = constant->results[0]->type;
  const ir_attr *a = ir_get_attr(constant, "value");
  const unsigned char *byte = a->u.dense.data;
  const unsigned flip = t->dtype == TSR_I8 ? 0x80 : 0;
  int64_t n[3] = {1, 1, 1}; /* before, of and behind the axes */
  for (int i = 0; i < t->rank; i++) n[i < from ? 0 : i < to ? 1 : 2] *= t->dims[i];
  memset(sums, 0, (size_t)(n[0] * n[2]) * sizeof *sums);
  for (int64_t i = 0; i < n[0]; i++)
    for (int64_t k = 0; k < n[1]; k++)
      for (int64_t j = 0; j < n[2]; j++, byte += !a->u.dense.splat) sums[i * n[2] + j] += (*byte ^ flip) - flip;
}
