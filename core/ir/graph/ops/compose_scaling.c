/* core/ir/graph/ops/compose_scaling.c - composite ops that keep numbers within the range of narrow floats: the scale of
 * a loss that follows overflow, and quantisation with scales by tensor, channel or block, of what is there or of what
 * was there in the steps before. Rows, shape rules, expansions, derivatives. Scales are f32; an element is what is
 * stored times its scale. */
#include <math.h>
#include <string.h>

#include "core/ir/graph/ops/compose.h"

enum { SMALLEST_EXPONENT = -126, MOST_GRADIENTS = 512, MOST_MARGIN = 64 };

/* ---- which elements share a scale -------------------------------------------------------------------------------- */

typedef enum sharing { BY_TENSOR, BY_CHANNEL, BY_BLOCK, N_SHARING } sharing;
static const char *const sharing_names[N_SHARING] = {"tensor", "channel", "block"};

typedef struct grain {
  sharing how;
  int axis;      /* channel: each of its places has a scale; block: along which elements share one */
  int64_t block; /* neighbours; of all there are where the attribute is 0 */
} grain;

static sharing sharing_of(const ir_op *op) {
  const char *word = ir_get_str(op, "scales", sharing_names[BY_TENSOR]);
  int k = 0;
  while (k < N_SHARING && strcmp(word, sharing_names[k])) k++;
  return (sharing)k;
}

/* Of op's attributes, for a tensor like x. */
static grain grain_of(const ir_op *op, const ir_type *x) {
  grain g = {.how = sharing_of(op)};
  if (g.how == BY_TENSOR) return g;
  g.axis = compose_axis(op, "axis", -1, x->rank);
  const int64_t n = x->dims[g.axis], block = ir_get_int(op, "block", 0);
  g.block = block && (n == IR_DYNAMIC || block < n) ? block : n;
  return g;
}

/* The dimensions of the scales of a tensor like x; returns how many. */
static int scale_dims(const ir_type *x, grain g, int64_t *dims) {
  if (g.how == BY_TENSOR) return 0;
  for (int i = 0; i < x->rank; i++) dims[i] = g.how == BY_BLOCK || i == g.axis ? x->dims[i] : 1;
  if (g.how == BY_BLOCK && g.block == dims[g.axis]) dims[g.axis] = 1;
  else if (g.how == BY_BLOCK && dims[g.axis] != IR_DYNAMIC) dims[g.axis] = (dims[g.axis] + g.block - 1) / g.block;
  return x->rank;
}

static bool in_parts(const ir_type *x, grain g) { return g.how == BY_BLOCK && g.block != x->dims[g.axis]; }

/* x with its axis as whole blocks, [a, blocks, block, c]: the last is filled up with zeros. */
static ir_value *by_blocks(ir_builder *b, ir_value *x, grain g) {
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  if (!x) return NULL;
  const rows3 r = compose_rows3(x->type, g.axis);
  const int64_t blocks = (r.n + g.block - 1) / g.block;
  high[g.axis] = blocks * g.block - r.n;
  return graph_reshape(b, compose_pad(b, x, low, high, 0), 4, (int64_t[]){r.a, blocks, g.block, r.c});
}

/* Op c of the elements of x and their scales. */
static ir_value *with_scales(ir_builder *b, graph_code c, ir_value *x, ir_value *scale, grain g) {
  if (!x || !scale) return NULL;
  const ir_type *t = x->type;
  if (!in_parts(t, g)) return graph_op2(b, c, x, scale);
  const rows3 r = compose_rows3(t, g.axis);
  const int64_t blocks = (r.n + g.block - 1) / g.block;
  int64_t dims[TSR_MAX_RANK], zeros[TSR_MAX_RANK] = {0};
  memcpy(dims, t->dims, sizeof dims);
  dims[g.axis] = blocks * g.block;
  ir_value *s = graph_reshape(b, scale, 4, (int64_t[]){r.a, blocks, 1, r.c});
  x = by_blocks(b, x, g);
  x = x && s ? graph_reshape(b, graph_op2(b, c, x, s), t->rank, dims) : NULL;
  return graph_cut(b, x, zeros, t->dims);
}

/* ---- scales ------------------------------------------------------------------------------------------------------ */

