/* Pipeline schedules played through: the bubbles of uniform stages are those of the formulas to the digit, no stage
 * does two things at once, everything is done once and after what it needs, and activations held at once are as few as
 * the schedule promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/dist/pipeline.h"

enum { MOST_STAGES = 64 };

static void uniform(arena *a, dist_pipeline_kind kind, int p, int m, int v, double send, dist_pipelined *out) {
  static double forward[MOST_STAGES], backward[MOST_STAGES];
  for (int i = 0; i < p; i++) forward[i] = 120, backward[i] = 240;
  assert_null(dist_pipeline_run(a, &(dist_pipeline){kind, p, m, v, forward, backward, send}, out));
}

static void bubbles_are_those_of_the_table(void **state) {
  static const struct {
    int p, m;
    double idle, overhead, v2, v4;
  } table[] = {/* percent */
               {4, 8, 27.27, 37.50, 18.75, 9.38},
               {8, 8, 46.67, 87.50, 43.75, 21.88},
               {8, 32, 17.95, 21.88, 10.94, 5.47},
               {16, 32, 31.91, 46.88, 23.44, 11.72}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const int p = table[i].p, m = table[i].m;
    arena a;
    dist_pipelined r;
    arena_init(&a, NULL);
    for (int kind = PIPELINE_GPIPE; kind <= PIPELINE_1F1B; kind++) {
      uniform(&a, (dist_pipeline_kind)kind, p, m, 1, 0, &r);
      assert_true(fabs(100 * r.idle_share - table[i].idle) < 0.005);
      assert_true(fabs(100 * r.overhead - table[i].overhead) <= 0.005 + 1e-9);
      assert_int_equal(r.peak_live, kind == PIPELINE_GPIPE ? m : p < m ? p : m);
    }
    for (int v = 2; v <= 4; v += 2) {
      uniform(&a, PIPELINE_INTERLEAVED, p, m, v, 0, &r);
      assert_true(fabs(100 * r.overhead - (v == 2 ? table[i].v2 : table[i].v4)) <= 0.005 + 1e-9);
    }
    arena_clear(&a);
  }
}

/* A third of 1f1b's, where forward, backward and weights take the same: (p - 1) of 3 (p - 1) tasks are idle. */
static void zero_bubble_is_a_third_of_1f1b_in_no_more_memory(void **state) {
  for (int p = 2; p <= 16; p *= 2)
    for (int m = 2 * p; m <= 4 * p; m *= 2) {
      arena a;
      dist_pipelined one, zero;
      arena_init(&a, NULL);
      uniform(&a, PIPELINE_1F1B, p, m, 1, 0, &one);
      uniform(&a, PIPELINE_ZERO_BUBBLE, p, m, 1, 0, &zero);
      assert_true(fabs(zero.overhead * 3 - one.overhead) < 1e-9);
      assert_true(zero.peak_live <= one.peak_live);
      arena_clear(&a);
    }
}

static void check_tasks(const dist_pipelined *r, int p, int m, int v, int kinds, double send) {
  static double end[3][MOST_STAGES * 4][128];
  double free[MOST_STAGES] = {0};
  memset(end, 0, sizeof end);
  assert_int_equal(r->n_tasks, kinds * p * m * v);
  for (int i = 0; i < r->n_tasks; i++) { /* of a stage they come in order */
    const dist_task *t = &r->tasks[i];
    assert_true(t->from >= free[t->stage] - 1e-9 && t->to > t->from);
    free[t->stage] = t->to;
    double *e = &end[t->kind][t->chunk * p + t->stage][t->microbatch];
    assert_true(*e == 0);
    *e = t->to;
  }
  for (int i = 0; i < r->n_tasks; i++) {
    const dist_task *t = &r->tasks[i];
    const int at = t->chunk * p + t->stage, last = p * v - 1;
    if (t->kind == TASK_FORWARD && at) assert_true(t->from >= end[TASK_FORWARD][at - 1][t->microbatch] + send - 1e-9);
    if (t->kind == TASK_BACKWARD)
      assert_true(t->from >= (at == last ? end[TASK_FORWARD][at][t->microbatch]
                                         : end[TASK_BACKWARD][at + 1][t->microbatch] + send) -
                                 1e-9);
    if (t->kind == TASK_WEIGHTS) assert_true(t->from >= end[TASK_BACKWARD][at][t->microbatch] - 1e-9);
  }
}

static void everything_is_done_once_and_in_order(void **state) {
  static const struct {
    int p, m, v;
  } cases[] = {{1, 1, 1}, {1, 5, 1}, {3, 2, 1}, {4, 4, 1}, {5, 17, 1}, {4, 8, 2}, {3, 9, 3}, {8, 16, 4}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int kind = 0; kind < N_PIPELINES; kind++)
      for (int with = 0; with < 2; with++) {
        const int p = cases[i].p, m = cases[i].m, v = cases[i].v;
        if (kind == PIPELINE_INTERLEAVED ? m % p : v > 1) continue;
        arena a;
        dist_pipelined r;
        arena_init(&a, NULL);
        uniform(&a, (dist_pipeline_kind)kind, p, m, v, with ? 7 : 0, &r);
        check_tasks(&r, p, m, v, kind == PIPELINE_ZERO_BUBBLE ? 3 : 2, with ? 7 : 0);
        arena_clear(&a);
      }
}

static void slower_stages_and_messages_never_help(void **state) {
  for (int kind = 0; kind < N_PIPELINES; kind++) {
    double before = 0, forward[8], backward[8];
    for (int k = 0; k < 12; k++) {
      arena a;
      dist_pipelined r;
      for (int i = 0; i < 8; i++) forward[i] = 100 + (i == 3 ? 10 * k : 0), backward[i] = 2 * forward[i];
      arena_init(&a, NULL);
      assert_null(
          dist_pipeline_run(&a, &(dist_pipeline){(dist_pipeline_kind)kind, 8, 16, 1, forward, backward, 5.0 * k}, &r));
      assert_true(r.us >= before);
      before = r.us;
      arena_clear(&a);
    }
  }
}

static void what_can_not_be_is_an_error(void **state) {
  const double us[4] = {1, 1, 1, 1};
  static const struct {
    dist_pipeline_kind kind;
    int p, m, v;
    const char *says;
  } cases[] = {{PIPELINE_INTERLEAVED, 4, 6, 2, "6 microbatches are no multiple of 4 stages"},
               {PIPELINE_GPIPE, 4, 4, 2, "only interleaved"},
               {PIPELINE_1F1B, 0, 4, 1, "0 stages"},
               {PIPELINE_1F1B, 4, 0, 1, "0 microbatches"},
               {PIPELINE_1F1B, 4, 1 << 30, 1, "more than"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    arena a;
    dist_pipelined r;
    arena_init(&a, NULL);
    tsr_status st =
        dist_pipeline_run(&a, &(dist_pipeline){cases[i].kind, cases[i].p, cases[i].m, cases[i].v, us, us, 0}, &r);
    assert_non_null(st);
    assert_non_null(strstr(tsr_status_message(st), cases[i].says));
    tsr_status_free(st);
    arena_clear(&a);
  }
  assert_int_equal(dist_pipeline_named("1f1b"), PIPELINE_1F1B);
  assert_int_equal(dist_pipeline_named("dual"), N_PIPELINES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bubbles_are_those_of_the_table),
      cmocka_unit_test(zero_bubble_is_a_third_of_1f1b_in_no_more_memory),
      cmocka_unit_test(everything_is_done_once_and_in_order),
      cmocka_unit_test(slower_stages_and_messages_never_help),
      cmocka_unit_test(what_can_not_be_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
