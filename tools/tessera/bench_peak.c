/* tools/tessera/bench_peak.c - what the machine itself can do, measured beside the results: independent FMA chains in registers
 * (or bf16 dot products, or integer ones), and a large copy. Best of several short runs on all threads at once, a core each: the system may start
 * two on one core while another idles. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/tessera/bench.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

double bench_now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Each loop returns the operations it did; `sink` keeps the compiler honest. */
typedef double (*peak_loop)(int rounds, float *sink);
enum { CHAINS = 16 };

static double loop_scalar(int rounds, float *sink) {
  float a[CHAINS * 4];
  for (int i = 0; i < CHAINS * 4; i++) a[i] = (float)i;
  for (int r = 0; r < rounds; r++)
    for (int i = 0; i < CHAINS * 4; i++) a[i] = a[i] * 0.999f + 0.5f;
  for (int i = 0; i < CHAINS * 4; i++) *sink += a[i];
  return (double)rounds * CHAINS * 4 * 2;
}

#if defined(__x86_64__)
#define FMA_LOOP(NAME, TARGET, V, SET, FMA, WIDTH, SUM)                    \
  __attribute__((target(TARGET))) static double NAME(int rounds, float *sink) { \
    V a[CHAINS], m = SET(0.999f), c = SET(0.5f);                           \
    for (int i = 0; i < CHAINS; i++) a[i] = SET((float)i);                 \
    for (int r = 0; r < rounds; r++) {                                     \
      _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) a[i] = FMA(a[i], m, c); \
    }                                                                      \
    float out[WIDTH];                                                      \
    for (int i = 0; i < CHAINS; i++) {                                     \
      SUM(out, a[i]);                                                      \
      *sink += out[0];                                                     \
    }                                                                      \
    return (double)rounds * CHAINS * WIDTH * 2;                            \
  }
FMA_LOOP(loop_avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps, 8, _mm256_storeu_ps)
FMA_LOOP(loop_avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps, 16, _mm512_storeu_ps)

__attribute__((target("avx512f,avx512bf16,avx512bw"))) static double loop_bf16(int rounds, float *sink) {
  __m512 a[CHAINS];
  __m512i one = _mm512_set1_epi16(0x3f00);
  __m512bh x = (__m512bh)one;
  for (int i = 0; i < CHAINS; i++) a[i] = _mm512_set1_ps((float)i);
  for (int r = 0; r < rounds; r++) {
    _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) a[i] = _mm512_dpbf16_ps(a[i], x, x);
  }
  float out[16];
  for (int i = 0; i < CHAINS; i++) {
    _mm512_storeu_ps(out, a[i]);
    *sink += out[0];
  }
  return (double)rounds * CHAINS * 32 * 2;
}

__attribute__((target("avx512f,avx512vnni"))) static double loop_vnni(int rounds, float *sink) {
  __m512i a[CHAINS], x = _mm512_set1_epi8(1);
  for (int i = 0; i < CHAINS; i++) a[i] = _mm512_set1_epi32(i);
  for (int r = 0; r < rounds; r++) {
    _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) a[i] = _mm512_dpbusd_epi32(a[i], x, x);
  }
  int out[16];
  for (int i = 0; i < CHAINS; i++) {
    _mm512_storeu_si512(out, a[i]);
    *sink += (float)out[0];
  }
  return (double)rounds * CHAINS * 64 * 2;
}
#endif

static peak_loop loop_for(tsr_dtype t) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (t == TSR_BF16 && __builtin_cpu_supports("avx512bf16")) return loop_bf16;
  if ((t == TSR_I8 || t == TSR_U8) && __builtin_cpu_supports("avx512vnni")) return loop_vnni;
  if (__builtin_cpu_supports("avx512f")) return loop_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return loop_avx2;
#endif
  return loop_scalar;
}

typedef struct worker {
  pthread_t thread;
  peak_loop loop;
  char *dst, *src;
  size_t bytes;
  int core;
  double us, ops;
} worker;

enum { PEAK_ROUNDS = 3000000 }; /* tens of milliseconds: starting a thread takes tenths of one */

