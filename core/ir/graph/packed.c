/* core/ir/graph/packed.c - i4 and u4, two of which are in a byte, on devices (passes/graph/packed.c): each op that
 * takes or gives them, built of ops on i8 and u8 that hold the elements, so that nothing below Graph IR knows these
 * types; and the elements of bytes, and back. See ir/graph/ops.h. */
#include <string.h>

#include "core/ir/graph/ops/compose.h"

#define NUMBER(x, v) graph_number(b, (x)->type->dtype, v)
#define OP2(CODE, x, y) graph_op2(b, G_##CODE, x, y)

/* ---- elements of bytes ------------------------------------------------------------------------------------------- */

/* The number that four bits, 0 to 15, stand for. */
static ir_value *signed_of(ir_builder *b, ir_value *low) {
  return low ? SUB(OP2(XOR, low, NUMBER(low, 8)), NUMBER(low, 8)) : NULL;
}

/* x's low four bits as an element of t holds them, in x's type. */
static ir_value *wrapped(ir_builder *b, ir_value *x, tsr_dtype t) {
  if (!x) return NULL;
  ir_value *low = OP2(AND, x, NUMBER(x, 15));
  return dtype_get(t)->is_signed ? signed_of(b, low) : low;
}

static ir_value *clamped(ir_builder *b, ir_value *x, tsr_dtype t) {
  if (!x) return NULL;
  const double max = dtype_get(t)->max;
  x = OP2(MIN, x, NUMBER(x, max));
  return x && dtype_get(t)->is_signed ? OP2(MAX, x, NUMBER(x, -max - 1)) : x;
}

/* Four bits of each byte, `shift` above the lowest, as an element of t in a byte of its own. */
static ir_value *element(ir_builder *b, ir_value *bytes, ir_value *shift, tsr_dtype t) {
  if (!bytes || !shift) return NULL;
  ir_value *u = OP2(AND, OP2(SHIFT_RIGHT, bytes, shift), NUMBER(bytes, 15));
  return u && dtype_get(t)->is_signed ? signed_of(b, graph_cast(b, u, TSR_I8)) : u;
}

static bool has_pairs(const ir_type *t) {
  return t->rank && t->rank < TSR_MAX_RANK && t->dims[t->rank - 1] % 2 == 0;
}

static int pairs_of(const ir_type *t, int64_t *dims) {
  const int rank = has_pairs(t) ? t->rank : 1;
  if (has_pairs(t)) memcpy(dims, t->dims, sizeof *dims * (size_t)rank), dims[rank - 1] /= 2;
  else dims[0] = (ir_type_count(t) + 1) / 2;
  dims[rank] = 2;
  return rank + 1;
}

/* The elements of bytes, u8[(n + 1) / 2], as a tensor of t's shape. */
static ir_value *unpacked(ir_builder *b, ir_value *bytes, const ir_type *t) {
  static const uint8_t shifts[] = {0, 4};
  int64_t dims[TSR_MAX_RANK], zero[1] = {0}, n = ir_type_count(t);
  const int rank = pairs_of(t, dims);
  ir_value *shift = graph_elements(b, ir_type_tensor(b->m, TSR_U8, 1, (int64_t[]){2}), shifts);
  if (!shift || !bytes) return NULL;
  dims[rank - 1] = 1;
  ir_value *x = graph_reshape(b, bytes, rank, dims);
  dims[rank - 1] = 2;
  x = x ? element(b, graph_broadcast(b, x, rank, dims), shift, t->dtype) : NULL;
  if (x && n % 2) x = graph_cut(b, graph_reshape(b, x, 1, (int64_t[]){n + 1}), zero, (int64_t[]){n});
  x = x ? graph_reshape(b, x, t->rank, t->dims) : NULL;
  if (x && has_pairs(t)) x->data = bytes;
  return x;
}

ir_value *graph_unpack(ir_builder *b, ir_value *v) {
  return v ? unpacked(b, graph_op1(b, G_AS_BYTES, v), v->type) : NULL;
}

/* Elements 0 (p = 0) or 1 of each pair along the last axis. Of what is computed from something else, computed of that:
 * the whole of it is then never in memory. */
static ir_value *half(ir_builder *b, ir_value *v, int p, int depth) {
  const ir_type *t = v->type;
  const ir_op *op = v->def;
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK], steps[TSR_MAX_RANK];
  if (!t->rank || t->dims[t->rank - 1] == 1) return v;
  for (int i = 0; i < t->rank; i++) sizes[i] = t->dims[i], steps[i] = 1;
  starts[t->rank - 1] = t->dims[t->rank - 1] ? p : 0, sizes[t->rank - 1] /= 2, steps[t->rank - 1] = 2;
  if (v->data && graph_is(op, G_RESHAPE)) {
    ir_value *bytes = graph_reshape(b, v->data, t->rank, sizes);
    return bytes ? element(b, bytes, NUMBER(bytes, 4 * p), t->dtype == TSR_I8 ? TSR_I4 : TSR_U4) : NULL;
  }
  if (!op || !(op->def->flags & IR_ELEMENTWISE) || v->n_uses > 1 || depth > 16)
    return compose_take(b, v, starts, sizes, steps);
  ir_value *x[3];
  for (int i = 0; i < op->n_operands; i++)
    if (!(x[i] = half(b, op->operands[i], p, depth + 1))) return NULL;
  return graph_build_like(b, op, x);
}

