/* backends/cpu/pool.c - see pool.h. One word holds the job's generation, whether it is open, and how many workers are
 * in it. A worker joins an open job, claims items from one counter, and checks out; the caller closes the job when the
 * items are gone and leaves when those who joined have checked out. A worker that never woke up, or whose core does
 * something else, is not waited for.
 *
 * Placement: schedulers may wake a worker on its caller's core though another one idles (seen on Linux 6.18 with two
 * cores: half the speed for milliseconds). So each slot has a thread bound to a core of its own; the slot of the core
 * that the caller happens to run on sits the job out, and the caller works in its place. The caller's own affinity is
 * never touched. */
#define _GNU_SOURCE /* the CPU_* macros, pthread_setaffinity_np, sched_getcpu */
#include "backends/cpu/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "backends/cpu/counter.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define relax() _mm_pause()
#else
#define relax() ((void)0)
#endif

enum { SPINS = 4000, SPINS_BEFORE_YIELD = 40000, SPINS_BEFORE_SLEEP = SPINS_BEFORE_YIELD + 1000 };
enum { SLEEP_NS = 50000, NO_CORE = -1 };

#define STATE_OPEN ((uint64_t)1 << 31)
#define STATE_WORKERS (STATE_OPEN - 1)
#define STATE_GENERATION(s) ((uint32_t)((s) >> 32))

/* A worker is called by a new generation in its own cache line. */
typedef struct slot {
  pool *p;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  int core;
  bool started;
  _Atomic int tid; /* 0 until the thread runs */
  char apart[64]; /* another cache line than what the other workers touch */
  _Atomic uint32_t called;
  _Atomic bool sleeping;
} slot;

struct pool {
  const tsr_allocator *al;
  int n_slots, n_allocated;
  bool bound; /* slot 0 has a thread too: any slot can be the caller's */
  slot *slots;
  _Atomic bool quit;
  pool_fn fn;
  void *arg;
  int64_t n_items;
  void (*begin)(void), (*end)(void);
  char apart[64];
  _Atomic uint64_t state; /* generation, open, workers inside */
  char apart_too[64];
  _Atomic int64_t next;
};

void pool_relax(int64_t i) {
  if (i > SPINS_BEFORE_SLEEP) nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
  else if (i > SPINS_BEFORE_YIELD) sched_yield();
  else relax();
}

/* Neighbouring items, fewer towards the end (guided self-scheduling, Polychronopoulos and Kuck 1987): a thread that
 * walks through memory finds what it fetched ahead. */
static int64_t claim(pool *p, int64_t *first) {
  int64_t i = atomic_load_explicit(&p->next, memory_order_relaxed), n;
  do {
    n = (p->n_items - i) / (8 * p->n_slots);
    if (n < 1) n = i < p->n_items;
  } while (n &&
           !atomic_compare_exchange_weak_explicit(&p->next, &i, i + n, memory_order_relaxed, memory_order_relaxed));
  *first = i;
  return n;
}

static void work(pool *p, int worker) {
  int64_t i, n = claim(p, &i);
  if (!n) return;
  if (p->begin) p->begin();
  for (; n; n = claim(p, &i))
    for (int64_t end = i + n; i < end; i++) p->fn(p->arg, i, worker);
  if (p->end) p->end();
}

/* ---- workers --------------------------------------------------------------------------------------------------- */

/* Waits to be called by a generation other than `seen`. */
static uint32_t wait_call(slot *s, uint32_t seen) {
  uint32_t g;
  for (int i = 0; i < SPINS; i++) {
    g = atomic_load_explicit(&s->called, memory_order_acquire);
    if (g != seen) return g;
    relax();
  }
  pthread_mutex_lock(&s->lock);
  atomic_store(&s->sleeping, true);
  while ((g = atomic_load(&s->called)) == seen) pthread_cond_wait(&s->wake, &s->lock);
  atomic_store(&s->sleeping, false);
  pthread_mutex_unlock(&s->lock);
  return g;
}

/* Only the job that the worker was called for: in a later one its slot may be the caller's. */
static bool join(pool *p, uint32_t generation) {
  uint64_t s = atomic_load_explicit(&p->state, memory_order_acquire);
  while (s & STATE_OPEN && STATE_GENERATION(s) == generation)
    if (atomic_compare_exchange_weak_explicit(&p->state, &s, s + 1, memory_order_acq_rel, memory_order_acquire))
      return true;
  return false;
}

static void *worker_main(void *v) {
  slot *s = v;
  pool *p = s->p;
  uint32_t seen = 0;
  atomic_store(&s->tid, counter_thread());
  for (;;) {
    seen = wait_call(s, seen);
    if (atomic_load(&p->quit)) return NULL;
    if (!join(p, seen)) continue;
    work(p, (int)(s - p->slots));
    atomic_fetch_sub_explicit(&p->state, 1, memory_order_release);
  }
}

static void call(slot *s, uint32_t generation) {
  atomic_store(&s->called, generation);
  if (!atomic_load(&s->sleeping)) return;
  pthread_mutex_lock(&s->lock);
  pthread_cond_signal(&s->wake);
  pthread_mutex_unlock(&s->lock);
}

