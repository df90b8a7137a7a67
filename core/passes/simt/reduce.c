/* core/passes/simt/reduce.c - reductions of fragments: in registers, over lanes, through shared memory, over a cluster.
 */
#include <string.h>

#include "core/ir/reducer.h"
#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/cluster.h"
#include "core/passes/simt/element.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/reduce.h"
#include "core/passes/simt/registers.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/state.h"

/* A running reduction: the value and, for kahan_sum, what its roundings lost. */
typedef struct partial { ir_value *v, *lost; } partial;

typedef struct reducer {
  int code; /* SC_ADD, SC_MAX, SC_MIN, SC_MUL */
  const char *name;
  bool kahan;
  tsr_dtype acc;
  double identity;
} reducer;

static reducer reducer_of(const ir_op *op) {
  const ir_reducer *row = ir_reducer_of(op);
  tsr_dtype t = op->operands[0]->type->dtype;
  reducer r = {.code = row->code, .name = row->name, .acc = t};
  if (dtype_is_float(t) && tsr_dtype_size(t) < 4) r.acc = TSR_F32;
  if (t == TSR_I8 || t == TSR_U8 || t == TSR_I16 || t == TSR_BOOL) r.acc = TSR_I32;
  r.identity = ir_reducer_identity(row, r.acc);
  r.kahan = r.code == SC_ADD && dtype_is_float(r.acc) && ir_policy(op) == TSR_POLICY_KAHAN_SUM;
  return r;
}

static ir_value *op2(simt *c, int code, ir_value *a, ir_value *b) {
  return sx_op(c, code, NULL, 2, (ir_value *[]){a, b});
}

/* Two-sum (Knuth): the rounding error of a sum is itself a float, whatever the operands' order. */
static partial combine(simt *c, const reducer *r, partial a, partial b) {
  if (!r->kahan) return (partial){op2(c, r->code, a.v, b.v), NULL};
  ir_value *s = op2(c, SC_ADD, a.v, b.v), *bb = op2(c, SC_SUB, s, a.v);
  ir_value *err = op2(c, SC_ADD, op2(c, SC_SUB, a.v, op2(c, SC_SUB, s, bb)), op2(c, SC_SUB, b.v, bb));
  ir_value *lost = a.lost && b.lost ? op2(c, SC_ADD, a.lost, b.lost) : a.lost ? a.lost : b.lost;
  return (partial){s, lost ? op2(c, SC_ADD, lost, err) : err};
}

ir_value *simt_compensated(simt *c, ir_value *sum, ir_value *lost) {
  ir_value *r = op2(c, SC_ADD, sum, lost);
  if (!r) return NULL;
  ir_value *finite =
      sx_compare(c, "le", sx_op(c, SC_ABS, NULL, 1, &r), sx_num(c, r->type->dtype, dtype_get(r->type->dtype)->max));
  return sx_select(c, finite, r, sum);
}

/* Combines over the lanes of the axis by exchanges at distances stride, 2 stride, ... */
static ir_value *shuffled(simt *c, ir_value *v, int distance) {
  ir_value *r = sx_op(c, TG_SHUFFLE, v ? v->type : NULL, 2, (ir_value *[]){v, sx_int(c, distance)});
  if (r && !ir_set_attr(r->def, "mode", ir_attr_str(c->m, "xor"))) c->b.failed = true;
  return r;
}

static partial over_lanes(simt *c, const reducer *r, partial p, const simt_layout *l, int axis) {
  int stride = 1;
  for (int d = axis + 1; d < l->rank; d++) stride *= l->lanes[d];
  if (stride == 1 && !r->kahan && p.v) {
    ir_value *v = sx_op(c, TG_WARP_REDUCE, p.v->type, 1, &p.v);
    if (!v || !ir_set_attr(v->def, "op", ir_attr_str(c->m, r->name)) ||
        !ir_set_attr(v->def, "width", ir_attr_int(c->m, l->lanes[axis])))
      c->b.failed = true;
    return (partial){v, NULL};
  }
  for (int k = 1; k < l->lanes[axis]; k *= 2) {
    partial other = {shuffled(c, p.v, k * stride), p.lost ? shuffled(c, p.lost, k * stride) : NULL};
    p = combine(c, r, p, other);
  }
  return p;
}

