/* tests/fake/fake_nccl.c - a library with NCCL's entry points, whose devices are threads and whose device memory is the
 * host's: ranks of one process put calls on streams, a thread of each rank works them off in order, and each waits
 * there until all ranks have come to the same one. It refuses what the real one would. The streams' query has CUDA's
 * and HIP's names too. The knobs of a test are found by dlsym: fake_nccl_fail (the next posted call fails with it),
 * fake_nccl_open (communicators there are). */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE = 6, IN_PROGRESS = 7, MOST = 16, NOT_READY = 600 };
enum { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, REDUCE, SEND, RECEIVE };

typedef struct id {
  char bytes[128];
} id;
typedef struct config {
  size_t size;
  unsigned magic, version;
  int blocking;
} config;

typedef struct call {
  int what, type, op, peer; /* peer: or root */
  const void *in;
  void *out;
  size_t n;
  void *stream;
  struct call *next, *kept; /* kept: all that there ever were */
} call;

typedef struct world {
  char name[128];
  int n, joined;
  struct comm *comms[MOST];
  int at; /* ranks that stand at the barrier */
  unsigned turn;
  const call *now[MOST]; /* what each does */
} world;

typedef struct comm {
  world *w;
  int rank, ends, aborted, error;
  call *first, *last;
  pthread_t thread;
} comm;

int fake_nccl_fail, fake_nccl_open;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static world *worlds[64];
static struct {
  void *stream;
  int calls;
} streams[64];
static call *kept;
static _Thread_local call *group;
static _Thread_local comm *group_comms[64];
static _Thread_local int depth, n_group;

static size_t size_of(int type) {
  static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < 12 ? sizes[type] : 0;
}

static int *calls_of(void *stream) {
  int i = 0;
  while (i < 63 && streams[i].stream != stream && (streams[i].stream || streams[i].calls)) i++;
  streams[i].stream = stream;
  return &streams[i].calls;
}

/* Under the lock; false: aborted. */
static int meet(comm *c) {
  world *w = c->w;
  unsigned turn = w->turn;
  if (++w->at == w->n) {
    w->at = 0, w->turn++;
    pthread_cond_broadcast(&changed);
  }
  while (w->turn == turn && !c->aborted) pthread_cond_wait(&changed, &lock);
  return !c->aborted;
}

static double load(int type, const void *p, size_t i) {
  switch (type) {
    case 0: return ((const int8_t *)p)[i];
    case 1: return ((const uint8_t *)p)[i];
    case 2: return ((const int32_t *)p)[i];
    case 4: return (double)((const int64_t *)p)[i];
    case 7: return ((const float *)p)[i];
    default: return ((const double *)p)[i];
  }
}

static void store(int type, void *p, size_t i, double v) {
  switch (type) {
    case 0: ((int8_t *)p)[i] = (int8_t)v; break;
    case 1: ((uint8_t *)p)[i] = (uint8_t)v; break;
    case 2: ((int32_t *)p)[i] = (int32_t)v; break;
    case 4: ((int64_t *)p)[i] = (int64_t)v; break;
    case 7: ((float *)p)[i] = (float)v; break;
    default: ((double *)p)[i] = v;
  }
}

static double reduced(const world *w, const call *c, size_t i) {
  double v = load(c->type, w->now[0]->in, i);
  for (int r = 1; r < w->n; r++) {
    double x = load(c->type, w->now[r]->in, i);
    if (c->op == 1) v *= x;
    else if (c->op == 2) v = x > v ? x : v;
    else if (c->op == 3) v = x < v ? x : v;
    else v += x;
  }
  return c->op == 4 ? v / w->n : v;
}

/* The part of one rank's result, in memory of its own: inputs may be results' places. */
static void work_out(comm *c, const call *x, void *to) {
  const world *w = c->w;
  size_t size = size_of(x->type);
  switch (x->what) {
    case ALL_REDUCE:
    case REDUCE:
    case REDUCE_SCATTER:
      for (size_t i = 0; i < x->n; i++)
        store(x->type, to, i, reduced(w, x, x->what == REDUCE_SCATTER ? (size_t)c->rank * x->n + i : i));
      break;
    case ALL_GATHER:
      for (int r = 0; r < w->n; r++) memcpy((char *)to + (size_t)r * x->n * size, w->now[r]->in, x->n * size);
      break;
    case BROADCAST: memcpy(to, w->now[x->peer]->in, x->n * size); break;
    default: break;
  }
}

static size_t out_bytes(const comm *c, const call *x) {
  size_t n = x->n * size_of(x->type);
  if (x->what == REDUCE && x->peer != c->rank) return 0;
  return x->what == ALL_GATHER ? n * (size_t)c->w->n : n;
}

