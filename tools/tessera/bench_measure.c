/* tools/tessera/bench_measure.c - one case: its work compiled and checked against the reference, then ours and the
 * peers in turns on operand sets that rotate through more memory than the caches hold. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/dtype.h"
#include "core/base/sample.h"
#include "core/base/status.h"
#include "core/passes/schedule/kernel.h"
#include "tools/tessera/bench_work.h"

enum { MAX_SETS = 128, MAX_REPS = 64, SAMPLES = 96 };
enum { UNTUNED, TABLE, WITHOUT, N_RIVALS = WITHOUT + BENCH_MOST_WITHOUT };

typedef struct measure {
  const bench_case *c;
  const bench_options *o;
  bench_work w;
  tsr_graph *reference; /* what the result is held against: w.g, or the types that a precision mode gives it */
  tsr_program *p;
  tsr_program *rival[N_RIVALS]; /* the same work without tuning, with the tile of the default table, without single
                                   switches; or NULL */
  int n_sets;
  tsr_binding in[MAX_SETS][OP_GRAPH_OPERANDS], out[MAX_SETS]; /* of the same operands */
  peer_job *jobs[8];
  bench_timer timer;
  bool by_events;
} measure;

/* ---- buffers and check ----------------------------------------------------------------------------------------- */

static int inputs_of(const measure *m) { return tsr_program_n_inputs(m->p); }

/* Which host operand an input of the program is: constants are no inputs. */
static int operand_of(const measure *m, int input) { return m->c->packed_b && input >= 1 ? input + 1 : input; }

static tsr_status make_sets(measure *m) {
  size_t set = tsr_program_output(m->p, 0).bytes;
  for (int i = 0; i < m->w.n_in; i++) set += m->w.bytes[i];
  size_t want = (size_t)192 << 20, most = (size_t)1500 << 20;
  m->n_sets = (int)(want / (set + 1)) + 2;
  if ((size_t)m->n_sets * set > most) m->n_sets = (int)(most / set);
  if (m->n_sets < 1) m->n_sets = 1;
  if (m->n_sets > MAX_SETS) m->n_sets = MAX_SETS;
  size_t out_bytes = tsr_program_output(m->p, 0).bytes;
  void *zeros = calloc(1, out_bytes + 1); /* written once, so that no timed run meets a page for the first time */
  tsr_status st = zeros ? NULL : st_oom();
  for (int s = 0; !st && s < m->n_sets; s++) {
    for (int i = 0; i < inputs_of(m) && !st; i++) {
      int k = operand_of(m, i);
      st = tsr_buffer_create(m->o->dev, m->w.bytes[k], TSR_MEMORY_DEVICE, &m->in[s][i].buffer);
      if (!st) st = tsr_buffer_write(m->in[s][i].buffer, 0, m->w.data[k], m->w.bytes[k]);
    }
    if (!st) st = tsr_buffer_create(m->o->dev, out_bytes, TSR_MEMORY_DEVICE, &m->out[s].buffer);
    if (!st) st = tsr_buffer_write(m->out[s].buffer, 0, zeros, out_bytes);
  }
  free(zeros);
  return st;
}

static tsr_status wait_for_device(measure *m) {
  tsr_event *e = NULL;
  tsr_status st = tsr_event_create(m->o->dev, &e);
  if (!st) st = tsr_event_record(e, NULL);
  if (!st) st = tsr_event_sync(e);
  tsr_event_destroy(&e);
  return st;
}

