/* tools/tessera/bench_coll_engine.c - see bench_coll_engine.h. Ranks are opened and closed by a thread each, since both
 * are collective. */
#include "tools/tessera/bench_coll_engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "core/base/clock.h"

typedef struct opening {
  const coll_transport *transport;
  engine_bench *b;
  int32_t rank;
  bool closes, started;
  tsr_status st;
  pthread_t thread;
} opening;

static void *open_or_close(void *arg) {
  opening *o = arg;
  if (o->closes) tsr_team_destroy(&o->b->teams[o->rank]);
  else
    o->st = tsr_team_create(
        &(tsr_team_desc){.transport = o->transport->name, .parent = o->b->parent, .parent_rank = o->rank},
        &o->b->teams[o->rank]);
  return NULL;
}

static tsr_status on_every_rank(engine_bench *b, const coll_transport *t, bool closes) {
  opening *o = calloc((size_t)b->ranks, sizeof *o);
  tsr_status st = o ? NULL : st_oom();
  for (int32_t r = b->first; r < b->end && o; r++) {
    o[r] = (opening){.transport = t, .b = b, .rank = r, .closes = closes};
    if (r + 1 == b->end) open_or_close(&o[r]);
    else if (!(o[r].started = !pthread_create(&o[r].thread, NULL, open_or_close, &o[r]))) o[r].st = st_oom();
  }
  for (int32_t r = b->first; r < b->end && o; r++) {
    if (o[r].started) pthread_join(o[r].thread, NULL);
    if (st) tsr_status_free(o[r].st);
    else st = o[r].st;
  }
  free(o);
  return st;
}

/* What mpirun, or Slurm, tells the processes that it starts. */
static bool is_launched(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (getenv(names[i])) return true;
  return false;
}

static tsr_status open_team(const char *transport, bool processes, int32_t ranks, engine_bench *b) {
  *b = (engine_bench){0};
  TSR_TRY(tsr_team_create(&(tsr_team_desc){.transport = transport, .n_ranks = processes ? 0 : (int)ranks}, &b->parent));
  const int me = tsr_team_rank(b->parent);
  b->ranks = tsr_team_size(b->parent);
  b->first = me < 0 ? 0 : me, b->end = me < 0 ? b->ranks : me + 1;
  return NULL;
}

tsr_status bench_wire_open(const coll_transport *t, int32_t ranks, engine_bench *b) {
  return open_team(t->name, t->processes, ranks, b);
}

tsr_status bench_wire_run(engine_bench *b, const coll_call *calls) {
  tsr_pending *pending[COLL_MAX_RANKS] = {NULL};
  tsr_status st = NULL;
  for (int32_t r = b->first; r < b->end; r++) {
    const coll_call *c = &calls[r];
    const tsr_coll call = {.op = (tsr_coll_op)c->op,
                           .dtype = c->dtype,
                           .redop = (tsr_redop)c->redop,
                           .count = c->count,
                           .root = c->root,
                           .algorithm = c->wire == TSR_I8 ? NULL : c->algorithm, /* its exchanges are its own */
                           .any_order = c->any_order,
                           .wire = c->op == COLL_BARRIER ? TSR_DTYPE_NONE : c->wire,
                           .in = c->in,
                           .out = c->out};
    if (b->end - b->first == 1) return tsr_team_run(b->parent, r, &call);
    tsr_status one = tsr_team_start(b->parent, r, &call, &pending[r]);
    if (st) tsr_status_free(one);
    else st = one;
  }
  for (int32_t r = b->first; r < b->end; r++) {
    tsr_status one = pending[r] ? tsr_pending_wait(&pending[r]) : NULL;
    if (st) tsr_status_free(one);
    else st = one;
  }
  return st;
}

tsr_status bench_engine_open(const coll_transport *t, int32_t ranks, engine_bench *b) {
  const bool launched = is_launched();
  TSR_TRY(open_team(launched ? "mpi" : "local", launched, ranks, b));
  b->teams = calloc((size_t)b->ranks, sizeof(tsr_team *));
  return b->teams ? on_every_rank(b, t, false) : st_oom();
}

tsr_status bench_engine_run(engine_bench *b, const coll_call *calls) {
  const coll_engine_ops *ops = b->teams[b->first]->transport->engine;
  tsr_status st = NULL;
  bool all = false;
  const int64_t end = clock_ns() + 30000 * (int64_t)1000000;
  for (int32_t r = b->first; r < b->end && !st; r++) st = ops->post(b->teams[r]->engine, &calls[r], NULL);
  while (!st && !all && clock_ns() < end) {
    if (b->end - b->first == 1) sched_yield(); /* the others may want the core */
    all = true;
    for (int32_t r = b->first; r < b->end; r++) all &= ops->progress(b->teams[r]->engine);
  }
  for (int32_t r = b->first; r < b->end && !st; r++) st = ops->wait(b->teams[r]->engine, NULL, 1);
  return st;
}

void bench_engine_close(engine_bench *b) {
  if (b->teams) tsr_status_free(on_every_rank(b, NULL, true));
  free(b->teams);
  tsr_team_destroy(&b->parent);
}
