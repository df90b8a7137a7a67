/* core/ir/graph/ops/indexed.c - gathers and scatters: rows, shape rules, evaluation, derivatives. What they have in
 * common is graph_indexed (ir/graph/indexed.c). */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/adjoint.h"

/* ---- shape rules ----------------------------------------------------------------------------------------------- */

static tsr_status check_indices(ir_op *op) {
  TSR_TRY(shape_tensors(op));
  const tsr_dtype t = op->operands[1]->type->dtype;
  if (t != TSR_I32 && t != TSR_I64)
    return ir_error(op, graph_no_cast, "indices must be i32 or i64, not %s", tsr_dtype_name(t));
  return op->operands[0]->type->rank ? NULL : ir_error(op, NULL, "needs a first operand with dimensions");
}

static tsr_status check_axis(ir_op *op) {
  return shape_axis(op, "axis", ir_get_int(op, "axis", 0), op->operands[0]->type->rank);
}

/* An index for each element: the first operand's dimensions but for the axis. */
static tsr_status check_by_element(ir_op *op) {
  const ir_type *x = op->operands[0]->type, *i = op->operands[1]->type;
  char a[128], b[128];
  TSR_TRY(check_axis(op));
  const int axis = graph_axis(op);
  bool fits = x->rank == i->rank;
  for (int d = 0; fits && d < x->rank; d++) fits = d == axis || !shape_differs(x->dims[d], i->dims[d]);
  return fits ? NULL
              : ir_error(op, "one index for each element: all dimensions but the axis must be equal",
                         "indices %s for %s along axis %d", shape_text(i, a, sizeof a), shape_text(x, b, sizeof b), axis);
}

/* Rows of indices: [batch.., .., n] for a first operand of at least batch + n dimensions. */
static tsr_status check_by_rows(ir_op *op) {
  const ir_type *x = op->operands[0]->type, *i = op->operands[1]->type;
  const int64_t batch = ir_get_int(op, "batch_dims", 0), n = i->rank ? i->dims[i->rank - 1] : 0;
  if (!i->rank) return ir_error(op, NULL, "needs indices with dimensions: the last has the numbers of an index");
  if (n == IR_DYNAMIC) return ir_error(op, "specialise the graph first", "the indices' last dimension must be known");
  if (batch < 0 || batch >= i->rank || batch >= x->rank)
    return ir_error(op, NULL, "batch_dims = %lld for ranks %d and %d", (long long)batch, x->rank, i->rank);
  if (n < 1 || n > x->rank - batch)
    return ir_error(op, NULL, "indices of %lld numbers for %d dimensions", (long long)n, x->rank - (int)batch);
  for (int d = 0; d < batch; d++)
    if (shape_differs(x->dims[d], i->dims[d]))
      return ir_error(op, NULL, "batch dimension %d is %lld and %lld", d, (long long)x->dims[d], (long long)i->dims[d]);
  return NULL;
}

static int space_rank(const ir_op *op) {
  const ir_type *x = op->operands[0]->type, *i = op->operands[1]->type;
  switch (graph_ext(op)->indices) {
  case INDEX_FIRST:
  case INDEX_AXIS: return x->rank - 1 + i->rank;
  case INDEX_ROWS: return i->rank - 1 + x->rank - (int)(i->dims[i->rank - 1] + ir_get_int(op, "batch_dims", 0));
  default: return x->rank;
  }
}

