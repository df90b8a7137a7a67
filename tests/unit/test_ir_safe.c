/* What the verifier lets through is safe to run: programs that break a rule are refused, and those at the rules' edges
 * run on cpu:0 with the results that their text gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/str.h"
#include "tests/support/ir_run.h"

static tsr_context *ctx;
static tsr_device *dev;

static int open_cpu(void **state) {
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  if (!st) return 0;
  printf("%s\n", tsr_status_message(st));
  tsr_status_free(st);
  return 1;
}

static int close_cpu(void **state) {
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}

static void runs(const char *text, void *out, size_t bytes) {
  tsr_status st = ir_run(dev, text, out, bytes);
  if (st) fail_msg("%s\n%.3000s", tsr_status_message(st), text);
}

/* ---- long programs --------------------------------------------------------------------------------------------- */

/* More registers than 16 bits count: the map reads the last one. */
static void map_reads_register_beyond_65536(void **state) {
  enum { N = 70000 };
  float y[4];
  strb b;
  strb_init(&b, NULL);
  strb_puts(
      &b,
      "\"builtin.module\"() ({\n\"tessera.target.program\"() ({\n^bb0(%A: tensor<4xf32>):\n%B = "
      "\"tessera.target.buffer\"() : () -> tensor<4xf32>\n"
      "\"tessera.target.launch\"(%A, %B) {kernel = \"k\"}\n\"tessera.target.return\"(%B)\n}) {sym_name = \"main\"}\n"
      "\"tessera.target.kernel\"() ({\n^bb0(%a: !tessera.view<4xf32>, %b: !tessera.view<4xf32>):\n");
  for (int i = 0; i < N; i++)
    strb_printf(&b, "%%c%d = \"tessera.target.const\"() {value = %d.0 : f64} : () -> f32\n", i, i);
  strb_printf(
      &b,
      "\"tessera.target.map\"(%%b, %%a) ({\n^bb0(%%x: f32):\n%%y = \"tessera.target.add\"(%%x, "
      "%%c%d)\n\"tessera.target.yield\"(%%y)\n})\n"
      "\"tessera.target.return\"()\n}) {sym_name = \"k\", dialect = \"cpu\", grid = [1, 1, 1], outputs = 1}\n})\n",
      N - 1);
  runs(strb_text(&b), y, sizeof y);
  for (int i = 0; i < 4; i++) assert_true(y[i] == (float)(1 + i % 2 + N - 1));
  strb_clear(&b);
}

/* ---- rules ----------------------------------------------------------------------------------------------------- */

#define PROGRAM(LEVEL, T) \
  "\"builtin.module\"() ({\n\"tessera." LEVEL ".program\"() ({\n^bb0(%A: tensor<" T ">):\n%B = \"tessera." LEVEL ".buffer\"() : () -> tensor<" T ">\n\"tessera." LEVEL \
  ".launch\"(%A, %B) {kernel = \"k\"}\n\"tessera." LEVEL ".return\"(%B)\n}) {sym_name = \"main\"}\n\"tessera." LEVEL ".kernel\"() ({\n^bb0(%a: !tessera.view<" T ">, %b: !tessera.view<" T ">):\n"
#define TILE_GRID(T, body, grid) \
  PROGRAM("tile", T) body "\"tessera.tile.return\"()\n}) {sym_name = \"k\", grid = " grid ", outputs = 1}\n})\n"
#define TARGET_OF(T, body) \
  PROGRAM("target", T) body "\"tessera.target.return\"()\n}) {sym_name = \"k\", dialect = \"cpu\", grid = [1, 1, 1], outputs = 1, scratch_bytes = 4096}\n})\n"
#define TILE(body) TILE_GRID("8xf32", body, "[1, 1, 1]")
#define TARGET(body) TARGET_OF("8xf32", body)
#define T(op) "\"tessera.tile." op "\""
#define G(op) "\"tessera.target." op "\""
#define LOADED "%x = " T("load") "(%a)\n"
#define MAP(operands, args, body, rest) G("map") "(" operands ") ({\n^bb0(" args "):\n" body "})" rest "\n"
#define ADD1 "%y = " G("add") "(%x, %x)\n" G("yield") "(%y)\n"
#define SCRATCH_AT(name, type, at) name " = " G("scratch") "() {offset = " at "} : () -> !tessera.array<" type ">\n"
#define SCRATCH(name, type) SCRATCH_AT(name, type, "0")

