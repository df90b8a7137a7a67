/* A stored schedule that fails to compile or to launch: the program goes on with the runner-up, then with the untuned
 * schedule, with right results; it is counted, told, and the cache no longer has the winner. What fails while it runs
 * is in test_runtime_tune_faults.c. */
#include "tests/unit/tune_faulty.h"

static void run_falls_back_to_the_runner_up_then_to_the_default(void **state) {
  session s;
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  const char *name = tsr_program_kernel(s.p, 0).name; /* the program's, whatever happens to its schedule */
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  assert_int_equal(falls(&s), 0);
  failures = 1;
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  check_result(&s);
  assert_int_equal(falls(&s), 1);
  assert_int_equal(warnings, 1);
  assert_true(explains(&s, "its runner-up took its place"));
  assert_true(*name);
  failures = 1;
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  check_result(&s);
  assert_int_equal(falls(&s), 2);
  assert_true(explains(&s, "the untuned schedule took its place"));
  failures = 1; /* nothing is left to fall back to */
  tsr_status st = tsr_program_run(s.p, NULL, s.in, &s.out);
  assert_int_equal(tsr_status_code(st), TSR_LAUNCH_FAILED);
  tsr_status_free(st);
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  check_result(&s);
  end(&s);
  begin(&s); /* what failed is remembered: the next process takes neither */
  compile(&s, TSR_TUNE_CACHED);
  assert_int_equal(tsr_context_tune_counters(s.ctx).hits, 0);
  end(&s);
}

static void two_failures_in_one_run_are_two_fall_backs(void **state) {
  session s;
  begin(&s);
  compile(&s, TSR_TUNE_DEFAULT);
  failures = 2, launches = 0;
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  check_result(&s);
  assert_int_equal(falls(&s), 2);
  assert_int_equal(launches, 3);
  end(&s);
}

static void the_winner_is_marked_for_the_next_process(void **state) {
  session s;
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  failures = 1;
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  end(&s);
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  assert_int_equal(tsr_context_tune_counters(s.ctx).hits, 1); /* the runner-up */
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  check_result(&s);
  assert_int_equal(falls(&s), 0);
  end(&s);
}

static void profiles_and_captures_fall_back_too(void **state) {
  session s;
  tsr_profile *prof;
  tsr_recording *r;
  tsr_stream *stream;
  double ns[16];
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  OK(tsr_stream_create(s.dev, 0, &stream));
  OK(tsr_capture_begin(stream));
  OK(tsr_program_run(s.p, stream, s.in, &s.out));
  OK(tsr_capture_end(stream, &r));
  failures = 1;
  OK(tsr_program_profile(s.p, NULL, s.in, &s.out, ns));
  check_result(&s);
  failures = 1;
  OK(tsr_recording_replay(r, stream));
  OK(tsr_stream_sync(stream, -1));
  check_result(&s);
  assert_int_equal(falls(&s), 2);
  OK(tsr_profile_create(s.ctx, &prof));
  OK(tsr_profile_step(prof, s.p, NULL, s.in, &s.out));
  tsr_profile_destroy(&prof);
  tsr_recording_destroy(&r);
  tsr_stream_destroy(&stream);
  end(&s);
}

/* Neither the machine's troubles nor a schedule of nobody's choice are a winner's fault. */
static void other_failures_stay_failures(void **state) {
  static const tsr_code codes[] = {TSR_OUT_OF_MEMORY, TSR_DEVICE_LOST, TSR_TIMEOUT, TSR_CANCELLED};
  session s;
  begin(&s);
  compile(&s, TSR_TUNE_CACHED);
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    failures = 1, failure_code = codes[i];
    tsr_status st = tsr_program_run(s.p, NULL, s.in, &s.out);
    assert_int_equal(tsr_status_code(st), codes[i]);
    tsr_status_free(st);
  }
  end(&s);
  begin(&s);
  compile(&s, TSR_TUNE_OFF);
  failures = 1, failure_code = TSR_LAUNCH_FAILED;
  tsr_status st = tsr_program_run(s.p, NULL, s.in, &s.out);
  assert_int_equal(tsr_status_code(st), TSR_LAUNCH_FAILED);
  tsr_status_free(st);
  assert_int_equal(falls(&s), 0);
  end(&s);
}

/* The winner fails, the program is sound without it, and the runner-up compiles. */
static void compile_falls_back_to_the_runner_up(void **state) {
  session s;
  failure_code = TSR_INTERNAL;
  begin(&s);
  compiles = "-++";
  compile(&s, TSR_TUNE_CACHED);
  assert_int_equal(falls(&s), 1);
  assert_int_equal(warnings, 1);
  assert_true(explains(&s, "a stored schedule failed to compile (injected); its runner-up took its place"));
  OK(tsr_program_run(s.p, NULL, s.in, &s.out));
  check_result(&s);
  end(&s);
  begin(&s); /* the runner-up is the winner now, at the first try */
  compiles = "+-";
  compile(&s, TSR_TUNE_CACHED);
  assert_int_equal(tsr_context_tune_counters(s.ctx).hits, 1);
  assert_int_equal(falls(&s), 0);
  assert_string_equal(compiles, "-");
  end(&s);
}

