/* Copies in a profile, on a device whose calls are over when they return: rows, times on one clock with the steps, an
 * overlap of exactly nothing with the reason; what can't be copied is refused and leaves the profile as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "tessera/profile.h"
#include "tests/support/api_check.h"
#include "tests/support/json_schema.h"

enum { BYTES = 64 * 64 * 4 };
static const char text[] =
    "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<64x64xf32>):\n%0 = \"tessera.graph.matmul\"(%A, "
    "%A)\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";

static tsr_context *ctx;
static tsr_device *dev;
static tsr_program *prog;
static tsr_stream *other;
static tsr_profile *prof;
static tsr_buffer *b[3];
static arena parsed;

static void open_all(void) {
  tsr_graph *g;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_graph_parse(ctx, text, sizeof text - 1, "product", &g));
  OK(tsr_program_compile(dev, g, NULL, &prog));
  tsr_graph_destroy(&g);
  OK(tsr_stream_create(dev, 0, &other));
  for (int i = 0; i < 3; i++) OK(tsr_buffer_create(dev, BYTES, TSR_MEMORY_HOST, &b[i]));
  for (int i = 0; i < 3; i++) memset(tsr_buffer_map(b[i]), i, BYTES);
  OK(tsr_profile_create(ctx, &prof));
  arena_init(&parsed, NULL);
}

static void close_all(void) {
  arena_clear(&parsed);
  tsr_profile_destroy(&prof);
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&b[i]);
  tsr_stream_destroy(&other);
  tsr_program_destroy(&prog);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void step(void) { OK(tsr_profile_step(prof, prog, NULL, &(tsr_binding){b[0], 0}, &(tsr_binding){b[1], 0})); }

static const json *told(tsr_status (*make)(const tsr_profile *, char **)) {
  char *t;
  json *j;
  OK(make(prof, &t));
  OK(json_parse(&parsed, t, strlen(t), "profile", &j));
  tsr_text_free(ctx, &t);
  return j;
}

static const json *row_of(const json *rows, const char *kind) {
  for (const json *r = rows->first; r; r = r->next)
    if (!strcmp(json_str(r, "kind", ""), kind)) return r;
  return NULL;
}

static void copies_are_rows_and_overlap_is_measured(void **state) {
  open_all();
  step(); /* nothing was copied yet */
  assert_int_equal(json_get(told(tsr_profile_json), "overlap")->n, 0);
  for (int i = 0; i < 5; i++) {
    OK(tsr_profile_copy(prof, other, b[2], 16, b[0], 32, BYTES - 32));
    step();
  }
  assert_memory_equal((char *)tsr_buffer_map(b[2]) + 16, (char *)tsr_buffer_map(b[0]) + 32, BYTES - 32);
  arena a;
  arena_init(&a, NULL);
  json *schema;
  FILE *f = fopen(TSR_SOURCE_DIR "/docs/profile.schema.json", "r");
  static char said[1 << 16];
  assert_non_null(f);
  size_t n = fread(said, 1, sizeof said, f);
  fclose(f);
  OK(json_parse(&a, said, n, "schema", &schema));
  const json *j = told(tsr_profile_json), *copies = row_of(json_get(j, "rows"), "copy"), *o = json_get(j, "overlap");
  assert_true(json_schema_holds(schema, j, "profile"));
  assert_non_null(copies);
  assert_true(json_num(copies, "count", 0) == 5 && json_num(copies, "bytes_modelled", 0) == BYTES - 32);
  assert_string_equal(json_str(copies, "label", ""), "Copy[0.01635MB]");
  assert_true(json_num(copies, "steps", 0) == 5 && json_num(copies, "stream", 0) == 1);
  assert_int_equal(o->n, 1);
  assert_true(json_num(o->first, "copy_ns", 0) > 0 && json_num(o->first, "kernel_ns", 0) > 0);
  assert_true(json_num(o->first, "both_ns", -1) == 0 && json_num(o->first, "overlap", -1) == 0);
  assert_non_null(strstr(json_str(o->first, "waits", ""), "over when its call returns"));
  arena_clear(&a);
  close_all();
}

/* In the order in which they ran, on one time line. */
static void trace_has_copies_between_steps(void **state) {
  open_all();
  for (int i = 0; i < 300; i++) { /* more than are kept waiting */
    OK(tsr_profile_copy(prof, other, b[2], 0, b[0], 0, BYTES));
    if (i % 50 == 0) step();
  }
  const json *events = json_get(told(tsr_profile_trace), "traceEvents");
  int copies = 0, steps = 0;
  double copied = 0, most = 0;
  for (const json *e = events->first; e; e = e->next) {
    const double ts = json_num(e, "ts", -1);
    if (!json_get(e, "dur")) continue;
    const bool copy = !strcmp(json_str(e, "cat", ""), "copy");
    copies += copy, steps += !copy;
    if (copy) assert_true(ts >= copied && json_num(e, "tid", -1) == 1);
    else assert_true(json_num(e, "tid", -1) == 0);
    if (copy) copied = ts;
    if (ts > most) most = ts;
    assert_true(ts >= 0);
  }
  assert_int_equal(copies, 300);
  assert_int_equal(steps, 6);
  assert_true(copied == most && most > 0);
  close_all();
}

static void refused(tsr_status st, const char *part) {
  assert_non_null(st);
  if (!strstr(tsr_status_message(st), part)) fail_msg("%s", tsr_status_message(st));
  tsr_status_free(st);
}

static void what_cannot_be_copied_is_refused(void **state) {
  tsr_recording *r;
  open_all();
  refused(tsr_profile_copy(NULL, other, b[0], 0, b[1], 0, 1), "p is NULL");
  refused(tsr_profile_copy(prof, NULL, b[0], 0, b[1], 0, 1), "s is NULL");
  refused(tsr_profile_copy(prof, other, NULL, 0, b[1], 0, 1), "dst is NULL");
  refused(tsr_profile_copy(prof, other, b[0], 0, NULL, 0, 1), "src is NULL");
  refused(tsr_profile_copy(prof, other, b[0], 1, b[1], 0, BYTES), "16384");
  refused(tsr_profile_copy(prof, other, b[0], 0, b[1], SIZE_MAX, 2), "16384");
  OK(tsr_capture_begin(other));
  refused(tsr_profile_copy(prof, other, b[0], 0, b[1], 0, BYTES), "captured");
  OK(tsr_capture_end(other, &r));
  tsr_recording_destroy(&r);
  const json *j = told(tsr_profile_json);
  assert_true(json_num(j, "events", -1) == 0 && json_get(j, "overlap")->n == 0);
  OK(tsr_profile_copy(prof, other, b[0], 0, b[1], 0, 0)); /* nothing is a copy too */
  assert_true(json_num(told(tsr_profile_json), "events", -1) == 1);
  OK(tsr_profile_copy(prof, other, b[0], 0, b[1], 0, 8)); /* never reported */
  close_all();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(copies_are_rows_and_overlap_is_measured),
                                     cmocka_unit_test(trace_has_copies_between_steps),
                                     cmocka_unit_test(what_cannot_be_copied_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
