/* tests/unit/test_coll_api.c - tessera/coll.h between threads: every operation by every algorithm, size of team and
 * type, in and out of place, to the bit; calls that are started and go on by themselves; teams out of a team; an
 * application's algorithm; and what the header doesn't allow. Each rank is a thread that runs all cases. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tessera/coll.h"
#include "tests/support/coll_case.h"

enum { MOST = 16 };

typedef struct member {
  tsr_team *team;
  int32_t rank, n;
  int cases, wrong;
  char text[600];
} member;

static void wrong(member *m, const char *what, tsr_status st) {
  if (!m->wrong++)
    snprintf(m->text, sizeof m->text, "rank %d: %s: %s", m->rank, what, st ? tsr_status_message(st) : "");
  tsr_status_free(st);
}

/* fn on a thread for each rank of a new team of n. */
static int on_ranks(int32_t n, void *(*fn)(void *)) {
  member m[MOST] = {{0}};
  pthread_t threads[MOST];
  tsr_team *team;
  assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = n}, &team));
  assert_true(tsr_team_size(team) == n && tsr_team_rank(team) == -1);
  for (int32_t r = 0; r < n; r++) {
    m[r] = (member){.team = team, .rank = r, .n = n};
    assert_int_equal(pthread_create(&threads[r], NULL, fn, &m[r]), 0);
  }
  for (int32_t r = 0; r < n; r++) pthread_join(threads[r], NULL);
  for (int32_t r = 0; r < n; r++)
    if (m[r].wrong) fail_msg("%d wrong: %s", m[r].wrong, m[r].text);
  tsr_team_destroy(&team);
  return m[0].cases;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void one_case(member *m, const coll_call *like, bool in_place) {
  coll_call c = *like;
  char what[120];
  char *in = malloc(coll_case_bytes(&c, m->n)), *out = malloc(coll_case_bytes(&c, m->n));
  coll_case_fill(&c, m->n, m->rank, in_place, in, out);
  const tsr_coll call = {.op = (tsr_coll_op)c.op,
                         .dtype = c.dtype,
                         .redop = (tsr_redop)c.redop,
                         .count = c.count,
                         .root = c.root,
                         .algorithm = c.algorithm,
                         .in = c.in,
                         .out = c.out};
  snprintf(what, sizeof what, "%s by %s of %d %s on %d ranks%s", coll_op_get(c.op)->name, c.algorithm, (int)c.count,
           tsr_dtype_name(c.dtype), m->n, in_place ? " in place" : "");
  tsr_status st = tsr_team_run(m->team, m->rank, &call);
  if (st) wrong(m, what, st);
  else if (coll_case_wrong(&c, m->n, m->rank)) wrong(m, what, NULL);
  free(in), free(out);
  m->cases++;
}

static void *all_cases(void *arg) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16, TSR_F8E4M3, TSR_I64, TSR_I32, TSR_U8};
  member *m = arg;
  const coll_algorithm *a;
  int k = 0;
  for (int32_t i = 0; (a = coll_algorithm_at(NULL, i)); i++)
    for (int op = 0; op < N_COLL_OPS; op++) {
      coll_request q = {(coll_op)op, m->n, 0, 0, NULL};
      if (coll_refusal(a, &q)) continue;
      for (int t = 0; t < 8; t++)
        for (int in_place = 0; in_place < 2 && !m->wrong; in_place++, k++) {
          if (TSR_TEST_SLOW && k % 7) continue;
          coll_call c = {.op = (coll_op)op,
                         .algorithm = a->name,
                         .dtype = types[t],
                         .count = k % 11 ? 29 : 0,
                         .redop = (coll_redop)(k % N_COLL_REDOPS)};
          if (op == COLL_BARRIER) c.count = 0;
          if (coll_op_get(c.op)->has_root) c.root = k % m->n;
          one_case(m, &c, in_place);
        }
    }
  return NULL;
}

static void every_operation_algorithm_type_and_size_has_exact_bits(void **state) {
  static const int32_t sizes[] = {2, 3, 5, 8, 16};
  int cases = 0;
  for (int i = 0; i < 5; i++) cases += on_ranks(sizes[i], all_cases);
  printf("%d cases\n", cases);
  assert_true(cases >= (TSR_TEST_SLOW ? 300 : 2000));
}

