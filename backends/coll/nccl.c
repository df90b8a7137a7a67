/* backends/coll/nccl.c - collectives by NCCL and RCCL: communicators that don't block, calls on the caller's stream,
 * and an end by abort where a deadline is met. Blocks of different lengths go by groups of their smaller calls. */
#include "backends/coll/nccl.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "backends/coll/transports.h"
#include "core/base/clock.h"
#include "core/coll/state.h"

struct coll_engine {
  tsr_allocator al;
  const nccl_library *lib;
  const nccl_api *api;
  nccl_comm_t comm; /* NULL: aborted */
  int32_t rank, n_ranks;
  char last[200]; /* the call that was put on a stream last */
};

static tsr_status error(const coll_engine *e, const char *what, int rc) {
  return st_make(&e->al, TSR_LAUNCH_FAILED, ST_WHERE("collective", e->lib->name, NULL), "rank %d: %s: %s", e->rank,
                 what, e->api->text(rc));
}

static void give_up(coll_engine *e) {
  if (e->comm) e->api->abort(e->comm);
  e->comm = NULL;
}

/* A call that doesn't block is through with its own work. */
static tsr_status settle(coll_engine *e, int rc, const char *what, int64_t deadline_ms) {
  int64_t until = clock_ns() + (deadline_ms ? deadline_ms : 30000) * 1000000;
  while (rc == NCCL_OK || rc == NCCL_IN_PROGRESS) {
    int state = NCCL_OK;
    rc = e->api->async_error(e->comm, &state);
    if (rc == NCCL_OK && state == NCCL_OK) return NULL;
    if (rc == NCCL_OK) rc = state;
    if (rc == NCCL_IN_PROGRESS && clock_ns() > until) {
      give_up(e);
      return st_make(&e->al, TSR_TIMEOUT, ST_WHERE("collective", e->lib->name, NULL),
                     "rank %d: %s isn't through within %lld ms: a rank doesn't take part", e->rank, what,
                     (long long)(deadline_ms ? deadline_ms : 30000));
    }
    if (rc == NCCL_IN_PROGRESS) sched_yield();
  }
  give_up(e);
  return error(e, what, rc);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static int type_of(tsr_dtype t) {
  static const struct {
    tsr_dtype t;
    int nccl;
  } rows[] = {{TSR_I8, 0},  {TSR_U8, 1},   {TSR_BOOL, 1}, {TSR_I32, 2},  {TSR_U32, 3},  {TSR_I64, 4},  {TSR_U64, 5},     {TSR_F16, 6},
              {TSR_F32, 7}, {TSR_TF32, 7}, {TSR_F64, 8},  {TSR_BF16, 9}, {TSR_F8E4M3, 10}, {TSR_F8E5M2, 11}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].t == t) return rows[i].nccl;
  return -1;
}

/* Their numbers are ours but for bool: "or" is the maximum of 0 and 1, "and" the minimum. */
static int redop_of(const coll_call *c) {
  if (c->dtype != TSR_BOOL) return (int)c->redop;
  return c->redop == COLL_SUM ? (int)COLL_MAX : c->redop == COLL_PROD ? (int)COLL_MIN : (int)c->redop;
}

