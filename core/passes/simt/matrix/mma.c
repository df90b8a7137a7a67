/* core/passes/simt/matrix/mma.c - the mma.sync path (sm_80 and later): a matrix path of simt/simt.h.
 * Fragment layouts: PTX ISA, "Matrix Fragments for mma.m16n8k8/k16/k32". With per = elements in a 32-bit register, g =
 * lane / 4 and c = lane % 4: register r of a holds row g + 8 (r % 2), k = per c + 4 per (r / 2) ...; register r of b
 * column g, k = per c + 4 per r ...; the accumulator rows g, g + 8 and columns 2c, 2c + 1. Operands whose 16-byte rows
 * lie in shared memory come by ldmatrix (transposed for 16-bit operands stored the other way), all others element by
 * element. */
#include <string.h>

#include "core/device/dialect.h"
#include "core/device/matrix_instr.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/loop.h"
#include "core/passes/simt/matrix/operands.h"
#include "core/passes/simt/state.h"

enum { BLOCK_M = 16, BLOCK_N = 8 };

static const matrix_instr *find(const simt *c, const simt_gemm *g) {
  return matrix_instr_for(c->caps, MATRIX_MMA, BLOCK_M, BLOCK_N, 0, g->a, g->b, g->c);
}

static const char *mma_fits(const simt *c, const simt_gemm *g) {
  const matrix_instr *in = find(c, g);
  if (!(dialect_of(c->caps)->ops & OPS_NVIDIA)) return "not an NVIDIA device";
  if (g->kahan) return "kahan_sum needs one product at a time";
  if (!in) return "mma.sync has no shape for these element types";
  if (g->m % BLOCK_M || g->n % BLOCK_N || g->k % in->k) return "the tile is not a multiple of mma.sync's shape";
  return NULL;
}

static void mma_layout(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l) {
  int wm, wn;
  simt_split_warps(c->warps, m, n, BLOCK_M, BLOCK_N, &wm, &wn);
  l->rank = 2;
  const lane_map *sums = &find(c, g)->map[MATRIX_C];
  l->vec[0] = sums->vec[0];
  l->lanes[0] = sums->lanes[0];
  l->inner[0] = (int)(m / wm / sums->lanes[0]);
  l->warps[0] = wm;
  l->vec[1] = sums->vec[1];
  l->lanes[1] = sums->lanes[1];
  l->inner[1] = (int)(n / wn / 8);
  l->warps[1] = wn;
}

/* A fragment that is already laid out as a's registers: the accumulator of an earlier mma of 16-bit type, whole in each
 * warp's rows. */
static bool is_register_operand(const simt_gemm *g, const simt_frag *f) {
  const simt_layout *l = f->layout;
  return l && !f->opaque && !f->splat && tsr_dtype_size(f->dtype) == 2 && l->rank == 2 && l->vec[0] == 1 &&
         l->lanes[0] == 8 && l->vec[1] == 2 && l->lanes[1] == 4 && l->warps[1] == 1 && l->inner[0] % 2 == 0 &&
         l->dims[1] == g->k && l->dims[0] == g->m && !g->A.transposed;
}

