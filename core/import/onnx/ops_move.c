/* core/import/onnx/ops_move.c - ONNX's ops that give the same elements another shape, order or surroundings. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

enum { MOST_PARTS = 1 << 16 }; /* of a concatenation or a split */

static void op_reshape(cv *c) {
  ir_value *x = cv_need(c, 0);
  int64_t dims[TSR_MAX_RANK];
  const int n = cv_list(c, "shape", 1, dims, TSR_MAX_RANK);
  const bool keeps_zero = cv_int(c, "allowzero", 0) != 0;
  for (int i = 0; i < n && !keeps_zero; i++)
    if (!dims[i]) dims[i] = cv_dim(x, i);
  cv_out(c, 0, n < 0 ? NULL : cv_reshape(c, x, n, dims));
}

static void op_flatten(cv *c) {
  ir_value *x = cv_need(c, 0);
  const int64_t axis = cv_int(c, "axis", 1);
  const int at = x && axis == x->type->rank ? (int)axis : cv_axis(c, axis, cv_rank(x));
  int64_t dims[2] = {1, 1};
  for (int i = 0; i < cv_rank(x); i++) dims[i >= at] *= x->type->dims[i];
  cv_out(c, 0, cv_reshape(c, x, 2, dims));
}

static void op_squeeze(cv *c) {
  ir_value *x = cv_need(c, 0);
  int64_t axes[TSR_MAX_RANK], dims[TSR_MAX_RANK];
  bool goes[TSR_MAX_RANK] = {false};
  const int n = cv_list(c, "axes", 1, axes, TSR_MAX_RANK);
  int rank = 0;
  for (int i = 0; i < n; i++) goes[cv_axis(c, axes[i], cv_rank(x))] = true;
  for (int i = 0; i < cv_rank(x); i++) {
    if (n < 0) goes[i] = x->type->dims[i] == 1;
    if (goes[i] && x->type->dims[i] != 1) cv_refuse(c, "axis %d is %lld long", i, (long long)x->type->dims[i]);
    if (!goes[i]) dims[rank++] = x->type->dims[i];
  }
  cv_out(c, 0, cv_reshape(c, x, rank, dims));
}

static void op_unsqueeze(cv *c) {
  ir_value *x = cv_need(c, 0);
  int64_t axes[TSR_MAX_RANK], dims[TSR_MAX_RANK];
  bool is_new[TSR_MAX_RANK] = {false};
  const int n = cv_list(c, "axes", 1, axes, TSR_MAX_RANK), rank = cv_rank(x) + n;
  if (n < 0 || rank > TSR_MAX_RANK) return cv_out(c, 0, cv_refuse(c, "more than %d dimensions", TSR_MAX_RANK));
  for (int i = 0; i < n; i++) {
    const int at = cv_axis(c, axes[i], rank);
    if (is_new[at]) cv_refuse(c, "axis %d is given twice", at);
    is_new[at] = true;
  }
  for (int i = 0, k = 0; i < rank && !c->failed; i++) dims[i] = is_new[i] ? 1 : x->type->dims[k++];
  cv_out(c, 0, cv_reshape(c, x, rank, dims));
}

static void op_transpose(cv *c) {
  ir_value *x = cv_need(c, 0);
  int64_t perm[TSR_MAX_RANK];
  const int n = cv_ints(c, "perm", perm, TSR_MAX_RANK), rank = cv_rank(x);
  if (n >= 0 && n != rank) cv_refuse(c, "perm has %d axes of %d", n, rank);
  for (int i = 0; i < rank && n < 0; i++) perm[i] = rank - 1 - i;
  cv_out(c, 0, cv_transpose(c, x, perm));
}

static void op_concat(cv *c) {
  ir_value **x = arena_array(&c->a, ir_value *, c->node->n_in + 1), *first = cv_need(c, 0);
  int n = 0;
  const int axis = cv_axis(c, cv_int(c, "axis", 1), cv_rank(first));
  if (!x || c->node->n_in > MOST_PARTS) return cv_out(c, 0, cv_refuse(c, "%zu operands", c->node->n_in));
  for (size_t i = 0; i < c->node->n_in && !c->failed; i++) {
    ir_value *y = cv_need(c, (int)i);
    if (y && y->type->rank == 1 && !y->type->dims[0] && cv_rank(first) != 1) continue; /* empty, of no shape */
    x[n++] = y;
  }
  cv_out(c, 0, c->failed || !n ? first : cv_concat(c, n, x, axis));
}