static const char *refusal(const coll_call *c) {
  bool reduces = coll_op_get(c->op)->reduces;
  if (c->op == COLL_BARRIER) return "a stream has no barrier; wait for it";
  if (type_of(c->dtype) < 0) return "the library doesn't have the type";
  if (reduces && !coll_partial_type(c->dtype, c->redop)) return "the reduction isn't defined for the type";
  if (reduces && !c->any_order && !coll_is_exact(c->dtype, c->redop))
    return "its sums have an order of their own: ask for any_order";
  if (reduces && !dtype_is_float(c->dtype) && c->redop == COLL_MEAN) return "it has no mean of integers";
  return NULL;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Blocks of different lengths: each block is a call of its own, all in one group. */
static int by_blocks(coll_engine *e, const coll_call *c, void *stream) {
  const nccl_api *a = e->api;
  size_t size = dtype_get(c->dtype)->size;
  int t = type_of(c->dtype), rc = NCCL_OK;
  for (int32_t r = 0; r < e->n_ranks && rc == NCCL_OK; r++) {
    coll_range b = coll_split(c->count, e->n_ranks, r);
    if (c->op == COLL_REDUCE_SCATTER)
      rc = a->reduce((const char *)c->in + (size_t)b.first * size, c->out, (size_t)b.n, t, redop_of(c), r, e->comm,
                     stream);
    else rc = a->broadcast(c->in, (char *)c->out + (size_t)b.first * size, (size_t)b.n, t, r, e->comm, stream);
  }
  return rc;
}

static int to_all(coll_engine *e, const coll_call *c, void *stream) {
  size_t size = dtype_get(c->dtype)->size, mine = (size_t)coll_split(c->count, e->n_ranks, e->rank).n;
  int t = type_of(c->dtype), rc = NCCL_OK;
  for (int32_t r = 0; r < e->n_ranks && rc == NCCL_OK; r++) {
    coll_range b = coll_split(c->count, e->n_ranks, r);
    rc = e->api->send((const char *)c->in + (size_t)b.first * size, (size_t)b.n, t, r, e->comm, stream);
    if (rc == NCCL_OK) rc = e->api->receive((char *)c->out + (size_t)r * mine * size, mine, t, r, e->comm, stream);
  }
  return rc;
}

static int to_next(coll_engine *e, const coll_call *c, void *stream) {
  int t = type_of(c->dtype), n = e->n_ranks;
  int rc = e->api->send(c->in, (size_t)c->count, t, (e->rank + 1) % n, e->comm, stream);
  return rc == NCCL_OK ? e->api->receive(c->out, (size_t)c->count, t, (e->rank + n - 1) % n, e->comm, stream) : rc;
}

static int put(coll_engine *e, const coll_call *c, void *stream) {
  const nccl_api *a = e->api;
  size_t n = (size_t)c->count, each = n / (size_t)e->n_ranks;
  int t = type_of(c->dtype), op = redop_of(c);
  bool even = c->count % e->n_ranks == 0;
  switch (c->op) {
    case COLL_ALL_REDUCE: return a->all_reduce(c->in, c->out, n, t, op, e->comm, stream);
    case COLL_BROADCAST: return a->broadcast(c->in, c->out, n, t, c->root, e->comm, stream);
    case COLL_REDUCE: return a->reduce(c->in, c->out, n, t, op, c->root, e->comm, stream);
    case COLL_REDUCE_SCATTER:
      return even ? a->reduce_scatter(c->in, c->out, each, t, op, e->comm, stream) : by_blocks(e, c, stream);
    case COLL_ALL_GATHER:
      return even ? a->all_gather(c->in, c->out, each, t, e->comm, stream) : by_blocks(e, c, stream);
    case COLL_ALL_TO_ALL: return to_all(e, c, stream);
    default: return to_next(e, c, stream);
  }
}

static tsr_status post(coll_engine *e, const coll_call *c, void *stream) {
  st_where where = ST_WHERE("collective", e->lib->name, NULL);
  const char *no = refusal(c);
  char text[200];
  coll_call_describe(c, text, sizeof text);
  if (no) return st_make(&e->al, TSR_UNSUPPORTED, where, "%s: %s", text, no);
  if (!e->comm) return st_make(&e->al, TSR_CANCELLED, where, "rank %d: the communicator was aborted", e->rank);
  memcpy(e->last, text, sizeof text);
  int rc = e->api->group_start(), end;
  if (rc == NCCL_OK) rc = put(e, c, stream);
  end = e->api->group_end();
  if (rc == NCCL_OK || rc == NCCL_IN_PROGRESS) rc = end;
  return settle(e, rc, text, c->deadline_ms);
}

static tsr_status wait_for(coll_engine *e, void *stream, int64_t deadline_ms) {
  int64_t until = clock_ns() + (deadline_ms ? deadline_ms : 30000) * 1000000;
  st_where where = ST_WHERE("collective", e->lib->name, NULL);
  if (!e->comm) return st_make(&e->al, TSR_CANCELLED, where, "rank %d: the communicator was aborted", e->rank);
  for (;;) {
    int state = NCCL_OK, rc = e->api->async_error(e->comm, &state);
    if (rc != NCCL_OK || (state != NCCL_OK && state != NCCL_IN_PROGRESS)) {
      give_up(e);
      return error(e, e->last, rc != NCCL_OK ? rc : state);
    }
    int is = e->api->stream_query(stream);
    if (!is) return NULL;
    if (is != NCCL_NOT_READY) {
      give_up(e);
      return st_make(&e->al, TSR_LAUNCH_FAILED, where, "rank %d: %s: the stream has error %d", e->rank, e->last, is);
    }
    if (clock_ns() > until) {
      give_up(e);
      return st_make(&e->al, TSR_TIMEOUT, where, "rank %d: %s: the stream isn't done within %lld ms", e->rank, e->last,
                     (long long)(deadline_ms ? deadline_ms : 30000));
    }
    sched_yield();
  }
}

static void close_engine(coll_engine **pe) {
  coll_engine *e = *pe;
  tsr_allocator al = e->al;
  if (e->comm) e->api->destroy(e->comm);
  al_delete(&al, e);
  *pe = NULL;
}

static tsr_status open_engine(const tsr_allocator *al, const nccl_library *lib, const coll_join *j, coll_engine **out) {
  const nccl_api *api;
  nccl_config config = {.size = sizeof config,
                        .magic = (unsigned)NCCL_MAGIC,
                        .version = 21800,
                        .blocking = 0,
                        .cga_cluster_size = NCCL_UNDEFINED,
                        .min_ctas = NCCL_UNDEFINED,
                        .max_ctas = NCCL_UNDEFINED,
                        .split_share = NCCL_UNDEFINED};
  *out = NULL;
  TSR_TRY(nccl_load(al, lib, &api));
  coll_engine *e = al_new(al, coll_engine);
  if (!e) return st_oom();
  e->al = al && al->alloc ? *al : al_default;
  e->lib = lib, e->api = api, e->rank = j->rank, e->n_ranks = j->n_ranks;
  int rc = api->init(&e->comm, j->n_ranks, j->id, j->rank, &config);
  tsr_status st = e->comm ? settle(e, rc, "the communicator", j->deadline_ms) : error(e, "the communicator", rc);
  if (!st) *out = e;
  else close_engine(&e);
  return st;
}

static tsr_status make_id(const tsr_allocator *al, const nccl_library *lib, coll_id *out) {
  const nccl_api *api;
  TSR_TRY(nccl_load(al, lib, &api));
  int rc = api->get_id(out);
  if (rc == NCCL_OK) return NULL;
  return st_make(al, TSR_LAUNCH_FAILED, ST_WHERE("collective", lib->name, NULL), "an id: %s", api->text(rc));
}

#define ENGINE(lib)                                                                                                    \
  static tsr_status lib##_load(const tsr_allocator *al) {                                                              \
    const nccl_api *api;                                                                                               \
    return nccl_load(al, &lib, &api);                                                                                  \
  }                                                                                                                    \
  static tsr_status lib##_id(const tsr_allocator *al, coll_id *out) { return make_id(al, &lib, out); }                 \
  static tsr_status lib##_open(const tsr_allocator *al, const coll_join *join, coll_engine **out) {                    \
    return open_engine(al, &lib, join, out);                                                                           \
  }                                                                                                                    \
  static const coll_engine_ops lib##_ops = {lib##_load, lib##_id, lib##_open, post, NULL, wait_for, close_engine};
ENGINE(nccl_of_nvidia)
ENGINE(nccl_of_amd)

enum { OPS = COLL_BIT(COLL_BARRIER) - 1 };

const coll_transport transport_nccl = {
    .name = "nccl",
    .help = "NVIDIA's library: device memory, in the order of a stream",
    .processes = true,
    .device_memory = true,
    .stream_ordered = true,
    .abortable = true,
    .ops = OPS,
    .engine = &nccl_of_nvidia_ops,
};
const coll_transport transport_rccl = {
    .name = "rccl",
    .help = "AMD's library: device memory, in the order of a stream",
    .processes = true,
    .device_memory = true,
    .stream_ordered = true,
    .abortable = true,
    .ops = OPS,
    .engine = &nccl_of_amd_ops,
};
