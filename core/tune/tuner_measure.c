/* core/tune/tuner_measure.c - see tuner_measure.h; and whole spaces, for records. */
#include "core/tune/tuner_measure.h"

enum { MAX_TOGETHER = 8 };
static const double CALM = 1.5; /* a median within this of the least run: the machine had time for us */

bool tuner_ends(tsr_code c) { return c == TSR_DEVICE_LOST || c == TSR_OUT_OF_MEMORY || c == TSR_CANCELLED; }

typedef struct runnable {
  const tune_target *target;
  void *kernel;
} runnable;

static tsr_status run_kernel(void *user, double *ns) {
  runnable *r = user;
  return r->target->run(r->target->user, r->kernel, ns);
}

void *tuner_prepare(tuner_session *s, const tune_config *c, tsr_status *st) {
  const tune_target *t = s->d->target;
  void *kernel = NULL;
  *st = t->prepare(t->user, c, &kernel);
  if (*st && !tuner_ends(tsr_status_code(*st))) {
    tsr_status_free(*st);
    *st = NULL;
    kernel = NULL;
  }
  return *st ? NULL : kernel;
}

/* Many times the best is no contender: one warm run is figure enough. Short ones are run to the end. */
static double give_up_after(const tuner_session *s) {
  static const double least_ns = 5e6;
  const double times = s->least ? 50 : 8; /* a record should hold a figure of its own for all but the hopeless */
  double best = s->best_ns > 0 ? s->best_ns : s->reference_ns;
  if (!(best > 0)) return 0;
  return times * best > least_ns ? times * best : least_ns;
}

/* Times r[0..n) interleaved; with a reference (the last), again when the machine was busy: a median far over the least
 * run says so. */
static tsr_status time_calmly(tuner_session *s, runnable *r, size_t n, bool with_reference, timing_result *res) {
  enum { TRIES = 3 };
  timing_subject subject[MAX_TOGETHER + 1];
  timing_options timing = s->d->timing;
  if (!(timing.give_up_ns > 0)) timing.give_up_ns = give_up_after(s);
  if (n > 2 && !s->least && !(timing.most_seconds > 0))
    timing.most_seconds = 1; /* the play-off decides what everyone gets from then on */
  for (size_t i = 0; i < n; i++) subject[i] = (timing_subject){run_kernel, &r[i], with_reference && i == n - 1};
  for (int attempt = 0; attempt < TRIES; attempt++) {
    TSR_TRY(timing_interleaved(s->d->al, subject, n, &timing, res));
    bool failed = false;
    for (size_t i = 0; i < n; i++) failed |= res[i].failure != NULL;
    if (failed || !with_reference || res[n - 1].median_ns <= CALM * res[n - 1].min_ns) break;
  }
  return NULL;
}

/* What figures of this batch are multiplied by, so that they compare with those of other batches. In a busy moment the
 * reference says little. */
static double scale_of(tuner_session *s, const timing_result *ref) {
  double ns = s->least ? ref->min_ns : ref->median_ns;
  if (!(ns > 0)) return 1;
  if (!(s->reference_ns > 0)) s->reference_ns = ns;
  double scale = s->reference_ns / ns;
  if (s->least || ref->median_ns <= CALM * ref->min_ns) return scale;
  return scale < 0.5 ? 0.5 : scale > 2 ? 2 : scale;
}

