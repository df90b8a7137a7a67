/* core/passes/tile/contraction.c - the canonical k loop over staged tiles, with elementwise prologues on the
 * operands. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/passes/tile/contraction.h"

/* A side's space: the batch dimensions of the result, then the operand's own two. */
void mm_side(contraction *x, side *s, ir_value *v, bool transpose, int64_t d0, int64_t d1, int64_t t0, int64_t t1) {
  s->value = v;
  s->transpose = transpose;
  s->orig = v->type;
  s->s = x->c;
  s->s.plain = true;
  int r = s->s.rank;
  s->s.dims[r - 2] = transpose ? d1 : d0;
  s->s.dims[r - 1] = transpose ? d0 : d1;
  s->s.tm = transpose ? t1 : t0;
  s->s.tn = transpose ? t0 : t1;
}

/* A cast that loses nothing can be done by the copy. */
static bool copy_converts(const kern *k, const ir_value *v, const ir_value **from, tsr_dtype *to) {
  *from = v;
  *to = v->type->dtype;
  if (v->def && graph_is(v->def, G_CAST)) {
    const dtype_info *a = dtype_get(v->def->operands[0]->type->dtype), *b = dtype_get(v->type->dtype);
    bool lossless = a->is_float && b->is_float && a->mantissa_bits <= b->mantissa_bits && a->max <= b->max;
    node *n = v->def->operands[0]->data;
    if (lossless && n && n->is_mem) {
      *from = v->def->operands[0];
      return true;
    }
  }
  node *n = v->data;
  return n && n->is_mem;
}

static ir_value *alloc_shared(kern *k, tsr_dtype t, int64_t m, int64_t n) {
  ir_type x = {
      .kind = IR_T_SHARED, .dtype = t, .rank = 2, .dims = {m, n}, .pad = k->params.padding > 0 ? k->params.padding : 0};
  return ir_build1(&k->b, "tessera.tile.alloc", ir_type_get(k->m, &x), 0, NULL);
}

/* Inside the loop: the operand's tile, staged in `shared` or (NULL) read where it lies. */
static tsr_status stage_side(kern *k, side *s, ir_value *shared, bool flip, ir_value **out) {
  const ir_value *from;
  tsr_dtype to;
  ir_value *w;
  if (!copy_converts(k, s->value, &from, &to)) {
    TSR_TRY(kb_value(k, s->value, &s->s, s->orig, FORM_FULL, &w));
    *out = shared;
    return ir_build0(&k->b, "tessera.tile.store", 2, (ir_value *[]){w, shared}) ? NULL : st_oom();
  }
  const mem *m = &((node *)from->data)->m;
  int64_t strides[TSR_MAX_RANK + 2];
  bool flipped;
  space_strides(m, &s->s, FORM_FULL, strides);
  TSR_TRY(kb_window(k, m, &s->s, strides, flip ? &flipped : NULL, &w));
  *out = w;
  if (!shared) return NULL;
  *out = shared;
  ir_op *c = ir_build0(&k->b, "tessera.tile.copy", 2, (ir_value *[]){w, shared});
  return c && (k->params.async_copy < 0 || ir_set_attr(c, "async", ir_attr_bool(k->m, true))) ? NULL : st_oom();
}

/* Will kb_window hand out the tile transposed? Then it is staged in memory order, and the gemm transposes. */
static bool will_transpose(kern *k, const side *s) {
  const ir_value *from;
  tsr_dtype to;
  int64_t strides[TSR_MAX_RANK + 2];
  if (!copy_converts(k, s->value, &from, &to)) return false;
  space_strides(&((node *)from->data)->m, &s->s, FORM_FULL, strides);
  return strides[s->s.rank - 2] == 1 && strides[s->s.rank - 1] != 1 && s->s.dims[s->s.rank - 1] != 1;
}

void mm_bounds(kern *k, const contraction *x, ir_value *bounds[3]) {
  bounds[0] = k->zero, bounds[1] = kb_index(k, x->g.k), bounds[2] = kb_index(k, x->bk);
  if (x->from) bounds[0] = x->from, bounds[1] = x->to;
  if (!x->part) return;
  bounds[0] = kb_op2(k, "tessera.tile.mul", x->part, kb_index(k, x->chunk));
  bounds[1] = kb_op2(k, "tessera.tile.min", kb_op2(k, "tessera.tile.add", bounds[0], kb_index(k, x->chunk)), bounds[1]);
}

