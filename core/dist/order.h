/* core/dist/order.h - which steps of a schedule are over before which begin, by their streams and waits. */
#ifndef CORE_DIST_ORDER_H
#define CORE_DIST_ORDER_H
#include "core/dist/steps.h"

/* A vector clock: a stream's steps are in order, so the latest one of each stream that is before a step says all. */
typedef struct dist_clock {
  int latest[DIST_STREAMS]; /* -1: none */
} dist_clock;
typedef struct dist_before {
  const dist_step *steps; /* the schedule's */
  dist_clock *clocks;     /* by step */
} dist_before;

/* NULL clocks: out of memory. */
dist_before dist_before_make(arena *a, const dist_schedule *s);
static inline bool dist_is_before(const dist_before *b, int first, int then) {
  return first <= b->clocks[then].latest[b->steps[first].stream];
}
/* Does every step read what was written before it begins, and write where nobody needs what was there any more? Else
 * one sentence in `why`. */
bool dist_schedule_check(const dist_schedule *s, char *why, size_t size);
/* As dist_schedule_check; *looked: at values, for tests of how that grows. */
bool dist_schedule_check_counted(const dist_schedule *s, char *why, size_t size, int64_t *looked);
/* By slot and stream, [slot * DIST_STREAMS + stream], the last step that uses it, -1: none; all that use it are over
 * where these are. NULL: out of memory. */
int *dist_last_users(arena *a, const dist_schedule *s);
/* A step that uses a slot and isn't over before `then` begins; -1: none. last: dist_last_users. */
int dist_still_used(const dist_before *b, const int *last, int slot, int then);
/* Adds the waits that the steps' reads need, none that follows from others. False when out of memory. */
bool dist_order_make(dist_schedule *s);
#endif