static bool mma_wants_mem(const simt *c, const simt_gemm *g, int operand) {
  return operand || !g->A.frag || !is_register_operand(g, g->A.frag);
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static bool rows_of_16_bytes(const simt_mem *m) {
  int64_t size = (int64_t)tsr_dtype_size(m->dtype);
  return m->shared && m->strides[1] == 1 && wrap_mul(m->strides[0], size) % 16 == 0 &&
         wrap_mul(m->mult, size) % 16 == 0 && !m->limit[0] && !m->limit[1] && !m->inside;
}

static ir_value *ldmatrix(simt *c, const simt_mem *m, ir_value *row, ir_value *col, int count, bool transpose) {
  ir_value *at = sx_add(c, m->base, sx_add(c, sx_muli(c, row, m->strides[0]), col));
  ir_type t = {.kind = IR_T_VECTOR, .dtype = TSR_I32, .rank = 1, .dims = {count}};
  ir_value *v = sx_op(c, TG_LDMATRIX, ir_type_get(c->m, &t), 2, (ir_value *[]){m->ptr, at});
  if (!v || !ir_set_attr(v->def, "count", ir_attr_int(c->m, count)) ||
      (transpose && !ir_set_attr(v->def, "transpose", ir_attr_bool(c->m, true))))
    c->b.failed = true;
  return v;
}

static ir_value *packed(simt *c, ir_value *v) {
  ir_value *r = v && v->type->kind == IR_T_SCALAR && v->type->dtype == TSR_I32
                    ? v
                    : sx_op(c, TG_BITCAST, ir_type_scalar(c->m, TSR_I32), 1, (ir_value *[]){v});
  return r;
}

/* Registers out[0..3] of a's block at row mn, depth k. */
static void load_a(simt *c, const simt_gemm *g, const matrix_instr *in, ir_value *mn, ir_value *k, ir_value **out) {
  int size = (int)tsr_dtype_size(in->a), per = 4 / size, n = matrix_instr_values(in, MATRIX_A) * size / 4;
  bool along = !g->A.transposed, quick = rows_of_16_bytes(&g->A.mem) && (along || size == 2) && n == 4;
  if (quick) {
    ir_value *low = sx_rem(c, c->lane, sx_int(c, 8)), *mid = sx_rem(c, sx_div(c, c->lane, sx_int(c, 8)), sx_int(c, 2)),
             *high = sx_div(c, c->lane, sx_int(c, 16));
    ir_value *m0 = sx_add(c, mn, sx_muli(c, mid, 8)), *k0 = sx_add(c, k, sx_muli(c, high, 16 / size));
    ir_value *v = along ? ldmatrix(c, &g->A.mem, sx_add(c, m0, low), k0, 4, false)
                        : ldmatrix(c, &g->A.mem, sx_add(c, k0, low), m0, 4, true);
    for (int r = 0; r < 4; r++) out[r] = sx_extract(c, v, r);
    return;
  }
  ir_value *group = sx_div(c, c->lane, sx_int(c, 4)), *column = sx_muli(c, sx_rem(c, c->lane, sx_int(c, 4)), per);
  for (int r = 0; r < n; r++)
    out[r] = packed(c, simt_operand_along_k(c, &g->A, true, sx_add(c, mn, sx_addi(c, group, 8 * (r % 2))),
                                            sx_add(c, k, sx_addi(c, column, r / 2 * 4 * per)), per));
}

/* Registers of b's blocks at columns mn[0] and, if pair, mn[1]: out[block * registers + r]. */
static void load_b(simt *c, const simt_gemm *g, const matrix_instr *in, ir_value *const *mn, bool pair, ir_value *k,
                   ir_value **out) {
  int size = (int)tsr_dtype_size(in->b), per = 4 / size, n = matrix_instr_values(in, MATRIX_B) * size / 4;
  bool along = g->B.transposed, quick = rows_of_16_bytes(&g->B.mem) && (along || size == 2) && n == 2;
  if (quick) {
    ir_value *low = sx_rem(c, c->lane, sx_int(c, 8)), *mid = sx_rem(c, sx_div(c, c->lane, sx_int(c, 8)), sx_int(c, 2)),
             *high = sx_div(c, c->lane, sx_int(c, 16));
    int64_t apart, x, y;
    ir_value *n0 = mn[0], *k0 = sx_add(c, k, sx_muli(c, mid, 16 / size));
    if (pair) {
      ir_value *gap = sx_sub(c, mn[1], mn[0]);
      apart = sx_const(gap, &x) ? x : sx_const(mn[0], &x) && sx_const(mn[1], &y) ? y - x : -1;
      n0 = apart >= 0 ? sx_add(c, n0, sx_muli(c, high, apart))
                      : sx_select(c, sx_compare(c, "eq", high, sx_int(c, 0)), mn[0], mn[1]);
    }
    ir_value *v = along ? ldmatrix(c, &g->B.mem, sx_add(c, n0, low), k0, pair ? 4 : 2, false)
                        : ldmatrix(c, &g->B.mem, sx_add(c, k0, low), n0, pair ? 4 : 2, true);
    for (int r = 0; r < (pair ? 4 : 2); r++) out[r] = sx_extract(c, v, r);
    return;
  }
  ir_value *group = sx_div(c, c->lane, sx_int(c, 4)), *column = sx_muli(c, sx_rem(c, c->lane, sx_int(c, 4)), per);
  for (int b = 0; b < (pair ? 2 : 1); b++)
    for (int r = 0; r < n; r++)
      out[b * n + r] = packed(c, simt_operand_along_k(c, &g->B, false, sx_add(c, mn[b], group),
                                                      sx_add(c, k, sx_addi(c, column, r * 4 * per)), per));
}

/* a's registers out of an earlier accumulator: columns 16 kk .. are its blocks 2 kk and 2 kk + 1. */
static void frag_a(simt *c, const simt_frag *f, int block, int kk, ir_value **out) {
  const simt_layout *l = f->layout;
  int per_row = l->reps[1] * l->inner[1] * l->vec[1];
  for (int r = 0; r < 4; r++) {
    int row = 2 * block + r % 2, col = (2 * kk + r / 2) * 2;
    out[r] = packed(c, sx_vector(c, 2, (ir_value *[]){f->v[row * per_row + col], f->v[row * per_row + col + 1]}));
  }
}

/* ---- the product ------------------------------------------------------------------------------------------------- */

static ir_value *mma(simt *c, const matrix_instr *in, ir_value *const *a, int na, ir_value *const *b, int nb,
                     ir_value *acc) {
  ir_value *va = sx_vector(c, na, a), *vb = nb == 1 ? NULL : sx_vector(c, nb, b);
  if (!vb) vb = sx_vector(c, 1, b);
  ir_value *v = sx_op(c, TG_MMA, acc ? acc->type : NULL, 3, (ir_value *[]){va, vb, acc});
  if (v) simt_describe(c->m, v->def, in, &c->b.failed);
  else c->b.failed = true;
  return v;
}

typedef struct product {
  const simt_gemm *g;
  const matrix_instr *in;
  const simt_layout *l;
  int mi, ni, na, nb;
  bool from_regs;
  ir_value **a, **b, **d;
} product;

/* One step of the instruction's depth at k. */
static void step(simt *c, const product *p, ir_value *k, int number) {
  for (int i = 0; i < p->mi; i++) {
    if (p->from_regs) frag_a(c, p->g->A.frag, i, number, p->a + i * p->na);
    else load_a(c, p->g, p->in, simt_block_origin(c, p->l, 0, i, 2), k, p->a + i * p->na);
  }
  for (int j = 0; j < p->ni; j += 2) {
    bool pair = j + 1 < p->ni;
    ir_value *mn[2] = {simt_block_origin(c, p->l, 1, j, 2), pair ? simt_block_origin(c, p->l, 1, j + 1, 2) : NULL};
    load_b(c, p->g, p->in, mn, pair, k, p->b + j * p->nb);
  }
  for (int j = 0; j < p->ni; j++)
    for (int i = 0; i < p->mi; i++)
      p->d[i * p->ni + j] = mma(c, p->in, p->a + i * p->na, p->na, p->b + j * p->nb, p->nb, p->d[i * p->ni + j]);
}

/* Depths from .. to. rolled: a loop, which keeps the compiler from loading the operands of all steps at once. */
static tsr_status depth(simt *c, const product *p, int64_t from, int64_t to, bool rolled) {
  ir_op *loop;
  if (!rolled || to - from <= p->in->k) {
    for (int64_t k = from; k < to; k += p->in->k) step(c, p, sx_int(c, k), (int)(k / p->in->k));
    return NULL;
  }
  TSR_TRY(simt_begin_for(c, sx_int(c, from), sx_int(c, to), sx_int(c, p->in->k), p->mi * p->ni, p->d, &loop));
  if (loop && !ir_set_attr(loop, "unroll_by", ir_attr_int(c->m, 1))) c->b.failed = true;
  step(c, p, loop ? loop->regions[0]->args[0] : NULL, 0);
  return simt_end_for(c, loop, p->mi * p->ni, p->d);
}

/* Where element e of the accumulator's block (i, j) is in a fragment with per_row registers in each row. */
static int in_fragment(int per_row, int i, int j, int e) { return (2 * i + e / 2) * per_row + 2 * j + e % 2; }

static void put_sums(simt *c, const product *p, int per_row, ir_value *const *v) {
  for (int i = 0; i < p->mi; i++)
    for (int j = 0; j < p->ni; j++) {
      ir_value *x[4];
      for (int e = 0; e < 4; e++) x[e] = v ? v[in_fragment(per_row, i, j, e)] : sx_num(c, p->in->c, 0);
      p->d[i * p->ni + j] = sx_vector(c, 4, x);
    }
}

static void take_sums(simt *c, const product *p, int per_row, bool added, ir_value **v) {
  for (int i = 0; i < p->mi; i++)
    for (int j = 0; j < p->ni; j++)
      for (int e = 0; e < 4; e++) {
        ir_value **to = &v[in_fragment(per_row, i, j, e)], *x = sx_extract(c, p->d[i * p->ni + j], e);
        *to = added ? sx_op(c, SC_ADD, NULL, 2, (ir_value *[]){*to, x}) : x;
      }
}

static tsr_status mma_gemm(simt *c, const simt_gemm *g, const simt_frag *acc, simt_frag *out) {
  const matrix_instr *in = find(c, g);
  const simt_layout *l = acc->layout;
  int per_row = l->reps[1] * l->inner[1] * l->vec[1], mi = l->reps[0] * l->inner[0] / 2, ni = l->reps[1] * l->inner[1];
  bool from_regs = g->A.frag && !mma_wants_mem(c, g, 0);
  if (!in) return simt_unsupported(c, g->op, NULL, "no mma.sync shape");
  int na = matrix_instr_values(in, MATRIX_A) * (int)tsr_dtype_size(in->a) / 4,
      nb = matrix_instr_values(in, MATRIX_B) * (int)tsr_dtype_size(in->b) / 4;
  ir_value **v = arena_array(&c->m->arena, ir_value *, acc->n), **d = arena_array(&c->m->arena, ir_value *, mi * ni);
  ir_value **a = arena_array(&c->m->arena, ir_value *, mi * 4), **b = arena_array(&c->m->arena, ir_value *, ni * 4 + 4);
  if (!v || !d || !a || !b) return st_oom();
  memcpy(v, acc->v, sizeof *v * (size_t)acc->n);
  bool by_element = !rows_of_16_bytes(&g->B.mem) || !rows_of_16_bytes(&g->A.mem) ||
                    (tsr_dtype_size(in->b) != 2 && (!g->B.transposed || g->A.transposed));
  bool converted =
      c->caps->f8_by_f16 && tsr_dtype_size(in->a) == 1 && in->c == TSR_F32; /* by the compiler: it takes registers */
  bool promoted = !converted && in->c == TSR_F32 && f8_is_promoted(c->caps, in->a),
       rolled = (by_element || converted) && !from_regs;
  product p = {g, in, l, mi, ni, na, nb, from_regs, a, b, d};
  int64_t each = promoted ? F8_PROMOTE : g->k;
  for (int64_t k = 0; k < g->k; k += each) {
    put_sums(c, &p, per_row, promoted ? NULL : v);
    TSR_TRY(depth(c, &p, k, k + each < g->k ? k + each : g->k, rolled));
    take_sums(c, &p, per_row, promoted, v);
  }
  *out = (simt_frag){.layout = l, .dtype = g->c, .v = v, .n = acc->n};
  return c->b.failed ? st_oom() : NULL;
}

const simt_matrix_path simt_path_mma = {.name = "mma", .rasters = true,
                                        .ops = OPS_NVIDIA,
                                        .fits = mma_fits,
                                        .layout = mma_layout,
                                        .wants_mem = mma_wants_mem,
                                        .gemm = mma_gemm};
