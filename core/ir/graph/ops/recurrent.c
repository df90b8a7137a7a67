/* core/ir/graph/ops/recurrent.c - rnn, gru, lstm, and recurrence, the loop over steps that they come to: rows, shape
 * rules, what they stand for. Gates and their order are ONNX's (operators RNN, GRU, LSTM). The product with the inputs
 * of all steps is one contraction before the loop. The loop is one call on the CPU (runtime/routine.h); other devices
 * run its steps, which is also its definition: the oracle, derivatives and sharding follow from it. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

enum { X, W, R, B, LENS, H0, C0 };                         /* operands of the cells */
enum { L_X, L_R, L_BIAS, L_H0, L_C0, L_LENS };             /* of the loop */
typedef enum cell { CELL_RNN, CELL_GRU, CELL_LSTM, N_CELLS } cell;
static const char *const cell_names[] = {"rnn", "gru", "lstm"};
static const int gate_counts[] = {1, 3, 4};

static cell cell_named(const char *name) {
  int c = 0;
  while (c < N_CELLS && strcmp(cell_names[c], name)) c++;
  return (cell)c;
}
static cell cell_of(const ir_op *op) { return cell_named(ir_short_name(op->def)); }
static bool is_both_ways(const ir_op *op) { return !strcmp(ir_get_str(op, "direction", "forward"), "bidirectional"); }

/* ---- shape rules ------------------------------------------------------------------------------------------------- */

/* Operand i has this type, named `what`, and dimensions. */
static tsr_status check_operand(ir_op *op, int i, const char *what, tsr_dtype t, int rank, const int64_t *dims) {
  if (i >= op->n_operands) return NULL;
  ir_type want = {.kind = IR_T_TENSOR, .dtype = t, .rank = rank};
  char a[128], c[128];
  memcpy(want.dims, dims, sizeof *dims * (size_t)rank);
  bool fits = TYPE(i)->dtype == t && TYPE(i)->rank == rank;
  for (int d = 0; fits && d < rank; d++) fits = !shape_differs(TYPE(i)->dims[d], dims[d]);
  return fits ? NULL
              : ir_error(op, NULL, "%s is %s, not %s", what, shape_text(TYPE(i), a, sizeof a),
                         shape_text(&want, c, sizeof c));
}

static int64_t times(int64_t n, int64_t by) { return n == IR_DYNAMIC || n > INT64_MAX / by ? IR_DYNAMIC : n * by; }

static tsr_status check_direction(const ir_op *op) {
  const char *d = ir_get_str(op, "direction", "forward");
  if (is_both_ways(op) || !strcmp(d, "forward") || !strcmp(d, "reverse")) return NULL;
  return ir_error(op, "forward, reverse or bidirectional", "unknown direction \"%s\"", d);
}

static tsr_status check_activation(const ir_op *op) {
  const char *a = ir_get_str(op, "activation", "tanh");
  if (!strcmp(a, "tanh") || !strcmp(a, "relu")) return NULL;
  return ir_error(op, "tanh or relu", "unknown activation \"%s\"", a);
}

/* Their meaning, step by step, must fit in memory. */
static tsr_status check_steps(const ir_op *op, int64_t steps) {
  enum { MOST_STEPS = 1 << 16 };
  return steps > MOST_STEPS
             ? ir_error(op, "carry the states over", "%lld steps: at most %d", (long long)steps, MOST_STEPS)
             : NULL;
}

