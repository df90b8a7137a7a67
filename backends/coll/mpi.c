/* backends/coll/mpi.c - see mpi.h: bytes over the link, and how it ends. */
#define _DEFAULT_SOURCE
#include "backends/coll/mpi.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "backends/coll/transports.h"
#include "core/base/clock.h"

enum { SPINS = 100, YIELDS = 2000, SLEEP_NS = 50000 };

tsr_status mpi_fail(const mpi_link *l, tsr_code code, const char *why) {
  return st_make(&l->al, code, ST_WHERE("collective", "mpi", NULL), "%s", why);
}

/* A message failed: as good as a stop by somebody else. */
static void broken(mpi_link *l, int32_t peer, const char *why) {
  l->failed = true;
  if (l->is_stopped) return;
  l->heard.code = TSR_CANCELLED;
  snprintf(l->heard.cause, sizeof l->heard.cause, "rank %d: its messages with rank %d fail: %s", l->base.rank, peer,
           why);
  l->is_stopped = true;
}

/* ---- bytes by messages ------------------------------------------------------------------------------------------- */

/* Is the piece free: has what was begun with it come to its end? bytes, unless NULL: how many came. */
static bool is_free(mpi_link *l, int32_t peer, int *request, size_t *bytes) {
  char why[MPI_WHY];
  int is = *request < 0 ? 1 : mpi_test(l, *request, bytes, why);
  if (is < 0) broken(l, peer, why);
  if (is > 0) *request = -1;
  return is > 0;
}

static size_t pipe_write(mpi_link *l, int32_t peer, const char *data, size_t bytes) {
  mpi_pipe *p = &l->pipes[peer];
  char why[MPI_WHY];
  size_t done = 0;
  while (done < bytes) {
    uint32_t i = p->next_out % MPI_PIECES;
    if (!is_free(l, peer, &p->sends[i], NULL)) break;
    size_t n = bytes - done < MPI_PIECE ? bytes - done : MPI_PIECE;
    memcpy(p->out + i * MPI_PIECE, data + done, n);
    p->sends[i] = mpi_send(l, peer, MPI_TAG_DATA, p->out + i * MPI_PIECE, n, why);
    if (p->sends[i] < 0) {
      broken(l, peer, why);
      break;
    }
    p->next_out++, done += n;
  }
  return done;
}

static size_t pipe_read(mpi_link *l, int32_t peer, char *data, size_t bytes) {
  mpi_pipe *p = &l->pipes[peer];
  char why[MPI_WHY];
  size_t done = 0;
  while (done < bytes) {
    uint32_t i = p->next_in % MPI_PIECES;
    if (!is_free(l, peer, &p->receives[i], &p->came[i])) break;
    size_t n = p->came[i] - p->taken;
    if (n > bytes - done) n = bytes - done;
    memcpy(data + done, p->in + i * MPI_PIECE + p->taken, n);
    p->taken += n, done += n;
    if (p->taken < p->came[i]) continue;
    p->taken = 0;
    p->receives[i] = mpi_receive(l, peer, MPI_TAG_DATA, p->in + i * MPI_PIECE, MPI_PIECE, why);
    if (p->receives[i] < 0) {
      broken(l, peer, why);
      break;
    }
    p->next_in++;
  }
  return done;
}

static size_t link_write(coll_link *c, int32_t peer, const void *data, size_t bytes) {
  mpi_link *l = (mpi_link *)c;
  int32_t seat = l->seat[peer];
  if (seat >= 0) return coll_box_write(l->box, l->seat[c->rank], seat, data, bytes);
  return pipe_write(l, peer, data, bytes);
}

static size_t link_read(coll_link *c, int32_t peer, void *data, size_t bytes) {
  mpi_link *l = (mpi_link *)c;
  int32_t seat = l->seat[peer];
  if (seat >= 0) return coll_box_read(l->box, l->seat[c->rank], seat, data, bytes);
  return pipe_read(l, peer, data, bytes);
}

static void link_wait(coll_link *c, uint32_t idle, int64_t until_ns) {
  mpi_link *l = (mpi_link *)c;
  if (!l->n_pipes && l->box) coll_box_wait(l->box, l->seat[c->rank], idle, until_ns, l->crowded);
  else if (idle < SPINS && !l->crowded) return;
  else if (idle < YIELDS) sched_yield();
  else nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
}

