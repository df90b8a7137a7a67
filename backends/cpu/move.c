/* backends/cpu/move.c - copies with conversion and clipping, fills, transposes and reductions over tiles and views. */
#include <string.h>

#include "backends/cpu/vm.h"
#include "core/base/dtype.h"

static size_t esize_of(const cpu_desc *d) { return tsr_dtype_size((tsr_dtype)d->dtype); }

static int64_t count(const cpu_desc *d) {
  int64_t n = 1;
  for (int i = 0; i < d->rank; i++) n *= d->dims[i];
  return n;
}

/* A row of the last dimension. n elements exist, the rest up to `width` becomes 0. */
static void copy_row(const vm *v, const cpu_desc *d, char *dst, const cpu_desc *s, const char *src, int64_t n,
                     int64_t width) {
  size_t de = esize_of(d), se = esize_of(s);
  int64_t ds = d->rank ? d->strides[d->rank - 1] : 1, ss = s->rank ? s->strides[s->rank - 1] : 1;
  cpuk_dtype dt = vm_cpuk((tsr_dtype)d->dtype), st = vm_cpuk((tsr_dtype)s->dtype);
  const cpuk_lanes *l = v->k->lanes;
  char *temp = v->t->temp;
  if (dt == st) {
    cpuk_copy_args c = {dst, src, 0, ds, 0, ss, 1, (size_t)n, de};
    if (n) l->copy2d(&c);
  } else if (ds == 1 && ss == 1) {
    l->convert[st][dt](dst, src, (size_t)n);
  } else {
    for (int64_t at = 0; at < n; at += CPU_STRIP) {
      size_t m = (size_t)(n - at < CPU_STRIP ? n - at : CPU_STRIP);
      cpuk_copy_args in = {temp, src + at * ss * (int64_t)se, 0, 1, 0, ss, 1, m, se};
      l->copy2d(&in);
      l->convert[st][dt](temp + CPU_STRIP * 8, temp, m);
      cpuk_copy_args out = {dst + at * ds * (int64_t)de, temp + CPU_STRIP * 8, 0, ds, 0, 1, 1, m, de};
      l->copy2d(&out);
    }
  }
  for (int64_t i = n; i < width; i++) memset(dst + i * ds * (int64_t)de, 0, de);
}

/* Reinterprets the elements of dense tiles in row-major order (reshape); a padded tile goes row by row. */
static void move_flat(const vm *v, const cpu_desc *d, const cpu_desc *s) {
  int64_t n = count(d);
  cpu_desc df = {.kind = d->kind, .dtype = d->dtype, .rank = 1, .dims = {n}, .strides = {1}}, sf = df;
  sf.dtype = s->dtype;
  copy_row(v, &df, vm_base(v, d), &sf, vm_base(v, s), n, n);
}

void vm_copy(const vm *v, const cpu_instr *i) {
  const cpu_desc *d = vm_desc(v, i->a[0]), *s = vm_desc(v, i->a[1]);
  if (i->imm && d->kind == CPU_D_TILE && s->kind == CPU_D_TILE) {
    move_flat(v, d, s);
    return;
  }
  int rank = d->rank;
  const int64_t *se = vm_ext(v, s), *de = vm_ext(v, d);
  char *dst = vm_base(v, d);
  const char *src = vm_base(v, s);
  if (rank == 0) {
    if (d->kind == CPU_D_TILE || de[0]) copy_row(v, d, dst, s, src, s->kind == CPU_D_TILE || se[0], 1);
    return;
  }
  /* Plain 2-d block of one type: one call, which transposes well too. */
  if (rank == 2 && d->dtype == s->dtype && vm_full(v, s) && vm_full(v, d)) {
    cpuk_copy_args c = {dst,           src,           d->strides[0],      d->strides[1],
                        s->strides[0], s->strides[1], (size_t)d->dims[0], (size_t)d->dims[1],
                        esize_of(d)};
    v->k->lanes->copy2d(&c);
    return;
  }
  int64_t idx[TSR_MAX_RANK] = {0}, rows = 1, width = de[rank - 1];
  for (int k = 0; k < rank - 1; k++) rows *= de[k];
  for (int64_t r = 0; r < rows; r++) {
    int64_t dof = 0, sof = 0;
    bool inside = true;
    for (int k = 0; k < rank - 1; k++) {
      dof += idx[k] * d->strides[k];
      inside &= idx[k] < se[k];
      if (inside) sof += idx[k] * s->strides[k];
    }
    int64_t have = inside ? (se[rank - 1] < width ? se[rank - 1] : width) : 0;
    copy_row(v, d, dst + dof * (int64_t)esize_of(d), s, src + sof * (int64_t)esize_of(s), have, width);
    for (int k = rank - 2; k >= 0 && ++idx[k] == de[k]; k--) idx[k] = 0;
  }
}

