/* core/passes/graph/fold_columns.c - see graph/fold_columns.h. A convolution's places, columns of its product, become
 * an image so, and its groups' rows channels; what follows stays the product's epilogue. */
#include "core/passes/graph/fold_columns.h"

#include <string.h>

#include "core/ir/graph/ops.h"
#include "core/passes/graph/views.h"

static bool same(const ir_type *a, const ir_type *b) {
  return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank);
}

/* v is a product or elementwise of one of its shape, a few ops further. */
static bool is_product(const ir_value *v, int ops) {
  const ir_op *d = v->def;
  if (!d || !ops) return false;
  if (graph_is_kind(d, GRAPH_CONTRACTION)) return true;
  if (!(d->def->flags & IR_ELEMENTWISE)) return false;
  for (int i = 0; i < d->n_operands; i++)
    if (same(d->operands[i]->type, v->type) && is_product(d->operands[i], ops - 1)) return true;
  return false;
}

static bool starts_alike(const ir_type *a, const ir_type *b, int n) {
  return !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)n);
}

/* How a product of shape `from` is reshaped to an image `to`. image, product: how many leading dimensions each has that
 * say the same; behind them are places, and in a product perhaps the one row of each matrix. grouped: the product has
 * the last of the image's as two, groups and the rows of each. */
typedef struct split {
  int image, product;
  bool grouped;
} split;

/* All dimensions but the last are kept, which is split, or those before the one row of each matrix (a convolution
 * channel by channel), or groups become channels. image 0: it is none of these. */
static split split_between(const ir_type *from, const ir_type *to) {
  const int last = from->rank - 1, row = from->rank - 2, group = from->rank - 3;
  if (last > 0 && to->rank > from->rank && starts_alike(from, to, last)) return (split){last, last, false};
  if (row > 0 && to->rank > row && from->dims[row] == 1 && starts_alike(from, to, row)) return (split){row, row, false};
  if (group >= 0 && to->rank > group + 1 && starts_alike(from, to, group) &&
      to->dims[group] == from->dims[group] * from->dims[row])
    return (split){group + 1, last, true};
  return (split){0};
}

/* The type of the product that op reshapes to an image; NULL: it is none. */
static const ir_type *split_of(const ir_op *op) {
  enum { MOST_OPS = 6 };
  if (!graph_reshapes(op)) return NULL;
  const ir_type *from = op->operands[0]->type;
  return split_between(from, op->results[0]->type).image && is_product(op->operands[0], MOST_OPS) ? from : NULL;
}

static bool in_memory(const ir_value *v) {
  return !v->def || graph_is(v->def, G_CONSTANT) || graph_is_alias(v->def) ||
         !(v->def->def->flags & (IR_ELEMENTWISE | IR_VIEWLIKE));
}

/* t, which broadcasts to `full`, has one element along all dimensions that are split. */
static bool is_column(const ir_type *t, const ir_type *full, const ir_type *from) {
  const int places = full->rank - split_between(from, full).image;
  for (int i = 1; i <= places && i <= t->rank; i++)
    if (t->dims[t->rank - i] != 1) return false;
  return t->rank >= places;
}

/* What an operand of shape `full` is on the product's shape, or may be: *out NULL: it has to be reshaped. */
static bool operand_on(const ir_value *x, const ir_type *full, const ir_type *from, ir_value **out) {
  *out = NULL;
  if (!same(x->type, full)) return ir_type_count(x->type) == 1 || (in_memory(x) && is_column(x->type, full, from));
  if (graph_reshapes(x->def) && same(x->def->operands[0]->type, from)) return *out = x->def->operands[0], true;
  return in_memory(x);
}

/* The shape that op, elementwise, can work on instead of its own: that of a product which it reads through a reshape.
 */
static const ir_type *work_on(const ir_op *op) {
  const ir_type *full, *from = NULL;
  ir_value *on;
  if (!(op->def->flags & IR_ELEMENTWISE) || op->n_results != 1) return NULL;
  full = op->results[0]->type;
  if (ir_type_count(full) == IR_DYNAMIC) return NULL;
  for (int i = 0; i < op->n_operands && !from; i++)
    if (same(op->operands[i]->type, full) && op->operands[i]->def) from = split_of(op->operands[i]->def);
  for (int i = 0; i < op->n_operands && from; i++)
    if (!operand_on(op->operands[i], full, from, &on)) return NULL;
  return from;
}

/* A column (is_column) on the product's shape. */
static ir_value *column(ir_builder *b, ir_value *v, const ir_type *full, const ir_type *from) {
  const split s = split_between(from, full);
  const int kept = v->type->rank - (full->rank - s.image), own = s.grouped && kept ? kept - 1 : kept;
  int64_t dims[TSR_MAX_RANK];
  int rank = own;
  for (int i = 0; i < own; i++) dims[i] = v->type->dims[i];
  if (s.grouped) {
    const bool one = !kept || v->type->dims[own] == 1;
    for (int i = s.product - 2; i < s.product; i++) dims[rank++] = one ? 1 : from->dims[i];
  }
  for (int i = s.product; i < from->rank; i++) dims[rank++] = 1;
  return graph_reshape(b, v, rank, dims);
}

static ir_value *moved(ir_builder *b, const ir_op *op, const ir_type *from) {
  const ir_type *full = op->results[0]->type;
  ir_value *x[3];
  for (int i = 0; i < op->n_operands; i++) {
    ir_value *v = op->operands[i];
    if (!operand_on(v, full, from, &x[i])) return NULL;
    if (x[i]) continue;
    if (ir_type_count(v->type) == 1) x[i] = v->type->rank ? graph_reshape(b, v, 0, NULL) : v;
    else x[i] = same(v->type, full) ? graph_reshape(b, v, from->rank, from->dims) : column(b, v, full, from);
    if (!x[i]) return NULL;
  }
  ir_value *y = graph_build_like(b, op, x);
  return y ? graph_reshape(b, y, full->rank, full->dims) : NULL;
}

tsr_status graph_fold_columns(ir_op *func, const pass_options *opts) {
  for (ir_op *op = func->regions[0]->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    const ir_type *from = work_on(op);
    if (!from) continue;
    trace_add(opts->trace, "fuse", "fold_columns", op, true, "on the product's own shape");
    ir_builder b = ir_before(op);
    ir_value *y = moved(&b, op, from);
    if (!y) return st_oom();
    graph_replace(op, y);
  }
  return NULL;
}
