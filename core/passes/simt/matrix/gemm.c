/* core/passes/simt/matrix/gemm.c - gemm: preparing operands, and the path that always fits: a
 * SIMT outer product on a register tile, from shared memory or straight from global memory. The lavapipe schedule is
 * this path without shared memory: one subgroup across n, a register tile of rows times columns per lane, operands
 * converted when loaded. */
#include <string.h>

#include "core/device/dialect.h"
#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/loop.h"
#include "core/passes/simt/matrix/gemm.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/reduce.h"
#include "core/passes/simt/registers.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/simd.h"
#include "core/passes/simt/state.h"

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static tsr_status operand_of(simt *c, const simt_gemm *g, const ir_value *v, int which, simt_operand *out) {
  const simt_val *s = simt_of(v);
  if (s->kind == SV_MEM) {
    out->mem = s->mem;
    return NULL;
  }
  out->frag = &s->frag;
  if (!c->path->wants_mem(c, g, which)) return NULL;
  int64_t pad = 16 / (int64_t)tsr_dtype_size(v->type->dtype);
  TSR_TRY(simt_scratch_tile(c, v->type->dtype, 2, v->type->dims, pad, &out->mem));
  return simt_store_frag(c, &s->frag, &out->mem);
}

static tsr_status check_mma_shape(const simt *c, const ir_op *op) {
  int64_t m = ir_get_int(op, "m", 0), n = ir_get_int(op, "n", 0), k = ir_get_int(op, "k", 0);
  tsr_dtype t = op->operands[0]->type->dtype;
  for (int i = 0; i < c->caps->n_matrix; i++) {
    const tsr_matrix_shape *s = &c->caps->matrix[i];
    if (s->enabled && s->m == m && s->n == n && s->k == k && s->a == t) return NULL;
  }
  return simt_unsupported(c, op, "`tessera devices` lists them; gemm chooses one by itself",
                          "%s has no enabled %lldx%lldx%lld matrix instruction for %s", c->caps->arch, (long long)m,
                          (long long)n, (long long)k, tsr_dtype_name(t));
}

static bool same_layout(const simt_frag *f, const simt_layout *l) { return f->layout == l; }

tsr_status simt_lower_gemm(simt *c, ir_op *op) {
  bool sync = op->def->code == T_MMA_SYNC;
  simt_gemm g = simt_gemm_of(op);
  const ir_value *va = op->operands[sync ? 0 : 1], *vb = op->operands[sync ? 1 : 2], *vc = op->operands[sync ? 2 : 0];
  simt_frag acc = simt_of(vc)->frag;
  tsr_status st = NULL;
  if (sync) TSR_TRY(check_mma_shape(c, op));
  const simt_layout *l = simt_layout_of(c, op->results[0], &st);
  if (!l) return st;
  TSR_TRY(operand_of(c, &g, va, 0, &g.A));
  TSR_TRY(operand_of(c, &g, vb, 1, &g.B));
  if (!same_layout(&acc, l)) return simt_unsupported(c, op, NULL, "the accumulator changes its layout");
  if (c->path->opaque) {
    simt_frag f = acc;
    if (acc.splat) TSR_TRY(c->path->fill(c, l, g.c, acc.splat, &f));
    else if (!acc.opaque) TSR_TRY(c->path->from_regs(c, &acc, &f));
    acc = f;
  } else {
    TSR_TRY(simt_regs(c, &acc, &acc));
  }
  if (g.A.mem.shared) simt_read(c, g.A.mem.lo, g.A.mem.hi);
  if (g.B.mem.shared) simt_read(c, g.B.mem.lo, g.B.mem.hi);
  simt_val *s = simt_bind(c, op->results[0], SV_FRAG);
  if (!s) return st_oom();
  simt_frag out = {0};
  TSR_TRY(c->path->gemm(c, &g, &acc, &out));
  simt_of(op->results[0])->frag = out;
  return c->b.failed ? st_oom() : NULL;
}

/* ---- the fma path ------------------------------------------------------------------------------------------------ */

static const char *fma_fits(const simt *c, const simt_gemm *g) { return NULL; }
static bool fma_wants_mem(const simt *c, const simt_gemm *g, int operand) { return true; }

static int pow2_divisor(int n, int64_t most) {
  int s = 1;
  while (n % (2 * s) == 0 && 2 * s <= most) s *= 2;
  return s;
}

/* A subgroup of at most 8 lanes is a SIMD register of a CPU. Rows in lanes, columns in registers: a lane reads its row
 * of A along k in wide pieces, and the addresses of B are the same for all lanes, which such drivers load once and
 * broadcast. */
