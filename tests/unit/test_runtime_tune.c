/* Tuning and profiling through the public interface on the CPU: nothing is measured twice, results stay right,
 * deterministic stays bit-identical, profiles have the rows of docs/profile.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/status.h"
#include "core/device/backend.h"
#include "tests/unit/tune_matmul.h"

static void second_context_measures_nothing(void **state) {
  fixture f = open_matmul(96, 80, 128);
  tsr_tune_report *r;
  assert_null(tsr_graph_tune(f.dev, f.g, NULL, &few, &r));
  assert_int_equal(tsr_tune_report_count(r), 1);
  tsr_tune_result x = tsr_tune_report_get(r, 0);
  assert_string_equal(x.problem.op, "matmul+add");
  assert_string_equal(x.problem.shape, "96x80x128");
  assert_string_equal(x.source, "search");
  assert_true(x.measurements >= 8 && x.samples == 8 && x.stored && x.best_us > 0 && x.best_us <= x.default_us &&
              x.n_curve == 8 && x.predicted_us > 0);
  for (size_t i = 1; i < x.n_curve; i++) assert_true(x.curve_us[i] <= x.curve_us[i - 1]);
  tsr_schedule chosen = x.schedule;
  assert_true(tsr_context_tune_counters(f.ctx).measurements == x.measurements);
  tsr_tune_report_destroy(&r);
  close_all(&f);
  pid_t pid = fork();
  if (!pid) { /* another process */
    f = open_matmul(96, 80, 128);
    tsr_status st = tsr_graph_tune(f.dev, f.g, NULL, &few, &r);
    if (st) _exit(1);
    x = tsr_tune_report_get(r, 0);
    bool same = x.schedule.m == chosen.m && x.schedule.n == chosen.n && x.schedule.k == chosen.k;
    _exit(!strcmp(x.source, "cache") && x.measurements == 0 && same &&
                  tsr_context_tune_counters(f.ctx).measurements == 0
              ? 0
              : 2);
  }
  int status;
  waitpid(pid, &status, 0);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}


static double *run_program(fixture *f, tsr_tune mode, tsr_policy policy, float **out, size_t *n_out) {
  return run_options(f, &(tsr_compile_options){.tune = mode, .policy = policy}, out, n_out);
}
static double *run_scheduled(fixture *f, const tsr_schedule *s, float **out, size_t *n_out) {
  return run_options(f, &(tsr_compile_options){.tune = TSR_TUNE_OFF, .schedules = s, .n_schedules = 1}, out, n_out);
}

static void compiling_uses_the_cache_and_stays_right(void **state) {
  fixture f = open_matmul(70, 130, 90);
  float *got;
  size_t n;
  free(run_program(&f, TSR_TUNE_CACHED, TSR_POLICY_FAST, &got, &n));
  free(got);
  assert_true(tsr_context_tune_counters(f.ctx).hits == 0 && tsr_context_tune_counters(f.ctx).measurements == 0);
  double *want = run_program(&f, TSR_TUNE_FULL, TSR_POLICY_FAST, &got, &n);
  assert_true(tsr_context_tune_counters(f.ctx).measurements > 8);
  /* Sum of 90 products of numbers up to 1: 2 sqrt(90) u 90, and one rounding of the result. */
  for (size_t i = 0; i < n; i++) assert_true(fabs(got[i] - want[i]) < 2 * sqrt(90) * 6e-8 * 90 + 1e-5);
  free(want), free(got);
  uint64_t before = tsr_context_tune_counters(f.ctx).measurements;
  want = run_program(&f, TSR_TUNE_CACHED, TSR_POLICY_FAST, &got, &n);
  assert_true(tsr_context_tune_counters(f.ctx).hits == 1 && tsr_context_tune_counters(f.ctx).measurements == before);
  for (size_t i = 0; i < n; i++) assert_true(fabs(got[i] - want[i]) < 2 * sqrt(90) * 6e-8 * 90 + 1e-5);
  free(want), free(got);
  close_all(&f);
}

