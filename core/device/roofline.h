/* core/device/roofline.h - how the parts of a kernel add up to its time, for all who estimate: the choice of
 * defaults (schedule/gemm_heuristics.c), the tuner's model (tune/cost.c) and its timeline. What each part takes alone
 * is theirs to say; of products schedule/gemm_cost.h counts it. Sources: roofline (Williams 2009), wave quantisation as
 * in nvMatmulHeuristics. */
#ifndef CORE_DEVICE_ROOFLINE_H
#define CORE_DEVICE_ROOFLINE_H

#include <stdbool.h>

enum { ROOFLINE_MOST_SERIAL = 4 };

typedef struct roofline_parts {
  const double *ns; /* parts that run side by side, each alone: arithmetic, and the levels of memory */
  int n;
  double overlap; /* share of the lesser parts that runs under the longest: 1 all of it, 0 none */
  double busy;    /* share of the time in which the device works at these rates: idle cores, latency that shows */
  double serial[ROOFLINE_MOST_SERIAL]; /* what nothing else runs under: barriers, launches */
} roofline_parts;

double roofline_ns(const roofline_parts *p);
/* The parts side by side alone. */
double roofline_overlapped_ns(const double *ns, int n, double overlap);
/* The longest part; the first of several. */
int roofline_bound(const double *ns, int n);
/* What a launch takes: the measured time, or where nobody measured the device (0) a guess for its kind. */
double roofline_launch_ns(double measured, bool cpu);
/* Rounds that the cores need for the blocks, one each at a time: the last may leave cores idle. */
double roofline_rounds(double blocks, double cores);
#endif