static tsr_status check(measure *m, bench_result *r) {
  tsr_tensor_info t = tsr_program_output(m->p, 0);
  int64_t n = (int64_t)cli_count(&t.shape) * dtype_parts(t.dtype), at[SAMPLES];
  int samples = n < SAMPLES ? (int)n : SAMPLES;
  for (int i = 0; i < samples; i++) at[i] = samples == n ? i : (int64_t)((double)i / (samples - 1) * (double)(n - 1));
  double want[SAMPLES], tolerance[SAMPLES];
  const void *inputs[OP_GRAPH_OPERANDS];
  for (int i = 0; i < inputs_of(m); i++) inputs[i] = m->w.data[operand_of(m, i)];
  void *got = malloc(t.bytes + 8);
  if (!got) return NULL;
  tsr_status st = tsr_program_run(m->p, NULL, m->in[0], &m->out[0]);
  if (!st) st = wait_for_device(m);
  if (!st) st = tsr_buffer_read(m->out[0].buffer, 0, got, t.bytes);
  if (!st) st = tsr_graph_reference_at(m->reference ? m->reference : m->w.g, inputs, 0, at, samples, want, tolerance);
  r->ok = !st;
  for (int i = 0; i < samples && !st; i++) {
    double have = dtype_load(t.dtype, got, (size_t)at[i]), e = fabs(have - want[i]);
    if (have == want[i] || (isnan(have) && isnan(want[i]))) e = 0;
    if (isnan(e)) e = INFINITY; /* NaN on one side, or infinities of two signs */
    if (!(e <= tolerance[i])) r->ok = false;
    /* The element that comes closest to its tolerance stands for all. */
    if (i == 0 || !(e / (tolerance[i] + 1e-300) <= r->error / (r->tolerance + 1e-300))) {
      r->error = e;
      r->tolerance = tolerance[i];
    }
  }
  free(got);
  return st;
}

/* ---- peers ----------------------------------------------------------------------------------------------------- */

static bool peer_op_of(const bench_case *c, peer_op *out) {
  return peer_op_named(bench_is_matmul(c) ? "matmul" : c->op, out);
}

/* Said after the peer's name; where to get a missing one is the message's own. */
static void say_why(char *out, size_t n, const char *name, tsr_status st) {
  const char *why = tsr_status_code(st) == TSR_UNSUPPORTED ? tsr_status_cause(st) : tsr_status_message(st);
  size_t len = strlen(name);
  bool named = !strncmp(why, name, len) && why[len] == ':';
  snprintf(out, n, "%s", named ? why + len + 2 : why);
}

static void open_peers(measure *m, bench_result *r) {
  const tsr_device_info *info = tsr_device_get_info(m->o->dev);
  for (int i = 0; i < m->o->n_peers; i++) {
    const peer *p = m->o->peers[i];
    r->peers[i].name = peer_name(p);
    r->peers[i].why[0] = 0;
    r->n_peers = i + 1;
    peer_desc d = {.dtype = m->c->dtype,
                   .batch = m->c->batch,
                   .m = m->c->m,
                   .n = m->c->n,
                   .k = m->c->k,
                   .packed_b = m->c->packed_b,
                   .n_sets = m->n_sets,
                   .device = strcmp(info->backend, "cpu") ? info->backend : "cpu",
                   .index = strchr(info->id, ':') ? atoi(strchr(info->id, ':') + 1) : 0};
    tsr_status st = peer_available(p);
    if (!st && !peer_op_of(m->c, &d.op)) {
      snprintf(r->peers[i].why, sizeof r->peers[i].why, "no such operation here");
      continue;
    }
    if (!st) st = peer_create(p, &d, &m->jobs[i]);
    for (int s = 0; s < m->n_sets && !st; s++)
      for (int k = 0; k < 2 && k < m->w.n_in && !st; k++) st = peer_write(m->jobs[i], s, k, m->w.data[k]);
    if (st) {
      say_why(r->peers[i].why, sizeof r->peers[i].why, peer_name(p), st);
      tsr_status_free(st);
      peer_destroy(&m->jobs[i]);
    }
  }
}

/* By events where the device is one and every peer has some too: then nobody's launches or waits on the host are
 * counted. */