static void *flops_main(void *v) {
  worker *w = v;
  float sink = 0;
  bench_place_on(w->core);
  double from = bench_now_us();
  w->ops = w->loop(PEAK_ROUNDS, &sink);
  w->us = bench_now_us() - from + (sink == 1e-30f);
  return NULL;
}

static void *copy_main(void *v) {
  worker *w = v;
  bench_place_on(w->core);
  memcpy(w->dst, w->src, w->bytes);
  return NULL;
}

static double flops_once(worker *w, int n, peak_loop loop) {
  double from = bench_now_us(), ops = 0;
  for (int i = 0; i < n; i++) {
    w[i].loop = loop;
    w[i].core = i;
    if (pthread_create(&w[i].thread, NULL, flops_main, &w[i])) return 0;
  }
  for (int i = 0; i < n; i++) {
    pthread_join(w[i].thread, NULL);
    ops += w[i].ops;
  }
  return ops / (bench_now_us() - from) * 1e-3;
}

static double copy_once(worker *w, int n, char *dst, char *src, size_t bytes) {
  double from = bench_now_us();
  for (int i = 0; i < n; i++) {
    size_t part = bytes / (size_t)n;
    w[i].core = i;
    w[i].dst = dst + part * (size_t)i;
    w[i].src = src + part * (size_t)i;
    w[i].bytes = part;
    if (pthread_create(&w[i].thread, NULL, copy_main, &w[i])) return 0;
  }
  for (int i = 0; i < n; i++) pthread_join(w[i].thread, NULL);
  return 2.0 * (double)bytes / (bench_now_us() - from) * 1e-3;
}

bench_peaks bench_cpu_peaks(tsr_dtype t, int threads) {
  bench_peaks p = {0};
  worker w[64];
  if (threads > 64) threads = 64;
  peak_loop loop = loop_for(t);
  for (int i = 0; i < 7; i++) {
    double g = flops_once(w, threads, loop);
    if (g > p.gflops) p.gflops = g;
  }
  size_t bytes = (size_t)256 << 20;
  char *dst = aligned_alloc(4096, bytes), *src = aligned_alloc(4096, bytes);
  if (dst && src) {
    memset(dst, 1, bytes);
    memset(src, 2, bytes);
    for (int i = 0; i < 5; i++) {
      double g = copy_once(w, threads, dst, src, bytes);
      if (g > p.gbytes_per_s) p.gbytes_per_s = g;
    }
  }
  free(dst);
  free(src);
  return p;
}

/* On a GPU 1 GiB after warm-up, by its own clock; else 128 MiB by the host's. */
double bench_device_copy(tsr_device *dev) {
  const tsr_device_info *d = tsr_device_get_info(dev);
  bool by_events = !d->software && strcmp(d->backend, "cpu") != 0;
  size_t bytes = (size_t)(by_events ? 1 << 10 : 128) << 20;
  while (by_events && d->memory_bytes > 0 && bytes > (size_t)d->memory_bytes / 8) bytes /= 2;
  tsr_buffer *a = NULL, *b = NULL;
  bench_timer timer = {0};
  double best = 0;
  tsr_status st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &a);
  if (!st) st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &b);
  if (!st) st = bench_timer_create(dev, &timer);
  if (!st) st = tsr_stream_create(dev, 0, &timer.stream);
  for (int i = 0; i < (by_events ? 30 : 5) && !st; i++) {
    double us = 0, from = bench_now_us();
    if (by_events) st = bench_timer_start(&timer);
    if (!st) st = tsr_stream_copy(timer.stream, b, 0, a, 0, bytes);
    if (!st) st = by_events ? bench_timer_stop(&timer, &us) : tsr_stream_sync(timer.stream, -1);
    if (!by_events) us = bench_now_us() - from;
    double g = us > 0 ? 2.0 * (double)bytes / us * 1e-3 : 0;
    if (!st && g > best && (!by_events || i >= 10)) best = g;
  }
  tsr_status_free(st);
  tsr_stream_destroy(&timer.stream);
  bench_timer_destroy(&timer);
  tsr_buffer_destroy(&a);
  tsr_buffer_destroy(&b);
  return best;
}
