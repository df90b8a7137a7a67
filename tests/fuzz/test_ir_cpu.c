/* Mutants of Tile and Target IR that verify run on cpu:0 under the sanitizers: what the verifier lets through is safe, whatever it says.
 * See tests/support/ir_fuzz.h for the knobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/ir_fuzz.h"
#include "tests/support/ir_run.h"

#define FUNC(args, body, result) "\"tessera.graph.func\"() ({\n^bb0(" args "):\n" body "\"tessera.graph.return\"(" result ")\n}) {sym_name = \"main\"}\n"

/* Small, so that mutants are quick; extents that don't divide the tiles, so that windows are clipped. */
static const char *const graphs[] = {
    FUNC("%a: tensor<21x13xf32>, %b: tensor<13xf16>", "%c = \"tessera.graph.cast\"(%b) {dtype = \"f32\"}\n%d = \"tessera.graph.add\"(%a, %c)\n%e = \"tessera.graph.gelu\"(%d)\n", "%e, %d"),
    FUNC("%a: tensor<9x40xf32>", "%s = \"tessera.graph.softmax\"(%a)\n", "%s"),
    FUNC("%a: tensor<9x40xbf16>, %g: tensor<40xbf16>, %b: tensor<40xbf16>", "%s = \"tessera.graph.layernorm\"(%a, %g, %b)\n", "%s"),
    FUNC("%a: tensor<9x40xf32>, %g: tensor<40xf32>, %b: tensor<40xf32>", "%s = \"tessera.graph.layernorm\"(%a, %g, %b)\n", "%s"),
    FUNC("%a: tensor<20x33xf32>, %b: tensor<33x18xf32>, %c: tensor<18xf32>", "%m = \"tessera.graph.matmul\"(%a, %b)\n%d = \"tessera.graph.add\"(%m, %c)\n%e = \"tessera.graph.relu\"(%d)\n", "%e"),
    FUNC("%a: tensor<20x33xi8>, %b: tensor<33x18xi8>", "%m = \"tessera.graph.matmul\"(%a, %b)\n", "%m"),
    FUNC("%a: tensor<5x6x7xi32>", "%t = \"tessera.graph.transpose\"(%a) {perm = [2, 0, 1]}\n%r = \"tessera.graph.reduce_max\"(%t) {axes = [1]}\n%n = \"tessera.graph.neg\"(%t)\n", "%n, %r"),
    FUNC("%a: tensor<9x12xf64>, %b: tensor<4x12xf64>", "%c = \"tessera.graph.concat\"(%a, %b) {axis = 0}\n%s = \"tessera.graph.reduce_sum\"(%c) {axes = [0]}\n", "%c, %s")};
static const char *const files[] = {"embedding_mean", "flash_attention", "fft4096", "column_stats", "transpose", "conv2d"};

enum { MOST_BASES = 64 };

typedef struct bases {
  ir_module *v[MOST_BASES];
  int n;
} bases;

static bool add_text(bases *b, const char *text) {
  tsr_status st = ir_parse(NULL, text, strlen(text), "base", &b->v[b->n]);
  if (st) printf("%s\n%s\n", tsr_status_message(st), text);
  else b->n++;
  tsr_status_free(st);
  return !st;
}

/* The text's program at Tile and at Target level. */
static bool add_levels(bases *b, tsr_context *ctx, tsr_device *dev, const char *text) {
  tsr_program *p = NULL;
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "base", &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p);
  bool ok = !st;
  for (int level = TSR_LEVEL_TILE; ok && level <= TSR_LEVEL_TARGET; level++) {
    char *out = NULL;
    st = tsr_program_dump(p, (tsr_level)level, &out, NULL);
    ok = !st && add_text(b, out);
    tsr_text_free(ctx, &out);
  }
  if (st) printf("%s\n", tsr_status_message(st));
  tsr_status_free(st);
  tsr_program_destroy(&p);
  return ok;
}

static bool add_file(bases *b, tsr_context *ctx, tsr_device *dev, const char *name) {
  static char text[1 << 16];
  char path[512];
  snprintf(path, sizeof path, "%s/tests/tile/%s.mlir", TSR_SOURCE_DIR, name);
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  text[n] = 0;
  return n && add_levels(b, ctx, dev, text);
}

static tsr_status run(void *user, ir_module *m, const char *text) { return ir_run(user, text, NULL, 0); }

int main(void) {
  static bases b;
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  setenv("TSR_THREADS", "1", 1); /* children of a fork have one */
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  if (st) {
    printf("%s\n", tsr_status_message(st));
    tsr_status_free(st);
    return 1;
  }
  bool ok = true;
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) ok &= add_levels(&b, ctx, dev, graphs[i]);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) ok &= add_file(&b, ctx, dev, files[i]);
  int faults = ok ? ir_fuzz_run(&(ir_fuzz){"cpu", b.v, b.n, 2000, run, dev}) : 1;
  for (int i = 0; i < b.n; i++) ir_module_destroy(&b.v[i]);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return faults != 0;
}
