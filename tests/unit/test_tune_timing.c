/* Interleaved timing: medians, slow moments of the machine, failures, candidates that are given up; and medians. */
#include "core/tune/timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/sample.h"
#include "core/base/status.h"

typedef struct clocked {
  int runs;
  double ns;
  int fail_at;
} clocked;
static double machine = 1;
static tsr_status clocked_run(void *user, double *ns) {
  clocked *c = user;
  machine = c->runs % 7 == 3 ? 5 : 1; /* a slow moment now and then */
  if (++c->runs == c->fail_at) return st_make(NULL, TSR_LAUNCH_FAILED, ST_WHERE("test", NULL, NULL), "no");
  *ns = c->ns * machine;
  return NULL;
}
static void timing_takes_medians_and_counts_runs(void **state) {
  clocked c[3] = {{.ns = 100}, {.ns = 200}, {.ns = 50, .fail_at = 6}};
  timing_subject s[3] = {{clocked_run, &c[0]}, {clocked_run, &c[1]}, {clocked_run, &c[2]}};
  timing_result r[3];
  assert_null(timing_interleaved(NULL, s, 3, &(timing_options){.most_runs = 10}, r));
  assert_true(r[0].median_ns == 100 && r[1].median_ns == 200 && r[0].min_ns == 100);
  assert_true(r[0].runs == 10 && c[0].runs == 13); /* 3 warm-ups */
  assert_int_equal(tsr_status_code(r[2].failure), TSR_LAUNCH_FAILED);
  assert_true(r[2].median_ns == 0 && c[2].runs == 6);
  tsr_status_free(r[2].failure);
  clocked slow[4] = {{.ns = 100}, {.ns = 5000}, {.ns = 3000}, {.ns = 2000}};
  timing_subject with[4] = {
      {clocked_run, &slow[0]}, {clocked_run, &slow[1]}, {clocked_run, &slow[2], true}, {clocked_run, &slow[3]}};
  timing_result r4[4];
  assert_null(timing_interleaved(NULL, with, 4, &(timing_options){.most_runs = 10, .give_up_ns = 1000}, r4));
  assert_true(r4[1].given_up && slow[1].runs == 2 && r4[1].median_ns == 5000 && r4[1].runs == 1);
  assert_true(r4[3].given_up && slow[3].runs == 3 && r4[3].median_ns == 2000);
  assert_true(!r4[0].given_up && slow[0].runs == 13 && !r4[2].given_up && slow[2].runs == 13 &&
              r4[2].median_ns == 3000);
  double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
  sample_sort(odd, 3);
  sample_sort(even, 4);
  sample_sort(NULL, 0);
  assert_true(odd[0] == 1 && odd[2] == 3 && even[0] == 1 && even[3] == 4);
  assert_true(sample_median(odd, 3) == 2 && sample_median(even, 4) == 2.5 && sample_median(NULL, 0) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(timing_takes_medians_and_counts_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
