/* Whole sessions with allocations refused at random, one in many or in few: create, open, graph, print, parse, compile,
 * run, tune, profile, the cache on disk; on the CPU, and without tuning on the null device and on Vulkan where there is
 * one. Each ends in success or out of memory, frees all that it took with the sizes it asked for, and leaves a cache
 * that the next one reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tessera/profile.h"
#include "tessera/tune.h"
#include "tests/support/api_check.h"

enum { M = 8, K = 24, N = 5, SESSIONS = 400, VULKAN_SESSIONS = 24 };

typedef struct dice {
  counting count;
  uint64_t state;
  uint32_t one_in; /* 0: none is refused */
  long refused;
} dice;

static uint32_t draw(uint64_t *s) {
  uint64_t z = __atomic_add_fetch(s, 0x9e3779b97f4a7c15ull, __ATOMIC_RELAXED);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  return (uint32_t)((z ^ z >> 27) * 0x94d049bb133111ebull >> 32);
}

static void *dice_alloc(void *user, size_t size, size_t align) {
  dice *d = user;
  if (d->one_in && draw(&d->state) % d->one_in == 0) {
    __atomic_add_fetch(&d->refused, 1, __ATOMIC_RELAXED);
    return NULL;
  }
  return count_alloc(&d->count, size, align);
}

static void dice_free(void *user, void *p, size_t size, size_t align) {
  count_free(&((dice *)user)->count, p, size, align);
}

typedef struct session {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *b[3];
  tsr_tune_report *report;
  tsr_profile *profile;
  char *text;
} session;

static tsr_status build(session *s) {
  tsr_value v[2];
  tsr_status st = tsr_graph_create(s->ctx, "main", &s->g);
  if (!st) st = tsr_graph_input(s->g, "A", TSR_F32, (tsr_shape){2, {M, K}}, &v[0]);
  if (!st) st = tsr_graph_input(s->g, "B", TSR_F32, (tsr_shape){2, {K, N}}, &v[1]);
  if (!st) st = tsr_graph_op(s->g, "matmul", v, 2, NULL, 0, &v[0]);
  if (!st) st = tsr_graph_op(s->g, "softmax", v, 1, NULL, 0, &v[0]);
  return st ? st : tsr_graph_output(s->g, v[0]);
}

/* The graph by its text, as a program of its own. */
static tsr_status again(session *s) {
  size_t bytes;
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  tsr_status st = tsr_graph_print(s->g, &s->text);
  if (!st) st = tsr_graph_parse(s->ctx, s->text, strlen(s->text), "again", &g);
  if (!st) st = tsr_program_parse(s->dev, s->text, strlen(s->text), "again", NULL, &p);
  if (!st) tsr_text_free(s->ctx, &s->text);
  if (!st) st = tsr_program_dump(p, TSR_LEVEL_TARGET, &s->text, &bytes);
  if (!st) tsr_text_free(s->ctx, &s->text);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  return st;
}

static tsr_status work(session *s, const tsr_allocator *al, const char *dir, const char *device) {
  static const size_t bytes[3] = {M * K * 4, K * N * 4, M * N * 4};
  static float data[M * K], y[M * N];
  static double want[M * N];
  const tsr_tune_options tune = {.strategy = "grid", .samples = 1, .samples_fixed = true, .again = true};
  const bool tunes = !strcmp(device, "cpu:0"), runs = strncmp(device, "null", 4);
  int failed;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.allocator = al, .cache_dir = dir}, &s->ctx);
  if (!st) st = tsr_device_open(s->ctx, device, &s->dev);
  if (!st) st = build(s);
  if (!st) st = again(s);
  if (!st) st = tsr_graph_reference(s->g, (const void *[]){data, data}, (double *[]){want}, NULL);
  if (!st && tunes) st = tsr_graph_tune(s->dev, s->g, NULL, &tune, &s->report);
  if (!st) st = tsr_program_compile(s->dev, s->g, NULL, &s->p);
  for (int i = 0; i < 3 && !st && runs; i++) st = tsr_buffer_create(s->dev, bytes[i], TSR_MEMORY_DEVICE, &s->b[i]);
  if (!runs) return st ? st : tsr_program_explain(s->p, &s->text);
  for (int i = 0; i < 2 && !st; i++) st = tsr_buffer_write(s->b[i], 0, data, bytes[i]);
  const tsr_binding in[2] = {{s->b[0], 0}, {s->b[1], 0}}, out = {s->b[2], 0};
  if (!st) st = tsr_program_run(s->p, NULL, in, &out);
  if (!st) st = tsr_buffer_read(s->b[2], 0, y, sizeof y);
  if (!st) st = tsr_profile_create(s->ctx, &s->profile);
  if (!st) st = tsr_profile_step(s->profile, s->p, NULL, in, &out);
  if (!st && tunes) st = tsr_profile_check(s->profile, true, true, &s->text, &failed);
  if (!st && !tunes) st = tsr_profile_text(s->profile, true, &s->text);
  if (!st) tsr_text_free(s->ctx, &s->text);
  if (!st && tunes) st = tsr_graph_tune_explain(s->dev, s->g, NULL, NULL, &s->text);
  return st;
}

