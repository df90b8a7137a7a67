/* core/import/onnx/ops_control.c - ONNX's control flow: If with a known condition is its branch, else `if` with both as
 * regions; Loop and Scan of known length are written out where they are short, else they are `while`. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/region.h"
#include "core/import/onnx/sequence.h"
#include "core/import/onnx/tables.h"

enum { MOST_STEPS = 512, MOST_VALUES = 64 };

static const onnx_graph *graph_attr(cv *c, const char *name) {
  const onnx_attr *a = cv_attr(c, name);
  if (a && a->kind == ONNX_GRAPH && a->graph->n_outputs <= MOST_VALUES && a->graph->n_inputs <= MOST_VALUES)
    return a->graph;
  return cv_refuse(c, "no graph %s", name);
}

/* Both branches as regions without arguments of their own. */
static void choice(cv *c, ir_value *cond, const onnx_graph *const g[2], ir_value **out) {
  cv_region r[2] = {{NULL}}; /* then, else */
  ir_value *v[2][MOST_VALUES] = {{NULL}};
  const int n = (int)c->node->n_out;
  if (n > GRAPH_CONTROL_RESULTS) cv_refuse(c, "%d results", n);
  for (int i = 0; i < 2; i++) {
    if (cv_region_begin(c, &r[i], 0, NULL, NULL)) c->graph(c, g[1 - i], NULL, 0, v[i]);
    cv_region_end(c, &r[i], n, v[i]);
  }
  for (int i = 0; i < n && !c->failed; i++)
    if (v[0][i]->type != v[1][i]->type) cv_refuse(c, "its branches give results of different shapes");
  cv_if(c, cond, r, out);
}

static void op_if(cv *c) {
  ir_value *cond = cv_need(c, 0), *known = cv_fold(c, cond, true);
  const onnx_graph *g[2] = {graph_attr(c, "else_branch"), graph_attr(c, "then_branch")};
  ir_value *v[MOST_VALUES] = {NULL};
  const size_t n = c->node->n_out;
  if (!cond || !g[0] || !g[1]) return cv_out(c, 0, NULL);
  if (ir_type_count(cond->type) != 1) return cv_out(c, 0, cv_refuse(c, "a condition of several elements"));
  if (n > g[0]->n_outputs || n > g[1]->n_outputs) return cv_out(c, 0, cv_refuse(c, "a branch has fewer outputs"));
  if (known) c->graph(c, g[graph_constant_at(known->def, 0) != 0], NULL, 0, v);
  else choice(c, cv_cast(c, cv_reshape(c, cond, 0, (int64_t[]){0}), TSR_BOOL), g, v);
  for (int i = 0; (size_t)i < n && !c->failed; i++) cv_out(c, i, v[i]);
}

/* What a step adds to an output that has one more dimension. */
typedef struct collected {
  ir_value *v[MOST_STEPS];
  int64_t n, axis; /* axis: of the result, which is negative where it counts from behind */
} collected;

static bool may_be_collected(cv *c, const ir_value *v) {
  const bool sequence = v && cv_is_sequence(v);
  if (v && !sequence && v->type->rank < TSR_MAX_RANK) return true;
  return cv_refuse(c, sequence ? "a sequence is collected" : "too many dimensions") != NULL;
}

static void collect(cv *c, collected *to, ir_value *v) {
  if (to->n >= MOST_STEPS) return (void)cv_refuse(c, "too many steps");
  if (may_be_collected(c, v)) to->v[to->n++] = cv_with_axis(c, v, cv_axis(c, to->axis, cv_rank(v) + 1));
}

/* What is collected of values like v, of which there are none. */
static ir_value *none_of(cv *c, const ir_value *v) {
  int64_t dims[TSR_MAX_RANK] = {0};
  if (c->failed || !may_be_collected(c, v)) return NULL;
  memcpy(dims + 1, v->type->dims, sizeof *dims * (size_t)v->type->rank);
  return cv_fill(c, v->type->dtype, v->type->rank + 1, dims, 0);
}

static ir_value *joined(cv *c, collected *x, bool backwards) {
  for (int64_t i = 0; backwards && i < x->n / 2; i++) {
    ir_value *v = x->v[i];
    x->v[i] = x->v[x->n - 1 - i];
    x->v[x->n - 1 - i] = v;
  }
  if (!x->n) return cv_refuse(c, "no step, whose results would have a shape");
  return cv_concat(c, (int)x->n, x->v, cv_axis(c, x->axis, cv_rank(x->v[0])));
}

