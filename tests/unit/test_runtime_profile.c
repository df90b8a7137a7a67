/* Profiles through the public interface: the JSON keeps to docs/profile.schema.json, blocks are timed one by one where
 * the device can, the trace keeps to the format that viewers read, and without a profile nothing is timed, called or
 * allocated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/device/backend.h"
#include "tessera/profile.h"
#include "tests/support/json_schema.h"

/* The CPU under another name, with its calls counted. */
extern const be_vtable *const rt_backends[];
static const be_vtable *real;
static be_vtable counted;
static int runs, timed, switched, events;
static be_block_times *wanted; /* the runtime's, between the two switches */
static double memory_bytes = -1; /* what a counter of the device told; negative: it has none */
static tsr_status count_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns) {
  runs++;
  timed += times_ns != NULL;
  tsr_status st = real->program_run(s, p, bindings, times_ns);
  if (wanted) wanted[0].memory_known = memory_bytes >= 0, wanted[0].memory_bytes = memory_bytes;
  return st;
}
static void count_switch(be_program *p, be_block_times *out) {
  switched++;
  wanted = out;
  real->time_blocks(p, out);
}
static tsr_status count_event(be_device *d, be_event **out) {
  events++;
  return real->event_create(d, out);
}

static int allocations;
static void *count_alloc(void *user, size_t size, size_t align) {
  void *p = NULL;
  allocations++;
  return posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size ? size : 1) ? NULL : p;
}
static void count_free(void *user, void *p, size_t size, size_t align) { free(p); }

typedef struct fixture {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_binding in[2], out;
  tsr_profile *prof;
  arena a; /* of what was parsed */
} fixture;

static fixture open_all(void) {
  fixture f = {0};
  tsr_value a, b, mm, r;
  for (int i = 0; rt_backends[i]; i++)
    if (!strcmp(rt_backends[i]->name, "cpu")) real = rt_backends[i];
  counted = *real;
  counted.name = "counted";
  counted.program_run = count_run;
  counted.time_blocks = count_switch;
  counted.event_create = count_event;
  const void *extra[] = {&counted, NULL};
  tsr_allocator al = {count_alloc, count_free, NULL};
  assert_null(
      tsr_context_create(&(tsr_context_desc){.allocator = &al, .cache_dir = "", .extra_backends = extra}, &f.ctx));
  assert_null(tsr_device_open(f.ctx, "counted:0", &f.dev));
  assert_null(tsr_graph_create(f.ctx, "main", &f.g));
  assert_null(tsr_graph_input(f.g, "A", TSR_F32, (tsr_shape){2, {300, 128}}, &a));
  assert_null(tsr_graph_input(f.g, "B", TSR_F32, (tsr_shape){2, {128, 256}}, &b));
  assert_null(tsr_graph_op(f.g, "matmul", (tsr_value[]){a, b}, 2, NULL, 0, &mm));
  assert_null(tsr_graph_op(f.g, "softmax", &mm, 1, NULL, 0, &r));
  assert_null(tsr_graph_output(f.g, r));
  assert_null(tsr_program_compile(f.dev, f.g, NULL, &f.p));
  for (int i = 0; i < 2; i++) {
    assert_null(tsr_buffer_create(f.dev, tsr_program_input(f.p, i).bytes, TSR_MEMORY_HOST, &f.in[i].buffer));
    memset(tsr_buffer_map(f.in[i].buffer), 0, tsr_program_input(f.p, i).bytes);
  }
  assert_null(tsr_buffer_create(f.dev, tsr_program_output(f.p, 0).bytes, TSR_MEMORY_HOST, &f.out.buffer));
  arena_init(&f.a, NULL);
  return f;
}
static fixture open_with_profile(void) {
  fixture f = open_all();
  assert_null(tsr_profile_create(f.ctx, &f.prof));
  return f;
}
static void steps(fixture *f, int n) {
  for (int i = 0; i < n; i++) assert_null(tsr_profile_step(f->prof, f->p, NULL, f->in, &f->out));
}
static const json *parsed(fixture *f, tsr_status (*make)(const tsr_profile *, char **)) {
  char *text;
  json *j;
  assert_null(make(f->prof, &text));
  assert_null(json_parse(&f->a, text, strlen(text), "profile", &j));
  tsr_text_free(f->ctx, &text);
  return j;
}
static void assert_text_has(fixture *f, const char *what) {
  char *text;
  assert_null(tsr_profile_text(f->prof, true, &text));
  assert_non_null(strstr(text, what));
  tsr_text_free(f->ctx, &text);
}
static void close_all(fixture *f) {
  tsr_profile_destroy(&f->prof);
  arena_clear(&f->a);
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&f->in[i].buffer);
  tsr_buffer_destroy(&f->out.buffer);
  tsr_program_destroy(&f->p);
  tsr_graph_destroy(&f->g);
  tsr_device_close(&f->dev);
  tsr_context_destroy(&f->ctx);
}

