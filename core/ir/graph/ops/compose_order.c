/* core/ir/graph/ops/compose_order.c - composite ops that order elements: argmax, argmin, topk, sort. The first few are
 * looked for one after the other, a reduction each. Else an element's rank is the number of those that come before it,
 * all compared with all in one reduction, and which has a rank is another one; the first of a long row are among its
 * blocks' first. Equal elements keep their order. On the CPU topk and sort are one call (runtime/routine_order.c). */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/ir/graph/ops/compose.h"

enum {
  ROUNDS = 8,    /* so many are looked for one after the other */
  DIRECT = 1024, /* rows of up to so many elements are ranked whole */
  BLOCK = 256,   /* else blocks of at least so many */
  MOST_RANKED = 8192, /* longer ones are left to the host: all are compared with all */
};

/* ---- argmax, argmin ---------------------------------------------------------------------------------------------- */

static tsr_status check_order(ir_op *op, tsr_dtype *index, int *axis) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = TYPE(0);
  if (x->dtype == TSR_BOOL) return ir_error(op, "cast to i32 first", "does not take bool");
  TSR_TRY(shape_axis(op, "axis", ir_get_int(op, "axis", -1), x->rank));
  TSR_TRY(compose_index_type(op, index));
  *axis = compose_axis(op, "axis", -1, x->rank);
  if (x->dims[*axis] > INT32_MAX / 4)
    return ir_error(op, "split it", "%lld elements along the axis, at most %d", (long long)x->dims[*axis],
                    INT32_MAX / 4);
  return NULL;
}

static tsr_status infer_arg(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  int axis, rank = 0;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(check_order(op, &t, &axis));
  const ir_type *x = TYPE(0);
  if (!x->dims[axis]) return ir_error(op, "nothing is the largest of nothing", "axis %d has no elements", axis);
  for (int i = 0; i < x->rank; i++) {
    if (i != axis) dims[rank++] = x->dims[i];
    else if (ir_get_bool(op, "keepdims", false)) dims[rank++] = 1;
  }
  return shape_finish(op, t, rank, dims, results);
}

/* Places of elements that equal the extreme one, which is NaN where there is one; the first of them or the last. */
static ir_value *place_of(ir_builder *b, const ir_op *op, graph_code extreme) {
  const ir_type *t = TYPE(0);
  const int axis = compose_axis(op, "axis", -1, t->rank);
  const rows3 r = compose_rows3(t, axis);
  const bool last = ir_get_bool(op, "select_last_index", false), middle[TSR_MAX_RANK] = {[1] = true};
  if (!ir_type_count(t)) return graph_fill(b, OUT->type, 0);
  /* The last axis where it can be: a row's extreme is then in the kernel that looks for it. */
  ir_value *x = graph_reshape(b, IN(0), r.c == 1 ? 2 : 3, (int64_t[]){r.a, r.n, r.c});
  ir_value *best = x ? graph_reduce(b, extreme, x, middle, true) : NULL;
  if (!best) return NULL;
  ir_value *hit = graph_compare(b, CMP_EQ, x, compose_spread(b, best, x->type));
  if (dtype_is_float(t->dtype)) hit = graph_op2(b, G_OR, hit, graph_compare(b, CMP_NE, x, x));
  ir_value *place = graph_iota(b, TSR_I32, x->type, 1);
  place = SELECT(hit, place, graph_number(b, TSR_I32, last ? -1 : (double)r.n));
  place = place ? graph_reduce(b, last ? G_REDUCE_MAX : G_REDUCE_MIN, place, middle, true) : NULL;
  place = graph_cast(b, place, OUT->type->dtype);
  return place ? graph_reshape(b, place, OUT->type->rank, OUT->type->dims) : NULL;
}

EXPAND(expand_argmax) {
  out[0] = place_of(b, op, G_REDUCE_MAX);
  DONE;
}

