/* core/ir/graph/ops/complex.c - complex numbers: the ops that make and take them apart, and the oracle's meaning of
 * those that compute on them. An element is two numbers, the real part and the imaginary one; every number has a
 * tolerance of its own. How devices compute on complex numbers stands in pairs.c. */
#include <math.h>

#include "core/ir/graph/ops/adjoint.h"

/* ---- shape and type rules -------------------------------------------------------------------------------------- */

/* The complex type whose parts are op's first operand's. */
static tsr_status made_of_parts(ir_op *op, tsr_dtype *to) {
  const tsr_dtype t = op->operands[0]->type->dtype;
  *to = dtype_complex(t);
  return *to ? NULL : ir_error(op, "f64, f32 or f16", "there are no complex numbers of %s", tsr_dtype_name(t));
}

static tsr_status infer_complex(ir_op *op, const ir_type **results) {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  tsr_dtype to;
  TSR_TRY(shape_tensors(op));
  TSR_TRY(shape_same_dtype(op, 0));
  TSR_TRY(shape_broadcast(op, 0, &rank, dims));
  TSR_TRY(made_of_parts(op, &to));
  return shape_finish(op, to, rank, dims, results);
}

static tsr_status infer_part(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_complex(op));
  const ir_type *x = op->operands[0]->type;
  return shape_finish(op, op->def->code == G_CONJ ? x->dtype : dtype_part(x->dtype), x->rank, x->dims, results);
}

static tsr_status infer_as_real(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_complex(op));
  ir_type t = *op->operands[0]->type;
  if (t.rank == TSR_MAX_RANK)
    return ir_error(op, "their parts are one more", "complex tensors have at most %d dimensions", TSR_MAX_RANK - 1);
  t.dims[t.rank++] = 2;
  return shape_finish(op, dtype_part(t.dtype), t.rank, t.dims, results);
}

static tsr_status infer_as_complex(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = op->operands[0]->type;
  tsr_dtype to;
  char s[128];
  TSR_TRY(made_of_parts(op, &to));
  if (!x->rank || x->dims[x->rank - 1] != 2)
    return ir_error(op, "its last dimension is real and imaginary part", "the last dimension of %s is not 2",
                    shape_text(x, s, sizeof s));
  return shape_finish(op, to, x->rank - 1, x->dims, results);
}

/* ---- evaluation of what computes ------------------------------------------------------------------------------- */

/* What implementations compute parts of f16 in. */
static tsr_dtype computed_in(const ir_op *op) {
  return dtype_part(op->operands[op->n_operands - 1]->type->dtype) == TSR_F64 ? TSR_F64 : TSR_F32;
}

/* As pairs.c divides: by the larger part of b first, so that only a quotient that overflows does. */
static double quotient(int part, const double *x) {
  const double s = num_extreme(true, fabs(x[2]), fabs(x[3])), c = x[2] / s, d = x[3] / s, den = c * c + d * d;
  return (part ? x[0] * -d + x[1] * c : x[0] * c + x[1] * d) / den / s;
}

static double magnitude(const double *x) {
  const double a = fabs(x[0]), b = fabs(x[1]), most = num_extreme(true, a, b), least = num_extreme(false, a, b);
  return least < most ? most * sqrt(1 + least / most * (least / most)) : most * 1.41421356237309504880;
}

/* Part of the result; x: the operands' parts in turn. */
static double apply(const ir_op *op, int part, const double *x) {
  switch (op->def->code) {
  case G_ADD: return x[part] + x[2 + part];
  case G_SUB: return x[part] - x[2 + part];
  case G_MUL: return part ? x[0] * x[3] + x[1] * x[2] : x[0] * x[2] - x[1] * x[3];
  case G_DIV: return quotient(part, x);
  case G_NEG: return -x[part];
  case G_CONJ: return part ? -x[1] : x[0];
  default: return magnitude(x);
  }
}

/* May a product of finite numbers be infinite in a type that ends at max? Here it is too, or not (fma), of doubles. */
static bool leaves(double a, double b, double max) { return isfinite(a) && isfinite(b) && !(fabs(a * b) < max); }

