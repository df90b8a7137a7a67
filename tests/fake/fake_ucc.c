/* tests/fake/fake_ucc.c - a library with UCC's entry points for ranks that are threads of one process. As the real one
 * it does nothing but while it is asked to go on, finds its ranks through the caller's allgather (when a context is
 * made, and again for a team and at the end), and refuses what the real one would. Its structs are written down from
 * UCC's documentation a second time, so that a field in the wrong place shows. The knobs of a test are found by dlsym:
 * fake_ucc_fail (the next collective fails with it), fake_ucc_open (contexts there are). */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INPROGRESS = 1, NOT_SUPPORTED = -1, INVALID_PARAM = -3, NO_MEMORY = -4, NO_MESSAGE = -6, MOST = 16 };
enum {
  ALLGATHER = 1 << 0,
  ALLGATHERV = 1 << 1,
  ALLREDUCE = 1 << 2,
  ALLTOALL = 1 << 3,
  ALLTOALLV = 1 << 4,
  BARRIER = 1 << 5,
  BCAST = 1 << 6,
  REDUCE = 1 << 11,
  REDUCE_SCATTER = 1 << 12,
  REDUCE_SCATTERV = 1 << 13
};
enum { OP_SUM, OP_PROD, OP_MAX, OP_MIN, OP_AVG = 12 };

typedef struct oob_coll {
  int (*allgather)(void *src, void *recv, size_t size, void *info, void **request);
  int (*req_test)(void *request);
  int (*req_free)(void *request);
  void *coll_info;
  uint32_t n_oob_eps, oob_ep;
} oob_coll;
typedef struct mem_map_params {
  void *segments;
  uint64_t n_segments;
} mem_map_params;
typedef struct lib_params {
  uint64_t mask;
  int thread_mode;
  uint64_t coll_types, reduction_types;
  int sync_type;
} lib_params;
typedef struct context_params {
  uint64_t mask;
  int type;
  int sync_type;
  oob_coll oob;
  uint64_t ctx_id;
  mem_map_params mem_params;
} context_params;
typedef struct team_params {
  uint64_t mask, flags;
  int ordering;
  uint64_t outstanding_colls, ep, *ep_list;
  int ep_range;
  uint64_t team_size;
  int sync_type;
  oob_coll oob;
  void *p2p_conn[5];
  mem_map_params mem_params;
  uint64_t ep_map[4], id;
} team_params;
typedef struct buffer_info {
  void *buffer;
  uint64_t count, datatype;
  int mem_type;
} buffer_info;
typedef struct buffer_info_v {
  void *buffer;
  uint64_t *counts, *displacements, datatype;
  int mem_type;
} buffer_info_v;
typedef struct coll_args {
  uint64_t mask;
  unsigned coll_type;
  union {
    buffer_info info;
    buffer_info_v info_v;
  } src, dst;
  int op;
  uint64_t flags, root;
  int error_type;
  uint16_t tag;
  void *global_work_buffer;
  void (*cb)(void *data, int status);
  void *cb_data;
  double timeout;
  uint64_t active_start;
  int64_t active_stride;
  uint64_t active_size;
  void *src_memh, *dst_memh;
} coll_args;

typedef struct request {
  int status; /* what a caller may look at */
  struct team *team;
  coll_args args;
  unsigned number;
  int computed;
  int64_t bytes; /* of the result; -1: the ranks don't agree */
  char *result;
  void *place;
  struct request *next;
} request;

typedef struct world {
  int n, posted[256], computed[256], done[256]; /* by the call's number, of which few are under way */
  request *calls[256][MOST];
} world;

typedef struct context {
  oob_coll oob;
  struct team *team;
} context;

typedef struct team {
  context *c;
  oob_coll oob;
  world *w;
  int rank, ready;
  unsigned n_calls;
  world *all[MOST], *mine;
  void *asked;
  request *first;
} team;

int fake_ucc_fail, fake_ucc_open;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const char *ucc_status_string(int status) {
  return status == NOT_SUPPORTED ? "Operation is not supported" : status < 0 ? "Unhandled error" : "Success";
}
const char *ucc_get_version_string(void) { return "1.9.0"; }