/* Of a Loop: trip count, condition, then what is carried. The body: step, condition, carried; condition, carried,
 * collected. */
typedef struct loop {
  const onnx_graph *g;
  int n, more;            /* carried, collected */
  int64_t steps;          /* -1: not known */
  ir_value *trips, *cond; /* NULL: no limit; true */
  ir_value *state[MOST_VALUES];
} loop;

static int64_t known_number(cv *c, ir_value *v, int64_t otherwise) {
  const ir_value *known = v ? cv_fold(c, v, true) : NULL;
  return known && ir_type_count(known->type) == 1 ? dtype_whole(TSR_I64, graph_constant_at(known->def, 0)) : otherwise;
}

/* Step by step. False: it can't be, as a condition isn't known or there are too many. */
static bool written_out(cv *c, const loop *l) {
  ir_value *state[MOST_VALUES + 2] = {NULL}, *out[MOST_VALUES];
  int64_t goes_on = l->cond ? known_number(c, l->cond, -1) : 1, taken = 0;
  collected *all = arena_array(&c->a, collected, l->more + 1);
  if (!all) return cv_refuse(c, "out of memory") == NULL;
  if (goes_on < 0 || l->steps < 0) return false;
  if (goes_on && l->steps > MOST_STEPS && l->steps < INT64_MAX) return false;
  for (int i = 0; i < l->n; i++) state[2 + i] = l->state[i];
  for (; taken < l->steps && goes_on && !c->failed; taken++) {
    if (taken >= MOST_STEPS) return false;
    state[0] = cv_constant(c, TSR_I64, 0, NULL, &taken);
    state[1] = cv_number(c, TSR_BOOL, 1);
    if (!c->graph(c, l->g, state, (size_t)l->n + 2, out)) break;
    if (cv_is_sequence(out[0])) cv_refuse(c, "its condition is a sequence");
    if (c->failed || (goes_on = known_number(c, out[0], -1)) < 0) return c->failed;
    for (int k = 0; k < l->n; k++) state[2 + k] = out[1 + k];
    for (int k = 0; k < l->more; k++) collect(c, &all[k], out[1 + l->n + k]);
  }
  if (!taken && l->more && !c->failed) { /* a step that isn't taken says the shapes of what none collect */
    state[0] = cv_number(c, TSR_I64, 0);
    state[1] = cv_number(c, TSR_BOOL, 1);
    if (!c->graph(c, l->g, state, (size_t)l->n + 2, out)) return true;
  }
  for (int i = 0; i < l->n && !c->failed; i++)
    if (cv_wants(c, i)) cv_out(c, i, state[2 + i]);
  for (int k = 0; k < l->more && !c->failed; k++)
    if (cv_wants(c, l->n + k)) cv_out(c, l->n + k, taken ? joined(c, &all[k], false) : none_of(c, out[1 + l->n + k]));
  return true;
}

static ir_value *scalar(cv *c, ir_value *v, tsr_dtype t) { return cv_cast(c, cv_reshape(c, v, 0, (int64_t[]){0}), t); }

/* x with v at place `step` along the first axis. */
static ir_value *placed(cv *c, ir_value *x, ir_value *step, ir_value *v) {
  return cv_op3(c, G_SCATTER_ND, x, cv_reshape(c, step, 2, (int64_t[]){1, 1}), cv_with_axis(c, v, 0));
}

/* The region's argument that collects x, which a step gives, of so many steps: made when x's shape is known. *first:
 * what it is before the first step. */
static ir_value *collector(cv *c, cv_region *r, int64_t steps, const ir_value *x, ir_value **first) {
  int64_t dims[TSR_MAX_RANK] = {steps};
  if (!may_be_collected(c, x)) return NULL;
  for (int k = 0; k < x->type->rank; k++) dims[1 + k] = x->type->dims[k];
  const ir_builder here = c->b;
  c->b = r->outside;
  *first = cv_fill(c, x->type->dtype, 1 + x->type->rank, dims, 0);
  c->b = here;
  return *first ? ir_block_arg(c->b.m, r->func->regions[0], (*first)->type, NULL) : NULL;
}

/* Whether to take another step: below the limit, and told to go on. */
static bool condition(cv *c, cv_region *r, const loop *l, int n, ir_value *const *like) {
  ir_value *args[GRAPH_CONTROL_OPERANDS] = {NULL}, *result = NULL;
  if (cv_region_begin(c, r, n, like, args)) {
    result = args[1];
    if (l->trips) result = cv_op2(c, G_AND, result, cv_compare(c, "lt", args[0], l->trips));
  }
  return cv_region_end(c, r, 1, &result);
}

