/* Constants of an epilogue that a lowering of whole kernels (simt/whole) takes: every digit of an integer arrives, as
 * it does where the same kernel is written out op by op. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/str.h"
#include "core/device/arch.h"
#include "core/ir/ir.h"
#include "core/passes/lower.h"
#include "tests/support/api_check.h"

#define T(op) "\"tessera.tile." op "\""
#define BIG "9007199254740993" /* 2^53 + 1 */
#define HANDED "\n^bb0(%p: i8):\n" T("yield") "(%p)\n"
#define REGION(yields) "({" HANDED "}, {" HANDED "}, {\n" yields "})"
#define TILE "tile = [128, 128, 128]"
/* 256 x 256 i8, tiles of 128 x 128, sums in i32, results in i64. */
#define KERNEL(before, body)                                                                                           \
  T("kernel") "() ({\n^bb0(%a: !tessera.view<256x256xi8>, %b: !tessera.view<256x256xi8>, %c: !tessera.view<256x256xi64>):\n" \
  "%z = " T("const") "() {value = 0}\n%e = " T("const") "() {value = 256}\n%d = " T("const") "() {value = 128}\n"       \
  "%x = " T("block_id") "() {axis = 0}\n%y = " T("block_id") "() {axis = 1}\n%m = " T("mul") "(%y, %d)\n%n = " T("mul") "(%x, %d)\n" \
  "%wa = " T("window") "(%a, %m, %z) {sizes = [128, 128]}\n%wb = " T("window") "(%b, %n, %z) {sizes = [128, 128]}\n"    \
  "%wc = " T("window") "(%c, %m, %n) {sizes = [128, 128]}\n" before body                                               \
  T("return") "()\n}) {sym_name = \"k\", grid = [2, 2, 1], outputs = 1, family = \"matmul\"}\n"
#define OWN(before, number)                                                                                            \
  KERNEL(before, T("contract") "(%z, %e, %wa, %wb, %wc) " REGION("^bb0(%s: i32):\n%l = " T("cast") "(%s) : (i32) -> i64\n" number \
  "%r = " T("add") "(%l, %i)\n" T("yield") "(%r)\n") " {maps = \"mk,nk->mn\", " TILE "}\n")
#define BEHIND(number)                                                                                                 \
  KERNEL("", "%s = " T("contract") "(%z, %e, %wa, %wb) " REGION("^bb0(%s: i32):\n" T("yield") "(%s)\n") " {maps = \"mk,nk->\", " TILE "}\n" \
  number "%t = " T("map") "(%s, %i) ({\n^bb0(%q: i32, %j: i64):\n%l = " T("cast") "(%q) : (i32) -> i64\n"              \
  "%r = " T("add") "(%l, %j)\n" T("yield") "(%r)\n})\n" T("store") "(%t, %wc)\n")
#define FRAG "!tessera.frag<128x128xi64>"

static char *lowered(const char *text, const tsr_caps *caps, bool whole) {
  ir_module *m = NULL, *t = NULL;
  strb s;
  OK(ir_parse(NULL, text, strlen(text), "numbers", &m));
  tsr_caps other = *caps;
  other.wgmma = other.tma = whole;
  OK(tile_expand(m, &other));
  OK(tile_to_target(m, &other, &t));
  strb_init(&s, NULL);
  ir_print(&s, t);
  char *out = strdup(strb_text(&s));
  strb_clear(&s);
  ir_module_destroy(&m);
  ir_module_destroy(&t);
  return out;
}

static void integers_keep_every_digit(void **state) {
  static const struct { const char *name, *text; } cases[] = {
      {"in the region", OWN("", "%i = " T("const") "() {value = " BIG "} : () -> i64\n")},
      {"outside of it", OWN("%i = " T("const") "() {value = " BIG "} : () -> i64\n", "")},
      {"spread behind the product", BEHIND("%o = " T("const") "() {value = " BIG "} : () -> i64\n%i = " T("splat") "(%o) : (i64) -> " FRAG "\n")},
      {"filled behind the product", BEHIND("%i = " T("fill") "() {value = " BIG "} : () -> " FRAG "\n")},
  };
  tsr_caps caps;
  OK(arch_caps_of(DIALECT_CUDA, "sm_90a", &caps));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int whole = 0; whole < 2; whole++) {
      char *s = lowered(cases[i].text, &caps, whole);
      if (!strstr(s, "path = \"wgmma m") != !whole)
        fail_msg("%s, %s: another path", cases[i].name, whole ? "whole" : "op by op");
      if (!strstr(s, "value = " BIG " : i64"))
        fail_msg("%s, %s: " BIG " is lost", cases[i].name, whole ? "whole" : "op by op");
      free(s);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(integers_keep_every_digit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
