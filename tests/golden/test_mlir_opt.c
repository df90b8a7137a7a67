/* Every level's dump of every op of the Graph IR table, and of custom ops with and without a source, for the CPU and
 * for GPUs that need not be here: each parses again to the same text, and `mlir-opt --allow-unregistered-dialect` takes
 * them all where it is installed. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/ir/graph/ops.h"
#include "tessera/tessera.h"
#include "tests/support/mlir_opt.h"

static const char *const devices[] = {"cpu:0",
                                      "cuda:sm_80",
                                      "cuda:sm_90a",
                                      "hip:gfx942",
                                      "hip:gfx1201",
                                      "null:spirv",
                                      "vulkan:" TSR_SOURCE_DIR "/tests/vulkan/nvidia-h200.json"};
static int bad, n_dumps, n_unsupported;
static bool seen[G_N_CODES];

static void complain(const char *device, const char *what, tsr_status st) {
  printf("%s: %s: %s\n", device, what, st ? tsr_status_message(st) : "failed");
  tsr_status_free(st);
  bad = 1;
}

static void note_ops(const char *text) {
  const ir_opdef *t;
  for (size_t i = 0; (t = ir_row(IR_GRAPH, i)); i++) {
    char quoted[96];
    snprintf(quoted, sizeof quoted, "\"%s\"(", t->name);
    if (strstr(text, quoted)) seen[t->code] = true;
  }
}

/* Composite ops are in no dump: what was compiled counts. */
static void note_composite_ops(const char *text) {
  const ir_opdef *t;
  for (size_t i = 0; (t = ir_row(IR_GRAPH, i)); i++) {
    char quoted[96];
    snprintf(quoted, sizeof quoted, "\"%s\"(", t->name);
    if (((const graph_row *)t->ext)->expand && strstr(text, quoted)) seen[t->code] = true;
  }
}

/* What the text of a level compiles to has the same text at that level. */
static void check_again(tsr_context *ctx, tsr_device *dev, tsr_level level, const char *what, const char *text,
                        const tsr_compile_options *o) {
  tsr_program *p = NULL;
  char *again = NULL;
  const char *id = tsr_device_get_info(dev)->id;
  tsr_status st = tsr_program_parse(dev, text, strlen(text), what, o, &p);
  if (!st) st = tsr_program_dump(p, level, &again, NULL);
  if (st) complain(id, what, st);
  else if (strcmp(text, again))
    printf("%s: %s: level %d reads\n%s\nand is then\n%s\n", id, what, (int)level, text, again), bad = 1;
  if (again) tsr_text_free(ctx, &again);
  tsr_program_destroy(&p);
}

/* The texts' unknown dimensions fit together at any size; those that meet a known one are 2, 3 or 6. */
static tsr_status compile(tsr_context *ctx, tsr_device *dev, const char *what, const char *text, size_t n,
                          const tsr_compile_options *o, tsr_program **p) {
  if (!memchr(text, '?', n)) return tsr_program_parse(dev, text, n, what, o, p);
  static const int64_t sizes[] = {2, 3, 4, 5, 6, 1};
  tsr_graph *g = NULL, *s = NULL;
  tsr_status st = tsr_graph_parse(ctx, text, n, what, &g);
  for (size_t k = 0; !st && k < sizeof sizes / sizeof *sizes && !s; k++) {
    tsr_shape shapes[4];
    for (int i = 0; i < tsr_graph_n_inputs(g); i++) {
      shapes[i] = tsr_graph_input_info(g, i).shape;
      for (int d = 0; d < shapes[i].rank; d++)
        if (shapes[i].dims[d] == TSR_ANY_DIM) shapes[i].dims[d] = sizes[k];
    }
    tsr_status one = tsr_graph_specialize(g, shapes, tsr_graph_n_inputs(g), &s);
    if (one && k + 1 == sizeof sizes / sizeof *sizes) st = one;
    else tsr_status_free(one);
  }
  if (!st) st = tsr_program_compile(dev, s, o, p);
  tsr_graph_destroy(&s);
  tsr_graph_destroy(&g);
  return st;
}

