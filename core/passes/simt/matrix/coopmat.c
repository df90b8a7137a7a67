/* core/passes/simt/matrix/coopmat.c - the cooperative matrix paths: accumulators are matrices with an unknown element
 * order, of a subgroup (VK_KHR_cooperative_matrix), or of the whole block (workgroup scope of
 * VK_NV_cooperative_matrix2). Operands are loaded from shared memory, or straight from global memory where the window
 * is whole, or anywhere with tensor addressing. Element code on accumulators stays on matrices where it can
 * (simt/matrix/coopmat_map.c). What needs single elements goes through scratch, a subgroup's own (one barrier of the
 * subgroup per round) or the block's, into a layout that owns the same rows and columns. Matrix t of a dimension
 * belongs to (rep, warp, i) with t = (rep * warps + warp) * per_rep + i; a block's matrix is one rep. */
#include <string.h>

#include "core/device/dialect.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/loop.h"
#include "core/passes/simt/matrix/coopmat_map.h"
#include "core/passes/simt/matrix/coopmat_tile.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/shared.h"

enum { UNROLL = 128, REGISTER_SIDE = 64, DEPTH = 64 };

/* The largest enabled shape (granularity) that divides the product; -1 and the reason if none. depth: the one wanted
 * along k, or 0. */
static int pick(const simt *c, const simt_gemm *g, matrix_scope scope, int depth, const char **why) {
  const tsr_caps *caps = c->caps;
  int best = -1;
  *why = "the device lists no cooperative matrix of these types";
  for (int i = 0; i < caps->n_matrix; i++) {
    const tsr_matrix_shape *s = &caps->matrix[i];
    if (s->a != g->a || s->b != g->b || s->c != g->c || s->scope != scope) continue;
    if (c->shape.m && scope == SCOPE_SUBGROUP && (s->m != c->shape.m || s->n != c->shape.n))
      continue; /* one size of accumulators per kernel */
    if (depth && depth != s->k) continue;
    if (!s->enabled) {
      if (best < 0) *why = s->reason[0] ? s->reason : "demoted by the self-test";
      continue;
    }
    if (s->threads && s->threads != c->threads) {
      if (best < 0) *why = "the driver has matrices of a workgroup for blocks of another size only";
      continue;
    }
    if (g->m % s->m || g->n % s->n || g->k % s->k) {
      if (best < 0) *why = "the tile is no multiple of the device's matrices";
      continue;
    }
    if (best < 0 || s->m * s->n * s->k > caps->matrix[best].m * caps->matrix[best].n * caps->matrix[best].k) best = i;
  }
  return best;
}

static const char *coopmat_fits(const simt *c, const simt_gemm *g) {
  const char *why;
  if (!c->caps->coopmat) return "the device has no cooperative matrices";
  return pick(c, g, SCOPE_SUBGROUP, 0, &why) < 0 ? why : NULL;
}

static tsr_status add_tile(ir_op *op, void *user) {
  int64_t strides[TSR_MAX_RANK];
  if (op->def->code != T_ALLOC || op->def->level != IR_TILE) return NULL;
  const ir_type *t = op->results[0]->type;
  ir_type_strides(t, strides);
  *(int64_t *)user += t->rank ? strides[0] * t->dims[0] * (int64_t)tsr_dtype_size(t->dtype) : 0;
  return NULL;
}

static const char *coopmat2_fits(const simt *c, const simt_gemm *g) {
  const char *why;
  int64_t tiles = 0;
  if (!c->caps->coopmat || !c->caps->coopmat2_workgroup) return "";
  tsr_status_free(ir_walk((ir_op *)c->tile, add_tile, &tiles));
  if (tiles + c->caps->coopmat2_shared_bytes + COOP_ROUND_BYTES > c->caps->shared_bytes)
    return "the driver keeps shared memory for a workgroup's matrices that the tiles need";
  return pick(c, g, SCOPE_WORKGROUP, 0, &why) < 0 ? why : NULL;
}

static int64_t coopmat2_shared_kept(const simt *c) { return c->caps->coopmat2_shared_bytes; }

static int share(int n, int64_t most) {
  int s = 1;
  while (n % (2 * s) == 0 && most % (2 * s) == 0) s *= 2;
  return s;
}

/* Lanes cover one matrix in rows of vec elements. */
static int lanes_across(const simt *c, int m, int n, simt_layout *l) {
  int vec = 4;
  while (vec > 1 && (n % vec || (int64_t)m * n < (int64_t)c->subgroup * vec)) vec /= 2;
  l->rank = 2;
  l->vec[0] = 1;
  l->vec[1] = vec;
  l->lanes[1] = share(c->subgroup, n / vec);
  l->lanes[0] = share(c->subgroup / l->lanes[1], m);
  l->warps[0] = l->warps[1] = 1;
  return vec;
}

