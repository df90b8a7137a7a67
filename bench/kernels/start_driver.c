/* Measures what stands before the first result: start_driver [--device ID] [--warm N] [--keep DIR]
 *
 * A graph of 20 ops that become 20 different kernels is opened, compiled and run in processes of their own: one with
 * empty caches, then N (5) with what that one left on disk: the library's cache folder and the driver's shader cache
 * (MESA_SHADER_CACHE_DIR). Per phase the wall and the processor time in milliseconds: `load` opens the context and the
 * device, `compile` takes the graph to pipelines, `first` is the first run up to its end, `next` the second. Last the
 * lowering (Tile IR to Target IR) and the emission (to code) per kernel, best of 5, in processor time. --keep: the
 * caches stay in DIR. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/emit/emit.h"
#include "core/passes/lower.h"
#include "core/runtime/internal.h"

enum { LOAD, COMPILE, FIRST, NEXT, N_PHASES, MAX_TENSORS = 48 };

typedef struct one_op {
  const char *op;
  tsr_dtype type;
  int64_t d[3];
} one_op; /* matmul: m, n, k; others: rows, columns */
static const one_op ops[] = {
    {"matmul", TSR_F32, {64, 64, 64}}, {"matmul", TSR_F16, {64, 64, 64}}, {"matmul", TSR_BF16, {64, 64, 64}}, {"matmul", TSR_F32, {1, 256, 128}},
    {"matmul", TSR_F16, {1, 256, 128}}, {"matmul", TSR_F32, {33, 65, 47}}, {"matmul", TSR_I8, {64, 64, 64}}, {"softmax", TSR_F32, {64, 256}},
    {"softmax", TSR_F16, {64, 256}}, {"reduce_sum", TSR_F32, {64, 256}}, {"reduce_max", TSR_F32, {64, 200}}, {"add", TSR_F32, {64, 256}},
    {"add", TSR_F16, {64, 256}}, {"mul", TSR_F32, {64, 300}}, {"gelu", TSR_F32, {64, 256}}, {"gelu", TSR_F16, {64, 256}},
    {"silu", TSR_F32, {64, 256}}, {"exp", TSR_F32, {64, 256}}, {"tanh", TSR_F32, {64, 256}}, {"transpose", TSR_F32, {64, 256}},
};
enum { N_OPS = sizeof ops / sizeof *ops };

static void check(tsr_status st) {
  if (!st) return;
  fprintf(stderr, "start_driver: %s\n", tsr_status_message(st));
  exit(tsr_status_code(st) == TSR_UNAVAILABLE ? 3 : 1);
}

static double now_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void add_op(tsr_graph *g, const one_op *o) {
  bool matmul = !strcmp(o->op, "matmul"), two = matmul || !strcmp(o->op, "add") || !strcmp(o->op, "mul"),
       reduces = !strncmp(o->op, "reduce", 6), transposes = !strcmp(o->op, "transpose");
  tsr_shape a = {2, {o->d[0], matmul ? o->d[2] : o->d[1]}}, b = {2, {matmul ? o->d[2] : o->d[0], o->d[1]}};
  tsr_value v[2], r;
  tsr_attr attr = reduces ? (tsr_attr)TSR_INTS("axes", (const int64_t[]){-1}, 1)
                          : (tsr_attr)TSR_INTS("perm", ((const int64_t[]){1, 0}), 2);
  check(tsr_graph_input(g, "", o->type, a, &v[0]));
  if (two) check(tsr_graph_input(g, "", o->type, b, &v[1]));
  check(tsr_graph_op(g, o->op, v, two ? 2 : 1, &attr, reduces || transposes, &r));
  check(tsr_graph_output(g, r));
}

/* ---- one start, in a process of its own -------------------------------------------------------------------------- */

typedef struct clocks { double wall[N_PHASES], cpu[N_PHASES], lower_ms, emit_ms; int n_kernels; } clocks;

static void lap(clocks *c, int phase, double *wall, double *cpu) {
  double w = now_ms(CLOCK_MONOTONIC), p = now_ms(CLOCK_PROCESS_CPUTIME_ID);
  c->wall[phase] = w - *wall, c->cpu[phase] = p - *cpu;
  *wall = w, *cpu = p;
}

/* Lowering and emission of the whole module, without the driver. */
static void time_emission(tsr_program *p, clocks *c) {
  c->lower_ms = c->emit_ms = 1e30;
  for (int i = 0; i < 5; i++) {
    ir_module *target;
    be_module_desc desc;
    arena a;
    arena_init(&a, &p->ctx->al);
    double t0 = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    check(tile_to_target(p->levels[TSR_LEVEL_TILE], &p->dev->caps, &target));
    double t1 = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    check(emit_module(target, &p->dev->caps, &a, &desc));
    double t2 = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    if (t1 - t0 < c->lower_ms) c->lower_ms = t1 - t0;
    if (t2 - t1 < c->emit_ms) c->emit_ms = t2 - t1;
    ir_module_destroy(&target);
    arena_clear(&a);
  }
}

