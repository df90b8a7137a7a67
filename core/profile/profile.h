/* core/profile/profile.h - what ran, when and how well: events as the runtime records them, and their aggregation per
 * op over many steps. Input: events with modelled work and whatever the device told. Output: rows for report.h and
 * chrome_trace.h. Invariant: a field that is not known is negative (or NULL) and is printed as n/a or null, never
 * filled in. Off means no log at all: the runtime tests one pointer. Threads: prof_add may be called from any thread.
 */
#ifndef CORE_PROFILE_PROFILE_H
#define CORE_PROFILE_PROFILE_H
#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/profile/bound.h"

typedef enum prof_kind { PROF_KERNEL, PROF_COLLECTIVE, PROF_FUSED, PROF_COPY, PROF_HOST } prof_kind;

/* One execution. Strings are copied. Times are nanoseconds on one clock per device. */
typedef struct prof_event {
  prof_kind kind;
  const char *op;      /* "matmul", "all_reduce", "flash_attention": report.c spells them */
  const char *detail; /* what stands in brackets: the tile "128x128x64", the mesh axis "dp", the fused op "FlashAttn" */
  const char *kernel;  /* the compiled kernel's name */
  const char *device;  /* "cpu:0" */
  const char *original; /* the schedule that was asked for, or that the table has, where another one runs; else "" */
  const char *original_why; /* that one, the one that runs, and why; "" */
  const char *waits;   /* of a copy: why it can't run beside kernels, "" = it can */
  int stream, step;
  double start_ns, end_ns;
  bool device_clock; /* start and end were read from it, so that events of other streams can be compared */
  double flops, bytes;          /* modelled; of a collective, bytes over the links */
  double bytes_measured;        /* by a counter of the device */
  double occupancy;             /* 0..1 */
  double registers, spill_bytes, shared_bytes;
  double tiles;                 /* blocks of the launch */
  double parallel;              /* blocks that run at once */
  double tile_ns, tile_min_ns, tile_max_ns; /* of one block, each timed on its own */
  prof_peaks peaks;
} prof_event;
/* All unknown. */
prof_event prof_event_init(prof_kind kind, const char *op);

typedef struct prof_log prof_log;
TSR_MUST_USE tsr_status prof_log_create(const tsr_allocator *al, prof_log **out);
void prof_log_destroy(prof_log **l);
/* Out of memory drops the event and counts it. */
void prof_add(prof_log *l, const prof_event *e);
size_t prof_count(const prof_log *l);
size_t prof_dropped(const prof_log *l);
const prof_event *prof_at(const prof_log *l, size_t i);
void prof_clear(prof_log *l);

/* All executions of one kernel on one device. */
typedef struct prof_row {
  prof_event first;    /* its names and unchanging fields */
  size_t count, steps; /* executions; steps they were in */
  double median_ns, min_ns, max_ns, total_ns, share; /* share of the device's total */
  double occupancy, bytes_measured;                  /* means of what is known, else negative */
  double gflops, gbytes_per_s;                       /* at the median; negative without work or bytes */
  double tile_ns; /* one block: mean of those timed, else latency x parallel / tiles; negative if not known */
  double tile_min_ns, tile_max_ns;                   /* of those timed */
  prof_bound bound;
} prof_row;

/* Rows in order of first appearance; free with al_free_array(al, *out, *n). */
TSR_MUST_USE tsr_status prof_aggregate(const prof_log *l, const tsr_allocator *al, prof_row **out, size_t *n);
#endif