/* Subgroups in a near square of whole matrices each; along the rows only where rows are reduced, so that no two
 * subgroups share one. */
static void coopmat_layout(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l) {
  const char *why;
  int at = pick(c, g, SCOPE_SUBGROUP, 0, &why);
  if (at >= 0) c->shape = c->caps->matrix[at];
  const tsr_matrix_shape *s = &c->shape;
  int64_t tm = m / s->m > 0 ? m / s->m : 1, tn = n / s->n > 0 ? n / s->n : 1;
  int vec = lanes_across(c, s->m, s->n, l);
  bool whole_rows = c->caps->coopmat2_reduce && simt_group_of(g->op->results[0])->reduced[1];
  for (int w = c->warps; w % 2 == 0; w /= 2) {
    bool rows = tm % (2 * l->warps[0]) == 0, cols = tn % (2 * l->warps[1]) == 0;
    if (!rows && !cols) break;
    if (rows && (!cols || whole_rows || m / l->warps[0] >= n / l->warps[1])) l->warps[0] *= 2;
    else l->warps[1] *= 2;
  }
  l->inner[0] = s->m / l->lanes[0] * (int)(tm / l->warps[0]);
  l->inner[1] = s->n / (l->lanes[1] * vec) * (int)(tn / l->warps[1]);
}

/* The largest multiple of grain that divides n and is at most `most`. */
static int widest(int64_t n, int grain, int64_t most) {
  int best = grain;
  for (int64_t s = grain; s <= n && s <= most; s += grain)
    if (n % s == 0) best = (int)s;
  return best;
}

/* One matrix for the whole tile, or smaller ones that fit the scratch if single elements are wanted. */
static void coopmat2_layout(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l) {
  const char *why;
  int at = pick(c, g, SCOPE_WORKGROUP, 0, &why);
  if (!c->shape.m && at >= 0) {
    c->shape = c->caps->matrix[at];
    int64_t most = c->caps->coopmat2_max_dim > 0 ? c->caps->coopmat2_max_dim : 256;
    if (coop_needs_registers(c) && most > REGISTER_SIDE) most = REGISTER_SIDE;
    c->shape.m = widest(m, c->shape.m, most);
    c->shape.n = widest(n, c->shape.n, most);
  }
  const tsr_matrix_shape *s = &c->shape;
  int vec = lanes_across(c, s->m, s->n, l);
  l->warps[1] = share(c->warps, s->n / (vec * l->lanes[1]));
  l->warps[0] = share(c->warps / l->warps[1], s->m / l->lanes[0]);
  l->inner[0] = s->m / (l->lanes[0] * l->warps[0]);
  l->inner[1] = s->n / (vec * l->lanes[1] * l->warps[1]);
}

static tsr_status coopmat_fill(simt *c, const simt_layout *l, tsr_dtype t, ir_value *scalar, simt_frag *out) {
  coop_grid g = coop_grid_of(c, l);
  int n = g.n[0] * g.n[1];
  ir_value **v = arena_array(&c->m->arena, ir_value *, n);
  const ir_type *type = coop_acc_type(c, t);
  if (!v || !type) return st_oom();
  ir_value *one = sx_op(c, TG_MAT_FILL, type, 1, &scalar);
  for (int i = 0; i < n; i++) v[i] = one;
  *out = (simt_frag){.layout = l, .dtype = t, .v = v, .n = n, .opaque = true};
  return c->b.failed ? st_oom() : NULL;
}

/* ---- store ------------------------------------------------------------------------------------------------------- */

static bool coopmat_store(simt *c, const simt_frag *f, const simt_mem *to) {
  coop_grid g = coop_grid_of(c, f->layout);
  bool clipped = simt_interior(c, to) != NULL, col = coop_is_col(to);
  if (!coop_reaches(c, to, coop_acc_minor(c, col), clipped) || !coop_has_accumulator(c, to->dtype) ||
      !coop_covers(c, &g, to->dims))
    return false;
  for (int d = 0; d < 2; d++)
    if (f->layout->dims[d] <= 1) return false; /* repeated values: one thread stores them */
  if (to->shared) simt_write(c, to->lo, to->hi);
  coop_place at = {{coop_origin(c, &g, 0), coop_origin(c, &g, 1)}, {0, 0}};
  for (int i = 0; i < g.n[0]; i++)
    for (int j = 0; j < g.n[1]; j++) {
      at.off[0] = coop_offset(&g, 0, i);
      at.off[1] = coop_offset(&g, 1, j);
      coop_store(c, coop_cast(c, f->v[i * g.n[1] + j], coop_acc_type(c, to->dtype)), to, &at, col, clipped);
    }
  return true;
}

