/* core/passes/simt/matrix/amd.c - the MFMA (gfx90a, gfx942, gfx950) and WMMA (gfx11, gfx12) paths: matrix paths of
 * simt/simt.h, with layouts and operands as the lane maps of core/device/matrix_instr.c say. Both operands of a product
 * have the same order of k, so a lane loads its values side by side. gfx942 reads fp8 in the FNUZ encoding
 * (simt/matrix/fnuz.c): the product is scaled by 4. */
#include "core/device/dialect.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/matrix/amd.h"
#include "core/passes/simt/matrix/fnuz.h"
#include "core/passes/simt/matrix/operands.h"
#include "core/passes/simt/state.h"

const matrix_instr *simt_amd_instruction(const tsr_caps *caps, const simt_gemm *g) {
  const matrix_instr *x = matrix_instr_for(caps, MATRIX_MFMA, 16, 16, g->k, g->a, g->b, g->c);
  return x ? x : matrix_instr_for(caps, MATRIX_WMMA, 16, 16, g->k, g->a, g->b, g->c);
}

static const char *amd_fits(const simt *c, const simt_gemm *g, matrix_kind kind) {
  if (!(dialect_of(c->caps)->ops & OPS_AMD) || !matrix_instr_has(kind, c->caps->arch))
    return kind == MATRIX_WMMA ? "not an RDNA device" : "not a CDNA device";
  if (g->kahan) return "kahan_sum needs one product at a time";
  if (g->m % 16 || g->n % 16) return "the tile is not a multiple of the instruction's shape";
  if (!simt_amd_instruction(c->caps, g)) return "no matrix instruction for these element types and this depth";
  return NULL;
}
static const char *mfma_fits(const simt *c, const simt_gemm *g) { return amd_fits(c, g, MATRIX_MFMA); }
static const char *wmma_fits(const simt *c, const simt_gemm *g) { return amd_fits(c, g, MATRIX_WMMA); }

