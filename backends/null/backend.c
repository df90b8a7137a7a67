/* backends/null/backend.c - see backend.h. Memory is host memory; modules are checked for having their kernels' code;
 * runs do nothing. "null:cpu", "null:spirv", "null:cuda" and "null:hip" compile for a plain device of that dialect. */
#include "backends/null/backend.h"
#include "core/device/dialect.h"

#include <stdio.h>
#include <string.h>

struct be_instance { const be_env *env; };
struct be_device { const be_env *env; };
struct be_buffer { be_device *d; char *p; size_t bytes; bool owned; };
struct be_stream { be_device *d; };
struct be_event { be_device *d; };
struct be_module { be_device *d; int n_kernels; };
struct be_program { be_device *d; int n_launches; };

#define CREATE(T, al, ...)          \
  T *x = *out = al_new(al, T);      \
  if (!x) return st_oom();          \
  *x = (T){__VA_ARGS__};            \
  return NULL

static void plain_caps(tsr_caps *c, tsr_dialect dialect) {
  const dialect_row *row = dialect_at(dialect);
  *c = (tsr_caps){.dialect = dialect,
                  .n_cores = 1,
                  .subgroup = row->plain_subgroup,
                  .subgroup_min = row->plain_subgroup,
                  .subgroup_max = row->plain_subgroup,
                  .max_threads = 1024,
                  .max_block = {1024, 1024, 64},
                  .max_grid = {2147483647, 65535, 65535},
                  .max_warps_per_core = 48,
                  .registers_per_core = 65536,
                  .max_registers = 255,
                  .shared_bytes = 48 * 1024,
                  .shared_per_core = 100 * 1024,
                  .shared_banks = 32,
                  .l1_bytes = 32 * 1024,
                  .l2_bytes = 1 << 20,
                  .l3_bytes = 8 << 20,
                  .alignment = 256,
                  .vector_bytes = 16,
                  .f64 = true,
                  .f16 = true,
                  .bf16 = true,
                  .f8 = true,
                  .i8 = true,
                  .i16 = true,
                  .i64 = true,
                  .subgroup_shuffle = true,
                  .subgroup_arithmetic = true};
  if (!row->gpu) c->max_threads = 1, c->vector_bytes = 64;
  snprintf(c->arch, sizeof c->arch, "%s", row->plain_arch);
}

static tsr_status arch_caps(const char *arch, tsr_caps *out) {
  char known[64] = "";
  for (int d = 0; d < N_DIALECTS; d++) {
    if (!strcmp(arch, dialect_at(d)->name)) return plain_caps(out, d), NULL;
    size_t n = strlen(known);
    snprintf(known + n, sizeof known - n, "%s%s", !n ? "" : d + 1 < N_DIALECTS ? ", " : " or ", dialect_at(d)->name);
  }
  return st_make(NULL, TSR_NOT_FOUND, ST_WHERE("null", "arch", known), "no dialect \"%s\"", arch);
}

static tsr_status instance_create(const be_env *env, be_instance **out) { CREATE(be_instance, env->al, env); }
static void instance_destroy(be_instance *in) { if (in) al_delete(in->env->al, in); }
static int n_devices(be_instance *in) { return 1; }

static tsr_status device_info(be_instance *in, int index, be_device_info *out) {
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "null device (computes nothing)");
  snprintf(out->driver, sizeof out->driver, "tessera");
  out->software = true;
  plain_caps(&out->caps, DIALECT_CPU);
  snprintf(out->caps.arch, sizeof out->caps.arch, "null");
  return NULL;
}

static tsr_status device_open(be_instance *in, int index, const be_import *import, be_device **out, tsr_caps *caps) {
  if (import)
    return st_make(in->env->al, TSR_UNSUPPORTED, ST_WHERE("null", "device_import", NULL), "there is nothing to import");
  plain_caps(caps, DIALECT_CPU);
  snprintf(caps->arch, sizeof caps->arch, "null");
  CREATE(be_device, in->env->al, in->env);
}
static void device_close(be_device *d) { if (d) al_delete(d->env->al, d); }

