/* core/ir/graph/ops/pointwise.c - the elementwise ops: those of ir/scalar_ops.h and ir/scalar_composites.h, whose
 * rows, meaning and derivatives are made of these lists, and cast. To add one, add its row there. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/adjoint.h"

static tsr_status elementwise(ir_op *op, const ir_type **results) {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(shape_same_dtype(op, 0));
  TSR_TRY(shape_broadcast(op, 0, &rank, dims));
  return shape_finish(op, op->operands[0]->type->dtype, rank, dims, results);
}

static tsr_status infer_arith(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  if (op->operands[0]->type->dtype == TSR_BOOL)
    return ir_error(op, "cast to a number first, or use and, or, not", "does not take bool");
  TSR_TRY(elementwise(op, results));
  return op->def->code == G_ABS && dtype_is_complex(results[0]->dtype)
             ? shape_finish(op, dtype_part(results[0]->dtype), results[0]->rank, results[0]->dims, results)
             : NULL;
}

static tsr_status infer_float(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  return elementwise(op, results);
}

static tsr_status infer_logic(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  if (dtype_is_float(op->operands[0]->type->dtype))
    return ir_error(op, "compare first", "takes bool or integers, not %s",
                    tsr_dtype_name(op->operands[0]->type->dtype));
  return elementwise(op, results);
}

static tsr_status infer_compare(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  if (graph_variant(op) == N_CMP)
    return ir_error(op, "eq, ne, lt, le, gt or ge", "unknown predicate \"%s\"", ir_get_str(op, "predicate", ""));
  TSR_TRY(elementwise(op, results));
  return shape_finish(op, TSR_BOOL, results[0]->rank, results[0]->dims, results);
}

static tsr_status infer_classify(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  return shape_finish(op, TSR_BOOL, op->operands[0]->type->rank, op->operands[0]->type->dims, results);
}

static tsr_status infer_shift(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  tsr_dtype t = op->operands[0]->type->dtype;
  if (dtype_is_float(t) || t == TSR_BOOL)
    return ir_error(op, "cast to an integer first", "takes integers, not %s", tsr_dtype_name(t));
  return elementwise(op, results);
}

static tsr_status infer_cast(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  TSR_TRY(shape_tensors(op));
  TSR_TRY(shape_dtype_attr(op, "dtype", &t));
  if (dtype_is_complex(op->operands[0]->type->dtype) && !dtype_is_complex(t))
    return ir_error(op, "real, imag and abs give real tensors", "does not cast %s to %s",
                    tsr_dtype_name(op->operands[0]->type->dtype), tsr_dtype_name(t));
  return shape_finish(op, t, op->operands[0]->type->rank, op->operands[0]->type->dims, results);
}

static const scalar_row *row_of(const ir_op *op) { return &scalar_rows[graph_scalar(op)]; }

static bool is_integer_op(const ir_op *op) {
  return !dtype_is_float(op->operands[op->n_operands - 1]->type->dtype) && row_of(op)->integer;
}

static graph_num apply_integer(const ir_op *op, int variant, const int64_t *i) {
  const tsr_dtype t = op->operands[op->n_operands - 1]->type->dtype;
  return num_integer(op->results[0]->type->dtype,
                     t == TSR_U64 ? scalar_u64(graph_scalar(op), variant, i) : row_of(op)->integer(variant, i));
}

static double apply(const ir_op *op, int variant, const double *x) {
  int64_t i[3] = {0};
  if (!is_integer_op(op)) return row_of(op)->f64(variant, x);
  for (int k = 0; k < op->n_operands; k++)
    i[k] = op->operands[k]->type->dtype == TSR_U64 ? dtype_whole(TSR_U64, x[k]) : num_to_integer(x[k]);
  return apply_integer(op, variant, i).v;
}

/* The error of an implementation's function itself. */
static double function_error(const ir_op *op, const double *x, double v) {
  return num_unit(op->results[0]->type->dtype) * row_of(op)->error(x, isfinite(v) ? fabs(v) : 0);
}

/* How far f moves when the operands that are value number `k` move by e. By more than a part of a period, a sine may
 * be anywhere. */
static double moved(const ir_op *op, int variant, const double *x, int k, double e, double v) {
  double most = 0;
  if ((graph_scalar(op) == SC_SIN || graph_scalar(op) == SC_COS) && e > 0.5) return fmin(e, 2);
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
    sum = hypot(sum, moved(op, variant, x, k, e[k], v)); /* squares leave the range of f64 */
  }
  return sum;
}

