/* core/passes/simt/registers.c - a fragment as registers of its layout. */
#include "core/passes/simt/registers.h"
#include "core/passes/simt/state.h"

tsr_status simt_regs(simt *c, const simt_frag *f, simt_frag *out) {
  if (f->opaque) return c->path->to_regs(c, f, out);
  if (!f->splat) {
    *out = *f;
    return NULL;
  }
  ir_value **v = arena_array(&c->m->arena, ir_value *, f->layout->n_regs);
  if (!v) return st_oom();
  for (int i = 0; i < f->layout->n_regs; i++) v[i] = f->splat;
  *out = (simt_frag){.layout = f->layout, .dtype = f->dtype, .v = v, .n = f->layout->n_regs};
  return NULL;
}