/* The rule of the op's kind of indices; its space in dims. */
static tsr_status check_space(ir_op *op, int *rank, int64_t *dims) {
  TSR_TRY(check_indices(op));
  switch (graph_ext(op)->indices) {
  case INDEX_FIRST:
    if (op->operands[0]->type->rank != 2) return ir_error(op, NULL, "needs a table of two dimensions");
    break;
  case INDEX_AXIS: TSR_TRY(check_axis(op)); break;
  case INDEX_ELEMENTS: TSR_TRY(check_by_element(op)); break;
  case INDEX_ROWS: TSR_TRY(check_by_rows(op)); break;
  case INDEX_NONE: break;
  }
  const ir_type *x = op->operands[0]->type, *i = op->operands[1]->type;
  *rank = space_rank(op);
  if (*rank > TSR_MAX_RANK)
    return ir_error(op, "reshape the indices", "the result has %d dimensions, at most %d", *rank, TSR_MAX_RANK);
  const graph_indexed g = graph_indexed_get(op);
  for (int d = 0; d < g.rank; d++) {
    dims[d] = g.of_table[d] >= 0 ? x->dims[g.of_table[d]] : i->dims[g.of_indices[d]];
    if (dims[d] == IR_DYNAMIC && g.of_indices[d] >= 0) dims[d] = i->dims[g.of_indices[d]];
  }
  return NULL;
}

static tsr_status infer_gather(ir_op *op, const ir_type **results) {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(check_space(op, &rank, dims));
  return shape_finish(op, op->operands[0]->type->dtype, rank, dims, results);
}

static tsr_status infer_scatter(ir_op *op, const ir_type **results) {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(check_space(op, &rank, dims));
  const ir_type *x = op->operands[0]->type, *u = op->operands[2]->type;
  char a[128], b[128];
  if (u->dtype != x->dtype)
    return ir_error(op, graph_no_cast, "operands are %s and %s", tsr_dtype_name(x->dtype), tsr_dtype_name(u->dtype));
  ir_type want = {.kind = IR_T_TENSOR, .dtype = x->dtype, .rank = rank};
  memcpy(want.dims, dims, sizeof *dims * (size_t)rank);
  bool fits = u->rank == rank;
  for (int d = 0; fits && d < rank; d++) fits = !shape_differs(u->dims[d], dims[d]);
  if (!fits)
    return ir_error(op, NULL, "updates are %s, not %s", shape_text(u, a, sizeof a), shape_text(&want, b, sizeof b));
  const char *how = ir_get_str(op, "reduction", "none");
  if (strcmp(how, "none") && strcmp(how, "add")) return ir_error(op, "none, add", "unknown reduction \"%s\"", how);
  if (graph_indexed_get(op).adds && x->dtype == TSR_BOOL) return ir_error(op, "cast to i32 first", "does not add bool");
  return shape_finish(op, x->dtype, x->rank, x->dims, results);
}

/* ---- evaluation ------------------------------------------------------------------------------------------------ */

typedef enum place { INSIDE, OUTSIDE, UNKNOWN } place;

/* Where in the table element c of the space is. UNKNOWN: the index itself is not certain. */
static place find(graph_evaluator *e, const ir_op *op, const graph_indexed *x, const int64_t *c, int64_t *at) {
  int64_t t[TSR_MAX_RANK] = {0}, i[TSR_MAX_RANK] = {0};
  place p = INSIDE;
  for (int d = 0; d < x->rank; d++) {
    if (x->of_table[d] >= 0) t[x->of_table[d]] = c[d];
    if (x->of_indices[d] >= 0) i[x->of_indices[d]] = c[d];
  }
  for (int k = 0; k < x->n_indexed; k++) {
    if (x->component >= 0) i[x->component] = k;
    const graph_num number = graph_read(e, op->operands[1], num_join(x->indices, i));
    const int64_t n = x->table->dims[x->indexed[k]], v = num_exact(op->operands[1], number);
    if (number.e > 0) return UNKNOWN;
    if (v < -n || v >= n) p = OUTSIDE;
    t[x->indexed[k]] = v < 0 ? v + n : v;
  }
  if (p == INSIDE) *at = num_join(x->table, t);
  return p;
}

static tsr_status eval_gather(graph_evaluator *e, ir_op *op, int64_t at) {
  const graph_indexed x = graph_indexed_get(op);
  int64_t c[TSR_MAX_RANK], from = 0;
  num_split(op->results[0]->type, at, c);
  const place p = find(e, op, &x, c, &from);
  graph_num v = {0};
  if (p == INSIDE) v = graph_read(e, op->operands[0], from);
  if (p == UNKNOWN) v.e = INFINITY;
  graph_write(e, op->results[0], at, v);
  return NULL;
}