/* Weights of 1 by the windows of two elements over the first six: eight of them from `origin` on. */
#define CONVOLVED(rows, steps, origin, sizes)                                                                          \
  TARGET("%z = " G("const") "() {value = 0} : () -> index\n%r = " G("const") "() {value = " rows "} : () -> index\n%v = " G("view") "(%a) : (!tessera.view<8xf32>) -> !tessera.view<6xf32>\n%u = " G("view") "(%b) : (!tessera.view<8xf32>) -> !tessera.view<1x8xf32>\n" \
         SCRATCH("%s", "1x8xf32") SCRATCH_AT("%w", "1x2xf32", "64") G("call") "(%w) {fn = \"fill\", value = 1.0}\n" \
         G("call") "(%s, %w, %v, %z, %r) {fn = \"convolve\", counts = [1, 1, 1], extents = [1, 8, 2], steps = [0, " steps "], origin = [" origin "], sizes = " sizes "}\n" \
         MAP("%u, %s", "%x: f32", G("yield") "(%x)\n", ""))

static const struct { const char *what, *says, *text; } refused[] = {
    {"value outside the kernel, Tile", "outside the tessera.tile.kernel",
     "\"builtin.module\"() ({\n%c = \"tessera.tile.const\"() {value = 0 : i64} : () -> index\n"
     "\"tessera.tile.kernel\"() ({\n^bb0(%a: !tessera.view<8xf32>):\n"
     "%d = \"tessera.tile.add\"(%c, %c) : (index, index) -> index\n\"tessera.tile.return\"()\n"
     "}) {sym_name = \"k\", grid = [1, 1, 1], outputs = 1}\n})\n"},
    {"value outside the kernel, Target", "outside the tessera.target.kernel",
     "\"builtin.module\"() ({\n%c = \"tessera.target.const\"() {value = 0 : i64} : () -> index\n"
     "\"tessera.target.kernel\"() ({\n^bb0(%a: !tessera.view<8xf32>):\n"
     "%d = \"tessera.target.add\"(%c, %c) : (index, index) -> index\n\"tessera.target.return\"()\n"
     "}) {sym_name = \"k\", dialect = \"cpu\", grid = [1, 1, 1], outputs = 1}\n})\n"},
    {"view of a window", "not a window", TILE("%i = " T("const") "() {value = 4}\n%w = " T("window") "(%a, %i) {sizes = [8]}\n%v = " T("view") "(%w) : (!tessera.view<8xf32, strides=[1]>) -> !tessera.view<8xf32>\n")},
    {"view of a large window", "not a window", TARGET("%i = " G("const") "() {value = 0 : i64} : () -> index\n%w = " G("window") "(%b, %i) {sizes = [1000]}\n%v = " G("view") "(%w) : (!tessera.view<1000xf32, strides=[1]>) -> !tessera.view<1000xf32>\n")},
    {"axis 3", "no axis 3", TILE("%i = " T("block_id") "() {axis = 3}\n")},
    {"axis -1", "no axis -1", TARGET("%i = " G("block_id") "() {axis = -1}\n")},
    {"axis 1000000", "no axis 1000000", TARGET("%i = " G("thread_id") "() {axis = 1000000}\n")},
    {"loop carries a view", "is memory", TILE("%i = " T("const") "() {value = 4}\n%v = " T("for") "(%i, %i, %i, %a) ({\n^bb0(%k: index, %c: !tessera.view<8xf32>):\n" T("yield") "(%c)\n})\n")},
    {"loop carries an array", "is memory", TARGET(SCRATCH("%s", "8xf32") "%i = " G("const") "() {value = 4 : i64} : () -> index\n%v = " G("for") "(%i, %i, %i, %s) ({\n^bb0(%k: index, %c: !tessera.array<8xf32>):\n" G("yield") "(%c)\n})\n")},
    {"branch yields a view", "is memory", TARGET("%c = " G("const") "() {value = 1 : i64} : () -> i1\n%v = " G("if") "(%c) ({\n" G("yield") "(%a)\n}, {\n" G("yield") "(%b)\n})\n")},
    {"cast to a view", "casts a scalar", TILE("%i = " T("const") "() {value = 4}\n%v = " T("cast") "(%i) : (index) -> !tessera.view<8xf32>\n")},
    {"cast to an array", "casts a scalar", TARGET("%i = " G("const") "() {value = 4 : i64} : () -> index\n%v = " G("cast") "(%i) : (index) -> !tessera.array<8xf32>\n")},
    {"fill of a view's type", "must be a fragment", TILE("%v = " T("fill") "() {value = 0} : () -> !tessera.view<8xf32>\n")},
    {"reshape of a view", "must be a fragment", TILE("%v = " T("reshape") "(%a) : (!tessera.view<8xf32>) -> !tessera.view<8xf32, offset=100>\n")},
    {"a store to an input", "writes argument 0", TILE(LOADED T("store") "(%x, %a)\n")},
    {"return in a loop", "has no place", TILE("%i = " T("const") "() {value = 4}\n" T("for") "(%i, %i, %i) ({\n^bb0(%k: index):\n" T("return") "()\n})\n")},
    {"blocks beyond 64 bits", "overflows 64 bits", TILE_GRID("8xf32", "", "[2147483647, 2147483647, 2147483647]")},
    {"more blocks than end", "at most 2^40", TILE_GRID("8xf32", "", "[2147483647, 2147483647, 1]")},
    {"fft of no dimensions", "float fragments", TILE("%i = " T("const") "() {value = 4.0}\n%f = " T("splat") "(%i) : (f32) -> !tessera.frag<f32>\n%r, %s = " T("fft_stage") "(%f, %f) {radix = 2, span = 1}\n")},
    {"fft of a huge span", "does not divide", TILE(LOADED "%r, %s = " T("fft_stage") "(%x, %x) {radix = 4, span = 4611686018427387904}\n")},
    {"map of nine dimensions", "1 to 8 dimensions", TILE("%v = " T("map") "() ({\n%c = " T("const") "() {value = 1.0}\n" T("yield") "(%c)\n}) {shape = [1, 1, 1, 1, 1, 1, 1, 1, 1]}\n")},
    {"map too large", "overflows 64 bits", TILE("%v = " T("map") "() ({\n%c = " T("const") "() {value = 1.0}\n" T("yield") "(%c)\n}) {shape = [4611686018427387904, 4]}\n")},
    {"map: more arguments than sources", "2 arguments for 1", TARGET(MAP("%b, %a", "%x: f32, %z: f32", ADD1, ""))},
    {"map: a wider type", "not as its scalar", TARGET(MAP("%b, %a", "%x: f64", ADD1, ""))},
    {"map: yields another type", "not as its scalar", TARGET(MAP("%b, %a", "%x: f32", "%y = " G("cast") "(%x) : (f32) -> f64\n" G("yield") "(%y)\n", ""))},
    {"map: a barrier", "has no place", TARGET(MAP("%b, %a", "%x: f32", G("barrier") "()\n" ADD1, ""))},
    {"map: a return", "must yield", TARGET(MAP("%b, %a", "%x: f32", G("return") "()\n", ""))},
    {"map: a fetch", "has no place", TARGET("%i = " G("const") "() {value = 0 : i64} : () -> index\n" MAP("%b, %a", "%x: f32", "%y = " G("fetch") "(%a, %i)\n" G("yield") "(%y)\n", ""))},
    {"map: a thread_id", "has no place", TARGET(MAP("%b, %a", "%x: f32", "%i = " G("thread_id") "() {axis = 0}\n" ADD1, ""))},
    {"map: yields a view", "not a scalar", TARGET(MAP("%b, %a", "%x: f32", G("yield") "(%a)\n", ""))},
    {"map: more yields than outputs", "must yield", TARGET(MAP("%b, %a", "%x: f32", G("yield") "(%x, %x)\n", ""))},
    {"map: outputs beyond its operands", "outputs = 3", TARGET(MAP("%b, %a", "%x: f32", ADD1, " {outputs = 3}"))},
    {"map: an input as output", "writes argument 0", TARGET(MAP("%a, %b", "%x: f32", ADD1, ""))},
    {"map: an index beyond the rank", "no dimension 1", TARGET(MAP("%b, %a", "%x: f32", "%i = " G("element_index") "() {dim = 1}\n" ADD1, ""))},
    {"load at a float", "must be an index", TARGET("%p = " G("shared") "() {offset = 0} : () -> !tessera.ptr<f32, \"shared\">\n%f = " G("const") "() {value = 1.0} : () -> f32\n%v = " G("load") "(%p, %f) : (!tessera.ptr<f32, \"shared\">, f32) -> f32\n")},
    {"store at a float", "must be an index", TARGET("%p = " G("shared") "() {offset = 0} : () -> !tessera.ptr<f32, \"shared\">\n%f = " G("const") "() {value = 1.0} : () -> f32\n" G("store") "(%f, %p, %f) : (f32, !tessera.ptr<f32, \"shared\">, f32) -> ()\n")},
    {"wgmma without the place of b", "takes 5 operands", TARGET("%i = " G("const") "() {value = 0 : i64} : () -> index\n%p = " G("shared") "() {offset = 0} : () -> !tessera.ptr<f16, \"shared\">\n" SCRATCH("%s", "8xf32") G("wgmma") "(%s, %p, %i, %p) {n = 8, k = 16, a = \"f16\", b = \"f16\", c = \"f32\", swizzle = 128} : (!tessera.array<8xf32>, !tessera.ptr<f16, \"shared\">, index, !tessera.ptr<f16, \"shared\">) -> ()\n")},
    {"wgmma with a in memory as registers", "must be a register array", TARGET("%i = " G("const") "() {value = 0 : i64} : () -> index\n%p = " G("shared") "() {offset = 0} : () -> !tessera.ptr<f16, \"shared\">\n" SCRATCH("%s", "8xf32") G("wgmma") "(%s, %p, %i, %p, %i) {n = 8, k = 16, a = \"f16\", b = \"f16\", c = \"f32\", swizzle = 128, a_regs = true} : (!tessera.array<8xf32>, !tessera.ptr<f16, \"shared\">, index, !tessera.ptr<f16, \"shared\">, index) -> ()\n")},
    {"scratch with strides", "row-major", TARGET("%s = " G("scratch") "() {offset = 0} : () -> !tessera.array<1000x1000xf32, strides=[0, 0]>\n")},
    {"scratch before its memory", "row-major", TARGET("%s = " G("scratch") "() {offset = 0} : () -> !tessera.array<8xf32, strides=[-1], offset=8>\n")},
    {"fill of a clipped window", "\"fill\" takes", TARGET("%i = " G("const") "() {value = 4 : i64} : () -> index\n%w = " G("window") "(%b, %i) {sizes = [8]}\n" G("call") "(%w) {fn = \"fill\", value = 1.0}\n")},
    {"windows too far apart to convolve", "\"convolve\" takes", CONVOLVED("0", "5, 1", "0", "[8, 2]")},
    {"more weights than a window has elements", "\"convolve\" takes", CONVOLVED("0", "1, 1", "0", "[8, 1]")},
    {"reduce into a window", "\"reduce\" takes", TARGET("%i = " G("const") "() {value = 8 : i64} : () -> index\n%w = " G("window") "(%b, %i) {sizes = [1]}\n" G("call") "(%w, %a) {fn = \"reduce\", op = \"sum\", axis = 0}\n")},
    {"transpose of a window", "\"transpose\" takes", TARGET(SCRATCH("%s", "16xf32") "%i = " G("const") "() {value = 4 : i64} : () -> index\n%w = " G("window") "(%a, %i) {sizes = [16]}\n" G("call") "(%s, %w) {fn = \"transpose\", perm = [0]}\n")},
    {"an op of Target IR in a Tile kernel", "can't be used inside tessera.tile.kernel", TILE(G("barrier") "()\n")},
    {"an op of Tile IR in a Target kernel", "can't be used inside tessera.target.kernel", TARGET(T("barrier") "()\n")},
    {"an op of Graph IR in a map", "can't be used inside tessera.tile.map", TILE(LOADED "%y = " T("map") "(%x) ({\n^bb0(%p: f32):\n%g = \"tessera.graph.constant\"() {value = dense<1.0> : tensor<1xf32>}\n" T("yield") "(%p)\n})\n")},
    {"an index with a point", "whole number", TILE("%i = " T("const") "() {value = 3.0} : () -> index\n")},
    {"an index without an end", "whole number", TARGET("%i = " G("const") "() {value = 0x7FF0000000000000 : f64} : () -> index\n")},
    {"a name that clears the screen", "no text", TARGET(G("call") "(%b, %a) {fn = \"\\1B[2J\"}\n")},
    {"a name that is no UTF-8", "no text", TILE(T("launch") "() {kernel = \"\\FF\"}\n")},
    {"reduce of half floats", "\"reduce\" takes", TARGET_OF("8xf16", SCRATCH("%s", "1xf16") G("call") "(%s, %a) {fn = \"reduce\", op = \"sum\", axis = 0}\n")},
    {"fft of padded rows", "\"fft_stage\" takes", TARGET(SCRATCH("%s", "4x4xf32, pad=3") G("call") "(%s, %s, %s, %s) {fn = \"fft_stage\", radix = 2, span = 1}\n")},
};

