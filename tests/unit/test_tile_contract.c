/* tessera.tile.contract: what the verifier takes; that the CPU, which takes it whole, gives the very numbers of the
 * text written out as loops (inputs are small integers, so sums are exact in any order); that it is written out as a
 * hand would write it; that it is counted as what it is written out to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "core/device/arch.h"
#include "core/ir/ir.h"
#include "core/ir/tile/contract.h"
#include "core/ir/tile/tile.h"
#include "core/passes/lower.h"
#include "core/passes/simt/simt.h"
#include "core/passes/tile/expand_contract.h"
#include "core/passes/tile/from_schedule.h"
#include "core/passes/tile/work.h"
#include "tests/support/api_check.h"
#include "tests/support/plan.h"
#include "tests/support/tile_text.h"

/* Arguments a [48,40], b [40,36], v [36], c [48,36]; tiles of 32 x 32, steps of 16. */
#define ARGS(t, out) \
  "%a: !tessera.view<48x40x" t ">, %b: !tessera.view<40x36x" t ">, %v: !tessera.view<36x" t ">, %c: !tessera.view<48x36x" out ">"
#define OPEN(t, out)                                                                                             \
  T("program") "() ({\n^bb0(%A: tensor<48x40x" t ">, %B: tensor<40x36x" t ">, %V: tensor<36x" t ">):\n"          \
  "%C = " T("buffer") "() : () -> tensor<48x36x" out ">\n" T("launch") "(%A, %B, %V, %C) {kernel = \"k\"}\n" T("return") "(%C)\n}) {sym_name = \"main\"}\n" \
  T("kernel") "() ({\n^bb0(" ARGS(t, out) "):\n"                                                                 \
  "%z = " T("const") "() {value = 0}\n%e = " T("const") "() {value = 40}\n%h = " T("const") "() {value = 16}\n%t = " T("const") "() {value = 32}\n" \
  "%x = " T("block_id") "() {axis = 0}\n%y = " T("block_id") "() {axis = 1}\n"                                   \
  "%m = " T("mul") "(%y, %t)\n%n = " T("mul") "(%x, %t)\n"                                                       \
  "%bias = " T("view") "(%v) : (!tessera.view<36x" t ">) -> !tessera.view<1x36x" t ", strides=[0, 1]>\n"         \
  "%wa = " T("window") "(%a, %m, %z) {sizes = [32, 16]}\n%wb = " T("window") "(%b, %z, %n) {sizes = [16, 32]}\n" \
  "%wv = " T("window") "(%bias, %z, %n) {sizes = [1, 32]}\n%wc = " T("window") "(%c, %m, %n) {sizes = [32, 32]}\n"
#define CLOSE T("return") "()\n}) {sym_name = \"k\", grid = [2, 2, 1], outputs = 1, family = \"matmul\"}\n"
#define TILE "tile = [32, 32, 16]"
#define ADDED(acc, operands, maps)                                                                                     \
  T("contract")                                                                                                        \
  operands PLAIN("f32") "^bb0(%s: " acc ", %q: f32):\n%r = " T("add") "(%s, %q)\n" YIELD("%r") "}) {maps = \"" maps    \
                                                                                               "\", " TILE "}\n"
#define HANDED(t, acc, range) \
  "%s = " T("contract") "(" range ", %wa, %wb) " PLAIN(t) "^bb0(%s: " acc "):\n" YIELD("%s") "}) {maps = \"mk,kn->\", " TILE "}\n"

