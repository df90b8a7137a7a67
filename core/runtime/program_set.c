/* core/runtime/program_set.c - one program per list of input shapes of a graph with unknown dimensions, compiled when
 * first asked for, the least recently asked for given up first; or, where another one can serve meanwhile, by a thread
 * of the set's, one list at a time. Invariants: entries [0, n) are sorted by use, the latest first; all but a job's
 * program is the caller's thread's alone. */
#include <string.h>

#include "core/runtime/internal.h"
#include "core/tune/bucket.h"

enum { DEFAULT_MOST = 16, MOST = 1 << 16 };

typedef struct member {
  tsr_shape *shapes;
  tsr_program *program; /* NULL: it couldn't be compiled in the background */
} member;

/* What the thread works on. */
typedef struct job {
  pthread_t thread;
  bool runs; /* to be joined */
  int done;  /* atomically: the thread has nothing more to do */
  tsr_device *dev;
  const tsr_compile_options *options;
  tsr_graph *g;
  member m;
  tsr_status st;
} job;

struct tsr_program_set {
  tsr_device *dev;
  const tsr_graph *g;
  tsr_compile_options options;
  member *v;
  int n, most, n_inputs;
  job job;
  tsr_status failed; /* the first failure of a job that nobody was told */
};

tsr_status tsr_program_set_create(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o, int most,
                                  tsr_program_set **out) {
  RT_OUT("program_set_create", out);
  RT_NEED("program_set_create", "dev", dev);
  RT_NEED("program_set_create", "g", g);
  tsr_context *ctx = dev->ctx;
  TSR_TRY(rt_check_options(ctx, "program_set_create", o));
  if (most < 0 || most > MOST)
    return RT_BAD(ctx, "program_set_create", "0 means 16, 65536 is the most", "room for %d programs", most);
  tsr_program_set *s = al_new(&ctx->al, tsr_program_set);
  if (!s) return st_oom();
  *s = (tsr_program_set){.dev = dev,
                         .g = g,
                         .options = o ? *o : (tsr_compile_options){0},
                         .most = most ? most : DEFAULT_MOST,
                         .n_inputs = tsr_graph_n_inputs(g)};
  s->v = al_zalloc(&ctx->al, (size_t)s->most * sizeof *s->v);
  if (!s->v) tsr_program_set_destroy(&s);
  *out = s;
  return s ? NULL : st_oom();
}

static size_t shapes_bytes(const tsr_program_set *s) { return ((size_t)s->n_inputs + 1) * sizeof(tsr_shape); }

static bool same(const member *m, const tsr_shape *shapes, int n) {
  for (int i = 0; i < n; i++)
    if (m->shapes[i].rank != shapes[i].rank ||
        memcmp(m->shapes[i].dims, shapes[i].dims, (size_t)shapes[i].rank * sizeof shapes[i].dims[0]))
      return false;
  return true;
}

static void drop(tsr_program_set *s, member *m) {
  tsr_program_destroy(&m->program);
  al_free(&s->dev->ctx->al, m->shapes, shapes_bytes(s), 16);
  m->shapes = NULL;
}

static tsr_status copy_shapes(const tsr_program_set *s, const tsr_shape *shapes, member *m) {
  *m = (member){.shapes = al_alloc(&s->dev->ctx->al, shapes_bytes(s), 16)};
  if (m->shapes) memcpy(m->shapes, shapes, (size_t)s->n_inputs * sizeof *shapes);
  return m->shapes ? NULL : st_oom();
}

