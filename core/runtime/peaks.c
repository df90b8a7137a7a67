/* core/runtime/peaks.c - the peaks of a device that is no CPU, by Tile IR of their own: chains of multiply-adds in
 * registers for each data type, loops of its matrix instructions and a large product by them, a large copy. Kept in the
 * cache by device, driver and the library's generator. */
#include "core/runtime/peaks.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/dtype.h"
#include "core/base/json.h"
#include "core/runtime/peak_matrix.h"
#include "core/tune/kernel.h"

enum { WARPS = 4, PAIRS = 8, MOST_STEPS = 1 << 20, TEXT_BYTES = 4096, RUNS = 7, WARM_UPS = 2 };

/* ---- texts ---- */

/* Blocks of `n` elements, each a chain of its own of x = x * x + x, which stays 0 at 0; PAIRS of them a step. */
static bool chain_text(char *text, tsr_dtype t, long blocks, int n, long steps) {
  const char *d = dtype_get(t)->mlir;
  int at = snprintf(
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
      blocks, n, d, blocks, n, d, blocks, n, d, blocks, n, d, steps, n, n, n, d, d);
  for (int i = 0; i < PAIRS; i++)
    at += snprintf(text + at, (size_t)(TEXT_BYTES - at),
                   "%%q%d = \"tessera.tile.mul\"(%%p%d, %%p%d)\n%%p%d = \"tessera.tile.add\"(%%q%d, %%p%d)\n", i, i, i,
                   i + 1, i, i);
  at += snprintf(text + at, (size_t)(TEXT_BYTES - at),
                 "\"tessera.tile.yield\"(%%p%d)\n}) : (!tessera.frag<1x%dx%s>) -> "
                 "!tessera.frag<1x%dx%s>\n\"tessera.tile.yield\"(%%t)\n})\n\"tessera.tile.store\"(%%z, %%w)\n"
                 "\"tessera.tile.return\"()\n}) {sym_name = \"chain\", grid = [%ld, 1, 1], outputs = 1, warps = %d}\n})"
                 " : () -> ()\n",
                 PAIRS, n, d, n, d, blocks, WARPS);
  return at < TEXT_BYTES;
}

static void product_text(char *text, tsr_dtype t, int side) {
  const char *d = dtype_get(t)->mlir;
  snprintf(text, TEXT_BYTES,
           "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%dx%dx%s>):\n%%0 = \"tessera.graph.matmul\"(%%A, "
           "%%A)\n\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
           side, side, d);
}

/* ---- timing ---- */

typedef struct meter { tsr_device *dev; rt_compile_fn compile; } meter;

/* The least time of a text's kernels in `runs` runs on zeros, since peaks are what a device can reach; 0 when it can't
 * run them. */
static double least_ns(const meter *m, const char *text, int runs) {
  enum { MOST_KERNELS = 4 };
  tsr_device *dev = m->dev;
  ir_module *parsed = NULL;
  tsr_program *p = NULL;
  tsr_buffer *in = NULL, *out = NULL;
  double least = 0;
  tsr_compile_options o = {.tune = TSR_TUNE_OFF, .fallback = TSR_FALLBACK_ERROR};
  tsr_status st = ir_parse(&dev->ctx->al, text, strlen(text), "peak", &parsed);
  if (!st) st = m->compile(dev, parsed, &o, &p); /* takes it */
  if (!st && tsr_program_n_kernels(p) > MOST_KERNELS) goto done;
  if (!st) st = tsr_buffer_create(dev, tsr_program_input(p, 0).bytes, TSR_MEMORY_DEVICE, &in);
  if (!st) st = tsr_buffer_create(dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &out);
  if (!st) st = tsr_stream_fill(rt_stream(dev, NULL), in, 0, tsr_program_input(p, 0).bytes & ~(size_t)3, 0);
  for (int i = -WARM_UPS; i < runs && !st; i++) {
    double ns[MOST_KERNELS] = {0}, sum = 0;
    st = tsr_program_profile(p, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0}, ns);
    for (int k = 0; k < MOST_KERNELS; k++) sum += ns[k];
    if (!st && i >= 0 && sum > 0 && (!(least > 0) || sum < least)) least = sum;
  }
done:
  if (st) least = 0;
  tsr_status_free(st);
  tsr_buffer_destroy(&in);
  tsr_buffer_destroy(&out);
  tsr_program_destroy(&p);
  return least;
}