static tsr_status choose_clock(measure *m, bench_result *r) {
  const tsr_device_info *d = tsr_device_get_info(m->o->dev);
  r->by_events = !d->software && strcmp(d->backend, "cpu") != 0;
  for (int i = 0; i < r->n_peers; i++) r->by_events &= !m->jobs[i] || peer_has_clock(m->jobs[i]);
  m->by_events = r->by_events;
  return r->by_events ? bench_timer_create(m->o->dev, &m->timer) : NULL;
}

/* ---- timing ---------------------------------------------------------------------------------------------------- */

static tsr_status program_runs(measure *m, tsr_program *p, int *set, int inner, double *us) {
  int64_t from = clock_ns();
  if (m->by_events) TSR_TRY(bench_timer_start(&m->timer));
  for (int i = 0; i < inner; i++) {
    int s = (*set)++ % m->n_sets;
    TSR_TRY(tsr_program_run(p, NULL, m->in[s], &m->out[s]));
  }
  if (m->by_events) {
    TSR_TRY(bench_timer_stop(&m->timer, us));
  } else {
    TSR_TRY(wait_for_device(m));
    *us = clock_us_since(from);
  }
  *us /= inner;
  return NULL;
}

static tsr_status ours(measure *m, int *set, int inner, double *us) { return program_runs(m, m->p, set, inner, us); }

static tsr_status theirs(const measure *m, int i, int *set, int inner, double *us) {
  peer_job *j = m->jobs[i];
  int64_t from = clock_ns();
  if (m->by_events) TSR_TRY(peer_clock_start(j));
  for (int k = 0; k < inner; k++) TSR_TRY(peer_run(j, (*set)++ % m->n_sets));
  if (m->by_events) {
    TSR_TRY(peer_clock_stop(j, us));
  } else {
    TSR_TRY(peer_wait(j));
    *us = clock_us_since(from);
  }
  *us /= inner;
  return NULL;
}

/* Short calls are timed with the threads awake. */
static tsr_status wake(measure *m, int who, int *set, double last_us) {
  double us;
  bench_settle();
  if (last_us > 5000) return NULL;
  return who ? theirs(m, who - 1, set, 1, &us) : ours(m, set, 1, &us);
}

static int inner_for(double us) { return us > 1000 ? 1 : (int)(1000 / (us + 0.5)) + 1; }

/* GPUs change their clocks under load: 500 launches of each, or 20 seconds of them, before anything is timed. */
static tsr_status heat(measure *m, const bench_result *r, int *set) {
  const tsr_device_info *d = tsr_device_get_info(m->o->dev);
  double us;
  if (d->software || !strcmp(d->backend, "cpu")) return NULL;
  int64_t start = clock_ns();
  for (int n = 0; n < 500 && clock_us_since(start) < 2e7; n += 50) TSR_TRY(ours(m, &set[0], 50, &us));
  for (int i = 0; i < r->n_peers; i++) {
    start = clock_ns();
    for (int n = 0; m->jobs[i] && n < 500 && clock_us_since(start) < 2e7; n += 50)
      TSR_TRY(theirs(m, i, &set[1 + i], 50, &us));
  }
  return NULL;
}

/* Clocks and power in the midst of some tenth of a second of work. */
static tsr_status read_clocks(measure *m, bench_result *r, int *set, double us) {
  int n = us > 1e5 ? 1 : us < 100 ? 1000 : (int)(1e5 / us);
  if (!m->by_events) return NULL;
  for (int i = 0; i < n; i++) {
    int s = (*set)++ % m->n_sets;
    TSR_TRY(tsr_program_run(m->p, NULL, m->in[s], &m->out[s]));
    if (i == n / 2) r->clocks = bench_read_clocks(tsr_device_get_info(m->o->dev));
  }
  return wait_for_device(m);
}

