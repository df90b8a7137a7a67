/* core/passes/simt/whole/stage_queue_gemm.c - the matrix path of the sm_90a stage queue: wgmma on swizzled tiles, A
 * from shared memory or from registers. Layouts: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout";
 * the accumulator map of m64nN. */
#include "core/device/dialect.h"
#include "core/device/matrix_instr.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/whole/stage_queue_state.h"
#include "core/passes/target/build.h"

#define NAME(s) "tessera.target." s

static const char *wgmma_fits(const simt *c, const simt_gemm *g) { return c->in->queue ? NULL : ""; }
static bool wgmma_wants_mem(const simt *c, const simt_gemm *g, int operand) { return false; }

/* Row 16 warp + 8 i + lane / 4 of 64 by each four warps, columns 8 j + 2 (lane % 4), +1. */
static void wgmma_layout(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l) {
  const lane_map *sums = &matrix_instr_maps(MATRIX_WGMMA, 64, g->a, NULL)[MATRIX_C];
  l->rank = 2;
  l->inner[0] = 2;
  l->warps[0] = c->warps;
  for (int d = 0; d < 2; d++) l->vec[d] = sums->vec[d], l->lanes[d] = sums->lanes[d];
  l->inner[1] = 1; /* repeated: the tiles of a kernel may differ in columns */
  l->warps[1] = 1;
}

/* Element offset of a k step in a tile. */
static int64_t step_at(const stage_queue_tile *t, bool along_k, int64_t k) {
  return along_k ? k / PER_LINE * t->rows * PER_LINE + k % PER_LINE : k * PER_LINE;
}

static ir_value *stage_base(simt *c, const struct simt_stage_queue *r, const stage_queue_tile *t) {
  return t->streamed ? sx_muli(c, r->stage, r->stage_bytes / 2) : sx_int(c, 0);
}

/* Columns 16 s .. of the accumulator that f is. */
tsr_status simt_stage_queue_pack(simt *c, const simt_gemm *g, const simt_frag *f, ir_value **out) {
  const simt_layout *l = f->layout;
  int per_row = l ? l->reps[1] * l->inner[1] * l->vec[1] : 0;
  if (!l || f->opaque || f->splat || tsr_dtype_size(f->dtype) != 2 || l->vec[1] != 2 || l->lanes[1] != 4 ||
      l->inner[0] != 2 || l->reps[0] != 1 || l->dims[1] != g->k)
    return simt_unsupported(c, g->op, NULL, "A is not an accumulator in registers");
  tgb t = {c->m, c->b};
  for (int64_t s = 0; s < g->k / 16; s++)
    for (int i = 0; i < 4; i++) {
      int at = i % 2 * per_row + (int)(2 * s + i / 2) * 2;
      out[4 * s + i] =
          tg_bitcast(&t, tg_vector(&t, 2, (ir_value *[]){f->v[at], f->v[at + 1]}), tg_scalar_type(&t, TSR_I32));
    }
  c->b = t.b;
  return c->b.failed ? st_oom() : NULL;
}

static void issue(simt *c, const simt_gemm *g, ir_value *acc, ir_value *a_regs) {
  struct simt_stage_queue *r = c->in->queue;
  const stage_queue_tile *ta = a_regs ? NULL : simt_stage_queue_tile(r, g->op->operands[1]),
                  *tb = simt_stage_queue_tile(r, g->op->operands[2]);
  bool b_along = g->B.transposed;
  ir_value *base_b = stage_base(c, r, tb),
           *base_a =
               ta ? sx_add(c, stage_base(c, r, ta), sx_muli(c, sx_div(c, c->warp, sx_int(c, 4)), GROUP_ROWS * PER_LINE))
                  : NULL;
  tgb t = {c->m, c->b};
  for (int64_t k = 0; k < g->k; k += 16) {
    ir_value *a = ta ? ta->ptr : a_regs, *at_a = ta ? tg_addi(&t, base_a, step_at(ta, true, k)) : tg_index(&t, k / 4);
    ir_op *op =
        tg_op(&t, NAME("wgmma"), NULL, TG_V(acc, a, at_a, tb->ptr, tg_addi(&t, base_b, step_at(tb, b_along, k))));
    tg_int(&t, op, "n", g->n);
    tg_int(&t, op, "k", 16);
    tg_text(&t, op, "a", tsr_dtype_name(g->a));
    tg_text(&t, op, "b", tsr_dtype_name(g->b));
    tg_text(&t, op, "c", tsr_dtype_name(g->c));
    tg_int(&t, op, "swizzle", SIMT_TMA_LINE);
    if (!b_along) tg_flag(&t, op, "transpose_b", true);
    if (a_regs) tg_flag(&t, op, "a_regs", true);
    tg_int(&t, op, "lbo_a", 16);
    tg_int(&t, op, "sbo_a", 8 * SIMT_TMA_LINE);
    tg_int(&t, op, "lbo_b", b_along ? 16 : tb->rows * SIMT_TMA_LINE);
    tg_int(&t, op, "sbo_b", 8 * SIMT_TMA_LINE);
  }
  c->b = t.b;
}

