/* tests/support/ir_bases.c - see ir_bases.h. */
#include "tests/support/ir_bases.h"

#include <stdio.h>
#include <string.h>

#include "core/passes/lower.h"
#include "tests/support/plan.h"

#define FUNC(args, body, result) \
  "\"tessera.graph.func\"() ({\n^bb0(" args "):\n" body "\"tessera.graph.return\"(" result ")\n}) {sym_name = \"main\"}\n"

/* Small, so that mutants are quick; extents that don't divide the tiles, so that windows are clipped. */
static const char *const graphs[] = {
    FUNC("%a: tensor<21x13xf32>, %b: tensor<13xf16>",
         "%c = \"tessera.graph.cast\"(%b) {dtype = \"f32\"}\n%d = \"tessera.graph.add\"(%a, %c)\n%e = "
         "\"tessera.graph.gelu\"(%d)\n",
         "%e, %d"),
    FUNC("%a: tensor<9x40xf32>", "%s = \"tessera.graph.softmax\"(%a)\n", "%s"),
    FUNC("%a: tensor<9x40xbf16>, %g: tensor<40xbf16>, %b: tensor<40xbf16>",
         "%s = \"tessera.graph.layernorm\"(%a, %g, %b)\n", "%s"),
    FUNC("%a: tensor<9x40xf32>, %g: tensor<40xf32>, %b: tensor<40xf32>",
         "%s = \"tessera.graph.layernorm\"(%a, %g, %b)\n", "%s"),
    FUNC("%a: tensor<20x33xf32>, %b: tensor<33x18xf32>, %c: tensor<18xf32>",
         "%m = \"tessera.graph.matmul\"(%a, %b)\n%d = \"tessera.graph.add\"(%m, %c)\n%e = \"tessera.graph.relu\"(%d)\n",
         "%e"),
    FUNC("%a: tensor<64x64xf16>, %b: tensor<64x64xf16>", "%m = \"tessera.graph.matmul\"(%a, %b)\n", "%m"),
    FUNC("%a: tensor<20x33xi8>, %b: tensor<33x18xi8>", "%m = \"tessera.graph.matmul\"(%a, %b)\n", "%m"),
    FUNC("%a: tensor<5x6x7xi32>",
         "%t = \"tessera.graph.transpose\"(%a) {perm = [2, 0, 1]}\n%r = \"tessera.graph.reduce_max\"(%t) {axes = "
         "[1]}\n%n = \"tessera.graph.neg\"(%t)\n",
         "%n, %r"),
    FUNC("%a: tensor<9x12xf64>, %b: tensor<4x12xf64>",
         "%c = \"tessera.graph.concat\"(%a, %b) {axis = 0}\n%s = \"tessera.graph.reduce_sum\"(%c) {axes = [0]}\n",
         "%c, %s"),
    FUNC("%a: tensor<5x7xcomplex<f32>>, %b: tensor<7xcomplex<f32>>",
         "%c = \"tessera.graph.constant\"() {value = dense<(1.0, -2.0)> : tensor<complex<f32>>}\n%m = "
         "\"tessera.graph.mul\"(%a, %b)\n%s = \"tessera.graph.add\"(%m, %c)\n%n = \"tessera.graph.abs\"(%s)\n",
         "%s, %n"),
    FUNC("%a: tensor<9x12xf32>, %i: tensor<7xi64>", "%g = \"tessera.graph.embedding\"(%a, %i)\n", "%g"),
    FUNC("%a: tensor<9x12xf16>, %i: tensor<5x12xi32>, %u: tensor<5x12xf16>",
         "%s = \"tessera.graph.scatter_add\"(%a, %i, %u)\n", "%s")};
static const char *const files[] = {"embedding_mean", "flash_attention", "fft4096",
                                    "column_stats",   "transpose",       "conv2d",   "contract"};

/* As if read from its text. */
static tsr_status add(ir_bases *b, const ir_module *m) {
  strb text;
  strb_init(&text, NULL);
  ir_print(&text, m);
  tsr_status st = b->n < IR_BASES_MOST ? ir_parse(NULL, strb_text(&text), text.n, "base", &b->v[b->n]) : st_oom();
  if (!st) b->n++;
  strb_clear(&text);
  return st;
}

static tsr_status find_contract(ir_op *op, void *user) {
  *(bool *)user |= !strcmp(op->def->name, "tessera.tile.contract");
  return NULL;
}

static bool has_contract(ir_module *m) {
  bool found = false;
  tsr_status_free(ir_walk(m->root, find_contract, &found));
  return found;
}

static bool add_levels(ir_bases *b, const char *name, const tsr_caps *caps, ir_module *tile, tsr_status st) {
  ir_module *target = NULL;
  if (!st) st = add(b, tile);
  const bool structured = !st && has_contract(tile);
  if (!st) st = tile_expand(tile, caps);
  if (!st && structured) st = add(b, tile);
  if (!st) st = tile_to_target(tile, caps, &target);
  if (!st) st = add(b, target);
  const bool ok = !st || tsr_status_code(st) == TSR_UNSUPPORTED;
  if (!ok) printf("%s for %s: %s\n", name, caps->arch, tsr_status_message(st));
  tsr_status_free(st);
  ir_module_destroy(&tile);
  ir_module_destroy(&target);
  return ok;
}

static tsr_status read_tile(const char *name, ir_module **out) {
  static char text[1 << 16];
  char path[512];
  snprintf(path, sizeof path, "%s/tests/tile/%s.mlir", TSR_SOURCE_DIR, name);
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  return ir_parse(NULL, text, n, name, out);
}

bool ir_bases_add(ir_bases *b, const tsr_caps *caps) {
  bool ok = true;
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    ir_module *tile = NULL;
    tsr_status st = plan_tile(graphs[i], strlen(graphs[i]), "base", caps, &tile);
    ok &= add_levels(b, graphs[i], caps, tile, st);
  }
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    ir_module *tile = NULL;
    tsr_status st = read_tile(files[i], &tile);
    ok &= add_levels(b, files[i], caps, tile, st);
  }
  return ok;
}

void ir_bases_clear(ir_bases *b) {
  for (int i = 0; i < b->n; i++) ir_module_destroy(&b->v[i]);
  b->n = 0;
}
