/* Each allocation refused in turn, for the parts of the public interface that others' lives don't reach: from IR text
 * to a result, graphs by calls and IR text out, schedules and every dump, streams, events, captures, imported memory,
 * profiles, the reference, tuning with its cache on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "tessera/profile.h"
#include "tessera/tune.h"
#include "tests/support/api_check.h"

enum { M = 12, K = 40, N = 9 };
static _Alignas(64) float a_data[M * K], b_data[K * N], y_data[M * N];

/* What every life has; end() frees whatever is there. */
typedef struct life {
  tsr_allocator al;
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *b[3];
  tsr_binding in[2], out;
} life;

static bool only_one; /* is refused; else all from that one on are */
static void *alloc_but_one(void *user, size_t size, size_t align) {
  counting *c = user;
  if (__atomic_load_n(&c->left, __ATOMIC_RELAXED) < 0) __atomic_store_n(&c->left, 1L << 40, __ATOMIC_RELAXED);
  return count_alloc(user, size, align);
}

static tsr_status begin(life *l, counting *c, const char *cache_dir) {
  *l = (life){.al = {only_one ? alloc_but_one : count_alloc, count_free, c}};
  tsr_status st = tsr_context_create(&(tsr_context_desc){.allocator = &l->al, .cache_dir = cache_dir}, &l->ctx);
  return st ? st : tsr_device_open(l->ctx, "cpu:0", &l->dev);
}

/* softmax(A B), a constant added. */
static tsr_status build(life *l) {
  static const float bias[N] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  tsr_value v[2], c[2];
  tsr_status st = tsr_graph_create(l->ctx, "main", &l->g);
  if (!st) st = tsr_graph_input(l->g, "A", TSR_F32, (tsr_shape){2, {M, K}}, &v[0]);
  if (!st) st = tsr_graph_input(l->g, "B", TSR_F32, (tsr_shape){2, {K, N}}, &v[1]);
  if (!st) st = tsr_graph_constant(l->g, TSR_F32, (tsr_shape){1, {N}}, bias, &c[1]);
  if (!st) st = tsr_graph_op(l->g, "matmul", v, 2, NULL, 0, &c[0]);
  if (!st) st = tsr_graph_op(l->g, "add", c, 2, NULL, 0, &v[0]);
  if (!st) st = tsr_graph_op(l->g, "softmax", v, 1, NULL, 0, &v[0]);
  return st ? st : tsr_graph_output(l->g, v[0]);
}

static tsr_status import(life *l) {
  tsr_status st = tsr_buffer_import(l->dev, a_data, sizeof a_data, &l->b[0]);
  if (!st) st = tsr_buffer_import(l->dev, b_data, sizeof b_data, &l->b[1]);
  if (!st) st = tsr_buffer_create(l->dev, sizeof y_data, TSR_MEMORY_DEVICE, &l->b[2]);
  for (int i = 0; i < 2; i++) l->in[i] = (tsr_binding){l->b[i], 0};
  l->out = (tsr_binding){l->b[2], 0};
  return st;
}

static tsr_code end(life *l, tsr_status st) {
  tsr_code code = tsr_status_code(st);
  tsr_status_free(st);
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&l->b[i]);
  tsr_program_destroy(&l->p);
  tsr_graph_destroy(&l->g);
  tsr_device_close(&l->dev);
  tsr_context_destroy(&l->ctx);
  return code;
}

