/* core/device/roofline.c - see device/roofline.h. */
#include "core/device/roofline.h"

#include <math.h>

int roofline_bound(const double *ns, int n) {
  int bound = 0;
  for (int i = 1; i < n; i++)
    if (ns[i] > ns[bound]) bound = i;
  return bound;
}

double roofline_overlapped_ns(const double *ns, int n, double overlap) {
  double sum = 0, most = ns[roofline_bound(ns, n)];
  for (int i = 0; i < n; i++) sum += ns[i];
  return most + (1 - overlap) * (sum - most);
}

double roofline_ns(const roofline_parts *p) {
  double ns = roofline_overlapped_ns(p->ns, p->n, p->overlap) / p->busy;
  for (int i = 0; i < ROOFLINE_MOST_SERIAL; i++) ns += p->serial[i];
  return ns;
}

double roofline_rounds(double blocks, double cores) { return cores > 0 ? ceil(blocks / cores) : 1; }

double roofline_launch_ns(double measured, bool cpu) { return measured > 0 ? measured : cpu ? 2000 : 5000; }
