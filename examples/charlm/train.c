/* examples/charlm/train.c - a step is three programs: the loss with its gradients, which the library derives, the
 * gradients' squares, and, with the norm of all, their clipping and AdamW. State goes in and out of the last: there are
 * two sets of tensors, which change places at each step. A batch of several microbatches adds its gradients up in
 * order, in a program of its own.
 * On a mesh each rank has a part of the batch (axis dp) and of the matrices (tp), and the library puts the collectives
 * in; moments lie as the gradients come, in pieces over dp. A stage of a pipeline (pp) has a part of the layers: it
 * hands activations on, gets their gradient back, and then computes its layers once more with their gradients; by the
 * schedule zero_bubble first with that of its input alone. A stage of interleaved chunks has a trainer for each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train.h"

static bool in_parts(const trainer *t) { return t->c.microbatches > 1; }
/* The whole batch's gradient. */
static const tensor *gradient(const trainer *t, int i) {
  return in_parts(t) ? &t->sum[t->c.microbatches % 2][i] : &t->grad[i];
}

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

typedef struct scaling { tsr_value failed, scale, held; } scaling; /* failed: a bool; the others as they come out */

/* Dynamic loss scaling, as tsr_graph_grad_scaled has it, but by the gradients of all stages and microbatches. total: of
 * all squares, which isn't finite where an element isn't. The scale grows up to what it was at first: fp8_e4m3 has no
 * infinity that would tell of more. */
static scaling next_scale(tsr_graph *g, const config *c, tsr_value total, tsr_value scale, tsr_value held) {
  const tsr_attr how[2] = {TSR_INT("interval", c->growth), TSR_FLOAT("max", c->scale)};
  tsr_value out[4];
  check(tsr_graph_op_results(g, "loss_scale", (tsr_value[]){scale, held, total}, 3, how, 2, out, 4));
  return (scaling){.scale = out[0], .held = out[1], .failed = out[2]};
}

/* ---- on a mesh: how inputs lie ----------------------------------------------------------------------------------- */

static void cut(const place *at, tsr_graph *g, tsr_value v, const char *part, const char *axis) {
  const tsr_shardspec s = {.partition = &part, .mesh_axes = &axis, .n = part && tsr_mesh_size(at->mesh, axis)};
  check(tsr_graph_shard(g, v, at->mesh, &s));
}

/* parameters: their values in g; NULL: it is a derived graph, whose inputs are its values 1, 2, .. */
static void shard_inputs(const trainer *t, tsr_graph *g, const tsr_value *parameters) {
  if (!t->at->mesh) return;
  for (int i = 0; i < INPUT_PARAMETERS; i++) cut(t->at, g, i + 1, i == INPUT_X || i == INPUT_Y ? "0" : NULL, "dp");
  for (int i = 0; i < t->m.n; i++)
    cut(t->at, g, parameters ? parameters[i] : (tsr_value)(INPUT_PARAMETERS + i + 1), t->m.p[i].cut, "tp");
}

/* What goes to another stage lies there as here. */
static void shard_output(const trainer *t, tsr_graph *g, int i) {
  const char *const part = "0", *const axis = "dp";
  const tsr_shardspec s = {.partition = &part, .mesh_axes = &axis, .n = tsr_mesh_size(t->at->mesh, axis) != 0};
  check(tsr_graph_shard_output(g, i, t->at->mesh, &s));
}

static void shard_as(const trainer *t, tsr_graph *g, tsr_value v, const tensor *like) {
  if (t->at->mesh) check(tsr_graph_shard_as(g, v, like->spread));
}

/* Parameters as the first program takes them, moments as its gradients come. */
static void shard_state(const trainer *t, tsr_graph *g, int k, int i, tsr_value v) {
  shard_as(t, g, v, k ? &t->grad[i] : &t->state[0][0][i]);
}

static tsr_value scalar(const trainer *t, tsr_graph *g, const char *name, tsr_dtype type) {
  tsr_value v = input(g, "", name, type, (tsr_shape){.rank = 0});
  if (t->at->mesh) cut(t->at, g, v, NULL, "dp");
  return v;
}