static tsr_status buffer_create(be_device *d, size_t bytes, be_memory kind, be_buffer **out) {
  *out = NULL;
  char *p = al_alloc(d->env->al, bytes, 256);
  if (!p) return st_oom();
  memset(p, 0, bytes);
  be_buffer *b = *out = al_new(d->env->al, be_buffer);
  if (!b) {
    al_free(d->env->al, p, bytes, 256);
    return st_oom();
  }
  *b = (be_buffer){d, p, bytes, true};
  return NULL;
}

static tsr_status buffer_import(be_device *d, const void *desc, size_t bytes, be_buffer **out) {
  CREATE(be_buffer, d->env->al, d, (char *)(uintptr_t)desc, bytes, false);
}
static void buffer_destroy(be_buffer *b) {
  if (!b) return;
  if (b->owned) al_free(b->d->env->al, b->p, b->bytes, 256);
  al_delete(b->d->env->al, b);
}
static void *buffer_map(be_buffer *b) { return b->p; }

static tsr_status stream_create(be_device *d, int priority, be_stream **out) { CREATE(be_stream, d->env->al, d); }
static void stream_destroy(be_stream *s) { if (s) al_delete(s->d->env->al, s); }
static tsr_status stream_sync(be_stream *s, int64_t timeout_ns) { return NULL; }
static tsr_status event_create(be_device *d, be_event **out) { CREATE(be_event, d->env->al, d); }
static void event_destroy(be_event *e) { if (e) al_delete(e->d->env->al, e); }
static tsr_status event_record(be_stream *s, be_event *e) { return NULL; }
static tsr_status stream_wait(be_stream *s, be_event *e) { return NULL; }
static tsr_status event_sync(be_event *e) { return NULL; }
static tsr_status event_elapsed(be_event *from, be_event *to, double *ns) {
  *ns = 0;
  return NULL;
}

static tsr_status do_write(be_stream *s, be_range dst, const void *src) {
  memcpy(dst.buffer->p + dst.offset, src, dst.bytes);
  return NULL;
}
static tsr_status do_read(be_stream *s, be_range src, void *dst) {
  memcpy(dst, src.buffer->p + src.offset, src.bytes);
  return NULL;
}
static tsr_status do_copy(be_stream *s, be_range dst, be_range src) {
  memmove(dst.buffer->p + dst.offset, src.buffer->p + src.offset, src.bytes);
  return NULL;
}
static tsr_status do_fill(be_stream *s, be_range dst, uint32_t pattern) {
  for (size_t i = 0; i + 4 <= dst.bytes; i += 4) memcpy(dst.buffer->p + dst.offset + i, &pattern, 4);
  return NULL;
}

static tsr_status module_create(be_device *d, const be_module_desc *desc, be_module **out) {
  *out = NULL;
  if (desc->n_kernels && !desc->code_bytes)
    return st_make(d->env->al, TSR_INVALID_ARGUMENT, ST_WHERE("null", "module", NULL), "%d kernels without code",
                   desc->n_kernels);
  CREATE(be_module, d->env->al, d, desc->n_kernels);
}
static void module_destroy(be_module *m) { if (m) al_delete(m->d->env->al, m); }

static tsr_status program_create(be_device *d, const be_program_desc *desc, be_program **out) {
  CREATE(be_program, d->env->al, d, desc->n_launches);
}
static void program_destroy(be_program *p) { if (p) al_delete(p->d->env->al, p); }
static tsr_status program_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns) {
  for (int i = 0; times_ns && i < p->n_launches; i++) times_ns[i] = 0;
  return NULL;
}

const be_vtable null_backend = {
    .abi = BE_ABI, .name = "null", .dialect = DIALECT_CPU, .instance_create = instance_create, .instance_destroy = instance_destroy, .n_devices = n_devices, .device_info = device_info,
    .device_open = device_open, .device_close = device_close, .arch_caps = arch_caps, .buffer_create = buffer_create, .buffer_import = buffer_import, .buffer_destroy = buffer_destroy,
    .buffer_map = buffer_map, .stream_create = stream_create, .stream_destroy = stream_destroy, .stream_sync = stream_sync, .event_create = event_create, .event_destroy = event_destroy,
    .event_record = event_record, .stream_wait = stream_wait, .event_sync = event_sync, .event_elapsed = event_elapsed, .write = do_write, .read = do_read, .copy = do_copy, .fill = do_fill,
    .module_create = module_create, .module_destroy = module_destroy, .program_create = program_create, .program_destroy = program_destroy, .program_run = program_run,
};