/* From text to a result and the code that gave it. */
static tsr_code text_to_result(counting *c) {
  static const char text[] =
      "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<5x7xf32>, %B: tensor<7x3xf32>):\n"
      "%0 = \"tessera.graph.matmul\"(%A, %B)\n%1 = \"tessera.graph.gelu\"(%0)\n%2 = \"tessera.graph.softmax\"(%1)\n"
      "\"tessera.graph.return\"(%2)\n}) {sym_name = \"main\"} : () -> ()\n";
  life l;
  char *dump = NULL;
  tsr_status st = begin(&l, c, "");
  if (!st) st = tsr_program_parse(l.dev, text, sizeof text - 1, "life.mlir", NULL, &l.p);
  for (int i = 0; i < 3 && !st; i++) st = tsr_buffer_create(l.dev, 256, TSR_MEMORY_DEVICE, &l.b[i]);
  for (int i = 0; i < 2; i++) l.in[i] = (tsr_binding){l.b[i], 0};
  l.out = (tsr_binding){l.b[2], 0};
  if (!st) st = tsr_program_run(l.p, NULL, l.in, &l.out);
  if (!st) st = tsr_program_dump(l.p, TSR_LEVEL_TARGET, &dump, NULL);
  if (l.ctx) tsr_text_free(l.ctx, &dump);
  return end(&l, st);
}

/* By calls, with a schedule; text out at every level and in again. */
static tsr_code graph_and_text(counting *c) {
  static const tsr_schedule by_hand = {.m = 8, .n = 16, .k = 16, .split_k = 2, .padding = 1, .use_shared = 1};
  const tsr_compile_options o = {.schedules = &by_hand, .n_schedules = 1, .policy = TSR_POLICY_KAHAN_SUM};
  life l;
  char *text = NULL;
  tsr_status st = begin(&l, c, "");
  if (!st) st = build(&l);
  if (!st) st = tsr_graph_print(l.g, &text);
  if (l.ctx) tsr_text_free(l.ctx, &text);
  if (!st) st = tsr_program_compile(l.dev, l.g, &o, &l.p);
  for (int level = TSR_LEVEL_GRAPH; level <= TSR_LEVEL_BINARY && !st; level++) {
    tsr_program *again = NULL;
    size_t bytes = 0;
    if (level == TSR_LEVEL_SOURCE) continue; /* the CPU has none */
    st = tsr_program_dump(l.p, (tsr_level)level, &text, &bytes);
    if (!st && level <= TSR_LEVEL_TARGET) st = tsr_program_parse(l.dev, text, bytes, "dump", NULL, &again);
    tsr_program_destroy(&again);
    tsr_text_free(l.ctx, &text);
  }
  if (!st) st = tsr_program_explain(l.p, &text);
  if (l.ctx) tsr_text_free(l.ctx, &text);
  if (!st) st = tsr_ops_json(l.ctx, &text);
  if (l.ctx) tsr_text_free(l.ctx, &text);
  return end(&l, st);
}

static tsr_code streams_and_captures(counting *c) {
  life l;
  tsr_stream *s[2] = {0};
  tsr_event *e[2] = {0};
  tsr_recording *r = NULL;
  double ns;
  tsr_status st = begin(&l, c, "");
  if (!st) st = build(&l);
  if (!st) st = tsr_program_compile(l.dev, l.g, NULL, &l.p);
  if (!st) st = import(&l);
  for (int i = 0; i < 2 && !st; i++) st = tsr_stream_create(l.dev, i, &s[i]);
  for (int i = 0; i < 2 && !st; i++) st = tsr_event_create(l.dev, &e[i]);
  if (!st) st = tsr_event_record(e[0], s[0]);
  if (!st) st = tsr_capture_begin(s[0]);
  if (!st) st = tsr_program_run(l.p, s[0], l.in, &l.out);
  if (!st) st = tsr_stream_fill(s[0], l.b[2], 0, 16, 0);
  if (!st) st = tsr_stream_copy(s[0], l.b[2], 16, l.b[2], 0, 16);
  if (!st) st = tsr_capture_end(s[0], &r);
  if (!st) st = tsr_recording_replay(r, s[0]);
  if (!st) st = tsr_event_record(e[1], s[0]);
  if (!st) st = tsr_stream_wait(s[1], e[1]);
  if (!st) st = tsr_stream_sync(s[1], -1);
  if (!st) st = tsr_event_sync(e[1]);
  if (!st) st = tsr_event_elapsed(e[0], e[1], &ns);
  if (!st) st = tsr_buffer_read(l.b[2], 0, y_data, sizeof y_data);
  if (!st) assert_true(y_data[0] == 0 && y_data[7] == 0 && y_data[8] > 0 && ns > 0);
  tsr_recording_destroy(&r);
  for (int i = 0; i < 2; i++) tsr_event_destroy(&e[i]);
  for (int i = 0; i < 2; i++) tsr_stream_destroy(&s[i]);
  return end(&l, st);
}

