/* core/ir/graph/ops/linalg_adjoint.c - derivatives of tri_solve, cholesky, qr and svd: Giles, "Collected matrix
 * derivative results for forward and reverse mode algorithmic differentiation" (2008); of the factors Murray
 * arXiv:1602.07527, Walter and Lehmann arXiv:1009.6112, Townsend "Differentiating the singular value decomposition"
 * (2016). They hold where the factors are unique: full rank, distinct singular values. */
#include "core/ir/graph/ops/compose.h"
#include "core/ir/graph/ops/linalg_rows.h"

static ir_value *transposed(ir_builder *b, ir_value *x) {
  int perm[TSR_MAX_RANK];
  if (!x) return NULL;
  const int n = x->type->rank;
  for (int i = 0; i < n; i++) perm[i] = i < n - 2 ? i : 2 * n - 3 - i;
  return graph_transpose(b, x, perm);
}

static ir_value *product(ir_builder *b, ir_value *x, ir_value *y) { return x && y ? compose_product(b, x, y) : NULL; }

/* x, and zeros where row and column don't compare so. */
static ir_value *where(ir_builder *b, ir_value *x, int predicate) {
  if (!x) return NULL;
  const int n = x->type->rank;
  ir_value *row = graph_iota(b, TSR_I32, x->type, n - 2), *column = graph_iota(b, TSR_I32, x->type, n - 1);
  return SELECT(graph_compare(b, predicate, row, column), x, LIKE(x, 0));
}

/* The lower triangle with half of the diagonal. */
static ir_value *halved(ir_builder *b, ir_value *x) {
  ir_value *low = where(b, x, CMP_GE);
  return low ? SUB(low, MUL(where(b, x, CMP_EQ), LIKE(x, 0.5))) : NULL;
}

static ir_value *solve(ir_builder *b, ir_value *a, ir_value *x, bool upper, bool transpose, bool unit) {
  static const char *const names[] = {"upper", "transpose", "unit_diagonal"};
  const bool flags[] = {upper, transpose, unit};
  ir_value *y = a && x ? graph_op2(b, G_TRI_SOLVE, a, x) : NULL;
  for (int i = 0; y && i < 3; i++)
    if (flags[i] && !ir_set_attr(y->def, names[i], ir_attr_bool(b->m, true))) b->failed = true;
  return y;
}

/* x = t^-1 b: gb = t^-T g, gt = -gb x^T in the triangle that was read. */
bool adjoint_tri_solve(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads) {
  const bool upper = ir_get_bool(op, "upper", false), transpose = ir_get_bool(op, "transpose", false),
             unit = ir_get_bool(op, "unit_diagonal", false);
  ir_value *gb = grads[1] = solve(b, IN(0), g, upper, !transpose, unit), *x = OUT;
  ir_value *ga = transpose ? product(b, x, transposed(b, gb)) : product(b, gb, transposed(b, x));
  if (ga) grads[0] = where(b, NEG(ga), upper ? unit ? CMP_LT : CMP_LE : unit ? CMP_GT : CMP_GE);
  END;
}

/* s = l^-T phi(l^T g) l^-1, phi the lower triangle with half of the diagonal. The gradient of the symmetric matrix is
 * (s + s^T) / 2; the triangle that is read stands for both. */
bool adjoint_cholesky(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads) {
  const bool upper = ir_get_bool(op, "upper", false);
  ir_value *l = upper ? transposed(b, OUT) : OUT, *gl = upper ? transposed(b, g) : g;
  ir_value *s = solve(b, l, halved(b, product(b, transposed(b, l), gl)), false, true, false);
  s = transposed(b, solve(b, l, transposed(b, s), false, true, false)); /* s l^-1 = (l^-T s^T)^T */
  if (!s) return false;
  ir_value *ga = halved(b, ADD(s, transposed(b, s)));
  grads[0] = upper ? transposed(b, ga) : ga;
  END;
}

/* Of the first columns [.., rows, n] or those from `from` on. */
static ir_value *columns(ir_builder *b, ir_value *x, int64_t from, int64_t n) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK];
  if (!x) return NULL;
  const int last = x->type->rank - 1;
  for (int i = 0; i < last; i++) sizes[i] = x->type->dims[i];
  starts[last] = from;
  sizes[last] = n;
  return graph_cut(b, x, starts, sizes);
}

static ir_value *gradient_of(ir_builder *b, const ir_op *op, int i) {
  ir_value *g = op->results[i]->data;
  return g ? g : graph_fill(b, op->results[i]->type, 0);
}

