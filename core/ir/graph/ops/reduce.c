/* core/ir/graph/ops/reduce.c - the reductions over chosen axes: rows, type rule, evaluation, derivatives. Equal
 * extremes share the gradient. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/adjoint.h"

static tsr_status infer_reduce(ir_op *op, const ir_type **results) {
  TSR_TRY(op->def->code == G_REDUCE_MEAN ? shape_floats(op) : shape_tensors(op));
  const ir_type *x = op->operands[0]->type;
  if (x->dtype == TSR_BOOL) return ir_error(op, "cast to i32 first", "does not take bool");
  int64_t axes[TSR_MAX_RANK], dims[TSR_MAX_RANK];
  int n = ir_get_ints(op, "axes", axes, TSR_MAX_RANK), rank = 0;
  bool reduced[TSR_MAX_RANK] = {0}, keep = ir_get_bool(op, "keepdims", false);
  if (n < 0 || n > x->rank) return ir_error(op, NULL, "axes must be a list of at most %d integers", x->rank);
  for (int i = 0; i < n; i++) {
    TSR_TRY(shape_axis(op, "axis", axes[i], x->rank));
    int a = (int)(axes[i] < 0 ? axes[i] + x->rank : axes[i]);
    if (reduced[a]) return ir_error(op, NULL, "axis %d is given twice", a);
    reduced[a] = true;
  }
  for (int i = 0; i < x->rank; i++)
    if (n && !reduced[i]) dims[rank++] = x->dims[i];
    else if (keep) dims[rank++] = 1;
  return shape_finish(op, x->dtype, rank, dims, results);
}

typedef struct reducer {
  graph_code code;
  tsr_dtype t;
  int64_t n;
  num_sum s;
  double best, low, high; /* max, min: of x, x - e, x + e */
  int64_t whole;          /* max, min of integers */
  graph_num prod;
  double up, down; /* how far the factors above 1, and those below, bring a product in powers of two */
  uint64_t iprod;
} reducer;

static void reduce_step(reducer *r, graph_num x) {
  bool max = r->code == G_REDUCE_MAX;
  int64_t i = dtype_is_long(r->t) ? x.i : num_to_integer(x.v);
  const bool above = r->t == TSR_U64 ? (uint64_t)i > (uint64_t)r->whole : i > r->whole;
  r->n++;
  switch (r->code) {
  case G_REDUCE_MAX:
  case G_REDUCE_MIN:
    if (max ? above : !above) r->whole = i;
    r->best = num_extreme(max, r->best, x.v);
    r->low = num_extreme(max, r->low, x.v - num_carried(x));
    r->high = num_extreme(max, r->high, x.v + num_carried(x));
    break;
  case G_REDUCE_PROD:
    r->iprod *= (uint64_t)i;
    if (isfinite(x.v) && x.v != 0) (fabs(x.v) > 1 ? &r->up : &r->down)[0] += fabs(log2(fabs(x.v)));
    r->prod.e = fabs(r->prod.v) * num_carried(x) + fabs(x.v) * r->prod.e + num_carried(x) * r->prod.e;
    r->prod.v *= x.v;
    break;
  default:
    r->s.exact += (uint64_t)i;
    num_sum_add(&r->s, x.v, num_carried(x));
  }
}

/* In some order of its factors a product overflows, or passes through what is too small and grows again. */
static bool leaves_range(const reducer *r) {
  double high = r->t == TSR_F64 ? 1024 : 128, low = r->t == TSR_F64 ? 1022 : 126;
  return !isnan(r->prod.v) && (r->up >= high || (r->up > 0 && r->down > low));
}

