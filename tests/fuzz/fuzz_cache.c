/* tests/fuzz/fuzz_cache.c - libFuzzer target of `tessera cache import`: whatever is taken must be found, sound, and
 * come out again as text that another import takes whole. SQLite keeps the cache in memory here, without the locks and
 * syncs of a file, which took most of the time; it is emptied again and again. */
#include "core/tune/cache.h"
#include "tests/fuzz/fuzz_check.h"

#include <sqlite3.h>

static tune_cache *cache;
static char dir[] = "/tmp/fuzz_cache.XXXXXX";

static void remove_cache(void) {
  char path[64];
  static const char *const ends[] = {"", "-wal", "-shm"};
  cache_close(&cache);
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/fuzz.sqlite%s", dir, ends[i]);
    remove(path);
  }
  remove(dir);
}

static void open_cache(void) {
  sqlite3_vfs *memory = sqlite3_vfs_find("memdb");
  if (!memory || sqlite3_vfs_register(memory, 1)) abort();
  if (!mkdtemp(dir) || cache_open(NULL, dir, "fuzz", &cache)) abort();
  atexit(remove_cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cache_import_count n, again;
  cache_check c;
  if (!cache) open_cache();
  if (fuzz_refused(cache_import(cache, (const char *)data, size, "fuzz", true, &n)) || !n.added) return 0;
  strb b;
  strb_init(&b, NULL);
  if (!cache_verify(cache, &c) || c.bad_entries || c.bad_trials) abort();
  fuzz_reads_back(cache_export(cache, &b), &b);
  fuzz_reads_back(cache_import(cache, strb_text(&b), b.n, "exported", false, &again), &b);
  if (again.added || again.refused || again.kept != c.entries) fuzz_die("what was exported is not taken", &b, NULL);
  strb_clear(&b);
  if (!cache_clear(cache)) abort();
  return 0;
}