static void deterministic_gives_the_same_bits_with_and_without_tuning(void **state) {
  fixture f = open_matmul(100, 110, 300);
  float *untuned, *tuned;
  size_t n;
  free(run_program(&f, TSR_TUNE_OFF, TSR_POLICY_DETERMINISTIC, &untuned, &n));
  free(run_program(&f, TSR_TUNE_FULL, TSR_POLICY_DETERMINISTIC, &tuned, &n));
  assert_true(tsr_context_tune_counters(f.ctx).measurements > 8);
  assert_memory_equal(untuned, tuned, n * sizeof *tuned);
  free(untuned), free(tuned);
  close_all(&f);
}

/* What the tuner may move on the CPU, by hand: the order of blocks and the strip keep every bit, parts of the sum its
 * size. */
static void cpu_knobs_keep_the_result(void **state) {
  const tsr_schedule all[] = {{.m = 16, .n = 32, .k = 32},
                              {.m = 16, .n = 32, .k = 32, .raster = 1},
                              {.m = 16, .n = 32, .k = 32, .raster = 2},
                              {.m = 16, .n = 32, .k = 32, .raster = 4},
                              {.m = 16, .n = 32, .k = 32, .vectorize = 64},
                              {.m = 16, .n = 32, .k = 32, .split_k = 2},
                              {.m = 16, .n = 32, .k = 32, .split_k = 4}};
  static const char *const seen[] = {"",           "raster = 1", "raster = 2", "raster = 4",
                                     "strip = 64", "_parts",     "_parts"}; /* in the code made from it */
  enum { N = sizeof all / sizeof *all, K = 130 };
  fixture f = open_matmul(70, 90, K);
  float *plain, *got;
  size_t n;
  double *want = run_scheduled(&f, &all[0], &plain, &n);
  for (size_t s = 1; s < N; s++) {
    free(run_scheduled(&f, &all[s], &got, &n));
    tsr_program *p;
    char *text;
    assert_null(tsr_program_compile(
        f.dev, f.g, &(tsr_compile_options){.tune = TSR_TUNE_OFF, .schedules = &all[s], .n_schedules = 1}, &p));
    assert_null(tsr_program_dump(p, TSR_LEVEL_TARGET, &text, NULL));
    assert_non_null(strstr(text, seen[s]));
    tsr_text_free(f.ctx, &text);
    tsr_program_destroy(&p);
    if (!all[s].split_k) assert_memory_equal(plain, got, n * sizeof *got);
    else /* the tolerance of compiling_uses_the_cache_and_stays_right */
      for (size_t i = 0; i < n; i++) assert_true(fabs(got[i] - want[i]) < 2 * sqrt(K) * 6e-8 * K + 1e-5);
    free(got);
  }
  free(want), free(plain);
  close_all(&f);
}

/* Decisions are looked up when a program is compiled: never by its runs nor by a recording of them. */
static void runs_and_replays_look_nothing_up(void **state) {
  fixture f = open_matmul(96, 80, 128);
  tsr_tune_report *r;
  tsr_program *p;
  tsr_recording *rec;
  tsr_stream *s;
  tsr_binding in[3] = {{0}}, out = {0};
  assert_null(tsr_graph_tune(f.dev, f.g, NULL, &few, &r));
  tsr_tune_report_destroy(&r);
  uint64_t before = tsr_context_tune_counters(f.ctx).lookups;
  assert_null(tsr_program_compile(f.dev, f.g, NULL, &p));
  tsr_tune_counters compiled = tsr_context_tune_counters(f.ctx);
  assert_true(compiled.lookups == before + 1 && compiled.hits > 0);
  for (int i = 0; i < 3; i++)
    assert_null(tsr_buffer_create(f.dev, tsr_program_input(p, i).bytes, TSR_MEMORY_HOST, &in[i].buffer));
  assert_null(tsr_buffer_create(f.dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_HOST, &out.buffer));
  assert_null(tsr_stream_create(f.dev, 0, &s));
  assert_null(tsr_program_run(p, s, in, &out));
  assert_null(tsr_capture_begin(s));
  assert_null(tsr_program_run(p, s, in, &out));
  assert_null(tsr_capture_end(s, &rec));
  for (int i = 0; i < 5; i++) assert_null(tsr_recording_replay(rec, s));
  assert_null(tsr_stream_sync(s, -1));
  tsr_tune_counters after = tsr_context_tune_counters(f.ctx);
  assert_memory_equal(&after, &compiled, sizeof after);
  tsr_recording_destroy(&rec);
  tsr_stream_destroy(&s);
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  close_all(&f);
}

