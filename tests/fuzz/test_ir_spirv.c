/* Mutants of Tile and Target IR that verify are compiled to SPIR-V: each gives a status, or modules that SPIRV-Tools
 * accepts for Vulkan 1.3. See tests/support/ir_fuzz.h for the knobs. */
#include <stdio.h>
#include <string.h>

#include <spirv-tools/libspirv.h>

#include "core/emit/emit.h"
#include "core/passes/lower.h"
#include "core/passes/target/program.h"
#include "tests/support/ir_bases.h"
#include "tests/support/ir_fuzz.h"
#include "tests/support/spirv_check.h"

static tsr_status validate(const uint32_t *words, size_t n) {
  static spv_context ctx;
  if (!ctx) ctx = spvContextCreate(SPV_ENV_VULKAN_1_3);
  spv_diagnostic d = NULL;
  spv_const_binary_t b = {words, n};
  spv_result_t r = spvValidate(ctx, &b, &d);
  tsr_status st = r == SPV_SUCCESS ? NULL
                                   : st_make(NULL, TSR_INTERNAL, ST_WHERE("test", "spirv-val", NULL), "%s",
                                             d ? d->error : "not valid");
  spvDiagnosticDestroy(d);
  return st;
}

static tsr_status use(void *user, ir_module *m, const char *text) {
  const tsr_caps *caps = user;
  const ir_op *first = m->root->regions[0]->first;
  const bool tile = first && first->def->level == IR_TILE;
  ir_module *target = NULL;
  be_module_desc d = {0};
  arena a;
  arena_init(&a, &al_default);
  tsr_status st = tile ? tile_expand(m, caps) : target_check_device(m, caps);
  if (!st && tile) st = tile_to_target(m, caps, &target);
  if (!st) st = emit_module(tile ? target : m, caps, &a, &d);
  for (int i = 0; !st && i < d.n_kernels; i++)
    st = validate((const uint32_t *)(const void *)((const char *)d.code + d.offsets[i]),
                  (d.offsets[i + 1] - d.offsets[i]) / 4);
  ir_module_destroy(&target);
  arena_clear(&a);
  return st;
}

int main(void) {
  static ir_bases b;
  tsr_caps caps = spirv_full_caps();
  int faults = ir_bases_add(&b, &caps) ? ir_fuzz_run(&(ir_fuzz){"spirv", b.v, b.n, 2000, use, &caps}) : 1;
  ir_bases_clear(&b);
  return faults != 0;
}
