/* core/tune/timeline.c - see timeline.h. */
#include "core/tune/timeline.h"

#include "core/device/roofline.h"
#include "core/tune/families.h"

#include <math.h>
#include <string.h>

enum {
  MOST_STEPS = 1 << 20,
  DRAWN_STEPS = 6,
  DRAWN_COLUMNS = 64,
  ROUND_NS = 1000 /* latency of a ring's round: assumed */
};

static const char *timeline_resource_name(timeline_resource r) {
  static const char *const names[] = {"load", "compute", "link"};
  return (unsigned)r < TIMELINE_N ? names[r] : "?";
}

static double later(double a, double b) { return a > b ? a : b; }

typedef struct state {
  const timeline *t;
  double free_ns[TIMELINE_N], busy_ns[TIMELINE_N];
  double read_ns[TIMELINE_MAX_BUFFERS];     /* per buffer of operands: its last reader's end */
  double computed_ns[TIMELINE_MAX_BUFFERS]; /* per resident block: its last result's end */
  double sent_ns[TIMELINE_MAX_BUFFERS];     /* per buffer of results */
} state;

/* The resource takes the work when it is free and `ready` has come; returns the work's end. */
static double take(state *s, timeline_resource on, int64_t step, int32_t buffer, double ready, double ns) {
  timeline_event e = {on, step, buffer, later(s->free_ns[on], ready), 0};
  e.end_ns = s->free_ns[on] = e.start_ns + ns;
  s->busy_ns[on] += ns;
  if (s->t->event) s->t->event(s->t->sink, &e);
  return e.end_ns;
}

static double run(const timeline *t, bool with_link, state *s) {
  int64_t result = 0;
  bool begins = true;
  *s = (state){.t = t};
  for (int64_t i = 0; i < t->n_steps; i++) {
    timeline_step x = t->step(t->user, i);
    int32_t buffer = (int32_t)(i % t->stages), send = (int32_t)(result % t->sends),
            block = t->resident ? (int32_t)(result % t->resident) : 0;
    double room = begins && t->resident ? later(s->read_ns[buffer], s->computed_ns[block]) : s->read_ns[buffer];
    double ready = take(s, TIMELINE_LOAD, i, buffer, room, x.load_ns) + t->latency_ns;
    if (begins) ready = later(ready, s->sent_ns[send]);
    ready = later(ready, s->free_ns[TIMELINE_COMPUTE]) + t->barrier_ns;
    double done = s->read_ns[buffer] = take(s, TIMELINE_COMPUTE, i, buffer, ready, x.compute_ns);
    begins = x.ends;
    if (!x.ends) continue;
    s->computed_ns[block] = done;
    s->sent_ns[send] = with_link && x.comm_ns > 0 ? take(s, TIMELINE_LINK, i, send, done, x.comm_ns) : done;
    result++;
  }
  return later(s->free_ns[TIMELINE_COMPUTE], s->free_ns[TIMELINE_LINK]);
}

timeline_result timeline_run(const timeline *t) {
  state s;
  timeline quiet = *t;
  timeline_result r = {.total_ns = run(t, true, &s), .hidden = 1};
  r.in_turns_ns = (double)t->n_steps * (t->latency_ns + t->barrier_ns);
  for (int on = 0; on < TIMELINE_N; on++) {
    r.in_turns_ns += s.busy_ns[on];
    r.busy[on] = r.total_ns > 0 ? s.busy_ns[on] / r.total_ns : 0;
  }
  r.comm_ns = s.busy_ns[TIMELINE_LINK];
  quiet.event = NULL;
  if (r.comm_ns > 0) r.hidden = 1 - (r.total_ns - run(&quiet, false, &s)) / r.comm_ns;
  if (r.hidden < 0) r.hidden = 0; /* by rounding alone */
  return r;
}

double timeline_all_reduce_ns(int32_t ranks, double bytes, double gbps, double latency_ns) {
  return ranks > 1 ? 2.0 * (ranks - 1) * (latency_ns + bytes / ranks / gbps) : 0;
}

/* ---- of a candidate ---------------------------------------------------------------------------------------------- */

static timeline_step kernel_step(const void *user, int64_t i) {
  const timeline_kernel *k = user;
  timeline_step x = k->each;
  x.ends = (i + 1) % k->steps == 0;
  return x;
}

static int32_t fit(double v) { return v < 1 ? 1 : v > TIMELINE_MAX_BUFFERS ? TIMELINE_MAX_BUFFERS : (int32_t)v; }

/* Loads share the device's rate among the cores at work, arithmetic has each core's own. */
static timeline_step step_of(const cost_estimate *e, double cores) {
  const double on_core[] = {e->term_ns[COST_MATH], e->term_ns[COST_SHARED], e->term_ns[COST_EXP]};
  double n_steps = e->blocks * e->steps;
  return (timeline_step){.load_ns = later(e->term_ns[COST_L2], e->term_ns[COST_MEMORY]) *
                                    (cores < e->blocks ? cores : e->blocks) / n_steps,
                         .compute_ns = roofline_overlapped_ns(on_core, 3, e->overlap) * cores / n_steps};
}