/* The largest magnitude of those elements of x, of f32, that share a scale. */
static ir_value *magnitudes(ir_builder *b, ir_value *x, grain g) {
  bool axes[TSR_MAX_RANK] = {false};
  int64_t dims[TSR_MAX_RANK];
  if (!x) return NULL;
  const ir_type *t = x->type;
  ir_value *a = graph_op1(b, G_ABS, x);
  const int rank = scale_dims(t, g, dims);
  if (in_parts(t, g)) {
    axes[2] = true;
    a = graph_reduce(b, G_REDUCE_MAX, by_blocks(b, a, g), axes, true);
  } else {
    for (int i = 0; i < t->rank; i++) axes[i] = g.how == BY_TENSOR || (g.how == BY_BLOCK) == (i == g.axis);
    bool any = false;
    for (int i = 0; i < t->rank; i++) any |= axes[i];
    if (any) a = graph_reduce(b, G_REDUCE_MAX, a, axes, true);
  }
  return graph_reshape(b, a, rank, dims);
}

/* The smallest power of two that is not below r: found bit by bit of its exponent, by products that are exact, so that
 * it is the same on every device. What isn't finite, and what is above the largest power, stays. */
static ir_value *power_above(ir_builder *b, ir_value *r) {
  if (!r) return NULL;
  ir_value *p = graph_fill(b, r->type, ldexp(1, SMALLEST_EXPONENT));
  static const int steps[] = {127, 64, 32, 16, 8, 4, 2, 1};
  for (size_t i = 0; i < sizeof steps / sizeof *steps && !b->failed; i++) {
    ir_value *next = MUL(p, LIKE(r, ldexp(1, steps[i])));
    p = SELECT(graph_compare(b, CMP_LT, next, r), next, p);
  }
  if (b->failed) return NULL;
  ir_value *least = graph_compare(b, CMP_LE, r, p), *twice = MUL(p, LIKE(r, 2));
  return SELECT(graph_compare(b, CMP_LT, r, LIKE(r, INFINITY)), SELECT(least, p, twice), r);
}

/* What brings numbers up to `most` into the range of t, 2^margin below its largest one; 1 where all are 0. */
static ir_value *scale_for(ir_builder *b, const ir_op *op, ir_value *most, tsr_dtype t) {
  const double margin = ldexp(1, (int)ir_get_int(op, "margin", 0));
  if (!most) return NULL;
  ir_value *r = DIV(most, LIKE(most, dtype_get(t)->max / margin));
  r = graph_op2(b, G_MAX, r, LIKE(most, ldexp(1, SMALLEST_EXPONENT)));
  if (ir_get_bool(op, "powers_of_two", false)) r = power_above(b, r);
  return SELECT(graph_compare(b, CMP_LE, most, LIKE(most, 0)), LIKE(most, 1), r);
}

static tsr_dtype stored_as(const ir_op *op) { return tsr_dtype_parse(ir_get_str(op, "dtype", "fp8_e4m3")); }

/* x over its scales as t. A scale that isn't made of x itself may be too small: what is too large saturates. */
static ir_value *scaled_down(ir_builder *b, ir_value *x, ir_value *scale, grain g, tsr_dtype t, bool saturates) {
  const double most = dtype_get(t)->max;
  ir_value *y = with_scales(b, G_DIV, x, scale, g);
  if (y && saturates) y = graph_op2(b, G_MIN, graph_op2(b, G_MAX, y, LIKE(y, -most)), LIKE(y, most));
  return graph_cast(b, y, t);
}

/* ---- shape rules ------------------------------------------------------------------------------------------------- */

static tsr_status check_source(ir_op *op) {
  TSR_TRY(shape_floats(op));
  if (TYPE(0)->dtype == TSR_F64) return ir_error(op, "scales are f32: cast it", "takes no f64");
  return NULL;
}

static tsr_status check_stored(ir_op *op, tsr_dtype *out) {
  TSR_TRY(shape_dtype_attr(op, "dtype", out));
  if (!*out) *out = stored_as(op);
  if (*out == TSR_F16 || *out == TSR_F8E4M3 || *out == TSR_F8E5M2) return NULL;
  return ir_error(op, "fp8_e4m3, fp8_e5m2 or f16", "dtype is %s", tsr_dtype_name(*out));
}

