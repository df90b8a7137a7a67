/* Faults of its file that the tuning cache must survive: truncated, overwritten, of a newer library, foreign, with
 * altered rows, of another time. Those of processes and disks are in test_tune_cache_processes.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#ifdef TSR_HAVE_SQLITE
#include <sqlite3.h>
#endif

#include <cmocka.h>

#include "core/tune/search.h"
#include "tests/unit/tune_cache_dir.h"

static void damage(int how, uint64_t *rng) {
  char path[128];
  file_path(path, sizeof path, "");
  FILE *f = fopen(path, "r+b");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  if (how == 0) assert_int_equal(ftruncate(fileno(f), (long)search_rand(rng, (uint64_t)n)), 0);
  for (int i = 0; how == 1 && i < 64; i++)
    fseek(f, (long)search_rand(rng, (uint64_t)n), SEEK_SET), fputc((int)search_rand(rng, 256), f);
  if (how == 2) {
    rewind(f);
    for (long i = 0; i < n; i++) fputc("not a database at all! "[i % 23], f);
  }
  if (how == 3)
    fseek(f, 4096 + (long)search_rand(rng, (uint64_t)(n > 8192 ? n - 8192 : 1)), SEEK_SET),
        fwrite("\0\0\0\0\0\0\0\0garbage", 1, 15, f);
  fclose(f);
}

static void damaged_files_are_misses_never_wrong_answers(void **state) {
  uint64_t rng = 777;
  int quarantined = 0, misses = 0;
  for (int round = 0; round < 120; round++) {
    char cmd[200];
    snprintf(cmd, sizeof cmd, "rm -f %s/t.sqlite*", dir);
    assert_int_equal(system(cmd), 0);
    tune_cache *c = open_cache();
    for (int i = 1; i <= 60; i++) assert_true(works(c, i));
    cache_close(&c);
    damage(round % 4, &rng);
    c = open_cache();
    assert_true(round % 8 < 4 || works(c, 61)); /* also where it is the store that finds the damage */
    for (int i = 1; i <= 60; i++) {
      char shape[32];
      snprintf(shape, sizeof shape, "%dx1x1", i);
      tune_key k = key_of(shape);
      tune_entry e = entry_of(i), got;
      bool hit = cache_lookup(c, &k, &got);
      if (hit) assert_memory_equal(&got, &e, sizeof e);
      misses += !hit;
    }
    assert_true(works(c, 62));
    cache_info info;
    cache_describe(c, &info);
    quarantined += info.quarantined;
    cache_close(&c);
  }
  print_message("120 damaged files: %d set aside, %d misses\n", quarantined, misses);
  assert_true(quarantined >= 30 && misses > 0);
}

enum { HEADER = 100, MOST = 1 << 20 };
static unsigned char whole[MOST];

/* The sound file of what was kept so far. */
static size_t read_whole(void) {
  char path[128];
  file_path(path, sizeof path, "");
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(whole, 1, sizeof whole, f) : 0;
  assert_true(n > HEADER && n < MOST && fclose(f) == 0);
  return n;
}
/* In place of all that is there. */
static void write_whole(const unsigned char *bytes, size_t n) {
  char path[128], cmd[200];
  snprintf(cmd, sizeof cmd, "rm -f %s/t.*", dir);
  assert_int_equal(system(cmd), 0);
  file_path(path, sizeof path, "");
  FILE *f = fopen(path, "wb");
  assert_true(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}
static bool kept_for_the_next(int m) {
  char shape[32];
  snprintf(shape, sizeof shape, "%dx1x1", m);
  tune_key k = key_of(shape);
  tune_entry e = entry_of(m), got;
  tune_cache *c = open_cache();
  bool hit = cache_lookup(c, &k, &got) && !memcmp(&got, &e, sizeof e);
  cache_close(&c);
  return hit;
}

/* No byte of the file's header makes a cache that keeps nothing. */
static void any_byte_of_the_header_may_be_wrong(void **state) {
  tune_cache *c = open_cache();
  assert_true(works(c, 1));
  cache_close(&c);
  size_t n = read_whole();
  for (int at = 0; at < HEADER; at++)
    for (int how = 0; how < 4; how++) {
      const unsigned char was = whole[at], bad[] = {0, 0xff, was ^ 1, (unsigned char)(was + 3)};
      whole[at] = bad[how];
      write_whole(whole, n);
      whole[at] = was;
      c = open_cache();
      if (!works(c, 2)) fail_msg("byte %d as %d: nothing is kept", at, bad[how]);
      cache_close(&c);
      if (!kept_for_the_next(2)) fail_msg("byte %d as %d: the next process doesn't find what was kept", at, bad[how]);
    }
}

/* Damage where neither the first lookup nor the store happens to look. */
static void what_is_kept_after_damage_stays(void **state) {
  enum { ROUNDS = 400, ENTRIES = 150, TRIALS = 6 };
  static unsigned char bad[MOST];
  uint64_t rng = 31;
  tune_cache *c = open_cache();
  for (int i = 0; i < ENTRIES; i++) {
    char shape[32];
    snprintf(shape, sizeof shape, "%dx1x1", 10 * i);
    tune_key k = key_of(shape);
    for (int t = 0; t < TRIALS; t++) {
      tune_trial x = {.state = "ok", .ns = t + 0.5};
      snprintf(x.config, sizeof x.config, "m=%d n=64", t + 1);
      assert_true(cache_keep_trial(c, &k, &x));
    }
    assert_true(works(c, 10 * i));
  }
  cache_close(&c);
  size_t n = read_whole();
  for (int round = 0; round < ROUNDS; round++) {
    memcpy(bad, whole, n);
    for (uint64_t i = 0, hurt = 1 + search_rand(&rng, 64); i < hurt; i++)
      bad[search_rand(&rng, n)] = (unsigned char)search_rand(&rng, 256);
    write_whole(bad, n);
    for (int m = 1; m <= 2; m++) { /* two processes, one after the other */
      c = open_cache();
      assert_true(works(c, m));
      cache_close(&c);
    }
    for (int m = 1; m <= 2; m++)
      if (!kept_for_the_next(m)) fail_msg("round %d: what process %d kept is gone", round, m);
  }
}

static void clock_jumps_change_nothing(void **state) {
  tune_cache *c = open_cache();
  assert_true(works(c, 400));
  cache_close(&c);
  static const time_t jumps[] = {0, 1, 4102444800, 253402300799};
  char path[128];
  file_path(path, sizeof path, "");
  for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
    struct utimbuf t = {jumps[i], jumps[i]};
    assert_int_equal(utime(path, &t), 0);
    c = open_cache();
    tune_key k = key_of("400x1x1");
    tune_entry got;
    assert_true(cache_lookup(c, &k, &got));
    assert_true(works(c, 401 + (int)i));
    cache_close(&c);
  }
}

