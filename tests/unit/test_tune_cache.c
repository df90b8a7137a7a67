/* The tuning cache: what it keeps, finds again, hands to others and reads from them. Faults: test_tune_cache_faults.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/tune_cache_dir.h"

static void entry_is_found_again_across_handles(void **state) {
  tune_cache *c = open_cache();
  tune_key k = key_of("300x200x500");
  tune_entry e = entry_of(128), got;
  assert_false(cache_lookup(c, &k, &got));
  assert_true(cache_store(c, &k, &e, false, NULL));
  cache_close(&c);
  c = open_cache();
  assert_true(cache_lookup(c, &k, &got));
  assert_memory_equal(&got, &e, sizeof e);
  cache_info i;
  cache_describe(c, &i);
  assert_true(i.readable && i.writable && i.entries == 1 && i.hits == 1 && i.quarantined == 0);
  cache_close(&c);
}

static void any_part_of_the_key_makes_a_miss(void **state) {
  tune_cache *c = open_cache();
  tune_key k = key_of("8x8x8");
  tune_entry e = entry_of(64), got;
  assert_true(cache_store(c, &k, &e, false, NULL));
  const char **parts[] = {&k.op, &k.shape, &k.dtype, &k.layout, &k.policy, &k.mesh, &k.arch, &k.driver, &k.generator};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const char *keep = *parts[i];
    *parts[i] = "other";
    assert_false(cache_lookup(c, &k, &got));
    *parts[i] = keep;
  }
  k.op = "matmul|8x8x8"; /* can't pretend to be two parts */
  k.shape = "f32";
  assert_false(cache_lookup(c, &k, &got));
  k = key_of("8x8x8");
  assert_true(cache_lookup(c, &k, &got));
  cache_close(&c);
}

static void first_writer_wins_unless_replaced(void **state) {
  tune_cache *a = open_cache(), *b = open_cache();
  tune_key k = key_of("1x2x3");
  tune_entry x = entry_of(32), y = entry_of(64), kept;
  assert_true(cache_store(a, &k, &x, false, &kept));
  assert_true(cache_store(b, &k, &y, false, &kept));
  assert_string_equal(kept.config, x.config);
  assert_true(cache_store(b, &k, &y, true, &kept));
  assert_string_equal(kept.config, y.config);
  cache_close(&a), cache_close(&b);
}

static void failed_winner_is_replaced_by_runner_up(void **state) {
  tune_cache *c = open_cache();
  tune_key k = key_of("7x7x7");
  tune_entry e = entry_of(96), now, got;
  assert_true(cache_store(c, &k, &e, true, NULL));
  assert_true(cache_winner_failed(c, &k, &now));
  assert_string_equal(now.config, e.runner_up);
  assert_true(cache_lookup(c, &k, &got));
  assert_string_equal(got.config, e.runner_up);
  assert_int_equal(cache_trials(c, &k, NULL, NULL), 1);
  assert_true(cache_winner_failed(c, &k, &now)); /* nothing is left */
  assert_int_equal(now.config[0], 0);
  assert_false(cache_lookup(c, &k, &got));
  assert_false(cache_winner_failed(c, &k, &now));
  cache_close(&c);
}

static bool collect(void *user, const tune_trial *t) {
  char *all = user;
  strcat(all, t->config), strcat(all, ":"), strcat(all, t->state), strcat(all, ";");
  return true;
}
static void trials_are_kept_also_failed_ones(void **state) {
  tune_cache *c = open_cache();
  tune_key k = key_of("11x11x11");
  assert_true(cache_keep_trial(c, &k, &(tune_trial){"m=16", "ok", 5, 32}));
  assert_true(cache_keep_trial(c, &k, &(tune_trial){"m=32", "failed", 0, -1}));
  assert_true(cache_keep_trial(c, &k, &(tune_trial){"m=16", "ok", 6, 32}));
  char all[256] = "";
  assert_int_equal(cache_trials(c, &k, collect, all), 2);
  assert_string_equal(all, "m=16:ok;m=32:failed;");
  cache_close(&c);
}

