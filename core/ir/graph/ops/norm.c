/* core/ir/graph/ops/norm.c - softmax and the normalizations: rows, type rules, evaluation, derivatives (about
 * the mean: after Ba et al. 2016), and the recipes by which devices compute them (ir/recipe.h). */
#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

static tsr_status infer_softmax(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  const ir_type *x = op->operands[0]->type;
  TSR_TRY(shape_axis(op, "axis", ir_get_int(op, "axis", -1), x->rank));
  results[0] = x;
  return NULL;
}

static tsr_status infer_norm(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  const ir_type *x = op->operands[0]->type;
  double eps = ir_get_float(op, "eps", 1e-5);
  if (x->rank < 1) return ir_error(op, NULL, "needs at least one dimension");
  if (!(eps >= 0)) return ir_error(op, "a small positive number", "eps is %g", eps);
  for (int i = 1; i < op->n_operands; i++) {
    const ir_type *g = op->operands[i]->type;
    int64_t n = x->dims[x->rank - 1];
    char a[128], b[128];
    if (g->dtype != x->dtype && g->dtype != TSR_F32)
      return ir_error(op, graph_no_cast, "%s is %s for rows of %s", i == 1 ? "gamma" : "beta", tsr_dtype_name(g->dtype),
                      tsr_dtype_name(x->dtype));
    if (g->rank != 1 || shape_differs(g->dims[0], n))
      return ir_error(op, "one element per column of the last axis", "%s is %s for rows of %s",
                      i == 1 ? "gamma" : "beta", shape_text(g, a, sizeof a), shape_text(x, b, sizeof b));
  }
  results[0] = x;
  return NULL;
}

static tsr_status eval_softmax(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *x = op->operands[0], *y = op->results[0];
  const ir_type *t = x->type;
  int axis = graph_axis(op);
  int64_t step = 1, n = t->dims[axis];
  for (int i = axis + 1; i < t->rank; i++) step *= t->dims[i];
  int64_t first = at - at / step % n * step;
  double max = -INFINITY, total = 0, shift = 0, u = num_unit(t->dtype);
  bool unknown = false; /* a term of which nothing is known may be the row's largest, or NaN */
  for (int64_t i = 0; i < n; i++) {
    graph_num a = graph_read(e, x, first + i * step);
    max = num_extreme(true, max, a.v);
    unknown = unknown || num_carried(a) == INFINITY;
  }
  for (int64_t i = 0; i < n; i++) total += exp(graph_read(e, x, first + i * step).v - max);
  /* The sum's relative error: each term's, weighted by its share; terms err independently. */
  for (int64_t i = 0; i < n; i++) {
    graph_num a = graph_read(e, x, first + i * step);
    double p = exp(a.v - max) / total;
    double own = p > 0 ? p * (expm1(num_carried(a)) + u * (6 + 4 * fabs(a.v - max))) : 0;
    shift += own * own;
  }
  shift = sqrt(shift) + 2 * sqrt((double)n) * u;
  for (int64_t i = 0; i < n && !e->st; i++) {
    graph_num a = graph_read(e, x, first + i * step);
    double p = exp(a.v - max) / total, own = p > 0 ? expm1(num_carried(a)) + u * (12 + 4 * fabs(a.v - max)) : 0;
    double rounding = graph_rounding(t->dtype, p);
    double err = unknown ? INFINITY : p * (hypot(own, shift) + own * shift) + rounding;
    graph_write(e, y, first + i * step, (graph_num){p, err, rounding});
  }
  return NULL;
}

typedef struct moments {
  double mean, mean_e;
  double scale, scale_e; /* 1 / sqrt(variance + eps); its error is relative */
} moments;

