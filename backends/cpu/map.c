/* backends/cpu/map.c - runs elementwise programs over strips of up to CPU_STRIP elements, as planned by
 * map_plan.c: maps, gathers and scatters. */
#include <string.h>

#include "backends/cpu/map.h"
#include "backends/cpu/places.h"
#include "core/base/dtype.h"
#include "core/base/int_math.h"

/* Where an operand's elements of the current row are. */
typedef struct row {
  const cpu_desc *d;
  char *p;        /* element (row, column 0) */
  int64_t valid;  /* columns that exist in this row */
  int64_t stride; /* of the strips' dimension, elements */
  cpuk_dtype type;
  cpuk_convert_fn convert; /* to or from the compute type; NULL = same type */
  bool stream;             /* a large result: past the caches */
  int64_t ahead;           /* bytes to what the next block reads; 0 = not fetched ahead */
  size_t esize;
} row;

typedef struct run {
  const vm *v;
  const map_plan *p;
  row rows[64];
  int n_out, n_ops;
  char *buffers, *cells, *spare;
  char *at[1024]; /* register -> address for this strip */
  int64_t index[TSR_MAX_RANK];
  int rank, along; /* along: the dimension of strips */
} run;

static char *home(const run *r, int32_t reg) {
  int32_t b = r->p->place[reg];
  return b >= 0 ? r->buffers + (size_t)b * STRIP_BYTES : r->cells + (size_t)(-1 - b) * CELL;
}

/* Elements [col, col + n) of a row as a strip in the compute type; what does not exist is 0. */
static char *stage(const run *r, const row *w, char *buffer, size_t ct_bytes, int64_t col, int64_t n) {
  int64_t have = w->valid - col;
  if (have > n) have = n;
  if (have <= 0) { /* there may be no address for what does not exist */
    memset(buffer, 0, (size_t)n * ct_bytes);
    return buffer;
  }
  char *src = w->p + col * w->stride * (int64_t)w->esize;
  if (w->ahead)
    for (int64_t at = 0; at < have * (int64_t)w->esize; at += 64) __builtin_prefetch(src + w->ahead + at, 0, 2);
  if (have == n && w->stride == 1 && !w->convert) return src;
  if (w->stride != 1) {
    char *dst = w->convert ? r->spare : buffer;
    cpuk_copy_args c = {dst, src, have, 1, 0, w->stride, 1, (size_t)have, w->esize};
    r->v->k->lanes->copy2d(&c);
    src = dst;
  }
  if (w->convert) w->convert(buffer, src, (size_t)have);
  else if (src != buffer) memcpy(buffer, src, (size_t)have * w->esize);
  if (have < n) memset(buffer + (size_t)have * ct_bytes, 0, (size_t)(n - have) * ct_bytes);
  return buffer;
}

static void put(const run *r, const row *w, const char *strip, int64_t col, int64_t n) {
  int64_t have = w->valid - col;
  if (have > n) have = n;
  if (have <= 0) return;
  char *dst = w->p + col * w->stride * (int64_t)w->esize;
  if (w->stride == 1) {
    if (w->stream) {
      if (w->convert) w->convert(r->spare, strip, (size_t)have);
      r->v->k->lanes->stream(dst, w->convert ? r->spare : strip, (size_t)have * w->esize);
    } else if (w->convert) w->convert(dst, strip, (size_t)have);
    else if (dst != strip) memmove(dst, strip, (size_t)have * w->esize);
    return;
  }
  if (w->convert) {
    w->convert(r->spare, strip, (size_t)have);
    strip = r->spare;
  }
  cpuk_copy_args c = {dst, strip, 0, w->stride, have, 1, 1, (size_t)have, w->esize};
  r->v->k->lanes->copy2d(&c);
}

static void splat(const run *r, char *dst, const char *cell, size_t esize, int64_t n) {
  r->v->k->lanes->fill(dst, cell, esize, (size_t)n);
}

