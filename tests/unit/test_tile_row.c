/* tessera.tile.row: what the verifier takes; that the CPU, which takes softmax, norms, sums and maxima whole, gives the
 * numbers of the text written out; which ones it takes, and by which kernel; that reductions written by hand are taken
 * so; that it is counted as what it is written out to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "core/ir/ir.h"
#include "core/passes/lower.h"
#include "core/passes/tile/expand_row.h"
#include "core/passes/tile/work.h"
#include "tests/support/api_check.h"
#include "tests/support/tile_text.h"

/* Arguments x [20,48], w [48], c [20,48] or [20,1]; a block has 8 rows, the last one 4. */
#define OPEN(t, out, n)                                                                                        \
  T("program") "() ({\n^bb0(%X: tensor<20x48x" t ">, %W: tensor<48x" t ">):\n%C = " T("buffer") "() : () -> tensor<20x" n "x" out ">\n" \
  T("launch") "(%X, %W, %C) {kernel = \"k\"}\n" T("return") "(%C)\n}) {sym_name = \"main\"}\n"                 \
  T("kernel") "() ({\n^bb0(%x: !tessera.view<20x48x" t ">, %w: !tessera.view<48x" t ">, %c: !tessera.view<20x" n "x" out ">):\n" \
  "%z = " T("const") "() {value = 0}\n%h = " T("const") "() {value = 8}\n%b = " T("block_id") "() {axis = 0}\n%m = " T("mul") "(%b, %h)\n" \
  "%v = " T("view") "(%w) : (!tessera.view<48x" t ">) -> !tessera.view<1x48x" t ", strides=[0, 1]>\n"          \
  "%wx = " T("window") "(%x, %m, %z) {sizes = [8, 48]}\n%ww = " T("window") "(%v, %z, %z) {sizes = [1, 48]}\n" \
  "%wc = " T("window") "(%c, %m, %z) {sizes = [8, " n "]}\n"
#define CLOSE \
  T("store") "(%s, %wc)\n" T("return") "()\n}) {sym_name = \"k\", grid = [3, 1, 1], outputs = 1, family = \"row\"}\n"
#define SAME(t) "({\n^bb0(%p: " t "):\n" YIELD("%p") "}, {\n^bb0(%q: " t "):\n" YIELD("%q") "}) "
#define ROW(operands, regions, recipe, maps, more) \
  "%s = " T("row") operands " " regions "{recipe = \"" recipe "\", maps = \"" maps "\", tile = [8, 48]" more "}\n"
#define PROLOGUE \
  "({\n^bb0(%p: f32, %o: f32):\n%n = " T("mul") "(%p, %o)\n" YIELD("%n") "}, {\n^bb0(%q: f32):\n" YIELD("%q") "}) "
#define EPILOGUE \
  "({\n^bb0(%p: f32):\n" YIELD("%p") "}, {\n^bb0(%q: f32, %o: f32):\n%n = " T("add") "(%q, %o)\n" YIELD("%n") "}) "
#define EPS ", eps = 1.0e-5"
/* Of reductions: p p; the square of p - o and its exponential, o being a number a row; the rows beside the sum. */
#define LIKE_IT "}, {\n^bb0(%q: f32):\n" YIELD("%q") "}) "
#define ONE_MORE(op) "({\n^bb0(%p: f32, %o: f32):\n%n = " T("sub") "(%p, %o)\n" op YIELD("%e") LIKE_IT
#define SQUARES "({\n^bb0(%p: f32):\n%n = " T("mul") "(%p, %p)\n" YIELD("%n") LIKE_IT
#define DISTANCES ONE_MORE("%e = " T("mul") "(%n, %n)\n")
#define BELOW ONE_MORE("%e = " T("exp") "(%n)\n")
#define NUMBER                                                                                               \
  "%f = " T("fill") "() {value = 0.5} : () -> !tessera.frag<8x1xf32>\n"                                      \
  "%t = " T("map") "(%f) ({\n^bb0(%a: f32):\n%d = " T("add") "(%a, %a)\n" YIELD("%d") "})\n"
#define KEPT(operands, regions, recipe, maps)                                                                \
  "%r, %k = " T("row") operands " " regions "{recipe = \"" recipe "\", maps = \"" maps "\", tile = [8, 48], " \
  "keeps_rows = true}\n"