static void cpu_layout(simt *c, int64_t m, int64_t n, simt_layout *l) {
  int64_t np = pow2_ceil(n), mp = pow2_ceil(m);
  l->rank = 2;
  l->vec[0] = l->inner[0] = l->inner[1] = 1;
  l->lanes[0] = pow2_divisor(c->subgroup, mp);
  l->lanes[1] = c->subgroup / l->lanes[0];
  l->vec[1] = np / l->lanes[1] < 8 ? (int)(np / l->lanes[1]) : 8;
  if (l->vec[1] < 1) l->vec[1] = 1;
  l->warps[0] = l->warps[1] = 1;
  for (int w = c->warps; w % 2 == 0; w /= 2) {
    int64_t rows = mp / l->warps[0] / l->lanes[0], cols = np / l->warps[1] / l->lanes[1] / l->vec[1];
    if (rows <= 1 && cols <= 1) break;
    if (rows > 2 || cols <= 2) l->warps[0] *= 2;
    else l->warps[1] *= 2;
  }
}

/* Lanes 8 across n, the others across m; subgroups so that each one's part is near square. */
static void fma_layout(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l) {
  if (caps_simd_like(c->caps)) {
    cpu_layout(c, m, n, l);
    return;
  }
  int64_t np = pow2_ceil(n), mp = pow2_ceil(m);
  int vec = np >= 32 ? 4 : np >= 16 ? 2 : 1;
  int across = c->subgroup < 8 ? c->subgroup : 8;
  l->rank = 2;
  l->vec[0] = l->inner[0] = l->inner[1] = 1;
  if (across > ceil_div(np, vec)) across = (int)ceil_div(np, vec); /* few columns: the lanes go along m */
  l->lanes[0] = pow2_divisor(c->subgroup / across, mp);
  l->lanes[1] = pow2_divisor(c->subgroup / l->lanes[0], ceil_div(np, vec));
  while (vec > 1 && (int64_t)vec * l->lanes[1] > np) vec /= 2;
  l->vec[1] = vec;
  l->warps[0] = l->warps[1] = 1;
  for (int w = c->warps; w % 2 == 0; w /= 2) {
    int64_t rows = mp / l->warps[0] / l->lanes[0], cols = np / l->warps[1] / l->lanes[1] / vec;
    if (rows <= 1 && cols <= 1) break;
    if (cols <= 1 || (rows > 1 && mp / l->warps[0] >= np / l->warps[1])) l->warps[0] *= 2;
    else l->warps[1] *= 2;
  }
}

typedef struct fma_plan {
  const simt_gemm *g;
  const simt_layout *l;
  int rows, cols; /* registers of a thread along m and n */
  int vec;        /* neighbours along n */
  int step;       /* k's of one unrolled body */
  bool clipped;
  bool repeat_last; /* rows of a past its end are the last one again, and nobody stores what they give */
  bool broadcast;   /* all lanes read the same of A: a word at a time, which is a load that broadcasts */
} fma_plan;

/* w neighbours along dimension `along` of operand memory, at base + off; outside elements are 0. */
static void operand_load(simt *c, const simt_mem *m, ir_value *const *base, const int64_t *off, const int64_t *max,
                         int along, int w, bool clipped, tsr_dtype t, ir_value **out) {
  ir_value *cond = clipped ? m->inside : NULL, *at = m->base;
  int64_t k = 0;
  for (int d = 0; d < 2; d++) {
    if (clipped && m->limit[d]) cond = sx_all(c, cond, sx_compare(c, "lt", sx_addi(c, base[d], off[d]), m->limit[d]));
    else if (max[d] + off[d] >= m->dims[d])
      cond = sx_all(c, cond, sx_compare(c, "lt", base[d], sx_int(c, m->dims[d] - off[d])));
    at = sx_add(c, at, sx_muli(c, base[d], m->strides[d]));
    k = wrap_add(k, wrap_mul(off[d], m->strides[d])); /* a stride of one element may be any number */
  }
  at = sx_addi(c, at, k);
  if (cond) at = sx_select(c, cond, at, simt_harmless(c, m));
  ir_value *x = sx_load(c, m, at, w);
  for (int e = 0; e < w; e++) {
    out[e] = sx_extract(c, x, e);
    if (cond) out[e] = sx_select(c, cond, out[e], sx_num(c, m->dtype, 0));
    out[e] = sx_cast(c, out[e], t);
  }
}

/* How many neighbours along `along` one access may take, dividing `n`. */
static int operand_width(const simt *c, const simt_mem *m, int along, int n, bool clipped) {
  if (along != 1) return 1;
  int w = simt_access_width(c, m, n < 8 ? n : 8);
  if (clipped && m->limit[1])
    while (w > 1 && m->limit_mult[1] % w) w /= 2;
  while (n % w) w /= 2;
  return w;
}

