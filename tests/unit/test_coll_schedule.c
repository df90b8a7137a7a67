/* tests/unit/test_coll_schedule.c - every algorithm's schedules against the checker, the checker against planted faults
 * and, on mutated schedules, against a plain interpreter that counts contributions; rows of users; chunk geometry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/coll/algorithm.h"
#include "core/coll/check.h"
#include "core/coll/program.h"

static const int32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 31, 32, 33, 72};

static coll_schedule *make(const coll_algorithm *a, const coll_request *q) {
  coll_schedule *s;
  tsr_status st = coll_generate(NULL, a, q, &s);
  if (st) printf("%s\n", tsr_status_message(st));
  assert_null(st);
  return s;
}

static void expect_good(const coll_algorithm *a, const coll_request *q) {
  coll_schedule *s = make(a, q);
  tsr_status st = coll_check(s, a, q);
  if (st)
    printf("%s on %d ranks, root %d, group %d: %s\n", a->name, q->n_ranks, q->root, q->group, tsr_status_message(st));
  assert_null(st);
  coll_schedule_free(&s);
}

static void algorithms_all_ops_and_sizes_are_right(void **state) {
  int n = 0;
  const coll_algorithm *a;
  for (int32_t i = 0; (a = coll_algorithm_at(NULL, i)); i++)
    for (int op = 0; op < N_COLL_OPS; op++) {
      for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        coll_request q = {.op = (coll_op)op, .n_ranks = sizes[k]};
        if (coll_refusal(a, &q)) continue;
        int32_t roots = coll_op_get(q.op)->has_root ? q.n_ranks : 1, stride = q.n_ranks > 17 ? 11 : 1;
        for (; q.root < roots; q.root += stride, n++) expect_good(a, &q);
        q.root = 0;
        for (q.group = 1; q.group <= q.n_ranks && !strcmp(a->name, "hierarchical") && q.n_ranks < 33; q.group++)
          if (!coll_refusal(a, &q)) expect_good(a, &q), n++;
      }
    }
  printf("%d schedules\n", n);
  assert_true(n > 1200);
}

/* ---- the checker against an interpreter ------------------------------------------------------------------------ */

/* counts[rank][chunk][contribution]; true: what every rank must have has each contribution once. */
static bool interpret(const coll_schedule *s) {
  size_t n = (size_t)s->n_ranks, per = n * (size_t)s->n_chunks;
  int *now = calloc(n * per, sizeof *now), *then = calloc(n * per, sizeof *then);
  bool reduces = coll_op_get(s->op)->reduces, good = true;
  for (int32_t r = 0; r < s->n_ranks; r++)
    for (int32_t c = 0; c < s->n_chunks; c++)
      if (coll_starts_with(s, r, c)) now[(size_t)r * per + (size_t)c * n + (size_t)(reduces ? r : 0)] = 1;
  for (size_t i = 0; i < s->n_steps; i++) {
    const coll_step *x = &s->steps[i];
    if (!i || x->round != x[-1].round) memcpy(then, now, n * per * sizeof *now);
    int *to = now + (size_t)x->dst * per + (size_t)x->chunk * n;
    const int *from = then + (size_t)x->src * per + (size_t)x->chunk * n;
    for (size_t k = 0; k < n; k++) to[k] = x->reduce ? to[k] + from[k] : from[k];
  }
  for (int32_t r = 0; r < s->n_ranks; r++)
    for (int32_t c = 0; c < s->n_chunks; c++)
      for (size_t k = 0; k < (reduces ? n : 1) && coll_ends_with(s, r, c); k++)
        good &= now[(size_t)r * per + (size_t)c * n + k] == 1;
  free(now), free(then);
  return good;
}

typedef enum fault { REMOVED, DOUBLED, REORDERED, WRONG_PEER, WRONG_CHUNK, OTHER_ACTION, N_FAULTS } fault;

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u, *seed >> 8; }

/* The schedule keeps its steps in order of rounds, as a generator would have to. */
static void plant(coll_schedule *s, fault f, uint32_t *seed) {
  size_t i = next(seed) % s->n_steps, j = next(seed) % s->n_steps;
  coll_step *x = &s->steps[i];
  int32_t t;
  switch (f) {
  case REMOVED: memmove(x, x + 1, (s->n_steps-- - i - 1) * sizeof *x); break;
  case DOUBLED: coll_step_put(s, x->round, x->src, x->dst, x->chunk, x->reduce); break;
  case REORDERED: t = x->round, x->round = s->steps[j].round, s->steps[j].round = t; break;
  case WRONG_PEER: x->dst = (x->dst + 1 + (int32_t)(next(seed) % (uint32_t)(s->n_ranks - 1))) % s->n_ranks; break;
  case WRONG_CHUNK: x->chunk = (x->chunk + 1) % s->n_chunks; break;
  default: x->reduce = !x->reduce;
  }
  coll_schedule_sort(s);
}

