/* core/ir/graph/ops/conv.c - convolutions as composite ops: products of weights with the windows over an image
 * (patches.h), or sums over the kernel's elements where each channel has weights of its own. Weights are [out, in /
 * groups, kernel..] where channels are axis 1, [kernel.., in / groups, out] where they are last. */
#include <string.h>

#include "core/base/int_math.h"
#include "core/ir/graph/ops/conv.h"
#include "core/ir/graph/ops/conv_winograd.h"

enum {
  MOST_TAPS = 64, /* of a kernel whose elements are summed one by one */
  MOST_ROWS = 8   /* of a window that are put beside each other */
};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static tsr_status read_weights(const ir_op *op, conv *c, const int64_t **kernel) {
  const ir_type *x = TYPE(0), *w = TYPE(1);
  const bool any = op->def->code == G_CONV_TRANSPOSE;
  const int n = any ? x->rank - 2 : (int)op->def->code - G_CONV1D + 1;
  char a[128], b[128];
  if (any) TSR_TRY(window_rank(op, x, &(int){0}));
  if (x->rank != n + 2 || w->rank != n + 2)
    return ir_error(op, "images and weights have as many spatial axes as its name says", "has %s and %s",
                    shape_text(x, a, sizeof a), shape_text(w, b, sizeof b));
  const bool last = patches_last(op);
  *c = (conv){.p = {.groups = ir_get_int(op, "groups", 1), .channels = w->dims[last ? n : 1], .last = last},
              .n = x->dims[0], .out = w->dims[last ? n + 1 : 0]};
  *kernel = w->dims + (last ? 0 : 2);
  for (int i = 0; i < n; i++)
    if ((*kernel)[i] < 1 || (*kernel)[i] > INT32_MAX)
      return ir_error(op, "the weights' spatial extents must be known, and positive", "weights are %s",
                      shape_text(w, b, sizeof b));
  return NULL;
}

/* The result's and the bias's type: that of floats; of integers as of their product. */
static tsr_status conv_dtype(ir_op *op, tsr_dtype *out) {
  const tsr_dtype x = TYPE(0)->dtype, w = TYPE(1)->dtype;
  const bool bytes = tsr_dtype_size(x) == 1 && tsr_dtype_size(w) == 1;
  *out = x;
  TSR_TRY(shape_tensors(op));
  if (dtype_is_complex(x) || dtype_is_float(x)) {
    TSR_TRY(shape_floats(op));
    return shape_same_dtype(op, 0);
  }
  if (x == TSR_BOOL || w == TSR_BOOL || dtype_is_float(dtype_part(w)) || dtype_packed(x) || dtype_packed(w) ||
      (x != w && !bytes))
    return ir_error(op, graph_no_cast, "can't convolve %s with %s", tsr_dtype_name(x), tsr_dtype_name(w));
  if (bytes) *out = TSR_I32;
  return op->n_operands < 3 || TYPE(2)->dtype == *out
             ? NULL
             : ir_error(op, graph_no_cast, "sums are %s, the bias is %s", tsr_dtype_name(*out),
                        tsr_dtype_name(TYPE(2)->dtype));
}

/* The convolution whose image's gradient conv_transpose computes: from the result to the image. */
static tsr_status read_transpose(const ir_op *op, conv *c) {
  const int64_t *kernel;
  char a[128], b[128];
  TSR_TRY(read_weights(op, c, &kernel));
  TSR_TRY(window_read_back(op, kernel, &c->p.w));
  const ir_type *x = TYPE(0);
  const int64_t in = x->dims[c->p.last ? x->rank - 1 : 1], groups = c->p.groups;
  if (groups < 1 || shape_differs(in, c->out) || (c->out != IR_DYNAMIC && c->out % groups))
    return ir_error(op, "weights have a row per input channel, which come in groups", "%s by %s in %lld groups",
                    shape_text(x, a, sizeof a), shape_text(TYPE(1), b, sizeof b), (long long)groups);
  return NULL;
}

