/* core/emit/emit.c - dispatch by dialect, and the kernel descriptions that all dialects share. */
#include "core/emit/emit.h"

#include <string.h>

#include "core/emit/cpu/emit_cpu.h"
#include "core/emit/spirv/spirv.h"
#include "core/emit/text/text.h"
#include "core/ir/target/target.h"

static bool is_kernel(const ir_op *o) { return o->def->level == IR_TARGET && o->def->code == TG_KERNEL; }

static void ints3(const ir_op *k, const char *name, int64_t *v) {
  v[0] = v[1] = v[2] = 1;
  ir_get_ints(k, name, v, 3);
}

/* Tensor maps are parameters after the buffers, in text order. */
static tsr_status tensor_maps(const ir_op *k, arena *a, be_kernel_desc *d) {
  const ir_block *r = k->regions[0];
  int n = 0;
  for (const ir_op *o = r->first; o; o = o->next) n += o->def->code == TG_TENSOR_MAP;
  be_tensor_map *maps = arena_array(a, be_tensor_map, n + 1);
  if (!maps) return st_oom();
  d->maps = maps;
  for (const ir_op *o = r->first; o; o = o->next) {
    if (o->def->code != TG_TENSOR_MAP) continue;
    be_tensor_map *m = &maps[d->n_maps++];
    int64_t box[5] = {0};
    m->arg = o->operands[0]->index;
    m->dtype = o->operands[0]->type->dtype;
    m->rank = ir_get_ints(o, "dims", m->dims, 5);
    ir_get_ints(o, "strides", m->strides + 1, 4);
    ir_get_ints(o, "box", box, 5);
    for (int i = 0; i < 5; i++) m->box[i] = (int)box[i];
    m->swizzle = (int)ir_get_int(o, "swizzle", 0);
  }
  return NULL;
}

/* The kernel descriptions alone (grid, block, shared bytes, ...), whatever the dialect. */
static tsr_status emit_kernel_descs(const ir_module *target, arena *a, be_module_desc *out) {
  int n = 0;
  for (const ir_op *o = target->root->regions[0]->first; o; o = o->next) n += is_kernel(o);
  be_kernel_desc *d = arena_array(a, be_kernel_desc, n + 1);
  if (!d) return st_oom();
  out->kernels = d;
  out->n_kernels = n;
  for (const ir_op *o = target->root->regions[0]->first; o; o = o->next) {
    if (!is_kernel(o)) continue;
    int64_t v[3];
    if (!(d->name = arena_str(a, ir_get_str(o, "sym_name", "")))) return st_oom();
    ints3(o, "grid", d->grid);
    ints3(o, "block", v);
    for (int i = 0; i < 3; i++) d->block[i] = (int)v[i];
    ints3(o, "cluster", v);
    for (int i = 0; i < 3; i++) d->cluster[i] = (int)v[i];
    d->subgroup = (int)ir_get_int(o, "subgroup", 0);
    d->shared_bytes = ir_get_int(o, "shared_bytes", 0);
    d->scratch_bytes = ir_get_int(o, "scratch_bytes", 0);
    d->n_args = o->regions[0]->n_args;
    d->n_outputs = (int)ir_get_int(o, "outputs", 1);
    d->flops = ir_get_float(o, "flops", 0);
    d->bytes = ir_get_float(o, "bytes", 0);
    TSR_TRY(tensor_maps(o, a, d));
    d++;
  }
  return NULL;
}

tsr_status emit_module(const ir_module *target, const tsr_caps *caps, arena *a, be_module_desc *out) {
  *out = (be_module_desc){.arch = caps->arch};
  TSR_TRY(emit_kernel_descs(target, a, out));
  switch (caps->dialect) {
  case DIALECT_CPU: return emit_cpu(target, caps, a, out);
  case DIALECT_SPIRV: return emit_spirv(target, caps, a, out);
  default: break;
  }
  strb text;
  strb_init(&text, &a->al);
  tsr_status st = emit_text(target, caps, &text);
  if (!st) {
    out->format = BE_TEXT;
    out->code_bytes = text.n;
    out->code = arena_strn(a, strb_text(&text), text.n);
    if (!out->code || !strb_ok(&text)) st = st_oom();
  }
  strb_clear(&text);
  return st;
}

tsr_status emit_source(const ir_module *target, const tsr_caps *caps, strb *out) {
  switch (caps->dialect) {
  case DIALECT_CPU: return emit_cpu_source(target, out);
  case DIALECT_SPIRV: return emit_spirv_source(target, caps, out);
  default: return emit_text(target, caps, out);
  }
}
