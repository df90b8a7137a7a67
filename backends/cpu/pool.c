/* backends/cpu/pool.c - see pool.h. A job is published by bumping `generation`; items are claimed from one counter; the caller
 * leaves when every worker that joined has checked out. */
#include "backends/cpu/pool.h"

#include <pthread.h>
#include <stdatomic.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define relax() _mm_pause()
#else
#define relax() ((void)0)
#endif

enum { SPINS = 4000 };

struct pool {
  const tsr_allocator *al;
  int n_threads; /* workers besides the caller + 1 */
  pthread_t *threads;
  int n_started;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  _Atomic uint32_t generation;
  _Atomic int sleeping, busy;
  _Atomic bool quit;
  pool_fn fn;
  void *arg;
  int64_t n_items;
  _Atomic int64_t next;
  void (*begin)(void), (*end)(void);
};

typedef struct start_arg {
  pool *p;
  int worker;
} start_arg;

static void work(pool *p, int worker) {
  int64_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
  if (i >= p->n_items) return;
  if (p->begin) p->begin();
  for (; i < p->n_items; i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed)) p->fn(p->arg, i, worker);
  if (p->end) p->end();
}

/* Waits for a generation other than `seen`. */
static uint32_t wait_job(pool *p, uint32_t seen) {
  for (int i = 0; i < SPINS; i++) {
    uint32_t g = atomic_load_explicit(&p->generation, memory_order_acquire);
    if (g != seen) return g;
    relax();
  }
  pthread_mutex_lock(&p->lock);
  atomic_fetch_add(&p->sleeping, 1);
  uint32_t g;
  while ((g = atomic_load(&p->generation)) == seen) pthread_cond_wait(&p->wake, &p->lock);
  atomic_fetch_sub(&p->sleeping, 1);
  pthread_mutex_unlock(&p->lock);
  return g;
}

static void *worker_main(void *v) {
  start_arg a = *(start_arg *)v;
  pool *p = a.p;
  al_delete(p->al, (start_arg *)v);
  uint32_t seen = 0;
  for (;;) {
    seen = wait_job(p, seen);
    if (atomic_load(&p->quit)) return NULL;
    work(p, a.worker);
    atomic_fetch_sub_explicit(&p->busy, 1, memory_order_release);
  }
}

static void publish(pool *p) {
  atomic_fetch_add(&p->generation, 1);
  if (atomic_load(&p->sleeping)) {
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
  }
}

tsr_status pool_create(const tsr_allocator *al, int n_threads, pool **out) {
  *out = NULL;
  pool *p = al_new(al, pool);
  if (!p) return st_oom();
  p->al = al;
  p->n_threads = n_threads < 1 ? 1 : n_threads;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  p->threads = al_zalloc(al, sizeof *p->threads * (size_t)p->n_threads);
  if (!p->threads) {
    pool_destroy(&p);
    return st_oom();
  }
  for (int i = 1; i < p->n_threads; i++) {
    start_arg *a = al_new(al, start_arg);
    if (!a) {
      pool_destroy(&p);
      return st_oom();
    }
    *a = (start_arg){p, i};
    if (pthread_create(&p->threads[i], NULL, worker_main, a)) {
      al_delete(al, a);
      p->n_threads = i; /* fewer threads is slower, not wrong */
      break;
    }
    p->n_started = i;
  }
  *out = p;
  return NULL;
}

void pool_destroy(pool **pp) {
  pool *p = *pp;
  if (!p) return;
  atomic_store(&p->quit, true);
  pthread_mutex_lock(&p->lock);
  atomic_fetch_add(&p->generation, 1);
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  for (int i = 1; i <= p->n_started; i++) pthread_join(p->threads[i], NULL);
  pthread_cond_destroy(&p->wake);
  pthread_mutex_destroy(&p->lock);
  /* The array was sized for the number asked for; sizes only inform hooks. */
  al_free(p->al, p->threads, sizeof *p->threads * (size_t)p->n_threads, 16);
  al_delete(p->al, p);
  *pp = NULL;
}

int pool_size(const pool *p) { return p->n_threads; }

void pool_set_bracket(pool *p, void (*begin)(void), void (*end)(void)) {
  p->begin = begin;
  p->end = end;
}

void pool_run(pool *p, pool_fn fn, void *arg, int64_t n_items) {
  if (n_items <= 0) return;
  p->fn = fn;
  p->arg = arg;
  p->n_items = n_items;
  atomic_store_explicit(&p->next, 0, memory_order_relaxed);
  if (n_items == 1 || p->n_threads == 1) {
    work(p, 0);
    return;
  }
  atomic_store_explicit(&p->busy, p->n_threads - 1, memory_order_relaxed);
  publish(p);
  work(p, 0);
  while (atomic_load_explicit(&p->busy, memory_order_acquire) > 0) relax();
}
