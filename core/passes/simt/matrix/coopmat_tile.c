/* core/passes/simt/matrix/coopmat_tile.c - fragments as cooperative matrices: which matrices hold one, how they come
 * from memory and go to it, and the way to single elements and back, through scratch. See simt/matrix/coopmat_tile.h.
 * */
#include "core/passes/simt/matrix/coopmat_tile.h"
#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/shared.h"

enum { SCRATCH_BYTES = 16384 };

/* ---- matrices of a fragment -------------------------------------------------------------------------------------- */

coop_grid coop_grid_of(const simt *c, const simt_layout *l) {
  coop_grid g = {.l = l, .wide = c->path->scope == SCOPE_WORKGROUP, .size = {c->shape.m, c->shape.n}};
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

const ir_type *coop_type(simt *c, tsr_dtype t, int rows, int cols, const char *use) {
  ir_type x = {.kind = IR_T_MATRIX, .dtype = t, .rank = 2, .dims = {rows, cols}, .use = use};
  return ir_type_get(c->m, &x);
}

const ir_type *coop_acc_type(simt *c, tsr_dtype t) { return coop_type(c, t, c->shape.m, c->shape.n, "acc"); }

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

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Bytes that divide every matrix's address and the stride, at most 16. minor: elements of a row of the matrix (of a
 * column where those lie side by side). */
static int64_t known_align(const simt_mem *m, int64_t stride, int64_t minor) {
  return gcd64(gcd64(gcd64(m->mult, stride), minor) * (int64_t)tsr_dtype_size(m->dtype), 16);
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

bool coop_is_col(const simt_mem *m) { return m->dims[1] <= 1 ? m->dims[0] > 1 : m->strides[1] != 1; }

int64_t coop_acc_minor(const simt *c, bool col) { return col ? c->shape.m : c->shape.n; }

bool coop_reaches(const simt *c, const simt_mem *m, int64_t minor, bool clipped) {
  bool col = coop_is_col(m);
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
  bool tensor = clipped || (c->path->scope == SCOPE_WORKGROUP && c->caps->coopmat2_tensor && !m->shared);
  for (int d = 0; d < 2; d++) {
    if (m->dims[d] <= 1) continue;
    index = sx_add(c, index, sx_muli(c, at->origin[d], m->strides[d]));
    off = wrap_add(off, wrap_mul(at->off[d], m->strides[d]));
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

/* ---- conversion through scratch ---------------------------------------------------------------------------------- */

/* Room for per_round matrices of `tile` elements; a repeated dimension takes one element there. */
typedef struct scratch { simt_mem m; int per_round; int64_t tile; int side[2]; } scratch;

static tsr_status scratch_of(simt *c, const coop_grid *g, tsr_dtype t, bool squeeze, scratch *s) {
  int n = g->n[0] * g->n[1], size = (int)tsr_dtype_size(t), owners = g->wide ? 1 : c->warps;
  for (int d = 0; d < 2; d++) s->side[d] = squeeze && g->l->dims[d] <= 1 ? 1 : g->size[d];
  s->tile = (int64_t)s->side[0] * s->side[1];
  s->per_round = (int)((g->wide ? SCRATCH_BYTES : COOP_ROUND_BYTES) / (s->tile * size * owners));
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
  s->m.mult = gcd64(s->tile * s->per_round, 0);
  return NULL;
}

/* The scratch of one round's matrix as memory of its own. */
static simt_mem scratch_tile(simt *c, const scratch *s, int index) {
  simt_mem m = s->m;
  m.rank = 2;
  m.base = sx_addi(c, m.base, index * s->tile);
  m.mult = gcd64(m.mult, s->tile);
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

tsr_status coop_to_regs(simt *c, const simt_frag *f, simt_frag *out) {
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
      v[t] = coop_load(c, type, &m, &start, coop_is_col(&m), false);
    }
  }
  *out = (simt_frag){.layout = f->layout, .dtype = f->dtype, .v = v, .n = n, .opaque = true};
  return c->b.failed ? st_oom() : NULL;
}