static tsr_status time_all(measure *m, bench_result *r) {
  static const int warm = 2;
  double t[9][MAX_REPS], rivals[N_RIVALS][MAX_REPS], last[9], us;
  int set[9] = {0}, inner[9] = {0}, reps = 0;
  for (int w = 0; w < warm; w++) {
    bench_place_hold_caller(m->o->place, w > 0); /* threads inherit their creator's cores: they're all there by now */
    bench_settle();
    TSR_TRY(ours(m, &set[0], 1, &us));
    bench_place_new_threads(m->o->place);
    last[0] = us;
    inner[0] = inner_for(us);
    for (int i = 0; i < N_RIVALS; i++)
      if (m->rival[i]) TSR_TRY(program_runs(m, m->rival[i], &set[0], 1, &us));
    for (int i = 0; i < r->n_peers; i++) {
      if (!m->jobs[i]) continue;
      bench_settle();
      TSR_TRY(theirs(m, i, &set[1 + i], 1, &us));
      bench_place_new_threads(m->o->place);
      last[1 + i] = us;
      inner[1 + i] = inner_for(us);
    }
  }
  TSR_TRY(heat(m, r, set));
  int64_t start = clock_ns();
  while (reps < MAX_REPS && (reps < 7 || clock_us_since(start) < m->o->seconds * 1e6) &&
         (reps < 3 || clock_us_since(start) < 4 * m->o->seconds * 1e6)) {
    TSR_TRY(wake(m, 0, &set[0], last[0]));
    TSR_TRY(ours(m, &set[0], inner[0], &t[0][reps]));
    for (int i = 0; i < N_RIVALS; i++)
      if (m->rival[i]) TSR_TRY(program_runs(m, m->rival[i], &set[0], inner[0], &rivals[i][reps]));
    for (int i = 0; i < r->n_peers; i++) {
      if (!m->jobs[i]) continue;
      TSR_TRY(wake(m, 1 + i, &set[1 + i], last[1 + i]));
      TSR_TRY(theirs(m, i, &set[1 + i], inner[1 + i], &t[1 + i][reps]));
    }
    reps++;
  }
  for (int i = 0; i <= r->n_peers; i++) {
    if (i && !m->jobs[i - 1]) continue;
    sample_sort(t[i], (size_t)reps);
    if (i) r->peers[i - 1].median_us = t[i][reps / 2];
  }
  r->median_us = t[0][reps / 2];
  for (int i = 0; i < N_RIVALS; i++) {
    if (!m->rival[i]) continue;
    sample_sort(rivals[i], (size_t)reps);
    *(i == UNTUNED ? &r->default_us
      : i == TABLE ? &r->table_us
                   : &r->without[i - WITHOUT].median_us) = rivals[i][reps / 2];
  }
  r->min_us = t[0][0];
  return read_clocks(m, r, &set[0], r->median_us);
}

static void close_all(measure *m) {
  tsr_graph_destroy(&m->reference);
  for (int i = 0; i < 8; i++) peer_destroy(&m->jobs[i]);
  for (int s = 0; s < m->n_sets; s++) {
    for (int i = 0; i < OP_GRAPH_OPERANDS; i++) tsr_buffer_destroy(&m->in[s][i].buffer);
    tsr_buffer_destroy(&m->out[s].buffer);
  }
  bench_timer_destroy(&m->timer);
  for (int i = 0; i < N_RIVALS; i++) tsr_program_destroy(&m->rival[i]);
  tsr_program_destroy(&m->p);
  bench_work_clear(&m->w);
}

/* Before any operand exists: loading may fork to try a library's kernels, after which each page of ours costs a fault
 * to write again. */
static void load_peers(const bench_options *o) {
  for (int i = 0; i < o->n_peers; i++)
    tsr_status_free(peer_available(o->peers[i])); /* the reason is given by open_peers */
}

static void tile_text(const tsr_program *p, char out[64]) {
  tsr_kernel_info k = tsr_program_n_kernels(p) ? tsr_program_kernel(p, 0) : (tsr_kernel_info){0};
  snprintf(out, 64, "%lldx%lldx%lld", (long long)k.tile[0], (long long)k.tile[1], (long long)k.tile[2]);
}