static void without_a_profile_nothing_is_called(void **state) {
  enum { RUNS = 20 };
  fixture f = open_all();
  assert_null(tsr_program_run(f.p, NULL, f.in, &f.out)); /* makes what is made on first use */
  int before = allocations;
  runs = timed = switched = events = 0;
  for (int i = 0; i < RUNS; i++) assert_null(tsr_program_run(f.p, NULL, f.in, &f.out));
  assert_int_equal(runs, RUNS);
  assert_true(timed == 0 && switched == 0 && events == 0 && allocations == before);
  assert_null(tsr_profile_create(f.ctx, &f.prof));
  steps(&f, 1);
  assert_true(timed == 1 && switched == 2);
  before = allocations; /* a profile that is there but not used costs nothing either */
  assert_null(tsr_program_run(f.p, NULL, f.in, &f.out));
  assert_true(timed == 1 && switched == 2 && allocations == before);
  close_all(&f);
}

static json *parse_file(arena *a, const char *path) {
  static char text[1 << 16];
  json *j;
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  size_t n = fread(text, 1, sizeof text, f);
  fclose(f);
  assert_null(json_parse(a, text, n, path, &j));
  return j;
}

static void json_keeps_to_its_schema(void **state) {
  fixture f = open_with_profile();
  const json *j, *schema = parse_file(&f.a, TSR_SOURCE_DIR "/docs/profile.schema.json");
  for (int i = 0; i < 3; i++) {
    j = parsed(&f, tsr_profile_json);
    assert_true(json_schema_holds(schema, j, "profile"));
    steps(&f, 1);
  }
  const json *row = json_get(j, "rows")->first;
  assert_non_null(row);
  /* A check that can't fail is none: a field more, one less, one of another type. */
  json *broken = (json *)(uintptr_t)json_get(row, "kernel");
  const char *key = broken->key;
  broken->key = "kernels";
  assert_false(json_schema_holds(schema, j, "expected failure"));
  broken->key = key, broken->type = JSON_NUMBER;
  assert_false(json_schema_holds(schema, j, "expected failure"));
  close_all(&f);
}

static void blocks_are_timed_one_by_one(void **state) {
  fixture f = open_with_profile();
  int n = 0;
  steps(&f, 5);
  const json *j = parsed(&f, tsr_profile_json);
  for (const json *r = json_get(j, "rows")->first; r; r = r->next, n++) {
    double least = json_num(r, "tile_min_ns", -1), mean = json_num(r, "tile_ns", -1),
           most = json_num(r, "tile_max_ns", -1);
    assert_true(least > 0 && least <= mean && mean <= most);
    assert_true(least <= json_num(r, "max_ns", 0)); /* a block is no longer than its launch */
    assert_true(most <= json_num(r, "max_ns", 0));
    assert_int_equal(json_get(r, "bytes_measured")->type, JSON_NULL); /* this device counts none */
    assert_int_equal(json_get(r, "occupancy")->type, JSON_NULL);
  }
  assert_true(n >= 1);
  assert_text_has(&f, " to ");
  assert_text_has(&f, "measured=n/a");
  close_all(&f);
}

/* Bytes that a counter saw take the model's place in bandwidth and verdict; a launch without stays n/a. */
static void measured_bytes_are_shown_beside_the_modelled(void **state) {
  fixture f = open_with_profile();
  for (int i = 0; i < 3; i++) {
    memory_bytes = 1e6 * (i + 1);
    steps(&f, 1);
  }
  memory_bytes = -1;
  const json *j = parsed(&f, tsr_profile_json);
  const json *row = json_get(j, "rows")->first;
  assert_true(json_num(row, "bytes_measured", -1) == 2e6 && json_num(row, "bytes_modelled", -1) > 0 &&
              json_num(row, "bytes_modelled", -1) != 2e6);
  double rate = json_num(row, "gbytes_per_s", -1), should = 2e6 / json_num(row, "median_ns", 1);
  assert_true(rate > 0.999 * should && rate < 1.001 * should);
  assert_text_has(&f, "measured=2MB");
  close_all(&f);
}

/* The rules of the Trace Event Format for what we write: complete events ("X") and metadata ("M"); on one thread
 * complete events nest or follow each other, in microseconds with at most three decimals. */
static void trace_events_never_overlap(void **state) {
  fixture f = open_with_profile();
  double end = 0;
  int complete = 0, named = 0;
  steps(&f, 50);
  const json *j = parsed(&f, tsr_profile_trace);
  const char *unit = json_str(j, "displayTimeUnit", "");
  assert_true(!strcmp(unit, "ns") || !strcmp(unit, "ms")); /* the format knows no other */
  for (const json *e = json_get(j, "traceEvents")->first; e; e = e->next) {
    const char *ph = json_str(e, "ph", "");
    assert_true(json_num(e, "pid", -1) == 1 && json_num(e, "tid", -1) >= 0 && json_str(e, "name", NULL));
    named += !strcmp(ph, "M");
    if (strcmp(ph, "X")) continue;
    double ts = json_num(e, "ts", -1), dur = json_num(e, "dur", -1);
    assert_true(ts >= 0 && dur >= 0 && ts >= end - 1e-6);
    end = ts + dur;
    complete++;
  }
  assert_true(complete == 50 * tsr_program_n_kernels(f.p) && named == 2);
  close_all(&f);
}