static void hand_written_schedule_is_left_alone(void **state) {
  fixture f = open_matmul(96, 80, 128);
  tsr_tune_report *r;
  assert_null(tsr_graph_tune(f.dev, f.g, NULL, &few, &r));
  tsr_tune_report_destroy(&r);
  uint64_t lookups = tsr_context_tune_counters(f.ctx).lookups;
  tsr_program *p;
  tsr_schedule s = {.m = 48, .n = 64, .k = 32};
  assert_null(tsr_program_compile(f.dev, f.g, &(tsr_compile_options){.schedules = &s, .n_schedules = 1}, &p));
  assert_true(tsr_context_tune_counters(f.ctx).lookups == lookups);
  assert_int_equal(tsr_program_kernel(p, 0).tile[0], 48);
  tsr_program_destroy(&p);
  close_all(&f);
}

static void pipeline_preset_reaches_the_code(void **state) {
  fixture f = open_matmul(256, 256, 256);
  tsr_device *dev;
  tsr_program *p;
  char *schedule, *source;
  tsr_schedule s = tsr_schedule_pipelined();
  assert_null(tsr_device_open(f.ctx, "cuda:sm_80", &dev));
  assert_null(tsr_program_compile(dev, f.g,
                                  &(tsr_compile_options){.tune = TSR_TUNE_OFF, .schedules = &s, .n_schedules = 1}, &p));
  assert_null(tsr_program_dump(p, TSR_LEVEL_SCHEDULE, &schedule, NULL));
  assert_null(tsr_program_dump(p, TSR_LEVEL_SOURCE, &source, NULL));
  static const char *const says[] = {"tessera.schedule.use_shared_memory\"", "tessera.schedule.async_copy\"",
                                     "tessera.schedule.pipeline_stages\"", "{n = 3"};
  for (size_t i = 0; i < sizeof says / sizeof *says; i++)
    if (!strstr(schedule, says[i])) fail_msg("no \"%s\" in %s", says[i], schedule);
  assert_non_null(strstr(source, "cp.async"));
  tsr_text_free(f.ctx, &schedule);
  tsr_text_free(f.ctx, &source);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  close_all(&f);
}

/* The CPU under another name, whose module creation fails when told to: a driver that no longer takes what it took. */
extern const be_vtable *const rt_backends[];
static const be_vtable *real;
static int failures;
static tsr_status flaky_module_create(be_device *d, const be_module_desc *desc, be_module **out) {
  *out = NULL;
  if (failures > 0) {
    failures--;
    return st_make(NULL, TSR_LAUNCH_FAILED, ST_WHERE("flaky", "module", NULL), "the driver refused");
  }
  return real->module_create(d, desc, out);
}