static int64_t fit(int64_t tile, int64_t extent) {
  while (tile > 16 && tile / 2 >= extent) tile /= 2;
  return tile;
}

/* The tile of the table in docs/tuning.md, no larger than the problem and what the device allows. */
static tsr_status compile_table(measure *m, const tsr_compile_options *untuned) {
  const bench_case *c = m->c;
  sched_params p;
  if (!bench_is_matmul(c) || !sched_recommended("gemm", c->dtype, &p)) return NULL;
  tsr_schedule s = {.m = fit(p.m, c->m), .n = fit(p.n, c->n), .k = fit(p.k, c->k)};
  tsr_compile_options o = *untuned;
  o.schedules = &s, o.n_schedules = 1;
  return tsr_program_compile(m->o->dev, m->w.g, &o, &m->rival[TABLE]);
}

static tsr_status compile_without(measure *m, const tsr_compile_options *as_ours, bench_result *r) {
  tsr_compile_options o = *as_ours;
  for (const char *list = m->o->without; list && *list && r->n_without < BENCH_MOST_WITHOUT; r->n_without++) {
    size_t n = strcspn(list, ",");
    snprintf(r->without[r->n_without].name, sizeof r->without[0].name, "%.*s", (int)n, list);
    list += n + (list[n] == ',');
    o.disable = r->without[r->n_without].name;
    TSR_TRY(tsr_program_compile(m->o->dev, m->w.g, &o, &m->rival[WITHOUT + r->n_without]));
  }
  return NULL;
}

/* A precision mode's types are part of the question: its own arithmetic is checked, not what it gives up. */
static tsr_status read_reference(tsr_context *ctx, measure *m, tsr_compile_options co) {
  tsr_program *p = NULL;
  char *text = NULL;
  if (co.precision == TSR_PRECISION_STANDARD || co.precision == TSR_PRECISION_DETERMINISTIC) return NULL;
  co.keep_after = "precision";
  co.tune = TSR_TUNE_OFF;
  tsr_status st = tsr_program_compile(m->o->dev, m->w.g, &co, &p);
  if (!st) st = tsr_program_dump_after(p, &text);
  if (!st) st = tsr_graph_parse(ctx, text, strlen(text), "the program after the pass precision", &m->reference);
  tsr_text_free(ctx, &text);
  tsr_program_destroy(&p);
  return st;
}

tsr_status bench_measure(tsr_context *ctx, const bench_case *c, const bench_options *o, bench_result *r) {
  *r = (bench_result){0};
  measure *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->c = c;
  m->o = o;
  load_peers(o);
  tsr_status st = bench_work_build(ctx, c, o->seed, &m->w);
  tsr_compile_options co = {.policy = o->policy, .precision = o->precision, .tune = o->tune};
  if (!st) st = tsr_program_compile(o->dev, m->w.g, &co, &m->p);
  if (!st) st = read_reference(ctx, m, co);
  if (!st) st = compile_without(m, &co, r);
  co.tune = TSR_TUNE_OFF;
  bool compare = o->tune == TSR_TUNE_CACHED || o->tune == TSR_TUNE_FULL;
  if (!st && compare) st = tsr_program_compile(o->dev, m->w.g, &co, &m->rival[UNTUNED]);
  if (!st && compare) st = compile_table(m, &co);
  if (!st) {
    tile_text(m->p, r->tile);
    if (m->rival[TABLE]) tile_text(m->rival[TABLE], r->table_tile);
    st = make_sets(m);
  }
  if (!st) st = check(m, r);
  if (!st) {
    open_peers(m, r);
    st = choose_clock(m, r);
    if (!st) st = time_all(m, r);
    bench_place_hold_caller(o->place, false);
  }
  close_all(m);
  free(m);
  return st;
}