static const struct {
  const char *name, *text;
  bool whole; /* on the CPU */
} kernels[] = {
    {"sum to an output", OPEN("f32", "f32") T("contract") "(%z, %e, %wa, %wb, %wc) " PLAIN("f32") "^bb0(%s: f32):\n" YIELD("%s") "}) {maps = \"mk,kn->mn\", " TILE "}\n" CLOSE, true},
    {"sum as a result", OPEN("f32", "f32") HANDED("f32", "f32", "%z, %e") T("store") "(%s, %wc)\n" CLOSE, true},
    {"bias", OPEN("f32", "f32") ADDED("f32", "(%z, %e, %wa, %wb, %wv, %wc)", "mk,kn,mn->mn") CLOSE, true},
    {"bias, 16-bit memory", OPEN("bf16", "bf16") T("contract") "(%z, %e, %wa, %wb, %wv, %wc) " PLAIN("bf16") "^bb0(%s: f32, %q: f32):\n%r = " T("add") "(%s, %q)\n" YIELD("%r") "}) {maps = \"mk,kn,mn->mn\", " TILE "}\n" CLOSE, true},
    {"i8 to i32", OPEN("i8", "i32") T("contract") "(%z, %e, %wa, %wb, %wc) " PLAIN("i8") "^bb0(%s: i32):\n" YIELD("%s") "}) {maps = \"mk,kn->mn\", " TILE "}\n" CLOSE, true},
    {"bias from a fragment, and a result", OPEN("f32", "f32") "%l = " T("load") "(%wv)\n%s = " T("contract") "(%z, %e, %wa, %wb, %l) " PLAIN("f32") "^bb0(%s: f32, %q: f32):\n%r = " T("mul") "(%s, %q)\n" YIELD("%r") "}) {maps = \"mk,kn,mn->\", " TILE "}\n" T("store") "(%s, %wc)\n" CLOSE, true},
    {"reads what it writes", OPEN("f32", "f32") "%f = " T("fill") "() {value = 3.0} : () -> !tessera.frag<32x32xf32>\n" T("store") "(%f, %wc)\n" ADDED("f32", "(%z, %e, %wa, %wb, %wc, %wc)", "mk,kn,mn->mn") CLOSE, true},
    {"by rows", OPEN("f32", "f32") "%f = " T("fill") "() {value = 3.0} : () -> !tessera.frag<32x32xf32>\n" T("store") "(%f, %wc)\n%rc = " T("window") "(%c, %m, %n) {sizes = [4, 32]}\n" "%ra = " T("window") "(%a, %m, %z) {sizes = [4, 16]}\n" T("contract") "(%z, %e, %ra, %wb, %wv, %rc) " PLAIN("f32") "^bb0(%s: f32, %q: f32):\n%r = " T("add") "(%s, %q)\n" YIELD("%r") "}) {maps = \"mk,kn,mn->mn\", tile = [4, 32, 16], by_rows = true}\n" CLOSE, true},
    {"by rows, along k, transposed", OPEN("bf16", "f32") "%f = " T("fill") "() {value = 3.0} : () -> !tessera.frag<32x32xf32>\n" T("store") "(%f, %wc)\n%rc = " T("window") "(%c, %m, %n) {sizes = [4, 32]}\n" "%ta = " T("view") "(%a) : (!tessera.view<48x40xbf16>) -> !tessera.view<40x48xbf16, strides=[1, 40]>\n%tb = " T("view") "(%b) : (!tessera.view<40x36xbf16>) -> !tessera.view<36x40xbf16, strides=[1, 36]>\n%ra = " T("window") "(%ta, %z, %m) {sizes = [16, 4]}\n%rb = " T("window") "(%tb, %n, %z) {sizes = [32, 16]}\n" T("contract") "(%z, %e, %ra, %rb, %rc) ({\n^bb0(%p: f32):\n%u = " T("neg") "(%p)\n" YIELD("%u") "}, {\n^bb0(%p: bf16):\n" YIELD("%p") "}, {\n^bb0(%s: f32):\n%r = " T("add") "(%s, %s)\n" YIELD("%s") "}) {maps = \"km,nk->mn\", tile = [4, 32, 16], by_rows = true}\n" CLOSE, false},
    {"an output that it reads, and a result", OPEN("f32", "f32") "%f = " T("fill") "() {value = 3.0} : () -> !tessera.frag<32x32xf32>\n" T("store") "(%f, %wc)\n%g = " T("contract") "(%z, %e, %wa, %wb, %wc, %wc) " PLAIN("f32") "^bb0(%s: f32, %q: f32):\n%r = " T("add") "(%s, %q)\n" YIELD("%s, %r") "}) {maps = \"mk,kn,mn->mn\", " TILE "}\n" T("store") "(%g, %wc)\n" CLOSE, true},
    {"a value for two, a part that repeats", OPEN("f32", "f32") "%g = " T("contract") "(%z, %e, %wa, %wb, %wv, %wc) " PLAIN("f32") "^bb0(%s: f32, %q: f32):\n%u = " T("mul") "(%q, %q)\n%r = " T("add") "(%s, %u)\n%w = " T("mul") "(%r, %r)\n" YIELD("%r, %w") "}) {maps = \"mk,kn,mn->mn\", " TILE "}\n%o = " T("load") "(%wc)\n%j = " T("map") "(%g, %o) ({\n^bb0(%s: f32, %q: f32):\n%r = " T("sub") "(%s, %q)\n" YIELD("%r") "})\n" T("store") "(%j, %wc)\n" CLOSE, true},
    {"a constant, and a position in a part that repeats", OPEN("f32", "f32") "%g = " T("contract") "(%z, %e, %wa, %wb, %wv, %wc) " PLAIN("f32") "^bb0(%s: f32, %q: f32):\n%i = " T("index") "() {dim = 0}\n%j = " T("cast") "(%i) : (index) -> f32\n%u = " T("mul") "(%q, %j)\n%o = " T("const") "() {value = 2.0} : () -> f32\n" YIELD("%u, %o") "}) {maps = \"mk,kn,mn->mn\", " TILE "}\n%l = " T("load") "(%wc)\n%j = " T("map") "(%g, %l) ({\n^bb0(%s: f32, %q: f32):\n%r = " T("sub") "(%s, %q)\n" YIELD("%r") "})\n" T("store") "(%j, %wc)\n" CLOSE, true},
    {"the element's position", OPEN("f32", "f32") T("contract") "(%z, %e, %wa, %wb, %wc) " PLAIN("f32") "^bb0(%s: f32):\n%i = " T("index") "() {dim = 1}\n%j = " T("cast") "(%i) : (index) -> f32\n%r = " T("add") "(%s, %j)\n" YIELD("%r") "}) {maps = \"mk,kn->mn\", " TILE "}\n" CLOSE, true},
    {"part of k", OPEN("f32", "f32") HANDED("f32", "f32", "%h, %t") T("store") "(%s, %wc)\n" CLOSE, true},
    {"empty range", OPEN("f32", "f32") HANDED("f32", "f32", "%e, %e") T("store") "(%s, %wc)\n" CLOSE, false},
    {"ends within a step, before the operands do", OPEN("f32", "f32") "%to = " T("const") "() {value = 20}\n" HANDED("f32", "f32", "%z, %to") T("store") "(%s, %wc)\n" CLOSE, false},
    {"range by block", OPEN("f32", "f32") HANDED("f32", "f32", "%m, %e") T("store") "(%s, %wc)\n" CLOSE, false},
    {"prologue", OPEN("f32", "f32") T("contract") "(%z, %e, %wa, %wb, %wc) ({\n^bb0(%p: f32):\n%u = " T("neg") "(%p)\n" YIELD("%u") "}, {\n^bb0(%p: f32):\n" YIELD("%p") "}, {\n^bb0(%s: f32):\n" YIELD("%s") "}) {maps = \"mk,kn->mn\", " TILE ", use_shared = false}\n" CLOSE, false},
    {"conversion on the way", OPEN("bf16", "f32") T("contract") "(%z, %e, %wa, %wb, %wc) " PLAIN("f32") "^bb0(%s: f32):\n" YIELD("%s") "}) {maps = \"mk,kn->mn\", " TILE "}\n" CLOSE, false},
    {"a bias that lies the other way round", OPEN("f32", "f32") "%column = " T("view") "(%v) : (!tessera.view<36xf32>) -> !tessera.view<36x1xf32, strides=[1, 0]>\n%wn = " T("window") "(%column, %n, %z) {sizes = [32, 1]}\n" ADDED("f32", "(%z, %e, %wa, %wb, %wn, %wc)", "mk,kn,nm->mn") CLOSE, true},
    {"an output that lies the other way round", OPEN("f32", "f32") "%tc = " T("view") "(%c) : (!tessera.view<48x36xf32>) -> !tessera.view<36x48xf32, strides=[1, 36]>\n%wt = " T("window") "(%tc, %n, %m) {sizes = [32, 32]}\n" ADDED("f32", "(%z, %e, %wa, %wb, %wv, %wt)", "mk,kn,mn->nm") CLOSE, true},
    {"no shared tiles", OPEN("f32", "f32") T("contract") "(%z, %e, %wa, %wb, %wc) " PLAIN("f32") "^bb0(%s: f32):\n" YIELD("%s") "}) {maps = \"mk,kn->mn\", " TILE ", use_shared = false}\n" CLOSE, true},
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };

