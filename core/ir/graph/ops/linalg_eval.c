/* core/ir/graph/ops/linalg_eval.c - the oracle of tri_solve, cholesky, qr and svd: textbook algorithms on doubles,
 * matrix by matrix, other ones than the kernels have where the factors are unique. Tolerances: a factor of an
 * implementation is that of a matrix a little off (backward stability: Higham, Accuracy and Stability of Numerical
 * Algorithms, chapters 8, 10 and 19), so a perturbation bound of first order says how far it may be, doubled for what
 * is left out. Where that is large, or factors aren't unique, nothing is known. */
#include <math.h>
#include <string.h>

#include "core/ir/graph/ops/linalg_rows.h"

typedef struct matrix {
  int64_t rows, columns;
  double *v, *e; /* values, and what implementations may be off by */
} matrix;

enum { MOST = 3 };
typedef struct problem {
  const ir_op *op;
  arena *a; /* lives as long as one matrix */
  matrix in[2], out[MOST];
  double unit; /* roundoff of the type */
} problem;

#define AT(x, i, j) ((x)->v[(i) * (x)->columns + (j)])
#define OFF(x, i, j) ((x)->e[(i) * (x)->columns + (j)])

static bool flag(const problem *p, const char *name) { return ir_get_bool(p->op, name, false); }

static bool make(arena *a, matrix *x, int64_t rows, int64_t columns) {
  const size_t n = (size_t)(rows * columns) + 1;
  *x = (matrix){rows, columns, arena_array(a, double, n), arena_array(a, double, n)};
  if (!x->v || !x->e) return false;
  memset(x->v, 0, n * sizeof *x->v);
  memset(x->e, 0, n * sizeof *x->e);
  return true;
}

/* The matrices of a tensor: a vector is one column. */
static bool make_like(arena *a, matrix *x, const ir_type *t, int batch) {
  return make(a, x, t->dims[batch], t->rank > batch + 1 ? t->dims[batch + 1] : 1);
}

static double norm(const double *v, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) s = hypot(s, v[i]);
  return s;
}

static double size_of(const matrix *x) { return norm(x->v, x->rows * x->columns); }
static void all_off(matrix *x, double e) {
  for (int64_t i = 0; i < x->rows * x->columns; i++) x->e[i] = e;
}

/* Elements whose squares or quotients may leave the type: an implementation's steps then overflow or vanish in places
 * of their own. */
static bool is_wild(const problem *p) {
  const double high = dtype_get(p->op->results[0]->type->dtype)->max > 1e300 ? 1e120 : 1e15;
  for (int i = 0; i < p->op->n_operands; i++)
    for (int64_t k = 0; k < p->in[i].rows * p->in[i].columns; k++) {
      const double v = fabs(p->in[i].v[k]);
      if (!(v == 0 || (v < high && v > 1 / high)) || !(p->in[i].e[k] < high)) return true;
    }
  return false;
}

static tsr_status one_matrix(graph_evaluator *e, problem *p, int64_t at, bool (*fn)(problem *p)) {
  ir_op *op = (ir_op *)(uintptr_t)p->op;
  const int batch = op->operands[0]->type->rank - 2;
  for (int i = 0; i < op->n_operands; i++) {
    matrix *x = &p->in[i];
    if (!make_like(p->a, x, op->operands[i]->type, batch)) return st_oom();
    for (int64_t k = 0; k < x->rows * x->columns && !e->st; k++) {
      const graph_num v = graph_read(e, op->operands[i], at * x->rows * x->columns + k);
      x->v[k] = v.v;
      x->e[k] = num_carried(v);
    }
  }
  for (int i = 0; i < op->n_results; i++)
    if (!make_like(p->a, &p->out[i], op->results[i]->type, batch)) return st_oom();
  if (e->st) return NULL; /* the reader reports it */
  if (!fn(p)) return st_oom();
  for (int i = 0; i < op->n_results && is_wild(p); i++) all_off(&p->out[i], INFINITY);
  for (int i = 0; i < op->n_results; i++) {
    const int64_t n = p->out[i].rows * p->out[i].columns;
    for (int64_t k = 0; k < n; k++) {
      const double v = p->out[i].v[k], r = graph_rounding(op->results[i]->type->dtype, v);
      graph_write(e, op->results[i], at * n + k, (graph_num){.v = v, .e = p->out[i].e[k] + r, .r = r});
    }
  }
  return NULL;
}

