/* core/runtime/dist_pipeline.c - see tessera/dist.h: stages that hand each other activations and gradients, in the
 * order that the planner plays through (core/dist/pipeline.h). Between two neighbours each direction has a team of its
 * own, so that what goes forward never waits for what comes back; a send is started, and waited for when its tensor is
 * written again. Of interleaved stages the first is the last one's neighbour, too. */
#include <string.h>

#include "core/dist/pipeline.h"
#include "core/runtime/dist.h"
#include "core/runtime/team_base.h"

/* A tensor at a stage's edge, and what of it is under way. */
typedef struct edge_tensor {
  tsr_dist_tensor *t;
  void **host; /* by rank of this process: staging, where the device's memory isn't the host's */
  tsr_pending **pending;
  int microbatch; /* that was sent last */
} edge_tensor;

/* A task, and which of the tensors it has: of its microbatch's input, and of the gradient that comes back. */
typedef struct stage_task {
  dist_task t;
  int kept, grad;
} stage_task;

/* To or from a neighbour. */
typedef struct channel {
  tsr_team *team; /* of two; NULL: there is no such stage */
  int rank, peer; /* in the team; a stage */
  const char *what;
} channel;

enum { SENDING = 2 }; /* tensors that are made and sent in turns */
enum { FROM_BEFORE, TO_BEFORE, FROM_NEXT, TO_NEXT, CHANNELS };

struct tsr_pipeline {
  tsr_context *ctx;
  arena arena;
  int stage, stages, microbatches, chunks, n_kept, n_grads;
  dist_pipeline_kind kind;
  dist_pipelined played;
  stage_task *tasks; /* the stage's, in order */
  int n_tasks;
  channel channels[CHANNELS];
  edge_tensor *kept, *grads, out[SENDING], grad_out[SENDING]; /* kept: n_kept, grads: n_grads */
  int sent[2]; /* forward, backward: tells which of the tensors is next */
  bool broken;
};

static const char create_fn[] = "pipeline_create", run_fn[] = "pipeline_run";

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* The lowest number that none has; -1 in `of` is free. */
static int take_slot(int *of, int owner, int *n) {
  int i = 0;
  while (i < *n && of[i] >= 0) i++;
  if (i == *n) ++*n;
  of[i] = owner;
  return i;
}

static int slot_of(const int *of, int owner) {
  int i = 0;
  while (of[i] != owner) i++;
  return i;
}

/* Which tensors a stage's tasks have: an input is kept from its forward task to its last one, a gradient from the
 * backward task to the one of the weights. */
static tsr_status take_tensors(tsr_pipeline *p) {
  const bool splits = p->kind == PIPELINE_ZERO_BUBBLE;
  const int all = p->microbatches * p->chunks;
  int *kept = arena_array(&p->arena, int, 2 * (size_t)all), *grads = kept ? kept + all : NULL;
  if (!kept) return st_oom();
  for (int i = 0; i < p->n_tasks; i++) {
    stage_task *x = &p->tasks[i];
    const int owner = x->t.chunk * p->microbatches + x->t.microbatch;
    const bool forward = x->t.kind == TASK_FORWARD, backward = x->t.kind == TASK_BACKWARD;
    x->kept = forward ? take_slot(kept, owner, &p->n_kept) : slot_of(kept, owner);
    if (backward) x->grad = take_slot(grads, owner, &p->n_grads);
    if (x->t.kind == TASK_WEIGHTS) x->grad = slot_of(grads, owner);
    if (forward || (backward && splits)) continue;
    kept[x->kept] = -1, grads[x->grad] = -1;
  }
  return NULL;
}

static tsr_status play(tsr_pipeline *p) {
  double *us = arena_array(&p->arena, double, 2 * (size_t)p->stages);
  if (!us) return st_oom();
  /* Gradients of inputs and of weights take what a forward pass does; where they aren't split the order is the same. */
  for (int i = 0; i < p->stages; i++) us[i] = 1, us[p->stages + i] = 2;
  const dist_pipeline d = {.kind = p->kind,
                           .stages = p->stages,
                           .microbatches = p->microbatches,
                           .chunks = p->chunks,
                           .forward_us = us,
                           .backward_us = us + p->stages};
  TSR_TRY(dist_pipeline_run(&p->arena, &d, &p->played));
  if (!(p->tasks = arena_array(&p->arena, stage_task, 3 * (size_t)p->microbatches * (size_t)p->chunks)))
    return st_oom();
  for (int i = 0; i < p->played.n_tasks; i++)
    if (p->played.tasks[i].stage == p->stage) p->tasks[p->n_tasks++].t = p->played.tasks[i];
  return take_tensors(p);
}

