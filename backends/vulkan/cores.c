/* backends/vulkan/cores.c - how many cores a device has: what its vendor's extension says; of a driver that runs on the
 * CPU, the processors that it may use; else a launch of 1, 2, 4, ... blocks that each fill a core, timed once and kept
 * with the notes of probe.h (step "cores"); else unknown, which is 0. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/vulkan/reported.h"
#include "core/base/clock.h"
#include "core/emit/spirv/spirv.h"

enum { MOST_CORES = 4096, REPEATS = 3, MOST_STEPS = 1 << 16 };

/* ---- reported ---- */

static int host_processors(void) {
#if defined(__linux__)
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int)n : 0;
}

/* Structs of extensions that the driver lacks are zero. AMD's second one leaves out what is switched off. */
static uint32_t reported(const vk_all_properties *q) {
  if (q->sm.shaderSMCount) return q->sm.shaderSMCount;
  if (q->cu2.activeComputeUnitCount) return q->cu2.activeComputeUnitCount;
  if (q->cu.computeUnitsPerShaderArray)
    return q->cu.shaderEngineCount * q->cu.shaderArraysPerEngineCount * q->cu.computeUnitsPerShaderArray;
  return q->core.shaderCoreCount;
}

void vk_cores_reported(const vk_all_properties *q, tsr_caps *c) {
  uint32_t n = reported(q);
  c->n_cores = 0, c->cores_from = CORES_UNKNOWN;
  if (n > 0 && n <= MOST_CORES) c->n_cores = (int)n, c->cores_from = CORES_DRIVER;
  else if (q->base.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU && !vk_hides("cores"))
    c->n_cores = host_processors(), c->cores_from = c->n_cores ? CORES_HOST : CORES_UNKNOWN;
}

/* ---- measured ---- */

/* Blocks of as many threads as the device allows, each of 8 independent sums in registers: a core has no room for the
 * arithmetic of a second one. */
static void kernel_text(strb *s, int threads, int subgroup, int steps) {
  strb_printf(s,
              "\"tessera.target.kernel\"() ({\n^bb0(%%C: !tessera.ptr<f32, \"global\">):\n"
              "%%zero = \"tessera.target.const\"() {value = 0} : () -> index\n"
              "%%one = \"tessera.target.const\"() {value = 1} : () -> index\n"
              "%%n = \"tessera.target.const\"() {value = %d} : () -> index\n"
              "%%eight = \"tessera.target.const\"() {value = 8} : () -> index\n"
              "%%t = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n"
              "%%at = \"tessera.target.mul\"(%%t, %%eight) : (index, index) -> index\n"
              "%%x = \"tessera.target.load\"(%%C, %%at) : (!tessera.ptr<f32, \"global\">, index) -> vector<8xf32>\n"
              "%%r = \"tessera.target.for\"(%%zero, %%n, %%one, %%x) ({\n^bb0(%%k: index, %%q0: vector<8xf32>):\n",
              steps);
  for (int i = 0; i < 8; i++)
    strb_printf(s,
                "%%q%d = \"tessera.target.fma\"(%%q%d, %%q%d, %%q%d) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) "
                "-> vector<8xf32>\n",
                i + 1, i, i, i);
  strb_printf(s,
              "\"tessera.target.yield\"(%%q8) : (vector<8xf32>) -> ()\n}) : (index, index, index, vector<8xf32>) -> "
              "vector<8xf32>\n\"tessera.target.store\"(%%r, %%C, %%at) : (vector<8xf32>, !tessera.ptr<f32, \"global\">, "
              "index) -> ()\n\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"cores\", dialect = \"spirv\", "
              "grid = [1, 1, 1], block = [%d, 1, 1], subgroup = %d} : () -> ()\n",
              threads, subgroup);
}

typedef struct meter {
  be_device *d;
  be_stream *s;
  be_buffer *sums;
  int threads, steps;
} meter;

