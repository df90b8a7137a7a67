/* core/runtime/team_buffers.c - see tessera/dist.h: collectives on buffers of devices, in place where the host sees
 * their memory, else on copies of it. */
#include "core/runtime/internal.h"
#include "core/runtime/team_base.h"
#include "tessera/dist.h"

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* a device is one thread's at a time */

typedef struct side {
  tsr_binding at;
  size_t bytes;
  void *copy; /* NULL: in place */
} side;

static tsr_status check_side(const tsr_team *t, const side *s, const char *what) {
  const char *const fn = "team_run_buffers";
  const size_t has = tsr_buffer_bytes(s->at.buffer);
  if (!s->bytes || (s->at.offset <= has && s->bytes <= has - s->at.offset)) return NULL;
  return st_make(&t->al, TSR_INVALID_ARGUMENT, RT_WHERE(fn, NULL), "%s: %zu bytes from %zu of a buffer of %zu", what,
                 s->bytes, s->at.offset, has);
}

static tsr_status open_side(const tsr_team *t, side *s, bool reads, void **out) {
  *out = NULL;
  if (!s->bytes) return NULL;
  char *mapped = tsr_buffer_map(s->at.buffer);
  if (mapped) return *out = mapped + s->at.offset, NULL;
  if (!(s->copy = al_alloc(&t->al, s->bytes, 64))) return st_oom();
  *out = s->copy;
  if (!reads) return NULL;
  pthread_mutex_lock(&turn);
  tsr_status st = tsr_buffer_read(s->at.buffer, s->at.offset, s->copy, s->bytes);
  pthread_mutex_unlock(&turn);
  return st;
}

tsr_status tsr_team_run_buffers(tsr_team *t, int rank, const tsr_coll *c, const tsr_coll_buffers *where,
                                const char **path) {
  const char *const fn = "team_run_buffers";
  RT_NEED(fn, "team", t);
  RT_NEED(fn, "call", c);
  RT_NEED(fn, "where", where);
  if (path) *path = "";
  if (t->engine && t->transport->device_memory)
    return team_bad(t, fn, "this transport takes addresses of the device's memory: tsr_team_run");
  if (!team_has_rank(t, rank)) return team_bad(t, fn, "no such rank in this process");
  const size_t size = c->op == TSR_COLL_BARRIER ? 1 : tsr_dtype_size(c->dtype);
  const int64_t in = tsr_coll_in_count(c->op, c->count, tsr_team_size(t), rank, c->root);
  const int64_t out = tsr_coll_out_count(c->op, c->count, tsr_team_size(t), rank, c->root);
  const int64_t most = size ? PTRDIFF_MAX / (int64_t)size : 0;
  if (in < 0 || out < 0 || !size || in > most || out > most) return team_bad(t, fn, "no such call");
  side from = {where->in, (size_t)in * size, NULL}, to = {where->out, (size_t)out * size, NULL};
  tsr_coll call = *c;
  void *in_at = NULL;
  tsr_status st = check_side(t, &from, "in");
  if (!st) st = check_side(t, &to, "out");
  if (!st) st = open_side(t, &from, true, &in_at);
  if (!st) st = open_side(t, &to, false, &call.out);
  call.in = in_at;
  if (path) *path = from.copy || to.copy ? "through the host" : "in place";
  if (!st) st = tsr_team_run(t, rank, &call);
  if (!st && to.copy) {
    pthread_mutex_lock(&turn);
    st = tsr_buffer_write(to.at.buffer, to.at.offset, to.copy, to.bytes);
    pthread_mutex_unlock(&turn);
  }
  if (from.copy) al_free(&t->al, from.copy, from.bytes, 64);
  if (to.copy) al_free(&t->al, to.copy, to.bytes, 64);
  return st;
}