static void broken_rule_is_refused(void **state) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    tsr_status st = ir_run(dev, refused[i].text, NULL, 0);
    if (!st || !strstr(tsr_status_message(st), refused[i].says))
      fail_msg("%s: %s, wanted: %s\n%s", refused[i].what, st ? tsr_status_message(st) : "ran", refused[i].says,
               refused[i].text);
    tsr_status_free(st);
  }
}

/* What is not there reads as 0; inputs are 1, 2, 1, 2, ... */
#define INDEX(name, v) name " = " T("const") "() {value = " v "}\n"
#define COPIED(at, size) \
  TILE(INDEX("%i", at) "%w = " T("window") "(%a, %i) {sizes = [" size "]}\n" INDEX("%z", "0") "%o = " T("window") "(%b, %z) {sizes = [" size "]}\n" T("copy") "(%w, %o)\n")
#define SUM_LOOP(from, to, step) \
  TILE(INDEX("%f", from) INDEX("%t", to) INDEX("%s", step) LOADED "%r = " T("for") "(%f, %t, %s, %x) ({\n^bb0(%k: index, %c: !tessera.frag<8xf32>):\n%n = " T("map") "(%c) ({\n^bb0(%p: f32):\n%q = " T("add") "(%p, %p)\n" \
       T("yield") "(%q)\n})\n" T("yield") "(%n)\n})\n" T("store") "(%r, %b)\n")
