/* strb_printf: what it appends is what snprintf writes, whatever room was left; a refusal leaves what stood there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/base/str.h"

static void printf_appends_across_every_boundary(void **state) {
  enum { MOST = 300 };
  for (int before = 0; before < MOST; before++)
    for (int n = 0; n < 40; n++) {
      char expected[MOST + 64];
      strb b;
      strb_init(&b, &al_default);
      for (int i = 0; i < before; i++) strb_putc(&b, (char)('a' + i % 26));
      strb_printf(&b, "%.*s|%d", n, "0123456789012345678901234567890123456789", n);
      for (int i = 0; i < before; i++) expected[i] = (char)('a' + i % 26);
      snprintf(expected + before, sizeof expected - (size_t)before, "%.*s|%d", n,
               "0123456789012345678901234567890123456789", n);
      assert_string_equal(strb_text(&b), expected);
      assert_int_equal(b.n, strlen(expected));
      strb_printf(&b, "%s", "");
      assert_string_equal(strb_text(&b), expected);
      strb_clear(&b);
    }
}

static void printf_of_nothing_is_a_text(void **state) {
  strb b;
  strb_init(&b, &al_default);
  strb_printf(&b, "%s", "");
  assert_non_null(b.p);
  assert_string_equal(strb_text(&b), "");
  strb_clear(&b);
}

/* One allocation is given, no more. */
static void *once(void *user, size_t size, size_t align) {
  int *left = user;
  return (*left)-- > 0 ? malloc(size) : NULL;
}

static void give_back(void *user, void *p, size_t size, size_t align) { free(p); }

static void printf_without_memory_leaves_the_text(void **state) {
  int left = 1;
  strb b;
  strb_init(&b, &(tsr_allocator){once, give_back, &left});
  strb_printf(&b, "%s", "kept");
  assert_string_equal(b.p, "kept");
  for (int i = 0; i < 2; i++) {
    strb_printf(&b, "%4000d", 7);
    assert_true(b.failed);
    assert_string_equal(b.p, "kept");
    assert_int_equal(b.n, 4);
  }
  strb_clear(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(printf_appends_across_every_boundary),
      cmocka_unit_test(printf_of_nothing_is_a_text),
      cmocka_unit_test(printf_without_memory_leaves_the_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
