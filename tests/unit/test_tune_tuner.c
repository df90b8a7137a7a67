/* The whole decision with a pretended device: cache, search, reference check, runner-up, resuming, timing under drift.
 * Of a mesh: test_tune_mesh.c. */
#include "tests/unit/tune_pretend.h"

static void second_call_measures_nothing_also_in_another_process(void **state) {
  if (!has_cache()) skip();
  pretend p = {.drift = 1};
  tune_target t = target_of(&p);
  tune_cache *c = open_cache();
  tuner_desc d = desc_of(&t, c);
  tuner_result first, second;
  assert_null(tuner_run(&d, &first));
  assert_true(first.source == TUNE_FROM_SEARCH && first.measurements >= 40 && first.stored && first.has_runner_up);
  assert_true(first.best_ns < first.default_ns);
  assert_int_equal(p.live, 0);
  int before = p.prepared;
  assert_null(tuner_run(&d, &second));
  assert_true(second.source == TUNE_FROM_CACHE && second.measurements == 0 && p.prepared == before);
  assert_memory_equal(&first.config, &second.config, sizeof first.config);
  cache_close(&c);
  pid_t pid = fork();
  if (!pid) {
    c = open_cache();
    d.cache = c;
    tsr_status st = tuner_run(&d, &second);
    _exit(!st && second.measurements == 0 && p.prepared == before &&
                  !memcmp(&first.config, &second.config, sizeof first.config)
              ? 0
              : 1);
  }
  int status;
  waitpid(pid, &status, 0);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void buckets_decision_is_checked_for_each_shape(void **state) {
  if (!has_cache()) skip();
  pretend p = {.drift = 1};
  tune_target t = target_of(&p);
  tune_cache *c = open_cache();
  tuner_desc d = desc_of(&t, c);
  tuner_result first, second;
  d.bucket = "~512x512x512";
  assert_null(tuner_run(&d, &first));
  assert_true(first.source == TUNE_FROM_SEARCH && first.has_runner_up);
  d.key.shape = "500x512x512";
  int runs = p.checks;
  assert_null(tuner_run(&d, &second));
  assert_true(second.source == TUNE_FROM_BUCKET && second.measurements == 0 && p.checks == runs + 1 &&
              !memcmp(&first.config, &second.config, sizeof first.config));
  d.mode = TUNE_CACHED, d.target = NULL;
  assert_null(tuner_run(&d, &second));
  assert_true(second.source == TUNE_FROM_BUCKET);
  tuner_winner_failed(&d, &second);
  assert_memory_equal(&second.config, &first.runner_up, sizeof first.runner_up);
  assert_null(tuner_run(&d, &second));
  assert_memory_equal(&second.config, &first.runner_up, sizeof first.runner_up);
  d.mode = TUNE_FULL, d.target = &t;
  p.wrong_m = second.config.m; /* wrong for this shape: it searches for itself */
  assert_null(tuner_run(&d, &second));
  assert_true(second.source == TUNE_FROM_SEARCH && second.config.m != p.wrong_m && second.measurements > 0);
  d.key.shape = "400x512x512", d.bucket = "";
  p.wrong_m = 0;
  assert_null(tuner_run(&d, &second));
  assert_true(second.source == TUNE_FROM_SEARCH); /* no bucket, no sharing */
  d.key.shape = "300x512x512", d.bucket = "~384x512x512",
  dflt = second.config; /* the untuned wins: so it does for the bucket, whatever it is there */
  assert_null(tuner_run(&d, &second));
  assert_memory_equal(&second.config, &dflt, sizeof dflt);
  tune_config other = dflt;
  other.m = other.m == 64 ? 32 : 64;
  d.key.shape = "310x512x512", d.dflt = &other;
  assert_null(tuner_run(&d, &second));
  assert_true(second.source == TUNE_FROM_BUCKET && !memcmp(&second.config, &other, sizeof other));
  cache_close(&c);
}

static void winner_is_the_fastest_despite_drift(void **state) {
  pretend p = {.drift = 1};
  tune_target t = target_of(&p);
  tuner_desc d = desc_of(&t, NULL);
  tuner_result r;
  assert_null(tuner_run(&d, &r));
  assert_true(r.config.m == 128 && r.config.n == 128 && r.config.k == 256);
  assert_true(p.drift > 1.05); /* the machine did get slower on the way */
  assert_true(fabs(r.best_ns / true_ns(&r.config) - 1) < 0.02); /* and that was taken out */
  assert_false(r.stored);
}

/* What the driver says of each candidate's registers stays with its time, also in what `tessera cache show` prints. */
static double p_registers(void *user, void *kern) { return ((kernel *)kern)->c.m + ((kernel *)kern)->c.n; }
static bool registers_are_the_candidates(void *user, const tune_trial *t) {
  tune_config c;
  assert_true(tune_config_parse(t->config, &c));
  if (!strcmp(t->state, "ok")) ++*(int *)user, assert_true(t->registers == c.m + c.n);
  else assert_true(t->registers < 0);
  return true;
}
static void registers_of_each_candidate_are_recorded(void **state) {
  if (!has_cache()) skip();
  pretend p = {.drift = 1, .broken_n = 96};
  tune_target t = target_of(&p);
  t.registers = p_registers;
  tune_cache *c = open_cache();
  tuner_desc d = desc_of(&t, c);
  d.key.op = "registers";
  tuner_result r;
  int n = 0;
  strb shown;
  assert_null(tuner_run(&d, &r));
  cache_trials(c, &d.key, registers_are_the_candidates, &n);
  assert_true(n >= 20);
  strb_init(&shown, NULL);
  cache_show(c, "registers", false, &shown);
  char want[80];
  snprintf(want, sizeof want, " %3d registers  m=%d n=%d", r.config.m + r.config.n, r.config.m, r.config.n);
  assert_non_null(strstr(strb_text(&shown), want));
  strb_clear(&shown);
  cache_close(&c);
}

static void wrong_winner_is_never_stored(void **state) {
  pretend p = {.drift = 1, .wrong_m = 128};
  tune_target t = target_of(&p);
  tune_cache *c = has_cache() ? open_cache() : NULL;
  tuner_desc d = desc_of(&t, c);
  tuner_result r;
  assert_null(tuner_run(&d, &r));
  assert_true(r.rejected >= 1);
  assert_true(r.config.m != 128 && (!r.has_runner_up || r.runner_up.m != 128));
  cache_close(&c);
}

static void broken_candidates_are_failed_trials(void **state) {
  pretend p = {.drift = 1, .broken_n = 128};
  tune_target t = target_of(&p);
  tuner_desc d = desc_of(&t, NULL);
  tuner_result r;
  assert_null(tuner_run(&d, &r));
  assert_true(r.config.n != 128 && r.source == TUNE_FROM_SEARCH);
  assert_int_equal(p.live, 0);
}

static void everything_wrong_leaves_the_default(void **state) {
  pretend p = {.drift = 1};
  tune_target t = target_of(&p);
  tuner_desc d = desc_of(&t, NULL);
  tuner_result r;
  p.broken_n = dflt.n;
  tune_space only;
  space_knob k[3] = {{"m", true, 1, {dflt.m}}, {"n", true, 1, {dflt.n}}, {"k", true, 1, {dflt.k}}};
  assert_true(space_custom(k, 3, NULL, NULL, &only));
  d.space = &only;
  assert_null(tuner_run(&d, &r));
  assert_int_equal(r.source, TUNE_FROM_DEFAULT);
  assert_memory_equal(&r.config, &dflt, sizeof dflt);
}

static void killed_search_goes_on_where_it_stopped(void **state) {
  if (!has_cache()) skip();
  pretend p = {.drift = 1, .die_after = 500};
  tune_target t = target_of(&p);
  tune_cache *c = open_cache();
  tuner_desc d = desc_of(&t, c);
  tuner_result r;
  tsr_status st = tuner_run(&d, &r);
  assert_int_equal(tsr_status_code(st), TSR_DEVICE_LOST);
  assert_memory_equal(&r.config, &dflt, sizeof dflt);
  tsr_status_free(st);
  assert_int_equal(p.live, 0);
  size_t kept = cache_trials(c, &d.key, NULL, NULL);
  assert_true(kept > 5 && kept < 40);
  p.die_after = 0;
  assert_null(tuner_run(&d, &r));
  assert_int_equal(r.samples, 40);
  assert_true(r.measurements <= 40 - kept + 4);
  cache_close(&c);
}

static void failing_winner_at_launch_falls_back(void **state) {
  if (!has_cache()) skip();
  pretend p = {.drift = 1};
  tune_target t = target_of(&p);
  tune_cache *c = open_cache();
  tuner_desc d = desc_of(&t, c);
  tuner_result r, again;
  assert_null(tuner_run(&d, &r));
  tune_config runner_up = r.runner_up;
  tuner_winner_failed(&d, &r);
  assert_memory_equal(&r.config, &runner_up, sizeof runner_up);
  assert_null(tuner_run(&d, &again)); /* remembered */
  assert_memory_equal(&again.config, &runner_up, sizeof runner_up);
  assert_int_equal(again.measurements, 0);
  tuner_winner_failed(&d, &r);
  assert_memory_equal(&r.config, &dflt, sizeof dflt);
  cache_close(&c);
}

static void modes_off_and_cached_never_measure(void **state) {
  pretend p = {.drift = 1};
  tune_target t = target_of(&p);
  tune_mode mode;
  assert_true(tune_mode_parse("cached", &mode) && mode == TUNE_CACHED);
  assert_false(tune_mode_parse("sometimes", &mode));
  for (int m = TUNE_OFF; m <= TUNE_CACHED; m++) {
    tuner_desc d = desc_of(&t, NULL);
    d.mode = (tune_mode)m;
    tuner_result r;
    assert_null(tuner_run(&d, &r));
    assert_true(r.source == TUNE_FROM_DEFAULT && r.measurements == 0 && p.prepared == 0);
  }
}

static void model_only_measures_nothing_but_is_checked(void **state) {
  pretend p = {.drift = 1};
  tune_target t = target_of(&p);
  tuner_desc d = desc_of(&t, NULL);
  d.strategy = &search_model_only;
  tuner_result r;
  assert_null(tuner_run(&d, &r));
  assert_true(r.source == TUNE_FROM_MODEL && r.measurements == 0 && p.runs == 0 && p.checks >= 1);
}

static void slow_candidate_is_not_timed(void **state) {
  pretend p = {.drift = 1, .slow_m = 64};
  tune_target t = target_of(&p);
  tuner_desc d = desc_of(&t, NULL);
  d.samples = 400, d.strategy = &search_grid; /* all points */
  tuner_result r;
  assert_null(tuner_run(&d, &r));
  assert_true(p.slow_kernels > 3);
  assert_int_equal(p.slow_runs,
                   3 * p.slow_kernels); /* the warm-ups: 10 ms is between once and four times the limit of 5 */
  assert_true(r.config.m == 128 && r.config.n == 128 && r.config.k == 256);
}

static bool stop_at_five(void *user, const search_progress *q) { return q->done < 5; }
static void cancelled_search_tells_its_best_and_stores_nothing(void **state) {
  pretend p = {.drift = 1};
  tune_target t = target_of(&p);
  tune_cache *c = open_cache();
  tuner_desc d = desc_of(&t, c);
  d.progress = stop_at_five;
  tuner_result r;
  assert_null(tuner_run(&d, &r));
  assert_true(r.cancelled && !r.stored && r.samples == 5 && r.best_ns > 0 && r.best_ns <= r.default_ns && p.live == 0 &&
              p.checks == 0);
  tune_entry e;
  assert_false(cache_lookup(c, &d.key, &e));
  d.progress = NULL;
  assert_null(tuner_run(&d, &r)); /* goes on with the five that were kept */
  if (has_cache()) assert_true(r.measurements < r.samples && r.stored);
  cache_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(second_call_measures_nothing_also_in_another_process),
      CASE(buckets_decision_is_checked_for_each_shape),
      CASE(winner_is_the_fastest_despite_drift),
      CASE(registers_of_each_candidate_are_recorded),
      CASE(wrong_winner_is_never_stored),
      CASE(broken_candidates_are_failed_trials),
      CASE(everything_wrong_leaves_the_default),
      CASE(killed_search_goes_on_where_it_stopped),
      CASE(failing_winner_at_launch_falls_back),
      CASE(modes_off_and_cached_never_measure),
      CASE(model_only_measures_nothing_but_is_checked),
      CASE(slow_candidate_is_not_timed),
      CASE(cancelled_search_tells_its_best_and_stores_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