/* The third row of docs/profile.md, of the program in the tests that is flash attention. */
static void hand_written_attention_is_the_seeds_row(void **state) {
  static char text[1 << 14];
  fixture f = open_all();
  FILE *file = fopen(TSR_SOURCE_DIR "/tests/tile/flash_attention.mlir", "r");
  assert_non_null(file);
  size_t n = fread(text, 1, sizeof text, file);
  fclose(file);
  assert_true(n > 0 && n < sizeof text);
  assert_null(tsr_text_profile(f.dev, text, n, "flash_attention.mlir", NULL, 2, &f.prof));
  char *rows;
  assert_null(tsr_profile_text(f.prof, false, &rows));
  assert_int_equal(strncmp(rows, "FusedOp[FlashAttn]  latency=", 28), 0);
  assert_non_null(strstr(rows, "  tiles=16\n"));
  tsr_text_free(f.ctx, &rows);
  const json *row = json_get(parsed(&f, tsr_profile_json), "rows")->first;
  assert_string_equal(json_str(row, "label", ""), "FusedOp[FlashAttn]");
  assert_string_equal(json_str(row, "kind", ""), "fused");
  close_all(&f);
}

/* A kernel that only moves data is named by what moves it, not by the symbol that it got. */
static void moves_are_named_by_their_op(void **state) {
  static const char text[] = "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%x: tensor<30x20xf32>):\n%t = "
                             "\"tessera.graph.transpose\"(%x) {perm = [1, 0]}\n"
                             "\"tessera.graph.return\"(%t)\n}) {sym_name = \"main\"} }) : () -> ()\n";
  fixture f = open_all();
  char *rows;
  assert_null(tsr_text_profile(f.dev, text, strlen(text), "moves", NULL, 1, &f.prof));
  assert_null(tsr_profile_text(f.prof, false, &rows));
  assert_int_equal(strncmp(rows, "Transpose[", 10), 0);
  tsr_text_free(f.ctx, &rows);
  close_all(&f);
}

typedef struct two_runs {
  fixture *f;
  int calls, fail_at;
} two_runs;
static tsr_status run_twice(void *user, tsr_profile *p, int step) {
  two_runs *t = user;
  assert_int_equal(step, t->calls++);
  tsr_policy policy;
  if (step == t->fail_at) return tsr_policy_parse("no such policy", &policy); /* some failure */
  tsr_status st = tsr_profile_step(p, t->f->p, NULL, t->f->in, &t->f->out);
  return st ? st : tsr_profile_step(p, t->f->p, NULL, t->f->in, &t->f->out);
}
static void a_step_is_what_the_callback_runs(void **state) {
  fixture f = open_with_profile();
  two_runs t = {&f, 0, -1};
  assert_null(tsr_profile_steps(f.prof, 5, run_twice, &t));
  const json *row = json_get(parsed(&f, tsr_profile_json), "rows")->first;
  assert_true(t.calls == 5 && json_num(row, "count", 0) == 10 && json_num(row, "steps", 0) == 5);
  t = (two_runs){&f, 0, 2};
  tsr_status st = tsr_profile_steps(f.prof, 5, run_twice, &t);
  assert_non_null(st);
  tsr_status_free(st);
  assert_int_equal(t.calls, 3);
  close_all(&f);
}

/* Nobody records shards and communication of several devices. */
static void audit_of_two_devices_invents_nothing(void **state) {
  fixture f = open_with_profile(), other = open_all();
  char *text;
  int failed;
  steps(&f, 1);
  assert_null(tsr_profile_step(f.prof, other.p, NULL, other.in, &other.out));
  assert_null(tsr_profile_check(f.prof, false, false, &text, &failed));
  assert_non_null(strstr(text, "unknown  Shard tensors explicitly across mesh axes"));
  assert_non_null(strstr(text, "unknown  Overlap communication with compute"));
  tsr_text_free(f.ctx, &text);
  close_all(&other);
  close_all(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_a_profile_nothing_is_called),
      cmocka_unit_test(json_keeps_to_its_schema),
      cmocka_unit_test(blocks_are_timed_one_by_one),
      cmocka_unit_test(measured_bytes_are_shown_beside_the_modelled),
      cmocka_unit_test(trace_events_never_overlap),
      cmocka_unit_test(hand_written_attention_is_the_seeds_row),
      cmocka_unit_test(moves_are_named_by_their_op),
      cmocka_unit_test(a_step_is_what_the_callback_runs),
      cmocka_unit_test(audit_of_two_devices_invents_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