static tsr_status infer_transpose(ir_op *op, const ir_type **results) {
  conv c;
  int64_t dims[TSR_MAX_RANK];
  char a[128];
  TSR_TRY(shape_floats(op));
  TSR_TRY(shape_same_dtype(op, 0));
  TSR_TRY(read_transpose(op, &c));
  const ir_type *x = TYPE(0);
  int64_t out = c.p.channels;
  if (out != IR_DYNAMIC && __builtin_mul_overflow(out, c.p.groups, &out))
    return ir_error(op, NULL, "the output channels overflow 64 bits");
  dims[0] = x->dims[0];
  dims[c.p.last ? x->rank - 1 : 1] = out;
  for (int i = 0; i < c.p.w.n; i++) dims[c.p.w.a[i].axis] = c.p.w.a[i].n;
  if (op->n_operands > 2 && (TYPE(2)->rank != 1 || shape_differs(TYPE(2)->dims[0], out)))
    return ir_error(op, "one element per output channel", "bias is %s for %lld channels",
                    shape_text(TYPE(2), a, sizeof a), (long long)out);
  return shape_finish(op, x->dtype, x->rank, dims, results);
}

static tsr_status read_conv(const ir_op *op, conv *c) {
  const int64_t *kernel;
  char a[128], b[128];
  TSR_TRY(read_weights(op, c, &kernel));
  TSR_TRY(window_read(op, kernel, false, &c->p.w));
  const ir_type *x = TYPE(0);
  const int64_t in = x->dims[c->p.last ? x->rank - 1 : 1], groups = c->p.groups;
  if (groups < 1 || (c->out != IR_DYNAMIC && c->out % groups) || (in != IR_DYNAMIC && in % groups) ||
      shape_differs(in == IR_DYNAMIC ? in : in / groups, c->p.channels))
    return ir_error(op, "a group of input channels is as wide as the weights, and output channels come in groups",
                    "%s by %s in %lld groups", shape_text(x, a, sizeof a), shape_text(TYPE(1), b, sizeof b),
                    (long long)groups);
  return NULL;
}

static tsr_status check_algorithm(const ir_op *op, conv *c) {
  static const char remedy[] = "auto, direct, fft or winograd";
  const char *name = ir_get_str(op, "algorithm", "auto");
  c->whole = !dtype_is_float(dtype_part(TYPE(0)->dtype));
  if (!strcmp(name, "auto") || !strcmp(name, "direct")) return NULL;
  const bool fft = !strcmp(name, "fft");
  if (!fft && strcmp(name, "winograd")) return ir_error(op, remedy, "unknown algorithm \"%s\"", name);
  const char *why = fft ? conv_spectra_refusal(c) : conv_winograd_refusal(&c->p, TYPE(0)->dtype);
  return why ? ir_error(op, "algorithm = \"auto\"", "%s", why) : NULL;
}

static tsr_status infer_conv(ir_op *op, const ir_type **results) {
  conv c;
  int64_t dims[TSR_MAX_RANK];
  char a[128];
  tsr_dtype t;
  TSR_TRY(conv_dtype(op, &t));
  TSR_TRY(read_conv(op, &c));
  TSR_TRY(check_algorithm(op, &c));
  const ir_type *x = TYPE(0);
  dims[0] = x->dims[0];
  dims[c.p.last ? x->rank - 1 : 1] = c.out;
  for (int i = 0; i < c.p.w.n; i++) dims[c.p.w.a[i].axis] = c.p.w.a[i].out;
  if (op->n_operands > 2 && (TYPE(2)->rank != 1 || shape_differs(TYPE(2)->dims[0], c.out)))
    return ir_error(op, "one element per output channel", "bias is %s for %lld channels",
                    shape_text(TYPE(2), a, sizeof a), (long long)c.out);
  return shape_finish(op, t, x->rank, dims, results);
}

