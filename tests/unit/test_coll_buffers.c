/* tests/unit/test_coll_buffers.c - collectives on buffers of devices: ranks with buffers of the CPU and of two Vulkan
 * devices, whose memory the host sees or, as a card's, doesn't: every operation, results at offsets, in one buffer,
 * counts of 0 and 1, which path it was, and ranges that don't fit. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tessera/dist.h"
#include "tests/support/coll_case.h"

enum { N = 3, OFFSET = 64 };

typedef struct member {
  tsr_team *team;
  tsr_device *dev;
  int rank, cases, wrong;
  const char *path; /* that it must have been */
  char text[400];
} member;

static void wrong(member *m, const char *what, tsr_status st) {
  if (!m->wrong++)
    snprintf(m->text, sizeof m->text, "rank %d: %s: %s", m->rank, what, st ? tsr_status_message(st) : "");
  tsr_status_free(st);
}

static void one_case(member *m, coll_call c, bool in_place) {
  const size_t bytes = coll_case_bytes(&c, N);
  char *in = malloc(bytes), *out = malloc(bytes);
  const char *path;
  tsr_buffer *a = NULL, *b = NULL;
  coll_case_fill(&c, N, m->rank, in_place, in, out);
  const size_t in_bytes = (size_t)coll_in_elements(c.op, c.count, N, m->rank, c.root) * tsr_dtype_size(c.dtype);
  const size_t out_bytes = (size_t)coll_out_elements(c.op, c.count, N, m->rank, c.root) * tsr_dtype_size(c.dtype);
  const bool one = c.in == c.out && in_bytes;
  tsr_status st = tsr_buffer_create(m->dev, OFFSET + bytes, TSR_MEMORY_DEVICE, &a);
  if (!st && !one) st = tsr_buffer_create(m->dev, OFFSET + bytes, TSR_MEMORY_DEVICE, &b);
  if (!st) st = tsr_buffer_write(a, OFFSET, c.in, in_bytes);
  const tsr_coll call = {
      .op = (tsr_coll_op)c.op, .dtype = c.dtype, .redop = (tsr_redop)c.redop, .count = c.count, .root = c.root};
  const tsr_coll_buffers where = {.in = {a, OFFSET}, .out = {one ? a : b, OFFSET}};
  if (!st) st = tsr_team_run_buffers(m->team, m->rank, &call, &where, &path);
  if (!st && (in_bytes || out_bytes) && strcmp(path, m->path)) wrong(m, path, NULL);
  if (!st) st = tsr_buffer_read(where.out.buffer, OFFSET, c.out, out_bytes);
  if (st) wrong(m, coll_op_get(c.op)->name, st);
  else if (coll_case_wrong(&c, N, m->rank)) wrong(m, coll_op_get(c.op)->name, NULL);
  m->cases++;
  tsr_buffer_destroy(&a), tsr_buffer_destroy(&b);
  free(in), free(out);
}

static void *results(void *arg) {
  static const tsr_dtype types[] = {TSR_F32, TSR_BF16, TSR_I64, TSR_U8};
  static const int counts[] = {3000, 37, 1, 0};
  member *m = arg;
  int k = 0;
  for (int op = 0; op < N_COLL_OPS; op++)
    for (int t = 0; t < 4; t++)
      for (int i = 0; i < 4; i++, k++)
        one_case(m,
                 (coll_call){.op = (coll_op)op,
                             .dtype = types[t],
                             .count = op == COLL_BARRIER ? 0 : counts[i],
                             .root = coll_op_get((coll_op)op)->has_root ? k % N : 0},
                 k % 2 && (op == COLL_ALL_REDUCE || op == COLL_REDUCE || op == COLL_BROADCAST));
  return NULL;
}

