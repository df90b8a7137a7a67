/* core/passes/simt/matrix/operands.c - see simt/matrix/operands.h. */
#include "core/passes/simt/matrix/operands.h"

#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/state.h"

enum { MOST = 32 }; /* neighbours that a lane feeds to one instruction */

void simt_split_warps(int warps, int64_t m, int64_t n, int block_m, int block_n, int *wm, int *wn) {
  int64_t best = INT64_MAX;
  *wm = *wn = 1;
  for (int used = warps; used >= 1; used--) {
    if (warps % used) continue;
    for (int x = 1; x <= used; x++) {
      if (used % x || m % (x * block_m) || n % (used / x * block_n)) continue;
      int64_t cost = m / x + n / (used / x); /* operand elements read per k */
      if (cost >= best) continue;
      best = cost;
      *wm = x;
      *wn = used / x;
    }
    if (best != INT64_MAX) return;
  }
}

/* One element or vector of memory at coordinates (x[0], x[1]) with its bounds; zero outside. */
static ir_value *element(simt *c, const simt_mem *m, ir_value *const x[2], int count) {
  ir_value *at = m->base, *cond = m->inside;
  for (int d = 0; d < 2; d++) {
    at = sx_add(c, at, sx_muli(c, x[d], m->strides[d]));
    if (m->limit[d]) cond = sx_all(c, cond, sx_compare(c, "lt", x[d], m->limit[d]));
  }
  if (!cond) return sx_load(c, m, at, count);
  ir_value *v = sx_load(c, m, sx_select(c, cond, at, simt_harmless(c, m)), count);
  if (count == 1) return sx_select(c, cond, v, sx_num(c, m->dtype, 0));
  ir_value *part[MOST];
  for (int i = 0; i < count; i++) part[i] = sx_select(c, cond, sx_extract(c, v, i), sx_num(c, m->dtype, 0));
  return sx_vector(c, count, part);
}

/* `count` neighbours along dimension `along` of memory, starting at x. */
static ir_value *neighbours(simt *c, const simt_mem *m, int along, ir_value *const from[2], int count) {
  ir_value *x[2] = {from[0], from[1]}, *part[MOST];
  int w = along == 1 ? simt_access_width(c, m, count) : 1;
  if (m->limit[along])
    while (w > 1 && m->limit_mult[along] % w) w /= 2;
  while (count % w) w /= 2;
  for (int i = 0; i < count; i += w) {
    x[along] = sx_addi(c, from[along], i);
    ir_value *v = element(c, m, x, w);
    if (w == count) return v;
    for (int e = 0; e < w; e++) part[i + e] = w == 1 ? v : sx_extract(c, v, e);
  }
  return count == 1 ? part[0] : sx_vector(c, count, part);
}

ir_value *simt_operand_along_k(simt *c, const simt_operand *o, bool is_a, ir_value *mn, ir_value *k, int count) {
  int along = is_a ? !o->transposed : o->transposed;
  ir_value *x[2];
  x[along] = k;
  x[!along] = mn;
  return neighbours(c, &o->mem, along, x, count);
}

ir_value *simt_operand_across_k(simt *c, const simt_operand *o, bool is_a, ir_value *mn, ir_value *k, int count) {
  int along = is_a ? !o->transposed : o->transposed;
  ir_value *x[2];
  x[along] = k;
  x[!along] = mn;
  return neighbours(c, &o->mem, !along, x, count);
}

ir_value *simt_block_origin(simt *c, const simt_layout *l, int d, int block, int per_block) {
  int after = 1;
  for (int i = d + 1; i < l->rank; i++) after *= l->reps[i] * l->inner[i] * l->vec[i];
  int64_t first = simt_reg_offset(l, block * per_block * after, d);
  ir_value *warp = sx_muli(c, simt_warp_of(c, l, d), (int64_t)l->inner[d] * l->lanes[d] * l->vec[d]),
           *origin = sx_addi(c, warp, first);
  return l->vec[d] > per_block ? origin : simt_inside(c, l, d, origin, (int64_t)per_block * l->lanes[d]);
}

ir_value *simt_inside(simt *c, const simt_layout *l, int d, ir_value *at, int64_t n) {
  const int64_t all = (int64_t)l->warps[d] * l->reps[d] * l->inner[d] * l->lanes[d] * l->vec[d];
  return all > l->dims[d] ? sx_min(c, at, sx_int(c, l->dims[d] - n)) : at;
}

void simt_describe(ir_module *m, ir_op *op, const matrix_instr *in, bool *failed) {
  if (!ir_set_attr(op, "m", ir_attr_int(m, in->m)) || !ir_set_attr(op, "n", ir_attr_int(m, in->n[0])) ||
      !ir_set_attr(op, "k", ir_attr_int(m, in->k)) || !ir_set_attr(op, "a", ir_attr_str(m, tsr_dtype_name(in->a))) ||
      !ir_set_attr(op, "b", ir_attr_str(m, tsr_dtype_name(in->b))) ||
      !ir_set_attr(op, "c", ir_attr_str(m, tsr_dtype_name(in->c))))
    *failed = true;
}