/* ---- started calls ----------------------------------------------------------------------------------------------- */

static void *started(void *arg) {
  enum { CALLS = 12, COUNT = 1000 };
  member *m = arg;
  float in[CALLS][COUNT], out[CALLS][COUNT];
  tsr_pending *p[CALLS];
  for (int k = 0; k < CALLS; k++) {
    for (int i = 0; i < COUNT; i++) in[k][i] = (float)(m->rank + k);
    char name[] = "ring"; /* the call is copied */
    tsr_coll c = {.op = TSR_COLL_ALL_REDUCE,
                  .dtype = TSR_F32,
                  .count = COUNT,
                  .algorithm = k % 2 ? name : NULL,
                  .in = in[k],
                  .out = out[k]};
    tsr_status st = tsr_team_start(m->team, m->rank, &c, &p[k]);
    if (st) return wrong(m, "start", st), NULL;
    memset(&c, 0, sizeof c), memset(name, 0, sizeof name);
  }
  tsr_status st = tsr_team_run(m->team, m->rank, &(tsr_coll){.op = TSR_COLL_BARRIER}); /* behind them */
  if (st) wrong(m, "run behind", st);
  for (int k = 0; k < CALLS; k++) {
    if (!tsr_pending_is_done(p[k])) wrong(m, "a barrier overtook a call", NULL);
    st = tsr_pending_wait(&p[k]);
    if (st) wrong(m, "wait", st);
    float want = (float)(m->n * (m->n - 1) / 2 + m->n * k);
    for (int i = 0; i < COUNT; i++)
      if (out[k][i] != want) wrong(m, "a sum", NULL);
  }
  return NULL;
}

static void calls_that_are_started_go_on_by_themselves(void **state) {
  on_ranks(2, started);
  on_ranks(5, started);
}

/* ---- types of a wire ---------------------------------------------------------------------------------------- */

/* Each contribution is off by at most u of itself and the sum by u of itself; what is below the type's normal
 * numbers by half its smallest step, scaled back. */
static void *narrowed(void *arg) {
  enum { COUNT = 500 };
  static const struct {
    tsr_dtype wire;
    double u, tiny;
  } rows[] = {
      {TSR_BF16, 1. / 256, 1e-38}, {TSR_F16, 1. / 2048, 1e-6}, {TSR_F8E4M3, 1. / 16, 1e-4}, {TSR_F8E5M2, 1. / 8, 1e-6}};
  member *m = arg;
  float in[COUNT], out[COUNT], other[COUNT];
  for (int k = 0; k < 12; k++) {
    double largest = 0, reach = k % 3 == 1 ? 1e6 : k % 3 ? 1e-6 : 1;
    tsr_coll c = {.op = TSR_COLL_ALL_REDUCE,
                  .dtype = TSR_F32,
                  .redop = k % 2 ? TSR_MEAN : TSR_SUM,
                  .count = COUNT,
                  .algorithm = "direct",
                  .wire = rows[k % 4].wire,
                  .in = in,
                  .out = out};
    double sum[COUNT] = {0}, parts[COUNT] = {0};
    for (int r = 0; r < m->n; r++) {
      float x[COUNT];
      coll_case_reals(TSR_F32, x, COUNT, r);
      for (int i = 0; i < COUNT; i++) {
        x[i] *= (float)reach;
        if (r == m->rank) in[i] = x[i];
        sum[i] += x[i], parts[i] += fabs(x[i]);
        if (fabs(x[i]) > largest) largest = fabs(x[i]);
      }
    }
    uint64_t before = tsr_team_bytes(m->team, m->rank, (m->rank + 1) % m->n);
    tsr_status st = tsr_team_run(m->team, m->rank, &c);
    if (st) return wrong(m, "a narrow call", st), NULL;
    uint64_t bytes = tsr_team_bytes(m->team, m->rank, (m->rank + 1) % m->n) - before;
    if (bytes > 2 * (COUNT / (uint64_t)m->n + 1) * tsr_dtype_size(c.wire) + 8) wrong(m, "bytes on the wire", NULL);
    double of = k % 2 ? m->n : 1, u = rows[k % 4].u;
    for (int i = 0; i < COUNT; i++) {
      double bound = (u * (parts[i] + fabs(sum[i]) * (1 + m->n * u)) * 1.01 + largest * m->n * rows[k % 4].tiny) / of;
      if (fabs(out[i] - sum[i] / of) > bound) wrong(m, "a narrow sum is off by more than its bound", NULL);
    }
    c.algorithm = "tree", c.out = other; /* and the same bits by every algorithm */
    st = tsr_team_run(m->team, m->rank, &c);
    if (st) wrong(m, "a narrow call", st);
    else if (memcmp(out, other, sizeof out)) wrong(m, "bits of a narrow call", NULL);
    m->cases++;
  }
  const tsr_coll bad = {.op = TSR_COLL_ALL_REDUCE,
                        .dtype = TSR_F32,
                        .redop = TSR_PROD,
                        .wire = TSR_F16,
                        .count = 1,
                        .in = in,
                        .out = out};
  tsr_status st = tsr_team_run(m->team, m->rank, &bad);
  if (tsr_status_code(st) != TSR_INVALID_ARGUMENT) wrong(m, "products on a narrow wire", st);
  else tsr_status_free(st);
  return NULL;
}

