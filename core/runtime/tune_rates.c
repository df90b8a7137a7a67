/* core/runtime/tune_rates.c - the rates that a device reaches with the library's own kernels, measured once and kept in
 * the cache. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/runtime/tune_rates.h"

#include "core/runtime/peaks.h"

#include "core/base/clock.h"
#include "core/device/dialect.h"
#include "core/tune/kernel.h"

/* Runs that count: long ones, in which a short disturbance is little, are fewer. */
enum { BARRIER_WARPS = 4, WARM_UPS = 2, LEAST_RUNS = 3, MOST_RUNS = 7, ENOUGH_NS = 20000000 };

typedef struct meter {
  tsr_device *dev;
  rt_compile_fn compile;
} meter;

/* Least time of a graph text on the device, since rates are what it can reach; 0 when it can't run there. */
static double time_scheduled(const meter *m, const char *text, const tsr_schedule *by_hand) {
  tsr_device *dev = m->dev;
  ir_module *parsed = NULL;
  tsr_program *p = NULL;
  tsr_buffer *in = NULL, *out = NULL;
  double least = 0, sum = 0, ns[4] = {0};
  tsr_compile_options o = {
      .tune = TSR_TUNE_OFF, .fallback = TSR_FALLBACK_ALLOW, .schedules = by_hand, .n_schedules = by_hand ? 1 : 0};
  tsr_status st = ir_parse(&dev->ctx->al, text, strlen(text), "rates", &parsed);
  if (!st) st = m->compile(dev, parsed, &o, &p); /* takes it */
  if (!st && tsr_program_n_kernels(p) > 4)
    st = st_make(&dev->ctx->al, TSR_INTERNAL, RT_WHERE("tune", NULL), "a rate is measured with %d kernels",
                 tsr_program_n_kernels(p));
  if (!st) st = tsr_buffer_create(dev, tsr_program_input(p, 0).bytes, TSR_MEMORY_DEVICE, &in);
  if (!st) st = tsr_buffer_create(dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &out);
  if (!st) st = tsr_stream_fill(rt_stream(dev, NULL), in, 0, tsr_program_input(p, 0).bytes, 0x3f000000u);
  for (int i = -WARM_UPS; i < MOST_RUNS && !st && !(i >= LEAST_RUNS && sum > ENOUGH_NS); i++) {
    int64_t start = clock_ns();
    memset(ns, 0, sizeof ns);
    st = tsr_program_profile(p, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0}, ns);
    double took = (double)(clock_ns() - start), told = ns[0] > 0 ? ns[0] + ns[1] + ns[2] + ns[3] : took;
    if (i < 0 || st) continue;
    sum += told;
    if (i == 0 || told < least) least = told;
  }
  if (st) least = 0;
  tsr_status_free(st);
  tsr_buffer_destroy(&in);
  tsr_buffer_destroy(&out);
  tsr_program_destroy(&p);
  return least;
}

static double time_text(const meter *m, const char *text) { return time_scheduled(m, text, NULL); }

static const char *unary_text(char *buf, size_t cap, const char *op, long long n) {
  snprintf(
      buf, cap,
      "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%lldxf32>):\n%%0 = "
      "\"tessera.graph.%s\"(%%A) : (tensor<%lldxf32>) -> tensor<%lldxf32>\n"
      "\"tessera.graph.return\"(%%0) : (tensor<%lldxf32>) -> ()\n}) {sym_name = \"main\"} : () -> ()\n}) : () -> ()\n",
      n, op, n, n, n);
  return buf;
}

static const char *matmul_text(char *buf, size_t cap, int m, int n, int k, const char *t) {
  snprintf(buf, cap,
           "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%dx%dx%s>):\n"
           "%%B = \"tessera.graph.reshape\"(%%A) {shape = [%d, %d]}\n%%0 = \"tessera.graph.matmul\"(%%A, "
           "%%B)\n\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n})\n",
           m, k, t, k, n);
  return buf;
}

/* A block that transposes a 16x16 tile `steps` times through shared memory: two barriers a step, as staging a k step
 * has. */