static tsr_code live(dice *d, const char *dir, const char *device) {
  const tsr_allocator al = {dice_alloc, dice_free, d};
  session s = {0};
  tsr_status st = work(&s, &al, dir, device);
  tsr_code code = tsr_status_code(st);
  tsr_status_free(st);
  if (s.ctx) tsr_text_free(s.ctx, &s.text);
  tsr_profile_destroy(&s.profile);
  tsr_tune_report_destroy(&s.report);
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&s.b[i]);
  tsr_program_destroy(&s.p);
  tsr_graph_destroy(&s.g);
  tsr_device_close(&s.dev);
  tsr_context_destroy(&s.ctx);
  return code;
}

static bool is_there(const char *device) {
  tsr_context *ctx;
  tsr_device *dev = NULL;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  tsr_status_free(tsr_device_open(ctx, device, &dev));
  bool there = dev != NULL;
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return there;
}

static void run_sessions(const char *device, int sessions, const uint32_t *one_in, int n_rates, const char *dir,
                         uint64_t seed) {
  long refused = 0, whole = 0;
  for (int i = 0; i < sessions; i++) {
    dice d = {.count.left = 1L << 40, .state = seed + (uint64_t)i * 1000003, .one_in = one_in[i % n_rates]};
    tsr_code code = live(&d, dir, device);
    if (code != TSR_OK && code != TSR_OUT_OF_MEMORY)
      fail_msg("%s, session %d of seed %llu: %s", device, i, (unsigned long long)seed, tsr_code_name(code));
    if (code == TSR_OUT_OF_MEMORY) assert_true(d.refused > 0);
    if (d.count.live)
      fail_msg("%s, session %d of seed %llu: %ld blocks leak", device, i, (unsigned long long)seed, d.count.live);
    refused += d.refused;
    whole += code == TSR_OK;
  }
  printf("%s, seed %llu: %d sessions, %ld refusals, %ld whole\n", device, (unsigned long long)seed, sessions, refused,
         whole);
  dice none = {.count.left = 1L << 40};
  assert_int_equal(live(&none, dir, device), TSR_OK);
  assert_int_equal(none.count.live, 0);
  assert_true(refused > sessions / 8 && whole > sessions / 40 && whole < sessions); /* neither all nor none */
}

static void sessions_with_failing_allocations_end_whole(void **state) {
  static const uint32_t one_in[] = {30, 200, 1000, 3000, 8000, 20000};
  char dir[] = "/tmp/test_runtime_alloc_random.XXXXXX", command[128];
  const char *given = getenv("TSR_TEST_SEED");
  uint64_t seed = given ? strtoull(given, NULL, 0) : 20261123;
  assert_non_null(mkdtemp(dir));
  run_sessions("cpu:0", SESSIONS, one_in, 6, dir, seed);
  run_sessions("null:spirv", SESSIONS / 2, one_in, 6, dir, seed);
  if (is_there("vulkan:0")) run_sessions("vulkan:0", VULKAN_SESSIONS, one_in + 1, 3, dir, seed);
  else printf("no Vulkan device: its sessions are left out\n");
  snprintf(command, sizeof command, "rm -rf %s", dir);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sessions_with_failing_allocations_end_whole)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