/* The text as it is read: ops that a pass replaces, those of complex numbers say, are in no dump. */
static void print(tsr_context *ctx, const char *what, const char *text, size_t n, FILE *all) {
  tsr_graph *g = NULL;
  char *out = NULL;
  tsr_status st = tsr_graph_parse(ctx, text, n, what, &g);
  if (!st) st = tsr_graph_print(g, &out);
  if (st) complain("", what, st);
  else note_ops(out), fprintf(all, "%s// -----\n", out), n_dumps++;
  if (out) tsr_text_free(ctx, &out);
  tsr_graph_destroy(&g);
}

static void dump(tsr_context *ctx, tsr_device *dev, const char *what, const char *text, size_t n, FILE *all) {
  const tsr_compile_options o = {.tune = TSR_TUNE_OFF, .policy = TSR_POLICY_FAST, .fallback = TSR_FALLBACK_ALLOW};
  tsr_program *p = NULL;
  tsr_status st = compile(ctx, dev, what, text, n, &o, &p);
  if (tsr_status_code(st) == TSR_UNSUPPORTED) {
    tsr_status_free(st);
    n_unsupported++;
    return;
  }
  if (st) return complain(tsr_device_get_info(dev)->id, what, st);
  note_composite_ops(text);
  for (int level = TSR_LEVEL_GRAPH; level <= TSR_LEVEL_TARGET; level++) {
    char *out = NULL;
    st = tsr_program_dump(p, (tsr_level)level, &out, NULL);
    if (st) {
      complain(tsr_device_get_info(dev)->id, what, st);
      continue;
    }
    if (level == TSR_LEVEL_GRAPH) note_ops(out);
    check_again(ctx, dev, (tsr_level)level, what, out, &o);
    fprintf(all, "%s// -----\n", out);
    n_dumps++;
    tsr_text_free(ctx, &out);
  }
  tsr_program_destroy(&p);
}

static void dump_files(tsr_context *ctx, tsr_device *dev, FILE *all) {
  glob_t g;
  if (glob(TSR_SOURCE_DIR "/tests/fuzz/corpus/ir/op_*.mlir", 0, NULL, &g)) return complain("", "no texts", NULL);
  for (size_t i = 0; i < g.gl_pathc; i++) {
    static char text[1 << 16];
    FILE *f = fopen(g.gl_pathv[i], "rb");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    print(ctx, strrchr(g.gl_pathv[i], '/') + 1, text, n, all);
    dump(ctx, dev, strrchr(g.gl_pathv[i], '/') + 1, text, n, all);
  }
  globfree(&g);
}

/* ---- custom ops -------------------------------------------------------------------------------------------------- */

static bool infer(void *user, const tsr_custom_call *c, char *why, size_t n) {
  c->result->dtype = c->operands[0].dtype;
  c->result->shape = c->operands[0].shape;
  return true;
}

static bool rows(void *user, const tsr_custom_call *c, int64_t first, int64_t last, char *why, size_t n) {
  return true;
}

static size_t source(void *user, const char *backend, const tsr_custom_call *c, char *text, size_t bytes) {
  return (size_t)snprintf(text, bytes,
                          "\"tessera.tile.kernel\"() ({\n^bb0(%%x: !tessera.view<4x8xf32>, %%y: "
                          "!tessera.view<4x8xf32>):\n%%v = \"tessera.tile.load\"(%%x)\n"
                          "\"tessera.tile.store\"(%%v, %%y)\n\"tessera.tile.return\"()\n}) {sym_name = \"copy\", grid "
                          "= [1, 1, 1], outputs = 1}\n");
}

