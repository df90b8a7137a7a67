/* core/profile/bound.c - see bound.h. */
#include "core/profile/bound.h"

const char *prof_limit_name(prof_limit l) {
  static const char *const names[] = {"unknown", "compute", "memory", "comm", "launch", "latency"};
  return names[l];
}

static double part_of(double work, double rate, double latency_ns) {
  return work > 0 && rate > 0 ? work / rate / latency_ns : -1;
}

static const char *next_knob(prof_limit l, const prof_peaks *p) {
  switch (l) {
    case PROF_COMPUTE:
      return p->matrix_path ? "at the matrix units' rate: a smaller type (bf16, fp8)"
                            : "use the matrix path (a type it takes, matrix_path) or a larger tile";
    case PROF_MEMORY: return "a smaller tile and more prefetch (stages); fuse with the producer or consumer";
    case PROF_COMM: return "fuse the collective with compute stages, or overlap it";
    case PROF_LAUNCH: return "fuse with its neighbours, or replay a capture";
    case PROF_LATENCY: return "nothing is busy: more blocks (smaller tile, split_k), more stages, or tune it";
    case PROF_UNKNOWN: break;
  }
  return "measure the device's peaks first (tessera bench)";
}

prof_bound prof_classify(double latency_ns, double flops, double bytes, double link_bytes, const prof_peaks *p) {
  bool work_known = link_bytes > 0 || (flops >= 0 && bytes >= 0);
  prof_bound b = {PROF_UNKNOWN, -1,
                  work_known ? next_knob(PROF_UNKNOWN, p)
                             : "its work is not known: there is nothing to compare the time with"};
  if (!(latency_ns > 0)) return b;
  const struct {
    prof_limit limit;
    double part;
  } parts[] = {{PROF_COMPUTE, part_of(flops, p->gflops, latency_ns)},
               {PROF_MEMORY, part_of(bytes, p->gbytes_per_s, latency_ns)},
               {PROF_COMM, part_of(link_bytes, p->link_gbytes_per_s, latency_ns)},
               {PROF_LAUNCH, p->launch_ns > 0 ? p->launch_ns / latency_ns : -1}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i].part > b.part) b.limit = parts[i].limit, b.part = parts[i].part;
  if (b.limit == PROF_UNKNOWN) return b;
  /* Only known work and a full set of the rates that it asks for can say that none of them is the limit. */
  bool all_known = work_known && (!(flops > 0) || p->gflops > 0) && (!(bytes > 0) || p->gbytes_per_s > 0) &&
                   (!(link_bytes > 0) || p->link_gbytes_per_s > 0);
  if (b.part < 0.5) b.limit = all_known && p->launch_ns > 0 ? PROF_LATENCY : PROF_UNKNOWN;
  if (b.limit == PROF_UNKNOWN) b.part = -1;
  if (b.part > 1) b.part = 1;
  if (b.limit != PROF_UNKNOWN) b.next = next_knob(b.limit, p);
  return b;
}
