/* core/dist/local.c - see local.h. */
#include "core/dist/local.h"

#include <string.h>

#include "core/base/dtype.h"

ir_value *dist_resize(ir_builder *b, ir_value *x, int dim, int64_t extent) {
  if (!x || !x->type->rank || x->type->dims[dim] == extent) return x;
  int64_t zero[TSR_MAX_RANK] = {0}, more[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK];
  const int rank = x->type->rank;
  memcpy(sizes, x->type->dims, sizeof sizes);
  sizes[dim] = extent;
  if (extent < x->type->dims[dim]) return graph_cut(b, x, zero, sizes);
  more[dim] = extent - x->type->dims[dim];
  ir_op *op = ir_op_new(b, graph_def(G_PAD), 1, &x, 1, NULL, 0);
  const ir_type *t = NULL;
  if (!op || !ir_set_attr(op, "low", ir_attr_ints(b->m, zero, rank)) ||
      !ir_set_attr(op, "high", ir_attr_ints(b->m, more, rank)))
    return NULL;
  tsr_status st = op->def->infer(op, &t);
  if (st) return ir_refuse(b->m, st), NULL;
  op->results[0]->type = t;
  return op->results[0];
}

void dist_result_spec(const dist_problem *p, const dist_node *n, int rank, dist_spec *out) {
  *out = (dist_spec){.rank = rank};
  for (int a = 0; a < p->mesh.n; a++) {
    const uint8_t bit = (uint8_t)(1u << a);
    if (n->pick[a] >= 0) {
      const dist_class *c = &n->classes[n->pick[a]];
      if (c->result >= 0) out->dim[c->result] |= bit;
      else out->partial |= bit, out->how = (uint8_t)c->how;
    }
    for (int i = 0; i < n->op->n_operands && n->pick[a] == DIST_LINEAR; i++)
      if (n->want[i].partial & bit) out->partial |= bit, out->how = n->want[i].how;
  }
}

/* The attributes of moves that name extents. */
static bool patch(ir_op *op, const dist_node *n, const ir_type *local) {
  const ir_type *whole = n->op->results[0]->type;
  int64_t v[TSR_MAX_RANK];
  static const char *const names[] = {"shape", "sizes"};
  if (!graph_is_kind(n->op, GRAPH_MOVE)) return true;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    if (!ir_get_attr(op, names[k]) || ir_get_ints(op, names[k], v, TSR_MAX_RANK) != whole->rank) continue;
    for (int i = 0; i < whole->rank; i++)
      if (local->dims[i] != whole->dims[i] || v[i] == -1) v[i] = local->dims[i];
    if (!ir_set_attr(op, names[k], ir_attr_ints(op->module, v, whole->rank))) return false;
  }
  return true;
}

static bool is_cut(const dist_problem *p, const dist_node *n) {
  for (int a = 0; a < p->mesh.n; a++)
    if (n->pick[a] >= 0) return true;
  return false;
}

typedef struct operands {
  const ir_op *op;
  ir_value *const *x;
} operands;

static ir_value *local_operand(void *user, ir_value *v) {
  const operands *o = user;
  for (int i = 0; i < o->op->n_operands; i++)
    if (o->op->operands[i] == v) return o->x[i];
  return NULL;
}

/* An op with regions is never cut: these are copied with it. */
static tsr_status copy_whole(const ir_op *op, ir_builder *b, ir_value *const *x, ir_op **made) {
  *made = ir_op_copy(b, op, local_operand, &(operands){op, x});
  return *made ? NULL : st_oom();
}

/* Is the rank's part of the result wider than the result? */
static bool is_wide_part(const dist_problem *p, const dist_node *n) {
  const ir_op *op = n->op;
  dist_spec spec;
  if (op->n_results != 1) return false;
  dist_result_spec(p, n, op->results[0]->type->rank, &spec);
  return dist_part_dtype(op->results[0], &spec) != op->results[0]->type->dtype;
}

tsr_status dist_build_local(dist_problem *p, dist_node *n, ir_builder *b, ir_value *const *x, ir_op **made,
                            bool *again) {
  const ir_op *op = n->op;
  const ir_type *few[64] = {0}, **types = few;
  if (op->n_regions) return copy_whole(op, b, x, made);
  if (op->n_results > 64 && !(types = arena_array(&p->arena, const ir_type *, op->n_results))) return st_oom();
  const ir_type **want = arena_array(&p->arena, const ir_type *, op->n_results);
  const bool wide = is_wide_part(p, n), sums = graph_is_kind(op, GRAPH_REDUCTION);
  ir_value *widened = wide && sums ? graph_cast(b, x[0], TSR_F32) : NULL;
  ir_op *y = ir_op_new(b, op->def, op->n_operands, widened ? &widened : x, op->n_results, NULL, 0);
  if (!want || !y || !ir_attrs_copy(y, op) || (wide && sums && !widened)) return st_oom();
  if (wide && !sums && !ir_set_attr(y, "out_dtype", ir_attr_str(b->m, "f32"))) return st_oom();
  for (int i = 0; i < op->n_results; i++) {
    dist_spec spec;
    dist_result_spec(p, n, op->results[i]->type->rank, &spec);
    want[i] = dist_spec_type(&p->mesh, &spec, b->m, op->results[i]->type);
    if (want[i] && wide) want[i] = ir_type_tensor(b->m, TSR_F32, want[i]->rank, want[i]->dims);
    if (!want[i]) return st_oom();
  }
  if (!patch(y, n, want[0])) return st_oom();
  bool fits = true;
  tsr_status st = op->def->infer ? op->def->infer(y, types) : NULL;
  for (int i = 0; i < op->n_results && !st; i++) {
    fits &= !types[i] || types[i] == want[i];
    y->results[i]->type = want[i];
  }
  fits &= !graph_is(op, G_REDUCE_MEAN) || dtype_is_float(op->results[0]->type->dtype) || !is_cut(p, n);
  *made = y;
  if (!st && fits) return NULL;
  if (!is_cut(p, n))
    return st ? st : ir_error_at(op, op->loc, TSR_INTERNAL, NULL, "its part of one rank has another type");
  tsr_status_free(st);
  n->whole = *again = true;
  return NULL;
}

ir_value *dist_unmean(const dist_problem *p, const dist_node *n, ir_builder *b, ir_value *y) {
  double factor = 1;
  if (!graph_is(n->op, G_REDUCE_MEAN)) return y;
  for (int c = 0; c < n->n_classes; c++) {
    uint32_t axes = 0;
    for (int a = 0; a < p->mesh.n; a++) axes |= n->pick[a] == c ? 1u << a : 0;
    const int d = n->classes[c].dim[0];
    if (!axes || n->classes[c].result >= 0) continue;
    const double whole = (double)n->op->operands[0]->type->dims[d];
    factor *= (double)dist_spec_extent(&p->mesh, &n->want[0], d, (int64_t)whole) / whole;
  }
  if (factor == 1) return y;
  ir_value *f = graph_number(b, y->type->dtype, factor);
  return f ? graph_op2(b, G_MUL, y, f) : NULL;
}