/* All matrices of all results. */
static tsr_status each_matrix(graph_evaluator *e, ir_op *op, bool (*fn)(problem *p)) {
  const ir_type *t = op->operands[0]->type;
  int64_t batch = 1;
  for (int i = 0; i < t->rank - 2; i++) batch *= t->dims[i];
  tsr_status st = NULL;
  for (int64_t k = 0; k < batch && !st && !e->st; k++) {
    arena a;
    arena_init(&a, e->al);
    problem p = {.op = op, .a = &a, .unit = num_unit(t->dtype)};
    st = one_matrix(e, &p, k, fn);
    arena_clear(&a);
  }
  return st;
}

/* ---- triangles --------------------------------------------------------------------------------------------------- */

/* Solves l x = b for one column by substitution, with the error that each step adds to what it has got. */
static void substitute(const matrix *l, bool unit_diagonal, double unit, double *x, double *off, int64_t stride) {
  for (int64_t i = 0; i < l->rows; i++) {
    double s = x[i * stride], e = off[i * stride], sum = fabs(s);
    for (int64_t j = 0; j < i; j++) {
      const double t = AT(l, i, j) * x[j * stride];
      s -= t;
      sum += fabs(t);
      e += fabs(AT(l, i, j)) * off[j * stride] + OFF(l, i, j) * fabs(x[j * stride]);
    }
    const double d = unit_diagonal ? 1 : AT(l, i, i), d_off = unit_diagonal ? 0 : OFF(l, i, i);
    x[i * stride] = s / d;
    e = (e + (double)(i + 2) * unit * sum + d_off * fabs(s / d)) / fabs(d);
    off[i * stride] = d_off < fabs(d) / 4 ? 2 * e : isnan(s / d) ? NAN : INFINITY;
  }
}

/* The triangle as a lower one: read from the other side where it is an upper one, from the end where that is a
 * transposition too many. *backwards: the order of the unknowns. */
static bool lower_of(const problem *p, bool *backwards, matrix *l) {
  const matrix *a = &p->in[0];
  const bool upper = flag(p, "upper"), transpose = flag(p, "transpose");
  const int64_t n = a->rows;
  *backwards = upper != transpose;
  if (!make(p->a, l, n, n)) return false;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      const int64_t r = *backwards ? n - 1 - i : i, c = *backwards ? n - 1 - j : j;
      AT(l, i, j) = transpose ? AT(a, c, r) : AT(a, r, c);
      OFF(l, i, j) = transpose ? OFF(a, c, r) : OFF(a, r, c);
    }
  return true;
}

static bool tri_solve(problem *p) {
  const matrix *b = &p->in[1];
  matrix l, *x = &p->out[0], y;
  bool backwards;
  if (!lower_of(p, &backwards, &l) || !make(p->a, &y, b->rows, 1)) return false;
  const double most = 1e-6 * dtype_get(p->op->results[0]->type->dtype)->max;
  for (int64_t c = 0; c < b->columns; c++) {
    bool wild = false;
    for (int64_t i = 0; i < b->rows; i++) {
      const int64_t r = backwards ? b->rows - 1 - i : i;
      y.v[i] = AT(b, r, c), y.e[i] = OFF(b, r, c);
    }
    substitute(&l, flag(p, "unit_diagonal"), p->unit, y.v, y.e, 1);
    for (int64_t i = 0; i < b->rows; i++) {
      const int64_t r = backwards ? b->rows - 1 - i : i;
      AT(x, r, c) = y.v[i], OFF(x, r, c) = y.e[i];
      wild |= !(fabs(y.v[i]) + y.e[i] < most);
    }
    for (int64_t i = 0; i < b->rows && wild; i++) OFF(x, i, c) = INFINITY;
  }
  return true;
}

tsr_status eval_tri_solve(graph_evaluator *e, ir_op *op, int64_t at) { return each_matrix(e, op, tri_solve); }