bool conv_has_constant_weights(const ir_op *op) {
  const ir_value *w = op->operands[1];
  while (w->def && w->def->n_operands == 1) w = w->def->operands[0];
  return w->def && graph_is(w->def, G_CONSTANT);
}

conv conv_of(const ir_op *op) {
  conv c;
  tsr_status_free(read_conv(op, &c));
  c.whole = !dtype_is_float(dtype_part(TYPE(0)->dtype));
  return c;
}

/* The channels' axis of its images. */
static int channel_axis(const patches *p) { return p->last ? p->w.n + 1 : 1; }

static ir_value *image(ir_builder *b, ir_value *y, const conv *c) {
  int64_t dims[TSR_MAX_RANK] = {c->n};
  dims[channel_axis(&c->p)] = c->out;
  for (int i = 0; i < c->p.w.n; i++) dims[c->p.w.a[i].axis] = c->p.w.a[i].out;
  return y ? graph_reshape(b, y, c->p.w.n + 2, dims) : NULL;
}

/* ---- by products ------------------------------------------------------------------------------------------------- */

static ir_value *transposed(ir_builder *b, ir_value *x, const int *perm) {
  return x ? graph_transpose(b, x, perm) : NULL;
}

/* x reshaped to dims, of which the first is left out if it is 1. */
static ir_value *grouped(ir_builder *b, ir_value *x, int rank, const int64_t *dims) {
  const int skip = dims[0] == 1;
  return x ? graph_reshape(b, x, rank - skip, dims + skip) : NULL;
}

/* Every window is one place of the image, `step` apart (1: all places are windows); 0: any steps. */
static bool is_places(const image_window *w, int64_t step) {
  bool all = true;
  for (int i = 0; i < w->n; i++) {
    const window_axis *a = &w->a[i];
    all &= a->kernel == 1 && (!step || a->stride == step) && !a->low && !a->high;
  }
  return all;
}
static bool is_pointwise(const image_window *w) { return is_places(w, 1); }

/* Windows of one place each with steps between them: the image's places are taken first, once, so that a plain product
 * reads them. */
static ir_value *take_places(ir_builder *b, ir_value *x, image_window *w) {
  if (!is_places(w, 0)) return x;
  for (int i = 0; i < w->n && x; i++) {
    window_axis *a = &w->a[i];
    if (a->stride > 1) x = window_part(b, x, a->axis, 0, a->out, a->stride);
    a->n = a->out, a->stride = 1;
  }
  return x;
}

/* y plus a number per channel, which are axis `axis` of y, or its last two where that is negative. */
static ir_value *add_bias(ir_builder *b, ir_value *y, ir_value *bias, int64_t groups, int64_t out, bool rows) {
  const int64_t dims[] = {groups, out / groups, 1};
  if (!bias || !y) return y;
  return ADD(y, rows ? bias : grouped(b, bias, 3, dims));
}

/* x by weights [(groups,) k, out / groups]; channels last. */
static ir_value *convolve_last(ir_builder *b, ir_value *x, ir_value *w, ir_value *bias, const conv *c) {
  const patches *p = &c->p;
  const int64_t g = p->groups, places = patches_places(&p->w);
  x = is_pointwise(&p->w) && g == 1 ? graph_reshape(b, x, 3, (int64_t[]){c->n, places, p->channels})
                                    : patches_build(b, x, p);
  ir_value *y = compose_oriented(b, x, w, false, false);
  if (g > 1) {
    y = transposed(b, y, (int[]){0, 2, 1, 3});
    y = y ? graph_reshape(b, y, 3, (int64_t[]){c->n, places, c->out}) : NULL;
  }
  return image(b, add_bias(b, y, bias, g, c->out, true), c);
}