/* m = r gr^T - gq^T q; ga = (gq + q (lower triangle of m, and that once more above the diagonal)) r^-T. A wide matrix
 * [x, y] has q and the first columns of r from x, and the others are q^T y. */
bool adjoint_qr(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads) {
  ir_value *q = op->results[0], *r = op->results[1], *gq = gradient_of(b, op, 0), *gr = gradient_of(b, op, 1);
  const ir_type *t = IN(0)->type;
  const int last = t->rank - 1;
  const int64_t m = t->dims[last - 1], n = t->dims[last];
  ir_value *rest = NULL;
  if (m < n) {
    ir_value *y = columns(b, IN(0), m, n - m), *gy = columns(b, gr, m, n - m);
    rest = product(b, q, gy);
    gq = gq ? ADD(gq, product(b, y, transposed(b, gy))) : NULL;
    r = columns(b, r, 0, m);
    gr = columns(b, gr, 0, m);
  }
  ir_value *x = product(b, r, transposed(b, gr));
  x = x ? SUB(x, product(b, transposed(b, gq), q)) : NULL;
  x = x ? ADD(where(b, x, CMP_GE), transposed(b, where(b, x, CMP_GT))) : NULL;
  x = x ? ADD(gq, product(b, q, x)) : NULL;
  x = transposed(b, solve(b, r, transposed(b, x), true, false, false));
  grads[0] = rest && x ? graph_concat(b, 2, (ir_value *[]){x, rest}, last) : x;
  END;
}

/* A vector [.., k] as a row or a column of matrices. */
static ir_value *as_matrix(ir_builder *b, ir_value *s, bool column) {
  int64_t dims[TSR_MAX_RANK];
  if (!s) return NULL;
  const int n = s->type->rank;
  for (int i = 0; i < n; i++) dims[i] = s->type->dims[i];
  dims[n] = 1;
  if (!column) dims[n] = dims[n - 1], dims[n - 1] = 1;
  return graph_reshape(b, s, n + 1, dims);
}

/* f (w^T gw - gw^T w), f = 1 / (s_j^2 - s_i^2) and 0 on the diagonal. */
static ir_value *twisted(ir_builder *b, ir_value *w, ir_value *gw, ir_value *row, ir_value *column) {
  ir_value *x = product(b, transposed(b, w), gw);
  ir_value *gap = row && column ? MUL(SUB(row, column), ADD(row, column)) : NULL; /* less is lost than in the squares */
  if (!x || !gap) return NULL;
  x = DIV(SUB(x, transposed(b, x)), SELECT(graph_compare(b, CMP_EQ, gap, LIKE(gap, 0)), LIKE(gap, 1), gap));
  return where(b, x, CMP_NE);
}

/* gw without its part in the columns of w. */
static ir_value *outside(ir_builder *b, ir_value *w, ir_value *gw) {
  return SUB(gw, product(b, w, product(b, transposed(b, w), gw)));
}

/* ga = u (f(u) s + s f(v) + diag(gs)) v^T + (1 - u u^T) gu s^-1 v^T + u s^-1 gv^T (1 - v v^T), with v as columns. */
bool adjoint_svd(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads) {
  ir_value *u = op->results[0], *s = op->results[1], *vt = op->results[2], *v = transposed(b, vt);
  ir_value *gu = gradient_of(b, op, 0), *gs = gradient_of(b, op, 1), *gv = transposed(b, gradient_of(b, op, 2));
  ir_value *row = as_matrix(b, s, false), *column = as_matrix(b, s, true);
  if (!gu || !gs || !gv || !row || !column) return false;
  const ir_type *t = IN(0)->type;
  const int64_t m = t->dims[t->rank - 2], n = t->dims[t->rank - 1];
  ir_value *fu = twisted(b, u, gu, row, column), *fv = twisted(b, v, gv, row, column);
  if (!fu || !fv) return false;
  ir_value *x = ADD(MUL(fu, row), MUL(column, fv));
  ir_value *diagonal = x ? where(b, compose_spread(b, as_matrix(b, gs, true), x->type), CMP_EQ) : NULL;
  x = diagonal ? product(b, product(b, u, ADD(x, diagonal)), vt) : NULL;
  if (x && m > n) x = ADD(x, product(b, DIV(outside(b, u, gu), row), vt));
  if (x && m < n) x = ADD(x, product(b, u, transposed(b, DIV(outside(b, v, gv), row))));
  grads[0] = x;
  END;
}