/* The inverse of a lower triangle. */
static bool invert_lower(arena *a, const matrix *l, matrix *inverse) {
  if (!make(a, inverse, l->rows, l->rows)) return false;
  for (int64_t c = 0; c < l->rows; c++) AT(inverse, c, c) = 1;
  for (int64_t c = 0; c < l->rows; c++) substitute(l, false, 0, inverse->v + c, inverse->e + c, l->rows);
  return true;
}

/* ---- cholesky ---------------------------------------------------------------------------------------------------- */

/* l l^T = a; returns the first column whose pivot isn't positive. */
static int64_t factor(const matrix *a, bool upper, matrix *l) {
  const int64_t n = a->rows;
  int64_t lost = n;
  for (int64_t j = 0; j < n; j++) {
    for (int64_t i = j; i < n; i++) {
      double s = upper ? AT(a, j, i) : AT(a, i, j);
      for (int64_t k = 0; k < j; k++) s -= AT(l, i, k) * AT(l, j, k);
      if (i == j && !(s > 0) && lost == n) lost = j;
      AT(l, i, j) = i == j ? sqrt(s) : s / AT(l, j, j);
    }
  }
  return lost;
}

/* |dl| <= |l| phi(|l^-1| da |l^-T|), phi the lower triangle with half of the diagonal. */
static bool cholesky_off(const problem *p, const matrix *l, matrix *off) {
  const matrix *a = &p->in[0];
  const bool upper = flag(p, "upper");
  const int64_t n = l->rows;
  matrix inverse, da, y, z;
  bool known = true;
  if (!invert_lower(p->a, l, &inverse) || !make(p->a, &da, n, n) || !make(p->a, &y, n, n) || !make(p->a, &z, n, n))
    return false;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      double s = 0;
      for (int64_t k = 0; k <= j; k++) s += fabs(AT(l, i, k) * AT(l, j, k));
      AT(&da, i, j) = AT(&da, j, i) = (upper ? OFF(a, j, i) : OFF(a, i, j)) + (double)(n + 2) * p->unit * s;
    }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t k = 0; k <= i; k++) AT(&y, i, j) += fabs(AT(&inverse, i, k)) * AT(&da, k, j);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      for (int64_t k = 0; k <= j; k++) AT(&z, i, j) += AT(&y, i, k) * fabs(AT(&inverse, j, k));
      if (i == j) AT(&z, i, j) /= 2;
      known &= AT(&z, i, j) < 0.1;
    }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      for (int64_t k = j; k <= i; k++) AT(off, i, j) += fabs(AT(l, i, k)) * AT(&z, k, j);
      AT(off, i, j) = known ? 2 * AT(off, i, j) : INFINITY;
    }
  return true;
}

/* From a pivot on that isn't positive, by more than it can be off, there is NaN; of one that nearly is so, and of all
 * other elements then, nothing is known. */
static void mark_lost(const problem *p, matrix *l, matrix *off, int64_t lost) {
  const matrix *a = &p->in[0];
  double pivot = AT(a, lost, lost), sum = fabs(pivot);
  bool exact = isfinite(pivot);
  for (int64_t k = 0; k < lost; k++) {
    pivot -= AT(l, lost, k) * AT(l, lost, k);
    sum += AT(l, lost, k) * AT(l, lost, k);
  }
  for (int64_t i = 0; i < a->rows * a->columns; i++) exact &= a->e[i] == 0;
  const bool sure = exact && pivot < -1000 * (double)(lost + 2) * p->unit * sum;
  for (int64_t i = 0; i < l->rows; i++)
    for (int64_t j = 0; j <= i; j++) {
      AT(off, i, j) = sure && j >= lost ? 0 : INFINITY;
      if (sure && j >= lost) AT(l, i, j) = NAN;
    }
}

