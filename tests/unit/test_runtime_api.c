/* The public interface on the CPU: schedules by hand, captures, imported memory, numerics policies, wrong use. Failing
 * allocations are in test_runtime_alloc.c, threads in test_runtime_threads.c. */
#include "tests/unit/product_rig.h"

#include <math.h>

#define FAILS(code, e)                                                \
  do {                                                                \
    tsr_status f_ = (e);                                              \
    assert_int_equal(tsr_status_code(f_), code);                      \
    assert_true(strlen(tsr_status_message(f_)) > 0);                  \
    assert_null(strchr(tsr_status_message(f_), '\n'));                \
    tsr_status_free(f_);                                              \
  } while (0)

static void schedules_by_hand_keep_the_result(void **state) {
  enum { M = 97, N = 130, K = 300 };
  static float want[M * N], got[M * N];
  static const tsr_schedule schedules[] = {
      {.m = 32, .n = 32, .k = 16}, {.m = 128, .n = 128, .k = 64}, {.m = 128, .n = 128, .k = 32, .use_shared = 1, .padding = 1, .async_copy = 1, .pipeline_stages = 3},
      {.m = 64, .n = 64, .k = 32, .use_shared = -1}, {.m = 32, .n = 64, .k = 32, .split_k = 3}, {.m = 16, .n = 16, .k = 16, .raster = 3}, {.vectorize = 4},
      {.m = 16, .n = 32, .k = 300, .split_k = 7, .raster = 2}, {.m = 48, .n = 80, .k = 24, .pipeline_stages = 1, .async_copy = -1}};
  rig r = open_rig();
  run_product(&r, NULL, M, N, K, want);
  for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++) {
    tsr_compile_options o = {.schedules = &schedules[s], .n_schedules = 1};
    memset(got, 0xff, sizeof got);
    run_product(&r, &o, M, N, K, got);
    for (size_t i = 0; i < M * N; i++)
      if (!(fabsf(got[i] - want[i]) <= 1e-4f)) fail_msg("schedule %zu element %zu: %g, not %g", s, i, got[i], want[i]);
  }
  tsr_graph *g = product(&r, TSR_F32, 8, 8, 8);
  tsr_program *p;
  tsr_schedule bad = {.vectorize = 3};
  FAILS(TSR_INVALID_ARGUMENT,
        tsr_program_compile(r.dev, g, &(tsr_compile_options){.schedules = &bad, .n_schedules = 1}, &p));
  assert_null(p);
  tsr_graph_destroy(&g);
  close_rig(&r);
}

static void a_tile_by_hand_is_in_the_dump(void **state) {
  rig r = open_rig();
  tsr_graph *g = product(&r, TSR_F32, 256, 256, 256);
  tsr_program *p;
  tsr_schedule s = {.m = 64, .n = 32, .k = 16, .pipeline_stages = 3};
  char *text;
  OK(tsr_program_compile(r.dev, g, &(tsr_compile_options){.schedules = &s, .n_schedules = 1}, &p));
  OK(tsr_program_dump(p, TSR_LEVEL_SCHEDULE, &text, NULL));
  assert_non_null(strstr(text, "m = 64 : i64, n = 32 : i64, k = 16 : i64"));
  assert_non_null(strstr(text, "\"tessera.schedule.pipeline_stages\"() {n = 3 : i64}"));
  tsr_text_free(r.ctx, &text);
  assert_int_equal(tsr_program_n_kernels(p), 1); /* bias and relu are fused */
  assert_int_equal(tsr_program_kernel(p, 0).tile[0], 64);
  /* Every level's text can be run from. */
  for (int level = TSR_LEVEL_GRAPH; level <= TSR_LEVEL_TARGET; level++) {
    tsr_program *again;
    OK(tsr_program_dump(p, (tsr_level)level, &text, NULL));
    OK(tsr_program_parse(r.dev, text, strlen(text), "dump.mlir", NULL, &again));
    assert_int_equal(tsr_program_n_inputs(again), 3);
    tsr_program_destroy(&again);
    tsr_text_free(r.ctx, &text);
  }
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  close_rig(&r);
}