static tsr_code profile_and_reference(counting *c) {
  static double want[M * N], tolerance[M * N];
  life l;
  tsr_profile *p = NULL;
  char *text[4] = {0};
  int failed;
  tsr_status st = begin(&l, c, "");
  if (!st) st = build(&l);
  if (!st) st = tsr_program_compile(l.dev, l.g, NULL, &l.p);
  if (!st) st = import(&l);
  if (!st) st = tsr_profile_create(l.ctx, &p);
  if (!st) st = tsr_profile_step(p, l.p, NULL, l.in, &l.out);
  if (!st) st = tsr_profile_text(p, true, &text[0]);
  if (!st) st = tsr_profile_json(p, &text[1]);
  if (!st) st = tsr_profile_trace(p, &text[2]);
  if (!st) st = tsr_profile_check(p, true, true, &text[3], &failed);
  if (!st) st = tsr_graph_reference(l.g, (const void *[]){a_data, b_data}, (double *[]){want}, (double *[]){tolerance});
  for (int i = 0; i < 4 && l.ctx; i++) tsr_text_free(l.ctx, &text[i]);
  tsr_profile_destroy(&p);
  return end(&l, st);
}

static char cache_dir[] = "/tmp/test_runtime_alloc.XXXXXX";

/* Found in the cache, which the first life fills; a cache that can't be read is a miss, so what fails may be measured
 * anew. */
static tsr_code tuned(counting *c) {
  life l;
  tsr_tune_report *r = NULL;
  tsr_tune_options o = {.strategy = "grid", .samples = 1, .samples_fixed = true};
  tsr_status st = begin(&l, c, cache_dir);
  if (!st) st = build(&l);
  if (!st) st = tsr_graph_tune(l.dev, l.g, NULL, &o, &r);
  for (int i = 0; !st && i < tsr_tune_report_count(r); i++) {
    tsr_tune_result x = tsr_tune_report_get(r, i);
    assert_true(x.problem.kernel && x.problem.op && x.problem.shape && x.problem.dtype &&
                x.tile); /* told whole or not at all */
  }
  if (!st) st = tsr_program_compile(l.dev, l.g, &(tsr_compile_options){.tune = TSR_TUNE_CACHED}, &l.p);
  tsr_tune_report_destroy(&r);
  return end(&l, st);
}

static void refuse_each(tsr_code (*life)(counting *), long least) {
  for (int one = 0; one < 2; one++) {
    only_one = one;
    assert_true(refuse_each_allocation(life, true) > least);
  }
}
static void text_in_and_results(void **state) {
  only_one = false;
  assert_true(refuse_each_allocation(text_to_result, true) > 20);
}
static void graphs_and_text(void **state) { refuse_each(graph_and_text, 100); }
static void streams_events_captures_imports(void **state) { refuse_each(streams_and_captures, 40); }
static void profiles_and_the_reference(void **state) { refuse_each(profile_and_reference, 40); }
static void tuning(void **state) {
  char command[64];
  assert_non_null(mkdtemp(cache_dir));
  counting c = {.left = 1L << 40};
  only_one = false;
  assert_int_equal(tuned(&c), TSR_OK);
  refuse_each(tuned, 40);
  snprintf(command, sizeof command, "rm -rf %s", cache_dir);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(text_in_and_results), cmocka_unit_test(graphs_and_text),
                                     cmocka_unit_test(streams_events_captures_imports),
                                     cmocka_unit_test(profiles_and_the_reference), cmocka_unit_test(tuning)};
  for (int i = 0; i < M * K; i++) a_data[i] = (float)(i % 17) / 17;
  for (int i = 0; i < K * N; i++) b_data[i] = (float)(i % 13) / 13;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
