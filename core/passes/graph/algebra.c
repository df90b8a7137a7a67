/* core/passes/graph/algebra.c - the rewrite rules that look at one or two ops: neutral elements, chains of the same
 * kind, constants, transposes and matmul. See graph/rules.h. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/eval.h"
#include "core/ir/graph/perm.h"
#include "core/passes/graph/rules.h"

static bool same_type(const ir_value *a, const ir_value *b) { return a->type == b->type; }
static ir_value *result(const rewrite *r) { return r->op->results[0]; }
static bool is_float(const ir_value *v) { return dtype_is_float(v->type->dtype); }

/* The operand that is not the number c, of the op's type; either side for commutative ops. */
static ir_value *other_than(const rewrite *r, double c) {
  ir_op *op = r->op;
  if (is_number(op->operands[1], c) && same_type(op->operands[0], result(r))) return op->operands[0];
  if ((op->def->flags & IR_COMMUTES) && is_number(op->operands[0], c) && same_type(op->operands[1], result(r)))
    return op->operands[1];
  return NULL;
}

ir_value *rule_add_zero(rewrite *r) {
  return graph_is(r->op, G_ADD) || graph_is(r->op, G_SUB) ? other_than(r, 0) : NULL;
}

ir_value *rule_mul_one(rewrite *r) {
  return graph_is(r->op, G_MUL) || graph_is(r->op, G_DIV) ? other_than(r, 1) : NULL;
}

ir_value *rule_mul_zero(rewrite *r) {
  if (!graph_is(r->op, G_MUL) || !other_than(r, 0)) return NULL;
  if (is_float(result(r))) {
    r->why = "NaN and infinity times 0 are not 0";
    return NULL;
  }
  return graph_fill(&r->b, result(r)->type, 0);
}

ir_value *rule_div_to_mul(rewrite *r) {
  double c;
  int e;
  if (!graph_is(r->op, G_DIV) || !splat_of(r->op->operands[1], &c) || !is_float(result(r)) || c == 1) return NULL;
  if (c == 0 || !isfinite(c) || fabs(frexp(c, &e)) != 0.5 || e < -100 || e > 100) {
    r->why = "the reciprocal is not exact";
    return NULL;
  }
  tsr_dtype t = result(r)->type->dtype;
  uint64_t bits = 0;
  dtype_store(t, &bits, 0, 1 / c);
  if (dtype_load(t, &bits, 0) != 1 / c) {
    r->why = "the reciprocal is not exact";
    return NULL;
  }
  return graph_op2(&r->b, G_MUL, r->op->operands[0], graph_fill(&r->b, r->op->operands[1]->type, 1 / c));
}

ir_value *rule_pow_small(rewrite *r) {
  if (!graph_is(r->op, G_POW)) return NULL;
  ir_value *x = r->op->operands[0];
  if (!same_type(x, result(r))) return NULL;
  if (is_number(r->op->operands[1], 1)) return x;
  return is_number(r->op->operands[1], 2) ? graph_op2(&r->b, G_MUL, x, x) : NULL;
}

ir_value *rule_undo(rewrite *r) {
  ir_op *op = r->op;
  if (op->n_operands != 1 || !op->operands[0]->def) return NULL;
  ir_op *in = op->operands[0]->def;
  int code = op->def->code;
  if ((code == G_NEG || code == G_NOT) && graph_is(in, (graph_code)code)) return in->operands[0];
  if (code == G_ABS && graph_is(in, G_NEG)) return graph_op1(&r->b, G_ABS, in->operands[0]);
  if ((code == G_ABS || code == G_RELU || code == G_FLOOR) && graph_is(in, (graph_code)code)) return op->operands[0];
  return NULL;
}

ir_value *rule_cast_chain(rewrite *r) {
  if (!graph_is(r->op, G_CAST)) return NULL;
  ir_value *x = r->op->operands[0];
  if (same_type(x, result(r))) return x;
  if (!graph_is(x->def, G_CAST)) return NULL;
  ir_value *y = x->def->operands[0];
  if (!dtype_holds(x->type->dtype, y->type->dtype)) {
    r->why = "the inner cast rounds";
    return NULL;
  }
  return same_type(y, result(r)) ? y : graph_cast(&r->b, y, result(r)->type->dtype);
}

/* ---- movement -------------------------------------------------------------------------------------------------- */