/* On a GPU that need not be here: the width asked for is in the Tile IR and in the code; 0 leaves the widest. */
static void a_width_by_hand_reaches_the_code(void **state) {
  rig r = {0};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &r.ctx));
  OK(tsr_device_open(r.ctx, "cuda:sm_80", &r.dev));
  tsr_graph *g = product(&r, TSR_F32, 256, 256, 256);
  for (int width = 0; width <= 2; width += 2) {
    tsr_schedule s = {.vectorize = width};
    tsr_program *p;
    char *tile, *target;
    OK(tsr_program_compile(r.dev, g, &(tsr_compile_options){.schedules = &s, .n_schedules = 1}, &p));
    OK(tsr_program_dump(p, TSR_LEVEL_TILE, &tile, NULL));
    OK(tsr_program_dump(p, TSR_LEVEL_TARGET, &target, NULL));
    assert_int_equal(strstr(tile, "vectorize = 2") != NULL, width == 2);
    assert_int_equal(strstr(target, "bytes = 8 : i64") != NULL, width == 2); /* of cp_async */
    assert_int_equal(strstr(target, "bytes = 16 : i64") != NULL, width == 0);
    tsr_text_free(r.ctx, &tile);
    tsr_text_free(r.ctx, &target);
    tsr_program_destroy(&p);
  }
  tsr_graph_destroy(&g);
  close_rig(&r);
}

/* On a GPU that need not be here: what each switch takes away is in the default's text and not in the switched one's.
 */
static void switches_take_away_what_they_name(void **state) {
  static const struct { const char *name, *gone; tsr_level level; } rows[] = {
      {"tiling", "{m = 64", TSR_LEVEL_SCHEDULE}, {"mma", "tessera.target.mma\"", TSR_LEVEL_TARGET}, {"pipeline", "pipeline_stages\"() {n = 2", TSR_LEVEL_SCHEDULE}};
  rig r = {0};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &r.ctx));
  OK(tsr_device_open(r.ctx, "cuda:sm_80", &r.dev));
  tsr_graph *g = product(&r, TSR_BF16, 1024, 1024, 1024);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int off = 0; off < 2; off++) {
      tsr_program *p;
      char *text;
      OK(tsr_program_compile(r.dev, g, &(tsr_compile_options){.disable = off ? rows[i].name : NULL}, &p));
      OK(tsr_program_dump(p, rows[i].level, &text, NULL));
      if ((strstr(text, rows[i].gone) != NULL) == off)
        fail_msg("%s, switched %s:\n%s", rows[i].name, off ? "off" : "on", text);
      tsr_text_free(r.ctx, &text);
      tsr_program_destroy(&p);
    }
  tsr_graph_destroy(&g);
  close_rig(&r);
}

/* Reading every third column is told when it is compiled, with a hint; a copy of neighbours has nothing to tell. */
static void strided_accesses_are_told(void **state) {
  rig r = open_rig();
  for (int stride = 1; stride <= 3; stride += 2) {
    char ir[512], *text;
    tsr_program *p;
    snprintf(ir, sizeof ir,
             "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<64x192xf32>):\n%%0 = \"tessera.graph.slice\"(%%x) {starts "
             "= [0, 0], sizes = [64, 64], strides = [1, %d]}\n"
             "%%1 = \"tessera.graph.exp\"(%%0)\n\"tessera.graph.return\"(%%1)\n}) {sym_name = \"main\"}\n",
             stride);
    OK(tsr_program_parse(r.dev, ir, strlen(ir), "x.mlir", NULL, &p));
    OK(tsr_program_explain(p, &text));
    if ((strstr(text, "strided accesses: make the last axis contiguous") != NULL) != (stride > 1))
      fail_msg("stride %d:\n%s", stride, text);
    tsr_text_free(r.ctx, &text);
    tsr_program_destroy(&p);
  }
  close_rig(&r);
}

/* Each kernel of a chain without fusion needs its operand and its result: two temporaries' room, however long the
 * chain. */
static void temporaries_share_one_workspace(void **state) {
  enum { TENSOR = 64 * 64 * 4 };
  rig r = open_rig();
  for (int pairs = 2; pairs <= 8; pairs *= 2) {
    tsr_graph *g;
    tsr_program *p;
    tsr_value v;
    char *text, want[80];
    OK(tsr_graph_create(r.ctx, "chain", &g));
    OK(tsr_graph_input(g, "X", TSR_F32, shape2(64, 64), &v));
    for (int i = 0; i < pairs; i++) {
      OK(tsr_graph_op(g, "exp", &v, 1, NULL, 0, &v));
      OK(tsr_graph_op(g, "softmax", &v, 1, NULL, 0, &v));
    }
    OK(tsr_graph_output(g, v));
    OK(tsr_program_compile(r.dev, g, &(tsr_compile_options){.disable = "fusion"}, &p));
    OK(tsr_program_explain(p, &text));
    snprintf(want, sizeof want, "%d kernel(s), workspace %d bytes\n", 2 * pairs, 2 * TENSOR);
    assert_non_null(strstr(text, want));
    tsr_text_free(r.ctx, &text);
    tsr_program_destroy(&p);
    tsr_graph_destroy(&g);
  }
  close_rig(&r);
}

