/* examples/charlm/train.c - a step is two programs: the loss with its gradients, which the library derives, then the
 * gradients' clipping by their norm and AdamW for all parameters. State goes in and out of the second: there are two
 * sets of tensors, which change places at each step. On a mesh each rank has a part of the batch (axis dp) and of the
 * matrices (tp), and the library puts the collectives in; moments lie as the gradients come, in pieces over dp. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "charlm.h"

enum { STATES = 3 }; /* parameters, first and second moments */

struct trainer {
  config c;
  model m;
  const place *at;
  program gradients, update;
  tensor tokens, targets, key, counters, rate, step, scaled, loss, norm;
  tensor scale[2], held[2]; /* of the loss; steps since it changed */
  tensor state[2][STATES][MAX_PARAMETERS], grad[MAX_PARAMETERS];
  int now; /* which set is current */
};

static tsr_policy policy_of(const config *c) {
  return c->mode == MODE_DETERMINISTIC ? TSR_POLICY_DETERMINISTIC
         : c->mode == MODE_SAFE        ? TSR_POLICY_KAHAN_SUM
                                       : TSR_POLICY_FAST;
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

static tsr_value op(tsr_graph *g, const char *name, int n, const tsr_value *x, const char *predicate) {
  const tsr_attr a = TSR_STRING("predicate", predicate);
  tsr_value y;
  check(tsr_graph_op(g, name, x, n, &a, predicate != NULL, &y));
  return y;
}
#define OP(name, ...) \
  op(g, name, (int)(sizeof((tsr_value[]){__VA_ARGS__}) / sizeof(tsr_value)), (tsr_value[]){__VA_ARGS__}, NULL)

static tsr_value whole(tsr_graph *g, int32_t v) {
  tsr_value x;
  check(tsr_graph_constant(g, TSR_I32, (tsr_shape){.rank = 0}, &v, &x));
  return x;
}

static tsr_value real(tsr_graph *g, float v) {
  tsr_value x;
  check(tsr_graph_constant(g, TSR_F32, (tsr_shape){.rank = 0}, &v, &x));
  return x;
}

/* Dynamic loss scaling: gradients that aren't finite change nothing but the scale, which is halved; after GROWTH steps
 * without such it is doubled, up to what it was at first: fp8_e4m3 has no infinity that would tell of more. */
enum { GROWTH = 200 };

typedef struct scaling { tsr_value failed, scale, held; } scaling; /* failed: a bool; the others as they come out */

static scaling next_scale(tsr_graph *g, const tsr_value *grad, int n, tsr_value scale, tsr_value held, float most) {
  tsr_value bad[2], one = real(g, 1), zero = whole(g, 0);
  check(tsr_graph_op_results(g, "check_numerics", grad, n, NULL, 0, bad, 2));
  const tsr_value count[2] = {OP("add", bad[0], bad[1]), zero}, longer = OP("add", held, whole(g, 1));
  scaling s = {.failed = op(g, "compare", 2, count, "ne")};
  const tsr_value full = op(g, "compare", 2, (tsr_value[]){longer, whole(g, GROWTH)}, "ge");
  const tsr_value half = OP("max", OP("mul", scale, real(g, 0.5f)), one),
                  twice = OP("min", OP("mul", scale, real(g, 2)), real(g, most));
  s.scale = OP("select", s.failed, half, OP("select", full, twice, scale));
  s.held = OP("select", OP("or", s.failed, full), zero, longer);
  return s;
}

/* ---- on a mesh: how inputs lie ----------------------------------------------------------------------------------- */

static void cut(const place *at, tsr_graph *g, tsr_value v, const char *part, const char *axis) {
  const tsr_shardspec s = {.partition = &part, .mesh_axes = &axis, .n = part && tsr_mesh_size(at->mesh, axis)};
  check(tsr_graph_shard(g, v, at->mesh, &s));
}

/* A graph's inputs are its values 1, 2, .. */
static void shard_gradients(const trainer *t, tsr_graph *g) {
  if (!t->at->mesh) return;
  for (int i = 0; i < INPUT_PARAMETERS; i++)
    cut(t->at, g, i + 1, i == INPUT_TOKENS || i == INPUT_TARGETS ? "0" : NULL, "dp");
  for (int i = 0; i < t->m.n; i++) cut(t->at, g, INPUT_PARAMETERS + i + 1, t->m.p[i].cut, "tp");
}

/* Parameters as the first program takes them, moments as its gradients come. */
static void shard_state(const trainer *t, tsr_graph *g, int k, int i, tsr_value v) {
  if (t->at->mesh) check(tsr_graph_shard_as(g, v, (k ? t->grad[i] : t->state[0][0][i]).spread));
}

/* Inputs: gradients, parameters, moments, rate, step, scale, held. Outputs: parameters, moments, norm, scale, held.
 * Matrices alone decay. */
static tsr_graph *update_graph(const trainer *t) {
  const model *m = &t->m;
  const config *c = &t->c;
  static const char *const prefixes[STATES] = {"", "m_", "v_"};
  tsr_value grad[MAX_PARAMETERS], state[STATES][MAX_PARAMETERS], clipped[MAX_PARAMETERS + 1];
  tsr_graph *g;
  check(tsr_graph_create(t->at->ctx, "update", &g));
  for (int i = 0; i < m->n; i++) {
    grad[i] = input(g, "g_", m->p[i].name, TSR_F32, m->p[i].shape);
    if (t->at->mesh) check(tsr_graph_shard_as(g, grad[i], t->grad[i].spread));
  }
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < m->n; i++) {
      state[k][i] = input(g, prefixes[k], m->p[i].name, TSR_F32, m->p[i].shape);
      shard_state(t, g, k, i, state[k][i]);
    }
  tsr_value rate = input(g, "", "rate", TSR_F32, (tsr_shape){.rank = 0});
  tsr_value step = input(g, "", "step", TSR_I32, (tsr_shape){.rank = 0});
  tsr_value scale = input(g, "", "scale", TSR_F32, (tsr_shape){.rank = 0});
  tsr_value held = input(g, "", "held", TSR_I32, (tsr_shape){.rank = 0});
  scaling s = {0, scale, held};
  for (int i = 0; i < 4 && t->at->mesh; i++) cut(t->at, g, (tsr_value[]){rate, step, scale, held}[i], NULL, "dp");
  if (c->scale > 0) {
    s = next_scale(g, grad, m->n, scale, held, c->scale);
    const tsr_value share = OP("div", real(g, 1), scale);
    for (int i = 0; i < m->n; i++) grad[i] = OP("mul", grad[i], share);
  }
  const tsr_attr most = TSR_FLOAT("max_norm", c->clip);
  check(tsr_graph_op_results(g, "clip_by_global_norm", grad, m->n, &most, 1, clipped, m->n + 1));
  for (int i = 0; i < m->n; i++) {
    const tsr_value in[6] = {state[0][i], clipped[i], state[1][i], state[2][i], rate, step};
    const tsr_attr a[2] = {TSR_FLOAT("beta2", 0.99), TSR_FLOAT("weight_decay", m->p[i].shape.rank > 1 ? 0.1 : 0)};
    tsr_value out[STATES];
    check(tsr_graph_op_results(g, "adamw", in, 6, a, 2, out, STATES));
    for (int k = 0; k < STATES; k++) {
      state[k][i] = s.failed ? OP("select", s.failed, state[k][i], out[k]) : out[k];
      shard_state(t, g, k, i, state[k][i]);
    }
  }
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < m->n; i++) output(g, state[k][i]);
  output(g, clipped[m->n]);
  output(g, c->scale > 0 ? s.scale : OP("mul", scale, real(g, 1)));
  output(g, c->scale > 0 ? s.held : OP("add", held, whole(g, 0)));
  return g;
}

