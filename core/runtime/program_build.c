/* core/runtime/program_build.c - a planned program on its device: constants, the backend's programs of launches between
 * host calls, workspace and staging. */
#include "core/runtime/program_build.h"

#include <string.h>

static tsr_status upload_constants(tsr_program *p) {
  for (int i = 0; i < p->n_bindings; i++) {
    rt_binding *s = &p->bindings[i];
    if (s->kind != BINDING_CONST) continue;
    TSR_TRY(tsr_buffer_create(p->dev, s->bytes, TSR_MEMORY_DEVICE, &s->buffer));
    if (!s->data->u.dense.splat) {
      TSR_TRY(tsr_buffer_write(s->buffer, 0, s->data->u.dense.data, s->bytes));
      continue;
    }
    size_t one = s->data->u.dense.bytes;
    char *all = al_alloc(&p->ctx->al, s->bytes, 16);
    if (!all) return st_oom();
    for (size_t at = 0; at < s->bytes; at += one) memcpy(all + at, s->data->u.dense.data, one);
    tsr_status st = tsr_buffer_write(s->buffer, 0, all, s->bytes);
    al_free(&p->ctx->al, all, s->bytes, 16);
    TSR_TRY(st);
  }
  return NULL;
}

/* One part's launches; what earlier parts do is complete by the stream's order. */
static tsr_status build_part(tsr_program *p, rt_part *part, be_launch *l, const bool *constant) {
  for (int i = 0; i < part->n; i++) {
    const rt_launch *from = &p->launches[part->first + i];
    int *waits = arena_array(&p->arena, int, from->n_waits + 1), n = 0;
    if (!waits) return st_oom();
    for (int w = 0; w < from->n_waits; w++)
      if (from->waits[w] >= part->first) waits[n++] = from->waits[w] - part->first;
    l[i] = (be_launch){p->module, from->kernel_index, from->bindings, waits, n};
  }
  return p->dev->vt->program_create(p->dev->be, &(be_program_desc){l, part->n, p->n_bindings, constant}, &part->be);
}

static tsr_status build_parts(tsr_program *p, const bool *constant) {
  be_launch *l = arena_array(&p->arena, be_launch, p->n_launches + 1);
  p->parts = arena_array(&p->arena, rt_part, p->n_launches + 1);
  if (!l || !p->parts) return st_oom();
  for (int i = 0; i < p->n_launches;) {
    rt_part *part = &p->parts[p->n_parts++];
    *part = (rt_part){.first = i, .n = 1};
    if (p->launches[i++].host) continue;
    while (i < p->n_launches && !p->launches[i].host) i++, part->n++;
    TSR_TRY(build_part(p, part, l, constant));
  }
  return NULL;
}

/* Room for the largest host call, where the host can't reach the device's memory. */
static tsr_status make_staging(tsr_program *p) {
  if (p->dev->caps.dialect == DIALECT_CPU) return NULL;
  for (int i = 0; i < p->n_launches; i++) {
    size_t n = 0;
    if (p->launches[i].host && rt_custom_is_control(p->launches[i].host)) continue; /* runs on the device */
    for (int k = 0; p->launches[i].host && k < p->launches[i].n_bindings; k++)
      n += (p->bindings[p->launches[i].bindings[k]].bytes + 255) & ~(size_t)255;
    if (n > p->staging_bytes) p->staging_bytes = n;
  }
  if (p->staging_bytes && !(p->staging = al_alloc(&p->ctx->al, p->staging_bytes, 256))) return st_oom();
  return NULL;
}

tsr_status rt_build(tsr_program *p) {
  bool *constant = arena_array(&p->arena, bool, p->n_bindings + 1);
  p->ranges = arena_array(&p->arena, be_range, p->n_bindings + 1);
  p->returned = arena_array(&p->arena, be_range, p->n_outputs + 1);
  if (!constant || !p->ranges || !p->returned) return st_oom();
  for (int i = 0; i < p->n_bindings; i++) constant[i] = p->bindings[i].kind == BINDING_CONST;
  TSR_TRY(build_parts(p, constant));
  TSR_TRY(make_staging(p));
  if (p->workspace_bytes) TSR_TRY(tsr_buffer_create(p->dev, p->workspace_bytes, TSR_MEMORY_DEVICE, &p->workspace));
  TSR_TRY(upload_constants(p));
  for (int i = 0; i < p->n_launches; i++)
    if (p->launches[i].host) TSR_TRY(rt_custom_build(p, p->launches[i].host));
  return NULL;
}

tsr_status rt_build_inner(tsr_program *p, tsr_program *inner) {
  inner->module = p->module;
  return rt_build(inner);
}
