/* tests/support/coll_ranks.c */
#define _DEFAULT_SOURCE
#include "tests/support/coll_ranks.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static pthread_barrier_t all_have_returned;

int coll_ranks_run(const char *transport, int n, bool streams, void *(*fn)(void *)) {
  coll_rank m[COLL_RANKS];
  pthread_t threads[COLL_RANKS];
  tsr_team *parent;
  int cases = 0;
  assert_in_range(n, 1, COLL_RANKS);
  assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = n}, &parent));
  assert_int_equal(pthread_barrier_init(&all_have_returned, NULL, (unsigned)n), 0);
  for (int r = 0; r < n; r++) {
    m[r] = (coll_rank){.parent = parent, .transport = transport, .rank = r};
    if (streams) m[r].stream = &m[r]; /* the fake's streams are addresses */
    assert_int_equal(pthread_create(&threads[r], NULL, fn, &m[r]), 0);
  }
  for (int r = 0; r < n; r++) pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&all_have_returned);
  for (int r = 0; r < n; r++) {
    if (m[r].wrong) fail_msg("%d wrong: %s", m[r].wrong, m[r].text);
    cases += m[r].cases;
  }
  tsr_team_destroy(&parent);
  return cases;
}

void coll_rank_wrong(coll_rank *m, const char *what, tsr_status st) {
  if (!m->wrong++)
    snprintf(m->text, sizeof m->text, "rank %d: %s: %s", m->rank, what, st ? tsr_status_message(st) : "");
  tsr_status_free(st);
}

void coll_rank_expect(coll_rank *m, tsr_status st, tsr_code code, const char *says) {
  if (tsr_status_code(st) == code && strstr(tsr_status_message(st), says)) tsr_status_free(st);
  else coll_rank_wrong(m, says, st);
}

bool coll_rank_begin(coll_rank *m, int64_t deadline_ms) {
  tsr_status st = tsr_team_create(
      &(tsr_team_desc){
          .transport = m->transport, .parent = m->parent, .parent_rank = m->rank, .deadline_ms = deadline_ms},
      &m->team);
  if (st) coll_rank_wrong(m, "create", st);
  return m->team != NULL;
}

tsr_coll coll_rank_call(const coll_rank *m, float *x) {
  return (tsr_coll){.op = TSR_COLL_ALL_REDUCE,
                    .dtype = TSR_F32,
                    .count = 4,
                    .any_order = true,
                    .in = x,
                    .out = x,
                    .stream = m->stream};
}

tsr_status coll_rank_do(coll_rank *m, const tsr_coll *call) {
  tsr_status st = tsr_team_run(m->team, m->rank, call);
  return st ? st : tsr_team_sync(m->team, m->stream, 0);
}

void coll_rank_case(coll_rank *m, coll_call c, bool in_place) {
  char what[120];
  const int n = tsr_team_size(m->team);
  char *in = malloc(coll_case_bytes(&c, n)), *out = malloc(coll_case_bytes(&c, n));
  coll_case_fill(&c, n, m->rank, in_place, in, out);
  const tsr_coll call = {.op = (tsr_coll_op)c.op,
                         .dtype = c.dtype,
                         .redop = (tsr_redop)c.redop,
                         .count = c.count,
                         .root = c.root,
                         .any_order = true,
                         .in = c.in,
                         .out = c.out,
                         .stream = m->stream};
  snprintf(what, sizeof what, "%s %s of %d %s%s", coll_op_get(c.op)->name, coll_redop_name(c.redop), (int)c.count,
           tsr_dtype_name(c.dtype), in_place ? " in place" : "");
  tsr_status st = coll_rank_do(m, &call);
  if (st) coll_rank_wrong(m, what, st);
  else if (coll_case_wrong(&c, n, m->rank)) coll_rank_wrong(m, what, NULL);
  m->cases++;
  free(in), free(out);
}

void coll_rank_identity(coll_rank *m) {
  if (tsr_team_size(m->team) != tsr_team_size(m->parent) || tsr_team_rank(m->team) != m->rank ||
      strcmp(tsr_team_path(m->team, 0), m->transport))
    coll_rank_wrong(m, "what the team says of itself", NULL);
}

void coll_rank_refusals(coll_rank *m, const coll_rank_refusal *of_library, int n, const char *start_says) {
  float x[4] = {0};
  tsr_coll c = coll_rank_call(m, x);
  tsr_pending *p;
  tsr_team *sub;
  int at;
  c.any_order = false;
  coll_rank_expect(m, tsr_team_run(m->team, m->rank, &c), TSR_UNSUPPORTED, "ask for any_order");
  for (int i = 0; i < n; i++) {
    c = coll_rank_call(m, x);
    c.op = of_library[i].op, c.dtype = of_library[i].dtype, c.redop = of_library[i].redop;
    coll_rank_expect(m, tsr_team_run(m->team, m->rank, &c), TSR_UNSUPPORTED, of_library[i].says);
  }
  c = coll_rank_call(m, x), c.count = 4 - (m->rank == 2);
  coll_rank_expect(m, tsr_team_run(m->team, m->rank, &c), TSR_COLLECTIVE_MISMATCH,
                   "rank 2 calls all_reduce sum of 3 f32");
  c.algorithm = "ring";
  coll_rank_expect(m, tsr_team_run(m->team, m->rank, &c), TSR_INVALID_ARGUMENT, "chooses its algorithms itself");
  c.algorithm = NULL, c.wire = TSR_BF16;
  coll_rank_expect(m, tsr_team_run(m->team, m->rank, &c), TSR_INVALID_ARGUMENT, "the library's own algorithms");
  c.wire = 0;
  coll_rank_expect(m, tsr_team_start(m->team, m->rank, &c, &p), TSR_INVALID_ARGUMENT, start_says);
  coll_rank_expect(m, tsr_team_split(m->team, m->rank, 0, 0, &sub, &at), TSR_INVALID_ARGUMENT, "split the parent");
  coll_rank_expect(m, tsr_team_run(m->team, (m->rank + 1) % tsr_team_size(m->team), &c), TSR_INVALID_ARGUMENT,
                   "no such rank");
  coll_rank_expect(m, tsr_team_leave(m->team, m->rank), TSR_INVALID_ARGUMENT, "");
  c = coll_rank_call(m, x), c.op = TSR_COLL_BROADCAST, c.any_order = false;
  tsr_status st = coll_rank_do(m, &c);
  if (st) coll_rank_wrong(m, "a call behind those that were refused", st);
}

void *coll_rank_one_is_missing(void *rank) {
  coll_rank *m = rank;
  float x[4] = {0};
  tsr_coll c = coll_rank_call(m, x);
  c.deadline_ms = 100;
  const bool made = coll_rank_begin(m, 2000);
  if (made && m->rank != 1)
    coll_rank_expect(m, tsr_team_run(m->team, m->rank, &c), TSR_TIMEOUT, "rank 1 hasn't made this call within 100 ms");
  pthread_barrier_wait(&all_have_returned);
  if (made) tsr_team_destroy(&m->team); /* by the parent, which is stopped: without waiting */
  return NULL;
}

void coll_rank_needs_parent(const char *transport) {
  tsr_team *t;
  tsr_status st = tsr_team_create(&(tsr_team_desc){.transport = transport}, &t);
  assert_non_null(strstr(tsr_status_message(st), "needs `parent`"));
  assert_null(t);
  tsr_status_free(st);
}