static int64_t edge_bytes(const tsr_dist_tensor *t) {
  tsr_shape local;
  if (!t) return 0;
  tsr_status st = tsr_dist_tensor_part(t, t->mesh->first, NULL, NULL, &local);
  if (st) return tsr_status_free(st), -1;
  int64_t n = (int64_t)tsr_dtype_size(t->dtype);
  for (int d = 0; d < local.rank; d++) n *= local.dims[d];
  return n;
}

/* All stages tell each other what they are. */
static tsr_status agree(const tsr_pipeline *p, const tsr_pipeline_desc *d) {
  enum { WORDS = 6 };
  const tsr_allocator *al = &p->ctx->al;
  const tsr_dist_tensor *in = d->input, *out = d->output;
  const int64_t mine[WORDS] = {p->kind,
                               p->microbatches,
                               edge_bytes(in),
                               edge_bytes(out),
                               (in ? in->mesh->end - in->mesh->first : 0) << 16 |
                                   (out ? out->mesh->end - out->mesh->first : 0),
                               p->chunks};
  const size_t n = (size_t)p->stages * WORDS;
  int64_t *all = al_zalloc(al, n * sizeof *all);
  if (!all) return st_oom();
  const tsr_coll c = {.op = TSR_COLL_ALL_GATHER, .dtype = TSR_I64, .count = (int64_t)n, .in = mine, .out = all};
  tsr_status st = tsr_team_run(d->team, p->stage, &c);
  for (int i = 1; i < p->stages + (p->chunks > 1) && !st; i++) {
    const int s = i % p->stages, before = i - 1;
    const int64_t *a = &all[before * WORDS], *b = &all[s * WORDS];
    if (a[0] != b[0] || a[1] != b[1])
      st = st_make(al, TSR_COLLECTIVE_MISMATCH, RT_WHERE(create_fn, NULL),
                   "stage %d has %lld microbatches by %s, stage %d %lld by %s", before, (long long)a[1],
                   dist_pipeline_get((dist_pipeline_kind)a[0])->name, s, (long long)b[1],
                   dist_pipeline_get((dist_pipeline_kind)b[0])->name);
    else if (a[5] != b[5])
      st = st_make(al, TSR_COLLECTIVE_MISMATCH, RT_WHERE(create_fn, NULL), "stage %d has %lld chunks, stage %d %lld",
                   before, (long long)a[5], s, (long long)b[5]);
    else if (a[3] != b[2] || (a[4] & 0xffff) != b[4] >> 16)
      st = st_make(al, TSR_COLLECTIVE_MISMATCH, RT_WHERE(create_fn, "input and output lie alike on both meshes"),
                   "stage %d sends %lld bytes a rank, of %lld ranks, stage %d takes %lld of %lld", before,
                   (long long)a[3], (long long)(a[4] & 0xffff), s, (long long)b[2], (long long)(b[4] >> 16));
  }
  al_free(al, all, n * sizeof *all, 16);
  return st;
}

/* Pairs that begin with an even stage, then with an odd one; each twice, once for what goes forward. */
static tsr_status open_channels(tsr_pipeline *p, tsr_team *team) {
  for (int parity = 0; parity < 2; parity++)
    for (int back = 0; back < 2; back++) {
      const bool first = (p->stage + parity) % 2 == 0;
      const int peer = first ? p->stage + 1 : p->stage - 1;
      const bool alone = peer < 0 || peer >= p->stages;
      channel *c = &p->channels[first ? (back ? FROM_NEXT : TO_NEXT) : (back ? TO_BEFORE : FROM_BEFORE)];
      tsr_team *pair = NULL;
      int rank;
      TSR_TRY(tsr_team_split(team, p->stage, alone ? -1 : (p->stage + parity) / 2, p->stage, &pair, &rank));
      if (!alone) *c = (channel){pair, rank, peer, back ? "the gradient" : "the activations"};
    }
  const bool first = !p->stage, last = p->stage + 1 == p->stages;
  for (int back = 0; back < 2 && p->chunks > 1; back++) { /* from the last stage to the first one's next chunk */
    channel *c = &p->channels[last ? (back ? FROM_NEXT : TO_NEXT) : (back ? TO_BEFORE : FROM_BEFORE)];
    tsr_team *pair = NULL;
    int rank;
    TSR_TRY(tsr_team_split(team, p->stage, first || last ? 0 : -1, p->stage, &pair, &rank));
    if (pair) *c = (channel){pair, rank, first ? p->stages - 1 : 0, back ? "the gradient" : "the activations"};
  }
  return NULL;
}