static void amd_layout(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l) {
  int wm, wn;
  const lane_map *sums = &simt_amd_instruction(c->caps, g)->map[MATRIX_C];
  simt_split_warps(c->warps, m, n, 16, 16, &wm, &wn);
  int quad = tsr_dtype_size(g->b) == 2 && !g->B.transposed && n % (wn * 64) == 0 ? 4 : 1;
  l->rank = 2;
  l->lanes[0] = sums->lanes[0];
  l->vec[0] = sums->vec[0];
  l->inner[0] = (int)(m / wm / (l->lanes[0] * l->vec[0]));
  l->warps[0] = wm;
  l->vec[1] = quad; /* columns of a lane side by side: one wide read of b's row serves four blocks */
  l->lanes[1] = sums->lanes[1];
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

/* ---- the product ------------------------------------------------------------------------------------------------- */

static ir_value *instruction(simt *c, const matrix_instr *in, ir_value *a, ir_value *b, ir_value *acc) {
  ir_value *v =
      sx_op(c, in->kind == MATRIX_WMMA ? TG_WMMA : TG_MFMA, acc ? acc->type : NULL, 3, (ir_value *[]){a, b, acc});
  if (v) simt_describe(c->m, v->def, in, &c->b.failed);
  else c->b.failed = true;
  return v;
}

/* The first k of a lane's values. */
static ir_value *first_k(simt *c, const matrix_instr *in, int64_t k) {
  return in->map[MATRIX_A].lanes[1] == 1
             ? sx_int(c, k)
             : sx_addi(c, sx_muli(c, sx_div(c, c->lane, sx_int(c, 16)), matrix_instr_values(in, MATRIX_A)), k);
}

static ir_value *operand(simt *c, const simt_gemm *g, const matrix_instr *in, bool is_a, ir_value *origin,
                         int64_t k) {
  int per_lane = matrix_instr_values(in, MATRIX_A);
  ir_value *mn = sx_add(c, origin, sx_rem(c, c->lane, sx_int(c, 16)));
  ir_value *k0 = first_k(c, in, k);
  ir_value *v = simt_operand_along_k(c, is_a ? &g->A : &g->B, is_a, mn, k0, per_lane);
  if (per_lane == 1) v = sx_vector(c, 1, &v);
  tsr_dtype t = is_a ? in->a : in->b;
  return simt_is_fnuz(c->caps, t) ? to_fnuz(c, v, t) : v;
}

/* b's operands of four neighbouring blocks, whose columns lie side by side in memory: rows of four, transposed
 * in registers. */
static void quad_operand(simt *c, const simt_gemm *g, const matrix_instr *in, const simt_layout *l, int block,
                         int64_t k, ir_value **out) {
  int per_lane = matrix_instr_values(in, MATRIX_A);
  ir_value *rows[16], *part[16];
  ir_value *mn = sx_add(c, simt_block_origin(c, l, 1, block, 1), sx_muli(c, sx_rem(c, c->lane, sx_int(c, 16)), 4));
  mn = simt_inside(c, l, 1, mn, 4);
  ir_value *k0 = first_k(c, in, k);
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
  const matrix_instr *in = simt_amd_instruction(c->caps, g);
  const simt_layout *l = acc->layout;
  int per = 16 / l->lanes[0], per_row = l->reps[1] * l->inner[1] * l->vec[1],
      mi = l->reps[0] * l->inner[0] * l->vec[0] / per, ni = per_row;
  if (!in)
    return simt_unsupported(c, g->op, NULL, "no matrix instruction for these element types");
  bool scaled = simt_is_fnuz(c->caps, in->a);
  ir_value **v = arena_array(&c->m->arena, ir_value *, acc->n), **d = arena_array(&c->m->arena, ir_value *, mi * ni);
  ir_value **a = arena_array(&c->m->arena, ir_value *, mi), **b = arena_array(&c->m->arena, ir_value *, ni), *part[16];
  if (!v || !d || !a || !b) return st_oom();
  for (int i = 0; i < mi; i++)
    for (int j = 0; j < ni; j++) {
      for (int e = 0; e < per; e++) part[e] = scaled ? sx_num(c, g->c, 0) : acc->v[(i * per + e) * per_row + j];
      d[i * ni + j] = sx_vector(c, per, part);
    }
  for (int64_t k = 0; k < g->k; k += in->k) {
    /* RDNA has 256 registers (and gfx11 holds each operand twice), an operand that is gathered byte by byte needs one
     * for each byte on its way: loads of later steps must not be moved up here. */
    if (k && (in->kind == MATRIX_WMMA || gathered(g))) sx_effect(c, TG_SCHED_BARRIER, 0, NULL);
    for (int i = 0; i < mi; i++) a[i] = operand(c, g, in, true, simt_block_origin(c, l, 0, i, per), k);
    for (int j = 0; j < ni && l->vec[1] == 1; j++)
      b[j] = operand(c, g, in, false, simt_block_origin(c, l, 1, j, 1), k);
    for (int j = 0; j < ni && l->vec[1] == 4; j += 4)
      quad_operand(c, g, in, l, j, k, b + j);
    for (int i = 0; i < mi; i++)
      for (int j = 0; j < ni; j++) d[i * ni + j] = instruction(c, in, a[i], b[j], d[i * ni + j]);
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

const simt_matrix_path simt_path_mfma = {.name = "mfma", .rasters = true, .two_waves = true,
                                         .ops = OPS_AMD,
                                         .fits = mfma_fits,
                                         .layout = amd_layout,
                                         .wants_mem = amd_wants_mem,
                                         .gemm = amd_gemm};
const simt_matrix_path simt_path_wmma = {.name = "wmma", .rasters = true,
                                         .ops = OPS_AMD,
                                         .fits = wmma_fits,
                                         .layout = amd_layout,
                                         .wants_mem = amd_wants_mem,
                                         .gemm = amd_gemm};
