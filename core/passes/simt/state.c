/* core/passes/simt/state.c - what all files of the pass stand on: bindings of values, refusals, what an op asks for.
 * It calls no other file of the pass: the way up to the dispatch by op (simt/walk.c) is simt_impl.lower. */
#include "core/passes/simt/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

simt_val *simt_bind(simt *c, ir_value *v, simt_kind kind) {
  simt_val *s = v->data;
  if (!s) {
    s = arena_new(&c->m->arena, simt_val);
    v->data = s;
  }
  if (!s) {
    c->b.failed = true;
    return NULL;
  }
  s->kind = kind;
  return s;
}

tsr_status simt_unsupported(const simt *c, const ir_op *op, const char *hint, const char *fmt, ...) {
  char cause[400];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(cause, sizeof cause, fmt, ap);
  va_end(ap);
  return ir_error_at(op, op->loc, TSR_UNSUPPORTED, hint, "kernel \"%s\": %s", ir_get_str(c->tile, "sym_name", "?"),
                     cause);
}

simt_gemm simt_gemm_of(const ir_op *op) {
  if (op->def->code == T_MMA_SYNC) {
    const ir_type *a = op->operands[0]->type, *b = op->operands[1]->type, *c = op->operands[2]->type;
    return (simt_gemm){
        .op = op, .m = c->dims[0], .n = c->dims[1], .k = a->dims[1], .a = a->dtype, .b = b->dtype, .c = c->dtype};
  }
  const ir_type *acc = op->operands[0]->type, *a = op->operands[1]->type, *b = op->operands[2]->type;
  simt_gemm g = {.op = op, .m = acc->dims[0], .n = acc->dims[1], .a = a->dtype, .b = b->dtype, .c = acc->dtype};
  g.A.transposed = ir_get_bool(op, "transpose_a", false);
  g.B.transposed = ir_get_bool(op, "transpose_b", false);
  g.k = a->dims[!g.A.transposed];
  g.kahan = dtype_is_float(g.c) && ir_policy(op) == TSR_POLICY_KAHAN_SUM;
  return g;
}

int simt_asked_width(const ir_op *access, int widest) {
  int64_t n = ir_get_int(access, "vectorize", 0);
  return n > 0 && n < widest ? (int)n : widest;
}

tsr_status simt_lower_block(simt *c, const ir_block *b) {
  for (ir_op *op = b->first; op; op = op->next) TSR_TRY(c->in->lower(c, op));
  return c->b.failed ? st_oom() : NULL;
}

#define TOO_LARGE (INT64_MAX / 1024) /* bytes; sums of them stay within 64 bits */

int64_t simt_shared_bytes(const ir_type *t) {
  int64_t strides[TSR_MAX_RANK], bytes = (int64_t)tsr_dtype_size(t->dtype);
  ir_type_strides(t, strides);
  for (int i = 0; t->rank && i < 2; i++)
    if (__builtin_mul_overflow(bytes, i ? t->dims[0] : strides[0], &bytes)) bytes = TOO_LARGE;
  return min64(bytes, TOO_LARGE);
}

bool simt_view_is_wide(const ir_type *t) {
  int64_t strides[TSR_MAX_RANK];
  int64_t reach = t->offset < 0 ? -t->offset : t->offset, part;
  ir_type_strides(t, strides);
  for (int d = 0; d < t->rank; d++)
    if (__builtin_mul_overflow(t->dims[d], strides[d] < 0 ? -strides[d] : strides[d], &part) ||
        __builtin_add_overflow(reach, part, &reach))
      return true;
  return reach > INT32_MAX;
}
