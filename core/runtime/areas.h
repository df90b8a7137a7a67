/* core/runtime/areas.h - one workspace in which temporaries share memory where their lives don't meet. */
#ifndef CORE_RUNTIME_AREAS_H
#define CORE_RUNTIME_AREAS_H
#include "core/base/alloc.h"

/* One that still lives, in a tree by offset (a treap) and a list in the same order. */
typedef struct rt_area {
  int64_t end, offset, bytes;
  int64_t gap, most;           /* free bytes before it; the most before any of its subtree */
  int left, right, prev, next; /* -1 = none; next of a free node: the next free one */
  uint32_t priority;
} rt_area;

typedef struct rt_areas {
  const tsr_allocator *al;
  rt_area *v;
  size_t n, used, cap; /* living; nodes in use or free */
  int *ends;           /* heap: the first to end on top */
  size_t cap_ends;
  int root, last, free; /* index + 1, 0 = none, so that {.al = ..} is an empty workspace */
  int64_t total;
  uint64_t taken; /* so far */
} rt_areas;

/* Takes bytes from time `start`, which never goes back from call to call, to `end`, at the lowest offset that is free:
 * in a time that grows with the logarithm of the number that live. Returns the offset, or -1 when out of memory. */
int64_t rt_areas_take(rt_areas *a, int64_t start, int64_t end, int64_t bytes);
void rt_areas_clear(rt_areas *a);
#endif
