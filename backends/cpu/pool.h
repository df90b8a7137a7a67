/* backends/cpu/pool.h - a fixed set of worker threads that run numbered items of one job at a time.
 * The caller takes part. Workers spin briefly between jobs, so that short kernels follow each other without a system
 * call, then sleep. pool_run may be called from one thread at a time. */
#ifndef BACKENDS_CPU_POOL_H
#define BACKENDS_CPU_POOL_H
#include "core/base/status.h"

typedef struct pool pool;
/* item: 0..n_items-1; worker: 0..pool_size-1, the same thread for one worker number during a job. */
typedef void (*pool_fn)(void *arg, int64_t item, int worker);

/* bind: each worker to a core of its own, where there are as many cores. */
tsr_status pool_create(const tsr_allocator *al, int n_threads, bool bind, pool **out);
/* Cores that this process may run on. */
int pool_n_cores(void);
void pool_destroy(pool **p);
int pool_size(const pool *p);
/* The workers' thread numbers (counter_thread), without the caller's; returns how many, -1 while one has not begun to
 * run. */
int pool_threads(const pool *p, int *tids, int cap);
void pool_run(pool *p, pool_fn fn, void *arg, int64_t n_items);
/* Called in each worker, the caller included, before and after its items of a job. */
void pool_set_bracket(pool *p, void (*begin)(void), void (*end)(void));

/* The i-th turn of a loop that waits for another worker: a pause, and from about a millisecond on a yield, for a worker
 * that lost its core. Not earlier: Linux 6.18 may put a yielding thread aside until the next tick although its core has
 * nothing else to do. After a thousand yields each turn sleeps: a waiter under a real-time policy keeps the core from
 * an ordinary thread however often it yields. */
void pool_relax(int64_t i);
#endif
