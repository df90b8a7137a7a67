/* core/passes/simt/memory.c - windows and accesses: addresses, widths, bounds.
 * A window that can leave its view is accessed under a block-uniform branch: whole blocks take plain wide accesses, the
 * others check every access. A checked load reads element 0 instead and drops it, so no thread branches on its own. */
#include <string.h>

#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/registers.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/state.h"

/* ---- views and windows ------------------------------------------------------------------------------------------- */

tsr_status simt_lower_view(simt *c, ir_op *op) {
  const simt_val *from = simt_of(op->operands[0]);
  const ir_type *t = op->results[0]->type;
  for (int d = 0; d < from->mem.rank; d++)
    if (from->mem.limit[d])
      return simt_unsupported(c, op, "reinterpret the view before taking windows",
                              "a view of a window that may leave its own view");
  simt_val *s = simt_bind(c, op->results[0], SV_MEM);
  if (!s) return st_oom();
  simt_mem m = {.ptr = from->mem.ptr, .dtype = simt_in_memory(t->dtype), .rank = t->rank, .inside = from->mem.inside,
                .windowed = from->mem.windowed};
  memcpy(m.dims, t->dims, sizeof m.dims);
  ir_type_strides(t, m.strides);
  m.base = sx_addi(c, from->mem.base, t->offset);
  m.mult = gcd64(from->mem.mult, t->offset);
  s->mem = m;
  return NULL;
}

/* How many elements of a window of `size` at `off` lie inside: NULL if provably all. */
static ir_value *window_limit(simt *c, ir_value *limit, int64_t extent, const simt_val *off, int64_t size) {
  if (!limit && off->hi != INT64_MAX && off->hi <= extent - size) return NULL;
  ir_value *left = sx_sub(c, limit ? limit : sx_int(c, extent), off->v);
  return sx_min(c, left, sx_int(c, size));
}

tsr_status simt_lower_window(simt *c, ir_op *op) {
  const simt_mem *from = &simt_of(op->operands[0])->mem;
  int64_t sizes[TSR_MAX_RANK];
  ir_get_ints(op, "sizes", sizes, TSR_MAX_RANK);
  simt_mem m = {.ptr = from->ptr, .dtype = from->dtype, .base = from->base, .mult = from->mult, .inside = from->inside,
                .windowed = from->windowed};
  for (int d = 0; d < from->rank; d++) {
    const simt_val *off = simt_of(op->operands[1 + d]);
    int64_t step, size = sizes[d] ? sizes[d] : 1;
    if (off->lo <= off->hi && off->hi < 0 && sizes[d]) /* hi below lo: in a loop that never runs */
      return simt_unsupported(c, op, "mask what a gather reads there", "a window that begins before its view");
    if (off->lo < 0) m.inside = sx_all(c, m.inside, sx_compare(c, "ge", off->v, sx_int(c, 0)));
    ir_value *limit = window_limit(c, from->limit[d], from->dims[d], off, size);
    if (__builtin_mul_overflow(off->mult, from->strides[d], &step)) step = 1;
    m.base = sx_add(c, m.base, sx_muli(c, off->v, from->strides[d]));
    m.mult = gcd64(m.mult, step);
    if (!sizes[d]) {
      if (limit) m.inside = sx_all(c, m.inside, sx_compare(c, "gt", limit, sx_int(c, 0)));
      continue;
    }
    m.dims[m.rank] = sizes[d];
    m.strides[m.rank] = from->strides[d];
    m.limit[m.rank] = limit;
    int64_t outer = from->limit[d] ? from->limit_mult[d] : from->dims[d];
    m.limit_mult[m.rank++] = gcd64(gcd64(outer, off->mult), sizes[d]);
  }
  if (!m.rank) return simt_unsupported(c, op, "use load_scalar", "a window without dimensions");
  simt_val *s = simt_bind(c, op->results[0], SV_MEM);
  if (!s) return st_oom();
  s->mem = m;
  return NULL;
}