static tsr_status infer_cell(ir_op *op, const ir_type **results) {
  char a[128];
  TSR_TRY(shape_floats(op));
  TSR_TRY(check_direction(op));
  TSR_TRY(check_activation(op));
  const tsr_dtype t = TYPE(X)->dtype;
  if (tsr_dtype_size(t) < 2) return ir_error(op, "cast to f16 or wider", "no recurrence in %s", tsr_dtype_name(t));
  if (TYPE(X)->rank != 3) return ir_error(op, "[steps, batch, inputs]", "x is %s", shape_text(TYPE(X), a, sizeof a));
  if (TYPE(R)->rank != 3)
    return ir_error(op, "[directions, gates * hidden, hidden]", "r is %s", shape_text(TYPE(R), a, sizeof a));
  const int64_t steps = TYPE(X)->dims[0], batch = TYPE(X)->dims[1], inputs = TYPE(X)->dims[2], n = TYPE(R)->dims[2],
                d = is_both_ways(op) ? 2 : 1, rows = times(n, gate_counts[cell_of(op)]);
  if (n > INT32_MAX) return ir_error(op, NULL, "%lld states are out of range", (long long)n);
  TSR_TRY(check_steps(op, steps));
  TSR_TRY(check_operand(op, W, "w", t, 3, (int64_t[]){d, rows, inputs}));
  TSR_TRY(check_operand(op, R, "r", t, 3, (int64_t[]){d, rows, n}));
  TSR_TRY(check_operand(op, B, "b", t, 2, (int64_t[]){d, times(rows, 2)}));
  TSR_TRY(check_operand(op, LENS, "lengths", TSR_I32, 1, &batch));
  TSR_TRY(check_operand(op, H0, "the initial state", t, 3, (int64_t[]){d, batch, n}));
  TSR_TRY(check_operand(op, C0, "the initial cell", t, 3, (int64_t[]){d, batch, n}));
  TSR_TRY(shape_finish(op, t, 4, (int64_t[]){steps, d, batch, n}, &results[0]));
  for (int i = 1; i < op->n_results; i++) TSR_TRY(shape_finish(op, t, 3, (int64_t[]){d, batch, n}, &results[i]));
  return NULL;
}

static tsr_status infer_recurrence(ir_op *op, const ir_type **results) {
  char a[128];
  const cell c = cell_named(ir_get_str(op, "cell", ""));
  TSR_TRY(shape_floats(op));
  TSR_TRY(check_activation(op));
  if (c == N_CELLS) return ir_error(op, "rnn, gru or lstm", "unknown cell \"%s\"", ir_get_str(op, "cell", ""));
  const tsr_dtype t = TYPE(L_X)->dtype;
  if (t != TSR_F32 && t != TSR_F64) return ir_error(op, "f32 or f64", "no loop in %s", tsr_dtype_name(t));
  if (TYPE(L_X)->rank != 3 || TYPE(L_R)->rank != 2)
    return ir_error(op, "x [steps, batch, gates * hidden], r [hidden, gates * hidden]", "x is %s",
                    shape_text(TYPE(L_X), a, sizeof a));
  const int64_t steps = TYPE(L_X)->dims[0], batch = TYPE(L_X)->dims[1], n = TYPE(L_R)->dims[0],
                columns = TYPE(L_R)->dims[1];
  if (n != IR_DYNAMIC && columns != IR_DYNAMIC && (columns % gate_counts[c] || columns / gate_counts[c] != n))
    return ir_error(op, "a column for each gate of each state", "%lld columns for %d gates of %lld",
                    (long long)columns, gate_counts[c], (long long)n);
  TSR_TRY(check_steps(op, steps));
  TSR_TRY(check_operand(op, L_X, "x", t, 3, (int64_t[]){steps, batch, columns}));
  TSR_TRY(check_operand(op, L_R, "r", t, 2, (int64_t[]){n, columns}));
  TSR_TRY(check_operand(op, L_BIAS, "the bias", t, 1, &columns));
  TSR_TRY(check_operand(op, L_H0, "the initial state", t, 2, (int64_t[]){batch, n}));
  TSR_TRY(check_operand(op, L_C0, "the initial cell", t, 2, (int64_t[]){batch, n}));
  TSR_TRY(check_operand(op, L_LENS, "lengths", TSR_I32, 1, &batch));
  TSR_TRY(shape_finish(op, t, 3, (int64_t[]){steps, batch, n}, &results[0]));
  TSR_TRY(shape_finish(op, t, 2, (int64_t[]){batch, n}, &results[1]));
  return shape_finish(op, t, 2, (int64_t[]){batch, n}, &results[2]);
}

