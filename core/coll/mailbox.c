/* core/coll/mailbox.c - see mailbox.h. Positions and the flags of sleepers are sequentially consistent: who writes
 * looks for a sleeper afterwards, who sleeps looks for bytes after it has said so, and one of the two sees the other.
 */
#define _DEFAULT_SOURCE
#include "core/coll/mailbox.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/int_math.h"

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

enum { LINE = 64, MAGIC = 0x74627831, SPINS = 200, YIELDS = 400, SLEEP_NS = 2000000, MOST_BYTES = 1 << 24, BEAT = 64 };

typedef struct seat {
  _Alignas(LINE) atomic_uint sleeps;
  atomic_int_fast64_t seen_ms; /* by clock_ns; when it last waited */
} seat;

typedef struct ring {
  _Alignas(LINE) atomic_uint_fast64_t written;
  _Alignas(LINE) atomic_uint_fast64_t taken;
  _Alignas(LINE) atomic_bool full; /* the writer waits for room */
} ring;

struct coll_box {
  uint32_t magic;
  int32_t n_ranks;
  uint64_t ring_bytes;
  _Alignas(LINE) atomic_int stop; /* 0: runs; 1: the cause is being written; 2: it is there */
  int32_t code;
  char cause[512];
  /* seats, then for each reader its rings by writer, then their bytes */
};

static size_t round_line(size_t n) { return (n + LINE - 1) / LINE * LINE; }

size_t coll_box_ring(int32_t n) {
  size_t ring = (size_t)1 << 19;
  while (ring > 4096 && ring * (size_t)n * (size_t)n > MOST_BYTES) ring /= 2;
  return ring;
}

size_t coll_box_bytes(int32_t n_ranks, size_t bytes) {
  size_t n = (size_t)n_ranks;
  return round_line(sizeof(coll_box)) + n * sizeof(seat) + n * n * (sizeof(ring) + bytes);
}

void coll_box_init(coll_box *b, int32_t n_ranks, size_t bytes) {
  b->n_ranks = n_ranks, b->ring_bytes = bytes, b->magic = MAGIC;
}

bool coll_box_fits(const coll_box *b, int32_t n_ranks, size_t bytes) {
  return bytes >= sizeof *b && b->magic == MAGIC && b->n_ranks == n_ranks && b->ring_bytes >= LINE &&
         !(b->ring_bytes & (b->ring_bytes - 1)) && b->ring_bytes <= bytes &&
         coll_box_bytes(n_ranks, (size_t)b->ring_bytes) <= bytes;
}

static seat *seat_of(coll_box *b, int32_t rank) { return (seat *)(void *)((char *)b + round_line(sizeof *b)) + rank; }

static ring *ring_of(coll_box *b, int32_t from, int32_t to, char **bytes) {
  size_t n = (size_t)b->n_ranks, i = (size_t)to * n + (size_t)from;
  ring *first = (ring *)(void *)seat_of(b, b->n_ranks);
  *bytes = (char *)(first + n * n) + i * (size_t)b->ring_bytes;
  return first + i;
}

static void wake(coll_box *b, int32_t rank) {
  seat *s = seat_of(b, rank);
  if (!atomic_load(&s->sleeps) || !atomic_exchange(&s->sleeps, 0)) return;
#ifdef __linux__
  syscall(SYS_futex, &s->sleeps, FUTEX_WAKE, 1, NULL, NULL, 0);
#endif
}

size_t coll_box_write(coll_box *b, int32_t me, int32_t peer, const void *data, size_t bytes) {
  char *to;
  ring *r = ring_of(b, me, peer, &to);
  size_t size = (size_t)b->ring_bytes;
  uint64_t at = atomic_load_explicit(&r->written, memory_order_relaxed);
  size_t room = size - (size_t)(at - atomic_load(&r->taken));
  if (room < bytes && room < size / 4) { /* small bites cost more than they move */
    atomic_store(&r->full, true);
    room = size - (size_t)(at - atomic_load(&r->taken));
    if (room < size / 4) return 0;
  }
  size_t n = bytes < room ? bytes : room, first = size - (size_t)at % size;
  if (first > n) first = n;
  memcpy(to + (size_t)at % size, data, first);
  memcpy(to, (const char *)data + first, n - first);
  atomic_store(&r->written, at + n);
  wake(b, peer);
  return n;
}

size_t coll_box_read(coll_box *b, int32_t me, int32_t peer, void *data, size_t bytes) {
  char *from;
  ring *r = ring_of(b, peer, me, &from);
  size_t size = (size_t)b->ring_bytes;
  uint64_t at = atomic_load_explicit(&r->taken, memory_order_relaxed);
  size_t there = (size_t)(atomic_load(&r->written) - at), n = bytes < there ? bytes : there;
  if (!n) return 0;
  size_t first = size - (size_t)at % size;
  if (first > n) first = n;
  memcpy(data, from + (size_t)at % size, first);
  memcpy((char *)data + first, from, n - first);
  atomic_store(&r->taken, at + n);
  if (atomic_load(&r->full) && there - n < size / 2) {
    atomic_store(&r->full, false);
    wake(b, peer);
  }
  return n;
}