/* As a `while`: step, condition, what is carried, what is collected. What is collected needs a number of steps that is
 * known and a condition that stays true, for its shape. */
static void as_while(cv *c, loop *l) {
  enum { STEP, COND, STATE };
  ir_value *v[GRAPH_CONTROL_RESULTS] = {NULL}, *args[GRAPH_CONTROL_RESULTS] = {NULL}, *out[MOST_VALUES] = {NULL},
           *next[GRAPH_CONTROL_RESULTS] = {NULL}, *results[GRAPH_CONTROL_RESULTS] = {NULL};
  const int n = STATE + l->n, all = n + l->more;
  cv_region r[2] = {{NULL}};
  if (all > GRAPH_CONTROL_RESULTS || all > MOST_VALUES) cv_refuse(c, "%d values that are carried and collected", all);
  v[STEP] = cv_number(c, TSR_I64, 0);
  v[COND] = l->cond ? scalar(c, l->cond, TSR_BOOL) : cv_number(c, TSR_BOOL, 1);
  if (l->trips) l->trips = scalar(c, l->trips, TSR_I64);
  for (int i = 0; i < l->n; i++) {
    v[STATE + i] = l->state[i];
    if (cv_is_sequence(v[STATE + i])) cv_refuse(c, "a sequence in a loop whose steps aren't known");
  }
  const bool always = known_number(c, v[COND], 0) != 0;
  if (!c->failed && cv_region_begin(c, &r[1], n, v, args) && c->graph(c, l->g, args, (size_t)n, out)) {
    const bool goes_on = always && (out[0] == args[COND] || known_number(c, out[0], 0) != 0);
    if (l->more && (l->steps < 0 || l->steps > INT32_MAX || !goes_on))
      cv_refuse(c, "how many steps there are depends on what the inputs hold, and with it a result's shape");
    next[STEP] = cv_op2(c, G_ADD, args[STEP], cv_number(c, TSR_I64, 1));
    next[COND] = scalar(c, out[0], TSR_BOOL);
    for (int i = 0; i < l->n && !c->failed; i++) {
      next[STATE + i] = out[1 + i];
      if (out[1 + i]->type != l->state[i]->type) cv_refuse(c, "what it carries changes its shape at a step");
    }
    for (int i = 0; i < l->more && !c->failed; i++) {
      args[n + i] = collector(c, &r[1], l->steps, out[1 + l->n + i], &v[n + i]);
      next[n + i] = placed(c, args[n + i], args[STEP], out[1 + l->n + i]);
    }
  }
  if (cv_region_end(c, &r[1], all, next)) condition(c, &r[0], l, all, v);
  const int64_t most = l->steps >= 0 && l->steps < INT32_MAX ? l->steps : INT32_MAX;
  cv_while(c, r, all, v, most, results);
  for (int i = 0; i < l->n + l->more && !c->failed; i++)
    if (cv_wants(c, i)) cv_out(c, i, results[STATE + i]);
}

static void op_loop(cv *c) {
  loop l = {.g = graph_attr(c, "body"), .n = (int)c->node->n_in - 2};
  if (!l.g || l.n < 0 || l.n + 2 > MOST_VALUES || l.g->n_inputs != (size_t)l.n + 2 || l.g->n_outputs < (size_t)l.n + 1)
    return cv_out(c, 0, cv_refuse(c, "its body doesn't fit"));
  l.more = (int)l.g->n_outputs - l.n - 1;
  l.trips = cv_in(c, 0);
  l.cond = cv_in(c, 1);
  l.steps = l.trips ? known_number(c, l.trips, -1) : INT64_MAX;
  for (int i = 0; i < l.n; i++) l.state[i] = cv_has(c, 2 + i) ? cv_any(c, 2 + i) : cv_need(c, 2 + i);
  for (int i = 0; i < 2; i++)
    if (cv_has(c, i) && !c->failed && ir_type_count(cv_in(c, i)->type) != 1)
      cv_refuse(c, "a limit of several elements");
  if (!c->failed && !written_out(c, &l)) as_while(c, &l);
  if (c->failed) cv_out(c, 0, NULL);
}

static int64_t direction(cv *c, const char *name, int i) {
  int64_t v[MOST_VALUES] = {0};
  return cv_ints(c, name, v, MOST_VALUES) > i ? v[i] : 0;
}

