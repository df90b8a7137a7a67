/* examples/charlm/train.c - a step is two programs: the loss with its gradients, which the library derives, then the
 * gradients' clipping by their norm and AdamW for all parameters. State goes in and out of the second: there are two
 * sets of buffers, which change places at each step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "charlm.h"

enum { STATES = 3 }; /* parameters, first and second moments */

struct trainer {
  config c;
  model m;
  tsr_program *gradients, *update;
  tsr_buffer *tokens, *targets, *key, *counters, *rate, *step, *loss, *norm, *skip;
  tsr_buffer *scale[2], *held[2]; /* of the loss; steps since it changed */
  tsr_buffer *state[2][STATES][MAX_PARAMETERS], *grad[MAX_PARAMETERS];
  int now; /* which set is current */
};

static tsr_policy policy_of(const config *c) {
  return c->mode == MODE_DETERMINISTIC ? TSR_POLICY_DETERMINISTIC
         : c->mode == MODE_SAFE        ? TSR_POLICY_KAHAN_SUM
                                       : TSR_POLICY_DEFAULT; /* fast, or what TSR_POLICY says */
}

/* A schedule that a tuner found would change the order of sums between two runs. */
static tsr_compile_options options_of(const config *c) {
  const bool fixed = c->mode == MODE_DETERMINISTIC;
  return (tsr_compile_options){.policy = policy_of(c), .tune = fixed ? TSR_TUNE_OFF : TSR_TUNE_DEFAULT};
}

static tsr_value input(tsr_graph *g, const char *prefix, const char *name, tsr_dtype t, tsr_shape s) {
  char full[64];
  tsr_value v;
  snprintf(full, sizeof full, "%s%s", prefix, name);
  check(tsr_graph_input(g, full, t, s, &v));
  return v;
}

static void output(tsr_graph *g, tsr_value v) { check(tsr_graph_output(g, v)); }

static tsr_value select_of(tsr_graph *g, tsr_value condition, tsr_value yes, tsr_value no) {
  tsr_value y;
  check(tsr_graph_op(g, "select", (tsr_value[]){condition, yes, no}, 3, NULL, 0, &y));
  return y;
}

/* Inputs: gradients, parameters, moments, rate, step and, of a scaled loss, whether the step is left out: then what
 * comes out is what came in. Outputs: parameters, moments, norm. Matrices alone decay. */
static tsr_graph *update_graph(tsr_context *ctx, const model *m, const config *c) {
  static const char *const prefixes[STATES] = {"", "m_", "v_"};
  tsr_value grad[MAX_PARAMETERS], state[STATES][MAX_PARAMETERS], clipped[MAX_PARAMETERS + 1];
  tsr_graph *g;
  check(tsr_graph_create(ctx, "update", &g));
  for (int i = 0; i < m->n; i++) grad[i] = input(g, "g_", m->p[i].name, TSR_F32, m->p[i].shape);
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < m->n; i++) state[k][i] = input(g, prefixes[k], m->p[i].name, TSR_F32, m->p[i].shape);
  tsr_value rate = input(g, "", "rate", TSR_F32, (tsr_shape){.rank = 0});
  tsr_value step = input(g, "", "step", TSR_I32, (tsr_shape){.rank = 0});
  const bool scaled = c->scale > 0;
  tsr_value skip = scaled ? input(g, "", "skip", TSR_BOOL, (tsr_shape){.rank = 0}) : 0;
  const tsr_attr most = TSR_FLOAT("max_norm", c->clip);
  check(tsr_graph_op_results(g, "clip_by_global_norm", grad, m->n, &most, 1, clipped, m->n + 1));
  for (int i = 0; i < m->n; i++) {
    const tsr_value in[6] = {state[0][i], clipped[i], state[1][i], state[2][i], rate, step};
    const tsr_attr a[2] = {TSR_FLOAT("beta2", 0.99), TSR_FLOAT("weight_decay", m->p[i].shape.rank > 1 ? 0.1 : 0)};
    tsr_value out[STATES];
    check(tsr_graph_op_results(g, "adamw", in, 6, a, 2, out, STATES));
    for (int k = 0; k < STATES; k++) state[k][i] = scaled ? select_of(g, skip, state[k][i], out[k]) : out[k];
  }
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < m->n; i++) output(g, state[k][i]);
  output(g, clipped[m->n]);
  return g;
}

static tsr_buffer *buffer(tsr_device *dev, int64_t n) {
  tsr_buffer *b;
  check(tsr_buffer_create(dev, (size_t)n * 4, TSR_MEMORY_DEVICE, &b));
  return b;
}

