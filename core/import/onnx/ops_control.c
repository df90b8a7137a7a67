/* core/import/onnx/ops_control.c - ONNX's control flow: If with a known condition is its branch, else the choice
 * between both branches' results, as nothing has effects; Loop and Scan of known length are written out. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

enum { MOST_STEPS = 512, MOST_VALUES = 64 };

static const onnx_graph *graph_attr(cv *c, const char *name) {
  const onnx_attr *a = cv_attr(c, name);
  if (a && a->kind == ONNX_GRAPH && a->graph->n_outputs <= MOST_VALUES && a->graph->n_inputs <= MOST_VALUES)
    return a->graph;
  return cv_refuse(c, "no graph %s", name);
}

static void op_if(cv *c) {
  ir_value *cond = cv_need(c, 0), *known = cv_fold(c, cond, true);
  const onnx_graph *g[2] = {graph_attr(c, "else_branch"), graph_attr(c, "then_branch")};
  ir_value *v[2][MOST_VALUES] = {{NULL}};
  if (!cond || !g[0] || !g[1]) return cv_out(c, 0, NULL);
  if (ir_type_count(cond->type) != 1) return cv_out(c, 0, cv_refuse(c, "a condition of several elements"));
  const int taken = known ? graph_constant_at(known->def, 0) != 0 : -1;
  for (int i = 0; i < 2; i++)
    if (taken < 0 || taken == i) c->graph(c, g[i], NULL, 0, v[i]);
  cond = cv_reshape(c, cond, 0, (int64_t[]){0});
  for (int i = 0; (size_t)i < c->node->n_out && !c->failed; i++) {
    if ((size_t)i >= g[0]->n_outputs || (size_t)i >= g[1]->n_outputs) cv_refuse(c, "a branch has fewer outputs");
    else if (taken >= 0) cv_out(c, i, v[taken][i]);
    else if (v[0][i] && v[1][i] && v[0][i]->type != v[1][i]->type)
      cv_refuse(c, "its branches give results of different shapes");
    else cv_out(c, i, cv_where(c, cond, v[1][i], v[0][i]));
  }
}

/* What a step adds to an output that has one more dimension. */
typedef struct collected {
  ir_value *v[MOST_STEPS];
  int64_t n;
} collected;

static void collect(cv *c, collected *to, ir_value *v) {
  int64_t dims[TSR_MAX_RANK] = {1};
  if (!v || v->type->rank >= TSR_MAX_RANK || to->n >= MOST_STEPS) {
    cv_refuse(c, "too many steps or dimensions");
    return;
  }
  for (int i = 0; i < v->type->rank; i++) dims[1 + i] = v->type->dims[i];
  to->v[to->n++] = cv_reshape(c, v, 1 + v->type->rank, dims);
}

static ir_value *joined(cv *c, collected *x, bool backwards) {
  for (int64_t i = 0; backwards && i < x->n / 2; i++) {
    ir_value *v = x->v[i];
    x->v[i] = x->v[x->n - 1 - i];
    x->v[x->n - 1 - i] = v;
  }
  while (x->n > 1 && !c->failed) { /* an op takes so many operands */
    int64_t n = 0;
    for (int64_t i = 0; i < x->n; i += CV_MOST_OPERANDS) {
      const int64_t some = x->n - i < CV_MOST_OPERANDS ? x->n - i : CV_MOST_OPERANDS;
      x->v[n++] = cv_concat(c, (int)some, x->v + i, 0);
    }
    x->n = n;
  }
  return x->n ? x->v[0] : cv_refuse(c, "no step, whose results would have a shape");
}

/* Loop: trip count, condition, then what is carried. The body: step, condition, carried; condition, carried, collected.
 */