/* ---- what the loop stands for: its steps ------------------------------------------------------------------------- */

typedef struct loop {
  ir_builder *b;
  cell cell;
  bool reset_after, relu;
  int64_t batch, n;
  ir_value *r, *bias;
} loop;

static ir_value *gate(const loop *l, ir_value *z, int k) {
  return z ? graph_cut(l->b, z, (int64_t[]){0, k * l->n}, (int64_t[]){z->type->dims[0], l->n}) : NULL;
}

static ir_value *gate_bias(const loop *l, int k) { return graph_cut(l->b, l->bias, (int64_t[]){k * l->n}, &l->n); }

static ir_value *step_gru(const loop *l, ir_value *x, ir_value *h) {
  ir_builder *b = l->b;
  ir_value *zr = ADD(compose_product(b, h, l->r), l->bias), *sum = ADD(x, zr);
  ir_value *z = graph_op1(b, G_SIGMOID, gate(l, sum, 0)), *r = graph_op1(b, G_SIGMOID, gate(l, sum, 1)), *u;
  if (l->reset_after) u = MUL(r, gate(l, zr, 2));
  else u = ADD(compose_product(b, MUL(r, h), gate(l, l->r, 2)), gate_bias(l, 2));
  u = graph_op1(b, G_TANH, ADD(gate(l, x, 2), u));
  return u ? ADD(MUL(SUB(LIKE(u, 1), z), u), MUL(z, h)) : NULL;
}

static ir_value *step_lstm(const loop *l, ir_value *x, ir_value *h, ir_value **c) {
  ir_builder *b = l->b;
  ir_value *z = ADD(x, ADD(compose_product(b, h, l->r), l->bias));
  ir_value *i = graph_op1(b, G_SIGMOID, gate(l, z, 0)), *o = graph_op1(b, G_SIGMOID, gate(l, z, 1)),
           *f = graph_op1(b, G_SIGMOID, gate(l, z, 2)), *u = graph_op1(b, G_TANH, gate(l, z, 3));
  *c = ADD(MUL(f, *c), MUL(i, u));
  return MUL(o, graph_op1(b, G_TANH, *c));
}

static ir_value *step_rnn(const loop *l, ir_value *x, ir_value *h) {
  ir_builder *b = l->b;
  return graph_op1(b, l->relu ? G_RELU : G_TANH, ADD(x, ADD(compose_product(b, h, l->r), l->bias)));
}

/* Which entries of the batch have a step t, as a column. */
static ir_value *has_step(const loop *l, ir_value *lengths, int64_t t) {
  ir_builder *b = l->b;
  ir_value *is = graph_compare(b, CMP_GT, lengths, graph_number(b, TSR_I32, (double)t));
  return is ? graph_reshape(b, is, 2, (int64_t[]){l->batch, 1}) : NULL;
}

/* All of them as one, a few at a time: a kernel takes no more. */
static ir_value *joined(ir_builder *b, ir_value **y, int64_t n) {
  enum { TOGETHER = 16 };
  while (n > 1) {
    int64_t k = 0;
    for (int64_t i = 0; i < n; i += TOGETHER) {
      const int some = n - i < TOGETHER ? (int)(n - i) : TOGETHER;
      for (int j = 0; j < some; j++)
        if (!y[i + j]) return NULL;
      y[k++] = some > 1 ? graph_concat(b, some, y + i, 0) : y[i];
    }
    n = k;
  }
  return y[0];
}

