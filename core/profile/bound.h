/* core/profile/bound.h - what limits a kernel, and the next thing to try. The table of docs/profile.md (compute: raise
 * matrix throughput; memory: smaller tiles, more prefetch; comm: fuse the collective with compute), launch for short
 * kernels. */
#ifndef CORE_PROFILE_BOUND_H
#define CORE_PROFILE_BOUND_H
#include "tessera/base.h"

typedef enum prof_limit { PROF_UNKNOWN, PROF_COMPUTE, PROF_MEMORY, PROF_COMM, PROF_LAUNCH, PROF_LATENCY } prof_limit;
const char *prof_limit_name(prof_limit l);

/* The device's rates, measured beside the kernels; 0 or less: not known. */
typedef struct prof_peaks {
  double gflops, gbytes_per_s, link_gbytes_per_s, launch_ns;
  bool matrix_path; /* gflops is the matrix instructions' */
} prof_peaks;

typedef struct prof_bound {
  prof_limit limit;
  double part;      /* share of the latency that the limit explains, 0..1; negative when unknown */
  const char *next; /* the knob to try */
} prof_bound;

/* Work in flops, bytes of memory and bytes over links (negative: not known). PROF_LATENCY: no rate explains half of the
 * time. */
prof_bound prof_classify(double latency_ns, double flops, double bytes, double link_bytes, const prof_peaks *p);
#endif