static graph_num reduce_end(const reducer *r) {
  tsr_dtype t = r->t, acc = graph_accum_default(t);
  bool whole = !dtype_is_float(t);
  graph_num out = {0};
  switch (r->code) {
  case G_REDUCE_MAX:
  case G_REDUCE_MIN:
    out = (graph_num){r->best, fmax(fabs(r->high - r->best), fabs(r->best - r->low)), 0, r->whole};
    if (dtype_is_long(t)) out.v = num_integer(t, r->whole).v;
    if (r->high == r->best && r->low == r->best) out.e = 0; /* infinities */
    return out;
  case G_REDUCE_PROD:
    if (whole) return num_integer(t, (int64_t)r->iprod);
    out.r = graph_rounding(t, r->prod.v);
    if (leaves_range(r)) return (graph_num){r->prod.v, INFINITY, 0};
    return (graph_num){r->prod.v, r->prod.e + (double)r->n * num_unit(t) * fabs(r->prod.v) + out.r, out.r};
  default:
    if (whole) return num_integer(t, (int64_t)r->s.exact);
    out = (graph_num){r->s.v, num_sum_error(&r->s, graph_tolerance(acc, acc, r->n, r->s.v, r->s.abs)), 0};
    if (r->code == G_REDUCE_MEAN) out.v /= (double)r->n, out.e /= (double)r->n;
    out.r = graph_rounding(t, out.v);
    out.e += out.r;
    return out;
  }
}

static double identity(graph_code code, tsr_dtype t) {
  if (dtype_is_float(t)) return code == G_REDUCE_MAX ? -INFINITY : INFINITY;
  double max = dtype_get(t)->max;
  return code == G_REDUCE_MIN ? max : dtype_get(t)->is_signed ? -max - 1 : 0;
}

static tsr_status eval_reduce(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *x = op->operands[0];
  const ir_type *t = x->type;
  bool reduced[TSR_MAX_RANK], keep = ir_get_bool(op, "keepdims", false);
  int64_t out[TSR_MAX_RANK], c[TSR_MAX_RANK] = {0}, total = 1;
  const int64_t parts = dtype_parts(t->dtype), part = at % parts;
  graph_axes(op, reduced);
  num_split(op->results[0]->type, at / parts, out);
  for (int i = 0, o = 0; i < t->rank; i++) {
    if (reduced[i]) total *= t->dims[i], o += keep;
    else c[i] = out[o++];
  }
  graph_code code = (graph_code)op->def->code;
  double start = identity(code, dtype_part(t->dtype));
  reducer r = {.code = code,
               .t = dtype_part(t->dtype),
               .best = start,
               .low = start,
               .high = start,
               .whole = dtype_whole(dtype_is_long(t->dtype) ? t->dtype : TSR_I64, start),
               .prod = {1, 0},
               .iprod = 1};
  for (int64_t k = 0; k < total && !e->st; k++) {
    reduce_step(&r, graph_read(e, x, parts * num_join(t, c) + part));
    for (int i = t->rank - 1; i >= 0; i--) {
      if (!reduced[i]) continue;
      if (++c[i] < t->dims[i]) break;
      c[i] = 0;
    }
  }
  graph_write(e, op->results[0], at, reduce_end(&r));
  return NULL;
}

/* v, a result of reduction op, with the reduced dimensions back as 1. */
static ir_value *kept(ir_builder *b, const ir_op *op, ir_value *v) {
  bool reduced[TSR_MAX_RANK];
  const ir_type *t = IN(0)->type;
  int64_t dims[TSR_MAX_RANK];
  graph_axes(op, reduced);
  for (int i = 0; i < t->rank; i++) dims[i] = reduced[i] ? 1 : t->dims[i];
  return v ? graph_reshape(b, v, t->rank, dims) : NULL;
}

static ir_value *spread(ir_builder *b, const ir_op *op, ir_value *v) {
  v = kept(b, op, v);
  return v ? graph_broadcast(b, v, IN(0)->type->rank, IN(0)->type->dims) : NULL;
}

BEGIN(adjoint_reduce_sum) {
  grads[0] = spread(b, op, g);
  END;
}

BEGIN(adjoint_reduce_mean) {
  bool reduced[TSR_MAX_RANK];
  double n = 1;
  graph_axes(op, reduced);
  for (int i = 0; i < IN(0)->type->rank; i++) n *= reduced[i] ? (double)IN(0)->type->dims[i] : 1;
  grads[0] = spread(b, op, MUL(g, NUM(1 / n)));
  END;
}

