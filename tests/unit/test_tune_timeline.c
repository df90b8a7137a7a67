/* The schedule simulator: the pattern load(N+1), compute(N), comm(N-1), totals worked out by hand, hazards under random
 * durations. */
#include "core/device/arch.h"
#include "core/tune/kernel.h"
#include "core/tune/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64 };

/* What a run did: a row per step. */
typedef struct seen {
  timeline_event at[TIMELINE_N][MOST];
  int n[TIMELINE_N];
} seen;

static void note(void *sink, const timeline_event *e) {
  seen *s = sink;
  assert_true(e->step >= 0 && e->step < MOST);
  s->at[e->on][e->step] = *e;
  s->n[e->on]++;
}

static timeline_step one_step(const void *user, int64_t i) { return *(const timeline_step *)user; }
static timeline_step listed_step(const void *user, int64_t i) { return ((const timeline_step *)user)[i]; }

static timeline uniform(const timeline_step *x, int64_t n, int32_t stages, seen *s) {
  memset(s, 0, sizeof *s);
  return (timeline){.n_steps = n, .stages = stages, .sends = 2, .step = one_step, .user = x, .event = note, .sink = s};
}

static bool overlap(const timeline_event *a, const timeline_event *b) {
  return a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

static void two_buffers_load_the_next_tile_and_send_the_last_while_computing(void **state) {
  static const timeline_step x = {30, 100, 40, true};
  seen s;
  timeline t = uniform(&x, 12, 2, &s);
  t.barrier_ns = 5, t.latency_ns = 10;
  timeline_result r = timeline_run(&t);
  for (int on = 0; on < TIMELINE_N; on++) assert_int_equal(s.n[on], 12);
  for (int n = 1; n + 1 < 12; n++) {
    const timeline_event *now = &s.at[TIMELINE_COMPUTE][n];
    assert_true(overlap(&s.at[TIMELINE_LOAD][n + 1], now));
    assert_true(overlap(&s.at[TIMELINE_LINK][n - 1], now));
    assert_false(overlap(&s.at[TIMELINE_LOAD][n], now) || overlap(&s.at[TIMELINE_LINK][n], now));
  }
  assert_true(r.total_ns == 30 + 10 + 12 * (5 + 100) + 40); /* fill, all computations, drain */
  assert_true(r.hidden == 1 - 40.0 / (12 * 40));
  assert_true(r.busy[TIMELINE_COMPUTE] == 1200 / r.total_ns && r.busy[TIMELINE_LOAD] == 360 / r.total_ns);
}

static void one_buffer_of_each_kind_overlaps_nothing(void **state) {
  static const timeline_step x = {30, 100, 40, true};
  seen s;
  timeline t = uniform(&x, 9, 1, &s);
  t.sends = 1, t.latency_ns = 10, t.barrier_ns = 5;
  t.resident = 1;
  timeline_run(&t);
  for (int i = 0; i < 9; i++)
    for (int j = 0; j < 9; j++) assert_false(overlap(&s.at[TIMELINE_LOAD][i], &s.at[TIMELINE_COMPUTE][j]));
  static const timeline_step quiet = {30, 100, 0, true};
  t.user = &quiet;
  timeline_result r = timeline_run(&t);
  assert_true(r.total_ns == 9 * (30 + 10 + 5 + 100) && r.total_ns == r.in_turns_ns && r.hidden == 1 && r.comm_ns == 0);
}

static void bound_by_loads_the_rest_hides_under_them(void **state) {
  static const timeline_step x = {100, 30, 0, true};
  seen s;
  for (int32_t stages = 2; stages <= 4; stages++) {
    timeline t = uniform(&x, 20, stages, &s);
    assert_true(timeline_run(&t).total_ns == 20 * 100 + 30);
  }
  /* A latency of three steps needs four buffers: one is read, three are on their way. */
  static const timeline_step even = {50, 50, 0, true};
  double total[6];
  for (int32_t stages = 1; stages <= 5; stages++) {
    timeline t = uniform(&even, 40, stages, &s);
    t.latency_ns = 150;
    total[stages] = timeline_run(&t).total_ns;
    if (stages > 1) assert_true(total[stages] <= total[stages - 1]);
  }
  assert_true(total[1] == 40 * 250 && total[5] == 50 + 150 + 40 * 50 && total[4] > total[5]);
}

static void all_reduce_in_chunks_hides_under_the_computation(void **state) {
  static const timeline_step x = {4, 10, 6, true}, slow_link = {4, 10, 15, true};
  seen s;
  timeline t = uniform(&x, 4, 2, &s);
  timeline_result r = timeline_run(&t);
  assert_true(r.total_ns == 4 + 4 * 10 + 6 && r.comm_ns == 24 && r.hidden == 0.75); /* the last chunk's 6 are seen */
  /* Computations end at 14, 24; the third waits until the first is sent at 29, the fourth until 44: sent at 29, 44,
   * 59, 74. */
  t.user = &slow_link;
  r = timeline_run(&t);
  assert_true(r.total_ns == 74 && s.at[TIMELINE_COMPUTE][2].start_ns == 29 &&
              s.at[TIMELINE_COMPUTE][3].start_ns == 44 && r.hidden == 0.5);
  t.sends = 4; /* room for all results: the same end, the computation is not held up */
  r = timeline_run(&t);
  assert_true(r.total_ns == 74 && s.at[TIMELINE_COMPUTE][3].start_ns == 34);
  t.sends = 1; /* the one buffer is sent before it is computed again: nothing is hidden */
  r = timeline_run(&t);
  assert_true(r.total_ns == 4 + 4 * 10 + 4 * 15 && r.hidden == 0);
  /* One chunk of the same bytes: all of it comes after the computation. */
  timeline_step whole[4] = {{4, 10, 0, false}, {4, 10, 0, false}, {4, 10, 0, false}, {4, 10, 24, true}};
  t.sends = 2, t.user = whole, t.step = listed_step;
  r = timeline_run(&t);
  assert_true(r.total_ns == 4 + 4 * 10 + 24 && r.hidden == 0);
}

/* Ranks in a ring with real numbers: 2 (n - 1) rounds, after which each has every sum. */
static void ring_moves_what_its_formula_says(void **state) {
  enum { EACH = 3 };
  for (int n = 2; n <= 9; n++) {
    double v[9][9 * EACH], sent = 0, time = 0;
    for (int r = 0; r < n; r++)
      for (int i = 0; i < n * EACH; i++) v[r][i] = r + i * 10;
    for (int round = 0; round < 2 * (n - 1); round++) {
      double wire[9][EACH];
      int part[9];
      for (int r = 0; r < n; r++) {
        part[r] = ((r - round) % n + n) % n;
        if (round >= n - 1) part[r] = ((r + 1 - (round - (n - 1))) % n + n) % n;
        memcpy(wire[r], &v[r][part[r] * EACH], sizeof wire[r]);
      }
      for (int r = 0; r < n; r++)
        for (int i = 0; i < EACH; i++) {
          double *to = &v[(r + 1) % n][part[r] * EACH + i];
          *to = round < n - 1 ? *to + wire[r][i] : wire[r][i];
        }
      sent += EACH * 8; /* a rank's bytes of this round, at 2 bytes a nanosecond after 7 */
      time += 7 + EACH * 8 / 2.0;
    }
    for (int r = 0; r < n; r++)
      for (int i = 0; i < n * EACH; i++) assert_true(v[r][i] == n * (n - 1) / 2 + i * 10 * n);
    double bytes = n * EACH * 8.0;
    assert_true(sent == 2 * (n - 1) * bytes / n);
    assert_true(timeline_all_reduce_ns(n, bytes, 2, 7) == time);
  }
  assert_true(timeline_all_reduce_ns(1, 1e9, 2, 7) == 0);
}

/* ---- hazards ----------------------------------------------------------------------------------------------------- */

static double later(double a, double b) { return a > b ? a : b; }

/* Steps whose buffer was written too early or read too early, and work that started later than it could. */
static int hazards(const timeline *t, const seen *s, const timeline_step *x, int *idle) {
  int bad = 0, result = 0, first[MOST] = {0}, last[MOST];
  for (int i = 0; i < t->n_steps; i++) {
    const timeline_event *load = &s->at[TIMELINE_LOAD][i], *compute = &s->at[TIMELINE_COMPUTE][i],
                         *link = &s->at[TIMELINE_LINK][i];
    double room = i >= t->stages ? s->at[TIMELINE_COMPUTE][i - t->stages].end_ns : 0, engine = i ? load[-1].end_ns : 0,
           units = i ? compute[-1].end_ns : 0;
    if (i == first[result] && t->resident && result >= t->resident)
      room = later(room, s->at[TIMELINE_COMPUTE][last[result - t->resident]].end_ns);
    double data = load->end_ns + t->latency_ns;
    if (i == first[result] && result >= t->sends) {
      int before = last[result - t->sends];
      if (x[before].comm_ns > 0) data = later(data, s->at[TIMELINE_LINK][before].end_ns);
    }
    double may = later(data, units) + t->barrier_ns;
    bad += load->start_ns < room || load->start_ns < engine || compute->start_ns < may;
    *idle += load->start_ns > later(room, engine) || compute->start_ns > may;
    bad += load->end_ns != load->start_ns + x[i].load_ns || compute->end_ns != compute->start_ns + x[i].compute_ns;
    if (!x[i].ends) continue;
    last[result] = i;
    if (x[i].comm_ns > 0) {
      double wire = 0;
      for (int j = 0; j < i; j++) wire = later(wire, s->at[TIMELINE_LINK][j].end_ns);
      bad += link->start_ns < compute->end_ns || link->start_ns < wire;
      *idle += link->start_ns > later(compute->end_ns, wire);
    }
    if (++result < MOST) first[result] = i + 1;
  }
  return bad;
}

static void no_buffer_is_written_before_its_reader_is_done(void **state) {
  static timeline_step x[MOST];
  seen s;
  int idle = 0, caught = 0, more_buffers = 0;
  srand(45);
  for (int run = 0; run < 3000; run++) {
    int64_t n = 1 + rand() % MOST;
    for (int i = 0; i < n; i++)
      x[i] = (timeline_step){rand() % 50, rand() % 50, rand() % 3 ? rand() % 60 : 0, rand() % 3 == 0};
    timeline t = {.n_steps = n,
                  .stages = 1 + rand() % 5,
                  .sends = 1 + rand() % 3,
                  .resident = rand() % 4,
                  .latency_ns = rand() % 80,
                  .barrier_ns = rand() % 4,
                  .step = listed_step,
                  .user = x,
                  .event = note,
                  .sink = &s};
    memset(&s, 0, sizeof s);
    timeline_result r = timeline_run(&t);
    if (hazards(&t, &s, x, &idle)) fail_msg("run %d has a hazard", run);
    for (int on = 0; on < TIMELINE_N; on++) assert_true(r.busy[on] >= 0 && r.busy[on] <= 1);
    assert_true(r.total_ns <= r.in_turns_ns && r.hidden >= -1e-9 && r.hidden <= 1 + 1e-9);
    timeline fewer = t, quiet = t;
    int none = 0;
    if (t.stages > 1) fewer.stages--;
    caught += hazards(&fewer, &s, x, &none) > 0; /* the check itself: with a buffer less it was a hazard */
    more_buffers += t.stages > 1;
    quiet.event = NULL;
    quiet.stages++;
    assert_true(timeline_run(&quiet).total_ns <= r.total_ns);
  }
  assert_int_equal(idle, 0);
  assert_true(caught > more_buffers / 4);
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

static void candidates_take_their_steps_from_the_cost_model(void **state) {
  tune_problem p = {.family = FAMILY_MATMUL,
                    .op = "matmul",
                    .batch = 1,
                    .m = 8192,
                    .n = 8192,
                    .k = 4096,
                    .in = TSR_BF16,
                    .acc = TSR_F32,
                    .out = TSR_BF16};
  tune_config c = {.m = 128,
                   .n = 128,
                   .k = 64,
                   .vectorize = 8,
                   .use_shared = 1,
                   .async_copy = 1,
                   .warps = 8,
                   .split_k = 1,
                   .matrix_path = 1};
  tsr_caps caps;
  assert_null(arch_caps_of(DIALECT_CUDA, "sm_90a", &caps));
  tune_device d = tune_device_from_caps(&caps, "");
  assert_true(tune_device_tier(&d, "link")->gbps == 450);
  double total[4];
  for (c.pipeline_stages = 1; c.pipeline_stages <= 3; c.pipeline_stages++) {
    timeline_kernel k;
    cost_estimate e;
    assert_true(timeline_of(&d, &p, &c, 1, &k));
    cost_compute(&d, &p, &c, &e);
    assert_int_equal(k.steps, 64);
    assert_int_equal(k.rounds, 32); /* 4096 tiles on 132 cores */
    timeline_result r = timeline_run(&k.t);
    total[c.pipeline_stages] = r.total_ns;
    assert_true(r.total_ns >= e.term_ns[COST_MATH] / e.wave_efficiency && r.total_ns >= e.term_ns[COST_L2]);
    timeline_kernel sharded;
    assert_true(timeline_of(&d, &p, &c, 8, &sharded));
    timeline_result with = timeline_run(&sharded.t);
    double all = timeline_all_reduce_ns(8, 8192.0 * 8192 * 2, 450, 0) + 32 * 14 * 1000.0;
    assert_true(with.comm_ns > 0.999 * all && with.comm_ns < 1.001 * all && with.hidden > 0.5 &&
                with.total_ns > r.total_ns);
  }
  assert_true(total[2] < 0.8 * total[1] && total[3] <= total[2]);

  strb b;
  strb_init(&b, NULL);
  c.pipeline_stages = 1;
  timeline_explain(&d, &p, &c, &b);
  assert_non_null(strstr(strb_text(&b), "over 72 ranks"));
  const char *loads = strstr(strb_text(&b), "load    |"), *computes = strstr(strb_text(&b), "compute |");
  assert_true(loads && computes);
  for (int x = 9; loads[x] != '|'; x++) assert_true(loads[x] == '.' || computes[x] == '.'); /* one buffer: in turns */
  strb_clear(&b);
  strb_init(&b, NULL);
  c.pipeline_stages = 3;
  timeline_explain(&d, &p, &c, &b);
  loads = strstr(strb_text(&b), "load    |"), computes = strstr(strb_text(&b), "compute |");
  int both = 0;
  for (int x = 9; loads[x] != '|'; x++)
    both += loads[x] > computes[x] && computes[x] != '.'; /* a later tile is loaded while one is computed */
  assert_true(both > 5);
  strb_clear(&b);

  timeline_kernel alone;
  c.m = c.n = 64, p.m = p.n = 64, c.pipeline_stages = 2;
  assert_true(occ_of_config(&d, &p, &c).blocks > 1 && timeline_of(&d, &p, &c, 1, &alone));
  assert_true(alone.rounds == 1 && alone.t.stages == 2); /* blocks that would fit but are not there have no buffers */

  assert_null(arch_caps_of(DIALECT_HIP, "gfx942", &caps));
  d = tune_device_from_caps(&caps, "");
  timeline_kernel k;
  assert_true(timeline_of(&d, &p, &c, 1, &k) && !timeline_of(&d, &p, &c, 8, &k)); /* its profile lists no link */
  d.is_cpu = true;
  assert_false(timeline_of(&d, &p, &c, 1, &k));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_buffers_load_the_next_tile_and_send_the_last_while_computing),
      cmocka_unit_test(one_buffer_of_each_kind_overlaps_nothing),
      cmocka_unit_test(bound_by_loads_the_rest_hides_under_them),
      cmocka_unit_test(all_reduce_in_chunks_hides_under_the_computation),
      cmocka_unit_test(ring_moves_what_its_formula_says),
      cmocka_unit_test(no_buffer_is_written_before_its_reader_is_done),
      cmocka_unit_test(candidates_take_their_steps_from_the_cost_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