static const char *wide(const run *r, int32_t reg, bool uniform, size_t esize, int spare, int64_t n) {
  if (!uniform) return r->at[reg];
  char *b = r->spare + (size_t)(1 + spare) * STRIP_BYTES;
  splat(r, b, r->at[reg], esize, n);
  return b;
}

#define SHIFT_LOOP(T, U, BITS)                                                                    \
  do {                                                                                            \
    const T *x = a, *y = b;                                                                       \
    T *d = dst;                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                             \
      bool in = y[i] >= 0 && y[i] < BITS;                                                         \
      d[i] = t->code == SC_SHL ? (in ? (T)((U)x[i] << y[i]) : 0) : x[i] >> (in ? y[i] : BITS - 1); \
    }                                                                                             \
  } while (0)
static void shift(const run *r, const step *t, void *dst, int64_t n) {
  const void *a = wide(r, t->a, t->a_uniform, t->esize, 0, n), *b = wide(r, t->b, t->b_uniform, t->esize, 1, n);
  if (t->ct == TSR_I64) SHIFT_LOOP(int64_t, uint64_t, 64);
  else SHIFT_LOOP(int32_t, uint32_t, 32);
}

static void set_cell(char *dst, int ct, bool is_float, int64_t i, double f) {
  if (ct == TSR_I64 && !is_float) memcpy(dst, &i, sizeof i);
  else dtype_store((tsr_dtype)ct, dst, 0, is_float ? f : (double)i);
}

/* One condition for all: the elements of one operand as they are. */
static void take_one(const run *r, const step *t, char *dst, int64_t n) {
  const bool first = *r->at[t->a] != 0;
  const char *x = r->at[first ? t->b : t->c];
  if (first ? t->b_uniform : t->c_uniform) splat(r, dst, x, t->esize, n);
  else memmove(dst, x, (size_t)n * t->esize);
}

static void lookup(const run *r, const step *t, char *dst, int64_t n) {
  const cpu_desc *d = vm_desc(r->v, t->a);
  places p = {.d = d, .ext = vm_ext(r->v, d)};
  for (int i = 0; i < t->b; i++) {
    p.at[i] = (const int32_t *)(const void *)r->at[t->at[i]];
    p.varies[i] = !t->at_uniform[i];
  }
  places_take(&p, vm_base(r->v, d), tsr_dtype_size((tsr_dtype)d->dtype), n, t->fn.convert ? r->spare : dst);
  if (t->fn.convert) t->fn.convert(dst, r->spare, (size_t)n);
}

static void do_step(run *r, const step *t, char *dst, int64_t col, int64_t n) {
  if (t->uniform) n = 1;
  switch ((step_kind)t->kind) {
  case ST_UNARY: t->fn.unary(dst, r->at[t->a], (size_t)n); break;
  case ST_BINARY: case ST_BINARY_VS: case ST_BINARY_SV: t->fn.binary(dst, r->at[t->a], r->at[t->b], (size_t)n); break;
  case ST_SELECT:
    if (t->a_uniform) take_one(r, t, dst, n);
    else
      t->fn.select(dst, (const uint8_t *)r->at[t->a], r->at[t->b], !t->b_uniform, r->at[t->c], !t->c_uniform,
                   (size_t)n);
    break;
  case ST_FMA:
    t->fn.fma(dst, wide(r, t->a, t->a_uniform && !t->uniform, t->esize, 0, n),
              wide(r, t->b, t->b_uniform && !t->uniform, t->esize, 1, n),
              wide(r, t->c, t->c_uniform && !t->uniform, t->esize, 2, n), (size_t)n);
    break;
  case ST_CONVERT: t->fn.convert(dst, r->at[t->a], (size_t)n); break;
  case ST_ROUND:
    t->fn.convert(r->spare, r->at[t->a], (size_t)n);
    t->back(dst, r->spare, (size_t)n);
    break;
  case ST_SHIFT: shift(r, t, dst, n); break;
  case ST_CONST: {
    double f;
    memcpy(&f, &t->imm, sizeof f);
    set_cell(dst, t->ct, dtype_is_float((tsr_dtype)t->ct), t->imm, f);
    break;
  }
  case ST_REG: {
    vm_reg x = r->v->t->regs[t->a];
    set_cell(dst, t->ct, t->is_float, x.i, x.f);
    break;
  }
  case ST_INPUT: r->at[t->dst] = stage(r, &r->rows[t->a], dst, t->esize, t->uniform ? 0 : col, n); return;
  case ST_INDEX:
    if (t->uniform) set_cell(dst, TSR_I32, false, r->index[t->a], 0);
    else r->v->k->lanes->iota((int32_t *)(void *)dst, (int32_t)col, 1, (size_t)n);
    break;
  case ST_LOAD: lookup(r, t, dst, n); break;
  case ST_NOP: break;
  }
  r->at[t->dst] = dst;
}

