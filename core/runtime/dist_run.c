/* core/runtime/dist_run.c - all ranks at once: a thread for each stream of a rank, which goes through its steps in
 * order and waits where the schedule says so. */
#include <string.h>

#include "core/base/clock.h"
#include "core/runtime/dist.h"

typedef struct rank_state {
  struct running *all;
  int64_t rank;
  bool *done; /* by step */
  pthread_mutex_t lock;
  pthread_cond_t changed;
} rank_state;

typedef struct running {
  dist_run run;
  rank_state *ranks;
  int64_t n_ranks, begun_ns;
  pthread_mutex_t lock; /* of the first failure */
  tsr_status first;
  bool failed;
} running;

typedef struct stream_state {
  rank_state *rank;
  int stream;
  pthread_t thread;
  bool started;
} stream_state;

static bool has_failed(running *x) { return __atomic_load_n(&x->failed, __ATOMIC_ACQUIRE); }

static void fail(running *x, tsr_status st) {
  pthread_mutex_lock(&x->lock);
  if (x->first) tsr_status_free(st);
  else x->first = st;
  __atomic_store_n(&x->failed, true, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&x->lock);
  for (int64_t r = 0; r < x->n_ranks; r++) {
    pthread_mutex_lock(&x->ranks[r].lock);
    pthread_cond_broadcast(&x->ranks[r].changed);
    pthread_mutex_unlock(&x->ranks[r].lock);
  }
}

/* False: another rank or stream has failed. */
static bool wait_for(rank_state *s, int step) {
  pthread_mutex_lock(&s->lock);
  while (!s->done[step] && !has_failed(s->all)) pthread_cond_wait(&s->changed, &s->lock);
  const bool ok = s->done[step];
  pthread_mutex_unlock(&s->lock);
  return ok;
}

