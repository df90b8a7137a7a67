/* tests/simt/backend_emu.c - see backend_emu.h. Everything happens at once and in order, so streams and events are
 * names only. */
#include "tests/simt/backend_emu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/simt/target_run.h"

const char *const emu_device_arch[EMU_N_DEVICES] = {"sm_80", "sm_90a", "gfx90a", "gfx942", "gfx1100"};
static emu_counts counts;
emu_counts emu_backend_counts(void) { return counts; }

struct be_instance { const be_env *env; };
struct be_device { const be_env *env; tsr_caps caps; };
struct be_buffer { be_device *d; uint8_t *p; size_t bytes; bool owned; };
struct be_stream { be_device *d; };
struct be_event { be_device *d; double at; };
struct be_module { be_device *d; emu_unit unit; };
struct be_program {
  be_device *d;
  int n;
  be_launch *launches;
  be_block_times *block_times; /* the runtime's, while it wants them */
};

static void *take(size_t bytes) { return calloc(1, bytes); }
#define NEW(T, out) T *x = *(out) = take(sizeof(T)); if (!x) return st_oom()

static tsr_status instance_create(const be_env *env, be_instance **out) {
  NEW(be_instance, out);
  x->env = env;
  return NULL;
}
static void instance_destroy(be_instance *in) { free(in); }
static int n_devices(be_instance *in) { return EMU_N_DEVICES; }

static tsr_status device_info(be_instance *in, int index, be_device_info *out) {
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "emulated %s", emu_device_arch[index]);
  snprintf(out->driver, sizeof out->driver, "SIMT emulator");
  out->software = true;
  return emu_arch_caps(emu_device_arch[index], &out->caps);
}

static tsr_status device_open(be_instance *in, int index, const be_import *import, be_device **out, tsr_caps *caps) {
  *out = NULL;
  if (index < 0)
    return st_make(in->env->al, TSR_UNSUPPORTED, ST_WHERE("emu", "device", NULL), "nothing can be imported");
  TSR_TRY(emu_arch_caps(emu_device_arch[index], caps));
  NEW(be_device, out);
  x->env = in->env;
  x->caps = *caps;
  return NULL;
}
static void device_close(be_device *d) { free(d); }

static tsr_status buffer_create(be_device *d, size_t bytes, be_memory kind, be_buffer **out) {
  NEW(be_buffer, out);
  *x = (be_buffer){d, aligned_alloc(256, (bytes + 511) / 256 * 256), bytes, true};
  if (!x->p) {
    free(x);
    *out = NULL;
    return st_oom();
  }
  memset(x->p, 0xff, bytes); /* NaN: whoever reads what was never written shows */
  return NULL;
}
static tsr_status buffer_import(be_device *d, const void *desc, size_t bytes, be_buffer **out) {
  NEW(be_buffer, out);
  *x = (be_buffer){d, (uint8_t *)(uintptr_t)desc, bytes, false};
  return NULL;
}
static void buffer_destroy(be_buffer *b) {
  if (b && b->owned) free(b->p);
  free(b);
}
static void *buffer_map(be_buffer *b) { return b->p; }

static tsr_status stream_create(be_device *d, int priority, be_stream **out) {
  NEW(be_stream, out);
  x->d = d;
  return NULL;
}
static void stream_destroy(be_stream *s) { free(s); }
static tsr_status stream_sync(be_stream *s, int64_t timeout_ns) { return NULL; }
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
static tsr_status event_create(be_device *d, be_event **out) {
  NEW(be_event, out);
  x->d = d;
  return NULL;
}
static void event_destroy(be_event *e) { free(e); }
static tsr_status event_record(be_stream *s, be_event *e) {
  e->at = now();
  return NULL;
}
static tsr_status stream_wait(be_stream *s, be_event *e) { return NULL; }
static tsr_status event_sync(be_event *e) { return NULL; }
static tsr_status event_elapsed(be_event *from, be_event *to, double *ns) {
  *ns = to->at - from->at;
  return NULL;
}

/* An empty tensor has no buffer. */
static uint8_t *at(be_range r) { return r.buffer ? r.buffer->p + r.offset : NULL; }
static tsr_status do_write(be_stream *s, be_range dst, const void *src) {
  memcpy(at(dst), src, dst.bytes);
  return NULL;
}
static tsr_status do_read(be_stream *s, be_range src, void *dst) {
  memcpy(dst, at(src), src.bytes);
  return NULL;
}
static tsr_status do_copy(be_stream *s, be_range dst, be_range src) {
  memmove(at(dst), at(src), src.bytes);
  return NULL;
}
static tsr_status do_fill(be_stream *s, be_range dst, uint32_t pattern) {
  for (size_t i = 0; i + 4 <= dst.bytes; i += 4) memcpy(at(dst) + i, &pattern, 4);
  return NULL;
}