/* An element that several updates are added to. */
typedef struct added { num_sum s; int64_t n; } added;

static graph_num sum_of(tsr_dtype t, const added *a) {
  if (!dtype_is_float(t)) return num_integer(t, (int64_t)a->s.exact);
  /* Each step is rounded to the type, where small ones may vanish. */
  const double own = graph_tolerance(t, t, a->n, a->s.v, a->s.abs) + (double)a->n * graph_rounding(t, 0);
  graph_num v = {a->s.v, num_sum_error(&a->s, own), graph_rounding(t, a->s.v)};
  return v;
}

/* All of the result: which updates meet an element is known only when all have been looked at. */
static tsr_status eval_scatter(graph_evaluator *e, ir_op *op, int64_t at) {
  const graph_indexed x = graph_indexed_get(op);
  const ir_type *updates = op->operands[2]->type;
  const int64_t n = ir_type_count(x.table), m = ir_type_count(updates);
  added *sums = al_zalloc(e->al, (size_t)(n + 1) * sizeof *sums);
  graph_num *v = al_zalloc(e->al, (size_t)(n + 1) * sizeof *v);
  bool unknown = false;
  for (int64_t i = 0; sums && v && i < n && !e->st; i++) v[i] = graph_read(e, op->operands[0], i);
  for (int64_t u = 0; sums && v && u < m && !e->st; u++) {
    int64_t c[TSR_MAX_RANK], to = 0;
    num_split(updates, u, c);
    const place p = find(e, op, &x, c, &to);
    unknown |= p == UNKNOWN;
    if (p != INSIDE) continue;
    const graph_num y = graph_read(e, op->operands[2], u);
    added *a = &sums[to];
    for (int first = a->n == 0 && x.adds; first >= 0; first--) {
      const graph_num z = first ? v[to] : y;
      num_sum_add(&a->s, z.v, num_carried(z));
      a->s.exact += (uint64_t)num_exact(op->operands[2], z);
    }
    a->n++;
    v[to] = x.adds ? sum_of(x.table->dtype, a) : y;
  }
  for (int64_t i = 0; sums && v && i < n; i++) {
    if (unknown) v[i].e = INFINITY;
    graph_write(e, op->results[0], i, v[i]);
  }
  const bool ok = sums && v;
  al_free_array(e->al, sums, (size_t)(n + 1));
  al_free_array(e->al, v, (size_t)(n + 1));
  return ok ? NULL : st_oom();
}

/* ---- derivatives ----------------------------------------------------------------------------------------------- */

/* Zeros of type t and these dimensions with g added at the places i. Added in the type in which sums are kept. */
static ir_value *added_at(ir_builder *b, graph_code c, tsr_dtype t, int rank, const int64_t *dims, ir_value *i,
                          ir_value *g, const char *name, int64_t value) {
  ir_value *zero = graph_fill(b, ir_type_tensor(b->m, graph_accum_default(t), rank, dims), 0);
  ir_value *v[3] = {zero, i, g && zero ? graph_cast(b, g, zero->type->dtype) : NULL};
  ir_value *sum = graph_indexed_build(b, c, 3, v, name, value, true);
  return sum ? graph_cast(b, sum, t) : NULL;
}

BEGIN(adjoint_gather_elements) {
  const ir_type *x = IN(0)->type;
  grads[0] = added_at(b, G_SCATTER_ADD, x->dtype, x->rank, x->dims, IN(1), g, "axis", graph_axis(op));
  END;
}

BEGIN(adjoint_gather_nd) {
  const ir_type *x = IN(0)->type;
  const int64_t batch = ir_get_int(op, "batch_dims", 0);
  grads[0] = added_at(b, G_SCATTER_ND, x->dtype, x->rank, x->dims, IN(1), g, "batch_dims", batch);
  END;
}

