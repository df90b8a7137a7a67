/* core/passes/graph/denormals.c - the rewrite rule flush_denormals: channels that training gave up leave weights that
 * are denormal numbers, and multiply-adds of those take some hundred cycles on many processors. Each adds less than
 * 2^-126 times the other operand's element to a sum, nothing that a sum of normal numbers could show. But what infinity
 * or a number beyond 2^100 makes of one, 0 doesn't (docs/precision.md). See graph/rules.h. */
#include <string.h>

#include "core/passes/graph/rules.h"

/* The constant that v is a view of; NULL: none of f32, or of equal elements. */
static const ir_op *weights(const ir_value *v) {
  const ir_op *d = v->def;
  while (d && (graph_reshapes(d) || graph_is(d, G_TRANSPOSE))) d = d->operands[0]->def;
  if (!graph_is(d, G_CONSTANT) || d->results[0]->type->dtype != TSR_F32) return NULL;
  return ir_get_attr(d, "value")->u.dense.splat ? NULL : d;
}

static bool is_denormal(uint32_t bits) { return (bits & 0x7fffffff) - 1u < 0x7fffff; }

static inline int32_t denormal_among(const char *data, size_t n) {
  int32_t any = 0;
  for (size_t i = 0; i < n; i++) {
    int32_t bits;
    memcpy(&bits, data + 4 * i, sizeof bits);
    bits &= 0x7fffffff;
    any |= (int32_t)(bits > 0) & (int32_t)(bits < 0x800000);
  }
  return any;
}

/* In blocks of a constant length, with no branch and no unsigned comparison, which become vectors: all of a model's
 * weights pass here. */
static bool has_denormals(const ir_op *constant) {
  enum { BLOCK = 64 };
  const ir_attr *a = ir_get_attr(constant, "value");
  const char *data = a->u.dense.data;
  const size_t n = a->u.dense.bytes / 4;
  int32_t any = 0;
  size_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK) any |= denormal_among(data + 4 * i, BLOCK);
  return any | denormal_among(data + 4 * i, n - i);
}

/* The constant with 0 of the same sign in their place. */
static ir_value *flushed(ir_builder *b, const ir_op *constant) {
  const ir_attr *a = ir_get_attr(constant, "value");
  const size_t n = a->u.dense.bytes / 4;
  uint32_t *bits = arena_array(&b->m->arena, uint32_t, n);
  if (!bits) return b->failed = true, NULL;
  memcpy(bits, a->u.dense.data, n * sizeof *bits);
  for (size_t i = 0; i < n; i++)
    if (is_denormal(bits[i])) bits[i] &= 0x80000000;
  ir_value *v = graph_build_like(b, constant, NULL);
  if (!v || !ir_set_attr(v->def, "value", ir_attr_dense(b->m, v->type, bits, n * sizeof *bits, false)))
    return b->failed = true, NULL;
  return v;
}

/* v with its constant flushed. */
static ir_value *view_of_flushed(ir_builder *b, const ir_value *v) {
  if (graph_is(v->def, G_CONSTANT)) return flushed(b, v->def);
  ir_value *x = view_of_flushed(b, v->def->operands[0]);
  return x ? graph_build_like(b, v->def, &x) : NULL;
}

ir_value *rule_flush_denormals(rewrite *r) {
  const ir_op *op = r->op;
  if (!r->reads_constants || !graph_is_kind(op, GRAPH_CONTRACTION)) return NULL;
  ir_value *x[2];
  bool any = false;
  for (int i = 0; i < 2; i++) {
    const ir_op *constant = weights(op->operands[i]);
    const bool flushes = constant && has_denormals(constant);
    x[i] = flushes ? view_of_flushed(&r->b, op->operands[i]) : op->operands[i];
    if (!x[i]) return NULL;
    any |= flushes;
  }
  return any ? graph_build_like(&r->b, op, x) : NULL;
}