void vm_fill(const vm *v, const cpu_desc *d, vm_reg value, bool is_float) {
  union { uint64_t u; char c[8]; } one = {0};
  if (is_float) dtype_store((tsr_dtype)d->dtype, &one, 0, value.f);
  else dtype_store_int((tsr_dtype)d->dtype, &one, 0, value.i);
  int64_t n = 1;
  for (int k = 0; k < d->rank; k++) n *= d->dims[k];
  if (d->rank && d->rank >= 2 && d->dims[d->rank - 1])
    n = n / d->dims[d->rank - 1] * d->strides[d->rank - 2]; /* padding too */
  v->k->lanes->fill(vm_base(v, d), &one, esize_of(d), (size_t)n);
}

void vm_transpose(const vm *v, const cpu_instr *i) {
  const cpu_desc *d = vm_desc(v, i->a[0]), *s = vm_desc(v, i->a[1]);
  const int64_t *perm = cpu_extra(v->m->image) + i->extra;
  int rank = d->rank;
  size_t e = esize_of(d);
  int64_t ss[TSR_MAX_RANK], idx[TSR_MAX_RANK] = {0}, blocks = 1;
  for (int k = 0; k < rank; k++) ss[k] = s->strides[perm[k]];
  for (int k = 0; k < rank - 2; k++) blocks *= d->dims[k];
  char *dst = vm_base(v, d), *src = vm_base(v, s);
  for (int64_t b = 0; b < blocks; b++) {
    int64_t dof = 0, sof = 0;
    for (int k = 0; k < rank - 2; k++) dof += idx[k] * d->strides[k], sof += idx[k] * ss[k];
    bool two = rank >= 2;
    cpuk_copy_args c = {dst + dof * (int64_t)e,
                        src + sof * (int64_t)e,
                        two ? d->strides[rank - 2] : 0,
                        d->strides[rank - 1],
                        two ? ss[rank - 2] : 0,
                        ss[rank - 1],
                        two ? (size_t)d->dims[rank - 2] : 1,
                        (size_t)d->dims[rank - 1],
                        e};
    v->k->lanes->copy2d(&c);
    for (int k = rank - 3; k >= 0 && ++idx[k] == d->dims[k]; k--) idx[k] = 0;
  }
}

/* ---- reductions ------------------------------------------------------------------------------------------------ */

typedef struct reduction {
  const vm *v;
  const cpu_desc *in;
  cpuk_reduce_op op;
  cpuk_policy policy;
  cpuk_ct ct;
  size_t e;
} reduction;

static void finish(const reduction *r, char *acc) {
  if (r->policy != CPUK_KAHAN || r->op != CPUK_RSUM) return;
  if (r->ct == CPUK_CT_F64) ((double *)(void *)acc)[0] += ((double *)(void *)acc)[1];
  else if (r->ct == CPUK_CT_F32) ((float *)(void *)acc)[0] += ((float *)(void *)acc)[1];
}

/* n elements at p, stride s; `have` of them exist. */
static void reduce_line(const reduction *r, const char *p, int64_t s, int64_t n, int64_t have, char *out) {
  union { double d[2]; char c[16]; } acc;
  cpuk_reduce_fn fn = r->v->k->lanes->reduce[r->op][r->ct][r->policy];
  cpuk_reduce_init(r->op, r->ct, r->policy, &acc);
  if (s == 1 && have == n) {
    fn(&acc, p, (size_t)n);
  } else {
    char *temp = r->v->t->temp;
    for (int64_t at = 0; at < n; at += CPU_STRIP) {
      int64_t m = n - at < CPU_STRIP ? n - at : CPU_STRIP, ok = have - at < 0 ? 0 : have - at < m ? have - at : m;
      cpuk_copy_args c = {temp, ok ? p + at * s * (int64_t)r->e : p, 0, 1, 0, s, 1, (size_t)ok, r->e};
      if (ok) r->v->k->lanes->copy2d(&c);
      memset(temp + ok * (int64_t)r->e, 0, (size_t)(m - ok) * r->e);
      fn(&acc, temp, (size_t)m);
    }
  }
  finish(r, acc.c);
  memcpy(out, acc.c, r->e);
}