static tsr_status check_sharing(ir_op *op) {
  const int64_t block = ir_get_int(op, "block", 0);
  const sharing how = sharing_of(op);
  if (how == N_SHARING)
    return ir_error(op, "tensor, channel or block", "unknown scales \"%s\"", ir_get_str(op, "scales", ""));
  if (how != BY_TENSOR) TSR_TRY(shape_axis(op, "axis", ir_get_int(op, "axis", -1), TYPE(0)->rank));
  if (block < 0) return ir_error(op, "elements, or 0 for all along the axis", "block is %lld", (long long)block);
  if (block && how != BY_BLOCK)
    return ir_error(op, "scales = \"block\"", "block %lld of scales by %s", (long long)block, sharing_names[how]);
  return NULL;
}

/* Operand i has the scales of the first, behind `lead` dimensions of its own. */
static tsr_status check_scales(const ir_op *op, int i, int lead, const char *name) {
  int64_t dims[TSR_MAX_RANK];
  const int rank = scale_dims(TYPE(0), grain_of(op, TYPE(0)), dims);
  char a[128], c[128];
  bool fits = TYPE(i)->dtype == TSR_F32 && TYPE(i)->rank == lead + rank;
  for (int k = 0; fits && k < rank; k++) fits = !shape_differs(TYPE(i)->dims[lead + k], dims[k]);
  if (fits && (!lead || TYPE(i)->dims[0])) return NULL;
  ir_type want = {.kind = IR_T_TENSOR, .dtype = TSR_F32, .rank = rank};
  memcpy(want.dims, dims, sizeof *dims * (size_t)rank);
  return ir_error(op, lead ? "the magnitudes of one step or more, each like the scales" : "one for those that share it",
                  "the %s is %s for scales %s", name, shape_text(TYPE(i), a, sizeof a), shape_text(&want, c, sizeof c));
}

static tsr_status infer_scales(ir_op *op, const ir_type **results) {
  int64_t dims[TSR_MAX_RANK];
  const int rank = scale_dims(TYPE(0), grain_of(op, TYPE(0)), dims);
  return shape_finish(op, TSR_F32, rank, dims, results);
}

static tsr_status infer_quantize(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  TSR_TRY(check_source(op));
  TSR_TRY(check_stored(op, &t));
  TSR_TRY(check_sharing(op));
  if (op->n_operands > 1) TSR_TRY(check_scales(op, 1, 0, "scale"));
  TSR_TRY(shape_finish(op, t, TYPE(0)->rank, TYPE(0)->dims, &results[0]));
  return infer_scales(op, &results[1]);
}

static tsr_status infer_delayed(ir_op *op, const ir_type **results) {
  const int64_t margin = ir_get_int(op, "margin", 0);
  tsr_dtype t;
  TSR_TRY(check_source(op));
  TSR_TRY(check_stored(op, &t));
  TSR_TRY(check_sharing(op));
  if (sharing_of(op) != BY_TENSOR && TYPE(0)->rank == TSR_MAX_RANK)
    return ir_error(op, "the history has one more", "scales of %d dimensions", TYPE(0)->rank);
  TSR_TRY(check_scales(op, 1, 1, "history"));
  if (margin < 0 || margin > MOST_MARGIN) return ir_error(op, "0 to 64", "margin is %lld", (long long)margin);
  TSR_TRY(shape_finish(op, t, TYPE(0)->rank, TYPE(0)->dims, &results[0]));
  TSR_TRY(infer_scales(op, &results[1]));
  results[2] = TYPE(1);
  return NULL;
}

static tsr_status infer_rescale(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  TSR_TRY(check_source(op));
  TSR_TRY(shape_dtype_attr(op, "dtype", &t));
  TSR_TRY(check_sharing(op));
  TSR_TRY(check_scales(op, 1, 0, "scale"));
  if (t != TSR_F32 && t != TSR_F16 && t != TSR_BF16)
    return ir_error(op, "f32, bf16 or f16", "dtype is %s", tsr_dtype_name(t));
  return shape_finish(op, t, TYPE(0)->rank, TYPE(0)->dims, results);
}

static tsr_status infer_fake(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  TSR_TRY(check_source(op));
  TSR_TRY(check_stored(op, &t));
  TSR_TRY(check_sharing(op));
  if (op->n_operands > 1) TSR_TRY(check_scales(op, 1, 0, "scale"));
  results[0] = TYPE(0);
  return NULL;
}