static bool cholesky(problem *p) {
  const bool upper = flag(p, "upper");
  matrix l, off, *out = &p->out[0];
  if (!make(p->a, &l, out->rows, out->rows) || !make(p->a, &off, out->rows, out->rows)) return false;
  const int64_t lost = factor(&p->in[0], upper, &l);
  if (lost < l.rows) mark_lost(p, &l, &off, lost);
  else if (!cholesky_off(p, &l, &off)) return false;
  for (int64_t i = 0; i < l.rows; i++)
    for (int64_t j = 0; j <= i; j++) {
      const int64_t at = upper ? j * l.rows + i : i * l.rows + j;
      out->v[at] = AT(&l, i, j), out->e[at] = AT(&off, i, j);
    }
  return true;
}

tsr_status eval_cholesky(graph_evaluator *e, ir_op *op, int64_t at) { return each_matrix(e, op, cholesky); }

/* ---- qr ---------------------------------------------------------------------------------------------------------- */

/* How far a matrix of the type's precision may be from a, by Frobenius' norm. */
static double perturbation(const problem *p) {
  const matrix *a = &p->in[0];
  return 4 * (sqrt((double)(a->rows * a->columns)) + 4) * p->unit * size_of(a) + norm(a->e, a->rows * a->columns);
}

/* Gram and Schmidt's, twice, which is orthogonal to rounding. */
static void orthogonalize(const matrix *a, matrix *q, matrix *r) {
  for (int64_t j = 0; j < a->columns; j++) {
    const bool own = j < q->columns;
    double *column = own ? q->v + j : NULL;
    for (int64_t i = 0; i < a->rows && own; i++) column[i * q->columns] = AT(a, i, j);
    for (int64_t k = 0; k < (own ? j : q->columns) * (own ? 2 : 1); k++) {
      const int64_t c = own && k >= j ? k - j : k;
      double s = 0;
      for (int64_t i = 0; i < a->rows; i++) s += AT(q, i, c) * (own ? column[i * q->columns] : AT(a, i, j));
      AT(r, c, j) += s;
      for (int64_t i = 0; i < a->rows && own; i++) column[i * q->columns] -= s * AT(q, i, c);
    }
    if (!own) continue;
    double s = 0;
    for (int64_t i = 0; i < a->rows; i++) s = hypot(s, column[i * q->columns]);
    AT(r, j, j) = s;
    for (int64_t i = 0; i < a->rows; i++) column[i * q->columns] /= s;
  }
}

/* |dq| <= 2 |r^-1| |da|, |dr| <= 2 |r| |r^-1| |da| by Frobenius' norm (Sun 1991, with room), r of the first columns. */
static bool qr(problem *p) {
  const matrix *a = &p->in[0];
  matrix *q = &p->out[0], *r = &p->out[1], l, inverse;
  const int64_t k = r->rows;
  orthogonalize(a, q, r);
  if (!make(p->a, &l, k, k)) return false;
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j <= i; j++) AT(&l, i, j) = AT(r, j, i);
  if (!invert_lower(p->a, &l, &inverse)) return false;
  const double da = perturbation(p), about = size_of(&inverse) * da;
  const bool known = about < 0.05;
  all_off(q, known ? 4 * about : INFINITY);
  all_off(r, known ? 4 * about * size_of(r) + 2 * da : INFINITY);
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < i; j++) AT(r, i, j) = OFF(r, i, j) = 0;
  return true;
}

tsr_status eval_qr(graph_evaluator *e, ir_op *op, int64_t at) { return each_matrix(e, op, qr); }

/* ---- svd --------------------------------------------------------------------------------------------------------- */

/* u, s and v of a out of one-sided rotations: columns of w = a v become orthogonal. Wide matrices come transposed. */
static void rotate(matrix *w, matrix *v) {
  for (int64_t i = 0; i < v->rows; i++) AT(v, i, i) = 1;
  for (int sweep = 0; sweep < 60; sweep++) {
    bool turned = false;
    for (int64_t p = 0; p < w->columns; p++)
      for (int64_t q = p + 1; q < w->columns; q++) {
        double x = 0, y = 0, z = 0;
        for (int64_t i = 0; i < w->rows; i++)
          x += AT(w, i, p) * AT(w, i, p), y += AT(w, i, q) * AT(w, i, q), z += AT(w, i, p) * AT(w, i, q);
        if (!(fabs(z) > 1e-15 * sqrt(x * y))) continue;
        turned = true;
        const double zeta = (y - x) / (2 * z), t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta)),
                     c = 1 / hypot(1, t), s = c * t;
        for (int side = 0; side < 2; side++) {
          matrix *m = side ? v : w;
          for (int64_t i = 0; i < m->rows; i++) {
            const double g = AT(m, i, p), h = AT(m, i, q);
            AT(m, i, p) = c * g - s * h, AT(m, i, q) = s * g + c * h;
          }
        }
      }
    if (!turned) return;
  }
}