/* Windows without dimensions are one element, which is there or isn't: b is 5s, then b[at] = 7 and b[1] = a[at]. */
#define POINT(at) \
  TILE(INDEX("%i", at) INDEX("%z", "1") "%w = " T("window") "(%a, %i) {sizes = [0]}\n%o = " T("window") "(%b, %z) {sizes = [0]}\n%far = " T("window") "(%b, %i) {sizes = [0]}\n" \
       "%x = " T("fill") "() {value = 5.0} : () -> !tessera.frag<8xf32>\n" T("store") "(%x, %b)\n%y = " T("fill") "() {value = 7.0} : () -> !tessera.frag<f32>\n" T("store") "(%y, %far)\n" T("copy") "(%w, %o)\n")

/* A reduction kernel reads x - s itself where it is squared about another number: 2 rows of 1, 2, 1, 2 become x + 170.
 * */
#define ROWS2(op, operands, args, e) T(op) "(" operands ") ({\n^bb0(" args "):\n" e "})\n"
#define SQUARED_TWICE                                                                                        \
  TILE("%v = " T("view") "(%a) : (!tessera.view<8xf32>) -> !tessera.view<2x4xf32>\n%u = " T("view") "(%b) : (!tessera.view<8xf32>) -> !tessera.view<2x4xf32>\n" \
       "%x = " T("load") "(%v)\n%s = " T("reduce") "(%x) {axis = 1, op = \"sum\"}\n%m = " T("reduce") "(%x) {axis = 1, op = \"max\"}\n" \
       "%c = " ROWS2("map", "%x, %s", "%p: f32, %q: f32", "%d = " T("sub") "(%p, %q)\n" T("yield") "(%d)\n") \
       "%f = " ROWS2("map", "%c, %m", "%p: f32, %q: f32", "%d = " T("sub") "(%p, %q)\n%e = " T("mul") "(%d, %d)\n" T("yield") "(%e)\n") \
       "%r = " T("reduce") "(%f) {axis = 1, op = \"sum\"}\n%y = " ROWS2("map", "%x, %r", "%p: f32, %q: f32", "%d = " T("add") "(%p, %q)\n" T("yield") "(%d)\n") T("store") "(%y, %u)\n")