/* Of a Scan: states, then what is read along an axis, an element a step. The body gives states, then what is collected
 * along the first axis. Version 8 has lengths in front, and a batch along the first axis of all. */
typedef struct scan {
  const onnx_graph *g;
  int n, scanned, more; /* states, read, collected */
  int64_t steps;
  ir_value *v[MOST_VALUES]; /* states, then what is read, whole */
  int axis[MOST_VALUES];    /* of the latter */
  bool backwards[MOST_VALUES], backwards_out[MOST_VALUES];
  int64_t axis_out[MOST_VALUES];
} scan;

static bool read_scan(cv *c, scan *x) {
  const bool old = c->version < 9;
  const size_t n_in = c->node->n_in - (old && c->node->n_in);
  x->g = graph_attr(c, "body");
  x->scanned = (int)cv_int(c, "num_scan_inputs", 0);
  x->n = (int)n_in - x->scanned;
  if (!x->g || x->scanned < 1 || x->n < 0 || x->g->n_inputs != n_in || x->g->n_outputs < (size_t)x->n)
    return cv_refuse(c, "its body doesn't fit") != NULL;
  if (n_in > MOST_VALUES) return cv_refuse(c, "too many values") != NULL;
  if (old && cv_has(c, 0)) return cv_refuse(c, "sequence_lens") != NULL;
  x->more = (int)x->g->n_outputs - x->n;
  x->steps = -1;
  for (int i = 0; i < x->n + x->scanned; i++) x->v[i] = cv_need(c, i + old);
  for (int i = 0; i < x->scanned && !c->failed; i++) {
    const ir_value *whole = x->v[x->n + i];
    x->axis[i] = cv_axis(c, old ? 1 : direction(c, "scan_input_axes", i), cv_rank(whole));
    x->backwards[i] = direction(c, old ? "directions" : "scan_input_directions", i) != 0;
    if (x->steps < 0) x->steps = cv_dim(whole, x->axis[i]);
    if (x->steps != cv_dim(whole, x->axis[i])) cv_refuse(c, "%lld steps", (long long)x->steps);
  }
  for (int k = 0; k < x->more && !c->failed; k++) {
    x->backwards_out[k] = direction(c, "scan_output_directions", k) != 0;
    x->axis_out[k] = direction(c, "scan_output_axes", k);
  }
  return !c->failed;
}

/* out: the states, then what is collected. */
static void scan_written_out(cv *c, const scan *x, ir_value **out) {
  collected *all = arena_array(&c->a, collected, x->more + 1);
  ir_value *state[MOST_VALUES], *next[MOST_VALUES];
  if (!all) return (void)cv_refuse(c, "out of memory");
  memcpy(state, x->v, sizeof state);
  for (int k = 0; k < x->more; k++) all[k].axis = x->axis_out[k];
  for (int64_t s = 0; s < x->steps && !c->failed; s++) {
    for (int i = 0; i < x->scanned; i++) {
      ir_value *part = cv_part(c, x->v[x->n + i], x->axis[i], x->backwards[i] ? x->steps - 1 - s : s, 1);
      state[x->n + i] = cv_without_axis(c, part, x->axis[i]);
    }
    if (!c->graph(c, x->g, state, (size_t)(x->n + x->scanned), next)) break;
    for (int k = 0; k < x->n; k++) state[k] = next[k];
    for (int k = 0; k < x->more; k++) collect(c, &all[k], next[x->n + k]);
  }
  memcpy(out, state, sizeof *out * (size_t)x->n);
  for (int k = 0; k < x->more && !c->failed; k++) out[x->n + k] = joined(c, &all[k], x->backwards_out[k]);
}

/* The first axis as another. */
static ir_value *moved(cv *c, ir_value *v, int64_t to) {
  int64_t perm[TSR_MAX_RANK];
  const int rank = cv_rank(v), axis = cv_axis(c, to, rank);
  for (int i = 0; i < rank; i++) perm[i] = i == axis ? 0 : i < axis ? i + 1 : i;
  return c->failed ? NULL : cv_transpose(c, v, perm);
}