static tsr_status make_edge(tsr_pipeline *p, const tsr_dist_tensor *like, edge_tensor *out) {
  if (!like) return NULL;
  const size_t n = (size_t)(like->mesh->end - like->mesh->first);
  out->host = arena_array(&p->arena, void *, n);
  out->pending = arena_array(&p->arena, tsr_pending *, n);
  if (!out->host || !out->pending) return st_oom();
  return rt_dist_tensor_new(like->mesh, like->dtype, &like->shape, &like->spec, &out->t);
}

static tsr_status make_edges(tsr_pipeline *p, const tsr_pipeline_desc *d) {
  p->kept = arena_array(&p->arena, edge_tensor, p->n_kept);
  p->grads = arena_array(&p->arena, edge_tensor, p->n_grads);
  if (!p->kept || !p->grads) return st_oom();
  for (int i = 0; i < p->n_kept; i++) TSR_TRY(make_edge(p, d->input, &p->kept[i]));
  for (int i = 0; i < p->n_grads; i++) TSR_TRY(make_edge(p, d->output, &p->grads[i]));
  for (int i = 0; i < SENDING; i++) {
    TSR_TRY(make_edge(p, d->output, &p->out[i]));
    TSR_TRY(make_edge(p, d->input, &p->grad_out[i]));
  }
  return NULL;
}

static tsr_status check(const tsr_context *ctx, const tsr_pipeline_desc *d, int *stage, dist_pipeline_kind *kind) {
  RT_NEED(create_fn, "team", d->team);
  const int n = tsr_team_size(d->team), rank = tsr_team_rank(d->team);
  *stage = rank < 0 ? d->stage : rank;
  *kind = dist_pipeline_named(d->schedule ? d->schedule : "1f1b");
  if (!d->team->team || *stage < 0 || *stage >= n)
    return RT_BAD(ctx, create_fn, NULL, "stage %d of a team of %d ranks of host memory", d->stage, n);
  if (*kind == N_PIPELINES)
    return RT_BAD(ctx, create_fn, "gpipe, 1f1b, interleaved, zero_bubble", "no schedule \"%.40s\"", d->schedule);
  const bool several = *kind == PIPELINE_INTERLEAVED;
  if (d->chunks < 0 || d->chunks > 1 << 10 || (d->chunks > 1 && !several) || (several && (d->chunks < 2 || n < 2)))
    return RT_BAD(ctx, create_fn, "interleaved stages, two or more, have two or more chunks, others one",
                  "%d chunks of %d stages by %s", d->chunks, n, dist_pipeline_get(*kind)->name);
  if (d->microbatches < 0 || d->microbatches > 1 << 16)
    return RT_BAD(ctx, create_fn, NULL, "%d microbatches", d->microbatches);
  if ((several || *stage > 0) != (d->input != NULL) || (several || *stage + 1 < n) != (d->output != NULL))
    return RT_BAD(
        ctx, create_fn, "all but the first stage have an input, all but the last an output; interleaved ones have both",
        "stage %d of %d has %s input and %s output", *stage, n, d->input ? "an" : "no", d->output ? "an" : "no");
  return NULL;
}

tsr_status tsr_pipeline_create(tsr_context *ctx, const tsr_pipeline_desc *d, tsr_pipeline **out) {
  RT_OUT(create_fn, out);
  RT_NEED(create_fn, "ctx", ctx);
  RT_NEED(create_fn, "desc", d);
  int stage = 0;
  dist_pipeline_kind kind = PIPELINE_1F1B;
  TSR_TRY(check(ctx, d, &stage, &kind));
  tsr_pipeline *p = al_new(&ctx->al, tsr_pipeline);
  if (!p) return st_oom();
  *p = (tsr_pipeline){.ctx = ctx, .stage = stage, .stages = tsr_team_size(d->team), .kind = kind};
  p->microbatches = d->microbatches ? d->microbatches : 2 * p->stages;
  p->chunks = d->chunks ? d->chunks : 1;
  arena_init(&p->arena, &ctx->al);
  tsr_status st = play(p);
  if (!st) st = make_edges(p, d);
  if (!st) st = agree(p, d);
  if (!st) st = open_channels(p, d->team);
  if (st) tsr_pipeline_destroy(&p);
  *out = p;
  return st;
}