static void neighbours_are_near_shapes_of_the_same_device(void **state) {
  tune_cache *c = open_cache();
  static const char *const shapes[] = {"1024x1024x1024", "2048x1024x1024", "64x64x64", "1024x1024", "512x1024x1000"};
  for (int i = 0; i < 5; i++) {
    tune_key k = key_of(shapes[i]);
    k.op = "near";
    tune_entry e = entry_of(16 * (i + 1));
    assert_true(cache_store(c, &k, &e, true, NULL));
  }
  tune_key far = key_of("1024x1024x1000");
  far.op = "near", far.arch = "sm_90";
  tune_entry e = entry_of(1);
  assert_true(cache_store(c, &far, &e, true, NULL));
  tune_key k = key_of("1024x1024x1000");
  k.op = "near";
  tune_config got[8];
  assert_int_equal(cache_neighbours(c, &k, got, 8), 3);
  assert_true(got[0].m == 16 && got[1].m == 80 && got[2].m == 32); /* 0.03, 1.0, 1.03 */
  assert_int_equal(cache_neighbours(c, &k, got, 1), 1);
  assert_int_equal(got[0].m, 16);
  k.shape = "scalar";
  assert_int_equal(cache_neighbours(c, &k, got, 8), 0);
  cache_close(&c);
}

static void device_constants_are_kept(void **state) {
  tune_cache *c = open_cache();
  strb b;
  strb_init(&b, NULL);
  assert_false(cache_device(c, "cpu", &b));
  assert_true(cache_set_device(c, "cpu", "name = cpu\n"));
  assert_true(cache_device(c, "cpu", &b));
  assert_string_equal(strb_text(&b), "name = cpu\n");
  strb_clear(&b);
  cache_close(&c);
}

static void bad_names_are_refused(void **state) {
  static const char *const bad[] = {"../x", "a/b", ".hidden", "a b", "x\n"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tune_cache *c;
    tsr_status st = cache_open(NULL, dir, bad[i], &c);
    assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
    assert_null(c);
    tsr_status_free(st);
  }
}

static void named_caches_do_not_mix(void **state) {
  tune_cache *a = NULL, *b = NULL;
  assert_null(cache_open(NULL, dir, "h100_configs", &a));
  assert_null(cache_open(NULL, dir, "other", &b));
  tune_key k = key_of("5x5x5");
  tune_entry e = entry_of(16), got;
  assert_true(cache_store(a, &k, &e, false, NULL));
  assert_false(cache_lookup(b, &k, &got));
  char path[128];
  snprintf(path, sizeof path, "%s/h100_configs.sqlite", dir);
  assert_int_equal(access(path, R_OK), 0);
  cache_close(&a), cache_close(&b);
}

static void null_cache_always_misses(void **state) {
  tune_entry got;
  tune_key k = key_of("1");
  cache_info i;
  assert_false(cache_lookup(NULL, &k, &got));
  assert_false(cache_store(NULL, &k, &got, false, NULL));
  assert_false(cache_clear(NULL));
  assert_int_equal(cache_trials(NULL, &k, NULL, NULL), 0);
  cache_describe(NULL, &i);
  assert_false(i.readable);
}

static void cache_without_sqlite_is_off(void **state) {
  tune_cache *c = open_cache();
  cache_info i;
  cache_describe(c, &i);
  assert_true(!i.readable && !i.writable && strstr(i.why, "without SQLite"));
  assert_false(works(c, 1));
  cache_close(&c);
}

static void export_import_round_trips(void **state) {
  tune_cache *a = open_cache(), *b = NULL;
  assert_null(cache_open(NULL, dir, "copy", &b));
  assert_true(works(a, 17));
  tune_key k = key_of("17x1x1");
  assert_true(cache_keep_trial(a, &k, &(tune_trial){"m=32", "failed", 0, -1}));
  strb x, y;
  strb_init(&x, NULL), strb_init(&y, NULL);
  assert_null(cache_export(a, &x));
  cache_import_count n;
  assert_null(cache_import(b, strb_text(&x), x.n, "x", false, &n));
  assert_true(n.added >= 1 && n.refused == 0 && n.kept == 0);
  assert_null(cache_export(b, &y));
  assert_string_equal(strb_text(&x), strb_text(&y));
  size_t all = n.added;
  assert_null(cache_merge(b, a, false, &n));
  assert_true(n.added == 0 && n.kept == all);
  cache_check check;
  assert_true(cache_verify(b, &check));
  assert_true(check.entries == all && check.file_sound);
  strb list;
  strb_init(&list, NULL);
  assert_true(cache_list(b, "17x1x1", true, &list) == 1 && strstr(strb_text(&list), "\"config\": \"m=17 n=64 k=32\""));
  assert_int_equal(cache_show(b, "no such", false, &list), 0);
  assert_true(cache_show(b, "17x1x1", false, &list) == 1 && strstr(strb_text(&list), "failed"));
  assert_true(cache_clear(b));
  assert_int_equal(cache_list(b, NULL, false, &list), 0);
  strb_clear(&x), strb_clear(&y), strb_clear(&list);
  cache_close(&a), cache_close(&b);
}