/* What an implementation's steps may add, its last rounding not counted; a unit is the roundoff of the type computed
 * in, a step that flushes adds the smallest normal number. A sum has no other step; but a shader compiler may add the
 * two products of a mul before it one by one, then an intermediate sum rounds: where the terms are exact, there is no
 * such mul. A product: two roundings. A quotient by the steps of pairs.c, where b's parts over the larger are at most
 * 1, one of them is 1, and a division is off by 5 units (ir/scalar_ops.h): numerator 5 + 1 + 1, divisor 2 * 5 + 1 + 1,
 * two divisions 5 + 5, together 29. A magnitude: half of the ratio's square (2 * 5 + 1), which is at most half of what
 * it is added to, and of the sum (1), then the root's 12 units and the product's 1, below 17. */
static double own_error(const ir_op *op, int part, const double *x, const double *e, double v) {
  const tsr_dtype t = computed_in(op);
  const double unit = dtype_get(t)->eps, max = dtype_get(t)->max, tiny = graph_rounding(t, 0);
  switch (op->def->code) {
  case G_MUL: {
    const double p = x[0] * x[2 + part], q = x[1] * x[3 - part];
    if (leaves(x[0], x[2 + part], max) || leaves(x[1], x[3 - part], max)) return INFINITY;
    return graph_rounding(t, p) + graph_rounding(t, q);
  }
  case G_DIV: {
    const double s = fmax(fabs(x[2]), fabs(x[3])), least = fmin(fabs(x[2]), fabs(x[3]));
    if (s < 4 * tiny || leaves(2, x[0], max) || leaves(2, x[1], max)) return INFINITY;
    if (!isfinite(v)) return least > 0 && least < 4 * tiny * s ? INFINITY : 0; /* times an infinity, or NaN */
    return 29 * unit * (hypot(x[0], x[1]) / hypot(x[2], x[3])) + 4 * tiny / s; /* products, sum and a quotient flush */
  }
  case G_ABS: return 17 * unit * (isfinite(v) ? fabs(v) : 0) + 2 * tiny;
  default: return e[part] > 0 || e[2 + part] > 0 ? graph_rounding(t, fabs(x[part]) + fabs(x[2 + part])) : 0;
  }
}

/* How far the part moves when number k of the operands, wherever that value comes, moves by e. */
static double moved(const ir_op *op, int part, const double *x, int k, double e, double v) {
  double most = 0;
  for (int sign = -1; sign <= 1; sign += 2) {
    double y[4] = {x[0], x[1], x[2], x[3]};
    for (int i = 0; i < op->n_operands; i++)
      if (op->operands[i] == op->operands[k / 2]) y[2 * i + k % 2] += sign * e;
    const double w = apply(op, part, y), d = w == v ? 0 : fabs(w - v);
    if (isnan(d)) return isnan(v) ? 0 : INFINITY;
    most = fmax(most, d);
  }
  return most;
}

/* The operands' errors in the result; see spread in pointwise.c. */
static double inherited(const ir_op *op, int part, const double *x, const double *e, double v) {
  const int n = op->n_operands > 1 && op->operands[0] == op->operands[1] ? 2 : 2 * op->n_operands;
  double sum = 0;
  for (int k = 0; k < n; k++) {
    if (e[k] == INFINITY) return INFINITY;
    const double d = e[k] > 0 ? moved(op, part, x, k, e[k], v) : 0;
    sum = hypot(sum, d); /* squares of small numbers are 0 */
  }
  return sum;
}

static graph_num read_part(graph_evaluator *e, ir_value *v, int rank, const int64_t *c, int part) {
  return graph_read(e, v, dtype_parts(v->type->dtype) * num_broadcast_at(v->type, rank, c) + part);
}

/* Elements that are chosen or put together, not computed. */
static bool eval_moved(graph_evaluator *e, ir_op *op, int part, const int64_t *c, graph_num *out) {
  ir_value **x = op->operands;
  const int rank = op->results[0]->type->rank;
  switch (op->def->code) {
  case G_SELECT: *out = read_part(e, read_part(e, x[0], rank, c, 0).v != 0 ? x[1] : x[2], rank, c, part); return true;
  case G_COMPLEX: *out = read_part(e, x[part], rank, c, 0); return true;
  case G_REAL:
  case G_IMAG: *out = read_part(e, x[0], rank, c, op->def->code == G_IMAG); return true;
  default: return false;
  }
}

