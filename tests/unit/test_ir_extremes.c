/* Numbers at the ends of their range, and operands of the wrong kind, in IR text that GPUs get: each text is emitted
 * for SPIR-V, CUDA and HIP or refused in a sentence, without an overflow on the way (the sanitizers' part), and no loop
 * is emitted whose counter leaves its type. tests/unit/test_ir_safe.c does likewise for the CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/str.h"
#include "core/device/arch.h"
#include "core/emit/emit.h"
#include "core/passes/lower.h"
#include "core/passes/target/program.h"
#include "tests/support/spirv_check.h"

enum { N_TARGETS = 5 };
static struct {
  const char *dialect, *arch;
  tsr_caps caps;
} targets[N_TARGETS] = {{.dialect = "spirv"}, {.dialect = "cuda", .arch = "sm_80"}, {.dialect = "cuda", .arch = "sm_90a"},
                        {.dialect = "hip", .arch = "gfx942"}, {.dialect = "hip", .arch = "gfx1100"}};

static int make_caps(void **state) {
  targets[0].caps = spirv_full_caps();
  for (int i = 1; i < N_TARGETS; i++) {
    tsr_status st = arch_caps_of(i < 3 ? DIALECT_CUDA : DIALECT_HIP, targets[i].arch, &targets[i].caps);
    if (st) return 1;
  }
  return 0;
}

static tsr_status compiled(const char *text, const tsr_caps *caps, bool is_tile, strb *out) {
  ir_module *m = NULL, *target = NULL;
  be_module_desc d = {0};
  arena a;
  arena_init(&a, &al_default);
  tsr_status st = ir_parse(NULL, text, strlen(text), "test", &m);
  if (!st) st = ir_verify(m);
  if (!st) st = is_tile ? tile_expand(m, caps) : target_check_device(m, caps);
  if (!st && is_tile) st = tile_to_target(m, caps, &target);
  if (!st) st = emit_module(target ? target : m, caps, &a, &d);
  if (!st && out && target) ir_print(out, target);
  ir_module_destroy(&target);
  ir_module_destroy(&m);
  arena_clear(&a);
  return st;
}

static void check(const char *what, const char *on, tsr_status st, const char *says, const char *text) {
  const bool right = says ? st && strstr(tsr_status_message(st), says) && tsr_status_code(st) != TSR_INTERNAL : !st;
  if (!right)
    fail_msg("%s on %s: %s, wanted: %s\n%.2000s", what, on, st ? tsr_status_message(st) : "emitted",
             says ? says : "emitted", text);
  tsr_status_free(st);
}

/* ---- Tile IR ---------------------------------------------------------------------------------------------------- */

#define T(op) "\"tessera.tile." op "\""
#define INDEX(name, v) name " = " T("const") "() {value = " v "}\n"
#define KERNEL(body, attrs) \
  "\"builtin.module\"() ({\n\"tessera.tile.kernel\"() ({\n^bb0(%a: !tessera.view<8xf32>, %b: !tessera.view<8xf32>):\n" body \
  T("return") "()\n}) {sym_name = \"k\", " attrs ", outputs = 1}\n})\n"
#define TILE(body) KERNEL(body, "grid = [4, 1, 1]")
#define LOOP(from, to, step) \
  TILE(INDEX("%f", from) INDEX("%t", to) INDEX("%s", step) "%x = " T("load") "(%a)\n%r = " T("for") "(%f, %t, %s, %x) ({\n" \
       "^bb0(%k: index, %c: !tessera.frag<8xf32>):\n%n = " T("map") "(%c) ({\n^bb0(%p: f32):\n%q = " T("add") "(%p, %p)\n" \
       T("yield") "(%q)\n})\n" T("yield") "(%n)\n})\n" T("store") "(%r, %b)\n")