static tsr_status main_loop(kern *k, contraction *x, ir_value **out) {
  int r = x->c.rank;
  const ir_type *acc_type = kb_frag(k, x->g.accum, x->bm, x->bn);
  ir_value *acc = ir_build1(&k->b, "tessera.tile.fill", acc_type, 0, NULL);
  if (!acc || !ir_set_attr(acc->def, "value", ir_attr_float(k->m, 0))) return st_oom();
  bool flip_a = will_transpose(k, &x->a), flip_b = will_transpose(k, &x->b);
  const ir_value *from;
  tsr_dtype ta, tb;
  bool plain_a = copy_converts(k, x->a.value, &from, &ta), plain_b = copy_converts(k, x->b.value, &from, &tb),
       use = k->params.use_shared >= 0;
  if (!plain_a) ta = kb_compute(ta) == TSR_F32 ? ta : x->a.value->type->dtype;
  ir_value *sa = NULL, *sb = NULL;
  if (use || !plain_a) sa = alloc_shared(k, ta, flip_a ? x->a.s.tn : x->a.s.tm, flip_a ? x->a.s.tm : x->a.s.tn);
  if (use || !plain_b) sb = alloc_shared(k, tb, flip_b ? x->b.s.tn : x->b.s.tm, flip_b ? x->b.s.tm : x->b.s.tn);
  ir_value *bounds[4];
  mm_bounds(k, x, bounds);
  bounds[3] = acc;
  ir_op *loop = ir_op_new(&k->b, ir_find_op("tessera.tile.for"), 4, bounds, 1, &acc_type, 1);
  if (!loop || (k->params.pipeline_stages > 0 && !ir_set_attr(loop, "stages", ir_attr_int(k->m, k->params.pipeline_stages))))
    return st_oom();
  ir_value *kk = ir_block_arg(k->m, loop->regions[0], ir_type_index(k->m), NULL),
           *carried = ir_block_arg(k->m, loop->regions[0], acc_type, NULL);
  if (!kk || !carried) return st_oom();
  ir_builder outside = k->b;
  k->b = ir_at_end(k->m, loop->regions[0]);
  x->a.s.at[r - 1 - x->a.transpose] = kk;
  x->b.s.at[r - 2 + x->b.transpose] = kk;
  ir_value *ops[3] = {carried};
  TSR_TRY(stage_side(k, &x->a, sa, flip_a, &ops[1]));
  TSR_TRY(stage_side(k, &x->b, sb, flip_b, &ops[2]));
  if ((sa || sb) && !ir_build0(&k->b, "tessera.tile.wait", 0, NULL)) return st_oom();
  ir_op *gemm = ir_op_new(&k->b, ir_find_op("tessera.tile.gemm"), 3, ops, 1, &acc_type, 0);
  if (!gemm || !ir_set_attr(gemm, "transpose_a", ir_attr_bool(k->m, x->a.transpose ^ flip_a)) ||
      !ir_set_attr(gemm, "transpose_b", ir_attr_bool(k->m, x->b.transpose ^ flip_b)) ||
      !ir_set_attr(gemm, "policy", ir_attr_str(k->m, k->opts->policy)) ||
      !ir_build0(&k->b, "tessera.tile.yield", 1, gemm->results))
    return st_oom();
  if (k->b.failed) return st_oom();
  k->b = outside;
  *out = loop->results[0];
  return NULL;
}

mem mm_workspace(const kern *k, const contraction *x, int64_t part) {
  mem m = {.arg = k->workspace, .dtype = x->g.accum, .rank = x->orig->rank};
  memcpy(m.dims, x->orig->dims, sizeof m.dims);
  ir_type_strides(x->orig, m.strides);
  m.offset = part * ir_type_count(x->orig);
  return m;
}

/* Parts are further block columns of the grid: block x = part * columns + column. */
tsr_status mm_split_grid(kern *k, contraction *x) {
  int64_t columns = (x->g.n + x->bn - 1) / x->bn, grid[3];
  space wide = x->c; /* x->c.tm, tn: the block's tile */
  wide.dims[wide.rank - 1] = columns * x->bn * k->params.split_k;
  k->params.raster = 0;
  TSR_TRY(space_grid(k, &wide));
  if (ir_get_ints(k->op, "grid", grid, 3) != 3) return st_oom();
  memcpy(x->c.at, wide.at, sizeof wide.at);
  ir_value *span = kb_index(k, columns * x->bn), *at = wide.at[wide.rank - 1];
  x->part = kb_op2(k, "tessera.tile.div", at, span);
  x->c.at[x->c.rank - 1] = kb_op2(k, "tessera.tile.rem", at, span);
  return k->b.failed ? st_oom() : NULL;
}

/* The accumulator's window in the workspace, at this block's part. */
tsr_status mm_part_window(kern *k, const contraction *x, const space *at, ir_value **out) {
  mem m = mm_workspace(k, x, 0);
  int64_t strides[TSR_MAX_RANK + 2];
  space s = *at;
  space_strides(&m, &s, FORM_FULL, strides);
  /* The part is one more outer dimension. */
  if (s.rank + 1 > TSR_MAX_RANK + 2) return ir_error(k->src, NULL, "too many dimensions for split_k");
  memmove(s.dims + 1, s.dims, sizeof *s.dims * (size_t)s.rank);
  memmove(s.at + 1, s.at, sizeof *s.at * (size_t)s.rank);
  memmove(strides + 1, strides, sizeof *strides * (size_t)s.rank);
  s.rank++;
  s.dims[0] = k->params.split_k;
  s.at[0] = x->part;
  strides[0] = ir_type_count(x->orig);
  return kb_window(k, &m, &s, strides, NULL, out);
}

tsr_status mm_contract(kern *k, contraction *x, ir_value **acc) {
  int r = x->c.rank;
  mm_side(x, &x->a, x->op->operands[0], x->g.transpose_a, x->g.m, x->g.k, x->bm, x->bk);
  mm_side(x, &x->b, x->op->operands[1], x->g.transpose_b, x->g.k, x->g.n, x->bk, x->bn);
  x->a.s.at[r - 2 + x->a.transpose] = x->c.at[r - 2];
  x->b.s.at[r - 1 - x->b.transpose] = x->c.at[r - 1];
  return main_loop(k, x, acc);
}
