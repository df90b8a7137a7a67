/* Products of 256 x 256 f16 that are lowered as whole kernels: from a tessera.tile.contract, from the loop that it
 * stands for, and with the epilogue inside or behind it comes the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/device/arch.h"
#include "core/passes/lower.h"
#include "core/passes/tile/expand_contract.h"
#include "tests/support/api_check.h"
#include "tests/support/tile_text.h"

/* Arguments a, b of 256 x 256 f16 as `a` and `b` say, tiles of 128 x 128, steps of 64, a bias and relu behind. */
static const char *wide(char *buf, size_t size, const char *maps, const char *wa, const char *wb, const char *range,
                        const char *attrs) {
  static const char begin[] =
      T("kernel") "() ({\n^bb0(%a: !tessera.view<256x256xf16>, %b: !tessera.view<256x256xf16>, "
      "%v: !tessera.view<256xf32>, %c: !tessera.view<256x256xf32>):\n"
      "%z = " T("const") "() {value = 0}\n%e = " T("const") "() {value = 256}\n"
      "%d = " T("const") "() {value = 128}\n"
      "%x = " T("block_id") "() {axis = 0}\n%y = " T("block_id") "() {axis = 1}\n%q = " T("block_id") "() {axis = 2}\n"
      "%m = " T("mul") "(%y, %d)\n%n = " T("mul") "(%x, %d)\n%f = " T("mul") "(%q, %d)\n%l = " T("add") "(%f, %d)\n"
      "%t = " T("min") "(%l, %e)\n"
      "%bias = " T("view") "(%v) : (!tessera.view<256xf32>) -> !tessera.view<1x256xf32, strides=[0, 1]>\n"
      "%wv = " T("window") "(%bias, %z, %n) {sizes = [1, 128]}\n"
      "%wc = " T("window") "(%c, %m, %n) {sizes = [128, 128]}\n";
  static const char product[] = PLAIN("f16") "^bb0(%s: f32):\n" YIELD("%s") "})";
  static const char end[] = "%u = " T("load") "(%wv)\n"
                            "%r = " T("map") "(%s, %u) ({\n^bb0(%g: f32, %w: f32):\n%o = " T("add") "(%g, %w)\n"
                            "%h = " T("relu") "(%o)\n" YIELD("%h") "})\n" T("store") "(%r, %wc)\n" T("return") "()\n";
  snprintf(buf, size,
           "%s%%wa = " T("window") "(%%a, %s\n%%wb = " T("window") "(%%b, %s\n"
           "%%s = " T("contract") "(%s, %%wa, %%wb) %s {maps = \"%s->\", tile = [128, 128, 64], stages = 3}\n"
           "%s}) {sym_name = \"k\", grid = [2, 2, 2], outputs = 1, family = \"matmul\"%s}\n",
           begin, wa, wb, range, product, maps, end, attrs);
  return buf;
}

/* The path that the kernel took, of a text that is written out before, or not. */
static char *by_path(const char *text, const tsr_caps *caps, bool written_out, const char *path) {
  ir_module *m = parse(text, caps->arch), *t = NULL;
  OK(written_out ? tile_expand_contract(m, NULL, NULL) : tile_expand(m, caps));
  char *before = printed(m);
  if (!strstr(before, "tile.contract") != written_out) fail_msg("%s: %s", caps->arch, before);
  OK(tile_to_target(m, caps, &t));
  char *s = printed(t);
  if (!strstr(s, path)) fail_msg("%s: no %s\n%s", caps->arch, path, s);
  free(before);
  ir_module_destroy(&m);
  ir_module_destroy(&t);
  return s;
}

/* Lowerings of whole kernels take the op as it stands, and the same from a loop written by hand: from either the same
 * code. */