/* ---- placement ------------------------------------------------------------------------------------------------- */

#if defined(__linux__)
int pool_n_cores(void) {
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
  long n = sysconf(_SC_NPROCESSORS_ONLN); /* more cores than the set has bits */
  return n < 1 ? 1 : (int)n;
}

/* The i-th core that this process may use; NO_CORE past the last. */
static int nth_core(int i) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) return NO_CORE;
  for (int c = 0; c < CPU_SETSIZE; c++)
    if (CPU_ISSET(c, &set) && i-- == 0) return c;
  return NO_CORE;
}

static bool bind_thread(pthread_t t, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return !pthread_setaffinity_np(t, sizeof set, &set);
}

static int current_core(void) { return sched_getcpu(); }
#else
int pool_n_cores(void) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : (int)n;
}
static int nth_core(int i) { return NO_CORE; }
static bool bind_thread(pthread_t t, int core) { return false; }
static int current_core(void) { return NO_CORE; }
#endif

static int caller_slot(const pool *p) {
  if (!p->bound) return 0;
  int core = current_core();
  for (int i = 0; i < p->n_slots; i++)
    if (p->slots[i].core == core) return i;
  return 0;
}

/* ---- the pool -------------------------------------------------------------------------------------------------- */

static bool start(pool *p, int i) {
  slot *s = &p->slots[i];
  if (pthread_create(&s->thread, NULL, worker_main, s)) return false;
  s->started = true;
  if (p->bound && !bind_thread(s->thread, s->core)) s->core = NO_CORE; /* unbound is slower, not wrong */
  return true;
}

tsr_status pool_create(const tsr_allocator *al, int n_threads, bool bind, pool **out) {
  *out = NULL;
  pool *p = al_new(al, pool);
  if (!p) return st_oom();
  p->al = al;
  p->n_slots = p->n_allocated = n_threads < 1 ? 1 : n_threads;
  p->slots = al_zalloc(al, sizeof *p->slots * (size_t)p->n_slots);
  if (!p->slots) {
    al_delete(al, p);
    return st_oom();
  }
  p->bound = bind && p->n_slots > 1 && nth_core(p->n_slots - 1) != NO_CORE;
  for (int i = 0; i < p->n_slots; i++) {
    p->slots[i].p = p;
    p->slots[i].core = p->bound ? nth_core(i) : NO_CORE;
    pthread_mutex_init(&p->slots[i].lock, NULL);
    pthread_cond_init(&p->slots[i].wake, NULL);
  }
  for (int i = p->bound ? 0 : 1; i < p->n_slots; i++)
    if (!start(p, i)) p->n_slots = i > 0 ? i : 1; /* fewer threads is slower, not wrong */
  *out = p;
  return NULL;
}

void pool_destroy(pool **pp) {
  pool *p = *pp;
  if (!p) return;
  atomic_store(&p->quit, true);
  for (int i = 0; i < p->n_allocated; i++) {
    slot *s = &p->slots[i];
    if (s->started) {
      call(s, atomic_load(&s->called) + 1);
      pthread_join(s->thread, NULL);
    }
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
  }
  al_free(p->al, p->slots, sizeof *p->slots * (size_t)p->n_allocated, 16);
  al_delete(p->al, p);
  *pp = NULL;
}

int pool_size(const pool *p) { return p->n_slots; }

int pool_threads(const pool *p, int *tids, int cap) {
  int n = 0;
  for (int i = 0; i < p->n_slots && n < cap; i++) {
    if (!p->slots[i].started) continue;
    if (!(tids[n] = atomic_load(&p->slots[i].tid))) return -1;
    n++;
  }
  return n;
}

void pool_set_bracket(pool *p, void (*begin)(void), void (*end)(void)) {
  p->begin = begin;
  p->end = end;
}

static void close_job(pool *p) {
  uint64_t s = atomic_fetch_and(&p->state, ~STATE_OPEN);
  for (int64_t i = 0; s & STATE_WORKERS; s = atomic_load_explicit(&p->state, memory_order_acquire)) pool_relax(i++);
}

void pool_run(pool *p, pool_fn fn, void *arg, int64_t n_items) {
  if (n_items <= 0) return;
  p->fn = fn;
  p->arg = arg;
  p->n_items = n_items;
  atomic_store_explicit(&p->next, 0, memory_order_relaxed);
  int own = caller_slot(p);
  if (n_items == 1 || p->n_slots == 1) {
    work(p, own);
    return;
  }
  uint32_t generation = STATE_GENERATION(atomic_load_explicit(&p->state, memory_order_relaxed)) + 1;
  if (generation == 0) generation = 1;
  atomic_store(&p->state, (uint64_t)generation << 32 | STATE_OPEN);
  int64_t wanted = n_items - 1 < p->n_slots - 1 ? n_items - 1 : p->n_slots - 1;
  for (int i = 0; i < p->n_slots && wanted > 0; i++)
    if (i != own && p->slots[i].started) call(&p->slots[i], generation), wanted--;
  work(p, own);
  close_job(p);
}