/* By blocks of 32: a contribution is off by 1/254 of the largest of its block, the result once more; every operation,
 * any count. */
static void *by_blocks(void *arg) {
  enum { COUNT = 301 };
  static const int counts[] = {COUNT, 128, 31, 1, 0};
  static const tsr_redop redops[] = {TSR_SUM, TSR_MEAN, TSR_MAX, TSR_MIN};
  member *m = arg;
  for (int k = 0; k < TSR_COLL_BARRIER * 5 * 2; k++) {
    const tsr_coll_op op = (tsr_coll_op)(k % TSR_COLL_BARRIER);
    const int count = counts[k / TSR_COLL_BARRIER % 5], n = m->n, in_place = op == TSR_COLL_ALL_REDUCE && k % 2;
    const bool f64 = k >= TSR_COLL_BARRIER * 5, reduces = coll_op_get((coll_op)op)->reduces;
    const tsr_dtype t = f64 ? TSR_F64 : TSR_F32;
    const tsr_redop redop = redops[k % 4];
    const int root = coll_op_get((coll_op)op)->has_root ? k % n : 0;
    double all[8][COUNT], largest = 0, in[2 * COUNT] = {0}, out[8 * COUNT] = {0};
    for (int r = 0; r < n; r++)
      for (int i = 0; i < COUNT; i++) {
        all[r][i] = (double)(float)(((r * 37 + i * 11) % 101 - 50) * (i % 64 < 32 ? 1e-3 : 1e3));
        if (fabs(all[r][i]) > largest) largest = fabs(all[r][i]);
      }
    const coll_range own = coll_split(count, n, m->rank);
    const int first = op == TSR_COLL_ALL_GATHER ? (int)own.first : 0;
    for (int64_t i = 0; i < tsr_coll_in_count(op, count, n, m->rank, root); i++)
      dtype_store(t, in, (size_t)i, all[m->rank][first + i]);
    const tsr_coll c = {.op = op,
                        .dtype = t,
                        .redop = redop,
                        .count = count,
                        .root = root,
                        .wire = TSR_I8,
                        .in = in,
                        .out = in_place ? in : out};
    tsr_status st = tsr_team_run(m->team, m->rank, &c);
    if (st) return wrong(m, coll_op_get((coll_op)op)->name, st), NULL;
    const int64_t n_out = tsr_coll_out_count(op, count, n, m->rank, root);
    for (int64_t i = 0; i < n_out; i++) {
      int64_t at = i;
      int from = op == TSR_COLL_BROADCAST ? root : (m->rank + n - 1) % n;
      if (op == TSR_COLL_REDUCE_SCATTER) at += own.first;
      if (op == TSR_COLL_ALL_TO_ALL) from = (int)(i / own.n), at = own.first + i % own.n;
      for (int r = 0; r < n && op == TSR_COLL_ALL_GATHER; r++)
        if (i >= coll_split(count, n, r).first) from = r;
      double want = all[from][at], parts = 0;
      for (int r = 0; r < n && reduces; r++) {
        const double v = all[r][at];
        if (!r) want = v;
        else if (redop == TSR_MAX) want = v > want ? v : want;
        else if (redop == TSR_MIN) want = v < want ? v : want;
        else want += v;
      }
      parts = reduces ? (n + 1) * largest * (redop == TSR_SUM ? n : 2) : largest;
      if (redop == TSR_MEAN && reduces) want /= n;
      if (fabs(dtype_load(t, c.out, (size_t)i) - want) > parts / 254 * 1.01)
        wrong(m, "off by more than its bound", NULL);
    }
    m->cases++;
  }
  float bad[33], result[33];
  for (int i = 0; i < 33; i++) bad[i] = i == 3 && m->rank == 1 ? NAN : 2;
  tsr_coll c = {.op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 33, .wire = TSR_I8, .in = bad, .out = result};
  tsr_status st = tsr_team_run(m->team, m->rank, &c);
  if (st) return wrong(m, "a call with NaN", st), NULL;
  const int lost = (int)(coll_split(33, m->n, 0).n < 32 ? coll_split(33, m->n, 0).n : 32);
  for (int i = 0; i < 33; i++)
    if (i < lost ? !isnan(result[i]) : fabs(result[i] - 2 * m->n) > 0.1 * m->n) wrong(m, "NaN", NULL);
  c.redop = m->rank == 2 ? TSR_MAX : TSR_SUM; /* the bytes that are exchanged are the same */
  st = tsr_team_run(m->team, m->rank, &c);
  if (tsr_status_code(st) != TSR_COLLECTIVE_MISMATCH) wrong(m, "calls that differ", st);
  else tsr_status_free(st);
  c.redop = TSR_SUM;
  st = tsr_team_run(m->team, m->rank, &c); /* nobody's data has moved: the team goes on */
  if (st) wrong(m, "a call behind those that differ", st);
  c.dtype = TSR_I32;
  st = tsr_team_run(m->team, m->rank, &c);
  if (tsr_status_code(st) != TSR_INVALID_ARGUMENT) wrong(m, "integers on a narrow wire", st);
  else tsr_status_free(st);
  return NULL;
}

