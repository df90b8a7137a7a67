/* backends/coll/mpi_start.c - see mpi.h: ranks tell each other where they are; those of one machine map one piece of
 * memory, whose name is gone again before the first collective; for the others messages are made ready. What is
 * received here lies in memory that is kept when the start fails, since messages may still come. */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/coll/mpi.h"
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/knob.h"

typedef struct place {
  uint64_t machine;
  int64_t pid;
} place;

typedef struct meeting {
  place here, *places; /* by rank */
  char name[64];       /* of the memory; "": there is none */
  char mine, *yes;     /* by rank: it has mapped it */
  char all;
  int *requests, *peers;
  int n_open;
} meeting;

static tsr_status failed(mpi_link *l, const char *why) { return mpi_fail(l, TSR_UNAVAILABLE, why); }

/* A request of a message at the start; `request` is what send or receive gave. */
static tsr_status note(mpi_link *l, meeting *m, int request, int32_t peer, const char *why) {
  if (request < 0) return failed(l, why);
  m->requests[m->n_open] = request, m->peers[m->n_open++] = peer;
  return NULL;
}

static tsr_status put(mpi_link *l, meeting *m, int32_t peer, const void *data, size_t bytes) {
  char why[MPI_WHY];
  return note(l, m, mpi_send(l, peer, MPI_TAG_START, data, bytes, why), peer, why);
}

static tsr_status get(mpi_link *l, meeting *m, int32_t peer, void *data, size_t bytes) {
  char why[MPI_WHY];
  return note(l, m, mpi_receive(l, peer, MPI_TAG_START, data, bytes, why), peer, why);
}

/* All messages of this step are through. */
static tsr_status complete(mpi_link *l, meeting *m, int64_t deadline) {
  char why[MPI_WHY];
  while (m->n_open) {
    for (int i = 0; i < m->n_open; i++) {
      int is = mpi_test(l, m->requests[i], NULL, why);
      if (is < 0) return failed(l, why);
      if (!is) continue;
      m->n_open--;
      m->requests[i] = m->requests[m->n_open], m->peers[i] = m->peers[m->n_open];
      i--;
    }
    if (m->n_open && clock_ns() > deadline)
      return st_make(&l->al, TSR_TIMEOUT, ST_WHERE("collective", "mpi", NULL),
                     "rank %d: rank %d doesn't make the team within the deadline", l->base.rank, m->peers[0]);
    if (m->n_open) sched_yield();
  }
  return NULL;
}

/* What ranks that can share memory have in common: the machine since its start, and its folder of shared memory. */
static uint64_t machine(void) {
  char text[256] = "";
  struct stat s = {0};
  FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (f && !fgets(text, 64, f)) *text = 0;
  if (f) fclose(f);
  gethostname(text + strlen(text), sizeof text - strlen(text) - 1);
  if (stat("/dev/shm", &s)) return 0;
  uint64_t h = hash_bytes(HASH_SEED, text, strlen(text));
  h = hash_bytes(h, &s.st_dev, sizeof s.st_dev);
  return hash_bytes(h, &s.st_ino, sizeof s.st_ino) | 1;
}

