/* Measures how compilation grows with the program: compile_driver [--device ID] [--kind NAME] [--most N]
 *
 * Programs of 10, 100, ... N (100,000) ops go through every pass on a device that needs no hardware (null:spirv) or is
 * there (cpu:0). Per pass the processor time and the bytes asked for, both for each op of the program: a pass that
 * grows linearly shows the same figures in each block. The last lines are the whole compilation as a program sees it
 * (tsr_program_parse), what was held at once, and its end. Kinds: all of tests/support/chain_text.h; `layers`,
 * transformer-like layers of ten ops, unless one is named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/emit/emit.h"
#include "core/passes/graph/simplify.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/schedule/from_graph.h"
#include "core/passes/lower.h"
#include "core/passes/tile/from_schedule.h"
#include "core/runtime/internal.h"
#include "tests/support/chain_text.h"

typedef struct meter { size_t bytes, live, peak; double ns; } meter;

static void *metered_alloc(void *user, size_t size, size_t align) {
  meter *m = user;
  m->bytes += size;
  m->live += size;
  if (m->live > m->peak) m->peak = m->live;
  return al_default.alloc(NULL, size, align);
}

static void metered_free(void *user, void *p, size_t size, size_t align) {
  if (p) ((meter *)user)->live -= size;
  al_default.free(NULL, p, size, align);
}

static void check(tsr_status st) {
  if (!st) return;
  fprintf(stderr, "compile_driver: %s\n", tsr_status_message(st));
  exit(tsr_status_code(st) == TSR_UNAVAILABLE ? 3 : 1);
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void begin(meter *m) {
  m->bytes = 0;
  m->ns = now_ns();
}

static void end(const meter *m, const char *what, int n) {
  printf("  %-20s %10.0f ns/op %10.0f bytes/op\n", what, (now_ns() - m->ns) / n, (double)m->bytes / n);
}

#define PASS(what, call) begin(m), check(call), end(m, what, n)

static void passes(meter *m, tsr_device *dev, const tsr_allocator *al, const strb *text, int n) {
  ir_module *graph, *copy, *schedule, *tile, *target;
  arena code;
  be_module_desc desc;
  arena_init(&code, al);
  PASS("parse", ir_parse(al, strb_text(text), text->n, "chain", &graph));
  PASS("verify graph", ir_verify(graph));
  PASS("copy", ir_module_clone(graph, &copy));
  PASS("graph_simplify", graph_simplify_module(graph, NULL));
  PASS("graph_to_schedule", graph_to_schedule(graph, NULL, &schedule));
  PASS("schedule_defaults", schedule_apply_defaults(schedule, &(schedule_options){.caps = &dev->caps}));
  PASS("verify schedule", ir_verify(schedule));
  PASS("schedule_to_tile", schedule_to_tile(schedule, &(tile_options){.caps = &dev->caps, .policy = "fast"}, &tile));
  PASS("verify tile", ir_verify(tile));
  PASS("tile_expand", tile_expand(tile, &dev->caps));
  PASS("tile_to_target", tile_to_target(tile, &dev->caps, &target));
  PASS("verify target", ir_verify(target));
  PASS("emit", emit_module(target, &dev->caps, &code, &desc));
  begin(m);
  strb out;
  strb_init(&out, al);
  ir_print(&out, graph);
  end(m, "print", n);
  strb_clear(&out);
  begin(m);
  arena_clear(&code);
  ir_module_destroy(&target);
  ir_module_destroy(&tile);
  ir_module_destroy(&schedule);
  ir_module_destroy(&copy);
  ir_module_destroy(&graph);
  end(m, "destroy", n);
}

static void whole(meter *m, tsr_device *dev, const strb *text, int n) {
  tsr_program *p;
  size_t before = m->live;
  m->peak = m->live;
  begin(m);
  check(tsr_program_parse(dev, strb_text(text), text->n, "chain", NULL, &p));
  end(m, "whole compilation", n);
  printf("  %-20s %10.0f bytes/op, %.1f MiB; %d kernels for %d launches\n", "held at once",
         (double)(m->peak - before) / n, (double)(m->peak - before) / (1 << 20), p->desc.n_kernels, p->n_launches);
  begin(m);
  tsr_program_destroy(&p);
  end(m, "end", n);
}

static chain_kind kind_named(const char *name) {
  for (int k = 0; k < N_CHAINS; k++)
    if (!strcmp(name, chain_name((chain_kind)k))) return (chain_kind)k;
  fprintf(stderr, "compile_driver: no kind \"%s\"; there are", name);
  for (int k = 0; k < N_CHAINS; k++) fprintf(stderr, " %s", chain_name((chain_kind)k));
  fprintf(stderr, "\n");
  exit(2);
}

int main(int argc, char **argv) {
  const char *device = "cpu:0", *kind = "layers";
  long most = 100000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--device")) device = argv[i + 1];
    else if (!strcmp(argv[i], "--kind")) kind = argv[i + 1];
    else if (!strcmp(argv[i], "--most")) most = strtol(argv[i + 1], NULL, 10);
  }
  meter m = {0};
  tsr_allocator al = {metered_alloc, metered_free, &m};
  tsr_context *ctx;
  tsr_device *dev;
  check(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .allocator = &al}, &ctx));
  check(tsr_device_open(ctx, device, &dev));
  for (int n = 10; n <= most; n *= 10) {
    strb text;
    strb_init(&text, NULL);
    chain_text(kind_named(kind), n, &text);
    printf("%s, %d ops, %s\n", kind, n, device);
    passes(&m, dev, &al, &text, n);
    whole(&m, dev, &text, n);
    strb_clear(&text);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}