static void do_level(run *r, int level) {
  for (int i = 0; i < r->p->n_steps; i++) {
    const step *t = &r->p->steps[i];
    if (t->level == level) do_step(r, t, home(r, t->dst), 0, 1);
  }
}

static void do_strip(run *r, int64_t col, int64_t n) {
  const map_plan *p = r->p;
  char *direct[64];
  for (int y = 0; y < p->n_yields; y++) {
    const row *w = &r->rows[y];
    const bool here = p->writer[y] >= 0 && !w->convert && !w->stream && w->stride == 1 && w->valid - col >= n;
    direct[y] = here ? w->p + col * (int64_t)w->esize : NULL;
  }
  for (int i = 0; i < p->n_steps; i++) {
    const step *t = &p->steps[i];
    if (t->level != 2) continue;
    char *dst = home(r, t->dst);
    for (int y = 0; y < p->n_yields; y++)
      if (direct[y] && p->writer[y] == i) dst = direct[y];
    do_step(r, t, dst, col, n);
  }
  for (int y = 0; y < p->n_yields; y++) {
    if (direct[y]) continue;
    const char *s = wide(r, p->yields[y], p->yield_uniform[y], p->yield_esize[y], 0, n);
    put(r, &r->rows[y], s, col, n);
  }
}

static void set_rows(run *r, const int64_t *idx, int rank) {
  for (int o = 0; o < r->n_ops; o++) {
    row *w = &r->rows[o];
    const cpu_desc *d = w->d;
    const int64_t *ext = vm_ext(r->v, d);
    int64_t at = 0;
    bool inside = true;
    for (int k = 0; k < rank; k++) {
      if (k == r->along) continue;
      int64_t x = d->dims[k] == 1 ? 0 : idx[k];
      inside &= x < ext[k];
      if (inside) at += x * d->strides[k];
    }
    w->p = vm_base(r->v, d) + at * (int64_t)w->esize;
    w->valid = inside ? ext[r->along] : 0;
  }
}

static int64_t strip_length(const map_plan *p) {
  if (p->strip) return p->strip;
  int64_t n = 32 * 1024 / (4 * (p->n_buffers + 2));
  n &= ~(int64_t)63;
  return n < 128 ? 128 : n > CPU_STRIP ? CPU_STRIP : n;
}

static bool dense(const vm *v, const cpu_desc *d, const cpu_desc *like) {
  if (memcmp(d->dims, like->dims, sizeof(int64_t) * (size_t)d->rank) || !vm_full(v, d)) return false;
  int64_t s = 1;
  for (int i = d->rank - 1; i >= 0; i--) {
    if (d->dims[i] != 1 && d->strides[i] != s) return false;
    s *= d->dims[i];
  }
  return true;
}

