/* backends/cpu/counter.h - bytes that a set of threads brings from memory, as the kernel's performance counters tell
 * it: loads, and where the processor has events for them stores and prefetches, that missed the last cache, times the
 * cache line. What goes back to memory is not in it. Linux only. Not known: without such an event (many AMD cores,
 * virtual machines, containers), without the right to count, and for a stretch in which the kernel gave the counter to
 * someone else for a part of the time. Not thread-safe. */
#ifndef BACKENDS_CPU_COUNTER_H
#define BACKENDS_CPU_COUNTER_H
#include "core/base/status.h"

typedef struct counter_value {
  uint64_t events, enabled_ns, running_ns;
} counter_value;

/* The system calls, so that a test can stand in for the kernel. */
typedef struct counter_sys {
  /* A counter of last-cache misses of one thread, off at first; `op` 0 loads, 1 stores, 2 prefetches; group: an fd to
   * be scheduled with, or -1. Negative: none. */
  int (*open)(void *user, int op, int tid, int group);
  bool (*read)(void *user, int fd, counter_value *out);
  bool (*enable)(void *user, int group, bool on); /* with all of its group */
  void (*close)(void *user, int fd);
  void *user;
} counter_sys;

typedef struct counter counter;
/* sys NULL: the kernel. `tids` are counted from counter_enable(true) on. NULL in *out, and no error, where nothing can
 * be counted. */
TSR_MUST_USE tsr_status counter_open(const tsr_allocator *al, const counter_sys *sys, const int *tids, int n,
                                     counter **out);
void counter_close(counter **c);
bool counter_has(const counter *c, int tid);
void counter_enable(counter *c, bool on);

/* What was brought since the last mark; false: not known. A mark is where the next stretch begins. */
void counter_mark(counter *c);
bool counter_bytes(counter *c, double *bytes);

/* This thread's number, as `tids` wants it; 0 where there are none. */
int counter_thread(void);
#endif
