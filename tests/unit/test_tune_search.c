/* Strategies replayed on recorded spaces: quality, bit-for-bit repetition, failures, cancelling, early stop, resuming.
 */
#include "tests/unit/tune_spaces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static record spaces[N_SYNTHETIC];

static int make_spaces(void **state) {
  for (int i = 0; i < N_SYNTHETIC; i++) {
    synthetic_space(i, &spaces[i]);
    if (!spaces[i].n_samples) return -1;
  }
  return 0;
}
static int drop_spaces(void **state) {
  for (int i = 0; i < N_SYNTHETIC; i++) record_clear(&spaces[i]);
  return 0;
}

static search_desc desc_of(record *r, const search_strategy *strategy, const search_measure *m, size_t samples,
                           uint64_t seed) {
  return (search_desc){.space = &r->space,
                       .device = &r->device,
                       .problem = &r->problem,
                       .strategy = strategy,
                       .measure = m,
                       .dflt = &r->dflt,
                       .samples = samples,
                       .seed = seed,
                       .stop_fraction = 2};
}

static double fraction(record *r, const search_strategy *strategy, size_t samples, uint64_t seed) {
  search_measure m = record_replay(r);
  search_desc d = desc_of(r, strategy, &m, samples, seed);
  search_outcome o;
  assert_null(search_run(&d, &o));
  const search_result *best = record_find(r, &o.best);
  double f = best && best->state == SAMPLE_OK ? record_best(r) / best->ns : 0;
  search_outcome_clear(NULL, &o);
  return f;
}

static void hybrid_reaches_the_best_in_few_samples(void **state) {
  int in50 = 0, in16 = 0;
  for (int i = 0; i < N_SYNTHETIC; i++) {
    double f16 = fraction(&spaces[i], &search_hybrid, 16, 1), f50 = fraction(&spaces[i], &search_hybrid, 50, 1);
    print_message("%-14s %5zu points: 16 samples %.3f, 50 samples %.3f, model-only %.3f\n", spaces[i].label,
                  spaces[i].n_samples, f16, f50, fraction(&spaces[i], &search_model_only, 0, 1));
    in50 += f50 >= 0.97;
    in16 += f16 >= 0.97;
  }
  assert_true(in50 >= 11);
  assert_true(in16 >= 9);
}

static void hybrid_beats_random_at_every_budget(void **state) {
  static const size_t budgets[] = {8, 16, 24, 32, 48, 64};
  for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++) {
    double h = 0, r = 0;
    for (int i = 0; i < N_SYNTHETIC; i++) {
      h += fraction(&spaces[i], &search_hybrid, budgets[b], 1) / N_SYNTHETIC;
      for (uint64_t seed = 1; seed <= 10; seed++)
        r += fraction(&spaces[i], &search_random, budgets[b], seed) / (10 * N_SYNTHETIC);
    }
    print_message("budget %2zu: hybrid %.4f random %.4f\n", budgets[b], h, r);
    assert_true(h > r);
  }
}

static void replay_same_measurements_same_choice(void **state) {
  for (size_t v = 0; search_strategy_at(v); v++) {
    search_outcome o[2];
    for (int run = 0; run < 2; run++) {
      search_measure m = record_replay(&spaces[3]);
      search_desc d = desc_of(&spaces[3], search_strategy_at(v), &m, 24, 77);
      assert_null(search_run(&d, &o[run]));
    }
    assert_true(o[0].n_samples == o[1].n_samples && o[0].measurements == o[1].measurements);
    assert_memory_equal(&o[0].best, &o[1].best, sizeof o[0].best);
    for (size_t i = 0; i < o[0].n_samples; i++) assert_int_equal(o[0].samples[i].candidate, o[1].samples[i].candidate);
    search_outcome_clear(NULL, &o[0]), search_outcome_clear(NULL, &o[1]);
  }
  assert_null(search_strategy_find("simulated-annealing"));
  assert_ptr_equal(search_strategy_find("hybrid"), &search_hybrid);
}

