/* Measures what the tuner's memory and profiles cost: tune_driver [--device ID] [--entries N] [--only profile]
 *
 * `look-up`: one decision out of a cache of N (1000) entries, found and not found. `compile`: a graph of one matmul
 * with its decision in the cache, and without looking (--tune off). `replay`: a recorded run, with the look-ups that it
 * made. `profile`: a matmul that takes about 1 ms, and four that wait for each other, run without a profile and
 * recorded by one (tsr_profile_step), in turns, from the call to its end; `rows`: what the device said that its kernels
 * took, together. Medians. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/sample.h"
#include "core/tune/cache.h"
#include "tessera/profile.h"
#include "tessera/tune.h"

enum { MAX_RUNS = 2000 };

static void check(tsr_status st) {
  if (!st) return;
  fprintf(stderr, "tune_driver: %s\n", tsr_status_message(st));
  exit(tsr_status_code(st) == TSR_UNAVAILABLE ? 3 : 1);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double median(double *us, int n) {
  sample_sort(us, (size_t)n);
  return us[n / 2];
}

static void time_lookups(const char *dir, int entries) {
  static double hit[MAX_RUNS], miss[MAX_RUNS];
  tune_cache *c = NULL;
  tune_entry e = {.config = "m=64 n=64 k=64 pipeline_stages=1 split_k=1 warps=4",
                  .strategy = "hybrid",
                  .best_ns = 1e6,
                  .default_ns = 2e6,
                  .samples = 50};
  tune_key k = {.op = "matmul",
                .dtype = "f32,f32->f32",
                .layout = "nn",
                .policy = "fast",
                .arch = "none",
                .driver = "none",
                .generator = "0123456789abcdef"};
  char shape[64];
  k.shape = shape;
  check(cache_open(NULL, dir, "lookup", &c));
  for (int i = 0; i < entries; i++) {
    snprintf(shape, sizeof shape, "%dx64x64", i + 1);
    if (!cache_store(c, &k, &e, true, NULL)) fprintf(stderr, "tune_driver: the cache can't be written\n"), exit(1);
  }
  for (int i = 0; i < MAX_RUNS; i++) {
    double t = now_us();
    snprintf(shape, sizeof shape, "%dx64x64", i % entries + 1);
    bool there = cache_lookup(c, &k, &e);
    hit[i] = now_us() - t, t = now_us();
    snprintf(shape, sizeof shape, "%dx64x65", i % entries + 1);
    bool absent = !cache_lookup(c, &k, &e);
    miss[i] = now_us() - t;
    if (!there || !absent) fprintf(stderr, "tune_driver: the cache answers wrongly\n"), exit(1);
  }
  printf("look-up   found %6.1f us   not found %6.1f us   (%d entries)\n", median(hit, MAX_RUNS),
         median(miss, MAX_RUNS), entries);
  cache_close(&c);
}

typedef struct matmul {
  tsr_graph *g;
  tsr_program *p;
  tsr_binding in[2], out;
} matmul;

/* Multiplied by B n times over. */
static matmul make_matmul(tsr_context *ctx, tsr_device *dev, int64_t d, int n) {
  matmul m = {0};
  tsr_value v[2], r;
  size_t bytes = (size_t)(d * d) * 4;
  void *zeros = calloc(1, bytes);
  check(tsr_graph_create(ctx, "main", &m.g));
  for (int i = 0; i < 2; i++) check(tsr_graph_input(m.g, "", TSR_F32, (tsr_shape){2, {d, d}}, &v[i]));
  r = v[0];
  for (int i = 0; i < n; i++) check(tsr_graph_op(m.g, "matmul", (tsr_value[]){r, v[1]}, 2, NULL, 0, &r));
  check(tsr_graph_output(m.g, r));
  check(tsr_program_compile(dev, m.g, NULL, &m.p));
  for (int i = 0; i < 2; i++) {
    check(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &m.in[i].buffer));
    check(tsr_buffer_write(m.in[i].buffer, 0, zeros, bytes));
  }
  check(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &m.out.buffer));
  free(zeros);
  return m;
}

static void drop_matmul(matmul *m) {
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&m->in[i].buffer);
  tsr_buffer_destroy(&m->out.buffer);
  tsr_program_destroy(&m->p);
  tsr_graph_destroy(&m->g);
}

static double run_us(matmul *m, tsr_stream *s) {
  double t = now_us();
  check(tsr_program_run(m->p, s, m->in, &m->out));
  check(tsr_stream_sync(s, -1));
  return now_us() - t;
}