EXPAND(expand_recurrence) {
  const int64_t steps = TYPE(L_X)->dims[0], batch = TYPE(L_H0)->dims[0], n = TYPE(L_H0)->dims[1];
  const bool reverse = ir_get_bool(op, "reverse", false);
  const loop l = {b, cell_named(ir_get_str(op, "cell", "")), ir_get_bool(op, "linear_before_reset", false),
                  !strcmp(ir_get_str(op, "activation", "tanh"), "relu"), batch, n, IN(L_R), IN(L_BIAS)};
  ir_value *h = IN(L_H0), *c = IN(L_C0), **y = arena_array(&b->m->arena, ir_value *, steps + 1);
  if (!y) return false;
  for (int64_t s = 0; s < steps; s++) {
    const int64_t t = reverse ? steps - 1 - s : s, columns = TYPE(L_X)->dims[2];
    ir_value *x = graph_cut(b, IN(L_X), (int64_t[]){t, 0, 0}, (int64_t[]){1, batch, columns}), *cell = c, *next;
    x = x ? graph_reshape(b, x, 2, (int64_t[]){batch, columns}) : NULL;
    if (!x) return false;
    next = l.cell == CELL_LSTM  ? step_lstm(&l, x, h, &cell)
           : l.cell == CELL_GRU ? step_gru(&l, x, h)
                                : step_rnn(&l, x, h);
    ir_value *is = op->n_operands > L_LENS ? has_step(&l, IN(L_LENS), t) : NULL;
    if (!next || !cell) return false;
    y[t] = is ? SELECT(is, next, LIKE(next, 0)) : next;
    h = is ? SELECT(is, next, h) : next;
    c = is && cell != c ? SELECT(is, cell, c) : cell;
    y[t] = y[t] ? graph_reshape(b, y[t], 3, (int64_t[]){1, batch, n}) : NULL;
    if (!h || !c) return false;
  }
  out[0] = steps ? joined(b, y, steps) : graph_fill(b, OUT->type, 0);
  out[1] = h;
  out[2] = c;
  DONE;
}

/* Of one step: its product. */
static double work_recurrence(const ir_op *op) {
  return 2 * (double)TYPE(L_X)->dims[1] * (double)TYPE(L_R)->dims[0] * (double)TYPE(L_R)->dims[1];
}

/* Its steps are launches there. */
static graph_host host_recurrence(const ir_op *op) {
  enum { MOST_STEPS = 64 };
  return TYPE(L_X)->dims[0] > MOST_STEPS ? HOST_ALWAYS : HOST_NEVER;
}

/* ---- what a cell stands for -------------------------------------------------------------------------------------- */

/* Number d of operand i along its first axis, as a t, without that axis; zeros where op lacks the operand. */
static ir_value *of_direction(ir_builder *b, const ir_op *op, int i, int64_t d, tsr_dtype t, int rank,
                              const int64_t *dims) {
  if (i >= op->n_operands) return graph_fill(b, ir_type_tensor(b->m, t, rank, dims), 0);
  int64_t starts[4] = {d}, sizes[4] = {1};
  memcpy(sizes + 1, dims, sizeof *dims * (size_t)rank);
  ir_value *v = graph_cast(b, graph_cut(b, IN(i), starts, sizes), t);
  return v ? graph_reshape(b, v, rank, dims) : NULL;
}

static bool set(ir_builder *b, ir_op *o, const char *name, ir_attr *a) {
  if (o && !b->failed && !ir_set_attr(o, name, a)) b->failed = true;
  return o && !b->failed;
}