static void whole_kernels_take_it_as_it_stands(void **state) {
  static const struct {
    tsr_dialect dialect;
    const char *arch, *path, *maps, *wa, *wb, *range, *attrs;
  } cases[] = {
#define MK "%m, %z) {sizes = [128, 64]}"
#define KN "%z, %n) {sizes = [64, 128]}"
#define NK "%n, %z) {sizes = [128, 64]}"
#define KM "%z, %m) {sizes = [64, 128]}"
      {DIALECT_CUDA, "sm_90a", "wgmma", "mk,kn", MK, KN, "%z, %e", ""},
      {DIALECT_CUDA, "sm_90a", "wgmma", "mk,nk", MK, NK, "%z, %e", ""},
      {DIALECT_CUDA, "sm_90a", "wgmma", "km,kn", KM, KN, "%f, %t", ""},
      {DIALECT_HIP, "gfx942", "lds_load", "mk,nk", MK, NK, "%z, %e", ", matrix = \"direct\""},
      {DIALECT_HIP, "gfx942", "lds_load", "km,kn", KM, KN, "%f, %t", ", matrix = \"direct\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[4096];
    tsr_caps caps;
    OK(arch_caps_of(cases[i].dialect, cases[i].arch, &caps));
    wide(text, sizeof text, cases[i].maps, cases[i].wa, cases[i].wb, cases[i].range, cases[i].attrs);
    char *a = by_path(text, &caps, false, cases[i].path), *b = by_path(text, &caps, true, cases[i].path);
    assert_string_equal(a, b);
    free(a), free(b);
  }
}

/* The bias and relu of `wide` in the op's own region. */
static void into_region(char *text, size_t size, const char *maps, const char *range) {
  char tail[512], *at = strstr(text, "%s = "), *end = strstr(text, T("return"));
  assert_true(at && end && strlen(end) < sizeof tail);
  strcpy(tail, end);
  snprintf(
      at, size - (size_t)(at - text),
      T("contract") "(%s, %%wa, %%wb, %%wv, %%wc) %s {maps = \"%s,mn->mn\", tile = [128, 128, 64], stages = 3}\n%s",
      range,
      PLAIN("f16") "^bb0(%g: f32, %w: f32):\n%o = " T("add") "(%g, %w)\n%h = " T("relu") "(%o)\n" YIELD("%h") "})",
      maps, tail);
}

/* An epilogue in the op's region and one in maps behind it: the same code, taken whole or written out. */
static void whole_kernels_take_the_epilogue(void **state) {
  static const struct {
    tsr_dialect dialect;
    const char *arch, *path, *range, *attrs;
  } cases[] = {{DIALECT_CUDA, "sm_90a", "wgmma", "%z, %e", ""},
               {DIALECT_CUDA, "sm_90a", "wgmma", "%f, %t", ""},
               {DIALECT_HIP, "gfx942", "lds_load", "%z, %e", ", matrix = \"direct\""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char behind[4096], own[4096];
    tsr_caps caps;
    OK(arch_caps_of(cases[i].dialect, cases[i].arch, &caps));
    wide(behind, sizeof behind, "mk,nk", MK, NK, cases[i].range, cases[i].attrs);
    strcpy(own, behind);
    into_region(own, sizeof own, "mk,nk", cases[i].range);
    char *a = by_path(behind, &caps, false, cases[i].path), *b = by_path(own, &caps, false, cases[i].path),
         *c = by_path(own, &caps, true, cases[i].path);
    assert_string_equal(a, b);
    assert_string_equal(a, c);
    free(a), free(b), free(c);
  }
}

/* An epilogue of as many tensors as fusion gives a kernel. */
static void whole_kernels_take_a_long_epilogue(void **state) {
  enum { N = 28 };
  char text[16384], others[512] = "", maps[512] = "", arguments[1024] = "%g: f32", sum[4096] = "", tail[512], *at, *end;
  tsr_caps caps;
  OK(arch_caps_of(DIALECT_CUDA, "sm_90a", &caps));
  wide(text, sizeof text, "mk,nk", MK, NK, "%z, %e", "");
  for (int i = 0; i < N; i++) {
    strcat(others, "%wv, "), strcat(maps, ",mn");
    sprintf(arguments + strlen(arguments), ", %%w%d: f32", i);
    char before[16] = "g";
    if (i) snprintf(before, sizeof before, "o%d", i - 1);
    sprintf(sum + strlen(sum), "%%o%d = " T("add") "(%%%s, %%w%d)\n", i, before, i);
  }
  at = strstr(text, "%s = "), end = strstr(text, T("return"));
  assert_true(at && end && strlen(end) < sizeof tail);
  strcpy(tail, end);
  sprintf(
      at,
      T("contract") "(%%z, %%e, %%wa, %%wb, %s%%wc) ({\n^bb0(%%p: f16):\n" YIELD("%%p") "}, {\n^bb0(%%p: f16):\n" YIELD(
          "%%p") "}, {\n^bb0(%s):\n%s" YIELD("%%o27") "}) {maps = \"mk,nk%s->mn\", tile = [128, 128, 64], stages = "
                                                      "3}\n%s",
      others, arguments, sum, maps, tail);
  free(by_path(text, &caps, false, "path = \"wgmma m"));
}

/* Lowerings of whole kernels know no other op that writes: one before the contraction would be lost. */
static void what_is_written_before_is_not_lost(void **state) {
  char text[4096], *at;
  tsr_caps caps;
  OK(arch_caps_of(DIALECT_CUDA, "sm_90a", &caps));
  wide(text, sizeof text, "mk,kn", MK, KN, "%z, %e", "");
  static const char store[] = "%again = " T("load") "(%wc)\n" T("store") "(%again, %wc)\n";
  assert_non_null(at = strstr(text, "%s = "));
  memmove(at + strlen(store), at, strlen(at) + 1);
  memcpy(at, store, strlen(store));
  for (int written_out = 0; written_out < 2; written_out++) {
    ir_module *m = parse(text, "store"), *t = NULL;
    OK(written_out ? tile_expand_contract(m, NULL, NULL) : tile_expand(m, &caps));
    OK(tile_to_target(m, &caps, &t));
    char *before = printed(m), *s = printed(t);
    assert_null(strstr(before, "tile.contract"));
    assert_null(strstr(s, "path = \"wgmma m")); /* a whole kernel; "wgmma" alone goes op by op */
    free(before), free(s);
    ir_module_destroy(&m);
    ir_module_destroy(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_kernels_take_it_as_it_stands),
      cmocka_unit_test(whole_kernels_take_the_epilogue),
      cmocka_unit_test(whole_kernels_take_a_long_epilogue),
      cmocka_unit_test(what_is_written_before_is_not_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