/* A word that is no switch is one line that names those that are. */
static void unknown_switches_are_refused(void **state) {
  static const char *const bad[] = {"bogus", "fusion,bogus", "fusio", "bogus,rewrites", " fusion"};
  rig r = open_rig();
  tsr_graph *g = product(&r, TSR_F32, 8, 8, 8);
  tsr_context *ctx = NULL;
  tsr_program *p = NULL;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    setenv("TSR_DISABLE", bad[i], 1);
    tsr_status st = tsr_context_create(NULL, &ctx);
    unsetenv("TSR_DISABLE");
    assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
    assert_non_null(strstr(tsr_status_message(st), "TSR_DISABLE"));
    assert_non_null(strstr(tsr_status_hint(st), "rewrites,fusion,tiling,mma,pipeline"));
    assert_non_null(strstr(tsr_status_hint(st), "fuse_view"));
    assert_null(ctx);
    tsr_status_free(st);
    FAILS(TSR_INVALID_ARGUMENT, tsr_program_compile(r.dev, g, &(tsr_compile_options){.disable = bad[i]}, &p));
  }
  setenv("TSR_DISABLE", "recognize_softmax,,fuse_row,", 1);
  OK(tsr_context_create(NULL, &ctx));
  unsetenv("TSR_DISABLE");
  tsr_context_destroy(&ctx);
  OK(tsr_program_compile(r.dev, g, &(tsr_compile_options){.disable = "tiling,mma,pipeline,fusion"}, &p));
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  close_rig(&r);
}

static void a_capture_replays_what_was_called(void **state) {
  rig r = open_rig();
  tsr_graph *g = product(&r, TSR_F32, 8, 8, 8);
  tsr_program *p;
  tsr_stream *s;
  tsr_recording *rec;
  OK(tsr_program_compile(r.dev, g, NULL, &p));
  OK(tsr_stream_create(r.dev, 0, &s));
  tsr_buffer *a = filled(&r, 64, 1), *b = filled(&r, 64, 2), *c = filled(&r, 8, 3), *y = filled(&r, 64, 9),
             *z = filled(&r, 64, 9);
  tsr_binding in[3] = {{a, 0}, {b, 0}, {c, 0}}, out = {y, 0};
  float before = ((float *)tsr_buffer_map(y))[0];
  FAILS(TSR_INVALID_ARGUMENT, tsr_capture_end(s, &rec));
  OK(tsr_capture_begin(s));
  OK(tsr_program_run(p, s, in, &out));
  OK(tsr_stream_copy(s, z, 0, y, 0, 256));
  OK(tsr_capture_end(s, &rec));
  assert_true(((float *)tsr_buffer_map(y))[0] == before); /* nothing ran yet */
  OK(tsr_recording_replay(rec, s));
  OK(tsr_stream_sync(s, -1));
  assert_memory_equal(tsr_buffer_map(y), tsr_buffer_map(z), 256);
  assert_true(((float *)tsr_buffer_map(y))[0] != before);
  FAILS(TSR_INVALID_ARGUMENT, tsr_program_run(p, s, in, &(tsr_binding){a, 0}));   /* output over an input */
  FAILS(TSR_INVALID_ARGUMENT, tsr_program_run(p, s, in, &(tsr_binding){y, 128})); /* too small */
  tsr_recording_destroy(&rec);
  tsr_stream_destroy(&s);
  tsr_buffer_destroy(&a);
  tsr_buffer_destroy(&b);
  tsr_buffer_destroy(&c);
  tsr_buffer_destroy(&y);
  tsr_buffer_destroy(&z);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  close_rig(&r);
}

static tsr_graph *sum_graph(rig *r, int64_t n) {
  tsr_graph *g;
  tsr_value x;
  OK(tsr_graph_create(r->ctx, "sum", &g));
  OK(tsr_graph_input(g, "X", TSR_F32, shape2(1, n), &x));
  int64_t axis = 1;
  tsr_attr a = TSR_INTS("axes", &axis, 1);
  OK(tsr_graph_op(g, "reduce_sum", &x, 1, &a, 1, &x));
  OK(tsr_graph_output(g, x));
  return g;
}