static bool build_loop(ir_builder *b, const ir_op *op, int n, ir_value **v, bool reverse, ir_value **y) {
  const ir_type *types[3] = {NULL};
  for (int i = 0; i < n; i++)
    if (!v[i]) return false;
  ir_op *o = ir_op_new(b, graph_def(G_RECURRENCE), n, v, 3, NULL, 0);
  set(b, o, "cell", ir_attr_str(b->m, cell_names[cell_of(op)]));
  if (reverse) set(b, o, "reverse", ir_attr_bool(b->m, true));
  if (ir_get_bool(op, "linear_before_reset", false)) set(b, o, "linear_before_reset", ir_attr_bool(b->m, true));
  if (cell_of(op) == CELL_RNN) set(b, o, "activation", ir_attr_str(b->m, ir_get_str(op, "activation", "tanh")));
  if (!o || b->failed) return false;
  tsr_status st = o->def->infer(o, types);
  if (st) {
    ir_refuse(b->m, st);
    return !(b->failed = true);
  }
  for (int i = 0; i < 3; i++) o->results[i]->type = types[i], y[i] = o->results[i];
  return true;
}

/* The state's weights of a direction, [rows, n], as [n, rows]: those of a constant here, and not in each run. */
static ir_value *state_weights(ir_builder *b, const ir_op *op, int64_t d, tsr_dtype t, int64_t rows, int64_t n) {
  const ir_attr *a = graph_is(IN(R)->def, G_CONSTANT) ? ir_get_attr(IN(R)->def, "value") : NULL;
  const size_t size = tsr_dtype_size(t), bytes = (size_t)(rows * n) * size;
  if (!a || a->u.dense.splat || TYPE(R)->dtype != t)
    return graph_transpose(b, of_direction(b, op, R, d, t, 2, (int64_t[]){rows, n}), (int[]){1, 0});
  const int64_t dims[] = {n, rows};
  const char *from = (const char *)a->u.dense.data + (size_t)d * bytes;
  const ir_type *type = ir_type_tensor(b->m, t, 2, dims);
  ir_attr *value = type ? ir_attr_dense(b->m, type, from, bytes, false) : NULL; /* in the old order so far */
  char *to = value ? value->u.dense.data : NULL;
  for (int64_t k = 0; to && k < n; k++)
    for (int64_t i = 0; i < rows; i++, to += size) memcpy(to, from + (size_t)(i * n + k) * size, size);
  return graph_constant(b, value);
}

/* x w^T + the inputs' bias of all steps at once, then the loop. */
static bool one_direction(ir_builder *b, const ir_op *op, int64_t d, bool reverse, ir_value **y) {
  const int64_t steps = TYPE(X)->dims[0], batch = TYPE(X)->dims[1], inputs = TYPE(X)->dims[2], n = TYPE(R)->dims[2],
                rows = TYPE(R)->dims[1], state[] = {batch, n}, twice = 2 * rows, none = 0;
  const tsr_dtype t = compose_float(TYPE(X)->dtype);
  ir_value *bias = of_direction(b, op, B, d, t, 1, &twice);
  ir_value *x = graph_reshape(b, graph_cast(b, IN(X), t), 2, (int64_t[]){steps * batch, inputs});
  x = compose_dots(b, x, of_direction(b, op, W, d, t, 2, (int64_t[]){rows, inputs}), t);
  x = ADD(x, graph_cut(b, bias, &none, &rows));
  ir_value *v[] = {x ? graph_reshape(b, x, 3, (int64_t[]){steps, batch, rows}) : NULL,
                   state_weights(b, op, d, t, rows, n),
                   graph_cut(b, bias, &rows, &rows),
                   of_direction(b, op, H0, d, t, 2, state),
                   of_direction(b, op, C0, d, t, 2, state),
                   op->n_operands > LENS ? IN(LENS) : NULL};
  if (!build_loop(b, op, op->n_operands > LENS ? 6 : 5, v, reverse, y)) return false;
  for (int i = 0; i < 3; i++) y[i] = graph_cast(b, y[i], TYPE(X)->dtype);
  y[0] = graph_reshape(b, y[0], 4, (int64_t[]){steps, 1, batch, n});
  for (int i = 1; i < 3; i++) y[i] = graph_reshape(b, y[i], 3, (int64_t[]){1, batch, n});
  return y[0] && y[1] && y[2];
}