/* A send and its receive wait for each other alone: by a table of what is on offer. */
static struct {
  const world *w;
  int from, to;
  const call *x;
} offers[256];

static int exchange(comm *c, const call *x) {
  size_t bytes = x->n * size_of(x->type);
  int mine = -1;
  if (x->what == SEND) {
    for (int i = 0; i < 256 && mine < 0; i++)
      if (!offers[i].x) mine = i;
    offers[mine].w = c->w, offers[mine].from = c->rank, offers[mine].to = x->peer, offers[mine].x = x;
    pthread_cond_broadcast(&changed);
    while (offers[mine].x == x && !c->aborted) pthread_cond_wait(&changed, &lock);
    if (offers[mine].x == x) offers[mine].x = NULL;
    return !c->aborted;
  }
  for (;;) {
    for (int i = 0; i < 256; i++) {
      if (!offers[i].x || offers[i].w != c->w || offers[i].from != x->peer || offers[i].to != c->rank) continue;
      if (offers[i].x->n != x->n) return 0;
      memmove(x->out, offers[i].x->in, bytes);
      offers[i].x = NULL;
      pthread_cond_broadcast(&changed);
      return 1;
    }
    if (c->aborted) return 0;
    pthread_cond_wait(&changed, &lock);
  }
}

/* Under the lock. */
static int perform(comm *c, const call *x) {
  if (x->what == SEND && x->peer == c->rank) return 1; /* the receive copies */
  if (x->what >= SEND) return exchange(c, x);
  c->w->now[c->rank] = x;
  if (!meet(c)) return 0;
  for (int r = 0; r < c->w->n; r++)
    if (c->w->now[r]->what != x->what || c->w->now[r]->n != x->n || c->w->now[r]->type != x->type) return 0;
  void *to = malloc(out_bytes(c, x) + 1);
  if (out_bytes(c, x)) work_out(c, x, to);
  int ok = meet(c);
  if (ok && out_bytes(c, x)) memcpy(x->out, to, out_bytes(c, x));
  free(to);
  return ok && meet(c);
}

/* Sends of a group go on beside its other calls. */
typedef struct sender {
  comm *c;
  const call *x;
  int ok;
  pthread_t thread;
} sender;