static void drop_edge(tsr_pipeline *p, edge_tensor *e) {
  if (!e->t) return;
  const size_t bytes = (size_t)edge_bytes(e->t) + 1;
  for (int64_t r = 0; r < e->t->mesh->end - e->t->mesh->first; r++)
    if (e->host[r]) al_free(&p->ctx->al, e->host[r], bytes, 64);
  tsr_dist_tensor_destroy(&e->t);
}

void tsr_pipeline_destroy(tsr_pipeline **pp) {
  tsr_pipeline *p = pp ? *pp : NULL;
  if (!p) return;
  for (int i = 0; i < CHANNELS; i++) tsr_team_destroy(&p->channels[i].team);
  for (int i = 0; i < p->n_kept && p->kept; i++) drop_edge(p, &p->kept[i]);
  for (int i = 0; i < SENDING; i++) drop_edge(p, &p->out[i]), drop_edge(p, &p->grad_out[i]);
  for (int i = 0; i < p->n_grads && p->grads; i++) drop_edge(p, &p->grads[i]);
  arena_clear(&p->arena);
  const tsr_allocator al = p->ctx->al;
  al_delete(&al, p);
  *pp = NULL;
}

/* ---- what goes between stages ------------------------------------------------------------------------------------ */

static tsr_status told(const tsr_pipeline *p, const channel *c, const char *way, int microbatch, tsr_status st) {
  if (!st || tsr_status_code(st) == TSR_OUT_OF_MEMORY) return st;
  tsr_status more = st_make(&p->ctx->al, tsr_status_code(st), RT_WHERE(run_fn, NULL),
                            "stage %d, %s of microbatch %d %s "
                            "stage %d: %s",
                            p->stage, c->what, microbatch, way, c->peer, tsr_status_cause(st));
  tsr_status_free(st);
  return more;
}

/* Where the host has a part: the buffer's own memory, or staging. */
static tsr_status memory_of(tsr_pipeline *p, edge_tensor *e, int64_t r, tsr_buffer **b, void **out) {
  TSR_TRY(tsr_dist_tensor_local(e->t, e->t->mesh->first + r, b));
  if ((*out = tsr_buffer_map(*b))) return NULL;
  if (!e->host[r]) e->host[r] = al_alloc(&p->ctx->al, tsr_buffer_bytes(*b) + 1, 64);
  return (*out = e->host[r]) ? NULL : st_oom();
}

static tsr_coll message(const channel *c, bool from_here, void *data, size_t bytes) {
  return (tsr_coll){.op = TSR_COLL_BROADCAST,
                    .dtype = TSR_U8,
                    .count = (int64_t)bytes,
                    .root = from_here ? c->rank : !c->rank,
                    .in = data,
                    .out = data};
}

/* Until nothing of it is under way. */
static tsr_status settle(edge_tensor *e) {
  tsr_status first = NULL;
  for (int64_t r = 0; e->t && r < e->t->mesh->end - e->t->mesh->first; r++) {
    tsr_status st = e->pending[r] ? tsr_pending_wait(&e->pending[r]) : NULL;
    if (first) tsr_status_free(st);
    else first = st;
  }
  return first;
}

static tsr_status start_send(tsr_pipeline *p, const channel *c, edge_tensor *e) {
  for (int64_t r = 0; r < e->t->mesh->end - e->t->mesh->first; r++) {
    tsr_buffer *b;
    void *data;
    TSR_TRY(memory_of(p, e, r, &b, &data));
    if (data == e->host[r]) TSR_TRY(tsr_buffer_read(b, 0, data, tsr_buffer_bytes(b)));
    const tsr_coll m = message(c, true, data, tsr_buffer_bytes(b));
    TSR_TRY(tsr_team_start(c->team, c->rank, &m, &e->pending[r]));
  }
  return NULL;
}

