/* core/passes/tile/region_map.c - see tile/region_map.h. */
#include "core/passes/tile/region_map.h"

#include "core/ir/tile/tile.h"
#include "core/passes/tile/build.h"

ir_value *region_fill(ir_builder *b, tsr_dtype t, int64_t rows, int64_t columns) {
  const int64_t dims[2] = {rows, columns};
  return kb_fill(b, ir_type_frag(b->m, t, 2, dims), 0);
}

ir_value *region_transposed(ir_builder *b, ir_value *v) {
  ir_op *t = v ? ir_op_new(b, ir_find_op("tessera.tile.transpose"), 1, &v, 1, NULL, 0) : NULL;
  if (!t || !ir_set_attr(t, "perm", ir_attr_ints(b->m, (int64_t[]){1, 0}, 2))) return NULL;
  const int64_t dims[2] = {v->type->dims[1], v->type->dims[0]};
  return (t->results[0]->type = ir_type_frag(b->m, v->type->dtype, 2, dims)) ? t->results[0] : NULL;
}

bool region_note_width(const ir_op *op, ir_op *access) {
  const int64_t n = ir_get_int(op, "vectorize", 0);
  return access && (n < 1 || ir_set_attr(access, "vectorize", ir_attr_int(op->module, n)));
}

ir_value *region_load(ir_builder *b, const ir_op *op, ir_value *v, const ir_type *argument, bool transpose) {
  if (v->type->kind != IR_T_FRAG) {
    v = ir_build1(b, "tessera.tile.load", ir_type_frag(b->m, argument->dtype, 2, v->type->dims), 1, &v);
    if (!v || !region_note_width(op, v->def)) return NULL;
  }
  return transpose ? region_transposed(b, v) : v;
}

static ir_value *copied(void *user, ir_value *v) {
  const ir_block *from = user;
  return v->owner == from || (v->def && v->def->parent == from) ? v->data : NULL;
}

/* The region's ops, where its arguments' data fields say what these became, and the yield of the values asked for. */
static bool copy_body(ir_builder *r, const ir_block *region, const int *yields, int n) {
  ir_value *y[REGION_MAP_MOST];
  for (const ir_op *o = region->first; o != region->last; o = o->next) {
    r->loc = o->loc;
    const ir_op *copy = ir_op_copy(r, o, copied, (void *)region);
    if (!copy) return false;
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = copy->results[i];
  }
  for (int i = 0; i < n; i++) {
    ir_value *v = region->last->operands[yields[i]], *c = copied((void *)region, v);
    y[i] = c ? c : v;
  }
  return ir_build0(r, "tessera.tile.yield", n, y) != NULL;
}

ir_op *region_map(ir_builder *b, const ir_block *region, ir_value *const *frags, const int *yields, int n, int64_t rows,
                  int64_t columns) {
  ir_value *operands[REGION_MAP_MOST];
  bool whole = false;
  int live = 0;
  for (int i = 0; i < region->n_args; i++) {
    if (!frags[i]) continue;
    whole |= frags[i]->type->dims[0] == rows && frags[i]->type->dims[1] == columns;
    operands[live++] = frags[i];
  }
  if (!whole && !(operands[live++] = region_fill(b, region->args[0]->type->dtype, rows, columns))) return NULL;
  ir_op *map = ir_op_new(b, ir_find_op("tessera.tile.map"), live, operands, n, NULL, 1);
  if (!map) return NULL;
  ir_block *to = map->regions[0];
  for (int i = 0; i < live; i++)
    if (!ir_block_arg(b->m, to, ir_type_scalar(b->m, operands[i]->type->dtype), NULL)) return NULL;
  for (int i = 0, at = 0; i < region->n_args; i++) region->args[i]->data = frags[i] ? to->args[at++] : NULL;
  ir_builder r = ir_at_end(b->m, to);
  if (!copy_body(&r, region, yields, n)) return NULL;
  const ir_type *types[REGION_MAP_MOST] = {NULL};
  tsr_status st = map->def->infer(map, types);
  if (st) return ir_refuse(b->m, st), NULL;
  for (int i = 0; i < n; i++) map->results[i]->type = types[i];
  return map;
}

/* ---- one map an op --------------------------------------------------------------------------------------------- */

typedef struct one_map {
  const ir_block *region;
  ir_op *map;
  ir_builder r;
  ir_value **inlined; /* of the region, whose data fields are copies in this map */
  int n, cap;
  bool positions; /* it asks where an element is: then it has them all */
} one_map;