/* Every (register, lane group) partial of each cooperating thread goes to shared memory, then all read all of theirs in
 * a fixed order. Element (register, digit of the axis, thread without that digit). In a cluster, this is each block's
 * own part. */
static tsr_status over_shared(simt *c, const reducer *r, const simt_layout *l, int axis, bool lanes_too, partial *p,
                              int n) {
  int lane_digits = lanes_too ? l->lanes[axis] : 1, warps = l->warps[axis] / c->cluster, digits = lane_digits * warps;
  int others = c->threads / c->cluster, parts = r->kahan ? 2 : 1;
  int64_t dims[2] = {(int64_t)n * parts * warps, others / warps};
  simt_mem m;
  TSR_TRY(simt_scratch_tile(c, r->acc, 2, dims, 0, &m));
  /* The subgroup number without the axis' digit. */
  int after = 1;
  for (int d = axis + 1; d < l->rank; d++) after *= l->warps[d];
  ir_value *wd = c->cluster == 1 ? simt_warp_of(c, l, axis) : sx_div(c, c->block_warp, sx_int(c, after));
  ir_value *low = sx_rem(c, c->block_warp, sx_int(c, after)),
           *high = sx_div(c, c->block_warp, sx_int(c, (int64_t)after * warps));
  ir_value *rest = sx_add(c, sx_muli(c, high, after), low);
  ir_value *column = sx_add(c, sx_muli(c, rest, c->subgroup), c->lane);
  simt_write(c, m.lo, m.hi);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < parts; k++) {
      ir_value *row = sx_addi(c, wd, (int64_t)(i * parts + k) * warps);
      sx_store(c, &m, sx_add(c, m.base, sx_add(c, sx_muli(c, row, dims[1]), column)),
               k ? p[i].lost ? p[i].lost : sx_num(c, r->acc, 0) : p[i].v);
    }
  simt_read(c, m.lo, m.hi);
  int stride = 1;
  for (int d = axis + 1; d < l->rank; d++) stride *= l->lanes[d];
  for (int i = 0; i < n; i++) {
    partial all = {0};
    for (int g = 0; g < digits; g++) {
      partial one = {0};
      int w = g / lane_digits, ln = g % lane_digits;
      ir_value *col = column;
      if (lanes_too)
        col = sx_addi(c, sx_sub(c, column, sx_muli(c, simt_lane_of(c, l, axis), stride)), (int64_t)ln * stride);
      for (int k = 0; k < parts; k++) {
        ir_value *at = sx_addi(c, sx_add(c, m.base, col), ((int64_t)(i * parts + k) * warps + w) * dims[1]);
        *(k ? &one.lost : &one.v) = sx_load(c, &m, at, 1);
      }
      all = g ? combine(c, r, all, one) : one;
    }
    p[i] = all;
  }
  return c->b.failed ? st_oom() : NULL;
}

/* The blocks' partial results, alike in all threads of a block, combined in the order of the ranks. */
static tsr_status over_cluster(simt *c, const reducer *r, const simt_layout *l, int axis, partial *p, int n) {
  int parts = r->kahan ? 2 : 1;
  for (int d = 0; d < l->rank; d++)
    if (d != axis && l->warps[d] > 1)
      return simt_unsupported(c, c->in->op, "use tiles of one row", "a cluster shares only the axis that is reduced");
  ir_value **v = arena_array(&c->m->arena, ir_value *, n * parts),
           **all = arena_array(&c->m->arena, ir_value *, n * parts * c->cluster);
  if (!v || !all) return st_oom();
  for (int i = 0; i < n; i++) {
    v[i * parts] = p[i].v;
    if (r->kahan) v[i * parts + 1] = p[i].lost ? p[i].lost : sx_num(c, r->acc, 0);
  }
  TSR_TRY(simt_cluster_gather(c, r->acc, n * parts, v, all));
  for (int i = 0; i < n; i++)
    for (int b = 0; b < c->cluster; b++) {
      partial one = {all[i * parts * c->cluster + b], r->kahan ? all[(i * parts + 1) * c->cluster + b] : NULL};
      p[i] = b ? combine(c, r, p[i], one) : one;
    }
  return NULL;
}