static void begin_run(run *r, const vm *v, const map_plan *p, int n_ops, int n_out) {
  r->v = v;
  r->p = p;
  r->n_ops = n_ops;
  r->n_out = n_out;
  r->buffers = v->t->temp;
  r->spare = r->buffers + (size_t)p->n_buffers * STRIP_BYTES;
  for (int o = 0; o < n_ops; o++) r->rows[o].stream = false, r->rows[o].ahead = 0;
  r->cells = r->spare + (size_t)N_SPARE * STRIP_BYTES;
}

/* Rows that blocks read more than once: memory works on the next block's while the arithmetic of this one runs.
 * Prefetching past the end is harmless. */
int64_t map_ahead(const vm *v, const cpu_desc *d, int64_t column, const int64_t *bound) {
  if (!v->l->stream_bytes || d->kind != CPU_D_VIEW || column != 1 || d->rank < 2 || d->dims[d->rank - 2] == 1) return 0;
  double bytes = (double)bound[d->rank - 2] * (double)d->strides[d->rank - 2] *
                 (double)tsr_dtype_size((tsr_dtype)d->dtype); /* of strides that nothing moves along, too */
  return bytes > 0 && bytes <= 256 * 1024 ? (int64_t)bytes : 0;
}

static void next_row(run *r, const int64_t *bound) {
  for (int d = r->rank - 1; d >= 0; d--) {
    if (d == r->along) continue;
    if (++r->index[d] < bound[d]) return;
    r->index[d] = 0;
  }
}

/* What an operand of a map is converted from or to, if its storage type is not what it is computed in. */
static void set_types(const vm *v, row *w, bool is_result, int along) {
  const cpu_desc *d = w->d;
  const cpuk_dtype t = vm_cpuk((tsr_dtype)d->dtype), c = vm_cpuk(cpu_compute_type((tsr_dtype)d->dtype));
  w->type = t;
  w->esize = tsr_dtype_size((tsr_dtype)d->dtype);
  w->stride = d->dims[along] == 1 ? 1 : d->strides[along];
  w->convert = t == c ? NULL : is_result ? v->k->lanes->convert[c][t] : v->k->lanes->convert[t][c];
}

void vm_map(const vm *v, const cpu_instr *i) {
  const map_plan *plan = &v->m->plans[i->a[0]];
  const int rank = (int)i->imm, along = i->a[3], n_out = i->a[1], n_ops = i->a[2];
  const int64_t *ops = cpu_extra(v->m->image) + i->extra;
  const cpu_desc *first = vm_desc(v, (int)ops[0]);
  bool flat = !plan->uses_index;
  int64_t bound[TSR_MAX_RANK] = {0}, total = 1;
  for (int o = 0; o < n_ops; o++) {
    const cpu_desc *d = vm_desc(v, (int)ops[o]);
    flat = flat && dense(v, d, first);
    for (int k = 0; k < rank && o < n_out; k++) bound[k] = max64(bound[k], vm_ext(v, d)[k]);
  }
  for (int k = 0; k < rank; k++) total *= bound[k];
  if (!total || map_f32_run(v, plan, &(map_extent){ops, bound, total, rank, along, flat})) return;
  run r;
  begin_run(&r, v, plan, n_ops, n_out);
  r.rank = rank, r.along = along;
  for (int o = 0; o < n_ops; o++) {
    r.rows[o].d = vm_desc(v, (int)ops[o]);
    set_types(v, &r.rows[o], o < n_out, along);
  }
  bool streams = false;
  for (int o = 0; o < r.n_ops; o++)
    r.rows[o].stream = o < r.n_out && r.rows[o].stride == 1 && vm_is_large(v, r.rows[o].d, total),
    streams |= r.rows[o].stream;
  for (int o = 0; o < r.n_ops; o++)
    r.rows[o].ahead = o >= r.n_out ? map_ahead(v, r.rows[o].d, r.rows[o].stride, bound) : 0;
  do_level(&r, 0);
  int64_t step_n = strip_length(r.p), columns = flat ? total : bound[along],
          rows = flat ? 1 : total / bound[along];
  memset(r.index, 0, sizeof r.index);
  for (int64_t k = 0; k < rows; k++) {
    if (flat) {
      for (int o = 0; o < r.n_ops; o++)
        r.rows[o].p = vm_base(v, r.rows[o].d), r.rows[o].valid = total, r.rows[o].stride = 1;
    } else {
      set_rows(&r, r.index, rank);
    }
    do_level(&r, 1);
    for (int64_t col = 0; col < columns; col += step_n)
      do_strip(&r, col, columns - col < step_n ? columns - col : step_n);
    next_row(&r, bound);
  }
  if (streams) v->k->lanes->stream_fence();
}