/* What the first program takes and gives: before the second is built, which lies after it. */
static void make_tensors(trainer *t) {
  tensor *const single[INPUT_PARAMETERS] = {&t->tokens, &t->targets, &t->key, &t->counters, &t->scale[0]};
  for (int i = 0; i < INPUT_PARAMETERS; i++) *single[i] = program_input(t->at, &t->gradients, i);
  t->scale[1] = program_input(t->at, &t->gradients, INPUT_SCALE);
  t->scaled = program_output(t->at, &t->gradients, 0), t->loss = program_output(t->at, &t->gradients, 1);
  for (int i = 0; i < t->m.n; i++) {
    t->grad[i] = program_output(t->at, &t->gradients, 2 + i);
    for (int now = 0; now < 2; now++) t->state[now][0][i] = program_input(t->at, &t->gradients, INPUT_PARAMETERS + i);
  }
}

static void make_state(trainer *t) {
  const int n = t->m.n, last = (1 + STATES) * n;
  t->rate = program_input(t->at, &t->update, last), t->step = program_input(t->at, &t->update, last + 1);
  t->norm = program_output(t->at, &t->update, STATES * n);
  for (int now = 0; now < 2; now++) {
    t->held[now] = program_input(t->at, &t->update, last + 3);
    for (int i = n; i < STATES * n; i++)
      t->state[now][i / n][i % n] = program_input(t->at, &t->update, n + i);
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

trainer *trainer_create(const place *at, const config *c, int64_t memory) {
  trainer *t = calloc(1, sizeof *t);
  tsr_graph *with_gradients, *update;
  const tsr_compile_options o = options_of(c);
  if (!t) fail("out of memory");
  t->c = *c, t->at = at;
  model_build(at->ctx, c, &t->m);
  check(tsr_graph_grad(t->m.loss, t->m.values, t->m.n, &with_gradients));
  check(tsr_graph_set_memory_budget(with_gradients, memory));
  shard_gradients(t, with_gradients);
  t->gradients = program_compile(at, with_gradients, &o);
  tsr_graph_destroy(&with_gradients);
  make_tensors(t);
  update = update_graph(t);
  t->update = program_compile(at, update, &o);
  tsr_graph_destroy(&update);
  make_state(t);
  tensor_write(&t->key, (int32_t[]){c->seed, 0x63686172});
  float *state = malloc(trainer_state_bytes(t));
  if (!state) fail("out of memory");
  first_values(t, state);
  trainer_set_state(t, state);
  free(state);
  return t;
}

static float one(const tensor *t) {
  float v;
  tensor_read(t, &v);
  return v;
}

static void run_gradients(trainer *t) {
  tensor in[INPUT_PARAMETERS + MAX_PARAMETERS] = {t->tokens, t->targets, t->key, t->counters, t->scale[t->now]};
  tensor out[2 + MAX_PARAMETERS] = {t->scaled, t->loss};
  for (int i = 0; i < t->m.n; i++) {
    in[INPUT_PARAMETERS + i] = t->state[t->now][0][i];
    out[2 + i] = t->grad[i];
  }
  program_run(&t->gradients, in, INPUT_PARAMETERS + t->m.n, out, 2 + t->m.n);
}

static void run_update(trainer *t) {
  const int n = t->m.n;
  tensor in[(1 + STATES) * MAX_PARAMETERS + 4], out[STATES * MAX_PARAMETERS + 3];
  for (int i = 0; i < n; i++) {
    in[i] = t->grad[i];
    for (int k = 0; k < STATES; k++) {
      in[(1 + k) * n + i] = t->state[t->now][k][i];
      out[k * n + i] = t->state[!t->now][k][i];
    }
  }
  const tensor last[4] = {t->rate, t->step, t->scale[t->now], t->held[t->now]},
               results[3] = {t->norm, t->scale[!t->now], t->held[!t->now]};
  for (int i = 0; i < 4; i++) in[(1 + STATES) * n + i] = last[i];
  for (int i = 0; i < 3; i++) out[STATES * n + i] = results[i];
  program_run(&t->update, in, (1 + STATES) * n + 4, out, STATES * n + 3);
  t->now = !t->now;
}

outcome trainer_step(trainer *t, int step, const int32_t *tokens, const int32_t *targets) {
  const float rate = t->c.rate * (step < t->c.warmup ? (float)step / (float)t->c.warmup : 1);
  int32_t counters[2 * MAX_LAYERS][4] = {{0}};
  for (int i = 0; i < 2 * t->c.layers; i++) counters[i][2] = step, counters[i][3] = i;
  tensor_write(&t->tokens, tokens);
  tensor_write(&t->targets, targets);
  tensor_write(&t->counters, counters);
  tensor_write(&t->rate, &rate);
  tensor_write(&t->step, &(int32_t){step});
  run_gradients(t);
  run_update(t);
  return (outcome){one(&t->loss), one(&t->norm), rate, one(&t->scale[t->now])};
}

int64_t trainer_n_parameters(const trainer *t) {
  int64_t n = 0;
  for (int i = 0; i < t->m.n; i++) n += t->m.p[i].n;
  return n;
}

void trainer_describe(const trainer *t, char *text, size_t cap) {
  if (t->at->mesh)
    snprintf(text, cap, "%lld ranks, %d collectives", (long long)place_ranks(t->at),
             tsr_dist_program_n_collectives(t->gradients.spread) + tsr_dist_program_n_collectives(t->update.spread));
  else snprintf(text, cap, "%d kernels", tsr_program_n_kernels(t->gradients.one) + tsr_program_n_kernels(t->update.one));
}

size_t trainer_state_bytes(const trainer *t) {
  return ((size_t)trainer_n_parameters(t) * STATES + 2) * sizeof(float);
}

void trainer_get_state(const trainer *t, float *out) {
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < t->m.n; out += t->m.p[i++].n) tensor_read(&t->state[t->now][k][i], out);
  tensor_read(&t->scale[t->now], out);
  tensor_read(&t->held[t->now], out + 1);
}

void trainer_set_state(trainer *t, const float *state) {
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < t->m.n; state += t->m.p[i++].n) tensor_write(&t->state[t->now][k][i], state);
  tensor_write(&t->scale[t->now], state);
  tensor_write(&t->held[t->now], state + 1);
}

