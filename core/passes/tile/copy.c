/* core/passes/tile/copy.c - the copy family: operands that cover the result (a range of blocks for each), and one that
 * doesn't (a gather with a fill value). Where each begins says the op's row (graph_row.start). */
#include <string.h>

#include "core/base/int_math.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/tile/build.h"

static kb_mem whole(ir_value *arg) {
  kb_mem m = {.arg = arg, .dtype = arg->type->dtype, .rank = arg->type->rank};
  memcpy(m.dims, arg->type->dims, sizeof m.dims);
  ir_type_strides(arg->type, m.strides);
  return m;
}

static int64_t elements(const kb_kernel *k) {
  return k->params.m > 0 ? k->params.m * max64(1, k->params.n) : sched_block_elements(k->opts->caps);
}

static void cut(kb_kernel *k, kb_space *s) {
  s->tn = max64(1, min64(s->dims[s->rank - 1], elements(k)));
  s->tm = max64(1, min64(s->dims[s->rank - 2], elements(k) / s->tn));
}

/* Corner of tile number `t` of s, n fastest. */
static void corner(kb_kernel *k, kb_space *s, ir_value *t) {
  int64_t size[TSR_MAX_RANK + 2];
  for (int i = s->rank - 1; i >= 0; i--) {
    size[i] = i == s->rank - 1 ? s->tn : i == s->rank - 2 ? s->tm : 1;
    int64_t n = ceil_div(s->dims[i], size[i]);
    ir_value *c = kb_index(k, n), *r = i ? kb_op2(k, "tessera.tile.rem", t, c) : t;
    s->at[i] = size[i] == 1 ? r : kb_op2(k, "tessera.tile.mul", r, kb_index(k, size[i]));
    if (i) t = kb_op2(k, "tessera.tile.div", t, c);
  }
}

static int64_t n_tiles(const kb_space *s) {
  int64_t n = ceil_div(s->dims[s->rank - 1], s->tn) * ceil_div(s->dims[s->rank - 2], s->tm);
  for (int i = 0; i < s->rank - 2; i++) n *= s->dims[i];
  return n;
}

/* One operand: its own space, copied to the result from `start` on. */
static tsr_status copy_part(kb_kernel *k, const ir_op *op, int i, const int64_t *start, ir_value *block, int64_t first,
                            int64_t *tiles) {
  kb_node *n = kb_node_of(k, op->operands[i]);
  if (!n || !n->is_mem) return ir_error(op, NULL, "operand %d must lie in memory", i);
  kb_mem in = n->m, out = whole(k->op->regions[0]->args[k->src->n_operands]);
  kb_stride_rows rows = {.n = 2};
  kb_space s;
  kb_mem_align(&in, FORM_FULL, in.rank, rows.v[0]);
  kb_mem_align(&out, FORM_FULL, in.rank, rows.v[1]);
  kb_space_make(&s, op->operands[i]->type, in.rank, &rows);
  cut(k, &s);
  *tiles = n_tiles(&s);
  if (!*tiles) return NULL;
  ir_value *lo = kb_index(k, first), *hi = kb_index(k, first + *tiles);
  ir_value *cond[2];
  static const char *const preds[2] = {"ge", "lt"};
  ir_value *bounds[2] = {lo, hi};
  for (int c = 0; c < 2; c++) {
    ir_op *cmp = ir_op_new(&k->b, ir_find_op("tessera.tile.compare"), 2, (ir_value *[]){block, bounds[c]}, 1,
                           (const ir_type *[]){ir_type_scalar(k->m, TSR_BOOL)}, 0);
    if (!cmp || !ir_set_attr(cmp, "predicate", ir_attr_str(k->m, preds[c]))) return st_oom();
    cond[c] = cmp->results[0];
  }
  ir_value *both = kb_op2(k, "tessera.tile.and", cond[0], cond[1]);
  ir_op *branch = both ? ir_op_new(&k->b, ir_find_op("tessera.tile.if"), 1, &both, 0, NULL, 1) : NULL;
  if (!branch) return st_oom();
  ir_builder outside = k->b;
  k->b = ir_at_end(k->m, branch->regions[0]);
  corner(k, &s, kb_op2(k, "tessera.tile.sub", block, lo));
  int64_t strides[TSR_MAX_RANK + 2];
  ir_value *w;
  kb_space_strides(&in, &s, FORM_FULL, strides);
  TSR_TRY(kb_window(k, &in, &s, strides, NULL, &w));
  ir_value *v = ir_build1(&k->b, "tessera.tile.load",
                          kb_frag(k, kb_compute(in.dtype), w->type->dims[0], w->type->dims[1]), 1, &w);
  /* The part of the result that this input fills, with the input's extents. */
  memcpy(out.dims, in.dims, sizeof out.dims);
  for (int d = 0; d < out.rank; d++) out.offset += start[d] * out.strides[d];
  kb_space_strides(&out, &s, FORM_FULL, strides);
  if (!v) return st_oom();
  TSR_TRY(kb_store(k, v, &out, &s, strides));
  if (!ir_build0(&k->b, "tessera.tile.yield", 0, NULL)) return st_oom();
  k->b = outside;
  return NULL;
}

