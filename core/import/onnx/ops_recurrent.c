/* core/import/onnx/ops_recurrent.c - ONNX's RNN, GRU and LSTM, whose gates are in Graph IR's order. */
#include <string.h>
#include <strings.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

/* Other activations than these are refused. */
static bool usual(cv *c, const char *const *want, int n, bool *relu) {
  const onnx_attr *a = cv_attr(c, "activations");
  if (cv_attr(c, "clip")) return cv_refuse(c, "clip") != NULL;
  if (!a) return true;
  for (size_t i = 0; i < a->n; i++) {
    const char *word = want[i % (size_t)n];
    if (relu && !strcasecmp(a->strings[i], "relu")) *relu = true;
    else if (strcasecmp(a->strings[i], word)) return cv_refuse(c, "activation %s", a->strings[i]) != NULL;
  }
  return true;
}

typedef struct cell {
  graph_code code;
  int gates, states;
  const char *acts[3];
  int n_acts;
} cell;

/* layout 1 has the batch first: [batch, steps, ..], states [batch, directions, hidden]. */
static void recurrent(cv *c, const cell *k) {
  ir_value *in[7] = {cv_need(c, 0), cv_need(c, 1), cv_need(c, 2)}, *out[3] = {NULL};
  const bool batch_first = cv_int(c, "layout", 0) != 0;
  bool relu = false;
  if (!in[0] || !in[1] || !in[2] || !usual(c, k->acts, k->n_acts, k->code == G_RNN ? &relu : NULL))
    return cv_out(c, 0, NULL);
  if (cv_has(c, 7)) return cv_out(c, 0, cv_refuse(c, "peepholes"));
  if (cv_int(c, "input_forget", 0)) return cv_out(c, 0, cv_refuse(c, "input_forget"));
  if (batch_first) in[0] = cv_swap(c, in[0], 0, 1);
  const tsr_dtype t = in[0]->type->dtype;
  const int64_t steps = cv_dim(in[0], 0), batch = cv_dim(in[0], 1), directions = cv_dim(in[1], 0),
                hidden = cv_dim(in[2], 2);
  in[3] = cv_has(c, 3) ? cv_in(c, 3) : cv_fill(c, t, 2, (int64_t[]){directions, 2 * k->gates * hidden}, 0);
  in[4] = cv_has(c, 4) ? cv_cast(c, cv_in(c, 4), TSR_I32) : cv_fill(c, TSR_I32, 1, &batch, (double)steps);
  for (int i = 0; i < k->states; i++) {
    ir_value *s = cv_has(c, 5 + i) ? cv_in(c, 5 + i) : NULL;
    if (s && batch_first) s = cv_swap(c, s, 0, 1);
    in[5 + i] = s ? s : cv_fill(c, t, 3, (int64_t[]){directions, batch, hidden}, 0);
  }
  tsr_attr attrs[2] = {TSR_STRING("direction", cv_str(c, "direction", "forward"))};
  int n_attrs = 1;
  if (k->code == G_GRU)
    attrs[n_attrs++] = (tsr_attr)TSR_BOOLEAN("linear_before_reset", cv_int(c, "linear_before_reset", 0) != 0);
  if (k->code == G_RNN) attrs[n_attrs++] = (tsr_attr)TSR_STRING("activation", relu ? "relu" : "tanh");
  int n_in = 5 + k->states;
  const bool plain = !cv_has(c, 4) && !cv_has(c, 5) && !cv_has(c, 6);
  if (plain) n_in = cv_has(c, 3) ? 4 : 3;
  cv_make_n(c, k->code, n_in, in, attrs, n_attrs, 1 + k->states, out);
  if (batch_first) { /* [steps, directions, batch, hidden] to [batch, steps, directions, hidden] */
    out[0] = cv_transpose(c, out[0], (int64_t[]){2, 0, 1, 3});
    for (int i = 1; i <= k->states; i++) out[i] = cv_swap(c, out[i], 0, 1);
  }
  for (int i = 0; i <= k->states; i++)
    if (cv_wants(c, i) || c->failed) cv_out(c, i, out[i]);
}

static void op_rnn(cv *c) { recurrent(c, &(cell){G_RNN, 1, 1, {"Tanh"}, 1}); }
static void op_gru(cv *c) { recurrent(c, &(cell){G_GRU, 3, 1, {"Sigmoid", "Tanh"}, 2}); }
static void op_lstm(cv *c) { recurrent(c, &(cell){G_LSTM, 4, 2, {"Sigmoid", "Tanh", "Tanh"}, 3}); }

const cv_row onnx_rows_recurrent[] = {{"RNN", 7, op_rnn}, {"GRU", 7, op_gru}, {"LSTM", 7, op_lstm}, {NULL, 0, NULL}};
