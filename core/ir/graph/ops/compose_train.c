/* core/ir/graph/ops/compose_train.c - composite ops of a training step: optimizers with their state in and out, the
 * norm of all gradients, a check for what isn't finite. Rows, shape rules, expansions. An optimizer computes in the
 * type of the parameters, which are the master copy: gradients of narrower types are widened. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

static const bool all_axes[TSR_MAX_RANK] = {true, true, true, true, true, true, true, true};

/* ---- shape rules ------------------------------------------------------------------------------------------------- */

/* state: of the type that the optimizer computes in. */
static tsr_status check_same(const ir_op *op, int i, const char *name, bool state) {
  const ir_type *x = TYPE(0), *t = TYPE(i);
  char a[128], c[128];
  bool fits = t->rank == x->rank && (!state || t->dtype == compose_float(x->dtype));
  for (int k = 0; fits && k < x->rank; k++) fits = !shape_differs(x->dims[k], t->dims[k]);
  return fits ? NULL
              : ir_error(op, state ? "of the parameters' shape, f32 or of f64 f64" : "of the parameters' shape",
                         "%s is %s for %s", name, shape_text(t, a, sizeof a), shape_text(x, c, sizeof c));
}

static tsr_status check_number(const ir_op *op, int i, const char *name, bool is_float) {
  char a[128];
  if (TYPE(i)->rank == 0 && dtype_is_float(TYPE(i)->dtype) == is_float && TYPE(i)->dtype != TSR_BOOL) return NULL;
  return ir_error(op, is_float ? "one float, without dimensions" : "one integer, without dimensions", "%s is %s", name,
                  shape_text(TYPE(i), a, sizeof a));
}

/* Parameters of fewer than 32 bits are rounded stochastically: the operand that is the key; -1: there is none. */
static int key_of(const ir_op *op) {
  const int last = op->n_operands - 2;
  return last >= (op->def->code == G_SGD ? 3 : 6) ? last : -1;
}

/* Parameters, gradients and the learning rate; result 0 is as the parameters, the n - 1 of state are f32 or f64. */
static tsr_status check_update(ir_op *op, int n, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  const bool narrow = tsr_dtype_size(TYPE(0)->dtype) < 4;
  if (narrow && key_of(op) < 0)
    return ir_error(op, "keep a master copy in f32 and cast it, or give a key and a counter to round by",
                    "parameters are %s", tsr_dtype_name(TYPE(0)->dtype));
  if (!narrow && key_of(op) >= 0)
    return ir_error(op, "they are rounded to the nearest: without a key", "parameters are %s",
                    tsr_dtype_name(TYPE(0)->dtype));
  if (!dtype_is_float(TYPE(1)->dtype))
    return ir_error(op, graph_no_cast, "gradients are %s", tsr_dtype_name(TYPE(1)->dtype));
  TSR_TRY(check_same(op, 1, "the gradient", false));
  if (op->n_results != n)
    return ir_error(op, "parameters, then state as it comes in", "has %d results, not %d", n, op->n_results);
  results[0] = TYPE(0);
  for (int i = 1; i < n; i++)
    TSR_TRY(shape_finish(op, compose_float(TYPE(0)->dtype), TYPE(0)->rank, TYPE(0)->dims, &results[i]));
  return NULL;
}

static tsr_status check_range(const ir_op *op, const char *name, double dflt, bool below_one) {
  const double v = ir_get_float(op, name, dflt);
  if (v >= 0 && (below_one ? v < 1 : isfinite(v))) return NULL;
  return ir_error(op, below_one ? "from 0 on below 1" : "finite, at least 0", "%s is %g", name, v);
}

/* A key and a counter may follow: they are two. */
static bool has_velocity(const ir_op *op) { return op->n_operands % 2 == 0; }

static tsr_status infer_sgd(ir_op *op, const ir_type **results) {
  TSR_TRY(check_update(op, has_velocity(op) ? 2 : 1, results));
  TSR_TRY(check_number(op, 2, "the learning rate", true));
  if (key_of(op) >= 0) TSR_TRY(shape_key(op, key_of(op)));
  if (has_velocity(op)) TSR_TRY(check_same(op, 3, "the velocity", true));
  TSR_TRY(check_range(op, "momentum", 0, true));
  TSR_TRY(check_range(op, "weight_decay", 0, false));
  if (!has_velocity(op) && ir_get_float(op, "momentum", 0) != 0)
    return ir_error(op, "it is state, in and out", "momentum without a velocity");
  return NULL;
}