/* ---- stops ------------------------------------------------------------------------------------------------------- */

static void link_stop(coll_link *c, tsr_code code, const char *cause) {
  mpi_link *l = (mpi_link *)c;
  char why[MPI_WHY];
  l->failed = true;
  if (l->box) coll_box_stop(l->box, code, cause);
  if (l->is_stopped) return; /* somebody else told all */
  l->said.code = (int32_t)code;
  snprintf(l->said.cause, sizeof l->said.cause, "%s", cause);
  for (int32_t r = 0; r < c->n_ranks; r++) {
    if (l->seat[r] >= 0 || r == c->rank) continue;
    int request = mpi_send(l, r, MPI_TAG_STOP, &l->said, sizeof l->said, why);
    if (request >= 0) mpi_test(l, request, NULL, why);
  }
}

static bool link_stopped(coll_link *c, tsr_code *code, char *cause) {
  mpi_link *l = (mpi_link *)c;
  char why[MPI_WHY];
  if (l->box && coll_box_stopped(l->box, code, cause)) return l->failed = true;
  if (!l->is_stopped && l->stop_request >= 0) {
    int is = mpi_test(l, l->stop_request, NULL, why);
    if (is) l->stop_request = -1;
    l->is_stopped = is > 0;
  }
  if (!l->is_stopped) return false;
  l->failed = true;
  *code = (tsr_code)l->heard.code;
  memcpy(cause, l->heard.cause, sizeof l->heard.cause);
  cause[sizeof l->heard.cause - 1] = 0;
  return true;
}

static int64_t link_silent(const coll_link *c, int32_t peer) {
  const mpi_link *l = (const mpi_link *)c;
  return l->seat[peer] >= 0 ? coll_box_silent_ms(l->box, l->seat[peer]) : -1;
}

