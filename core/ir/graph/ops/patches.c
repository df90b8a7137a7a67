/* core/ir/graph/ops/patches.c - see patches.h: the row, its shape rule, oracle and derivative. */
#include "core/ir/graph/ops/patches.h"

#include <string.h>

#include "core/base/int_math.h"

bool patches_last(const ir_op *op) { return !strcmp(ir_get_str(op, "layout", "nchw"), "nhwc"); }

int64_t patches_places(const image_window *w) {
  int64_t n = 1;
  for (int i = 0; i < w->n; i++) n *= w->a[i].out;
  return n;
}

bool patches_are_3x3(const image_window *w) {
  for (int i = 0; i < w->n; i++)
    if (w->a[i].kernel != 3 || w->a[i].stride != 1 || w->a[i].dilation != 1) return false;
  return w->n == 2;
}

static bool takes_winograd(const patches *p) {
  return (p->winograd == 2 || p->winograd == 4) && patches_are_3x3(&p->w) && !p->last && !p->flat && !p->reversed &&
         p->groups == 1;
}

tsr_status patches_read(const ir_op *op, patches *p) {
  const ir_type *x = TYPE(0);
  int64_t kernel[TSR_MAX_RANK];
  int n;
  *p = (patches){.groups = ir_get_int(op, "groups", 1), .last = patches_last(op),
                 .reversed = ir_get_bool(op, "reversed", false), .flat = ir_get_bool(op, "flat", false),
                 .winograd = (int)clamp64(ir_get_int(op, "winograd", 0), -1, 5)};
  TSR_TRY(window_rank(op, x, &n));
  TSR_TRY(shape_list_attr(op, "kernel", n, false, 0, kernel));
  for (int i = 0; i < n; i++)
    if (kernel[i] < 1 || kernel[i] > INT32_MAX)
      return ir_error(op, NULL, "kernel entry %lld is out of range", (long long)kernel[i]);
  TSR_TRY(window_read(op, kernel, false, &p->w));
  p->channels = x->dims[p->last ? x->rank - 1 : 1];
  if (p->winograd && !takes_winograd(p))
    return ir_error(op, NULL, "winograd takes tiles of 2 or 4, and windows of 3x3 at all places of nchw images");
  if (p->groups < 1 || (p->channels != IR_DYNAMIC && p->channels % p->groups))
    return ir_error(op, "each group has as many channels", "%lld channels in %lld groups", (long long)p->channels,
                    (long long)p->groups);
  if (p->channels != IR_DYNAMIC) p->channels /= p->groups;
  return NULL;
}

static tsr_status times(const ir_op *op, int64_t *n, int64_t by) {
  if (*n == IR_DYNAMIC || by == IR_DYNAMIC) return *n = IR_DYNAMIC, NULL;
  return __builtin_mul_overflow(*n, by, n) ? ir_error(op, NULL, "its extents overflow 64 bits") : NULL;
}

static tsr_status infer_patches(ir_op *op, const ir_type **results) {
  patches p;
  int64_t dims[TSR_MAX_RANK], rows = 1, columns = 1;
  int rank = 0;
  TSR_TRY(shape_tensors(op));
  TSR_TRY(patches_read(op, &p));
  for (int i = 0; i < p.w.n; i++) {
    TSR_TRY(times(op, &rows, p.w.a[i].out));
    TSR_TRY(times(op, &columns, p.w.a[i].kernel));
  }
  TSR_TRY(times(op, &columns, p.channels));
  if (p.flat) TSR_TRY(times(op, &rows, TYPE(0)->dims[0]));
  else dims[rank++] = TYPE(0)->dims[0];
  if (p.groups > 1) dims[rank++] = p.groups;
  dims[rank++] = rows;
  dims[rank++] = columns;
  return shape_finish(op, TYPE(0)->dtype, rank, dims, results);
}

/* ---- the oracle ---------------------------------------------------------------------------------------------------
 */

static tsr_status eval_patches(graph_evaluator *e, ir_op *op, int64_t at) {
  const ir_type *image = TYPE(0);
  const graph_windows m = graph_windows_get(op);
  int64_t x[TSR_MAX_RANK], left = at;
  graph_num v = {0};
  bool inside = true;
  memcpy(x, m.origin, sizeof x);
  for (int i = m.n[0] + m.n[1] + m.n[2] - 1; i >= 0; left /= m.extent[i--])
    for (int d = 0; d < image->rank; d++) x[d] += left % m.extent[i] * m.step[i][d];
  for (int d = 0; d < image->rank; d++) inside &= x[d] >= 0 && x[d] < image->dims[d];
  if (inside) v = graph_read(e, IN(0), num_join(image, x));
  graph_write(e, OUT, at, v);
  return NULL;
}

/* ---- writing one ------------------------------------------------------------------------------------------------- */

static bool set_window(ir_op *op, const image_window *w) {
  static const char *const names[] = {"kernel", "strides", "dilations", "low", "high"};
  bool ok = true;
  for (int k = 0; k < 5 && ok; k++) {
    int64_t v[WINDOW_AXES];
    for (int i = 0; i < w->n; i++) {
      const window_axis *a = &w->a[i];
      v[i] = (const int64_t[]){a->kernel, a->stride, a->dilation, a->low, a->high}[k];
    }
    ok = ir_set_attr(op, names[k], ir_attr_ints(op->module, v, w->n));
  }
  return ok;
}

