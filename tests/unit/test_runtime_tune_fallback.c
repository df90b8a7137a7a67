/* A stored schedule that fails to compile, to launch, or while it runs: the program goes on with the runner-up, then
 * with the untuned schedule, with right results; it is counted, told, and the cache no longer has the winner. What was
 * seen to run is not waited for again. The device is the CPU's with compilations and launches that fail on command, the
 * latter at once or when waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/runtime/internal.h"
#include "tessera/profile.h"
#include "tessera/tune.h"
#include "tests/support/api_check.h"

enum { M = 48, N = 40, K = 64 };

static const be_vtable *real;
static be_vtable faulty;
static int failures, launches, warnings;
static tsr_code failure_code;
static const char *compiles; /* what the next compilations do, one letter each: '+' or '-'; past the end they work */
static int async_failures, syncs;
static tsr_code async_code;
static bool pending, lost; /* a launch has failed and nobody knows; everybody does */

static tsr_status faulty_run(be_stream *s, be_program *p, const be_range *bindings, double *ns) {
  launches++;
  if (failures > 0) {
    failures--;
    return st_make(NULL, failure_code, ST_WHERE("faulty", "launch", NULL), "injected");
  }
  if (async_failures > 0) {
    async_failures--;
    pending = true;
    return NULL; /* and nothing is computed */
  }
  return real->program_run(s, p, bindings, ns);
}

static tsr_status faulty_module(be_device *d, const be_module_desc *desc, be_module **out) {
  *out = NULL;
  if (*compiles && *compiles++ == '-')
    return st_make(NULL, failure_code, ST_WHERE("faulty", "compile", NULL), "injected");
  return real->module_create(d, desc, out);
}

static tsr_status faulty_sync(be_stream *s, int64_t timeout) {
  syncs++;
  if (pending) {
    pending = false;
    lost = async_code == TSR_DEVICE_LOST;
    return st_make(NULL, async_code, ST_WHERE("faulty", "sync", NULL), "injected while running");
  }
  return lost ? st_make(NULL, TSR_DEVICE_LOST, ST_WHERE("faulty", "sync", NULL), "is lost")
              : real->stream_sync(s, timeout);
}

static tsr_status faulty_external_wait(be_stream *s, const void *handle) { return NULL; }

static void note(void *user, tsr_log_level level, const char *text) {
  warnings += strstr(text, "a tuned schedule failed") != NULL;
}

typedef struct session {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *b[3];
  tsr_binding in[2], out;
} session;

static char dir[64];
static float a[M * K], b[K * N], y[M * N];
static double want[M * N], tolerance[M * N];

static void begin(session *s) {
  tsr_value v[2];
  const void *extra[] = {&faulty, NULL};
  *s = (session){0};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = dir, .extra_backends = extra, .log = note}, &s->ctx));
  OK(tsr_device_open(s->ctx, "faulty:0", &s->dev));
  OK(tsr_graph_create(s->ctx, "main", &s->g));
  OK(tsr_graph_input(s->g, "A", TSR_F32, (tsr_shape){2, {M, K}}, &v[0]));
  OK(tsr_graph_input(s->g, "B", TSR_F32, (tsr_shape){2, {K, N}}, &v[1]));
  OK(tsr_graph_op(s->g, "matmul", v, 2, NULL, 0, &v[0]));
  OK(tsr_graph_output(s->g, v[0]));
  OK(tsr_graph_reference(s->g, (const void *[]){a, b}, (double *[]){want}, (double *[]){tolerance}));
}

static void compile(session *s, tsr_tune tune) {
  OK(tsr_program_compile(s->dev, s->g, &(tsr_compile_options){.tune = tune}, &s->p));
  OK(tsr_buffer_create(s->dev, sizeof a, TSR_MEMORY_DEVICE, &s->b[0]));
  OK(tsr_buffer_create(s->dev, sizeof b, TSR_MEMORY_DEVICE, &s->b[1]));
  OK(tsr_buffer_create(s->dev, sizeof y, TSR_MEMORY_DEVICE, &s->b[2]));
  OK(tsr_buffer_write(s->b[0], 0, a, sizeof a));
  OK(tsr_buffer_write(s->b[1], 0, b, sizeof b));
  s->in[0] = (tsr_binding){s->b[0], 0}, s->in[1] = (tsr_binding){s->b[1], 0}, s->out = (tsr_binding){s->b[2], 0};
}