static const char *link_path(const coll_link *c, int32_t peer) {
  return ((const mpi_link *)c)->seat[peer] >= 0 ? "shared memory" : "MPI messages";
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Is the message still under way? `cancel`: a receive that is given up first. */
static bool is_open(mpi_link *l, int *request, bool cancel) {
  char why[MPI_WHY];
  if (*request < 0) return false;
  if (cancel) l->mpi->cancel(l->shared->comm, *request);
  if (mpi_test(l, *request, NULL, why)) *request = -1;
  return *request >= 0;
}

/* Receives that stand open are given up, and every message is waited for, a second at most. */
static bool settle(mpi_link *l) {
  int64_t until = clock_ns() + 1000000000;
  bool open = true;
  if (!l->shared) return false;
  for (bool first = true; open && clock_ns() < until; first = false) {
    open = is_open(l, &l->stop_request, first);
    for (int32_t r = 0; l->pipes && r < l->base.n_ranks; r++)
      for (int i = 0; l->pipes[r].in && i < MPI_PIECES; i++) {
        open |= is_open(l, &l->pipes[r].sends[i], false);
        open |= is_open(l, &l->pipes[r].receives[i], first);
      }
    if (open) sched_yield();
  }
  return !open;
}

/* The last link of a communicator closes it. */
static void let_go(mpi_link *l, bool orderly) {
  mpi_shared *s = l->shared;
  s->failed |= !orderly, s->pending |= !orderly && l->n_pipes > 0;
  if (--s->links) return;
  l->mpi->close(&s->comm, s->pending ? MPI_PENDING : s->failed ? MPI_LOST : MPI_ORDERLY);
  al_delete(&l->al, s);
}

/* After a failure messages may still be under way from and to the link's memory: then that stays. */
static void link_close(coll_link **pc) {
  mpi_link *l = (mpi_link *)*pc;
  tsr_allocator al = l->al;
  size_t n = (size_t)l->base.n_ranks;
  bool orderly = !l->failed && settle(l);
  if (l->shared) let_go(l, orderly);
  if (l->box) munmap(l->box, l->box_bytes);
  *pc = NULL;
  if (!orderly) return;
  for (size_t r = 0; l->pipes && r < n; r++) {
    if (l->pipes[r].out) al_free(&al, l->pipes[r].out, MPI_PIECES * MPI_PIECE, 64);
    if (l->pipes[r].in) al_free(&al, l->pipes[r].in, MPI_PIECES * MPI_PIECE, 64);
  }
  if (l->pipes) al_free(&al, l->pipes, n * sizeof *l->pipes, 16);
  if (l->seat) al_free(&al, l->seat, n * sizeof *l->seat, 16);
  if (l->world) al_free(&al, l->world, n * sizeof *l->world, 16);
  al_delete(&al, l);
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

static int32_t link_next_number(const coll_link *c) { return ((const mpi_link *)c)->shared->next_number; }

static const coll_link_ops link_ops;

/* A link of n ranks, members[0..n) of the communicator (NULL: all of it). Takes a share in it. */
static tsr_status make(const tsr_allocator *al, const mpi_module *m, mpi_shared *s, const int32_t *members, int32_t n,
                       int32_t rank, int32_t number, int64_t deadline_ms, coll_link **out) {
  mpi_link *l = al_new(al, mpi_link);
  *out = NULL;
  if (!l) return st_oom();
  l->base = (coll_link){.ops = &link_ops, .rank = rank, .n_ranks = n};
  l->al = al && al->alloc ? *al : al_default;
  l->mpi = m, l->shared = s, l->number = number, l->stop_request = -1;
  s->links++, s->next_number = number + 1;
  *out = &l->base;
  l->world = al_zalloc(&l->al, (size_t)n * sizeof *l->world);
  for (int32_t r = 0; l->world && r < n; r++) l->world[r] = members ? members[r] : r;
  tsr_status st = l->world ? NULL : st_oom();
  if (!st && number >= MPI_MOST_LINKS) st = mpi_fail(l, TSR_UNSUPPORTED, "too many splits of one communicator");
  if (!st) st = mpi_link_start(l, clock_ns() + (deadline_ms ? deadline_ms : 30000) * 1000000);
  if (!st) return NULL;
  l->failed = s->pending = true; /* messages of the start may still come */
  link_close(out);
  return st;
}

static tsr_status link_split(coll_link *c, const int32_t *members, int32_t n, int32_t number, int64_t deadline_ms,
                             coll_link **out) {
  mpi_link *l = (mpi_link *)c;
  int32_t ranks[COLL_MAX_RANKS], me = 0;
  for (int32_t i = 0; i < n; i++) {
    ranks[i] = l->world[members[i]];
    if (members[i] == c->rank) me = i;
  }
  return make(&l->al, l->mpi, l->shared, ranks, n, me, number, deadline_ms, out);
}

static const coll_link_ops link_ops = {
    .write = link_write,
    .read = link_read,
    .wait = link_wait,
    .stop = link_stop,
    .stopped = link_stopped,
    .silent_ms = link_silent,
    .path = link_path,
    .next_number = link_next_number,
    .split = link_split,
    .close = link_close,
};

static tsr_status open_link(const coll_open *o, coll_link **out) {
  const tsr_allocator *al = o->al && o->al->alloc ? o->al : &al_default;
  st_where where = ST_WHERE("collective", "mpi", NULL);
  char why[MPI_WHY + 256];
  *out = NULL;
  const mpi_module *m = mpi_load(why, sizeof why);
  if (!m) return st_make(al, TSR_UNAVAILABLE, where, "no MPI: %s", why);
  mpi_shared *s = al_new(al, mpi_shared);
  if (!s) return st_oom();
  tsr_status st = m->open(o->handle, &s->comm, why) ? st_make(al, TSR_UNAVAILABLE, where, "%s", why) : NULL;
  if (st) {
    al_delete(al, s);
    return st;
  }
  int n = m->size(s->comm);
  if (n <= COLL_MAX_RANKS) return make(al, m, s, NULL, n, m->rank(s->comm), 0, o->deadline_ms, out);
  m->close(&s->comm, MPI_LOST);
  al_delete(al, s);
  return st_make(al, TSR_INVALID_ARGUMENT, where, "%d ranks: a team has at most %d", n, COLL_MAX_RANKS);
}

const coll_transport transport_mpi = {
    .name = "mpi",
    .help = "processes under mpirun, or of a program that uses MPI: shared memory on one machine, messages between",
    .processes = true,
    .abortable = true,
    .fixed_order = true,
    .ops = COLL_BIT(N_COLL_OPS) - 1,
    .open = open_link,
};