#define LESS_SUM \
  "%s = " T("map") "(%k, %r) ({\n^bb0(%a: f32, %d: f32):\n%y = " T("sub") "(%a, %d)\n" YIELD("%y") "})\n" CLOSE

static const struct {
  const char *name, *text;
  bool whole; /* on the CPU */
  const char *call; /* by this kernel; NULL: not asked */
} kernels[] = {
    {"softmax", OPEN("f32", "f32", "48") ROW("(%wx)", SAME("f32"), "softmax", "mn", "") CLOSE, true},
    {"softmax, 16-bit rows", OPEN("bf16", "bf16", "48") ROW("(%wx)", SAME("f32"), "softmax", "mn", "") CLOSE, true},
    {"layernorm", OPEN("f32", "f32", "48") ROW("(%wx)", SAME("f32"), "layernorm", "mn", EPS) CLOSE, true},
    {"layernorm, two weights", OPEN("f32", "f32", "48") ROW("(%wx, %ww, %ww)", SAME("f32"), "layernorm", "mn,mn,mn", EPS ", weights = 2") CLOSE, true},
    {"rmsnorm, 16-bit weight", OPEN("f16", "f32", "48") ROW("(%wx, %ww)", SAME("f32"), "rmsnorm", "mn,mn", EPS ", weights = 1") CLOSE, true},
    {"rows from a fragment", OPEN("f32", "f32", "48") "%l = " T("load") "(%wx)\n" ROW("(%l)", SAME("f32"), "rmsnorm", "mn", EPS) CLOSE, true},
    {"prologue", OPEN("f32", "f32", "48") ROW("(%wx, %ww)", PROLOGUE, "softmax", "mn,mn", "") CLOSE, true},
    {"epilogue", OPEN("f32", "f32", "48") ROW("(%wx, %wx)", EPILOGUE, "layernorm", "mn,mn", EPS) CLOSE, true},
    {"epilogue, 16-bit memory", OPEN("bf16", "bf16", "48") ROW("(%wx, %wx)", EPILOGUE, "layernorm", "mn,mn", EPS) CLOSE, true},
    {"one row for all", OPEN("f32", "f32", "48") ROW("(%ww)", SAME("f32"), "layernorm", "mn", EPS) CLOSE, true},
    {"two results", OPEN("f32", "f32", "48") "%r, %s = " T("row") "(%wx) ({\n^bb0(%p: f32):\n" YIELD("%p") "}, {\n^bb0(%q: f32):\n%n = " T("neg") "(%q)\n" YIELD("%n, %q") "}) {recipe = \"softmax\", maps = \"mn\", tile = [8, 48]}\n" CLOSE, true},
    {"all rows with care", OPEN("f32", "f32", "48") ROW("(%wx)", SAME("f32"), "layernorm", "mn", EPS ", care = \"always\"") CLOSE, false},
    {"compensated", OPEN("f32", "f32", "48") ROW("(%wx)", SAME("f32"), "rmsnorm", "mn", EPS ", policy = \"kahan_sum\"") CLOSE, false},
    {"f64", OPEN("f64", "f64", "48") ROW("(%wx)", SAME("f64"), "layernorm", "mn", EPS) CLOSE, false},
    {"sum", OPEN("f32", "f32", "1") ROW("(%wx)", SAME("f32"), "reduce_sum", "mn", "") CLOSE, true, "row_sum"},
    {"mean of a prologue", OPEN("f32", "f32", "1") ROW("(%wx, %ww)", PROLOGUE, "reduce_mean", "mn,mn", "") CLOSE, true, "row_sum"},
    {"mean of 16-bit rows", OPEN("bf16", "bf16", "1") ROW("(%wx)", SAME("f32"), "reduce_mean", "mn", "") CLOSE, true, "row_sum"},
    {"maximum", OPEN("f16", "f32", "1") ROW("(%wx)", SAME("f32"), "reduce_max", "mn", "") CLOSE, true, "row_max"},
    {"sum and epilogue", OPEN("f32", "f32", "1") NUMBER ROW("(%wx, %t)", EPILOGUE, "reduce_sum", "mn,mn", "") CLOSE, true, "row_sum"},
    {"mean and epilogue", OPEN("f32", "f32", "1") NUMBER ROW("(%wx, %t)", EPILOGUE, "reduce_mean", "mn,mn", "") CLOSE, true, "row_sum"},
    {"distances of one row for all", OPEN("f32", "f32", "1") NUMBER ROW("(%ww, %t)", DISTANCES, "reduce_sum", "mn,mn", "") CLOSE, true, "row_sum"},
    {"sum of squares", OPEN("bf16", "f32", "1") ROW("(%wx)", SQUARES, "reduce_sum", "mn", "") CLOSE, true, "row_sqdev"},
    {"variance", OPEN("f32", "f32", "1") NUMBER ROW("(%wx, %t)", DISTANCES, "reduce_mean", "mn,mn", "") CLOSE, true, "row_sqdev"},
    {"distances to numbers in memory", OPEN("f32", "f32", "1") "%wn = " T("window") "(%x, %m, %z) {sizes = [8, 1]}\n" ROW("(%wx, %wn)", DISTANCES, "reduce_sum", "mn,mn", "") CLOSE, true, "row_sqdev"},
    {"distances to a row", OPEN("f32", "f32", "1") ROW("(%wx, %ww)", DISTANCES, "reduce_sum", "mn,mn", "") CLOSE, true, "row_sum"},
    {"sum of exponentials", OPEN("f32", "f32", "1") NUMBER ROW("(%wx, %t)", BELOW, "reduce_sum", "mn,mn", "") CLOSE, true, "row_exp"},
    {"exponentials and their sum", OPEN("f16", "f32", "48") NUMBER KEPT("(%wx, %t)", BELOW, "reduce_sum", "mn,mn") LESS_SUM, true, "row_exp"},
    {"squares and their sum", OPEN("f32", "f32", "48") KEPT("(%wx)", SQUARES, "reduce_sum", "mn") LESS_SUM, true, "row_sum"},
    {"rows and their maximum", OPEN("bf16", "f32", "48") KEPT("(%wx)", SAME("f32"), "reduce_max", "mn") LESS_SUM, true, "row_max"},
    {"rows and their softmax", OPEN("f32", "f32", "48") KEPT("(%wx)", SAME("f32"), "softmax", "mn") LESS_SUM, false},
    {"minimum", OPEN("f32", "f32", "1") ROW("(%wx)", SAME("f32"), "reduce_min", "mn", "") CLOSE, false, "reduce"},
    {"compensated sum", OPEN("f32", "f32", "1") ROW("(%wx)", SAME("f32"), "reduce_sum", "mn", ", policy = \"kahan_sum\"") CLOSE, false, "reduce"},
    {"i8 sums wrap", OPEN("i8", "i8", "1") ROW("(%wx)", SAME("i32"), "reduce_sum", "mn", ", wrap = \"i8\"") CLOSE, false},
    {"rows that lie the other way", OPEN("f32", "f32", "48") "%t = " T("view") "(%x) : (!tessera.view<20x48xf32>) -> !tessera.view<48x20xf32, strides=[1, 48]>\n%wt = " T("window") "(%t, %z, %m) {sizes = [48, 8]}\n" ROW("(%wt)", SAME("f32"), "softmax", "nm", "") CLOSE, false},
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };

