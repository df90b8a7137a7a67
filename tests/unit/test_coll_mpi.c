/* tests/unit/test_coll_mpi.c - collectives between processes under mpirun: this program starts itself as 4 ranks. Exact
 * results of every operation and algorithm, sums of reals with the bits of one process, over shared memory and by
 * messages; ranks that are stopped and go on (the team is made anew), killed, or ask for something else: the others
 * return by the deadline and a second, with an error that says who. Ranks write what they saw into a folder. */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "core/runtime/transports.h"
#include "tessera/coll.h"
#include "tests/support/coll_case.h"
#include "tests/support/mpi_rig.h"

/* LATE: a machine may be busy; whoever has no deadline is back only when mpirun is ended, after 120 s. */
enum { N = 4, COUNT = 3000, DEADLINE = 300, LATE = 30000, STOPS = 12 };

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

typedef struct rank {
  coll_team *team;
  int32_t me, n;
  pid_t pids[N];
} rank;

static bool open_team(rank *k) {
  coll_link *link;
  const coll_transport *t = NULL;
  for (int i = 0; rt_transports[i]; i++)
    if (!strcmp(rt_transports[i]->name, "mpi")) t = rt_transports[i];
  tsr_status st = t->open(&(coll_open){.deadline_ms = 60000}, &link);
  if (st && tsr_status_code(st) == TSR_UNAVAILABLE) printf("%s\n", tsr_status_message(st)), exit(77);
  if (!st) k->me = link->rank, k->n = link->n_ranks;
  if (!st) st = coll_team_create_linked(NULL, link, NULL, &k->team);
  if (st) mpi_note(k->me, "wrong", tsr_status_message(st));
  return !st;
}

static void results(rank *k) {
  static const tsr_dtype types[] = {TSR_F32, TSR_BF16, TSR_I64, TSR_F8E4M3, TSR_U8, TSR_F64, TSR_F16, TSR_I32};
  const coll_algorithm *a;
  int cases = 0;
  char text[200];
  for (int32_t i = 0; (a = coll_algorithm_at(NULL, i)); i++)
    for (int op = 0; op < N_COLL_OPS; op++)
      for (int size = 0; size < 2; size++) {
        coll_request q = {(coll_op)op, k->n, 0, 0};
        if (coll_refusal(a, &q)) continue;
        coll_call c = {.op = (coll_op)op,
                       .algorithm = a->name,
                       .count = size ? 100003 : 37,
                       .dtype = types[cases % 8],
                       .redop = (coll_redop)(cases % N_COLL_REDOPS)};
        if (op == COLL_BARRIER) c.count = 0;
        if (coll_op_get(c.op)->has_root) c.root = k->n - 1;
        char *in = malloc(coll_case_bytes(&c, k->n)), *out = malloc(coll_case_bytes(&c, k->n));
        coll_case_fill(&c, k->n, k->me, cases % 3 == 1, in, out);
        tsr_status st = coll_run_rank(k->team, k->me, &c);
        snprintf(text, sizeof text, "%s by %s of %s", coll_op_get(c.op)->name, a->name, tsr_dtype_name(c.dtype));
        if (st) mpi_note(k->me, "wrong", tsr_status_message(st));
        else if (coll_case_wrong(&c, k->n, k->me)) mpi_note(k->me, "wrong", text);
        tsr_status_free(st);
        free(in), free(out);
        cases++;
      }
  snprintf(text, sizeof text, "%d", cases);
  mpi_note(k->me, "cases", text);
}

/* The same sums by ranks of one process, which this one plays all of. */
static void bits(rank *k) {
  static float in[N][COUNT], one[N][COUNT], other[COUNT];
  static const char *const names[] = {"ring", "direct", "tree", "halving_doubling"};
  coll_call calls[N];
  for (int i = 0; i < 4; i++) {
    coll_team *t;
    for (int32_t r = 0; r < k->n; r++) {
      coll_case_reals(TSR_F32, in[r], COUNT, r);
      calls[r] = (coll_call){
          .op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = COUNT, .algorithm = names[i], .in = in[r], .out = one[r]};
    }
    tsr_status st = coll_team_create(NULL, k->n, NULL, &t);
    if (!st) st = coll_run_all(t, calls, 1);
    coll_team_destroy(&t);
    coll_call c = calls[k->me];
    c.out = other;
    if (!st) st = coll_run_rank(k->team, k->me, &c);
    if (st) mpi_note(k->me, "wrong", tsr_status_message(st));
    else if (memcmp(one[k->me], other, sizeof other)) mpi_note(k->me, "wrong", "other bits than in one process");
    else mpi_note(k->me, "same", names[i]);
    tsr_status_free(st);
  }
}

