/* core/passes/simt/matrix/coopmat.c - the cooperative matrix paths: accumulators are matrices with an unknown element
 * order, of a subgroup (VK_KHR_cooperative_matrix), or of the whole block (workgroup scope of
 * VK_NV_cooperative_matrix2). Operands are loaded from shared memory, or straight from global memory where the window
 * is whole, or anywhere with tensor addressing. Element code on accumulators stays on matrices where it can
 * (simt/matrix/coopmat_map.c). What needs single elements goes through scratch, a subgroup's own (one barrier of the
 * subgroup per round) or the block's, into a layout that owns the same rows and columns. Matrix t of a dimension
 * belongs to (rep, warp, i) with t = (rep * warps + warp) * per_rep + i; a block's matrix is one rep. */
#include <string.h>

#include "core/passes/simt/matrix/coopmat.h"
#include "core/device/dialect.h"

enum { UNROLL = 128, ROUND_BYTES = 8192, SCRATCH_BYTES = 16384, REGISTER_SIDE = 64, DEPTH = 64 };

static matrix_scope scope_of(const simt *c) {
  return c->path == &simt_path_coopmat2 ? SCOPE_WORKGROUP : SCOPE_SUBGROUP;
}

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
  if (tiles + c->caps->coopmat2_shared_bytes + ROUND_BYTES > c->caps->shared_bytes)
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

/* ---- matrices of a fragment
 * ------------------------------------------------------------------------------------------- */

coop_grid coop_grid_of(const simt *c, const simt_layout *l) {
  coop_grid g = {.l = l, .wide = scope_of(c) == SCOPE_WORKGROUP, .size = {c->shape.m, c->shape.n}};
  for (int d = 0; d < 2; d++) {
    bool repeated = l->dims[d] <= 1;
    g.per_rep[d] = repeated || g.wide ? 1 : l->inner[d] * l->lanes[d] * l->vec[d] / g.size[d];
    g.n[d] = repeated ? 1 : g.per_rep[d] * l->reps[d];
  }
  return g;
}

bool coop_covers(const simt *c, const coop_grid *g, const int64_t *dims) {
  if (!g->wide && g->l->warps[0] * g->l->warps[1] != c->warps) return false;
  for (int d = 0; d < 2; d++)
    if (dims[d] > 1 && (int64_t)g->n[d] * (g->wide ? 1 : g->l->warps[d]) * g->size[d] != dims[d]) return false;
  return true;
}

ir_value *coop_origin(simt *c, const coop_grid *g, int d) {
  return g->wide || g->l->dims[d] <= 1 ? sx_int(c, 0)
                                       : sx_muli(c, simt_warp_of(c, g->l, d), (int64_t)g->per_rep[d] * g->size[d]);
}

int64_t coop_offset(const coop_grid *g, int d, int i) {
  int64_t warps = g->wide ? 1 : g->l->warps[d];
  return ((int64_t)(i / g->per_rep[d]) * warps * g->per_rep[d] + i % g->per_rep[d]) * g->size[d];
}

static const ir_type *matrix_type(simt *c, tsr_dtype t, int rows, int cols, const char *use) {
  ir_type x = {.kind = IR_T_MATRIX, .dtype = t, .rank = 2, .dims = {rows, cols}, .use = use};
  return ir_type_get(c->m, &x);
}

const ir_type *coop_acc_type(simt *c, tsr_dtype t) { return matrix_type(c, t, c->shape.m, c->shape.n, "acc"); }

bool coop_has_accumulator(const simt *c, tsr_dtype t) {
  for (int i = 0; i < c->caps->n_matrix; i++) {
    const tsr_matrix_shape *s = &c->caps->matrix[i];
    if (s->c != t || s->scope != c->shape.scope || (s->threads && s->threads != c->threads)) continue;
    if (s->scope == SCOPE_WORKGROUP ? c->shape.m % s->m == 0 && c->shape.n % s->n == 0
                                    : s->m == c->shape.m && s->n == c->shape.n)
      return true;
  }
  return false;
}

/* ---- memory
 * ------------------------------------------------------------------------------------------------------------ */

/* Bytes that divide every matrix's address and the stride, at most 16. minor: elements of a row of the matrix (of a
 * column where those lie side by side). */
static int64_t known_align(const simt_mem *m, int64_t stride, int64_t minor) {
  return simt_gcd(simt_gcd(simt_gcd(m->mult, stride), minor) * (int64_t)tsr_dtype_size(m->dtype), 16);
}

/* Vulkan wants address and stride aligned to the lesser of 16 bytes and a row, or column, of the very matrix (VUID
 * 08986). */
