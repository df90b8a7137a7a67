/* backends/coll/ucc.h - the entry points and structs of UCC (interface 1.x), found at run time: no header of its own is
 * needed. Declared from its documentation. */
#ifndef BACKENDS_COLL_UCC_H
#define BACKENDS_COLL_UCC_H
#include "core/coll/engine.h"

typedef void *ucc_handle; /* a library, context, team or configuration */

enum { UCC_OK = 0, UCC_INPROGRESS = 1, UCC_ERR_NO_MESSAGE = -6, UCC_ERR_NOT_SUPPORTED = -1, UCC_THREAD_MULTIPLE = 2 };
enum { UCC_API_MAJOR = 1, UCC_API_MINOR = 0 }; /* newer ones of the same major number take it */

/* Bits of the collectives' kinds, numbers of reductions and types (these shifted by 3). */
enum {
  UCC_ALLGATHER = 1 << 0,
  UCC_ALLGATHERV = 1 << 1,
  UCC_ALLREDUCE = 1 << 2,
  UCC_ALLTOALL = 1 << 3,
  UCC_ALLTOALLV = 1 << 4,
  UCC_BARRIER = 1 << 5,
  UCC_BCAST = 1 << 6,
  UCC_REDUCE = 1 << 11,
  UCC_REDUCE_SCATTER = 1 << 12,
  UCC_REDUCE_SCATTERV = 1 << 13
};
enum { UCC_SUM, UCC_PROD, UCC_MAX, UCC_MIN, UCC_AVG = 12 };
enum { UCC_UINT8 = 5, UCC_TYPE_SHIFT = 3 };
enum { UCC_FIELD_FLAGS = 1 << 0, UCC_IN_PLACE = 1 << 0, UCC_COUNT_64 = 1 << 2, UCC_DISPLACEMENTS_64 = 1 << 3 };

typedef struct ucc_lib_params {
  uint64_t mask;
  int thread_mode;
  uint64_t coll_types, reduction_types;
  int sync_type;
} ucc_lib_params;
enum { UCC_LIB_THREAD_MODE = 1 << 0 };

typedef struct ucc_oob {
  int (*allgather)(void *mine, void *all, size_t each, void *info, void **request);
  int (*req_test)(void *request);
  int (*req_free)(void *request);
  void *info;
  uint32_t n, rank;
} ucc_oob;

typedef struct ucc_segments {
  void *segments;
  uint64_t n;
} ucc_segments;

typedef struct ucc_context_params {
  uint64_t mask;
  int type, sync_type;
  ucc_oob oob;
  uint64_t id;
  ucc_segments memory;
} ucc_context_params;
enum { UCC_CONTEXT_OOB = 1 << 2 };

typedef struct ucc_team_params {
  uint64_t mask, flags;
  int ordering;
  uint64_t outstanding, ep, *ep_list;
  int ep_range;
  uint64_t size;
  int sync_type;
  ucc_oob oob;
  struct {
    void *lookup, *release, *context, *test, *free;
  } connections;
  ucc_segments memory;
  struct {
    int type;
    uint64_t n, how[2];
  } ep_map;
  uint64_t id;
} ucc_team_params;
enum { UCC_TEAM_EP = 1 << 2, UCC_TEAM_EP_RANGE = 1 << 4, UCC_TEAM_OOB = 1 << 7 };

typedef union ucc_memory {
  struct {
    void *data;
    uint64_t count, type;
    int kind; /* 0: the host's */
  } info;
  struct {
    void *data;
    uint64_t *counts, *displacements, type;
    int kind;
  } v;
} ucc_memory;

typedef struct ucc_args {
  uint64_t mask;
  int kind;
  ucc_memory src, dst;
  int op;
  uint64_t flags, root;
  int error_type;
  uint16_t tag;
  void *work;
  struct {
    void (*call)(void *data, int status);
    void *data;
  } back;
  double timeout;
  struct {
    uint64_t start;
    int64_t stride;
    uint64_t size;
  } active;
  void *src_handle, *dst_handle;
} ucc_args;

typedef struct ucc_request { int status; } ucc_request; /* what of it is public */

/* X(field, name, result, arguments) */
#define UCC_CALLS(X) \
  X(text, "ucc_status_string", const char *, (int)) \
  X(version, "ucc_get_version_string", const char *, (void)) \
  X(lib_config, "ucc_lib_config_read", int, (const char *, const char *, ucc_handle *)) \
  X(lib_config_end, "ucc_lib_config_release", void, (ucc_handle)) \
  X(init, "ucc_init_version", int, (unsigned, unsigned, const ucc_lib_params *, ucc_handle, ucc_handle *)) \
  X(finalize, "ucc_finalize", int, (ucc_handle)) \
  X(context_config, "ucc_context_config_read", int, (ucc_handle, const char *, ucc_handle *)) \
  X(context_config_end, "ucc_context_config_release", void, (ucc_handle)) \
  X(context_create, "ucc_context_create", int, \
    (ucc_handle, const ucc_context_params *, ucc_handle, ucc_handle *)) \
  X(context_progress, "ucc_context_progress", int, (ucc_handle)) \
  X(context_destroy, "ucc_context_destroy", int, (ucc_handle)) \
  X(team_post, "ucc_team_create_post", int, (ucc_handle *, uint32_t, const ucc_team_params *, ucc_handle *)) \
  X(team_test, "ucc_team_create_test", int, (ucc_handle)) \
  X(team_destroy, "ucc_team_destroy", int, (ucc_handle)) \
  X(coll_init, "ucc_collective_init", int, (ucc_args *, ucc_request **, ucc_handle)) \
  X(coll_post, "ucc_collective_post", int, (ucc_request *)) \
  X(coll_finalize, "ucc_collective_finalize", int, (ucc_request *))

typedef struct ucc_api {
#define FIELD(field, name, result, arguments) result (*field) arguments;
  UCC_CALLS(FIELD)
#undef FIELD
} ucc_api;

/* ucc_load.c; loaded once per process. */
TSR_MUST_USE tsr_status ucc_load(const tsr_allocator *al, const ucc_api **out);
/* ucc_args.c: a call as UCC has it. `counts` holds 4 numbers for each rank. */
void ucc_args_fill(const coll_call *c, int32_t rank, int32_t n, uint64_t *counts, ucc_args *out);
/* Why UCC can't do it; NULL: it can. */
const char *ucc_refusal(const coll_call *c);
#endif