static void blocks_have_scales_of_their_own(void **state) {
  on_ranks(4, by_blocks);
  on_ranks(5, by_blocks);
}

static void data_is_narrowed_for_its_way_within_bounds(void **state) {
  on_ranks(4, narrowed);
  on_ranks(5, narrowed);
}

/* ---- splits ------------------------------------------------------------------------------------------------------ */

static void *splits(void *arg) {
  member *m = arg;
  tsr_team *sub;
  int me;
  int64_t mine = m->rank, sum = 0, want = 0;
  /* odd and even ranks, the last rank first; rank 0 in none */
  tsr_status st = tsr_team_split(m->team, m->rank, m->rank ? m->rank % 2 : -1, -m->rank, &sub, &me);
  if (st) return wrong(m, "split", st), NULL;
  if (!m->rank) {
    if (sub || me != -1) wrong(m, "a team for a rank without a colour", NULL);
    return NULL;
  }
  int members = 0, before = 0;
  for (int r = 1; r < m->n; r++)
    if (r % 2 == m->rank % 2) members++, want += r, before += r > m->rank;
  if (tsr_team_size(sub) != members || me != before) wrong(m, "members or order of a split", NULL);
  st = tsr_team_run(sub, me,
                    &(tsr_coll){.op = TSR_COLL_ALL_REDUCE, .dtype = TSR_I64, .count = 1, .in = &mine, .out = &sum});
  if (st) wrong(m, "a call of a split", st);
  else if (sum != want) wrong(m, "a sum of a split", NULL);
  tsr_team_destroy(&sub);
  return NULL;
}

static void teams_out_of_a_team_have_their_own_ranks(void **state) {
  on_ranks(7, splits);
  on_ranks(2, splits);
}

/* ---- an application's algorithm ------------------------------------------------------------------------------------
 */

static int star_chunks(void *user, const tsr_coll_request *q) { return 1; }

/* All to the middle, one after the other, and back; `user`: which rank is the middle, -1: it forgets the last one. */
static void star(void *user, const tsr_coll_request *q, tsr_coll_steps *s) {
  int middle = *(int *)user, n = middle < 0 ? q->n_ranks - 1 : q->n_ranks, round = 0;
  if (middle < 0) middle = 0;
  for (int r = 0; r < n; r++)
    if (r != middle) tsr_coll_step(s, round++, r, middle, 0, true);
  for (int r = 0; r < n; r++)
    if (r != middle) tsr_coll_step(s, round++, middle, r, 0, false);
}

