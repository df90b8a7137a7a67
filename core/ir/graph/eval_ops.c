/* core/ir/graph/eval_ops.c - the oracle's op semantics: one function per kind of op computes at least the asked
 * element, with its tolerance (see ir/graph/eval.h for the model). Straight from the definitions; no cleverness beyond
 * filling a whole line where the definition shares work. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/eval.h"
#include "core/ir/graph/table.h"

/* Row-major index <-> coordinates. */
static void split(const ir_type *t, int64_t at, int64_t *x) {
  for (int i = t->rank - 1; i >= 0; i--) x[i] = at % t->dims[i], at /= t->dims[i];
}

static int64_t join(const ir_type *t, const int64_t *x) {
  int64_t at = 0;
  for (int i = 0; i < t->rank; i++) at = at * t->dims[i] + x[i];
  return at;
}

/* The element of an operand of type `from` that is broadcast to element x of a result of rank `rank`. */
static int64_t broadcast_at(const ir_type *from, int rank, const int64_t *x) {
  int64_t at = 0;
  for (int i = 0; i < from->rank; i++) at = at * from->dims[i] + (from->dims[i] == 1 ? 0 : x[i + rank - from->rank]);
  return at;
}

/* What implementations compute in: f32 for narrower floats. */
static double unit(tsr_dtype t) { return t == TSR_F64 ? dtype_get(TSR_F64)->eps : dtype_get(TSR_F32)->eps; }

/* ---- elementwise ----------------------------------------------------------------------------------------------- */

static int64_t wrap(tsr_dtype t, int64_t v) {
  switch (t) {
  case TSR_I32: return (int32_t)(uint32_t)v;
  case TSR_I16: return (int16_t)(uint16_t)v;
  case TSR_I8: return (int8_t)(uint8_t)v;
  case TSR_U8: return (uint8_t)v;
  case TSR_BOOL: return v != 0;
  default: return v;
  }
}

static int64_t to_integer(double v) {
  return isnan(v) ? 0 : v <= -0x1p63 ? INT64_MIN : v >= 0x1p63 ? INT64_MAX : (int64_t)v;
}

static int64_t exact(const ir_value *v, graph_num x) { return v->type->dtype == TSR_I64 ? x.i : to_integer(x.v); }
static graph_num integer(tsr_dtype t, int64_t i) { return i = wrap(t, i), (graph_num){(double)i, 0, 0, i}; }

static bool is_integer_op(const ir_op *op) {
  const graph_row *row = graph_ext(op);
  return !dtype_is_float(op->operands[op->n_operands - 1]->type->dtype) && row->integer;
}

static graph_num apply_integer(const ir_op *op, int variant, const int64_t *i) {
  const graph_row *row = graph_ext(op);
  return integer(op->results[0]->type->dtype, row->integer(variant, i));
}

static double apply(const ir_op *op, int variant, const double *x) {
  const graph_row *row = graph_ext(op);
  int64_t i[3] = {0};
  if (!is_integer_op(op)) return row->scalar(variant, x);
  for (int k = 0; k < op->n_operands; k++) i[k] = to_integer(x[k]);
  return apply_integer(op, variant, i).v;
}

/* The error of an implementation's function itself, in the unit roundoff of its computation: Vulkan's allowances for
 * exp, log and pow (the loosest in the field), a few ulp for the rest; gelu's cancellation for negative x. */
static double function_error(const ir_op *op, const double *x, double v) {
  double u = unit(op->results[0]->type->dtype), m = isfinite(v) ? fabs(v) : 0;
  switch (op->def->code) {
  case G_EXP: return u * m * (6 + 4 * fabs(x[0]));
  case G_POW: return u * m * (16 + 4 * fabs(x[1] * log(fabs(x[0]) + 1e-300)));
  case G_LOG: return u * (6 * m + (x[0] > 0.5 && x[0] < 2 ? 8 : 0));
  case G_GELU: return u * (8 * m + 4 * fabs(x[0]));
  case G_SIN:
  case G_COS: return u * 8;
  case G_SQRT: case G_RSQRT: case G_TANH: case G_ERF: case G_SIGMOID: case G_SILU: return u * 12 * m;
  case G_DIV: return u * 5 * m;
  case G_REM: return u * (m + 2 * fabs(x[0])); /* b * trunc(a / b), about a, is rounded */
  default: return 0;
  }
}

/* The error that x brings into an op: its last rounding counts as a random one. */
static double carried(graph_num x) { return x.r == INFINITY ? INFINITY : x.r > 0 ? hypot(x.e - x.r, 3.5 * x.r) : x.e; }

