/* core/ir/graph/ops/num.c - arithmetic that the ops' evaluations share; see row.h and ir/graph/eval.h for the model of
 * errors. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/row.h"

/* Row-major index <-> coordinates. */
void num_split(const ir_type *t, int64_t at, int64_t *x) {
  for (int i = t->rank - 1; i >= 0; i--) x[i] = at % t->dims[i], at /= t->dims[i];
}

int64_t num_join(const ir_type *t, const int64_t *x) {
  int64_t at = 0;
  for (int i = 0; i < t->rank; i++) at = at * t->dims[i] + x[i];
  return at;
}

/* The element of an operand of type `from` that is broadcast to element x of a result of rank `rank`. */
int64_t num_broadcast_at(const ir_type *from, int rank, const int64_t *x) {
  int64_t at = 0;
  for (int i = 0; i < from->rank; i++) at = at * from->dims[i] + (from->dims[i] == 1 ? 0 : x[i + rank - from->rank]);
  return at;
}

/* What implementations compute in: f32 for narrower floats. */
double num_unit(tsr_dtype t) { return t == TSR_F64 ? dtype_get(TSR_F64)->eps : dtype_get(TSR_F32)->eps; }

int64_t num_wrap(tsr_dtype t, int64_t v) { return t == TSR_BOOL ? v != 0 : dtype_wrap(t, v); }

int64_t num_to_integer(double v) {
  return isnan(v) ? 0 : v <= -0x1p63 ? INT64_MIN : v >= 0x1p63 ? INT64_MAX : (int64_t)v;
}

int64_t num_exact(const ir_value *v, graph_num x) {
  return dtype_is_long(v->type->dtype) ? x.i : num_to_integer(x.v);
}

graph_num num_integer(tsr_dtype t, int64_t i) {
  i = num_wrap(t, i);
  return (graph_num){t == TSR_U64 ? (double)(uint64_t)i : (double)i, 0, 0, i};
}

/* The error that x brings into an op: its last rounding counts as a random one. */
double num_carried(graph_num x) { return x.r == INFINITY ? INFINITY : x.r > 0 ? hypot(x.e - x.r, 3.5 * x.r) : x.e; }

double num_convert(tsr_dtype t, double v) {
  uint64_t bits = 0;
  dtype_store(t, &bits, 0, v);
  return dtype_load(t, &bits, 0);
}

void num_sum_add(num_sum *s, double x, double e) {
  s->v += x;
  if (isfinite(x)) s->abs += fabs(x); /* an infinity is one in every order */
  s->e1 += e;
  s->e2 += e * e;
  s->x2 += x * x;
}

/* The operands' own errors in a sum: independent ones, and half their mean relative size as a common factor that is
 * off. */
double num_sum_inherited(const num_sum *s) {
  if (s->e2 < 0x1p-960) return 1.5 * s->e1; /* squares below f64's range: the bound of both parts */
  if (!(s->e2 > 0)) return s->e2;           /* NaN */
  return hypot(sqrt(s->e2), s->x2 > 0 ? 0.5 * sqrt(s->e2 / s->x2) * fabs(s->v) : 0);
}

/* own: the summation's. Of a sum that may overflow nothing is known, though its inherited error be NaN. */
double num_sum_error(const num_sum *s, double own) { return own == INFINITY ? own : num_sum_inherited(s) + own; }

double num_extreme(bool max, double a, double b) {
  return isnan(a) || isnan(b) ? NAN : max ? (a > b ? a : b) : (a < b ? a : b);
}
