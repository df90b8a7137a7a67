/* tests/simt/target_run.c - see target_run.h. */
#include "tests/simt/target_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/device/arch.h"
#include "core/device/dialect.h"
#include "core/emit/text/text.h"
#include "core/ir/target/target.h"
#include "core/passes/simt/simt.h"
#include "tests/simt/record.h"

#define WHERE(op) ST_WHERE("emulator", op, NULL)

tsr_status emu_arch_caps(const char *arch, tsr_caps *out) {
  tsr_status st = NULL;
  for (int d = 0; d < N_DIALECTS; d++) {
    if (!dialect_at(d)->has_arch_table) continue;
    tsr_status_free(st);
    if (!(st = arch_caps_of(d, arch, out))) return NULL;
  }
  return st;
}

void emu_unit_clear(emu_unit *u) {
  emu_module_destroy(u->module);
  free(u->source);
  memset(u, 0, sizeof *u);
}

tsr_status emu_build_text(const char *source, const be_kernel_desc *kernels, int n, const tsr_caps *caps, emu_unit *u) {
  const char *names[EMU_MAX_KERNELS];
  char *log;
  memset(u, 0, sizeof *u);
  if (n > EMU_MAX_KERNELS)
    return st_make(NULL, TSR_UNSUPPORTED, WHERE("build"), "%d kernels in a unit, at most %d can be", n,
                   EMU_MAX_KERNELS);
  u->caps = *caps;
  u->n_kernels = n;
  for (int i = 0; i < n; i++) {
    be_kernel_desc *k = &u->kernels[i];
    *k = kernels[i];
    snprintf(u->names[i], sizeof u->names[i], "%s", k->name);
    k->name = names[i] = u->names[i];
    if (k->n_maps > EMU_MAX_MAPS || k->n_args > EMU_MAX_ARGS) {
      memset(u, 0, sizeof *u);
      return st_make(NULL, TSR_UNSUPPORTED, WHERE("build"), "%s has %d arguments and %d tensor maps", names[i],
                     kernels[i].n_args, kernels[i].n_maps);
    }
    if (k->n_maps) memcpy(u->maps[i], k->maps, sizeof *k->maps * (size_t)k->n_maps);
    k->maps = u->maps[i];
  }
  u->module = emu_compile(&(emu_compile_desc){.source = source, .kernels = names, .n_kernels = n}, &log);
  u->source = strdup(source);
  if (u->module && u->source) return NULL;
  tsr_status st = u->module
                      ? st_oom()
                      : st_make(NULL, TSR_INTERNAL, WHERE("build"), "the emitted text doesn't compile: %.800s", log);
  free(log);
  emu_unit_clear(u);
  return st;
}

typedef struct scan { be_kernel_desc *k; be_tensor_map *maps; const ir_op *kernel; bool too_many; } scan;

static tsr_status scan_op(ir_op *op, void *user) {
  scan *s = user;
  if (op->def->level != IR_TARGET || op->def->code != TG_TENSOR_MAP) return NULL;
  if (s->k->n_maps == EMU_MAX_MAPS) {
    s->too_many = true;
    return NULL;
  }
  be_tensor_map *m = &s->maps[s->k->n_maps++];
  int64_t box[5] = {0};
  *m = (be_tensor_map){.arg = -1, .dtype = op->operands[0]->type->dtype, .swizzle = (int)ir_get_int(op, "swizzle", 0)};
  m->rank = ir_get_ints(op, "dims", m->dims, 5);
  ir_get_ints(op, "strides", m->strides + 1, 4);
  ir_get_ints(op, "box", box, 5);
  for (int i = 0; i < 5; i++) m->box[i] = (int)box[i];
  for (int i = 0; i < s->k->n_args; i++)
    if (s->kernel->regions[0]->args[i] == op->operands[0]) m->arg = i;
  return NULL;
}

static tsr_status describe(ir_op *op, be_kernel_desc *k, be_tensor_map *maps, char *path) {
  int64_t v[3] = {1, 1, 1};
  *k = (be_kernel_desc){.name = ir_get_str(op, "sym_name", ""),
                        .n_args = op->regions[0]->n_args,
                        .n_outputs = (int)ir_get_int(op, "outputs", 1),
                        .shared_bytes = ir_get_int(op, "shared_bytes", 0),
                        .subgroup = (int)ir_get_int(op, "subgroup", 0),
                        .maps = maps};
  ir_get_ints(op, "grid", k->grid, 3);
  ir_get_ints(op, "block", v, 3);
  for (int i = 0; i < 3; i++) k->block[i] = (int)v[i], v[i] = 1;
  ir_get_ints(op, "cluster", v, 3);
  for (int i = 0; i < 3; i++) k->cluster[i] = (int)v[i];
  snprintf(path, 96, "%s", ir_get_str(op, "path", ""));
  scan s = {k, maps, op, false};
  TSR_TRY(ir_walk(op, scan_op, &s));
  return s.too_many ? st_make(NULL, TSR_UNSUPPORTED, WHERE(k->name), "more than %d tensor maps", EMU_MAX_MAPS) : NULL;
}

