/* core/passes/tile/row_ops.c - row operations (reductions, softmax, norms) of rows that a block holds whole, and what a
 * row that is taken in chunks computes from its statistics (tile/row_chunked.c). */
#include <math.h>
#include <string.h>

#include "core/passes/tile/map.h"

static ir_value *softmax(kern *k, ir_value *x) {
  ir_value *e = kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, x, kb_reduce(k, "max", x))), *sum = kb_reduce(k, "sum", e);
  return kb_map2(k, SC_MUL, e, kb_reciprocal(k, sum));
}

static ir_value *scale_row(kern *k, ir_value *x, double n) { return kb_map2_imm(k, SC_MUL, x, n); }

/* The CPU's reduction kernels take a plain norm (cpu/reduction_kernels.c), and look after its range and rounding
 * themselves (backends/cpu/rows.c). On GPUs another reduction would cost up to a sixth of the time (docs/precision.md
 * says what a plain norm doesn't hold). */
static bool norm_is_plain(const kern *k, const ir_op *op, double n) {
  return op->operands[0]->type->dtype != TSR_F64 && strcmp(k->opts->policy, "kahan_sum") &&
         (n > 1 || k->opts->caps->dialect != DIALECT_CPU);
}

/* select(x > limit, high, low) of one number a row. */
static ir_value *choose(kern *k, ir_value *x, double limit, double high, double low) {
  ir_value *args[1];
  ir_builder r;
  ir_op *map = x ? kb_map_open(k, 1, &x, args, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  tsr_dtype t = x->type->dtype;
  ir_value *y = kb_number(k, &r, t, limit),
           *above =
               y ? ir_build1(&r, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2, (ir_value *[]){args[0], y})
                 : NULL;
  if (!above || !ir_set_attr(above->def, "predicate", ir_attr_str(k->m, "gt"))) return NULL;
  return kb_map_close(k, map, &r,
                   ir_build1(&r, "tessera.tile.select", NULL, 3,
                             (ir_value *[]){above, kb_number(k, &r, t, high), kb_number(k, &r, t, low)}));
}

/* Rows with numbers whose squares leave the type are scaled by a power of two first. The mean is taken twice: what the
 * first leaves of equal numbers is short, so that its mean is exact and nothing rests. The least that is added to the
 * variance keeps such a row from 0 / 0. */
static ir_value *norm(kern *k, const ir_op *op, ir_value *x, double n) {
  bool wide = x->type->dtype == TSR_F64, centred = op->def->code == G_LAYERNORM;
  double eps = ir_get_float(op, "eps", 1e-5), limit = wide ? 0x1p480 : 0x1p54, s = wide ? 0x1p-600 : 0x1p-76,
         least = wide ? 0x1p-1000 : 0x1p-124;
  ir_value *most = kb_reduce(k, "max", kb_map1(k, SC_ABS, x)), *scale = choose(k, most, limit, s, 1),
           *added = choose(k, most, limit, eps * s * s > least ? eps * s * s : least, eps);
  x = kb_map2(k, SC_MUL, x, scale);
  for (int i = 0; centred && i < 2; i++) x = kb_map2(k, SC_SUB, x, kb_map2_imm(k, SC_DIV, kb_reduce(k, "sum", x), n));
  ir_value *var = kb_map2_imm(k, SC_DIV, kb_reduce(k, "sum", kb_map2(k, SC_MUL, x, x)), n);
  return kb_map2(k, SC_MUL, x, kb_map1(k, SC_RSQRT, kb_map2(k, SC_ADD, var, added)));
}

/* On the CPU as its reduction kernels want it. A sum of equal 16-bit numbers is exact, and its quotient by their count
 * too.
 */
static ir_value *plain_norm(kern *k, const ir_op *op, ir_value *x, double n) {
  double eps = ir_get_float(op, "eps", 1e-5);
  bool cpu = k->opts->caps->dialect == DIALECT_CPU;
  if (op->def->code == G_LAYERNORM)
    x = kb_map2(k, SC_SUB, x, kb_map2_imm(k, cpu ? SC_MUL : SC_DIV, kb_reduce(k, "sum", x), cpu ? 1 / n : n));
  ir_value *var = scale_row(k, kb_reduce(k, "sum", kb_map2(k, SC_MUL, x, x)), 1 / n);
  return kb_map2(k, SC_MUL, x, kb_map1(k, SC_RSQRT, kb_map2_imm(k, SC_ADD, var, eps)));
}

/* A row without elements: the identity of the operation (the mean is 0 / 0). */
static tsr_status reduce_nothing(kern *k, const ir_op *op, const space *s, ir_value **out) {
  tsr_dtype t = kb_compute(op->results[0]->type->dtype);
  double v = op->def->code == G_REDUCE_PROD   ? 1
             : op->def->code == G_REDUCE_MAX  ? -INFINITY
             : op->def->code == G_REDUCE_MIN  ? INFINITY
             : op->def->code == G_REDUCE_MEAN ? NAN
                                              : 0;
  *out = ir_build1(&k->b, "tessera.tile.fill", kb_frag(k, t, s->tm, 1), 0, NULL);
  return *out && ir_set_attr((*out)->def, "value", ir_attr_float(k->m, v)) ? NULL : st_oom();
}

tsr_status kb_row_op(kern *k, ir_op *op, const space *s, const ir_type *orig, ir_value **out) {
  ir_value *x, *g = NULL, *b = NULL;
  double n = (double)s->dims[s->rank - 1];
  if (n == 0) return reduce_nothing(k, op, s, out);
  TSR_TRY(kb_operand(k, op->operands[0], s, orig, FORM_FULL, &x));
  if (op->n_operands > 1) TSR_TRY(kb_operand(k, op->operands[1], s, orig, FORM_FULL, &g));
  if (op->n_operands > 2) TSR_TRY(kb_operand(k, op->operands[2], s, orig, FORM_FULL, &b));
  k->b.loc = op->loc;
  x = kb_spread(k, x, s);
  ir_value *y = NULL;
  switch (op->def->code) {
  case G_REDUCE_SUM: y = kb_wrap(k, kb_reduce(k, "sum", x), op->results[0]->type->dtype); break;
  case G_REDUCE_MEAN: y = kb_map2_imm(k, SC_DIV, kb_reduce(k, "sum", x), n); break;
  case G_REDUCE_MAX: y = kb_reduce(k, "max", x); break;
  case G_REDUCE_MIN: y = kb_reduce(k, "min", x); break;
  case G_REDUCE_PROD: y = kb_wrap(k, kb_reduce(k, "prod", x), op->results[0]->type->dtype); break;
  case G_SOFTMAX: y = softmax(k, x); break;
  case G_LAYERNORM: case G_RMSNORM: y = norm_is_plain(k, op, n) ? plain_norm(k, op, x, n) : norm(k, op, x, n); break;
  default: break;
  }
  if (g) y = kb_map2(k, SC_MUL, y, g);
  if (b) y = kb_map2(k, SC_ADD, y, b);
  *out = y;
  return y ? NULL : st_oom();
}

tsr_status kb_row_apply(kern *k, ir_op *op, const space *s, const ir_type *orig, ir_value **out) {
  const node *n = op->results[0]->data;
  ir_value *x, *y, *v;
  *out = n->stat[0];
  if (op->def->code != G_SOFTMAX && op->def->code != G_LAYERNORM && op->def->code != G_RMSNORM) return NULL;
  TSR_TRY(kb_operand(k, op->operands[0], s, orig, FORM_FULL, &x));
  x = kb_spread(k, x, s);
  if (op->def->code == G_SOFTMAX)
    y = kb_map2(k, SC_MUL, kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, x, n->stat[0])), n->stat[1]);
  else if (op->def->code == G_RMSNORM) y = kb_map2(k, SC_MUL, x, n->stat[0]);
  else y = kb_map2(k, SC_MUL, kb_map2(k, SC_SUB, x, n->stat[0]), n->stat[1]);
  for (int i = 1; i < op->n_operands; i++) {
    TSR_TRY(kb_operand(k, op->operands[i], s, orig, FORM_FULL, &v));
    y = kb_map2(k, i == 1 ? SC_MUL : SC_ADD, y, v);
  }
  return (*out = y) ? NULL : st_oom();
}