/* Weights [(groups,) out / groups, k] by x; channels are axis 1. */
static ir_value *convolve_second(ir_builder *b, ir_value *x, ir_value *w, ir_value *bias, const conv *c) {
  const patches *p = &c->p;
  const int64_t g = p->groups, dims[] = {c->n, g, p->channels, patches_places(&p->w)};
  const bool pointwise = is_pointwise(&p->w);
  if (pointwise)
    x = g > 1 ? graph_reshape(b, x, 4, dims) : graph_reshape(b, x, 3, (int64_t[]){dims[0], dims[2], dims[3]});
  else x = patches_build(b, x, p);
  return image(b, add_bias(b, compose_oriented(b, w, x, false, !pointwise), bias, g, c->out, false), c);
}

/* The weights as a matrix that takes an image to the result or, `back`, the result's gradient to the image's. */
static ir_value *weights_of(ir_builder *b, ir_value *w, const conv *c, bool back) {
  const int64_t g = c->p.groups, in = c->p.channels, out = c->out / g, kernel = (int64_t)window_size(&c->p.w);
  if (c->p.last) {
    w = graph_reshape(b, w, 4, (int64_t[]){kernel, in, g, out});
    if (!back) w = g > 1 ? transposed(b, w, (int[]){2, 0, 1, 3}) : w;
    else w = transposed(b, w, (int[]){2, 0, 3, 1});
    return grouped(b, w, 3, (int64_t[]){g, back ? kernel * out : kernel * in, back ? in : out});
  }
  w = graph_reshape(b, w, 4, (int64_t[]){g, out, in, kernel});
  if (back) w = transposed(b, w, (int[]){0, 2, 1, 3});
  return grouped(b, w, 3, (int64_t[]){g, back ? in : out, (back ? out : in) * kernel});
}

static ir_value *convolve(ir_builder *b, ir_value *x, ir_value *w, ir_value *bias, const conv *c) {
  return c->p.last ? convolve_last(b, x, w, bias, c) : convolve_second(b, x, w, bias, c);
}

/* ---- channel by channel ------------------------------------------------------------------------------------------ */

/* Each channel is a group of its own, with few weights; of integers also an only one. */
static bool is_depthwise(const conv *c) {
  return (c->p.groups > 1 || c->whole) && c->p.channels == 1 && c->out == c->p.groups &&
         window_size(&c->p.w) <= MOST_TAPS;
}

/* The weights as [kernel, channels] or [channels, kernel, 1..], so that one of each channel broadcasts to an image. */
static ir_value *taps_of(ir_builder *b, ir_value *w, const conv *c) {
  const int64_t kernel = (int64_t)window_size(&c->p.w), dims[TSR_MAX_RANK] = {c->out, kernel, 1, 1};
  return c->p.last ? graph_reshape(b, w, 2, (int64_t[]){kernel, c->out}) : graph_reshape(b, w, c->p.w.n + 1, dims);
}

/* Weight number t of every channel. */
static ir_value *tap(ir_builder *b, ir_value *taps, const conv *c, int64_t t) {
  const int axis = !c->p.last;
  return window_part(b, taps, axis, c->p.reversed ? taps->type->dims[axis] - 1 - t : t, 1, 1);
}

static ir_value *by_channel(ir_builder *b, ir_value *x, ir_value *w, ir_value *bias, const conv *c) {
  const tsr_dtype t = x->type->dtype, sums = c->whole && tsr_dtype_size(t) == 1 ? TSR_I32 : t,
                  wide = c->whole ? sums : compose_float(t);
  const int64_t dims[TSR_MAX_RANK] = {c->out, 1, 1, 1};
  int64_t at[WINDOW_AXES] = {0}, number = 0;
  ir_value *sum = NULL, *padded = window_surround(b, x, &c->p.w, 0), *taps = taps_of(b, w, c);
  do {
    ir_value *one = graph_cast(b, window_element(b, padded, &c->p.w, at), wide);
    one = one ? MUL(one, graph_cast(b, tap(b, taps, c, number++), wide)) : NULL;
    sum = sum ? ADD(sum, one) : one;
  } while (!b->failed && window_next(&c->p.w, at));
  if (bias && sum) sum = ADD(sum, graph_cast(b, c->p.last ? bias : graph_reshape(b, bias, c->p.w.n + 1, dims), wide));
  return graph_cast(b, sum, sums);
}

