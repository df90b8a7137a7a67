/* tests/conformance/vulkan_run.h - runs Target IR text on the first Vulkan device through the backend's own table,
 * without the runtime: for tests of the emitter's numerics and of the backend. */
#ifndef TESTS_CONFORMANCE_VULKAN_RUN_H
#define TESTS_CONFORMANCE_VULKAN_RUN_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "backends/vulkan/backend.h"
#include "backends/vulkan/vk.h"
#include "core/base/dtype.h"
#include "core/emit/spirv/spirv.h"

typedef struct vr {
  be_env env;
  be_instance *in;
  be_device *d;
  be_stream *s;
  tsr_caps caps;
} vr;

static void vr_log(void *user, int level, const char *text) {
  if (level <= 1) fprintf(stderr, "vulkan: %s\n", text);
}

static void vr_ok(tsr_status st, const char *what) {
  if (!st) return;
  fprintf(stderr, "%s: %s\n", what, tsr_status_message(st));
  tsr_status_free(st);
  fail_msg("%s", what);
}
#define VR_OK(expr) vr_ok(expr, #expr)

/* False when there is no Vulkan here; prints why. */
static bool vr_open(vr *r) {
  *r = (vr){.env = {.al = &al_default, .log = vr_log, .cache_dir = getenv("TSR_TEST_CACHE")}};
  tsr_status st = vulkan_backend.instance_create(&r->env, &r->in);
  if (st) {
    printf("skipped: %s\n", tsr_status_message(st));
    tsr_status_free(st);
    return false;
  }
  VR_OK(vulkan_backend.device_open(r->in, 0, NULL, &r->d, &r->caps));
  VR_OK(vulkan_backend.stream_create(r->d, 0, &r->s));
  return true;
}

/* The same under the validation layers, unless TSR_VK_VALIDATION says otherwise or they are missing: without them the
 * tests still run. */
static inline bool vr_open_validated(vr *r) {
  be_env env = {.al = &al_default, .log = vr_log};
  be_instance *in;
  setenv("TSR_VK_VALIDATION", "1", 0);
  tsr_status st = vulkan_backend.instance_create(&env, &in);
  if (!st) vulkan_backend.instance_destroy(in);
  else printf("no validation: %s\n", tsr_status_message(st)), tsr_status_free(st), unsetenv("TSR_VK_VALIDATION");
  return vr_open(r);
}

/* Returns how many validation messages there were. */
static int vr_close(vr *r) {
  int n = atomic_load(&r->in->n_messages);
  vulkan_backend.stream_destroy(r->s);
  vulkan_backend.device_close(r->d);
  n = atomic_load(&r->in->n_messages);
  vulkan_backend.instance_destroy(r->in);
  return n;
}

typedef struct vr_arg {
  const void *in;
  void *out;
  size_t bytes;
} vr_arg; /* in: copied there first; out: copied back */

static be_module *vr_module(vr *r, const char *text) {
  ir_module *m;
  arena a;
  be_module_desc desc;
  be_module *mod;
  arena_init(&a, &al_default);
  VR_OK(ir_parse(&al_default, text, strlen(text), "kernel", &m));
  VR_OK(emit_spirv(m, &r->caps, &a, &desc));
  VR_OK(vulkan_backend.module_create(r->d, &desc, &mod));
  ir_module_destroy(&m);
  arena_clear(&a);
  return mod;
}

/* Runs the text's first kernel `repeat` times; returns the best device time in ns when repeat > 1. */
static inline double vr_run(vr *r, const char *text, vr_arg *args, int n, int repeat) {
  be_module *mod = vr_module(r, text);
  be_range bindings[32];
  int ids[32];
  for (int i = 0; i < n; i++) {
    ids[i] = i;
    bindings[i] = (be_range){.bytes = args[i].bytes};
    VR_OK(vulkan_backend.buffer_create(r->d, args[i].bytes, BE_DEVICE_LOCAL, &bindings[i].buffer));
    if (args[i].in) VR_OK(vulkan_backend.write(r->s, bindings[i], args[i].in));
  }
  be_launch l = {.module = mod, .bindings = ids};
  be_program_desc pd = {&l, 1, n};
  be_program *p;
  VR_OK(vulkan_backend.program_create(r->d, &pd, &p));
  double best = 0;
  if (repeat <= 1) VR_OK(vulkan_backend.program_run(r->s, p, bindings, NULL));
  for (int i = 0; repeat > 1 && i < repeat; i++) {
    double ns = 0;
    VR_OK(vulkan_backend.program_run(r->s, p, bindings, &ns));
    if (!i || ns < best) best = ns;
  }
  for (int i = 0; i < n; i++) {
    if (args[i].out) VR_OK(vulkan_backend.read(r->s, bindings[i], args[i].out));
  }
  VR_OK(vulkan_backend.stream_sync(r->s, -1));
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(mod);
  for (int i = 0; i < n; i++) vulkan_backend.buffer_destroy(bindings[i].buffer);
  return best;
}

#endif