/* As a `while`: step, states, what is collected. */
static void scan_as_while(cv *c, const scan *x, ir_value **done) {
  ir_value *v[GRAPH_CONTROL_RESULTS] = {NULL}, *args[GRAPH_CONTROL_RESULTS] = {NULL}, *out[MOST_VALUES] = {NULL},
           *next[GRAPH_CONTROL_RESULTS] = {NULL}, *results[GRAPH_CONTROL_RESULTS] = {NULL}, *in[MOST_VALUES];
  const int n = 1 + x->n, all = n + x->more;
  cv_region r[2] = {{NULL}};
  if (all > GRAPH_CONTROL_RESULTS || x->steps > INT32_MAX)
    return (void)cv_refuse(c, "%d values that are carried and collected in %lld steps", all, (long long)x->steps);
  v[0] = cv_number(c, TSR_I64, 0);
  memcpy(v + 1, x->v, sizeof *v * (size_t)x->n);
  if (cv_region_begin(c, &r[1], n, v, args)) {
    ir_value *back = cv_op2(c, G_SUB, cv_number(c, TSR_I64, (double)(x->steps - 1)), args[0]);
    memcpy(in, args + 1, sizeof *in * (size_t)x->n);
    for (int i = 0; i < x->scanned; i++)
      in[x->n + i] = cv_gather(c, x->v[x->n + i], x->backwards[i] ? back : args[0], x->axis[i]);
    if (!c->failed) c->graph(c, x->g, in, (size_t)(x->n + x->scanned), out);
    next[0] = cv_op2(c, G_ADD, args[0], cv_number(c, TSR_I64, 1));
    for (int i = 0; i < x->n && !c->failed; i++) {
      next[1 + i] = out[i];
      if (out[i]->type != x->v[i]->type) cv_refuse(c, "what it carries changes its shape at a step");
    }
    for (int i = 0; i < x->more && !c->failed; i++) {
      args[n + i] = collector(c, &r[1], x->steps, out[x->n + i], &v[n + i]);
      next[n + i] = placed(c, args[n + i], x->backwards_out[i] ? back : args[0], out[x->n + i]);
    }
  }
  ir_value *test[GRAPH_CONTROL_RESULTS] = {NULL}, *goes_on = NULL;
  if (cv_region_end(c, &r[1], all, next) && cv_region_begin(c, &r[0], all, v, test)) {
    goes_on = cv_compare(c, "lt", test[0], cv_number(c, TSR_I64, (double)x->steps));
    cv_region_end(c, &r[0], 1, &goes_on);
  }
  cv_while(c, r, all, v, x->steps, results);
  memcpy(done, results + 1, sizeof *done * (size_t)(all - 1));
  for (int i = 0; i < x->more && !c->failed; i++) done[x->n + i] = moved(c, done[x->n + i], x->axis_out[i]);
}

static void scan_once(cv *c, const scan *x, ir_value **out) {
  (x->steps > MOST_STEPS ? scan_as_while : scan_written_out)(c, x, out);
}

/* Each entry of the batch by itself. */
static void scan_batch(cv *c, const scan *x, ir_value **out) {
  collected *all = arena_array(&c->a, collected, x->n + x->more + 1);
  const int64_t batch = cv_dim(x->v[x->n], 0);
  if (!all) return (void)cv_refuse(c, "out of memory");
  for (int i = 0; i < x->n + x->scanned; i++)
    if (!cv_rank(x->v[i]) || cv_dim(x->v[i], 0) != batch) return (void)cv_refuse(c, "its operands' batches differ");
  for (int64_t b = 0; b < batch && !c->failed; b++) {
    scan one = *x;
    for (int i = 0; i < x->n + x->scanned; i++) one.v[i] = cv_without_axis(c, cv_part(c, x->v[i], 0, b, 1), 0);
    memset(one.axis, 0, sizeof one.axis);
    scan_once(c, &one, out);
    for (int i = 0; i < x->n + x->more && !c->failed; i++) collect(c, &all[i], out[i]);
  }
  for (int i = 0; i < x->n + x->more && !c->failed; i++) out[i] = joined(c, &all[i], false);
}

static void op_scan(cv *c) {
  scan x = {.n = 0};
  ir_value *out[2 * MOST_VALUES] = {NULL};
  if (read_scan(c, &x)) (c->version < 9 ? scan_batch : scan_once)(c, &x, out);
  for (int i = 0; i < x.n + x.more && !c->failed; i++)
    if (cv_wants(c, i)) cv_out(c, i, out[i]);
  if (c->failed) cv_out(c, 0, NULL);
}

const cv_row onnx_rows_control[] = {{"If", 1, op_if}, {"Loop", 1, op_loop}, {"Scan", 8, op_scan}, {NULL, 0, NULL}};