/* Two digits along one axis of six elements, 4 and 1 apart: the last values of both are beyond its end, though each
 * digit's own are not. */
#define UNFOLDED(extents, steps)                                                                                       \
  TARGET("%z = " G("const") "() {value = 0} : () -> index\n%v = " G("view") "(%a) : (!tessera.view<8xf32>) -> !tessera.view<6xf32>\n%u = " G("view") "(%b) : (!tessera.view<8xf32>) -> !tessera.view<1x8xf32>\n" \
         SCRATCH("%s", "1x8xf32") G("call") "(%s, %v, %z, %z, %z) {fn = \"unfold\", counts = [1, 1, 2], extents = [1, 1, " extents "], steps = [0, 0, " steps "], origin = [0], sizes = [1, 8]}\n" \
         MAP("%u, %s", "%x: f32", G("yield") "(%x)\n", ""))

static const struct { const char *what, *text; float want[8]; } edges[] = {
    {"an unfolded corner beyond the end", UNFOLDED("2, 4", "4, 1"), {1, 2, 1, 2, 1, 2, 0, 0}},
    {"an unfolded corner before the start", UNFOLDED("2, 4", "-1, 1"), {1, 2, 1, 2, 0, 1, 2, 1}},
    {"the same across lines", UNFOLDED("4, 2", "1, 4"), {1, 1, 2, 2, 1, 0, 2, 0}},
    {"windows that are convolved beyond the end", CONVOLVED("0", "1, 1", "0", "[8, 2]"), {3, 3, 3, 3, 3, 2, 0, 0}},
    {"the same before the start", CONVOLVED("0", "1, 1", "-2", "[8, 2]"), {0, 1, 3, 3, 3, 3, 3, 2}},
    {"the same backwards", CONVOLVED("0", "1, -1", "0", "[8, 2]"), {1, 3, 3, 3, 3, 3, 2, 0}},
    {"windows two apart", CONVOLVED("0", "2, 1", "-1", "[8, 2]"), {1, 3, 3, 2, 0, 0, 0, 0}},
    {"windows of which the last three are there", CONVOLVED("5", "1, 1", "-4", "[8, 2]"), {3, 3, 3, 0, 0, 0, 0, 0}},
    {"windows beyond all", CONVOLVED("9223372036854775807", "1, 1", "0", "[8, 2]"), {0}},
    {"windows before all", CONVOLVED("-9223372036854775808", "1, 1", "0", "[8, 2]"), {0}},
    {"a difference squared about another number", SQUARED_TWICE, {171, 172, 171, 172, 171, 172, 171, 172}},
    {"a window larger than its view", COPIED("4", "1000"), {1, 2, 1, 2, 0, 0, 0, 0}},
    {"an offset of 2^63 - 1", COPIED("9223372036854775807", "8"), {0}},
    {"an offset of -2^63", COPIED("-9223372036854775808", "8"), {0}},
    {"a loop that ends at 2^63 - 1", SUM_LOOP("9223372036854775800", "9223372036854775807", "5"), {4, 8, 4, 8, 4, 8, 4, 8}},
    {"a step of 2^63 - 1", SUM_LOOP("-9223372036854775808", "9223372036854775807", "9223372036854775807"), {8, 16, 8, 16, 8, 16, 8, 16}},
    {"one element, the first", POINT("0"), {7, 1, 5, 5, 5, 5, 5, 5}},
    {"one element, the last", POINT("7"), {5, 2, 5, 5, 5, 5, 5, 7}},
    {"one element beyond the end", POINT("8"), {5, 0, 5, 5, 5, 5, 5, 5}},
    {"one element before the start", POINT("-1"), {5, 0, 5, 5, 5, 5, 5, 5}},
    {"a view of nothing, far away", TILE("%v = " T("view") "(%a) : (!tessera.view<8xf32>) -> !tessera.view<0xf32, offset=9223372036854775807>\n%x = " T("load") "(%v)\n" T("copy") "(%a, %b)\n"), {1, 2, 1, 2, 1, 2, 1, 2}},
    {"2^40 blocks of nothing", TILE_GRID("8xf32", "", "[1048576, 1048576, 1]"), {1, 2, 1, 2, 1, 2, 1, 2}},
    {"a step of -1", SUM_LOOP("0", "4", "-1"), {1, 2, 1, 2, 1, 2, 1, 2}},
};

