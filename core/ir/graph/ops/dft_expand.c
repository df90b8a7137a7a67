/* core/ir/graph/ops/dft_expand.c - Fourier transforms of pairs as other ops: n = r m points are m transforms of every
 * m-th point, multiplied by the twiddle factors, and r of m points; those of r points are products with a constant
 * matrix. So down to what has no factor of up to MOST_RADIX: that is a product with its whole matrix, or, of more than
 * MOST_DIRECT points, a convolution with a chirp (Bluestein, IEEE Trans. Audio Electroacoust. 18(4), 1970) by
 * transforms of a power of 2. Where kernels take transforms of up to so many points, it becomes those. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/ir/graph/ops/compose.h"
#include "core/ir/graph/ops/dft.h"
#include "core/ir/graph/ops/fourier.h"
#include "core/ir/graph/ops/pairs.h"

enum { MOST_RADIX = 64, MOST_DIRECT = 256 };

/* x[lines, n, 2] everywhere below; transforms are along n. */
typedef struct lines {
  ir_builder *b;
  tsr_dtype t; /* computed in */
  int sign;    /* of the exponent */
  int64_t most; /* points that a kernel takes; 0: there is none */
} lines;

static ir_value *transform(const lines *l, ir_value *x);
static ir_value *by_kernels(const lines *l, ir_value *x, int axis);

static ir_value *shaped(const lines *l, ir_value *x, int rank, const int64_t *dims) {
  return x && !l->b->failed ? graph_reshape(l->b, x, rank, dims) : NULL;
}

static ir_value *permuted(const lines *l, ir_value *x, const int *perm) {
  return x && !l->b->failed ? graph_transpose(l->b, x, perm) : NULL;
}

/* ---- constants ------------------------------------------------------------------------------------------------- */

/* Room for numbers while a constant is made of them; drop takes NULL. */
static double *room(const lines *l, int64_t numbers) {
  double *v = al_alloc(&l->b->m->arena.al, sizeof *v * (size_t)numbers, 16);
  if (!v) l->b->failed = true;
  return v;
}
static void drop(const lines *l, double *v, int64_t numbers) {
  al_free(&l->b->m->arena.al, v, sizeof *v * (size_t)numbers, 16);
}

ir_value *dft_constant(ir_builder *b, tsr_dtype dtype, int rank, const int64_t *dims, const double *v) {
  const ir_type *t = b->failed || !v ? NULL : ir_type_tensor(b->m, dtype, rank, dims);
  const size_t n = t ? (size_t)ir_type_count(t) : 0;
  ir_attr *a = t ? ir_attr_dense(b->m, t, v, n * tsr_dtype_size(dtype), false) : NULL;
  for (size_t i = 0; a && i < n; i++) dtype_store(dtype, a->u.dense.data, i, v[i]);
  return graph_constant(b, a);
}

/* x times the complex numbers w, of which there are as many as in `n_axes` axes of x from `first` on. w changes. */
static ir_value *times(const lines *l, ir_value *x, int first, int n_axes, double *w) {
  ir_builder *b = l->b;
  if (!x || !w || b->failed) return NULL;
  const int rank = x->type->rank - first;
  int64_t dims[TSR_MAX_RANK] = {0}, n = 2;
  for (int i = 0; i < rank; i++) dims[i] = i < n_axes ? x->type->dims[first + i] : 1;
  for (int i = 0; i < n_axes; i++) n *= dims[i];
  dims[rank - 1] = 2;
  ir_value *re = dft_constant(l->b, l->t, rank, dims, w);
  for (int64_t i = 0; i < n; i += 2) {
    const double v = w[i];
    w[i] = -w[i + 1], w[i + 1] = v;
  }
  ir_value *im = dft_constant(l->b, l->t, rank, dims, w);
  if (b->failed) return NULL;
  return ADD(MUL(pairs_spread(b, x, false), re), MUL(pairs_spread(b, x, true), im));
}

/* ---- transforms ------------------------------------------------------------------------------------------------ */