static void import_refuses_malformed_entries(void **state) {
  tune_cache *c = open_cache();
  static const char text[] = "{\"schema\": 1, \"entries\": [{\"op\": \"x\"}, 5, "
                             "{\"op\":\"x\",\"shape\":\"1\",\"dtype\":\"f32\",\"config\":\"rm -rf\"},"
                             "{\"op\":\"x\",\"shape\":\"1\",\"dtype\":\"f32\",\"config\":\"m=1\",\"best_ns\":-1}]}";
  cache_import_count n;
  assert_null(cache_import(c, text, strlen(text), "t", true, &n));
  assert_true(n.refused == 4 && n.added == 0);
  static const char zero[] = "{\"schema\": 1, \"entries\": "
                             "[{\"op\":\"x\",\"shape\":\"1\",\"dtype\":\"f32\",\"config\":\"m=1\",\"best_ns\":-0,"
                             "\"trials\":[{\"config\":\"m=1\",\"state\":\"ok\",\"ns\":1,\"registers\":-0}]}]}";
  cache_check check;
  assert_null(cache_import(c, zero, strlen(zero), "t", true, &n));
  assert_true(n.added == 1 && cache_verify(c, &check) &&
              check.entries == 1); /* a minus that SQLite doesn't keep breaks no checksum */
  assert_true(cache_clear(c));
  static const char *const bad[] = {"{", "{\"schema\": 2, \"entries\": []}", "[]", "{\"schema\": 1}"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tsr_status st = cache_import(c, bad[i], strlen(bad[i]), "f", false, &n);
    assert_int_equal(tsr_status_code(st), TSR_PARSE_ERROR);
    tsr_status_free(st);
  }
  cache_close(&c);
}

static void merge_reads_another_file_without_touching_it(void **state) {
  tune_cache *c = open_cache(), *other = NULL;
  assert_true(works(c, 800));
  cache_close(&c);
  char path[128];
  file_path(path, sizeof path, "");
  assert_null(cache_open(NULL, dir, "target", &c));
  assert_null(cache_open_file(NULL, path, &other));
  assert_false(works(other, 801));
  cache_import_count n;
  assert_null(cache_merge(c, other, false, &n));
  assert_int_equal(n.added, 1);
  cache_close(&other);
  tsr_status st = cache_open_file(NULL, "/etc/hostname", &other);
  assert_int_equal(tsr_status_code(st), TSR_IO_ERROR);
  tsr_status_free(st);
  cache_close(&c);
}

static void *hammer(void *user) {
  for (int i = 0; i < 100; i++) {
    tune_key k = key_of("2x2x2");
    tune_entry e = entry_of(i), got;
    cache_store(user, &k, &e, true, NULL);
    if (cache_lookup(user, &k, &got) && strncmp(got.config, "m=", 2)) return user;
  }
  return NULL;
}
static void threads_share_one_cache(void **state) {
  tune_cache *c = open_cache();
  pthread_t t[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, hammer, c), 0);
  for (int i = 0; i < 4; i++) {
    void *bad = c;
    pthread_join(t[i], &bad);
    assert_null(bad);
  }
  cache_close(&c);
}

int main(void) {
  const struct CMUnitTest off[] = {cmocka_unit_test(null_cache_always_misses), IN_DIR(cache_without_sqlite_is_off)};
  const struct CMUnitTest tests[] = {
      IN_DIR(entry_is_found_again_across_handles),
      IN_DIR(any_part_of_the_key_makes_a_miss),
      IN_DIR(first_writer_wins_unless_replaced),
      IN_DIR(failed_winner_is_replaced_by_runner_up),
      IN_DIR(trials_are_kept_also_failed_ones),
      IN_DIR(neighbours_are_near_shapes_of_the_same_device),
      IN_DIR(device_constants_are_kept),
      IN_DIR(bad_names_are_refused),
      IN_DIR(named_caches_do_not_mix),
      IN_DIR(null_cache_always_misses),
      IN_DIR(export_import_round_trips),
      IN_DIR(import_refuses_malformed_entries),
      IN_DIR(merge_reads_another_file_without_touching_it),
      IN_DIR(threads_share_one_cache),
  };
  if (!has_sqlite) return cmocka_run_group_tests(off, NULL, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