static void *by_star(void *arg) {
  member *m = arg;
  double in = m->rank + 1, out = 0;
  tsr_status st = tsr_team_run(
      m->team, m->rank,
      &(tsr_coll){
          .op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F64, .count = 1, .algorithm = "star", .in = &in, .out = &out});
  if (st) wrong(m, "star", st);
  else if (out != m->n * (m->n + 1) / 2) wrong(m, "a sum", NULL);
  st = tsr_team_run(
      m->team, m->rank,
      &(tsr_coll){
          .op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F64, .count = 1, .algorithm = "broken", .in = &in, .out = &out});
  if (tsr_status_code(st) != TSR_COLLECTIVE_MISMATCH ||
      !strstr(tsr_status_message(st), "the sender doesn't hold all of it"))
    wrong(m, "a schedule that forgets a rank was not refused", st);
  else tsr_status_free(st);
  return NULL;
}

static void algorithm_of_the_application_runs_and_is_checked(void **state) {
  enum { N = 5 };
  int middle = 2, forgets = -1;
  tsr_team *team;
  member m[N] = {{0}};
  pthread_t threads[N];
  tsr_coll_algorithm a = {"star", 1u << TSR_COLL_ALL_REDUCE, star_chunks, star, &middle}, b = a;
  b.name = "broken", b.user = &forgets;
  assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = N}, &team));
  assert_null(tsr_team_add_algorithm(team, &a));
  assert_null(tsr_team_add_algorithm(team, &b));
  tsr_status st = tsr_team_add_algorithm(team, &a);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  for (int r = 0; r < N; r++) {
    m[r] = (member){.team = team, .rank = r, .n = N};
    assert_int_equal(pthread_create(&threads[r], NULL, by_star, &m[r]), 0);
  }
  for (int r = 0; r < N; r++) pthread_join(threads[r], NULL);
  for (int r = 0; r < N; r++)
    if (m[r].wrong) fail_msg("%s", m[r].text);
  tsr_team_destroy(&team);
}

/* ---- what isn't allowed --------------------------------------------------------------------------------------------
 */

static void expect(tsr_status st, tsr_code code, const char *says) {
  if (tsr_status_code(st) != code || !strstr(tsr_status_message(st), says))
    fail_msg("%s, expected \"%s\"", st ? tsr_status_message(st) : "no error", says);
  tsr_status_free(st);
}