static void op_loop(cv *c) {
  const onnx_graph *g = graph_attr(c, "body");
  const int n = (int)c->node->n_in - 2;
  if (!g || n < 0 || g->n_inputs != (size_t)n + 2 || g->n_outputs < (size_t)n + 1)
    return cv_out(c, 0, cv_refuse(c, "its body doesn't fit"));
  const int more = (int)g->n_outputs - n - 1;
  int64_t steps = cv_known_int(c, 0, INT64_MAX), goes_on = cv_known_int(c, 1, 1);
  collected *all = arena_array(&c->a, collected, more + 1);
  ir_value *state[MOST_VALUES + 2], *out[MOST_VALUES];
  if (!all) return cv_out(c, 0, cv_refuse(c, "out of memory"));
  for (int i = 0; i < n; i++) state[2 + i] = cv_need(c, 2 + i);
  for (int64_t i = 0; i < steps && goes_on && !c->failed; i++) {
    if (i >= MOST_STEPS) cv_refuse(c, "more than %d steps", MOST_STEPS);
    state[0] = cv_constant(c, TSR_I64, 0, NULL, &i);
    state[1] = cv_number(c, TSR_BOOL, 1);
    if (!c->graph(c, g, state, (size_t)n + 2, out)) break;
    const ir_value *cond = cv_fold(c, out[0], true);
    if (!cond) cv_refuse(c, "its condition depends on what the inputs hold");
    goes_on = cond && graph_constant_at(cond->def, 0) != 0;
    for (int k = 0; k < n; k++) state[2 + k] = out[1 + k];
    for (int k = 0; k < more; k++) collect(c, &all[k], out[1 + n + k]);
  }
  for (int i = 0; i < n && !c->failed; i++)
    if (cv_wants(c, i)) cv_out(c, i, state[2 + i]);
  for (int k = 0; k < more && !c->failed; k++)
    if (cv_wants(c, n + k)) cv_out(c, n + k, joined(c, &all[k], false));
}

static int64_t direction(cv *c, const char *name, int i) {
  int64_t v[MOST_VALUES] = {0};
  return cv_ints(c, name, v, MOST_VALUES) > i ? v[i] : 0;
}

/* Scan from version 9 on: states, then what is read along axis 0 or scan_input_axes. */
static void op_scan(cv *c) {
  const onnx_graph *g = graph_attr(c, "body");
  const int scanned = (int)cv_int(c, "num_scan_inputs", 0), n = (int)c->node->n_in - scanned;
  if (!g || scanned < 1 || n < 0 || g->n_inputs != c->node->n_in || g->n_outputs < (size_t)n)
    return cv_out(c, 0, cv_refuse(c, "its body doesn't fit"));
  const int more = (int)g->n_outputs - n;
  collected *all = arena_array(&c->a, collected, more + 1);
  ir_value *state[MOST_VALUES], *out[MOST_VALUES];
  if (!all || c->node->n_in > MOST_VALUES) return cv_out(c, 0, cv_refuse(c, "too many values"));
  int64_t steps = -1;
  for (int i = 0; i < n + scanned; i++) state[i] = cv_need(c, i);
  ir_value *whole[MOST_VALUES];
  for (int i = 0; i < scanned && !c->failed; i++) {
    whole[i] = state[n + i];
    const int axis = cv_axis(c, direction(c, "scan_input_axes", i), cv_rank(whole[i]));
    if (steps < 0) steps = cv_dim(whole[i], axis);
    if (steps != cv_dim(whole[i], axis) || steps > MOST_STEPS) cv_refuse(c, "%lld steps", (long long)steps);
  }
  for (int64_t s = 0; s < steps && !c->failed; s++) {
    for (int i = 0; i < scanned; i++) {
      const int axis = cv_axis(c, direction(c, "scan_input_axes", i), cv_rank(whole[i]));
      ir_value *part = cv_part(c, whole[i], axis, direction(c, "scan_input_directions", i) ? steps - 1 - s : s, 1);
      int64_t dims[TSR_MAX_RANK];
      int rank = 0;
      for (int d = 0; d < cv_rank(part); d++)
        if (d != axis) dims[rank++] = part->type->dims[d];
      state[n + i] = cv_reshape(c, part, rank, dims);
    }
    if (!c->graph(c, g, state, (size_t)(n + scanned), out)) break;
    for (int k = 0; k < n; k++) state[k] = out[k];
    for (int k = 0; k < more; k++) collect(c, &all[k], out[n + k]);
  }
  for (int i = 0; i < n && !c->failed; i++)
    if (cv_wants(c, i)) cv_out(c, i, state[i]);
  for (int k = 0; k < more && !c->failed; k++) {
    ir_value *y = joined(c, &all[k], direction(c, "scan_output_directions", k) != 0);
    if (direction(c, "scan_output_axes", k)) cv_refuse(c, "scan_output_axes");
    if (cv_wants(c, n + k)) cv_out(c, n + k, y);
  }
}

const cv_row onnx_rows_control[] = {{"If", 1, op_if}, {"Loop", 1, op_loop}, {"Scan", 9, op_scan}, {NULL, 0, NULL}};