static bool is_aligned(const simt_mem *m, int64_t stride, int64_t minor) {
  int64_t need = minor * (int64_t)tsr_dtype_size(m->dtype);
  return known_align(m, stride, minor) >= (need < 16 ? need : 16);
}

/* The dimension whose neighbours lie side by side is the minor one; the other one's stride counts (0: its extent is 1).
 */
static int64_t major_stride(const simt_mem *m, bool col) {
  int major = col ? 1 : 0;
  return m->dims[major] <= 1 ? 0 : m->strides[major];
}

static bool is_col(const simt_mem *m) { return m->dims[1] <= 1 ? m->dims[0] > 1 : m->strides[1] != 1; }

int64_t coop_acc_minor(const simt *c, bool col) { return col ? c->shape.m : c->shape.n; }

bool coop_reaches(const simt *c, const simt_mem *m, int64_t minor, bool clipped) {
  bool col = is_col(m);
  if (m->rank != 2 || m->strides[!col] != 1) return false;
  if (clipped) return !m->shared && c->caps->coopmat2_tensor;
  return is_aligned(m, major_stride(m, col), minor);
}

/* Rows and columns that exist from the matrix's first element on; extents of 1 never end. */
static ir_value *left_of(simt *c, const simt_mem *m, const coop_place *at, int d) {
  ir_value *end = m->limit[d] ? m->limit[d] : sx_int(c, m->dims[d]);
  if (m->dims[d] <= 1) end = sx_int(c, INT32_MAX);
  else end = sx_addi(c, sx_sub(c, end, at->origin[d]), -at->off[d]);
  return m->inside && d == 0 ? sx_select(c, m->inside, end, sx_int(c, 0)) : end;
}

static ir_op *access(simt *c, int code, const ir_type *type, ir_value *stored, const simt_mem *m, const coop_place *at,
                     bool col, bool clipped) {
  ir_value *index = m->base, *v[6];
  const ir_type *x = stored ? stored->type : type;
  int64_t stride = major_stride(m, col), off = 0;
  int n = 0;
  bool tensor = clipped || (scope_of(c) == SCOPE_WORKGROUP && c->caps->coopmat2_tensor && !m->shared);
  for (int d = 0; d < 2; d++) {
    if (m->dims[d] <= 1) continue;
    index = sx_add(c, index, sx_muli(c, at->origin[d], m->strides[d]));
    off += at->off[d] * m->strides[d];
  }
  if (stored) v[n++] = stored;
  v[n++] = m->ptr, v[n++] = sx_addi(c, index, off), v[n++] = sx_int(c, stride);
  if (clipped)
    for (int d = 0; d < 2; d++) v[n++] = left_of(c, m, at, d);
  ir_value *r = stored ? NULL : sx_op(c, code, type, n, v);
  ir_op *op = stored ? sx_effect(c, code, n, v) : r ? r->def : NULL;
  int64_t align = clipped ? (int64_t)tsr_dtype_size(m->dtype) : known_align(m, stride, x ? x->dims[col ? 0 : 1] : 1);
  if (!op || (col && !ir_set_attr(op, "layout", ir_attr_str(c->m, "col"))) ||
      !ir_set_attr(op, "align", ir_attr_int(c->m, align)) ||
      (tensor && !ir_set_attr(op, "tensor", ir_attr_bool(c->m, true))))
    c->b.failed = true;
  return op;
}

ir_value *coop_load(simt *c, const ir_type *type, const simt_mem *m, const coop_place *at, bool col, bool clipped) {
  ir_op *op = access(c, TG_MAT_LOAD, type, NULL, m, at, col, clipped);
  return op ? op->results[0] : NULL;
}

void coop_store(simt *c, ir_value *v, const simt_mem *m, const coop_place *at, bool col, bool clipped) {
  access(c, TG_MAT_STORE, NULL, v, m, at, col, clipped);
}

