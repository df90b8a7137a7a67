/* core/passes/tile/value.c - values of a schedule.kernel's body as Tile IR fragments: loads of what lies in memory, one
 * map per elementwise op (tile_fuse_maps joins them), row operations by reductions (tile/row_ops.c). */
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/policy.h"
#include "core/device/dialect.h"
#include "core/passes/tile/map.h"

/* ---- elementwise ops ------------------------------------------------------------------------------------------- */

tsr_status kb_operand(kb_kernel *k, ir_value *v, const kb_space *s, const ir_type *orig, kb_form f, ir_value **out) {
  ir_value *args[1];
  ir_builder r;
  tsr_dtype t = v->type->dtype;
  TSR_TRY(kb_value(k, v, s, orig, f, out));
  kb_node *n = kb_node_of(k, v);
  if (!n) return st_oom();
  bool narrow = dtype_is_float(t) && kb_compute(t) != t && (*out)->type->dtype != t;
  if (n->is_mem || n->is_imm || !narrow || policy_named(k->opts->policy) != TSR_POLICY_DETERMINISTIC) return NULL;
  ir_op *map = kb_map_open(k, 1, out, args, &r, NULL, 0);
  *out = map ? kb_map_close(k, map, &r, kb_cast_to(k, &r, kb_cast_to(k, &r, args[0], t), (*out)->type->dtype)) : NULL;
  return *out ? NULL : st_oom();
}