static char *written_out(const char *text, const char *name) {
  ir_module *m = parse(text, name);
  tsr_status st = tile_expand_contract(m, NULL, NULL);
  if (st) fail_msg("%s: %s", name, tsr_status_message(st));
  char *s = printed(m);
  assert_null(strstr(s, "tile.contract"));
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

/* Integers from -3 to 3. */
static void fill(void *p, const tsr_tensor_info *t, unsigned seed) {
  for (size_t i = 0; i < t->bytes / tsr_dtype_size(t->dtype); i++) {
    seed = seed * 1664525 + 1013904223;
    dtype_store(t->dtype, p, i, (double)((seed >> 16) % 7) - 3);
  }
}

static size_t run(tsr_device *dev, const char *text, const char *name, void **out) {
  tsr_program *p;
  tsr_binding in[3] = {{0}}, result = {0};
  tsr_status st = tsr_program_parse(dev, text, strlen(text), name, NULL, &p);
  if (st) fail_msg("%s: %s", name, tsr_status_message(st));
  for (int i = 0; i < 3; i++) {
    tsr_tensor_info t = tsr_program_input(p, i);
    void *data = malloc(t.bytes);
    fill(data, &t, (unsigned)i + 1);
    OK(tsr_buffer_create(dev, t.bytes, TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, data, t.bytes));
    free(data);
  }
  const size_t bytes = tsr_program_output(p, 0).bytes;
  *out = malloc(bytes);
  OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &result.buffer));
  OK(tsr_program_run(p, NULL, in, &result));
  OK(tsr_buffer_read(result.buffer, 0, *out, bytes));
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&result.buffer);
  tsr_program_destroy(&p);
  return bytes;
}

