/* backends/coll/mpi.h - a link over MPI: ranks of one machine exchange bytes in memory that they share, all others by
 * MPI's messages. */
#ifndef BACKENDS_COLL_MPI_H
#define BACKENDS_COLL_MPI_H
#include "backends/coll/mpi_module.h"
#include "core/coll/mailbox.h"

enum { MPI_PIECE = 1 << 16, MPI_PIECES = 4, MPI_TAGS = 4, MPI_MOST_LINKS = 8000 };

typedef enum mpi_tag { MPI_TAG_START, MPI_TAG_DATA, MPI_TAG_STOP } mpi_tag;

/* Messages between two ranks: pieces of memory of the link's own, so that no message is ever under way to or from the
 * caller's. */
typedef struct mpi_pipe {
  char *out, *in;             /* MPI_PIECES of MPI_PIECE bytes each; NULL: shared memory */
  int sends[MPI_PIECES];      /* requests; -1: free */
  int receives[MPI_PIECES];   /* -1: it has come */
  size_t came[MPI_PIECES], taken;
  uint32_t next_out, next_in;
} mpi_pipe;

typedef struct mpi_stop { int32_t code; char cause[512]; } mpi_stop;

/* The communicator of a link and of those that were split off. */
typedef struct mpi_shared {
  mpi_comm *comm;
  int32_t links, next_number;
  bool failed, pending; /* ranks may be lost; messages may be under way for good */
} mpi_shared;

typedef struct mpi_link {
  coll_link base;
  tsr_allocator al;
  const mpi_module *mpi;
  mpi_shared *shared;
  int32_t number;             /* which MPI_TAGS tags are its own */
  int32_t *world;             /* by rank: its rank in the communicator */
  /* Ranks of this machine. */
  coll_box *box;
  size_t box_bytes;
  int32_t *seat;              /* by rank: its place in the box; -1: on another machine */
  int32_t n_seats;
  bool crowded, failed;
  mpi_pipe *pipes;            /* by rank */
  int32_t n_pipes;
  int stop_request;           /* a receive that stands open for the notice of a stop */
  mpi_stop heard, said;
  bool is_stopped;
} mpi_link;

/* As the module's, to and from ranks of the link. */
static inline int mpi_send(mpi_link *l, int32_t peer, mpi_tag tag, const void *data, size_t n, char *why) {
  return l->mpi->send(l->shared->comm, l->world[peer], l->number * MPI_TAGS + (int)tag, data, n, why);
}
static inline int mpi_receive(mpi_link *l, int32_t peer, mpi_tag tag, void *data, size_t n, char *why) {
  int from = peer == MPI_ANY_PEER ? MPI_ANY_PEER : l->world[peer];
  return l->mpi->receive(l->shared->comm, from, l->number * MPI_TAGS + (int)tag, data, n, why);
}
static inline int mpi_test(mpi_link *l, int request, size_t *bytes, char *why) {
  return l->mpi->test(l->shared->comm, request, bytes, NULL, why);
}

/* mpi_start.c: who is where, and the memory of those on one machine. Collective, with a deadline. */
TSR_MUST_USE tsr_status mpi_link_start(mpi_link *l, int64_t deadline_ns);
/* The module, loaded once per process; NULL with the reason. */
const mpi_module *mpi_load(char *why, size_t cap);
TSR_MUST_USE tsr_status mpi_fail(const mpi_link *l, tsr_code code, const char *why);
#endif