#ifdef TSR_HAVE_SQLITE
static void alter(const char *sql) {
  char path[128];
  sqlite3 *h = NULL;
  file_path(path, sizeof path, "");
  assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
  assert_int_equal(sqlite3_exec(h, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(h);
}

static void newer_schema_is_left_alone_beside_our_own(void **state) {
  tune_cache *c = open_cache();
  assert_true(works(c, 500));
  cache_close(&c);
  alter("CREATE TABLE future(x); INSERT INTO future VALUES(42); PRAGMA user_version=99");
  c = open_cache();
  tune_key k = key_of("500x1x1");
  tune_entry got;
  assert_false(cache_lookup(c, &k, &got));
  assert_true(works(c, 501)); /* and is remembered */
  cache_close(&c);
  c = open_cache();
  k = key_of("501x1x1");
  assert_true(cache_lookup(c, &k, &got));
  cache_info info;
  cache_describe(c, &info);
  assert_true(info.quarantined == 0 && strstr(info.path, ".v1.sqlite"));
  cache_close(&c);
  alter("UPDATE future SET x=43 WHERE x=42"); /* fails if the table is gone */
  alter("PRAGMA user_version=1");
  c = open_cache();
  k = key_of("500x1x1");
  assert_true(cache_lookup(c, &k, &got)); /* its content survived */
  cache_close(&c);
}

static void foreign_database_is_set_aside(void **state) {
  alter("CREATE TABLE photos(x); INSERT INTO photos VALUES(1)");
  tune_cache *c = open_cache();
  assert_true(works(c, 600));
  cache_info info;
  cache_describe(c, &info);
  assert_int_equal(info.quarantined, 1);
  cache_close(&c);
  char path[128];
  file_path(path, sizeof path, ".bad");
  assert_int_equal(access(path, R_OK), 0); /* nothing of theirs was deleted */
}

/* Each damaged file gets a copy of its own, up to eight; the first seven are never touched again. */
static void damage_after_damage_keeps_every_rescue_copy(void **state) {
  enum { TIMES = 11, MOST = 8 };
  char path[128], text[32], had[32];
  for (int i = 1; i <= TIMES; i++) {
    file_path(path, sizeof path, "");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fprintf(f, "no database, number %d", i);
    assert_int_equal(fclose(f), 0);
    tune_cache *c = open_cache();
    assert_true(works(c, 900));
    cache_info info;
    cache_describe(c, &info);
    assert_int_equal(info.quarantined, 1);
    snprintf(text, sizeof text, i == 1 ? ".bad" : ".bad%d", i < MOST ? i : MOST);
    assert_non_null(strstr(info.why, text));
    cache_close(&c);
  }
  for (int i = 1; i <= MOST; i++) {
    snprintf(had, sizeof had, i == 1 ? ".bad" : ".bad%d", i);
    file_path(path, sizeof path, had);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    snprintf(had, sizeof had, "no database, number %d", i < MOST ? i : TIMES);
    assert_string_equal(text, had);
  }
}

static void altered_row_is_a_miss_and_is_reported(void **state) {
  tune_cache *c = open_cache();
  assert_true(works(c, 700));
  assert_true(works(c, 701));
  cache_close(&c);
  alter("UPDATE entry SET config='m=8 n=8 k=8' WHERE shape='700x1x1'");
  c = open_cache();
  cache_check check;
  assert_false(cache_verify(c, &check));
  assert_true(check.bad_entries == 1 && check.entries == 1 && check.file_sound);
  tune_key k = key_of("700x1x1");
  tune_entry got, e = entry_of(5), kept;
  assert_false(cache_lookup(c, &k, &got));
  assert_true(cache_store(c, &k, &e, false, &kept)); /* a damaged row does not win */
  assert_string_equal(kept.config, e.config);
  assert_true(cache_verify(c, &check));
  cache_close(&c);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_MEMORY(damaged_files_are_misses_never_wrong_answers),
      IN_MEMORY(any_byte_of_the_header_may_be_wrong),
      IN_MEMORY(what_is_kept_after_damage_stays),
      IN_DIR(clock_jumps_change_nothing),
#ifdef TSR_HAVE_SQLITE
      IN_DIR(newer_schema_is_left_alone_beside_our_own),
      IN_DIR(foreign_database_is_set_aside),
      IN_DIR(damage_after_damage_keeps_every_rescue_copy),
      IN_DIR(altered_row_is_a_miss_and_is_reported),
#endif
  };
  return has_sqlite ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