/* What op gives where there is nothing to sum: zeros, and its bias. */
static bool is_empty(ir_builder *b, const ir_op *op, const patches *p, ir_value **out) {
  int64_t dims[TSR_MAX_RANK] = {OUT->type->dims[channel_axis(p)], 1, 1, 1};
  if (ir_type_count(OUT->type) && ir_type_count(TYPE(0)) && ir_type_count(TYPE(1))) return false;
  *out = graph_fill(b, OUT->type, 0);
  if (op->n_operands > 2 && ir_type_count(OUT->type))
    *out = ADD(*out, p->last ? IN(2) : graph_reshape(b, IN(2), p->w.n + 1, dims));
  return true;
}

static bool expand(ir_builder *b, const ir_op *op, ir_value **out, bool windows) {
  conv c = conv_of(op);
  if (!strcmp(ir_get_str(op, "algorithm", "auto"), "winograd"))
    conv_winograd_cycles(&c.p, c.n, c.out, conv_has_constant_weights(op), &c.p.winograd);
  ir_value *bias = op->n_operands > 2 ? IN(2) : NULL;
  if (is_empty(b, op, &c.p, out)) DONE;
  windows &= !c.p.last && TYPE(0)->dtype == TSR_F32;
  ir_value *x = take_places(b, IN(0), &c.p.w);
  if (x) out[0] = is_depthwise(&c) && !windows ? by_channel(b, x, IN(1), bias, &c)
                                               : convolve(b, x, weights_of(b, IN(1), &c, false), bias, &c);
  DONE;
}

EXPAND(expand_conv) { return expand(b, op, out, false); }
EXPAND(expand_windows) { return expand(b, op, out, true); }

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

/* What c's windows did, backwards: of *g, the gradient of its result, to that of its image. */
static conv backward(ir_builder *b, const conv *c, ir_value **g) {
  conv back = *c;
  *g = window_dilate(b, *g, &c->p.w);
  for (int i = 0; i < c->p.w.n && *g; i++) {
    const window_axis *a = &c->p.w.a[i];
    const int64_t length = a->out * a->stride, left = a->n + a->low - length;
    window_axis *r = &back.p.w.a[i];
    if (left < 0) *g = window_part(b, *g, a->axis, 0, length + left, 1); /* zeros at its end */
    *r = (window_axis){.axis = a->axis, .n = length + min64(left, 0), .out = a->n, .kernel = a->kernel, .stride = 1,
                       .dilation = a->dilation, .low = window_span(a) - 1 - a->low, .high = max64(left, 0)};
  }
  back.p.reversed = !c->p.reversed;
  back.p.channels = c->out / c->p.groups;
  back.out = c->p.groups * c->p.channels;
  return back;
}

/* The gradient of c's image from that of its result. */
static ir_value *image_gradient(ir_builder *b, ir_value *g, ir_value *w, ir_value *bias, const conv *c) {
  const conv back = backward(b, c, &g);
  if (!g) return NULL;
  if (is_depthwise(c)) return by_channel(b, g, w, bias, &back);
  return convolve(b, g, weights_of(b, w, c, true), bias, &back);
}

/* The gradient of c's weights, of type t. */
static ir_value *weights_gradient(ir_builder *b, ir_value *x, ir_value *g, const conv *c, const ir_type *t) {
  patches p = c->p;
  p.flat = true;
  const int64_t groups = p.groups, each = c->out / groups, places = patches_places(&p.w), rows = c->n * places;
  ir_value *a = is_pointwise(&p.w) && groups == 1 && p.last ? graph_reshape(b, x, 2, (int64_t[]){rows, p.channels})
                                                            : patches_build(b, x, &p);
  if (p.last) {
    g = graph_reshape(b, g, 3, (int64_t[]){rows, groups, each});
    g = grouped(b, groups > 1 ? transposed(b, g, (int[]){1, 0, 2}) : g, 3, (int64_t[]){groups, rows, each});
    g = compose_oriented(b, a, g, true, false);
    if (groups > 1) g = transposed(b, g, (int[]){1, 0, 2});
  } else {
    g = graph_reshape(b, g, 4, (int64_t[]){c->n, groups, each, places});
    g = grouped(b, transposed(b, g, (int[]){1, 2, 0, 3}), 3, (int64_t[]){groups, each, rows});
    g = compose_oriented(b, g, a, false, false);
  }
  return g ? graph_reshape(b, g, t->rank, t->dims) : NULL;
}

