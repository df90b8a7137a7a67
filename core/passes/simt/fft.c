/* core/passes/simt/fft.c - a stage of an fft: butterflies in registers, exchanged through shared memory where they must
 * be. */
#include <math.h>
#include <string.h>

#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/fft.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/registers.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/state.h"

typedef struct cplx { ir_value *re, *im; } cplx;

static ir_value *op2(simt *c, int code, ir_value *a, ir_value *b) {
  return sx_op(c, code, NULL, 2, (ir_value *[]){a, b});
}

static ir_value *neg(simt *c, ir_value *a) { return sx_op(c, SC_NEG, NULL, 1, &a); }

static cplx c_add(simt *c, cplx a, cplx b) { return (cplx){op2(c, SC_ADD, a.re, b.re), op2(c, SC_ADD, a.im, b.im)}; }

static cplx c_sub(simt *c, cplx a, cplx b) { return (cplx){op2(c, SC_SUB, a.re, b.re), op2(c, SC_SUB, a.im, b.im)}; }

static cplx c_mul(simt *c, cplx a, cplx b) {
  ir_value *re = sx_fma(c, a.re, b.re, neg(c, op2(c, SC_MUL, a.im, b.im)));
  return (cplx){re, sx_fma(c, a.re, b.im, op2(c, SC_MUL, a.im, b.re))};
}

/* x * exp(sign 2 pi i p / n) for constants; quarter turns cost nothing. */
static cplx c_rotate(simt *c, tsr_dtype t, cplx x, int p, int n, int sign) {
  int eighth = 8 * p / n;
  if (!p) return x;
  if (8 * p == 2 * n) return sign < 0 ? (cplx){x.im, neg(c, x.re)} : (cplx){neg(c, x.im), x.re};
  if (8 * p == n * eighth && (eighth == 1 || eighth == 3)) { /* (+-1 +- i) / sqrt 2 */
    ir_value *r = sx_num(c, t, 0.70710678118654752440), *s = op2(c, SC_ADD, x.re, x.im),
             *d = op2(c, SC_SUB, x.re, x.im);
    ir_value *u = op2(c, SC_MUL, s, r), *v = op2(c, SC_MUL, d, r);
    if (eighth == 1) return sign < 0 ? (cplx){u, neg(c, v)} : (cplx){v, u};
    return sign < 0 ? (cplx){neg(c, v), neg(c, u)} : (cplx){neg(c, u), v};
  }
  double a = sign * 2 * 3.14159265358979323846 * p / n;
  return c_mul(c, x, (cplx){sx_num(c, t, cos(a)), sx_num(c, t, sin(a))});
}

/* Discrete transform of n <= 16 points in registers, by halves. */
static void small_dft(simt *c, tsr_dtype t, int n, int stride, const cplx *x, cplx *y, int sign) {
  cplx even[8], odd[8];
  if (n == 1) {
    y[0] = x[0];
    return;
  }
  small_dft(c, t, n / 2, 2 * stride, x, even, sign);
  small_dft(c, t, n / 2, 2 * stride, x + stride, odd, sign);
  for (int p = 0; p < n / 2; p++) {
    cplx w = c_rotate(c, t, odd[p], p, n, sign);
    y[p] = c_add(c, even[p], w);
    y[p + n / 2] = c_sub(c, even[p], w);
  }
}

static ir_value *poly(simt *c, tsr_dtype t, ir_value *x2, const double *k, int n) {
  ir_value *v = sx_num(c, t, k[n - 1]);
  for (int i = n - 2; i >= 0; i--) v = sx_fma(c, v, x2, sx_num(c, t, k[i]));
  return v;
}

/* exp(sign 2 pi i k / (radix span)) for an index 0 <= k < span, to about one unit in the last place of f32: devices'
 * own sine may be good to 2^-11 only. The angle is brought to [-pi/4, pi/4] exactly, since k is an integer. */