/* In long double: squares of f64 leave its range. */
static moments row_moments(graph_evaluator *e, ir_value *x, int64_t first, int64_t n, bool center, double eps) {
  num_sum m = {0};
  moments r = {0};
  double u = num_unit(x->type->dtype), root = sqrt((double)n);
  long double mean = 0, q = 0, q_e2 = 0, q2 = 0;
  for (int64_t i = 0; center && i < n; i++) {
    graph_num a = graph_read(e, x, first + i);
    num_sum_add(&m, a.v / (double)n, num_carried(a) / (double)n);
    mean += a.v;
  }
  mean /= (long double)n;
  r.mean = (double)mean;
  if (center) r.mean_e = num_sum_inherited(&m) + 2 * root * u * m.abs;
  for (int64_t i = 0; i < n; i++) {
    graph_num a = graph_read(e, x, first + i);
    long double d = a.v - mean, de = hypotl(num_carried(a), r.mean_e) + u * fabsl(d),
                square_e = 2 * fabsl(d) * de + de * de;
    q += d * d;
    q_e2 += square_e * square_e;
    q2 += d * d * d * d;
  }
  long double var = q / (long double)n + eps;
  long double inherited = q_e2 > 0 ? hypotl(sqrtl(q_e2), q2 > 0 ? 0.5L * sqrtl(q_e2 / q2) * q : 0) : q_e2;
  r.scale = (double)(1 / sqrtl(var));
  r.scale_e = (double)(0.5L * (inherited + 2 * root * u * q) / (long double)n / var) + 6 * u;
  return r;
}

static tsr_status eval_norm(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *x = op->operands[0], *y = op->results[0];
  const ir_type *t = x->type;
  int64_t n = t->dims[t->rank - 1], first = at - at % n;
  double u = num_unit(t->dtype);
  moments m = row_moments(e, x, first, n, op->def->recipe->mean >= 0, ir_get_float(op, "eps", 1e-5));
  for (int64_t i = 0; i < n && !e->st; i++) {
    graph_num a = graph_read(e, x, first + i), g = {1, 0, 0}, b = {0, 0, 0}, r;
    if (op->n_operands > 1) g = graph_read(e, op->operands[1], i);
    if (op->n_operands > 2) b = graph_read(e, op->operands[2], i);
    double d = a.v - m.mean, de = hypot(num_carried(a), m.mean_e) + u * (fabs(d) + fabs(m.mean));
    double z = d * m.scale, ze = m.scale * hypot(de, (fabs(d) + de) * (m.scale_e + 4 * u));
    r.v = z * g.v + b.v;
    r.r = graph_rounding(t->dtype, r.v);
    r.e = hypot(hypot(ze * g.v, (fabs(z) + ze) * num_carried(g)), num_carried(b)) +
          4 * u * (fabs(z * g.v) + fabs(b.v)) + r.r;
    graph_write(e, y, first + i, r);
  }
  return NULL;
}

BEGIN(adjoint_softmax) {
  bool reduced[TSR_MAX_RANK] = {0};
  reduced[graph_axis(op)] = true;
  ir_value *gy = MUL(g, OUT), *sum = gy ? graph_reduce(b, G_REDUCE_SUM, gy, reduced, true) : NULL;
  grads[0] = MUL(OUT, SUB(g, sum));
  END;
}

static ir_value *row_mean(ir_builder *b, ir_value *x) {
  bool reduced[TSR_MAX_RANK] = {0};
  if (!x) return NULL;
  reduced[x->type->rank - 1] = true;
  return graph_reduce(b, G_REDUCE_MEAN, x, reduced, true);
}

/* With z the normalised rows, r the scale and h = g gamma: dx = r (h - mean(h) - z mean(h z)), without mean(h) for
 * rmsnorm. */