/* How far f moves when the operands that are value number `k` move by e. */
static double moved(const ir_op *op, int variant, const double *x, int k, double e, double v) {
  double most = 0;
  for (int sign = -1; sign <= 1; sign += 2) {
    double y[3] = {x[0], x[1], x[2]};
    for (int i = k; i < op->n_operands; i++)
      if (op->operands[i] == op->operands[k]) y[i] += sign * e;
    double w = apply(op, variant, y), d = w == v ? 0 : fabs(w - v);
    if (isnan(d)) return isnan(v) ? 0 : INFINITY;
    if (d > most) most = d;
  }
  return most;
}

/* The operands' errors in the result: independent, but for an operand that comes twice. */
static double spread(const ir_op *op, int variant, const double *x, const double *e, double v) {
  double sum = 0;
  for (int k = 0; k < op->n_operands; k++) {
    bool again = false;
    for (int i = 0; i < k; i++) again |= op->operands[i] == op->operands[k];
    if (again || !(e[k] > 0)) continue;
    double d = moved(op, variant, x, k, e[k], v);
    sum += d * d;
  }
  return sqrt(sum);
}

static bool rounds(const ir_op *op) {
  switch (op->def->code) {
  case G_SELECT: case G_RELU: case G_NEG: case G_ABS: case G_MIN: case G_MAX: case G_FLOOR: return false;
  default: return true;
  }
}

tsr_status eval_elementwise(graph_evaluator *e, ir_op *op, int64_t at) {
  const ir_type *t = op->results[0]->type;
  int64_t c[TSR_MAX_RANK];
  double x[3] = {0}, err[3] = {0}, any = 0;
  int64_t i[3] = {0};
  int variant = graph_variant(op);
  split(t, at, c);
  for (int k = 0; k < op->n_operands; k++) {
    graph_num n = graph_read(e, op->operands[k], broadcast_at(op->operands[k]->type, t->rank, c));
    x[k] = n.v;
    i[k] = exact(op->operands[k], n);
    any += err[k] = carried(n);
  }
  if (is_integer_op(op)) {
    graph_num whole = apply_integer(op, variant, i);
    if (any > 0) whole.e = any < INFINITY ? spread(op, variant, x, err, whole.v) : INFINITY;
    graph_write(e, op->results[0], at, whole);
    return NULL;
  }
  graph_num r = {apply(op, variant, x), 0, 0};
  if (any > 0) r.e = any < INFINITY ? spread(op, variant, x, err, r.v) : INFINITY; /* an operand may even be NaN */
  if (rounds(op)) r.r = graph_rounding(t->dtype, r.v), r.e += function_error(op, x, r.v) + r.r;
  graph_write(e, op->results[0], at, r);
  return NULL;
}

static double convert(tsr_dtype t, double v) {
  uint64_t bits = 0;
  dtype_store(t, &bits, 0, v);
  return dtype_load(t, &bits, 0);
}

tsr_status eval_cast(graph_evaluator *e, ir_op *op, int64_t at) {
  tsr_dtype t = op->results[0]->type->dtype;
  tsr_dtype from = op->operands[0]->type->dtype;
  graph_num x = graph_read(e, op->operands[0], at), r = {convert(t, x.v), x.e, x.r};
  if (t == TSR_I64) r.i = dtype_is_float(from) ? to_integer(x.v) : exact(op->operands[0], x), r.v = (double)r.i;
  if (!dtype_is_float(t)) {
    double a = fabs(convert(t, x.v + carried(x)) - r.v), b = fabs(convert(t, x.v - carried(x)) - r.v);
    r.e = a > b ? a : b;
    r.r = 0;
  } else if (r.v != x.v || x.e > 0) {
    r.r = graph_rounding(t, r.v);
    r.e = (x.e > 0 ? carried(x) : 0) + r.r;
    if (isinf(r.v) && isfinite(convert(t, x.v - copysign(x.e, x.v)))) r.e = INFINITY; /* it may also stay below */
  }
  graph_write(e, op->results[0], at, r);
  return NULL;
}

tsr_status eval_constant(graph_evaluator *e, ir_op *op, int64_t at) {
  const ir_attr *a = ir_get_attr(op, "value");
  int64_t i =
      op->results[0]->type->dtype == TSR_I64 ? ((const int64_t *)a->u.dense.data)[a->u.dense.splat ? 0 : at] : 0;
  graph_write(e, op->results[0], at, (graph_num){graph_constant_at(op, at), 0, 0, i});
  return NULL;
}

