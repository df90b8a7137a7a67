/* core/passes/graph/quantized.c - the rewrite rule dequantized_product: a product in f32 of integers of 8 bits less
 * their zero points, each times a scale, as quantized models write it, is the integers' own product, scaled.
 * With a' = a - za and b' = b - zb, sums over k:
 *   sum a' b' = sum a b - za sum b - zb sum a + k za zb,
 * exact in i32, where the sums of f32 round. See graph/rules.h. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/passes/graph/rules.h"
#include "core/passes/graph/views.h"

enum {
  MOST_DEPTH = (1 << 15) + 250, /* k up to which sums of products of two differences below 256 fit into 31 bits */
  LEAST_REUSE = 128 /* how often an element is multiplied, at least, where sums of its operand are made at each run */
};

/* An operand of a product. */
typedef struct quantized {
  ir_value *x;     /* i8 or u8, of the operand's shape */
  ir_value *zero;  /* i32; NULL: 0 */
  ir_value *scale; /* f32; NULL: 1 */
  int k;           /* the axis that is summed along */
  bool transposed;
} quantized;

static bool is_narrow(const ir_value *v) { return v->type->dtype == TSR_I8 || v->type->dtype == TSR_U8; }

/* s, broadcast to v, is one number along an axis of v. */
static bool is_one_along(const ir_value *s, const ir_value *v, int axis) {
  const int i = axis - (v->type->rank - s->type->rank);
  return s->type->rank <= v->type->rank && (i < 0 || s->type->dims[i] == 1);
}

/* v = cast(x), or cast(x) - zero in i32. */
static bool centred(quantized *q, ir_value *v) {
  ir_op *op = v->def;
  if (graph_is(op, G_SUB) && op->operands[0]->type == v->type && v->type->dtype == TSR_I32) {
    q->zero = op->operands[1];
    if (!is_one_along(q->zero, v, q->k)) return false;
    op = op->operands[0]->def;
  }
  if (!graph_is(op, G_CAST) || !is_narrow(op->operands[0])) return false;
  q->x = op->operands[0];
  return true;
}

/* v = scale cast(centred) in f32. */
static bool dequantized(quantized *q, ir_value *v) {
  for (int i = 0; graph_is(v->def, G_MUL) && i < 2; i++) {
    ir_value *x = v->def->operands[i];
    q->scale = v->def->operands[1 - i];
    if (x->type == v->type && graph_is(x->def, G_CAST) && is_one_along(q->scale, v, q->k))
      return centred(q, x) || centred(q, x->def->operands[0]);
  }
  return false;
}

/* A zero point that a type of 8 bits holds: so are the differences below 256. */
static bool is_small(const ir_value *zero) {
  double c;
  if (!zero || (graph_is(zero->def, G_CAST) && is_narrow(zero->def->operands[0]))) return true;
  if (splat_of(zero, &c)) return c >= -128 && c <= 255;
  if (!graph_is(zero->def, G_CONSTANT)) return false;
  for (int64_t i = 0, n = ir_type_count(zero->type); i < n; i++)
    if (graph_constant_at(zero->def, i) < -128 || graph_constant_at(zero->def, i) > 255) return false;
  return true;
}

static ir_value *known(ir_builder *b, const ir_type *t, const void *data, size_t bytes, bool splat) {
  ir_op *c = ir_op_new(b, graph_def(G_CONSTANT), 0, NULL, 1, &t, 0);
  if (c && ir_set_attr(c, "value", ir_attr_dense(b->m, t, data, bytes, splat))) return c->results[0];
  return b->failed = true, NULL;
}

static const unsigned char *lowered(unsigned char *to, const ir_attr *a) {
  const unsigned char *from = a->u.dense.data;
  for (size_t i = 0; i < a->u.dense.bytes; i++) to[i] = from[i] ^ 0x80;
  return to;
}

/* u8 as i8, 128 lower, and so its zero point: bytes are multiplied unsigned by signed. */
static bool make_signed(ir_builder *b, quantized *q) {
  if (q->x->type->dtype != TSR_U8) return true;
  ir_value *down = graph_number(b, TSR_I32, -128);
  const ir_attr *a = graph_is(q->x->def, G_CONSTANT) ? ir_get_attr(q->x->def, "value") : NULL;
  if (!down) return false;
  q->zero = q->zero ? graph_op2(b, G_ADD, q->zero, down) : down;
  if (!a) {
    ir_value *x = graph_op2(b, G_ADD, graph_cast(b, q->x, TSR_I32), down);
    q->x = x ? graph_cast(b, x, TSR_I8) : NULL;
  } else {
    const ir_type *t = ir_type_tensor(b->m, TSR_I8, q->x->type->rank, q->x->type->dims);
    unsigned char *bytes = arena_array(&b->m->arena, unsigned char, a->u.dense.bytes + 1);
    q->x = t && bytes ? known(b, t, lowered(bytes, a), a->u.dense.bytes, a->u.dense.splat) : NULL;
  }
  return q->x && q->zero;
}