static tsr_status copy_parts(kb_kernel *k, const ir_op *op) {
  int64_t start[TSR_MAX_RANK] = {0}, first = 0;
  ir_value *block = kb_block_id(k, 0);
  for (int i = 0; i < op->n_operands; i++) {
    int64_t tiles;
    graph_ext(op)->start(op, i, start);
    TSR_TRY(copy_part(k, op, i, start, block, first, &tiles));
    first += tiles;
  }
  return ir_set_attr(k->op, "grid", ir_attr_ints(k->m, (int64_t[]){first, 1, 1}, 3)) ? NULL : st_oom();
}

/* ---- one operand in a constant ----------------------------------------------------------------------------------- */

static ir_value *r_const(kb_kernel *k, ir_builder *r, const ir_type *t, double v) {
  ir_value *x = ir_build1(r, "tessera.tile.const", t, 0, NULL);
  return x && ir_set_attr(x->def, "value",
                          t->kind == IR_T_INDEX ? ir_attr_int(k->m, (int64_t)v) : ir_attr_float(k->m, v))
             ? x
             : NULL;
}

/* Coordinate of the input along original dimension d, inside a region over the tile's [row, column]. */
static ir_value *coordinate(kb_kernel *k, const kb_space *s, ir_builder *r, int d, ir_value *row, ir_value *col,
                            int64_t low) {
  ir_value *at = s->at[d];
  if (d == s->rank - 2) at = ir_build1(r, "tessera.tile.add", NULL, 2, (ir_value *[]){at, row});
  if (d == s->rank - 1) at = ir_build1(r, "tessera.tile.add", NULL, 2, (ir_value *[]){at, col});
  return at ? ir_build1(r, "tessera.tile.sub", NULL, 2,
                        (ir_value *[]){at, r_const(k, r, ir_type_index(k->m), (double)low)})
            : NULL;
}

static tsr_status gather_inside(kb_kernel *k, const kb_mem *in, const kb_space *s, const int64_t *low, int shift,
                                ir_value **out) {
  ir_type vt = {.kind = IR_T_VIEW, .dtype = in->dtype, .rank = in->rank, .has_strides = true, .offset = in->offset};
  memcpy(vt.dims, in->dims, sizeof vt.dims);
  memcpy(vt.strides, in->strides, sizeof vt.strides);
  ir_value *view = ir_build1(&k->b, "tessera.tile.view", ir_type_get(k->m, &vt), 1, (ir_value *const *)&in->arg);
  const ir_type *t = kb_frag(k, kb_compute(in->dtype), s->tm, s->tn), *index = ir_type_index(k->m);
  ir_op *g = view ? ir_op_new(&k->b, ir_find_op("tessera.tile.gather"), 1, &view, 1, &t, 1) : NULL;
  if (!g) return st_oom();
  ir_builder r = ir_at_end(k->m, g->regions[0]);
  ir_value *row = ir_block_arg(k->m, g->regions[0], index, NULL), *col = ir_block_arg(k->m, g->regions[0], index, NULL),
           *y[TSR_MAX_RANK];
  if (!row || !col) return st_oom();
  for (int d = 0; d < in->rank; d++)
    if (!(y[d] = coordinate(k, s, &r, d + shift, row, col, low[d]))) return st_oom();
  *out = g->results[0];
  return ir_build0(&r, "tessera.tile.yield", in->rank, y) ? NULL : st_oom();
}