static void make_buffers(trainer *t, tsr_device *dev) {
  const config *c = &t->c;
  t->tokens = buffer(dev, c->batch * c->length), t->targets = buffer(dev, c->batch * c->length);
  t->key = buffer(dev, 2), t->counters = buffer(dev, 8 * c->layers);
  t->rate = buffer(dev, 1), t->step = buffer(dev, 1), t->loss = buffer(dev, 1), t->norm = buffer(dev, 1);
  t->skip = buffer(dev, 1);
  for (int i = 0; i < 2; i++) t->scale[i] = buffer(dev, 1), t->held[i] = buffer(dev, 1);
  for (int i = 0; i < t->m.n; i++) {
    t->grad[i] = buffer(dev, t->m.p[i].n);
    for (int k = 0; k < 2 * STATES; k++) t->state[k / STATES][k % STATES][i] = buffer(dev, t->m.p[i].n);
  }
}

/* Values of a triangular distribution about 0 of standard deviation `spread`: exact in C, so the same everywhere. */
static void first_values(const trainer *t, float *state) {
  for (int i = 0; i < t->m.n; i++) {
    const parameter *p = &t->m.p[i];
    for (int64_t k = 0; k < p->n; k++) {
      const uint64_t h = hash((uint64_t)t->c.seed, (uint64_t)i + 1, (uint64_t)k);
      const double u = (double)(h >> 40) - (double)(h >> 16 & 0xffffff);
      *state++ = p->ones ? 1 : (float)(u * 0x1p-24 * 2.449489742783178 * p->spread);
    }
  }
  memset(state, 0, (size_t)(2 * trainer_n_parameters(t)) * sizeof *state);
  state += 2 * trainer_n_parameters(t);
  state[0] = t->c.scale > 0 ? t->c.scale : 1;
  state[1] = 0; /* an integer's bits */
}

trainer *trainer_create(tsr_context *ctx, tsr_device *dev, const config *c, int64_t memory) {
  trainer *t = calloc(1, sizeof *t);
  tsr_graph *with_gradients, *update;
  const tsr_compile_options o = options_of(c);
  if (!t) fail("out of memory");
  t->c = *c;
  model_build(ctx, c, &t->m);
  const tsr_attr scaling[2] = {TSR_INT("interval", c->growth), TSR_FLOAT("max", c->scale)};
  check(c->scale > 0 ? tsr_graph_grad_scaled(t->m.loss, t->m.values, t->m.n, scaling, 2, &with_gradients)
                     : tsr_graph_grad(t->m.loss, t->m.values, t->m.n, &with_gradients));
  check(tsr_graph_set_memory_budget(with_gradients, memory));
  check(tsr_program_compile(dev, with_gradients, &o, &t->gradients));
  tsr_graph_destroy(&with_gradients);
  update = update_graph(ctx, &t->m, c);
  check(tsr_program_compile(dev, update, &o, &t->update));
  tsr_graph_destroy(&update);
  make_buffers(t, dev);
  check(tsr_buffer_write(t->key, 0, (int32_t[]){c->seed, 0x63686172}, 8));
  float *state = malloc(trainer_state_bytes(t));
  if (!state) fail("out of memory");
  first_values(t, state);
  trainer_set_state(t, state);
  free(state);
  return t;
}

static float one(tsr_buffer *b) {
  float v;
  check(tsr_buffer_read(b, 0, &v, sizeof v));
  return v;
}

/* Of a loss that is scaled the scale and its count go in behind all else; behind the gradients come whether the step is
 * left out, and the two as they are next. */
static void run_gradients(trainer *t) {
  const int n = t->m.n;
  tsr_binding in[INPUT_PARAMETERS + MAX_PARAMETERS + 2] = {
      {t->tokens, 0}, {t->targets, 0}, {t->key, 0}, {t->counters, 0}};
  tsr_binding out[1 + MAX_PARAMETERS + 3] = {{t->loss, 0}};
  for (int i = 0; i < n; i++) {
    in[INPUT_PARAMETERS + i].buffer = t->state[t->now][0][i];
    out[1 + i].buffer = t->grad[i];
  }
  in[INPUT_PARAMETERS + n].buffer = t->scale[t->now], in[INPUT_PARAMETERS + n + 1].buffer = t->held[t->now];
  out[1 + n].buffer = t->skip, out[2 + n].buffer = t->scale[!t->now], out[3 + n].buffer = t->held[!t->now];
  check(tsr_program_run(t->gradients, NULL, in, out));
}