static const char *barrier_text(char *buf, size_t cap, int steps) {
  snprintf(
      buf, cap,
      "\"builtin.module\"() ({\n\"tessera.tile.program\"() ({\n^bb0(%%A: tensor<16x16xf32>):\n%%B = "
      "\"tessera.tile.buffer\"() : () -> tensor<16x16xf32>\n"
      "\"tessera.tile.launch\"(%%A, %%B) {kernel = \"turn\"}\n\"tessera.tile.return\"(%%B)\n}) {sym_name = \"main\"}\n"
      "\"tessera.tile.kernel\"() ({\n^bb0(%%a: !tessera.view<16x16xf32>, %%b: !tessera.view<16x16xf32>):\n"
      "%%zero = \"tessera.tile.const\"() {value = 0}\n%%one = \"tessera.tile.const\"() {value = 1}\n%%n = "
      "\"tessera.tile.const\"() {value = %d}\n"
      "%%v = \"tessera.tile.window\"(%%a, %%zero, %%zero) {sizes = [16, 16]}\n%%w = \"tessera.tile.window\"(%%b, "
      "%%zero, %%zero) {sizes = [16, 16]}\n"
      "%%x = \"tessera.tile.load\"(%%v)\n%%z = \"tessera.tile.for\"(%%zero, %%n, %%one, %%x) ({\n^bb0(%%i: index, %%y: "
      "!tessera.frag<16x16xf32>):\n"
      "%%t = \"tessera.tile.transpose\"(%%y) {perm = [1, "
      "0]}\n\"tessera.tile.yield\"(%%t)\n})\n\"tessera.tile.store\"(%%z, %%w)\n\"tessera.tile.return\"()\n"
      "}) {sym_name = \"turn\", grid = [1, 1, 1], outputs = 1, warps = %d}\n}) : () -> ()\n",
      steps, BARRIER_WARPS);
  return buf;
}

/* What one more k step costs a block beside its arithmetic; 0: too little to tell. On a CPU the same product in more
 * steps, elsewhere the loop above. */
static double step_ns(const meter *m, char *text, size_t cap) {
  enum { SIDE = 32, LONG_K = 8192, FEW = 16, MANY = 256, LOOPS = 2000 };
  double few, many, steps;
  if (m->dev->caps.dialect == DIALECT_CPU) {
    matmul_text(text, cap, SIDE, SIDE, LONG_K, "f32");
    few = time_scheduled(m, text, &(tsr_schedule){.m = SIDE, .n = SIDE, .k = LONG_K / FEW});
    many = time_scheduled(m, text, &(tsr_schedule){.m = SIDE, .n = SIDE, .k = LONG_K / MANY});
    steps = MANY - FEW;
  } else {
    few = time_text(m, barrier_text(text, cap, LOOPS / 10));
    many = time_text(m, barrier_text(text, cap, LOOPS));
    steps = LOOPS - LOOPS / 10;
    if (caps_simd_like(&m->dev->caps)) steps *= BARRIER_WARPS; /* there they come in turns, and the model counts each */
  }
  return few > 0 && many > 1.2 * few ? (many - few) / steps : 0;
}

/* GB/s of a copy that stays in the second-level cache (of all cores, where each has its own); 0: not seen, being no
 * faster than memory. */
static double near_gbps(const meter *m, const tune_device *d, double launch, char *text, size_t cap) {
  enum { UNKNOWN = 1 << 19 }; /* no device of today has less */
  const tune_tier *l2 = tune_device_tier(d, "l2"), *memory = tune_device_tier(d, "memory");
  double bytes = l2 && l2->bytes > 0 ? l2->bytes * (d->is_cpu ? d->cores : 1) / 2 : UNKNOWN;
  if (bytes < 1 << 16 || bytes > 1 << 28) return 0;
  long long n = (long long)bytes / 8;
  double ns = time_text(m, unary_text(text, cap, "neg", n)),
         rate = ns > 2 * launch ? 8.0 * (double)n / (ns - launch) : 0;
  return memory && rate > memory->gbps ? rate : 0;
}

/* By square products that grow until one takes long enough to tell: a slow device (or a build that checks each access)
 * would spend its time on the largest. */
static void reached(const meter *m, const char *t, char *text, size_t cap, double launch, double *gflops,
                    tune_origin *from) {
  enum { LEAST_SIDE = 192, MOST_SIDE = 768 };
  static const double margin = 1.1, long_enough = 20e6; /* ns */
  if (*gflops > 0) return;
  int side = LEAST_SIDE;
  double ns = time_text(m, matmul_text(text, cap, side, side, side, t));
  while (ns > 0 && ns < long_enough && side < MOST_SIDE) { /* 0: it can't run there, of no size */
    side *= 2;
    ns = time_text(m, matmul_text(text, cap, side, side, side, t));
  }
  if (!(ns > launch)) return;
  *gflops = margin * 2 * side * side * (double)side / (ns - launch);
  *from = TUNE_REACHED;
}