static const double long_enough = 4e6; /* ns of a launch, beside what starting it costs */

/* So many that a launch is that long, where `few` took ns. */
static long steps_for(double ns, int few) {
  double want = ns > 0 ? few * long_enough / ns : 0;
  return want > MOST_STEPS ? MOST_STEPS : want > few ? (long)want : few;
}

/* With so many elements a lane, and steps enough for a launch that is long beside what starting it costs. */
static double chain_rate(const meter *m, tsr_dtype t, int per_lane) {
  enum { FEW = 64 };
  const tsr_caps *c = &m->dev->caps;
  char text[TEXT_BYTES];
  const int n = WARPS * (c->subgroup > 0 ? c->subgroup : 32) * per_lane;
  const long blocks = (c->n_cores > 0 ? c->n_cores : 64) * (m->dev->info.software ? 8L : 32L);
  if (!chain_text(text, t, blocks, n, FEW)) return 0;
  double ns = least_ns(m, text, 1);
  long steps = steps_for(ns, FEW);
  if (!(ns > 0) || !chain_text(text, t, blocks, n, steps)) return 0;
  ns = least_ns(m, text, RUNS);
  return ns > 0 ? 2.0 * PAIRS * n * (double)blocks * (double)steps / ns : 0;
}

/* How many chains a lane needs to hide their latency differs, and too many spill: the best of a few. */
static double chain_gflops(const meter *m, tsr_dtype t) {
  static const int per_lane[] = {4, 8, 16};
  double best = 0;
  for (size_t i = 0; i < sizeof per_lane / sizeof *per_lane; i++) {
    double rate = chain_rate(m, t, per_lane[i]);
    if (rate > best) best = rate;
  }
  return best;
}

static double matrix_ns(const meter *m, const peak_matrix *p, int runs) {
  strb text;
  strb_init(&text, &m->dev->ctx->al);
  peak_matrix_text(&text, p, &m->dev->caps);
  double ns = strb_ok(&text) ? least_ns(m, strb_text(&text), runs) : 0;
  strb_clear(&text);
  return ns;
}

/* How many sums hide the latency of a matrix instruction differs, and too many spill: the best of a few, for each shape
 * of the type that a subgroup multiplies by cooperative matrices. A device on the CPU has no such latency and compiles
 * for seconds: the first will do. 0: there is none. */
static double matrix_loop_gflops(const meter *m, tsr_dtype t) {
  enum { FEW = 16 };
  static const int sides[][2] = {{2, 2}, {4, 2}, {4, 4}};
  const size_t n_sides = m->dev->info.software ? 1 : sizeof sides / sizeof *sides;
  const tsr_caps *c = &m->dev->caps;
  double best = 0;
  for (int i = 0; c->coopmat && i < c->n_matrix; i++) {
    const tsr_matrix_shape *x = &c->matrix[i];
    if (!x->enabled || x->scope != SCOPE_SUBGROUP || x->a != t || x->b != t) continue;
    for (size_t k = 0; k < n_sides; k++) {
      peak_matrix p = {*x, sides[k][0], sides[k][1],
                       (c->n_cores > 0 ? c->n_cores : 64) * (m->dev->info.software ? 8L : 32L), FEW};
      double ns = matrix_ns(m, &p, 1);
      p.steps = steps_for(ns, FEW);
      if (ns > 0) ns = matrix_ns(m, &p, RUNS);
      double rate = ns > 0 ? peak_matrix_operations(&p) / ns : 0;
      if (rate > best) best = rate;
    }
  }
  return best;
}

static double product_gflops(const meter *m, tsr_dtype t) {
  char text[TEXT_BYTES];
  const int side = m->dev->info.software ? 512 : 4096;
  product_text(text, t, side);
  double ns = least_ns(m, text, RUNS);
  return ns > 0 ? 2.0 * side * side * (double)side / ns : 0;
}