/* Times the kernels that could be prepared, with the reference among them, and scales by how the reference fared. */
static tsr_status time_together(tuner_session *s, void **kernels, size_t n, search_result *out) {
  const tune_target *t = s->d->target;
  runnable r[MAX_TOGETHER + 1];
  timing_result res[MAX_TOGETHER + 1];
  size_t at[MAX_TOGETHER + 1], n_run = 0;
  bool with_reference = s->reference != NULL;
  for (size_t i = 0; i < n; i++) {
    out[i] = (search_result){0, SAMPLE_FAILED};
    if (!kernels[i]) continue;
    at[n_run] = i;
    r[n_run++] = (runnable){t, kernels[i]};
  }
  if (!n_run) return NULL;
  if (with_reference) r[n_run++] = (runnable){t, s->reference};
  TSR_TRY(time_calmly(s, r, n_run, with_reference, res));
  tsr_status st = NULL;
  double scale = with_reference && !res[n_run - 1].failure ? scale_of(s, &res[n_run - 1]) : 1;
  for (size_t i = 0; i < n_run; i++) {
    if (res[i].failure && !st && tuner_ends(tsr_status_code(res[i].failure))) st = res[i].failure;
    else tsr_status_free(res[i].failure);
    if (with_reference && i == n_run - 1) break;
    double ns = s->least ? res[i].min_ns : res[i].median_ns;
    if (res[i].failure || !(ns > 0)) continue;
    out[at[i]] = (search_result){ns * scale, SAMPLE_OK, with_reference ? res[i].beats_last : 0};
    if (!(s->best_ns > 0) || ns * scale < s->best_ns) s->best_ns = ns * scale;
  }
  return st;
}

tsr_status tuner_measure(void *user, const tune_space *sp, const space_point *points, size_t n, search_result *out) {
  tuner_session *s = user;
  const tune_target *t = s->d->target;
  void *kernels[MAX_TOGETHER] = {NULL};
  tsr_status st = NULL;
  if (n > MAX_TOGETHER) n = MAX_TOGETHER;
  for (size_t i = 0; i < n && !st; i++) {
    tune_config c = space_config(sp, &points[i]);
    kernels[i] = tuner_prepare(s, &c, &st);
  }
  s->last_registers = kernels[0] && t->registers ? t->registers(t->user, kernels[0]) : -1;
  if (!st) st = time_together(s, kernels, n, out);
  for (size_t i = 0; i < n; i++)
    if (kernels[i]) t->release(t->user, kernels[i]);
  return st;
}

/* Points in blocks whose runs are interleaved with the default's. */
static tsr_status measure_blocks(tuner_session *s, const space_point *points, size_t n, record *out) {
  enum { TOGETHER = 4 };
  tsr_status st = NULL;
  for (size_t i = 0; i < n && !st; i += TOGETHER) {
    search_result res[TOGETHER];
    size_t block = n - i < TOGETHER ? n - i : TOGETHER;
    st = tuner_measure(s, s->d->space, points + i, block, res);
    for (size_t j = 0; j < block && !st; j++) st = record_add(out, &points[i + j], &res[j]);
  }
  return st;
}

/* The fastest `want` recorded points, by selection; returns their number. */
static size_t fastest(const record *r, space_point *out, size_t want) {
  size_t n = 0;
  double after = 0;
  while (n < want) {
    const search_known *best = NULL;
    for (size_t i = 0; i < r->n_samples; i++) {
      const search_known *k = &r->samples[i];
      if (k->result.state == SAMPLE_OK && k->result.ns > after && (!best || k->result.ns < best->result.ns)) best = k;
    }
    if (!best) break;
    after = best->result.ns;
    out[n++] = best->point;
  }
  return n;
}

tsr_status tuner_measure_all(const tuner_desc *d, record *out) {
  enum { AGAIN = 48 };
  tuner_desc careful = *d;
  tuner_session s = {.d = &careful, .least = true};
  space_point *points = NULL, top[AGAIN];
  size_t n = 0;
  bool cut;
  tsr_status st = NULL;
  careful.timing = (timing_options){.runs = 20, .most_runs = 20};
  TSR_TRY(space_enumerate(d->space, d->al, 1u << 16, &points, &n, &cut));
  s.reference = tuner_prepare(&s, d->dflt, &st);
  if (!st) st = measure_blocks(&s, points, n, out);
  /* Among hundreds the first is also the luckiest: the best are measured again, longer, and the second figure counts.
   */
  careful.timing = (timing_options){.runs = 60, .most_runs = 60};
  if (!st) st = measure_blocks(&s, top, fastest(out, top, AGAIN), out);
  if (s.reference) d->target->release(d->target->user, s.reference);
  al_free_array(d->al, points, n);
  return st;
}