static void sleep_at(seat *s, int64_t until_ns) {
  int64_t left = min64(until_ns - clock_ns(), SLEEP_NS);
  struct timespec t = {0, left > 1000 ? (long)left : 1000};
#ifdef __linux__
  syscall(SYS_futex, &s->sleeps, FUTEX_WAIT, 1, &t, NULL, 0);
#else
  t.tv_nsec = t.tv_nsec < 50000 ? t.tv_nsec : 50000;
  nanosleep(&t, NULL);
#endif
}

/* Looks, lets others go first, says that it sleeps, looks again, sleeps. */
void coll_box_wait(coll_box *b, int32_t me, uint32_t idle, int64_t until_ns, bool crowded) {
  seat *s = seat_of(b, me);
  uint32_t spins = crowded ? 0 : SPINS;
  if (idle % BEAT == 1 || idle > spins + YIELDS)
    atomic_store_explicit(&s->seen_ms, clock_ns() / 1000000, memory_order_relaxed);
  if (idle < spins) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  } else if (idle < spins + YIELDS) {
    sched_yield();
  } else if (idle == spins + YIELDS || !atomic_load(&s->sleeps)) {
    atomic_store(&s->sleeps, 1);
  } else {
    sleep_at(s, until_ns);
    atomic_store(&s->sleeps, 0);
  }
}

int64_t coll_box_silent_ms(const coll_box *b, int32_t rank) {
  return clock_ns() / 1000000 - atomic_load_explicit(&seat_of((coll_box *)b, rank)->seen_ms, memory_order_relaxed);
}

void coll_box_stop(coll_box *b, tsr_code code, const char *cause) {
  int runs = 0;
  if (!atomic_compare_exchange_strong(&b->stop, &runs, 1)) return;
  b->code = (int32_t)code;
  snprintf(b->cause, sizeof b->cause, "%s", cause);
  atomic_store(&b->stop, 2);
  for (int32_t r = 0; r < b->n_ranks; r++) wake(b, r);
}

/* A cause that is being written is there a moment later, or its writer is dead: then deadlines do. */
bool coll_box_stopped(coll_box *b, tsr_code *code, char *cause) {
  if (atomic_load_explicit(&b->stop, memory_order_acquire) != 2) return false;
  *code = (tsr_code)b->code;
  memcpy(cause, b->cause, sizeof b->cause);
  cause[sizeof b->cause - 1] = 0;
  return true;
}

/* ---- a link ------------------------------------------------------------------------------------------------------ */

typedef struct box_link {
  coll_link base;
  tsr_allocator al;
  coll_box *box;
  bool crowded;
} box_link;

static size_t link_write(coll_link *l, int32_t peer, const void *data, size_t bytes) {
  return coll_box_write(((box_link *)l)->box, l->rank, peer, data, bytes);
}

static size_t link_read(coll_link *l, int32_t peer, void *data, size_t bytes) {
  return coll_box_read(((box_link *)l)->box, l->rank, peer, data, bytes);
}

static void link_wait(coll_link *l, uint32_t idle, int64_t until_ns) {
  coll_box_wait(((box_link *)l)->box, l->rank, idle, until_ns, ((box_link *)l)->crowded);
}

static void link_stop(coll_link *l, tsr_code code, const char *cause) {
  coll_box_stop(((box_link *)l)->box, code, cause);
}

static bool link_stopped(coll_link *l, tsr_code *code, char *cause) {
  return coll_box_stopped(((box_link *)l)->box, code, cause);
}

static int64_t link_silent(const coll_link *l, int32_t peer) {
  return coll_box_silent_ms(((const box_link *)l)->box, peer);
}

static const char *link_path(const coll_link *l, int32_t peer) { return "shared memory"; }

static int32_t link_next_number(const coll_link *l) { return 0; }

/* Its memory is for these ranks; there is none for others. */
static tsr_status link_split(coll_link *l, const int32_t *members, int32_t n, int32_t number, int64_t deadline_ms,
                             coll_link **out) {
  *out = NULL;
  return st_make(&((box_link *)l)->al, TSR_UNSUPPORTED, ST_WHERE("collective", "split", NULL),
                 "a link over the caller's memory has its ranks and no others");
}

static void link_close(coll_link **l) {
  box_link *x = (box_link *)*l;
  tsr_allocator al = x->al;
  al_delete(&al, x);
  *l = NULL;
}

tsr_status coll_box_link(const tsr_allocator *al, coll_box *b, int32_t rank, coll_link **out) {
  static const coll_link_ops ops = {link_write,  link_read, link_wait,        link_stop,  link_stopped,
                                    link_silent, link_path, link_next_number, link_split, link_close};
  box_link *x = al_new(al, box_link);
  *out = NULL;
  if (!x) return st_oom();
  x->base = (coll_link){&ops, rank, b->n_ranks};
  x->al = al && al->alloc ? *al : al_default;
  x->box = b;
  x->crowded = b->n_ranks > sysconf(_SC_NPROCESSORS_ONLN);
  *out = &x->base;
  return NULL;
}