/* ---- gemm
 * -------------------------------------------------------------------------------------------------------------------
 */

/* A window that may leave its view, or that no stride describes, is staged whole where the matrices can't be clipped.
 */
static tsr_status stage(simt *c, const simt_gemm *g, simt_mem *m, int64_t minor, bool *clipped) {
  *clipped = simt_interior(c, m) != NULL;
  if (coop_reaches(c, m, minor, *clipped)) return NULL;
  simt_mem tile;
  TSR_TRY(simt_scratch_tile(c, m->dtype, 2, m->dims, 16 / (int64_t)tsr_dtype_size(m->dtype), &tile));
  TSR_TRY(simt_copy(c, g->op, m, &tile));
  *m = tile;
  *clipped = false;
  simt_read(c, m->lo, m->hi);
  return NULL;
}

typedef struct operand {
  simt_mem m;
  int row, k;    /* memory dimensions of the accumulator's dimension and of the depth */
  int64_t depth; /* of a matrix */
  bool col, clipped;
  ir_value *origin;
  const ir_type *type;
  const simt_frag *frag; /* accumulators that are converted; NULL = from memory */
  coop_grid grid;        /* of frag */
} operand;

static bool same_rows(const coop_grid *a, const coop_grid *b) {
  return a->n[0] == b->n[0] && a->per_rep[0] == b->per_rep[0] && (a->wide || a->l->warps[0] == b->l->warps[0]);
}

/* Are the accumulators in g's operand a the very rows that its matrices want? */
static bool feeds_directly(const simt *c, const simt_gemm *g) {
  const simt_frag *f = g->A.frag;
  const char *why;
  tsr_status st = NULL;
  if (!f || !f->opaque || g->A.transposed || f->dtype != g->a || !c->caps->coopmat2_convert ||
      f->layout->dims[1] != g->k || f->layout->dims[0] != g->m)
    return false;
  const simt_layout *l = simt_layout_of((simt *)c, g->op->results[0], &st); /* known since the accumulator was made */
  if (!l) {
    tsr_status_free(st);
    return false;
  }
  coop_grid q = coop_grid_of(c, f->layout), result = coop_grid_of(c, l);
  if (!coop_covers(c, &q, f->layout->dims) || (!q.wide && f->layout->warps[1] > 1) || !same_rows(&q, &result))
    return false;
  int at = pick(c, g, c->path->scope, q.wide ? 0 : q.size[1], &why);
  return at >= 0 && q.size[1] % c->caps->matrix[at].k == 0;
}

static bool coopmat_wants_mem(const simt *c, const simt_gemm *g, int which) { return which || !feeds_directly(c, g); }

static tsr_status operand_of(simt *c, const simt_gemm *g, const coop_grid *q, int64_t depth, bool is_a, operand *o) {
  const simt_operand *in = is_a ? &g->A : &g->B;
  *o = (operand){.m = in->mem, .depth = depth, .row = is_a == !in->transposed ? 0 : 1};
  o->k = 1 - o->row;
  o->type =
      is_a ? coop_type(c, g->a, q->size[0], (int)depth, "a") : coop_type(c, g->b, (int)depth, q->size[1], "b");
  if (!o->type) return st_oom();
  if (is_a && feeds_directly(c, g)) {
    o->frag = in->frag;
    o->grid = coop_grid_of(c, in->frag->layout);
    return NULL;
  }
  bool col = o->m.strides[is_a ? o->k : o->row] != 1;
  TSR_TRY(stage(c, g, &o->m, o->type->dims[col ? 0 : 1], &o->clipped));
  /* Row-major as the instruction sees it ([m, k] or [k, n]) unless the other memory dimension is the dense one. */
  o->col = o->m.strides[is_a ? o->k : o->row] != 1;
  o->origin = coop_origin(c, q, is_a ? 0 : 1);
  return NULL;
}

/* Matrix i along the accumulator's dimension at depth k + k_off. The memory's coordinates are swapped where it is
 * transposed. */