static tsr_status infer_adamw(ir_op *op, const ir_type **results) {
  if (op->n_operands == 7) return ir_error(op, "i32[2] and i32[4] go together", "a key without a counter");
  TSR_TRY(check_update(op, 3, results));
  if (key_of(op) >= 0) TSR_TRY(shape_key(op, key_of(op)));
  TSR_TRY(check_same(op, 2, "the first moment", true));
  TSR_TRY(check_same(op, 3, "the second moment", true));
  TSR_TRY(check_number(op, 4, "the learning rate", true));
  TSR_TRY(check_number(op, 5, "the step", false));
  TSR_TRY(check_range(op, "beta1", 0.9, true));
  TSR_TRY(check_range(op, "beta2", 0.999, true));
  TSR_TRY(check_range(op, "eps", 1e-8, false));
  return check_range(op, "weight_decay", 0.01, false);
}

static tsr_status check_floats(ir_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    if (!dtype_is_float(TYPE(i)->dtype))
      return ir_error(op, "floats alone can be infinite or NaN", "operand %d is %s", i, tsr_dtype_name(TYPE(i)->dtype));
  return NULL;
}

static tsr_status infer_check(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  TSR_TRY(check_floats(op));
  TSR_TRY(shape_finish(op, TSR_I32, 0, NULL, &results[0]));
  return shape_finish(op, TSR_I32, 0, NULL, &results[1]);
}

/* In which type the norm of the operands is computed: f64 where one of them is. */
static tsr_dtype norm_type(const ir_op *op) {
  tsr_dtype t = TSR_F32;
  for (int i = 0; i < op->n_operands; i++)
    if (TYPE(i)->dtype == TSR_F64) t = TSR_F64;
  return t;
}

static tsr_status infer_norm(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  TSR_TRY(check_floats(op));
  return shape_finish(op, norm_type(op), 0, NULL, results);
}

static tsr_status infer_clip(ir_op *op, const ir_type **results) {
  const double most = ir_get_float(op, "max_norm", 1);
  TSR_TRY(shape_tensors(op));
  TSR_TRY(check_floats(op));
  if (!(most > 0)) return ir_error(op, "above 0", "max_norm is %g", most);
  if (op->n_results != op->n_operands + 1)
    return ir_error(op, "each operand's, then the norm", "has %d results, not %d", op->n_operands + 1, op->n_results);
  for (int i = 0; i < op->n_operands; i++) results[i] = TYPE(i);
  return shape_finish(op, norm_type(op), 0, NULL, &results[op->n_operands]);
}

/* ---- optimizers -------------------------------------------------------------------------------------------------- */

#define NUMBER(name, dflt) graph_number(b, t, ir_get_float(op, name, dflt))

/* What the parameters become, as they are kept. */
static ir_value *kept(ir_builder *b, const ir_op *op, ir_value *x) {
  const int key = key_of(op);
  if (!x || key < 0) return x;
  ir_op *y = ir_op_new(b, graph_def(G_STOCHASTIC_CAST), 3, (ir_value *[]){x, IN(key), IN(key + 1)}, 1, &TYPE(0), 0);
  if (y && ir_set_attr(y, "dtype", ir_attr_str(b->m, tsr_dtype_name(TYPE(0)->dtype)))) return y->results[0];
  b->failed = true;
  return NULL;
}

EXPAND(expand_sgd) {
  const tsr_dtype t = compose_float(TYPE(0)->dtype);
  ir_value *x = graph_cast(b, IN(0), t), *g = graph_cast(b, IN(1), t), *lr = graph_cast(b, IN(2), t);
  if (ir_get_float(op, "weight_decay", 0) != 0) g = ADD(g, MUL(x, NUMBER("weight_decay", 0)));
  if (has_velocity(op)) {
    ir_value *momentum = NUMBER("momentum", 0), *v = out[1] = ADD(MUL(IN(3), momentum), g);
    g = ir_get_bool(op, "nesterov", false) ? ADD(g, MUL(v, momentum)) : v;
  }
  out[0] = kept(b, op, SUB(x, MUL(lr, g)));
  DONE;
}