ir_value *patches_build(ir_builder *b, ir_value *x, const patches *p) {
  ir_module *m = b->m;
  ir_op *op = x ? ir_op_new(b, graph_def(G_PATCHES), 1, &x, 1, NULL, 0) : NULL;
  const bool ok = op && set_window(op, &p->w) && ir_set_attr(op, "groups", ir_attr_int(m, p->groups)) &&
                  ir_set_attr(op, "layout", ir_attr_str(m, p->last ? "nhwc" : "nchw")) &&
                  (!p->reversed || ir_set_attr(op, "reversed", ir_attr_bool(m, true))) &&
                  (!p->flat || ir_set_attr(op, "flat", ir_attr_bool(m, true))) &&
                  (!p->winograd || ir_set_attr(op, "winograd", ir_attr_int(m, p->winograd)));
  tsr_status st = ok ? op->def->infer(op, &op->results[0]->type) : NULL;
  if (st) ir_refuse(m, st);
  if (!ok || st) b->failed = true;
  return b->failed ? NULL : op->results[0];
}

/* ---- the derivative ---------------------------------------------------------------------------------------------- */

/* What every window has at element `at` of the kernel (number t), as an image of the windows' places. */
static ir_value *gradient_of(ir_builder *b, const patches *p, ir_value *g, int64_t n, int64_t t) {
  const int64_t places = patches_places(&p->w), kernel = (int64_t)window_size(&p->w);
  const int t_axis = p->last ? 3 : 4;
  int64_t dims[5], starts[5] = {0}, sizes[5], ones[5] = {1, 1, 1, 1, 1};
  dims[0] = p->flat ? p->groups : n, dims[1] = p->flat ? n : p->groups, dims[2] = places;
  dims[3] = p->last ? kernel : p->channels, dims[4] = p->last ? p->channels : kernel;
  memcpy(sizes, dims, sizeof sizes);
  starts[t_axis] = t, sizes[t_axis] = 1;
  g = compose_take(b, graph_reshape(b, g, 5, dims), starts, sizes, ones);
  g = g ? graph_reshape(b, g, 4, (int64_t[]){dims[0], dims[1], places, p->channels}) : NULL;
  const int n_axis = p->flat, group = !p->flat;
  g = g ? graph_transpose(b, g, p->last ? (int[]){n_axis, 2, group, 3} : (int[]){n_axis, group, 3, 2}) : NULL;
  int64_t image[TSR_MAX_RANK] = {n};
  image[p->last ? p->w.n + 1 : 1] = p->groups * p->channels;
  for (int i = 0; i < p->w.n; i++) image[p->w.a[i].axis] = p->w.a[i].out;
  return g ? graph_reshape(b, g, p->w.n + 2, image) : NULL;
}

/* An image of places as one of the padded image, whose windows have it at element t of the kernel. */
static ir_value *spread(ir_builder *b, const patches *p, ir_value *g, const int64_t *t) {
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  g = window_dilate(b, g, &p->w);
  for (int i = 0; i < p->w.n && g; i++) {
    const window_axis *a = &p->w.a[i];
    const int64_t length = (a->out - 1) * a->stride + 1;
    g = window_part(b, g, a->axis, 0, length, 1);
    low[a->axis] = (p->reversed ? a->kernel - 1 - t[i] : t[i]) * a->dilation;
    high[a->axis] = max64(a->low + a->n, length + window_span(a) - 1) - low[a->axis] - length;
  }
  return compose_pad(b, g, low, high, 0);
}

BEGIN(adjoint_patches) {
  patches p;
  int64_t at[WINDOW_AXES] = {0};
  ir_value *sum = NULL;
  tsr_status_free(patches_read(op, &p));
  const tsr_dtype t = TYPE(0)->dtype, wide = compose_float(t);
  if (!dtype_is_float(t)) END;
  if (!ir_type_count(OUT->type)) return (grads[0] = graph_fill(b, TYPE(0), 0)) != NULL;
  int64_t number = 0;
  do {
    ir_value *one = spread(b, &p, graph_cast(b, gradient_of(b, &p, g, TYPE(0)->dims[0], number++), wide), at);
    sum = sum ? ADD(sum, one) : one;
  } while (!b->failed && window_next(&p.w, at));
  for (int i = 0; i < p.w.n; i++) sum = window_part(b, sum, p.w.a[i].axis, p.w.a[i].low, p.w.a[i].n, 1);
  grads[0] = graph_cast(b, sum, t);
  END;
}

static const ir_opdef rows[] = {
    {NAME(PATCHES, "patches"), .flags = IR_PURE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = ANY, .infer = infer_patches,
     .ext = ROW(GRAPH_WINDOWS, eval_patches, .adjoint = adjoint_patches, .words = words_same),
     .attrs = ATTRS({"kernel", IR_A_ARRAY, true, NULL, "extents of a window along each spatial axis"}, WINDOW_ATTRS,
                    {"groups", IR_A_INT, false, "1", "parts of the channels, of which each has matrices of its own"},
                    {"reversed", IR_A_BOOL, false, "false", "elements of a window from its end"},
                    {"flat", IR_A_BOOL, false, "false", "the windows of all entries of the batch in one matrix"},
                    {"winograd", IR_A_INT, false, "0",
                     "2 or 4, of windows of 3x3: a product on the CPU makes so many results along each axis at once"}),
     .help = "Each window that moves over the spatial axes as a row of a matrix, [n, groups if several, places, "
             "elements], or [groups if several, n places, elements]; elements are [kernel.., channels] for nhwc, "
             "[channels, kernel..] for nchw, and 0 beyond x. A product reads x through it: then it lies nowhere."},
};

const ir_rows graph_patches_ops = {rows, sizeof rows / sizeof *rows};
