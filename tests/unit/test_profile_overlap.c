/* How much of the copies of a profile went on beside kernels: sums of intervals against figures worked out by hand, as
 * numbers, text and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/json.h"
#include "core/profile/overlap.h"
#include "core/profile/report.h"

static prof_log *begin(void) {
  prof_log *l = NULL;
  assert_null(prof_log_create(NULL, &l));
  return l;
}

static void ran(prof_log *l, prof_kind kind, const char *device, double from, double to, const char *waits) {
  prof_event e = prof_event_init(kind, kind == PROF_COPY ? "copy" : "matmul");
  e.device = device, e.start_ns = from, e.end_ns = to, e.device_clock = true, e.waits = waits;
  prof_add(l, &e);
}

static prof_overlap only(const prof_log *l) {
  prof_overlap *rows, r;
  size_t n;
  assert_null(prof_overlaps(l, NULL, &rows, &n));
  assert_int_equal(n, 1);
  r = rows[0];
  al_free_array(NULL, rows, n);
  return r;
}

static void assert_overlap(const prof_log *l, double copy, double kernel, double both, double part) {
  prof_overlap r = only(l);
  assert_true(r.copy_ns == copy && r.kernel_ns == kernel && r.both_ns == both && r.part == part);
}

static void overlap_is_over_the_shorter_of_the_two(void **state) {
  prof_log *l = begin();
  ran(l, PROF_KERNEL, "a", 1000, 5000, "");
  ran(l, PROF_COPY, "a", 4000, 6000, "");
  assert_overlap(l, 2000, 4000, 1000, 0.5);
  ran(l, PROF_COPY, "a", 4500, 13000, ""); /* two copies at once are one time */
  assert_overlap(l, 9000, 4000, 1000, 0.25);
  ran(l, PROF_FUSED, "a", 5000, 7000, ""); /* kernels one after the other, without a gap */
  assert_overlap(l, 9000, 6000, 3000, 0.5);
  prof_log_destroy(&l);
}

static void what_only_touches_does_not_overlap(void **state) {
  prof_log *l = begin();
  for (int i = 0; i < 4; i++) ran(l, i % 2 ? PROF_COPY : PROF_KERNEL, "a", 100 * i, 100 * (i + 1), "");
  assert_overlap(l, 200, 200, 0, 0);
  prof_log_destroy(&l);
}

static void order_of_events_does_not_matter(void **state) {
  static const double copies[][2] = {{70, 90}, {10, 20}, {15, 40}}, kernels[][2] = {{0, 12}, {80, 200}, {30, 35}};
  prof_log *a = begin(), *b = begin();
  for (int i = 0; i < 3; i++) ran(a, PROF_COPY, "a", copies[i][0], copies[i][1], "");
  for (int i = 0; i < 3; i++) ran(a, PROF_KERNEL, "a", kernels[i][0], kernels[i][1], "");
  for (int i = 3; i-- > 0;)
    ran(b, PROF_KERNEL, "a", kernels[i][0], kernels[i][1], ""), ran(b, PROF_COPY, "a", copies[i][0], copies[i][1], "");
  assert_overlap(a, 50, 137, 17, 0.34);
  assert_overlap(b, 50, 137, 17, 0.34);
  prof_log_destroy(&a), prof_log_destroy(&b);
}

static void other_clocks_and_devices_do_not_count(void **state) {
  prof_log *l = begin();
  prof_event before = prof_event_init(PROF_KERNEL, "matmul");
  before.device = "a", before.end_ns = 1e9;
  prof_add(l, &before); /* by the host's clock */
  ran(l, PROF_KERNEL, "b", 0, 1e9, "");
  ran(l, PROF_HOST, "a", 0, 1e9, "");
  prof_overlap *rows;
  size_t n;
  assert_null(prof_overlaps(l, NULL, &rows, &n));
  assert_true(!rows && !n);
  ran(l, PROF_COPY, "a", 10, 20, "one queue");
  assert_overlap(l, 10, 0, 0, -1);
  ran(l, PROF_COPY, "b", 10, 20, "");
  assert_null(prof_overlaps(l, NULL, &rows, &n));
  assert_int_equal(n, 2);
  assert_string_equal(rows[1].device, "b");
  assert_true(rows[1].both_ns == 10 && rows[1].part == 1);
  al_free_array(NULL, rows, n);
  prof_log_destroy(&l);
}

/* Where only some of the copies have to wait, the others can overlap. */
static void a_reason_holds_for_all_copies(void **state) {
  prof_log *l = begin();
  ran(l, PROF_COPY, "a", 0, 10, "too small");
  assert_string_equal(only(l).waits, "too small");
  ran(l, PROF_COPY, "a", 10, 20, "");
  assert_string_equal(only(l).waits, "");
  prof_log_destroy(&l);
}

static void report_has_the_line_and_json_the_row(void **state) {
  prof_log *l = begin();
  strb text, out;
  arena a;
  json *j;
  strb_init(&text, NULL), strb_init(&out, NULL), arena_init(&a, NULL);
  ran(l, PROF_KERNEL, "vulkan:0", 0, 4.1e6, "");
  assert_null(report_text(l, NULL, false, &text));
  assert_null(strstr(strb_text(&text), "overlap"));
  ran(l, PROF_COPY, "vulkan:0", 3.1e6, 5.1e6, "");
  strb_clear(&text), strb_init(&text, NULL);
  assert_null(report_text(l, NULL, false, &text));
  assert_non_null(strstr(strb_text(&text),
                         "overlap of vulkan:0: copies 2.0ms, kernels 4.1ms, both at once 1.0ms: 50% of "
                         "the shorter\n"));
  ran(l, PROF_COPY, "x\"y", 0, 1, "one \"queue\"");
  strb_clear(&text), strb_init(&text, NULL);
  assert_null(report_text(l, NULL, false, &text));
  assert_non_null(
      strstr(strb_text(&text), "overlap of x\"y: copies 1ns, kernels 0ns, both at once 0ns; one \"queue\"\n"));
  assert_null(report_json(l, NULL, &out));
  assert_null(json_parse(&a, strb_text(&out), out.n, "report", &j));
  const json *rows = json_get(j, "overlap");
  assert_int_equal(rows->n, 2);
  assert_true(json_num(rows->first, "overlap", -1) == 0.5 && json_num(rows->first, "both_ns", -1) == 1e6);
  assert_string_equal(json_str(rows->first->next, "waits", ""), "one \"queue\"");
  assert_true(json_num(rows->first->next, "overlap", -7) == -7); /* null */
  strb_clear(&text), strb_clear(&out), arena_clear(&a);
  prof_log_destroy(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(overlap_is_over_the_shorter_of_the_two), cmocka_unit_test(what_only_touches_does_not_overlap),
      cmocka_unit_test(order_of_events_does_not_matter),        cmocka_unit_test(other_clocks_and_devices_do_not_count),
      cmocka_unit_test(a_reason_holds_for_all_copies),          cmocka_unit_test(report_has_the_line_and_json_the_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