static void end(session *s) {
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&s->b[i]);
  tsr_program_destroy(&s->p);
  tsr_graph_destroy(&s->g);
  tsr_device_close(&s->dev);
  tsr_context_destroy(&s->ctx);
}

static void check_result(session *s) {
  OK(tsr_buffer_read(s->b[2], 0, y, sizeof y));
  for (int i = 0; i < M * N; i++)
    if (!(y[i] - want[i] <= tolerance[i] && want[i] - y[i] <= tolerance[i]))
      fail_msg("element %d: %g, not %g", i, (double)y[i], want[i]);
}

static bool explains(session *s, const char *what) {
  char *text;
  OK(tsr_program_explain(s->p, &text));
  bool found = strstr(text, what) != NULL;
  tsr_text_free(s->ctx, &text);
  return found;
}

static uint64_t falls(const session *s) { return tsr_context_tune_counters(s->ctx).fallbacks; }

/* Tunes, once: a cache with a winner and a runner-up. False: built without SQLite. */
static char tuned[64];
static bool tune_once(void) {
  session s;
  tsr_tune_report *r;
  if (*tuned) return true;
  snprintf(tuned, sizeof tuned, "/tmp/test_tune_fallback.XXXXXX");
  assert_non_null(mkdtemp(tuned));
  memcpy(dir, tuned, sizeof dir);
  begin(&s);
  OK(tsr_graph_tune(s.dev, s.g, NULL,
                    &(tsr_tune_options){.strategy = "random", .samples = 12, .samples_fixed = true, .again = true},
                    &r));
  tsr_tune_result x = tsr_tune_report_get(r, 0);
  bool stored = x.stored, both = x.has_runner_up;
  tsr_tune_report_destroy(&r);
  end(&s);
  assert_true(!stored || both);
  return stored;
}

static int drop(const char *folder) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

/* A copy of that cache for each test. */
static int set_up(void **state) {
  for (int i = 0; rt_backends[i]; i++)
    if (!strcmp(rt_backends[i]->name, "cpu")) real = rt_backends[i];
  faulty = *real;
  faulty.name = "faulty", faulty.program_run = faulty_run, faulty.stream_sync = faulty_sync;
  faulty.module_create = faulty_module, faulty.external_wait = faulty_external_wait;
  compiles = "";
  failures = launches = warnings = async_failures = syncs = 0;
  pending = lost = false;
  async_code = TSR_LAUNCH_FAILED;
  failure_code = TSR_LAUNCH_FAILED;
  for (int i = 0; i < M * K; i++) a[i] = (float)(i % 17) / 17;
  for (int i = 0; i < K * N; i++) b[i] = (float)(i % 13) / 13;
  if (!tune_once()) return -1;
  char command[192];
  snprintf(dir, sizeof dir, "/tmp/test_tune_fallback.XXXXXX");
  assert_non_null(mkdtemp(dir));
  snprintf(command, sizeof command, "cp -r %s/. %s", tuned, dir);
  launches = syncs = 0;
  return system(command);
}

static int tear_down(void **state) { return drop(dir); }
static int tear_down_all(void **state) { return *tuned ? drop(tuned) : 0; }

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
      cmocka_unit_test_setup_teardown(run_falls_back_to_the_runner_up_then_to_the_default, set_up, tear_down),
      cmocka_unit_test_setup_teardown(two_failures_in_one_run_are_two_fall_backs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_winner_is_marked_for_the_next_process, set_up, tear_down),
      cmocka_unit_test_setup_teardown(profiles_and_captures_fall_back_too, set_up, tear_down),
      cmocka_unit_test_setup_teardown(other_failures_stay_failures, set_up, tear_down),
      cmocka_unit_test_setup_teardown(compile_falls_back_to_the_runner_up, set_up, tear_down),
      cmocka_unit_test_setup_teardown(compile_falls_back_to_the_default, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_failing_schedule_alone_is_dropped, set_up, tear_down),
      cmocka_unit_test_setup_teardown(failures_of_the_program_leave_the_cache_alone, set_up, tear_down),
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
