/* tests/unit/test_coll_table.c - which algorithm a call takes that names none: the library's rows, and measured tables
 * as text, whole, damaged and of other machines; a team of the public interface takes the one that is kept. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/coll/table.h"
#include "tessera/coll.h"

#define KEY  "local 4 2 memory of one process"
#define HEAD "tessera-coll 1\n" KEY "\n"

static const char *chosen(const coll_table *t, coll_op op, int32_t n, int64_t bytes, bool apart) {
  coll_call c = {.op = op, .dtype = TSR_U8, .count = bytes};
  return coll_choose(t ? t->rows : NULL, t ? (size_t)t->n : 0, &c, n, apart);
}

static void call_without_algorithm_gets_one_that_does_it(void **state) {
  for (int op = 0; op < N_COLL_OPS; op++)
    for (int32_t n = 1; n <= COLL_MAX_RANKS; n = n < 40 ? n + 1 : n + 31)
      for (int64_t bytes = 0; bytes < (int64_t)1 << 34; bytes = bytes * 5 + 1)
        for (int apart = 0; apart < 2; apart++) {
          const coll_algorithm *a = coll_algorithm_find(NULL, chosen(NULL, (coll_op)op, n, bytes, apart));
          coll_request q = {.op = (coll_op)op, .n_ranks = n};
          assert_non_null(a);
          if (coll_refusal(a, &q)) fail_msg("%s on %d ranks: %s", a->name, n, coll_refusal(a, &q));
        }
  assert_string_equal(chosen(NULL, COLL_ALL_REDUCE, 4, 4096, true), "one_shot");
  assert_string_equal(chosen(NULL, COLL_ALL_REDUCE, 4, 1 << 24, true), "direct");
  assert_string_equal(chosen(NULL, COLL_ALL_REDUCE, 4, 4096, false), "direct");
}

static void table_is_made_printed_and_read_back(void **state) {
  coll_table t = {0}, again;
  char key[100], text[COLL_TABLE_TEXT];
  coll_table_key(key, sizeof key, "local", 4, 2, "memory of one process");
  assert_string_equal(key, KEY);
  coll_table_add(&t, COLL_ALL_REDUCE, 4, 1024, "one_shot");
  coll_table_add(&t, COLL_ALL_REDUCE, 4, 16384, "one_shot");
  coll_table_add(&t, COLL_ALL_REDUCE, 4, 262144, "ring");
  coll_table_add(&t, COLL_BROADCAST, 4, 1024, "tree");
  coll_table_finish(&t);
  assert_int_equal(t.n, 3);
  size_t n = coll_table_print(&t, key, text, sizeof text);
  assert_string_equal(text, HEAD "all_reduce 65536 one_shot\nall_reduce 9223372036854775807 ring\n"
                                 "broadcast 9223372036854775807 tree\n");
  assert_true(coll_table_parse(text, n, key, 4, &again));
  assert_string_equal(chosen(&again, COLL_ALL_REDUCE, 4, 65536, true), "one_shot");
  assert_string_equal(chosen(&again, COLL_ALL_REDUCE, 4, 65537, true), "ring");
  assert_string_equal(chosen(&again, COLL_BROADCAST, 4, 1 << 30, false), "tree");
  assert_string_equal(chosen(&again, COLL_REDUCE, 4, 1, false), "direct");
  for (size_t k = 0; k < n; k++) /* every part of it is none, but for whole lines */
    if (coll_table_parse(text, k, key, 4, &again)) assert_true(k > strlen(HEAD) && text[k - 1] == '\n');
  assert_int_equal(coll_table_print(&t, key, text, 60), 0);
}

static void text_that_is_no_table_is_refused(void **state) {
  static const char *const bad[] = {"",
                                    "tessera-coll 1\n",
                                    HEAD,
                                    HEAD "all_reduce 4096 bruck\n",
                                    HEAD "all_reduce -1 ring\n",
                                    HEAD "all_reduce ring\n",
                                    HEAD "all_reduce 1 ring ring\n",
                                    HEAD "banana 1 ring\n",
                                    HEAD "all_reduce 1 banana\n",
                                    HEAD "all_reduce 1 ring",
                                    "tessera-coll 2\n" KEY "\nall_reduce 1 ring\n",
                                    "tessera-coll 1\nlocal 4 3 memory of one process\nall_reduce 1 ring\n"};
  coll_table t;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (coll_table_parse(bad[i], strlen(bad[i]), KEY, 4, &t) || t.n) fail_msg("read: %s", bad[i]);
}

typedef struct member {
  tsr_team *team;
  int rank;
  tsr_status st;
} member;

static void *one_call(void *arg) {
  member *m = arg;
  double in[8] = {1}, out[8];
  m->st = tsr_team_run(m->team, m->rank,
                       &(tsr_coll){.op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F64, .count = 8, .in = in, .out = out});
  return NULL;
}

/* A ring sends to the next rank alone. */
static void team_takes_the_table_that_is_kept(void **state) {
  enum { N = 4 };
  for (int good = 0; good < 2; good++) {
    char dir[] = "/tmp/tsr_coll_XXXXXX", path[100];
    member m[N];
    pthread_t threads[N];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/coll-local-%d.txt", dir, N);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "tessera-coll 1\nlocal %d %ld memory of one process\nall_reduce 1000 %s\n", N,
            sysconf(_SC_NPROCESSORS_ONLN), good ? "ring" : "no_such");
    fclose(f);
    setenv("TSR_CACHE_DIR", dir, 1);
    tsr_team *team;
    assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = N}, &team));
    for (int r = 0; r < N; r++) {
      m[r] = (member){team, r, NULL};
      assert_int_equal(pthread_create(&threads[r], NULL, one_call, &m[r]), 0);
    }
    for (int r = 0; r < N; r++) {
      pthread_join(threads[r], NULL);
      assert_null(m[r].st);
    }
    assert_true(tsr_team_bytes(team, 0, 1) > 0);
    assert_int_equal(tsr_team_bytes(team, 0, 2) == 0, good);
    tsr_team_destroy(&team);
    unlink(path), rmdir(dir);
  }
  unsetenv("TSR_CACHE_DIR");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(call_without_algorithm_gets_one_that_does_it),
      cmocka_unit_test(table_is_made_printed_and_read_back),
      cmocka_unit_test(text_that_is_no_table_is_refused),
      cmocka_unit_test(team_takes_the_table_that_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
