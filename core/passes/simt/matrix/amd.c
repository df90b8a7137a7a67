/* core/passes/simt/matrix/amd.c - the MFMA (gfx90a, gfx942, gfx950) and WMMA (gfx11, gfx12) paths: matrix paths of
 * simt/simt.h. Lane maps (AMD matrix instruction calculator; AMD ISA manuals), l = lane: MFMA 16x16: a row l % 16, b
 * column l % 16, k = e (l / 16) + i for the lane's e elements; c column l % 16, rows 4 (l / 16) + i. WMMA gfx11: a row
 * (b column) l % 16 and all 16 k, twice over; c column l % 16, rows 2 i + l / 16. WMMA gfx12: k = 8 (l / 16) + i; c
 * rows 8 (l / 16) + i. gfx942 reads fp8 in the FNUZ encoding (simt/matrix/fnuz.c): the product is scaled by 4. */
#include <string.h>

#include "core/device/dialect.h"
#include "core/passes/simt/matrix/operands.h"
#include "core/passes/simt/state.h"

static bool is_f8(tsr_dtype t) { return t == TSR_F8E4M3 || t == TSR_F8E5M2; }
static bool rdna(const tsr_caps *caps) { return !strncmp(caps->arch, "gfx1", 4); }
static bool is_rdna(const simt *c) { return rdna(c->caps); }
static bool is_gfx11(const simt *c) { return !strncmp(c->caps->arch, "gfx11", 5); }

bool simt_amd_instruction(const tsr_caps *caps, const simt_gemm *g, simt_instruction *out) {
  bool found = false;
  for (int i = 0; i < caps->n_matrix; i++) {
    const tsr_matrix_shape *s = &caps->matrix[i];
    bool mixed = !rdna(caps) && is_f8(s->a) && is_f8(g->a) && is_f8(g->b);
    if (!s->enabled || s->scope != SCOPE_SUBGROUP || s->m != 16 || s->n != 16 || s->c != g->c ||
        (!mixed && (s->a != g->a || s->b != g->b)))
      continue;
    if (g->k % s->k || (found && s->k < out->k)) continue;
    *out = (simt_instruction){g->a, g->b, g->c, s->m, s->n, s->k};
    found = true;
  }
  return found;
}

static const char *amd_fits(const simt *c, const simt_gemm *g, bool want_rdna) {
  simt_instruction in;
  if (!(dialect_of(c->caps)->ops & OPS_AMD) || is_rdna(c) != want_rdna)
    return want_rdna ? "not an RDNA device" : "not a CDNA device";
  if (g->kahan) return "kahan_sum needs one product at a time";
  if (g->m % 16 || g->n % 16) return "the tile is not a multiple of the instruction's shape";
  if (!simt_amd_instruction(c->caps, g, &in)) return "no matrix instruction for these element types and this depth";
  return NULL;
}
static const char *mfma_fits(const simt *c, const simt_gemm *g) { return amd_fits(c, g, false); }
static const char *wmma_fits(const simt *c, const simt_gemm *g) { return amd_fits(c, g, true); }

static void amd_layout(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l) {
  int wm, wn;
  bool wide = g->c == TSR_F64; /* v_mfma_f64_16x16x4: rows l / 16 + 4 i */
  simt_split_warps(c->warps, m, n, 16, 16, &wm, &wn);
  int quad = tsr_dtype_size(g->b) == 2 && !g->B.transposed && n % (wn * 64) == 0 ? 4 : 1;
  l->rank = 2;
  l->lanes[0] = is_rdna(c) ? 2 : 4;
  l->vec[0] = wide || is_gfx11(c) ? 1 : 16 / l->lanes[0];
  l->inner[0] = (int)(m / wm / (l->lanes[0] * l->vec[0]));
  l->warps[0] = wm;
  l->vec[1] = quad; /* columns of a lane side by side: one wide read of b's row serves four blocks */
  l->lanes[1] = 16;
  l->inner[1] = (int)(n / wn / (16 * quad));
  l->warps[1] = wn;
}

static bool amd_wants_mem(const simt *c, const simt_gemm *g, int operand) { return true; }

static ir_value *to_fnuz(simt *c, ir_value *v, tsr_dtype d) {
  tgb t = {c->m, c->b};
  ir_value *w = tg_bitcast(&t, v, tg_vector_type(&t, TSR_I32, 2)), *pair[2];
  for (int i = 0; i < 2; i++) pair[i] = simt_fnuz_word(&t, tg_extract(&t, w, i), d);
  ir_value *both = tg_bitcast(&t, tg_vector(&t, 2, pair), v ? v->type : NULL);
  c->b = t.b;
  return both;
}

/* ---- the product
 * -------------------------------------------------------------------------------------------------------- */

void simt_amd_describe(ir_module *m, ir_op *op, const simt_instruction *in, bool *failed) {
  if (!ir_set_attr(op, "m", ir_attr_int(m, in->m)) || !ir_set_attr(op, "n", ir_attr_int(m, in->n)) ||
      !ir_set_attr(op, "k", ir_attr_int(m, in->k)) || !ir_set_attr(op, "a", ir_attr_str(m, tsr_dtype_name(in->a))) ||
      !ir_set_attr(op, "b", ir_attr_str(m, tsr_dtype_name(in->b))) ||
      !ir_set_attr(op, "c", ir_attr_str(m, tsr_dtype_name(in->c))))
    *failed = true;
}

static ir_value *instruction(simt *c, const simt_instruction *in, ir_value *a, ir_value *b, ir_value *acc) {
  ir_value *v = sx_op(c, is_rdna(c) ? TG_WMMA : TG_MFMA, acc ? acc->type : NULL, 3, (ir_value *[]){a, b, acc});
  if (v) simt_amd_describe(c->m, v->def, in, &c->b.failed);
  else c->b.failed = true;
  return v;
}

