/* One decision per mesh through the public interface: four ranks, each a thread with a context and a cache of its own,
 * tune the same graph; rank 0 searches, all compile the same schedule afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/status.h"
#include "tessera/tune.h"

enum { RANKS = 4, KERNELS = 2 };

static char dir[64];

static int make_dir(void **state) {
  snprintf(dir, sizeof dir, "/tmp/tsr-agree-XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}
static int drop_dir(void **state) {
  char cmd[100];
  snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
  return system(cmd);
}

/* The mesh: the n-th call of every rank gets the bytes of rank 0's n-th call. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t arrived;
  unsigned char data[KERNELS][512];
  int sent, fail_rank; /* fail_rank: whose link is broken; -1 = none */
} mesh = {.lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};

typedef struct rank {
  int index, calls, n_reports;
  tsr_code code;
  uint64_t measurements, hits;
  char source[KERNELS][16];
  tsr_schedule schedule[KERNELS];
  int64_t tile[KERNELS][3]; /* of what was compiled afterwards */
} rank;

static tsr_code broadcast(void *user, void *data, size_t bytes) {
  rank *r = user;
  int call = r->calls++;
  if (r->index == mesh.fail_rank) return TSR_CANCELLED;
  pthread_mutex_lock(&mesh.lock);
  if (r->index == 0) {
    memcpy(mesh.data[call], data, bytes);
    mesh.sent = call + 1;
    pthread_cond_broadcast(&mesh.arrived);
  }
  while (mesh.sent <= call) pthread_cond_wait(&mesh.arrived, &mesh.lock);
  memcpy(data, mesh.data[call], bytes);
  pthread_mutex_unlock(&mesh.lock);
  return TSR_OK;
}

static tsr_status tune_and_compile(rank *r, tsr_context *ctx, tsr_device *dev, tsr_graph *g) {
  tsr_value a, b, mm, s;
  tsr_tune_report *report = NULL;
  tsr_program *p = NULL;
  tsr_tune_mesh m = {r->index, broadcast, r};
  tsr_tune_options t = {
      .samples = 8, .samples_fixed = true, .stop_fraction = 2, .seed = (uint64_t)r->index, .mesh = &m};
  tsr_status st = tsr_graph_input(g, "A", TSR_F32, (tsr_shape){2, {96, 128}}, &a);
  if (!st) st = tsr_graph_input(g, "B", TSR_F32, (tsr_shape){2, {128, 200}}, &b);
  if (!st) st = tsr_graph_op(g, "matmul", (tsr_value[]){a, b}, 2, NULL, 0, &mm);
  if (!st) st = tsr_graph_op(g, "softmax", &mm, 1, NULL, 0, &s);
  if (!st) st = tsr_graph_output(g, s);
  if (!st) st = tsr_graph_tune(dev, g, NULL, &t, &report);
  r->n_reports = st ? 0 : tsr_tune_report_count(report);
  for (int i = 0; i < r->n_reports && i < KERNELS; i++) {
    tsr_tune_result x = tsr_tune_report_get(report, i);
    snprintf(r->source[i], sizeof r->source[i], "%s", x.source);
    r->schedule[i] = x.schedule;
  }
  if (!st) st = tsr_program_compile(dev, g, &(tsr_compile_options){.tune = TSR_TUNE_CACHED}, &p);
  for (int i = 0; !st && i < tsr_program_n_kernels(p) && i < KERNELS; i++)
    memcpy(r->tile[i], tsr_program_kernel(p, i).tile, sizeof r->tile[i]);
  r->measurements = tsr_context_tune_counters(ctx).measurements;
  r->hits = tsr_context_tune_counters(ctx).hits;
  tsr_tune_report_destroy(&report);
  tsr_program_destroy(&p);
  return st;
}

static void *run_rank(void *user) {
  rank *r = user;
  char own[80];
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_graph *g = NULL;
  snprintf(own, sizeof own, "%s/%d", dir, r->index);
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = own}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  if (!st) st = tsr_graph_create(ctx, "main", &g);
  if (!st) st = tune_and_compile(r, ctx, dev, g);
  r->code = tsr_status_code(st);
  tsr_status_free(st);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return NULL;
}

static void run_ranks(rank r[RANKS], int fail_rank) {
  pthread_t t[RANKS];
  mesh.sent = 0;
  mesh.fail_rank = fail_rank;
  for (int i = RANKS - 1; i >= 0; i--) {
    r[i] = (rank){.index = i};
    assert_int_equal(pthread_create(&t[i], NULL, run_rank, &r[i]), 0);
  }
  for (int i = 0; i < RANKS; i++) pthread_join(t[i], NULL);
}

static void four_ranks_compile_what_rank_0_found(void **state) {
  static rank r[RANKS];
  run_ranks(r, -1);
  assert_int_equal(r[0].n_reports, KERNELS);
  assert_string_equal(r[0].source[0], "search");
  for (int i = 0; i < RANKS; i++) {
    assert_true(r[i].code == TSR_OK && r[i].calls == KERNELS && r[i].hits == KERNELS); /* the compilation found both */
    assert_true(i ? r[i].measurements == 0 : r[i].measurements >= 16);
    for (int k = 0; k < KERNELS; k++) {
      if (i) assert_string_equal(r[i].source[k], "rank0");
      assert_memory_equal(&r[i].schedule[k], &r[0].schedule[k], sizeof r[0].schedule[k]);
      assert_memory_equal(r[i].tile[k], r[0].tile[k], sizeof r[0].tile[k]);
    }
  }
}

static void broken_link_is_that_ranks_status(void **state) {
  static rank r[RANKS];
  run_ranks(r, 2);
  for (int i = 0; i < RANKS; i++) assert_int_equal(r[i].code, i == 2 ? TSR_CANCELLED : TSR_OK);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)
int main(void) {
#ifndef TSR_HAVE_SQLITE
  return 77; /* the cache is off */
#endif
  const struct CMUnitTest tests[] = {IN_DIR(four_ranks_compile_what_rank_0_found),
                                     IN_DIR(broken_link_is_that_ranks_status)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