ir_value *rule_transpose_chain(rewrite *r) {
  int outer[TSR_MAX_RANK], inner[TSR_MAX_RANK], both[TSR_MAX_RANK];
  if (!graph_is(r->op, G_TRANSPOSE)) return NULL;
  ir_value *x = r->op->operands[0];
  int rank = x->type->rank;
  bool chain = graph_is(x->def, G_TRANSPOSE), identity = true;
  graph_perm(r->op, outer);
  if (chain) graph_perm(x->def, inner);
  for (int i = 0; i < rank; i++) {
    both[i] = chain ? inner[outer[i]] : outer[i];
    identity &= both[i] == i;
  }
  ir_value *from = chain ? x->def->operands[0] : x;
  return identity ? from : chain ? graph_transpose(&r->b, from, both) : NULL;
}

ir_value *rule_reshape_chain(rewrite *r) {
  if (!graph_is(r->op, G_RESHAPE)) return NULL;
  ir_value *x = r->op->operands[0];
  if (same_type(x, result(r))) return x;
  if (!graph_is(x->def, G_RESHAPE) || ir_type_count(result(r)->type) == IR_DYNAMIC) return NULL;
  return graph_reshape(&r->b, x->def->operands[0], result(r)->type->rank, result(r)->type->dims);
}

ir_value *rule_broadcast_chain(rewrite *r) {
  if (!graph_is(r->op, G_BROADCAST)) return NULL;
  ir_value *x = r->op->operands[0];
  if (same_type(x, result(r))) return x;
  if (!graph_is(x->def, G_BROADCAST) || ir_type_count(result(r)->type) == IR_DYNAMIC) return NULL;
  return graph_broadcast(&r->b, x->def->operands[0], result(r)->type->rank, result(r)->type->dims);
}

ir_value *rule_slice_chain(rewrite *r) {
  if (!graph_is(r->op, G_SLICE)) return NULL;
  ir_value *x = r->op->operands[0];
  if (same_type(x, result(r)) && ir_type_count(x->type) != IR_DYNAMIC)
    return x; /* as many elements as there are, in order */
  if (!graph_is(x->def, G_SLICE) || ir_type_count(result(r)->type) == IR_DYNAMIC) return NULL;
  int64_t s0[TSR_MAX_RANK], d0[TSR_MAX_RANK], s1[TSR_MAX_RANK], d1[TSR_MAX_RANK];
  int rank = x->type->rank;
  graph_slice(x->def, s0, d0);
  graph_slice(r->op, s1, d1);
  for (int i = 0; i < rank; i++) {
    if (__builtin_mul_overflow(s1[i], d0[i], &s1[i]) || __builtin_add_overflow(s1[i], s0[i], &s1[i]) ||
        __builtin_mul_overflow(d1[i], d0[i], &d1[i]))
      return NULL;
    if (result(r)->type->dims[i] < 2) d1[i] = 1;
    if (result(r)->type->dims[i] == 0) s1[i] = 0;
  }
  ir_op *n = ir_op_new(&r->b, graph_def(G_SLICE), 1, &x->def->operands[0], 1, &result(r)->type, 0);
  if (!n || !ir_set_attr(n, "starts", ir_attr_ints(r->b.m, s1, rank)) ||
      !ir_set_attr(n, "sizes", ir_attr_ints(r->b.m, result(r)->type->dims, rank)) ||
      !ir_set_attr(n, "strides", ir_attr_ints(r->b.m, d1, rank))) {
    r->b.failed = true;
    return NULL;
  }
  return n->results[0];
}

/* The result shape if operand i were `t`. */
static bool shape_holds(const ir_op *op, int i, const ir_type *t) {
  int rank = 0;
  int64_t dims[TSR_MAX_RANK];
  for (int k = 0; k < op->n_operands; k++) {
    const ir_type *x = k == i ? t : op->operands[k]->type;
    if (!graph_broadcast_dims(rank, dims, x->rank, x->dims, &rank, dims)) return false;
  }
  return rank == op->results[0]->type->rank && !memcmp(dims, op->results[0]->type->dims, sizeof *dims * (size_t)rank);
}

static ir_value *with_operand(rewrite *r, int i, ir_value *v) {
  ir_value *x[3];
  if (!v) return NULL;
  memcpy(x, r->op->operands, sizeof *x * (size_t)r->op->n_operands);
  x[i] = v;
  return graph_build_like(&r->b, r->op, x);
}

