/* core/dist/order.h - which steps of a schedule are over before which begin, by their streams and waits. */
#ifndef CORE_DIST_ORDER_H
#define CORE_DIST_ORDER_H
#include "core/dist/steps.h"

/* A bit for each pair of steps. */
typedef struct dist_before {
  uint64_t *bits;
  int n, words;
} dist_before;

/* NULL bits: out of memory. */
dist_before dist_before_make(arena *a, const dist_schedule *s);
static inline bool dist_is_before(const dist_before *b, int first, int then) {
  return b->bits[(size_t)then * (size_t)b->words + (size_t)first / 64] >> (first % 64) & 1;
}
/* Does every step read what was written before it begins, and write where nobody needs what was there any more? Else
 * one sentence in `why`. */
bool dist_schedule_check(const dist_schedule *s, char *why, size_t size);
/* By slot and stream, [slot * DIST_STREAMS + stream], the last step that uses it, -1: none; all that use it are over
 * where these are. NULL: out of memory. */
int *dist_last_users(arena *a, const dist_schedule *s);
/* A step that uses a slot and isn't over before `then` begins; -1: none. last: dist_last_users. */
int dist_still_used(const dist_before *b, const int *last, int slot, int then);
/* Adds the waits that the steps' reads need, none that follows from others. False when out of memory. */
bool dist_order_make(dist_schedule *s);
#endif
