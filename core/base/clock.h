/* core/base/clock.h - the host's monotonic clock. */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H
#include <stdint.h>
#include <time.h>

/* Nanoseconds since some moment of the machine's; never goes back. */
static inline int64_t clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
/* Microseconds since a moment of clock_ns. */
static inline double clock_us_since(int64_t from_ns) { return (double)(clock_ns() - from_ns) * 1e-3; }
#endif