static tsr_status check_factor(const ir_op *op, const char *name, double dflt, double low, double high) {
  const double v = ir_get_float(op, name, dflt);
  if (v >= low && v <= high) return NULL;
  return ir_error(op, NULL, "%s is %g, not from %g to %g", name, v, low, high);
}

#define LARGEST_SCALE 16777216.0

static tsr_status infer_loss_scale(ir_op *op, const ir_type **results) {
  static const char *const names[] = {"scale", "count"};
  static const tsr_dtype types[] = {TSR_F32, TSR_I32};
  char a[128];
  TSR_TRY(shape_tensors(op));
  for (int i = 0; i < 2; i++)
    if (TYPE(i)->dtype != types[i] || TYPE(i)->rank)
      return ir_error(op, i ? "i32, without dimensions" : "f32, without dimensions", "the %s is %s", names[i],
                      shape_text(TYPE(i), a, sizeof a));
  for (int i = 2; i < op->n_operands; i++)
    if (!dtype_is_float(TYPE(i)->dtype))
      return ir_error(op, graph_no_cast, "gradient %d is %s", i - 2, tsr_dtype_name(TYPE(i)->dtype));
  TSR_TRY(check_factor(op, "growth", 2, 1, LARGEST_SCALE));
  TSR_TRY(check_factor(op, "backoff", 0.5, 1 / LARGEST_SCALE, 1));
  TSR_TRY(check_factor(op, "min", 1, ldexp(1, SMALLEST_EXPONENT), dtype_get(TSR_F32)->max));
  TSR_TRY(check_factor(op, "max", LARGEST_SCALE, ir_get_float(op, "min", 1), dtype_get(TSR_F32)->max));
  const int64_t interval = ir_get_int(op, "interval", 2000);
  if (interval < 1 || interval > INT32_MAX)
    return ir_error(op, "1 to 2147483647 steps", "interval is %lld", (long long)interval);
  if (op->n_results != op->n_operands + 1)
    return ir_error(op, "scale, count, whether to leave the step out, then each gradient", "has %d results, not %d",
                    op->n_operands + 1, op->n_results);
  results[0] = TYPE(0), results[1] = TYPE(1);
  TSR_TRY(shape_finish(op, TSR_BOOL, 0, NULL, &results[2]));
  for (int i = 2; i < op->n_operands; i++)
    TSR_TRY(shape_finish(op, compose_float(TYPE(i)->dtype), TYPE(i)->rank, TYPE(i)->dims, &results[i + 1]));
  return NULL;
}

/* ---- expansions -------------------------------------------------------------------------------------------------- */

EXPAND(expand_quantize) {
  const grain g = grain_of(op, TYPE(0));
  const bool given = op->n_operands > 1;
  ir_value *x = graph_cast(b, IN(0), TSR_F32);
  out[1] = given ? IN(1) : scale_for(b, op, magnitudes(b, x, g), stored_as(op));
  out[0] = scaled_down(b, x, out[1], g, stored_as(op), given);
  DONE;
}

/* The scale is that of the steps before, so that it is known before x is; x's own magnitude enters the history. */
EXPAND(expand_delayed) {
  const grain g = grain_of(op, TYPE(0));
  const ir_type *past = TYPE(1);
  const bool first[TSR_MAX_RANK] = {true};
  int64_t zeros[TSR_MAX_RANK] = {0}, dims[TSR_MAX_RANK];
  ir_value *x = graph_cast(b, IN(0), TSR_F32), *most = graph_reduce(b, G_REDUCE_MAX, IN(1), first, false);
  memcpy(dims, past->dims, sizeof dims);
  dims[0] = 1;
  ir_value *now = graph_reshape(b, magnitudes(b, x, g), past->rank, dims);
  dims[0] = past->dims[0] - 1;
  out[1] = scale_for(b, op, most, stored_as(op));
  out[0] = scaled_down(b, x, out[1], g, stored_as(op), true);
  out[2] = dims[0] ? graph_concat(b, 2, (ir_value *[]){now, graph_cut(b, IN(1), zeros, dims)}, 0) : now;
  DONE;
}

EXPAND(expand_rescale) {
  ir_value *x = graph_cast(b, IN(0), TSR_F32);
  out[0] = graph_cast(b, with_scales(b, G_MUL, x, IN(1), grain_of(op, TYPE(0))), OUT->type->dtype);
  DONE;
}