ir_value *rule_drop_broadcast(rewrite *r) {
  if (!(r->op->def->flags & IR_ELEMENTWISE) || r->op->n_operands < 2) return NULL;
  for (int i = 0; i < r->op->n_operands; i++) {
    ir_op *d = r->op->operands[i]->def;
    if (graph_is(d, G_BROADCAST) && shape_holds(r->op, i, d->operands[0]->type))
      return with_operand(r, i, d->operands[0]);
  }
  return NULL;
}

ir_value *rule_shrink_splat(rewrite *r) {
  if (!(r->op->def->flags & IR_ELEMENTWISE) || r->op->n_operands < 2) return NULL;
  for (int i = 0; i < r->op->n_operands; i++) {
    ir_value *v = r->op->operands[i];
    double c;
    if (v->type->rank == 0 || !splat_of(v, &c)) continue;
    ir_type t = {.kind = IR_T_TENSOR, .dtype = v->type->dtype};
    if (shape_holds(r->op, i, &t)) return with_operand(r, i, graph_number(&r->b, t.dtype, c));
  }
  return NULL;
}

ir_value *rule_select_known(rewrite *r) {
  double c;
  if (!graph_is(r->op, G_SELECT)) return NULL;
  ir_value **x = r->op->operands;
  if (x[1] == x[2] && same_type(x[1], result(r))) return x[1];
  if (!splat_of(x[0], &c)) return NULL;
  ir_value *y = c != 0 ? x[1] : x[2];
  return same_type(y, result(r)) ? y : NULL;
}

/* ---- constants ------------------------------------------------------------------------------------------------- */

static ir_value *to_copy(void *user, ir_value *v) { return v->data; }

