/* tools/tessera/bench_memory.c - see bench_memory.h. By Linux's /proc: VmHWM is the peak, and writing 5 to clear_refs
 * makes it what is resident now. */
#include "tools/tessera/bench_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A line of /proc/self/status, in bytes. */
static double status(const char *name) {
  char line[256];
  double kilobytes = -1;
  const size_t n = strlen(name);
  FILE *f = fopen("/proc/self/status", "r");
  while (f && kilobytes < 0 && fgets(line, sizeof line, f))
    if (!strncmp(line, name, n) && sscanf(line + n, ": %lf", &kilobytes) != 1) kilobytes = -1;
  if (f) fclose(f);
  return kilobytes < 0 ? -1 : 1024 * kilobytes;
}

double bench_memory_begin(void) {
  FILE *f = fopen("/proc/self/clear_refs", "w");
  bool done = f && fputs("5", f) >= 0;
  if (f) done &= !fclose(f);
  return done ? status("VmRSS") : -1;
}

double bench_memory_peak(double before) {
  const double peak = before < 0 ? -1 : status("VmHWM");
  return peak < 0 ? -1 : peak > before ? peak - before : 0;
}
