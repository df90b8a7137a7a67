/* core/coll/engine.h - libraries that do whole collectives themselves: on device memory and in the order of a stream
 * (NCCL, RCCL), or on host memory while somebody goes on with them (UCC). An engine is a rank's place in such a
 * library's communicator. Their sums have an order of their own. */
#ifndef CORE_COLL_ENGINE_H
#define CORE_COLL_ENGINE_H
#include "core/coll/call.h"

enum { COLL_ID_BYTES = 128 };

typedef struct coll_engine coll_engine;
typedef struct coll_id { char bytes[COLL_ID_BYTES]; } coll_id;

/* How the ranks of an engine exchange bytes while it has no paths of its own: through the team that it is opened on. */
typedef struct coll_oob {
  /* Collective: `each` bytes of every rank, in their order; returns without waiting where the team can do that. */
  tsr_status (*start)(void *user, const void *mine, size_t each, void *all, void **request);
  bool (*is_done)(void *request);
  tsr_status (*end)(void **request); /* waits; by the team's deadline */
  void *user;
} coll_oob;

typedef struct coll_join {
  coll_id id;
  int32_t rank, n_ranks;
  int64_t deadline_ms; /* 0: 30,000 */
  coll_oob oob;        /* there until the engine is closed */
} coll_join;

typedef struct coll_engine_ops {
  /* Is the library here? TSR_UNAVAILABLE with what is missing. */
  tsr_status (*load)(const tsr_allocator *al);
  /* What one rank makes and all open with. */
  tsr_status (*make_id)(const tsr_allocator *al, coll_id *out);
  /* Collective. On the calling thread's device. */
  tsr_status (*open)(const tsr_allocator *al, const coll_join *join, coll_engine **out);
  /* Puts the call on the stream, or begins it. TSR_UNSUPPORTED, before anything is begun, for what the library has
   * not. */
  tsr_status (*post)(coll_engine *e, const coll_call *c, void *stream);
  /* Of those without streams: goes on with the call that was begun; true: `wait` will have its outcome at once. */
  bool (*progress)(coll_engine *e);
  /* Until the stream, or the call, is done. At the deadline the communicator is aborted, where that can be: all that
   * waits in it ends, and it is of no use any more. */
  tsr_status (*wait)(coll_engine *e, void *stream, int64_t deadline_ms);
  /* Collective where the library is asked in vain otherwise (UCC). */
  void (*close)(coll_engine **e);
} coll_engine_ops;
#endif
