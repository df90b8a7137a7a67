/* bench/kernels/mpi_driver.c - all-reduce of f32 sums against MPI_Allreduce of the MPI at hand, in one run: calls of
 * both are taken in turns, the time of a call is that of its slowest rank. Under mpirun: mpirun --oversubscribe -n 4
 * build/release/bench/mpi_driver [SECONDS] [BYTES] [ALGORITHM] Prints a line a size and the geometric mean of the
 * ratios; then the same with several calls in flight. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/coll.h"

enum { LEAST = 7, MOST = 400, FLIGHT = 4 };

typedef struct bench {
  tsr_team *team;
  const char *algorithm;
  float *in, *ours, *theirs;
  int rank, n;
  double seconds;
} bench;

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void fail(tsr_status st) {
  fprintf(stderr, "%s\n", tsr_status_message(st));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void call_ours(bench *b, int64_t n, int flight) {
  tsr_pending *p[FLIGHT];
  for (int k = 0; k < flight; k++) {
    const tsr_coll c = {.op = TSR_COLL_ALL_REDUCE,
                        .dtype = TSR_F32,
                        .count = n,
                        .algorithm = b->algorithm,
                        .in = b->in + k * n,
                        .out = b->ours + k * n};
    tsr_status st = flight == 1 ? tsr_team_run(b->team, b->rank, &c) : tsr_team_start(b->team, b->rank, &c, &p[k]);
    if (st) fail(st);
  }
  for (int k = 0; k < flight && flight > 1; k++) {
    tsr_status st = tsr_pending_wait(&p[k]);
    if (st) fail(st);
  }
}

static void call_theirs(bench *b, int64_t n, int flight) {
  MPI_Request q[FLIGHT];
  if (flight == 1) {
    MPI_Allreduce(b->in, b->theirs, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return;
  }
  for (int k = 0; k < flight; k++)
    MPI_Iallreduce(b->in + k * n, b->theirs + k * n, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &q[k]);
  MPI_Waitall(flight, q, MPI_STATUSES_IGNORE);
}

/* Seconds of the slowest rank. */
static double timed(bench *b, void (*call)(bench *, int64_t, int), int64_t n, int flight) {
  MPI_Barrier(MPI_COMM_WORLD);
  double from = MPI_Wtime();
  call(b, n, flight);
  double took = MPI_Wtime() - from, all = 0;
  MPI_Allreduce(&took, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

/* Ratio of the medians: theirs over ours, above 1 where ours is faster. */
static double one_size(bench *b, int64_t bytes, int flight) {
  double ours[MOST], theirs[MOST], spent = 0;
  int64_t n = bytes / 4;
  int runs = 0, wrong = 0;
  for (int64_t i = 0; i < flight * n; i++) b->in[i] = (float)((b->rank + i) % 5);
  for (int warm = 0; warm < 2; warm++) timed(b, call_ours, n, flight), timed(b, call_theirs, n, flight);
  for (; runs < MOST && (runs < LEAST || spent < b->seconds); runs++) {
    ours[runs] = timed(b, call_ours, n, flight);
    theirs[runs] = timed(b, call_theirs, n, flight);
    spent += ours[runs] + theirs[runs];
  }
  wrong = memcmp(b->ours, b->theirs, (size_t)(flight * bytes)) != 0;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  qsort(ours, (size_t)runs, sizeof *ours, by_value), qsort(theirs, (size_t)runs, sizeof *theirs, by_value);
  double ratio = theirs[runs / 2] / ours[runs / 2];
  if (!b->rank)
    printf("%10lld bytes %d in flight: tessera %10.1f us, MPI %10.1f us, MPI / tessera %.3f (least %.3f)  %s\n",
           (long long)bytes, flight, 1e6 * ours[runs / 2], 1e6 * theirs[runs / 2], ratio, theirs[0] / ours[0],
           wrong ? "DIFFERENT RESULTS" : "ok");
  return ratio;
}

int main(int argc, char **argv) {
  bench b = {.seconds = argc > 1 ? atof(argv[1]) : 0.5, .algorithm = argc > 3 ? argv[3] : NULL};
  long long only = argc > 2 ? atoll(argv[2]) : 0, most = only ? only : 1 << 26;
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm world = MPI_COMM_WORLD;
  tsr_status st = tsr_team_create(&(tsr_team_desc){.transport = "mpi", .communicator = &world}, &b.team);
  if (st) fail(st);
  b.rank = tsr_team_rank(b.team), b.n = tsr_team_size(b.team);
  b.in = malloc((size_t)most * FLIGHT), b.ours = malloc((size_t)most * FLIGHT),
  b.theirs = malloc((size_t)most * FLIGHT);
  if (!b.in || !b.ours || !b.theirs) return fputs("out of memory\n", stderr), 1;
  for (int flight = 1; flight <= FLIGHT; flight += FLIGHT - 1) {
    double logs = 0;
    int sizes = 0;
    for (long long bytes = only ? only : 4096; bytes <= most && (flight == 1 || bytes <= 1 << 24); bytes *= 4, sizes++)
      logs += log(one_size(&b, bytes, flight));
    if (!b.rank)
      printf("geometric mean of MPI / tessera, %d ranks, %d in flight: %.3f\n", b.n, flight, exp(logs / sizes));
  }
  tsr_team_destroy(&b.team);
  free(b.in), free(b.ours), free(b.theirs);
  MPI_Finalize();
  return 0;
}