static void samples_are_distinct_legal_and_within_budget(void **state) {
  for (size_t v = 0; search_strategy_at(v); v++) {
    search_measure m = record_replay(&spaces[0]);
    search_desc d = desc_of(&spaces[0], search_strategy_at(v), &m, 40, 5);
    search_outcome o;
    assert_null(search_run(&d, &o));
    bool measures = search_strategy_at(v) != &search_model_only;
    assert_int_equal(o.n_samples, measures ? 40 : 0);
    assert_true(o.measurements >= o.n_samples && o.measurements <= o.n_samples + 4);
    assert_true(measures || o.measurements == 0);
    for (size_t i = 0; i < o.n_samples; i++) {
      assert_true(space_is_legal(&spaces[0].space, &o.sample_points[i], NULL, 0));
      for (size_t j = 0; j < i; j++)
        assert_false(space_point_equal(&spaces[0].space, &o.sample_points[i], &o.sample_points[j]));
    }
    search_outcome_clear(NULL, &o);
  }
}

static void small_space_is_exhausted_and_best_found(void **state) {
  space_knob k[2] = {{"m", true, 3, {1, 2, 3}}, {"n", true, 2, {4, 8}}};
  record r;
  record_init(&r, NULL);
  space_custom(k, 2, NULL, NULL, &r.space);
  r.problem = spaces[0].problem, r.device = spaces[0].device;
  for (uint8_t a = 0; a < 3; a++)
    for (uint8_t b = 0; b < 2; b++) {
      space_point p = {{a, b}};
      search_result res = {a == 1 && b == 1 ? 50 : 100, SAMPLE_OK};
      assert_null(record_add(&r, &p, &res));
    }
  assert_true(fraction(&r, &search_hybrid, 50, 1) == 1);
  assert_true(fraction(&r, &search_grid, 50, 1) == 1);
  record_clear(&r);
}

typedef struct scripted {
  int calls, fail_after;
  bool all_fail, cancel;
  size_t kept;
} scripted;

static tsr_status scripted_measure(void *user, const tune_space *s, const space_point *p, size_t n,
                                   search_result *out) {
  scripted *x = user;
  if (x->fail_after && x->calls >= x->fail_after)
    return st_make(NULL, TSR_DEVICE_LOST, ST_WHERE("test", NULL, NULL), "gone");
  x->calls++;
  for (size_t i = 0; i < n; i++)
    out[i] = x->all_fail
                 ? (search_result){0, SAMPLE_FAILED}
                 : (search_result){1000 + 10.0 * p[i].i[0] + p[i].i[1], p[i].i[2] % 2 ? SAMPLE_FAILED : SAMPLE_OK};
  return NULL;
}
static void scripted_keep(void *user, const tune_space *s, const space_point *p, const search_result *r) {
  ((scripted *)user)->kept++;
}
static bool scripted_progress(void *user, const search_progress *p) {
  assert_true(p->done >= 1 && p->done <= p->budget);
  return !((scripted *)user)->cancel || p->done < 5;
}

static void failing_candidates_never_win(void **state) {
  scripted x = {0};
  search_measure m = {scripted_measure, scripted_keep, scripted_progress, &x};
  search_desc d = desc_of(&spaces[1], NULL, &m, 30, 1);
  search_outcome o;
  assert_null(search_run(&d, &o));
  assert_true(o.has_best && o.best.i[2] % 2 == 0);
  assert_int_equal(x.kept, o.n_samples);
  search_outcome_clear(NULL, &o);
  x = (scripted){.all_fail = true};
  assert_null(search_run(&d, &o));
  assert_false(o.has_best);
  search_outcome_clear(NULL, &o);
}

/* Candidates far faster than the default when alone; in the play-off by the median too, but only in `wins` of the
 * rounds. */