static bool rounds(const ir_op *op) { return !(row_of(op)->traits & SCALAR_EXACT); }

/* Sums and products of f64 that leave the range: in another order they, or what follows, might not. */
static bool overflows(const ir_op *op, const double *x, double v) {
  const int code = graph_scalar(op);
  return isinf(v) && isfinite(x[0]) && isfinite(x[1]) && (code == SC_MUL || code == SC_ADD || code == SC_SUB);
}

static tsr_status eval_elementwise(graph_evaluator *e, ir_op *op, int64_t at) {
  const ir_type *t = op->results[0]->type;
  int64_t c[TSR_MAX_RANK];
  double x[3] = {0}, err[3] = {0}, any = 0;
  int64_t i[3] = {0};
  int variant = graph_variant(op);
  if (complex_is(op)) return complex_eval(e, op, at);
  num_split(t, at, c);
  if (op->def->attrs) graph_number_attrs(op, x + op->n_operands);
  for (int k = 0; k < op->n_operands; k++) {
    graph_num n = graph_read(e, op->operands[k], num_broadcast_at(op->operands[k]->type, t->rank, c));
    x[k] = n.v;
    i[k] = num_exact(op->operands[k], n);
    any += err[k] = num_carried(n);
  }
  if (is_integer_op(op)) {
    graph_num whole = apply_integer(op, variant, i);
    if (any > 0) whole.e = any < INFINITY ? spread(op, variant, x, err, whole.v) : INFINITY;
    graph_write(e, op->results[0], at, whole);
    return NULL;
  }
  graph_num r = {apply(op, variant, x), 0, 0};
  if (any > 0) r.e = any < INFINITY ? spread(op, variant, x, err, r.v) : INFINITY; /* an operand may even be NaN */
  if (rounds(op)) r.r = overflows(op, x, r.v) ? INFINITY : graph_rounding(t->dtype, r.v);
  if (rounds(op) && r.e < INFINITY) r.e += function_error(op, x, r.v) + r.r; /* the function's is NaN of a NaN */
  graph_write(e, op->results[0], at, r);
  return NULL;
}

/* How far from `at`, which is x rounded to t, x may be rounded where its error crosses a boundary between two numbers
 * of t: by one of these whole, twice what one rounding is off. */
static double crossed(tsr_dtype t, graph_num x, double at) {
  const double e = num_carried(x), a = fabs(num_convert(t, x.v + e) - at), b = fabs(num_convert(t, x.v - e) - at);
  return isfinite(a) && isfinite(b) ? fmax(a, b) : 0;
}

/* x, an element of v, as t, i64 or u64, holds it. */
static int64_t whole_of(tsr_dtype t, const ir_value *v, graph_num x) {
  const tsr_dtype from = v->type->dtype;
  if (dtype_is_float(from)) return dtype_whole(t, x.v);
  const int64_t i = num_exact(v, x);
  if (from == t || i >= 0) return i;
  return from == TSR_U64 ? INT64_MAX : t == TSR_U64 ? 0 : i;
}

static tsr_status eval_cast(graph_evaluator *e, ir_op *op, int64_t at) {
  tsr_dtype t = dtype_part(op->results[0]->type->dtype);
  tsr_dtype from = op->operands[0]->type->dtype;
  const bool gains_part = dtype_is_complex(op->results[0]->type->dtype) && !dtype_is_complex(from);
  if (gains_part && at % 2) {
    graph_write(e, op->results[0], at, (graph_num){0});
    return NULL;
  }
  graph_num x = graph_read(e, op->operands[0], gains_part ? at / 2 : at), r = {num_convert(t, x.v), x.e, x.r};
  if (dtype_is_long(t)) r.i = whole_of(t, op->operands[0], x), r.v = num_integer(t, r.i).v;
  if (!dtype_is_float(t)) {
    double a = fabs(num_convert(t, x.v + num_carried(x)) - r.v), b = fabs(num_convert(t, x.v - num_carried(x)) - r.v);
    r.e = a > b ? a : b;
    r.r = 0;
  } else if (r.v != x.v || x.e > 0) {
    r.r = graph_rounding(t, r.v);
    r.e = (x.e > 0 ? num_carried(x) : 0) + r.r;
    if (x.e > 0) r.e = fmax(r.e, crossed(t, x, r.v));
    if (isinf(r.v) && isfinite(num_convert(t, x.v - copysign(x.e, x.v)))) r.e = INFINITY; /* it may also stay below */
  }
  graph_write(e, op->results[0], at, r);
  return NULL;
}