EXPAND(expand_argmin) {
  out[0] = place_of(b, op, G_REDUCE_MIN);
  DONE;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* Elements [a, n, c] in order along the middle axis: by key, then by tie, which no two have in common. */
typedef struct ordered {
  ir_value *key, *tie;
} ordered;

/* A key that none is behind. */
static double behind(tsr_dtype t, bool descending) {
  if (dtype_is_float(t)) return descending ? -INFINITY : INFINITY;
  return descending ? -dtype_get(t)->max - 1 : dtype_get(t)->max;
}

/* For each of the first k places along the middle axis the element that belongs there, [a, k, c] of i32. */
static ir_value *by_rank(ir_builder *b, ordered x, int64_t k, bool descending) {
  if (!x.key || !x.tie || b->failed) return NULL;
  const rows3 r = compose_rows3(x.key->type, 1);
  const ir_type *like = compose_square_type(b, TSR_I32, r.a, r.n, r.n, r.c),
                *few = compose_square_type(b, TSR_I32, r.a, k, r.n, r.c);
  ir_value *mine = compose_square(b, x.key, false, like), *its = compose_square(b, x.key, true, like);
  ir_value *my_tie = compose_square(b, x.tie, false, like), *its_tie = compose_square(b, x.tie, true, like);
  if (!mine || !its || !my_tie || !its_tie || !few) return NULL;
  ir_value *equal = graph_compare(b, CMP_EQ, its, mine), *sooner = graph_compare(b, CMP_LT, its_tie, my_tie);
  ir_value *before = graph_compare(b, descending ? CMP_GT : CMP_LT, its, mine);
  before = graph_op2(b, G_OR, before, graph_op2(b, G_AND, equal, sooner));
  ir_value *one = graph_number(b, TSR_I32, 1), *zero = graph_number(b, TSR_I32, 0);
  ir_value *rank = compose_fold(b, G_REDUCE_SUM, SELECT(before, one, zero), 2);
  rank = rank ? graph_reshape(b, rank, 3, (int64_t[]){r.a, r.n, r.c}) : NULL;
  ir_value *there = graph_compare(b, CMP_EQ, compose_square(b, rank, true, few), graph_iota(b, TSR_I32, few, 1));
  ir_value *at = compose_fold(b, G_REDUCE_SUM, SELECT(there, graph_iota(b, TSR_I32, few, 2), zero), 2);
  return at ? graph_reshape(b, at, 3, (int64_t[]){r.a, k, r.c}) : NULL;
}

static ir_value *taken(ir_builder *b, ir_value *x, ir_value *at) {
  return graph_indexed_build(b, G_GATHER_ELEMENTS, 2, (ir_value *[]){x, at}, "axis", 1, false);
}

/* The same, of few: each time what comes next after the one before. */
static ir_value *by_rounds(ir_builder *b, ordered x, int64_t k, bool descending) {
  const rows3 r = compose_rows3(x.key->type, 1);
  const tsr_dtype t = x.key->type->dtype;
  const double last = behind(t, descending);
  const int rank = r.c == 1 ? 2 : 3;
  const bool middle[TSR_MAX_RANK] = {[1] = true};
  ir_value *at[ROUNDS], *key = graph_reshape(b, x.key, rank, (int64_t[]){r.a, r.n, r.c}),
                        *tie = graph_reshape(b, x.tie, rank, (int64_t[]){r.a, r.n, r.c}), *best = NULL;
  for (int64_t i = 0; i < k && !b->failed; i++) {
    ir_value *left = NULL, *open = key;
    if (i) {
      ir_value *had = compose_spread(b, best, key->type), *had_tie = compose_spread(b, at[i - 1], tie->type);
      left = graph_op2(b, G_AND, graph_compare(b, CMP_EQ, key, had), graph_compare(b, CMP_GT, tie, had_tie));
      left = graph_op2(b, G_OR, graph_compare(b, descending ? CMP_LT : CMP_GT, key, had), left);
      open = SELECT(left, key, LIKE(key, last));
    }
    best = open ? graph_reduce(b, descending ? G_REDUCE_MAX : G_REDUCE_MIN, open, middle, true) : NULL;
    if (!best) return NULL;
    ir_value *hit = graph_compare(b, CMP_EQ, key, compose_spread(b, best, key->type));
    if (left) hit = graph_op2(b, G_AND, hit, left);
    ir_value *place = SELECT(hit, tie, LIKE(tie, (double)INT32_MAX));
    at[i] = place ? graph_reduce(b, G_REDUCE_MIN, place, middle, true) : NULL;
  }
  if (b->failed) return NULL;
  ir_value *all = k > 1 ? graph_concat(b, (int)k, at, 1) : at[0];
  return all ? graph_reshape(b, all, 3, (int64_t[]){r.a, k, r.c}) : NULL;
}

/* The ties of the first k elements, in order. */
static ir_value *first(ir_builder *b, ordered x, int64_t k, bool descending) {
  if (!x.key || !x.tie || b->failed) return NULL;
  const rows3 r = compose_rows3(x.key->type, 1);
  if (k <= ROUNDS && 2 * k <= r.n) return by_rounds(b, x, k, descending);
  if (r.n <= DIRECT || 4 * k > r.n) return taken(b, x.tie, by_rank(b, x, k, descending));
  int64_t block = BLOCK;
  while (block < 4 * k) block *= 2;
  const int64_t m = ceil_div(r.n, block), low[3] = {0}, high[3] = {0, m * block - r.n, 0};
  const tsr_dtype t = x.key->type->dtype;
  /* What fills the last block comes behind all else: its tie is the greatest. */
  x.key = compose_pad(b, x.key, low, high, behind(t, descending));
  x.tie = compose_pad(b, x.tie, low, high, (double)INT32_MAX);
  x.key = graph_reshape(b, x.key, 3, (int64_t[]){r.a * m, block, r.c});
  x.tie = graph_reshape(b, x.tie, 3, (int64_t[]){r.a * m, block, r.c});
  ir_value *at = by_rank(b, x, k, descending);
  ordered y = {taken(b, x.key, at), taken(b, x.tie, at)};
  if (b->failed) return NULL;
  y.key = graph_reshape(b, y.key, 3, (int64_t[]){r.a, m * k, r.c});
  y.tie = graph_reshape(b, y.tie, 3, (int64_t[]){r.a, m * k, r.c});
  return first(b, y, k, descending);
}

/* NaN is the greatest: an infinite key, and a tie behind (or before) all others. Narrow types are compared wide. The
 * least integer is a number that doubles hold, the greatest is none: integers are complemented, not looked for upwards.
 */
ir_value *compose_first(ir_builder *b, ir_value *x, int64_t k, bool descending) {
  if (!x || b->failed) return NULL;
  const rows3 r = compose_rows3(x->type, 1);
  const tsr_dtype t = x->type->dtype;
  ir_value *place = graph_iota(b, TSR_I32, x->type, 1);
  if (!dtype_is_float(t)) {
    x = graph_cast(b, x, dtype_is_long(t) ? t : t == TSR_U32 ? TSR_I64 : TSR_I32);
    return first(b, (ordered){descending ? x : graph_op1(b, G_NOT, x), place}, k, true);
  }
  x = graph_cast(b, x, compose_float(t));
  ir_value *nan = graph_compare(b, CMP_NE, x, x),
           *n = graph_number(b, TSR_I32, descending ? -(double)r.n : (double)r.n);
  ir_value *key = SELECT(nan, LIKE(x, INFINITY), x), *tie = SELECT(nan, ADD(place, n), place);
  tie = first(b, (ordered){key, tie}, k, descending);
  if (!tie) return NULL;
  ir_value *was = graph_compare(b, descending ? CMP_LT : CMP_GE, tie, descending ? LIKE(tie, 0) : n);
  return SELECT(was, SUB(tie, n), tie);
}

/* ---- topk, sort -------------------------------------------------------------------------------------------------- */

static tsr_status finish_order(ir_op *op, tsr_dtype index, int axis, int64_t n, const ir_type **results) {
  int64_t dims[TSR_MAX_RANK];
  memcpy(dims, TYPE(0)->dims, sizeof dims);
  dims[axis] = n;
  TSR_TRY(shape_finish(op, TYPE(0)->dtype, TYPE(0)->rank, dims, results));
  return shape_finish(op, index, TYPE(0)->rank, dims, results + 1);
}

static tsr_status infer_topk(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  int axis;
  const int64_t k = ir_get_int(op, "k", 0);
  TSR_TRY(check_order(op, &t, &axis));
  const int64_t n = TYPE(0)->dims[axis];
  if (k < 0 || (n != IR_DYNAMIC && k > n))
    return ir_error(op, "0 up to the elements of the axis", "k is %lld of %lld", (long long)k, (long long)n);
  return finish_order(op, t, axis, k, results);
}

static tsr_status infer_sort(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  int axis;
  TSR_TRY(check_order(op, &t, &axis));
  return finish_order(op, t, axis, TYPE(0)->dims[axis], results);
}

static bool in_order(ir_builder *b, const ir_op *op, ir_value **out, bool descending) {
  const ir_type *t = TYPE(0), *to = OUT->type;
  const int axis = compose_axis(op, "axis", -1, t->rank);
  const rows3 r = compose_rows3(t, axis);
  if (!ir_type_count(to)) {
    for (int i = 0; i < 2; i++) out[i] = graph_fill(b, op->results[i]->type, 0);
    DONE;
  }
  ir_value *x = graph_reshape(b, IN(0), 3, (int64_t[]){r.a, r.n, r.c});
  ir_value *at = compose_first(b, x, to->dims[axis], descending);
  ir_value *values = taken(b, x, at);
  if (b->failed) return false;
  out[0] = graph_reshape(b, values, to->rank, to->dims);
  out[1] = graph_cast(b, graph_reshape(b, at, to->rank, to->dims), op->results[1]->type->dtype);
  DONE;
}

EXPAND(expand_topk) { return in_order(b, op, out, ir_get_bool(op, "largest", true)); }
EXPAND(expand_sort) { return in_order(b, op, out, ir_get_bool(op, "descending", false)); }

/* Comparisons of the matrix of the last two dimensions, as sorting takes them. */
static double work_order(const ir_op *op) {
  const ir_type *t = TYPE(0);
  const int axis = compose_axis(op, "axis", -1, t->rank);
  double n = t->dims[axis] > 1 ? log2((double)t->dims[axis]) : 0;
  for (int d = t->rank > 2 ? t->rank - 2 : 0; d < t->rank; d++) n *= (double)t->dims[d];
  return n;
}

/* Is a long row ranked whole, as `first` would have it? */
static graph_host host_order(const ir_op *op) {
  const int axis = compose_axis(op, "axis", -1, TYPE(0)->rank);
  const int64_t n = TYPE(0)->dims[axis], k = OUT->type->dims[axis];
  return n > MOST_RANKED && k > ROUNDS && 4 * k > n ? HOST_IF_ALLOWED : HOST_NEVER;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define AXIS(doc) {"axis", IR_A_INT, false, "-1", doc}
#define INDEX(doc) {"dtype", IR_A_STR, false, "i32", doc ": i32 or i64"}
#define ARG(CODE, s, FN, what) \
  {COMPOSITE(CODE, s, 1, 1, 1), .operands_doc = "x", .types_doc = NUMBERS, .infer = infer_arg, BY(FN), \
   .attrs = ATTRS(AXIS("the dimension that is looked through"), \
                  {"keepdims", IR_A_BOOL, false, "false", "keep it with extent 1"}, \
                  {"select_last_index", IR_A_BOOL, false, "false", "of equal ones the last, else the first"}, \
                  INDEX("the result's type")), \
   .help = "Where along an axis the " what " element is. NaN counts as it: the first (or last) one wins."}
#define ORDER \
  " NaN is greater than infinity, 0 and -0 are equal, and equal elements keep their order. One call of the host's " \
  "cores on the CPU; other devices compute it by other ops, and leave long rows that are sorted whole to the host."

static const ir_opdef rows[] = {
    ARG(ARGMAX, "argmax", expand_argmax, "largest"),
    ARG(ARGMIN, "argmin", expand_argmin, "smallest"),
    {COMPOSITE(TOPK, "topk", 1, 1, 2), .operands_doc = "x", .types_doc = NUMBERS, .infer = infer_topk,
     .ext = ROW(GRAPH_ROUTINE, .expand = expand_topk, .work = work_order, .host = host_order),
     .attrs = ATTRS({"k", IR_A_INT, true, NULL, "how many"}, AXIS("the dimension that is ordered"),
                    {"largest", IR_A_BOOL, false, "true", "the largest ones, the largest first; else the smallest"},
                    {"sorted", IR_A_BOOL, false, "true", "they come in order; they do whatever it says"},
                    INDEX("the second result's type")),
     .help = "The first k elements along an axis, and where they were." ORDER},
    {COMPOSITE(SORT, "sort", 1, 1, 2), .operands_doc = "x", .types_doc = NUMBERS, .infer = infer_sort,
     .ext = ROW(GRAPH_ROUTINE, .expand = expand_sort, .work = work_order, .host = host_order),
     .attrs = ATTRS(AXIS("the dimension that is ordered"),
                    {"descending", IR_A_BOOL, false, "false", "the largest first"},
                    {"stable", IR_A_BOOL, false, "true", "equal elements keep their order; they do whatever it says"},
                    INDEX("the second result's type")),
     .help = "The elements along an axis in order, and where they were." ORDER},
};

const ir_rows graph_compose_order_ops = {rows, sizeof rows / sizeof *rows};