/* Parameters, moments, the scale and how long it has held; the step's number is where the update takes it from. */
static int list_state(const trainer *t, entry *e) {
  static const char *const prefixes[STATES] = {"", "m.", "v."};
  const tensor *const last[] = {&t->scale[t->now], &t->held[t->now], &t->step};
  static const char *const names[] = {"loss.scale", "loss.held", "step"};
  int n = 0;
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < t->m.n; i++, n++) {
      e[n] = (entry){.dtype = TSR_F32, .shape = t->m.p[i].shape, .t = &t->state[t->now][k][i]};
      snprintf(e[n].name, sizeof e[n].name, "%s%s", prefixes[k], t->m.p[i].name);
    }
  for (int i = 0; i < 3; i++, n++) {
    e[n] = (entry){.dtype = i ? TSR_I32 : TSR_F32, .t = last[i]};
    snprintf(e[n].name, sizeof e[n].name, "%s", names[i]);
  }
  return n;
}

void trainer_save(const trainer *t, const char *folder, int32_t step) {
  entry e[STATES * MAX_PARAMETERS + 3];
  tensor_write(&t->step, &step);
  entries_save(folder, e, list_state(t, e));
}

int32_t trainer_load(trainer *t, const char *folder) {
  entry e[STATES * MAX_PARAMETERS + 3];
  int32_t step;
  entries_load(t->at, folder, e, list_state(t, e));
  tensor_read(&t->step, &step);
  return step;
}

bool trainer_has_mesh(const trainer *t) { return t->at->mesh != NULL; }

void trainer_destroy(trainer **tp) {
  trainer *t = *tp;
  if (!t) return;
  tensor *const single[] = {&t->tokens, &t->targets, &t->key, &t->counters, &t->rate, &t->step, &t->scaled,
                            &t->loss, &t->norm, &t->scale[0], &t->scale[1], &t->held[0], &t->held[1]};
  for (size_t i = 0; i < sizeof single / sizeof *single; i++) tensor_free(single[i]);
  for (int i = 0; i < t->m.n; i++) {
    tensor_free(&t->grad[i]);
    for (int k = 0; k < 2 * STATES; k++) tensor_free(&t->state[k / STATES][k % STATES][i]);
  }
  program_free(&t->gradients);
  program_free(&t->update);
  tsr_graph_destroy(&t->m.loss);
  free(t);
  *tp = NULL;
}
