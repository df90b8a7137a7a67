/* core/import/onnx/ops_recurrent_steps.c - see recurrent.h. The activations' numbers are read as ONNX Runtime reads
 * them: one from the list for each activation that has such a number, else its default. */
#include <string.h>
#include <strings.h>

#include "core/base/dtype.h"
#include "core/import/onnx/recurrent.h"

/* ---- what the node says ------------------------------------------------------------------------------------------ */

static const struct act_row {
  const char *name;
  bool has_alpha, has_beta, needs_them; /* the last: there are no defaults */
  double alpha, beta;
} acts[] = {{"Tanh", 0, 0, 0, 0, 0},
            {"Sigmoid", 0, 0, 0, 0, 0},
            {"Relu", 0, 0, 0, 0, 0},
            {"Softsign", 0, 0, 0, 0, 0},
            {"Softplus", 0, 0, 0, 0, 0},
            {"Affine", 1, 1, 1, 0, 0},
            {"LeakyRelu", 1, 0, 0, 0.01f, 0},
            {"Elu", 1, 0, 0, 1, 0},
            {"ThresholdedRelu", 1, 0, 0, 1, 0},
            {"ScaledTanh", 1, 1, 1, 0, 0},
            {"HardSigmoid", 1, 1, 0, 0.2f, 0.5}};

static double next_number(const onnx_attr *a, size_t *at, double dflt) {
  return a && a->kind == ONNX_FLOATS && *at < a->n ? a->floats[(*at)++] : dflt;
}

static bool read_acts(cv *c, const cell *k, int directions, cell_way *out) {
  const onnx_attr *names = cv_attr(c, "activations"), *alphas = cv_attr(c, "activation_alpha"),
                  *betas = cv_attr(c, "activation_beta");
  const size_t most = (size_t)(directions * k->n_acts), n = names ? names->n : 0;
  size_t alpha = 0, beta = 0;
  if (names && names->kind != ONNX_STRINGS) return cv_refuse(c, "activations that are no names") != NULL;
  if (n && n != most && n != (size_t)k->n_acts) return cv_refuse(c, "%zu activations", n) != NULL;
  for (size_t i = 0; i < most; i++) {
    const char *name = n ? names->strings[i % n] : k->acts[i % (size_t)k->n_acts];
    const struct act_row *row = NULL;
    for (size_t r = 0; r < sizeof acts / sizeof *acts && !row; r++)
      if (!strcasecmp(acts[r].name, name)) row = &acts[r];
    if (!row) return cv_refuse(c, "activation %s", name) != NULL;
    if (row->needs_them && !(alphas && alphas->n > alpha && betas && betas->n > beta))
      return cv_refuse(c, "activation %s without activation_alpha and activation_beta", name) != NULL;
    cell_act *a = &out->act[i / (size_t)k->n_acts][i % (size_t)k->n_acts];
    a->name = row->name;
    a->alpha = row->has_alpha ? next_number(alphas, &alpha, row->alpha) : 0;
    a->beta = row->has_beta ? next_number(betas, &beta, row->beta) : 0;
    out->usual &= !strcmp(row->name, k->acts[i % (size_t)k->n_acts]);
  }
  return true;
}

