/* core/import/onnx/ops_order.c - ONNX's ops on the order of elements: sums along an axis, the largest, those not zero.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

static void running(cv *c, graph_code code) {
  ir_value *x = cv_need(c, 0);
  const int axis = cv_axis(c, cv_known_int(c, 1, 0), cv_rank(x));
  cv_out(c, 0,
         cv_at1(c, code, x, TSR_INT("axis", axis), TSR_BOOLEAN("exclusive", cv_int(c, "exclusive", 0) != 0),
                TSR_BOOLEAN("reverse", cv_int(c, "reverse", 0) != 0)));
}
static void op_cumsum(cv *c) { running(c, G_CUMSUM); }
static void op_cumprod(cv *c) { running(c, G_CUMPROD); }

static void op_topk(cv *c) {
  ir_value *x = cv_need(c, 0), *out[2] = {NULL};
  const int64_t k = c->version < 10 ? cv_int(c, "k", 0) : cv_known_int(c, 1, 0);
  const int axis = cv_axis(c, cv_int(c, "axis", -1), cv_rank(x));
  cv_make_n(c, G_TOPK, 1, &x,
            CV_AT(TSR_INT("k", k), TSR_INT("axis", axis), TSR_BOOLEAN("largest", cv_int(c, "largest", 1) != 0),
                  TSR_STRING("dtype", "i64")),
            2, out);
  for (int i = 0; i < 2; i++)
    if (cv_wants(c, i) || c->failed) cv_out(c, i, out[i]);
}

/* How many there are must be known, or may be as many as can be; where they are need not. */
static void op_nonzero(cv *c) {
  ir_value *x = cv_need(c, 0), *known, *out[2] = {NULL};
  const bool scalar = x && !x->type->rank; /* it has no indices, or one of no numbers */
  if (scalar) x = cv_reshape(c, x, 1, (int64_t[]){1});
  known = cv_fold(c, x, true);
  int64_t n = 0;
  if (!known && !c->o->bounded) return cv_out(c, 0, cv_refuse(c, CV_HOW_MANY));
  if (!known) n = x ? ir_type_count(x->type) : 0;
  for (int64_t i = 0; known && i < ir_type_count(known->type); i++) n += graph_constant_at(known->def, i) != 0;
  cv_make_n(c, G_NONZERO, 1, &x, CV_AT(TSR_INT("size", n), TSR_STRING("dtype", "i64")), 2, out);
  cv_out(c, 0, scalar ? cv_part(c, out[0], 0, 0, 0) : out[0]);
}

/* ---- Unique: all is known, and so are its results ---------------------------------------------------------------- */

typedef struct uniques {
  const int64_t *v;               /* numbers in the elements' order */
  int64_t slices, length, stride; /* slice s has elements o * slices * stride + s * stride + i */
} uniques;

/* A number for each element, ordered as they are and equal where they are: not a NaN, which is the last. */
static int64_t order_of(tsr_dtype t, const ir_value *x, int64_t i) {
  const ir_attr *a = ir_get_attr(x->def, "value");
  if (dtype_is_long(t)) {
    const int64_t v = dtype_load_int(t, a->u.dense.data, a->u.dense.splat ? 0 : (size_t)i);
    return t == TSR_U64 ? (int64_t)((uint64_t)v ^ UINT64_C(1) << 63) : v;
  }
  const double v = graph_constant_at(x->def, i) + 0.0; /* no -0 */
  int64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return v != v ? INT64_MAX : bits < 0 ? INT64_MIN - bits : bits;
}

static int64_t slice_at(const uniques *u, int64_t s, int64_t k) {
  return u->v[k / u->stride * u->slices * u->stride + s * u->stride + k % u->stride];
}

static int compare(const uniques *u, int64_t a, int64_t b) {
  for (int64_t k = 0; k < u->length; k++) {
    const int64_t x = slice_at(u, a, k), y = slice_at(u, b, k);
    if (x < y) return -1;
    if (x > y) return 1;
  }
  return 0;
}

/* first[j]: the first slice of the j-th kind, kind[s] that of slice s, count[j] how many. Returns how many kinds. */
static int64_t find_kinds(const uniques *u, bool sorted, int64_t *first, int64_t *kind, int64_t *count) {
  int64_t n = 0;
  for (int64_t s = 0; s < u->slices; s++) {
    int64_t at = 0, order = 1;
    for (; at < n; at++)
      if ((order = compare(u, s, first[at])) == 0 || (sorted && order < 0)) break;
    if (at < n && order == 0) {
      kind[s] = at;
      count[at]++;
      continue;
    }
    for (int64_t k = n; k > at; k--) first[k] = first[k - 1], count[k] = count[k - 1];
    for (int64_t k = 0; k < s; k++) kind[k] += kind[k] >= at;
    first[at] = s;
    count[at] = 1;
    kind[s] = at;
    n++;
  }
  return n;
}

static void op_unique(cv *c) {
  ir_value *x = cv_need(c, 0), *known = cv_fold(c, x, true);
  if (!known || ir_type_count(known->type) > 4096) return cv_out(c, 0, cv_refuse(c, CV_HOW_MANY));
  const int64_t total = ir_type_count(known->type);
  uniques u = {.slices = total, .length = 1, .stride = 1};
  int axis = 0;
  if (cv_attr(c, "axis")) {
    axis = cv_axis(c, cv_int(c, "axis", 0), cv_rank(x));
    u.slices = cv_dim(x, axis);
    u.length = u.slices ? total / u.slices : 0;
    for (int i = axis + 1; i < cv_rank(x); i++) u.stride *= cv_dim(x, i);
  } else x = cv_reshape(c, x, 1, &total);
  int64_t *v = arena_array(&c->a, int64_t, total + 1);
  int64_t *lists = arena_array(&c->a, int64_t, 3 * u.slices + 1);
  if (!v || !lists) return cv_out(c, 0, cv_refuse(c, "out of memory"));
  for (int64_t i = 0; i < total; i++) v[i] = order_of(known->type->dtype, known, i);
  u.v = v;
  int64_t *first = lists, *kind = lists + u.slices, *count = lists + 2 * u.slices;
  const int64_t n = find_kinds(&u, cv_int(c, "sorted", 1) != 0, first, kind, count);
  cv_out(c, 0, cv_gather(c, x, cv_ints_constant(c, first, (int)n), axis));
  if (cv_wants(c, 1)) cv_out(c, 1, cv_ints_constant(c, first, (int)n));
  if (cv_wants(c, 2)) cv_out(c, 2, cv_ints_constant(c, kind, (int)u.slices));
  if (cv_wants(c, 3)) cv_out(c, 3, cv_ints_constant(c, count, (int)n));
}

const cv_row onnx_rows_order[] = {{"CumSum", 11, op_cumsum},  {"CumProd", 26, op_cumprod}, {"TopK", 1, op_topk},
                                  {"NonZero", 9, op_nonzero}, {"Unique", 11, op_unique},   {NULL, 0, NULL}};
