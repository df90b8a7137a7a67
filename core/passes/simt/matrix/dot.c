/* core/passes/simt/matrix/dot.c - matrix by vector where a subgroup is a SIMD register of a CPU: the lanes go along k,
 * each with its own partial sums of all rows, which are added at the end. Rows are read in memory order, and the vector
 * once for all of them. The sums are opaque values: one scalar per row of the tile. */
#include <string.h>

#include "core/device/dialect.h"
#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/simd.h"
#include "core/passes/simt/state.h"

static const char *dot_fits(const simt *c, const simt_gemm *g) {
  if (!simt_is_simd(c) || g->n != 1) return "";
  if (g->c != TSR_F32 || g->a != g->b || !dtype_is_float(g->a) || tsr_dtype_size(g->a) > 4)
    return "sums along the lanes are made for floats";
  if (c->warps != 1 || !c->caps->subgroup_shuffle)
    return "sums along the lanes want blocks of one subgroup, and its shuffles";
  if (g->A.transposed || g->k % (c->subgroup * (8 / (int)tsr_dtype_size(g->a))))
    return "rows are not read along k in whole registers";
  return NULL;
}

static void dot_layout(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l) {
  l->rank = 2;
  l->vec[0] = l->vec[1] = l->inner[0] = l->inner[1] = l->warps[0] = l->warps[1] = 1;
  l->lanes[0] = c->subgroup;
  l->lanes[1] = 1;
}

static bool dot_wants_mem(const simt *c, const simt_gemm *g, int operand) { return true; }

static tsr_status opaque(simt *c, const simt_layout *l, simt_frag *out) {
  *out = (simt_frag){.layout = l,
                     .dtype = TSR_F32,
                     .n = (int)l->dims[0],
                     .opaque = true,
                     .v = arena_array(&c->m->arena, ir_value *, (int)l->dims[0])};
  return out->v ? NULL : st_oom();
}

/* The whole value in lane 0, nothing in the others. */
static ir_value *in_lane_0(simt *c, ir_value *v) {
  return sx_select(c, sx_compare(c, "eq", c->lane, sx_int(c, 0)), v, sx_num(c, TSR_F32, 0));
}