/* All `step` values along k for each register row (or column) of one operand: out[i * step + kk]. */
static void load_operand(simt *c, const fma_plan *p, bool is_a, ir_value *k, int64_t k_off, ir_value **out) {
  const simt_operand *o = is_a ? &p->g->A : &p->g->B;
  const simt_mem *m = &o->mem;
  int dim = is_a ? 0 : 1, n = is_a ? p->rows : p->cols; /* the accumulator's dimension */
  int along_k = is_a ? !o->transposed : o->transposed;  /* which memory dimension k is */
  int other = !along_k, per = is_a ? p->cols : 1;
  ir_value *base[2], *v[16];
  int64_t off[2], max[2];
  base[along_k] = k;
  base[other] = simt_thread_offset(c, p->l, dim);
  max[along_k] = INT32_MIN; /* k stays inside by construction */
  max[other] = simt_thread_max(p->l, dim);
  int wk = p->broadcast && is_a
               ? operand_width(c, m, along_k, SIMT_LANE_N_WORD / (int)tsr_dtype_size(m->dtype), p->clipped)
               : operand_width(c, m, along_k, p->step, p->clipped);
  int wn = operand_width(c, m, other, is_a ? 1 : p->vec, p->clipped);
  const bool repeat = is_a && p->repeat_last && m->limit[other];
  if (repeat) max[other] = INT32_MIN;
  for (int i = 0; i < n; i += wn)
    for (int kk = 0; kk < p->step; kk += wk) {
      off[along_k] = k_off + kk;
      off[other] = simt_reg_offset(p->l, i * per, dim);
      if (repeat) {
        ir_value *row = sx_addi(c, simt_thread_offset(c, p->l, dim), off[other]);
        base[other] = sx_min(c, row, sx_addi(c, m->limit[other], -1));
        off[other] = 0;
      }
      operand_load(c, m, base, off, max, wk > 1 ? along_k : other, wk > 1 ? wk : wn, p->clipped, p->g->c, v);
      for (int e = 0; e < (wk > 1 ? wk : wn); e++) out[wk > 1 ? i * p->step + kk + e : (i + e) * p->step + kk] = v[e];
    }
}

static ir_value *op2(simt *c, int code, ir_value *a, ir_value *b) {
  return sx_op(c, code, NULL, 2, (ir_value *[]){a, b});
}

static void accumulate(simt *c, ir_value *a, ir_value *b, ir_value **acc, ir_value **lost) {
  if (!lost) {
    *acc = sx_fma(c, a, b, *acc);
    return;
  }
  ir_value *p = op2(c, SC_MUL, a, b), *s = op2(c, SC_ADD, *acc, p), *bb = op2(c, SC_SUB, s, *acc);
  ir_value *err = op2(c, SC_ADD, op2(c, SC_SUB, *acc, op2(c, SC_SUB, s, bb)), op2(c, SC_SUB, p, bb));
  *lost = op2(c, SC_ADD, *lost, err);
  *acc = s;
}

/* One body: `step` k's, in the order that keeps few values alive: up to 8 k's of A, then row by row of B (all 8 at once
 * where B is read along k). */
static tsr_status fma_body(simt *c, const fma_plan *p, ir_value *k, ir_value **acc, ir_value **lost) {
  fma_plan pa = *p, pb = *p;
  pa.step = p->step % 8 == 0 ? 8 : p->step;
  pb.step = p->g->B.transposed ? pa.step : 1;
  ir_value **a = arena_array(&c->m->arena, ir_value *, p->rows * pa.step),
           **b = arena_array(&c->m->arena, ir_value *, p->cols * pb.step);
  if (!a || !b) return st_oom();
  for (int kk = 0; kk < p->step; kk++) {
    if (kk % pa.step == 0) load_operand(c, &pa, true, k, kk, a);
    if (kk % pb.step == 0) load_operand(c, &pb, false, k, kk, b);
    for (int i = 0; i < p->rows; i++)
      for (int j = 0; j < p->cols; j++) {
        int r = i * p->cols + j;
        accumulate(c, a[i * pa.step + kk % pa.step], b[j * pb.step + kk % pb.step], &acc[r], lost ? &lost[r] : NULL);
      }
  }
  return c->b.failed ? st_oom() : NULL;
}

/* The whole depth: unrolled bodies, or a loop over them that carries the sums. v has n sums, then n lost parts if
 * kahan. */