/* Register r of f, or the identity where it lies past the extent along the axis. */
static ir_value *masked(simt *c, const reducer *q, const simt_frag *f, int r, int axis) {
  const simt_layout *l = f->layout;
  int64_t k = simt_reg_offset(l, r, axis);
  ir_value *v = sx_cast(c, f->v[r], q->acc);
  if (k >= l->dims[axis]) return sx_num(c, q->acc, q->identity);
  if (k + simt_thread_max(l, axis) < l->dims[axis]) return v;
  ir_value *in = sx_compare(c, "lt", simt_thread_offset(c, l, axis), sx_int(c, l->dims[axis] - k));
  return sx_select(c, in, v, sx_num(c, q->acc, q->identity));
}

tsr_status simt_lower_reduce(simt *c, ir_op *op) {
  int axis = (int)ir_get_int(op, "axis", 0);
  reducer q = reducer_of(op);
  simt_frag f;
  tsr_status st = NULL;
  bool done = false;
  if (c->path->reduce) TSR_TRY(c->path->reduce(c, op, &done));
  if (done) return NULL;
  TSR_TRY(simt_regs(c, &simt_of(op->operands[0])->frag, &f));
  const simt_layout *l = f.layout, *to = simt_layout_of(c, op->results[0], &st);
  if (!to) return st;
  /* Four running values per result, so that the additions of one thread don't wait for each other. */
  partial *p = arena_array(&c->m->arena, partial, to->n_regs),
          *quarter = arena_array(&c->m->arena, partial, 4 * to->n_regs);
  int *seen = arena_array(&c->m->arena, int, to->n_regs);
  ir_value **v = arena_array(&c->m->arena, ir_value *, to->n_regs);
  if (!p || !quarter || !seen || !v) return st_oom();
  for (int r = 0; r < l->n_regs; r++) {
    int i = simt_operand_reg(l, to, r);
    partial one = {masked(c, &q, &f, r, axis), NULL}, *into = &quarter[4 * i + seen[i]++ % 4];
    *into = into->v ? combine(c, &q, *into, one) : one;
  }
  for (int i = 0; i < to->n_regs; i++)
    for (int k = 0; k < 4; k++)
      if (quarter[4 * i + k].v) p[i] = p[i].v ? combine(c, &q, p[i], quarter[4 * i + k]) : quarter[4 * i + k];
  bool spread = l->dims[axis] > 1;
  bool by_shuffle = c->caps->subgroup_shuffle;
  if (spread && l->lanes[axis] > 1 && by_shuffle)
    for (int i = 0; i < to->n_regs; i++) p[i] = over_lanes(c, &q, p[i], l, axis);
  bool shared_by_cluster = spread && c->cluster > 1 && l->warps[axis] % c->cluster == 0;
  if (spread && c->cluster > 1 && l->warps[axis] > 1 && !shared_by_cluster)
    return simt_unsupported(c, op, "leave the attribute cluster out", "the tile is too small for a cluster");
  if (spread && (l->warps[axis] > c->cluster || (l->lanes[axis] > 1 && !by_shuffle)))
    TSR_TRY(over_shared(c, &q, l, axis, !by_shuffle, p, to->n_regs));
  if (shared_by_cluster) TSR_TRY(over_cluster(c, &q, l, axis, p, to->n_regs));
  for (int i = 0; i < to->n_regs; i++)
    v[i] = sx_cast(c, p[i].lost ? simt_compensated(c, p[i].v, p[i].lost) : p[i].v, op->results[0]->type->dtype);
  simt_val *s = simt_bind(c, op->results[0], SV_FRAG);
  if (!s || c->b.failed) return st_oom();
  s->frag = (simt_frag){.layout = to, .dtype = op->results[0]->type->dtype, .v = v, .n = to->n_regs};
  return NULL;
}
