/* core/passes/tile_to_simt_coopmat.c - the cooperative matrix path (VK_KHR_cooperative_matrix): accumulators are matrices of
 * the subgroup with an unknown element order. Operands are loaded from shared memory, or straight from global memory where the
 * window is whole. What needs single elements (maps, reductions, edges of a matrix) goes through a subgroup's own scratch, one
 * barrier of the subgroup per round, into a layout whose subgroups own the same rows and columns.
 * Matrix t of a dimension belongs to (rep, warp, i) with t = (rep * warps + warp) * per_rep + i. */
#include <string.h>

#include "core/passes/tile_to_simt_impl.h"

enum { UNROLL = 128, ROUND_BYTES = 8192 };

/* The largest enabled shape that divides the product; -1 and the reason if none. */
static int pick(const simt *c, const simt_gemm *g, const char **why) {
  const tsr_caps *caps = c->caps;
  int best = -1;
  *why = "the device lists no cooperative matrix of these types";
  for (int i = 0; i < caps->n_matrix; i++) {
    const tsr_matrix_shape *s = &caps->matrix[i];
    if (s->a != g->a || s->b != g->b || s->c != g->c || s->scope != SCOPE_SUBGROUP) continue;
    if (c->shape.m && (s->m != c->shape.m || s->n != c->shape.n)) continue; /* one size of accumulators per kernel */
    if (!s->enabled) {
      if (best < 0) *why = s->reason[0] ? s->reason : "demoted by the self-test";
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
  return pick(c, g, &why) < 0 ? why : NULL;
}

static bool coopmat_wants_mem(const simt *c, const simt_gemm *g, int operand) { return true; }

static int share(int n, int64_t most) {
  int s = 1;
  while (n % (2 * s) == 0 && most % (2 * s) == 0) s *= 2;
  return s;
}

/* Subgroups in a near square of whole matrices each; lanes cover one matrix in rows of vec elements. */
static void coopmat_layout(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l) {
  const char *why;
  int at = pick(c, g, &why);
  if (at >= 0) c->shape = c->caps->matrix[at];
  const tsr_matrix_shape *s = &c->shape;
  int64_t tm = m / s->m > 0 ? m / s->m : 1, tn = n / s->n > 0 ? n / s->n : 1;
  l->rank = 2;
  l->warps[0] = l->warps[1] = 1;
  for (int w = c->warps; w % 2 == 0; w /= 2) {
    bool rows = tm % (2 * l->warps[0]) == 0, cols = tn % (2 * l->warps[1]) == 0;
    if (!rows && !cols) break;
    if (rows && (!cols || m / l->warps[0] >= n / l->warps[1])) l->warps[0] *= 2;
    else l->warps[1] *= 2;
  }
  int vec = 4;
  while (vec > 1 && (s->n % vec || (int64_t)s->m * s->n < (int64_t)c->subgroup * vec)) vec /= 2;
  l->vec[0] = 1;
  l->vec[1] = vec;
  l->lanes[1] = share(c->subgroup, s->n / vec);
  l->lanes[0] = share(c->subgroup / l->lanes[1], s->m);
  l->inner[0] = s->m / l->lanes[0] * (int)(tm / l->warps[0]);
  l->inner[1] = s->n / (l->lanes[1] * vec) * (int)(tn / l->warps[1]);
}

/* ---- matrices of a subgroup ------------------------------------------------------------------------------------------ */

typedef struct grid {
  const simt_layout *l;
  int size[2];    /* of a matrix */
  int per_rep[2]; /* matrices of a subgroup per rep */
  int n[2];       /* matrices of a subgroup */
} grid;

static grid grid_of(const simt *c, const simt_layout *l) {
  grid g = {.l = l, .size = {c->shape.m, c->shape.n}};
  for (int d = 0; d < 2; d++) {
    g.per_rep[d] = l->inner[d] * l->lanes[d] * l->vec[d] / g.size[d];
    g.n[d] = g.per_rep[d] * l->reps[d];
  }
  return g;
}

/* First row (column) of matrix i of this subgroup: the part that depends on the subgroup, and the constant part. */
static ir_value *warp_origin(simt *c, const grid *g, int d) { return sx_muli(c, simt_warp_of(c, g->l, d), (int64_t)g->per_rep[d] * g->size[d]); }
static int64_t matrix_offset(const grid *g, int d, int i) {
  return ((int64_t)(i / g->per_rep[d]) * g->l->warps[d] * g->per_rep[d] + i % g->per_rep[d]) * g->size[d];
}

static const ir_type *matrix_type(simt *c, tsr_dtype t, int rows, int cols, const char *use) {
  ir_type x = {.kind = IR_T_MATRIX, .dtype = t, .rank = 2, .dims = {rows, cols}, .use = use};
  return ir_type_get(c->m, &x);
}

static const ir_type *acc_type(simt *c, tsr_dtype t) { return matrix_type(c, t, c->shape.m, c->shape.n, "acc"); }

/* Bytes that divide every matrix's address and the stride, at most 16. */
static int64_t known_align(const simt *c, const simt_mem *m, int64_t stride) {
  int64_t g = simt_gcd(simt_gcd(m->mult, stride), simt_gcd(simt_gcd(c->shape.m, c->shape.n), c->shape.k)), size = (int64_t)tsr_dtype_size(m->dtype);
  return simt_gcd(g * size, 16);
}

static void annotate(simt *c, ir_op *op, const simt_mem *m, int64_t stride, bool col) {
  if (!op || (col && !ir_set_attr(op, "layout", ir_attr_str(c->m, "col"))) || !ir_set_attr(op, "align", ir_attr_int(c->m, known_align(c, m, stride)))) c->b.failed = true;
}

static ir_value *mat_load(simt *c, const ir_type *type, const simt_mem *m, ir_value *at, int64_t stride, bool col) {
  ir_value *v = sx_op(c, TG_MAT_LOAD, type, 3, (ir_value *[]){m->ptr, at, sx_int(c, stride)});
  annotate(c, v ? v->def : NULL, m, stride, col);
  return v;
}

static void mat_store(simt *c, ir_value *v, const simt_mem *m, ir_value *at, int64_t stride, bool col) {
  annotate(c, sx_effect(c, TG_MAT_STORE, 4, (ir_value *[]){v, m->ptr, at, sx_int(c, stride)}), m, stride, col);
}

/* Can matrices be loaded from (stored to) it as it lies? */
static bool is_plain(const simt_mem *m) { return m->strides[1] == 1 || m->strides[0] == 1; }

static tsr_status coopmat_fill(simt *c, const simt_layout *l, tsr_dtype t, ir_value *scalar, simt_frag *out) {
  grid g = grid_of(c, l);
  int n = g.n[0] * g.n[1];
  ir_value **v = arena_array(&c->m->arena, ir_value *, n);
  const ir_type *type = acc_type(c, t);
  if (!v || !type) return st_oom();
  ir_value *one = sx_op(c, TG_MAT_FILL, type, 1, &scalar);
  for (int i = 0; i < n; i++) v[i] = one;
  *out = (simt_frag){.layout = l, .dtype = t, .v = v, .n = n, .opaque = true};
  return c->b.failed ? st_oom() : NULL;
}

/* ---- conversion through a subgroup's scratch --------------------------------------------------------------------------- */

typedef struct scratch { simt_mem m; int per_round; int64_t tile; } scratch;

static tsr_status scratch_of(simt *c, const grid *g, tsr_dtype t, scratch *s) {
  int n = g->n[0] * g->n[1], size = (int)tsr_dtype_size(t);
  s->tile = (int64_t)g->size[0] * g->size[1];
  s->per_round = (int)(ROUND_BYTES / (s->tile * size * c->warps));
  if (s->per_round < 1) s->per_round = 1;
  if (s->per_round > n) s->per_round = n;
  for (;; s->per_round /= 2) { /* as many matrices a round as find room */
    int64_t dims[1] = {s->tile * s->per_round * c->warps};
    tsr_status st = simt_scratch_tile(c, t, 1, dims, 0, &s->m);
    if (!st) break;
    if (s->per_round == 1 || tsr_status_code(st) != TSR_UNSUPPORTED) return st;
    tsr_status_free(st);
  }
  s->m.base = sx_muli(c, c->warp, s->tile * s->per_round);
  s->m.mult = simt_gcd(s->tile * s->per_round, 0);
  return NULL;
}

/* Element registers of matrix (i, j): fn gets the register number and the address in scratch. */
static void for_elements(simt *c, const grid *g, const scratch *s, int slot, int i, int j, bool store, ir_value **regs, tsr_dtype t) {
  const simt_layout *l = g->l;
  int rows = l->reps[0] * l->inner[0] * l->vec[0], cols = l->reps[1] * l->inner[1] * l->vec[1], vec = l->vec[1];
  ir_value *lane_row = simt_lane_of(c, l, 0), *lane_col = sx_muli(c, simt_lane_of(c, l, 1), vec);
  ir_value *base = sx_add(c, s->m.base, sx_add(c, sx_muli(c, lane_row, g->size[1]), lane_col));
  for (int r = 0; r < rows; r++) {
    int64_t row = simt_reg_offset(l, r * cols, 0) - matrix_offset(g, 0, i);
    if (row < 0 || row >= g->size[0]) continue;
    for (int q = 0; q < cols; q += vec) {
      int64_t col = simt_reg_offset(l, q, 1) - matrix_offset(g, 1, j);
      if (col < 0 || col >= g->size[1]) continue;
      ir_value *at = sx_addi(c, base, slot * s->tile + row * g->size[1] + col), **v = regs + (int64_t)r * cols + q;
      if (store) {
        sx_store(c, &s->m, at, sx_vector(c, vec, v));
        continue;
      }
      ir_value *x = sx_load(c, &s->m, at, vec);
      for (int e = 0; e < vec; e++) v[e] = sx_extract(c, x, e);
    }
  }
}

static void warp_sync(simt *c) { sx_effect(c, TG_WARP_BARRIER, 0, NULL); }

static tsr_status coopmat_to_regs(simt *c, const simt_frag *f, simt_frag *out) {
  grid g = grid_of(c, f->layout);
  scratch s;
  int n = g.n[0] * g.n[1];
  ir_value **v = arena_array(&c->m->arena, ir_value *, f->layout->n_regs);
  if (!v) return st_oom();
  TSR_TRY(scratch_of(c, &g, f->dtype, &s));
  simt_write(c, s.m.lo, s.m.hi);
  for (int first = 0; first < n; first += s.per_round) {
    int end = first + s.per_round < n ? first + s.per_round : n;
    if (first) warp_sync(c);
    for (int t = first; t < end; t++) mat_store(c, f->v[t], &s.m, sx_addi(c, s.m.base, (t - first) * s.tile), g.size[1], false);
    warp_sync(c);
    for (int t = first; t < end; t++) for_elements(c, &g, &s, t - first, t / g.n[1], t % g.n[1], false, v, f->dtype);
  }
  *out = (simt_frag){.layout = f->layout, .dtype = f->dtype, .v = v, .n = f->layout->n_regs};
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status coopmat_from_regs(simt *c, const simt_frag *f, simt_frag *out) {
  grid g = grid_of(c, f->layout);
  scratch s;
  int n = g.n[0] * g.n[1], lanes = f->layout->lanes[0] * f->layout->lanes[1];
  ir_value **v = arena_array(&c->m->arena, ir_value *, n);
  const ir_type *type = acc_type(c, f->dtype);
  if (!v || !type) return st_oom();
  TSR_TRY(scratch_of(c, &g, f->dtype, &s));
  simt_write(c, s.m.lo, s.m.hi);
  for (int first = 0; first < n; first += s.per_round) {
    int end = first + s.per_round < n ? first + s.per_round : n;
    if (first) warp_sync(c);
    ir_op *only = lanes < c->subgroup ? sx_if(c, sx_compare(c, "lt", c->lane, sx_int(c, lanes)), 0, NULL, false) : NULL;
    for (int t = first; t < end; t++) for_elements(c, &g, &s, t - first, t / g.n[1], t % g.n[1], true, f->v, f->dtype);
    if (only) sx_close(c, only, 0, NULL);
    warp_sync(c);
    for (int t = first; t < end; t++) v[t] = mat_load(c, type, &s.m, sx_addi(c, s.m.base, (t - first) * s.tile), g.size[1], false);
  }
  *out = (simt_frag){.layout = f->layout, .dtype = f->dtype, .v = v, .n = n, .opaque = true};
  return c->b.failed ? st_oom() : NULL;
}

/* ---- store ---------------------------------------------------------------------------------------------------------------- */

static bool has_accumulator(const simt *c, tsr_dtype t) {
  for (int i = 0; i < c->caps->n_matrix; i++) {
    const tsr_matrix_shape *s = &c->caps->matrix[i];
    if (s->c == t && s->m == c->shape.m && s->n == c->shape.n && s->scope == SCOPE_SUBGROUP) return true;
  }
  return false;
}

static bool coopmat_store(simt *c, const simt_frag *f, const simt_mem *to) {
  grid g = grid_of(c, f->layout);
  const simt_layout *l = f->layout;
  if (simt_interior(c, to) || !is_plain(to) || !has_accumulator(c, to->dtype) || l->warps[0] * l->warps[1] != c->warps) return false;
  for (int d = 0; d < 2; d++)
    if ((int64_t)g.n[d] * l->warps[d] * g.size[d] != to->dims[d]) return false;
  bool col = to->strides[1] != 1;
  if (to->shared) simt_write(c, to->lo, to->hi);
  ir_value *at = sx_add(c, to->base, sx_add(c, sx_muli(c, warp_origin(c, &g, 0), to->strides[0]), sx_muli(c, warp_origin(c, &g, 1), to->strides[1])));
  for (int i = 0; i < g.n[0]; i++)
    for (int j = 0; j < g.n[1]; j++) {
      ir_value *v = f->v[i * g.n[1] + j];
      if (to->dtype != f->dtype) v = sx_op(c, TG_MAT_CAST, acc_type(c, to->dtype), 1, &v);
      int64_t off = matrix_offset(&g, 0, i) * to->strides[0] + matrix_offset(&g, 1, j) * to->strides[1];
      mat_store(c, v, to, sx_addi(c, at, off), to->strides[col ? 1 : 0], col);
    }
  return true;
}

/* ---- gemm ------------------------------------------------------------------------------------------------------------------- */

/* A window that may leave its view, or that no stride describes, is staged whole; matrices can't be clipped. */
static tsr_status stage(simt *c, const simt_gemm *g, simt_mem *m) {
  if (!simt_interior(c, m) && is_plain(m)) return NULL;
  simt_mem tile;
  TSR_TRY(simt_scratch_tile(c, m->dtype, 2, m->dims, 16 / (int64_t)tsr_dtype_size(m->dtype), &tile));
  TSR_TRY(simt_copy(c, g->op, m, &tile));
  *m = tile;
  simt_read(c, m->lo, m->hi);
  return NULL;
}

typedef struct operand {
  simt_mem m;
  int row, k; /* memory dimensions of the accumulator's dimension and of the depth */
  int64_t stride;
  bool col;   /* layout of the load */
  ir_value *origin;
  const ir_type *type;
} operand;

static tsr_status operand_of(simt *c, const simt_gemm *g, const grid *q, const tsr_matrix_shape *s, bool is_a, operand *o) {
  const simt_operand *in = is_a ? &g->A : &g->B;
  o->m = in->mem;
  TSR_TRY(stage(c, g, &o->m));
  o->row = is_a == !in->transposed ? 0 : 1;
  o->k = 1 - o->row;
  /* Row-major as the instruction sees it ([m, k] or [k, n]) unless the other memory dimension is the dense one. */
  int minor = is_a ? o->k : o->row;
  o->col = o->m.strides[minor] != 1;
  o->stride = o->m.strides[o->col ? minor : 1 - minor];
  o->origin = sx_add(c, o->m.base, sx_muli(c, warp_origin(c, q, is_a ? 0 : 1), o->m.strides[o->row]));
  o->type = is_a ? matrix_type(c, g->a, s->m, s->k, "a") : matrix_type(c, g->b, s->k, s->n, "b");
  return o->type ? NULL : st_oom();
}

static ir_value *load_operand(simt *c, const grid *q, const operand *o, bool is_a, int i, ir_value *k, int64_t k_off) {
  ir_value *at = sx_add(c, o->origin, sx_muli(c, k, o->m.strides[o->k]));
  return mat_load(c, o->type, &o->m, sx_addi(c, at, matrix_offset(q, is_a ? 0 : 1, i) * o->m.strides[o->row] + k_off * o->m.strides[o->k]), o->stride, o->col);
}

/* All rows' matrices of a once per slice of k, b's one at a time (fewer live registers than the reverse). */
static tsr_status slice(simt *c, const grid *q, const operand *a, const operand *b, ir_value *k, int64_t k_off, ir_value **acc) {
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
  grid q = grid_of(c, acc->layout);
  operand a, b;
  int n = acc->n;
  const char *why;
  int at = pick(c, g, &why);
  if (at < 0) return simt_unsupported(c, g->op, "set the kernel's attribute matrix to \"fma\"", "no matrix of %dx%d takes this product: %s", c->shape.m, c->shape.n, why);
  const tsr_matrix_shape *s = &c->caps->matrix[at];
  int64_t depth = s->k, slices = g->k / depth;
  TSR_TRY(operand_of(c, g, &q, s, true, &a));
  TSR_TRY(operand_of(c, g, &q, s, false, &b));
  ir_value **v = arena_dup(&c->m->arena, acc->v, sizeof *acc->v * (size_t)n);
  if (!v) return st_oom();
  if (slices * n <= UNROLL) {
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
    .name = "coopmat", .dialects = 1u << DIALECT_SPIRV, .opaque = true, .fits = coopmat_fits, .layout = coopmat_layout, .wants_mem = coopmat_wants_mem, .gemm = coopmat_gemm,
    .fill = coopmat_fill, .to_regs = coopmat_to_regs, .from_regs = coopmat_from_regs, .store = coopmat_store};
