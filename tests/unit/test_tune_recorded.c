/* Strategies replayed on real spaces that were measured exhaustively (bench/tune, recorded with `tessera tune
 * --record`): without noise, the same on every machine. The thresholds are the tuner's promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tune/record.h"

enum { MAX_SPACES = 32, RANDOM_SEEDS = 40 };
static record spaces[MAX_SPACES];
static int n_spaces;

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static int load_all(void **state) {
  static char names[MAX_SPACES][256];
  DIR *d = opendir(TSR_SOURCE_DIR "/bench/tune");
  int n = 0;
  for (struct dirent *e; d && (e = readdir(d));)
    if (strstr(e->d_name, ".json") && n < MAX_SPACES) snprintf(names[n++], sizeof names[0], "%.255s", e->d_name);
  if (d) closedir(d);
  qsort(names, (size_t)n, sizeof names[0], by_name);
  for (int i = 0; i < n; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/bench/tune/%.255s", TSR_SOURCE_DIR, names[i]);
    record_init(&spaces[i], NULL);
    tsr_status st = record_load(path, &spaces[i]);
    if (st) {
      print_error("%s\n", tsr_status_message(st));
      return -1;
    }
    n_spaces++;
  }
  return n_spaces >= 12 ? 0 : -1;
}
static int drop_all(void **state) {
  for (int i = 0; i < n_spaces; i++) record_clear(&spaces[i]);
  return 0;
}

/* Best found over best of all. */
static double fraction(record *r, const search_strategy *strategy, size_t samples, uint64_t seed) {
  search_measure m = record_replay(r);
  search_desc d = {.space = &r->space,
                   .device = &r->device,
                   .problem = &r->problem,
                   .strategy = strategy,
                   .measure = &m,
                   .dflt = &r->dflt,
                   .samples = samples,
                   .samples_fixed = true,
                   .seed = seed,
                   .stop_fraction = 2,
                   .keep_default_gain = 1e-9};
  search_outcome o;
  tsr_status st = search_run(&d, &o);
  const search_result *best = st ? NULL : record_find(r, &o.best);
  double f = best && best->state == SAMPLE_OK ? record_best(r) / best->ns : 0;
  tsr_status_free(st);
  search_outcome_clear(NULL, &o);
  return f;
}

static void hybrid_reaches_97_percent(void **state) {
  int in50 = 0, in16 = 0;
  double model = 0;
  for (int i = 0; i < n_spaces; i++) {
    double f8 = fraction(&spaces[i], &search_hybrid, 8, 1), f16 = fraction(&spaces[i], &search_hybrid, 16, 1),
           f50 = fraction(&spaces[i], &search_hybrid, 50, 1);
    double fm = fraction(&spaces[i], &search_model_only, 0, 1);
    print_message("%-40s %5zu points: 8 %.3f, 16 %.3f, 50 %.3f, model-only %.3f\n", spaces[i].label,
                  spaces[i].n_samples, f8, f16, f50, fm);
    in50 += f50 >= 0.97;
    in16 += f16 >= 0.97;
    model += fm / n_spaces;
  }
  print_message("97%% within 50 samples: %d of %d, within 16: %d; model-only mean %.3f\n", in50, n_spaces, in16, model);
  assert_true(in50 >= n_spaces - 1);
  assert_true(in16 >= (n_spaces * 9 + 11) / 12);
  assert_true(model >= 0.85);
}

static void hybrid_beats_random_at_every_budget(void **state) {
  for (size_t budget = 8; budget <= 64; budget += 8) {
    double h = 0, r = 0;
    for (int i = 0; i < n_spaces; i++) {
      h += fraction(&spaces[i], &search_hybrid, budget, 1) / n_spaces;
      for (uint64_t seed = 1; seed <= RANDOM_SEEDS; seed++)
        r += fraction(&spaces[i], &search_random, budget, seed) / (RANDOM_SEEDS * n_spaces);
    }
    print_message("budget %2zu: hybrid %.4f, random %.4f\n", budget, h, r);
    assert_true(h > r);
  }
}

static void tuned_is_never_slower_than_the_default(void **state) {
  for (int i = 0; i < n_spaces; i++) {
    record *r = &spaces[i];
    space_point at;
    assert_true(space_nearest(&r->space, &r->dflt, &at));
    const search_result *dflt = record_find(r, &at);
    assert_non_null(dflt);
    if (dflt->state == SAMPLE_OK) assert_true(fraction(r, &search_hybrid, 16, 1) >= record_best(r) / dflt->ns);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hybrid_reaches_97_percent),
      cmocka_unit_test(hybrid_beats_random_at_every_budget),
      cmocka_unit_test(tuned_is_never_slower_than_the_default),
  };
  return cmocka_run_group_tests(tests, load_all, drop_all);
}