static bool is_inside(const ir_block *region, const ir_value *v) {
  return v->owner == region || (v->def && v->def->parent == region);
}

static ir_value *fragment_of(const ir_block *region, const ir_value *v) {
  return is_inside(region, v) ? v->data : NULL;
}

static ir_value *argument_of(one_map *w, ir_value *frag) {
  for (int i = 0; i < w->map->n_operands; i++)
    if (w->map->operands[i] == frag) return w->map->regions[0]->args[i];
  ir_value *a = ir_block_arg(w->r.m, w->map->regions[0], ir_type_scalar(w->r.m, frag->type->dtype), NULL);
  return a && ir_add_operand(w->map, frag) ? a : NULL;
}

static bool note_inlined(one_map *w, ir_value *v) {
  if (w->n == w->cap) {
    const int cap = w->cap ? 2 * w->cap : 16;
    ir_value **more = arena_array(&w->r.m->arena, ir_value *, cap);
    if (!more) return false;
    for (int i = 0; i < w->n; i++) more[i] = w->inlined[i];
    w->inlined = more, w->cap = cap;
  }
  w->inlined[w->n++] = v;
  return true;
}

/* v inside the map: an argument, or computed there. */
static ir_value *scalar_of(void *user, ir_value *v) {
  one_map *w = user;
  if (!is_inside(w->region, v)) return v;
  if (!v->data) {
    const ir_op *copy = v->def ? ir_op_copy(&w->r, v->def, scalar_of, w) : NULL;
    if (!copy || !note_inlined(w, v)) return w->r.failed = true, v;
    w->positions |= copy->def->code == T_INDEX;
    v->data = copy->results[v->index];
  }
  ir_value *d = v->data;
  if (d->type->kind == IR_T_FRAG && !(d = argument_of(w, d))) w->r.failed = true;
  return d ? d : v;
}

static bool open_map(one_map *w, ir_builder *b, const ir_block *region) {
  *w = (one_map){.region = region, .map = ir_op_new(b, ir_find_op("tessera.tile.map"), 0, NULL, 1, NULL, 1)};
  if (!w->map) return false;
  w->r = ir_at_end(b->m, w->map->regions[0]);
  return true;
}

/* One operand more of all elements: zeros, which nothing reads. */
static bool has_all(one_map *w, int64_t rows, int64_t columns) {
  ir_builder before = ir_before(w->map);
  ir_value *zero = region_fill(&before, TSR_F32, rows, columns);
  return zero && argument_of(w, zero);
}

static tsr_status close_map(one_map *w, ir_value *y, ir_value **out) {
  for (int i = 0; i < w->n; i++) w->inlined[i]->data = NULL;
  if (w->r.failed || !ir_build0(&w->r, "tessera.tile.yield", 1, &y)) return st_oom();
  TSR_TRY(w->map->def->infer(w->map, &w->map->results[0]->type));
  *out = w->map->results[0];
  return NULL;
}

void region_begin(const ir_block *region) {
  for (int i = 0; i < region->n_args; i++) region->args[i]->data = NULL;
  for (ir_op *o = region->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = NULL;
}

tsr_status region_op(ir_builder *b, const ir_block *region, ir_op *op, int64_t rows, int64_t columns) {
  one_map w;
  ir_value *out;
  bool any = false;
  for (int i = 0; i < op->n_operands; i++) any |= fragment_of(region, op->operands[i]) != NULL;
  if (!any || op->n_results != 1 || op->results[0]->type->kind != IR_T_SCALAR) return NULL;
  if (!open_map(&w, b, region)) return st_oom();
  w.r.loc = op->loc;
  const ir_op *copy = ir_op_copy(&w.r, op, scalar_of, &w);
  if (!copy || (w.positions && !has_all(&w, rows, columns))) return st_oom();
  TSR_TRY(close_map(&w, copy->results[0], &out));
  op->results[0]->data = out;
  return NULL;
}

tsr_status region_result(ir_builder *b, const ir_block *region, ir_value *v, int64_t rows, int64_t columns,
                         ir_value **out) {
  ir_value *frag = fragment_of(region, v);
  one_map w;
  if (frag && frag->type->dims[0] == rows && frag->type->dims[1] == columns) return *out = frag, NULL;
  if (!open_map(&w, b, region)) return st_oom();
  ir_value *y = scalar_of(&w, v);
  if (!has_all(&w, rows, columns)) return st_oom();
  return close_map(&w, y, out);
}