ir_value *graph_pack_bytes(ir_builder *b, ir_value *x) {
  const ir_type *t = x->type;
  const int64_t n = ir_type_count(t), bytes = (n + 1) / 2;
  if (!t->rank || t->dims[t->rank - 1] % 2) {
    x = graph_reshape(b, x, 1, (int64_t[]){n});
    if (x && n % 2) x = compose_pad(b, x, (int64_t[]){0}, (int64_t[]){1}, 0);
  }
  x = x ? graph_cast(b, OP2(AND, x, NUMBER(x, 15)), TSR_U8) : NULL;
  ir_value *low = x ? half(b, x, 0, 0) : NULL, *high = low ? half(b, x, 1, 0) : NULL;
  if (!high) return NULL;
  return graph_reshape(b, OP2(OR, low, OP2(SHIFT_LEFT, high, NUMBER(high, 4))), 1, &bytes);
}

ir_value *graph_pack(ir_builder *b, ir_value *x, const ir_type *t) {
  ir_value *bytes = graph_pack_bytes(b, x);
  ir_op *op = bytes ? ir_op_new(b, graph_def(G_AS_PACKED), 1, &bytes, 1, &t, 0) : NULL;
  if (!op || !ir_set_attr(op, "shape", ir_attr_ints(b->m, t->dims, t->rank)) ||
      !ir_set_attr(op, "dtype", ir_attr_str(b->m, tsr_dtype_name(t->dtype))))
    b->failed = true;
  return b->failed ? NULL : op->results[0];
}

/* ---- the ops ----------------------------------------------------------------------------------------------------- */

static ir_value *constant(ir_builder *b, ir_op *op) {
  const ir_attr *a = ir_get_attr(op, "value");
  const ir_type *t = OUT->type;
  const tsr_dtype byte = dtype_packed(t->dtype);
  const int64_t n = ir_type_count(t);
  if (a->u.dense.splat || n == 1)
    return graph_fill(b, ir_type_tensor(b->m, byte, t->rank, t->dims), graph_constant_at(op, 0));
  /* A byte each, once and for all: to take pairs apart in each run would cost more than what it saves. */
  const ir_type *of = ir_type_tensor(b->m, byte, t->rank, t->dims);
  ir_op *c = of ? ir_op_new(b, op->def, 0, NULL, 1, &of, 0) : NULL;
  char *x = arena_alloc(&b->m->arena, (size_t)n + 1);
  for (int64_t i = 0; x && i < n; i++) dtype_store(byte, x, (size_t)i, graph_constant_at(op, i));
  if (!c || !x || !ir_set_attr(c, "value", ir_attr_dense(b->m, of, x, (size_t)n, false))) b->failed = true;
  return b->failed ? NULL : c->results[0];
}

static ir_value *padded(ir_builder *b, ir_op *op, ir_value *const *x) {
  ir_value *y = graph_build_like(b, op, x);
  const double v = num_convert(OUT->type->dtype, ir_get_float(op, "value", 0));
  if (y && !ir_set_attr(y->def, "value", ir_attr_float(b->m, v))) b->failed = true;
  return b->failed ? NULL : y;
}

/* May op's result on bytes have more bits than an element? What orders and chooses gives one of its operands. */
static bool leaves_range(const ir_op *op) {
  if (graph_is_kind(op, GRAPH_MOVE) || graph_is_kind(op, GRAPH_COPY)) return false;
  if (graph_is(op, G_MIN) || graph_is(op, G_MAX) || graph_is(op, G_SELECT) || graph_is(op, G_RELU)) return false;
  return !graph_is_kind(op, GRAPH_GATHER) && !graph_is_kind(op, GRAPH_WINDOWS);
}

ir_value *graph_packed_op(ir_builder *b, ir_op *op, ir_value *const *x) {
  const tsr_dtype t = OUT->type->dtype, byte = dtype_packed(t);
  ir_value *y;
  switch (op->def->code) {
  case G_CONSTANT: return constant(b, op);
  case G_PAD: return padded(b, op, x);
  case G_IOTA: return graph_iota(b, byte, OUT->type, graph_iota_axis(op));
  case G_CAST:
    y = graph_cast(b, x[0], byte ? byte : t);
    return byte && IN(0)->type->dtype != t ? clamped(b, y, t) : y;
  case G_REDUCE_MAX:
  case G_REDUCE_MIN: /* what is given of nothing is the end of the range in which kernels compute */
    y = graph_cast(b, x[0], TSR_I32);
    y = y ? clamped(b, graph_build_like(b, op, &y), t) : NULL;
    return y ? graph_cast(b, y, byte) : NULL;
  default:
    y = graph_build_like(b, op, x);
    return byte && leaves_range(op) ? wrapped(b, y, t) : y;
  }
}