static void edge_of_a_rule_runs(void **state) {
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    float y[8];
    runs(edges[i].text, y, sizeof y);
    for (int k = 0; k < 8; k++)
      if (y[k] != edges[i].want[k])
        fail_msg("%s: element %d is %g, not %g", edges[i].what, k, (double)y[k], (double)edges[i].want[k]);
  }
}

/* ---- integers -------------------------------------------------------------------------------------------------- */

/* Scalars of a kernel, elements of a map and fills: constants are exact, arithmetic wraps in the type, and constants
 * with a point saturate. */
#define STORED(type, body) TILE_GRID("8x" type, body T("store") "(%y, %b)\n", "[1, 1, 1]")
#define FILLED(type, v) STORED(type, "%y = " T("fill") "() {value = " v "} : () -> !tessera.frag<8x" type ">\n")
#define IS(name, type, v) name " = " T("const") "() {value = " v "} : () -> " type "\n"
#define SPLAT(type, body) STORED(type, body "%y = " T("splat") "(%q) : (" type ") -> !tessera.frag<8x" type ">\n")
#define EACH(type, body) \
  STORED(type, "%y = " T("map") "() ({\n" body T("yield") "(%q)\n}) {shape = [8]}\n")
#define HALF_SUM(type, most) \
  IS("%c", type, most) IS("%e", type, "2") "%d = " T("add") "(%c, %e)\n%q = " T("div") "(%d, %e)\n"