/* Rows of `cols` elements combined into one, in strips so that accumulators stay in L1. */
static void reduce_rows(const reduction *r, const char *p, int64_t rs, int64_t cs, int64_t rows, int64_t cols,
                        int64_t have_rows, int64_t have_cols, char *out) {
  const cpuk_lanes *l = r->v->k->lanes;
  cpuk_reduce_cols_fn fn = l->reduce_cols[r->op][r->ct][r->policy];
  char *temp = r->v->t->temp, *acc = temp, *comp = temp + CPU_STRIP * 8, *line = temp + CPU_STRIP * 16;
  char init[16];
  bool kahan = r->policy == CPUK_KAHAN && r->op == CPUK_RSUM && (r->ct == CPUK_CT_F32 || r->ct == CPUK_CT_F64);
  cpuk_reduce_init(r->op, r->ct, CPUK_FAST, init);
  for (int64_t at = 0; at < cols; at += CPU_STRIP) {
    int64_t m = cols - at < CPU_STRIP ? cols - at : CPU_STRIP, ok = have_cols - at < 0   ? 0
                                                                    : have_cols - at < m ? have_cols - at
                                                                                         : m;
    l->fill(acc, init, r->e, (size_t)m);
    memset(comp, 0, (size_t)m * r->e);
    const char *src = ok ? p + at * cs * (int64_t)r->e : p;
    if (cs == 1 && ok == m && have_rows == rows) {
      fn(acc, kahan ? comp : NULL, src, rs, (size_t)rows, (size_t)m);
    } else {
      for (int64_t k = 0; k < rows; k++) {
        int64_t n = k < have_rows ? ok : 0;
        cpuk_copy_args c = {line, n ? src + k * rs * (int64_t)r->e : src, 0, 1, 0, cs, 1, (size_t)n, r->e};
        if (n) l->copy2d(&c);
        memset(line + n * (int64_t)r->e, 0, (size_t)(m - n) * r->e);
        fn(acc, kahan ? comp : NULL, line, m, 1, (size_t)m);
      }
    }
    if (kahan) l->binary[SC_ADD][r->ct](acc, acc, comp, (size_t)m);
    memcpy(out + at * (int64_t)r->e, acc, (size_t)m * r->e);
  }
}

void vm_reduce(const vm *v, const cpu_instr *i) {
  const cpu_desc *out = vm_desc(v, i->a[0]), *in = vm_desc(v, i->a[1]);
  reduction r = {v,
                 in,
                 (cpuk_reduce_op)i->a[3],
                 i->a[4] == CPU_ORDER_KAHAN   ? CPUK_KAHAN
                 : i->a[4] == CPU_ORDER_FIXED ? CPUK_DETERMINISTIC
                                               : CPUK_FAST,
                 vm_ct((tsr_dtype)in->dtype),
                 esize_of(in)};
  int axis = i->a[2], rank = in->rank, last = rank - 1;
  const int64_t *ext = vm_ext(v, in);
  char *src = vm_base(v, in), *dst = vm_base(v, out);
  int64_t idx[TSR_MAX_RANK] = {0}, outer = 1;
  for (int k = 0; k < rank; k++)
    if (k != axis && k != last) outer *= in->dims[k];
  for (int64_t n = 0; n < outer; n++) {
    int64_t sof = 0, dof = 0;
    bool inside = true;
    for (int k = 0; k < rank; k++) {
      if (k == axis || k == last) continue;
      dof += idx[k] * out->strides[k];
      inside &= idx[k] < ext[k];
      if (inside) sof += idx[k] * in->strides[k];
    }
    const char *p = src + sof * (int64_t)r.e;
    char *o = dst + dof * (int64_t)r.e;
    if (axis == last) reduce_line(&r, p, in->strides[last], in->dims[last], inside ? ext[last] : 0, o);
    else
      reduce_rows(&r, p, in->strides[axis], in->strides[last], in->dims[axis], in->dims[last], inside ? ext[axis] : 0,
                  ext[last], o);
    for (int k = last; k >= 0; k--) {
      if (k == axis || k == last) continue;
      if (++idx[k] < in->dims[k]) break;
      idx[k] = 0;
    }
  }
}
