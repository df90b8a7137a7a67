/* core/ir/graph/ops/compose_pool.c - pooling as composite ops: rows, shape rules, expansions, derivatives. A window of
 * few elements is one elementwise kernel that reads a strided slice of the padded image for each of them; a larger one
 * goes axis by axis, a long axis by doubling: sums over 2 n neighbours from two over n. */
#include <math.h>
#include <string.h>

#include "core/base/int_math.h"
#include "core/ir/graph/ops/compose_window.h"

enum { MOST_ELEMENTS = 27 }; /* of a window that one kernel reads: each is an argument of it */
enum { MOST_COUNTS = 1024 }; /* of elements in windows along an axis that are constants */

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static tsr_status read_pool(const ir_op *op, image_window *w) {
  int64_t kernel[TSR_MAX_RANK];
  int n;
  const bool given = ir_get_attr(op, "kernel") != NULL;
  TSR_TRY(window_rank(op, TYPE(0), &n));
  if (given) TSR_TRY(shape_list_attr(op, "kernel", n, false, 0, kernel));
  for (int i = 0; i < n && given; i++)
    if (kernel[i] < 1 || kernel[i] > INT32_MAX)
      return ir_error(op, NULL, "kernel entry %lld is out of range", (long long)kernel[i]);
  return window_read(op, given ? kernel : NULL, ir_get_bool(op, "ceil_mode", false), w);
}

static tsr_status infer_pool(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = TYPE(0);
  image_window w;
  int64_t dims[TSR_MAX_RANK];
  if (x->dtype == TSR_BOOL) return ir_error(op, "cast to a number first", "does not take bool");
  TSR_TRY(read_pool(op, &w));
  memcpy(dims, x->dims, sizeof dims);
  for (int i = 0; i < w.n; i++) dims[w.a[i].axis] = w.a[i].out;
  return shape_finish(op, x->dtype, x->rank, dims, results);
}

static tsr_status infer_average(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  return infer_pool(op, results);
}

/* Of an op that was verified. */
static image_window window_of(const ir_op *op) {
  image_window w;
  tsr_status_free(read_pool(op, &w));
  return w;
}