ir_value *simt_interior(simt *c, const simt_mem *m) {
  ir_value *all = m->inside;
  for (int d = 0; d < m->rank; d++)
    if (m->limit[d]) all = sx_all(c, all, sx_compare(c, "ge", m->limit[d], sx_int(c, m->dims[d])));
  return all;
}

/* ---- accesses ---------------------------------------------------------------------------------------------------- */

int simt_access_width(const simt *c, const simt_mem *m, int want) {
  int size = (int)tsr_dtype_size(m->dtype), last = m->rank - 1;
  if (m->strides[last] != 1 || want < 1) return 1;
  int w = 1;
  while (2 * w <= want && 2 * w * size <= c->caps->vector_bytes && 2 * w <= 16) w *= 2;
  int64_t g = gcd64(m->mult, m->dims[last]);
  for (int d = 0; d < last; d++)
    if (m->dims[d] > 1) g = gcd64(g, m->strides[d]);
  while (w > 1 && g % w) w /= 2;
  return w;
}

ir_value *simt_register_guard(simt *c, const simt_layout *l, const simt_mem *m, bool clipped, int r, bool *never) {
  ir_value *cond = clipped ? m->inside : NULL;
  *never = false;
  for (int d = 0; d < l->rank; d++) {
    int64_t k = simt_reg_offset(l, r, d);
    if (k >= l->dims[d]) *never = true;
    if (clipped && m->limit[d]) {
      cond = sx_all(c, cond, sx_compare(c, "lt", sx_addi(c, simt_thread_offset(c, l, d), k), m->limit[d]));
    } else if (k + simt_thread_max(l, d) >= l->dims[d]) {
      cond = sx_all(c, cond, sx_compare(c, "lt", simt_thread_offset(c, l, d), sx_int(c, l->dims[d] - k)));
    }
  }
  return cond;
}

static ir_value *register_index(simt *c, const simt_layout *l, const simt_mem *m, int r) {
  ir_value *at = m->base;
  int64_t k = 0;
  for (int d = 0; d < l->rank; d++) {
    at = sx_add(c, at, sx_muli(c, simt_thread_offset(c, l, d), m->strides[d]));
    k = wrap_add(k, wrap_mul(simt_reg_offset(l, r, d), m->strides[d]));
  }
  return sx_addi(c, at, k);
}

static void load_one(simt *c, const simt_layout *l, const simt_mem *m, bool clipped, int r, int w, ir_value **v) {
  bool never;
  ir_value *cond = simt_register_guard(c, l, m, clipped, r, &never), *zero = sx_num(c, m->dtype, 0);
  if (never) {
    for (int e = 0; e < w; e++) v[e] = zero;
    return;
  }
  ir_value *at = register_index(c, l, m, r);
  if (cond) at = sx_select(c, cond, at, simt_harmless(c, m));
  ir_value *x = sx_load(c, m, at, w);
  for (int e = 0; e < w; e++) {
    v[e] = sx_extract(c, x, e);
    if (cond) v[e] = sx_select(c, cond, v[e], zero);
  }
}

static void store_one(simt *c, const simt_layout *l, const simt_mem *m, bool clipped, int r, int w, ir_value **v) {
  bool never;
  ir_value *cond = simt_register_guard(c, l, m, clipped, r, &never), *x[16];
  if (never) return;
  for (int e = 0; e < w; e++) x[e] = sx_cast(c, v[e], m->dtype);
  ir_op *branch = cond ? sx_if(c, cond, 0, NULL, false) : NULL;
  sx_store(c, m, register_index(c, l, m, r), sx_vector(c, w, x));
  if (branch) sx_close(c, branch, 0, NULL);
}

