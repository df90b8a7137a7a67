/* Mutants of Tile and Target IR that verify run on cpu:0 under the sanitizers: what the verifier lets through is safe,
 * whatever it says. See tests/support/ir_fuzz.h for the knobs. */
#include <stdio.h>
#include <stdlib.h>

#include "core/runtime/internal.h"
#include "tests/support/ir_bases.h"
#include "tests/support/ir_fuzz.h"
#include "tests/support/ir_run.h"

static tsr_status run(void *user, ir_module *m, const char *text) { return ir_run(user, text, NULL, 0); }

int main(void) {
  static ir_bases b;
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  setenv("TSR_THREADS", "1", 1); /* children of a fork have one */
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  if (st) printf("%s\n", tsr_status_message(st));
  int faults = !st && ir_bases_add(&b, &dev->caps) ? ir_fuzz_run(&(ir_fuzz){"cpu", b.v, b.n, 2000, run, dev}) : 1;
  tsr_status_free(st);
  ir_bases_clear(&b);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return faults != 0;
}