static void time_compiling(tsr_context *ctx, tsr_device *dev, tsr_stream *s) {
  enum { RUNS = 41 };
  double us[2][RUNS], replay[RUNS];
  matmul m = make_matmul(ctx, dev, 64, 1);
  tsr_tune_report *r = NULL;
  tsr_recording *rec;
  check(tsr_graph_tune(dev, m.g, NULL, &(tsr_tune_options){.samples = 4, .samples_fixed = true}, &r));
  tsr_tune_report_destroy(&r);
  for (int i = 0; i < 2 * RUNS; i++) {
    tsr_program *p;
    double t = now_us();
    check(tsr_program_compile(dev, m.g, &(tsr_compile_options){.tune = i % 2 ? TSR_TUNE_OFF : TSR_TUNE_CACHED}, &p));
    us[i % 2][i / 2] = now_us() - t;
    tsr_program_destroy(&p);
  }
  printf("compile   looked up %6.1f us   without %6.1f us\n", median(us[0], RUNS), median(us[1], RUNS));
  check(tsr_capture_begin(s));
  check(tsr_program_run(m.p, s, m.in, &m.out));
  check(tsr_capture_end(s, &rec));
  uint64_t before = tsr_context_tune_counters(ctx).lookups;
  for (int i = 0; i < RUNS; i++) {
    double t = now_us();
    check(tsr_recording_replay(rec, s));
    check(tsr_stream_sync(s, -1));
    replay[i] = now_us() - t;
  }
  printf("replay    %6.1f us   look-ups in %d replays: %llu\n", median(replay, RUNS), RUNS,
         (unsigned long long)(tsr_context_tune_counters(ctx).lookups - before));
  tsr_recording_destroy(&rec);
  drop_matmul(&m);
}

static double least_us(matmul *m, tsr_stream *s) {
  double least = run_us(m, s);
  for (int i = 0; i < 5; i++) {
    double us = run_us(m, s);
    if (us < least) least = us;
  }
  return least;
}

static int64_t size_of_1_ms(tsr_context *ctx, tsr_device *dev, tsr_stream *s) {
  for (int64_t d = 64;; d += 64) {
    matmul m = make_matmul(ctx, dev, d, 1);
    double us = least_us(&m, s);
    drop_matmul(&m);
    if (us >= 1000 || d == 4096) return d;
  }
}

static void time_profiling(tsr_context *ctx, tsr_device *dev, tsr_stream *s, int64_t d, int n) {
  enum { RUNS = 401, WARM_UPS = 5, MAX_KERNELS = 8 };
  static double off[RUNS], on[RUNS], rows[RUNS];
  matmul m = make_matmul(ctx, dev, d, n);
  tsr_profile *prof;
  int runs = RUNS / n;
  check(tsr_profile_create(ctx, &prof));
  for (int i = -WARM_UPS; i < runs; i++) {
    double a = run_us(&m, s), t = now_us(), ns[MAX_KERNELS] = {0};
    check(tsr_profile_step(prof, m.p, s, m.in, &m.out));
    t = now_us() - t;
    check(tsr_program_profile(m.p, s, m.in, &m.out, ns));
    if (i < 0) continue;
    off[i] = a, on[i] = t, rows[i] = 0;
    for (int k = 0; k < n; k++) rows[i] += ns[k] * 1e-3;
  }
  double a = median(off, runs), b = median(on, runs);
  printf("profile   off %.1f us   on %.1f us   %+.2f %%   rows %.1f us   (%d x matmul %lldx%lldx%lld)\n", a, b,
         100 * (b / a - 1), median(rows, runs), tsr_program_n_kernels(m.p), (long long)d, (long long)d, (long long)d);
  tsr_profile_destroy(&prof);
  drop_matmul(&m);
}

int main(int argc, char **argv) {
  const char *device = "cpu:0", *only = "";
  int entries = 1000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--device")) device = argv[i + 1];
    else if (!strcmp(argv[i], "--only") && !strcmp(argv[i + 1], "profile")) only = argv[i + 1];
    else if (!strcmp(argv[i], "--entries")) entries = (int)strtol(argv[i + 1], NULL, 10);
    else argc = 2;
  }
  if (argc % 2 == 0 || entries < 1)
    return fprintf(stderr, "usage: tune_driver [--device ID] [--entries N] [--only profile]\n"), 2;
  char dir[64] = "/tmp/tessera-tune-XXXXXX", command[100];
  tsr_context *ctx;
  tsr_device *dev;
  tsr_stream *s;
  if (!mkdtemp(dir)) return 1;
  check(tsr_context_create(&(tsr_context_desc){.cache_dir = dir}, &ctx));
  check(tsr_device_open(ctx, device, &dev));
  check(tsr_stream_create(dev, 0, &s));
  if (!*only) time_lookups(dir, entries);
  if (!*only) time_compiling(ctx, dev, s);
  int64_t d = size_of_1_ms(ctx, dev, s);
  time_profiling(ctx, dev, s, d, 1);
  time_profiling(ctx, dev, s, d, 4);
  tsr_stream_destroy(&s);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}