/* All points of a line against all: a product with [2 n, 2 n]. */
static ir_value *direct(const lines *l, ir_value *x) {
  if (!x || l->b->failed) return NULL;
  const int64_t n_lines = x->type->dims[0], n = x->type->dims[1];
  double *m = room(l, 4 * n * n);
  for (int64_t j = 0; m && j < n; j++)
    for (int64_t k = 0; k < n; k++) {
      double w[2], *row = m + 4 * n * j + 2 * k;
      fourier_root(j * k, n, w);
      row[0] = row[2 * n + 1] = w[0];
      row[1] = l->sign * w[1];
      row[2 * n] = -l->sign * w[1];
    }
  ir_value *w = dft_constant(l->b, l->t, 2, (const int64_t[]){2 * n, 2 * n}, m);
  drop(l, m, 4 * n * n);
  x = shaped(l, x, 2, (const int64_t[]){n_lines, 2 * n});
  ir_value *y = x && w ? compose_product(l->b, x, w) : NULL;
  return shaped(l, y, 3, (const int64_t[]){n_lines, n, 2});
}

/* exp(sign 2 pi i j k / n) for j < m and k < r, n = r m. */
static double *twiddles(const lines *l, int64_t r, int64_t m) {
  double *w = room(l, 2 * r * m);
  for (int64_t j = 0; w && j < m; j++)
    for (int64_t k = 0; k < r; k++) {
      double *v = w + 2 * (j * r + k);
      fourier_root(j * k, r * m, v);
      v[1] *= l->sign;
    }
  return w;
}

/* Point j1 m + j2 of r m, and k1 + r k2 of the result. */
static ir_value *split(const lines *l, ir_value *x, int64_t r) {
  static const int swap[] = {0, 2, 1, 3};
  const int64_t n_lines = x->type->dims[0], n = x->type->dims[1], m = n / r;
  x = permuted(l, shaped(l, x, 4, (const int64_t[]){n_lines, r, m, 2}), swap);
  x = direct(l, shaped(l, x, 3, (const int64_t[]){n_lines * m, r, 2}));
  double *w = twiddles(l, r, m);
  x = times(l, shaped(l, x, 4, (const int64_t[]){n_lines, m, r, 2}), 1, 2, w);
  drop(l, w, 2 * n);
  x = transform(l, shaped(l, permuted(l, x, swap), 3, (const int64_t[]){n_lines * r, m, 2}));
  x = permuted(l, shaped(l, x, 4, (const int64_t[]){n_lines, r, m, 2}), swap);
  return shaped(l, x, 3, (const int64_t[]){n_lines, n, 2});
}

/* Zeros behind what a line has. */
static ir_value *extended(const lines *l, ir_value *x, int64_t n) {
  if (!x || l->b->failed) return NULL;
  return compose_pad(l->b, x, (const int64_t[]){0, 0, 0}, (const int64_t[]){0, n - x->type->dims[1], 0}, 0);
}

/* The first n of a line. */
static ir_value *first_of(const lines *l, ir_value *x, int64_t n) {
  if (!x || l->b->failed) return NULL;
  return graph_cut(l->b, x, (const int64_t[]){0, 0, 0}, (const int64_t[]){x->type->dims[0], n, 2});
}

/* exp(sign pi i j^2 / n) and, for the convolution, what it turns by from j to k, transformed: m numbers. */
static bool chirps(const lines *l, int64_t n, int64_t m, double *chirp, double *other) {
  memset(other, 0, sizeof *other * 2 * (size_t)m);
  for (int64_t j = 0; j < n; j++) {
    double *v = chirp + 2 * j, *ahead = other + 2 * j, *behind = other + 2 * ((m - j) % m);
    fourier_root(j * j, 2 * n, v);
    v[1] *= l->sign;
    ahead[0] = behind[0] = v[0] / (double)m;
    ahead[1] = behind[1] = -v[1] / (double)m;
  }
  return fourier_transform(&l->b->m->arena.al, (double(*)[2])other, m, -1);
}

/* j k = (j^2 + k^2 - (k - j)^2) / 2: a convolution of x times a chirp with the other chirp, in transforms of 2^i >= 2 n
 * - 1 points. */