static cplx twiddle(simt *c, tsr_dtype t, ir_value *k, int radix, int64_t span, int sign) {
  static const double sine[] = {1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880},
                      cosine[] = {1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320};
  const double two_pi = 6.28318530717958647693;
  int64_t n = radix * span;
  int shift = radix >= 8 ? 0 : radix == 4 ? 1 : 2; /* eighths of a turn subtracted before the polynomial */
  ir_value *eighths = sx_addi(c, sx_muli(c, k, 8), -shift * n);
  double unit = two_pi / (8.0 * (double)n) * (radix == 2 ? 0.5 : 1);
  ir_value *a = op2(c, SC_MUL, sx_cast(c, eighths, t), sx_num(c, t, unit)), *a2 = op2(c, SC_MUL, a, a);
  ir_value *sn = op2(c, SC_MUL, a, poly(c, t, a2, sine, 5)), *cs = poly(c, t, a2, cosine, 5);
  if (t == TSR_F64) {
    sn = sx_op(c, SC_SIN, NULL, 1, &a);
    cs = sx_op(c, SC_COS, NULL, 1, &a);
  }
  if (radix == 2) { /* double the half angle, then a quarter turn */
    ir_value *s2 = op2(c, SC_MUL, sx_num(c, t, 2), op2(c, SC_MUL, sn, cs));
    ir_value *c2 = sx_fma(c, op2(c, SC_MUL, sx_num(c, t, -2), sn), sn, sx_num(c, t, 1));
    cs = neg(c, s2);
    sn = c2;
  } else if (radix == 4) {
    ir_value *r = sx_num(c, t, 0.70710678118654752440), *sum = op2(c, SC_ADD, cs, sn), *dif = op2(c, SC_SUB, cs, sn);
    cs = op2(c, SC_MUL, dif, r);
    sn = op2(c, SC_MUL, sum, r);
  }
  return (cplx){cs, sign < 0 ? neg(c, sn) : sn};
}

typedef struct stage {
  int radix, sign;
  int64_t n, span;       /* points, product of the radices before */
  tsr_dtype t;           /* computed in */
  bool direct;           /* a butterfly's points are registers of one thread */
  const simt_layout *in; /* of the fragments */
  const simt_layout *b;  /* of the butterflies */
} stage;

/* True if registers of the layout lie exactly n / radix apart along the last dimension. */
static bool is_direct(const simt_layout *l, int radix) {
  int d = l->rank - 1;
  return l->reps[d] == radix && l->vec[d] == 1 &&
         (int64_t)l->lanes[d] * l->warps[d] * l->inner[d] * radix == l->dims[d];
}

static const simt_layout *butterflies(simt *c, const stage *s) {
  simt_layout l = *s->in;
  int d = l.rank - 1;
  l.dims[d] = s->n / s->radix;
  if (!s->direct) return simt_copy_layout(c, l.rank, l.dims, 1);
  l.n_regs /= l.reps[d];
  l.reps[d] = 1;
  return simt_layout_intern(c, &l);
}

static int point_reg(const stage *s, int b, int q) {
  int inner = s->in->inner[s->in->rank - 1];
  return (b / inner * s->radix + q) * inner + b % inner;
}

/* Butterfly b's index along the last dimension (clamped where it doesn't exist), the element address of its row, and
 * whether it exists. */
static void locate(simt *c, const stage *s, const simt_mem *m, int b, ir_value **j, ir_value **row, ir_value **ok) {
  int last = s->b->rank - 1;
  *row = m ? m->base : NULL;
  *ok = NULL;
  for (int d = 0; d <= last; d++) {
    int64_t k = simt_reg_offset(s->b, b, d);
    ir_value *x = sx_addi(c, simt_thread_offset(c, s->b, d), k);
    if (k + simt_thread_max(s->b, d) >= s->b->dims[d])
      *ok = sx_all(c, *ok, sx_compare(c, "lt", x, sx_int(c, s->b->dims[d])));
    if (d < last && m) *row = sx_add(c, *row, sx_muli(c, x, m->strides[d]));
    if (d == last) *j = x;
  }
}

static void load_points(simt *c, const stage *s, const simt_mem *re, const simt_mem *im, int b, cplx *x) {
  ir_value *j, *row, *ok;
  locate(c, s, re, b, &j, &row, &ok);
  ir_value *at = sx_add(c, row, j);
  if (ok) at = sx_select(c, ok, at, sx_int(c, 0));
  for (int q = 0; q < s->radix; q++) {
    ir_value *p = sx_addi(c, at, q * (s->n / s->radix));
    x[q] = (cplx){sx_load(c, re, p, 1), sx_load(c, im, p, 1)};
  }
}

static void butterfly(simt *c, const stage *s, int b, cplx *x, cplx *y) {
  ir_value *j, *row, *ok;
  locate(c, s, NULL, b, &j, &row, &ok);
  if (s->span > 1) {
    cplx w[16];
    w[1] = twiddle(c, s->t, sx_rem(c, j, sx_int(c, s->span)), s->radix, s->span, s->sign);
    for (int q = 2; q < s->radix; q++) w[q] = q % 2 ? c_mul(c, w[q - 1], w[1]) : c_mul(c, w[q / 2], w[q / 2]);
    for (int q = 1; q < s->radix; q++) x[q] = c_mul(c, x[q], w[q]);
  }
  small_dft(c, s->t, s->radix, 1, x, y, s->sign);
}

