/* core/passes/tile/indexed.c - see tile/indexed.h. */
#include "core/passes/tile/indexed.h"

#include <string.h>

#include "core/passes/tile/map.h"

/* ---- the kernel's memory ----------------------------------------------------------------------------------------- */

static kb_mem mem_of_argument(ir_value *arg) {
  kb_mem m = {.arg = arg, .dtype = arg->type->dtype, .rank = arg->type->rank};
  memcpy(m.dims, arg->type->dims, sizeof m.dims);
  ir_type_strides(arg->type, m.strides);
  return m;
}

static tsr_status check_extents(const kb_kernel *k, const kb_mem *m) {
  for (int d = 0; d < m->rank; d++)
    if (m->dims[d] > INT32_MAX)
      return ir_error(k->src, "split it", "%lld elements along a dimension; an index reaches %d",
                      (long long)m->dims[d], INT32_MAX);
  return NULL;
}

tsr_status ix_begin(kb_kernel *k, graph_kind kind, ix_kernel *q) {
  const ir_op *op = k->src->regions[0]->first;
  while (op && !graph_is_kind(op, kind)) op = op->next;
  if (!op || op->next != k->src->regions[0]->last || k->src->n_results != 1)
    return ir_error(k->src, NULL, "holds one %s and nothing that reads it",
                    kind == GRAPH_GATHER ? "gather" : "scatter");
  *q = (ix_kernel){.x = graph_indexed_get(op)};
  for (int i = 0; i < op->n_operands; i++) {
    const kb_node *n = kb_node_of(k, op->operands[i]);
    if (!n) return st_oom();
    if (!n->is_mem) return ir_error(op, NULL, "operand %d must lie in memory", i);
    q->mem[i] = n->m;
  }
  const kb_mem out = mem_of_argument(k->op->regions[0]->args[k->src->n_operands]);
  q->mem[q->x.scatters ? IX_OUT : IX_SPACE] = out;
  for (int i = 0; i < N_IX; i++) TSR_TRY(check_extents(k, &q->mem[i]));
  return NULL;
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

static ix_axis *add_axis(ix_kernel *q, const kb_space *s, const kb_stride_rows *strides, int d) {
  ix_axis *a = &q->axis[q->n++];
  *a = (ix_axis){.n = s->dims[d], .tiled = -1};
  for (int w = 0; w < N_IX; w++) a->stride[w] = s->from[d] < 0 || s->dims[d] == 1 ? 0 : strides->v[w][s->from[d]];
  return a;
}

void ix_add_tile(ix_kernel *q, const kb_space *s, const kb_stride_rows *strides) {
  for (int d = 0; d < s->rank; d++) {
    ix_axis *a = add_axis(q, s, strides, d);
    a->at = s->at[d];
    a->tiled = d - (s->rank - 2) >= 0 ? d - (s->rank - 2) : -1;
  }
}

tsr_status ix_add_count(kb_kernel *k, ix_kernel *q, const kb_space *s, const kb_stride_rows *strides,
                        ir_value *counter) {
  for (int d = s->rank - 1; d >= 0; d--) {
    ix_axis *a = add_axis(q, s, strides, d);
    if (a->n == 1) {
      a->at = k->zero;
      continue;
    }
    bool first = true; /* of those that are left */
    for (int i = 0; i < d; i++) first &= s->dims[i] == 1;
    ir_value *n = kb_index(k, a->n);
    a->at = first ? counter : kb_op2(k, "tessera.tile.rem", counter, n);
    if (!first) counter = kb_op2(k, "tessera.tile.div", counter, n);
  }
  return k->b.failed ? st_oom() : NULL;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* The memory as a view over the axes that move in it, then the indexed dimensions, or those of an index's numbers. */
static ir_value *view_of(kb_kernel *k, const ix_kernel *q, ix_memory w, bool by_index) {
  const kb_mem *m = &q->mem[w];
  ir_type t = {.kind = IR_T_VIEW, .dtype = m->dtype, .has_strides = true, .offset = m->offset};
  for (int i = 0; i < q->n; i++)
    if (q->axis[i].stride[w]) t.dims[t.rank] = q->axis[i].n, t.strides[t.rank++] = q->axis[i].stride[w];
  for (int i = 0; by_index && i < q->x.n_indexed; i++)
    t.dims[t.rank] = m->dims[q->x.indexed[i]], t.strides[t.rank++] = m->strides[q->x.indexed[i]];
  if (w == IX_INDICES && q->x.component >= 0)
    t.dims[t.rank] = m->dims[q->x.component], t.strides[t.rank++] = m->strides[q->x.component];
  const ir_type *type = ir_type_get(k->m, &t);
  return type ? ir_build1(&k->b, "tessera.tile.view", type, 1, (ir_value *const *)&m->arg) : NULL;
}

typedef struct region {
  kb_kernel *k;
  const ix_kernel *q;
  ir_builder b;
  ir_value *within[2]; /* coordinates in the tile */
} region;

static ir_value *two(region *r, const char *name, ir_value *x, ir_value *y) {
  return x && y ? ir_build1(&r->b, name, NULL, 2, (ir_value *[]){x, y}) : NULL;
}

static ir_value *less(region *r, ir_value *x, ir_value *y) {
  const ir_type *t = ir_type_scalar(r->k->m, TSR_BOOL);
  ir_op *op = x && y && t ? ir_op_new(&r->b, ir_find_op("tessera.tile.compare"), 2, (ir_value *[]){x, y}, 1, &t, 0)
                          : NULL;
  return op && ir_set_attr(op, "predicate", ir_attr_str(r->k->m, "lt")) ? op->results[0] : NULL;
}

static ir_value *choose(region *r, ir_value *c, ir_value *x, ir_value *y) {
  return c && x && y ? ir_build1(&r->b, "tessera.tile.select", NULL, 3, (ir_value *[]){c, x, y}) : NULL;
}

static int axes_of(region *r, ix_memory w, ir_value **at) {
  int n = 0;
  for (int i = 0; i < r->q->n; i++) {
    const ix_axis *a = &r->q->axis[i];
    if (!a->stride[w]) continue;
    at[n++] = a->tiled < 0 ? a->at : two(r, "tessera.tile.add", a->at, r->within[a->tiled]);
  }
  return n;
}

/* Number i of the index: counted from the end where it is negative, and -1, which no element has, where it lies outside
 * the n elements. It is compared in its own type: an index of the device may be narrower. */
static ir_value *number(region *r, ir_value *indices, int i, int64_t n) {
  kb_kernel *k = r->k;
  ir_value *v[1 + TSR_MAX_RANK] = {indices};
  int rank = axes_of(r, IX_INDICES, v + 1);
  if (r->q->x.component >= 0) {
    v[1 + rank] = ir_build1(&r->b, "tessera.tile.const", ir_type_index(k->m), 0, NULL);
    if (!v[1 + rank] || !ir_set_attr(v[1 + rank]->def, "value", ir_attr_int(k->m, i))) return NULL;
    rank++;
  }
  for (int d = 0; d <= rank; d++)
    if (!v[d]) return NULL;
  const tsr_dtype t = indices->type->dtype;
  ir_value *x = ir_build1(&r->b, "tessera.tile.load_scalar", NULL, 1 + rank, v), *zero = kb_number(k, &r->b, t, 0),
           *end = kb_number(k, &r->b, t, (double)n), *none = kb_number(k, &r->b, t, -1);
  x = choose(r, less(r, x, zero), two(r, "tessera.tile.add", x, end), x);
  x = choose(r, less(r, x, end), x, none);
  return x ? ir_build1(&r->b, "tessera.tile.cast", ir_type_index(k->m), 1, &x) : NULL;
}

/* Fills the region of a gather or scatter, `block`, with the places of memory w. */
static tsr_status yield_places(kb_kernel *k, const ix_kernel *q, ir_block *block, ix_memory w, ir_value *indices) {
  region r = {.k = k, .q = q, .b = ir_at_end(k->m, block)};
  ir_value *at[TSR_MAX_RANK];
  for (int d = 0; d < 2; d++)
    if (!(r.within[d] = ir_block_arg(k->m, block, ir_type_index(k->m), NULL))) return st_oom();
  int n = axes_of(&r, w, at);
  for (int i = 0; indices && i < q->x.n_indexed; i++)
    at[n++] = number(&r, indices, i, q->mem[w].dims[q->x.indexed[i]]);
  for (int i = 0; i < n; i++)
    if (!at[i]) return st_oom();
  return ir_build0(&r.b, "tessera.tile.yield", n, at) ? NULL : st_oom();
}

tsr_status ix_gather(kb_kernel *k, const ix_kernel *q, ix_memory w, bool by_index, int64_t m, int64_t n,
                     ir_value **out) {
  const ir_type *t = kb_frag(k, kb_compute(q->mem[w].dtype), m, n);
  ir_value *indices = by_index ? view_of(k, q, IX_INDICES, false) : NULL, *view = view_of(k, q, w, by_index);
  if (!view || !t || (by_index && !indices)) return st_oom();
  ir_op *op = ir_op_new(&k->b, ir_find_op("tessera.tile.gather"), 1, &view, 1, &t, 1);
  if (!op) return st_oom();
  *out = op->results[0];
  return yield_places(k, q, op->regions[0], w, indices);
}

tsr_status ix_scatter(kb_kernel *k, const ix_kernel *q, ix_memory w, bool by_index, ir_value *tile) {
  ir_value *indices = by_index ? view_of(k, q, IX_INDICES, false) : NULL, *view = view_of(k, q, w, by_index);
  if (!view || (by_index && !indices)) return st_oom();
  ir_op *op = ir_op_new(&k->b, ir_find_op("tessera.tile.scatter"), 2, (ir_value *[]){tile, view}, 0, NULL, 1);
  return op ? yield_places(k, q, op->regions[0], w, indices) : st_oom();
}
