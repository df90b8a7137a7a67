/* Every public function of tune.h and profile.h with what its header doesn't allow; as test_runtime_arguments.c. */
#include <math.h>

#include "tessera/profile.h"
#include "tessera/tune.h"
#include "tests/unit/bad_arguments.h"

/* Options and schedules are checked alike wherever they come in. */
static void options(void **state) {
  static const tsr_schedule schedules[] = {{.m = -1},
                                           {.n = INT64_MAX},
                                           {.k = INT64_MIN},
                                           {.vectorize = 3},
                                           {.vectorize = -4},
                                           {.padding = 1ll << 31},
                                           {.padding = -2},
                                           {.use_shared = 2},
                                           {.async_copy = -2},
                                           {.pipeline_stages = 17},
                                           {.pipeline_stages = INT64_MAX},
                                           {.split_k = -1},
                                           {.warps = 1ll << 40},
                                           {.raster = -5},
                                           {.cluster = 3},
                                           {.cluster = 16},
                                           {.stream_k = -1},
                                           {.matrix_path = "banana"},
                                           {.matrix_path = ""},
                                           {.matrix_path = "coop"},
                                           {.kernel = "nosuchkernel"}};
  static const tsr_compile_options bad[] = {{.policy = (tsr_policy)99},
                                            {.policy = (tsr_policy)-1},
                                            {.precision = (tsr_precision)(TSR_PRECISION_TF32 + 1)},
                                            {.fallback = (tsr_fallback)77},
                                            {.fallback = (tsr_fallback)-1},
                                            {.tune = (tsr_tune)4},
                                            {.tune = (tsr_tune)-9},
                                            {.n_schedules = 1},
                                            {.n_schedules = -1, .schedules = schedules},
                                            {.disable = "nosuchrule"},
                                            {.cache = "../x"},
                                            {.cache = "a b"},
                                            {.keep_after = "banana"},
                                            {.keep_after = ""}};
  enum { N_BAD = sizeof bad / sizeof *bad, N_SCHEDULES = sizeof schedules / sizeof *schedules };
  tsr_program *p;
  tsr_program_set *set;
  tsr_profile *prof;
  tsr_tune_report *report;
  char *text;
  for (int i = 0; i < N_BAD + N_SCHEDULES; i++) {
    const tsr_compile_options o =
        i < N_BAD ? bad[i] : (tsr_compile_options){.schedules = &schedules[i - N_BAD], .n_schedules = 1};
    bool late = o.disable || (o.n_schedules == 1 && o.schedules && o.schedules->kernel); /* found while compiling */
    BAD_OUT(p, tsr_program_compile(dev, g, &o, &p));
    BAD_OUT(p, tsr_program_parse(dev, text_ok, sizeof text_ok - 1, NULL, &o, &p));
    if (!late) BAD_OUT(set, tsr_program_set_create(dev, g, &o, 0, &set));
    BAD_OUT(prof, tsr_graph_profile(dev, g, &o, 1, &prof));
    BAD_OUT(prof, tsr_text_profile(dev, text_ok, sizeof text_ok - 1, NULL, &o, 1, &prof));
    BAD_OUT(report, tsr_graph_tune(dev, g, &o, NULL, &report));
    BAD_OUT(text, tsr_graph_tune_space(dev, g, &o, NULL, &text));
    BAD_OUT(text, tsr_graph_tune_explain(dev, g, &o, NULL, &text));
    BAD_OUT(text, tsr_graph_tune_record(dev, g, &o, "x", NULL, &text));
  }
  for (int i = 0; i < N_SCHEDULES - 1; i++) {
    BAD_OUT(text, tsr_graph_tune_explain(dev, g, NULL, &schedules[i], &text));
    BAD_OUT(text, tsr_tune_explain_attention(dev, &(tsr_attention){1, 4, 4, 4, TSR_F32, false}, &schedules[i], &text));
  }
  tsr_status st = tsr_program_compile(
      dev, g, &(tsr_compile_options){.schedules = &(tsr_schedule){.matrix_path = "banana"}, .n_schedules = 1}, &p);
  assert_non_null(strstr(tsr_status_hint(st), "coopmat2"));
  tsr_status_free(st);
  st = tsr_program_compile(
      dev, g, &(tsr_compile_options){.schedules = &(tsr_schedule){.kernel = "nosuch"}, .n_schedules = 1}, &p);
  assert_non_null(strstr(tsr_status_hint(st), "matmul"));
  tsr_status_free(st);
  st = tsr_program_compile(dev, g, &(tsr_compile_options){.fallback = (tsr_fallback)77}, &p);
  assert_non_null(strstr(tsr_status_hint(st), "warn"));
  tsr_status_free(st);
}

