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

static size_t pipe_write(mpi_link *l, int32_t peer, const char *data, size_t bytes) {
  mpi_pipe *p = &l->pipes[peer];
  char why[MPI_WHY];
  size_t done = 0;
  while (done < bytes) {
    uint32_t i = p->next_out % MPI_PIECES;
    if (p->sends[i] >= 0) {
      int is = l->mpi->test(l->comm, p->sends[i], NULL, NULL, why);
      if (is < 0) broken(l, peer, why);
      if (is <= 0) break;
      p->sends[i] = -1;
    }
    size_t n = bytes - done < MPI_PIECE ? bytes - done : MPI_PIECE;
    memcpy(p->out + i * MPI_PIECE, data + done, n);
    p->sends[i] = l->mpi->send(l->comm, peer, MPI_TAG_DATA, p->out + i * MPI_PIECE, n, why);
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
    if (p->receives[i] >= 0) {
      int is = l->mpi->test(l->comm, p->receives[i], &p->came[i], NULL, why);
      if (is < 0) broken(l, peer, why);
      if (is <= 0) break;
      p->receives[i] = -1;
    }
    size_t n = p->came[i] - p->taken;
    if (n > bytes - done) n = bytes - done;
    memcpy(data + done, p->in + i * MPI_PIECE + p->taken, n);
    p->taken += n, done += n;
    if (p->taken < p->came[i]) continue;
    p->taken = 0;
    p->receives[i] = l->mpi->receive(l->comm, peer, MPI_TAG_DATA, p->in + i * MPI_PIECE, MPI_PIECE, why);
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
    int request = l->mpi->send(l->comm, r, MPI_TAG_STOP, &l->said, sizeof l->said, why);
    if (request >= 0) l->mpi->test(l->comm, request, NULL, NULL, why);
  }
}

static bool link_stopped(coll_link *c, tsr_code *code, char *cause) {
  mpi_link *l = (mpi_link *)c;
  char why[MPI_WHY];
  if (l->box && coll_box_stopped(l->box, code, cause)) return l->failed = true;
  if (!l->is_stopped && l->stop_request >= 0) {
    int is = l->mpi->test(l->comm, l->stop_request, NULL, NULL, why);
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

/* Receives that stand open are given up, and every message is waited for, a second at most. */
static bool settle(mpi_link *l) {
  int64_t until = clock_ns() + 1000000000;
  char why[MPI_WHY];
  bool open = true;
  if (!l->comm) return false;
  if (l->stop_request >= 0) l->mpi->cancel(l->comm, l->stop_request);
  for (int32_t r = 0; l->pipes && r < l->base.n_ranks; r++)
    for (int i = 0; l->pipes[r].in && i < MPI_PIECES; i++)
      if (l->pipes[r].receives[i] >= 0) l->mpi->cancel(l->comm, l->pipes[r].receives[i]);
  while (open && clock_ns() < until) {
    open = l->stop_request >= 0 && !l->mpi->test(l->comm, l->stop_request, NULL, NULL, why);
    if (!open) l->stop_request = -1;
    for (int32_t r = 0; l->pipes && r < l->base.n_ranks; r++)
      for (int i = 0; l->pipes[r].in && i < 2 * MPI_PIECES; i++) {
        int *q = i < MPI_PIECES ? &l->pipes[r].sends[i] : &l->pipes[r].receives[i - MPI_PIECES];
        if (*q >= 0 && l->mpi->test(l->comm, *q, NULL, NULL, why)) *q = -1;
        open |= *q >= 0;
      }
    if (open) sched_yield();
  }
  return !open;
}

/* After a failure messages may still be under way from and to the link's memory: then that stays. */
static void link_close(coll_link **pc) {
  mpi_link *l = (mpi_link *)*pc;
  tsr_allocator al = l->al;
  size_t n = (size_t)l->base.n_ranks;
  bool orderly = !l->failed && settle(l);
  if (l->comm) l->mpi->close(&l->comm, orderly);
  if (l->box) munmap(l->box, l->box_bytes);
  *pc = NULL;
  if (!orderly) return;
  for (size_t r = 0; l->pipes && r < n; r++) {
    if (l->pipes[r].out) al_free(&al, l->pipes[r].out, MPI_PIECES * MPI_PIECE, 64);
    if (l->pipes[r].in) al_free(&al, l->pipes[r].in, MPI_PIECES * MPI_PIECE, 64);
  }
  if (l->pipes) al_free(&al, l->pipes, n * sizeof *l->pipes, 16);
  if (l->seat) al_free(&al, l->seat, n * sizeof *l->seat, 16);
  al_delete(&al, l);
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

static tsr_status open_link(const coll_open *o, coll_link **out) {
  static const coll_link_ops ops = {link_write,   link_read,   link_wait, link_stop,
                                    link_stopped, link_silent, link_path, link_close};
  char why[MPI_WHY + 256];
  int64_t ms = o->deadline_ms ? o->deadline_ms : 30000;
  *out = NULL;
  const mpi_module *m = mpi_load(why, sizeof why);
  if (!m) return st_make(o->al, TSR_UNAVAILABLE, ST_WHERE("collective", "mpi", NULL), "no MPI: %s", why);
  mpi_link *l = al_new(o->al, mpi_link);
  if (!l) return st_oom();
  l->base.ops = &ops, l->al = o->al && o->al->alloc ? *o->al : al_default;
  l->mpi = m, l->stop_request = -1;
  *out = &l->base;
  tsr_status st = m->open(o->handle, &l->comm, why) ? mpi_fail(l, TSR_UNAVAILABLE, why) : NULL;
  if (!st) {
    l->base.rank = m->rank(l->comm), l->base.n_ranks = m->size(l->comm);
    if (l->base.n_ranks > COLL_MAX_RANKS) st = mpi_fail(l, TSR_INVALID_ARGUMENT, "a team has at most 256 ranks");
    else st = mpi_link_start(l, clock_ns() + ms * 1000000);
  }
  if (!st) return NULL;
  l->failed = true;
  l->base.n_ranks = l->pipes ? l->base.n_ranks : 0;
  link_close(out);
  return st;
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
