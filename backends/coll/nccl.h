/* backends/coll/nccl.h - the entry points of NCCL and RCCL (which has NCCL's names), found at run time: no header of
 * theirs is needed. Declared from their documentation. */
#ifndef BACKENDS_COLL_NCCL_H
#define BACKENDS_COLL_NCCL_H
#include "core/coll/engine.h"

typedef struct nccl_comm *nccl_comm_t;

enum { NCCL_OK = 0, NCCL_IN_PROGRESS = 7, NCCL_MAGIC = (int)0xcafebeef, NCCL_UNDEFINED = INT32_MIN };
enum { NCCL_NOT_READY = 600 }; /* of CUDA's and HIP's streams alike */

/* As of 2.18, whose size and version newer libraries accept. */
typedef struct nccl_config {
  size_t size;
  unsigned magic, version;
  int blocking, cga_cluster_size, min_ctas, max_ctas;
  const char *net_name;
  int split_share;
} nccl_config;

/* X(field, name, result, arguments) */
#define NCCL_CALLS(X) \
  X(get_version, "ncclGetVersion", int, (int *)) \
  X(get_id, "ncclGetUniqueId", int, (coll_id *)) \
  X(init, "ncclCommInitRankConfig", int, (nccl_comm_t *, int, coll_id, int, nccl_config *)) \
  X(async_error, "ncclCommGetAsyncError", int, (nccl_comm_t, int *)) \
  X(abort, "ncclCommAbort", int, (nccl_comm_t)) \
  X(destroy, "ncclCommDestroy", int, (nccl_comm_t)) \
  X(text, "ncclGetErrorString", const char *, (int)) \
  X(all_reduce, "ncclAllReduce", int, (const void *, void *, size_t, int, int, nccl_comm_t, void *)) \
  X(reduce_scatter, "ncclReduceScatter", int, (const void *, void *, size_t, int, int, nccl_comm_t, void *)) \
  X(all_gather, "ncclAllGather", int, (const void *, void *, size_t, int, nccl_comm_t, void *)) \
  X(broadcast, "ncclBroadcast", int, (const void *, void *, size_t, int, int, nccl_comm_t, void *)) \
  X(reduce, "ncclReduce", int, (const void *, void *, size_t, int, int, int, nccl_comm_t, void *)) \
  X(send, "ncclSend", int, (const void *, size_t, int, int, nccl_comm_t, void *)) \
  X(receive, "ncclRecv", int, (void *, size_t, int, int, nccl_comm_t, void *)) \
  X(group_start, "ncclGroupStart", int, (void)) \
  X(group_end, "ncclGroupEnd", int, (void))

typedef struct nccl_api {
#define FIELD(field, name, result, arguments) result (*field) arguments;
  NCCL_CALLS(FIELD)
#undef FIELD
  int (*stream_query)(void *stream);
} nccl_api;

/* One of the two. */
typedef struct nccl_library {
  const char *name, *knob, *files[3];                          /* NULL ends them */
  const char *driver_knob, *drivers[3], *stream_query, *install;
} nccl_library;

extern const nccl_library nccl_of_nvidia, nccl_of_amd;

/* nccl_load.c; loaded once per process. */
TSR_MUST_USE tsr_status nccl_load(const tsr_allocator *al, const nccl_library *lib, const nccl_api **out);
#endif