bool timeline_of(const tune_device *d, const tune_problem *p, const tune_config *c, int32_t ranks,
                 timeline_kernel *out) {
  cost_estimate e;
  const tune_tier *link = tune_device_tier(d, "link");
  if (ranks > 1 && !(link && link->gbps > 0)) return false;
  cost_compute(d, p, c, &e);
  if (!e.stages) return false;
  double cores = d->cores > 0 ? d->cores : 1, rounds = ceil(e.blocks / cores);
  if (!(e.steps >= 1 && rounds >= 1 && rounds * e.steps <= MOST_STEPS)) return false;
  double fitting = e.occupancy.known && e.occupancy.blocks > 0 ? e.occupancy.blocks : 1,
         resident = e.runs_ahead ? 1 : fitting < rounds ? fitting : rounds;
  *out = (timeline_kernel){.each = step_of(&e, cores), .steps = (int64_t)e.steps, .rounds = (int64_t)rounds};
  if (ranks > 1) {
    double bytes = (double)(p->batch > 0 ? p->batch : 1) * (double)p->m * (double)p->n * (double)tsr_dtype_size(p->out);
    out->each.comm_ns = timeline_all_reduce_ns(ranks, bytes / rounds, link->gbps, ROUND_NS);
  }
  out->t = (timeline){.n_steps = out->steps * out->rounds,
                      .stages = fit((c->pipeline_stages > 0 ? c->pipeline_stages : 1) * resident),
                      .sends = 2,
                      .resident = e.runs_ahead ? 0 : fit(resident),
                      .latency_ns = e.latency_ns,
                      .barrier_ns = e.barrier_ns,
                      .step = kernel_step,
                      .user = out};
  return true;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

typedef struct drawing {
  double ns_per_column;
  char row[TIMELINE_N][DRAWN_COLUMNS];
} drawing;

static void draw(void *sink, const timeline_event *e) {
  drawing *w = sink;
  int from = (int)(e->start_ns / w->ns_per_column + 0.5), to = (int)(e->end_ns / w->ns_per_column + 0.5);
  for (int x = from; (x < to || x == from) && x < DRAWN_COLUMNS; x++) w->row[e->on][x] = (char)('0' + e->step);
}

static void draw_first_steps(const timeline *t, strb *out) {
  drawing w;
  timeline first = *t;
  first.n_steps = t->n_steps < DRAWN_STEPS ? t->n_steps : DRAWN_STEPS;
  memset(w.row, '.', sizeof w.row);
  w.ns_per_column = timeline_run(&first).total_ns / DRAWN_COLUMNS;
  first.event = draw, first.sink = &w;
  timeline_run(&first);
  static const timeline_resource drawn[] = {TIMELINE_LOAD, TIMELINE_COMPUTE};
  for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
    strb_printf(out, "    %-8s|%.*s|\n", timeline_resource_name(drawn[i]), DRAWN_COLUMNS, w.row[drawn[i]]);
}

void timeline_explain(const tune_device *d, const tune_problem *p, const tune_config *c, strb *out) {
  static const int32_t ranks[] = {2, 8, 72};
  timeline_kernel k;
  if (!timeline_of(d, p, c, 1, &k)) return;
  timeline_result r = timeline_run(&k.t);
  strb_printf(out,
              "  timeline of a core: %lld block(s) of %lld steps, %d buffer(s); a step loads for %.4g ns, arrives %.4g "
              "ns later, computes for %.4g ns\n",
              (long long)k.rounds, (long long)k.steps, k.t.stages, k.each.load_ns, k.t.latency_ns, k.each.compute_ns);
  draw_first_steps(&k.t, out);
  strb_printf(out, "    ends at %.2f us: load busy %.0f%%, compute %.0f%%; in turns %.2f us\n", r.total_ns / 1e3,
              100 * r.busy[TIMELINE_LOAD], 100 * r.busy[TIMELINE_COMPUTE], r.in_turns_ns / 1e3);
  for (size_t i = 0;
       i < sizeof ranks / sizeof *ranks && tune_problem_contracts(p) && timeline_of(d, p, c, ranks[i], &k); i++) {
    r = timeline_run(&k.t);
    strb_printf(out,
                "    all-reduce of each round of blocks over %d ranks (ring at %.4g GB/s, listed; a round's latency %d "
                "ns, assumed): %.2f us in all, %.0f%% hidden\n",
                ranks[i], tune_device_tier(d, "link")->gbps, ROUND_NS, r.comm_ns / 1e3, 100 * r.hidden);
  }
}