static tsr_status no_step(void *user, tsr_profile *p, int step) { return NULL; }

static void profiles(void **state) {
  tsr_peaks peaks;
  tsr_profile *p, *whole;
  tsr_stream *stream;
  char *text;
  int failed;
  BAD_OUT(p, tsr_profile_create(NULL, &p));
  BAD(tsr_profile_create(ctx, NULL));
  BAD(tsr_device_peaks(NULL, TSR_F32, false, &peaks));
  BAD(tsr_device_peaks(dev, TSR_F32, false, NULL));
  BAD(tsr_device_peaks(dev, TSR_BOOL, false, &peaks));
  BAD(tsr_device_peaks(dev, (tsr_dtype)1000, false, &peaks));
  try("tsr_profile_destroy("), tsr_profile_destroy(NULL), p = NULL, tsr_profile_destroy(&p);
  OK(tsr_profile_create(ctx, &whole));
  OK(tsr_stream_create(dev, 0, &stream));
  BAD(tsr_profile_step(NULL, prog, NULL, &one, &one));
  BAD(tsr_profile_step(whole, NULL, NULL, &one, &one));
  BAD(tsr_profile_step(whole, prog, NULL, NULL, &one));
  BAD(tsr_profile_step(whole, prog, NULL, &one, NULL));
  BAD(tsr_profile_copy(NULL, stream, buf, 0, buf, 32, 16));
  BAD(tsr_profile_copy(whole, NULL, buf, 0, buf, 32, 16));
  BAD(tsr_profile_copy(whole, stream, NULL, 0, buf, 32, 16));
  BAD(tsr_profile_copy(whole, stream, buf, 0, NULL, 32, 16));
  BAD(tsr_profile_copy(whole, stream, buf, 0, buf, 32, 64));
  BAD(tsr_profile_copy(whole, stream, buf, SIZE_MAX, buf, 32, 2));
  BAD(tsr_profile_steps(NULL, 1, no_step, NULL));
  BAD(tsr_profile_steps(whole, 1, NULL, NULL));
  BAD(tsr_profile_steps(whole, -1, no_step, NULL));
  BAD_OUT(p, tsr_graph_profile(NULL, g, NULL, 1, &p));
  BAD_OUT(p, tsr_graph_profile(dev, NULL, NULL, 1, &p));
  BAD_OUT(p, tsr_graph_profile(dev, g, NULL, -1, &p));
  BAD(tsr_graph_profile(dev, g, NULL, 1, NULL));
  BAD_OUT(p, tsr_text_profile(NULL, text_ok, sizeof text_ok - 1, NULL, NULL, 1, &p));
  BAD_OUT(p, tsr_text_profile(dev, NULL, 9, NULL, NULL, 1, &p));
  BAD_OUT(p, tsr_text_profile(dev, text_ok, sizeof text_ok - 1, NULL, NULL, INT32_MIN, &p));
  BAD(tsr_text_profile(dev, text_ok, sizeof text_ok - 1, NULL, NULL, 1, NULL));
  BAD_OUT(text, tsr_profile_text(NULL, false, &text));
  BAD(tsr_profile_text(whole, true, NULL));
  BAD_OUT(text, tsr_profile_json(NULL, &text));
  BAD(tsr_profile_json(whole, NULL));
  BAD_OUT(text, tsr_profile_trace(NULL, &text));
  BAD(tsr_profile_trace(whole, NULL));
  BAD_OUT(text, tsr_profile_check(NULL, false, false, &text, &failed));
  BAD_OUT(text, tsr_profile_check(whole, false, false, &text, NULL));
  BAD(tsr_profile_check(whole, false, false, NULL, &failed));
  tsr_profile_destroy(&whole);
  tsr_stream_destroy(&stream);
}