#define AT(index) index "%w = " T("window") "(%a, %i) {sizes = [8]}\n" T("copy") "(%w, %b)\n"
#define BLOCK "%p = " T("block_id") "() {axis = 0}\n"
#define MOST "9223372036854775807"
#define HALF_VIEW ": !tessera.view<64x64xf16>"
#define TILE_OF(name, view) name " = " T("window") "(" view ", %z, %z) {sizes = [64, 64]}\n"
#define SAME(type) "{\n^bb0(%e: " type "):\n" T("yield") "(%e)\n}"
#define PRODUCT(grid) \
  "\"builtin.module\"() ({\n\"tessera.tile.kernel\"() ({\n^bb0(%a" HALF_VIEW ", %b" HALF_VIEW ", %c" HALF_VIEW "):\n" INDEX("%z", "0") \
  INDEX("%k", "64") TILE_OF("%x", "%a") TILE_OF("%y", "%b") TILE_OF("%w", "%c") T("contract") "(%z, %k, %x, %y, %w) (" SAME("f16") ", " SAME("f16") ", " SAME("f32") \
  ") {maps = \"mk,kn->mn\", tile = [64, 64, 64], stages = 2, padding = 8, async = false, policy = \"fast\"}\n" \
  T("return") "()\n}) {sym_name = \"k\", grid = " grid ", outputs = 1, family = \"matmul\", warps = 1}\n})\n"

static const struct { const char *what, *says, *text; bool wide; } tiles[] = {
    {"a loop that ends at 2^63 - 1", "may exceed 64 bits", LOOP("9223372036854775800", MOST, "5"), false},
    {"a step of 2^63 - 1", "may exceed 64 bits", LOOP("0", "16", MOST), false},
    {"a loop that never runs with such a step", "may exceed 64 bits", LOOP("16", "0", MOST), false},
    {"a loop from -2^63 on", NULL, LOOP("-9223372036854775808", "0", "576460752303423488"), true},
    {"a step of -1", "must be positive", LOOP("0", "4", "-1"), false},
    {"a step of 0", "must be positive", LOOP("0", "4", "0"), false},
    {"a loop that ends above 2^31", NULL, LOOP("0", "3000000000", "1000000000"), true},
    {"a loop that ends just below 2^31", NULL, LOOP("0", "2147483647", "1000000000"), true},
    {"a small loop", NULL, LOOP("0", "4", "1"), false},
    {"a window behind its view", NULL, TILE(AT(INDEX("%i", "8"))), false},
    {"a window 2^32 behind its view", NULL, TILE(AT(INDEX("%i", "4294967296"))), true},
    {"a window at 2^63 - 1", NULL, TILE(AT(INDEX("%i", MOST))), true},
    {"a window at -2^63", "begins before its view", TILE(AT(INDEX("%i", "-9223372036854775808"))), false},
    {"a window before its view", "begins before its view", TILE(AT(INDEX("%i", "-1"))), false},
    {"a product beyond 64 bits", "may exceed 64 bits", TILE(AT(BLOCK INDEX("%m", "4611686018427387904") "%i = " T("mul") "(%p, %m)\n")), false},
    {"a sum beyond 64 bits", "may exceed 64 bits", TILE(AT(BLOCK INDEX("%m", MOST) "%i = " T("add") "(%p, %m)\n")), false},
    {"a difference beyond 64 bits", "may exceed 64 bits", TILE(AT(BLOCK INDEX("%m", "-" MOST) INDEX("%n", "3") "%o = " T("sub") "(%m, %p)\n%i = " T("sub") "(%o, %n)\n")), false},
    {"a product beyond 32 bits", NULL, TILE(AT(BLOCK INDEX("%m", "1073741824") "%i = " T("mul") "(%p, %m)\n")), true},
    {"a fragment of 2^43 elements", "registers", TILE("%x = " T("fill") "() {value = 1.0} : () -> !tessera.frag<8796093022208xf32>\n"), false},
    {"a fragment of 2^60 elements", "registers", TILE("%x = " T("fill") "() {value = 1.0} : () -> !tessera.frag<2147483648x536870912xi8>\n"), false},
    {"a shared tile of 2^60 bytes", "of shared memory", TILE("%x = " T("alloc") "() : () -> !tessera.shared<1073741824x1073741824xi8>\n"), false},
    {"a product of no rows of blocks", NULL, PRODUCT("[1, 0, 1]"), false},
    {"a product of no columns of blocks", NULL, PRODUCT("[0, 1, 1]"), false},
    {"a product of no batches", NULL, PRODUCT("[1, 1, 0]"), false},
    {"2^60 subgroups", "exceed", KERNEL("", "grid = [1, 1, 1], warps = 1152921504606846976"), false},
};