static void *send_beside(void *arg) {
  sender *s = arg;
  pthread_mutex_lock(&lock);
  s->ok = perform(s->c, s->x);
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void *work(void *arg) {
  comm *c = arg;
  sender senders[MOST];
  int n_senders = 0;
  pthread_mutex_lock(&lock);
  while (!c->ends) {
    call *x = c->first;
    if (!x) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    int ok = 1;
    if (x->what == SEND && x->peer == c->rank) {
      if (x->next && x->next->what == RECEIVE && x->next->peer == c->rank)
        memcpy(x->next->out, x->in, x->n * size_of(x->type));
    } else if (x->what == RECEIVE && x->peer == c->rank) { /* copied by its send */
    } else if (x->what == SEND) {
      senders[n_senders] = (sender){c, x, 1, 0};
      pthread_create(&senders[n_senders].thread, NULL, send_beside, &senders[n_senders]);
      n_senders++;
    } else {
      ok = perform(c, x);
    }
    if (!x->next || n_senders == MOST)
      for (; n_senders; n_senders--) {
        pthread_mutex_unlock(&lock);
        pthread_join(senders[n_senders - 1].thread, NULL);
        pthread_mutex_lock(&lock);
        ok &= senders[n_senders - 1].ok;
      }
    if (!ok && !c->aborted) c->error = REMOTE;
    c->first = x->next;
    if (!c->first) c->last = NULL;
    --*calls_of(x->stream);
    pthread_cond_broadcast(&changed); /* x stays: a sender may still look at it */
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

int ncclGetVersion(int *v) { return *v = 22304, OK; }

const char *ncclGetErrorString(int rc) {
  return rc == REMOTE ? "remote process exited or there was a network error" : rc == OK ? "no error" : "invalid usage";
}

int ncclGetUniqueId(id *out) {
  static int n;
  memset(out, 0, sizeof *out);
  pthread_mutex_lock(&lock);
  snprintf(out->bytes, sizeof out->bytes, "fake world %d", n++);
  pthread_mutex_unlock(&lock);
  return OK;
}

int ncclCommInitRankConfig(comm **out, int n, id name, int rank, config *how) {
  *out = NULL;
  if (how->magic != 0xcafebeef || how->size < sizeof *how || how->blocking || n < 1 || n > MOST || rank < 0 ||
      rank >= n)
    return INVALID_ARGUMENT;
  comm *c = calloc(1, sizeof *c);
  pthread_mutex_lock(&lock);
  int i = 0;
  while (worlds[i] && memcmp(worlds[i]->name, name.bytes, sizeof name.bytes)) i++;
  if (!worlds[i]) {
    worlds[i] = calloc(1, sizeof(world));
    memcpy(worlds[i]->name, name.bytes, sizeof name.bytes);
    worlds[i]->n = n;
  }
  c->w = worlds[i], c->rank = rank;
  c->w->comms[rank] = c, c->w->joined++, fake_nccl_open++;
  pthread_create(&c->thread, NULL, work, c);
  pthread_mutex_unlock(&lock);
  *out = c;
  return IN_PROGRESS;
}

int ncclCommGetAsyncError(comm *c, int *state) {
  pthread_mutex_lock(&lock);
  *state = c->error ? c->error : c->w->joined < c->w->n ? IN_PROGRESS : OK;
  pthread_mutex_unlock(&lock);
  return OK;
}

static int end(comm *c, int aborts) {
  pthread_mutex_lock(&lock);
  while (!aborts && c->first) pthread_cond_wait(&changed, &lock);
  if (aborts) c->aborted = 1;
  c->ends = 1, fake_nccl_open--;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  pthread_join(c->thread, NULL);
  return OK; /* what is left of it stays: others may still look */
}

int ncclCommAbort(comm *c) { return end(c, 1); }
int ncclCommDestroy(comm *c) { return end(c, 0); }

int ncclGroupStart(void) {
  if (!depth++) group = NULL, n_group = 0;
  return OK;
}

int ncclGroupEnd(void) {
  if (depth-- != 1) return depth < 0 ? INVALID_USAGE : OK;
  pthread_mutex_lock(&lock);
  int i = 0;
  for (call *x = group, *next; x; x = next, i++) {
    comm *c = group_comms[i];
    next = x->next, x->next = NULL;
    if (c->last) c->last->next = x;
    else c->first = x;
    c->last = x;
    ++*calls_of(x->stream);
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return i ? IN_PROGRESS : OK;
}

static int put(comm *c, call x) {
  int rc = __atomic_exchange_n(&fake_nccl_fail, 0, __ATOMIC_SEQ_CST); /* of the ranks' threads, one fails */
  if (rc) return rc;
  if (!depth || !size_of(x.type) || x.op < 0 || x.op > 4 || x.peer < 0 || x.peer >= c->w->n || n_group == 64)
    return INVALID_ARGUMENT;
  call *own = malloc(sizeof *own), **last = &group;
  *own = x;
  pthread_mutex_lock(&lock);
  own->kept = kept, kept = own;
  pthread_mutex_unlock(&lock);
  while (*last) last = &(*last)->next;
  *last = own;
  group_comms[n_group++] = c;
  return OK;
}

int ncclAllReduce(const void *in, void *out, size_t n, int t, int op, comm *c, void *s) {
  return put(c, (call){ALL_REDUCE, t, op, 0, in, out, n, s, NULL, NULL});
}
int ncclReduceScatter(const void *in, void *out, size_t n, int t, int op, comm *c, void *s) {
  return put(c, (call){REDUCE_SCATTER, t, op, 0, in, out, n, s, NULL, NULL});
}
int ncclAllGather(const void *in, void *out, size_t n, int t, comm *c, void *s) {
  return put(c, (call){ALL_GATHER, t, 0, 0, in, out, n, s, NULL, NULL});
}
int ncclBroadcast(const void *in, void *out, size_t n, int t, int root, comm *c, void *s) {
  return put(c, (call){BROADCAST, t, 0, root, in, out, n, s, NULL, NULL});
}
int ncclReduce(const void *in, void *out, size_t n, int t, int op, int root, comm *c, void *s) {
  return put(c, (call){REDUCE, t, op, root, in, out, n, s, NULL, NULL});
}
int ncclSend(const void *in, size_t n, int t, int peer, comm *c, void *s) {
  return put(c, (call){SEND, t, 0, peer, in, NULL, n, s, NULL, NULL});
}
int ncclRecv(void *out, size_t n, int t, int peer, comm *c, void *s) {
  return put(c, (call){RECEIVE, t, 0, peer, NULL, out, n, s, NULL, NULL});
}

static int query(void *stream) {
  pthread_mutex_lock(&lock);
  int left = *calls_of(stream);
  pthread_mutex_unlock(&lock);
  return left ? NOT_READY : OK;
}

int cuStreamQuery(void *stream) { return query(stream); }
int hipStreamQuery(void *stream) { return query(stream); }