static tsr_status fma_depth(simt *c, const fma_plan *p, ir_value **v, int n, bool kahan) {
  int64_t depth = p->g->k;
  if (p->step * 2 >= depth && depth % p->step == 0) {
    for (int64_t k = 0; k < depth; k += p->step) TSR_TRY(fma_body(c, p, sx_int(c, k), v, kahan ? v + n : NULL));
    return NULL;
  }
  ir_op *loop;
  int total = kahan ? 2 * n : n;
  TSR_TRY(simt_begin_for(c, sx_int(c, 0), sx_int(c, depth), sx_int(c, p->step), total, v, &loop));
  TSR_TRY(fma_body(c, p, loop->regions[0]->args[0], v, kahan ? v + n : NULL));
  return simt_end_for(c, loop, total, v);
}

static tsr_status fma_variant(simt *c, fma_plan *p, bool clipped, const simt_frag *acc, ir_value **v) {
  int n = acc->n;
  p->clipped = clipped;
  memcpy(v, acc->v, sizeof *v * (size_t)n);
  for (int i = 0; i < n && p->g->kahan; i++) v[n + i] = sx_num(c, p->g->c, 0);
  TSR_TRY(fma_depth(c, p, v, n, p->g->kahan));
  for (int i = 0; i < n && p->g->kahan; i++) v[i] = simt_compensated(c, v[i], v[n + i]);
  return c->b.failed ? st_oom() : NULL;
}

/* Products of one body: longer ones take long to compile, in shorter ones the sums' way through memory weighs more
 * (f32, 512 cubed, 16 sums: 8 deep 2.23 ms, 16 deep 1.88). */
static int64_t lane_n_depth(int n_sums) {
  int64_t k = 256 / n_sums;
  return k < 4 ? 4 : k > 32 ? 32 : k;
}

/* Have a's rows an edge, and nothing else one? */
static bool has_rows_alone(const simt_gemm *g) {
  const simt_mem *a = &g->A.mem, *b = &g->B.mem;
  return a->limit[g->A.transposed] && !a->limit[!g->A.transposed] && !a->inside && !b->limit[0] && !b->limit[1] &&
         !b->inside;
}

tsr_status simt_fma_gemm(simt *c, const simt_gemm *g, const simt_frag *acc, simt_frag *out) {
  const simt_layout *l = acc->layout;
  fma_plan p = {.g = g,
                .l = l,
                .rows = l->reps[0] * l->inner[0] * l->vec[0],
                .cols = l->reps[1] * l->inner[1] * l->vec[1],
                .vec = l->vec[1],
                .broadcast = c->path->broadcasts};
  int64_t most = p.broadcast               ? lane_n_depth(acc->n)
                 : caps_simd_like(c->caps) ? 8
                                           : 1024 / acc->n,
          held = (tsr_dtype_size(g->a) == 1 && dtype_is_float(g->a) ? 16 : 64) / (p.rows + p.cols);
  /* Compilers keep the operands of a whole body in registers. */
  if (!caps_simd_like(c->caps) && most > held) most = held > 1 ? held : 1;
  p.step = 1;
  for (int s = 2; s <= 64 && s <= most; s += p.broadcast ? 1 : s)
    if (g->k % s == 0) p.step = s;
  if (g->k <= most) p.step = (int)g->k < 64 ? (int)g->k : p.step;
  ir_value **v = arena_array(&c->m->arena, ir_value *, 2 * acc->n + 1);
  if (!v) return st_oom();
  p.repeat_last = p.broadcast && has_rows_alone(g); /* a condition would make gathers of b's loads */
  ir_value *inside = p.repeat_last ? NULL : sx_all(c, simt_interior(c, &g->A.mem), simt_interior(c, &g->B.mem));
  if (!inside) {
    TSR_TRY(fma_variant(c, &p, false, acc, v));
  } else {
    const ir_type **types = arena_array(&c->m->arena, const ir_type *, acc->n);
    if (!types) return st_oom();
    for (int i = 0; i < acc->n; i++) types[i] = ir_type_scalar(c->m, g->c);
    ir_op *branch = sx_if(c, inside, acc->n, types, true);
    if (!branch) return st_oom();
    TSR_TRY(fma_variant(c, &p, false, acc, v));
    sx_else(c, branch, acc->n, v);
    while (p.step > 4 && p.step % 2 == 0) p.step /= 2; /* edges are rare: small code */
    TSR_TRY(fma_variant(c, &p, true, acc, v));
    sx_close(c, branch, acc->n, v);
    for (int i = 0; i < acc->n; i++) v[i] = branch->results[i];
  }
  *out = (simt_frag){.layout = l, .dtype = g->c, .v = v, .n = acc->n};
  return c->b.failed ? st_oom() : NULL;
}

const simt_matrix_path simt_path_fma = {
    .name = "fma", .fits = fma_fits, .layout = fma_layout, .wants_mem = fma_wants_mem, .gemm = simt_fma_gemm};
