/* core/passes/graph/user_rule_check.c - pattern and replacement of an application's rule on random inputs, by the
 * oracle; see graph/user_rule.h. Unknown dimensions get several sizes, the first hole's element type each one that it
 * stands for. A rule that may change rounding keeps the values within the sum of both sides' tolerances; any other
 * gives the same values where each operation's result is rounded to its type, of infinities and NaN too. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/hash.h"
#include "core/ir/graph/eval.h"
#include "core/passes/graph/user_rule.h"

enum { MOST_SAMPLES = 256 };
#define BAD(al, r, hint, ...) st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("rule", (r)->name, hint), __VA_ARGS__)

/* How inputs are drawn. */
typedef enum draw { DRAW_NEAR, DRAW_POSITIVE, DRAW_WIDE, DRAW_SPECIAL, N_DRAWS } draw;

/* One comparison: both sides in a module of their own. */
typedef struct trial {
  ir_module *m;
  ir_op *sides[2];
  ir_value *results[2];
  const void *inputs[RULE_MOST_VALUES];
  tsr_dtype t;
  int64_t size;
} trial;

static double unit(uint64_t *state) { return (double)(hash_mix(*state += 0x9e3779b97f4a7c15ull) >> 11) * 0x1p-53; }

static double draw_float(draw d, uint64_t *state) {
  static const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 1e300, -1e300, 1e-300};
  const double u = unit(state);
  switch (d) {
  case DRAW_NEAR: return 4 * u - 2;
  case DRAW_POSITIVE: return 0.125 + 2 * u;
  case DRAW_WIDE: return ldexp(unit(state) - 0.5, (int)(u * 17) - 8);
  default: return unit(state) < 0.5 ? 4 * u - 2 : special[(int)(u * (double)(sizeof special / sizeof *special))];
  }
}

/* Within what every integer type holds of that sign; a bool is 0 or 1. */
static double draw_integer(tsr_dtype t, draw d, uint64_t *state) {
  const double u = unit(state);
  if (t == TSR_BOOL) return u < 0.5;
  return d == DRAW_POSITIVE || d == DRAW_NEAR ? floor(u * 8) : floor(u * 16) - (dtype_get(t)->is_signed ? 8 : 0);
}

static const void *draw_input(arena *a, const ir_type *t, draw d, uint64_t *state) {
  const int64_t n = graph_numbers(t);
  void *p = arena_alloc(a, (size_t)ir_type_bytes(t) + 16);
  const tsr_dtype part = dtype_part(t->dtype);
  for (int64_t i = 0; p && i < n; i++)
    dtype_store(t->dtype, p, (size_t)i, dtype_is_float(part) ? draw_float(d, state) : draw_integer(part, d, state));
  return p;
}

static const ir_type *hole_type(ir_module *m, const user_rule *r, const ir_type *written, const trial *x) {
  ir_type t = *written;
  if (t.dtype == r->written) t.dtype = x->t;
  for (int i = 0; i < t.rank; i++)
    if (t.dims[i] == IR_DYNAMIC) t.dims[i] = x->size;
  return ir_type_get(m, &t);
}