static bool learn_pids(rank *k) {
  int32_t mine = (int32_t)getpid(), all[N];
  tsr_status st = coll_run_rank(
      k->team, k->me, &(coll_call){.op = COLL_ALL_GATHER, .dtype = TSR_I32, .count = k->n, .in = &mine, .out = all});
  for (int r = 0; r < k->n && !st; r++) k->pids[r] = all[r];
  if (st) mpi_note(k->me, "wrong", tsr_status_message(st));
  return !st;
}

typedef struct fault {
  int32_t rank;
  int at, seen, how;
} fault;

static void strike(void *user, int32_t me) {
  fault *f = user;
  if (me == f->rank && f->seen++ == f->at) raise(f->how);
}

/* One rank is struck in the middle of a call; the others say how long they waited, and for what. */
static tsr_status struck_call(rank *k, fault *f, const char *algorithm) {
  static float in[COUNT], out[COUNT];
  char text[700];
  const coll_call c = {.op = COLL_ALL_REDUCE,
                       .dtype = TSR_F32,
                       .count = COUNT,
                       .algorithm = algorithm,
                       .in = in,
                       .out = out,
                       .deadline_ms = DEADLINE,
                       .pause = strike,
                       .user = f};
  int64_t from = now_ms();
  tsr_status st = coll_run_rank(k->team, k->me, &c);
  if (k->me == f->rank) return st;
  snprintf(text, sizeof text, "%d %s", (int)(now_ms() - from), st ? tsr_status_message(st) : "no error");
  mpi_note(k->me, "back", text);
  return st;
}

/* A rank is stopped and, when the next one has its error, goes on; then all make a new team. */
static void stops(rank *k) {
  static const char *const names[] = {"ring", "direct", "tree", "halving_doubling"};
  for (int i = 0; i < STOPS; i++) {
    fault f = {.rank = i % k->n, .at = i / 4 * 2, .how = SIGSTOP};
    if (!learn_pids(k)) return;
    tsr_status st = struck_call(k, &f, names[i % 4]);
    if (k->me == (f.rank + 1) % k->n) {
      usleep(100000); /* the others come back meanwhile, without it */
      kill(k->pids[f.rank], SIGCONT);
    }
    bool failed = st != NULL;
    tsr_status_free(st);
    coll_team_destroy(&k->team);
    if (!open_team(k)) return;
    if (k->me != f.rank && failed) mpi_note(k->me, "rebuilt", names[i % 4]);
  }
}

static void mismatch(rank *k) {
  float in[2] = {1, 2}, out[2] = {7, 7};
  coll_call c = {.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 2, .in = in, .out = out};
  if (k->me == 2) c.count = 1;
  tsr_status st = coll_run_rank(k->team, k->me, &c);
  mpi_note(k->me, out[0] == 7 && out[1] == 7 ? "mismatch" : "wrong", st ? tsr_status_message(st) : "no error");
  tsr_status_free(st);
}

/* The public interface: calls that are started, teams out of the team, twice over. */
static void api(void) {
  enum { CALLS = 6, ELEMENTS = 50000 };
  static float in[CALLS][ELEMENTS], out[CALLS][ELEMENTS];
  tsr_team *team, *sub = NULL, *pair = NULL;
  tsr_pending *p[CALLS];
  int me, at = -1, ok = 0;
  tsr_status st = tsr_team_create(&(tsr_team_desc){.transport = "mpi", .n_ranks = N}, &team);
  if (st) return mpi_note(0, "wrong", tsr_status_message(st));
  me = tsr_team_rank(team);
  for (int k = 0; k < CALLS && !st; k++) {
    for (int i = 0; i < ELEMENTS; i++) in[k][i] = (float)(me + k);
    st = tsr_team_start(
        team, me,
        &(tsr_coll){.op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F32, .count = ELEMENTS, .in = in[k], .out = out[k]}, &p[k]);
  }
  for (int k = 0; k < CALLS && !st; k++) {
    st = tsr_pending_wait(&p[k]);
    for (int i = 0; i < ELEMENTS; i++) ok += out[k][i] == (float)(N * (N - 1) / 2 + N * k);
  }
  if (ok != CALLS * ELEMENTS) mpi_note(me, "wrong", "sums of calls that were started");
  /* odd and even ranks backwards; then pairs of one. */
  if (!st) st = tsr_team_split(team, me, me % 2, -me, &sub, &at);
  if (!st && (tsr_team_size(sub) != N / 2 || tsr_team_rank(sub) != at || at != (me < N / 2)))
    mpi_note(me, "wrong", "a split");
  int64_t mine = me, sum = 0;
  if (!st)
    st = tsr_team_run(sub, at,
                      &(tsr_coll){.op = TSR_COLL_ALL_REDUCE, .dtype = TSR_I64, .count = 1, .in = &mine, .out = &sum});
  if (!st && sum != (me % 2 ? 4 : 2)) mpi_note(me, "wrong", "a sum of a split");
  if (!st) st = tsr_team_split(sub, at, at ? -1 : 0, 0, &pair, &at);
  if (!st && (pair != NULL) != (me >= N / 2)) mpi_note(me, "wrong", "a split of a split");
  if (!st) st = tsr_team_run(team, me, &(tsr_coll){.op = TSR_COLL_BARRIER});
  if (st) mpi_note(me, "wrong", tsr_status_message(st));
  else mpi_note(me, "api", tsr_team_path(team, (me + 1) % N));
  tsr_team_destroy(&pair), tsr_team_destroy(&sub), tsr_team_destroy(&team);
}