/* The axis first, in the table and in g, and each index as a row of one number. */
BEGIN(adjoint_gather) {
  const int axis = graph_indexed_get(op).indexed[0], rank = IN(0)->type->rank, n = IN(1)->type->rank;
  int to[TSR_MAX_RANK], back[TSR_MAX_RANK];
  int64_t dims[TSR_MAX_RANK], rows[TSR_MAX_RANK + 1];
  ir_value *i = IN(1);
  if (n + 1 > TSR_MAX_RANK) { /* no room for another dimension: the table has one, and g's are the indices' */
    const int64_t count = ir_type_count(i->type);
    i = graph_reshape(b, i, 2, (int64_t[]){count, 1});
    g = i ? graph_reshape(b, g, 1, &count) : NULL;
  } else {
    memcpy(rows, i->type->dims, sizeof *rows * (size_t)n);
    rows[n] = 1;
    i = graph_reshape(b, i, n + 1, rows);
    for (int d = 0; d < n; d++) to[d] = axis + d;
    for (int d = 0; d < rank - 1; d++) to[n + d] = d < axis ? d : d + n;
    if (axis) g = graph_transpose(b, g, to);
  }
  for (int d = 0; d < rank; d++) back[d] = d < axis ? d + 1 : d == axis ? 0 : d;
  for (int d = 0; d < rank; d++) dims[back[d]] = IN(0)->type->dims[d];
  ir_value *sum = added_at(b, G_SCATTER_ND, IN(0)->type->dtype, rank, dims, i, g, "batch_dims", 0);
  grads[0] = sum && axis ? graph_transpose(b, sum, back) : sum;
  END;
}

/* Numbers 0, 1, .. in row-major order. */
static ir_value *numbers(ir_builder *b, const ir_type *like) {
  const int64_t n = ir_type_count(like);
  const ir_type *flat = ir_type_tensor(b->m, TSR_I32, 1, &n);
  ir_value *v = flat ? graph_iota(b, TSR_I32, flat, 0) : NULL;
  return v ? graph_reshape(b, v, like->rank, like->dims) : NULL;
}

/* What is overwritten has no gradient: neither elements of x nor updates that another one followed. Which came last is
 * read off a scatter of their numbers. */