/* The least of a few launches of so many blocks. */
static tsr_status launch(const meter *m, const be_module_desc *code, int blocks, double *ns) {
  be_device *d = m->d;
  be_module *mod = NULL;
  be_program *prog = NULL;
  const int binding = 0;
  be_kernel_desc k = code->kernels[0];
  be_module_desc desc = *code;
  be_range r = {m->sums, 0, m->sums->bytes};
  k.grid[0] = blocks;
  desc.kernels = &k;
  *ns = 0;
  tsr_status st = vk_module_create(d, &desc, &mod);
  be_launch l = {.module = mod, .bindings = &binding};
  if (!st) st = vk_program_create(d, &(be_program_desc){&l, 1, 1}, &prog);
  for (int i = -1; i < REPEATS && !st; i++) { /* the first one may compile */
    double told = 0;
    int64_t start = clock_ns();
    st = vk_program_run(m->s, prog, &r, d->limits.timestamp_bits ? &told : NULL);
    if (!st) st = vk_stream_sync(m->s, -1);
    double took = told > 0 ? told : (double)(clock_ns() - start);
    if (i >= 0 && (*ns == 0 || took < *ns)) *ns = took;
  }
  vk_program_destroy(prog);
  vk_module_destroy(mod);
  return st;
}

static tsr_status time_blocks(const meter *m, int blocks, double *ns) {
  ir_module *ir = NULL;
  be_module_desc code;
  arena a;
  strb text;
  strb_init(&text, m->d->env->al);
  arena_init(&a, m->d->env->al);
  kernel_text(&text, m->threads, m->d->caps.subgroup, m->steps);
  tsr_status st = strb_ok(&text) ? ir_parse(m->d->env->al, strb_text(&text), text.n, "cores", &ir) : st_oom();
  if (!st) st = emit_spirv(ir, &m->d->caps, &a, &code);
  if (!st) st = launch(m, &code, blocks, ns);
  ir_module_destroy(&ir);
  strb_clear(&text);
  arena_clear(&a);
  return st;
}

/* The most blocks that take no longer than one: they are doubled until they do, then halved in between. */
static tsr_status count(meter *m, int *n) {
  const double long_enough = 4e5, longer = 1.5;
  double one = 0, ns;
  for (m->steps = 256;; m->steps *= 4) {
    TSR_TRY(time_blocks(m, 1, &one));
    if (one > long_enough || m->steps >= MOST_STEPS) break;
  }
  int fits = 1, more = 2;
  for (; more <= MOST_CORES; more *= 2) {
    TSR_TRY(time_blocks(m, more, &ns));
    if (ns > longer * one) break;
    fits = more;
  }
  if (more > MOST_CORES) return NULL; /* time says nothing here */
  while (more - fits > 1) {
    int middle = fits + (more - fits) / 2;
    TSR_TRY(time_blocks(m, middle, &ns));
    if (ns > longer * one) more = middle;
    else fits = middle;
  }
  *n = fits;
  return NULL;
}

/* By time alone; *n = 0: time did not tell. */
static tsr_status measure(be_device *d, int *n) {
  meter m = {.d = d, .threads = d->caps.max_threads / d->caps.subgroup * d->caps.subgroup};
  *n = 0;
  if (m.threads < 1) return NULL;
  tsr_status st = vk_stream_create(d, 0, &m.s);
  if (!st) st = vk_buffer_create(d, (size_t)m.threads * 32, BE_DEVICE_LOCAL, &m.sums);
  if (!st) st = vk_fill(m.s, (be_range){m.sums, 0, m.sums->bytes}, 0);
  if (!st) st = count(&m, n);
  vk_buffer_destroy(m.sums);
  vk_stream_destroy(m.s);
  return st;
}

bool vk_cores_kept(vk_probe *p, const vk_id *id, tsr_caps *c) {
  char value[128];
  if (c->n_cores > 0) return true;
  if (!vk_note_get(p, id, "cores", value)) return false;
  int n = !strncmp(value, "ok ", 3) ? atoi(value + 3) : 0;
  if (n > 0 && n <= MOST_CORES) c->n_cores = n, c->cores_from = CORES_MEASURED;
  return true;
}

tsr_status vk_cores(be_device *d) {
  vk_probe *p = &d->instance->probe;
  const vk_id *id = &d->limits.id;
  char value[128], why[128];
  int n = 0;
  if (vk_cores_kept(p, id, &d->caps) || !vk_may(p, id, "cores", why)) return NULL;
  tsr_status st = measure(d, &n);
  if (tsr_status_code(st) == TSR_DEVICE_LOST || tsr_status_code(st) == TSR_OUT_OF_MEMORY) return st;
  tsr_status_free(st);
  snprintf(value, sizeof value, "ok %d", n);
  vk_did(p, id, "cores", value);
  vk_cores_kept(p, id, &d->caps);
  return NULL;
}
