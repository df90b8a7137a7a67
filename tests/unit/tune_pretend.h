/* tests/unit/tune_pretend.h - a pretended device for tests of the tuner, whose times are known, that gets slower as it
 * goes on, and some of whose candidates are wrong, broken or slow; and a cache in a folder of each test's own. */
#ifndef TESTS_UNIT_TUNE_PRETEND_H
#define TESTS_UNIT_TUNE_PRETEND_H
#include "core/tune/tuner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];
static tune_device device;
static tune_problem problem;
static tune_space sp;
static tune_config dflt;

/* Time falls towards m = n = 128, k = 256; `wrong_m` gives wrong results, `broken_n` can't be compiled. */
typedef struct pretend {
  int prepared, runs, checks, live, die_after;
  int32_t wrong_m, broken_n, slow_m; /* slow: 10 ms */
  int slow_runs, slow_kernels;
  double drift;
} pretend;
typedef struct kernel {
  tune_config c;
} kernel;

static inline double true_ns(const tune_config *c) {
  return 1000 * (1 + fabs(log2(c->m / 128.0)) + fabs(log2(c->n / 128.0)) + 0.5 * fabs(log2(c->k / 256.0)));
}
static inline tsr_status p_prepare(void *user, const tune_config *c, void **out) {
  pretend *p = user;
  if (c->n == p->broken_n) return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("test", NULL, NULL), "does not compile");
  kernel *k = malloc(sizeof *k);
  k->c = *c;
  p->prepared++, p->live++;
  p->slow_kernels += c->m == p->slow_m;
  *out = k;
  return NULL;
}
static inline tsr_status p_run(void *user, void *kern, double *ns) {
  pretend *p = user;
  if (p->die_after && ++p->runs > p->die_after)
    return st_make(NULL, TSR_DEVICE_LOST, ST_WHERE("test", NULL, NULL), "lost");
  p->drift *= 1.0001;
  if (((kernel *)kern)->c.m == p->slow_m) return p->slow_runs++, *ns = 1e7, NULL;
  *ns = true_ns(&((kernel *)kern)->c) * p->drift;
  return NULL;
}
static inline tsr_status p_check(void *user, void *kern, bool *right) {
  pretend *p = user;
  p->checks++;
  *right = ((kernel *)kern)->c.m != p->wrong_m;
  return NULL;
}
static inline void p_release(void *user, void *kern) {
  ((pretend *)user)->live--;
  free(kern);
}
static inline tune_target target_of(pretend *p) { return (tune_target){p, p_prepare, p_run, p_check, p_release, NULL}; }

static inline int setup(void **state) {
  snprintf(dir, sizeof dir, "/tmp/tsr-tuner-XXXXXX");
  device = (tune_device){.name = "cpu",
                         .is_cpu = true,
                         .cores = 2,
                         .warp_size = 16,
                         .shared_per_block = 2 << 20,
                         .fma_gflops = 1e9,
                         .n_tiers = 1,
                         .tier = {{"memory", 0, 1e9, 0, false}}};
  problem = (tune_problem){.family = FAMILY_MATMUL,
                           .op = "matmul",
                           .batch = 1,
                           .m = 512,
                           .n = 512,
                           .k = 512,
                           .in = TSR_F32,
                           .acc = TSR_F32,
                           .out = TSR_F32};
  space_build(&device, &problem, &(space_options){.knobs = SPACE_TILE}, &sp);
  space_point at;
  if (!space_nearest(&sp, &(tune_config){.m = 32, .n = 32, .k = 64}, &at)) return -1;
  dflt = space_config(&sp, &at);
  return mkdtemp(dir) ? 0 : -1;
}
static inline int teardown(void **state) {
  char cmd[100];
  snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
  return system(cmd);
}

static inline tuner_desc desc_of(const tune_target *t, tune_cache *c) {
  return (tuner_desc){.mode = TUNE_FULL,
                      .device = &device,
                      .problem = &problem,
                      .space = &sp,
                      .dflt = &dflt,
                      .target = t,
                      .cache = c,
                      .key = {"matmul", "512x512x512", "f32", "", "fast", "", "avx512", "cpu", "g"},
                      .stop_fraction = 2,
                      .samples = 40,
                      .timing = {.most_runs = 10}};
}
static inline tune_cache *open_cache(void) {
  tune_cache *c = NULL;
  assert_null(cache_open(NULL, dir, NULL, &c));
  return c;
}
static inline bool has_cache(void) {
  tune_cache *c = open_cache();
  cache_info i;
  cache_describe(c, &i);
  cache_close(&c);
  return i.writable;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
