/* core/import/onnx/ops_recurrent.c - ONNX's RNN, GRU and LSTM, whose gates are in Graph IR's order, and com.microsoft's
 * LSTM of quantized weights. */
#include <stdint.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/recurrent.h"
#include "core/import/onnx/tables.h"

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* layout 1 has the batch first: [batch, steps, ..], states [batch, directions, hidden]. */
static void recurrent(cv *c, const cell *k, ir_value *x, ir_value *w, ir_value *r) {
  ir_value *in[7] = {x, w, r}, *out[3] = {NULL};
  const bool batch_first = cv_int(c, "layout", 0) != 0;
  cell_way way;
  if (!in[0] || !in[1] || !in[2] || !cell_read_way(c, k, &way)) return cv_out(c, 0, NULL);
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
  if (k->code == G_GRU) attrs[n_attrs++] = (tsr_attr)TSR_BOOLEAN("linear_before_reset", way.linear);
  if (k->code == G_RNN) attrs[n_attrs++] = (tsr_attr)TSR_STRING("activation", way.relu ? "relu" : "tanh");
  int n_in = 5 + k->states;
  const bool plain = !cv_has(c, 4) && !cv_has(c, 5) && !cv_has(c, 6);
  if (plain) n_in = cv_has(c, 3) ? 4 : 3;
  if (!way.usual) cell_write_out(c, k, &way, in, out);
  else cv_make_n(c, k->code, n_in, in, attrs, n_attrs, 1 + k->states, out);
  if (batch_first) { /* [steps, directions, batch, hidden] to [batch, steps, directions, hidden] */
    out[0] = cv_transpose(c, out[0], (int64_t[]){2, 0, 1, 3});
    for (int i = 1; i <= k->states; i++) out[i] = cv_swap(c, out[i], 0, 1);
  }
  for (int i = 0; i <= k->states; i++)
    if (cv_wants(c, i) || c->failed) cv_out(c, i, out[i]);
}

static void of_floats(cv *c, const cell *k) { recurrent(c, k, cv_need(c, 0), cv_need(c, 1), cv_need(c, 2)); }
static const cell lstm = {G_LSTM, 4, 2, {"Sigmoid", "Tanh", "Tanh"}, 3};
static void op_rnn(cv *c) { of_floats(c, &(cell){G_RNN, 1, 1, {"Tanh"}, 1}); }
static void op_gru(cv *c) { of_floats(c, &(cell){G_GRU, 3, 1, {"Sigmoid", "Tanh"}, 2}); }
static void op_lstm(cv *c) { of_floats(c, &lstm); }

/* The elements of a constant; *step: to the next one. NULL: it is none. */
static const void *elements(const ir_value *v, int *step) {
  const ir_attr *a = graph_is(v->def, G_CONSTANT) ? ir_get_attr(v->def, "value") : NULL;
  if (a) *step = !a->u.dense.splat;
  return a ? a->u.dense.data : NULL;
}

/* What weights_of builds, of constants: once, and not in each run. NULL: they are none, or the node failed. */
static ir_value *known_weights(cv *c, const ir_value *w, ir_value *const part[2]) {
  int by_w, by_scale, by_zero;
  if (w->type->dtype != part[1]->type->dtype || part[0]->type->dtype != TSR_F32 || tsr_dtype_size(w->type->dtype) != 1)
    return NULL;
  const unsigned char *x = elements(w, &by_w), *zero = elements(part[1], &by_zero);
  const float *scale = elements(part[0], &by_scale);
  const int64_t *n = w->type->dims, columns[2] = {part[0]->type->dims[2], part[1]->type->dims[2]};
  const size_t size = (size_t)(n[0] * n[1] * n[2]) * sizeof(float);
  if (!x || !zero || !scale || !size) return NULL;
  for (int i = 0; i < 2; i++)
    if (columns[i] != 1 && columns[i] != n[2]) return NULL;
  float *y = al_alloc(NULL, size, sizeof(float));
  if (!y) return c->oom = true, cv_refuse(c, "out of memory");
  const int flip = w->type->dtype == TSR_I8 ? 0x80 : 0; /* both numbers are 128 higher then, their difference is not */
  for (int64_t line = 0; line < n[0] * n[2]; line++) {  /* of the result */
    const int64_t d = line / n[2], j = line % n[2];
    const int z = zero[(d * columns[1] + (columns[1] > 1 ? j : 0)) * by_zero] ^ flip;
    const float s = scale[(d * columns[0] + (columns[0] > 1 ? j : 0)) * by_scale];
    for (int64_t k = 0; k < n[1]; k++)
      y[line * n[1] + k] = (float)((x[((d * n[1] + k) * n[2] + j) * by_w] ^ flip) - z) * s;
  }
  ir_value *v = cv_constant(c, TSR_F32, 3, (int64_t[]){n[0], n[2], n[1]}, y);
  al_free(NULL, y, size, sizeof(float));
  return v;
}

/* Integers [directions, inputs, gates * hidden], with scales and zero points of each direction or column, as f32 and in
 * ONNX's order, [directions, gates * hidden, inputs]. */
static ir_value *weights_of(cv *c, int at, int scale_at) {
  ir_value *w = cv_need(c, at), *part[2] = {cv_need(c, scale_at), cv_need(c, scale_at + 1)};
  for (int i = 0; i < 2 && w && part[i]; i++) {
    const int64_t n = w->type->dims[0] ? ir_type_count(part[i]->type) / w->type->dims[0] : 0;
    part[i] = cv_reshape(c, part[i], 3, (int64_t[]){w->type->dims[0], 1, n});
    ir_value *known = cv_fold(c, part[i], false);
    if (known) part[i] = known;
  }
  if (cv_rank(w) != 3) return cv_refuse(c, "weights of %d dimensions", cv_rank(w));
  if (!part[0] || !part[1]) return NULL;
  ir_value *known = known_weights(c, w, part);
  if (known || c->failed) return known;
  w = cv_op2(c, G_SUB, cv_cast(c, w, TSR_I32), cv_cast(c, part[1], TSR_I32));
  return cv_swap(c, cv_op2(c, G_MUL, cv_cast(c, w, TSR_F32), part[0]), 1, 2);
}

/* x is rounded as DynamicQuantizeLinear has it, the state isn't. */
static void op_dynamic_lstm(cv *c) {
  ir_value *x = cv_need(c, 0), *q[3];
  cv_quantize_dynamic(c, x, q);
  ir_value *steps = cv_op2(c, G_SUB, cv_cast(c, q[0], TSR_I32), cv_cast(c, q[2], TSR_I32));
  recurrent(c, &lstm, cv_op2(c, G_MUL, cv_cast(c, steps, TSR_F32), q[1]), weights_of(c, 1, 8), weights_of(c, 2, 10));
}

const cv_row onnx_rows_recurrent[] = {{"RNN", 7, op_rnn}, {"GRU", 7, op_gru}, {"LSTM", 7, op_lstm}, {NULL, 0, NULL}};
const cv_row onnx_rows_recurrent_contrib[] = {{"DynamicQuantizeLSTM", 1, op_dynamic_lstm}, {NULL, 0, NULL}};
