/* Texts and whole numbers are printed by code of our own (core/base/number.c): as the C library prints them, into any
 * room. Memory of an arena is zeroed ahead of what is handed out (core/base/arena.c). */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/arena.h"
#include "core/base/number.h"

#define SAME(...)                                                          \
  do {                                                                     \
    for (size_t room = 0; room <= sizeof want; room++) {                   \
      memset(want, 'x', sizeof want), memset(have, 'x', sizeof have);      \
      const int n = snprintf(room ? want : NULL, room, __VA_ARGS__);       \
      assert_int_equal(number_print(room ? have : NULL, room, __VA_ARGS__), n); \
      assert_memory_equal(have, want, sizeof want);                        \
    }                                                                      \
  } while (0)

static void prints_as_the_c_library(void **state) {
  char want[64], have[64];
  const char *empty = "";
  SAME("plain");
  SAME("%s", empty);
  SAME("%s%s%%%c", "ab", "cdefgh", 'i');
  SAME("%d %d %d %d", 0, -1, INT_MAX, INT_MIN);
  SAME("%lld, %lld and %lld", 0ll, LLONG_MAX, LLONG_MIN);
  SAME("%s = %d.5", "x", 7);
  SAME("a number %5d, then %s", 42, "left to the C library");
  SAME("%.3s|%-4d|%g", "abcdef", 3, 0.25);
  SAME("%lld and %zu", -5ll, sizeof want);
}

static void arena_memory_is_zero(void **state) {
  arena a;
  size_t sizes[] = {1, 0, 16, 15, 17, 1000, 1024, 1025, 5000, 20000, 3, 1 << 20, 8}, sum = 0;
  arena_init(&a, NULL);
  for (int round = 0; round < 40; round++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      unsigned char *p = arena_alloc(&a, sizes[i]);
      assert_non_null(p);
      assert_int_equal((uintptr_t)p % 16, 0);
      for (size_t k = 0; k < sizes[i]; k++) sum += p[k];
      memset(p, 0xff, sizes[i]);
    }
  assert_int_equal(sum, 0);
  assert_null(arena_alloc(&a, SIZE_MAX));
  arena_clear(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(prints_as_the_c_library), cmocka_unit_test(arena_memory_is_zero)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