EXPAND(expand_fake) {
  const grain g = grain_of(op, TYPE(0));
  ir_value *both[2] = {NULL, NULL};
  if (!expand_quantize(b, op, both)) return false;
  ir_value *x = with_scales(b, G_MUL, graph_cast(b, both[0], TSR_F32), both[1], g);
  out[0] = graph_cast(b, x, TYPE(0)->dtype);
  DONE;
}

/* NaN and infinities make the largest magnitude NaN or infinite: one reduction a gradient tells. */
static ir_value *isnt_finite(ir_builder *b, const ir_op *op) {
  ir_value *most = NULL;
  for (int i = 2; i < op->n_operands; i++) {
    ir_value *x = magnitudes(b, graph_cast(b, IN(i), compose_float(TYPE(i)->dtype)), (grain){BY_TENSOR, 0, 0});
    ir_value *fits = x ? graph_compare(b, CMP_LT, x, LIKE(x, INFINITY)) : NULL;
    most = fits ? compose_join(b, G_AND, most, fits) : NULL;
    if (!most) return NULL;
  }
  return graph_op1(b, G_NOT, most);
}

EXPAND(expand_loss_scale) {
  ir_value *scale = IN(0), *zero = graph_number(b, TSR_I32, 0), *one = graph_number(b, TSR_I32, 1);
  ir_value *over = out[2] = isnt_finite(b, op);
  if (b->failed) return false;
  ir_value *count = ADD(IN(1), one), *most = graph_number(b, TSR_I32, (double)ir_get_int(op, "interval", 2000));
  ir_value *full = graph_compare(b, CMP_GE, count, most);
  ir_value *less = MUL(scale, LIKE(scale, ir_get_float(op, "backoff", 0.5))),
           *more = MUL(scale, LIKE(scale, ir_get_float(op, "growth", 2)));
  less = graph_op2(b, G_MAX, less, LIKE(scale, ir_get_float(op, "min", 1)));
  more = graph_op2(b, G_MIN, more, LIKE(scale, ir_get_float(op, "max", LARGEST_SCALE)));
  out[0] = SELECT(over, less, SELECT(full, more, scale));
  out[1] = SELECT(graph_op2(b, G_OR, over, full), zero, count);
  for (int i = 2; i < op->n_operands; i++) {
    const tsr_dtype t = compose_float(TYPE(i)->dtype);
    out[i + 1] = DIV(graph_cast(b, IN(i), t), graph_cast(b, scale, t));
  }
  DONE;
}

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

/* Rounding counts as no change and scales as constants (the straight-through estimator); what saturates gives nothing.
 * scale: by which the gradient is divided; NULL: not at all. */
static ir_value *straight_through(ir_builder *b, ir_op *op, ir_value *g, ir_value *scale, ir_value *saturates) {
  const grain r = grain_of(op, TYPE(0));
  if (!g) return NULL;
  g = graph_cast(b, g, TSR_F32);
  if (scale) g = with_scales(b, G_DIV, g, scale, r);
  if (saturates) {
    ir_value *y = graph_op1(b, G_ABS, with_scales(b, G_DIV, graph_cast(b, IN(0), TSR_F32), saturates, r));
    if (!y) return NULL;
    g = SELECT(graph_compare(b, CMP_LE, y, LIKE(y, dtype_get(stored_as(op))->max)), g, LIKE(y, 0));
  }
  return graph_cast(b, g, TYPE(0)->dtype);
}

BEGIN(adjoint_quantize) {
  grads[0] = straight_through(b, op, g, op->results[1], op->n_operands > 1 ? op->results[1] : NULL);
  END;
}