static void checker_mutated_schedules_are_refused(void **state) {
  int caught = 0, harmless = 0;
  const coll_algorithm *a;
  uint32_t seed = 20261123;
  for (int32_t i = 0; (a = coll_algorithm_at(NULL, i)); i++)
    for (int op = 0; op < N_COLL_OPS; op++)
      for (int turn = 0; turn < 60; turn++) {
        coll_request q = {.op = (coll_op)op, .n_ranks = 3 + (int32_t)(next(&seed) % 7)};
        fault f = (fault)(turn % N_FAULTS);
        if (coll_refusal(a, &q)) continue;
        coll_schedule *s = make(a, &q);
        plant(s, f, &seed);
        tsr_status with = coll_check(s, a, &q), without = coll_check(s, NULL, NULL);
        bool right = interpret(s);
        if (!right && (!with || !without))
          printf("%s %s on %d ranks, fault %d: not found\n", a->name, coll_op_get(q.op)->name, q.n_ranks, f);
        assert_true(right || (with && without));
        if (f == REMOVED || f == DOUBLED || f == WRONG_PEER) assert_non_null(with);
        caught += with != NULL, harmless += !with;
        tsr_status_free(with), tsr_status_free(without);
        coll_schedule_free(&s);
      }
  printf("%d faults found, %d mutations change nothing\n", caught, harmless);
  assert_true(caught > 1500);
}

/* What is right must not be refused either: in which order a generator put the steps of a round changes nothing. */
static void checker_harmless_order_is_accepted(void **state) {
  const coll_algorithm *a;
  uint32_t seed = 5;
  for (int32_t i = 0; (a = coll_algorithm_at(NULL, i)); i++) {
    coll_request q = {.op = COLL_ALL_REDUCE, .n_ranks = 7};
    if (coll_refusal(a, &q)) continue;
    coll_schedule *s = make(a, &q);
    for (size_t k = 0; k + 1 < s->n_steps; k++) {
      size_t j = k + next(&seed) % 2;
      if (s->steps[k].round != s->steps[j].round) continue;
      coll_step t = s->steps[k];
      s->steps[k] = s->steps[j], s->steps[j] = t;
    }
    assert_true(interpret(s));
    coll_schedule_sort(s); /* messages are whole again */
    assert_null(coll_check(s, NULL, NULL));
    coll_schedule_free(&s);
  }
}

/* ---- blocking ranks: each has made its program from the schedule that it believes in ---------------------------- */

static void programs_different_beliefs_deadlock(void **state) {
  coll_request q = {.op = COLL_ALL_REDUCE, .n_ranks = 4};
  coll_schedule *ring = make(coll_algorithm_find(NULL, "ring"), &q);
  coll_programs p;
  for (int f = 0; f < 4; f++) {
    assert_null(coll_programs_make(ring, &p));
    assert_null(coll_programs_check(&p));
    coll_program *one = &p.ranks[2];
    coll_entry t = one->entries[0];
    switch (f) {
    case 0: one->n--; break;                                      /* returns a step early */
    case 1: one->entries[0].n_steps = 2; break;
    case 2: one->entries[0].peer = 0; break;                      /* sends to the wrong one */
    default: /* the last receive stands before the first send, in a group of its own */
      memmove(one->entries + 1, one->entries, (one->n - 1) * sizeof *one->entries);
      one->entries[0] = t, one->entries[0].send = false, one->entries[0].peer = 1;
      one->entries[0].message = p.ranks[2].entries[one->n - 1].message;
      for (size_t i = 1; i < one->n; i++) one->entries[i].group++;
    }
    tsr_status st = coll_programs_check(&p);
    assert_non_null(st);
    assert_int_equal(tsr_status_code(st), TSR_COLLECTIVE_MISMATCH);
    tsr_status_free(st);
    coll_programs_clear(&p);
  }
  coll_schedule_free(&ring);
}

/* Two ranks that first send and only then receive, one after the other, wait forever under blocking sends. */
static void programs_send_before_receive_deadlocks(void **state) {
  coll_request q = {.op = COLL_ALL_GATHER, .n_ranks = 2};
  coll_schedule *s = make(coll_algorithm_find(NULL, "direct"), &q);
  coll_programs p;
  assert_null(coll_programs_make(s, &p));
  for (int r = 0; r < 2; r++) p.ranks[r].entries[1].group = 1, p.ranks[r].n_groups = 2;
  tsr_status st = coll_programs_check(&p);
  assert_non_null(st);
  assert_non_null(strstr(tsr_status_message(st), "deadlock: rank 0"));
  tsr_status_free(st);
  coll_programs_clear(&p);
  coll_schedule_free(&s);
}