static void compile_falls_back_to_the_default(void **state) {
  static const tsr_code codes[] = {TSR_UNSUPPORTED, TSR_VERIFY_ERROR};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    session s;
    if (i) tear_down(state), assert_int_equal(set_up(state), 0);
    failure_code = codes[i];
    begin(&s);
    compiles = "-+-";
    compile(&s, i % 2 ? TSR_TUNE_DEFAULT : TSR_TUNE_CACHED);
    assert_int_equal(falls(&s), 2);
    assert_int_equal(warnings, 2);
    assert_true(explains(&s, "a stored schedule failed to compile (injected); the untuned schedule took its place"));
    OK(tsr_program_run(s.p, NULL, s.in, &s.out));
    check_result(&s);
    end(&s);
    begin(&s); /* neither is in the cache */
    compile(&s, TSR_TUNE_CACHED);
    assert_int_equal(tsr_context_tune_counters(s.ctx).hits, 0);
    end(&s);
  }
}

/* Of two kernels one has a schedule that doesn't compile: alone it doesn't either, which is how it is found, and the
 * other's stays in the cache, whatever becomes of the first one's. */
static void the_failing_schedule_alone_is_dropped(void **state) {
  static const char *const fails[] = {"-++--+-", "-+-+--+"};
  for (size_t which = 0; which < 2; which++) {
    session s;
    tsr_value v[3];
    tsr_tune_report *r;
    const tsr_tune_options options = {.strategy = "random", .samples = 12, .samples_fixed = true, .again = true};
    if (which) tear_down(state), assert_int_equal(set_up(state), 0);
    failure_code = TSR_UNSUPPORTED;
    for (int pass = 0; pass < 3; pass++) { /* tuned, compiled with failures, compiled again */
      begin(&s);
      tsr_graph_destroy(&s.g);
      OK(tsr_graph_create(s.ctx, "main", &s.g));
      OK(tsr_graph_input(s.g, "A", TSR_F32, (tsr_shape){2, {3 * M, K}}, &v[0]));
      OK(tsr_graph_input(s.g, "B", TSR_F32, (tsr_shape){2, {K, N}}, &v[1]));
      OK(tsr_graph_input(s.g, "C", TSR_F32, (tsr_shape){2, {M, 7 * K}}, &v[2]));
      tsr_value d, second[2] = {v[2], 0}, y;
      OK(tsr_graph_input(s.g, "D", TSR_F32, (tsr_shape){2, {7 * K, 5 * N}}, &d));
      second[1] = d;
      OK(tsr_graph_op(s.g, "matmul", v, 2, NULL, 0, &y));
      OK(tsr_graph_output(s.g, y));
      OK(tsr_graph_op(s.g, "matmul", second, 2, NULL, 0, &y));
      OK(tsr_graph_output(s.g, y));
      if (!pass) {
        OK(tsr_graph_tune(s.dev, s.g, NULL, &options, &r));
        bool both = tsr_tune_report_get(r, 0).has_runner_up && tsr_tune_report_get(r, 1).has_runner_up;
        tsr_tune_report_destroy(&r);
        assert_true(both);
      } else {
        compiles = pass == 1 ? fails[which] : "";
        OK(tsr_program_compile(s.dev, s.g, &(tsr_compile_options){.tune = TSR_TUNE_CACHED}, &s.p));
        if (*compiles) fail_msg("left: %s", compiles);
        assert_int_equal(falls(&s), pass == 1 ? 2 : 0);
        if (pass == 2) assert_int_equal(tsr_context_tune_counters(s.ctx).hits, 1);
      }
      end(&s);
    }
  }
}

/* What fails without the stored schedule too, and the machine's troubles: the caller gets the failure, the cache keeps
 * its winner. */
static void failures_of_the_program_leave_the_cache_alone(void **state) {
  static const struct { tsr_code code; const char *compiles; } cases[] = {
      {TSR_UNSUPPORTED, "--"}, {TSR_INTERNAL, "--"}, {TSR_OUT_OF_MEMORY, "-"}, {TSR_DEVICE_LOST, "-"}};
  session s;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin(&s);
    failure_code = cases[i].code, compiles = cases[i].compiles;
    tsr_status st = tsr_program_compile(s.dev, s.g, &(tsr_compile_options){.tune = TSR_TUNE_CACHED}, &s.p);
    assert_int_equal(tsr_status_code(st), cases[i].code);
    assert_null(s.p);
    assert_string_equal(compiles, "");
    assert_int_equal(falls(&s), 0);
    tsr_status_free(st);
    compile(&s, TSR_TUNE_CACHED);
    assert_int_equal(tsr_context_tune_counters(s.ctx).hits, 2); /* asked for twice, given twice */
    assert_int_equal(falls(&s), 0);
    assert_true(explains(&s, "tune"));
    end(&s);
  }
  assert_int_equal(warnings, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(run_falls_back_to_the_runner_up_then_to_the_default, set_up, tear_down),
      cmocka_unit_test_setup_teardown(two_failures_in_one_run_are_two_fall_backs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_winner_is_marked_for_the_next_process, set_up, tear_down),
      cmocka_unit_test_setup_teardown(profiles_and_captures_fall_back_too, set_up, tear_down),
      cmocka_unit_test_setup_teardown(other_failures_stay_failures, set_up, tear_down),
      cmocka_unit_test_setup_teardown(compile_falls_back_to_the_runner_up, set_up, tear_down),
      cmocka_unit_test_setup_teardown(compile_falls_back_to_the_default, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_failing_schedule_alone_is_dropped, set_up, tear_down),
      cmocka_unit_test_setup_teardown(failures_of_the_program_leave_the_cache_alone, set_up, tear_down),
  };
#ifndef TSR_HAVE_SQLITE
  printf("built without SQLite: nothing is stored\n");
  return 77;
#endif
  return cmocka_run_group_tests(tests, NULL, tear_down_all);
}
