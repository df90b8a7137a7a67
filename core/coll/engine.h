/* core/coll/engine.h - libraries that do whole collectives themselves, on device memory and in the order of a stream
 * (NCCL, RCCL): a rank's place in such a library's communicator. Their sums have an order of their own. */
#ifndef CORE_COLL_ENGINE_H
#define CORE_COLL_ENGINE_H
#include "core/coll/call.h"

enum { COLL_ID_BYTES = 128 };

typedef struct coll_engine coll_engine;
typedef struct coll_id { char bytes[COLL_ID_BYTES]; } coll_id;

typedef struct coll_engine_ops {
  /* Is the library here? TSR_UNAVAILABLE with what is missing. */
  tsr_status (*load)(const tsr_allocator *al);
  /* What one rank makes and all open with. */
  tsr_status (*make_id)(const tsr_allocator *al, coll_id *out);
  /* Collective. On the calling thread's device. */
  tsr_status (*open)(const tsr_allocator *al, const coll_id *id, int32_t rank, int32_t n_ranks, int64_t deadline_ms,
                     coll_engine **out);
  /* Puts the call on the stream. TSR_UNSUPPORTED, before anything is put there, for what the library has not. */
  tsr_status (*post)(coll_engine *e, const coll_call *c, void *stream);
  /* Until the stream is done. At the deadline the communicator is aborted: all that waits in it ends, and it is of no
   * use any more. */
  tsr_status (*wait)(coll_engine *e, void *stream, int64_t deadline_ms);
  void (*close)(coll_engine **e);
} coll_engine_ops;
#endif