/* ---- users' rows, requests, geometry ---------------------------------------------------------------------------- */

static int32_t one_chunk(const coll_request *q) { return 1; }
static void by_first(const coll_request *q, coll_schedule *s) { /* all to rank 0, and back */
  for (int32_t r = 1; r < q->n_ranks; r++) coll_step_put(s, 0, r, 0, 0, true), coll_step_put(s, 1, 0, r, 0, false);
}
static void forgets_one(const coll_request *q, coll_schedule *s) {
  for (int32_t r = 2; r < q->n_ranks; r++) coll_step_put(s, 0, r, 0, 0, true), coll_step_put(s, 1, 0, r, 0, false);
}

static void users_row_is_checked_before_it_is_used(void **state) {
  const coll_algorithm rows[] = {
      {"by_first", "", COLL_BIT(COLL_ALL_REDUCE), "sums only", NULL, one_chunk, by_first, NULL},
      {"forgets_one", "", COLL_BIT(COLL_ALL_REDUCE), "sums only", NULL, one_chunk, forgets_one, NULL}};
  coll_set set = {rows, 2};
  coll_request q = {.op = COLL_ALL_REDUCE, .n_ranks = 5};
  coll_schedule *s = make(coll_algorithm_find(&set, "by_first"), &q);
  assert_int_equal(s->n_steps, 8);
  coll_schedule_free(&s);
  tsr_status st = coll_generate(NULL, coll_algorithm_find(&set, "forgets_one"), &q, &s);
  assert_int_equal(tsr_status_code(st), TSR_COLLECTIVE_MISMATCH);
  assert_null(s);
  tsr_status_free(st);
  assert_null(coll_algorithm_find(NULL, "by_first"));
}

static void request_impossible_is_refused(void **state) {
  const struct { const char *algorithm; coll_request q; tsr_code code; } bad[] = {
      {"ring", {COLL_ALL_REDUCE, 0, 0, 0}, TSR_INVALID_ARGUMENT},
      {"ring", {COLL_ALL_REDUCE, -3, 0, 0}, TSR_INVALID_ARGUMENT},
      {"ring", {COLL_ALL_REDUCE, COLL_MAX_RANKS + 1, 0, 0}, TSR_INVALID_ARGUMENT},
      {"tree", {COLL_BROADCAST, 4, 4, 0}, TSR_INVALID_ARGUMENT},
      {"tree", {COLL_ALL_REDUCE, 4, 1, 0}, TSR_INVALID_ARGUMENT},
      {"hierarchical", {COLL_ALL_REDUCE, 9, 0, 2}, TSR_UNSUPPORTED},
      {"hierarchical", {COLL_ALL_REDUCE, 9, 0, 10}, TSR_UNSUPPORTED},
      {"bruck", {COLL_ALL_REDUCE, 4, 0, 0}, TSR_UNSUPPORTED},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    coll_schedule *s;
    tsr_status st = coll_generate(NULL, coll_algorithm_find(NULL, bad[i].algorithm), &bad[i].q, &s);
    assert_int_equal(tsr_status_code(st), bad[i].code);
    assert_null(s);
    tsr_status_free(st);
  }
  const coll_algorithm *a;
  for (int32_t i = 0; (a = coll_algorithm_at(NULL, i)); i++) assert_true(a->others && *a->others && a->help && a->link);
}

static void split_covers_count_once(void **state) {
  for (int64_t count = 0; count < 40; count++)
    for (int32_t pieces = 1; pieces < 20; pieces++) {
      int64_t at = 0;
      for (int32_t i = 0; i < pieces; i++) {
        coll_range r = coll_split(count, pieces, i);
        assert_int_equal(r.first, at);
        assert_true(r.n >= count / pieces && r.n <= count / pieces + 1);
        at += r.n;
      }
      assert_int_equal(at, count);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(algorithms_all_ops_and_sizes_are_right),
      cmocka_unit_test(checker_mutated_schedules_are_refused),
      cmocka_unit_test(checker_harmless_order_is_accepted),
      cmocka_unit_test(programs_different_beliefs_deadlock),
      cmocka_unit_test(programs_send_before_receive_deadlocks),
      cmocka_unit_test(users_row_is_checked_before_it_is_used),
      cmocka_unit_test(request_impossible_is_refused),
      cmocka_unit_test(split_covers_count_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