BEGIN(adjoint_reduce_extreme) {
  bool reduced[TSR_MAX_RANK];
  graph_axes(op, reduced);
  ir_value *hit = SELECT(graph_compare(b, CMP_EQ, IN(0), kept(b, op, OUT)), NUM(1), NUM(0));
  ir_value *n = hit ? graph_reduce(b, G_REDUCE_SUM, hit, reduced, true) : NULL;
  grads[0] = MUL(hit, DIV(kept(b, op, g), n));
  END;
}

/* The product of the others: result / x without zeros. With one zero its element has the product of the rest, and the
 * others that times the zero, which is 0 and has a derivative; with more, none has one. */
BEGIN(adjoint_reduce_prod) {
  bool reduced[TSR_MAX_RANK];
  graph_axes(op, reduced);
  ir_value *zero = graph_compare(b, CMP_EQ, IN(0), NUM(0));
  ir_value *safe = SELECT(zero, NUM(1), IN(0)), *count = SELECT(zero, NUM(1), NUM(0)),
           *none = SELECT(zero, IN(0), NUM(0)); /* 0 everywhere */
  if (b->failed) return false;
  ir_value *rest = graph_reduce(b, G_REDUCE_PROD, safe, reduced, true),
           *zeros = graph_reduce(b, G_REDUCE_SUM, count, reduced, true),
           *sum = graph_reduce(b, G_REDUCE_SUM, none, reduced, true), *other = SUB(zeros, count);
  ir_value *share = DIV(rest, safe);
  ir_value *of_one = SELECT(graph_compare(b, CMP_EQ, other, NUM(1)), MUL(SUB(sum, none), share), NUM(0));
  ir_value *others = SELECT(graph_compare(b, CMP_EQ, other, NUM(0)), share, of_one);
  grads[0] = MUL(kept(b, op, g), others);
  END;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* One fold of the row, and what becomes of its result. */
#define RECIPE(FOLD, ...) \
  &(const row_recipe){.n_folds = 1, .fold = {{.op = FOLD, .term = {LAST}, .finish = {__VA_ARGS__, LAST}}}}
#define WRAP {STEP_WRAP, ARG_NONE}
#define DIVIDE {SC_DIV, ARG_COUNT}
#define REDUCE(CODE, s, FOLD, FINISH, Types, ADJ, PARTS, h) \
  {NAME(CODE, s), .flags = IR_PURE | IR_REDUCES, .min_operands = 1, .max_operands = 1, .n_results = 1, .operands_doc = "x", \
   .types_doc = Types, .help = h, .infer = infer_reduce, \
   .ext = ROW(GRAPH_REDUCTION, eval_reduce, ADJ, "*r->*", .per_point = 1, .pairs = PARTS, .words = words_reduce), \
   .recipe = RECIPE(FOLD, FINISH), \
   .attrs = ATTRS({"axes", IR_A_ARRAY, false, NULL, "dimensions to reduce; negative ones count from the last; none = all"}, \
                  {"keepdims", IR_A_BOOL, false, "false", "keep reduced dimensions with extent 1"})}

static const ir_opdef rows[] = {
    REDUCE(REDUCE_SUM, "reduce_sum", "sum", WRAP, NUMBERS AND_COMPLEX, adjoint_reduce_sum, pairs_reduce,
           "The sum over axes; 0 of nothing. Floats of up to 32 bits are summed in f32; integers wrap."),
    REDUCE(REDUCE_MEAN, "reduce_mean", "sum", DIVIDE, FLOATS AND_COMPLEX, adjoint_reduce_mean, pairs_reduce,
           "The mean over axes; NaN of nothing."),
    REDUCE(REDUCE_MAX, "reduce_max", "max", LAST, NUMBERS, adjoint_reduce_extreme, NULL,
           "The largest over axes; -inf (or the least integer) of nothing; NaN if any is."),
    REDUCE(REDUCE_MIN, "reduce_min", "min", LAST, NUMBERS, adjoint_reduce_extreme, NULL,
           "The smallest over axes; inf (or the greatest integer) of nothing; NaN if any is."),
    REDUCE(REDUCE_PROD, "reduce_prod", "prod", WRAP, NUMBERS, adjoint_reduce_prod, NULL,
           "The product over axes; 1 of nothing; integers wrap."),
};

const ir_rows graph_reduce_ops = {rows, sizeof rows / sizeof *rows};
