/* A stored schedule that fails while it runs, which is seen when it is waited for: the program goes on as where it
 * fails to launch (test_runtime_tune_fallback.c). What was seen to run is not waited for again. */
#include "tests/unit/tune_faulty.h"

static void a_fault_while_running_falls_back(void **state) {
  session s;
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  async_failures = 1;
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  check_result(&s);
  assert_int_equal(falls(&s), 1);
  assert_int_equal(warnings, 1);
  assert_true(explains(&s, "injected while running"));
  end(&s);
  begin(&s); /* the runner-up ran: it is stored, and trusted */
  compile(&s, TSR_TUNE_CACHED);
  assert_int_equal(tsr_context_tune_counters(s.ctx).hits, 1);
  syncs = 0;
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  assert_int_equal(syncs, 0);
  end(&s);
}

static void two_faults_while_running_end_with_the_default(void **state) {
  session s;
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  async_failures = 2;
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  check_result(&s);
  assert_int_equal(falls(&s), 2);
  assert_true(explains(&s, "the untuned schedule took its place"));
  syncs = 0;
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  assert_int_equal(syncs, 0); /* nothing stored is left in it */
  end(&s);
}

static void profiles_and_replays_see_faults_while_running(void **state) {
  session s;
  tsr_stream *stream;
  tsr_recording *r;
  double ns[16];
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  OK(tsr_stream_create(s.dev, 0, &stream));
  OK(tsr_capture_begin(stream));
  OK(tsr_program_run(s.p, stream, s.in, &s.out));
  OK(tsr_capture_end(stream, &r));
  async_failures = 1;
  OK(tsr_recording_replay(r, stream));
  check_result(&s);
  async_failures = 1;
  OK(tsr_program_profile(s.p, NULL, s.in, &s.out, ns));
  check_result(&s);
  assert_int_equal(falls(&s), 2);
  tsr_recording_destroy(&r);
  tsr_stream_destroy(&stream);
  end(&s);
}

static void a_schedule_is_waited_for_once(void **state) {
  session s;
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  syncs = 0;
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  assert_int_equal(syncs, 2);
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  assert_int_equal(syncs, 2);
  async_failures = 1; /* later faults are the stream's */
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  tsr_status st = tsr_stream_sync(rt_stream(s.dev, NULL), -1);
  assert_int_equal(tsr_status_code(st), TSR_LAUNCH_FAILED);
  tsr_status_free(st);
  assert_int_equal(falls(&s), 0);
  end(&s);
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  assert_int_equal(tsr_context_tune_counters(s.ctx).hits, 1);
  syncs = 0;
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  assert_int_equal(syncs, 0);
  check_result(&s);
  end(&s);
}

static void faults_of_earlier_work_are_not_the_schedules(void **state) {
  session s;
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  pending = true;
  tsr_status st = tsr_program_run(s.p, NULL, s.in, &s.out);
  assert_int_equal(tsr_status_code(st), TSR_LAUNCH_FAILED);
  tsr_status_free(st);
  assert_int_equal(falls(&s), 0);
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  check_result(&s);
  end(&s);
}

/* Nobody can say when that ends: perhaps after what this thread does next. */
static void a_stream_that_waits_for_others_is_not_waited_for(void **state) {
  session s;
  tsr_stream *stream[2];
  tsr_event *e;
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  for (int i = 0; i < 2; i++) OK(tsr_stream_create(s.dev, 0, &stream[i]));
  OK(tsr_event_create(s.dev, &e));
  OK(tsr_stream_wait_external(stream[0], &s));
  OK(tsr_event_record(e, stream[0]));
  OK(tsr_stream_wait(stream[1], e));
  syncs = 0;
  for (int i = 0; i < 2; i++) OK(tsr_program_run(s.p, stream[i], s.in, &s.out));
  assert_int_equal(syncs, 0);
  OK(tsr_program_run(s.p, NULL, s.in, &s.out)); /* still not seen */
  assert_int_equal(syncs, 2);
  tsr_event_destroy(&e);
  for (int i = 0; i < 2; i++) tsr_stream_destroy(&stream[i]);
  end(&s);
}

static void a_schedule_that_loses_the_device_is_not_taken_again(void **state) {
  session s;
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  async_failures = 1, async_code = TSR_DEVICE_LOST;
  tsr_status st = tsr_program_run(s.p, NULL, s.in, &s.out);
  assert_int_equal(tsr_status_code(st), TSR_DEVICE_LOST);
  assert_non_null(strstr(tsr_status_message(st), "dropped from the cache"));
  assert_non_null(strstr(tsr_status_hint(st), "open the device again"));
  tsr_status_free(st);
  st = tsr_program_run(s.p, NULL, s.in, &s.out);
  assert_int_equal(tsr_status_code(st), TSR_DEVICE_LOST);
  tsr_status_free(st);
  end(&s);
  lost = false; /* another process */
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  assert_int_equal(tsr_context_tune_counters(s.ctx).hits, 1); /* the runner-up, which loses it too */
  async_failures = 1;
  st = tsr_program_run(s.p, NULL, s.in, &s.out);
  assert_int_equal(tsr_status_code(st), TSR_DEVICE_LOST);
  tsr_status_free(st);
  end(&s);
  lost = false;
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  assert_int_equal(tsr_context_tune_counters(s.ctx).hits, 0);
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  check_result(&s);
  end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_fault_while_running_falls_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(two_faults_while_running_end_with_the_default, set_up, tear_down),
      cmocka_unit_test_setup_teardown(profiles_and_replays_see_faults_while_running, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_schedule_is_waited_for_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(faults_of_earlier_work_are_not_the_schedules, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_stream_that_waits_for_others_is_not_waited_for, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_schedule_that_loses_the_device_is_not_taken_again, set_up, tear_down),
  };
#ifndef TSR_HAVE_SQLITE
  printf("built without SQLite: nothing is stored\n");
  return 77;
#endif
  return cmocka_run_group_tests(tests, NULL, tear_down_all);
}