static void op_split(cv *c) {
  ir_value *x = cv_need(c, 0);
  if (c->node->n_out > MOST_PARTS) return cv_out(c, 0, cv_refuse(c, "%zu outputs", c->node->n_out));
  const int axis = cv_axis(c, cv_int(c, "axis", 0), cv_rank(x)), parts = (int)c->node->n_out;
  int64_t *sizes = arena_array(&c->a, int64_t, parts + 1), at = 0;
  const int n = sizes ? cv_list(c, "split", 1, sizes, parts) : 0;
  if (!sizes) return cv_out(c, 0, cv_refuse(c, "out of memory"));
  if (n >= 0 && n != parts) cv_refuse(c, "%d sizes for %d outputs", n, parts);
  const int64_t length = cv_dim(x, axis), each = parts ? (length + parts - 1) / parts : 0;
  for (int i = 0; i < parts && !c->failed; i++) {
    if (n < 0) sizes[i] = at + each <= length ? each : length > at ? length - at : 0;
    if (sizes[i] < 0 || at + sizes[i] > length) cv_refuse(c, "parts are longer than the whole");
    cv_out(c, i, cv_part(c, x, axis, at, sizes[i]));
    at += sizes[i];
  }
  if (at != length) cv_refuse(c, "parts of %lld from %lld", (long long)at, (long long)length);
}

static void op_tile(cv *c) {
  ir_value *x = cv_need(c, 0);
  int64_t repeats[TSR_MAX_RANK];
  const int n = cv_known_ints(c, 1, repeats, TSR_MAX_RANK);
  if (n >= 0 && n != cv_rank(x)) cv_refuse(c, "%d repeats of %d dimensions", n, cv_rank(x));
  cv_out(c, 0, n < 1 ? x : cv_at1(c, G_TILE, x, TSR_INTS("repeats", repeats, n)));
}

static void op_expand(cv *c) {
  ir_value *x = cv_need(c, 0);
  int64_t dims[TSR_MAX_RANK];
  int rank = 0;
  const int n = cv_known_ints(c, 1, dims, TSR_MAX_RANK);
  if (n < 0 || !x) return cv_out(c, 0, NULL);
  if (!graph_broadcast_dims(x->type->rank, x->type->dims, n, dims, &rank, dims))
    return cv_out(c, 0, cv_refuse(c, "the shapes don't broadcast"));
  cv_out(c, 0, cv_broadcast(c, x, rank, dims));
}

static void op_depth_to_space(cv *c) {
  const bool crd = cv_is(c, "mode", "DCR", "CRD");
  cv_out(c, 0,
         cv_at1(c, G_DEPTH_TO_SPACE, cv_need(c, 0), TSR_INT("block", cv_int(c, "blocksize", 1)),
                TSR_STRING("order", crd ? "crd" : "dcr")));
}

static void op_space_to_depth(cv *c) {
  cv_out(c, 0, cv_at1(c, G_SPACE_TO_DEPTH, cv_need(c, 0), TSR_INT("block", cv_int(c, "blocksize", 1))));
}

static void op_trilu(cv *c) {
  const bool upper = cv_int(c, "upper", 1) != 0;
  cv_out(c, 0, cv_at1(c, upper ? G_TRIU : G_TRIL, cv_need(c, 0), TSR_INT("diagonal", cv_known_int(c, 1, 0))));
}

/* ---- padding ----------------------------------------------------------------------------------------------------- */

/* Which element of an axis of n elements is at place i, by the mode. */
static int64_t source(const char *mode, int64_t i, int64_t n) {
  if (!strcmp(mode, "wrap")) return ((i % n) + n) % n;
  if (!strcmp(mode, "edge")) return i < 0 ? 0 : i >= n ? n - 1 : i;
  const int64_t period = n > 1 ? 2 * (n - 1) : 1, k = ((i % period) + period) % period;
  return k < n ? k : period - k;
}

static const int64_t MOST_PAD = (int64_t)1 << 40; /* sums with extents are counted in 64 bits */

/* One axis by a gather with constant places. */
static ir_value *extend(cv *c, ir_value *x, int axis, int64_t low, int64_t high, const char *mode) {
  const int64_t n = cv_dim(x, axis), to = n + low + high;
  if (!x || (!low && !high)) return x;
  if (n < 1 || to < 0 || to > 1 << 20)
    return cv_refuse(c, "axis %d of %lld to %lld", axis, (long long)n, (long long)to);
  int64_t *places = arena_array(&c->a, int64_t, to + 1);
  for (int64_t i = 0; places && i < to; i++) places[i] = source(mode, i - low, n);
  return places ? cv_gather(c, x, cv_ints_constant(c, places, (int)to), axis) : cv_refuse(c, "out of memory");
}

/* Negative padding takes elements away. */
static ir_value *crop(cv *c, ir_value *x, int rank, int64_t *low, int64_t *high) {
  for (int i = 0; i < rank && x; i++) {
    const int64_t from = low[i] < 0 ? -low[i] : 0, less = high[i] < 0 ? -high[i] : 0;
    if (from + less > cv_dim(x, i)) return cv_refuse(c, "more is taken off than there is");
    x = cv_part(c, x, i, from, cv_dim(x, i) - from - less);
    low[i] += from;
    high[i] += less;
  }
  return x;
}

/* Does the double that pad takes hold the constant's first element? */
static bool is_double(const ir_value *v) {
  const tsr_dtype t = v->type->dtype;
  const int64_t exact = dtype_is_long(t) ? dtype_load_int(t, ir_get_attr(v->def, "value")->u.dense.data, 0) : 0;
  return !dtype_is_long(t) || dtype_whole(t, graph_constant_at(v->def, 0)) == exact;
}