static tsr_binding make_buffer(tsr_device *dev, size_t bytes) {
  tsr_binding b = {0};
  void *zeros = calloc(1, bytes);
  check(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &b.buffer));
  check(tsr_buffer_write(b.buffer, 0, zeros, bytes));
  free(zeros);
  return b;
}

static clocks start(const char *device, const char *cache, bool emission) {
  clocks c = {0};
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_binding in[MAX_TENSORS], out[MAX_TENSORS];
  double wall = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
  check(tsr_context_create(&(tsr_context_desc){.cache_dir = cache}, &ctx));
  check(tsr_device_open(ctx, device, &dev));
  lap(&c, LOAD, &wall, &cpu);
  check(tsr_graph_create(ctx, "main", &g));
  for (int i = 0; i < N_OPS; i++) add_op(g, &ops[i]);
  check(tsr_program_compile(dev, g, NULL, &p));
  lap(&c, COMPILE, &wall, &cpu);
  int n_in = tsr_program_n_inputs(p), n_out = tsr_program_n_outputs(p);
  for (int i = 0; i < n_in; i++) in[i] = make_buffer(dev, tsr_program_input(p, i).bytes);
  for (int i = 0; i < n_out; i++) out[i] = make_buffer(dev, tsr_program_output(p, i).bytes);
  wall = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
  for (int phase = FIRST; phase <= NEXT; phase++) {
    check(tsr_program_run(p, NULL, in, out));
    check(tsr_stream_sync(dev->stream, -1));
    lap(&c, phase, &wall, &cpu);
  }
  c.n_kernels = tsr_program_n_kernels(p);
  if (emission) time_emission(p, &c);
  for (int i = 0; i < n_in; i++) tsr_buffer_destroy(&in[i].buffer);
  for (int i = 0; i < n_out; i++) tsr_buffer_destroy(&out[i].buffer);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return c;
}

static clocks start_apart(const char *device, const char *cache, bool emission) {
  int fd[2];
  clocks c = {0};
  if (pipe(fd)) exit(1);
  pid_t child = fork();
  if (!child) {
    c = start(device, cache, emission);
    _exit(write(fd[1], &c, sizeof c) != sizeof c);
  }
  close(fd[1]);
  int status = 1;
  bool got = child > 0 && read(fd[0], &c, sizeof c) == (ssize_t)sizeof c;
  close(fd[0]);
  if (child > 0) waitpid(child, &status, 0);
  if (!got || status) exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1);
  return c;
}

static void print_row(const char *name, const clocks *c) {
  double wall = 0, cpu = 0;
  printf("%-6s", name);
  for (int i = 0; i < N_PHASES; i++) printf("  %8.1f %7.1f", c->wall[i], c->cpu[i]);
  for (int i = LOAD; i <= FIRST; i++) wall += c->wall[i], cpu += c->cpu[i];
  printf("  %8.1f %7.1f\n", wall, cpu);
}

int main(int argc, char **argv) {
  const char *device = "vulkan:0", *keep = NULL;
  int n_warm = 5;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--device")) device = argv[i + 1];
    else if (!strcmp(argv[i], "--warm")) n_warm = (int)strtol(argv[i + 1], NULL, 10);
    else if (!strcmp(argv[i], "--keep")) keep = argv[i + 1];
    else argc = 2;
  }
  if (argc % 2 == 0) return fprintf(stderr, "usage: start_driver [--device ID] [--warm N] [--keep DIR]\n"), 2;
  char dir[256] = "/tmp/tessera-start-XXXXXX", mesa[300], command[300];
  if (keep) snprintf(dir, sizeof dir, "%s", keep);
  else if (!mkdtemp(dir)) return 1;
  snprintf(mesa, sizeof mesa, "%s/driver", dir);
  setenv("MESA_SHADER_CACHE_DIR", mesa, 1);
  printf("%-6s  %16s  %16s  %16s  %16s  %16s\n", "ms", "load wall, cpu", "compile", "first", "next", "start to first");
  clocks c = start_apart(device, dir, true);
  print_row(keep ? "kept" : "cold", &c);
  double lower = c.lower_ms / c.n_kernels, emit = c.emit_ms / c.n_kernels;
  int n_kernels = c.n_kernels;
  for (int i = 0; i < n_warm; i++) {
    c = start_apart(device, dir, false);
    print_row("warm", &c);
  }
  printf("%d kernels; per kernel: lowering %.2f ms, emission %.2f ms\n", n_kernels, lower, emit);
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return keep ? 0 : system(command);
}