static tsr_status tell_places(mpi_link *l, meeting *m, int64_t deadline) {
  int32_t n = l->base.n_ranks, me = l->base.rank;
  m->here = (place){knob_bool("TSR_COLL_SHARED") ? machine() : 0, (int64_t)getpid()};
  m->places[me] = m->here;
  for (int32_t r = 0; r < n; r++) {
    if (r == me) continue;
    TSR_TRY(get(l, m, r, &m->places[r], sizeof(place)));
    TSR_TRY(put(l, m, r, &m->here, sizeof(place)));
  }
  TSR_TRY(complete(l, m, deadline));
  for (int32_t r = 0; r < n; r++) {
    bool here = r == me || (m->here.machine && m->places[r].machine == m->here.machine);
    l->seat[r] = here ? l->n_seats++ : -1;
  }
  return NULL;
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

static void *map(int fd, size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* All of its pages are there, so that no touch of one can fail later. */
static void create(mpi_link *l, meeting *m) {
  size_t ring = coll_box_ring(l->n_seats), bytes = coll_box_bytes(l->n_seats, ring);
  snprintf(m->name, sizeof m->name, "/tessera-%lld-%llx", (long long)getpid(), (unsigned long long)clock_ns());
  int fd = shm_open(m->name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd >= 0 && !posix_fallocate(fd, 0, (off_t)bytes)) l->box = map(fd, bytes);
  if (fd >= 0) close(fd);
  l->box_bytes = bytes;
  if (l->box) {
    coll_box_init(l->box, l->n_seats, ring);
    return;
  }
  if (fd >= 0) shm_unlink(m->name);
  m->name[0] = 0;
}

static void attach(mpi_link *l, meeting *m) {
  struct stat s;
  int fd = *m->name ? shm_open(m->name, O_RDWR, 0) : -1;
  m->name[sizeof m->name - 1] = 0;
  if (fd < 0) return;
  if (!fstat(fd, &s) && s.st_uid == geteuid() && s.st_size > 0) {
    l->box_bytes = (size_t)s.st_size;
    l->box = map(fd, l->box_bytes);
  }
  close(fd);
  if (!l->box || coll_box_fits(l->box, l->n_seats, l->box_bytes)) return;
  munmap(l->box, l->box_bytes);
  l->box = NULL;
}

/* The first of the machine makes it; it is used where all of the machine have it. */
static tsr_status share(mpi_link *l, meeting *m, int64_t deadline) {
  int32_t n = l->base.n_ranks, me = l->base.rank, leader = 0;
  while (l->seat[leader]) leader++;
  if (me != leader) {
    TSR_TRY(get(l, m, leader, m->name, sizeof m->name));
    TSR_TRY(complete(l, m, deadline));
    attach(l, m);
    m->mine = l->box != NULL;
    TSR_TRY(get(l, m, leader, &m->all, 1));
    TSR_TRY(put(l, m, leader, &m->mine, 1));
    return complete(l, m, deadline);
  }
  create(l, m);
  for (int32_t r = 0; r < n; r++) {
    if (l->seat[r] < 0 || r == me) continue;
    TSR_TRY(get(l, m, r, &m->yes[r], 1));
    TSR_TRY(put(l, m, r, m->name, sizeof m->name));
  }
  tsr_status st = complete(l, m, deadline);
  if (*m->name) shm_unlink(m->name);
  if (st) return st;
  m->all = l->box != NULL;
  for (int32_t r = 0; r < n; r++)
    if (l->seat[r] >= 0 && r != me) m->all = m->all && m->yes[r];
  for (int32_t r = 0; r < n; r++)
    if (l->seat[r] >= 0 && r != me) TSR_TRY(put(l, m, r, &m->all, 1));
  return complete(l, m, deadline);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static tsr_status open_pipe(mpi_link *l, int32_t peer) {
  mpi_pipe *p = &l->pipes[peer];
  char why[MPI_WHY];
  p->out = al_alloc(&l->al, MPI_PIECES * MPI_PIECE, 64);
  p->in = al_alloc(&l->al, MPI_PIECES * MPI_PIECE, 64);
  if (!p->out || !p->in) return st_oom();
  for (int i = 0; i < MPI_PIECES; i++) {
    p->sends[i] = -1;
    p->receives[i] = mpi_receive(l, peer, MPI_TAG_DATA, p->in + i * MPI_PIECE, MPI_PIECE, why);
    if (p->receives[i] < 0) return failed(l, why);
  }
  return NULL;
}

static tsr_status open_pipes(mpi_link *l) {
  char why[MPI_WHY];
  for (int32_t r = 0; r < l->base.n_ranks; r++) {
    if (l->seat[r] >= 0 || r == l->base.rank) continue;
    TSR_TRY(open_pipe(l, r));
    l->n_pipes++;
  }
  if (!l->n_pipes) return NULL;
  l->stop_request = mpi_receive(l, MPI_ANY_PEER, MPI_TAG_STOP, &l->heard, sizeof l->heard, why);
  l->base.one_thread = !l->mpi->any_thread();
  return l->stop_request < 0 ? failed(l, why) : NULL;
}

static tsr_status duplicate(mpi_link *l, int64_t deadline) {
  char why[MPI_WHY];
  int is;
  while (!(is = l->mpi->ready(l->shared->comm, why)))
    if (clock_ns() > deadline)
      return mpi_fail(l, TSR_TIMEOUT, "not all ranks of the communicator make the team within the deadline");
    else sched_yield();
  return is < 0 ? failed(l, why) : NULL;
}

static void meeting_free(mpi_link *l, meeting *m) {
  size_t n = (size_t)l->base.n_ranks;
  if (m->places) al_free(&l->al, m->places, n * sizeof *m->places, 16);
  if (m->yes) al_free(&l->al, m->yes, n, 16);
  if (m->requests) al_free(&l->al, m->requests, 2 * n * sizeof(int), 16);
  if (m->peers) al_free(&l->al, m->peers, 2 * n * sizeof(int), 16);
  al_delete(&l->al, m);
}

tsr_status mpi_link_start(mpi_link *l, int64_t deadline) {
  size_t n = (size_t)l->base.n_ranks;
  TSR_TRY(duplicate(l, deadline));
  meeting *m = al_new(&l->al, meeting);
  if (!m) return st_oom();
  m->places = al_zalloc(&l->al, n * sizeof *m->places);
  m->yes = al_zalloc(&l->al, n);
  m->requests = al_zalloc(&l->al, 2 * n * sizeof(int));
  m->peers = al_zalloc(&l->al, 2 * n * sizeof(int));
  l->seat = al_zalloc(&l->al, n * sizeof *l->seat);
  l->pipes = al_zalloc(&l->al, n * sizeof *l->pipes);
  if (!m->places || !m->yes || !m->requests || !m->peers || !l->seat || !l->pipes) {
    meeting_free(l, m);
    return st_oom();
  }
  TSR_TRY(tell_places(l, m, deadline));
  l->crowded = l->n_seats > sysconf(_SC_NPROCESSORS_ONLN);
  if (l->n_seats > 1) TSR_TRY(share(l, m, deadline));
  if (l->box && !m->all) {
    munmap(l->box, l->box_bytes);
    l->box = NULL;
  }
  if (!l->box)
    for (size_t r = 0; r < n; r++) l->seat[r] = -1;
  meeting_free(l, m);
  return open_pipes(l);
}