/* The one window is the image, without padding: a reduction over these axes. */
static bool is_reduction(const image_window *w, bool axes[TSR_MAX_RANK]) {
  bool all = true;
  memset(axes, 0, sizeof *axes * TSR_MAX_RANK);
  for (int i = 0; i < w->n; i++) {
    const window_axis *a = &w->a[i];
    axes[a->axis] = true;
    all &= a->out == 1 && !a->low && !a->high && a->kernel == a->n && (a->dilation == 1 || a->n == 1);
  }
  return all;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Op c over the elements of each window, as numbers of type t. */
static ir_value *over_elements(ir_builder *b, graph_code c, ir_value *x, const image_window *w, tsr_dtype t) {
  int64_t at[WINDOW_AXES] = {0};
  ir_value *sum = NULL;
  do sum = compose_join(b, c, sum, graph_cast(b, window_element(b, x, w, at), t));
  while (!b->failed && window_next(w, at));
  return sum;
}

/* The same along one axis: from sums over 1, 2, 4, .. neighbours those that the kernel's binary digits name. */
typedef struct doubling {
  int n, n_parts;
  ir_value *level[32];  /* over 2^i neighbours */
  ir_value *sum[32];    /* of the first parts */
  int of[32];           /* the level that a part is from */
  int64_t from[32];     /* where in it the part begins */
  int64_t places;
} doubling;

static ir_value *by_doubling(ir_builder *b, graph_code c, ir_value *x, const window_axis *a, doubling *z) {
  int64_t length = (a->out - 1) * a->stride + window_span(a), got = 0; /* places of the level; elements taken */
  ir_value *sum = NULL;
  z->places = (a->out - 1) * a->stride + 1;
  z->n = z->n_parts = 0;
  for (int64_t n = 1; x; n *= 2) {
    z->level[z->n++] = x;
    if (a->kernel & n) {
      z->of[z->n_parts] = z->n - 1;
      z->from[z->n_parts] = got * a->dilation;
      sum = compose_join(b, c, sum, window_part(b, x, a->axis, got * a->dilation, z->places, 1));
      z->sum[z->n_parts++] = sum;
      got += n;
    }
    if (2 * n > a->kernel) break;
    length -= n * a->dilation;
    x = graph_op2(b, c, window_part(b, x, a->axis, 0, length, 1),
                  window_part(b, x, a->axis, n * a->dilation, length, 1));
  }
  return window_part(b, sum, a->axis, 0, a->out, a->stride);
}

/* The last axis alone, and the others. */
static image_window last_axis(const image_window *w, image_window *rest) {
  *rest = *w;
  rest->n--;
  return (image_window){1, {w->a[rest->n]}};
}

/* Op c over each window of x, in type t; what lies beyond x has this value. */
static ir_value *over_windows(ir_builder *b, graph_code c, ir_value *x, const image_window *w, tsr_dtype t,
                              double beyond) {
  const bool few = window_size(w) <= MOST_ELEMENTS;
  if (few || w->n == 1) {
    doubling z;
    x = window_surround(b, x, w, beyond);
    return few ? over_elements(b, c, x, w, t) : by_doubling(b, c, graph_cast(b, x, t), &w->a[0], &z);
  }
  image_window rest, one = last_axis(w, &rest);
  return over_windows(b, c, over_windows(b, c, x, &one, t, beyond), &rest, t, beyond);
}

/* What w's windows did, backwards: windows at every place of the image, and g spread so that their elements are those
 * of the windows that had the place among theirs. */
static image_window backward(ir_builder *b, const image_window *w, ir_value **g, int n) {
  image_window back = *w;
  for (int k = 0; k < n; k++) {
    int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
    g[k] = window_dilate(b, g[k], w);
    for (int i = 0; i < w->n && g[k]; i++) {
      const window_axis *a = &w->a[i];
      const int64_t length = a->out * a->stride, left = a->n + a->low - length;
      low[a->axis] = window_span(a) - 1 - a->low;
      if (left >= 0) high[a->axis] = left;
      else g[k] = window_part(b, g[k], a->axis, 0, length + left, 1); /* zeros at its end */
    }
    g[k] = compose_pad(b, g[k], low, high, 0);
  }
  for (int i = 0; i < w->n; i++) {
    back.a[i].n = w->a[i].n + window_span(&w->a[i]) - 1, back.a[i].out = w->a[i].n;
    back.a[i].stride = 1, back.a[i].low = back.a[i].high = 0;
  }
  return back;
}

/* ---- max_pool ---------------------------------------------------------------------------------------------------- */

static double lowest(tsr_dtype t) {
  return dtype_is_float(t) ? -INFINITY : dtype_get(t)->is_signed ? -dtype_get(t)->max - 1 : 0;
}

EXPAND(expand_max_pool) {
  const image_window w = window_of(op);
  const tsr_dtype t = TYPE(0)->dtype;
  bool axes[TSR_MAX_RANK];
  if (!ir_type_count(OUT->type)) out[0] = graph_fill(b, OUT->type, 0);
  else if (is_reduction(&w, axes)) out[0] = graph_reduce(b, G_REDUCE_MAX, IN(0), axes, true);
  else out[0] = over_windows(b, G_MAX, IN(0), &w, t, lowest(t));
  DONE;
}

/* 1 where x is the largest of its window, else 0. */
static ir_value *is_largest(ir_builder *b, ir_value *x, ir_value *y, ir_value *then, tsr_dtype t) {
  if (!x || !y) return NULL;
  return graph_op3(b, G_SELECT, graph_compare(b, CMP_EQ, x, y), then, graph_number(b, t, 0));
}

/* x's part of g, the gradient of max(x, y). */
static ir_value *won(ir_builder *b, ir_value *x, ir_value *y, ir_value *g, tsr_dtype t) {
  if (!x || !y || !g) return NULL;
  ir_value *even = is_largest(b, x, y, MUL(g, graph_number(b, t, 0.5)), t);
  return even ? SELECT(graph_compare(b, CMP_GT, x, y), g, even) : NULL;
}

/* sum, if any, plus g as the part from `from` on of `length` places along an axis. */
static ir_value *add_part(ir_builder *b, ir_value *sum, ir_value *g, int axis, int64_t from, int64_t length) {
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  if (!g) return NULL;
  low[axis] = from, high[axis] = length - from - g->type->dims[axis];
  return compose_join(b, G_ADD, sum, compose_pad(b, g, low, high, 0));
}

/* Along one long axis: each max of two that doubling takes hands its gradient on. */
static ir_value *share_by_doubling(ir_builder *b, ir_value *x, ir_value *g, const image_window *w, tsr_dtype t) {
  const window_axis *a = &w->a[0];
  doubling z;
  ir_value *of[32] = {NULL};
  by_doubling(b, G_MAX, window_surround(b, x, w, lowest(x->type->dtype)), a, &z);
  if (b->failed) return NULL;
  g = window_part(b, window_dilate(b, g, w), a->axis, 0, z.places, 1);
  for (int i = z.n_parts - 1; i >= 0 && !b->failed; i--) {
    ir_value *from = z.level[z.of[i]], *mine = g;
    if (i) {
      ir_value *last = window_part(b, from, a->axis, z.from[i], z.places, 1);
      mine = won(b, last, z.sum[i - 1], g, t);
      g = won(b, z.sum[i - 1], last, g, t);
    }
    of[z.of[i]] = add_part(b, NULL, mine, a->axis, z.from[i], from->type->dims[a->axis]);
  }
  for (int i = z.n - 1; i > 0 && !b->failed; i--) {
    const int64_t length = z.level[i]->type->dims[a->axis], below = z.level[i - 1]->type->dims[a->axis];
    const int64_t apart = a->dilation << (i - 1); /* the image may reach further than its windows */
    ir_value *near = window_part(b, z.level[i - 1], a->axis, 0, length, 1),
             *far = window_part(b, z.level[i - 1], a->axis, apart, length, 1);
    of[i - 1] = add_part(b, of[i - 1], won(b, near, far, of[i], t), a->axis, 0, below);
    of[i - 1] = add_part(b, of[i - 1], won(b, far, near, of[i], t), a->axis, apart, below);
  }
  const int64_t length = z.level[0]->type->dims[a->axis], behind = a->low + a->n - length; /* what no window reaches */
  ir_value *sum = window_part(b, of[0], a->axis, a->low, behind > 0 ? length - a->low : a->n, 1);
  return behind > 0 ? add_part(b, NULL, sum, a->axis, 0, a->n) : sum;
}

/* The gradient of x from that of the largest in windows of x, in type t: elements that are equal share it. */
static ir_value *share(ir_builder *b, ir_value *x, ir_value *g, const image_window *w, tsr_dtype t) {
  const double least = lowest(x->type->dtype);
  int64_t at[WINDOW_AXES] = {0};
  if (window_size(w) > MOST_ELEMENTS && w->n == 1) return share_by_doubling(b, x, g, w, t);
  if (window_size(w) > MOST_ELEMENTS) {
    image_window rest, one = last_axis(w, &rest);
    ir_value *y = over_windows(b, G_MAX, x, &one, x->type->dtype, least);
    g = y ? share(b, y, g, &rest, t) : NULL;
    return g ? share(b, x, g, &one, t) : NULL;
  }
  ir_value *y = over_windows(b, G_MAX, x, w, x->type->dtype, least), *wide = window_surround(b, x, w, least);
  ir_value *ties = NULL, *sum = NULL;
  do ties = compose_join(b, G_ADD, ties, is_largest(b, window_element(b, wide, w, at), y, graph_number(b, t, 1), t));
  while (!b->failed && window_next(w, at));
  ir_value *spread[2] = {y, DIV(g, ties)};
  memset(at, 0, sizeof at);
  const image_window back = backward(b, w, spread, 2);
  do
    sum = compose_join(
        b, G_ADD, sum,
        is_largest(b, x, window_element(b, spread[0], &back, at), window_element(b, spread[1], &back, at), t));
  while (!b->failed && window_next(&back, at));
  return sum;
}

BEGIN(adjoint_max_pool) {
  const image_window w = window_of(op);
  const tsr_dtype t = TYPE(0)->dtype, wide = compose_float(t);
  bool axes[TSR_MAX_RANK];
  if (!dtype_is_float(t)) END;
  if (!ir_type_count(OUT->type)) {
    grads[0] = graph_fill(b, TYPE(0), 0);
  } else if (is_reduction(&w, axes)) {
    ir_value *hit = is_largest(b, IN(0), compose_spread(b, OUT, TYPE(0)), graph_number(b, t, 1), t);
    ir_value *ties = hit ? graph_reduce(b, G_REDUCE_SUM, hit, axes, true) : NULL;
    grads[0] = MUL(hit, compose_spread(b, DIV(g, ties), TYPE(0)));
  } else {
    g = share(b, IN(0), graph_cast(b, g, wide), &w, wide);
    grads[0] = graph_cast(b, g, t);
  }
  END;
}

/* ---- average_pool ------------------------------------------------------------------------------------------------ */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* How many elements of the window at place o are counted: of the image, with its padding where `padded`. */
static int64_t counted(const window_axis *a, int64_t o, bool padded) {
  const int64_t start = o * a->stride - a->low, from = padded ? -a->low : 0, to = a->n + (padded ? a->high : 0);
  const int64_t first = max64(0, -floor_div(start - from, a->dilation)),
                last = min64(a->kernel - 1, floor_div(to - 1 - start, a->dilation));
  return max64(0, last - first + 1);
}

static bool is_whole(const window_axis *a, bool padded) { /* every window counts all its elements */
  return counted(a, 0, padded) == a->kernel && counted(a, a->out - 1, padded) == a->kernel;
}

/* counted() by place along one axis of `like`, computed where it is read. */
static ir_value *computed_counts(ir_builder *b, const window_axis *a, bool padded, tsr_dtype t, const ir_type *like) {
  const int64_t from = padded ? -a->low : 0, to = a->n + (padded ? a->high : 0), d = a->dilation;
  const bool near = a->out < INT32_MAX / 4 / a->stride && to < INT32_MAX / 4 && window_span(a) < INT32_MAX / 4;
  const tsr_dtype index = near ? TSR_I32 : TSR_I64;
#define NUMBER(v) graph_number(b, index, (double)(v))
  ir_value *start = SUB(MUL(graph_iota(b, index, like, a->axis), NUMBER(a->stride)), NUMBER(a->low));
  ir_value *first = graph_op2(b, G_MAX, SUB(NUMBER(from + d - 1), start), NUMBER(0));
  ir_value *last = SUB(NUMBER(to - 1), start);
  if (d > 1) first = DIV(first, NUMBER(d)), last = DIV(last, NUMBER(d));
  ir_value *n = SUB(graph_op2(b, G_MIN, ADD(last, NUMBER(1)), NUMBER(a->kernel)), first);
  if (d > 1) n = graph_op2(b, G_MAX, n, NUMBER(1)); /* holes of the window may hold all of the image */
#undef NUMBER
  return graph_cast(b, n, t);
}

/* The same as a constant, of `like`'s dimensions along the axis alone. */
static ir_value *constant_counts(ir_builder *b, const window_axis *a, bool padded, tsr_dtype t, const ir_type *like) {
  int64_t dims[TSR_MAX_RANK];
  double n[MOST_COUNTS]; /* holds elements of any type of floats */
  for (int i = 0; i < like->rank; i++) dims[i] = i == a->axis ? a->out : 1;
  for (int64_t o = 0; o < a->out; o++) dtype_store(t, n, (size_t)o, (double)max64(1, counted(a, o, padded)));
  return graph_elements(b, ir_type_tensor(b->m, t, like->rank, dims), n);
}

/* sum divided by how many elements each window of op counts. Few counts are constants of a plane, which all planes
 * share: a kernel that computes them in integers does more for these than for the sums. */
static ir_value *divided(ir_builder *b, const ir_op *op, const image_window *w, ir_value *sum) {
  const bool padded = ir_get_bool(op, "count_include_pad", false);
  double all = 1;
  if (!sum) return NULL;
  const tsr_dtype t = sum->type->dtype;
  int64_t plane[TSR_MAX_RANK];
  ir_value *few = NULL, *many = NULL;
  for (int i = 0; i < OUT->type->rank; i++) plane[i] = 1;
  for (int i = 0; i < w->n; i++)
    if (!is_whole(&w->a[i], padded) && w->a[i].out <= MOST_COUNTS) plane[w->a[i].axis] = w->a[i].out;
  const ir_type *type = ir_type_tensor(b->m, t, OUT->type->rank, plane);
  if (!type) b->failed = true;
  for (int i = 0; i < w->n && !b->failed; i++) {
    const window_axis *a = &w->a[i];
    if (is_whole(a, padded)) all *= (double)a->kernel;
    else if (a->out > MOST_COUNTS) many = compose_join(b, G_MUL, many, computed_counts(b, a, padded, t, OUT->type));
    else few = compose_join(b, G_MUL, few, compose_spread(b, constant_counts(b, a, padded, t, OUT->type), type));
  }
  if (b->failed) return NULL;
  if (few) few = compose_spread(b, all == 1 ? few : MUL(few, graph_number(b, t, all)), OUT->type);
  else if (many && all != 1) many = MUL(many, graph_number(b, t, all));
  if (!few && !many) return DIV(sum, graph_number(b, t, all));
  return DIV(sum, few ? compose_join(b, G_MUL, many, few) : many);
}

EXPAND(expand_average_pool) {
  const image_window w = window_of(op);
  const tsr_dtype t = compose_float(TYPE(0)->dtype);
  bool axes[TSR_MAX_RANK];
  if (!ir_type_count(OUT->type)) out[0] = graph_fill(b, OUT->type, 0);
  else if (is_reduction(&w, axes)) out[0] = graph_reduce(b, G_REDUCE_MEAN, IN(0), axes, true);
  else out[0] = graph_cast(b, divided(b, op, &w, over_windows(b, G_ADD, IN(0), &w, t, 0)), TYPE(0)->dtype);
  DONE;
}

BEGIN(adjoint_average_pool) {
  const image_window w = window_of(op);
  const tsr_dtype t = compose_float(TYPE(0)->dtype);
  bool axes[TSR_MAX_RANK];
  if (!ir_type_count(OUT->type)) {
    grads[0] = graph_fill(b, TYPE(0), 0);
    END;
  }
  g = divided(b, op, &w, graph_cast(b, g, t));
  if (is_reduction(&w, axes)) {
    g = compose_spread(b, g, TYPE(0));
  } else {
    const image_window back = backward(b, &w, &g, 1);
    g = over_windows(b, G_ADD, g, &back, t, 0);
  }
  grads[0] = graph_cast(b, g, TYPE(0)->dtype);
  END;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define POOL(...) \
  ATTRS({"kernel", IR_A_ARRAY, false, NULL, "extents of a window along each spatial axis; the whole image if absent"}, \
        WINDOW_ATTRS, \
        {"ceil_mode", IR_A_BOOL, false, "false", "last elements that don't fill a window have one too, if it begins " \
                                                 "on the image or the padding before it"} \
        __VA_ARGS__)

static const ir_opdef rows[] = {
    {COMPOSITE(MAX_POOL, "max_pool", 1, 1, 1), .operands_doc = "x", .types_doc = NUMBERS, .infer = infer_pool,
     .ext = ROW(GRAPH_COMPOSITE, .adjoint = adjoint_max_pool, .expand = expand_max_pool), .attrs = POOL(),
     .help = "The largest element of each window that moves over the spatial axes; NaN if any is. Padding doesn't "
             "count: a window of it alone gives -inf, or the least number. Equal ones share the gradient."},
    {COMPOSITE(AVERAGE_POOL, "average_pool", 1, 1, 1), .operands_doc = "x", .types_doc = FLOATS,
     .infer = infer_average,
     .ext = ROW(GRAPH_COMPOSITE, .adjoint = adjoint_average_pool, .expand = expand_average_pool),
     .attrs = POOL(, {"count_include_pad", IR_A_BOOL, false, "false",
                      "padding counts as zeros, but not what ceil_mode adds behind it"}),
     .help = "The mean of each window that moves over the spatial axes: over the elements that lie on the image, in "
             "f32 or f64; 0 where none does."},
};

const ir_rows graph_compose_pool_ops = {rows, sizeof rows / sizeof *rows};