BEGIN(adjoint_cast) {
  if (dtype_is_float(IN(0)->type->dtype) && dtype_is_float(OUT->type->dtype))
    grads[0] = graph_cast(b, g, IN(0)->type->dtype);
  END;
}

/* ---- derivatives, of the list's expressions --------------------------------------------------------------------- */

typedef struct gradient {
  ir_builder *b;
  ir_op *op;
  ir_value *g;
} gradient;

static scalar_value gradient_number(void *user, double v) {
  gradient *d = user;
  return (scalar_value){.p = graph_number(d->b, d->op->results[0]->type->dtype, v)};
}

static scalar_value gradient_name(void *user, char name) {
  gradient *d = user;
  double numbers[GRAPH_MAX_NUMBERS];
  int i = name - 'a';
  if (name == 'g' || name == 'y') return (scalar_value){.p = name == 'g' ? d->g : d->op->results[0]};
  if (i < d->op->n_operands) return (scalar_value){.p = d->op->operands[i]};
  graph_number_attrs(d->op, numbers);
  return gradient_number(user, numbers[i - d->op->n_operands]);
}

static graph_code code_of(int scalar) {
  static const uint8_t codes[SC_ALL] = {
#define CODE_GRAPH(CODE) [SC_##CODE] = G_##CODE,
#define CODE_OWN(CODE) [SC_##CODE] = G_##CODE,
#define CODE_KERNEL(CODE)
#define CODE_PART(CODE)
#define CODE(CODE, name, n, types, help, level, ...) CODE_##level(CODE)
      SCALAR_ALL(CODE)};
#undef CODE
  return (graph_code)codes[scalar];
}

/* Has the expression been built already, by a part of the same list? */
static ir_value *built(const gradient *d, const ir_op *op) {
  const ir_op *o = op->prev;
  for (int looked = 0; o && o != d->op && looked < 48; o = o->prev, looked++) {
    if (o->def != op->def || o->n_operands != op->n_operands) continue;
    bool same = op->def->code != G_COMPARE || graph_variant(o) == graph_variant(op);
    for (int i = 0; i < o->n_operands; i++) same &= o->operands[i] == op->operands[i];
    if (same && o->def->code != G_CONSTANT) return o->results[0];
  }
  return NULL;
}

static scalar_value gradient_apply(void *user, int code, int variant, const scalar_value *x) {
  gradient *d = user;
  ir_value *v[3] = {x[0].p, x[1].p, x[2].p};
  ir_value *y = code == SC_COMPARE ? graph_compare(d->b, variant, v[0], v[1])
                                   : graph_build(d->b, code_of(code), scalar_rows[code].operands, v);
  ir_value *again = y ? built(d, y->def) : NULL;
  if (again) ir_op_remove(y->def);
  return (scalar_value){.p = again ? again : y};
}