BEGIN(adjoint_norm) {
  tsr_dtype t = IN(0)->type->dtype, wide = t == TSR_F64 ? TSR_F64 : TSR_F32;
  bool center = op->def->recipe->mean >= 0;
  ir_value *x = graph_cast(b, IN(0), wide), *h = graph_cast(b, g, wide), *dy = h;
  ir_value *d = center ? SUB(x, row_mean(b, x)) : x;
  ir_value *var = row_mean(b, MUL(d, d));
  ir_value *r = graph_op1(b, G_RSQRT, ADD(var, graph_number(b, wide, ir_get_float(op, "eps", 1e-5))));
  ir_value *z = MUL(d, r);
  if (op->n_operands > 1) h = MUL(h, graph_cast(b, IN(1), wide));
  ir_value *inner = center ? SUB(h, row_mean(b, h)) : h;
  ir_value *dx = MUL(r, SUB(inner, MUL(z, row_mean(b, MUL(h, z)))));
  if (b->failed) return false;
  grads[0] = graph_cast(b, dx, t);
  if (op->n_operands > 1) adjoint_give(b, op, grads, 1, graph_cast(b, MUL(dy, z), IN(1)->type->dtype));
  if (op->n_operands > 2) adjoint_give(b, op, grads, 2, graph_cast(b, dy, IN(2)->type->dtype));
  END;
}

/* ---- recipes ----------------------------------------------------------------------------------------------------- */

#define STAT(i) (ARG_STAT + (i))
/* Division by the count happens once a row, and so does that by a sum. */
#define CAREFUL_ADDED \
  {.op = NULL, .from = 0, .term = {LAST}, .finish = {{SC_MUL, ARG_EPS}, {SC_MUL, STAT(0)}, {SC_MAX, ARG_LEAST}, LAST}}
#define CAREFUL_SCALE {.op = "max", .term = {{SC_ABS, ARG_NONE}, LAST}, .finish = {{STEP_SCALE, ARG_NONE}, LAST}}

static const row_recipe careful_about_mean = {
    .n_folds = 5, .per_element = true,
    .fold = {CAREFUL_SCALE,
             {.op = "sum", .term = {{SC_MUL, STAT(0)}, LAST}, .finish = {{SC_DIV, ARG_COUNT}, LAST}},
             /* The mean of what the first mean leaves of equal numbers is exact: nothing rests. */
             {.op = "sum", .term = {{SC_MUL, STAT(0)}, {SC_SUB, STAT(1)}, LAST}, .finish = {{SC_DIV, ARG_COUNT}, LAST}},
             CAREFUL_ADDED,
             {.op = "sum", .term = {{SC_MUL, STAT(0)}, {SC_SUB, STAT(1)}, {SC_SUB, STAT(2)}, {STEP_SQUARE, ARG_NONE}, LAST},
              .finish = {{SC_DIV, ARG_COUNT}, {SC_ADD, STAT(3)}, {SC_RSQRT, ARG_NONE}, LAST}}},
    .apply = {{SC_MUL, STAT(0)}, {SC_SUB, STAT(1)}, {SC_SUB, STAT(2)}, {SC_MUL, STAT(4)}, LAST}};

static const row_recipe careful_about_zero = {
    .n_folds = 3, .per_element = true,
    .fold = {CAREFUL_SCALE,
             CAREFUL_ADDED,
             {.op = "sum", .term = {{SC_MUL, STAT(0)}, {STEP_SQUARE, ARG_NONE}, LAST},
              .finish = {{SC_DIV, ARG_COUNT}, {SC_ADD, STAT(1)}, {SC_RSQRT, ARG_NONE}, LAST}}},
    .apply = {{SC_MUL, STAT(0)}, {SC_MUL, STAT(2)}, LAST}};

static const row_recipe recipe_softmax = {
    .n_folds = 2, .per_element = true, .online = true,
    .fold = {{.op = "max", .term = {LAST}, .finish = {LAST}},
             {.op = "sum", .term = {{SC_SUB, STAT(0)}, {SC_EXP, ARG_NONE}, LAST}, .finish = {{STEP_RECIPROCAL, ARG_NONE}, LAST}}},
    .apply = {{SC_SUB, STAT(0)}, {SC_EXP, ARG_NONE}, {SC_MUL, STAT(1)}, LAST}};