BEGIN(adjoint_fake) {
  grads[0] = straight_through(b, op, g, NULL, op->n_operands > 1 ? IN(1) : NULL);
  END;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define NARROW_FLOATS "f32, f16, bf16, fp8"
#define SHARING                                                                                                  \
  {"scales", IR_A_STR, false, "tensor", "tensor: one for all; channel: one for each place of `axis`; block: one " \
                                        "for each `block` neighbours along it"},                                \
  {"axis", IR_A_INT, false, "-1", "of scales by channel and block"},                                             \
  {"block", IR_A_INT, false, "0", "elements that share a scale; 0: all along the axis. The last may be fewer"}
#define POWERS {"powers_of_two", IR_A_BOOL, false, "false", "scales are rounded up to powers of two"}
#define STORED {"dtype", IR_A_STR, false, "fp8_e4m3", "fp8_e4m3, fp8_e5m2 or f16"}
#define SCALES_SHAPE \
  " Scales by tensor have no dimensions; by channel and block they have x's, of which those that share one are 1."

static const ir_opdef rows[] = {
    {COMPOSITE(LOSS_SCALE, "loss_scale", 3, 2 + MOST_GRADIENTS, IR_VARIADIC), .operands_doc = "scale, count, gradient, ..",
     .types_doc = FLOATS "; the scale f32, the count i32", .infer = infer_loss_scale, BY(expand_loss_scale),
     .attrs = ATTRS({"growth", IR_A_FLOAT, false, "2.0", "factor of the scale after `interval` good steps"},
                    {"backoff", IR_A_FLOAT, false, "0.5", "factor where a gradient isn't finite"},
                    {"interval", IR_A_INT, false, "2000", "good steps in a row until it grows"},
                    {"min", IR_A_FLOAT, false, "1.0", "the scale is at least this"},
                    {"max", IR_A_FLOAT, false, "16777216.0", "and at most this"}),
     .help = "Dynamic scaling of a loss: of gradients of the loss times the scale, its new scale and count of good steps "
             "(both are state, in and out), whether the step is to be left out since a gradient is NaN or infinite, and "
             "the gradients over the scale, in f32 or f64. A step that is left out sets the count to 0 and the scale to "
             "max(min, backoff scale), the `interval`-th good one to min(max, growth scale)."},
    {COMPOSITE(QUANTIZE, "quantize", 1, 2, 2), .operands_doc = "x, scale", .types_doc = NARROW_FLOATS,
     .infer = infer_quantize, .ext = ROW(GRAPH_COMPOSITE, .expand = expand_quantize, .adjoint = adjoint_quantize),
     .attrs = ATTRS(STORED, SHARING, POWERS),
     .help = "x over its scale, rounded to dtype, and the scale, f32: the largest magnitude of those that share it over "
             "the largest number of dtype, 1 where all are 0. With a scale as operand that one, and what is beyond the "
             "largest number becomes it, infinities too. The gradient goes through as if nothing were rounded, over the "
             "scale; what saturates has none." SCALES_SHAPE},
    {COMPOSITE(QUANTIZE_DELAYED, "quantize_delayed", 2, 2, 3), .operands_doc = "x, history", .types_doc = NARROW_FLOATS,
     .infer = infer_delayed, .ext = ROW(GRAPH_COMPOSITE, .expand = expand_delayed, .adjoint = adjoint_quantize),
     .attrs = ATTRS(STORED, SHARING, POWERS,
                    {"margin", IR_A_INT, false, "0", "the scale is larger by 2 to this power"}),
     .help = "Delayed scaling: quantize with the scale of the largest magnitude in the history, f32 [steps, ..], and the "
             "history with x's own magnitude in front and without the last. The history is state, in and out, at first "
             "zeros: the scale of those is 1. What is beyond the largest number of dtype becomes it." SCALES_SHAPE},
    {COMPOSITE(RESCALE, "rescale", 2, 2, 1), .operands_doc = "x, scale", .types_doc = NARROW_FLOATS,
     .infer = infer_rescale, BY(expand_rescale),
     .attrs = ATTRS({"dtype", IR_A_STR, false, "f32", "f32, bf16 or f16"}, SHARING),
     .help = "What quantize stored: x times its scale, computed in f32." SCALES_SHAPE},
    {COMPOSITE(FAKE_QUANTIZE, "fake_quantize", 1, 2, 1), .operands_doc = "x, scale", .types_doc = NARROW_FLOATS,
     .infer = infer_fake, .ext = ROW(GRAPH_COMPOSITE, .expand = expand_fake, .adjoint = adjoint_fake),
     .attrs = ATTRS(STORED, SHARING, POWERS),
     .help = "x as quantize and rescale give it back, in x's type: what training for quantised weights sees. The "
             "gradient is that of the result; what a scale that is given makes saturate has none." SCALES_SHAPE},
};

const ir_rows graph_compose_scaling_ops = {rows, sizeof rows / sizeof *rows};