static bool is_whole(tsr_context *ctx, tsr_device *dev, const char *text) {
  tsr_program *p;
  char *tile;
  OK(tsr_program_parse(dev, text, strlen(text), "whole", NULL, &p));
  OK(tsr_program_dump(p, TSR_LEVEL_TILE, &tile, NULL));
  const bool whole = strstr(tile, "tile.contract") != NULL;
  tsr_text_free(ctx, &tile);
  tsr_program_destroy(&p);
  return whole;
}

static void whole_equals_written_out(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t i = 0; i < N_KERNELS; i++) {
    char *loops = written_out(kernels[i].text, kernels[i].name);
    void *a, *b;
    const size_t n = run(dev, kernels[i].text, kernels[i].name, &a);
    assert_int_equal(n, run(dev, loops, kernels[i].name, &b));
    if (memcmp(a, b, n)) fail_msg("%s: whole and written out differ", kernels[i].name);
    if (is_whole(ctx, dev, kernels[i].text) != kernels[i].whole)
      fail_msg("%s: %s", kernels[i].name, kernels[i].whole ? "is written out" : "is taken whole");
    free(a), free(b), free(loops);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* ---- what it is written out to --------------------------------------------------------------------------------- */

#define BY_HAND                                                                                                     \
  OPEN("f32", "f32") "%k0 = " T("fill") "() {value = 0.0} : () -> !tessera.frag<32x32xf32>\n"                       \
  "%sa = " T("alloc") "() : () -> !tessera.shared<32x16xf32>\n%sb = " T("alloc") "() : () -> !tessera.shared<16x32xf32>\n" \
  "%s = " T("for") "(%z, %e, %h, %k0) ({\n^bb0(%k: index, %p: !tessera.frag<32x32xf32>):\n"                         \
  "%ka = " T("window") "(%a, %m, %k) {sizes = [32, 16]}\n" T("copy") "(%ka, %sa) {async = true}\n"                  \
  "%kb = " T("window") "(%b, %k, %n) {sizes = [16, 32]}\n" T("copy") "(%kb, %sb) {async = true}\n" T("wait") "()\n" \
  "%g = " T("gemm") "(%p, %sa, %sb)\n" YIELD("%g") "}) {stages = 2}\n"                                              \
  "%q = " T("load") "(%wv)\n"                                                                                       \
  "%r = " T("map") "(%s, %q) ({\n^bb0(%f: f32, %w: f32):\n%o = " T("add") "(%f, %w)\n" YIELD("%o") "})\n" T("store") "(%r, %wc)\n" CLOSE
#define STRUCTURED \
  OPEN("f32", "f32") T("contract") "(%z, %e, %wa, %wb, %wv, %wc) " PLAIN("f32") "^bb0(%s: f32, %q: f32):\n%r = " T("add") "(%s, %q)\n" \
  YIELD("%r") "}) {maps = \"mk,kn,mn->mn\", " TILE ", stages = 2}\n" CLOSE

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The lines of a text in alphabetical order, without the numbers of values: constants may come in another order. */
static char *sorted_lines(char *text) {
  enum { MOST = 8192 };
  static char *lines[MOST];
  int n = 0;
  char *to = text;
  for (const char *p = text; *p; p++) {
    *to++ = *p;
    if (*p == '%')
      while (p[1] >= '0' && p[1] <= '9') p++;
  }
  *to = 0;
  const size_t bytes = strlen(text) + 2;
  for (char *l = strtok(text, "\n"); l; l = strtok(NULL, "\n")) {
    assert_true(n < MOST);
    lines[n++] = l;
  }
  qsort(lines, (size_t)n, sizeof *lines, by_text);
  char *out = calloc(1, bytes), *at = out;
  for (int i = 0; i < n; i++) at += sprintf(at, "%s\n", lines[i]);
  free(text);
  return out;
}

/* Target IR for an architecture. */
static char *lowered(const char *text, const tsr_caps *caps) {
  ir_module *m = parse(text, caps->arch), *t = NULL;
  OK(tile_expand(m, caps));
  OK(tile_to_target(m, caps, &t));
  char *s = printed(t);
  ir_module_destroy(&m);
  ir_module_destroy(&t);
  return s;
}

static void is_written_out_as_by_hand(void **state) {
  static const struct {
    tsr_dialect dialect;
    const char *arch;
  } archs[] = {{DIALECT_CUDA, "sm_80"}, {DIALECT_CUDA, "sm_90a"}, {DIALECT_HIP, "gfx942"}};
  for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
    tsr_caps caps;
    OK(arch_caps_of(archs[i].dialect, archs[i].arch, &caps));
    char *a = sorted_lines(lowered(STRUCTURED, &caps)), *b = sorted_lines(lowered(BY_HAND, &caps));
    assert_string_equal(a, b);
    free(a), free(b);
  }
}