/* 1 - beta^step, where beta is near 1 and step small too. */
static ir_value *warmth(ir_builder *b, ir_value *step, double beta) {
  if (!step) return NULL;
  return NEG(graph_op1(b, G_EXPM1, MUL(step, LIKE(step, beta > 0 ? log(beta) : -1e4))));
}

EXPAND(expand_adamw) {
  const tsr_dtype t = compose_float(TYPE(0)->dtype);
  const double beta1 = ir_get_float(op, "beta1", 0.9), beta2 = ir_get_float(op, "beta2", 0.999);
  ir_value *x = graph_cast(b, IN(0), t), *g = graph_cast(b, IN(1), t), *lr = graph_cast(b, IN(4), t),
           *step = graph_cast(b, IN(5), t);
  ir_value *m = out[1] = ADD(MUL(IN(2), graph_number(b, t, beta1)), MUL(g, graph_number(b, t, 1 - beta1)));
  ir_value *v = out[2] = ADD(MUL(IN(3), graph_number(b, t, beta2)), MUL(MUL(g, g), graph_number(b, t, 1 - beta2)));
  ir_value *first = DIV(m, warmth(b, step, beta1)), *second = DIV(v, warmth(b, step, beta2));
  ir_value *d = DIV(first, ADD(graph_op1(b, G_SQRT, second), NUMBER("eps", 1e-8)));
  if (ir_get_float(op, "weight_decay", 0.01) != 0) d = ADD(d, MUL(x, NUMBER("weight_decay", 0.01)));
  out[0] = kept(b, op, SUB(x, MUL(lr, d)));
  DONE;
}

/* ---- over all gradients ------------------------------------------------------------------------------------------ */

/* Sums x over all of it, to a number without dimensions. */
static ir_value *total(ir_builder *b, ir_value *x) {
  return x && x->type->rank ? graph_reduce(b, G_REDUCE_SUM, x, all_axes, false) : x;
}

static ir_value *collected(ir_builder *b, ir_value *sum, ir_value *x) { return sum ? ADD(sum, x) : x; }

static ir_value *squares_of_all(ir_builder *b, const ir_op *op) {
  const tsr_dtype t = norm_type(op);
  ir_value *sum = NULL;
  for (int i = 0; i < op->n_operands; i++) {
    ir_value *x = graph_cast(b, IN(i), t);
    sum = collected(b, sum, total(b, x ? MUL(x, x) : NULL));
  }
  return sum;
}

/* The root whose derivative at 0 is 0: of zeros, where the norm has none. */
static ir_value *root_of(ir_builder *b, ir_value *sum) {
  if (!sum) return NULL;
  ir_value *none = graph_compare(b, CMP_EQ, sum, LIKE(sum, 0));
  return SELECT(none, LIKE(sum, 0), graph_op1(b, G_SQRT, SELECT(none, LIKE(sum, 1), sum)));
}

static ir_value *norm_of_all(ir_builder *b, const ir_op *op) { return root_of(b, squares_of_all(b, op)); }

EXPAND(expand_norm) {
  out[0] = norm_of_all(b, op);
  DONE;
}

/* min(1, most / norm), which is NaN of a NaN. */
EXPAND(expand_clip) {
  const int n = op->n_operands;
  ir_value *norm = out[n] = norm_of_all(b, op);
  if (!norm) return false;
  ir_value *most = LIKE(norm, ir_get_float(op, "max_norm", 1)), *none = graph_compare(b, CMP_EQ, norm, LIKE(norm, 0));
  ir_value *share = graph_op2(b, G_MIN, DIV(most, SELECT(none, LIKE(norm, 1), norm)), LIKE(norm, 1));
  share = SELECT(none, LIKE(norm, 1), share);
  for (int i = 0; i < n; i++) {
    const tsr_dtype t = compose_float(TYPE(i)->dtype);
    out[i] = graph_cast(b, MUL(graph_cast(b, IN(i), t), graph_cast(b, share, t)), TYPE(i)->dtype);
  }
  DONE;
}

static ir_value *counted(ir_builder *b, ir_value *sum, graph_code what, ir_value *x) {
  ir_value *one = graph_number(b, TSR_I32, 1), *zero = graph_number(b, TSR_I32, 0);
  return collected(b, sum, total(b, SELECT(graph_op1(b, what, x), one, zero)));
}