/* ---- gather and scatter: the program gives coordinates ---- */

/* What `indexed` has found for a strip of elements. */
static places places_of(const run *r, const vm *v, const cpu_desc *view, int n_yields) {
  places p = {.d = view, .ext = vm_ext(v, view)};
  for (int y = 0; y < view->rank; y++) {
    p.at[y] = (const int32_t *)(const void *)r->at[r->p->yields[y]];
    p.varies[y] = !r->p->yield_uniform[y];
  }
  if (n_yields > view->rank) {
    p.valid = (const uint8_t *)r->at[r->p->yields[view->rank]];
    p.valid_varies = !r->p->yield_uniform[view->rank];
  }
  return p;
}

/* Visits every element of `tile` row by row. */
static void indexed(const vm *v, const cpu_instr *i, const cpu_desc *tile, const cpu_desc *view, bool gather) {
  run r;
  begin_run(&r, v, &v->m->plans[i->a[2]], 0, 0);
  const int rank = tile->rank, yields = i->a[3];
  size_t ts = tsr_dtype_size((tsr_dtype)tile->dtype), vs = tsr_dtype_size((tsr_dtype)view->dtype);
  cpuk_dtype tt = vm_cpuk((tsr_dtype)tile->dtype), vt = vm_cpuk((tsr_dtype)view->dtype);
  cpuk_convert_fn convert = tt == vt ? NULL : gather ? v->k->lanes->convert[vt][tt] : v->k->lanes->convert[tt][vt];
  const int64_t *ext = vm_ext(v, tile);
  char *base = vm_base(v, view), *line = r.cells + (size_t)(r.p->n_cells + 8) * CELL;
  int64_t rows = 1, cols = ext[rank - 1];
  for (int d = 0; d < rank - 1; d++) rows *= ext[d];
  memset(r.index, 0, sizeof r.index);
  do_level(&r, 0);
  for (int64_t k = 0; k < rows; k++) {
    int64_t at = 0;
    for (int d = 0; d < rank - 1; d++) at += r.index[d] * tile->strides[d];
    do_level(&r, 1);
    for (int64_t col = 0; col < cols; col += CPU_STRIP) {
      const int64_t n = cols - col < CPU_STRIP ? cols - col : CPU_STRIP;
      for (int s = 0; s < r.p->n_steps; s++)
        if (r.p->steps[s].level == 2) do_step(&r, &r.p->steps[s], home(&r, r.p->steps[s].dst), col, n);
      places p = places_of(&r, v, view, yields);
      char *strip = vm_base(v, tile) + (at + col) * (int64_t)ts, *raw = convert ? line : strip;
      if (gather) places_take(&p, base, vs, n, raw);
      if (convert) convert(gather ? strip : line, gather ? line : strip, (size_t)n);
      if (!gather) places_put(&p, base, vs, n, raw);
    }
    for (int d = rank - 2; d >= 0 && ++r.index[d] == ext[d]; d--) r.index[d] = 0;
  }
}

void vm_gather(const vm *v, const cpu_instr *i) { indexed(v, i, vm_desc(v, i->a[0]), vm_desc(v, i->a[1]), true); }
void vm_scatter(const vm *v, const cpu_instr *i) { indexed(v, i, vm_desc(v, i->a[0]), vm_desc(v, i->a[1]), false); }