EXPAND(expand_cell) {
  const bool both = is_both_ways(op), reverse = !strcmp(ir_get_str(op, "direction", "forward"), "reverse");
  ir_value *y[2][3];
  for (int d = 0; d <= both; d++)
    if (!one_direction(b, op, d, both ? d == 1 : reverse, y[d])) return false;
  for (int i = 0; i < op->n_results; i++)
    out[i] = both ? graph_concat(b, 2, (ir_value *[]){y[0][i], y[1][i]}, i ? 0 : 1) : y[0][i];
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define DIRECTION                           \
  {"direction", IR_A_STR, false, "forward", \
   "forward, reverse or bidirectional: two, of which the second is reverse"}
#define RESET                                     \
  {"linear_before_reset", IR_A_BOOL, false, "false", \
   "gru: the reset gate takes the state's product, not the state"}
#define ACTIVATION {"activation", IR_A_STR, false, "tanh", "rnn: tanh or relu"}
#define LENGTHS " An entry of the batch has as many steps as its length says: after them its state stays and y is 0."
#define OPERANDS \
  " x [steps, batch, inputs], w [directions, gates * hidden, inputs], r [directions, gates * hidden, hidden], b " \
  "[directions, 2 * gates * hidden] of the inputs and of the state, lengths [batch], initial states [directions, " \
  "batch, hidden]; what is left out is zeros, of lengths all steps. Results: y [steps, directions, batch, hidden], the " \
  "last states." LENGTHS
#define CELL(CODE, LOW, MOST, R, doc)                                                                                 \
  COMPOSITE(CODE, LOW, 3, MOST, R), .operands_doc = doc, .types_doc = "f64, f32, f16, bf16; lengths: i32",            \
  .infer = infer_cell, BY(expand_cell)

static const ir_opdef rows[] = {
    {CELL(RNN, "rnn", 6, 2, "x, w, r, b, lengths, h"), .attrs = ATTRS(DIRECTION, ACTIVATION),
     .help = "h = activation(w x + r h + b) step by step." OPERANDS},
    {CELL(GRU, "gru", 6, 2, "x, w, r, b, lengths, h"), .attrs = ATTRS(DIRECTION, RESET),
     .help = "Gated recurrent units, gates in the order z, r, h: h = (1 - z) tanh(w x + r (reset h) + b) + z h." OPERANDS},
    {CELL(LSTM, "lstm", 7, 3, "x, w, r, b, lengths, h, c"), .attrs = ATTRS(DIRECTION),
     .help = "Long short-term memory, gates in the order i, o, f, c: c = f c + i tanh(..), h = o tanh(c)." OPERANDS},
    {NAME(RECURRENCE, "recurrence"), .flags = IR_PURE, .min_operands = 5, .max_operands = 6, .n_results = 3,
     .operands_doc = "x, r, b, h, c, lengths", .types_doc = "f64, f32; lengths: i32", .infer = infer_recurrence,
     .ext = ROW(GRAPH_ROUTINE, .expand = expand_recurrence, .work = work_recurrence, .host = host_recurrence),
     .attrs = ATTRS({"cell", IR_A_STR, true, NULL, "rnn, gru or lstm"},
                    {"reverse", IR_A_BOOL, false, "false", "from the last step to the first"}, RESET, ACTIVATION),
     .help = "The loop of rnn, gru and lstm in one direction, after the inputs' products: x [steps, batch, gates * hidden], r "
             "[hidden, gates * hidden] for the products h r, b [gates * hidden] which is added to them, states h and c "
             "[batch, hidden]. Results: y [steps, batch, hidden] and the last h and c." LENGTHS
             " One call of the host's cores on the CPU; other devices run up to 64 steps as ops of their own, and leave longer "
             "loops to the host."},
};

const ir_rows graph_recurrent_ops = {rows, sizeof rows / sizeof *rows};