/* One side as a function; results[side] stays NULL where its operations refuse these types. */
static tsr_status build_side(const user_rule *r, trial *x, int side, char *why, size_t n) {
  const ir_op *from = side ? r->replacement : r->pattern;
  ir_builder top = ir_at_end(x->m, x->m->root->regions[0]);
  ir_op *f = x->sides[side] = ir_op_new(&top, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  if (!f || !ir_set_attr(f, "sym_name", ir_attr_str(x->m, side ? "replacement" : "pattern"))) return st_oom();
  ir_value *holes[RULE_MOST_VALUES];
  for (int i = 0; i < from->regions[0]->n_args; i++) {
    const ir_value *arg = from->regions[0]->args[i];
    holes[i] = ir_block_arg(x->m, f->regions[0], hole_type(x->m, r, arg->type, x), arg->name);
    if (!holes[i]) return st_oom();
  }
  ir_builder in = ir_at_end(x->m, f->regions[0]);
  TSR_TRY(user_rule_build(r, from, &in, holes, x->t, &x->results[side], why, n));
  if (!x->results[side]) return NULL;
  return ir_op_new(&in, graph_def(G_RETURN), 1, &x->results[side], 0, NULL, 0) ? NULL : st_oom();
}

static bool same_number(const user_rule *r, tsr_dtype t, graph_num a, graph_num b) {
  if (t == TSR_I64) return a.i == b.i;
  if (isnan(a.v) || isnan(b.v)) return isnan(a.v) && isnan(b.v);
  if (a.v == b.v) return true;
  return r->rounds && fabs(a.v - b.v) <= a.e + b.e;
}

static tsr_status compare(const tsr_allocator *al, const user_rule *r, trial *x, draw d, bool *told) {
  graph_evaluator *e[2] = {NULL};
  tsr_status st = NULL;
  const ir_type *type = x->results[0]->type;
  const int64_t count = graph_numbers(type), step = count > MOST_SAMPLES ? count / MOST_SAMPLES : 1;
  for (int side = 0; side < 2; side++) {
    TSR_GOTO(graph_evaluator_create(x->sides[side], x->inputs, &e[side]));
    e[side]->rounded = !r->rounds;
    if (r->eval) graph_evaluator_set_custom(e[side], r->eval, r->eval_user);
  }
  for (int64_t i = 0; i < count && !*told; i += step) {
    graph_num v[2];
    for (int side = 0; side < 2; side++) TSR_GOTO(graph_element(e[side], x->results[side], i, &v[side]));
    if (same_number(r, type->dtype, v[0], v[1])) continue;
    *told = true;
    TSR_GOTO(BAD(al, r, d == DRAW_SPECIAL ? "a rule that may change rounding (`rounds`) is not tried on these" : NULL,
                 "the replacement has other values: element %lld is %.9g by the pattern, %.9g by the replacement "
                 "(%s%s)",
                 (long long)i, v[0].v, v[1].v, tsr_dtype_name(x->t),
                 d == DRAW_SPECIAL ? ", infinities and NaN among the inputs" : ""));
  }
done:
  for (int side = 0; side < 2; side++) graph_evaluator_destroy(&e[side]);
  return st;
}

/* All draws for one element type and size. *built: the pattern can have them. */
static tsr_status try_type(const tsr_allocator *al, const user_rule *r, tsr_dtype t, int64_t size, bool *built,
                           char *why, size_t n) {
  trial x = {.t = t, .size = size};
  tsr_status st = NULL;
  uint64_t state = (uint64_t)t << 32 | (uint64_t)size;
  bool told = false;
  TSR_GOTO(ir_module_create(al, &x.m));
  ir_begin(x.m);
  for (int side = 0; side < 2; side++) TSR_GOTO(build_side(r, &x, side, why, n));
  if (!x.results[0] || !x.results[1] || x.results[0]->type != x.results[1]->type) goto done; /* refused there too */
  *built = true;
  for (draw d = 0; d < N_DRAWS; d++) {
    if (d == DRAW_SPECIAL && r->rounds) continue;
    for (int i = 0; i < r->pattern->regions[0]->n_args; i++)
      if (!(x.inputs[i] = draw_input(&x.m->arena, x.sides[0]->regions[0]->args[i]->type, d, &state)))
        TSR_GOTO(st_oom());
    TSR_GOTO(compare(al, r, &x, d, &told));
  }
done:
  ir_module_destroy(&x.m);
  return st;
}

tsr_status user_rule_check_values(const tsr_allocator *al, const user_rule *r) {
  static const int64_t sizes[] = {4, 1, 6};
  char why[256] = "its types differ from the pattern's";
  for (tsr_dtype t = 1; t < TSR_N_DTYPES; t++) {
    bool built = false;
    if (!(r->types >> t & 1)) continue;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      TSR_TRY(try_type(al, r, t, sizes[i], &built, why, sizeof why));
    if (!built)
      return BAD(al, r, "unknown dimensions are tried with 4, 1 and 6", "it can't be built for %s: %.160s",
                 tsr_dtype_name(t), why);
  }
  return NULL;
}