static void finish(rank_state *s, int step) {
  pthread_mutex_lock(&s->lock);
  s->done[step] = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

static tsr_status compute(dist_run *r, int64_t rank, int step, int64_t *began) {
  const dist_step *x = &r->p->schedule.steps[step];
  const int device = rt_dist_device(r->p, rank);
  const dist_part *part = &r->p->parts[step * r->p->mesh->n_devices + device];
  const tsr_allocator *al = &r->p->mesh->ctx->al;
  const size_t n = (size_t)(x->n_reads + x->n_writes) + 1;
  tsr_binding *b = al_zalloc(al, n * sizeof *b);
  tsr_status st = b ? NULL : st_oom();
  for (int i = 0; i < x->n_reads && !st; i++) st = rt_dist_binding(r, rank, x->reads[i], &b[i]);
  for (int i = 0; i < x->n_writes && !st; i++) st = rt_dist_binding(r, rank, x->writes[i], &b[x->n_reads + i]);
  if (!st) {
    pthread_mutex_lock(&r->p->locks[device]);
    *began = clock_ns();
    st = tsr_program_run(part->program, part->stream, b, b + x->n_reads);
    if (!st) st = tsr_stream_sync(part->stream, -1);
    pthread_mutex_unlock(&r->p->locks[device]);
  }
  if (b) al_free_array(al, b, n);
  return st;
}

static tsr_status do_step(rank_state *s, int step) {
  dist_run *r = &s->all->run;
  tsr_dist_program *p = r->p;
  int64_t began = clock_ns();
  tsr_status st = p->schedule.steps[step].kind == DIST_COMPUTE ? compute(r, s->rank, step, &began)
                  : p->schedule.steps[step].kind == DIST_LOCAL ? rt_dist_local(r, s->rank, step)
                                                               : rt_dist_collective(r, s->rank, step);
  if (s->rank == p->mesh->first)
    p->timing[step] =
        (dist_span){(double)(began - s->all->begun_ns) * 1e-3, (double)(clock_ns() - s->all->begun_ns) * 1e-3};
  return st;
}

/* The others of its groups don't wait for a rank that has failed. */
static void leave(rank_state *s) {
  const tsr_dist_program *p = s->all->run.p;
  pthread_mutex_lock(&s->all->lock);
  for (dist_team *t = p->teams; t; t = t->next) rt_dist_team_stop(p->mesh, t, s->rank, s->all->first);
  pthread_mutex_unlock(&s->all->lock);
}

static void run_stream(stream_state *x) {
  rank_state *s = x->rank;
  const dist_schedule *q = &s->all->run.p->schedule;
  const bool one = s->all->run.p->options.no_overlap;
  bool ok = true;
  for (int i = 0; i < q->n_steps && ok; i++) {
    if (q->steps[i].stream != x->stream) continue;
    for (int k = 0; k < q->steps[i].n_waits && ok; k++) ok = wait_for(s, q->steps[i].waits[k]);
    if (!ok || (ok = !has_failed(s->all)) == false) break;
    tsr_status st = do_step(s, i);
    if (st) fail(s->all, st);
    ok = !st;
    if (ok) finish(s, i);
  }
  if (!ok && (one || x->stream == DIST_STREAM_COMM)) leave(s);
}

static void *thread_main(void *user) {
  run_stream(user);
  return NULL;
}

/* Outputs that no step writes: inputs handed on, and others that are given twice. */
static tsr_status copy_outputs(dist_run *r) {
  const dist_schedule *q = &r->p->schedule;
  for (int i = 0; i < q->n_outputs; i++) {
    const dist_slot *s = &q->slots[q->outputs[i]];
    if (s->output == i) continue;
    void *bytes = al_alloc(&r->p->mesh->ctx->al, s->bytes + 1, 64);
    if (!bytes) return st_oom();
    tsr_status st = NULL;
    for (int64_t k = r->p->mesh->first; k < r->p->mesh->end && !st; k++) {
      tsr_binding from;
      tsr_buffer *to;
      st = rt_dist_binding(r, k, q->outputs[i], &from);
      if (!st) st = tsr_dist_tensor_local(r->outputs[i], k, &to);
      if (!st) st = tsr_buffer_read(from.buffer, from.offset, bytes, s->bytes);
      if (!st) st = tsr_buffer_write(to, 0, bytes, s->bytes);
    }
    al_free(&r->p->mesh->ctx->al, bytes, s->bytes + 1, 64);
    if (st) return st;
  }
  return NULL;
}

/* Parts are allocated before the threads begin: they don't share the tensors' books. */
static tsr_status touch(const tsr_dist_program *p, tsr_dist_tensor *const *t, int n) {
  tsr_buffer *b;
  for (int i = 0; i < n; i++)
    for (int64_t r = p->mesh->first; r < p->mesh->end; r++) TSR_TRY(tsr_dist_tensor_local(t[i], r, &b));
  return NULL;
}

/* The last stream is the calling thread's: between processes the one with the collectives, since an MPI may want all
 * its calls from one thread. */
static tsr_status start_all(running *x, stream_state *streams, int per_rank) {
  const int64_t last = x->n_ranks * per_rank - 1;
  for (int64_t i = 0; i <= last; i++) {
    stream_state *s = &streams[i];
    *s = (stream_state){.rank = &x->ranks[i / per_rank], .stream = (int)(i % per_rank)};
    if (i == last) break;
    if (pthread_create(&s->thread, NULL, thread_main, s))
      return st_make(NULL, TSR_OUT_OF_MEMORY, RT_WHERE("dist_program_run", NULL), "no thread for rank %lld",
                     (long long)s->rank->rank);
    s->started = true;
  }
  run_stream(&streams[last]);
  return NULL;
}

static tsr_status run_all(tsr_dist_program *p, tsr_dist_tensor *const *in, tsr_dist_tensor *const *out) {
  const tsr_allocator *al = &p->mesh->ctx->al;
  const int per_rank = p->options.no_overlap ? 1 : DIST_STREAMS;
  const size_t n = (size_t)(p->mesh->end - p->mesh->first), steps = (size_t)p->schedule.n_steps + 1;
  running x = {.run = {p, in, out}, .n_ranks = (int64_t)n, .begun_ns = clock_ns()};
  stream_state *streams = al_zalloc(al, n * (size_t)per_rank * sizeof *streams);
  bool *done = al_zalloc(al, n * steps);
  x.ranks = al_zalloc(al, n * sizeof *x.ranks);
  tsr_status st = streams && done && x.ranks ? NULL : st_oom();
  pthread_mutex_init(&x.lock, NULL);
  for (size_t r = 0; r < n && x.ranks; r++) {
    x.ranks[r] = (rank_state){.all = &x, .rank = p->mesh->first + (int64_t)r, .done = done + r * steps};
    pthread_mutex_init(&x.ranks[r].lock, NULL);
    pthread_cond_init(&x.ranks[r].changed, NULL);
  }
  if (!st && (st = start_all(&x, streams, per_rank))) {
    fail(&x, st);
    for (size_t r = 0; r < n; r++) leave(&x.ranks[r]);
  }
  for (size_t i = 0; streams && i < n * (size_t)per_rank; i++)
    if (streams[i].started) pthread_join(streams[i].thread, NULL);
  if (x.first) st = x.first;
  for (size_t r = 0; r < n && x.ranks; r++) {
    pthread_mutex_destroy(&x.ranks[r].lock);
    pthread_cond_destroy(&x.ranks[r].changed);
  }
  pthread_mutex_destroy(&x.lock);
  if (x.ranks) al_free_array(al, x.ranks, n);
  if (done) al_free(al, done, n * steps, 16);
  if (streams) al_free_array(al, streams, n * (size_t)per_rank);
  if (!st) st = copy_outputs(&(dist_run){p, in, out});
  return st;
}

static tsr_status check(const tsr_dist_program *p, const char *what, tsr_dist_tensor *const *t, int n,
                        const ir_type *const *types, const dist_spec *specs) {
  TSR_TRY(rt_check_array("dist_program_run", what, t, n));
  for (int i = 0; i < n; i++) {
    RT_NEED("dist_program_run", "a tensor", t[i]);
    bool same = t[i]->mesh == p->mesh && t[i]->dtype == types[i]->dtype && t[i]->shape.rank == types[i]->rank &&
                dist_spec_same(&t[i]->spec, &specs[i]);
    for (int d = 0; same && d < types[i]->rank; d++) same = t[i]->shape.dims[d] == types[i]->dims[d];
    if (!same)
      return RT_BAD(p->mesh->ctx, "dist_program_run", "tsr_dist_program_input and tsr_dist_program_output make them",
                    "%s %d lies otherwise than the program's", what, i);
  }
  return NULL;
}

tsr_status tsr_dist_program_run(tsr_dist_program *p, tsr_dist_tensor *const *in, tsr_dist_tensor *const *out) {
  const char *const fn = "dist_program_run";
  RT_NEED(fn, "p", p);
  if (p->broken)
    return RT_BAD(p->mesh->ctx, fn, "compile it anew",
                  "a run of this program has failed: its ranks are no more in step");
  TSR_TRY(check(p, "input", in, p->rank.n_inputs, p->rank.whole_in, p->in));
  TSR_TRY(check(p, "output", out, p->rank.n_outputs, p->rank.whole_out, p->out));
  for (int i = 0; i < p->rank.n_outputs; i++) {
    for (int k = 0; k < p->rank.n_inputs; k++)
      if (in[k] == out[i])
        return RT_BAD(p->mesh->ctx, fn, "give it a tensor of its own", "output %d is input %d", i, k);
    for (int k = 0; k < i; k++)
      if (out[k] == out[i])
        return RT_BAD(p->mesh->ctx, fn, "give it a tensor of its own", "output %d is output %d", i, k);
  }
  TSR_TRY(touch(p, in, p->rank.n_inputs));
  TSR_TRY(touch(p, out, p->rank.n_outputs));
  tsr_status st = run_all(p, in, out);
  p->broken = st != NULL;
  p->ran = !st;
  if (p->ran) dist_overlap(&p->schedule, p->timing, p->beside);
  return st;
}