static ir_op *first_loop(ir_module *m) {
  ir_op *o = m->root->regions[0]->first;
  while (strcmp(o->def->name, "tessera.tile.kernel")) o = o->next;
  for (o = o->regions[0]->first; strcmp(o->def->name, "tessera.tile.for");) o = o->next;
  return o;
}

/* What was written out because nothing takes it isn't looked at again: the loop says why. */
static void refused_contractions_are_not_found_again(void **state) {
  static const char by_block[] = OPEN("f32", "f32") HANDED("f32", "f32", "%m, %e") T("store") "(%s, %wc)\n" CLOSE;
  tsr_caps caps[3] = {{.dialect = DIALECT_CPU}};
  char direct[sizeof STRUCTURED + 32];
  OK(arch_caps_of(DIALECT_CUDA, "sm_90a", &caps[1]));
  OK(arch_caps_of(DIALECT_HIP, "gfx942", &caps[2]));
  snprintf(direct, sizeof direct, "%.*s, matrix = \"direct\"}\n", (int)strlen(STRUCTURED) - 2, STRUCTURED);
  const char *const texts[3] = {by_block, STRUCTURED, direct};
  for (int i = 0; i < 3; i++) {
    ir_module *m = parse(texts[i], "refused"), *t = NULL;
    tile_contract c;
    OK(tile_expand(m, &caps[i]));
    const char *why = ir_get_str(first_loop(m), "refused", "");
    assert_true(*why && !tile_contract_of_loop(first_loop(m), &c));
    OK(tile_to_target(m, &caps[i], &t));
    char *s = printed(t);
    assert_null(strstr(s, "wgmma m"));
    if (i == 2 && !strstr(s, why)) fail_msg("nothing says \"%s\"\n%s", why, s);
    free(s);
    ir_module_destroy(&t);
    ir_module_destroy(&m);
    m = parse(BY_HAND, "by hand");
    OK(tile_expand(m, &caps[i]));
    assert_true(!ir_get_attr(first_loop(m), "refused") && tile_contract_of_loop(first_loop(m), &c));
    ir_module_destroy(&m);
  }
}

/* ---- what schedules become ------------------------------------------------------------------------------------- */

typedef struct seen { int contracts, others; } seen;

static tsr_status look(ir_op *op, void *user) {
  seen *s = user;
  if (op->def->level != IR_TILE) return NULL;
  s->contracts += op->def->code == T_CONTRACT;
  s->others += op->def->code == T_STORE || op->def->code == T_FOR || op->def->code == T_GEMM || op->n_results > 1;
  return NULL;
}