static void tuning(void **state) {
  static const tsr_tune_mesh silent = {.rank = 1};
  const tsr_tune_options bad[] = {
      {.samples = SIZE_MAX}, {.stop_fraction = -1}, {.stop_fraction = (double)NAN}, {.mesh = &silent}};
  static const tsr_attention shapes[] = {{0, 4, 4, 4, TSR_F32, false},         {1, -1, 4, 4, TSR_F32, false},
                                         {1, 4, INT64_MIN, 4, TSR_F32, false}, {1, 4, 4, INT64_MAX, TSR_F32, false},
                                         {1, 4, 4, 4, (tsr_dtype)77, false},   {1, 4, 4, 4, (tsr_dtype)-1, false}};
  tsr_tune_report *r;
  char *text;
  HOLDS(tsr_context_tune_counters(NULL).lookups, == 0);
  BAD(tsr_context_check_cache(NULL, NULL));
  BAD(tsr_context_check_cache(ctx, "../x"));
  BAD(tsr_device_load_profile(NULL, "x"));
  BAD_OUT(text, tsr_device_print_profile(NULL, &text));
  BAD(tsr_device_print_profile(dev, NULL));
  BAD(tsr_tile_default_get(dev, 0, NULL));
  for (int i = -1; i < 100; i += 50) {
    tsr_tile_default t;
    tsr_status st = i == 49 ? NULL : tsr_tile_default_get(dev, i, &t);
    if (i != 49) assert_true(tsr_status_code(st) == TSR_NOT_FOUND && !*t.op && !*t.why && !t.m);
    tsr_status_free(st);
  }
  BAD_OUT(r, tsr_graph_tune(NULL, g, NULL, NULL, &r));
  BAD_OUT(r, tsr_graph_tune(dev, NULL, NULL, NULL, &r));
  BAD(tsr_graph_tune(dev, g, NULL, NULL, NULL));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    BAD_OUT(r, tsr_graph_tune(dev, g, NULL, &bad[i], &r));
    BAD_OUT(text, tsr_graph_tune_space(dev, g, NULL, &bad[i], &text));
    BAD_OUT(text, tsr_graph_tune_record(dev, g, NULL, NULL, &bad[i], &text));
  }
  HOLDS(tsr_tune_report_count(NULL), == 0);
  HOLDS_TEXT(tsr_tune_report_get(NULL, 0).tile, == 0);
  try("tsr_tune_report_destroy("), tsr_tune_report_destroy(NULL), r = NULL, tsr_tune_report_destroy(&r);
  OK(tsr_graph_tune(dev, g, NULL, &(tsr_tune_options){.strategy = "model-only"}, &r));
  for (int i = -1; i < 3; i++)
    if (i != 0) HOLDS_TEXT(tsr_tune_report_get(r, i).problem.kernel, == 0);
  tsr_tune_report_destroy(&r);
  BAD_OUT(text, tsr_graph_tune_space(NULL, g, NULL, NULL, &text));
  BAD_OUT(text, tsr_graph_tune_space(dev, NULL, NULL, NULL, &text));
  BAD(tsr_graph_tune_space(dev, g, NULL, NULL, NULL));
  BAD_OUT(text, tsr_graph_tune_explain(NULL, g, NULL, NULL, &text));
  BAD_OUT(text, tsr_graph_tune_explain(dev, NULL, NULL, NULL, &text));
  BAD(tsr_graph_tune_explain(dev, g, NULL, NULL, NULL));
  BAD_OUT(text, tsr_graph_tune_record(NULL, g, NULL, "x", NULL, &text));
  BAD_OUT(text, tsr_graph_tune_record(dev, NULL, NULL, "x", NULL, &text));
  BAD(tsr_graph_tune_record(dev, g, NULL, "x", NULL, NULL));
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    BAD_OUT(text, tsr_tune_explain_attention(dev, &shapes[i], NULL, &text));
  BAD_OUT(text, tsr_tune_explain_attention(NULL, &shapes[0], NULL, &text));
  BAD_OUT(text, tsr_tune_explain_attention(dev, NULL, NULL, &text));
  BAD(tsr_tune_explain_attention(dev, &shapes[0], NULL, NULL));
}

static void every_function_of_the_headers_was_tried(void **state) {
  static const char *const headers[] = {"tune", "profile"};
  assert_true(every_function_was_tried(headers, sizeof headers / sizeof *headers) > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options),
      cmocka_unit_test(profiles),
      cmocka_unit_test(tuning),
      cmocka_unit_test(every_function_of_the_headers_was_tried),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