/* Where the accumulator's register i lies in a fragment with per_row registers in each of its two rows. */
static int in_fragment(int i, int per_row) { return i / 2 % 2 * per_row + i / 4 * 2 + i % 2; }

tsr_status simt_stage_queue_issue(simt *c, const simt_gemm *g, const simt_frag *acc, ir_value *const *a,
                                  stage_queue_product *out) {
  const simt_layout *l = acc->layout;
  int per_row = l->reps[1] * l->inner[1] * l->vec[1];
  if (l->reps[0] != 1 || acc->n != 2 * per_row || per_row * 4 != g->n)
    return simt_unsupported(c, g->op, NULL, "the accumulator has another layout");
  tgb t = {c->m, c->b};
  *out = (stage_queue_product){.layout = l,
                        .dtype = g->c,
                        .n = acc->n,
                        .sums = tg_local(&t, g->c, acc->n, "acc"),
                        .a = a ? tg_local(&t, TSR_I32, (int)(g->k / 4), "p") : NULL};
  for (int i = 0; a && i < g->k / 4; i++) tg_set(&t, a[i], out->a, tg_index(&t, i));
  for (int i = 0; i < acc->n; i++) tg_set(&t, acc->v[in_fragment(i, per_row)], out->sums, tg_index(&t, i));
  tg_op(&t, NAME("wgmma_fence"), NULL, a ? 2 : 1, (ir_value *[]){out->sums, out->a});
  c->b = t.b;
  issue(c, g, out->sums, out->a);
  t.b = c->b;
  tg_op(&t, NAME("wgmma_commit"), NULL, 0, NULL);
  c->b = t.b;
  return c->b.failed ? st_oom() : NULL;
}

tsr_status simt_stage_queue_finish(simt *c, const stage_queue_product *p, int pending, simt_frag *out) {
  ir_value **v = arena_array(&c->m->arena, ir_value *, p->n);
  if (!v) return st_oom();
  tgb t = {c->m, c->b};
  tg_int(&t, tg_op(&t, NAME("wgmma_wait"), NULL, p->a ? 2 : 1, (ir_value *[]){p->sums, p->a}), "pending", pending);
  for (int i = 0; i < p->n; i++) v[in_fragment(i, p->n / 2)] = tg_get(&t, p->sums, tg_index(&t, i));
  c->b = t.b;
  *out = (simt_frag){.layout = p->layout, .dtype = p->dtype, .v = v, .n = p->n};
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status wgmma_gemm(simt *c, const simt_gemm *g, const simt_frag *acc, simt_frag *out) {
  ir_value **a = g->A.frag ? arena_array(&c->m->arena, ir_value *, g->k / 4 + 1) : NULL;
  stage_queue_product p;
  if (g->A.frag && !a) return st_oom();
  if (a) TSR_TRY(simt_stage_queue_pack(c, g, g->A.frag, a));
  TSR_TRY(simt_stage_queue_issue(c, g, acc, a, &p));
  return simt_stage_queue_finish(c, &p, 0, out);
}

const simt_matrix_path simt_path_wgmma = {.name = "wgmma",
                                          .ops = OPS_NVIDIA,
                                          .fits = wgmma_fits,
                                          .layout = wgmma_layout,
                                          .wants_mem = wgmma_wants_mem,
                                          .gemm = wgmma_gemm};
