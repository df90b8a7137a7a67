/* core/dist/pipeline.c - see pipeline.h. Each stage has its tasks in a fixed order (of zero-bubble the weights'
 * gradients have none) and does the next as soon as what it needs has come. */
#include "core/dist/pipeline.h"

#include <math.h>
#include <string.h>

static const dist_pipeline_row rows[N_PIPELINES] = {
    {"gpipe", "all microbatches forward, then all backward"},
    {"1f1b", "one forward, one backward: as few microbatches at once as there are stages"},
    {"interleaved", "1f1b with several parts of the layers a stage: a smaller bubble, more messages"},
    {"zero_bubble", "1f1b with the weights' gradients put off to where a stage would be idle"}};

const dist_pipeline_row *dist_pipeline_get(dist_pipeline_kind k) { return &rows[k]; }

dist_pipeline_kind dist_pipeline_named(const char *name) {
  int k = 0;
  while (k < N_PIPELINES && strcmp(rows[k].name, name)) k++;
  return (dist_pipeline_kind)k;
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

typedef struct play {
  const dist_pipeline *p;
  dist_task *order; /* by stage: its forward and backward tasks */
  double *done;     /* by kind, virtual stage and microbatch: when; INFINITY: not yet */
  int per_stage;    /* tasks in order */
} play;

/* Number k of the forward (or backward) tasks of an interleaved stage. */
static void interleaved(const dist_pipeline *p, int k, bool forward, dist_task *t) {
  const int group = p->stages * p->chunks, in = k % group;
  t->chunk = forward ? in / p->stages : p->chunks - 1 - in / p->stages;
  t->microbatch = k / group * p->stages + in % p->stages;
}

static int warm_up(const dist_pipeline *p, int stage) {
  const int n = p->microbatches * p->chunks, behind = p->stages - stage - 1;
  const int k = p->kind == PIPELINE_GPIPE         ? n
                : p->kind == PIPELINE_INTERLEAVED ? 2 * behind + (p->chunks - 1) * p->stages
                                                  : behind;
  return k < n ? k : n;
}

static void order_stage(play *x, int stage) {
  const dist_pipeline *p = x->p;
  const int n = p->microbatches * p->chunks, warm = warm_up(p, stage);
  int f = 0, b = 0;
  for (int i = 0; i < 2 * n; i++) {
    const bool forward = f < n && (f < warm || (i - warm) % 2 == 0);
    dist_task *t = &x->order[stage * x->per_stage + i];
    *t = (dist_task){.kind = forward ? TASK_FORWARD : TASK_BACKWARD, .stage = stage};
    interleaved(p, forward ? f++ : b++, forward, t);
  }
}

/* ---- playing ----------------------------------------------------------------------------------------------------- */

static double *done_at(const play *x, dist_task_kind kind, int chunk, int stage, int microbatch) {
  const int stages = x->p->stages * x->p->chunks;
  return &x->done[((size_t)kind * (size_t)stages + (size_t)(chunk * x->p->stages + stage)) *
                      (size_t)x->p->microbatches +
                  (size_t)microbatch];
}

/* When what a task needs is there; INFINITY: nobody has made it yet. */
static double ready_at(const play *x, const dist_task *t) {
  const dist_pipeline *p = x->p;
  const bool forward = t->kind == TASK_FORWARD;
  const int at = t->chunk * p->stages + t->stage, last = p->stages * p->chunks - 1;
  if (t->kind == TASK_WEIGHTS || (!forward && at == last))
    return *done_at(x, t->kind == TASK_WEIGHTS ? TASK_BACKWARD : TASK_FORWARD, t->chunk, t->stage, t->microbatch);
  if (forward && at == 0) return 0;
  const int from = forward ? at - 1 : at + 1;
  const double send = p->stages > 1 ? p->send_us : 0;
  return *done_at(x, t->kind, from / p->stages, from % p->stages, t->microbatch) + send;
}

static double length_of(const play *x, const dist_task *t) {
  const dist_pipeline *p = x->p;
  if (t->kind == TASK_FORWARD) return p->forward_us[t->stage] / p->chunks;
  return p->backward_us[t->stage] / p->chunks / (p->kind == PIPELINE_ZERO_BUBBLE ? 2 : 1);
}

typedef struct stage_state {
  int next, weights; /* of its order; weights' gradients that are done */
  int backwards;     /* backward tasks that are done: their weights may follow, in the same order */
  int live, peak;
  double free;
} stage_state;

static void finish(play *x, stage_state *s, dist_task *t, double from, dist_pipelined *out) {
  t->from = from, t->to = from + length_of(x, t);
  s->free = t->to;
  *done_at(x, t->kind, t->chunk, t->stage, t->microbatch) = t->to;
  const bool splits = x->p->kind == PIPELINE_ZERO_BUBBLE;
  s->live += t->kind == TASK_FORWARD;
  s->live -= t->kind == (splits ? TASK_WEIGHTS : TASK_BACKWARD);
  s->backwards += t->kind == TASK_BACKWARD;
  if (s->live > s->peak) s->peak = s->live;
  out->tasks[out->n_tasks++] = *t;
}

/* The weights' gradient of the stage's backward task that is longest over. */
static dist_task weights_of(const stage_state *s, int stage) {
  return (dist_task){.kind = TASK_WEIGHTS, .stage = stage, .microbatch = s->weights};
}

/* One more task of a stage, if any can be; false: none. */
static bool step(play *x, stage_state *s, int stage, dist_pipelined *out) {
  const bool splits = x->p->kind == PIPELINE_ZERO_BUBBLE, more = s->next < x->per_stage;
  dist_task *t = more ? &x->order[stage * x->per_stage + s->next] : NULL;
  const double ready = more ? ready_at(x, t) : INFINITY;
  const bool owes = splits && s->weights < s->backwards;
  /* No stage holds more than the first of 1f1b: a gradient of weights goes first where a forward would be one more. */
  const bool full = more && t->kind == TASK_FORWARD && s->live >= x->p->stages;
  if (owes && (!more || full || (isfinite(ready) && ready > s->free + 1e-12))) {
    dist_task w = weights_of(s, stage);
    s->weights++;
    finish(x, s, &w, s->free, out);
    return true;
  }
  if (!more || !isfinite(ready)) return false;
  s->next++;
  finish(x, s, t, ready > s->free ? ready : s->free, out);
  return true;
}

static tsr_status check(const dist_pipeline *p) {
  const st_where where = ST_WHERE("pipeline", rows[p->kind].name, NULL);
  if (p->stages < 1 || p->stages > PIPELINE_MOST_STAGES || p->microbatches < 1 || p->chunks < 1)
    return st_make(NULL, TSR_INVALID_ARGUMENT, where, "%d stages, %d microbatches, %d chunks", p->stages,
                   p->microbatches, p->chunks);
  if ((int64_t)p->stages * p->microbatches * p->chunks * 3 > PIPELINE_MOST_TASKS)
    return st_make(NULL, TSR_INVALID_ARGUMENT, where, "more than %d tasks", PIPELINE_MOST_TASKS);
  if (p->chunks > 1 && p->kind != PIPELINE_INTERLEAVED)
    return st_make(NULL, TSR_INVALID_ARGUMENT, where, "only interleaved stages have several chunks");
  if (p->kind == PIPELINE_INTERLEAVED && p->microbatches % p->stages)
    return st_make(NULL, TSR_INVALID_ARGUMENT, where, "%d microbatches are no multiple of %d stages", p->microbatches,
                   p->stages);
  return NULL;
}

tsr_status dist_pipeline_run(arena *a, const dist_pipeline *p, dist_pipelined *out) {
  TSR_TRY(check(p));
  const int n = p->microbatches * p->chunks, kinds = p->kind == PIPELINE_ZERO_BUBBLE ? 3 : 2;
  const size_t all = (size_t)kinds * (size_t)n * (size_t)p->stages;
  play x = {.p = p, .per_stage = 2 * n};
  *out = (dist_pipelined){0};
  x.order = arena_array(a, dist_task, (size_t)x.per_stage * (size_t)p->stages);
  x.done = arena_array(a, double, 3 * (size_t)n * (size_t)p->stages);
  stage_state *s = arena_array(a, stage_state, p->stages);
  out->tasks = arena_array(a, dist_task, all);
  if (!x.order || !x.done || !s || !out->tasks) return st_oom();
  for (size_t i = 0; i < 3 * (size_t)n * (size_t)p->stages; i++) x.done[i] = INFINITY;
  for (int i = 0; i < p->stages; i++) order_stage(&x, i);
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < p->stages; i++)
      while (step(&x, &s[i], i, out)) moved = true;
  }
  if ((size_t)out->n_tasks != all)
    return st_make(NULL, TSR_INTERNAL, ST_WHERE("pipeline", rows[p->kind].name, NULL),
                   "its stages wait for each other");
  for (int i = 0; i < p->stages; i++) {
    const double busy = (p->forward_us[i] + p->backward_us[i]) * p->microbatches;
    if (s[i].free > out->us) out->us = s[i].free;
    if (busy > out->busy_us) out->busy_us = busy;
    if (s[i].peak > out->peak_live) out->peak_live = s[i].peak;
  }
  if (out->us > 0) out->idle_share = 1 - out->busy_us / out->us;
  if (out->busy_us > 0) out->overhead = out->us / out->busy_us - 1;
  return NULL;
}
