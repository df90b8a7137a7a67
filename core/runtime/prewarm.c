/* core/runtime/prewarm.c - tsr_program_prewarm: each kernel of a program launched once, one block, on scratch memory,
 * so that what a driver compiles at the first launch is compiled before it is needed. */
#include "core/runtime/internal.h"

/* Memory as large as the largest tensor that a caller binds; all inputs and outputs are bound to it. */
static tsr_status scratch_for(tsr_program *p, tsr_buffer **out) {
  size_t most = 16;
  for (int i = 0; i < p->n_inputs; i++)
    if (p->inputs[i].bytes > most) most = p->inputs[i].bytes;
  for (int i = 0; i < p->n_outputs; i++)
    if (p->outputs[i].bytes > most) most = p->outputs[i].bytes;
  return tsr_buffer_create(p->dev, (most + 3) & ~(size_t)3, TSR_MEMORY_DEVICE, out);
}

/* Zeros, which are places that every tensor has, where a kernel reads places from memory. */
static tsr_status clear(const tsr_program *p, tsr_stream *s, tsr_buffer *scratch) {
  TSR_TRY(tsr_stream_fill(s, scratch, 0, scratch->bytes & ~(size_t)3, 0));
  return p->workspace ? tsr_stream_fill(s, p->workspace, 0, p->workspace->bytes & ~(size_t)3, 0) : NULL;
}

static void bind_scratch(tsr_program *p, const tsr_buffer *scratch) {
  for (int i = 0; i < p->n_bindings; i++) {
    const rt_binding *b = &p->bindings[i];
    be_range *r = &p->ranges[i];
    *r = (be_range){scratch->be, 0, b->bytes};
    if (b->kind == BINDING_CONST) r->buffer = b->buffer->be;
    if (b->kind == BINDING_TEMP) *r = (be_range){p->workspace ? p->workspace->be : NULL, b->offset, b->bytes};
  }
}

static tsr_status warm_all(tsr_program *p, tsr_stream *s, int total, tsr_prewarm_fn progress, void *user) {
  int done = 0;
  for (int i = 0; i < p->n_parts; i++)
    for (int k = 0; p->parts[i].be && k < p->parts[i].n; k++) {
      const char *name = p->kernels[p->parts[i].first + k].name;
      if (progress && !progress(user, done, total, name))
        return st_make(&p->ctx->al, TSR_CANCELLED, RT_WHERE("program_prewarm", NULL), "ended by the caller before %s",
                       name);
      if (p->dev->vt->warm) TSR_TRY(p->dev->vt->warm(s->be, p->parts[i].be, k, p->ranges));
      done++;
    }
  if (progress) (void)progress(user, done, total, "");
  return NULL;
}

tsr_status tsr_program_prewarm(tsr_program *p, tsr_prewarm_fn progress, void *user) {
  RT_NEED("program_prewarm", "p", p);
  if (!p->dev->be)
    return st_make(&p->ctx->al, TSR_UNAVAILABLE, RT_WHERE("program_prewarm", "open a device by number"),
                   "%s is an architecture without hardware", p->dev->info.id);
  tsr_buffer *scratch = NULL;
  tsr_stream *s = rt_stream(p->dev, NULL);
  int total = 0;
  for (int i = 0; i < p->n_parts; i++) total += p->parts[i].be ? p->parts[i].n : 0;
  tsr_status st = scratch_for(p, &scratch);
  if (!st) st = clear(p, s, scratch);
  if (!st) bind_scratch(p, scratch);
  if (!st) st = warm_all(p, s, total, progress, user);
  if (!st) st = tsr_stream_sync(s, -1);
  tsr_buffer_destroy(&scratch);
  return st;
}