static const row_recipe recipe_about_mean = {
    .n_folds = 3, .per_element = true,
    .fold = {{.op = "sum", .term = {LAST}, .finish = {{SC_MUL, ARG_SHARE}, LAST}},
             {.op = "sum", .term = {{SC_SUB, STAT(0)}, {STEP_SQUARE, ARG_NONE}, LAST}, .finish = {{SC_MUL, ARG_SHARE}, LAST}},
             {.op = NULL, .from = 1, .term = {LAST}, .finish = {{SC_ADD, ARG_EPS}, {SC_RSQRT, ARG_NONE}, LAST}}},
    .apply = {{SC_SUB, STAT(0)}, {SC_MUL, STAT(2)}, LAST},
    .careful = &careful_about_mean, .variance = 1, .mean = 0, .plain = {PLAIN_ONE, 0, PLAIN_ZERO, PLAIN_UNUSED, 2}};

static const row_recipe recipe_about_zero = {
    .n_folds = 2, .per_element = true,
    .fold = {{.op = "sum", .term = {{STEP_SQUARE, ARG_NONE}, LAST}, .finish = {{SC_MUL, ARG_SHARE}, LAST}},
             {.op = NULL, .from = 0, .term = {LAST}, .finish = {{SC_ADD, ARG_EPS}, {SC_RSQRT, ARG_NONE}, LAST}}},
    .apply = {{SC_MUL, STAT(1)}, LAST},
    .careful = &careful_about_zero, .variance = 0, .mean = -1, .plain = {PLAIN_ONE, PLAIN_UNUSED, 1, PLAIN_UNUSED, PLAIN_UNUSED}};

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static const ir_attr_def eps_attr[] = {{"eps", IR_A_FLOAT, false, "1e-5", "added to the variance (or mean square)"},
                                       A_END};

ir_value *compose_normalize(ir_builder *b, ir_value *x, double eps) {
  ir_attr *e = ir_attr_float(b->m, eps);
  ir_value *y = graph_op1(b, G_LAYERNORM, x);
  return !y || ir_set_attr(y->def, "eps", e) ? y : (b->failed = true, NULL);
}

static const ir_opdef rows[] = {
    {NAME(SOFTMAX, "softmax"), .flags = IR_PURE | IR_REDUCES, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = FLOATS,
     .attrs = ATTRS({"axis", IR_A_INT, false, "-1", "the dimension whose elements sum to 1"}),
     .infer = infer_softmax,
     .ext = ROW(GRAPH_NORM, eval_softmax, adjoint_softmax, "*n->*n", .per_point = 1), .recipe = &recipe_softmax,
     .help = "exp(x - max) / sum of exp(x - max), in f32 or wider. A row of only -inf gives NaN."},
    {NAME(LAYERNORM, "layernorm"), .flags = IR_PURE | IR_REDUCES, .min_operands = 1, .max_operands = 3, .n_results = 1,
     .operands_doc = "x, gamma, beta", .types_doc = FLOATS "; gamma and beta x's type or f32", .attrs = eps_attr,
     .infer = infer_norm,
     .ext = ROW(GRAPH_NORM, eval_norm, adjoint_norm, "*n,n->*n", .per_point = 1, .shown = "LayerNorm", .tile_rows = 8),
     .recipe = &recipe_about_mean,
     .help =
         "(x - mean) / sqrt(variance + eps) * gamma + beta over the last dimension; gamma and beta may be left out."},
    {NAME(RMSNORM, "rmsnorm"), .flags = IR_PURE | IR_REDUCES, .min_operands = 1, .max_operands = 2, .n_results = 1,
     .operands_doc = "x, gamma", .types_doc = FLOATS "; gamma x's type or f32", .attrs = eps_attr,
     .infer = infer_norm,
     .ext = ROW(GRAPH_NORM, eval_norm, adjoint_norm, "*n,n->*n", .per_point = 1, .shown = "RMSNorm"),
     .recipe = &recipe_about_zero,
     .help = "x / sqrt(mean(x * x) + eps) * gamma over the last dimension; gamma may be left out."},
};

const ir_rows graph_norm_ops = {rows, sizeof rows / sizeof *rows};
