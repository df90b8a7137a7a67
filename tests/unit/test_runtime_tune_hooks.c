/* The user's own parts of a search are called and decide: cost model, strategy, progress, objective. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/status.h"
#include "tests/unit/tune_matmul.h"

typedef struct mine {
  int costs, nexts, progress, objectives, foreign;
  double slowest_us;
} mine;
static double my_cost(void *user, const tsr_tune_problem *p, const tsr_schedule *c) {
  ((mine *)user)->costs++;
  return c->m == 32 ? (double)c->n : -1; /* only m = 32 may be tried */
}
static size_t my_next(void *user, const tsr_tune_problem *p, const tsr_schedule *c, const double *measured, size_t n,
                      size_t left) {
  mine *m = user;
  m->nexts++;
  assert_true(left > 0);
  for (size_t i = 0; i < n; i++)
    m->foreign += c[i].m != 32 && measured[i] == 0; /* what the model forbids is never offered */
  for (size_t i = 0; i < n; i++)
    if (measured[i] == 0 && m->nexts <= 3) return i;
  return n;
}
static double my_objective(void *user, const tsr_tune_problem *p, double latency_ns, double work) {
  mine *m = user;
  m->objectives += !strcmp(p->op, "matmul+add") && p->k == 128 && work >= 2.0 * 96 * 80 * 128;
  return 1 / latency_ns; /* the slowest wins */
}
static bool my_progress(void *user, const tsr_tune_progress *p) {
  ((mine *)user)->progress++;
  return true;
}
/* The best so far is the one that the objective prefers: the slowest of those measured. */
static bool slowest_is_best(void *user, const tsr_tune_progress *p) {
  mine *m = user;
  m->progress++;
  if (p->last_us > m->slowest_us) m->slowest_us = p->last_us;
  assert_true(p->best_us == m->slowest_us);
  return true;
}
static void users_cost_model_and_strategy_decide(void **state) {
  fixture f = open_matmul(96, 80, 128);
  mine m = {0};
  tsr_tune_hooks h = {.cost = my_cost, .next = my_next, .progress = my_progress, .user = &m};
  tsr_tune_options t = few;
  t.hooks = &h;
  tsr_tune_report *r;
  assert_null(tsr_graph_tune(f.dev, f.g, NULL, &t, &r));
  tsr_tune_result x = tsr_tune_report_get(r, 0);
  assert_true(m.costs > 3 && m.nexts == 4 && m.progress == 4); /* the default, then three of theirs */
  assert_int_equal(x.samples, 4);
  assert_int_equal(m.foreign, 0);
  if (x.schedule.m != 32) assert_true(x.best_us == x.default_us); /* the only other one that was measured */
  tsr_tune_report_destroy(&r);
  close_all(&f);
}

static void users_objective_decides(void **state) {
  fixture f = open_matmul(96, 80, 128);
  mine m = {0};
  tsr_tune_hooks h = {.objective = my_objective, .progress = slowest_is_best, .user = &m};
  tsr_tune_options t = few;
  t.hooks = &h;
  tsr_tune_report *r;
  assert_null(tsr_graph_tune(f.dev, f.g, NULL, &t, &r));
  assert_true(m.objectives >= 8 && m.progress == 8 && m.slowest_us > 0);
  tsr_tune_report_destroy(&r);
  t.knobs = "m,speed";
  tsr_status st = tsr_graph_tune(f.dev, f.g, NULL, &t, &r);
  assert_int_equal(tsr_status_code(st), TSR_NOT_FOUND);
  assert_non_null(strstr(tsr_status_message(st), "speed"));
  tsr_status_free(st);
  close_all(&f);
}

int main(void) {
#ifndef TSR_HAVE_SQLITE
  return 77; /* the cache is off */
#endif
  const struct CMUnitTest tests[] = {IN_DIR(users_cost_model_and_strategy_decide), IN_DIR(users_objective_decides)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