typedef struct wavering {
  space_point dflt;
  double wins;
} wavering;
static tsr_status wavering_measure(void *user, const tune_space *s, const space_point *p, size_t n,
                                   search_result *out) {
  const wavering *w = user;
  for (size_t i = 0; i < n; i++)
    out[i] = (search_result){space_point_equal(s, &p[i], &w->dflt) ? 1000 : 800, SAMPLE_OK, w->wins};
  return NULL;
}
static void default_stays_unless_beaten_in_most_rounds(void **state) {
  static const struct {
    double wins;
    bool stays;
  } all[] = {{0.5, true}, {0.6, true}, {0.7, false}, {1, false}, {0, false}}; /* 0: not known */
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    wavering w = {.wins = all[i].wins};
    search_measure m = {wavering_measure, NULL, NULL, &w};
    search_desc d = desc_of(&spaces[1], NULL, &m, 12, 1);
    search_outcome o;
    assert_true(space_nearest(d.space, d.dflt, &w.dflt));
    assert_null(search_run(&d, &o));
    assert_true(o.has_best);
    assert_int_equal(space_point_equal(d.space, &o.best, &w.dflt), all[i].stays);
    search_outcome_clear(NULL, &o);
  }
}

static void lost_device_ends_the_search_and_keeps_what_was_measured(void **state) {
  scripted x = {.fail_after = 7};
  search_measure m = {scripted_measure, scripted_keep, NULL, &x};
  search_desc d = desc_of(&spaces[1], NULL, &m, 30, 1);
  search_outcome o;
  tsr_status st = search_run(&d, &o);
  assert_int_equal(tsr_status_code(st), TSR_DEVICE_LOST);
  assert_int_equal(x.kept, 7);
  assert_null(o.samples);
  tsr_status_free(st);
}

static void cancelled_search_returns_its_best(void **state) {
  scripted x = {.cancel = true};
  search_measure m = {scripted_measure, scripted_keep, scripted_progress, &x};
  search_desc d = desc_of(&spaces[1], NULL, &m, 30, 1);
  search_outcome o;
  assert_null(search_run(&d, &o));
  assert_true(o.cancelled && o.n_samples == 5 && x.kept == 5 && o.has_best);
  search_outcome_clear(NULL, &o);
}

static void known_measurements_are_not_repeated(void **state) {
  search_measure m = record_replay(&spaces[2]);
  search_desc d = desc_of(&spaces[2], NULL, &m, 20, 1);
  search_outcome first, second;
  assert_null(search_run(&d, &first));
  search_known known[20];
  for (size_t i = 0; i < 12; i++) {
    known[i].point = first.sample_points[i];
    known[i].result = (search_result){first.samples[i].ns, first.samples[i].state};
  }
  d.known = known, d.n_known = 12;
  assert_null(search_run(&d, &second));
  size_t from_cache = 0;
  for (size_t i = 0; i < second.n_samples; i++) from_cache += second.samples[i].from_cache;
  assert_int_equal(from_cache, 12);
  assert_int_equal(second.n_samples, 20);
  assert_true(second.measurements <= 8 + 4);
  assert_true(space_point_equal(&spaces[2].space, &first.best,
                                &second.best)); /* a resumed search ends where the whole one did */
  search_outcome_clear(NULL, &first), search_outcome_clear(NULL, &second);
}

static void neighbours_reduce_samples_and_go_first(void **state) {
  assert_int_equal(search_budget(0, 0), 50);
  assert_int_equal(search_budget(0, 1), 25);
  assert_true(search_budget(0, 5) >= 8 && search_budget(0, 5) < 25);
  assert_int_equal(search_budget(5, 2), 5);
  search_measure m = record_replay(&spaces[1]);
  search_desc d = desc_of(&spaces[1], NULL, &m, 0, 1);
  search_outcome o;
  assert_null(search_run(&d, &o));
  tune_config winner = space_config(&spaces[1].space, &o.best);
  space_point best = o.best;
  search_outcome_clear(NULL, &o);
  d.neighbours = &winner, d.n_neighbours = 1;
  assert_null(search_run(&d, &o));
  assert_int_equal(o.n_samples, 25);
  assert_true(space_point_equal(&spaces[1].space, &o.sample_points[1], &best));
  search_outcome_clear(NULL, &o);
}

