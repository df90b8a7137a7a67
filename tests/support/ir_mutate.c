/* tests/support/ir_mutate.c - see ir_mutate.h. */
#include "tests/support/ir_mutate.h"

#include <string.h>

#include "core/ir/target/target.h"
#include "core/ir/tile/tile.h"

enum { MOST = 4096 };

typedef struct mutation {
  ir_module *m;
  uint64_t *rng;
  ir_op *ops[MOST];
  ir_value *values[MOST];
  int n_ops, n_values;
} mutation;

uint64_t mutate_next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static int below(mutation *x, int n) { return n > 0 ? (int)(mutate_next(x->rng) % (uint64_t)n) : 0; }

static tsr_status collect(ir_op *op, void *user) {
  mutation *x = user;
  if (x->n_ops < MOST) x->ops[x->n_ops++] = op;
  for (int i = 0; i < op->n_results && x->n_values < MOST; i++) x->values[x->n_values++] = op->results[i];
  for (int r = 0; r < op->n_regions; r++)
    for (int i = 0; i < op->regions[r]->n_args && x->n_values < MOST; i++)
      x->values[x->n_values++] = op->regions[r]->args[i];
  return NULL;
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

static int64_t edge(mutation *x, int64_t v) {
  static const int64_t edges[] = {0,
                                  1,
                                  2,
                                  3,
                                  4,
                                  7,
                                  8,
                                  16,
                                  17,
                                  64,
                                  100,
                                  1023,
                                  1024,
                                  1025,
                                  32767,
                                  32768,
                                  65535,
                                  65536,
                                  -1,
                                  -2,
                                  -8,
                                  INT32_MAX,
                                  (int64_t)INT32_MAX + 1,
                                  INT32_MIN,
                                  (int64_t)1 << 32,
                                  (int64_t)1 << 40,
                                  (int64_t)1 << 62,
                                  INT64_MAX,
                                  INT64_MAX - 1,
                                  INT64_MIN,
                                  INT64_MIN + 1};
  switch (below(x, 5)) {
  case 0: return (int64_t)((uint64_t)v + 1);
  case 1: return (int64_t)((uint64_t)v - 1);
  case 2: return below(x, 2) ? v / 2 : (int64_t)((uint64_t)v * 2);
  case 3: return below(x, 40);
  default: return edges[below(x, (int)(sizeof edges / sizeof *edges))];
  }
}

static void change_attr(mutation *x, ir_attr *a) {
  static const char *const words[] = {
      "sum",      "max",         "min",           "prod",      "eq",      "lt",      "kahan_sum", "deterministic",
      "fast",     "copy",        "move",          "fill",      "splat",   "reduce",  "gemm",      "matmul",
      "gather",   "scatter",     "fft_stage",     "transpose", "row_max", "row_sum", "row_exp",   "row_sqdev",
      "row_norm", "row_softmax", "row_normalize", "f16",       "f32",     "row",     "col",       "xor",
      "dft",      "",            "nothing"};
  static const double numbers[] = {0, 1, -1, 0.5, 1e-40, 3e38, 1e300, -1e300};
  switch (a->kind) {
  case IR_A_INT: a->u.i = edge(x, a->u.i); break;
  case IR_A_BOOL: a->u.i = !a->u.i; break;
  case IR_A_FLOAT: a->u.f = numbers[below(x, (int)(sizeof numbers / sizeof *numbers))]; break;
  case IR_A_STR: a->u.s = words[below(x, (int)(sizeof words / sizeof *words))]; break;
  case IR_A_ARRAY:
    if (a->u.array.n && below(x, 8)) change_attr(x, a->u.array.v[below(x, a->u.array.n)]);
    else if (a->u.array.n) a->u.array.n--;
    break;
  default: break;
  }
}

/* ---- types ----------------------------------------------------------------------------------------------------- */

static const ir_type *other_type(mutation *x, const ir_type *t) {
  static const tsr_dtype dtypes[] = {TSR_F64, TSR_F32, TSR_TF32, TSR_F16, TSR_BF16, TSR_F8E4M3, TSR_F8E5M2,
                                     TSR_I64, TSR_I32, TSR_I16,  TSR_I8,  TSR_U8,   TSR_BOOL};
  ir_type c = *t;
  const int d = c.rank ? below(x, c.rank) : 0, what = below(x, 9);
  if (what == 0 || !ir_type_is_shaped(t)) c.dtype = dtypes[below(x, (int)(sizeof dtypes / sizeof *dtypes))];
  else if (what <= 3 && c.rank)
    c.dims[d] = below(x, 4) ? below(x, 20) : (int64_t)((uint64_t)edge(x, c.dims[d]) & INT64_MAX);
  else if (what == 4 && c.rank < TSR_MAX_RANK) c.dims[c.rank] = below(x, 3), c.strides[c.rank] = 1, c.rank++;
  else if (what == 5 && c.rank) c.rank--;
  else if (what == 6)
    ir_type_strides(t, c.strides), c.has_strides = c.rank && c.kind >= IR_T_VIEW, c.strides[d] = edge(x, c.strides[d]);
  else if (what == 7 && c.kind == IR_T_VIEW) c.offset = edge(x, c.offset);
  else if (what == 7 && (c.kind == IR_T_SHARED || c.kind == IR_T_ARRAY)) c.pad = below(x, 10);
  else c.kind = (ir_type_kind)(IR_T_INDEX + below(x, IR_T_TOKEN - IR_T_INDEX + 1));
  if (c.kind == IR_T_INDEX || c.kind == IR_T_TOKEN) c = (ir_type){.kind = c.kind};
  else if (!c.dtype) c.dtype = TSR_F32;
  return ir_type_get(x->m, &c);
}

/* ---- operands and ops ------------------------------------------------------------------------------------------ */

static void change_operand(mutation *x, ir_op *op) {
  if (!op->n_operands) return;
  int i = below(x, op->n_operands);
  if (below(x, 6) == 0) {
    ir_value *a = op->operands[0], *b = op->operands[i];
    ir_set_operand(op, 0, b), ir_set_operand(op, i, a);
    return;
  }
  bool alike = below(x, 4) != 0;
  for (int tries = 0; tries < 40; tries++) {
    ir_value *v = x->values[below(x, x->n_values)];
    if (alike && v->type != op->operands[i]->type) continue;
    ir_set_operand(op, i, v);
    return;
  }
}

static void change_count(mutation *x, ir_op *op) {
  if (below(x, 2) && op->n_operands) op->operands[op->n_operands - 1]->n_uses--, op->n_operands--;
  else if (x->n_values)
    ir_add_operand(op, op->n_operands && below(x, 4) ? op->operands[below(x, op->n_operands)]
                                                     : x->values[below(x, x->n_values)]);
}

static void change_arguments(mutation *x, ir_op *op) {
  if (!op->n_regions) return;
  ir_block *b = op->regions[below(x, op->n_regions)];
  if (b->n_args && below(x, 2)) {
    ir_value *v = b->args[below(x, b->n_args)];
    const ir_type *t = other_type(x, v->type);
    if (t) v->type = t;
  } else {
    ir_block_arg(x->m, b, x->values[below(x, x->n_values)]->type, NULL);
  }
}

/* A copy of an op elsewhere, with the operands that it has. */
static void copy_elsewhere(mutation *x, ir_op *op) {
  ir_op *to = x->ops[below(x, x->n_ops)];
  if (!op->parent || !to->parent || op->n_regions > 1) return;
  for (const ir_op *o = to; o; o = o->parent ? o->parent->parent : NULL)
    if (o == op) return; /* not into itself */
  ir_builder b = ir_before(below(x, 2) ? to : op);
  ir_op *c = ir_op_copy(&b, op, NULL, NULL);
  if (c && c->n_results && op->n_results == c->n_results && below(x, 2))
    ir_replace_uses(op->parent->parent, op->results[0], c->results[0]);
}

static void remove_op(ir_op *op) {
  for (int i = 0; i < op->n_results; i++)
    if (op->results[i]->n_uses) return;
  if (op->parent) ir_op_remove(op);
}

static void change(mutation *x) {
  x->n_ops = x->n_values = 0;
  tsr_status_free(ir_walk(x->m->root, collect, x));
  ir_op *op = x->ops[below(x, x->n_ops)];
  switch (below(x, 12)) {
  case 0: case 1: case 2: case 3:
    for (int tries = 0; tries < 30 && !op->n_attrs; tries++) op = x->ops[below(x, x->n_ops)];
    if (op->n_attrs) change_attr(x, op->attrs[below(x, op->n_attrs)].attr);
    break;
  case 4: case 5: change_operand(x, op); break;
  case 6: change_count(x, op); break;
  case 7: case 8: {
    ir_value *v = x->values[below(x, x->n_values)];
    const ir_type *t = v->type ? other_type(x, v->type) : NULL;
    if (t) v->type = t;
    break;
  }
  case 9: change_arguments(x, op); break;
  case 10: copy_elsewhere(x, op); break;
  default: remove_op(op);
  }
}

/* ---- what follows from a change -------------------------------------------------------------------------------- */

static void settle_arguments(ir_op *op) {
  const bool tile = op->def->level == IR_TILE;
  const int code = op->def->code;
  ir_block *r = op->n_regions ? op->regions[0] : NULL;
  if (!r) return;
  if (code == (tile ? (int)T_FOR : (int)TG_FOR)) {
    for (int i = 1; i < r->n_args && 2 + i < op->n_operands; i++) r->args[i]->type = op->operands[2 + i]->type;
  } else if (tile && code == T_MAP) {
    for (int i = 0; i < r->n_args && i < op->n_operands; i++) {
      const ir_type *t = op->operands[i]->type ? ir_type_scalar(op->module, op->operands[i]->type->dtype) : NULL;
      if (t) r->args[i]->type = t;
    }
  }
}

static bool keeps_type(const ir_op *op) {
  if (!op->def->infer || op->def->code == SC_CAST) return true;
  return op->def->code == (op->def->level == IR_TILE ? (int)T_CONST : (int)TG_CONST);
}

static void settle(ir_op *op) {
  settle_arguments(op);
  for (int r = 0; r < op->n_regions; r++)
    for (ir_op *o = op->regions[r]->first; o; o = o->next) settle(o);
  if (op->def->level != IR_TILE && op->def->level != IR_TARGET) return;
  for (int i = 0; i < op->n_operands; i++)
    if (!op->operands[i]->type || op->operands[i]->def == op) return;
  if (keeps_type(op) || op->n_results > 8) return;
  const ir_type *before[8];
  for (int i = 0; i < op->n_results; i++) before[i] = op->results[i]->type, op->results[i]->type = NULL;
  tsr_status st = ir_verify_op(op);
  tsr_status_free(st);
  for (int i = 0; i < op->n_results; i++)
    if (!op->results[i]->type) op->results[i]->type = before[i];
}

void ir_mutate(ir_module *m, uint64_t *state) {
  static mutation x;
  x.m = m, x.rng = state;
  for (int n = 1 + below(&x, 3); n > 0; n--) change(&x);
  if (below(&x, 8)) settle(m->root);
}
