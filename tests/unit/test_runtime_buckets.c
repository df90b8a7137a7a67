/* Shapes of a graph with unknown dimensions share tuning decisions by buckets, through the public interface on the CPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "tests/unit/tune_matmul.h"

/* f's graph of unknown rows, for `rows`. */
static fixture specialised(const fixture *f, int64_t rows) {
  fixture s = *f;
  assert_null(tsr_graph_specialize(f->g, (tsr_shape[]){{2, {rows, 128}}, {2, {128, 80}}, {2, {rows, 80}}}, 3, &s.g));
  return s;
}
static tsr_tune_result tuned(const fixture *f, int64_t rows, bool again, const char *source) {
  fixture s = specialised(f, rows);
  tsr_tune_report *r;
  tsr_tune_options t = few;
  t.again = again;
  assert_null(tsr_graph_tune(s.dev, s.g, NULL, &t, &r));
  assert_int_equal(tsr_tune_report_count(r), 1);
  tsr_tune_result x = tsr_tune_report_get(r, 0);
  if (strcmp(x.source, source)) fail_msg("%lld rows: from %s, expected %s", (long long)rows, x.source, source);
  assert_true((x.measurements > 0) == !strcmp(source, "search"));
  tsr_tune_report_destroy(&r);
  tsr_graph_destroy(&s.g);
  return x;
}
static void shapes_of_a_bucket_share_one_decision(void **state) {
  fixture f = open_matmul(TSR_ANY_DIM, 80, 128), fixed = open_matmul(310, 80, 128);
  tuned(&f, 300, false, "search");
  uint64_t before = tsr_context_tune_counters(f.ctx).measurements;
  tsr_tune_result shared = tuned(&f, 290, false, "bucket");
  tuned(&f, 384, false, "bucket");
  assert_true(shared.best_us == 0 && shared.predicted_us > 0 && !shared.stored);
  assert_true(tsr_context_tune_counters(f.ctx).measurements == before);
  tuned(&f, 256, false, "search"); /* the bucket below */
  tuned(&f, 290, true, "search");
  tuned(&f, 290, false, "cache"); /* its own goes first */
  tuned(&f, 40, false, "search");
  tuned(&f, 41, false, "search"); /* small extents are exact */
  tsr_tune_report *r;
  assert_null(tsr_graph_tune(fixed.dev, fixed.g, NULL, &few, &r));
  assert_string_equal(tsr_tune_report_get(r, 0).source, "search"); /* 310 rows that always were known */
  tsr_tune_report_destroy(&r);
  fixture s = specialised(&f, 333);
  uint64_t hits = tsr_context_tune_counters(f.ctx).hits;
  float *got;
  size_t n;
  double *want = run_options(&s, &(tsr_compile_options){.tune = TSR_TUNE_CACHED}, &got, &n);
  assert_true(tsr_context_tune_counters(f.ctx).hits == hits + 1);
  for (size_t i = 0; i < n; i++)
    assert_true(fabs(got[i] - want[i]) <
                2 * sqrt(128) * 6e-8 * 128 + 1e-5); /* the tolerance of compiling_uses_the_cache_and_stays_right */
  free(got), free(want);
  tsr_graph_destroy(&s.g);
  close_all(&fixed);
  close_all(&f);
}

int main(void) {
#ifndef TSR_HAVE_SQLITE
  return 77; /* the cache is off */
#endif
  const struct CMUnitTest tests[] = {IN_DIR(shapes_of_a_bucket_share_one_decision)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