/* The gradient of a bias: the sum over all but the channels. */
static ir_value *bias_gradient(ir_builder *b, ir_value *g, const patches *p) {
  bool axes[TSR_MAX_RANK] = {true};
  for (int i = 0; i < p->w.n; i++) axes[p->w.a[i].axis] = true;
  return graph_reduce(b, G_REDUCE_SUM, g, axes, false);
}

BEGIN(adjoint_conv) {
  const conv c = conv_of(op);
  if (c.whole) END;
  if (op->n_operands > 2) grads[2] = bias_gradient(b, g, &c.p);
  if (is_empty(b, op, &c.p, &grads[0])) {
    for (int i = 0; i < 2; i++) grads[i] = graph_fill(b, TYPE(i), 0);
    END;
  }
  grads[0] = image_gradient(b, g, IN(1), NULL, &c);
  grads[1] = weights_gradient(b, IN(0), g, &c, TYPE(1));
  END;
}

static conv transpose_of(const ir_op *op) {
  conv c;
  tsr_status_free(read_transpose(op, &c));
  return c;
}

/* Windows of the result lie side by side: each of its elements comes from one of the image, and no sum needs zeros. */
static bool is_side_by_side(const conv *c) {
  bool is = !c->p.last && c->p.groups == 1 && c->p.w.n <= 2;
  for (int i = 0; i < c->p.w.n; i++) {
    const window_axis *a = &c->p.w.a[i];
    is &= a->stride > 1 && a->stride <= MOST_ROWS && a->kernel == a->stride && a->dilation == 1;
    is &= !a->low && !a->high && a->n == a->out * a->stride;
  }
  return is;
}

/* One product for all elements of a window, [first kernel axis, out, last one] by places; then the last axis's elements
 * are put behind each place, and the first one's rows beside each other, so that all is done by large tiles. */
static ir_value *side_by_side(ir_builder *b, ir_value *x, ir_value *w, const conv *c) {
  const window_axis *a = c->p.w.a, *last = &a[c->p.w.n - 1];
  const int64_t rows = c->p.w.n > 1 ? a[0].kernel : 1, places = patches_places(&c->p.w), out = c->p.channels,
                line = last->n, lines = c->n * out * places / last->out;
  w = transposed(b, graph_reshape(b, w, 4, (int64_t[]){c->out, out, rows, last->kernel}), (int[]){2, 1, 3, 0});
  w = w ? graph_reshape(b, w, 2, (int64_t[]){rows * out * last->kernel, c->out}) : NULL;
  x = graph_reshape(b, x, 3, (int64_t[]){c->n, c->out, places});
  ir_value *y = w && x ? compose_oriented(b, w, x, false, false) : NULL, *part[MOST_ROWS];
  y = y ? graph_reshape(b, y, 3, (int64_t[]){c->n * rows * out, last->kernel, places}) : NULL;
  y = transposed(b, y, (int[]){0, 2, 1});
  if (rows > 1 && y) {
    y = graph_reshape(b, y, 3, (int64_t[]){c->n, rows, lines / c->n * line});
    for (int64_t i = 0; i < rows; i++) {
      part[i] = window_part(b, y, 1, i, 1, 1);
      part[i] = part[i] ? graph_reshape(b, part[i], 2, (int64_t[]){lines, line}) : NULL;
    }
    y = b->failed ? NULL : graph_concat(b, (int)rows, part, 1);
  }
  return y;
}