static void on_devices(const char *hides, const char *path) {
  tsr_context *ctx;
  tsr_device *cpu, *vulkan[2]; /* the driver's one device, opened twice */
  member m[N];
  pthread_t threads[N];
  tsr_team *team;
  if (hides) setenv("TSR_VK_HIDE", hides, 1);
  assert_null(tsr_context_create(NULL, &ctx));
  assert_null(tsr_device_open(ctx, "cpu:0", &cpu));
  for (int i = 0; i < 2; i++) {
    tsr_status st = tsr_device_open(ctx, "vulkan:0", &vulkan[i]);
    if (st) printf("no Vulkan device: %s\n", tsr_status_message(st));
    tsr_status_free(st);
  }
  assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = N}, &team));
  for (int r = 0; r < N; r++) {
    tsr_device *gpu = r ? vulkan[r - 1] : NULL;
    m[r] = (member){.team = team, .dev = gpu ? gpu : cpu, .rank = r, .path = gpu ? path : "in place"};
    assert_int_equal(pthread_create(&threads[r], NULL, results, &m[r]), 0);
  }
  for (int r = 0; r < N; r++) pthread_join(threads[r], NULL);
  for (int r = 0; r < N; r++)
    if (m[r].wrong) fail_msg("%d wrong: %s", m[r].wrong, m[r].text);
  printf("%d cases a rank\n", m[0].cases);
  tsr_team_destroy(&team);
  for (int i = 0; i < 2; i++) tsr_device_close(&vulkan[i]);
  tsr_device_close(&cpu);
  tsr_context_destroy(&ctx);
  if (hides) unsetenv("TSR_VK_HIDE");
}

static void buffers_of_unlike_devices_take_part(void **state) { on_devices(NULL, "in place"); }
static void memory_that_the_host_does_not_see_is_copied(void **state) {
  if (getenv("TSR_VK_HIDE")) skip();
  on_devices("mapping", "through the host");
}

static void expect(tsr_status st, const char *says) {
  if (!st || !strstr(tsr_status_message(st), says)) fail_msg("%s: %s", says, st ? tsr_status_message(st) : "no error");
  tsr_status_free(st);
}

static void ranges_that_do_not_fit_are_refused(void **state) {
  tsr_context *ctx;
  tsr_device *cpu;
  tsr_team *team;
  tsr_buffer *b;
  assert_null(tsr_context_create(NULL, &ctx));
  assert_null(tsr_device_open(ctx, "cpu:0", &cpu));
  assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = 1}, &team));
  assert_null(tsr_buffer_create(cpu, 64, TSR_MEMORY_DEVICE, &b));
  tsr_coll c = {.op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 16};
  tsr_coll_buffers w = {{b, 0}, {b, 0}};
  assert_null(tsr_team_run_buffers(team, 0, &c, &w, NULL));
  w.in.offset = 4;
  expect(tsr_team_run_buffers(team, 0, &c, &w, NULL), "in: 64 bytes from 4 of a buffer of 64");
  w.in.offset = SIZE_MAX - 3;
  expect(tsr_team_run_buffers(team, 0, &c, &w, NULL), "in: 64 bytes from");
  w.in.offset = 0, w.out.offset = 60;
  expect(tsr_team_run_buffers(team, 0, &c, &w, NULL), "out: 64 bytes from 60");
  w.out = (tsr_binding){NULL, 0};
  expect(tsr_team_run_buffers(team, 0, &c, &w, NULL), "out: 64 bytes from 0 of a buffer of 0");
  c.count = -1;
  expect(tsr_team_run_buffers(team, 0, &c, &w, NULL), "no such call");
  c.count = INT64_MAX;
  expect(tsr_team_run_buffers(team, 0, &c, &w, NULL), "no such call");
  c.count = 0;
  assert_null(tsr_team_run_buffers(team, 0, &c, &w, NULL));
  expect(tsr_team_run_buffers(team, 1, &c, &w, NULL), "no such rank");
  expect(tsr_team_run_buffers(NULL, 0, &c, &w, NULL), "team");
  expect(tsr_team_run_buffers(team, 0, NULL, &w, NULL), "call");
  expect(tsr_team_run_buffers(team, 0, &c, NULL, NULL), "where");
  tsr_buffer_destroy(&b);
  tsr_team_destroy(&team);
  tsr_device_close(&cpu);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buffers_of_unlike_devices_take_part),
      cmocka_unit_test(memory_that_the_host_does_not_see_is_copied),
      cmocka_unit_test(ranges_that_do_not_fit_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