/* Elements whose coordinates lie outside the input become `value`. */
static tsr_status fill_outside(kb_kernel *k, const kb_mem *in, const kb_space *s, const int64_t *low, int shift,
                               double value, ir_value **x) {
  ir_op *map = ir_op_new(&k->b, ir_find_op("tessera.tile.map"), 1, x, 1, &(*x)->type, 1);
  if (!map) return st_oom();
  ir_builder r = ir_at_end(k->m, map->regions[0]);
  const ir_type *t = ir_type_scalar(k->m, (*x)->type->dtype), *index = ir_type_index(k->m);
  ir_value *e = ir_block_arg(k->m, map->regions[0], t, NULL), *rc[2], *inside = NULL;
  for (int i = 0; i < 2; i++)
    if (!(rc[i] = ir_build1(&r, "tessera.tile.index", index, 0, NULL)) ||
        !ir_set_attr(rc[i]->def, "dim", ir_attr_int(k->m, i)))
      return st_oom();
  for (int d = 0; d < in->rank; d++) {
    ir_value *c = coordinate(k, s, &r, d + shift, rc[0], rc[1], low[d]);
    ir_value *limits[2] = {r_const(k, &r, index, 0), r_const(k, &r, index, (double)in->dims[d])};
    for (int i = 0; i < 2; i++) {
      if (!c || !limits[i]) return st_oom();
      const ir_type *b = ir_type_scalar(k->m, TSR_BOOL);
      ir_op *cmp = ir_op_new(&r, ir_find_op("tessera.tile.compare"), 2, (ir_value *[]){c, limits[i]}, 1, &b, 0);
      if (!cmp || !ir_set_attr(cmp, "predicate", ir_attr_str(k->m, i ? "lt" : "ge"))) return st_oom();
      inside = inside ? ir_build1(&r, "tessera.tile.and", NULL, 2, (ir_value *[]){inside, cmp->results[0]})
                      : cmp->results[0];
    }
  }
  ir_value *v = r_const(k, &r, t, value),
           *y = ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){inside, e, v});
  *x = map->results[0];
  return y && ir_build0(&r, "tessera.tile.yield", 1, &y) ? NULL : st_oom();
}

static tsr_status surround(kb_kernel *k, const ir_op *op) {
  kb_node *n = kb_node_of(k, op->operands[0]);
  int64_t low[TSR_MAX_RANK] = {0};
  if (!n || !n->is_mem || !n->m.arg) return ir_error(op, NULL, "the operand must lie in memory");
  graph_ext(op)->start(op, 0, low);
  kb_mem out = whole(k->op->regions[0]->args[k->src->n_operands]);
  /* Coordinates are needed per dimension, so nothing is merged. */
  kb_space s = {.orig_rank = out.rank, .rank = out.rank};
  int shift = out.rank < 2 ? 2 - out.rank : 0;
  s.rank += shift;
  for (int i = 0; i < s.rank; i++) {
    s.dims[i] = i < shift ? 1 : out.dims[i - shift];
    s.from[i] = i < shift ? -1 : i - shift;
  }
  cut(k, &s);
  TSR_TRY(kb_space_grid(k, &s));
  ir_value *x;
  if (n->m.rank == 0) return ir_error(op, NULL, "needs at least one dimension");
  TSR_TRY(gather_inside(k, &n->m, &s, low, shift, &x));
  double value = ir_get_float(op, "value", 0);
  if (value != 0) TSR_TRY(fill_outside(k, &n->m, &s, low, shift, value, &x));
  int64_t strides[TSR_MAX_RANK + 2];
  kb_space_strides(&out, &s, FORM_FULL, strides);
  return kb_store(k, x, &out, &s, strides);
}

/* No element of the result is left to the attribute `value`: operands don't overlap. */
static bool covers(const ir_op *op) {
  int64_t n = 0;
  for (int i = 0; i < op->n_operands; i++) n += ir_type_count(op->operands[i]->type);
  return n == ir_type_count(op->results[0]->type);
}

tsr_status family_copy(kb_kernel *k) {
  for (const ir_op *o = k->src->regions[0]->first; o; o = o->next)
    if (graph_is_kind(o, GRAPH_COPY)) return covers(o) ? copy_parts(k, o) : surround(k, o);
  return ir_error(k->src, NULL, "a copy kernel needs a concat or a pad");
}