/* With a value that isn't known, or is no double: a choice between it and x, which is padded with zeros. */
static ir_value *pad_by_choice(cv *c, ir_value *x, const int64_t *low, const int64_t *high, ir_value *value) {
  if (!x || !value) return NULL;
  if (ir_type_count(value->type) != 1) return cv_refuse(c, "a value of several elements");
  ir_value *there = cv_pad(c, cv_fill(c, TSR_U8, x->type->rank, x->type->dims, 1), low, high, 0);
  return cv_where(c, cv_cast(c, there, TSR_BOOL), cv_pad(c, x, low, high, 0),
                  cv_cast(c, cv_reshape(c, value, 0, (int64_t[]){0}), x->type->dtype));
}

static ir_value *pad_with(cv *c, ir_value *x, const int64_t *low, const int64_t *high) {
  if (c->version < 11 || !cv_has(c, 2))
    return x && x->type->dtype == TSR_BOOL ? cv_cast(c, cv_pad(c, cv_cast(c, x, TSR_U8), low, high, 0), TSR_BOOL)
                                           : cv_pad(c, x, low, high, c->version < 11 ? cv_float(c, "value", 0) : 0);
  ir_value *value = cv_fold(c, cv_need(c, 2), true);
  if (!value) return pad_by_choice(c, x, low, high, cv_need(c, 2));
  if (!ir_type_count(value->type)) return cv_pad(c, x, low, high, 0);
  return is_double(value) ? cv_pad(c, x, low, high, graph_constant_at(value->def, 0))
                          : pad_by_choice(c, x, low, high, value);
}

static void op_pad(cv *c) {
  ir_value *x = cv_need(c, 0);
  int64_t pads[2 * TSR_MAX_RANK], axes[TSR_MAX_RANK], low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  const char *mode = cv_str(c, "mode", "constant");
  const int n = cv_list(c, c->version < 11 ? "pads" : NULL, 1, pads, 2 * TSR_MAX_RANK), rank = cv_rank(x);
  int n_axes = cv_has(c, 3) ? cv_known_ints(c, 3, axes, TSR_MAX_RANK) : -1;
  for (int i = 0; i < rank && n_axes < 0; i++) axes[i] = i;
  if (n_axes < 0) n_axes = rank;
  if (n != 2 * n_axes) return cv_out(c, 0, cv_refuse(c, "%d pads for %d axes", n, n_axes));
  for (int i = 0; i < n; i++)
    if (pads[i] < -MOST_PAD || pads[i] > MOST_PAD)
      return cv_out(c, 0, cv_refuse(c, "a padding of %lld", (long long)pads[i]));
  for (int i = 0; i < n_axes; i++) {
    const int axis = cv_axis(c, axes[i], rank);
    low[axis] = pads[i];
    high[axis] = pads[n_axes + i];
  }
  x = crop(c, x, rank, low, high);
  if (!strcmp(mode, "constant")) x = pad_with(c, x, low, high);
  else if (strcmp(mode, "reflect") && strcmp(mode, "edge") && strcmp(mode, "wrap")) cv_refuse(c, "mode %s", mode);
  else
    for (int i = 0; i < rank; i++) x = extend(c, x, i, low[i], high[i], mode);
  cv_out(c, 0, x);
}

static void op_center_crop_pad(cv *c) {
  ir_value *x = cv_need(c, 0);
  int64_t to[TSR_MAX_RANK], axes[TSR_MAX_RANK], low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  const int n = cv_known_ints(c, 1, to, TSR_MAX_RANK), given = cv_ints(c, "axes", axes, TSR_MAX_RANK);
  if (n < 0 || n != (given < 0 ? cv_rank(x) : given)) return cv_out(c, 0, cv_refuse(c, "a size for each axis"));
  for (int i = 0; i < n; i++) {
    const int axis = given < 0 ? i : cv_axis(c, axes[i], cv_rank(x));
    if (to[i] < 0 || to[i] > MOST_PAD) return cv_out(c, 0, cv_refuse(c, "a size of %lld", (long long)to[i]));
    const int64_t more = to[i] - cv_dim(x, axis), less = -more;
    low[axis] = more >= 0 ? more / 2 : -(less / 2);
    high[axis] = more - low[axis];
  }
  x = crop(c, x, cv_rank(x), low, high);
  cv_out(c, 0, cv_pad(c, x, low, high, 0));
}

const cv_row onnx_rows_move[] = {{"Reshape", 1, op_reshape},
                                 {"Flatten", 1, op_flatten},
                                 {"Squeeze", 1, op_squeeze},
                                 {"Unsqueeze", 1, op_unsqueeze},
                                 {"Transpose", 1, op_transpose},
                                 {"Concat", 4, op_concat},
                                 {"Split", 2, op_split},
                                 {"Tile", 6, op_tile},
                                 {"Expand", 8, op_expand},
                                 {"DepthToSpace", 1, op_depth_to_space},
                                 {"SpaceToDepth", 1, op_space_to_depth},
                                 {"Trilu", 14, op_trilu},
                                 {"Pad", 2, op_pad},
                                 {"CenterCropPad", 18, op_center_crop_pad},
                                 {NULL, 0, NULL}};