EXPAND(expand_check) {
  out[0] = out[1] = NULL;
  for (int i = 0; i < op->n_operands; i++) {
    out[0] = counted(b, out[0], G_ISNAN, IN(i));
    out[1] = counted(b, out[1], G_ISINF, IN(i));
  }
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define DECAY(dflt, help) {"weight_decay", IR_A_FLOAT, false, dflt, help}
#define MOST_TENSORS 512
#define MASTER                                                                                                       \
  " x of f32 or f64 is the master copy: narrow gradients are widened to its type. Narrower x is computed in f32, as " \
  "its state is, and x' rounded by stochastic_cast of a key, i32[2], and a counter, i32[4], which it needs. What "    \
  "isn't finite stays so."

static const ir_opdef rows[] = {
    {COMPOSITE(SGD, "sgd", 3, 6, IR_VARIADIC), .operands_doc = "x, gradient, learning rate, velocity, key, counter",
     .types_doc = "f64, f32; with a key f16, bf16, fp8; the gradient any float", .infer = infer_sgd, BY(expand_sgd),
     .attrs = ATTRS({"momentum", IR_A_FLOAT, false, "0.0", "what is left of the velocity"},
                    DECAY("0.0", "of x, added to the gradient"),
                    {"nesterov", IR_A_BOOL, false, "false", "look ahead by momentum times the new velocity"}),
     .help = "A step of gradient descent: velocity' = momentum velocity + g with g = gradient + weight_decay x, and x' = "
             "x - rate velocity', or without a velocity x - rate g. Results x', velocity'." MASTER},
    {COMPOSITE(ADAMW, "adamw", 6, 8, 3),
     .operands_doc = "x, gradient, first moment, second moment, learning rate, step, key, counter",
     .types_doc = "f64, f32; with a key f16, bf16, fp8; the gradient any float, the step an integer",
     .infer = infer_adamw, BY(expand_adamw),
     .attrs = ATTRS({"beta1", IR_A_FLOAT, false, "0.9", "what is left of the first moment"},
                    {"beta2", IR_A_FLOAT, false, "0.999", "what is left of the second moment"},
                    {"eps", IR_A_FLOAT, false, "1e-8", "added to the root of the second"},
                    DECAY("0.01", "of x, times the rate, taken from it")),
     .help = "A step of AdamW: m' = beta1 m + (1 - beta1) g, v' = beta2 v + (1 - beta2) g^2, x' = x - rate (m^ / (sqrt v^ "
             "+ eps) + weight_decay x) with m^ = m' / (1 - beta1^step) and v^ alike; steps count from 1. Results x', m', "
             "v'." MASTER},
    {COMPOSITE(CHECK_NUMERICS, "check_numerics", 1, MOST_TENSORS, 2), .operands_doc = "x, ..", .types_doc = FLOATS,
     .infer = infer_check, .ext = ROW(GRAPH_COMPOSITE, .expand = expand_check, .adjoint = adjoint_none),
     .help = "How many elements of all operands are NaN, and how many are infinite: two numbers of i32, which wrap. The "
             "operands stay as they are and nothing fails: who asks decides what follows."},
    {COMPOSITE(GLOBAL_NORM, "global_norm", 1, MOST_TENSORS, 1), .operands_doc = "x, ..", .types_doc = FLOATS,
     .infer = infer_norm, BY(expand_norm),
     .help = "The root of the sum of squares of all elements of all operands, in f32, or f64 where one of them is. "
             "Infinite where a square is."},
    {COMPOSITE(CLIP_BY_GLOBAL_NORM, "clip_by_global_norm", 1, MOST_TENSORS, IR_VARIADIC), .operands_doc = "x, ..",
     .types_doc = FLOATS, .infer = infer_clip, BY(expand_clip),
     .attrs = ATTRS({"max_norm", IR_A_FLOAT, false, "1.0", "the norm that the results have at most"}),
     .help = "The operands times min(1, max_norm / global_norm), then that norm. An infinite norm makes finite elements "
             "0 and infinite ones NaN, a NaN makes all NaN."},
};

const ir_rows graph_compose_train_ops = {rows, sizeof rows / sizeof *rows};
