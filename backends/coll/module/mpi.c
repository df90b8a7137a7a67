/* backends/coll/module/mpi.c - the module tessera-mpi.so: see mpi_module.h. All of the library that is compiled against
 * an MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/coll/mpi_module.h"

struct mpi_comm {
  MPI_Comm comm;
  MPI_Request dup;
  int rank, size, n, cap;
  MPI_Request *requests; /* MPI_REQUEST_NULL: free */
};

static int pending, lost;

static int failed(int rc, const char *what, char *why) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int n = 0;
  if (rc == MPI_SUCCESS) return 0;
  MPI_Error_string(rc, text, &n);
  snprintf(why, MPI_WHY, "%s: %.180s", what, text);
  return -1;
}

static void end(void) {
  int finalized = 1;
  MPI_Finalized(&finalized);
  if (!finalized && !pending && !lost) MPI_Finalize();
}

static int start(char *why) {
  int is = 0, over = 0, level;
  MPI_Initialized(&is), MPI_Finalized(&over);
  if (over) return snprintf(why, MPI_WHY, "MPI was ended in this process, and can't be started again"), -1;
  if (is) return 0;
  if (failed(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread", why)) return -1;
  atexit(end);
  return 0;
}

static int open_comm(const void *handle, mpi_comm **out, char *why) {
  int is = 0;
  *out = NULL;
  if (!handle && start(why)) return -1;
  MPI_Initialized(&is);
  if (!is) return snprintf(why, MPI_WHY, "the host program has a communicator, but MPI isn't started"), -1;
  MPI_Comm of = handle ? *(const MPI_Comm *)handle : MPI_COMM_WORLD;
  if (of == MPI_COMM_NULL) return snprintf(why, MPI_WHY, "the communicator is MPI_COMM_NULL"), -1;
  mpi_comm *c = calloc(1, sizeof *c);
  if (!c) return snprintf(why, MPI_WHY, "out of memory"), -1;
  if (failed(MPI_Comm_rank(of, &c->rank), "MPI_Comm_rank", why) ||
      failed(MPI_Comm_size(of, &c->size), "MPI_Comm_size", why) ||
      failed(MPI_Comm_idup(of, &c->comm, &c->dup), "MPI_Comm_idup", why)) {
    free(c);
    return -1;
  }
  *out = c;
  return 0;
}

static int ready(mpi_comm *c, char *why) {
  int done = 0;
  if (c->dup == MPI_REQUEST_NULL) return 1;
  if (failed(MPI_Test(&c->dup, &done, MPI_STATUS_IGNORE), "MPI_Comm_idup", why)) return -1;
  if (!done) return 0;
  c->dup = MPI_REQUEST_NULL;
  int all = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  if (c->size == all) lost = 0;
  return failed(MPI_Comm_set_errhandler(c->comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", why) ? -1 : 1;
}

static int rank_of(const mpi_comm *c) { return c->rank; }
static int size_of(const mpi_comm *c) { return c->size; }

static int any_thread(void) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

static int free_request(mpi_comm *c, char *why) {
  int i = 0;
  while (i < c->n && c->requests[i] != MPI_REQUEST_NULL) i++;
  if (i == c->cap) {
    int cap = c->cap ? 2 * c->cap : 64;
    MPI_Request *grown = realloc(c->requests, (size_t)cap * sizeof *grown);
    if (!grown) return snprintf(why, MPI_WHY, "out of memory"), -1;
    c->requests = grown, c->cap = cap;
  }
  if (i == c->n) c->n++;
  c->requests[i] = MPI_REQUEST_NULL;
  return i;
}

static int send_bytes(mpi_comm *c, int peer, int tag, const void *data, size_t bytes, char *why) {
  int i = free_request(c, why);
  if (i < 0) return -1;
  int rc = MPI_Isend(data, (int)bytes, MPI_BYTE, peer, tag, c->comm, &c->requests[i]);
  return failed(rc, "MPI_Isend", why) ? -1 : i;
}

static int receive_bytes(mpi_comm *c, int peer, int tag, void *data, size_t bytes, char *why) {
  int i = free_request(c, why);
  if (i < 0) return -1;
  int from = peer == MPI_ANY_PEER ? MPI_ANY_SOURCE : peer;
  int rc = MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, c->comm, &c->requests[i]);
  return failed(rc, "MPI_Irecv", why) ? -1 : i;
}

static int test(mpi_comm *c, int request, size_t *bytes, int *peer, char *why) {
  int done = 0, n = 0;
  MPI_Status s;
  if (failed(MPI_Test(&c->requests[request], &done, &s), "MPI_Test", why)) {
    c->requests[request] = MPI_REQUEST_NULL;
    return -1;
  }
  if (!done) return 0;
  c->requests[request] = MPI_REQUEST_NULL;
  if (bytes) {
    MPI_Get_count(&s, MPI_BYTE, &n);
    *bytes = n > 0 ? (size_t)n : 0;
  }
  if (peer) *peer = s.MPI_SOURCE;
  return 1;
}

static void cancel(mpi_comm *c, int request) {
  if (c->requests[request] != MPI_REQUEST_NULL) MPI_Cancel(&c->requests[request]);
}

static void close_comm(mpi_comm **pc, int how) {
  mpi_comm *c = *pc;
  int over = 1;
  *pc = NULL;
  MPI_Finalized(&over);
  if (how != MPI_ORDERLY) lost = 1;
  if (how == MPI_PENDING) pending = 1;
  if (how != MPI_ORDERLY || over || c->dup != MPI_REQUEST_NULL) return;
  MPI_Comm_free(&c->comm);
  free(c->requests);
  free(c);
}

const mpi_module *tsr_mpi_module(void);
const mpi_module *tsr_mpi_module(void) {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  static mpi_module m = {MPI_MODULE_ABI, version,    open_comm,     ready, rank_of, size_of,
                         any_thread,     send_bytes, receive_bytes, test,  cancel,  close_comm};
  int n = 0;
  MPI_Get_library_version(version, &n);
  version[strcspn(version, ",\n")] = 0;
  return &m;
}