static void store_points(simt *c, const stage *s, const simt_mem *re, const simt_mem *im, int b, const cplx *y) {
  ir_value *j, *row, *ok;
  locate(c, s, re, b, &j, &row, &ok);
  ir_op *only = ok ? sx_if(c, ok, 0, NULL, false) : NULL;
  ir_value *k = sx_rem(c, j, sx_int(c, s->span)), *group = sx_div(c, j, sx_int(c, s->span));
  ir_value *at = sx_add(c, sx_add(c, row, sx_muli(c, group, s->span * s->radix)), k);
  for (int p = 0; p < s->radix; p++) {
    ir_value *to = sx_addi(c, at, p * s->span);
    sx_store(c, re, to, y[p].re);
    sx_store(c, im, to, y[p].im);
  }
  if (only) sx_close(c, only, 0, NULL);
}

tsr_status simt_lower_fft(simt *c, ir_op *op) {
  simt_frag in[2], out[2];
  simt_mem mem[2];
  tsr_status st = NULL;
  const ir_type *t = op->results[0]->type;
  const simt_layout *l = simt_layout_of(c, op->results[0], &st);
  if (!l) return st;
  stage s = {.radix = (int)ir_get_int(op, "radix", 2),
             .span = ir_get_int(op, "span", 1),
             .n = t->dims[t->rank - 1],
             .in = l,
             .sign = ir_get_bool(op, "inverse", false) ? 1 : -1,
             .t = t->dtype == TSR_F64 ? TSR_F64 : TSR_F32};
  s.direct = is_direct(l, s.radix);
  s.b = butterflies(c, &s);
  for (int i = 0; i < 2; i++) TSR_TRY(simt_regs(c, &simt_of(op->operands[i])->frag, &in[i]));
  bool stays = s.direct && s.span * s.radix == s.n; /* outputs land where the inputs were */
  int n_b = s.b ? s.b->n_regs : 0;
  cplx *x = arena_array(&c->m->arena, cplx, n_b * s.radix + 1), *y = arena_array(&c->m->arena, cplx, n_b * s.radix + 1);
  if (!s.b || !x || !y) return st_oom();
  if (!stays)
    for (int i = 0; i < 2; i++) TSR_TRY(simt_scratch_tile(c, s.t, t->rank, t->dims, 0, &mem[i]));
  for (int i = 0; i < 2 && !s.direct; i++) TSR_TRY(simt_store_frag(c, &in[i], &mem[i]));
  for (int i = 0; i < 2 && !s.direct; i++) simt_read(c, mem[i].lo, mem[i].hi);
  for (int b = 0; b < n_b; b++) {
    cplx *p = x + b * s.radix;
    if (!s.direct) load_points(c, &s, &mem[0], &mem[1], b, p);
    for (int q = 0; q < s.radix && s.direct; q++)
      p[q] = (cplx){sx_cast(c, in[0].v[point_reg(&s, b, q)], s.t), sx_cast(c, in[1].v[point_reg(&s, b, q)], s.t)};
    butterfly(c, &s, b, p, y + b * s.radix);
  }
  if (stays) {
    for (int i = 0; i < 2; i++) {
      out[i] = (simt_frag){
          .layout = l, .dtype = t->dtype, .n = l->n_regs, .v = arena_array(&c->m->arena, ir_value *, l->n_regs)};
      if (!out[i].v) return st_oom();
      for (int b = 0; b < n_b; b++)
        for (int p = 0; p < s.radix; p++)
          out[i].v[point_reg(&s, b, p)] = sx_cast(c, i ? y[b * s.radix + p].im : y[b * s.radix + p].re, t->dtype);
    }
  } else {
    for (int i = 0; i < 2; i++) simt_write(c, mem[i].lo, mem[i].hi);
    ir_value *owner = simt_owner(c, s.b);
    ir_op *only = owner ? sx_if(c, owner, 0, NULL, false) : NULL;
    for (int b = 0; b < n_b; b++) store_points(c, &s, &mem[0], &mem[1], b, y + b * s.radix);
    if (only) sx_close(c, only, 0, NULL);
    for (int i = 0; i < 2; i++) TSR_TRY(simt_load_frag(c, &mem[i], l, t->dtype, &out[i]));
  }
  for (int i = 0; i < 2; i++) {
    simt_val *v = simt_bind(c, op->results[i], SV_FRAG);
    if (!v) return st_oom();
    v->frag = out[i];
  }
  return c->b.failed ? st_oom() : NULL;
}