static void early_stop_at_the_roofline(void **state) {
  search_measure m = record_replay(&spaces[1]);
  search_desc d = desc_of(&spaces[1], NULL, &m, 50, 1);
  d.stop_fraction = 1e-6;
  search_outcome o;
  assert_null(search_run(&d, &o));
  assert_true(o.stopped_early && o.n_samples == 1);
  assert_true(o.roofline_ns > 0);
  search_outcome_clear(NULL, &o);
}

static double worst_first(void *user, double ns, double work) { return -ns; }
static void objective_is_replaceable(void **state) {
  search_measure m = record_replay(&spaces[11]);
  search_desc d = desc_of(&spaces[11], &search_random, &m, 40, 3);
  search_outcome fast, slow;
  assert_null(search_run(&d, &fast));
  d.objective = worst_first;
  assert_null(search_run(&d, &slow));
  assert_true(slow.best_ns > fast.best_ns);
  search_outcome_clear(NULL, &fast), search_outcome_clear(NULL, &slow);
}

static double constant_model(void *user, const tune_device *d, const tune_problem *p, const tune_config *c) {
  return c->m == *(int *)user ? 5 : -1;
}
static void cost_model_is_replaceable_and_can_forbid(void **state) {
  int only = 64;
  cost_model model = {"only-64", constant_model, NULL, &only};
  search_measure m = record_replay(&spaces[1]);
  search_desc d = desc_of(&spaces[1], NULL, &m, 20, 1);
  d.model = &model;
  search_outcome o;
  assert_null(search_run(&d, &o));
  assert_true(o.n_model < o.n_legal);
  for (size_t i = 0; i < o.n_samples; i++) assert_int_equal(space_config(&spaces[1].space, &o.sample_points[i]).m, 64);
  search_outcome_clear(NULL, &o);
}

static size_t last_next(void *state, const search_view *v) {
  for (size_t i = v->n_points; i-- > 0;)
    if (!v->measured[i]) return i;
  return SEARCH_STOP;
}
static void strategy_is_replaceable(void **state) {
  search_strategy mine = {"backwards", "", NULL, last_next, NULL};
  search_measure m = record_replay(&spaces[1]);
  search_desc d = desc_of(&spaces[1], &mine, &m, 10, 1);
  search_outcome o;
  assert_null(search_run(&d, &o));
  assert_int_equal(o.n_samples, 10);
  for (size_t i = 2; i < 10; i++) assert_true(o.samples[i].candidate < o.samples[i - 1].candidate);
  search_outcome_clear(NULL, &o);
}

static void winner_is_never_slower_than_the_default(void **state) {
  for (int i = 0; i < N_SYNTHETIC; i++) {
    search_measure m = record_replay(&spaces[i]);
    search_desc d = desc_of(&spaces[i], &search_random, &m, 3, (uint64_t)i + 1);
    search_outcome o;
    assert_null(search_run(&d, &o));
    if (o.default_ns > 0) assert_true(o.best_ns <= o.default_ns);
    search_outcome_clear(NULL, &o);
  }
}

static void record_text_round_trips_and_refuses_damage(void **state) {
  strb a, b;
  strb_init(&a, NULL), strb_init(&b, NULL);
  record_print(&spaces[0], &a);
  record r;
  record_init(&r, NULL);
  assert_null(record_parse(strb_text(&a), a.n, "a", &r));
  record_print(&r, &b);
  assert_string_equal(strb_text(&a), strb_text(&b));
  record_clear(&r);
  uint64_t rng = 9;
  for (int i = 0; i < 200; i++) { /* cut anywhere: an error, never a crash */
    record_init(&r, NULL);
    tsr_status st = record_parse(strb_text(&a), search_rand(&rng, a.n - 3), "cut", &r);
    assert_non_null(st);
    tsr_status_free(st);
    record_clear(&r);
  }
  strb_clear(&a), strb_clear(&b);
}