static void failing_winner_gives_way_to_runner_up_then_default(void **state) {
  for (int i = 0; rt_backends[i]; i++)
    if (!strcmp(rt_backends[i]->name, "cpu")) real = rt_backends[i];
  static be_vtable flaky;
  flaky = *real;
  flaky.name = "flaky";
  flaky.module_create = flaky_module_create;
  const void *extra[] = {&flaky, NULL};
  fixture f = open_matmul(96, 80, 128); /* for its graph */
  tsr_context *ctx;
  tsr_device *dev;
  assert_null(tsr_context_create(&(tsr_context_desc){.cache_dir = dir, .extra_backends = extra}, &ctx));
  assert_null(tsr_device_open(ctx, "flaky:0", &dev));
  tsr_tune_report *r;
  assert_null(tsr_graph_tune(dev, f.g, NULL, &few, &r));
  tsr_tune_result x = tsr_tune_report_get(r, 0);
  assert_true(x.stored && x.has_runner_up);
  tsr_program *p;
  char *text;
  failures = 1;
  assert_null(tsr_program_compile(dev, f.g, NULL, &p));
  assert_null(tsr_program_explain(p, &text));
  assert_non_null(strstr(text, "tune")); /* the runner-up */
  tsr_text_free(ctx, &text);
  tsr_program_destroy(&p);
  failures = 1;
  assert_null(tsr_program_compile(dev, f.g, NULL, &p)); /* no runner-up is left: the default */
  assert_null(tsr_program_explain(p, &text));
  assert_non_null(strstr(text, "the untuned schedule took its place"));
  tsr_text_free(ctx, &text);
  tsr_program_destroy(&p);
  failures = 1;
  tsr_status st = tsr_program_compile(dev, f.g, NULL, &p); /* nothing tuned: the failure is the user's to see */
  assert_int_equal(tsr_status_code(st), TSR_LAUNCH_FAILED);
  tsr_status_free(st);
  tsr_tune_report_destroy(&r);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  close_all(&f);
}

/* Every candidate in turn; n_failed counts those that could not run. */
typedef struct walk_all {
  size_t n, n_failed;
} walk_all;
static size_t next_in_order(void *user, const tsr_tune_problem *p, const tsr_schedule *candidates,
                            const double *measured_us, size_t n, size_t samples_left) {
  walk_all *w = user;
  size_t next = n;
  w->n = n, w->n_failed = 0;
  for (size_t i = n; i-- > 0;) {
    w->n_failed += measured_us[i] < 0;
    if (measured_us[i] == 0) next = i;
  }
  return next;
}
static void every_candidate_of_a_cpu_reduction_kernel_runs(void **state) {
  fixture f = open_matmul(8, 8, 8);
  tsr_graph *g;
  tsr_value a, r;
  tsr_tune_report *report;
  walk_all w = {0};
  tsr_tune_hooks h = {.next = next_in_order, .user = &w};
  assert_null(tsr_graph_create(f.ctx, "rows", &g));
  assert_null(tsr_graph_input(g, "A", TSR_F32, (tsr_shape){2, {40, 600}}, &a));
  assert_null(tsr_graph_op(g, "softmax", &a, 1, NULL, 0, &r));
  assert_null(tsr_graph_output(g, r));
  assert_null(tsr_graph_tune(
      f.dev, g, NULL, &(tsr_tune_options){.samples = 100, .samples_fixed = true, .stop_fraction = 2, .hooks = &h},
      &report));
  tsr_tune_result x = tsr_tune_report_get(report, 0);
  assert_true(w.n >= 20 && x.rejected == 0 && x.stored);
  assert_int_equal(w.n_failed, 0);
  tsr_tune_report_destroy(&report);
  tsr_graph_destroy(&g);
  close_all(&f);
}

static size_t next_is_none(void *user, const tsr_tune_problem *p, const tsr_schedule *candidates,
                           const double *measured_us, size_t n, size_t samples_left) {
  return n;
}

static tsr_graph *one_op(fixture *f, const char *op, tsr_dtype t, int64_t rows, int64_t columns) {
  tsr_graph *g;
  tsr_value v[2], r;
  bool product = !strcmp(op, "matmul");
  assert_null(tsr_graph_create(f->ctx, "one", &g));
  assert_null(tsr_graph_input(g, "A", t, (tsr_shape){2, {rows, columns}}, &v[0]));
  if (product) assert_null(tsr_graph_input(g, "B", t, (tsr_shape){2, {columns, rows}}, &v[1]));
  assert_null(tsr_graph_op(g, op, v, product ? 2 : 1, NULL, 0, &r));
  assert_null(tsr_graph_output(g, r));
  return g;
}