/* ---- sums ------------------------------------------------------------------------------------------------------ */

typedef struct sum {
  double v, abs, e2, x2;
  uint64_t exact; /* integers */
} sum;

static void sum_add(sum *s, double x, double e) {
  s->v += x;
  if (isfinite(x)) s->abs += fabs(x); /* an infinity is one in every order */
  s->e2 += e * e;
  s->x2 += x * x;
}

/* The operands' own errors in a sum: independent ones, and half their mean relative size as a common factor that is
 * off. */
static double sum_inherited(const sum *s) {
  if (!(s->e2 > 0)) return s->e2; /* 0 or NaN */
  return hypot(sqrt(s->e2), s->x2 > 0 ? 0.5 * sqrt(s->e2 / s->x2) * fabs(s->v) : 0);
}

/* own: the summation's. Of a sum that may overflow nothing is known, though its inherited error be NaN. */
static double sum_error(const sum *s, double own) { return own == INFINITY ? own : sum_inherited(s) + own; }

typedef struct line { /* n elements of v from `at`, `step` apart */
  ir_value *v;
  int64_t at, step;
} line;

static graph_num dot(graph_evaluator *e, const graph_matmul *g, tsr_dtype out, bool whole, line a, line b) {
  sum s = {0};
  for (int64_t k = 0; k < g->k; k++) {
    graph_num x = graph_read(e, a.v, a.at + k * a.step), y = graph_read(e, b.v, b.at + k * b.step);
    if (isfinite(x.v) && isfinite(y.v) && !isfinite(x.v * y.v)) s.abs = INFINITY;
    if (whole) s.exact += (uint64_t)exact(a.v, x) * (uint64_t)exact(b.v, y);
    else sum_add(&s, x.v * y.v, x.e > 0 || y.e > 0 ? hypot(x.v * carried(y), y.v * carried(x)) : 0);
  }
  if (whole) return integer(out, wrap(g->accum, (int64_t)s.exact));
  return (graph_num){s.v, sum_error(&s, graph_tolerance(out, g->accum, g->k, s.v, s.abs)), graph_rounding(out, s.v)};
}

tsr_status eval_matmul(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *va = op->operands[0], *vb = op->operands[1], *vc = op->results[0];
  graph_matmul g = graph_matmul_get(op);
  bool whole = !dtype_is_float(va->type->dtype);
  int64_t x[TSR_MAX_RANK], base[2] = {0};
  split(vc->type, at, x);
  for (int o = 0; o < 2; o++) {
    ir_type lead = *op->operands[o]->type;
    lead.rank -= 2;
    base[o] = broadcast_at(&lead, g.n_batch, x) * lead.dims[lead.rank] * lead.dims[lead.rank + 1];
  }
  int64_t i = x[g.n_batch], j = x[g.n_batch + 1], first = at - i * g.n - j;
  int64_t ai = g.transpose_a ? 1 : g.k, ak = g.transpose_a ? g.m : 1, bj = g.transpose_b ? g.k : 1,
          bk = g.transpose_b ? 1 : g.n;
  /* Whole evaluation computes the column (or row) through the element, so that one operand's line stays in cache. */
  bool column = e->whole && !g.transpose_a, row = e->whole && g.transpose_a;
  int64_t n = column ? g.m : row ? g.n : 1;
  for (int64_t l = 0; l < n && !e->st; l++) {
    int64_t ri = column ? l : i, rj = row ? l : j;
    graph_num r =
        dot(e, &g, vc->type->dtype, whole, (line){va, base[0] + ri * ai, ak}, (line){vb, base[1] + rj * bj, bk});
    graph_write(e, vc, first + ri * g.n + rj, r);
  }
  return NULL;
}

/* ---- reductions ------------------------------------------------------------------------------------------------ */

typedef struct reducer {
  graph_code code;
  tsr_dtype t;
  int64_t n;
  sum s;
  double best, low, high; /* max, min: of x, x - e, x + e */
  int64_t whole;          /* max, min of integers */
  graph_num prod;
  double up, down; /* how far the factors above 1, and those below, bring a product in powers of two */
  uint64_t iprod;
} reducer;

static double extreme(bool max, double a, double b) {
  return isnan(a) || isnan(b) ? NAN : max ? (a > b ? a : b) : (a < b ? a : b);
}