/* By the driver's own copy, from one submission to its end. */
static double copy_gbytes(tsr_device *dev) {
  const size_t bytes = (size_t)(dev->info.software ? 64 : 512) << 20;
  tsr_buffer *from = NULL, *to = NULL;
  tsr_stream *s = rt_stream(dev, NULL);
  double least = 0;
  tsr_status st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &from);
  if (!st) st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &to);
  if (!st) st = tsr_stream_fill(s, from, 0, bytes, 0);
  for (int i = -WARM_UPS; i < RUNS && !st; i++) {
    st = tsr_stream_sync(s, -1);
    int64_t start = clock_ns();
    if (!st) st = tsr_stream_copy(s, to, 0, from, 0, bytes);
    if (!st) st = tsr_stream_sync(s, -1);
    double took = (double)(clock_ns() - start);
    if (!st && i >= 0 && (!(least > 0) || took < least)) least = took;
  }
  tsr_status_free(st);
  tsr_buffer_destroy(&from);
  tsr_buffer_destroy(&to);
  return least > 0 ? 2.0 * (double)bytes / least : 0;
}

/* The type that multiply-adds of t are made in. */
static tsr_dtype computed_in(tsr_dtype t) {
  if (t == TSR_F64 || t == TSR_F16 || t == TSR_I32 || t == TSR_I64) return t;
  return dtype_is_float(t) ? TSR_F32 : TSR_I32;
}

static double larger(double a, double b) { return a > b ? a : b; }

static void measure(const meter *m, tsr_dtype t, tsr_peaks *out) {
  *out = (tsr_peaks){.measured_on = (double)time(NULL), .copy_gbytes_per_s = copy_gbytes(m->dev)};
  out->gflops = chain_gflops(m, computed_in(t));
  if (t == TSR_F16) { /* products of f16 are summed in f32 */
    double wide = chain_gflops(m, TSR_F32);
    if (wide > out->gflops) out->gflops = wide;
  }
  if (caps_find_matrix(&m->dev->caps, t, t, TSR_DTYPE_NONE) < 0) return;
  out->matrix_gflops = matrix_loop_gflops(m, t);
  if (m->dev->info.software && out->matrix_gflops > 0) return; /* a product adds nothing but seconds there */
  out->matrix_gflops = larger(out->matrix_gflops, product_gflops(m, t));
}

/* ---- kept ---- */

static void name_of(const tsr_device *dev, tsr_dtype t, char *id, size_t size) {
  snprintf(id, size, "peaks %s|%.64s|%.32s|%.96s|%s", tsr_dtype_name(t), dev->info.name, dev->caps.arch,
           dev->info.driver ? dev->info.driver : "", tune_generator());
}

static bool read_kept(tsr_device *dev, tune_cache *cache, const char *id, tsr_peaks *out) {
  strb text;
  arena a;
  json *root = NULL;
  strb_init(&text, &dev->ctx->al);
  arena_init(&a, &dev->ctx->al);
  bool found = cache && cache_device(cache, id, &text);
  tsr_status st = found ? json_parse(&a, strb_text(&text), text.n, "cache", &root) : NULL;
  found &= !st && root;
  if (found)
    *out = (tsr_peaks){.gflops = json_num(root, "gflops", 0),
                       .matrix_gflops = json_num(root, "matrix", 0),
                       .copy_gbytes_per_s = json_num(root, "copy", 0),
                       .measured_on = json_num(root, "on", 0),
                       .kept = true};
  tsr_status_free(st);
  arena_clear(&a);
  strb_clear(&text);
  return found;
}

static void keep(tsr_device *dev, tune_cache *cache, const char *id, const tsr_peaks *p) {
  strb text;
  strb_init(&text, &dev->ctx->al);
  strb_printf(&text, "{\"gflops\": %.9g, \"matrix\": %.9g, \"copy\": %.9g, \"on\": %.0f}", p->gflops, p->matrix_gflops,
              p->copy_gbytes_per_s, p->measured_on);
  if (cache && strb_ok(&text)) cache_set_device(cache, id, strb_text(&text));
  strb_clear(&text);
}

tsr_status rt_peaks(tsr_device *dev, tune_cache *cache, rt_compile_fn compile, tsr_dtype t, bool again,
                    tsr_peaks *out) {
  char id[320];
  *out = (tsr_peaks){0};
  if (!dev->be) return NULL;
  name_of(dev, t, id, sizeof id);
  bool kept = read_kept(dev, cache, id, out);
  if (kept && !again) return NULL;
  tsr_peaks now;
  measure(&(meter){dev, compile}, t, &now);
  now.gflops = larger(now.gflops, out->gflops), now.matrix_gflops = larger(now.matrix_gflops, out->matrix_gflops);
  now.copy_gbytes_per_s = larger(now.copy_gbytes_per_s, out->copy_gbytes_per_s);
  *out = now;
  keep(dev, cache, id, out);
  return NULL;
}