static tsr_status module_create(be_device *d, const be_module_desc *desc, be_module **out) {
  *out = NULL;
  if (desc->format != BE_TEXT)
    return st_make(d->env->al, TSR_UNSUPPORTED, ST_WHERE("emu", "module", NULL), "only text can be emulated");
  char *text = strndup(desc->code, desc->code_bytes);
  NEW(be_module, out);
  x->d = d;
  tsr_status st = text ? emu_build_text(text, desc->kernels, desc->n_kernels, &d->caps, &x->unit) : st_oom();
  free(text);
  if (st) {
    free(x);
    *out = NULL;
  }
  counts.units += !st;
  return st;
}
static void module_destroy(be_module *m) {
  if (m) emu_unit_clear(&m->unit);
  free(m);
}

static tsr_status program_create(be_device *d, const be_program_desc *desc, be_program **out) {
  NEW(be_program, out);
  *x = (be_program){d, desc->n_launches, take(sizeof(be_launch) * (size_t)(desc->n_launches + 1)), NULL};
  for (int i = 0; x->launches && i < x->n; i++) {
    int n = desc->launches[i].module->unit.kernels[desc->launches[i].kernel].n_args,
        *bindings = take(sizeof(int) * (size_t)(n + 1));
    if (bindings) memcpy(bindings, desc->launches[i].bindings, sizeof(int) * (size_t)n);
    x->launches[i] =
        (be_launch){.module = desc->launches[i].module, .kernel = desc->launches[i].kernel, .bindings = bindings};
  }
  return x->launches ? NULL : st_oom();
}
static void program_destroy(be_program *p) {
  for (int i = 0; p && p->launches && i < p->n; i++) free((void *)(uintptr_t)p->launches[i].bindings);
  if (p) free(p->launches);
  free(p);
}

static tsr_status launch(const be_launch *l, const be_range *bindings, be_block_times *seen) {
  const be_kernel_desc *k = &l->module->unit.kernels[l->kernel];
  const be_env *env = l->module->d->env;
  emu_range buffers[EMU_MAX_ARGS];
  emu_report *r = take(sizeof *r);
  if (!r) return st_oom();
  for (int i = 0; i < k->n_args; i++)
    buffers[i] = (emu_range){at(bindings[l->bindings[i]]), bindings[l->bindings[i]].bytes, false};
  tsr_status st = emu_launch(&l->module->unit, l->kernel, buffers, 0, r);
  counts.launches++;
  counts.findings += r->n_findings;
  if (seen) *seen = (be_block_times){.memory_bytes = r->global_bytes, .memory_known = true};
  if (!st && r->n_findings) {
    const char *dump = getenv("TSR_SIMT_REPORT");
    if (dump) {
      fprintf(stderr, "%s on %s:\n", k->name, l->module->d->caps.arch);
      emu_report_print(r, stderr);
    }
    st = st_make(env->al, TSR_LAUNCH_FAILED, ST_WHERE("emu", k->name, "TSR_SIMT_REPORT=1 prints all findings"),
                 "line %d: %s: %s", r->findings[0].line, emu_kind_name(r->findings[0].kind), r->findings[0].text);
  }
  free(r);
  return st;
}

static tsr_status program_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns) {
  for (int i = 0; i < p->n; i++) {
    double t = now();
    TSR_TRY(launch(&p->launches[i], bindings, times_ns && p->block_times ? &p->block_times[i] : NULL));
    if (times_ns) times_ns[i] = now() - t;
  }
  return NULL;
}

static void time_blocks(be_program *p, be_block_times *out) { p->block_times = out; }

const be_vtable emu_backend = {
    .abi = BE_ABI, .name = "emu", .dialect = DIALECT_HOST, .instance_create = instance_create, .instance_destroy = instance_destroy, .n_devices = n_devices, .device_info = device_info,
    .device_open = device_open, .device_close = device_close, .arch_caps = emu_arch_caps, .buffer_create = buffer_create, .buffer_import = buffer_import, .buffer_destroy = buffer_destroy,
    .buffer_map = buffer_map, .stream_create = stream_create, .stream_destroy = stream_destroy, .stream_sync = stream_sync, .event_create = event_create, .event_destroy = event_destroy,
    .event_record = event_record, .stream_wait = stream_wait, .event_sync = event_sync, .event_elapsed = event_elapsed, .write = do_write, .read = do_read, .copy = do_copy, .fill = do_fill,
    .module_create = module_create, .module_destroy = module_destroy, .program_create = program_create, .program_destroy = program_destroy, .program_run = program_run, .time_blocks = time_blocks,
};