/* Names with quotes, numbers beyond their type: read, or refused, and what was read comes out readable. */
static void record_text_may_hold_anything(void **state) {
  static const char head[] =
      "{\"schema\": 1, \"label\": \"a \\\"b\\n\", \"device\": \"name = d\\n\", \"problem\": {\"family\": \"row\", "
      "\"op\": \"o\\\"p\", \"m\": 1e300, \"n\": 2, \"passes\": 1e300, "
      "\"in\": \"f32\", \"out\": \"f32\"}, \"default\": \"m=1\", \"knobs\": [{\"name\": \"k\\n\\\"\", \"values\": [";
  static const struct {
    const char *values;
    bool good;
  } cases[] = {{"1, 2]}], \"samples\": [[1, 1e300]]}", true},
               {"1e300]}], \"samples\": [[0, 1]]}", false},
               {"1]}], \"samples\": [[1e300, 1]]}", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024];
    record r, again;
    strb b;
    strb_init(&b, NULL);
    record_init(&r, NULL);
    record_init(&again, NULL);
    tsr_status st = record_parse(text, (size_t)snprintf(text, sizeof text, "%s%s", head, cases[i].values), "t", &r);
    assert_int_equal(st == NULL, cases[i].good);
    tsr_status_free(st);
    if (cases[i].good) {
      record_print(&r, &b);
      assert_null(record_parse(strb_text(&b), b.n, "printed", &again));
      assert_true(again.problem.m == INT64_MAX && again.problem.passes == INT32_MAX && again.n_samples == 1);
      assert_string_equal(again.space.knob[0].name, "k\n\"");
      assert_string_equal(again.problem.op, "o\"p");
    }
    record_clear(&r);
    record_clear(&again);
    strb_clear(&b);
  }
}

static void replay_of_unrecorded_point_is_an_error(void **state) {
  record *r = &spaces[0];
  tune_space open = r->space;
  open.legal = NULL;
  search_measure m = record_replay(r);
  search_desc d = desc_of(r, &search_grid, &m, 50, 1);
  d.space = &open;
  search_outcome o;
  tsr_status st = search_run(&d, &o);
  assert_int_equal(tsr_status_code(st), TSR_NOT_FOUND);
  tsr_status_free(st);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hybrid_reaches_the_best_in_few_samples),
      cmocka_unit_test(hybrid_beats_random_at_every_budget),
      cmocka_unit_test(replay_same_measurements_same_choice),
      cmocka_unit_test(samples_are_distinct_legal_and_within_budget),
      cmocka_unit_test(record_text_may_hold_anything),
      cmocka_unit_test(small_space_is_exhausted_and_best_found),
      cmocka_unit_test(failing_candidates_never_win),
      cmocka_unit_test(default_stays_unless_beaten_in_most_rounds),
      cmocka_unit_test(lost_device_ends_the_search_and_keeps_what_was_measured),
      cmocka_unit_test(cancelled_search_returns_its_best),
      cmocka_unit_test(known_measurements_are_not_repeated),
      cmocka_unit_test(neighbours_reduce_samples_and_go_first),
      cmocka_unit_test(early_stop_at_the_roofline),
      cmocka_unit_test(objective_is_replaceable),
      cmocka_unit_test(cost_model_is_replaceable_and_can_forbid),
      cmocka_unit_test(strategy_is_replaceable),
      cmocka_unit_test(winner_is_never_slower_than_the_default),
      cmocka_unit_test(record_text_round_trips_and_refuses_damage),
      cmocka_unit_test(replay_of_unrecorded_point_is_an_error),
  };
  return cmocka_run_group_tests(tests, make_spaces, drop_spaces);
}