static tsr_status receive(tsr_pipeline *p, const channel *c, edge_tensor *e) {
  for (int64_t r = 0; r < e->t->mesh->end - e->t->mesh->first; r++) {
    tsr_buffer *b;
    void *data;
    TSR_TRY(memory_of(p, e, r, &b, &data));
    const tsr_coll m = message(c, false, data, tsr_buffer_bytes(b));
    TSR_TRY(tsr_team_run(c->team, c->rank, &m));
    if (data == e->host[r]) TSR_TRY(tsr_buffer_write(b, 0, data, tsr_buffer_bytes(b)));
  }
  return NULL;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static tsr_status do_task(tsr_pipeline *p, const stage_task *x, tsr_pipeline_work work, void *user) {
  static const tsr_pipeline_task tasks[] = {[TASK_FORWARD] = TSR_PIPELINE_FORWARD,
                                            [TASK_BACKWARD] = TSR_PIPELINE_BACKWARD,
                                            [TASK_WEIGHTS] = TSR_PIPELINE_WEIGHTS};
  const dist_task *t = &x->t;
  const bool forward = t->kind == TASK_FORWARD, sends = t->kind != TASK_WEIGHTS;
  const int at = t->chunk * p->stages + t->stage, end = p->stages * p->chunks - 1; /* in the row of all chunks */
  edge_tensor *kept = at > 0 ? &p->kept[x->kept] : NULL, *in = forward ? kept : at < end ? &p->grads[x->grad] : NULL;
  edge_tensor *out = &(forward ? p->out : p->grad_out)[p->sent[!forward] % SENDING];
  const channel *from = &p->channels[forward ? FROM_BEFORE : FROM_NEXT],
                *to = &p->channels[forward ? TO_NEXT : TO_BEFORE];
  if (!sends || (forward ? at == end : at == 0)) out = NULL;
  if (in && sends) TSR_TRY(told(p, from, "from", t->microbatch, receive(p, from, in)));
  if (out) TSR_TRY(told(p, to, "to", out->microbatch, settle(out)));
  const tsr_pipeline_step step = {.task = tasks[t->kind],
                                  .microbatch = t->microbatch,
                                  .chunk = t->chunk,
                                  .in = in ? in->t : NULL,
                                  .out = out ? out->t : NULL,
                                  .kept = forward || !kept ? NULL : kept->t};
  TSR_TRY(work(user, &step));
  if (!out) return NULL;
  p->sent[!forward]++;
  out->microbatch = t->microbatch;
  return told(p, to, "to", t->microbatch, start_send(p, to, out));
}

static tsr_status settle_all(tsr_pipeline *p, tsr_status st) {
  for (int i = 0; i < 2 * SENDING; i++) {
    edge_tensor *e = i < SENDING ? &p->out[i] : &p->grad_out[i - SENDING];
    tsr_status one = settle(e);
    if (st) tsr_status_free(one);
    else st = told(p, &p->channels[i < SENDING ? TO_NEXT : TO_BEFORE], "to", e->microbatch, one);
  }
  return st;
}

tsr_status tsr_pipeline_run(tsr_pipeline *p, tsr_pipeline_work work, void *user) {
  RT_NEED(run_fn, "p", p);
  RT_NEED(run_fn, "work", work);
  if (p->broken) return RT_BAD(p->ctx, run_fn, "make it anew", "a run of this pipeline has failed");
  tsr_status st = NULL;
  for (int i = 0; i < p->n_tasks && !st; i++) st = do_task(p, &p->tasks[i], work, user);
  for (int i = 0; i < CHANNELS && st; i++) /* the neighbours don't wait for their deadlines */
    if (p->channels[i].team) coll_team_abort(p->channels[i].team->team, tsr_status_code(st), tsr_status_cause(st));
  st = settle_all(p, st);
  p->broken = st != NULL;
  return st;
}

int tsr_pipeline_microbatches(const tsr_pipeline *p) { return p ? p->microbatches : 0; }

tsr_status tsr_pipeline_explain(const tsr_pipeline *p, char **text) {
  RT_OUT("pipeline_explain", text);
  RT_NEED("pipeline_explain", "p", p);
  strb b;
  strb_init(&b, &p->ctx->al);
  strb_printf(&b,
              "%s, stage %d of %d, %d microbatches%s: at most %d at once, idle %.1f %% of the time where all take the "
              "same\n",
              dist_pipeline_get(p->kind)->name, p->stage, p->stages, p->microbatches,
              p->chunks > 1 ? " of several chunks" : "", p->n_kept, 100 * p->played.idle_share);
  if (p->microbatches < p->stages)
    strb_printf(&b, "warning: fewer microbatches (%d) than stages (%d); twice as many as stages are the default\n",
                p->microbatches, p->stages);
  return rt_text(p->ctx, &b, text);
}
