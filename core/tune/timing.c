/* core/tune/timing.c - see timing.h. */
#include "core/tune/timing.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/sample.h"

/* One run; its time, or 0 and the failure kept. */
static double run_once(const timing_subject *s, timing_result *r) {
  double told = 0;
  int64_t start = clock_ns();
  r->failure = s->run(s->user, &told);
  double took = (double)(clock_ns() - start);
  if (r->failure) return 0;
  return told > 0 ? told : took > 0 ? took : 1;
}

/* Slow beyond doubt after the second run, or twice slow: given up. The first may hold a driver's compilation, one run a
 * busy moment. */
static void judge(const timing_options *o, int warmup, double ns, timing_result *r) {
  if (warmup == 1) r->min_ns = ns;
  else if (ns < r->min_ns) r->min_ns = ns;
  bool slow = r->min_ns > (warmup == 1 ? 4 * o->give_up_ns : o->give_up_ns);
  r->given_up = slow && (warmup == 1 || warmup == o->warmups - 1);
  if (r->given_up) r->median_ns = r->min_ns, r->runs = 1;
}

/* Of `runs` rounds, v[subject][round]: those in which a was faster than b. */
static double share_of_wins(const double *v, size_t rounds, size_t a, size_t b, int runs) {
  int wins = 0;
  for (int r = 0; r < runs; r++) wins += v[a * rounds + (size_t)r] < v[b * rounds + (size_t)r];
  return runs > 0 ? (double)wins / runs : 0;
}

tsr_status timing_interleaved(const tsr_allocator *al, const timing_subject *subjects, size_t n,
                              const timing_options *opt, timing_result *out) {
  timing_options o = opt ? *opt : (timing_options){0};
  if (!o.warmups) o.warmups = 3;
  if (!o.runs) o.runs = 10;
  if (o.most_runs < o.runs) o.most_runs = o.runs > 50 ? o.runs : 50;
  if (!(o.most_seconds > 0)) o.most_seconds = 0.05 * (double)n;
  memset(out, 0, n * sizeof *out);
  size_t room = n * (size_t)o.most_runs;
  double *v = al_alloc(al, (room + 1) * sizeof *v, 16);
  if (!v) return st_oom();
  for (int w = 0; w < o.warmups; w++)
    for (size_t i = 0; i < n; i++) {
      if (out[i].failure || out[i].given_up) continue;
      double ns = run_once(&subjects[i], &out[i]);
      if (!out[i].failure && w && !subjects[i].stays && o.give_up_ns > 0) judge(&o, w, ns, &out[i]);
    }
  int64_t start = clock_ns();
  for (int r = 0; r < o.most_runs; r++) {
    if (r >= o.runs && (double)(clock_ns() - start) > o.most_seconds * 1e9) break;
    for (size_t k = 0; k < n; k++) {
      size_t i = r % 2 ? n - 1 - k : k; /* both orders, so that no subject always follows the same one */
      if (out[i].failure || out[i].given_up) continue;
      double ns = run_once(&subjects[i], &out[i]);
      if (!out[i].failure) v[i * (size_t)o.most_runs + (size_t)out[i].runs++] = ns;
    }
  }
  for (size_t i = 0; i + 1 < n; i++)
    out[i].beats_last =
        out[i].runs == out[n - 1].runs ? share_of_wins(v, (size_t)o.most_runs, i, n - 1, out[i].runs) : 0;
  for (size_t i = 0; i < n; i++) {
    if (out[i].given_up) continue;
    if (out[i].failure || !out[i].runs) {
      out[i].runs = 0;
      continue;
    }
    double *own = v + i * (size_t)o.most_runs;
    sample_sort(own, (size_t)out[i].runs);
    out[i].median_ns = sample_median(own, (size_t)out[i].runs);
    out[i].min_ns = own[0];
  }
  al_free(al, v, (room + 1) * sizeof *v, 16);
  return NULL;
}
