/* backends/null/backend.c - see backend.h. Memory is host memory; modules are checked for having their kernels' code;
 * runs do nothing. "null:cpu", "null:spirv", "null:cuda" and "null:hip" compile for a plain device of that dialect. */
#include "backends/null/backend.h"

#include <stdio.h>
#include <string.h>

#include "backends/host/host.h"
#include "core/device/dialect.h"

struct be_instance { const be_env *env; };
struct be_device { host_device host; };
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
                  .cores_from = CORES_LISTED,
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
                  .storage16 = true,
                  .storage8 = true,
                  .i64 = true,
                  .subgroup_shuffle = true};
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
  CREATE(be_device, in->env->al, {in->env, "null"});
}
static void device_close(be_device *d) { if (d) al_delete(d->host.env->al, d); }

static tsr_status buffer_create(be_device *d, size_t bytes, be_memory kind, be_buffer **out) {
  TSR_TRY(host_buffer_create(d, bytes, kind, out));
  memset((*out)->p, 0, bytes);
  return NULL;
}

/* Runs take no time. */
static tsr_status event_elapsed(be_event *from, be_event *to, double *ns) {
  *ns = 0;
  return NULL;
}

static tsr_status do_fill(be_stream *s, be_range dst, uint32_t pattern) {
  for (size_t i = 0; i + 4 <= dst.bytes; i += 4) memcpy(dst.buffer->p + dst.offset + i, &pattern, 4);
  return NULL;
}

static tsr_status module_create(be_device *d, const be_module_desc *desc, be_module **out) {
  *out = NULL;
  if (desc->n_kernels && !desc->code_bytes)
    return st_make(d->host.env->al, TSR_INVALID_ARGUMENT, ST_WHERE("null", "module", NULL), "%d kernels without code",
                   desc->n_kernels);
  CREATE(be_module, d->host.env->al, d, desc->n_kernels);
}
static void module_destroy(be_module *m) { if (m) al_delete(m->d->host.env->al, m); }

static tsr_status program_create(be_device *d, const be_program_desc *desc, be_program **out) {
  CREATE(be_program, d->host.env->al, d, desc->n_launches);
}
static void program_destroy(be_program *p) { if (p) al_delete(p->d->host.env->al, p); }
static tsr_status program_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns) {
  for (int i = 0; times_ns && i < p->n_launches; i++) times_ns[i] = 0;
  return NULL;
}

const be_vtable null_backend = {
    HOST_VTABLE,
    .abi = BE_ABI,
    .name = "null",
    .dialect = DIALECT_CPU,
    .instance_create = instance_create,
    .instance_destroy = instance_destroy,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .arch_caps = arch_caps,
    .buffer_create = buffer_create,
    .event_elapsed = event_elapsed,
    .fill = do_fill,
    .module_create = module_create,
    .module_destroy = module_destroy,
    .program_create = program_create,
    .program_destroy = program_destroy,
    .program_run = program_run,
};
