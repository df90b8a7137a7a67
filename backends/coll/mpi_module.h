/* backends/coll/mpi_module.h - what the module tessera-mpi.so does for the library: point-to-point messages of an MPI
 * library, by a table of C functions. MPI has no binary interface of its own, so the module is compiled against the MPI
 * at hand (module/mpi.c) and loaded at run time; the library knows this header alone.
 * Requests are numbers >= 0. Functions return 0, or -1 with the reason in `why` (MPI_WHY bytes). */
#ifndef BACKENDS_COLL_MPI_MODULE_H
#define BACKENDS_COLL_MPI_MODULE_H
#include <stddef.h>
#include <stdint.h>

enum {
  MPI_LOST,    /* ranks may be gone */
  MPI_PENDING, /* and messages are under way */
  MPI_ORDERLY  /* all ranks close it, and nothing is under way */
};

enum { MPI_MODULE_ABI = 1, MPI_WHY = 256, MPI_ANY_PEER = -1 };
#define MPI_MODULE_ENTRY "tsr_mpi_module"

typedef struct mpi_comm mpi_comm; /* a duplicate of the host program's communicator */

typedef struct mpi_module {
  uint32_t abi;
  const char *built_with;
  /* `handle`: the address of an MPI_Comm; NULL: MPI_COMM_WORLD, and MPI is started if it isn't (and ended at exit, if
   * no communicator was left in disorder). The duplicate is under way: ready() says 1 when it is there, -1 on failure.
   */
  int (*open)(const void *handle, mpi_comm **out, char *why);
  int (*ready)(mpi_comm *c, char *why);
  int (*rank)(const mpi_comm *c);
  int (*size)(const mpi_comm *c);
  int (*any_thread)(void); /* may any thread call at any time? */
  int (*send)(mpi_comm *c, int peer, int tag, const void *data, size_t bytes, char *why);
  int (*receive)(mpi_comm *c, int peer, int tag, void *data, size_t bytes, char *why);
  /* 1: done, and the request is gone; 0: not yet; -1: it failed. `bytes` and `peer` (may be NULL): of what came. */
  int (*test)(mpi_comm *c, int request, size_t *bytes, int *peer, char *why);
  /* Asks for a receive to be given up; it is done then as any other. */
  void (*cancel)(mpi_comm *c, int request);
  /* Anything but MPI_ORDERLY leaves it as it is, with its memory, and MPI is not ended at exit: after MPI_LOST unless a
   * communicator of all processes is opened later. */
  void (*close)(mpi_comm **c, int how);
} mpi_module;

typedef const mpi_module *(*mpi_module_entry)(void);
#endif