/* ---- the programs' graphs ---------------------------------------------------------------------------------------- */

/* The gradients, or their sums, as inputs. */
static void take_gradients(const trainer *t, tsr_graph *g, const char *prefix, tsr_value *grad) {
  for (int i = 0; i < t->m.n; i++) {
    grad[i] = input(g, prefix, t->m.p[i].name, TSR_F32, t->m.p[i].shape);
    shard_as(t, g, grad[i], &t->grad[i]);
  }
}

/* Sums and gradients to sums. */
static tsr_graph *add_graph(const trainer *t) {
  tsr_value sum[MAX_PARAMETERS], grad[MAX_PARAMETERS];
  tsr_graph *g;
  check(tsr_graph_create(t->at->ctx, "add", &g));
  take_gradients(t, g, "s_", sum);
  take_gradients(t, g, "g_", grad);
  for (int i = 0; i < t->m.n; i++) {
    sum[i] = OP("add", sum[i], OP("mul", grad[i], real(g, 1 / (float)t->c.microbatches)));
    shard_as(t, g, sum[i], &t->grad[i]);
    output(g, sum[i]);
  }
  return g;
}

/* Without the scale of the loss. */
static void unscale(const trainer *t, tsr_graph *g, tsr_value *grad, tsr_value scale) {
  const tsr_value share = t->c.scale > 0 ? OP("div", real(g, 1), scale) : 0;
  for (int i = 0; i < t->m.n && share; i++) grad[i] = OP("mul", grad[i], share);
}

/* Gradients and scale to the sums of each gradient's squares. */
static tsr_graph *squares_graph(const trainer *t) {
  tsr_value grad[MAX_PARAMETERS], sums[MAX_PARAMETERS];
  const int64_t one = 1, axes[2] = {0, 1};
  tsr_graph *g;
  check(tsr_graph_create(t->at->ctx, "squares", &g));
  take_gradients(t, g, "g_", grad);
  unscale(t, g, grad, scalar(t, g, "scale", TSR_F32));
  for (int i = 0; i < t->m.n; i++) {
    const tsr_attr all = TSR_INTS("axes", axes, t->m.p[i].shape.rank), shape = TSR_INTS("shape", &one, 1);
    const tsr_value square = OP("mul", grad[i], grad[i]);
    check(tsr_graph_op(g, "reduce_sum", &square, 1, &all, 1, &sums[i]));
    check(tsr_graph_op(g, "reshape", &sums[i], 1, &shape, 1, &sums[i]));
  }
  output(g, op(g, "concat", t->m.n, sums, NULL));
  return g;
}

/* Inputs: gradients, parameters, moments, rate, step, scale, held, all stages' squares. Outputs: parameters, moments,
 * norm, scale, held. Matrices alone decay. */