static ir_value *bluestein(const lines *l, ir_value *x) {
  const int64_t n = x->type->dims[1];
  const lines forth = {l->b, l->t, -1, l->most}, back = {l->b, l->t, 1, l->most};
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  double *chirp = room(l, 4 * n), *other = room(l, 2 * m);
  if (chirp && other && !chirps(l, n, m, chirp, other)) l->b->failed = true;
  if (!l->b->failed) {
    memcpy(chirp + 2 * n, chirp, sizeof *chirp * 2 * (size_t)n);
    x = transform(&forth, extended(l, times(l, x, 1, 1, chirp), m));
    x = first_of(l, transform(&back, times(l, x, 1, 1, other)), n);
    x = times(l, x, 1, 1, chirp + 2 * n);
  }
  drop(l, chirp, 4 * n);
  drop(l, other, 2 * m);
  return l->b->failed ? NULL : x;
}

/* The least divisor that leaves as few splits as there can be, else the largest; 1: none up to MOST_RADIX. */
static int64_t radix(int64_t n) {
  const double splits = ceil(log((double)n) / log(MOST_RADIX) - 1e-9), even = pow((double)n, 1 / splits) - 1e-9;
  int64_t largest = 1;
  for (int64_t r = 2; r <= MOST_RADIX; r++) {
    if (n % r) continue;
    largest = r;
    if ((double)r >= even) break;
  }
  return largest;
}

static ir_value *transform(const lines *l, ir_value *x) {
  if (!x || l->b->failed) return NULL;
  const int64_t n = x->type->dims[1];
  if (n == 1) return x;
  if (l->most) return by_kernels(l, x, 1);
  if (n <= MOST_RADIX) return direct(l, x);
  const int64_t r = radix(n);
  return r > 1 ? split(l, x, r) : n <= MOST_DIRECT ? direct(l, x) : bluestein(l, x);
}

/* ---- by kernels ------------------------------------------------------------------------------------------------ */

static ir_value *kernel(const lines *l, ir_value *x, int axis, int to, bool twiddle) {
  ir_builder *b = l->b;
  if (!x || b->failed) return NULL;
  ir_type t = *x->type;
  const int64_t n = t.dims[axis];
  memmove(t.dims + axis, t.dims + axis + 1, sizeof *t.dims * (size_t)(t.rank - axis - 1));
  memmove(t.dims + to + 1, t.dims + to, sizeof *t.dims * (size_t)(t.rank - to - 1));
  t.dims[to] = n;
  const ir_type *type = ir_type_tensor(b->m, t.dtype, t.rank, t.dims);
  ir_op *op = type ? ir_op_new(b, graph_def(G_DFT), 1, &x, 1, &type, 0) : NULL;
  if (!op || !ir_set_attr(op, "axis", ir_attr_int(b->m, axis)) ||
      (to != axis && !ir_set_attr(op, "to", ir_attr_int(b->m, to))) ||
      (l->sign > 0 && !ir_set_attr(op, "inverse", ir_attr_bool(b->m, true))) ||
      (twiddle && !ir_set_attr(op, "twiddle", ir_attr_bool(b->m, true))))
    b->failed = true;
  return b->failed ? NULL : OUT;
}

/* The divisor of n up to `most` that is nearest to its root: both transforms of about as many points. */
static int64_t middle(int64_t n, int64_t most) {
  int64_t best = 1;
  for (int64_t r = 2; r <= most && r * r <= n; r++)
    if (n % r == 0) best = r;
  return best;
}

/* As split, of x [before, n, behind, 2]: neither pass moves the lines, and the second writes them in order. */
static ir_value *two_passes(const lines *l, ir_value *x, int64_t r) {
  static const int swap[] = {0, 2, 1, 3, 4};
  const int64_t before = x->type->dims[0], n = x->type->dims[1], behind = x->type->dims[2], m = n / r;
  x = kernel(l, shaped(l, x, 5, (const int64_t[]){before, r, m, behind, 2}), 1, 1, true);
  if (m <= l->most) x = kernel(l, x, 2, 1, false);
  else x = permuted(l, by_kernels(l, x, 2), swap);
  return shaped(l, x, 4, (const int64_t[]){before, n, behind, 2});
}

