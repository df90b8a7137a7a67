/* tools/tessera/bench_peak_gpu.c - what a GPU itself can do: the library's peaks (tessera/profile.h), and a large copy
 * by its own clock where it has one. */
#include <string.h>

#include "core/base/clock.h"
#include "tessera/profile.h"
#include "tools/tessera/bench.h"

static bool by_events(tsr_device *dev) {
  const tsr_device_info *d = tsr_device_get_info(dev);
  return !d->software && strcmp(d->backend, "cpu") != 0;
}

double bench_device_gflops(tsr_device *dev, tsr_dtype t, bool again) {
  tsr_peaks p;
  tsr_status st = tsr_device_peaks(dev, t, again, &p);
  if (st) {
    tsr_status_free(st);
    return 0;
  }
  return p.gflops > p.matrix_gflops ? p.gflops : p.matrix_gflops;
}

/* On a GPU 1 GiB after warm-up, by its own clock; else 128 MiB by the host's. For a glance 128 and 64, twice. */
double bench_device_copy(tsr_device *dev, int tries) {
  enum { WARM_UPS = 10 };
  const tsr_device_info *d = tsr_device_get_info(dev);
  const bool events = by_events(dev), glance = tries < BENCH_PEAK_TRIES;
  const int counted = glance ? 2 : events ? 20 : 5, first = events ? WARM_UPS : 0;
  size_t bytes = (size_t)(glance ? (events ? 128 : 64) : (events ? 1 << 10 : 128)) << 20;
  while (events && d->memory_bytes > 0 && bytes > (size_t)d->memory_bytes / 8) bytes /= 2;
  tsr_buffer *a = NULL, *b = NULL;
  bench_timer timer = {0};
  double best = 0;
  tsr_status st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &a);
  if (!st) st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &b);
  if (!st) st = bench_timer_create(dev, &timer);
  if (!st) st = tsr_stream_create(dev, 0, &timer.stream);
  for (int i = 0; i < first + counted && !st; i++) {
    double us = 0;
    int64_t from = clock_ns();
    if (events) st = bench_timer_start(&timer);
    if (!st) st = tsr_stream_copy(timer.stream, b, 0, a, 0, bytes);
    if (!st) st = events ? bench_timer_stop(&timer, &us) : tsr_stream_sync(timer.stream, -1);
    if (!events) us = clock_us_since(from);
    double g = us > 0 ? 2.0 * (double)bytes / us * 1e-3 : 0;
    if (!st && g > best && i >= first) best = g;
  }
  tsr_status_free(st);
  tsr_stream_destroy(&timer.stream);
  bench_timer_destroy(&timer);
  tsr_buffer_destroy(&a);
  tsr_buffer_destroy(&b);
  return best;
}
