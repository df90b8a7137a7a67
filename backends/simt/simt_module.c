/* backends/simt/simt_module.c - modules: source or binary to kernels ready to launch, with what the compiler said about
 * each. */
#include <stdio.h>
#include <string.h>

#include "backends/simt/simt.h"

enum { ATTR_SHARED = 1, ATTR_LOCAL = 3, ATTR_REGISTERS = 4, STATIC_SHARED_LIMIT = 48 << 10 };

static tsr_status copy_kernel(be_module *m, simt_kernel *k, const be_kernel_desc *d) {
  const tsr_allocator *al = m->dev->in->env.al;
  size_t n = strlen(d->name) + 1;
  k->desc = *d;
  k->desc.n_maps = 0;
  if (!(k->name = al_alloc(al, n, 16))) return st_oom();
  memcpy(k->name, d->name, n);
  k->desc.name = k->name;
  if (d->n_maps) {
    if (!(k->maps = al_alloc(al, sizeof *k->maps * (size_t)d->n_maps, 16))) return st_oom();
    memcpy(k->maps, d->maps, sizeof *k->maps * (size_t)d->n_maps);
    k->desc.maps = k->maps;
    k->desc.n_maps = d->n_maps;
  }
  return NULL;
}

/* What the loaded function says wins over the log: it is the same for cached binaries. */
static void read_stats(be_module *m, simt_kernel *k, const simt_code *code) {
  const simt_api *api = &m->dev->in->api;
  int v = 0, threads = k->desc.block[0] * k->desc.block[1] * k->desc.block[2];
  if (m->dev->in->d->stats_in_object && code->code)
    simt_object_stats(code->code, code->bytes, k->name, &k->stats);
  else simt_log_stats(m->log ? m->log : "", k->name, &k->stats);
  if (api->function_get) {
    if (!api->function_get(&v, ATTR_REGISTERS, k->function)) k->stats.registers = v;
    if (!api->function_get(&v, ATTR_LOCAL, k->function)) k->stats.scratch_bytes = v;
    if (!api->function_get(&v, ATTR_SHARED, k->function)) k->stats.shared_bytes = v + (int)k->desc.shared_bytes;
  }
  if (api->occupancy && m->dev->caps.max_warps_per_core > 0 &&
      !api->occupancy(&v, k->function, threads, (size_t)k->desc.shared_bytes)) {
    double warps = (double)v * ((threads + m->dev->caps.subgroup - 1) / m->dev->caps.subgroup);
    k->stats.occupancy = warps / m->dev->caps.max_warps_per_core;
  }
}

static tsr_status load_kernel(be_module *m, simt_kernel *k, const be_kernel_desc *d, const simt_code *code) {
  be_device *dev = m->dev;
  TSR_TRY(copy_kernel(m, k, d));
  TSR_TRY(simt_check(dev, dev->in->api.module_function(&k->function, m->handle, k->name), "find a kernel"));
  if (d->shared_bytes > STATIC_SHARED_LIMIT && dev->in->d->set_shared_limit)
    TSR_TRY(simt_check(dev, dev->in->d->set_shared_limit(dev->in->api.lib, k->function, (int)d->shared_bytes),
                       "raise the shared memory limit"));
  read_stats(m, k, code);
  if (k->stats.spill_bytes > 0 || k->stats.serialized) {
    char text[256];
    snprintf(text, sizeof text, "kernel %s: %d bytes of registers spilled%s", k->name, k->stats.spill_bytes,
             k->stats.serialized ? ", wgmma serialized" : "");
    dev->in->env.log(dev->in->env.log_user, 1, text);
  }
  return NULL;
}

tsr_status simt_module_create(be_device *dev, const be_module_desc *desc, be_module **out) {
  const be_env *env = &dev->in->env;
  simt_code code = {0};
  tsr_status st = NULL;
  *out = NULL;
  TSR_TRY(simt_enter(dev));
  be_module *m = al_new(env->al, be_module);
  if (!m) return st_oom();
  m->dev = dev;
  if (desc->format != BE_TEXT && desc->format != BE_BINARY) {
    st = st_make(env->al, TSR_ARCH_MISMATCH, ST_WHERE(dev->in->d->name, "module", NULL), "the module holds no %s code",
                 dev->in->d->label);
    goto done;
  }
  if (desc->format == BE_TEXT)
    TSR_GOTO(simt_compile_source(env, dev->in->d, desc->arch ? desc->arch : dev->caps.arch, desc->code, &code));
  m->log = code.log;
  code.log = NULL;
  TSR_GOTO(simt_check(dev, dev->in->api.module_load(&m->handle, code.code ? code.code : desc->code), "load a module"));
  if (desc->n_kernels && !(m->kernels = al_zalloc(env->al, sizeof *m->kernels * (size_t)desc->n_kernels))) {
    st = st_oom();
    goto done;
  }
  m->n_kernels = desc->n_kernels;
  for (int i = 0; i < desc->n_kernels; i++) TSR_GOTO(load_kernel(m, &m->kernels[i], &desc->kernels[i], &code));
done:
  simt_code_free(env, &code);
  if (st) simt_module_destroy(m);
  else *out = m;
  return st;
}

void simt_module_destroy(be_module *m) {
  if (!m) return;
  be_device *dev = m->dev;
  const tsr_allocator *al = dev->in->env.al;
  if (m->handle && !dev->lost && !dev->in->api.context_current(dev->context)) dev->in->api.module_unload(m->handle);
  for (int i = 0; i < m->n_kernels; i++) {
    simt_kernel *k = &m->kernels[i];
    if (k->name) al_free(al, k->name, strlen(k->name) + 1, 16);
    if (k->maps) al_free(al, k->maps, sizeof *k->maps * (size_t)k->desc.n_maps, 16);
  }
  if (m->kernels) al_free(al, m->kernels, sizeof *m->kernels * (size_t)m->n_kernels, 16);
  if (m->log) al_free(al, m->log, strlen(m->log) + 1, 16);
  al_delete(al, m);
}

tsr_status simt_kernel_stats(be_module *m, int kernel, be_kernel_stats *out) {
  *out = m->kernels[kernel].stats;
  return NULL;
}