static void extreme_number_of_tile_ir_is_emitted_or_refused(void **state) {
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
    for (int t = 0; t < N_TARGETS; t++) {
      strb out;
      strb_init(&out, NULL);
      check(tiles[i].what, targets[t].dialect, compiled(tiles[i].text, &targets[t].caps, true, &out), tiles[i].says,
            tiles[i].text);
      if (!tiles[i].says && tiles[i].wide != (strstr(strb_text(&out), "wide_index = true") != NULL))
        fail_msg("%s on %s: indices are%s wide\n%s", tiles[i].what, targets[t].dialect, tiles[i].wide ? " not" : "",
                 strb_text(&out));
      strb_clear(&out);
    }
}

/* A double would round it. */
static void large_integer_reaches_every_target(void **state) {
  static const char *const ways[] = {
      TILE("%c = " T("const") "() {value = 9007199254740993} : () -> i64\n%x = " T("splat") "(%c) : (i64) -> !tessera.frag<8xi64>\n" T("store") "(%x, %b)\n"),
      TILE("%x = " T("fill") "() {value = 9007199254740993} : () -> !tessera.frag<8xi64>\n" T("store") "(%x, %b)\n"),
      TILE("%x = " T("map") "() ({\n%c = " T("const") "() {value = 9007199254740993} : () -> i64\n" T("yield") "(%c)\n}) {shape = [8]}\n" T("store") "(%x, %b)\n")};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    for (int t = 0; t < N_TARGETS; t++) {
      strb out;
      strb_init(&out, NULL);
      check("2^53 + 1", targets[t].dialect, compiled(ways[i], &targets[t].caps, true, &out), NULL, ways[i]);
      if (!strstr(strb_text(&out), "value = 9007199254740993 : i64"))
        fail_msg("way %zu on %s:\n%s", i, targets[t].dialect, strb_text(&out));
      strb_clear(&out);
    }
}

/* ---- Target IR -------------------------------------------------------------------------------------------------- */

#define G(op) "\"tessera.target." op "\""
#define N(name, v) name " = " G("const") "() {value = " v "} : () -> index\n"
#define F(name) name " = " G("const") "() {value = 1.0} : () -> f32\n"
#define COUNT(from, to, step) \
  N("%f", from) N("%t", to) N("%s", step) G("for") "(%f, %t, %s) ({\n^bb0(%k: index):\n" G("yield") "()\n})\n"
#define ARRAY(n) "%r = " G("local") "() : () -> !tessera.array<" n "xf32>\n"
#define VECTOR(name, type) name " = " G("const") "() {value = 1} : () -> " type "\n"
#define FLOATS(name, n) name " = " G("const") "() {value = 1.0} : () -> vector<" n "xf32>\n"
#define MMA(op, a, b, c, shape) \
  VECTOR("%x", a) VECTOR("%y", b) FLOATS("%z", c) "%d = " G(op) "(%x, %y, %z) {" shape "}\n"
#define M16 "m = 16, n = 8, k = 16, a = \"f16\", b = \"f16\", c = \"f32\""
#define HALVES(name, n) name " = " G("const") "() {value = 1.0} : () -> vector<" n "xf16>\n"
#define AMD(op, a, b, c) \
  HALVES("%x", a) HALVES("%y", b) FLOATS("%z", c) "%d = " G(op) "(%x, %y, %z) {m = 16, n = 16, k = 16, a = \"f16\", b = \"f16\", c = \"f32\"}\n"
#define P "%p = " G("shared") "() {offset = 0} : () -> !tessera.ptr<f16, \"shared\">\n" N("%i", "0")
#define WGMMA(acc, attrs) \
  "%r = " G("local") "() : () -> !tessera.array<" acc ">\n" P G("wgmma") "(%r, %p, %i, %p, %i) {" attrs "}\n"