static void reduce_step(reducer *r, graph_num x) {
  bool max = r->code == G_REDUCE_MAX;
  int64_t i = r->t == TSR_I64 ? x.i : to_integer(x.v);
  r->n++;
  switch (r->code) {
  case G_REDUCE_MAX:
  case G_REDUCE_MIN:
    if (max ? i > r->whole : i < r->whole) r->whole = i;
    r->best = extreme(max, r->best, x.v);
    r->low = extreme(max, r->low, x.v - carried(x));
    r->high = extreme(max, r->high, x.v + carried(x));
    break;
  case G_REDUCE_PROD:
    r->iprod *= (uint64_t)i;
    if (isfinite(x.v) && x.v != 0) (fabs(x.v) > 1 ? &r->up : &r->down)[0] += fabs(log2(fabs(x.v)));
    r->prod.e = fabs(r->prod.v) * carried(x) + fabs(x.v) * r->prod.e + carried(x) * r->prod.e;
    r->prod.v *= x.v;
    break;
  default:
    r->s.exact += (uint64_t)i;
    sum_add(&r->s, x.v, carried(x));
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
    if (t == TSR_I64) out.v = (double)r->whole;
    if (r->high == r->best && r->low == r->best) out.e = 0; /* infinities */
    return out;
  case G_REDUCE_PROD:
    if (whole) return integer(t, (int64_t)r->iprod);
    out.r = graph_rounding(t, r->prod.v);
    if (leaves_range(r)) return (graph_num){r->prod.v, INFINITY, 0};
    return (graph_num){r->prod.v, r->prod.e + (double)r->n * unit(t) * fabs(r->prod.v) + out.r, out.r};
  default:
    if (whole) return integer(t, (int64_t)r->s.exact);
    out = (graph_num){r->s.v, sum_error(&r->s, graph_tolerance(acc, acc, r->n, r->s.v, r->s.abs)), 0};
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

tsr_status eval_reduce(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *x = op->operands[0];
  const ir_type *t = x->type;
  bool reduced[TSR_MAX_RANK], keep = ir_get_bool(op, "keepdims", false);
  int64_t out[TSR_MAX_RANK], c[TSR_MAX_RANK] = {0}, total = 1;
  graph_axes(op, reduced);
  split(op->results[0]->type, at, out);
  for (int i = 0, o = 0; i < t->rank; i++) {
    if (reduced[i]) total *= t->dims[i], o += keep;
    else c[i] = out[o++];
  }
  graph_code code = (graph_code)op->def->code;
  double start = identity(code, t->dtype);
  reducer r = {.code = code,
               .t = t->dtype,
               .best = start,
               .low = start,
               .high = start,
               .whole = to_integer(start),
               .prod = {1, 0},
               .iprod = 1};
  for (int64_t k = 0; k < total && !e->st; k++) {
    reduce_step(&r, graph_read(e, x, join(t, c)));
    for (int i = t->rank - 1; i >= 0; i--) {
      if (!reduced[i]) continue;
      if (++c[i] < t->dims[i]) break;
      c[i] = 0;
    }
  }
  graph_write(e, op->results[0], at, reduce_end(&r));
  return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

tsr_status eval_softmax(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *x = op->operands[0], *y = op->results[0];
  const ir_type *t = x->type;
  int axis = graph_axis(op);
  int64_t step = 1, n = t->dims[axis];
  for (int i = axis + 1; i < t->rank; i++) step *= t->dims[i];
  int64_t first = at - at / step % n * step;
  double max = -INFINITY, total = 0, shift = 0, u = unit(t->dtype);
  bool unknown = false; /* a term of which nothing is known may be the row's largest, or NaN */
  for (int64_t i = 0; i < n; i++) {
    graph_num a = graph_read(e, x, first + i * step);
    max = extreme(true, max, a.v);
    unknown = unknown || carried(a) == INFINITY;
  }
  for (int64_t i = 0; i < n; i++) total += exp(graph_read(e, x, first + i * step).v - max);
  /* The sum's relative error: each term's, weighted by its share; terms err independently. */
  for (int64_t i = 0; i < n; i++) {
    graph_num a = graph_read(e, x, first + i * step);
    double p = exp(a.v - max) / total;
    double own = p > 0 ? p * (expm1(carried(a)) + u * (6 + 4 * fabs(a.v - max))) : 0;
    shift += own * own;
  }
  shift = sqrt(shift) + 2 * sqrt((double)n) * u;
  for (int64_t i = 0; i < n && !e->st; i++) {
    graph_num a = graph_read(e, x, first + i * step);
    double p = exp(a.v - max) / total, own = p > 0 ? expm1(carried(a)) + u * (12 + 4 * fabs(a.v - max)) : 0;
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
  sum m = {0};
  moments r = {0};
  double u = unit(x->type->dtype), root = sqrt((double)n);
  long double mean = 0, q = 0, q_e2 = 0, q2 = 0;
  for (int64_t i = 0; center && i < n; i++) {
    graph_num a = graph_read(e, x, first + i);
    sum_add(&m, a.v / (double)n, carried(a) / (double)n);
    mean += a.v;
  }
  mean /= (long double)n;
  r.mean = (double)mean;
  if (center) r.mean_e = sum_inherited(&m) + 2 * root * u * m.abs;
  for (int64_t i = 0; i < n; i++) {
    graph_num a = graph_read(e, x, first + i);
    long double d = a.v - mean, de = hypotl(carried(a), r.mean_e) + u * fabsl(d),
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

tsr_status eval_norm(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *x = op->operands[0], *y = op->results[0];
  const ir_type *t = x->type;
  int64_t n = t->dims[t->rank - 1], first = at - at % n;
  double u = unit(t->dtype);
  moments m = row_moments(e, x, first, n, op->def->code == G_LAYERNORM, ir_get_float(op, "eps", 1e-5));
  for (int64_t i = 0; i < n && !e->st; i++) {
    graph_num a = graph_read(e, x, first + i), g = {1, 0, 0}, b = {0, 0, 0}, r;
    if (op->n_operands > 1) g = graph_read(e, op->operands[1], i);
    if (op->n_operands > 2) b = graph_read(e, op->operands[2], i);
    double d = a.v - m.mean, de = hypot(carried(a), m.mean_e) + u * (fabs(d) + fabs(m.mean));
    double z = d * m.scale, ze = m.scale * hypot(de, (fabs(d) + de) * (m.scale_e + 4 * u));
    r.v = z * g.v + b.v;
    r.r = graph_rounding(t->dtype, r.v);
    r.e = hypot(hypot(ze * g.v, (fabs(z) + ze) * carried(g)), carried(b)) + 4 * u * (fabs(z * g.v) + fabs(b.v)) + r.r;
    graph_write(e, y, first + i, r);
  }
  return NULL;
}

/* ---- movement -------------------------------------------------------------------------------------------------- */

tsr_status eval_move(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *x = op->operands[0], *y = op->results[0];
  int64_t c[TSR_MAX_RANK], d[TSR_MAX_RANK] = {0}, starts[TSR_MAX_RANK], strides[TSR_MAX_RANK], from = at;
  int perm[TSR_MAX_RANK];
  split(y->type, at, c);
  switch (op->def->code) {
  case G_BROADCAST: from = broadcast_at(x->type, y->type->rank, c); break;
  case G_TRANSPOSE:
    graph_perm(op, perm);
    for (int i = 0; i < y->type->rank; i++) d[perm[i]] = c[i];
    from = join(x->type, d);
    break;
  case G_SLICE:
    graph_slice(op, starts, strides);
    for (int i = 0; i < y->type->rank; i++) d[i] = starts[i] + c[i] * strides[i];
    from = join(x->type, d);
    break;
  default: break; /* reshape: the same row-major place */
  }
  graph_write(e, y, at, graph_read(e, x, from));
  return NULL;
}

tsr_status eval_concat(graph_evaluator *e, ir_op *op, int64_t at) {
  int64_t c[TSR_MAX_RANK], axis = ir_get_int(op, "axis", 0);
  split(op->results[0]->type, at, c);
  if (axis < 0) axis += op->results[0]->type->rank;
  int o = 0;
  for (; c[axis] >= op->operands[o]->type->dims[axis]; o++) c[axis] -= op->operands[o]->type->dims[axis];
  graph_write(e, op->results[0], at, graph_read(e, op->operands[o], join(op->operands[o]->type, c)));
  return NULL;
}

tsr_status eval_pad(graph_evaluator *e, ir_op *op, int64_t at) {
  const ir_type *t = op->operands[0]->type;
  int64_t c[TSR_MAX_RANK], low[TSR_MAX_RANK], high[TSR_MAX_RANK];
  bool inside = true;
  split(op->results[0]->type, at, c);
  graph_pad(op, low, high);
  for (int i = 0; i < t->rank; i++) {
    c[i] -= low[i];
    inside &= c[i] >= 0 && c[i] < t->dims[i];
  }
  double value = ir_get_float(op, "value", 0);
  graph_num r = {convert(t->dtype, value), 0, 0, to_integer(value)};
  if (inside) r = graph_read(e, op->operands[0], join(t, c));
  graph_write(e, op->results[0], at, r);
  return NULL;
}