static ir_value *by_places(ir_builder *b, const ir_op *op, const conv *c) {
  const int64_t dims[TSR_MAX_RANK] = {c->p.channels, 1, 1, 1};
  ir_value *y = side_by_side(b, IN(0), IN(1), c);
  y = y ? graph_reshape(b, y, OUT->type->rank, OUT->type->dims) : NULL;
  return y && op->n_operands > 2 ? ADD(y, graph_reshape(b, IN(2), c->p.w.n + 1, dims)) : y;
}

EXPAND(expand_transpose) {
  const conv c = transpose_of(op);
  if (is_empty(b, op, &c.p, out)) DONE;
  if (is_side_by_side(&c)) {
    out[0] = by_places(b, op, &c);
    DONE;
  }
  out[0] = image_gradient(b, IN(0), IN(1), op->n_operands > 2 ? IN(2) : NULL, &c);
  DONE;
}

BEGIN(adjoint_transpose) {
  const conv c = transpose_of(op);
  if (op->n_operands > 2) grads[2] = bias_gradient(b, g, &c.p);
  if (is_empty(b, op, &c.p, &grads[0])) {
    for (int i = 0; i < 2; i++) grads[i] = graph_fill(b, TYPE(i), 0);
    END;
  }
  grads[0] = is_depthwise(&c) ? by_channel(b, g, IN(1), NULL, &c)
                              : convolve(b, g, weights_of(b, IN(1), &c, false), NULL, &c);
  grads[1] = weights_gradient(b, g, IN(0), &c, TYPE(1));
  END;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define GROUPS {"groups", IR_A_INT, false, "1", "channels are divided into as many parts, convolved each for itself"}
#define ALGORITHM \
  {"algorithm", IR_A_STR, false, "auto", \
   "direct: sums of products; fft: products of spectra; winograd: by Winograd's transforms, of 3x3 windows on the CPU; " \
   "both also where rounding must not change; auto: the cheapest"}
#define CONV(CODE, s) \
  {COMPOSITE(CODE, s, 2, 3, 1), .operands_doc = "x, weights, bias", \
   .types_doc = FLOATS ", i64, i32, i16, i8, u64, u32, u16, u8; i8 and u8 give i32, which their bias is", .infer = infer_conv, \
   .ext = ROW(GRAPH_COMPOSITE, .adjoint = adjoint_conv, .expand = expand_conv, .expand_windows = expand_windows, \
              .by_spectra = conv_by_spectra), \
   .attrs = ATTRS(WINDOW_ATTRS, GROUPS, ALGORITHM), \
   .help = "Sums of products of windows over x with weights, [out, in / groups, kernel..] for nchw, [kernel.., in / " \
           "groups, out] for nhwc, plus a bias per output channel; padding is zeros."}

static const ir_opdef rows[] = {
    CONV(CONV1D, "conv1d"),
    CONV(CONV2D, "conv2d"),
    CONV(CONV3D, "conv3d"),
    {COMPOSITE(CONV_TRANSPOSE, "conv_transpose", 2, 3, 1), .operands_doc = "x, weights, bias", .types_doc = FLOATS,
     .infer = infer_transpose,
     .ext = ROW(GRAPH_COMPOSITE, .adjoint = adjoint_transpose, .expand = expand_transpose),
     .attrs = ATTRS(WINDOW_ATTRS, GROUPS,
                    {"output_padding", IR_A_ARRAY, false, NULL, "elements of the result behind each spatial axis that "
                                                                "no window needs, fewer than a stride; 0 if absent"}),
     .help = "A convolution backwards, of 1 to 3 spatial axes: every element of x adds its window of weights to the "
             "result, [in, out / groups, kernel..] for nchw, [kernel.., out / groups, in] for nhwc, plus a bias per "
             "output channel. Padding is cut from the result: what a convolution with the same attributes makes of "
             "the result has x's extents."},
};

const ir_rows graph_conv_ops = {rows, sizeof rows / sizeof *rows};