/* Evaluates op, whose operands are constants, in a module of its own. */
static tsr_status evaluate(const ir_op *op, void *out) {
  ir_module *m;
  tsr_status st = NULL;
  TSR_TRY(ir_module_create(&op->module->arena.al, &m));
  ir_builder top = ir_at_end(m, m->root->regions[0]);
  ir_op *func = ir_op_new(&top, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  ir_builder b = func ? ir_at_end(m, func->regions[0]) : top;
  for (int i = 0; func && i < op->n_operands; i++) {
    ir_op *c = ir_op_copy(&b, op->operands[i]->def, NULL, NULL);
    op->operands[i]->data = c ? c->results[0] : NULL;
  }
  ir_op *n = b.failed || !func ? NULL : ir_op_copy(&b, op, to_copy, NULL);
  if (!n || !ir_op_new(&b, graph_def(G_RETURN), 1, n->results, 0, NULL, 0)) st = st_oom();
  else st = graph_eval(func, NULL, &out, NULL);
  for (int i = 0; i < op->n_operands; i++) op->operands[i]->data = NULL;
  ir_module_destroy(&m);
  return st;
}

/* A slice that takes elements of a constant as they follow one another: a constant over the same bytes. NULL: it isn't
 * one. */
static ir_value *part_of_constant(rewrite *r) {
  int64_t starts[TSR_MAX_RANK], strides[TSR_MAX_RANK], first = 0;
  const ir_type *to = result(r)->type, *from = r->op->operands[0]->type;
  const ir_attr *a = ir_get_attr(r->op->operands[0]->def, "value");
  if (a->u.dense.splat || dtype_packed(to->dtype) || ir_type_count(to) < 1) return NULL;
  graph_slice(r->op, starts, strides);
  bool whole = true; /* of all dimensions behind */
  for (int i = to->rank - 1; i >= 0; i--) {
    if (!whole && to->dims[i] != 1) return NULL;
    if (strides[i] != 1 && to->dims[i] != 1) return NULL;
    whole = whole && to->dims[i] == from->dims[i];
  }
  for (int i = 0; i < to->rank; i++) first = first * from->dims[i] + starts[i];
  return graph_constant(&r->b, ir_attr_part(r->b.m, to, a, (size_t)first * tsr_dtype_size(to->dtype)));
}

ir_value *rule_constant_fold(rewrite *r) {
  ir_op *op = r->op;
  const ir_type *t = result(r)->type;
  int64_t n = ir_type_count(t), work = n;
  if (!op->n_operands || !graph_ext(op) || !graph_ext(op)->eval || graph_is(op, G_CONSTANT)) return NULL;
  for (int i = 0; i < op->n_operands; i++) {
    if (!graph_is(op->operands[i]->def, G_CONSTANT)) return NULL;
    int64_t k = ir_type_count(op->operands[i]->type);
    if (k > work) work = k;
  }
  ir_value *part = work > GRAPH_FOLD_MAX && graph_is(op, G_SLICE) ? part_of_constant(r) : NULL;
  if (part || r->b.failed) return part;
  graph_space space;
  if (!graph_space_of(op, &space) || work > GRAPH_FOLD_MAX || space.points > GRAPH_FOLD_MAX) {
    r->why = "the constants are too large";
    return NULL;
  }
  size_t bytes = (size_t)ir_type_bytes(t);
  void *out = al_alloc(&r->b.m->arena.al, bytes + 1, 16);
  tsr_status st = out ? evaluate(op, out) : st_oom();
  bool oom = tsr_status_code(st) == TSR_OUT_OF_MEMORY;
  ir_value *c = st ? NULL : graph_elements(&r->b, t, out);
  if (oom) r->b.failed = true;
  if (st && !oom) r->why = "the oracle can't evaluate it";
  tsr_status_free(st);
  al_free(&r->b.m->arena.al, out, bytes + 1, 16);
  return c;
}

/* ---- matmul ---------------------------------------------------------------------------------------------------- */

/* Does op swap exactly the last two dimensions? */
static ir_value *product_like(rewrite *r, const ir_op *like, ir_value *a, ir_value *b, bool ta, bool tb) {
  ir_op *op = ir_op_new(&r->b, like->def, 2, (ir_value *[]){a, b}, 1, &result(r)->type, 0);
  for (int i = 0; op && i < like->n_attrs; i++)
    if (strncmp(like->attrs[i].name, "transpose_", 10) && !ir_set_attr(op, like->attrs[i].name, like->attrs[i].attr))
      op = NULL;
  if (!op || !graph_orient(op, ta, tb)) {
    r->b.failed = true;
    return NULL;
  }
  op->loc = like->loc;
  return op->results[0];
}

ir_value *rule_transpose_into_matmul(rewrite *r) {
  if (!graph_is_kind(r->op, GRAPH_CONTRACTION)) return NULL;
  graph_contract g = graph_contract_get(r->op);
  ir_value *a = r->op->operands[0], *b = r->op->operands[1];
  bool sa = a->def && graph_swaps_last(a->def), sb = b->def && graph_swaps_last(b->def);
  if (!sa && !sb) return NULL;
  return product_like(r, r->op, sa ? a->def->operands[0] : a, sb ? b->def->operands[0] : b, g.transpose_a != sa,
                      g.transpose_b != sb);
}

/* Of the plain product alone: x in f32, and in the order that the kernels take. */
ir_value *rule_fuse_dequantize(rewrite *r) {
  if (!graph_is_kind(r->op, GRAPH_CONTRACTION) || !graph_is(r->op->operands[1]->def, G_DEQUANTIZE)) return NULL;
  const graph_contract g = graph_contract_get(r->op);
  ir_value *x = r->op->operands[0], *w = r->op->operands[1]->def->operands[0];
  if (!g.transpose_b || g.transpose_a || w->type->rank != 2)
    r->why = "the matrix is not the second operand, transposed";
  else if (x->type->dtype != TSR_F32 || result(r)->type->dtype != TSR_F32 || g.accum != TSR_F32)
    r->why = "the product is not of f32";
  else if (ir_get_attr(r->op, "tile_shape")) r->why = "a tile was asked for";
  if (r->why) return NULL;
  ir_op *n = ir_op_new(&r->b, graph_def(G_BLOCK_MATMUL), 2, (ir_value *[]){x, w}, 1, &result(r)->type, 0);
  const char *format = ir_get_str(r->op->operands[1]->def, "format", "");
  if (n && ir_set_attr(n, "format", ir_attr_str(r->b.m, format))) return n->results[0];
  r->b.failed = true;
  return NULL;
}

ir_value *rule_transpose_of_matmul(rewrite *r) {
  if (!graph_swaps_last(r->op)) return NULL;
  ir_value *p = r->op->operands[0];
  if (!graph_is_kind(p->def, GRAPH_CONTRACTION)) return NULL;
  if (p->n_uses != 1) {
    r->why = "the product is also needed as it is";
    return NULL;
  }
  if (ir_get_attr(p->def, "tile_shape")) {
    r->why = "the product's tile_shape was chosen for its orientation";
    return NULL;
  }
  if (p->def->operands[0]->type->dtype == TSR_U8 && p->def->operands[1]->type->dtype == TSR_I8) {
    r->why = "bytes are multiplied unsigned by signed";
    return NULL;
  }
  graph_contract g = graph_contract_get(p->def);
  return product_like(r, p->def, p->def->operands[1], p->def->operands[0], !g.transpose_b, !g.transpose_a);
}