static char *code_of(tsr_device *dev, const tsr_graph *g, tsr_tune mode) {
  tsr_program *p;
  char *text;
  assert_null(tsr_program_compile(dev, g, &(tsr_compile_options){.tune = mode}, &p));
  assert_null(tsr_program_dump(p, TSR_LEVEL_TARGET, &text, NULL));
  tsr_program_destroy(&p);
  return text;
}

/* Else "the default stays" could mean something slower than what runs without tuning. */
static void default_that_wins_is_the_untuned_code(void **state) {
  static const struct { const char *op; tsr_dtype t; int64_t rows, columns; } all[] = {
      {"matmul", TSR_F32, 72, 136}, {"matmul", TSR_BF16, 64, 64}, {"matmul", TSR_I8, 64, 96}, {"softmax", TSR_F32, 40, 600}, {"gelu", TSR_F32, 30, 500}, {"matmul", TSR_F32, 1, 256}};
  static const char *const devices[] = {"cpu:0", "vulkan:0"};
  fixture f = open_matmul(8, 8, 8);
  bool left_out = false;
  for (int d = 0; d < 2; d++) {
    tsr_device *dev;
    tsr_status st = tsr_device_open(f.ctx, devices[d], &dev);
    if (st) {
      print_message("skipped: %s: %s\n", devices[d], tsr_status_message(st));
      tsr_status_free(st);
      left_out = true;
      continue;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
      tsr_graph *g = one_op(&f, all[i].op, all[i].t, all[i].rows, all[i].columns);
      tsr_tune_hooks h = {.next = next_is_none};
      tsr_tune_report *r;
      assert_null(tsr_graph_tune(dev, g, NULL, &(tsr_tune_options){.hooks = &h}, &r));
      for (int k = 0; k < tsr_tune_report_count(r); k++)
        assert_true(tsr_tune_report_get(r, k).samples == 1 && tsr_tune_report_get(r, k).stored);
      uint64_t hits = tsr_context_tune_counters(f.ctx).hits;
      char *untuned = code_of(dev, g, TSR_TUNE_OFF), *tuned = code_of(dev, g, TSR_TUNE_CACHED);
      assert_true(tsr_context_tune_counters(f.ctx).hits == hits + (uint64_t)tsr_tune_report_count(r));
      assert_string_equal(untuned, tuned);
      tsr_text_free(f.ctx, &untuned);
      tsr_text_free(f.ctx, &tuned);
      tsr_tune_report_destroy(&r);
      tsr_graph_destroy(&g);
    }
    tsr_device_close(&dev);
  }
  close_all(&f);
  if (left_out) skip(); /* the other device was looked at */
}

static void unknown_strategy_and_missing_device_are_said(void **state) {
  fixture f = open_matmul(8, 8, 8);
  tsr_tune_report *r;
  tsr_status st = tsr_graph_tune(f.dev, f.g, NULL, &(tsr_tune_options){.strategy = "magic"}, &r);
  assert_int_equal(tsr_status_code(st), TSR_NOT_FOUND);
  assert_null(r);
  tsr_status_free(st);
  close_all(&f);
}