static tsr_status make(tsr_program_set *s, const tsr_shape *shapes, member *m) {
  tsr_graph *known = NULL;
  TSR_TRY(tsr_graph_specialize(s->g, shapes, s->n_inputs, &known));
  tsr_status st = copy_shapes(s, shapes, m);
  if (!st) st = tsr_program_compile(s->dev, known, &s->options, &m->program);
  tsr_graph_destroy(&known);
  if (st && m->shapes) drop(s, m);
  return st;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static int find(const tsr_program_set *s, const tsr_shape *shapes) {
  int at = 0;
  while (at < s->n && !same(&s->v[at], shapes, s->n_inputs)) at++;
  return at;
}

static tsr_program *use(tsr_program_set *s, int at) {
  const member m = s->v[at];
  memmove(&s->v[1], &s->v[0], (size_t)at * sizeof *s->v);
  s->v[0] = m;
  return m.program;
}

/* As the one used last. */
static void add(tsr_program_set *s, member m) {
  if (s->n == s->most) drop(s, &s->v[--s->n]);
  s->v[s->n] = m;
  use(s, s->n++);
}

/* Of so many elements in each input that no dimension is smaller; -1: it isn't so. */
static double covers(const member *m, const tsr_shape *shapes, int n) {
  double all = 0;
  for (int i = 0; i < n; i++) {
    double count = 1;
    if (m->shapes[i].rank != shapes[i].rank) return -1;
    for (int d = 0; d < shapes[i].rank; d++) {
      if (m->shapes[i].dims[d] < shapes[i].dims[d]) return -1;
      count *= (double)m->shapes[i].dims[d];
    }
    all += count;
  }
  return all;
}

/* The smallest one; s->n: there is none. */
static int find_covering(const tsr_program_set *s, const tsr_shape *shapes) {
  int best = s->n;
  double least = 0;
  for (int i = 0; i < s->n; i++) {
    const double size = s->v[i].program ? covers(&s->v[i], shapes, s->n_inputs) : -1;
    if (size < 0 || (best < s->n && size >= least)) continue;
    best = i, least = size;
  }
  return best;
}

/* ---- in the background ------------------------------------------------------------------------------------------- */

static void *work(void *arg) {
  job *j = arg;
  j->st = tsr_program_compile(j->dev, j->g, j->options, &j->m.program);
  __atomic_store_n(&j->done, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* The thread's program becomes one of the list. */
static void take_in(tsr_program_set *s) {
  job *j = &s->job;
  pthread_join(j->thread, NULL);
  tsr_graph_destroy(&j->g);
  add(s, j->m);
  if (s->failed) tsr_status_free(j->st);
  else s->failed = j->st;
  *j = (job){.runs = false};
}

static void take_in_finished(tsr_program_set *s) {
  if (s->job.runs && __atomic_load_n(&s->job.done, __ATOMIC_ACQUIRE)) take_in(s);
}

/* Takes *known. */
static tsr_status begin(tsr_program_set *s, const tsr_shape *shapes, tsr_graph **known) {
  job *j = &s->job;
  *j = (job){.dev = s->dev, .options = &s->options};
  TSR_TRY(copy_shapes(s, shapes, &j->m));
  j->g = *known;
  *known = NULL;
  j->runs = !pthread_create(&j->thread, NULL, work, j);
  if (j->runs) return NULL;
  tsr_graph_destroy(&j->g);
  drop(s, &j->m);
  return NULL; /* without a thread nothing is prepared, and what serves goes on doing so */
}

/* Unknown dimensions as large as their bucket's largest. */
static void round_up_shapes(const tsr_program_set *s, const tsr_shape *shapes, tsr_shape *out) {
  for (int i = 0; i < s->n_inputs; i++) {
    const tsr_shape t = tsr_graph_input_info(s->g, i).shape;
    out[i] = shapes[i];
    for (int d = 0; d < shapes[i].rank; d++)
      if (t.dims[d] == TSR_ANY_DIM) out[i].dims[d] = tune_bucket(shapes[i].dims[d]);
  }
}

/* Now, where nothing covers the shapes: their bucket, or where it can't be had the shapes themselves. */
static tsr_status make_first(tsr_program_set *s, const tsr_shape *shapes) {
  member m, large;
  TSR_TRY(copy_shapes(s, shapes, &large));
  round_up_shapes(s, shapes, large.shapes);
  tsr_status st = make(s, large.shapes, &m);
  if (st && tsr_status_code(st) != TSR_OUT_OF_MEMORY) {
    tsr_status_free(st);
    st = make(s, shapes, &m);
  }
  drop(s, &large);
  if (!st) add(s, m);
  return st;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static tsr_status check(const char *fn, const tsr_program_set *s, const tsr_shape *shapes, int n) {
  if (n != s->n_inputs) return RT_BAD(s->dev->ctx, fn, NULL, "%d shapes for %d inputs", n, s->n_inputs);
  TSR_TRY(rt_check_array(fn, "shapes", shapes, n));
  for (int i = 0; i < n; i++)
    if (shapes[i].rank < 0 || shapes[i].rank > TSR_MAX_RANK)
      return RT_BAD(s->dev->ctx, fn, NULL, "shape %d has rank %d", i, shapes[i].rank);
  return NULL;
}

tsr_status tsr_program_set_get(tsr_program_set *s, const tsr_shape *shapes, int n, tsr_program **out) {
  RT_OUT("program_set_get", out);
  RT_NEED("program_set_get", "s", s);
  TSR_TRY(check("program_set_get", s, shapes, n));
  if (s->job.runs && same(&s->job.m, shapes, n)) take_in(s);
  take_in_finished(s);
  const int at = find(s, shapes);
  if (at < s->n && s->v[at].program) return *out = use(s, at), NULL;
  member m;
  TSR_TRY(make(s, shapes, &m));
  if (at < s->n) { /* it failed before */
    drop(s, &s->v[at]);
    s->v[at] = m;
    use(s, at);
  } else add(s, m);
  *out = m.program;
  return NULL;
}

tsr_status tsr_program_set_serve(tsr_program_set *s, const tsr_shape *shapes, int n, tsr_shape *served,
                                 tsr_program **out) {
  static const char fn[] = "program_set_serve";
  tsr_graph *known = NULL;
  RT_OUT(fn, out);
  RT_NEED(fn, "s", s);
  TSR_TRY(check(fn, s, shapes, n));
  TSR_TRY(rt_check_array(fn, "served", served, n));
  take_in_finished(s);
  int at = find(s, shapes);
  const bool exact = at < s->n && s->v[at].program, failed = at < s->n && !exact;
  if (!exact) {
    TSR_TRY(tsr_graph_specialize(s->g, shapes, n, &known));
    at = find_covering(s, shapes);
    const bool none = at == s->n;
    tsr_status st = none ? make_first(s, shapes) : NULL;
    if (none) at = 0;
    if (!st && !failed && !s->job.runs && !same(&s->v[at], shapes, n)) st = begin(s, shapes, &known);
    tsr_graph_destroy(&known);
    if (st) return st;
  }
  *out = use(s, at);
  memcpy(served, s->v[0].shapes, (size_t)n * sizeof *served);
  return NULL;
}

tsr_status tsr_program_set_wait(tsr_program_set *s) {
  RT_NEED("program_set_wait", "s", s);
  if (s->job.runs) take_in(s);
  tsr_status st = s->failed;
  s->failed = NULL;
  return st;
}

int tsr_program_set_count(const tsr_program_set *s) {
  int n = 0;
  for (int i = 0; s && i < s->n; i++) n += s->v[i].program != NULL;
  return n;
}

void tsr_program_set_destroy(tsr_program_set **ps) {
  tsr_program_set *s = ps ? *ps : NULL;
  if (!s) return;
  if (s->job.runs) take_in(s);
  for (int i = 0; i < s->n; i++) drop(s, &s->v[i]);
  tsr_status_free(s->failed);
  if (s->v) al_free(&s->dev->ctx->al, s->v, (size_t)s->most * sizeof *s->v, 16);
  al_delete(&s->dev->ctx->al, s);
  *ps = NULL;
}