tsr_status complex_eval(graph_evaluator *e, ir_op *op, int64_t at) {
  const ir_type *t = op->results[0]->type;
  const int parts = dtype_parts(t->dtype), part = (int)(at % parts);
  int64_t c[TSR_MAX_RANK];
  double x[4] = {0}, err[4] = {0};
  graph_num r = {0};
  num_split(t, at / parts, c);
  if (!eval_moved(e, op, part, c, &r)) {
    for (int k = 0; k < 2 * op->n_operands; k++) {
      const graph_num n = read_part(e, op->operands[k / 2], t->rank, c, k % 2);
      x[k] = n.v;
      err[k] = num_carried(n);
    }
    r.v = apply(op, part, x);
    r.e = inherited(op, part, x, err, r.v);
    const bool exact = op->def->code == G_NEG || op->def->code == G_CONJ;
    if (!exact) r.r = graph_rounding(t->dtype, r.v), r.e += own_error(op, part, x, err, r.v) + r.r;
    if (!exact && computed_in(op) == TSR_F64) r.e += own_error(op, part, x, err, r.v) + r.r; /* the oracle's own */
  }
  graph_write(e, op->results[0], at, r);
  return NULL;
}

/* The numbers stay in their order. */
static tsr_status eval_alias(graph_evaluator *e, ir_op *op, int64_t at) {
  graph_write(e, op->results[0], at, graph_read(e, op->operands[0], at));
  return NULL;
}

/* ---- derivatives: functions are differentiated on their parts (passes/graph/autodiff.c) -------------------------- */

BEGIN(adjoint_as_real) {
  grads[0] = graph_as_complex(b, g);
  END;
}

BEGIN(adjoint_as_complex) {
  grads[0] = graph_as_real(b, g);
  END;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

#define COMPLEX_TYPES "complex"
#define POINTWISE(CODE, s, n) \
  NAME(CODE, s), .flags = IR_PURE | IR_ELEMENTWISE, .min_operands = n, .max_operands = n, .n_results = 1, \
      .ext = ROW(GRAPH_POINTWISE, complex_eval, NULL, "*->*", SC_CAST, 0, .pairs = pairs_pointwise)
#define ALIAS(CODE, s, ADJOINT) \
  NAME(CODE, s), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1, \
      .operands_doc = "x", .ext = ROW(GRAPH_MOVE, eval_alias, ADJOINT, .pairs = pairs_move, .moves = MOVES_PAIRS)

static const ir_opdef rows[] = {
    {POINTWISE(COMPLEX, "complex", 2), .operands_doc = "re, im", .types_doc = "f64, f32, f16", .infer = infer_complex,
     .help = "re + i im."},
    {POINTWISE(REAL, "real", 1), .operands_doc = "x", .types_doc = COMPLEX_TYPES, .infer = infer_part,
     .help = "The real parts."},
    {POINTWISE(IMAG, "imag", 1), .operands_doc = "x", .types_doc = COMPLEX_TYPES, .infer = infer_part,
     .help = "The imaginary parts."},
    {POINTWISE(CONJ, "conj", 1), .operands_doc = "x", .types_doc = COMPLEX_TYPES, .infer = infer_part,
     .help = "The conjugates: the imaginary parts change their sign."},
    {ALIAS(AS_REAL, "as_real", adjoint_as_real), .types_doc = COMPLEX_TYPES, .infer = infer_as_real,
     .help = "The same memory as real numbers: a last dimension of 2 is added, real and imaginary part."},
    {ALIAS(AS_COMPLEX, "as_complex", adjoint_as_complex), .types_doc = "f64, f32, f16", .infer = infer_as_complex,
     .help = "The same memory as complex numbers: the last dimension is 2, real and imaginary part."},
};

const ir_rows graph_complex_ops = {rows, sizeof rows / sizeof *rows};
_Static_assert(sizeof rows / sizeof *rows == G_AS_COMPLEX - G_COMPLEX + 1, "one row per code, in the enum's order");