static float run_sum(rig *r, tsr_policy policy, float *x, int64_t n) {
  tsr_graph *g = sum_graph(r, n);
  tsr_program *p;
  tsr_buffer *a, *y;
  OK(tsr_program_compile(r->dev, g, &(tsr_compile_options){.policy = policy}, &p));
  OK(tsr_buffer_import(r->dev, x, (size_t)n * 4, &a));
  OK(tsr_buffer_create(r->dev, 4, TSR_MEMORY_HOST, &y));
  tsr_binding in = {a, 0}, out = {y, 0};
  OK(tsr_program_run(p, NULL, &in, &out));
  float v = *(float *)tsr_buffer_map(y);
  tsr_buffer_destroy(&a);
  tsr_buffer_destroy(&y);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  return v;
}

/* Large terms that cancel bury small ones: the naive sum's error bound n u sum|x| is far above the true sum. */
static void kahan_beats_the_naive_bound_on_adversarial_sums(void **state) {
  enum { N = 100000 };
  float *x = malloc(sizeof *x * N);
  double exact = 0;
  for (size_t i = 0; i < N; i++) x[i] = i % 3 == 0 ? 1e8f : i % 3 == 1 ? -1e8f : 1.0f / 3;
  for (size_t i = 0; i < N; i++) exact += x[i];
  rig r = open_rig();
  float kahan = run_sum(&r, TSR_POLICY_KAHAN_SUM, x, N);
  assert_true(fabs(kahan - exact) <=
              fabs(exact) * 1.2e-7 + 1e-6 * 1e-3 * N / 3); /* 2 u |s| and the second-order term */
  float det = run_sum(&r, TSR_POLICY_DETERMINISTIC, x, N);
  assert_true(fabs(kahan - exact) <= fabs(det - exact));
  for (int i = 0; i < 3; i++) assert_true(run_sum(&r, TSR_POLICY_DETERMINISTIC, x, N) == det);
  close_rig(&r);
  free(x);
}

static void wrong_use_is_one_clear_line(void **state) {
  rig r = open_rig();
  tsr_device *d;
  tsr_graph *g;
  tsr_value v[2], y;
  tsr_program *p;
  FAILS(TSR_UNAVAILABLE, tsr_device_open(r.ctx, "cpu:7", &d));
  FAILS(TSR_UNAVAILABLE, tsr_device_open(r.ctx, "abacus:0", &d));
  assert_null(d);
  tsr_policy policy;
  FAILS(TSR_NOT_FOUND, tsr_policy_parse("sloppy", &policy));
  OK(tsr_graph_create(r.ctx, "g", &g));
  OK(tsr_graph_input(g, "A", TSR_F32, shape2(2, 3), &v[0]));
  OK(tsr_graph_input(g, "B", TSR_F32, shape2(4, 5), &v[1]));
  FAILS(TSR_VERIFY_ERROR, tsr_graph_op(g, "matmul", v, 2, NULL, 0, &y));
  FAILS(TSR_NOT_FOUND, tsr_graph_op(g, "matmull", v, 2, NULL, 0, &y));
  FAILS(TSR_INVALID_ARGUMENT, tsr_graph_op(g, "neg", (tsr_value[]){99}, 1, NULL, 0, &y));
  FAILS(TSR_INVALID_ARGUMENT, tsr_graph_input(g, "C", TSR_F32, (tsr_shape){.rank = 2, .dims = {INT64_MAX, 4}}, &y));
  tsr_graph_destroy(&g);
  FAILS(TSR_PARSE_ERROR, tsr_program_parse(r.dev, "\"tessera.graph.func\"(", 21, "x.mlir", NULL, &p));
  FAILS(TSR_ABI_MISMATCH, tsr_context_create(&(tsr_context_desc){.abi_version = 99u << 16}, &(tsr_context *){NULL}));
  close_rig(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules_by_hand_keep_the_result),
      cmocka_unit_test(a_tile_by_hand_is_in_the_dump),
      cmocka_unit_test(a_width_by_hand_reaches_the_code),
      cmocka_unit_test(switches_take_away_what_they_name),
      cmocka_unit_test(strided_accesses_are_told),
      cmocka_unit_test(temporaries_share_one_workspace),
      cmocka_unit_test(unknown_switches_are_refused),
      cmocka_unit_test(a_capture_replays_what_was_called),
      cmocka_unit_test(kahan_beats_the_naive_bound_on_adversarial_sums),
      cmocka_unit_test(wrong_use_is_one_clear_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
