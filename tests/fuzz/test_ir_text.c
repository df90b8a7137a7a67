/* Mutants of Tile and Target IR that verify are compiled for CUDA and HIP, down to text, and by the null backend: each
 * gives text or a status. See tests/support/ir_fuzz.h for the knobs. */
#include <stdio.h>
#include <string.h>

#include "core/device/arch.h"
#include "core/emit/emit.h"
#include "core/ir/target/target.h"
#include "core/passes/lower.h"
#include "core/passes/target/program.h"
#include "tessera/tessera.h"
#include "tests/support/ir_bases.h"
#include "tests/support/ir_fuzz.h"

static const struct {
  tsr_dialect dialect;
  const char *arch;
} archs[] = {{DIALECT_CUDA, "sm_80"}, {DIALECT_CUDA, "sm_90a"}, {DIALECT_HIP, "gfx942"}, {DIALECT_HIP, "gfx1100"}};
enum { N_ARCHS = sizeof archs / sizeof *archs };
static const char *const null_ids[] = {"null:cuda", "null:hip", "null:cpu"};
enum { N_NULL = sizeof null_ids / sizeof *null_ids };

typedef struct devices {
  tsr_caps caps[N_ARCHS];
  tsr_device *null[N_NULL];
} devices;

static tsr_status emit(ir_module *m, const tsr_caps *caps) {
  const ir_op *first = m->root->regions[0]->first;
  const bool tile = first && first->def->level == IR_TILE;
  ir_module *target = NULL;
  be_module_desc d;
  arena a;
  arena_init(&a, &al_default);
  tsr_status st = tile ? tile_expand(m, caps) : target_check_device(m, caps);
  if (!st && tile) st = tile_to_target(m, caps, &target);
  if (!st) st = emit_module(tile ? target : m, caps, &a, &d);
  ir_module_destroy(&target);
  arena_clear(&a);
  return st;
}

static tsr_status use(void *user, ir_module *m, const char *text) {
  const devices *x = user;
  tsr_status worst = NULL;
  for (int i = 0; i < N_ARCHS; i++) {
    tsr_status st = emit(m, &x->caps[i]);
    if (tsr_status_code(st) == TSR_INTERNAL) return st;
    tsr_status_free(worst);
    worst = st;
  }
  tsr_program *p = NULL;
  tsr_status_free(worst);
  worst = tsr_program_parse(x->null[strlen(text) % N_NULL], text, strlen(text), "test",
                            &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p);
  tsr_program_destroy(&p);
  return worst;
}

int main(void) {
  static devices x;
  static ir_bases b;
  tsr_context *ctx = NULL;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  for (int i = 0; !st && i < N_ARCHS; i++) st = arch_caps_of(archs[i].dialect, archs[i].arch, &x.caps[i]);
  for (int i = 0; !st && i < N_NULL; i++) st = tsr_device_open(ctx, null_ids[i], &x.null[i]);
  if (st) printf("%s\n", tsr_status_message(st));
  bool ok = !st;
  for (int i = 0; ok && i < N_ARCHS; i++) ok = ir_bases_add(&b, &x.caps[i]);
  int faults = ok ? ir_fuzz_run(&(ir_fuzz){"text", b.v, b.n, 2000, use, &x}) : 1;
  tsr_status_free(st);
  ir_bases_clear(&b);
  for (int i = 0; i < N_NULL; i++) tsr_device_close(&x.null[i]);
  tsr_context_destroy(&ctx);
  return faults != 0;
}