/* Without the CPU's kernels of rows, which reductions written out would have again. */
static char *written_out(const char *text, const char *name) {
  ir_module *m = parse(text, name);
  tsr_status st = tile_expand_row(m, NULL, NULL);
  if (st) fail_msg("%s: %s", name, tsr_status_message(st));
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    if (!strcmp(o->def->name, "tessera.tile.kernel"))
      assert_true(ir_set_attr(o, "reduction_kernels", ir_attr_bool(m, false)));
  char *s = printed(m);
  assert_null(strstr(s, "tile.row"));
  ir_module_destroy(&m);
  return s;
}

static void prints_and_parses_alike(void **state) {
  for (size_t i = 0; i < N_KERNELS; i++) {
    ir_module *m = parse(kernels[i].text, kernels[i].name);
    char *a = printed(m);
    ir_module *n = parse(a, kernels[i].name);
    char *b = printed(n);
    assert_string_equal(a, b);
    free(a), free(b);
    ir_module_destroy(&m);
    ir_module_destroy(&n);
  }
}

/* ---- results --------------------------------------------------------------------------------------------------- */

static double *run(tsr_device *dev, const char *text, const char *name, int64_t *n, tsr_dtype *t) {
  tsr_program *p;
  tsr_binding in[2] = {{0}}, result = {0};
  tsr_status st = tsr_program_parse(dev, text, strlen(text), name, NULL, &p);
  if (st) fail_msg("%s: %s", name, tsr_status_message(st));
  for (int i = 0; i < 2; i++) {
    tsr_tensor_info x = tsr_program_input(p, i);
    void *data = malloc(x.bytes);
    for (int64_t k = 0; k < (int64_t)(x.bytes / tsr_dtype_size(x.dtype)); k++)
      dtype_store(x.dtype, data, k, (double)((k * 37 + 11 * i) % 23) / 4 - 2);
    OK(tsr_buffer_create(dev, x.bytes, TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, data, x.bytes));
    free(data);
  }
  tsr_tensor_info y = tsr_program_output(p, 0);
  void *out = malloc(y.bytes);
  OK(tsr_buffer_create(dev, y.bytes, TSR_MEMORY_DEVICE, &result.buffer));
  OK(tsr_program_run(p, NULL, in, &result));
  OK(tsr_buffer_read(result.buffer, 0, out, y.bytes));
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&result.buffer);
  tsr_program_destroy(&p);
  *t = y.dtype, *n = (int64_t)(y.bytes / tsr_dtype_size(y.dtype));
  double *v = malloc((size_t)*n * sizeof *v);
  for (int64_t i = 0; i < *n; i++) v[i] = dtype_load(y.dtype, out, i);
  free(out);
  return v;
}