/* All that a product's kernel stores is its contraction's: nothing stands behind it to be found again. */
static void lowered_products_hold_their_epilogue(void **state) {
#define GRAPH(args, body, results) \
  "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%A: tensor<64x64xf32>, %B: tensor<64x64xf32>" args "):\n%p = \"tessera.graph.matmul\"(%A, %B)\n" \
  body "\"tessera.graph.return\"(" results ")\n}) {sym_name = \"main\"}\n})\n"
#define G(op) "\"tessera.graph." op "\""
  static const struct { const char *text; int others, outputs; } graphs[] = {
      {GRAPH("", "", "%p"), 0, 1},
      {GRAPH(", %v: tensor<64xf32>, %r: tensor<64x64xf32>", "%1 = " G("add") "(%p, %v)\n%2 = " G("gelu") "(%1)\n%3 = " G("add") "(%2, %r)\n", "%3"), 2, 1},
      {GRAPH(", %v: tensor<64xf32>", "%1 = " G("add") "(%p, %v)\n%2 = " G("relu") "(%1)\n", "%1, %2"), 1, 2},
      {GRAPH(", %v: tensor<64xf32>", "%0 = " G("broadcast") "(%v) {shape = [64, 64]}\n%1 = " G("abs") "(%0)\n%2 = " G("mul") "(%p, %1)\n", "%2"), 1, 1},
  };
  static const struct { tsr_dialect dialect; const char *arch; } archs[] = {
      {DIALECT_CUDA, "sm_90a"}, {DIALECT_CUDA, "sm_80"}, {DIALECT_HIP, "gfx942"}};
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
    for (size_t a = 0; a < sizeof archs / sizeof *archs; a++) {
      tsr_caps caps;
      ir_module *m;
      seen s = {0, 0};
      OK(arch_caps_of(archs[a].dialect, archs[a].arch, &caps));
      OK(plan_tile(graphs[i].text, strlen(graphs[i].text), "graph", &caps, &m));
      OK(ir_walk(m->root, look, &s));
      if (s.contracts != 1 || s.others)
        fail_msg("graph %zu on %s: %d contractions, %d others", i, archs[a].arch, s.contracts, s.others);
      char *text = printed(m), *maps = strstr(text, "maps = \"");
      int others = -2, outputs = 1;
      assert_non_null(maps);
      for (maps += strlen("maps = \""); *maps != '-'; maps++) others += *maps == ',';
      for (; *maps != '"'; maps++) outputs += *maps == ',';
      assert_int_equal(others + 1, graphs[i].others);
      assert_int_equal(outputs, graphs[i].outputs);
      free(text);
      ir_module_destroy(&m);
    }
}

/* A result that repeats along the rows, by hand in the product's kernel, is no output of the contraction. */
static void narrow_results_are_stored_by_themselves(void **state) {
  static const char text[] =
#define S(op) "\"tessera.schedule." op "\""
#define MATRICES "tensor<64x64xf16>, tensor<64x128xf16>, tensor<128xf16>"
      S("program") "() ({\n^bb0(%A: tensor<64x64xf16>, %B: tensor<64x128xf16>, %V: tensor<128xf16>):\n"
      "%u, %y = " S("kernel") "(%A, %B, %V) ({\n"
      "^bb0(%a: tensor<64x64xf16>, %b: tensor<64x128xf16>, %v: tensor<128xf16>):\n%p = " G("matmul") "(%a, %b)\n"
      "%1 = " G("abs") "(%v)\n%2 = " G("mul") "(%p, %1)\n" S("yield") "(%1, %2)\n"
      "}) {sym_name = \"k\", family = \"matmul\"} : (" MATRICES ") -> (tensor<128xf16>, tensor<64x128xf16>)\n"
      S("return") "(%u, %y)\n}) {sym_name = \"main\", policy = \"fast\"}\n";
  tsr_caps caps;
  ir_module *m = parse(text, "narrow"), *tile;
  seen s = {0, 0};
  OK(arch_caps_of(DIALECT_CUDA, "sm_80", &caps));
  OK(schedule_to_tile(m, &(tile_options){.caps = &caps, .policy = "fast"}, &tile));
  OK(ir_walk(tile->root, look, &s));
  assert_true(s.contracts == 1 && s.others == 1);
  ir_module_destroy(&m);
  ir_module_destroy(&tile);
}