static tsr_status dot_fill(simt *c, const simt_layout *l, tsr_dtype t, ir_value *scalar, simt_frag *out) {
  TSR_TRY(opaque(c, l, out));
  ir_value *one = in_lane_0(c, scalar);
  for (int i = 0; i < out->n; i++) out->v[i] = one;
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status dot_from_regs(simt *c, const simt_frag *f, simt_frag *out) {
  TSR_TRY(opaque(c, f->layout, out));
  for (int i = 0; i < out->n; i++) {
    ir_value *mine = sx_compare(c, "eq", c->lane, sx_int(c, i % c->subgroup));
    out->v[i] = sx_select(c, mine, f->v[i / c->subgroup], sx_num(c, TSR_F32, 0));
  }
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status dot_to_regs(simt *c, const simt_frag *f, simt_frag *out) {
  *out = (simt_frag){.layout = f->layout,
                     .dtype = f->dtype,
                     .n = f->layout->n_regs,
                     .v = arena_array(&c->m->arena, ir_value *, f->layout->n_regs)};
  if (!out->v) return st_oom();
  for (int i = 0; i < f->n; i++) {
    ir_value *sum = sx_op(c, TG_WARP_REDUCE, f->v[i] ? f->v[i]->type : NULL, 1, &f->v[i]);
    if (!sum || !ir_set_attr(sum->def, "op", ir_attr_str(c->m, "sum")) ||
        !ir_set_attr(sum->def, "width", ir_attr_int(c->m, c->subgroup)))
      return st_oom();
    ir_value **r = &out->v[i / c->subgroup];
    *r = i % c->subgroup ? sx_select(c, sx_compare(c, "eq", c->lane, sx_int(c, i % c->subgroup)), sum, *r) : sum;
  }
  return c->b.failed ? st_oom() : NULL;
}

/* w neighbours of this lane along k, of a row of m [rows, k] from depth k on, as floats. */
static void load_lane(simt *c, const simt_mem *m, int64_t row, int64_t k, int w, bool clipped, ir_value **out) {
  ir_value *kk = sx_addi(c, sx_muli(c, c->lane, w), k), *cond = clipped ? m->inside : NULL;
  if (clipped && m->limit[0]) cond = sx_all(c, cond, sx_compare(c, "lt", sx_int(c, row), m->limit[0]));
  bool dense = simt_access_width(c, m, w) == w && (!clipped || !m->limit[1] || m->limit_mult[1] % w == 0);
  for (int e = 0; e < w; e += dense ? w : 1) {
    ir_value *x = sx_addi(c, kk, e),
             *at = sx_addi(c, sx_add(c, m->base, sx_muli(c, x, m->strides[1])), wrap_mul(row, m->strides[0])),
             *ok = cond;
    if (clipped && m->limit[1]) ok = sx_all(c, ok, sx_compare(c, "lt", x, m->limit[1]));
    if (ok) at = sx_select(c, ok, at, simt_harmless(c, m));
    ir_value *v = sx_load(c, m, at, dense ? w : 1);
    for (int i = 0; i < (dense ? w : 1); i++) {
      out[e + i] = sx_extract(c, v, i);
      if (ok) out[e + i] = sx_select(c, ok, out[e + i], sx_num(c, m->dtype, 0));
      out[e + i] = sx_cast(c, out[e + i], TSR_F32);
    }
  }
}

static tsr_status dot_depth(simt *c, const simt_gemm *g, bool clipped, int n, ir_value **v) {
  int w = 8 / (int)tsr_dtype_size(g->a);
  ir_value *a[8], *x[8];
  simt_mem vector = g->B.mem; /* [1, k], as the rows lie */
  for (int d = 0; d < 2 && !g->B.transposed; d++) {
    vector.dims[d] = g->B.mem.dims[!d];
    vector.strides[d] = g->B.mem.strides[!d];
    vector.limit[d] = g->B.mem.limit[!d];
    vector.limit_mult[d] = g->B.mem.limit_mult[!d];
  }
  for (int64_t k = 0; k < g->k; k += (int64_t)w * c->subgroup) {
    load_lane(c, &vector, 0, k, w, clipped, x);
    for (int i = 0; i < n; i++) {
      load_lane(c, &g->A.mem, i, k, w, clipped, a);
      for (int e = 0; e < w; e++) v[i] = sx_fma(c, a[e], x[e], v[i]);
    }
  }
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status dot_gemm(simt *c, const simt_gemm *g, const simt_frag *acc, simt_frag *out) {
  ir_value *inside = sx_all(c, simt_interior(c, &g->A.mem), simt_interior(c, &g->B.mem));
  TSR_TRY(opaque(c, acc->layout, out));
  memcpy(out->v, acc->v, sizeof *out->v * (size_t)out->n);
  return dot_depth(c, g, inside != NULL, out->n, out->v);
}

static bool dot_store(simt *c, const simt_frag *f, const simt_mem *to) { return false; }

static bool only_accumulates(const ir_block *b, const ir_value *v) {
  for (const ir_op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->n_operands; i++)
      if (op->operands[i] == v && (op->def->code != T_GEMM || i)) return false;
    for (int r = 0; r < op->n_regions; r++)
      if (!only_accumulates(op->regions[r], v)) return false;
  }
  return true;
}

static bool dot_keeps(const simt *c, const ir_value *v) {
  const ir_op *op = v->def;
  if (!op || op->def->code != T_FOR) return op && op->def->code == T_GEMM;
  const ir_block *b = op->regions[0];
  for (int i = 0; i < op->n_results; i++) {
    if (op->results[i] != v) continue;
    const ir_op *last = b->last->operands[i]->def;
    return last && last->parent == b && last->def->code == T_GEMM && only_accumulates(b, b->args[1 + i]);
  }
  return false;
}

const simt_matrix_path simt_path_dot = {
    .name = "dot", .ops = OPS_SPIRV, .opaque = true, .fits = dot_fits, .layout = dot_layout, .wants_mem = dot_wants_mem, .gemm = dot_gemm,
    .fill = dot_fill, .to_regs = dot_to_regs, .from_regs = dot_from_regs, .store = dot_store, .keeps = dot_keeps};