bool cell_read_way(cv *c, const cell *k, cell_way *out) {
  const char *direction = cv_str(c, "direction", "forward");
  const int directions = strcmp(direction, "bidirectional") ? 1 : 2;
  *out = (cell_way){.usual = true};
  if (!read_acts(c, k, directions, out)) return false;
  if (k->code == G_RNN && !out->usual) {
    out->relu = out->usual = true;
    for (int d = 0; d < directions; d++) out->relu &= out->usual &= !strcmp(out->act[d][0].name, "Relu");
  }
  out->clip = cv_float(c, "clip", 0);
  if (out->clip < 0) return cv_refuse(c, "clip %g", out->clip) != NULL;
  out->forgets_input = k->code == G_LSTM && cv_int(c, "input_forget", 0) != 0;
  out->linear = k->code == G_GRU && cv_int(c, "linear_before_reset", 0) != 0;
  out->peepholes = k->code == G_LSTM && cv_has(c, 7);
  out->usual &= !(out->clip > 0) && !out->forgets_input && !out->peepholes;
  return !c->failed;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* One direction. x: [steps, batch, gates * hidden], the bias added that is added at once; r: [gates * hidden, hidden];
 * rb: the recurrence's bias by itself, of a GRU; p: the peepholes of i, o, f, or NULL. */
typedef struct steps {
  const cell *k;
  const cell_way *way;
  const cell_act *act;
  ir_value *x, *r, *rb, *h, *c, *p[3];
  ir_value *lengths; /* [batch, 1], i32 */
  int64_t n, batch, hidden;
  bool reverse;
} steps;

static ir_value *clipped(cv *c, const steps *s, ir_value *v) {
  if (!(s->way->clip > 0)) return v;
  v = cv_op2(c, G_MIN, v, cv_like(c, v, s->way->clip));
  return cv_op2(c, G_MAX, v, cv_like(c, v, -s->way->clip));
}

static ir_value *scaled(cv *c, ir_value *v, double by) { return cv_op2(c, G_MUL, v, cv_like(c, v, by)); }

static ir_value *unclipped(cv *c, const steps *s, int i, ir_value *v) {
  const cell_act *a = &s->act[i];
  static const struct {
    const char *name;
    graph_code code;
    int numbers;
  } ops[] = {{"Tanh", G_TANH, 0},
             {"Sigmoid", G_SIGMOID, 0},
             {"Relu", G_RELU, 0},
             {"Softsign", G_SOFTSIGN, 0},
             {"Softplus", G_SOFTPLUS, 0},
             {"Elu", G_ELU, 1},
             {"LeakyRelu", G_LEAKY_RELU, 1},
             {"HardSigmoid", G_HARDSIGMOID, 2}};
  const tsr_attr numbers[] = {TSR_FLOAT("alpha", a->alpha), TSR_FLOAT("beta", a->beta)};
  for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
    if (!strcmp(ops[k].name, a->name)) return cv_make(c, ops[k].code, 1, &v, numbers, ops[k].numbers);
  if (!strcmp(a->name, "Affine")) return cv_op2(c, G_ADD, scaled(c, v, a->alpha), cv_like(c, v, a->beta));
  if (!strcmp(a->name, "ScaledTanh")) return scaled(c, cv_op1(c, G_TANH, scaled(c, v, a->beta)), a->alpha);
  return cv_where(c, cv_compare(c, "gt", v, cv_like(c, v, a->alpha)), v, cv_like(c, v, 0)); /* ThresholdedRelu */
}

/* Activation i of a gate's sum. */
static ir_value *acted(cv *c, const steps *s, int i, ir_value *v) { return unclipped(c, s, i, clipped(c, s, v)); }

static ir_value *gate(cv *c, const steps *s, ir_value *z, int k) { return cv_part(c, z, 1, k * s->hidden, s->hidden); }

/* h by the recurrence's rows of some gates. */
static ir_value *recurred(cv *c, const steps *s, ir_value *h, int from, int n) {
  ir_value *r = cv_part(c, s->r, 0, from * s->hidden, n * s->hidden);
  return cv_at2(c, G_MATMUL, h, r, TSR_BOOLEAN("transpose_b", true));
}

static ir_value *seeing(cv *c, const steps *s, ir_value *z, int p, ir_value *cell) {
  return s->p[p] ? cv_op2(c, G_ADD, z, cv_op2(c, G_MUL, s->p[p], cell)) : z;
}

/* i and f see the cell as it was, o as it is; which isn't clipped, as ONNX Runtime has it. */
static ir_value *lstm_step(cv *c, const steps *s, ir_value *x, ir_value **cell) {
  ir_value *z = cv_op2(c, G_ADD, x, recurred(c, s, s->h, 0, 4));
  ir_value *i = acted(c, s, 0, seeing(c, s, gate(c, s, z, 0), 0, s->c));
  ir_value *f = s->way->forgets_input ? cv_op2(c, G_SUB, cv_like(c, x, 1), i)
                                      : acted(c, s, 0, seeing(c, s, gate(c, s, z, 2), 2, s->c));
  ir_value *u = acted(c, s, 1, gate(c, s, z, 3));
  *cell = cv_op2(c, G_ADD, cv_op2(c, G_MUL, f, s->c), cv_op2(c, G_MUL, i, u));
  ir_value *o = acted(c, s, 0, seeing(c, s, gate(c, s, z, 1), 1, *cell));
  return cv_op2(c, G_MUL, o, unclipped(c, s, 2, *cell));
}

static ir_value *gru_step(cv *c, const steps *s, ir_value *x) {
  const int64_t n = s->hidden;
  ir_value *both = cv_op2(c, G_ADD, cv_part(c, x, 1, 0, 2 * n), recurred(c, s, s->h, 0, 2));
  both = cv_op2(c, G_ADD, both, cv_part(c, s->rb, 0, 0, 2 * n));
  ir_value *z = acted(c, s, 0, gate(c, s, both, 0)), *r = acted(c, s, 0, gate(c, s, both, 1));
  ir_value *bias = cv_part(c, s->rb, 0, 2 * n, n), *t;
  if (s->way->linear) t = cv_op2(c, G_MUL, r, cv_op2(c, G_ADD, recurred(c, s, s->h, 2, 1), bias));
  else t = cv_op2(c, G_ADD, recurred(c, s, cv_op2(c, G_MUL, r, s->h), 2, 1), bias);
  ir_value *u = acted(c, s, 1, cv_op2(c, G_ADD, gate(c, s, x, 2), t));
  return cv_op2(c, G_ADD, u, cv_op2(c, G_MUL, z, cv_op2(c, G_SUB, s->h, u))); /* (1 - z) u + z h */
}

/* y: [steps, 1, batch, hidden]; the states are left in s. */
static ir_value *run(cv *c, steps *s) {
  enum { MOST_STEPS = 512 };
  ir_value **y = arena_array(&c->a, ir_value *, s->n + 1);
  if (!y || s->n < 1 || s->n > MOST_STEPS) return cv_refuse(c, "%lld steps of such cells", (long long)s->n);
  for (int64_t i = 0; i < s->n && !c->failed; i++) {
    const int64_t t = s->reverse ? s->n - 1 - i : i;
    ir_value *x = cv_reshape(c, cv_part(c, s->x, 0, t, 1), 2, (int64_t[]){s->batch, s->k->gates * s->hidden});
    ir_value *cell = NULL, *h;
    if (s->k->code == G_LSTM) h = lstm_step(c, s, x, &cell);
    else if (s->k->code == G_GRU) h = gru_step(c, s, x);
    else h = acted(c, s, 0, cv_op2(c, G_ADD, x, recurred(c, s, s->h, 0, 1)));
    ir_value *is = cv_compare(c, "gt", s->lengths, cv_number(c, TSR_I32, (double)t));
    y[t] = cv_reshape(c, cv_where(c, is, h, cv_like(c, h, 0)), 4, (int64_t[]){1, 1, s->batch, s->hidden});
    if (cell) s->c = cv_where(c, is, cell, s->c);
    s->h = cv_where(c, is, h, s->h);
  }
  return c->failed ? NULL : cv_concat(c, (int)s->n, y, 0);
}

/* Number d along the first axis, without it. */
static ir_value *one(cv *c, ir_value *x, int64_t d) {
  if (x && !x->type->rank) return cv_refuse(c, "operands of other dimensions");
  x = cv_part(c, x, 0, d, 1);
  return x ? cv_reshape(c, x, x->type->rank - 1, x->type->dims + 1) : NULL;
}

static void read_bias(cv *c, steps *s, ir_value *both) {
  const int64_t n = s->k->gates * s->hidden;
  ir_value *b = cv_part(c, both, 0, 0, n), *rb = cv_part(c, both, 0, n, n);
  if (s->k->code == G_GRU) s->rb = rb;
  else b = cv_op2(c, G_ADD, b, rb);
  s->x = cv_op2(c, G_ADD, s->x, b);
}

void cell_write_out(cv *c, const cell *k, const cell_way *way, ir_value *const *in, ir_value **out) {
  const char *direction = cv_str(c, "direction", "forward");
  const int64_t directions = cv_dim(in[1], 0), hidden = cv_dim(in[2], 2);
  ir_value *parts[3][CELL_DIRECTIONS] = {{NULL}}, *peepholes = way->peepholes ? cv_need(c, 7) : NULL;
  if (directions < 1 || directions > CELL_DIRECTIONS || (directions == 2) != !strcmp(direction, "bidirectional"))
    cv_refuse(c, "%lld directions", (long long)directions);
  for (int64_t d = 0; d < directions && !c->failed; d++) {
    steps s = {k, way, way->act[d], .n = cv_dim(in[0], 0), .batch = cv_dim(in[0], 1), .hidden = hidden};
    s.reverse = d == 1 || !strcmp(direction, "reverse");
    s.x = cv_at2(c, G_MATMUL, in[0], one(c, in[1], d), TSR_BOOLEAN("transpose_b", true));
    s.r = one(c, in[2], d);
    read_bias(c, &s, one(c, in[3], d));
    s.lengths = cv_reshape(c, in[4], 2, (int64_t[]){s.batch, 1});
    s.h = one(c, in[5], d);
    s.c = k->states > 1 ? one(c, in[6], d) : NULL;
    for (int i = 0; peepholes && i < 3; i++) s.p[i] = cv_part(c, one(c, peepholes, d), 0, i * hidden, hidden);
    parts[0][d] = run(c, &s);
    parts[1][d] = cv_reshape(c, s.h, 3, (int64_t[]){1, s.batch, hidden});
    if (s.c) parts[2][d] = cv_reshape(c, s.c, 3, (int64_t[]){1, s.batch, hidden});
  }
  for (int i = 0; i <= k->states && !c->failed; i++) out[i] = cv_concat(c, (int)directions, parts[i], i ? 0 : 1);
}
