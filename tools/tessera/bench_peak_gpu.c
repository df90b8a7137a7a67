/* tools/tessera/bench_peak_gpu.c - what a GPU itself can do, by kernels of the library: chains of multiply-adds in
 * registers, a large product for the types of matrix units, a large copy. Timed by the device's own clock where it has
 * one. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "tools/tessera/bench.h"

enum { CHAIN_ELEMENTS = 1024, CHAIN_PAIRS = 8, CHAIN_BLOCKS = 32 /* a core */, TEXT_BYTES = 4096 };

/* x = x * x + x, which stays finite near 0, CHAIN_PAIRS times a step; each element is a chain of its own. */
static int chain_text(char *text, tsr_dtype t, long blocks, long steps) {
  const char *d = tsr_dtype_name(t);
  int n = snprintf(
      text, TEXT_BYTES,
      "\"builtin.module\"() ({\n\"tessera.tile.program\"() ({\n^bb0(%%A: tensor<%ldx%dx%s>):\n%%B = "
      "\"tessera.tile.buffer\"() : () -> tensor<%ldx%dx%s>\n"
      "\"tessera.tile.launch\"(%%A, %%B) {kernel = \"chain\"}\n\"tessera.tile.return\"(%%B)\n}) {sym_name = \"main\"}\n"
      "\"tessera.tile.kernel\"() ({\n^bb0(%%a: !tessera.view<%ldx%dx%s>, %%b: !tessera.view<%ldx%dx%s>):\n"
      "%%zero = \"tessera.tile.const\"() {value = 0}\n%%one = \"tessera.tile.const\"() {value = 1}\n%%n = "
      "\"tessera.tile.const\"() {value = %ld}\n%%g = \"tessera.tile.block_id\"() {axis = 0}\n"
      "%%v = \"tessera.tile.window\"(%%a, %%g, %%zero) {sizes = [1, %d]}\n%%w = \"tessera.tile.window\"(%%b, %%g, "
      "%%zero) {sizes = [1, %d]}\n"
      "%%x = \"tessera.tile.load\"(%%v)\n%%z = \"tessera.tile.for\"(%%zero, %%n, %%one, %%x) ({\n^bb0(%%i: index, %%y: "
      "!tessera.frag<1x%dx%s>):\n%%t = \"tessera.tile.map\"(%%y) ({\n^bb0(%%p0: %s):\n",
      blocks, CHAIN_ELEMENTS, d, blocks, CHAIN_ELEMENTS, d, blocks, CHAIN_ELEMENTS, d, blocks, CHAIN_ELEMENTS, d, steps,
      CHAIN_ELEMENTS, CHAIN_ELEMENTS, CHAIN_ELEMENTS, d, d);
  for (int i = 0; i < CHAIN_PAIRS; i++)
    n += snprintf(text + n, (size_t)(TEXT_BYTES - n),
                  "%%q%d = \"tessera.tile.mul\"(%%p%d, %%p0)\n%%p%d = \"tessera.tile.add\"(%%q%d, %%p0)\n", i, i, i + 1,
                  i);
  n += snprintf(text + n, (size_t)(TEXT_BYTES - n),
                "\"tessera.tile.yield\"(%%p%d)\n}) : (!tessera.frag<1x%dx%s>) -> "
                "!tessera.frag<1x%dx%s>\n\"tessera.tile.yield\"(%%t)\n})\n\"tessera.tile.store\"(%%z, %%w)\n"
                "\"tessera.tile.return\"()\n}) {sym_name = \"chain\", grid = [%ld, 1, 1], outputs = 1, warps = 4}\n}) "
                ": () -> ()\n",
                CHAIN_PAIRS, CHAIN_ELEMENTS, d, CHAIN_ELEMENTS, d, blocks);
  return n;
}

