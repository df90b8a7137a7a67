/* core/runtime/program_memory.h - parts of rt_plan: the launches' direct dependencies, found from the memory that they
 * touch. */
#ifndef CORE_RUNTIME_PROGRAM_MEMORY_H
#define CORE_RUNTIME_PROGRAM_MEMORY_H
#include "core/runtime/internal.h"

/* One workspace in which temporaries share memory where their lives don't meet: allocations in any order, each at the
 * lowest offset that is free for its time. `horizon`: no later call has a smaller start; what ended before it is
 * forgotten, so that a long program costs no more a temporary than a short one. Returns the offset, or -1 when out of
 * memory. */
typedef struct rt_area { int64_t start, end, offset, bytes; } rt_area;
typedef struct rt_areas {
  const tsr_allocator *al;
  rt_area *v; /* by offset */
  size_t n, cap;
  int64_t total;
} rt_areas;
int64_t rt_areas_take(rt_areas *a, int64_t start, int64_t end, int64_t bytes, int64_t horizon);
void rt_areas_clear(rt_areas *a);

/* Fills waits of all launches, the latest first: who wrote what a launch reads, who read or wrote what it writes. What
 * a waited-for launch already waits for is left out, as far as it lies within the last RT_WAIT_WINDOW launches. */
enum { RT_WAIT_WINDOW = 1024 };
tsr_status rt_make_waits(tsr_program *p);
#endif