/* ---- library and context ----------------------------------------------------------------------------------------- */

int ucc_lib_config_read(const char *prefix, const char *file, void **out) { return *out = malloc(1), OK; }
void ucc_lib_config_release(void *config) { free(config); }
int ucc_context_config_read(void *lib, const char *file, void **out) { return *out = malloc(1), OK; }
void ucc_context_config_release(void *config) { free(config); }

int ucc_init_version(unsigned major, unsigned minor, const lib_params *p, void *config, void **out) {
  if (major != 1 || minor > 9 || p->mask != 1 || p->thread_mode != 2 || !config) return INVALID_PARAM;
  return *out = malloc(1), OK;
}
int ucc_finalize(void *lib) { return free(lib), OK; }

static int gather_all(const oob_coll *o, void *mine, void *all, size_t size) {
  void *asked = NULL;
  int rc = o->allgather(mine, all, size, o->coll_info, &asked);
  if (rc) return rc;
  if (!asked) return INVALID_PARAM;
  while ((rc = o->req_test(asked)) == INPROGRESS) continue;
  return o->req_free(asked), rc;
}

int ucc_context_create(void *lib, const context_params *p, void *config, context **out) {
  uint32_t ranks[MOST];
  if (!lib || !config || p->mask != 4 || p->oob.n_oob_eps > MOST || p->oob.oob_ep >= p->oob.n_oob_eps)
    return INVALID_PARAM;
  uint32_t mine = p->oob.oob_ep;
  int rc = gather_all(&p->oob, &mine, ranks, sizeof mine);
  if (rc) return rc;
  for (uint32_t r = 0; r < p->oob.n_oob_eps; r++)
    if (ranks[r] != r) return NO_MESSAGE;
  context *c = calloc(1, sizeof *c);
  c->oob = p->oob;
  __atomic_add_fetch(&fake_ucc_open, 1, __ATOMIC_SEQ_CST);
  return *out = c, OK;
}

int ucc_context_destroy(context *c) {
  char mine = 0, all[MOST];
  int rc = gather_all(&c->oob, &mine, all, 1); /* nobody goes while others may still reach for it */
  __atomic_sub_fetch(&fake_ucc_open, 1, __ATOMIC_SEQ_CST);
  return free(c), rc;
}

/* ---- teams ------------------------------------------------------------------------------------------------------- */

int ucc_team_create_post(context **c, uint32_t n, const team_params *p, team **out) {
  if (n != 1 || p->mask != (1 << 2 | 1 << 4 | 1 << 7) || p->ep != p->oob.oob_ep || p->ep_range) return INVALID_PARAM;
  team *t = calloc(1, sizeof *t);
  t->c = c[0], t->oob = p->oob, t->rank = (int)p->ep;
  if (!t->rank) t->mine = calloc(1, sizeof *t->mine), t->mine->n = (int)p->oob.n_oob_eps;
  int rc = t->oob.allgather(&t->mine, t->all, sizeof t->mine, t->oob.coll_info, &t->asked);
  c[0]->team = t;
  return *out = t, rc;
}

int ucc_team_create_test(team *t) {
  if (t->ready) return OK;
  int rc = t->oob.req_test(t->asked);
  if (rc) return rc;
  t->oob.req_free(t->asked);
  t->w = t->all[0], t->ready = 1;
  return OK;
}