/* The least distance of value j to another one, and to zero. */
static double gap_of(const matrix *s, int64_t j) {
  double gap = s->v[j];
  for (int64_t i = 0; i < s->rows; i++)
    if (i != j) gap = fmin(gap, fabs(s->v[i] - s->v[j]));
  return gap;
}

/* The sign of column j of u; *sure: no element of the other sign could be the largest. */
static double sign_of(const matrix *u, int64_t j, double off, bool *sure) {
  double largest = 0, other = 0;
  for (int64_t i = 0; i < u->rows; i++)
    if (fabs(AT(u, i, j)) > fabs(largest)) largest = AT(u, i, j);
  for (int64_t i = 0; i < u->rows; i++)
    if ((AT(u, i, j) < 0) != (largest < 0)) other = fmax(other, fabs(AT(u, i, j)));
  *sure = fabs(largest) - other > 2 * off;
  return largest < 0 ? -1 : 1;
}

static void swap_columns(matrix *x, int64_t a, int64_t b) {
  for (int64_t i = 0; i < x->rows; i++) {
    const double y = AT(x, i, a);
    AT(x, i, a) = AT(x, i, b), AT(x, i, b) = y;
  }
}

/* By selection: the lengths of w's columns in falling order to s. */
static void sort_columns(matrix *w, matrix *t, matrix *s) {
  for (int64_t j = 0; j < w->columns; j++)
    for (int64_t c = j; c < w->columns; c++) {
      double x = 0;
      for (int64_t i = 0; i < w->rows; i++) x = hypot(x, AT(w, i, c));
      if (c > j && !(x > s->v[j])) continue;
      s->v[j] = x;
      swap_columns(w, j, c);
      swap_columns(t, j, c);
    }
}

static bool svd(problem *p) {
  const matrix *a = &p->in[0];
  matrix *u = &p->out[0], *s = &p->out[1], *v = &p->out[2], w, t;
  const int64_t m = a->rows, n = a->columns, k = s->rows;
  const bool wide = m < n, finite = isfinite(size_of(a));
  if (!make(p->a, &w, wide ? n : m, k) || !make(p->a, &t, k, k)) return false;
  for (int64_t i = 0; i < w.rows; i++)
    for (int64_t j = 0; j < k; j++) AT(&w, i, j) = wide ? AT(a, j, i) : AT(a, i, j);
  if (finite) rotate(&w, &t);
  sort_columns(&w, &t, s);
  const double da = perturbation(p);
  for (int64_t j = 0; j < k; j++) {
    const double off = 4 * da / gap_of(s, j);
    bool sure;
    for (int64_t i = 0; i < m; i++) AT(u, i, j) = wide ? AT(&t, i, j) : AT(&w, i, j) / s->v[j];
    for (int64_t i = 0; i < n; i++) AT(v, j, i) = wide ? AT(&w, i, j) / s->v[j] : AT(&t, i, j);
    const double sign = sign_of(u, j, off, &sure);
    s->e[j] = 2 * da;
    for (int64_t i = 0; i < m; i++) AT(u, i, j) *= sign, OFF(u, i, j) = sure && off < 0.2 ? off : INFINITY;
    for (int64_t i = 0; i < n; i++) AT(v, j, i) *= sign, OFF(v, j, i) = sure && off < 0.2 ? off : INFINITY;
  }
  for (int i = 0; i < MOST && !finite; i++) {
    for (int64_t j = 0; j < p->out[i].rows * p->out[i].columns; j++) p->out[i].v[j] = NAN;
    all_off(&p->out[i], 0);
  }
  return true;
}

tsr_status eval_svd(graph_evaluator *e, ir_op *op, int64_t at) { return each_matrix(e, op, svd); }