static bool has(tsr_context *ctx, tsr_device *dev, const char *text, tsr_level level, const char *what) {
  tsr_program *p;
  char *dump;
  OK(tsr_program_parse(dev, text, strlen(text), "has", NULL, &p));
  OK(tsr_program_dump(p, level, &dump, NULL));
  const bool found = strstr(dump, what) != NULL;
  tsr_text_free(ctx, &dump);
  tsr_program_destroy(&p);
  return found;
}

static bool is_called(tsr_context *ctx, tsr_device *dev, const char *text, const char *call) {
  char fn[64];
  snprintf(fn, sizeof fn, "fn = \"%s\"", call);
  return has(ctx, dev, text, TSR_LEVEL_TARGET, fn);
}

/* Sums of 48 numbers in another order, a square root and a division: some 48 roundings of f32, or one of the result's
 * type. */
static void whole_equals_written_out(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t i = 0; i < N_KERNELS; i++) {
    char *out = written_out(kernels[i].text, kernels[i].name);
    int64_t n, m;
    tsr_dtype t;
    double *a = run(dev, kernels[i].text, kernels[i].name, &n, &t), *b = run(dev, out, kernels[i].name, &m, &t);
    const double unit = t == TSR_BF16 ? 0x1p-8 : 48 * 0x1p-23;
    assert_int_equal(n, m);
    for (int64_t k = 0; k < n; k++)
      if (!(fabs(a[k] - b[k]) <= unit * (fabs(b[k]) + 1)))
        fail_msg("%s: element %lld is %.9g whole, %.9g written out", kernels[i].name, (long long)k, a[k], b[k]);
    if (kernels[i].call && !is_called(ctx, dev, kernels[i].text, kernels[i].call))
      fail_msg("%s: isn't called as %s", kernels[i].name, kernels[i].call);
    if (has(ctx, dev, kernels[i].text, TSR_LEVEL_TILE, "tile.row") != kernels[i].whole)
      fail_msg("%s: %s", kernels[i].name, kernels[i].whole ? "is written out" : "is taken whole");
    free(a), free(b), free(out);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* A softmax of maps and reductions: they become row ops that keep the exponentials, with the numbers of the text. */
#define BY_HAND(kernel)                                                                                       \
  OPEN("f32", "f32", "48") "%l = " T("load") "(%wx)\n%t = " T("reduce") "(%l) {axis = 1, op = \"max\"}\n"    \
  "%e = " T("map") "(%l, %t) ({\n^bb0(%p: f32, %o: f32):\n%n = " T("sub") "(%p, %o)\n"                       \
  "%d = " T("exp") "(%n)\n" YIELD("%d") "})\n%r = " T("reduce") "(%e) {axis = 1, op = \"sum\"}\n"           \
  "%s = " T("map") "(%e, %r) ({\n^bb0(%p: f32, %o: f32):\n%n = " T("div") "(%p, %o)\n" YIELD("%n") "})\n"    \
  T("store") "(%s, %wc)\n" T("return") "()\n}) {sym_name = \"k\", grid = [3, 1, 1], outputs = 1" kernel "}\n"

static void reductions_by_hand_are_taken(void **state) {
  static const char with[] = BY_HAND(""), without[] = BY_HAND(", reduction_kernels = false");
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  assert_true(has(ctx, dev, with, TSR_LEVEL_TILE, "keeps_rows = true"));
  assert_true(is_called(ctx, dev, with, "row_exp") && is_called(ctx, dev, with, "row_max"));
  assert_false(has(ctx, dev, without, TSR_LEVEL_TILE, "tile.row"));
  assert_true(is_called(ctx, dev, without, "reduce") && !has(ctx, dev, without, TSR_LEVEL_TARGET, "fn = \"row_"));
  int64_t n, m;
  tsr_dtype t;
  double *a = run(dev, with, "with", &n, &t), *b = run(dev, without, "without", &m, &t);
  assert_int_equal(n, m);
  for (int64_t k = 0; k < n; k++)
    if (!(fabs(a[k] - b[k]) <= 48 * 0x1p-23 * (fabs(b[k]) + 1)))
      fail_msg("element %lld is %.9g by row ops, %.9g without", (long long)k, a[k], b[k]);
  free(a), free(b);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static tile_work count(const char *text) {
  ir_module *m = parse(text, "count");
  tile_work w;
  const ir_op *o = m->root->regions[0]->first;
  while (strcmp(o->def->name, "tessera.tile.kernel")) o = o->next;
  tile_work_count(o, &w);
  ir_module_destroy(&m);
  return w;
}

static void is_counted_as_written_out(void **state) {
  for (size_t i = 0; i < N_KERNELS; i++) {
    /* What finds rows that a norm loses isn't the norm's work. */
    if (strstr(kernels[i].text, "eps") && !strstr(kernels[i].text, "always")) continue;
    char *out = written_out(kernels[i].text, kernels[i].name);
    const tile_work a = count(kernels[i].text), b = count(out);
    if (a.flops != b.flops || a.bytes != b.bytes)
      fail_msg("%s: %g operations and %g bytes, written out %g and %g", kernels[i].name, a.flops, a.bytes, b.flops,
               b.bytes);
    free(out);
  }
}

/* ---- what the verifier refuses --------------------------------------------------------------------------------- */

#define BAD(operands, regions, attrs) OPEN("f32", "f32", "48") "%s = " T("row") operands " " regions attrs "\n" CLOSE
#define TILE "tile = [8, 48]"
#define GOOD "{recipe = \"softmax\", maps = \"mn\", " TILE "}"

static void ill_formed_is_refused(void **state) {
  static const struct { const char *says, *text; } cases[] = {
      {"no recipe \"hardmax\"", BAD("(%wx)", SAME("f32"), "{recipe = \"hardmax\", maps = \"mn\", " TILE "}")},
      {"no recipe \"\"", BAD("(%wx)", SAME("f32"), "{recipe = \"\", maps = \"mn\", " TILE "}")},
      {"'recipe' is missing", BAD("(%wx)", SAME("f32"), "{maps = \"mn\", " TILE "}")},
      {"'maps' is missing", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", " TILE "}")},
      {"how operand 0 lies", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mk\", " TILE "}")},
      {"how operand 0 lies", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"m\", " TILE "}")},
      {"fewer operands", BAD("(%wx, %ww)", PROLOGUE, "{recipe = \"softmax\", maps = \"mn\", " TILE "}")},
      {"goes on after", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn,mn\", " TILE "}")},
      {"two extents", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn\", tile = [8]}")},
      {"out of range", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn\", tile = [8, 0]}")},
      {"out of range", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn\", tile = [-8, 48]}")},
      {"too large", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn\", tile = [2147483647, 2]}")},
      {"row operand 0 has extent 48 along n", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn\", tile = [8, 40]}")},
      {"row operand 0 has extent 8 along n", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"nm\", " TILE "}")},
      {"takes 1 or more operands", BAD("()", SAME("f32"), GOOD)},
      {"must be a view or a fragment", BAD("(%z)", SAME("f32"), GOOD)},
      {"of rank 2", BAD("(%w)", SAME("f32"), GOOD)},
      {"are of 1 operands, not 2", BAD("(%wx, %ww)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn,mn\", " TILE "}")},
      {"weights = 3", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn\", " TILE ", weights = 3}")},
      {"weights = -1", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn\", " TILE ", weights = -1}")},
      {"takes no weights", BAD("(%wx, %ww)", SAME("f32"), "{recipe = \"reduce_max\", maps = \"mn,mn\", " TILE ", weights = 1}")},
      {"eps is -1", BAD("(%wx)", SAME("f32"), "{recipe = \"rmsnorm\", maps = \"mn\", " TILE ", eps = -1.0}")},
      {"care = \"some\"", BAD("(%wx)", SAME("f32"), "{recipe = \"rmsnorm\", maps = \"mn\", " TILE ", care = \"some\"}")},
      {"wrap = \"f32\"", BAD("(%wx)", SAME("f32"), "{recipe = \"reduce_sum\", maps = \"mn\", " TILE ", wrap = \"f32\"}")},
      {"wrap = \"i9\"", BAD("(%wx)", SAME("f32"), "{recipe = \"reduce_sum\", maps = \"mn\", " TILE ", wrap = \"i9\"}")},
      {"a result beside the rows", BAD("(%wx)", SAME("f32"), "{recipe = \"reduce_sum\", maps = \"mn\", " TILE ", keeps_rows = true}")},
      {"a scalar for each result", OPEN("f32", "f32", "48") "%r, %s, %u = " T("row") "(%wx) " SAME("f32") "{recipe = \"reduce_sum\", maps = \"mn\", " TILE ", keeps_rows = true}\n" CLOSE},
      {"a scalar for each result", OPEN("f32", "f32", "48") "%r, %s = " T("row") "(%wx) " SAME("f32") "{recipe = \"reduce_sum\", maps = \"mn\", " TILE ", keeps_rows = false}\n" CLOSE},
      {"unknown policy", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn\", " TILE ", policy = \"quick\"}")},
      {"unknown attribute", BAD("(%wx)", SAME("f32"), "{recipe = \"softmax\", maps = \"mn\", " TILE ", axis = 1}")},
      {"aren't computed in bf16", BAD("(%wx)", SAME("bf16"), GOOD)},
      {"\"softmax\" is of floats", BAD("(%wx)", SAME("i32"), GOOD)},
      {"prologue yields f32", BAD("(%wx)", "({\n^bb0(%p: f32):\n" YIELD("%p") "}, {\n^bb0(%q: f64):\n" YIELD("%q") "}) ", GOOD)},
      {"must be a scalar", BAD("(%wx)", "({\n^bb0(%p: index):\n" YIELD("%p") "}, {\n^bb0(%q: f32):\n" YIELD("%q") "}) ", GOOD)},
      {"must yield one scalar", BAD("(%wx)", "({\n^bb0(%p: f32):\n" YIELD("%p, %p") "}, {\n^bb0(%q: f32):\n" YIELD("%q") "}) ", GOOD)},
      {"a scalar for each result", BAD("(%wx)", "({\n^bb0(%p: f32):\n" YIELD("%p") "}, {\n^bb0(%q: f32):\n" YIELD("%q, %q") "}) ", GOOD)},
      {"has no place in the region", BAD("(%wx)", "({\n^bb0(%p: f32):\n%l = " T("fill") "() {value = 0.0} : () -> !tessera.frag<8x48xf32>\n" YIELD("%p") "}, {\n^bb0(%q: f32):\n" YIELD("%q") "}) ", GOOD)},
      {"no dimension 2", BAD("(%wx)", "({\n^bb0(%p: f32):\n%i = " T("index") "() {dim = 2}\n" YIELD("%p") "}, {\n^bb0(%q: f32):\n" YIELD("%q") "}) ", GOOD)},
      {"is a fragment of f32, not f64", OPEN("f32", "f32", "48") "%l = " T("load") "(%wx)\n" ROW("(%l)", SAME("f64"), "softmax", "mn", "") CLOSE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ir_module *m = NULL;
    tsr_status st = ir_parse(NULL, cases[i].text, strlen(cases[i].text), "test", &m);
    if (!st) fail_msg("case %zu is taken: expected \"%s\"", i, cases[i].says);
    if (!strstr(tsr_status_message(st), cases[i].says))
      fail_msg("case %zu: \"%s\" isn't in %s", i, cases[i].says, tsr_status_message(st));
    tsr_status_free(st);
    ir_module_destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prints_and_parses_alike),
      cmocka_unit_test(whole_equals_written_out),
      cmocka_unit_test(reductions_by_hand_are_taken),
      cmocka_unit_test(is_counted_as_written_out),
      cmocka_unit_test(ill_formed_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