static tsr_status elementwise(kb_kernel *k, ir_op *op, const kb_space *s, const ir_type *orig, kb_form f,
                              ir_value **out) {
  ir_value *frags[4] = {0}, *args[4] = {0};
  double imms[4] = {0};
  tsr_dtype in_type = TSR_DTYPE_NONE;
  int n = op->n_operands, live = 0;
  for (int i = 0; i < n; i++) {
    kb_node *x = kb_node_of(k, op->operands[i]);
    if (!x) return st_oom();
    tsr_dtype t = kb_compute(op->operands[i]->type->dtype);
    if (i || op->def->code != G_SELECT) in_type = t;
    imms[i] = x->imm;
    if (x->is_imm) continue;
    TSR_TRY(kb_operand(k, op->operands[i], s, orig, f, &frags[i]));
    live++;
  }
  k->b.loc = op->loc;
  if (!live) { /* constants only: spread the first one */
    tsr_dtype t = kb_compute(op->operands[0]->type->dtype);
    if (!(frags[0] = kb_constant(k, t, imms[0]))) return st_oom();
  }
  ir_builder r;
  bool select_imm = op->def->code == G_SELECT && !frags[0];
  ir_op *map = kb_map_open(k, n, frags, args, &r, imms, in_type);
  if (!map) return st_oom();
  if (select_imm) args[0] = kb_number(k, &r, TSR_BOOL, imms[0]);
  ir_value *y;
  tsr_dtype to = op->results[0]->type->dtype, ct = kb_compute(to);
  if (op->def->code == G_CAST) {
    /* Through the narrow type, so that it rounds, and back to the type that computes it. */
    y = kb_cast_to(k, &r, kb_cast_to(k, &r, args[0], to), ct);
  } else {
    y = kb_scalar(k, &r, op, args);
    if (y && scalar_rows[graph_scalar(op)].traits & SCALAR_WRAPS) y = kb_wrap_scalar(k, &r, y, to);
  }
  *out = kb_map_close(k, map, &r, y);
  return *out ? NULL : st_oom();
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static ir_value **frag_entry(kb_node *n, const kb_space *s, kb_form f) {
  for (int i = 0; i < n->n_frags; i++)
    if (n->frags[i].s == s && n->frags[i].f == f) return &n->frags[i].frag;
  if (n->n_frags == 8) return NULL;
  n->frags[n->n_frags].s = s;
  n->frags[n->n_frags].f = f;
  return &n->frags[n->n_frags++].frag;
}

/* Threads of a GPU should read neighbours in memory: a tile whose memory order is the other way is loaded in memory
 * order and transposed through shared memory. */
static bool reads_transposed(const kb_kernel *k) { return caps_coalesces(k->opts->caps); }

/* One more operand of the structured op whose region is being built: the element is the region's next argument. */
static tsr_status add_operand(kb_kernel *k, ir_value *operand, tsr_dtype element, bool flipped, ir_value **out) {
  kb_scalars *x = k->scalars;
  if (x->n == MAX_LEAVES) return ir_error(k->src, NULL, "reads too many tensors");
  x->transposed[x->n++] = flipped;
  *out = ir_block_arg(k->m, x->region, ir_type_scalar(k->m, element), NULL);
  return *out && ir_add_operand(x->op, operand) ? NULL : st_oom();
}

static tsr_status operand_of_region(kb_kernel *k, const kb_mem *m, const kb_space *s, kb_form f, ir_value **out) {
  kb_scalars *x = k->scalars;
  int64_t strides[TSR_MAX_RANK + 2];
  ir_value *w;
  bool flipped = false;
  kb_space_strides(m, s, f, strides);
  ir_builder inside = k->b;
  k->b = x->operands;
  const bool may_flip = reads_transposed(k) && s->tm > 1 && !x->in_order;
  tsr_status st = kb_window(k, m, s, strides, may_flip ? &flipped : NULL, &w);
  if (!st && flipped && (w->type->dims[0] == 1 || w->type->dims[1] == 1)) {
    flipped = false;
    st = kb_window(k, m, s, strides, NULL, &w);
  }
  inside.failed |= k->b.failed;
  k->b = inside;
  TSR_TRY(st);
  return add_operand(k, w, kb_compute(m->dtype), flipped, out);
}

enum { SPANS_ROWS = 1, SPANS_COLUMNS = 2, SPANS_ALL = 3, READS_MEMORY = 4, SPANS_KNOWN = 8 };

/* Along which dimensions of the tile v's elements differ, and whether it is more than a constant. */
static int spans_of(kb_kernel *k, ir_value *v, const kb_space *s) {
  kb_node *n = kb_node_of(k, v);
  if (!n || n->is_imm) return 0;
  if (n->spans) return n->spans;
  const int r = s->rank;
  int found = SPANS_KNOWN;
  if (n->is_mem) {
    int64_t strides[TSR_MAX_RANK + 2];
    kb_space_strides(&n->m, s, FORM_FULL, strides);
    found |= READS_MEMORY;
    if (strides[r - 2] || s->dims[r - 2] == 1 || s->tm == 1) found |= SPANS_ROWS;
    if (strides[r - 1] || s->dims[r - 1] == 1 || s->tn == 1) found |= SPANS_COLUMNS;
  } else if (v->def && v->def->def->flags & (IR_ELEMENTWISE | IR_VIEWLIKE)) {
    for (int i = 0; i < v->def->n_operands; i++) found |= spans_of(k, v->def->operands[i], s);
  } else {
    found |= SPANS_ALL;
  }
  return n->spans = found;
}

/* v repeats along a dimension of the tile: not to be computed for each element. */
static bool is_narrow(kb_kernel *k, ir_value *v, const kb_space *s) {
  if (!k->scalars || !k->scalars->before) return false;
  const int spans = spans_of(k, v, s);
  return spans & READS_MEMORY && (spans & SPANS_ALL) != SPANS_ALL;
}

/* v as a fragment before the structured op, which gets it as an operand. */
static tsr_status compute_before(kb_kernel *k, ir_value *v, const ir_type *orig, ir_value **out) {
  kb_scalars *x = k->scalars;
  ir_value *frag;
  ir_builder inside = k->b;
  k->b = x->operands;
  k->scalars = NULL;
  tsr_status st = kb_value(k, v, x->before, orig, FORM_FULL, &frag);
  k->scalars = x;
  inside.failed |= k->b.failed;
  k->b = inside;
  TSR_TRY(st);
  return add_operand(k, frag, frag->type->dtype, false, out);
}

/* An iota's elements on the tile of s, each its address, rounded to its type: computed of the corner's index and the
 * element's place in the tile. */
static tsr_status places(kb_kernel *k, const kb_mem *m, const kb_space *s, const int64_t *strides, ir_value **out) {
  const int r = s->rank;
  ir_value *corner = kb_index(k, m->offset), *args[1];
  bool far = m->offset > INT32_MAX;
  for (int i = 0; i < m->rank; i++) far |= m->strides[i] && m->dims[i] > INT32_MAX / m->strides[i] - m->offset;
  for (int i = 0; i < r && corner; i++)
    if (strides[i] && s->at[i] != k->zero)
      corner = kb_op2(k, "tessera.tile.add", corner, kb_op2(k, "tessera.tile.mul", s->at[i], kb_index(k, strides[i])));
  const tsr_dtype t = kb_compute(m->dtype), whole = t == TSR_I64 || far ? TSR_I64 : TSR_I32;
  ir_value *shape = kb_fill(&k->b, kb_frag(k, t, strides[r - 2] ? s->tm : 1, strides[r - 1] ? s->tn : 1), 0);
  ir_builder in;
  ir_op *map = shape ? kb_map_open(k, 1, &shape, args, &in, NULL, 0) : NULL;
  if (!map) return st_oom();
  ir_value *v = corner;
  for (int d = 0; d < 2; d++) {
    if (!strides[r - 2 + d]) continue;
    ir_value *at = ir_build1(&in, "tessera.tile.index", ir_type_index(k->m), 0, NULL),
             *step = ir_build1(&in, "tessera.tile.const", ir_type_index(k->m), 0, NULL);
    if (!at || !step || !ir_set_attr(at->def, "dim", ir_attr_int(k->m, d)) ||
        !ir_set_attr(step->def, "value", ir_attr_int(k->m, strides[r - 2 + d])))
      return st_oom();
    at = ir_build1(&in, "tessera.tile.mul", NULL, 2, (ir_value *[]){at, step});
    v = ir_build1(&in, "tessera.tile.add", NULL, 2, (ir_value *[]){v, at});
  }
  v = ir_build1(&in, "tessera.tile.cast", ir_type_scalar(k->m, whole), 1, &v);
  v = kb_cast_to(k, &in, v, t);
  if (dtype_is_float(t)) v = kb_cast_to(k, &in, kb_cast_to(k, &in, v, m->dtype), t);
  return (*out = kb_map_close(k, map, &in, v)) ? NULL : st_oom();
}

static tsr_status load(kb_kernel *k, const kb_mem *m, const kb_space *s, kb_form f, ir_value **out) {
  if (!m->arg && k->scalars)
    return ir_error(k->src, "give the places to the kernel as a tensor",
                    "a product's tile doesn't know where its elements stand");
  if (!m->arg) {
    int64_t strides[TSR_MAX_RANK + 2];
    kb_space_strides(m, s, f, strides);
    return places(k, m, s, strides, out);
  }
  if (k->scalars) return operand_of_region(k, m, s, f, out);
  int64_t strides[TSR_MAX_RANK + 2];
  ir_value *w;
  bool flipped = false;
  kb_space_strides(m, s, f, strides);
  TSR_TRY(kb_window(k, m, s, strides, reads_transposed(k) && s->tm > 1 ? &flipped : NULL, &w));
  if (flipped && w->type->dims[0] > 1 && w->type->dims[1] > 1) {
    ir_value *v = ir_build1(&k->b, "tessera.tile.load",
                            kb_frag(k, kb_compute(m->dtype), w->type->dims[0], w->type->dims[1]), 1, &w);
    ir_op *t = v ? ir_op_new(&k->b, ir_find_op("tessera.tile.transpose"), 1, &v, 1, NULL, 0) : NULL;
    if (!t || !ir_set_attr(t, "perm", ir_attr_ints(k->m, (int64_t[]){1, 0}, 2)) ||
        !(t->results[0]->type = kb_frag(k, v->type->dtype, v->type->dims[1], v->type->dims[0])))
      return st_oom();
    *out = t->results[0];
    return NULL;
  }
  if (flipped) TSR_TRY(kb_window(k, m, s, strides, NULL, &w));
  *out = ir_build1(&k->b, "tessera.tile.load", kb_frag(k, kb_compute(m->dtype), w->type->dims[0], w->type->dims[1]), 1,
                   &w);
  return *out ? NULL : st_oom();
}

tsr_status kb_value(kb_kernel *k, ir_value *v, const kb_space *s, const ir_type *orig, kb_form f, ir_value **out) {
  kb_node *n = kb_node_of(k, v);
  if (!n) return st_oom();
  ir_op *op = v->def;
  if (s->plain) f = FORM_FULL;
  else if (!n->is_mem && !n->is_imm && op &&
           (op->def->flags & IR_ELEMENTWISE || graph_is_row_op(op) || op->def->flags & IR_VIEWLIKE ||
            graph_is_kind(op, GRAPH_CONTRACTION)))
    f = kb_form_of(v->type, orig);
  ir_value **entry = frag_entry(n, s, f);
  if (!entry) return ir_error(k->src, NULL, "a value is used in too many ways");
  if (*entry) {
    *out = *entry;
    return NULL;
  }
  if (n->is_mem) {
    TSR_TRY(load(k, &n->m, s, f, out));
  } else if (n->is_imm) {
    if (!(*out = kb_constant(k, kb_compute(v->type->dtype), n->imm))) return st_oom();
  } else if (is_narrow(k, v, s)) {
    TSR_TRY(compute_before(k, v, orig, out));
  } else if (op->def->flags & IR_ELEMENTWISE) {
    TSR_TRY(elementwise(k, op, s, orig, f, out));
  } else if (graph_is_row_op(op) && !k->scalars) {
    TSR_TRY(n->stat[0] ? kb_row_apply(k, op, s, orig, out) : kb_row_op(k, op, s, orig, out));
  } else if (op->def->flags & IR_VIEWLIKE) {
    /* Between per-row and full values these compute nothing: dimensions of 1 repeat. */
    TSR_TRY(kb_value(k, op->operands[0], s, orig, f, out));
  } else {
    return ir_error(op, NULL, "can't be lowered inside a %s kernel", ir_get_str(k->src, "family", ""));
  }
  *entry = *out;
  return NULL;
}