/* A constant's sums along an axis, which is kept with extent 1. */
static ir_value *known_sums(ir_builder *b, const ir_op *constant, int axis) {
  const ir_type *t = constant->results[0]->type;
  const ir_attr *a = ir_get_attr(constant, "value");
  const int64_t k = t->dims[axis];
  int64_t dims[TSR_MAX_RANK], inner = 1;
  memcpy(dims, t->dims, sizeof dims);
  dims[axis] = 1;
  for (int i = axis + 1; i < t->rank; i++) inner *= t->dims[i];
  const ir_type *to = ir_type_tensor(b->m, TSR_I32, t->rank, dims);
  const int64_t n = to ? ir_type_count(to) : 0;
  uint32_t *sums = arena_array(&b->m->arena, uint32_t, (size_t)n + 1);
  if (!to || !sums) return b->failed = true, NULL;
  memset(sums, 0, ((size_t)n + 1) * sizeof *sums);
  for (int64_t i = 0; i < n * k; i++) {
    const unsigned char byte = ((const unsigned char *)a->u.dense.data)[a->u.dense.splat ? 0 : i];
    sums[i / (k * inner) * inner + i % inner] += (uint32_t)(t->dtype == TSR_I8 ? (int32_t)(int8_t)byte : byte);
  }
  return known(b, to, sums, (size_t)n * sizeof *sums, false);
}

static ir_value *sums(ir_builder *b, const quantized *q) {
  bool along[TSR_MAX_RANK] = {false};
  along[q->k] = true;
  ir_value *s = graph_is(q->x->def, G_CONSTANT)
                    ? known_sums(b, q->x->def, q->k)
                    : graph_reduce(b, G_REDUCE_SUM, graph_cast(b, q->x, TSR_I32), along, true);
  return graph_along_result(b, s, q->transposed);
}

/* The product's result less what the zero points add to it. */
static ir_value *corrected(ir_builder *b, ir_value *y, const quantized q[2]) {
  ir_value *zero[2];
  for (int i = 0; i < 2; i++) zero[i] = graph_along_result(b, q[i].zero, q[i].transposed);
  for (int i = 0; i < 2 && y; i++) {
    if (!zero[i]) continue;
    ir_value *s = sums(b, &q[1 - i]);
    if (s && i && zero[0]) { /* k za less of a's sums */
      ir_value *all = graph_op2(b, G_MUL, zero[0], graph_number(b, TSR_I32, (double)q[0].x->type->dims[q[0].k]));
      s = all ? graph_op2(b, G_SUB, s, all) : NULL;
    }
    ir_value *more = s ? graph_op2(b, G_MUL, zero[i], s) : NULL;
    y = more ? graph_op2(b, G_SUB, y, more) : NULL;
  }
  return y;
}

static ir_value *product(ir_builder *b, const ir_op *op, const quantized q[2]) {
  ir_op *n = ir_op_new(b, op->def, 2, (ir_value *[]){q[0].x, q[1].x}, 1, NULL, 0);
  if (!n || !graph_orient(n, q[0].transposed, q[1].transposed) ||
      !ir_set_attr(n, "out_dtype", ir_attr_str(b->m, tsr_dtype_name(TSR_I32))))
    return b->failed = true, NULL;
  tsr_status st = ir_verify_op(n);
  if (st) return ir_refuse(b->m, st), b->failed = true, NULL;
  return corrected(b, n->results[0], q);
}

static bool matches(const ir_op *op, quantized q[2]) {
  if (!graph_is_kind(op, GRAPH_CONTRACTION) || op->results[0]->type->dtype != TSR_F32) return false;
  for (int i = 0; i < 2; i++) {
    ir_value *v = op->operands[i];
    const bool transposed = graph_is_transposed(op, i);
    q[i] = (quantized){.k = v->type->rank - (transposed == (i == 0) ? 2 : 1), .transposed = transposed};
    if (v->type->dtype != TSR_F32 || !dequantized(&q[i], v)) return false;
  }
  return true;
}

/* Does not fire, for `why`. */
static ir_value *refuse(rewrite *r, const char *why) {
  r->why = why;
  return NULL;
}

static const char *why_not(const ir_op *op, const quantized q[2]) {
  if (ir_type_count(op->results[0]->type) == IR_DYNAMIC) return "a dimension is unknown";
  if (ir_get_attr(op, "tile_shape") || ir_get_attr(op, "accum_dtype"))
    return "it has a tile or a type of sums of its own";
  const graph_contract g = graph_contract_get(op);
  if (g.k > MOST_DEPTH) return "sums of so many integers may not fit into 32 bits";
  if (!is_small(q[0].zero) || !is_small(q[1].zero)) return "a zero point is beyond 8 bits";
  for (int i = 0; i < 2; i++) {
    const int64_t reuse = i ? g.n : g.m, least = reuse < g.k ? reuse : g.k;
    const bool shifts = q[i].zero || (i && q[1].x->type->dtype == TSR_U8); /* make_signed */
    if (shifts && !graph_is(q[1 - i].x->def, G_CONSTANT) && least < LEAST_REUSE)
      return "a zero point wants sums of the other operand at each run, for a small product";
  }
  return NULL;
}

ir_value *rule_dequantized_product(rewrite *r) {
  quantized q[2];
  ir_builder *b = &r->b;
  if (!matches(r->op, q)) return NULL;
  const char *why = why_not(r->op, q);
  if (why) return refuse(r, why);
  ir_value *y = make_signed(b, &q[1]) ? product(b, r->op, q) : NULL;
  ir_value *scale[2];
  for (int i = 0; i < 2; i++) scale[i] = graph_along_result(b, q[i].scale, q[i].transposed);
  if (!y || !scale[0] || !scale[1]) return NULL;
  y = graph_cast(b, y, TSR_F32);
  ir_value *both = graph_op2(b, G_MUL, scale[0], scale[1]);
  return both ? graph_op2(b, G_MUL, y, both) : NULL;
}