static ir_value *operand(simt *c, const simt_gemm *g, const simt_instruction *in, bool is_a, ir_value *origin,
                         int64_t k) {
  int per_lane = is_gfx11(c) ? 16 : 16 * in->k / c->subgroup;
  ir_value *mn = sx_add(c, origin, sx_rem(c, c->lane, sx_int(c, 16)));
  ir_value *k0 = is_gfx11(c) ? sx_int(c, k) : sx_addi(c, sx_muli(c, sx_div(c, c->lane, sx_int(c, 16)), per_lane), k);
  ir_value *v = simt_operand_along_k(c, is_a ? &g->A : &g->B, is_a, mn, k0, per_lane);
  if (per_lane == 1) v = sx_vector(c, 1, &v);
  tsr_dtype t = is_a ? in->a : in->b;
  return simt_is_fnuz(c->caps, t) ? to_fnuz(c, v, t) : v;
}

/* b's operands of four neighbouring blocks, whose columns lie side by side in memory: rows of four, turned in
 * registers. */
static void quad_operand(simt *c, const simt_gemm *g, const simt_instruction *in, ir_value *origin, int64_t k,
                         ir_value **out) {
  int per_lane = is_gfx11(c) ? 16 : 16 * in->k / c->subgroup;
  ir_value *rows[16], *part[16];
  ir_value *mn = sx_add(c, origin, sx_muli(c, sx_rem(c, c->lane, sx_int(c, 16)), 4));
  ir_value *k0 = is_gfx11(c) ? sx_int(c, k) : sx_addi(c, sx_muli(c, sx_div(c, c->lane, sx_int(c, 16)), per_lane), k);
  for (int i = 0; i < per_lane; i++) rows[i] = simt_operand_across_k(c, &g->B, false, mn, sx_addi(c, k0, i), 4);
  for (int e = 0; e < 4; e++) {
    for (int i = 0; i < per_lane; i++) part[i] = sx_extract(c, rows[i], e);
    out[e] = sx_vector(c, per_lane, part);
  }
}

/* Is an operand of single bytes read across k? */
static bool gathered(const simt_gemm *g) {
  return (tsr_dtype_size(g->a) == 1 && g->A.transposed) || (tsr_dtype_size(g->b) == 1 && !g->B.transposed);
}

static tsr_status amd_gemm(simt *c, const simt_gemm *g, const simt_frag *acc, simt_frag *out) {
  simt_instruction in = {0};
  const simt_layout *l = acc->layout;
  int per = 16 / l->lanes[0], per_row = l->reps[1] * l->inner[1] * l->vec[1],
      mi = l->reps[0] * l->inner[0] * l->vec[0] / per, ni = per_row;
  if (!simt_amd_instruction(c->caps, g, &in))
    return simt_unsupported(c, g->op, NULL, "no matrix instruction for these element types");
  bool scaled = simt_is_fnuz(c->caps, in.a);
  ir_value **v = arena_array(&c->m->arena, ir_value *, acc->n), **d = arena_array(&c->m->arena, ir_value *, mi * ni);
  ir_value **a = arena_array(&c->m->arena, ir_value *, mi), **b = arena_array(&c->m->arena, ir_value *, ni), *part[16];
  if (!v || !d || !a || !b) return st_oom();
  for (int i = 0; i < mi; i++)
    for (int j = 0; j < ni; j++) {
      for (int e = 0; e < per; e++) part[e] = scaled ? sx_num(c, g->c, 0) : acc->v[(i * per + e) * per_row + j];
      d[i * ni + j] = sx_vector(c, per, part);
    }
  for (int64_t k = 0; k < g->k; k += in.k) {
    /* RDNA has 256 registers (and gfx11 holds each operand twice), an operand that is gathered byte by byte needs one
     * for each byte on its way: loads of later steps must not be moved up here. */
    if (k && (is_rdna(c) || gathered(g))) sx_effect(c, TG_SCHED_BARRIER, 0, NULL);
    for (int i = 0; i < mi; i++) a[i] = operand(c, g, &in, true, simt_block_origin(c, l, 0, i, per), k);
    for (int j = 0; j < ni && l->vec[1] == 1; j++)
      b[j] = operand(c, g, &in, false, simt_block_origin(c, l, 1, j, 1), k);
    for (int j = 0; j < ni && l->vec[1] == 4; j += 4)
      quad_operand(c, g, &in, simt_block_origin(c, l, 1, j, 1), k, b + j);
    for (int i = 0; i < mi; i++)
      for (int j = 0; j < ni; j++) d[i * ni + j] = instruction(c, &in, a[i], b[j], d[i * ni + j]);
  }
  for (int i = 0; i < mi; i++)
    for (int j = 0; j < ni; j++)
      for (int e = 0; e < per; e++) {
        int r = (i * per + e) * per_row + j;
        ir_value *x = sx_extract(c, d[i * ni + j], e);
        v[r] = scaled ? sx_fma(c, x, sx_num(c, g->c, 4), acc->v[r]) : x;
      }
  *out = (simt_frag){.layout = l, .dtype = g->c, .v = v, .n = acc->n};
  return c->b.failed ? st_oom() : NULL;
}

const simt_matrix_path simt_path_mfma = {.name = "mfma",
                                         .ops = OPS_AMD,
                                         .fits = mfma_fits,
                                         .layout = amd_layout,
                                         .wants_mem = amd_wants_mem,
                                         .gemm = amd_gemm};
const simt_matrix_path simt_path_wmma = {.name = "wmma",
                                         .ops = OPS_AMD,
                                         .fits = wmma_fits,
                                         .layout = amd_layout,
                                         .wants_mem = amd_wants_mem,
                                         .gemm = amd_gemm};
