/* A tuning cache in a folder of its own, for the tests of the cache: one folder a test, keys and entries made from a
 * number. Included after cmocka.h. */
#ifndef TESTS_UNIT_TUNE_CACHE_DIR_H
#define TESTS_UNIT_TUNE_CACHE_DIR_H
#include "core/tune/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef TSR_HAVE_SQLITE
static const bool has_sqlite = true;
#else
static const bool has_sqlite = false;
#endif

static char dir[64];

static inline int make_dir(void **state) {
  snprintf(dir, sizeof dir, "/tmp/tsr-cache-XXXXXX");
  return mkdtemp(dir) ? chmod(dir, 0777) : -1;
}
/* Where that can be had: hundreds of caches take their time on a slow disk. */
static inline int make_dir_in_memory(void **state) {
  snprintf(dir, sizeof dir, "/dev/shm/tsr-cache-XXXXXX");
  return mkdtemp(dir) ? chmod(dir, 0777) : make_dir(state);
}
static inline int drop_dir(void **state) {
  char cmd[200];
  snprintf(cmd, sizeof cmd, "chmod -R u+rwx %s; rm -rf %s", dir, dir);
  return system(cmd);
}

static inline tune_key key_of(const char *shape) {
  return (tune_key){"matmul", shape, "f32", "row", "fast", "", "avx512", "cpu 1", "g1"};
}
static inline tune_entry entry_of(int m) {
  tune_entry e = {.best_ns = 1000.5 + m, .runner_up_ns = 1100, .default_ns = 2000, .predicted_ns = 900, .samples = 50};
  snprintf(e.config, sizeof e.config, "m=%d n=64 k=32", m);
  snprintf(e.runner_up, sizeof e.runner_up, "m=%d n=32 k=32", m);
  snprintf(e.strategy, sizeof e.strategy, "hybrid");
  return e;
}
static inline tune_cache *open_cache(void) {
  tune_cache *c = NULL;
  assert_null(cache_open(NULL, dir, "t", &c));
  return c;
}
static inline void file_path(char *out, size_t n, const char *suffix) {
  snprintf(out, n, "%s/t.sqlite%s", dir, suffix);
}
static inline bool works(tune_cache *c, int m) {
  char shape[32];
  snprintf(shape, sizeof shape, "%dx1x1", m);
  tune_key k = key_of(shape);
  tune_entry e = entry_of(m), got;
  return cache_store(c, &k, &e, true, NULL) && cache_lookup(c, &k, &got) && !memcmp(&e, &got, sizeof e);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)
#define IN_MEMORY(f) cmocka_unit_test_setup_teardown(f, make_dir_in_memory, drop_dir)
#endif