BEGIN(adjoint_scatter) {
  const graph_indexed x = graph_indexed_get(op);
  const bool rows = graph_ext(op)->indices == INDEX_ROWS;
  const char *name = rows ? "batch_dims" : "axis";
  const int64_t value = rows ? ir_get_int(op, "batch_dims", 0) : graph_axis(op);
  const graph_code take = rows ? G_GATHER_ND : G_GATHER_ELEMENTS, write = rows ? G_SCATTER_ND : G_SCATTER;
  ir_value *gu = graph_indexed_build(b, take, 2, (ir_value *[]){g, IN(1)}, name, value, false);
  grads[0] = g;
  grads[2] = gu;
  if (x.adds || !gu) return !b->failed;
  const ir_type *t = IN(0)->type;
  ir_value *mine = numbers(b, IN(2)->type), *none = graph_fill(b, ir_type_tensor(b->m, TSR_I32, t->rank, t->dims), -1);
  ir_value *last = graph_indexed_build(b, write, 3, (ir_value *[]){none, IN(1), mine}, name, value, false);
  last = graph_indexed_build(b, take, 2, (ir_value *[]){last, IN(1)}, name, value, false);
  ir_value *zero = graph_fill(b, IN(2)->type, 0);
  if (!last || !zero) return false;
  grads[2] = SELECT(graph_compare(b, CMP_EQ, last, mine), gu, zero);
  grads[0] = graph_indexed_build(b, write, 3, (ir_value *[]){g, IN(1), zero}, name, value, false);
  END;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

#define OUTSIDE_READS " Negative indices count from the end; what lies outside x reads as 0."
#define OUTSIDE_WRITES \
  " Negative indices count from the end; updates that lie outside x are dropped. Where several meet, they are taken in " \
  "row-major order"
#define AXIS {"axis", IR_A_INT, false, "0", "the dimension that the indices are coordinates of"}
#define BATCH {"batch_dims", IR_A_INT, false, "0", "leading dimensions that x and indices have in common"}
#define INDEXED(CODE, s, N, doc, types, FN, ...)                                                                   \
  {NAME(CODE, s), .flags = IR_PURE, .min_operands = N, .max_operands = N, .n_results = 1, .operands_doc = doc,    \
   .types_doc = types "; indices: i64, i32", .infer = infer_##FN, __VA_ARGS__}

static const ir_opdef rows[] = {
    INDEXED(GATHER, "gather", 2, "x, indices", ANY, gather,
            .ext = ROW(GRAPH_GATHER, eval_gather, adjoint_gather, .words = words_same, .indices = INDEX_AXIS),
            .attrs = ATTRS(AXIS),
            .help = "Slices of x along an axis: the indices' dimensions take the axis's place." OUTSIDE_READS),
    INDEXED(GATHER_ELEMENTS, "gather_elements", 2, "x, indices", ANY, gather,
            .ext = ROW(GRAPH_GATHER, eval_gather, adjoint_gather_elements, .words = words_same, .indices = INDEX_ELEMENTS), .attrs = ATTRS(AXIS),
            .help = "For each element of indices, whose dimensions but the axis are x's, the element of x with that "
                    "coordinate along the axis." OUTSIDE_READS),
    INDEXED(GATHER_ND, "gather_nd", 2, "x, indices", ANY, gather,
            .ext = ROW(GRAPH_GATHER, eval_gather, adjoint_gather_nd, .words = words_same, .indices = INDEX_ROWS), .attrs = ATTRS(BATCH),
            .help = "The last dimension of indices has the leading coordinates of an element or slice of x, behind the "
                    "batch dimensions." OUTSIDE_READS),
    INDEXED(EMBEDDING, "embedding", 2, "table, indices", ANY, gather,
            .ext = ROW(GRAPH_GATHER, eval_gather, adjoint_gather, .words = words_same, .indices = INDEX_FIRST),
            .help = "Row indices[i..] of the table [n, width] for each index: the result is [i.., width]. Negative "
                    "indices count from the end; an index outside the table gives zeros."),
    INDEXED(SCATTER, "scatter", 3, "x, indices, updates", ANY, scatter,
            .ext = ROW(GRAPH_SCATTER, eval_scatter, adjoint_scatter, .words = words_same, .indices = INDEX_ELEMENTS), .attrs = ATTRS(AXIS),
            .help = "x, and at the elements that gather_elements would read with these indices the "
                    "updates." OUTSIDE_WRITES ": the last one stays."),
    INDEXED(SCATTER_ADD, "scatter_add", 3, "x, indices, updates", NUMBERS, scatter,
            .ext = ROW(GRAPH_SCATTER, eval_scatter, adjoint_scatter, .words = words_same, .per_point = 1, .indices = INDEX_ELEMENTS,
                       .adds = true), .attrs = ATTRS(AXIS),
            .help = "As scatter, but the updates are added." OUTSIDE_WRITES
                    ", each sum rounded to the type; integers wrap."),
    INDEXED(SCATTER_ND, "scatter_nd", 3, "x, indices, updates", ANY, scatter,
            .ext = ROW(GRAPH_SCATTER, eval_scatter, adjoint_scatter, .words = words_same, .indices = INDEX_ROWS),
            .attrs = ATTRS(BATCH, {"reduction", IR_A_STR, false, "none", "none: updates replace; add: they are added"}),
            .help = "x, and at the elements or slices that gather_nd would read with these indices the "
                    "updates." OUTSIDE_WRITES ": the last one stays, or all are added as scatter_add does."),
};

const ir_rows graph_indexed_ops = {rows, sizeof rows / sizeof *rows};