#define BOTH(type, what, body, size, want) \
  {what ", a scalar", SPLAT(type, body), size, want}, {what ", elements", EACH(type, body), size, want}
#define BIG "9007199254740993"

static const struct { const char *what, *text; size_t size; int64_t want; } integers[] = {
    BOTH("i64", "2^53 + 1", IS("%q", "i64", BIG), 8, 9007199254740993),
    {"2^53 + 1, filled", FILLED("i64", BIG), 8, 9007199254740993},
    BOTH("i32", "3000000000 as i32", IS("%q", "i32", "3000000000"), 4, -1294967296),
    {"3000000000 as i32, filled", FILLED("i32", "3000000000"), 4, -1294967296},
    BOTH("i32", "3e30 as i32", IS("%q", "i32", "3.0e30"), 4, INT32_MAX),
    BOTH("i8", "300 as i8", IS("%q", "i8", "300"), 1, 44),
    BOTH("i64", "(2^63 - 1 + 2) / 2", HALF_SUM("i64", "9223372036854775807"), 8, -4611686018427387903),
    BOTH("i32", "(2^31 - 1 + 2) / 2", HALF_SUM("i32", "2147483647"), 4, -1073741823),
    BOTH("i16", "(2^15 - 1 + 2) / 2", HALF_SUM("i16", "32767"), 2, -16383),
    BOTH("i8", "(127 + 2) / 2", HALF_SUM("i8", "127"), 1, -63),
    BOTH("ui8", "(255 + 2) / 2", HALF_SUM("ui8", "255"), 1, 0),
};