static ir_value *by_kernels(const lines *l, ir_value *x, int axis) {
  if (!x || l->b->failed) return NULL;
  const ir_type t = *x->type;
  const int64_t n = t.dims[axis];
  if (n <= l->most) return kernel(l, x, axis, axis, false);
  const int64_t r = middle(n, l->most);
  int64_t before = 1, behind = 1;
  for (int i = 0; i < axis; i++) before *= t.dims[i];
  for (int i = axis + 1; i < t.rank - 1; i++) behind *= t.dims[i];
  static const int swap[] = {0, 2, 1, 3};
  if (r > 1) {
    x = two_passes(l, shaped(l, x, 4, (const int64_t[]){before, n, behind, 2}), r);
  } else {
    x = permuted(l, shaped(l, x, 4, (const int64_t[]){before, n, behind, 2}), swap);
    x = bluestein(l, shaped(l, x, 3, (const int64_t[]){before * behind, n, 2}));
    x = permuted(l, shaped(l, x, 4, (const int64_t[]){before, behind, n, 2}), swap);
  }
  return shaped(l, x, t.rank, t.dims);
}

/* ---- the op ---------------------------------------------------------------------------------------------------- */

static lines lines_of(ir_builder *b, const ir_op *op, int64_t most) {
  return (lines){b, op->operands[0]->type->dtype, ir_get_bool(op, "inverse", false) ? 1 : -1, most};
}

/* The axis goes last and from there to its place. */
static ir_value *along(const lines *l, ir_value *x, const graph_dft *d) {
  int perm[TSR_MAX_RANK], back[TSR_MAX_RANK];
  int64_t dims[TSR_MAX_RANK];
  const int rank = x->type->rank;
  for (int i = 0, k = 0; i < rank - 1; i++)
    if (i != d->axis) perm[k++] = i;
  perm[rank - 2] = d->axis, perm[rank - 1] = rank - 1;
  for (int i = 0; i < rank; i++) dims[i] = x->type->dims[perm[i]];
  for (int i = 0; i < rank; i++) back[i] = i < d->to ? i : i == d->to ? rank - 2 : i == rank - 1 ? i : i - 1;
  x = d->axis == rank - 2 ? x : permuted(l, x, perm);
  x = shaped(l, transform(l, shaped(l, x, 3, (const int64_t[]){d->lines, d->n, 2})), rank, dims);
  return d->to == rank - 2 ? x : permuted(l, x, back);
}

ir_value *dft_twiddled(ir_builder *b, ir_value *x, const graph_dft *d, int sign) {
  if (!d->twiddled || !x || b->failed) return x;
  const lines l = {b, x->type->dtype, sign, 0};
  const int64_t r = d->n, m = d->twiddled, inner = d->in_inner / m, outer = d->lines / d->in_inner;
  const ir_type t = *x->type;
  double *w = twiddles(&l, m, r);
  x = times(&l, shaped(&l, x, 5, (const int64_t[]){outer, r, m, inner, 2}), 1, 2, w);
  drop(&l, w, 2 * r * m);
  return shaped(&l, x, t.rank, t.dims);
}

ir_value *dft_by_passes(ir_builder *b, const ir_op *op, int64_t most) {
  const graph_dft d = graph_dft_get(op);
  const lines l = lines_of(b, op, most);
  int perm[TSR_MAX_RANK];
  const int rank = op->operands[0]->type->rank;
  if (!most) {
    ir_value *x = dft_twiddled(b, along(&l, IN(0), &d), &d, l.sign);
    return x && d.scale != 1 ? MUL(x, LIKE(x, d.scale)) : x;
  }
  ir_value *y = dft_twiddled(b, by_kernels(&l, IN(0), d.axis), &d, l.sign);
  for (int i = 0; i < rank; i++) {
    const int rest = i - (i > d.to);
    perm[i] = i == d.to ? d.axis : rest + (rest >= d.axis);
  }
  if (d.to != d.axis) y = permuted(&l, y, perm);
  return y && d.scale != 1 ? MUL(y, LIKE(y, d.scale)) : y;
}