static tsr_graph *update_graph(const trainer *t) {
  static const char *const prefixes[STATES] = {"", "m_", "v_"};
  const model *m = &t->m;
  const config *c = &t->c;
  const int64_t axis = 0;
  const tsr_attr all = TSR_INTS("axes", &axis, 1);
  tsr_value grad[MAX_PARAMETERS], state[STATES][MAX_PARAMETERS], total;
  tsr_graph *g;
  check(tsr_graph_create(t->at->ctx, "update", &g));
  take_gradients(t, g, "g_", grad);
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < m->n; i++)
      shard_state(t, g, k, i, state[k][i] = input(g, prefixes[k], m->p[i].name, TSR_F32, m->p[i].shape));
  tsr_value rate = scalar(t, g, "rate", TSR_F32), step = scalar(t, g, "step", TSR_I32);
  tsr_value scale = scalar(t, g, "scale", TSR_F32), held = scalar(t, g, "held", TSR_I32);
  tsr_value squares = input(g, "", "squares", TSR_F32, (tsr_shape){1, {model_n_parameters(c)}});
  if (t->at->mesh) cut(t->at, g, squares, NULL, "dp");
  check(tsr_graph_op(g, "reduce_sum", &squares, 1, &all, 1, &total));
  scaling s = {0, scale, held};
  if (c->scale > 0) s = next_scale(g, c, total, scale, held);
  unscale(t, g, grad, scale);
  const tsr_value norm = OP("sqrt", total), share = OP("min", OP("div", real(g, c->clip), norm), real(g, 1));
  for (int i = 0; i < m->n; i++) {
    const tsr_value in[6] = {state[0][i], OP("mul", grad[i], share), state[1][i], state[2][i], rate, step};
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
  output(g, norm);
  output(g, c->scale > 0 ? s.scale : OP("mul", scale, real(g, 1)));
  output(g, c->scale > 0 ? s.held : OP("add", held, whole(g, 0)));
  return g;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* What the first program takes and gives: before the others are built, which lie after it. */
static void make_tensors(trainer *t) {
  tensor *const single[INPUT_PARAMETERS] = {&t->x, &t->y, &t->key, &t->counters, &t->scale[0]};
  int n = 0;
  for (int i = 0; i < INPUT_PARAMETERS; i++) *single[i] = program_input(t->at, &t->gradients, i);
  t->scale[1] = program_input(t->at, &t->gradients, INPUT_SCALE);
  t->scaled = program_output(t->at, &t->gradients, n++);
  if (stage_is_last(t->at->s)) t->loss = program_output(t->at, &t->gradients, n++);
  for (int i = 0; i < t->m.n; i++) {
    t->grad[i] = program_output(t->at, &t->gradients, n++);
    for (int now = 0; now < 2; now++) t->state[now][0][i] = program_input(t->at, &t->gradients, INPUT_PARAMETERS + i);
  }
}

static void make_sums(trainer *t, const tsr_compile_options *o) {
  if (!in_parts(t)) return;
  tsr_graph *g = add_graph(t);
  t->add = program_compile(t->at, g, o, "add");
  tsr_graph_destroy(&g);
  for (int i = 0; i < t->m.n; i++) {
    float *zeros = calloc((size_t)t->m.p[i].n, sizeof *zeros);
    if (!zeros) fail("out of memory");
    t->zero[i] = program_input(t->at, &t->add, i);
    tensor_write(&t->zero[i], zeros);
    for (int k = 0; k < 2; k++) t->sum[k][i] = program_output(t->at, &t->add, i);
    free(zeros);
  }
}

static void make_update(trainer *t, const tsr_compile_options *o) {
  const int n = t->m.n, last = (1 + STATES) * n;
  tsr_graph *g = squares_graph(t);
  t->squares = program_compile(t->at, g, o, "squares");
  tsr_graph_destroy(&g);
  t->squares_of = program_output(t->at, &t->squares, 0);
  g = update_graph(t);
  t->update = program_compile(t->at, g, o, "update");
  tsr_graph_destroy(&g);
  t->rate = program_input(t->at, &t->update, last), t->step = program_input(t->at, &t->update, last + 1);
  t->all_squares = program_input(t->at, &t->update, last + 4);
  t->norm = program_output(t->at, &t->update, STATES * n);
  for (int now = 0; now < 2; now++) {
    t->held[now] = program_input(t->at, &t->update, last + 3);
    for (int i = n; i < STATES * n; i++) t->state[now][i / n][i % n] = program_input(t->at, &t->update, n + i);
  }
}

static void make_pipeline(trainer *t, const char *schedule, int chunks) {
  const place *at = t->stage;
  tsr_pipeline_desc d = {.team = at->pipe, .stage = at->s.number, .schedule = schedule, .chunks = chunks,
                         .microbatches = t->c.microbatches};
  char *text;
  if (!at->pipe) return;
  for (const trainer *k = t; k; k = k->next) {
    if (!stage_is_first(k->at->s)) d.input = k->x.spread;
    if (!stage_is_last(k->at->s)) d.output = k->y.spread;
  }
  check(tsr_pipeline_create(at->ctx, &d, &t->pipeline));
  check(tsr_pipeline_explain(t->pipeline, &text));
  if (at->speaks) fputs(text, stderr);
  tsr_text_free(at->ctx, &text);
}

/* With respect to n of the model's values, of which the one behind the parameters is the input. */
static program gradient_program(const trainer *t, const tsr_compile_options *o, int from, int n, int64_t memory) {
  tsr_graph *g;
  check(tsr_graph_grad(t->m.loss, t->m.values + from, n, &g));
  check(tsr_graph_set_memory_budget(g, memory));
  shard_inputs(t, g, NULL);
  if (from + n > t->m.n) shard_output(t, g, stage_is_last(t->at->s) + n);
  const program p = program_compile(t->at, g, o, from ? "input_gradient" : "gradients");
  tsr_graph_destroy(&g);
  return p;
}

static void make_gradients(trainer *t, const tsr_compile_options *o, int64_t memory) {
  const place *at = t->at;
  const bool first = stage_is_first(at->s);
  t->gradients = gradient_program(t, o, 0, t->m.n + (!first && !t->split), memory);
  if (!first && t->split) t->input_gradient = gradient_program(t, o, t->m.n, 1, memory);
  if (stage_is_last(at->s)) return;
  shard_inputs(t, t->m.forward, t->m.values);
  shard_output(t, t->m.forward, 0);
  t->forward = program_compile(at, t->m.forward, o, "forward");
}

/* Chunk k of the stage's. */
static trainer *create_chunk(const place *at, const config *c, int64_t memory, const char *schedule, int k,
                             int chunks) {
  trainer *t = calloc(1, sizeof *t);
  const tsr_compile_options o = options_of(c);
  if (!t) fail("out of memory");
  t->c = *c, t->stage = at, t->chunk = *at, t->at = &t->chunk;
  t->chunk.s = (stage){k * at->s.of + at->s.number, chunks * at->s.of};
  t->split = at->pipe && schedule && !strcmp(schedule, "zero_bubble");
  model_build(at->ctx, c, t->at->s, &t->m);
  make_gradients(t, &o, memory);
  make_tensors(t);
  make_sums(t, &o);
  make_update(t, &o);
  tensor_write(&t->key, (int32_t[]){c->seed, 0x63686172});
  float *state = malloc(trainer_state_bytes(t));
  if (!state) fail("out of memory");
  trainer_first_values(t, state);
  trainer_set_state(t, state);
  free(state);
  return t;
}

trainer *trainer_create(const place *at, const config *c, int64_t memory, const char *schedule, int chunks) {
  trainer *first = NULL, **next = &first;
  for (int k = 0; k < chunks; k++, next = &(*next)->next) *next = create_chunk(at, c, memory, schedule, k, chunks);
  make_pipeline(first, schedule, chunks);
  return first;
}

static float one(const tensor *t) {
  float v;
  tensor_read(t, &v);
  return v;
}

static void bind_inputs(trainer *t, const tensor *x, const tensor *y, tensor *in) {
  const tensor first[INPUT_PARAMETERS] = {*x, *y, t->key, t->counters, t->scale[t->now]};
  memcpy(in, first, sizeof first);
  for (int i = 0; i < t->m.n; i++) in[INPUT_PARAMETERS + i] = t->state[t->now][0][i];
}

/* The whole batch's gradient so far, in the order of the microbatches. */
static void add_gradients(trainer *t) {
  tensor in[2 * MAX_PARAMETERS];
  if (!in_parts(t)) return;
  for (int i = 0; i < t->m.n; i++) {
    in[i] = t->n_sum ? t->sum[t->n_sum % 2][i] : t->zero[i];
    in[t->m.n + i] = t->grad[i];
  }
  t->n_sum++;
  program_run(&t->add, in, 2 * t->m.n, t->sum[t->n_sum % 2], t->m.n);
}

/* The bits that are dropped depend on step, microbatch and place in the model. */
static void write_counters(trainer *t, int microbatch) {
  int32_t counters[2 * MAX_LAYERS][4] = {{0}};
  for (int i = 0; i < 2 * t->c.layers; i++)
    counters[i][1] = microbatch, counters[i][2] = t->number, counters[i][3] = i;
  tensor_write(&t->counters, counters);
}

static void write_part(const trainer *t, const tensor *to, const int32_t *whole, int microbatch) {
  tensor_write(to, whole + (ptrdiff_t)microbatch * (t->c.batch / t->c.microbatches) * t->c.length);
}

/* Inputs of both gradients' programs, and what their outputs begin with. */
static int bind_backward(trainer *t, int microbatch, const tensor *x, const tensor *y, tensor *in, tensor *out) {
  int n = 0;
  if (stage_is_first(t->at->s)) write_part(t, x, t->tokens, microbatch);
  if (stage_is_last(t->at->s)) write_part(t, y, t->targets, microbatch);
  write_counters(t, microbatch);
  bind_inputs(t, x, y, in);
  out[n++] = t->scaled;
  if (stage_is_last(t->at->s)) out[n++] = t->loss;
  return n;
}

/* The gradient of what came from the stage before, alone. */
static void input_backward(trainer *t, int microbatch, const tensor *x, const tensor *y, const tensor *before) {
  tensor in[INPUT_PARAMETERS + MAX_PARAMETERS], out[3];
  if (stage_is_first(t->at->s)) return;
  int n = bind_backward(t, microbatch, x, y, in, out);
  out[n++] = *before;
  program_run(&t->input_gradient, in, INPUT_PARAMETERS + t->m.n, out, n);
}

/* The parameters' gradients and, but where that is done already, the input's. */
static void backward(trainer *t, int microbatch, const tensor *x, const tensor *y, const tensor *before) {
  tensor in[INPUT_PARAMETERS + MAX_PARAMETERS], out[3 + MAX_PARAMETERS];
  int n = bind_backward(t, microbatch, x, y, in, out);
  for (int i = 0; i < t->m.n; i++) out[n++] = t->grad[i];
  if (!stage_is_first(t->at->s) && !t->split) out[n++] = *before;
  program_run(&t->gradients, in, INPUT_PARAMETERS + t->m.n, out, n);
  if (stage_is_last(t->at->s)) t->mean += one(&t->loss) / (float)t->c.microbatches;
  add_gradients(t);
}

static void forward(trainer *t, int microbatch, const tensor *x, const tensor *out) {
  tensor in[INPUT_PARAMETERS + MAX_PARAMETERS];
  if (stage_is_first(t->at->s)) write_part(t, x, t->tokens, microbatch);
  write_counters(t, microbatch);
  bind_inputs(t, x, &t->y, in);
  program_run(&t->forward, in, INPUT_PARAMETERS + t->m.n, out, 1);
}

/* The last stage computes forward and backward as one program. */
static tsr_status work(void *user, const tsr_pipeline_step *s) {
  trainer *t = user;
  for (int k = 0; k < s->chunk; k++) t = t->next;
  const bool goes_forward = s->task == TSR_PIPELINE_FORWARD;
  const tensor from = {.spread = goes_forward ? s->in : s->kept}, out = {.spread = s->out}, y = {.spread = s->in};
  const tensor *x = stage_is_first(t->at->s) ? &t->x : &from;
  const tensor *with = stage_is_last(t->at->s) ? &t->y : &y;
  if (s->task == TSR_PIPELINE_BACKWARD && t->split) input_backward(t, s->microbatch, x, with, &out);
  else if (!goes_forward) backward(t, s->microbatch, x, with, &out);
  else if (!stage_is_last(t->at->s)) forward(t, s->microbatch, x, &out);
  return NULL;
}

static void put_squares(trainer *t, float *all) {
  float own[MAX_PARAMETERS];
  tensor in[MAX_PARAMETERS + 1];
  for (int i = 0; i < t->m.n; i++) in[i] = *gradient(t, i);
  in[t->m.n] = t->scale[t->now];
  program_run(&t->squares, in, t->m.n + 1, &t->squares_of, 1);
  tensor_read(&t->squares_of, own);
  for (int i = 0; i < t->m.n; i++) all[t->m.p[i].number] = own[i];
  all[MAX_PARAMETERS] += t->mean;
}

/* The norm is that of all stages' gradients: of each the sum of its squares, in one order everywhere. */
static float collect_squares(trainer *t) {
  float all[MAX_PARAMETERS + 1] = {0};
  for (trainer *k = t; k; k = k->next) put_squares(k, all);
  place_collect(t->stage, all, MAX_PARAMETERS + 1);
  for (trainer *k = t; k; k = k->next) tensor_write(&k->all_squares, all);
  return all[MAX_PARAMETERS];
}

static void run_update(trainer *t) {
  const int n = t->m.n;
  tensor in[(1 + STATES) * MAX_PARAMETERS + 5], out[STATES * MAX_PARAMETERS + 3];
  for (int i = 0; i < n; i++) {
    in[i] = *gradient(t, i);
    for (int k = 0; k < STATES; k++) {
      in[(1 + k) * n + i] = t->state[t->now][k][i];
      out[k * n + i] = t->state[!t->now][k][i];
    }
  }
  const tensor last[5] = {t->rate, t->step, t->scale[t->now], t->held[t->now], t->all_squares},
               results[3] = {t->norm, t->scale[!t->now], t->held[!t->now]};
  for (int i = 0; i < 5; i++) in[(1 + STATES) * n + i] = last[i];
  for (int i = 0; i < 3; i++) out[STATES * n + i] = results[i];
  program_run(&t->update, in, (1 + STATES) * n + 5, out, STATES * n + 3);
  t->now = !t->now;
}

outcome trainer_step(trainer *t, int step, const int32_t *tokens, const int32_t *targets) {
  const float rate = t->c.rate * (step < t->c.warmup ? (float)step / (float)t->c.warmup : 1);
  for (trainer *k = t; k; k = k->next) {
    k->number = step, k->tokens = tokens, k->targets = targets, k->n_sum = 0, k->mean = 0;
    tensor_write(&k->rate, &rate);
    tensor_write(&k->step, &(int32_t){step});
  }
  if (t->pipeline) check(tsr_pipeline_run(t->pipeline, work, t));
  for (int i = 0; i < t->c.microbatches && !t->pipeline; i++) backward(t, i, &t->x, &t->y, NULL);
  const float loss = collect_squares(t);
  for (trainer *k = t; k; k = k->next) run_update(k);
  return (outcome){loss, one(&t->norm), rate, one(&t->scale[t->now])};
}

void trainer_destroy(trainer **tp) {
  trainer *t = *tp;
  if (!t) return;
  trainer_destroy(&t->next);
  tsr_pipeline_destroy(&t->pipeline);
  tensor *const single[] = {&t->x, &t->y, &t->key, &t->counters, &t->rate, &t->step, &t->scaled, &t->loss,
                            &t->squares_of, &t->all_squares, &t->norm, &t->scale[0], &t->scale[1], &t->held[0],
                            &t->held[1]};
  for (size_t i = 0; i < sizeof single / sizeof *single; i++) tensor_free(single[i]);
  for (int i = 0; i < t->m.n; i++) {
    tensor_free(&t->grad[i]), tensor_free(&t->zero[i]);
    for (int k = 0; k < 2; k++) tensor_free(&t->sum[k][i]);
    for (int k = 0; k < 2 * STATES; k++) tensor_free(&t->state[k / STATES][k % STATES][i]);
  }
  program *const all[] = {&t->forward, &t->input_gradient, &t->gradients, &t->add, &t->squares, &t->update};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) program_free(all[i]);
  tsr_graph_destroy(&t->m.loss);
  tsr_graph_destroy(&t->m.forward);
  free(t);
  *tp = NULL;
}