static int rank_main(const char *what) {
  rank k = {.me = 0};
  if (!strcmp(what, "api")) return api(), 0;
  if (!open_team(&k)) return 1;
  if (!k.me) mpi_note(0, "path", k.team ? "open" : "none");
  if (!strcmp(what, "results")) results(&k), bits(&k);
  if (!strcmp(what, "stop")) stops(&k);
  if (!strcmp(what, "mismatch")) mismatch(&k);
  if (!strcmp(what, "kill")) {
    fault f = {.rank = 1, .at = 3, .how = SIGKILL};
    tsr_status_free(struck_call(&k, &f, "ring"));
    fflush(NULL);
    _exit(0); /* MPI has lost a process: its orderly end would wait for it */
  }
  coll_team_destroy(&k.team);
  return 0;
}

/* ---- the test ---------------------------------------------------------------------------------------------------- */

static int wrong;
static bool recovers;

static int start(const char *self, const char *what, bool shared, char *said, size_t cap) {
  const mpi_start_desc d = {
      .self = self, .what = what, .ranks = N, .knobs = shared ? "TSR_COLL_SHARED=1" : "TSR_COLL_SHARED=0"};
  return mpi_start(&d, said, cap);
}

static void expect(bool ok, const char *what, const char *said) {
  if (!ok) wrong++, printf("FAILED %s:\n%s\n", what, said);
  else printf("ok %s\n", what);
}

/* Milliseconds that the slowest survivor was back after. */
static int slowest(const char *said) {
  int worst = -1, ms;
  for (const char *at = said; (at = strstr(at, "back ")); at += 5)
    if (sscanf(at, "back %d", &ms) == 1 && ms > worst) worst = ms;
  return worst;
}

static void faults(const char *self, char *said, size_t cap) {
  for (int shared = 0; shared < 2; shared++) {
    start(self, "stop", shared, said, cap);
    int back = mpi_lines(said, "back", "all_reduce sum of 3000 f32 by "), rebuilt = mpi_lines(said, "rebuilt", "");
    printf("%d ranks stopped, %d returns of others with an error, the slowest after %d ms with a deadline of %d ms\n",
           STOPS, back, slowest(said), DEADLINE);
    expect(back >= STOPS && rebuilt >= STOPS && !strstr(said, "wrong") && slowest(said) < DEADLINE + LATE,
           shared ? "stopped ranks, shared memory" : "stopped ranks, messages", said);
    if (!recovers) puts("killed ranks left out: this mpirun has no --enable-recovery");
    for (int i = 0; i < 2 && recovers; i++) {
      start(self, "kill", shared, said, cap);
      back = mpi_lines(said, "back", "within 300 ms");
      printf("a rank killed, %d returns of others, the slowest after %d ms\n", back, slowest(said));
      expect(back == N - 1 && slowest(said) < DEADLINE + LATE &&
                 mpi_lines(said, "back", shared ? "while rank 1 " : "nothing from rank ") == N - 1,
             shared ? "a killed rank, shared memory" : "a killed rank, messages", said);
    }
    start(self, "mismatch", shared, said, cap);
    expect(mpi_lines(said, "mismatch", "rank 2 calls all_reduce sum of 1 f32") == N, "a call that differs", said);
  }
}

int main(int argc, char **argv) {
  static char said[1 << 16];
  if (argc == 4 && !strcmp(argv[1], "rank")) {
    mpi_note_in(argv[3]);
    return rank_main(argv[2]);
  }
  if (!mpi_is_here()) return puts("skipped: no mpirun (openmpi-bin)"), 77;
  recovers = mpi_recovers();
  for (int shared = 0; shared < 2; shared++) {
    int rc = start(argv[0], "results", shared, said, sizeof said);
    if (rc == 77) return printf("skipped: %s", said), 77;
    expect(!rc && !strstr(said, "wrong") && mpi_lines(said, "cases", "") == N &&
               mpi_lines(said, "same", "") == 4 * N,
           shared ? "results, shared memory" : "results, messages", said);
  }
  for (int shared = 0; shared < 2; shared++) {
    int rc = start(argv[0], "api", shared, said, sizeof said);
    const char *path = shared ? "shared memory" : "MPI messages";
    expect(!rc && !strstr(said, "wrong") && mpi_lines(said, "api", path) == N, "the public interface", said);
  }
  faults(argv[0], said, sizeof said);
  return wrong != 0;
}