/* A loop is read as a contraction only where it is one. */
static void other_loops_are_no_contraction(void **state) {
  static const struct { const char *name, *from, *to; bool is; } cases[] = {
      {"as it is", "", "", true},
      {"the sum doesn't begin with zeros", "{value = 0.0}", "{value = 1.0}", false},
      {"a window that stands still", "%b, %k, %n", "%b, %z, %n", false},
      {"a window that moves along n too", "%b, %k, %n", "%b, %k, %k", false},
      {"windows that overlap", "%h, %k0", "%t8, %k0", false},
      {"a tile that is read twice", T("store") "(%r, %wc)", T("store") "(%r, %wc)\n%again = " T("load") "(%sa)", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *hand = BY_HAND, *at = strstr(hand, cases[i].from);
    char text[8192];
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - hand), hand, cases[i].to, at + strlen(cases[i].from));
    char *zero = strstr(text, "%x = ");
    memmove(zero + strlen("%t8 = " T("const") "() {value = 8}\n"), zero, strlen(zero) + 1);
    memcpy(zero, "%t8 = " T("const") "() {value = 8}\n", strlen("%t8 = " T("const") "() {value = 8}\n"));
    ir_module *m = parse(text, cases[i].name);
    const ir_op *o = m->root->regions[0]->first;
    while (strcmp(o->def->name, "tessera.tile.kernel")) o = o->next;
    for (o = o->regions[0]->first; strcmp(o->def->name, "tessera.tile.for");) o = o->next;
    tile_contract c;
    if (tile_contract_of_loop(o, &c) != cases[i].is) fail_msg("%s", cases[i].name);
    if (cases[i].is) {
      assert_true(tile_contract_is_plain(&c, CONTRACT_A) && tile_contract_is_plain(&c, CONTRACT_B));
      assert_true(tile_contract_gives_sum(&c) && c.m == 32 && c.n_ == 32 && c.k == 16 && c.counter);
    }
    ir_module_destroy(&m);
  }
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
  tile_work a = count(STRUCTURED), b = count(BY_HAND);
  assert_true(a.flops == b.flops && a.flops == 4 * (3 * 2.0 * 32 * 32 * 16 + 32 * 32));
  assert_true(a.bytes == b.bytes && a.has_gemm && a.in == b.in && a.acc == b.acc);
  assert_true(a.stages == 2 && b.stages == 2 && a.async_copy && b.async_copy);
}

/* ---- what the verifier refuses --------------------------------------------------------------------------------- */

#define ROWS \
  "%ra = " T("window") "(%a, %m, %z) {sizes = [4, 16]}\n%rc = " T("window") "(%c, %m, %n) {sizes = [4, 32]}\n"
#define BODY(operands, regions, attrs) OPEN("f32", "f32") ROWS T("contract") operands " " regions attrs "\n" CLOSE
#define SUM "^bb0(%s: f32):\n" YIELD("%s") "}) "
#define MAPS "{maps = \"mk,kn->mn\", " TILE "}"
#define IO "(%z, %e, %wa, %wb, %wc)"

