/* tools/tessera/bench_peak.c - what the machine itself can do, measured beside the results: independent FMA chains in
 * registers (or bf16 dot products, or integer ones), and a large copy. Best of several short runs on all threads at
 * once, a core each: the system may start two on one core while another idles. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "tools/tessera/bench.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
  double gflops;
} worker;

/* Windows of about a millisecond, as long as a case that is timed: on a machine with other work a longer one always
 * holds somebody else's slice, and the peak came out below the results. */
enum { PEAK_ROUNDS = 100000, PEAK_WINDOWS = 30 };

/* The best window of this thread; the others run their loops beside it. */
static void *flops_main(void *v) {
  worker *w = v;
  float sink = 0;
  bench_place_on(w->core);
  w->gflops = 0;
  for (int i = 0; i < PEAK_WINDOWS; i++) {
    int64_t from = clock_ns();
    double ops = w->loop(PEAK_ROUNDS, &sink), us = clock_us_since(from) + (sink == 1e-30f);
    if (us > 0 && ops / us * 1e-3 > w->gflops) w->gflops = ops / us * 1e-3;
  }
  return NULL;
}

static void *copy_main(void *v) {
  worker *w = v;
  bench_place_on(w->core);
  memcpy(w->dst, w->src, w->bytes);
  return NULL;
}

static double flops_once(worker *w, int n, peak_loop loop) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    w[i].loop = loop;
    w[i].core = i;
    if (pthread_create(&w[i].thread, NULL, flops_main, &w[i])) return 0;
  }
  for (int i = 0; i < n; i++) {
    pthread_join(w[i].thread, NULL);
    sum += w[i].gflops;
  }
  return sum;
}

static double copy_once(worker *w, int n, char *dst, char *src, size_t bytes) {
  int64_t from = clock_ns();
  for (int i = 0; i < n; i++) {
    size_t part = bytes / (size_t)n;
    w[i].core = i;
    w[i].dst = dst + part * (size_t)i;
    w[i].src = src + part * (size_t)i;
    w[i].bytes = part;
    if (pthread_create(&w[i].thread, NULL, copy_main, &w[i])) return 0;
  }
  for (int i = 0; i < n; i++) pthread_join(w[i].thread, NULL);
  return 2.0 * (double)bytes / clock_us_since(from) * 1e-3;
}

double bench_cpu_gflops(tsr_dtype t, int threads, int tries) {
  worker w[64];
  double best = 0,
         lanes = t == TSR_F64 ? 0.5 : 1; /* the loop is of f32; a register holds half as many f64, at the same rate */
  if (threads > 64) threads = 64;
  for (int i = 0; i < tries; i++) {
    double g = flops_once(w, threads, loop_for(t));
    if (g > best) best = g;
  }
  return best * lanes;
}

/* 256 MiB; for a glance a quarter, since it is the pages' first use that takes long. */
double bench_cpu_copy(int threads, int tries) {
  worker w[64];
  double best = 0;
  if (threads > 64) threads = 64;
  size_t bytes = (size_t)(tries < BENCH_PEAK_TRIES ? 64 : 256) << 20;
  char *dst = aligned_alloc(4096, bytes), *src = aligned_alloc(4096, bytes);
  if (dst && src) {
    memset(dst, 1, bytes);
    memset(src, 2, bytes);
    for (int i = 0; i < 5 && i <= tries; i++) {
      double g = copy_once(w, threads, dst, src, bytes);
      if (g > best) best = g;
    }
  }
  free(dst);
  free(src);
  return best;
}