static ir_value *load_operand(simt *c, const coop_grid *q, const operand *o, bool is_a, int i, ir_value *k,
                              int64_t k_off) {
  if (o->frag) return coop_cast(c, o->frag->v[i * o->grid.n[1] + (int)(k_off / o->depth)], o->type);
  simt_mem m = o->m;
  coop_place at;
  int row = is_a ? 0 : 1;
  for (int d = 0; d < 2; d++) { /* d of the matrix, from of the memory */
    int from = d == row ? o->row : o->k;
    m.dims[d] = o->m.dims[from];
    m.strides[d] = o->m.strides[from];
    m.limit[d] = o->m.limit[from];
    m.limit_mult[d] = o->m.limit_mult[from];
  }
  at.origin[row] = o->origin;
  at.off[row] = coop_offset(q, row, i);
  at.origin[!row] = k;
  at.off[!row] = k_off;
  return coop_load(c, o->type, &m, &at, o->col, o->clipped);
}

/* All rows' matrices of a once per slice of k, b's one at a time (fewer live registers than the reverse). */
static tsr_status slice(simt *c, const coop_grid *q, const operand *a, const operand *b, ir_value *k, int64_t k_off,
                        ir_value **acc) {
  ir_value **rows = arena_array(&c->m->arena, ir_value *, q->n[0]);
  if (!rows) return st_oom();
  for (int i = 0; i < q->n[0]; i++) rows[i] = load_operand(c, q, a, true, i, k, k_off);
  for (int j = 0; j < q->n[1]; j++) {
    ir_value *col = load_operand(c, q, b, false, j, k, k_off);
    for (int i = 0; i < q->n[0]; i++) {
      ir_value **v = &acc[i * q->n[1] + j];
      *v = sx_op(c, TG_MAT_MMA, *v ? (*v)->type : NULL, 3, (ir_value *[]){rows[i], col, *v});
    }
  }
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status coopmat_gemm(simt *c, const simt_gemm *g, const simt_frag *acc, simt_frag *out) {
  coop_grid q = coop_grid_of(c, acc->layout);
  operand a, b;
  int n = acc->n;
  const char *why;
  bool direct = feeds_directly(c, g);
  int at = pick(c, g, c->path->scope, direct && !q.wide ? coop_grid_of(c, g->A.frag->layout).size[1] : 0, &why);
  if (at < 0)
    return simt_unsupported(c, g->op, "set the kernel's attribute matrix to \"fma\"",
                            "no matrix of %dx%d takes this product: %s", c->shape.m, c->shape.n, why);
  int64_t depth = c->caps->matrix[at].k;
  if (q.wide) depth = direct ? coop_grid_of(c, g->A.frag->layout).size[1] : widest(g->k, (int)depth, DEPTH);
  int64_t slices = g->k / depth;
  TSR_TRY(operand_of(c, g, &q, depth, true, &a));
  TSR_TRY(operand_of(c, g, &q, depth, false, &b));
  ir_value **v = arena_dup(&c->m->arena, acc->v, sizeof *acc->v * (size_t)n);
  if (!v) return st_oom();
  if (direct || slices * n <= UNROLL) {
    for (int64_t i = 0; i < slices; i++) TSR_TRY(slice(c, &q, &a, &b, sx_int(c, 0), i * depth, v));
  } else {
    ir_op *loop;
    TSR_TRY(simt_begin_for(c, sx_int(c, 0), sx_int(c, g->k), sx_int(c, depth), n, v, &loop));
    TSR_TRY(slice(c, &q, &a, &b, loop->regions[0]->args[0], 0, v));
    TSR_TRY(simt_end_for(c, loop, n, v));
  }
  *out = (simt_frag){.layout = acc->layout, .dtype = acc->dtype, .v = v, .n = n, .opaque = true};
  return NULL;
}

const simt_matrix_path simt_path_coopmat = {
    .name = "coopmat", .ops = OPS_SPIRV, .opaque = true, .fits = coopmat_fits, .layout = coopmat_layout, .wants_mem = coopmat_wants_mem, .gemm = coopmat_gemm,
    .fill = coopmat_fill, .to_regs = coop_to_regs, .from_regs = coop_from_regs, .store = coopmat_store,
    .keeps = coop_keeps, .map = coop_map, .load = coop_load_frag, .reduce = coop_reduce};

const simt_matrix_path simt_path_coopmat2 = {
    .name = "coopmat2_workgroup", .ops = OPS_SPIRV, .opaque = true, .scope = SCOPE_WORKGROUP, .fits = coopmat2_fits, .layout = coopmat2_layout, .wants_mem = coopmat_wants_mem, .gemm = coopmat_gemm,
    .fill = coopmat_fill, .to_regs = coop_to_regs, .from_regs = coop_from_regs, .store = coopmat_store,
    .keeps = coop_keeps, .map = coop_map, .load = coop_load_frag, .reduce = coop_reduce, .shared_kept = coopmat2_shared_kept};