tsr_status simt_access_regs(simt *c, const simt_layout *l, const simt_mem *m, bool store, bool clipped, int r0, int r1,
                            ir_value **v) {
  int last = l->rank - 1, w = simt_access_width(c, m, l->vec[last]);
  if (clipped && m->limit[last])
    while (w > 1 && m->limit_mult[last] % w) w /= 2;
  for (int r = r0; r < r1; r += w) (store ? store_one : load_one)(c, l, m, clipped, r, w, v + (r - r0));
  return c->b.failed ? st_oom() : NULL;
}

static ir_value **values(simt *c, int n) {
  ir_value **v = arena_array(&c->m->arena, ir_value *, n + 1);
  if (!v) c->b.failed = true;
  return v;
}

/* Both variants under the branch, or the one that suffices. */
tsr_status simt_load_clipped(simt *c, const simt_layout *l, const simt_mem *m, ir_value **v) {
  ir_value *interior = simt_interior(c, m);
  int n = l->n_regs;
  if (!interior) return simt_access_regs(c, l, m, false, false, 0, n, v);
  if (n < 4) return simt_access_regs(c, l, m, false, true, 0, n, v);
  const ir_type **types = (const ir_type **)values(c, n);
  if (!types) return st_oom();
  int w = sx_together(c, n, simt_access_width(c, m, l->vec[l->rank - 1]));
  for (int i = 0; i < n / w; i++) types[i] = sx_pack_type(c, m->dtype, w);
  ir_op *branch = sx_if(c, interior, n / w, types, true);
  TSR_TRY(simt_access_regs(c, l, m, false, false, 0, n, v));
  sx_pack(c, n, w, v, v);
  sx_else(c, branch, n / w, v);
  TSR_TRY(simt_access_regs(c, l, m, false, true, 0, n, v));
  sx_pack(c, n, w, v, v);
  sx_close(c, branch, n / w, v);
  if (c->b.failed || !branch) return st_oom();
  sx_unpack(c, n, w, branch->results, v);
  return NULL;
}

tsr_status simt_load_frag(simt *c, const simt_mem *from, const simt_layout *l, tsr_dtype t, simt_frag *out) {
  ir_value **v = values(c, l->n_regs);
  if (!v) return st_oom();
  if (from->shared) simt_read(c, from->lo, from->hi);
  TSR_TRY(simt_load_clipped(c, l, from, v));
  for (int i = 0; i < l->n_regs; i++) v[i] = sx_cast(c, v[i], t);
  *out = (simt_frag){.layout = l, .dtype = t, .v = v, .n = l->n_regs};
  return NULL;
}

