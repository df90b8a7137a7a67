/* core/passes/cpu/row_kernel.c - see cpu/row_kernel.h. The recipe's chains are read step by step; whatever stands where
 * a kernel has nothing for it leaves steps unread, and the recipe without a kernel. */
#include "core/passes/cpu/row_kernel.h"

#include <string.h>

/* Where the reader stands: in a chain of a fold, or in what becomes of an element. */
typedef struct reader {
  const row_recipe *r;
  const recipe_step *at;
  int first; /* the statistic that the kernel's first number is; -1: it has none */
  int second, factor;
  int64_t columns;
  double eps;
} reader;

static bool takes(reader *p, int code, int arg) {
  if (p->at->code != code || p->at->arg != arg) return false;
  p->at++;
  return true;
}

static bool ends(const reader *p) { return p->at->code == STEP_END; }

/* Division by the count, in either form: *scale is what that multiplies by. */
static bool takes_share(reader *p, double *scale) {
  if (!takes(p, SC_MUL, ARG_SHARE) && !takes(p, SC_DIV, ARG_COUNT)) return false;
  *scale = 1 / (double)p->columns;
  return true;
}

static bool folds_by(const recipe_fold *f, const char *op) { return f->op && !strcmp(f->op, op); }

/* Less the first number, where there is one. */
static bool takes_first(reader *p) { return p->first < 0 || takes(p, SC_SUB, ARG_STAT + p->first); }

/* The first number: the plain maximum (of a softmax) or mean. Norms about 0 have none. */
static bool read_first(reader *p, cpu_row_kernel *k) {
  const recipe_fold *f = &p->r->fold[0];
  p->first = -1;
  if (f->term[0].code != STEP_END) return true;
  p->first = 0;
  p->at = f->finish;
  if (folds_by(f, "max")) return (k->is_norm = false), ends(p);
  return folds_by(f, "sum") && takes_share(p, &k->mean_scale) && ends(p);
}

/* The second, and from the same fold or from one of it, the factor. */
static bool read_second(reader *p, cpu_row_kernel *k) {
  const int i = p->first + 1;
  const recipe_fold *f = &p->r->fold[i];
  if (i >= p->r->n_folds || !folds_by(f, "sum")) return false;
  p->at = f->term;
  if (!takes_first(p) || !takes(p, k->is_norm ? STEP_SQUARE : SC_EXP, ARG_NONE) || !ends(p)) return false;
  p->second = p->factor = i;
  p->at = f->finish;
  if (k->is_norm && !takes_share(p, &k->square_scale)) k->square_scale = 1;
  if (i + 1 < p->r->n_folds) {
    f = &p->r->fold[i + 1];
    if (!ends(p) || f->op || f->from != i || f->term[0].code != STEP_END) return false;
    p->at = f->finish;
    p->factor = i + 1;
  }
  if (p->factor + 1 != p->r->n_folds) return false;
  if (!k->is_norm) return takes(p, STEP_RECIPROCAL, ARG_NONE) && ends(p);
  if (takes(p, SC_ADD, ARG_EPS)) k->eps = p->eps;
  return takes(p, SC_RSQRT, ARG_NONE) && ends(p);
}

/* The kernels look for rows that f32 loses by their first and second number. */
static bool is_looked_after(const reader *p) {
  const row_recipe *r = p->r;
  return !r->careful || (r->variance == p->second && r->mean == p->first);
}

/* ---- sums and maxima ------------------------------------------------------------------------------------------- */

const recipe_step *cpu_row_finish(const recipe_step *s) {
  while (s->code == STEP_WRAP) s++; /* of integers */
  return s;
}

static bool can_finish(const recipe_step *s) {
  for (s = cpu_row_finish(s); s->code != STEP_END; s = cpu_row_finish(s + 1))
    if ((s->code != SC_MUL && s->code != SC_DIV) || (s->arg != ARG_COUNT && s->arg != ARG_SHARE)) return false;
  return true;
}

/* Of a sum: of the elements, of squares of their distances to a number (to 0), of exponentials below one. */
static bool read_terms(reader *p, cpu_row_kernel *k) {
  k->name = "row_sum";
  if (ends(p)) return true;
  const bool below = takes(p, SC_SUB, ARG_NUMBER);
  k->writes_rows = below && takes(p, SC_EXP, ARG_NONE);
  k->name = k->writes_rows ? "row_exp" : "row_sqdev";
  return (k->writes_rows || takes(p, STEP_SQUARE, ARG_NONE)) && ends(p);
}

static bool read_reduction(const row_recipe *r, const recipe_step *before, cpu_row_kernel *k) {
  const recipe_fold *f = &r->fold[0];
  reader p = {.at = before};
  if (r->n_folds != 1 || f->term[0].code != STEP_END || !can_finish(f->finish)) return false;
  k->finish = f->finish;
  if (folds_by(f, "max")) return (k->name = "row_max"), ends(&p);
  return folds_by(f, "sum") && read_terms(&p, k);
}

bool cpu_row_kernel_of(const row_recipe *r, const recipe_step *before, int64_t columns, double eps,
                       cpu_row_kernel *out) {
  reader p = {.r = r, .columns = columns, .eps = eps};
  *out = (cpu_row_kernel){.is_norm = r->per_element};
  if (!r->per_element) return read_reduction(r, before, out);
  if (before->code != STEP_END || !read_first(&p, out) || !read_second(&p, out)) return false;
  out->name = out->is_norm ? "row_normalize" : "row_softmax";
  p.at = r->apply;
  return takes_first(&p) && (out->is_norm || takes(&p, SC_EXP, ARG_NONE)) && takes(&p, SC_MUL, ARG_STAT + p.factor) &&
         ends(&p) && is_looked_after(&p);
}
