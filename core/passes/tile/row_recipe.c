/* core/passes/tile/row_recipe.c - see tile/row_recipe.h. A norm computes its plain folds; where their variance shows
 * that f32 doesn't hold some row of the block (all threads of the block know it then), a branch that is hardly ever
 * taken computes the careful ones, which cost two or three more passes. */
#include "core/passes/tile/row_recipe.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/device/dialect.h"
#include "core/passes/tile/map.h"

/* What is short of, beyond and well within the range of a type's squares. */
typedef struct range {
  double most, least;     /* magnitudes above and below which a row is scaled */
  double down, up;        /* by these */
  double top, bottom;     /* variances that are right; an eps above `bottom` hides smaller ones */
  double smallest, noise; /* added to the variance of scaled rows; deviations below mean * noise are lost */
} range;

static range range_of(tsr_dtype t) {
  if (t == TSR_F64) return (range){0x1p480, 0x1p-400, 0x1p-600, 0x1p600, 0x1p1020, 0x1p-900, 0x1p-1000, 0x1p-44};
  return (range){0x1p54, 0x1p-50, 0x1p-76, 0x1p100, 0x1p124, RECIPE_F32_BOTTOM, 0x1p-124, RECIPE_F32_NOISE};
}

/* select(x > limit, high, low), the predicate given; high NULL: x itself. */
static ir_value *choose(kb_kernel *k, ir_value *x, const char *predicate, double limit, double high, double low) {
  ir_value *args[1], *above;
  ir_builder r;
  ir_op *map = x ? kb_map_open(k, 1, &x, args, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  tsr_dtype t = x->type->dtype;
  above = ir_build1(&r, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2,
                    (ir_value *[]){args[0], kb_number(k, &r, t, limit)});
  if (!above || !ir_set_attr(above->def, "predicate", ir_attr_str(k->m, predicate))) return NULL;
  return kb_map_close(k, map, &r,
                      ir_build1(&r, "tessera.tile.select", NULL, 3,
                                (ir_value *[]){above, kb_number(k, &r, t, high), kb_number(k, &r, t, low)}));
}

static ir_value *scale_of(kb_kernel *k, const row_work *w, ir_value *most) {
  range g = range_of(most->type->dtype);
  ir_value *down = choose(k, most, "gt", g.most, g.down, 1);
  return w->eps < g.bottom ? kb_map2(k, SC_MUL, down, choose(k, most, "lt", g.least, g.up, 1)) : down;
}

static double number_of(const row_work *w, int arg, tsr_dtype t) {
  switch (arg) {
    case ARG_COUNT: return w->count;
    case ARG_SHARE: return 1 / w->count;
    case ARG_EPS: return w->eps;
    default: return w->eps > 0 ? range_of(t).smallest : 0;
  }
}

static ir_value *step(kb_kernel *k, const row_work *w, const recipe_step *s, ir_value *x) {
  switch (s->code) {
    case STEP_SQUARE: return kb_map2(k, SC_MUL, x, x);
    case STEP_RECIPROCAL: return kb_reciprocal(k, x);
    case STEP_SCALE: return scale_of(k, w, x);
    case STEP_WRAP: return w->wrap ? kb_wrap(k, x, w->wrap) : x;
    default: break;
  }
  if (s->arg == ARG_NONE) return kb_map1(k, s->code, x);
  const int stat = recipe_stat_of(s->arg);
  if (stat >= 0) return kb_map2(k, s->code, x, w->stat[stat]);
  return kb_map2_imm(k, s->code, x, number_of(w, s->arg, x->type->dtype));
}

ir_value *kb_row_chain(kb_kernel *k, const row_work *w, const recipe_step *s, ir_value *x) {
  for (; x && s->code != STEP_END; s++) x = step(k, w, s, x);
  return x;
}

/* How many of the memo's steps the chain begins with, if all. */
static int begins_with(const recipe_step *s, const row_memo *m) {
  for (int i = 0; i < m->n; i++)
    if (s[i].code == STEP_END || s[i].code != m->steps[i].code || s[i].arg != m->steps[i].arg) return 0;
  return m->n;
}

ir_value *kb_row_elements(kb_kernel *k, row_work *w, const recipe_step *s) {
  ir_value *x = w->x;
  int done = 0, most = (int)(sizeof w->memo / sizeof *w->memo);
  for (int i = 0; i < w->n_memo; i++)
    if (begins_with(s, &w->memo[i]) > done) done = w->memo[i].n, x = w->memo[i].v;
  for (; x && s[done].code != STEP_END; done++) {
    x = step(k, w, &s[done], x);
    if (w->n_memo < most) w->memo[w->n_memo++] = (row_memo){s, done + 1, x};
  }
  return x;
}

/* Both statistics in one pass save reading the row, and cost two exponentials an element where two passes cost one: not
 * worth it on a CPU's SIMD registers, whose cache has the row (softmax bf16 4096x4096: 25.9 ms, in two passes 21.8). */
static bool takes_online(const kb_kernel *k, const row_work *w) {
  return !w->x && w->recipe->online && !(k->opts->caps && caps_simd_like(k->opts->caps));
}

static tsr_status folds(kb_kernel *k, row_work *w) {
  const row_recipe *r = w->recipe;
  int i = 0;
  if (takes_online(k, w)) {
    TSR_TRY(w->online(k, w));
    i = 2;
  }
  for (; i < r->n_folds; i++) {
    const recipe_fold *f = &r->fold[i];
    ir_value *v = NULL;
    if (!f->op) v = w->stat[f->from];
    else if (w->x) v = kb_reduce(k, f->op, kb_row_elements(k, w, f->term));
    else TSR_TRY(w->fold(k, w, f, &v));
    if (!(w->stat[i] = kb_row_chain(k, w, f->finish, v))) return st_oom();
  }
  return NULL;
}

/* ---- rows that the plain folds lose ---------------------------------------------------------------------------- */

/* 1 for a row whose variance is right, else 0. Compared so that NaN is not right: drivers turn "not below" into "at
 * least". */
static ir_value *held(kb_kernel *k, const row_work *w) {
  ir_value *var = w->stat[w->recipe->variance], *mean = w->recipe->mean >= 0 ? w->stat[w->recipe->mean] : NULL;
  range g = range_of(var->type->dtype);
  ir_value *ok = choose(k, var, "lt", g.top, 1, 0);
  if (w->eps < g.bottom) ok = kb_map2(k, SC_MIN, ok, choose(k, var, "ge", g.bottom, 1, 0));
  if (mean) {
    ir_value *noise = kb_map2_imm(k, SC_MUL, mean, recipe_noise(g.noise, w->count)),
             *above = kb_map2(k, SC_SUB, var, noise ? kb_map2(k, SC_MUL, noise, noise) : NULL);
    ok = kb_map2(k, SC_MIN, ok, choose(k, above, "ge", 0, 1, 0));
  }
  return ok;
}

ir_value *kb_rows_held(kb_kernel *k, const row_work *w) {
  ir_value *v = held(k, w), *condition = NULL;
  if (v && v->type->dims[0] > 1) v = kb_reduce_axis(k, "min", v, 0);
  ir_value *one = v ? ir_build1(&k->b, "tessera.tile.load_scalar", NULL, 1, &v) : NULL,
           *none = one ? kb_number(k, &k->b, one->type->dtype, 0) : NULL;
  if (none)
    condition = ir_build1(&k->b, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2, (ir_value *[]){one, none});
  return condition && ir_set_attr(condition->def, "predicate", ir_attr_str(k->m, "gt")) ? condition : NULL;
}

/* The plain statistics in the careful ones' places. */
static bool yield_plain(kb_kernel *k, const row_work *w, const ir_type *t) {
  ir_value *v[RECIPE_STATS];
  int n = 0;
  for (int i = 0; i < RECIPE_STATS; i++) {
    int p = w->recipe->plain[i];
    if (p == PLAIN_UNUSED) continue;
    v[n] = p >= 0 ? w->stat[p] : kb_fill(&k->b, t, p == PLAIN_ONE);
    if (!v[n++]) return false;
  }
  return ir_build0(&k->b, "tessera.tile.yield", n, v) && !k->b.failed;
}

static bool yield_careful(kb_kernel *k, const row_work *w, const int *plain) {
  ir_value *v[RECIPE_STATS];
  int n = 0;
  for (int i = 0; i < RECIPE_STATS; i++)
    if (plain[i] != PLAIN_UNUSED) v[n++] = w->stat[i];
  return ir_build0(&k->b, "tessera.tile.yield", n, v) && !k->b.failed;
}

/* if (held) the plain statistics, else the careful ones. */
static tsr_status rescue(kb_kernel *k, row_work *w) {
  const int *plain = w->recipe->plain;
  row_work careful = *w;
  const ir_type *types[RECIPE_STATS], *t = w->stat[w->recipe->variance]->type;
  ir_value *condition = kb_rows_held(k, w);
  int n = 0;
  careful.recipe = w->recipe->careful, careful.n_memo = 0, careful.chunk = w->careful_chunk;
  for (int i = 0; i < RECIPE_STATS; i++)
    if (plain[i] != PLAIN_UNUSED) types[n++] = t;
  ir_op *branch = condition ? ir_op_new(&k->b, ir_find_op("tessera.tile.if"), 1, &condition, n, types, 2) : NULL;
  if (!branch || !ir_set_attr(branch, "likely", ir_attr_bool(k->m, true))) return st_oom();
  ir_builder outside = k->b;
  k->b = ir_at_end(k->m, branch->regions[0]);
  bool ok = yield_plain(k, w, t);
  k->b = ir_at_end(k->m, branch->regions[1]);
  TSR_TRY(folds(k, &careful));
  ok = ok && yield_careful(k, &careful, plain);
  k->b = outside;
  n = 0;
  for (int i = 0; i < RECIPE_STATS; i++) careful.stat[i] = plain[i] == PLAIN_UNUSED ? NULL : branch->results[n++];
  careful.n_memo = 0; /* what the branch computed is not seen here */
  *w = careful;
  return ok ? NULL : st_oom();
}

/* Squares of f16 fit f32. */
row_work kb_row_work(ir_op *op, int64_t n) {
  const row_recipe *r = op->def->recipe;
  const tsr_dtype in = op->operands[0]->type->dtype, out = op->results[0]->type->dtype;
  return (row_work){.op = op,
                    .recipe = r,
                    .count = (double)n,
                    .eps = ir_get_float(op, "eps", 1e-5),
                    .wrap = dtype_is_float(out) ? TSR_DTYPE_NONE : out,
                    .may_lose = r->careful && (r->mean >= 0 || in != TSR_F16 || op->operands[0]->def)};
}

tsr_status kb_row_stats(kb_kernel *k, row_work *w) {
  TSR_TRY(folds(k, w));
  return w->may_lose ? rescue(k, w) : NULL;
}