static void run_update(trainer *t) {
  const int n = t->m.n;
  tsr_binding in[(1 + STATES) * MAX_PARAMETERS + 3] = {{NULL, 0}}, out[STATES * MAX_PARAMETERS + 1] = {{NULL, 0}};
  for (int i = 0; i < n; i++) {
    in[i].buffer = t->grad[i];
    for (int k = 0; k < STATES; k++) {
      in[(1 + k) * n + i].buffer = t->state[t->now][k][i];
      out[k * n + i].buffer = t->state[!t->now][k][i];
    }
  }
  tsr_buffer *const last[3] = {t->rate, t->step, t->skip};
  for (int i = 0; i < 3; i++) in[(1 + STATES) * n + i].buffer = last[i];
  out[STATES * n].buffer = t->norm;
  check(tsr_program_run(t->update, NULL, in, out));
  t->now = !t->now;
}

outcome trainer_step(trainer *t, int step, const int32_t *tokens, const int32_t *targets) {
  const size_t bytes = (size_t)(t->c.batch * t->c.length) * 4;
  const float rate = t->c.rate * (step < t->c.warmup ? (float)step / (float)t->c.warmup : 1);
  int32_t counters[2 * MAX_LAYERS][4] = {{0}};
  for (int i = 0; i < 2 * t->c.layers; i++) counters[i][2] = step, counters[i][3] = i;
  check(tsr_buffer_write(t->tokens, 0, tokens, bytes));
  check(tsr_buffer_write(t->targets, 0, targets, bytes));
  check(tsr_buffer_write(t->counters, 0, counters, (size_t)t->c.layers * 2 * sizeof *counters));
  check(tsr_buffer_write(t->rate, 0, &rate, sizeof rate));
  check(tsr_buffer_write(t->step, 0, &(int32_t){step}, sizeof(int32_t)));
  run_gradients(t);
  run_update(t);
  return (outcome){one(t->loss), one(t->norm), rate, one(t->scale[t->now])};
}

int64_t trainer_n_parameters(const trainer *t) {
  int64_t n = 0;
  for (int i = 0; i < t->m.n; i++) n += t->m.p[i].n;
  return n;
}

int trainer_n_kernels(const trainer *t) {
  return tsr_program_n_kernels(t->gradients) + tsr_program_n_kernels(t->update);
}

size_t trainer_state_bytes(const trainer *t) {
  return ((size_t)trainer_n_parameters(t) * STATES + 2) * sizeof(float);
}

void trainer_get_state(const trainer *t, float *out) {
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < t->m.n; out += t->m.p[i++].n)
      check(tsr_buffer_read(t->state[t->now][k][i], 0, out, (size_t)t->m.p[i].n * sizeof *out));
  check(tsr_buffer_read(t->scale[t->now], 0, out, sizeof *out));
  check(tsr_buffer_read(t->held[t->now], 0, out + 1, sizeof *out));
}

void trainer_set_state(trainer *t, const float *state) {
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < t->m.n; state += t->m.p[i++].n)
      check(tsr_buffer_write(t->state[t->now][k][i], 0, state, (size_t)t->m.p[i].n * sizeof *state));
  for (int i = 0; i < 2; i++) { /* of a loss that isn't scaled no step writes them */
    check(tsr_buffer_write(t->scale[i], 0, state, sizeof *state));
    check(tsr_buffer_write(t->held[i], 0, state + 1, sizeof *state));
  }
}

void trainer_destroy(trainer **tp) {
  trainer *t = *tp;
  if (!t) return;
  tsr_buffer **single[] = {&t->tokens, &t->targets, &t->key, &t->counters, &t->rate, &t->step,
                           &t->skip, &t->loss, &t->norm, &t->scale[0], &t->scale[1], &t->held[0], &t->held[1]};
  for (size_t i = 0; i < sizeof single / sizeof *single; i++) tsr_buffer_destroy(single[i]);
  for (int i = 0; i < t->m.n; i++) {
    tsr_buffer_destroy(&t->grad[i]);
    for (int k = 0; k < 2 * STATES; k++) tsr_buffer_destroy(&t->state[k / STATES][k % STATES][i]);
  }
  tsr_program_destroy(&t->gradients);
  tsr_program_destroy(&t->update);
  tsr_graph_destroy(&t->m.loss);
  free(t);
  *tp = NULL;
}