static void integers_are_exact_and_wrap(void **state) {
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
    union { int64_t i; char c[64]; } y = {0};
    const size_t size = integers[i].size;
    runs(integers[i].text, y.c, 8 * size);
    for (size_t k = 0; k < 8; k++)
      if (memcmp(y.c + k * size, &integers[i].want, size))
        fail_msg("%s: element %zu is not %lld\n%s", integers[i].what, k, (long long)integers[i].want, integers[i].text);
  }
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static void name_survives_text_or_is_refused(void **state) {
  static const struct {
    const char *name;
    bool fits;
  } names[] = {{"a", true},  {"_a.b$c-d", true}, {"A0", true},  {"", true},      {"a b", false},
               {"0", false}, {"-a", false},      {"%a", false}, {"a\nb", false}, {"\xc3\xa9", false}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    tsr_graph *g = NULL, *again = NULL;
    tsr_value v, w;
    char *text = NULL;
    tsr_status st = tsr_graph_create(ctx, "main", &g);
    if (!st) st = tsr_graph_input(g, names[i].name, TSR_F32, (tsr_shape){1, {4}}, &v);
    if ((st == NULL) != names[i].fits) fail_msg("\"%s\": %s", names[i].name, st ? tsr_status_message(st) : "was taken");
    if (!st) st = tsr_graph_op(g, "neg", &v, 1, NULL, 0, &w);
    if (!st) st = tsr_graph_output(g, w);
    if (!st) st = tsr_graph_print(g, &text);
    if (!st) st = tsr_graph_parse(ctx, text, strlen(text), "again", &again);
    if (names[i].fits && st) fail_msg("%s", tsr_status_message(st));
    if (names[i].fits && *names[i].name) assert_string_equal(tsr_graph_input_info(again, 0).name, names[i].name);
    tsr_status_free(st);
    tsr_text_free(ctx, &text);
    tsr_graph_destroy(&g);
    tsr_graph_destroy(&again);
  }
}

/* By name alone --input and a reader of the text tell inputs apart. */
static void two_inputs_of_one_name_are_refused(void **state) {
  enum { MANY = 3000 };
  const tsr_shape s = {1, {4}};
  tsr_graph *g = NULL;
  tsr_value v, w;
  char name[16];
  assert_null(tsr_graph_create(ctx, "main", &g));
  assert_null(tsr_graph_input(g, "x", TSR_F32, s, &v));
  assert_null(tsr_graph_input(g, NULL, TSR_F32, s, &v)); /* any number without a name */
  assert_null(tsr_graph_input(g, NULL, TSR_F32, s, &v));
  assert_null(tsr_graph_input(g, "", TSR_F32, s, &v));
  assert_null(tsr_graph_input(g, "X", TSR_F32, s, &v));
  for (int i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "x%d", i); /* the graph keeps its own copy */
    assert_null(tsr_graph_input(g, name, TSR_F32, s, &v));
  }
  static const char *const again[] = {"x", "X", "x0", "x1", "x2999"};
  for (size_t i = 0; i < sizeof again / sizeof *again; i++) {
    w = 77;
    tsr_status st = tsr_graph_input(g, again[i], TSR_F32, s, &w);
    assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
    if (!strstr(tsr_status_message(st), again[i])) fail_msg("%s", tsr_status_message(st));
    assert_true(w == 0);
    tsr_status_free(st);
  }
  assert_int_equal(tsr_graph_n_inputs(g), MANY + 5); /* what was refused isn't there */
  tsr_graph_destroy(&g);
  static const char text[] = "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<4xf32>, %A: tensor<4xf32>):\n"
                             "\"tessera.graph.return\"(%A)\n}) {sym_name = \"main\"}\n";
  tsr_status st = tsr_graph_parse(ctx, text, sizeof text - 1, "x", &g);
  assert_int_equal(tsr_status_code(st), TSR_PARSE_ERROR);
  assert_non_null(strstr(tsr_status_message(st), "x:2:25: %A is defined twice"));
  tsr_status_free(st);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(map_reads_register_beyond_65536),
                                     cmocka_unit_test(broken_rule_is_refused), cmocka_unit_test(edge_of_a_rule_runs),
                                     cmocka_unit_test(integers_are_exact_and_wrap),
                                     cmocka_unit_test(name_survives_text_or_is_refused),
                                     cmocka_unit_test(two_inputs_of_one_name_are_refused)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
