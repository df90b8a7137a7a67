/* core/passes/graph/quantized.c - the rewrite rule dequantized_product: a product in f32 of integers of 8 bits less
 * their zero points, each times a scale, as quantized models write it, is the integers' own product, scaled.
 * With a' = a - za and b' = b - zb, sums over k:
 *   sum a' b' = sum a b - za sum b - zb sum a + k za zb,
 * exact in i32, where the sums of f32 round. See graph/rules.h. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/bytes.h"
#include "core/passes/graph/rules.h"
#include "core/passes/graph/views.h"

enum {
  MOST_DEPTH = (1 << 15) + 250, /* k up to which sums of products of two differences below 256 fit into 31 bits */
  LEAST_REUSE = 128 /* how often an element is multiplied, at least, where sums of its operand are made at each run */
};

/* An operand of a product. */
typedef struct quantized {
  graph_scaled v;
  int k; /* the axis that is summed along */
  bool transposed;
} quantized;

/* s, broadcast to v, is one number along an axis of v. */
static bool is_one_along(const ir_value *s, const ir_value *v, int axis) {
  const int i = axis - (v->type->rank - s->type->rank);
  return s->type->rank <= v->type->rank && (i < 0 || s->type->dims[i] == 1);
}

/* A zero point that a type of 8 bits holds: so are the differences below 256. */
static bool is_small(const ir_value *zero) {
  double c;
  if (!zero || (graph_is(zero->def, G_CAST) && graph_is_bytes(zero->def->operands[0]))) return true;
  if (splat_of(zero, &c)) return c >= -128 && c <= 255;
  if (!graph_is(zero->def, G_CONSTANT)) return false;
  for (int64_t i = 0, n = ir_type_count(zero->type); i < n; i++)
    if (graph_constant_at(zero->def, i) < -128 || graph_constant_at(zero->def, i) > 255) return false;
  return true;
}

/* A constant's elements, each 128 lower. */
static ir_attr *lowered(ir_builder *b, const ir_value *x, const ir_attr *a) {
  const ir_type *t = ir_type_tensor(b->m, TSR_I8, x->type->rank, x->type->dims);
  ir_attr *y = t ? ir_attr_dense(b->m, t, a->u.dense.data, a->u.dense.bytes, a->u.dense.splat) : NULL;
  for (size_t i = 0; y && i < y->u.dense.bytes; i++) ((unsigned char *)y->u.dense.data)[i] ^= 0x80;
  return y;
}

/* u8 as i8, 128 lower, and so its zero point: bytes are multiplied unsigned by signed. */
static bool make_signed(ir_builder *b, graph_scaled *v) {
  if (v->x->type->dtype != TSR_U8) return true;
  ir_value *down = graph_number(b, TSR_I32, -128);
  if (!down) return false;
  v->zero = v->zero ? graph_op2(b, G_ADD, v->zero, down) : down;
  if (graph_is(v->x->def, G_CONSTANT)) {
    v->x = graph_constant(b, lowered(b, v->x, ir_get_attr(v->x->def, "value")));
  } else {
    ir_value *x = graph_op2(b, G_ADD, graph_cast(b, v->x, TSR_I32), down);
    v->x = x ? graph_cast(b, x, TSR_I8) : NULL;
  }
  return v->x && v->zero;
}

/* A constant's sums along an axis, which is kept with extent 1. */
static ir_value *known_sums(ir_builder *b, const ir_op *constant, int axis) {
  int64_t dims[TSR_MAX_RANK];
  memcpy(dims, constant->results[0]->type->dims, sizeof dims);
  dims[axis] = 1;
  const ir_type *t = ir_type_tensor(b->m, TSR_I32, constant->results[0]->type->rank, dims);
  uint32_t *sums = t ? arena_array(&b->m->arena, uint32_t, (size_t)ir_type_count(t) + 1) : NULL;
  if (!sums) return b->failed = true, NULL;
  graph_byte_sums(constant, axis, axis + 1, sums);
  return graph_elements(b, t, sums);
}

static ir_value *sums(ir_builder *b, const quantized *q) {
  bool along[TSR_MAX_RANK] = {false};
  along[q->k] = true;
  ir_value *s = graph_is(q->v.x->def, G_CONSTANT)
                    ? known_sums(b, q->v.x->def, q->k)
                    : graph_reduce(b, G_REDUCE_SUM, graph_cast(b, q->v.x, TSR_I32), along, true);
  return graph_along_result(b, s, q->transposed);
}

/* The product's result less what the zero points add to it. */
static ir_value *corrected(ir_builder *b, ir_value *y, const quantized q[2]) {
  ir_value *zero[2];
  for (int i = 0; i < 2; i++) zero[i] = graph_along_result(b, q[i].v.zero, q[i].transposed);
  for (int i = 0; i < 2 && y; i++) {
    if (!zero[i]) continue;
    ir_value *s = sums(b, &q[1 - i]);
    if (s && i && zero[0]) { /* k za less of a's sums */
      ir_value *all = graph_op2(b, G_MUL, zero[0], graph_number(b, TSR_I32, (double)q[0].v.x->type->dims[q[0].k]));
      s = all ? graph_op2(b, G_SUB, s, all) : NULL;
    }
    ir_value *more = s ? graph_op2(b, G_MUL, zero[i], s) : NULL;
    y = more ? graph_op2(b, G_SUB, y, more) : NULL;
  }
  return y;
}

static ir_value *product(ir_builder *b, const ir_op *op, const quantized q[2]) {
  ir_op *n = ir_op_new(b, op->def, 2, (ir_value *[]){q[0].v.x, q[1].v.x}, 1, NULL, 0);
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
    const ir_value *v = op->operands[i];
    const bool transposed = graph_is_transposed(op, i);
    q[i] = (quantized){.k = v->type->rank - (transposed == (i == 0) ? 2 : 1), .transposed = transposed};
    if (!graph_scaled_bytes(v, &q[i].v) || !is_one_along(q[i].v.scale, v, q[i].k)) return false;
    if (q[i].v.zero && !is_one_along(q[i].v.zero, v, q[i].k)) return false;
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
  if (!is_small(q[0].v.zero) || !is_small(q[1].v.zero)) return "a zero point is beyond 8 bits";
  for (int i = 0; i < 2; i++) {
    const int64_t reuse = i ? g.n : g.m, least = reuse < g.k ? reuse : g.k;
    const bool shifts = q[i].v.zero || (i && q[1].v.x->type->dtype == TSR_U8); /* make_signed */
    if (shifts && !graph_is(q[1 - i].v.x->def, G_CONSTANT) && least < LEAST_REUSE)
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
  ir_value *y = make_signed(b, &q[1].v) ? product(b, r->op, q) : NULL;
  ir_value *scale[2];
  for (int i = 0; i < 2; i++) scale[i] = graph_along_result(b, q[i].v.scale, q[i].transposed);
  if (!y || !scale[0] || !scale[1]) return NULL;
  y = graph_cast(b, y, TSR_F32);
  ir_value *both = graph_op2(b, G_MUL, scale[0], scale[1]);
  return both ? graph_op2(b, G_MUL, y, both) : NULL;
}