int ucc_team_destroy(team *t) {
  char mine = 0, all[MOST];
  int rc = gather_all(&t->oob, &mine, all, 1);
  t->c->team = NULL;
  free(t->mine);
  return free(t), rc;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static size_t size_of(uint64_t type) {
  static const size_t sizes[] = {1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 2, 4, 8, 2};
  return type % 8 || type / 8 >= sizeof sizes / sizeof *sizes ? 0 : sizes[type / 8];
}

static double load(uint64_t type, const void *p, uint64_t i) {
  switch (type / 8) {
    case 0: return ((const int8_t *)p)[i];
    case 1: return ((const int16_t *)p)[i];
    case 2: return ((const int32_t *)p)[i];
    case 3: return (double)((const int64_t *)p)[i];
    case 5: return ((const uint8_t *)p)[i];
    case 6: return ((const uint16_t *)p)[i];
    case 11: return ((const float *)p)[i];
    default: return ((const double *)p)[i];
  }
}

static void store(uint64_t type, void *p, uint64_t i, double v) {
  switch (type / 8) {
    case 0: ((int8_t *)p)[i] = (int8_t)v; break;
    case 1: ((int16_t *)p)[i] = (int16_t)v; break;
    case 2: ((int32_t *)p)[i] = (int32_t)v; break;
    case 3: ((int64_t *)p)[i] = (int64_t)v; break;
    case 5: ((uint8_t *)p)[i] = (uint8_t)v; break;
    case 6: ((uint16_t *)p)[i] = (uint16_t)v; break;
    case 11: ((float *)p)[i] = (float)v; break;
    default: ((double *)p)[i] = v;
  }
}

static const coll_args *args_of(const request *x, int rank) { return &x->team->w->calls[x->number % 256][rank]->args; }
static const void *input_of(const coll_args *a) { return a->flags & 1 ? a->dst.info.buffer : a->src.info.buffer; }

static void reduce_to(const request *x, uint64_t first, uint64_t n, void *to) {
  const uint64_t type = x->args.dst.info_v.datatype, flat = x->args.dst.info.datatype;
  const uint64_t t = x->args.coll_type == REDUCE_SCATTERV ? type : flat;
  const int ranks = x->team->w->n, op = x->args.op;
  for (uint64_t i = 0; i < n; i++) {
    double v = load(t, input_of(args_of(x, 0)), first + i);
    for (int r = 1; r < ranks; r++) {
      double y = load(t, input_of(args_of(x, r)), first + i);
      v = op == OP_PROD ? v * y : op == OP_MAX ? (y > v ? y : v) : op == OP_MIN ? (y < v ? y : v) : v + y;
    }
    store(t, to, i, op == OP_AVG ? v / ranks : v);
  }
}

/* Bytes of the rank's result, which goes where `place` says; -1: the ranks don't agree. */
static int64_t work_out(request *x, char *to, void **place) {
  const coll_args *a = &x->args;
  const int me = x->team->rank, n = x->team->w->n;
  const uint64_t *counts = a->dst.info_v.counts, *at = a->dst.info_v.displacements;
  uint64_t bytes = 0;
  *place = a->dst.info.buffer;
  for (int r = 0; r < n; r++)
    if (args_of(x, r)->coll_type != a->coll_type) return -1;
  switch (a->coll_type) {
    case BARRIER: return 0;
    case BCAST:
      *place = a->src.info.buffer;
      memcpy(to, args_of(x, (int)a->root)->src.info.buffer, a->src.info.count * size_of(a->src.info.datatype));
      return (int)a->root == me ? 0 : (int64_t)(a->src.info.count * size_of(a->src.info.datatype));
    case REDUCE:
    case ALLREDUCE:
      if (a->coll_type == REDUCE && (int)a->root != me) return 0;
      reduce_to(x, 0, a->dst.info.count, to);
      return (int64_t)(a->dst.info.count * size_of(a->dst.info.datatype));
    case REDUCE_SCATTER:
      if (a->dst.info.count * (uint64_t)n != a->src.info.count) return -1;
      reduce_to(x, (uint64_t)me * a->dst.info.count, a->dst.info.count, to);
      return (int64_t)(a->dst.info.count * size_of(a->dst.info.datatype));
    case REDUCE_SCATTERV:
      reduce_to(x, at[me], counts[me], to);
      return (int64_t)(counts[me] * size_of(a->dst.info_v.datatype));
    case ALLGATHER:
      bytes = a->src.info.count * size_of(a->src.info.datatype);
      if (a->dst.info.count != a->src.info.count * (uint64_t)n) return -1;
      for (int r = 0; r < n; r++) memcpy(to + (uint64_t)r * bytes, args_of(x, r)->src.info.buffer, bytes);
      return (int64_t)bytes * n;
    case ALLTOALL:
      bytes = a->src.info.count * size_of(a->src.info.datatype) / (uint64_t)n;
      for (int r = 0; r < n; r++)
        memcpy(to + (uint64_t)r * bytes, (char *)args_of(x, r)->src.info.buffer + (uint64_t)me * bytes, bytes);
      return (int64_t)bytes * n;
    default: break;
  }
  for (int r = 0; r < n; r++) { /* bytes alone are moved so */
    const coll_args *b = args_of(x, r);
    const char *from = b->src.info.buffer;
    uint64_t len = b->src.info.count;
    if (a->coll_type == ALLTOALLV)
      from = (char *)b->src.info_v.buffer + b->src.info_v.displacements[me], len = b->src.info_v.counts[me];
    if (len != counts[r]) return -1;
    if (len) memcpy(to + at[r], from, len);
    if (at[r] + len > bytes) bytes = at[r] + len;
  }
  return (int64_t)bytes;
}

static uint64_t most_bytes(const request *x) {
  uint64_t most = 1;
  for (int r = 0; r < x->team->w->n; r++) {
    const coll_args *a = &x->args;
    if (a->coll_type & (ALLTOALLV | ALLGATHERV | REDUCE_SCATTERV))
      most += a->dst.info_v.counts[r] * size_of(a->dst.info_v.datatype);
  }
  return most + (x->args.coll_type == BCAST ? x->args.src.info.count * size_of(x->args.src.info.datatype)
                 : x->args.coll_type & (ALLTOALLV | ALLGATHERV | REDUCE_SCATTERV | BARRIER)
                     ? 0
                     : x->args.dst.info.count * size_of(x->args.dst.info.datatype));
}

/* Under the lock. Inputs are read by all before any result is written. */
static void go_on(request *x) {
  world *w = x->team->w;
  const int k = (int)(x->number % 256);
  if (x->status != INPROGRESS || w->posted[k] < w->n) return;
  if (!x->computed) {
    x->result = malloc(most_bytes(x));
    x->bytes = work_out(x, x->result, &x->place);
    x->computed = 1, w->computed[k]++;
  }
  if (w->computed[k] < w->n) return;
  if (x->bytes > 0) memcpy(x->place, x->result, (size_t)x->bytes);
  x->status = x->bytes < 0 ? NO_MESSAGE : OK;
  if (++w->done[k] == w->n) w->posted[k] = w->computed[k] = w->done[k] = 0;
}

int ucc_collective_init(coll_args *a, request **out, team *t) {
  int rc = __atomic_exchange_n(&fake_ucc_fail, 0, __ATOMIC_SEQ_CST); /* of the ranks' threads, one fails */
  if (rc) return rc;
  if (a->mask != 1 || (a->flags & (1 << 2 | 1 << 3)) != (1 << 2 | 1 << 3) || !t->ready) return INVALID_PARAM;
  request *x = calloc(1, sizeof *x);
  x->status = 2, x->team = t, x->args = *a, x->number = t->n_calls++;
  return *out = x, OK;
}

int ucc_collective_post(request *x) {
  const int k = (int)(x->number % 256);
  pthread_mutex_lock(&lock);
  x->team->w->calls[k][x->team->rank] = x;
  x->team->w->posted[k]++;
  x->status = INPROGRESS;
  x->next = x->team->first, x->team->first = x;
  pthread_mutex_unlock(&lock);
  return OK;
}

int ucc_context_progress(context *c) {
  pthread_mutex_lock(&lock);
  for (request *x = c->team && c->team->ready ? c->team->first : NULL; x; x = x->next) go_on(x);
  pthread_mutex_unlock(&lock);
  return OK;
}

int ucc_collective_finalize(request *x) {
  if (x->status == INPROGRESS) return INVALID_PARAM;
  pthread_mutex_lock(&lock);
  request **at = &x->team->first;
  while (*at && *at != x) at = &(*at)->next;
  if (*at) *at = x->next;
  pthread_mutex_unlock(&lock);
  free(x->result), free(x);
  return OK;
}