static void space_and_estimate_are_text(void **state) {
  fixture f = open_matmul(256, 256, 256);
  char *text;
  assert_null(tsr_graph_tune_space(f.dev, f.g, NULL, NULL, &text));
  assert_non_null(strstr(text, "points "));
  assert_null(strstr(text, "points 1, legal 1,"));
  tsr_text_free(f.ctx, &text);
  assert_null(tsr_graph_tune_space(f.dev, f.g, NULL, &(tsr_tune_options){.knobs = "pipeline_stages"},
                                   &text)); /* of one value: nothing moves */
  assert_non_null(strstr(text, "points 1, legal 1,"));
  tsr_text_free(f.ctx, &text);
  assert_null(tsr_graph_tune_explain(f.dev, f.g, NULL, &(tsr_schedule){.m = 64, .n = 64, .k = 64}, &text));
  assert_non_null(strstr(text, "m=64 n=64 k=64"));
  assert_non_null(strstr(text, "bound by"));
  assert_non_null(strstr(text, "measured on "));
  for (int i = 0; i < 3; i++) { /* kept: another context measures nothing and says the same */
    tsr_context *again;
    tsr_device *dev;
    char *next;
    assert_null(tsr_context_create(&(tsr_context_desc){.cache_dir = dir}, &again));
    assert_null(tsr_device_open(again, "cpu:0", &dev));
    assert_null(tsr_graph_tune_explain(dev, f.g, NULL, &(tsr_schedule){.m = 64, .n = 64, .k = 64}, &next));
    assert_string_equal(next, text);
    tsr_text_free(again, &next);
    tsr_device_close(&dev);
    tsr_context_destroy(&again);
  }
  tsr_text_free(f.ctx, &text);
  close_all(&f);
}

static void profile_has_rows_json_trace_and_audit(void **state) {
  fixture f = open_matmul(128, 128, 128);
  tsr_profile *p;
  char *text;
  int failed;
  assert_null(tsr_graph_profile(f.dev, f.g, NULL, 5, &p));
  assert_null(tsr_profile_text(p, false, &text));
  int64_t m, n, k;
  char unit[16];
  double latency;
  long long a, b, c;
  assert_int_equal(sscanf(text, "MatMul[%lldx%lldx%lld] latency=%lf%15s occupancy=n/a", &a, &b, &c, &latency, unit), 5);
  m = a, n = b, k = c;
  assert_true(m > 0 && n > 0 && k > 0 && latency > 0);
  tsr_text_free(f.ctx, &text);
  arena mem;
  json *j;
  arena_init(&mem, NULL);
  assert_null(tsr_profile_json(p, &text));
  assert_null(json_parse(&mem, text, strlen(text), "profile", &j));
  const json *row = json_get(j, "rows")->first;
  assert_true(json_num(row, "count", 0) == 5 && json_num(row, "flops", 0) >= 2.0 * 128 * 128 * 128 &&
              json_num(row, "bytes_modelled", 0) > 0);
  assert_true(json_get(j, "fusion_trace")->n > 0);
  tsr_text_free(f.ctx, &text);
  assert_null(tsr_profile_trace(p, &text));
  assert_null(json_parse(&mem, text, strlen(text), "trace", &j));
  assert_true(json_get(j, "traceEvents")->n == 5 + 2);
  tsr_text_free(f.ctx, &text);
  assert_null(tsr_profile_check(p, true, true, &text, &failed));
  assert_null(json_parse(&mem, text, strlen(text), "check", &j));
  assert_true(j->n == 14 && failed >= 2); /* not tuned, f32 inputs, and not deterministic */
  tsr_text_free(f.ctx, &text);
  arena_clear(&mem);
  tsr_profile_destroy(&p);
  close_all(&f);
}

int main(void) {
#ifndef TSR_HAVE_SQLITE
  return 77; /* the cache is off */
#endif
  const struct CMUnitTest tests[] = {
      IN_DIR(second_context_measures_nothing),
      IN_DIR(compiling_uses_the_cache_and_stays_right),
      IN_DIR(deterministic_gives_the_same_bits_with_and_without_tuning),
      IN_DIR(cpu_knobs_keep_the_result),
      IN_DIR(runs_and_replays_look_nothing_up),
      IN_DIR(hand_written_schedule_is_left_alone),
      IN_DIR(pipeline_preset_reaches_the_code),
      IN_DIR(failing_winner_gives_way_to_runner_up_then_default),
      IN_DIR(every_candidate_of_a_cpu_reduction_kernel_runs),
      IN_DIR(default_that_wins_is_the_untuned_code),
      IN_DIR(unknown_strategy_and_missing_device_are_said),
      IN_DIR(space_and_estimate_are_text),
      IN_DIR(profile_has_rows_json_trace_and_audit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