static int product_text(char *text, tsr_dtype t, int side) {
  const char *d = tsr_dtype_name(t);
  return snprintf(text, TEXT_BYTES,
                  "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%dx%dx%s>):\n%%0 = \"tessera.graph.matmul\"(%%A, "
                  "%%A)\n\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
                  side, side, d);
}

static bool by_events(tsr_device *dev) {
  const tsr_device_info *d = tsr_device_get_info(dev);
  return !d->software && strcmp(d->backend, "cpu") != 0;
}

/* The least time of `runs` launches of a text with one operand and one result; 0 when the device can't. */
static double least_us(tsr_device *dev, const char *text, int runs) {
  tsr_program *p = NULL;
  tsr_buffer *in = NULL, *out = NULL;
  bench_timer timer = {0};
  bool events = by_events(dev);
  double least = 0;
  tsr_compile_options o = {.tune = TSR_TUNE_OFF, .fallback = TSR_FALLBACK_ALLOW};
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "peak", &o, &p);
  if (!st) st = tsr_buffer_create(dev, tsr_program_input(p, 0).bytes, TSR_MEMORY_DEVICE, &in);
  if (!st) st = tsr_buffer_create(dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &out);
  if (!st) st = bench_timer_create(dev, &timer);
  if (!st) st = tsr_stream_create(dev, 0, &timer.stream);
  if (!st) st = tsr_stream_fill(timer.stream, in, 0, tsr_program_input(p, 0).bytes, 0);
  for (int i = 0; i < runs + 2 && !st; i++) {
    double us = 0;
    int64_t from = clock_ns();
    if (events) st = bench_timer_start(&timer);
    if (!st) st = tsr_program_run(p, timer.stream, &(tsr_binding){in, 0}, &(tsr_binding){out, 0});
    if (!st) st = events ? bench_timer_stop(&timer, &us) : tsr_stream_sync(timer.stream, -1);
    if (!events) us = clock_us_since(from);
    if (!st && i >= 2 && (!(least > 0) || us < least)) least = us;
  }
  bool bad = st != NULL;
  tsr_status_free(st);
  tsr_stream_destroy(&timer.stream);
  bench_timer_destroy(&timer);
  tsr_buffer_destroy(&in);
  tsr_buffer_destroy(&out);
  tsr_program_destroy(&p);
  return bad ? 0 : least;
}

/* More steps until a launch is long beside what starting it costs. */
static double chain_gflops(tsr_device *dev, tsr_dtype t) {
  char text[TEXT_BYTES];
  int cores = tsr_device_get_info(dev)->n_cores;
  long blocks = (cores > 0 ? cores : 16) * (long)CHAIN_BLOCKS;
  double us = 0;
  long steps = 16;
  for (; steps < 1 << 20; steps *= 4) {
    if (chain_text(text, t, blocks, steps) >= TEXT_BYTES || !((us = least_us(dev, text, 3)) > 0)) return 0;
    if (us > 5000) break;
  }
  us = least_us(dev, text, 7);
  return us > 0 ? 2.0 * CHAIN_PAIRS * CHAIN_ELEMENTS * (double)blocks * (double)steps / us * 1e-3 : 0;
}

static double product_gflops(tsr_device *dev, tsr_dtype t) {
  char text[TEXT_BYTES];
  int side = by_events(dev) ? 4096 : 512;
  product_text(text, t, side);
  double us = least_us(dev, text, 7);
  return us > 0 ? 2.0 * side * side * (double)side / us * 1e-3 : 0;
}

double bench_device_gflops(tsr_device *dev, tsr_dtype t) {
  bool narrow = tsr_dtype_size(t) < 4 || t == TSR_TF32,
       whole = t == TSR_I8 || t == TSR_U8 || t == TSR_I16 || t == TSR_I32 || t == TSR_I64;
  double product = narrow ? product_gflops(dev, t) : 0;
  if (whole && narrow) return product;
  double chain = chain_gflops(dev, t == TSR_F64 || t == TSR_I32 || t == TSR_I64 ? t : TSR_F32);
  return product > chain ? product : chain;
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