static void ill_formed_is_refused(void **state) {
  static const struct { const char *says, *text; } cases[] = {
      {"takes 4 or more operands", BODY("(%z, %e, %wa)", PLAIN("f32") SUM, MAPS)},
      {"must be index", BODY("(%wc, %e, %wa, %wb, %wc)", PLAIN("f32") SUM, MAPS)},
      {"extent 16 along m", BODY("(%z, %e, %wb, %wb, %wc)", PLAIN("f32") SUM, MAPS)},
      {"b operand 0 has extent 32 along k", BODY("(%z, %e, %wa, %wa, %wc)", PLAIN("f32") SUM, MAPS)},
      {"output operand 0 has extent 16", BODY("(%z, %e, %wa, %wb, %wa)", PLAIN("f32") SUM, MAPS)},
      {"output operand 0 has extent 1", BODY("(%z, %e, %wa, %wb, %wv)", PLAIN("f32") SUM, MAPS)},
      {"must be a window", BODY("(%z, %e, %a, %wb, %wc)", PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", tile = [48, 32, 40]}")},
      {"must be a view", BODY("(%z, %e, %z, %wb, %wc)", PLAIN("f32") SUM, MAPS)},
      {"have arguments for 3 operands", BODY("(%z, %e, %wa, %wb, %wv, %wc)", PLAIN("f32") SUM, MAPS)},
      {"how a operand 0 lies", BODY(IO, PLAIN("f32") SUM, "{maps = \"mn,kn->mn\", " TILE "}")},
      {"how b operand 0 lies", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,\", " TILE "}")},
      {"fewer operands", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk\", " TILE "}")},
      {"no -> before", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn,mn\", " TILE "}")},
      {"goes on after", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn,mn\", " TILE "}")},
      {"how output operand 0 lies", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->\", " TILE "}")},
      {"'maps' is missing", BODY(IO, PLAIN("f32") SUM, "{" TILE "}")},
      {"three extents", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", tile = [32, 32]}")},
      {"out of range", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", tile = [32, 32, 0]}")},
      {"out of range", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", tile = [32, -1, 16]}")},
      {"too large", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", tile = [2147483647, 2, 16]}")},
      {"unknown dtype", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", " TILE ", b_type = \"f33\"}")},
      {"unknown policy", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", " TILE ", policy = \"quick\"}")},
      {"stages = -1", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", " TILE ", stages = -1}")},
      {"at most 16 rows", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", " TILE ", by_rows = true}")},
      {"by_rows gives no results", OPEN("f32", "f32") ROWS "%g = " T("contract") "(%z, %e, %ra, %wb) " PLAIN("f32") SUM "{maps = \"mk,kn->\", tile = [4, 32, 16], by_rows = true}\n" CLOSE},
      {"reads", BODY("(%z, %e, %ra, %wb, %rc, %rc)", PLAIN("f32") "^bb0(%s: f32, %q: f32):\n" YIELD("%s") "}) ", "{maps = \"mk,kn,mn->mn\", tile = [4, 32, 16], by_rows = true}")},
      {"padding = 99999999", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", " TILE ", padding = 99999999}")},
      {"unknown attribute", BODY(IO, PLAIN("f32") SUM, "{maps = \"mk,kn->mn\", " TILE ", pad = 1}")},
      {"must be a scalar", BODY(IO, "({\n^bb0(%p: index):\n" YIELD("%p") "}, {\n^bb0(%p: f32):\n" YIELD("%p") "}, {\n" SUM, MAPS)},
      {"must yield one scalar", BODY(IO, "({\n^bb0(%p: f32):\n" YIELD("%p, %p") "}, {\n^bb0(%p: f32):\n" YIELD("%p") "}, {\n" SUM, MAPS)},
      {"has no place in the region", BODY(IO, PLAIN("f32") "^bb0(%s: f32):\n%l = " T("fill") "() {value = 0.0} : () -> !tessera.frag<32x32xf32>\n" YIELD("%s") "}) ", MAPS)},
      {"no dimension 2", BODY(IO, PLAIN("f32") "^bb0(%s: f32):\n%i = " T("index") "() {dim = 2}\n" YIELD("%s") "}) ", MAPS)},
      {"needs an output or a result", BODY("(%z, %e, %wa, %wb)", PLAIN("f32") "^bb0(%s: f32):\n" T("yield") "()\n}) ", "{maps = \"mk,kn->\", " TILE "}")},
      {"only the last 1 of 4 are outputs", OPEN("f32", "f32") "%w = " T("window") "(%a, %m, %n) {sizes = [32, 32]}\n" T("contract") "(%z, %e, %wa, %wb, %w) " PLAIN("f32") SUM MAPS "\n" CLOSE},
      {"another type than its argument", OPEN("f32", "f32") "%l = " T("load") "(%wv)\n" T("contract") "(%z, %e, %wa, %wb, %l, %wc) " PLAIN("f32") "^bb0(%s: f32, %q: f64):\n" YIELD("%s") "}) {maps = \"mk,kn,mn->mn\", " TILE "}\n" CLOSE},
      {"is declared", OPEN("f32", "f32") "%s = " T("contract") "(%z, %e, %wa, %wb) " PLAIN("f32") SUM "{maps = \"mk,kn->\", " TILE "} : (index, index, !tessera.view<32x16xf32, strides=[40, 1]>, !tessera.view<16x32xf32, strides=[36, 1]>) -> !tessera.frag<32x31xf32>\n" CLOSE},
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
      cmocka_unit_test(prints_and_parses_alike),   cmocka_unit_test(whole_equals_written_out),
      cmocka_unit_test(is_written_out_as_by_hand),
      cmocka_unit_test(refused_contractions_are_not_found_again),
      cmocka_unit_test(lowered_products_hold_their_epilogue),
      cmocka_unit_test(narrow_results_are_stored_by_themselves),
      cmocka_unit_test(other_loops_are_no_contraction),
      cmocka_unit_test(is_counted_as_written_out),
      cmocka_unit_test(ill_formed_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