/* Peaks where loops of their own told them (peaks.h): they are the device's, whatever our kernels reach. */
static void take_peaks(const meter *m, tune_cache *cache, tune_device *d) {
  tsr_peaks f32, narrow;
  tsr_status st = rt_peaks(m->dev, cache, m->compile, TSR_F32, false, &f32);
  if (!st && f32.gflops > 0) d->fma_gflops = f32.gflops, d->fma_from = TUNE_MEASURED;
  if (!st && f32.copy_gbytes_per_s > 0) tune_device_measured(d, "memory", f32.copy_gbytes_per_s);
  for (int i = 0; !st && i < d->n_matrix; i++) {
    if (d->matrix[i].in != TSR_BF16 && d->matrix[i].in != TSR_F16) continue;
    st = rt_peaks(m->dev, cache, m->compile, d->matrix[i].in, false, &narrow);
    if (!st && narrow.matrix_gflops > 0) d->matrix_gflops = narrow.matrix_gflops, d->matrix_from = TUNE_REACHED;
    break;
  }
  tsr_status_free(st);
}

/* What the device reaches with our own kernels: copies, an untuned matmul, a kernel of one block, a loop of barriers.
 * Those of shared memory and the latencies stay listed or assumed. */
static void measure_rates(const meter *m, tune_cache *cache, tune_device *d) {
  enum { COPY = 1 << 24 };
  char text[1600];
  double launch = time_text(m, unary_text(text, sizeof text, "neg", 16)),
         copy = time_text(m, unary_text(text, sizeof text, "neg", COPY));
  if (launch > 0) d->launch_ns = launch, d->launch_from = TUNE_MEASURED;
  if (dialect_of(&m->dev->caps)->rates_measured) take_peaks(m, cache, d);
  const tune_tier *memory = tune_device_tier(d, "memory");
  if (copy > 0 && !(memory && memory->measured && memory->gbps > 8.0 * COPY / copy)) /* of a copy, or of a kernel */
    tune_device_measured(d, "memory", 8.0 * COPY / copy);
  double near = launch > 0 ? near_gbps(m, d, launch, text, sizeof text) : 0, step = step_ns(m, text, sizeof text);
  if (near > 0) tune_device_measured(d, "l2", near);
  if (step > 0) d->barrier_ns = step, d->barrier_from = TUNE_MEASURED;
  reached(m, "f32", text, sizeof text, launch, &d->fma_gflops, &d->fma_from);
  if (d->n_matrix) reached(m, "bf16", text, sizeof text, launch, &d->matrix_gflops, &d->matrix_from);
  d->measured_on = (double)time(NULL);
}

static tsr_status device_itself(tsr_device *dev, tune_cache *cache, rt_compile_fn compile, tune_device *out) {
  char id[256];
  strb text;
  *out = tune_device_from_caps(&dev->caps, dev->info.name);
  out->queried = dev->be != NULL;
  snprintf(id, sizeof id, "%.64s|%.32s|%d|%.128s|%s", dev->info.name, dev->caps.arch, dev->caps.n_cores,
           dev->info.driver ? dev->info.driver : "", tune_generator());
  strb_init(&text, &dev->ctx->al);
  bool known = false;
  if (cache_device(cache, id, &text)) {
    tune_device kept;
    tsr_status st = tune_device_parse(strb_text(&text), "cache", &kept);
    known = !st;
    if (!st) {
      out->launch_ns = kept.launch_ns, out->launch_from = kept.launch_from;
      out->barrier_ns = kept.barrier_ns, out->barrier_from = kept.barrier_from;
      out->fma_gflops = kept.fma_gflops, out->fma_from = kept.fma_from;
      out->matrix_gflops = kept.matrix_gflops, out->matrix_from = kept.matrix_from;
      out->measured_on = kept.measured_on;
      for (int i = 0; i < kept.n_tiers; i++)
        if (kept.tier[i].measured) tune_device_measured(out, kept.tier[i].name, kept.tier[i].gbps);
    }
    tsr_status_free(st);
  }
  strb_clear(&text);
  if (known || !compile || !dev->be) return NULL;
  measure_rates(&(meter){dev, compile}, cache, out);
  strb_init(&text, &dev->ctx->al);
  tune_device_print(out, &text);
  if (strb_ok(&text)) cache_set_device(cache, id, strb_text(&text));
  strb_clear(&text);
  return NULL;
}

tsr_status rt_tune_device(tsr_device *dev, tune_cache *cache, rt_compile_fn compile, tune_device *out) {
  TSR_TRY(device_itself(dev, cache, compile, out));
  if (dev->profile) tune_device_override(out, dev->profile);
  return NULL;
}