static void arguments_that_are_wrong_are_refused(void **state) {
  tsr_team *t = (tsr_team *)1, *sub;
  tsr_pending *p = NULL;
  float x[4] = {0};
  int me;
  const tsr_coll good = {.op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 4, .in = x, .out = x};
  tsr_coll bad = good;
  expect(tsr_team_create(NULL, &t), TSR_INVALID_ARGUMENT, "desc");
  assert_null(t);
  expect(tsr_team_create(&(tsr_team_desc){.n_ranks = 1}, NULL), TSR_INVALID_ARGUMENT, "out");
  expect(tsr_team_create(&(tsr_team_desc){.n_ranks = 0}, &t), TSR_INVALID_ARGUMENT, "1 to 256");
  expect(tsr_team_create(&(tsr_team_desc){.n_ranks = 257}, &t), TSR_INVALID_ARGUMENT, "1 to 256");
  expect(tsr_team_create(&(tsr_team_desc){.n_ranks = 1, .transport = "pigeon"}, &t), TSR_NOT_FOUND, "pigeon");
  expect(tsr_team_create(&(tsr_team_desc){.n_ranks = 1, .deadline_ms = -1}, &t), TSR_INVALID_ARGUMENT, "deadline");
  assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = 1}, &t));
  expect(tsr_team_run(NULL, 0, &good), TSR_INVALID_ARGUMENT, "team");
  expect(tsr_team_run(t, 0, NULL), TSR_INVALID_ARGUMENT, "call");
  expect(tsr_team_run(t, 1, &good), TSR_INVALID_ARGUMENT, "no such rank");
  expect(tsr_team_start(t, -1, &good, &p), TSR_INVALID_ARGUMENT, "no such rank");
  expect(tsr_team_start(t, 0, NULL, &p), TSR_INVALID_ARGUMENT, "call");
  expect(tsr_team_start(NULL, 0, &good, &p), TSR_INVALID_ARGUMENT, "team");
  expect(tsr_pending_wait(&p), TSR_INVALID_ARGUMENT, "pending");
  assert_true(tsr_pending_is_done(NULL));
  bad.op = TSR_N_COLL_OPS;
  expect(tsr_team_run(t, 0, &bad), TSR_INVALID_ARGUMENT, "no such operation");
  bad = good, bad.redop = TSR_N_REDOPS;
  expect(tsr_team_run(t, 0, &bad), TSR_INVALID_ARGUMENT, "no such reduction");
  bad = good, bad.dtype = TSR_I4;
  expect(tsr_team_run(t, 0, &bad), TSR_INVALID_ARGUMENT, "elements of i4 and u4 share bytes");
  bad = good, bad.count = -1;
  expect(tsr_team_run(t, 0, &bad), TSR_INVALID_ARGUMENT, "negative count");
  expect(tsr_team_split(NULL, 0, 0, 0, &sub, &me), TSR_INVALID_ARGUMENT, "team");
  expect(tsr_team_split(t, 3, 0, 0, &sub, &me), TSR_INVALID_ARGUMENT, "no such rank");
  expect(tsr_team_split(t, 0, 0, 0, &sub, NULL), TSR_INVALID_ARGUMENT, "new_rank");
  expect(tsr_team_leave(t, 7), TSR_INVALID_ARGUMENT, "no such rank");
  expect(tsr_team_leave(NULL, 0), TSR_INVALID_ARGUMENT, "team");
  expect(tsr_team_add_algorithm(t, NULL), TSR_INVALID_ARGUMENT, "algorithm");
  expect(tsr_team_add_algorithm(t, &(tsr_coll_algorithm){.name = "x", .ops = 1}), TSR_INVALID_ARGUMENT, "functions");
  expect(tsr_team_add_algorithm(t, &(tsr_coll_algorithm){.name = ""}), TSR_INVALID_ARGUMENT, "characters");
  assert_null(tsr_team_run(t, 0, &good));
  assert_int_equal(tsr_team_bytes(t, 0, 9), 0);
  assert_string_equal(tsr_team_path(t, 0), "memory of one process");
  assert_string_equal(tsr_team_path(t, 5), "");
  bad = good, bad.out = NULL; /* the executor stops the team: so it stays */
  expect(tsr_team_run(t, 0, &bad), TSR_INVALID_ARGUMENT, "no place for the result");
  expect(tsr_team_run(t, 0, &good), TSR_INVALID_ARGUMENT, "no place for the result");
  tsr_team_destroy(&t);
  tsr_team_destroy(&t);
  tsr_team_destroy(NULL);
  tsr_coll_step(NULL, 0, 0, 0, 0, false);
}

static void counts_are_those_of_the_blocks(void **state) {
  assert_int_equal(tsr_coll_in_count(TSR_COLL_ALL_GATHER, 10, 3, 0, 0), 4);
  assert_int_equal(tsr_coll_in_count(TSR_COLL_ALL_GATHER, 10, 3, 2, 0), 3);
  assert_int_equal(tsr_coll_out_count(TSR_COLL_REDUCE, 10, 3, 2, 1), 0);
  assert_int_equal(tsr_coll_out_count(TSR_COLL_REDUCE, 10, 3, 1, 1), 10);
  assert_int_equal(tsr_coll_in_count(TSR_COLL_ALL_GATHER, -1, 3, 0, 0), -1);
  assert_int_equal(tsr_coll_out_count(TSR_N_COLL_OPS, 1, 3, 0, 0), -1);
  assert_int_equal(tsr_coll_out_count(TSR_COLL_ALL_TO_ALL, INT64_MAX, 3, 0, 0), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operation_algorithm_type_and_size_has_exact_bits),
      cmocka_unit_test(calls_that_are_started_go_on_by_themselves),
      cmocka_unit_test(data_is_narrowed_for_its_way_within_bounds),
      cmocka_unit_test(blocks_have_scales_of_their_own),
      cmocka_unit_test(teams_out_of_a_team_have_their_own_ranks),
      cmocka_unit_test(algorithm_of_the_application_runs_and_is_checked),
      cmocka_unit_test(arguments_that_are_wrong_are_refused),
      cmocka_unit_test(counts_are_those_of_the_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
