/* bench/kernels/gpu_driver.c - two figures that a single operation doesn't show, one JSON object a line:
 *   gpu_driver compile BACKEND ARCH FILE...   NVRTC's or hipRTC's time for a source (`tessera dump --level source`),
 *                                             nothing cached: the first call in a process, and the median of five more.
 *                                             Needs no device.
 *   gpu_driver replay DEVICE N                a program of N softmax kernels one after the other, replayed:
 *                                             microseconds a run and a kernel, on the device's clock. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/sample.h"
#include "core/base/str.h"
#include "core/runtime/internal.h"

enum { MORE = 5, WARM = 500, TIMED = 50, RUNS = 20, ROWS = 32, COLUMNS = 256, UNAVAILABLE = 3 };

static void check(tsr_status st) {
  if (!st) return;
  fprintf(stderr, "gpu_driver: %s\n", tsr_status_message(st));
  exit(tsr_status_code(st) == TSR_UNAVAILABLE ? UNAVAILABLE : 1);
}

static double now_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- compile ---------------------------------------------------------------------------------------------------- */

static void quiet(void *user, int level, const char *text) {}

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  strb b;
  char piece[4096];
  strb_init(&b, &al_default);
  for (size_t n; f && (n = fread(piece, 1, sizeof piece, f));) strb_put(&b, piece, n);
  if (!f || !b.n) {
    fprintf(stderr, "gpu_driver: %s: can't be read\n", path);
    exit(2);
  }
  fclose(f);
  char *text = strdup(strb_text(&b));
  strb_clear(&b);
  return text;
}

static double compile_once(const be_vtable *be, const char *arch, const char *text, double *cpu_ms, size_t *bytes) {
  static const be_env env = {.al = &al_default, .log = quiet};
  void *code;
  char *log;
  double from = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
  check(be->compile(&env, arch, text, &code, bytes, &log));
  double ms = now_ms(CLOCK_MONOTONIC) - from;
  *cpu_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  al_free(&al_default, code, *bytes, 16);
  al_free(&al_default, log, strlen(log) + 1, 16);
  return ms;
}

static int compile_files(const char *backend, const char *arch, char **files, int n) {
  const be_vtable *be = NULL;
  for (int i = 0; rt_backends[i]; i++)
    if (!strcmp(rt_backends[i]->name, backend)) be = rt_backends[i];
  if (!be || !be->compile) return fprintf(stderr, "gpu_driver: no backend %s with a compiler\n", backend), UNAVAILABLE;
  for (int i = 0; i < n; i++) {
    double ms[MORE], cpu[MORE], first_cpu;
    size_t bytes;
    const char *name = strrchr(files[i], '/') ? strrchr(files[i], '/') + 1 : files[i];
    char *text = read_file(files[i]);
    double first = compile_once(be, arch, text, &first_cpu, &bytes);
    for (int k = 0; k < MORE; k++) ms[k] = compile_once(be, arch, text, &cpu[k], &bytes);
    free(text);
    sample_sort(ms, MORE);
    sample_sort(cpu, MORE);
    printf("{\"op\": \"compile\", \"file\": \"%s\", \"device\": \"%s:%s\", \"first_ms\": %.1f, \"median_ms\": %.1f, "
           "\"cpu_ms\": %.1f, \"code_bytes\": %zu}\n",
           name, backend, arch, first, ms[MORE / 2], cpu[MORE / 2], bytes);
  }
  return 0;
}

/* ---- replay ----------------------------------------------------------------------------------------------------- */

/* Softmax of a softmax: nothing to fuse once fusion is off, and each kernel waits for the one before. */
static void build_chain(tsr_context *ctx, int n, tsr_graph **g) {
  tsr_value v;
  tsr_attr attr = TSR_INT("axis", 1);
  check(tsr_graph_create(ctx, "main", g));
  check(tsr_graph_input(*g, "A", TSR_F32, (tsr_shape){2, {ROWS, COLUMNS}}, &v));
  for (int i = 0; i < n; i++) check(tsr_graph_op(*g, "softmax", &v, 1, &attr, 1, &v));
  check(tsr_graph_output(*g, v));
}

static double time_runs(tsr_program *p, const tsr_binding *in, const tsr_binding *out, tsr_event *from, tsr_event *to,
                        bool by_events) {
  double ns = 0, start = now_ms(CLOCK_MONOTONIC);
  check(tsr_event_record(from, NULL));
  for (int i = 0; i < RUNS; i++) check(tsr_program_run(p, NULL, in, out));
  check(tsr_event_record(to, NULL));
  check(tsr_event_sync(to));
  if (by_events) check(tsr_event_elapsed(from, to, &ns));
  else ns = (now_ms(CLOCK_MONOTONIC) - start) * 1e6;
  return ns / 1e3 / RUNS;
}

static int replay(const char *device, int n) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_binding in = {0}, out = {0};
  tsr_event *from, *to;
  float zeros[ROWS * COLUMNS] = {0};
  double us[TIMED];
  check(tsr_context_create(NULL, &ctx));
  check(tsr_device_open(ctx, device, &dev));
  build_chain(ctx, n, &g);
  check(tsr_program_compile(dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF, .disable = "fusion"}, &p));
  check(tsr_buffer_create(dev, sizeof zeros, TSR_MEMORY_DEVICE, &in.buffer));
  check(tsr_buffer_create(dev, sizeof zeros, TSR_MEMORY_DEVICE, &out.buffer));
  check(tsr_buffer_write(in.buffer, 0, zeros, sizeof zeros));
  check(tsr_event_create(dev, &from));
  check(tsr_event_create(dev, &to));
  bool by_events = strcmp(tsr_device_get_info(dev)->backend, "cpu") != 0;
  for (int i = 0; i < (by_events ? WARM / RUNS : 1); i++) time_runs(p, &in, &out, from, to, by_events);
  for (int i = 0; i < TIMED; i++) us[i] = time_runs(p, &in, &out, from, to, by_events);
  sample_sort(us, TIMED);
  int kernels = p->n_launches;
  printf("{\"op\": \"replay\", \"shape\": \"%dx%dx%d\", \"dtype\": \"f32\", \"device\": \"%s\", \"kernels\": %d, "
         "\"median_us\": %.3f, \"min_us\": %.3f, \"us_per_kernel\": %.4f, \"timed_by\": \"%s\"}\n",
         n, ROWS, COLUMNS, device, kernels, us[TIMED / 2], us[0], us[TIMED / 2] / kernels,
         by_events ? "events" : "host");
  tsr_event_destroy(&from);
  tsr_event_destroy(&to);
  tsr_buffer_destroy(&in.buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 4 && !strcmp(argv[1], "compile")) return compile_files(argv[2], argv[3], argv + 4, argc - 4);
  if (argc == 4 && !strcmp(argv[1], "replay") && atoi(argv[3]) > 0) return replay(argv[2], atoi(argv[3]));
  return fprintf(stderr, "usage: gpu_driver compile BACKEND ARCH FILE... | replay DEVICE N\n"), 2;
}