BEGIN(adjoint_pointwise) {
  gradient d = {b, op, g};
  scalar_reader r = {&d, gradient_name, gradient_number, gradient_apply};
  const char *text = row_of(op)->derivative;
  for (int i = 0; i < op->n_operands && !b->failed; i++) {
    scalar_value v;
    if (scalar_read(&text, &r, &v)) adjoint_give(b, op, grads, i, v.p);
  }
  END;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static tsr_status verify_celu(const ir_op *op) {
  double alpha = ir_get_float(op, "alpha", 1);
  return alpha != 0 ? NULL : ir_error(op, "elu has no quotient", "alpha is 0, and e^(a / alpha) undefined");
}

static tsr_status verify_gelu(const ir_op *op) {
  const char *a = ir_get_str(op, "approximate", "none");
  return !strcmp(a, "none") || !strcmp(a, "tanh") ? NULL
                                                  : ir_error(op, "none or tanh", "unknown approximation \"%s\"", a);
}

#define FLAGS(traits) (IR_PURE | IR_ELEMENTWISE | ((traits) & SCALAR_COMMUTES ? IR_COMMUTES : 0))
#define INFER_A infer_arith
#define INFER_F infer_float
#define INFER_I infer_logic
#define TYPES_A NUMBERS
#define TYPES_F FLOATS
#define TYPES_I "bool, " INTEGERS
#define TYPES(types, traits) .types_doc = (traits) & SCALAR_COMPLEX ? TYPES_##types AND_COMPLEX : TYPES_##types
#define OPERANDS_1 "a"
#define OPERANDS_2 "a, b"
#define OPERANDS_3 "condition, a, b"
/* What every one of them has; a row of its own adds to it. */
#define POINTWISE(CODE, s, n, h, traits) \
  NAME(CODE, s), .flags = FLAGS(traits), .min_operands = n, .max_operands = n, .n_results = 1, .help = h ".", \
      .operands_doc = OPERANDS_##n, \
      .ext = ROW(GRAPH_POINTWISE, eval_elementwise, adjoint_pointwise, "*->*", SC_##CODE, 1, \
                 .pairs = (traits) & SCALAR_COMPLEX ? pairs_pointwise : NULL, .words = words_pointwise)
#define ROW_GRAPH(CODE, s, n, types, h, traits) \
  {POINTWISE(CODE, s, n, h, traits), TYPES(types, traits), .infer = INFER_##types},
#define ROW_OWN(CODE, s, n, types, h, traits) {POINTWISE(CODE, s, n, h, traits), OWN_##CODE},
#define ROW_KERNEL(CODE, s, n, types, h, traits)
#define ROW_PART(CODE, s, n, types, h, traits)
#define SCALAR_ROW(CODE, s, n, types, h, level, traits, ...) ROW_##level(CODE, s, n, types, h, traits)

#define OWN_GELU \
  .types_doc = FLOATS, .infer = infer_float, .verify = verify_gelu, \
  .attrs = ATTRS({"approximate", IR_A_STR, false, "none", "none: by erf; tanh: by the tanh formula"})
#define OWN_COMPARE \
  .types_doc = ANY, .infer = infer_compare, .attrs = ATTRS({"predicate", IR_A_STR, true, NULL, "eq, ne, lt, le, gt or ge"})
#define OWN_SELECT .types_doc = ANY AND_COMPLEX, .infer = shape_select
#define OWN_ISNAN .types_doc = FLOATS, .infer = infer_classify
#define OWN_ISINF .types_doc = FLOATS, .infer = infer_classify
#define OWN_FLOAT .types_doc = FLOATS, .infer = infer_float
#define OWN_HARDSIGMOID \
  OWN_FLOAT, .attrs = ATTRS({"alpha", IR_A_FLOAT, false, "0.16666666666666666", "the slope; ONNX's default is 0.2"}, \
                            {"beta", IR_A_FLOAT, false, "0.5", "the value at 0"})
#define OWN_LEAKY_RELU OWN_FLOAT, .attrs = ATTRS({"alpha", IR_A_FLOAT, false, "0.01", "the slope below 0"})
#define OWN_ELU OWN_FLOAT, .attrs = ATTRS({"alpha", IR_A_FLOAT, false, "1", "the limit at -infinity is -alpha"})
#define OWN_CELU                       \
  OWN_FLOAT, .verify = verify_celu, \
  .attrs = ATTRS({"alpha", IR_A_FLOAT, false, "1", "the limit at -infinity is -alpha; not 0"})
#define OWN_MUL_HIGH .types_doc = INTEGERS, .infer = infer_shift
#define OWN_SHIFT_LEFT .types_doc = INTEGERS, .infer = infer_shift
#define OWN_SHIFT_RIGHT .types_doc = INTEGERS, .infer = infer_shift

static const ir_opdef rows[] = {
    SCALAR_ALL(SCALAR_ROW)
    {NAME(CAST, "cast"), .flags = IR_PURE | IR_ELEMENTWISE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = ANY AND_COMPLEX, .infer = infer_cast,
     .attrs = ATTRS({"dtype", IR_A_STR, true, NULL, "the type to convert to"}),
     .ext = ROW(GRAPH_POINTWISE, eval_cast, adjoint_cast, "*->*", SC_CAST, .pairs = pairs_pointwise, .words = words_cast),
     .help = "Converts the elements. To a narrower float: to nearest even, overflow gives infinity (in fp8_e4m3, which "
             "has none, 448); float to "
             "integer: toward zero, saturating, NaN gives 0; "
             "integer to integer saturates; to bool: is not 0. To a complex type the imaginary part becomes 0; from one "
             "only to another."},
};

const ir_rows graph_pointwise_ops = {rows, sizeof rows / sizeof *rows};
_Static_assert(sizeof rows / sizeof *rows == G_CAST - G_ADD + 1, "one row per code, in the enum's order");