tsr_status simt_store_frag(simt *c, const simt_frag *f, const simt_mem *to) {
  simt_frag regs;
  if (f->opaque && c->path->store && c->path->store(c, f, to)) return NULL;
  TSR_TRY(simt_regs(c, f, &regs));
  if (to->shared) simt_write(c, to->lo, to->hi);
  ir_value *owner = simt_owner(c, regs.layout), *interior = simt_interior(c, to);
  ir_op *only = owner ? sx_if(c, owner, 0, NULL, false) : NULL;
  if (!interior || regs.n < 4) {
    TSR_TRY(simt_access_regs(c, regs.layout, to, true, interior != NULL, 0, regs.n, regs.v));
  } else {
    ir_op *branch = sx_if(c, interior, 0, NULL, true);
    TSR_TRY(simt_access_regs(c, regs.layout, to, true, false, 0, regs.n, regs.v));
    sx_else(c, branch, 0, NULL);
    TSR_TRY(simt_access_regs(c, regs.layout, to, true, true, 0, regs.n, regs.v));
    sx_close(c, branch, 0, NULL);
  }
  if (only) sx_close(c, only, 0, NULL);
  return c->b.failed ? st_oom() : NULL;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

enum { COPY_CHUNK = 64 }; /* registers in flight */

static tsr_status copy_regs(simt *c, const simt_layout *l, const simt_mem *from, const simt_mem *to, bool clip_from,
                            bool clip_to) {
  ir_value *v[COPY_CHUNK];
  for (int r = 0; r < l->n_regs; r += COPY_CHUNK) {
    int end = r + COPY_CHUNK < l->n_regs ? r + COPY_CHUNK : l->n_regs;
    TSR_TRY(simt_access_regs(c, l, from, false, clip_from, r, end, v));
    TSR_TRY(simt_access_regs(c, l, to, true, clip_to, r, end, v));
  }
  return NULL;
}

static int copy_width(const simt *c, const simt_mem *from, const simt_mem *to) {
  int a = simt_access_width(c, from, 16), b = simt_access_width(c, to, 16);
  int w = a < b ? a : b;
  return w > 8 && tsr_dtype_size(from->dtype) > 1 ? 8 : w;
}

tsr_status simt_copy(simt *c, const ir_op *op, const simt_mem *from, const simt_mem *to) {
  const simt_layout *l = simt_copy_layout(c, from->rank, from->dims, simt_asked_width(op, copy_width(c, from, to)));
  if (!l) return st_oom();
  if (l->n_regs > 4 * SIMT_MAX_REGS)
    return simt_unsupported(c, op, "copy smaller windows, or use more subgroups", "a copy of %d elements per thread",
                            l->n_regs);
  if (from->shared) simt_read(c, from->lo, from->hi);
  if (to->shared) simt_write(c, to->lo, to->hi);
  ir_value *in_from = simt_interior(c, from), *in_to = simt_interior(c, to), *both = sx_all(c, in_from, in_to);
  ir_value *owner = simt_owner(c, l);
  ir_op *only = owner ? sx_if(c, owner, 0, NULL, false) : NULL;
  if (!both) {
    TSR_TRY(copy_regs(c, l, from, to, false, false));
  } else {
    ir_op *branch = sx_if(c, both, 0, NULL, true);
    TSR_TRY(copy_regs(c, l, from, to, false, false));
    sx_else(c, branch, 0, NULL);
    TSR_TRY(copy_regs(c, l, from, to, in_from != NULL, in_to != NULL));
    sx_close(c, branch, 0, NULL);
  }
  if (only) sx_close(c, only, 0, NULL);
  return c->b.failed ? st_oom() : NULL;
}

/* The same by cp.async: w elements each, zeros where the view ends. The caller commits and waits. */
tsr_status simt_copy_async(simt *c, const simt_layout *l, const simt_mem *from, const simt_mem *to, int w) {
  int bytes = w * (int)tsr_dtype_size(to->dtype);
  ir_value *owner = simt_owner(c, l);
  ir_op *only = owner ? sx_if(c, owner, 0, NULL, false) : NULL;
  for (int r = 0; r < l->n_regs; r += w) {
    bool never, ignore;
    ir_value *in_tile = simt_register_guard(c, l, to, false, r, &never),
             *in_view = simt_register_guard(c, l, from, true, r, &ignore), *v[5];
    if (never) continue;
    ir_op *guard = in_tile ? sx_if(c, in_tile, 0, NULL, false) : NULL;
    ir_value *at = register_index(c, l, from, r);
    v[0] = to->ptr;
    v[1] = register_index(c, l, to, r);
    v[2] = from->ptr;
    v[3] = in_view ? sx_select(c, in_view, at, sx_int(c, 0)) : at;
    v[4] = in_view ? sx_select(c, in_view, sx_int(c, bytes), sx_int(c, 0)) : NULL;
    ir_op *op = sx_effect(c, TG_CP_ASYNC, in_view ? 5 : 4, v);
    if (!op || !ir_set_attr(op, "bytes", ir_attr_int(c->m, bytes))) c->b.failed = true;
    if (guard) sx_close(c, guard, 0, NULL);
  }
  if (only) sx_close(c, only, 0, NULL);
  return c->b.failed ? st_oom() : NULL;
}