static void dump_custom(tsr_context *ctx, tsr_device *dev, FILE *all) {
  static const char *const names[] = {"my.host", "my.kernel"};
  for (int i = 0; i < 2; i++) {
    char text[1024];
    int n = snprintf(text, sizeof text,
                     "\"tessera.graph.func\"() ({\n^bb0(%%a: tensor<4x8xf32>):\n%%0 = \"tessera.graph.exp\"(%%a)\n"
                     "%%1 = \"tessera.graph.custom\"(%%0) {callee = \"%s\", beta = 1.5, mode = \"a \\\"b\\\"\", at = [1, 2], on = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
                     "%%2 = \"tessera.graph.softmax\"(%%1)\n\"tessera.graph.return\"(%%2)\n}) {sym_name = \"main\"}\n", names[i]);
    dump(ctx, dev, names[i], text, (size_t)n, all);
  }
}

/* Text -> program -> dump -> MLIR -> program -> dump gives the same text, a function's type among it, where arguments
 * have MLIR's names. */
static void check_through_mlir(tsr_context *ctx, const char *file) {
  static char text[1 << 14], back[1 << 14];
  FILE *f = fopen(TSR_SOURCE_DIR "/tests/fuzz/corpus/ir/op_function_type.mlir", "rb");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  tsr_graph *g = NULL;
  char *one = NULL, *two = NULL;
  tsr_status st = tsr_graph_parse(ctx, text, n, "text", &g);
  if (!st) st = tsr_graph_print(g, &one);
  f = fopen(file, "wb");
  if (!st && (!f || fputs(one, f) < 0 || !strstr(one, "function_type = (")))
    complain("", "no function type in the dump", NULL);
  if (f) fclose(f);
  tsr_graph_destroy(&g);
  long bytes = st ? -1 : mlir_opt_prints(file, back, sizeof back);
  if (bytes >= 0) {
    st = tsr_graph_parse(ctx, back, (size_t)bytes, "mlir-opt", &g);
    if (!st) st = tsr_graph_print(g, &two);
    if (!st && strcmp(one, two)) printf("through mlir-opt\n%s\nis then\n%s\n", one, two), bad = 1;
  }
  if (st) complain("", "through mlir-opt", st);
  if (one) tsr_text_free(ctx, &one);
  if (two) tsr_text_free(ctx, &two);
  tsr_graph_destroy(&g);
}

int main(void) {
  char file[] = "/tmp/tessera_mlir_XXXXXX";
  int fd = mkstemp(file);
  FILE *all = fd < 0 ? NULL : fdopen(fd, "w");
  tsr_context *ctx = NULL;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  if (!st)
    st = tsr_custom_op_register(ctx, &(tsr_custom_op){.name = "my.host", .n_operands = 1, .infer = infer, .cpu = rows});
  if (!st)
    st = tsr_custom_op_register(
        ctx, &(tsr_custom_op){.name = "my.kernel", .n_operands = 1, .infer = infer, .cpu = rows, .source = source});
  if (st || !all) return complain("", "start", st), 1;
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    tsr_device *dev = NULL;
    st = tsr_device_open(ctx, devices[d], &dev);
    if (tsr_status_code(st) == TSR_UNAVAILABLE) { /* a backend that is not in this build */
      printf("%s: skipped: %s\n", devices[d], tsr_status_message(st));
      tsr_status_free(st);
      continue;
    }
    if (st) {
      complain(devices[d], "open", st);
      continue;
    }
    dump_files(ctx, dev, all);
    dump_custom(ctx, dev, all);
    tsr_device_close(&dev);
  }
  const ir_opdef *t;
  for (size_t i = 0; (t = ir_row(IR_GRAPH, i)); i++)
    if (!seen[t->code] && ((const graph_row *)t->ext)->kind != GRAPH_COLLECTIVE) complain("", t->name, NULL);
  fclose(all);
  if (!mlir_opt_reads(file)) complain("mlir-opt", "refuses a dump", NULL);
  check_through_mlir(ctx, file);
  unlink(file);
  tsr_context_destroy(&ctx);
  printf("%d dumps; %d programs that a device does not support\n", n_dumps, n_unsupported);
  if (bad || n_dumps < 500) return 1;
  return mlir_opt() ? 0 : 77; /* all dumps were made and parsed by us; MLIR's own reader did not see them */
}