static const struct { const char *what, *says, *body; } bodies[] = {
    {"a counter that stays", NULL, COUNT("2147483640", "2147483646", "1")},
    {"a counter that leaves", "leaves the range", COUNT("2147483640", "2147483647", "5")},
    {"a counter from anywhere", "leaves the range", "%f = " G("thread_id") "() {axis = 0}\n" N("%t", "2147483647") N("%s", "8") G("for") "(%f, %t, %s) ({\n^bb0(%k: index):\n" G("yield") "()\n})\n"},
    {"a step of 0", "must be positive", COUNT("0", "4", "0")},
    {"a step of -2^31", "must be positive", COUNT("0", "4", "-2147483648")},
    {"an index of 2^31", "does not fit 32 bits", N("%i", "2147483648")},
    {"an index of -2^63", "does not fit 32 bits", N("%i", "-9223372036854775808")},
    {"indices that wrap", NULL, N("%i", "-2147483648") N("%m", "-1") "%d = " G("div") "(%i, %m)\n%e = " G("rem") "(%i, %m)\n%f = " G("mul") "(%i, %m)\n%g = " G("sub") "(%m, %i)\n"},
    {"load of a pointer", "result 0 must be", N("%i", "0") "%v = " G("load") "(%a, %i) : (!tessera.ptr<f32, \"global\">, index) -> !tessera.ptr<f32, \"global\">\n"},
    {"load of an array", "result 0 must be", N("%i", "0") "%v = " G("load") "(%a, %i) : (!tessera.ptr<f32, \"global\">, index) -> !tessera.array<4xf32>\n"},
    {"shared that is a scalar", "result 0 must be", "%v = " G("shared") "() {offset = 0} : () -> f32\n"},
    {"shared that is global", "result 0 must be", "%v = " G("shared") "() {offset = 0} : () -> !tessera.ptr<f32, \"global\">\n"},
    {"shared beyond the block's", "no place", "%v = " G("shared") "() {offset = 1028} : () -> !tessera.ptr<f32, \"shared\">\n"},
    {"shared before the block's", "no place", "%v = " G("shared") "() {offset = -4} : () -> !tessera.ptr<f32, \"shared\">\n"},
    {"shared between elements", "no place", "%v = " G("shared") "() {offset = 2} : () -> !tessera.ptr<f32, \"shared\">\n"},
    {"a cast to other memory", "same memory", "%v = " G("ptr_cast") "(%a) : (!tessera.ptr<f32, \"global\">) -> !tessera.ptr<f32, \"shared\">\n"},
    {"a local scalar", "result 0 must be", "%v = " G("local") "() : () -> f32\n"},
    {"a local array of 2^40", "array of 1 to", ARRAY("1099511627776")},
    {"element 4 of 4", "element 4 of an array of 4", ARRAY("4") N("%i", "4") "%v = " G("get") "(%r, %i)\n"},
    {"element -1", "element -1 of an array", ARRAY("4") N("%i", "-1") F("%x") G("set") "(%x, %r, %i)\n"},
    {"a vector over the end", "of an array of 4", ARRAY("4") N("%i", "2") "%v = " G("get") "(%r, %i) : (!tessera.array<4xf32>, index) -> vector<4xf32>\n"},
    {"element 4 of a vector of 4", "of a vector of 4", FLOATS("%x", "4") "%v = " G("extract") "(%x) {at = 4}\n"},
    {"a bitcast to a pointer", "result 0 must be", F("%x") "%v = " G("bitcast") "(%x) : (f32) -> !tessera.ptr<f32, \"global\">\n"},
    {"a bitcast to more bytes", "sizes differ", F("%x") "%v = " G("bitcast") "(%x) : (f32) -> i64\n"},
    {"a matrix that is a scalar", "result 0 must be", F("%x") "%v = " G("mat_fill") "(%x) : (f32) -> f32\n"},
    {"a matrix loaded as a vector", "result 0 must be", N("%i", "0") "%v = " G("mat_load") "(%a, %i, %i) : (!tessera.ptr<f32, \"global\">, index, index) -> vector<4xf32>\n"},
    {"a shuffle by another way", "there is no mode", F("%x") N("%i", "1") "%v = " G("shuffle") "(%x, %i) {mode = \"across\"}\n"},
    {"a reduction that is code", "there is no op", F("%x") "%v = " G("warp_reduce") "(%x) {op = \"sum>(0); evil(\"}\n"},
    {"a fence that is code", "there is no kind", G("fence") "() {kind = \"x(); evil\"}\n"},
    {"a group of 3 lanes", "width = 3", F("%x") "%v = " G("warp_reduce") "(%x) {op = \"sum\", width = 3}\n"},
    {"copies of 5 bytes", "5 bytes", P N("%j", "0") G("cp_async") "(%p, %i, %a, %j) {bytes = 5}\n"},
    {"ldmatrix of 3", "i32 register", P "%v = " G("ldmatrix") "(%p, %i) {count = 3} : (!tessera.ptr<f16, \"shared\">, index) -> vector<3xi32>\n"},
    {"ldmatrix into floats", "i32 register", P "%v = " G("ldmatrix") "(%p, %i) {count = 2} : (!tessera.ptr<f16, \"shared\">, index) -> vector<2xf32>\n"},
    {"mma with 2 registers for 4", "registers of a lane", MMA("mma", "vector<2xi32>", "vector<2xi32>", "4", M16)},
    {"mma with 8 sums for 4", "registers of a lane", MMA("mma", "vector<4xi32>", "vector<2xi32>", "8", M16)},
    {"mma of no such shape", "there is no mma", MMA("mma", "vector<4xi32>", "vector<2xi32>", "4", "m = 16, n = 8, k = 2147483648, a = \"f16\", b = \"f16\", c = \"f32\"")},
    {"mma of no such type", "there is no mma", MMA("mma", "vector<4xi32>", "vector<2xi32>", "4", "m = 16, n = 8, k = 16, a = \"f16\", b = \"evil\", c = \"f32\"")},
    {"mfma with 8 elements for 4", "registers of a lane", AMD("mfma", "8", "4", "4")},
    {"wmma with 3 sums", "registers of a lane", AMD("wmma", "16", "16", "3")},
    {"wgmma with an array too small", "do not fit", WGMMA("16xf32", "n = 64, k = 16, a = \"f16\", b = \"f16\", c = \"f32\", swizzle = 128")},
    {"wgmma behind its array", "do not fit", WGMMA("32xf32", "n = 64, k = 16, a = \"f16\", b = \"f16\", c = \"f32\", swizzle = 128, acc_at = 9223372036854775807")},
    {"wgmma of 2^40 columns", "columns", WGMMA("32xf32", "n = 1099511627776, k = 16, a = \"f16\", b = \"f16\", c = \"f32\", swizzle = 128")},
    {"wgmma of another depth", "no wgmma", WGMMA("32xf32", "n = 64, k = 17, a = \"f16\", b = \"f16\", c = \"f32\", swizzle = 128")},
    {"a tensor map of 9 dimensions", "don't go together", "%m = " G("tensor_map") "(%a) {dims = [1, 1, 1, 1, 1, 1, 1, 1, 1], strides = [4, 4, 4, 4, 4, 4, 4, 4], box = [1, 1, 1, 1, 1, 1, 1, 1, 1]} : (!tessera.ptr<f32, \"global\">) -> !tessera.token\n"},
    {"a barrier of number 99", "no barrier 99", G("named_barrier") "() {id = 99, threads = 32}\n"},
    {"elect that is a number", "result 0 must be", "%v = " G("elect") "() : () -> f32\n"},
};

static void hostile_target_ir_is_refused(void **state) {
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
    for (int t = 0; t < N_TARGETS; t++) {
      strb text;
      strb_init(&text, NULL);
      strb_printf(&text,
                  "\"builtin.module\"() ({\n\"tessera.target.kernel\"() ({\n^bb0(%%a: !tessera.ptr<f32, \"global\">, %%b: "
                  "!tessera.ptr<f32, \"global\">):\n%s\"tessera.target.return\"()\n}) {sym_name = \"k\", dialect = \"%s\", "
                  "grid = [1, 1, 1], block = [%d, 1, 1], subgroup = %d, shared_bytes = 1024, outputs = 1}\n})\n",
                  bodies[i].body, targets[t].dialect, targets[t].caps.subgroup, targets[t].caps.subgroup);
      check(bodies[i].what, targets[t].dialect, compiled(strb_text(&text), &targets[t].caps, false, NULL),
            bodies[i].says, strb_text(&text));
      strb_clear(&text);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(extreme_number_of_tile_ir_is_emitted_or_refused),
                                     cmocka_unit_test(large_integer_reaches_every_target),
                                     cmocka_unit_test(hostile_target_ir_is_refused)};
  return cmocka_run_group_tests(tests, make_caps, NULL);
}