ir_value *coop_cast(simt *c, ir_value *v, const ir_type *type) {
  return !v || v->type == type ? v : sx_op(c, TG_MAT_CAST, type, 1, &v);
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

/* ---- conversion through scratch
 * ------------------------------------------------------------------------------------------ */

/* Room for per_round matrices of `tile` elements; a repeated dimension takes one element there. */
typedef struct scratch { simt_mem m; int per_round; int64_t tile; int side[2]; } scratch;

static tsr_status scratch_of(simt *c, const coop_grid *g, tsr_dtype t, bool squeeze, scratch *s) {
  int n = g->n[0] * g->n[1], size = (int)tsr_dtype_size(t), owners = g->wide ? 1 : c->warps;
  for (int d = 0; d < 2; d++) s->side[d] = squeeze && g->l->dims[d] <= 1 ? 1 : g->size[d];
  s->tile = (int64_t)s->side[0] * s->side[1];
  s->per_round = (int)((g->wide ? SCRATCH_BYTES : ROUND_BYTES) / (s->tile * size * owners));
  if (s->per_round < 1) s->per_round = 1;
  if (s->per_round > n) s->per_round = n;
  for (;; s->per_round /= 2) { /* as many matrices a round as find room */
    int64_t dims[1] = {s->tile * s->per_round * owners};
    tsr_status st = simt_scratch_tile(c, t, 1, dims, 0, &s->m);
    if (!st) break;
    if (s->per_round == 1 || tsr_status_code(st) != TSR_UNSUPPORTED) return st;
    tsr_status_free(st);
  }
  s->m.base = g->wide ? sx_int(c, 0) : sx_muli(c, c->warp, s->tile * s->per_round);
  s->m.mult = simt_gcd(s->tile * s->per_round, 0);
  return NULL;
}

/* The scratch of one round's matrix as memory of its own. */
static simt_mem scratch_tile(simt *c, const scratch *s, int index) {
  simt_mem m = s->m;
  m.rank = 2;
  m.base = sx_addi(c, m.base, index * s->tile);
  m.mult = simt_gcd(m.mult, s->tile);
  for (int d = 0; d < 2; d++) m.dims[d] = s->side[d];
  m.strides[0] = s->side[1];
  m.strides[1] = 1;
  return m;
}

/* Registers of matrix (i, j) from or to its scratch tile. */
static void for_elements(simt *c, const coop_grid *g, const scratch *s, int index, int i, int j, bool store,
                         ir_value **regs) {
  const simt_layout *l = g->l;
  int rows = l->reps[0] * l->inner[0] * l->vec[0], cols = l->reps[1] * l->inner[1] * l->vec[1], vec = l->vec[1];
  ir_value *base = s->m.base;
  for (int d = 0; d < 2; d++) {
    if (l->dims[d] <= 1) continue;
    ir_value *own = g->wide ? simt_thread_offset(c, l, d) : sx_muli(c, simt_lane_of(c, l, d), l->vec[d]);
    base = sx_add(c, base, sx_muli(c, own, d ? 1 : s->side[1]));
  }
  for (int r = 0; r < rows; r++) {
    int64_t row = simt_reg_offset(l, r * cols, 0) - coop_offset(g, 0, i);
    if (row < 0 || row >= s->side[0]) continue;
    for (int q = 0; q < cols; q += vec) {
      int64_t col = simt_reg_offset(l, q, 1) - coop_offset(g, 1, j);
      if (col < 0 || col >= s->side[1]) continue;
      ir_value *at = sx_addi(c, base, index * s->tile + row * s->side[1] + col), **v = regs + (int64_t)r * cols + q;
      if (store) {
        sx_store(c, &s->m, at, sx_vector(c, vec, v));
        continue;
      }
      ir_value *x = sx_load(c, &s->m, at, vec);
      for (int e = 0; e < vec; e++) v[e] = sx_extract(c, x, e);
    }
  }
}

static void scratch_sync(simt *c, const coop_grid *g) {
  sx_effect(c, g->wide && c->warps > 1 ? TG_BARRIER : TG_WARP_BARRIER, 0, NULL);
}

static tsr_status coopmat_to_regs(simt *c, const simt_frag *f, simt_frag *out) {
  coop_grid g = coop_grid_of(c, f->layout);
  scratch s;
  int n = g.n[0] * g.n[1];
  ir_value **v = arena_array(&c->m->arena, ir_value *, f->layout->n_regs);
  if (!v) return st_oom();
  TSR_TRY(scratch_of(c, &g, f->dtype, false, &s));
  simt_write(c, s.m.lo, s.m.hi);
  const coop_place start = {{sx_int(c, 0), sx_int(c, 0)}, {0, 0}};
  for (int first = 0; first < n; first += s.per_round) {
    int end = first + s.per_round < n ? first + s.per_round : n;
    if (first) scratch_sync(c, &g);
    for (int t = first; t < end; t++) {
      simt_mem m = scratch_tile(c, &s, t - first);
      coop_store(c, f->v[t], &m, &start, false, false);
    }
    scratch_sync(c, &g);
    for (int t = first; t < end; t++) for_elements(c, &g, &s, t - first, t / g.n[1], t % g.n[1], false, v);
  }
  *out = (simt_frag){.layout = f->layout, .dtype = f->dtype, .v = v, .n = f->layout->n_regs};
  return c->b.failed ? st_oom() : NULL;
}

/* One thread per element: the lanes (of a block's matrix: also the subgroups) that hold it twice keep away. */
static ir_value *writers(simt *c, const coop_grid *g) {
  const simt_layout *l = g->l;
  ir_value *cond = NULL;
  if (g->wide) return simt_owner(c, l);
  for (int d = 0; d < 2; d++)
    if (l->dims[d] <= 1 && l->lanes[d] > 1)
      cond = sx_all(c, cond, sx_compare(c, "eq", simt_lane_of(c, l, d), sx_int(c, 0)));
  return l->lanes[0] * l->lanes[1] < c->subgroup
             ? sx_all(c, cond, sx_compare(c, "lt", c->lane, sx_int(c, l->lanes[0] * l->lanes[1])))
             : cond;
}

tsr_status coop_from_regs(simt *c, const simt_frag *f, simt_frag *out) {
  coop_grid g = coop_grid_of(c, f->layout);
  scratch s;
  int n = g.n[0] * g.n[1];
  ir_value **v = arena_array(&c->m->arena, ir_value *, n);
  const ir_type *type = coop_acc_type(c, f->dtype);
  if (!v || !type) return st_oom();
  TSR_TRY(scratch_of(c, &g, f->dtype, true, &s));
  simt_write(c, s.m.lo, s.m.hi);
  const coop_place start = {{sx_int(c, 0), sx_int(c, 0)}, {0, 0}};
  for (int first = 0; first < n; first += s.per_round) {
    int end = first + s.per_round < n ? first + s.per_round : n;
    if (first) scratch_sync(c, &g);
    ir_value *some = writers(c, &g);
    ir_op *only = some ? sx_if(c, some, 0, NULL, false) : NULL;
    for (int t = first; t < end; t++) for_elements(c, &g, &s, t - first, t / g.n[1], t % g.n[1], true, f->v);
    if (only) sx_close(c, only, 0, NULL);
    scratch_sync(c, &g);
    for (int t = first; t < end; t++) {
      simt_mem m = scratch_tile(c, &s, t - first);
      v[t] = coop_load(c, type, &m, &start, is_col(&m), false);
    }
  }
  *out = (simt_frag){.layout = f->layout, .dtype = f->dtype, .v = v, .n = n, .opaque = true};
  return c->b.failed ? st_oom() : NULL;
}

/* ---- store
 * ---------------------------------------------------------------------------------------------------------------- */

static bool coopmat_store(simt *c, const simt_frag *f, const simt_mem *to) {
  coop_grid g = coop_grid_of(c, f->layout);
  bool clipped = simt_interior(c, to) != NULL, col = is_col(to);
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
  int at = pick(c, g, scope_of(c), q.wide ? 0 : q.size[1], &why);
  return at >= 0 && q.size[1] % c->caps->matrix[at].k == 0;
}

static bool coopmat_wants_mem(const simt *c, const simt_gemm *g, int which) { return which || !feeds_directly(c, g); }

static tsr_status operand_of(simt *c, const simt_gemm *g, const coop_grid *q, int64_t depth, bool is_a, operand *o) {
  const simt_operand *in = is_a ? &g->A : &g->B;
  *o = (operand){.m = in->mem, .depth = depth, .row = is_a == !in->transposed ? 0 : 1};
  o->k = 1 - o->row;
  o->type =
      is_a ? matrix_type(c, g->a, q->size[0], (int)depth, "a") : matrix_type(c, g->b, (int)depth, q->size[1], "b");
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
  int at = pick(c, g, scope_of(c), direct && !q.wide ? coop_grid_of(c, g->A.frag->layout).size[1] : 0, &why);
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
    .fill = coopmat_fill, .to_regs = coopmat_to_regs, .from_regs = coop_from_regs, .store = coopmat_store,
    .keeps = coop_keeps, .map = coop_map, .load = coop_load_frag, .reduce = coop_reduce};

const simt_matrix_path simt_path_coopmat2 = {
    .name = "coopmat2_workgroup", .ops = OPS_SPIRV, .opaque = true, .fits = coopmat2_fits, .layout = coopmat2_layout, .wants_mem = coopmat_wants_mem, .gemm = coopmat_gemm,
    .fill = coopmat_fill, .to_regs = coopmat_to_regs, .from_regs = coop_from_regs, .store = coopmat_store,
    .keeps = coop_keeps, .map = coop_map, .load = coop_load_frag, .reduce = coop_reduce, .shared_kept = coopmat2_shared_kept};