static bool is_tile(const ir_module *m) {
  for (const ir_op *op = m->root->regions[0]->first; op; op = op->next)
    if (op->def->level == IR_TILE) return true;
  return false;
}

tsr_status emu_build(const ir_module *m, const tsr_caps *caps, emu_unit *out) {
  static be_kernel_desc kernels[EMU_MAX_KERNELS];
  static be_tensor_map maps[EMU_MAX_KERNELS][EMU_MAX_MAPS];
  static char paths[EMU_MAX_KERNELS][96];
  ir_module *lowered = NULL;
  const ir_module *target = m;
  tsr_status st = NULL;
  strb text;
  int n = 0;
  memset(out, 0, sizeof *out);
  strb_init(&text, NULL);
  if (is_tile(m)) {
    TSR_GOTO(tile_to_simt(m, caps, &lowered));
    target = lowered;
  }
  TSR_GOTO(emit_text(target, caps, &text));
  for (ir_op *op = target->root->regions[0]->first; op && n < EMU_MAX_KERNELS; op = op->next)
    if (op->def->level == IR_TARGET && op->def->code == TG_KERNEL) {
      TSR_GOTO(describe(op, &kernels[n], maps[n], paths[n]));
      n++;
    }
  st = emu_build_text(strb_text(&text), kernels, n, caps, out);
  if (!st) memcpy(out->paths, paths, sizeof paths);
done:
  strb_clear(&text);
  ir_module_destroy(&lowered);
  return st;
}

tsr_status emu_launch(const emu_unit *u, int kernel, const emu_range *buffers, unsigned seed, emu_report *r) {
  const be_kernel_desc *k = &u->kernels[kernel];
  void *data[EMU_MAX_ARGS], *args[EMU_MAX_ARGS + EMU_MAX_MAPS];
  emu_range ranges[EMU_MAX_ARGS];
  static emu_tensor_map maps[EMU_MAX_MAPS];
  emu_run_desc d = {.kernel = k->name,
                    .warp = u->caps.subgroup,
                    .banks = u->caps.shared_banks,
                    .f8_sum_bits = u->caps.f8_sum_bits,
                    .f8_by_f16 = u->caps.f8_by_f16,
                    .mfma_flushes = u->caps.mfma_flushes,
                    .shared_bytes = k->shared_bytes,
                    .args = args,
                    .n_args = k->n_args + k->n_maps,
                    .ranges = ranges,
                    .n_ranges = k->n_args,
                    .seed = seed};
  for (int i = 0; i < 3; i++) {
    d.grid[i] = (int)k->grid[i];
    d.block[i] = k->block[i];
    d.cluster[i] = k->cluster[i];
  }
  for (int i = 0; i < k->n_args; i++) {
    data[i] = buffers[i].data;
    args[i] = &data[i];
    ranges[i] = (emu_range){buffers[i].data, buffers[i].bytes, i >= k->n_args - k->n_outputs};
  }
  for (int i = 0; i < k->n_args - k->n_outputs; i++) /* an input may be updated in place */
    for (int j = k->n_args - k->n_outputs; j < k->n_args; j++)
      if ((uint8_t *)ranges[i].data < (uint8_t *)ranges[j].data + ranges[j].bytes &&
          (uint8_t *)ranges[j].data < (uint8_t *)ranges[i].data + ranges[i].bytes)
        ranges[i].writable = true;
  for (int i = 0; i < k->n_maps; i++) {
    const be_tensor_map *m = &k->maps[i];
    const char *why = m->arg < 0 ? "its memory is not an argument"
                                 : emu_tensor_map_make(&maps[i], data[m->arg], (int)tsr_dtype_size(m->dtype), m->rank,
                                                       m->dims, m->strides, m->box, m->swizzle);
    if (why) return st_make(NULL, TSR_LAUNCH_FAILED, WHERE(k->name), "tensor map %d: %s", i, why);
    args[k->n_args + i] = &maps[i];
  }
  if (emu_run(u->module, &d, r)) {
    emu_record(u, kernel);
    return NULL;
  }
  return st_make(NULL, TSR_LAUNCH_FAILED, WHERE(k->name),
                 "%d x %d x %d threads with %lld bytes of shared memory can't be launched", k->block[0], k->block[1],
                 k->block[2], (long long)k->shared_bytes);
}
