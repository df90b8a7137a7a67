/* JSON reader: values, escapes, and refusals with their place. */
#include "core/base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void values_are_read(void **state) {
  static const char text[] =
      " {\"a\": [1, -2.5e3, true, false, null, \"x\\n\\u00e9\\ud83d\\ude00\"], \"b\": {}, \"a2\": 7, \"a2\": 8} ";
  arena a;
  json *j;
  arena_init(&a, NULL);
  assert_null(json_parse(&a, text, strlen(text), "t", &j));
  assert_int_equal(j->n, 4);
  const json *v = json_get(j, "a")->first;
  assert_true(v->number == 1 && v->next->number == -2500);
  assert_true(v->next->next->boolean && v->next->next->type == JSON_BOOL);
  assert_int_equal(v->next->next->next->next->type, JSON_NULL);
  assert_string_equal(v->next->next->next->next->next->string, "x\n\xc3\xa9\xf0\x9f\x98\x80");
  assert_true(json_num(j, "a2", 0) == 8 && json_num(j, "none", 5) == 5);
  assert_string_equal(json_str(j, "a2", "not a string"), "not a string");
  assert_null(json_get(json_get(j, "a"), "a"));
  arena_clear(&a);
}

static void whole_numbers_keep_to_their_type(void **state) {
  static const char text[] =
      "{\"big\": 1e300, \"small\": -1e300, \"edge\": 9223372036854775808, \"half\": -2.5, \"word\": \"7\"}";
  arena a;
  json *j;
  arena_init(&a, NULL);
  assert_null(json_parse(&a, text, strlen(text), "t", &j));
  assert_true(json_i32(j, "big", 0) == INT32_MAX && json_i32(j, "small", 0) == INT32_MIN &&
              json_i32(j, "half", 0) == -2 && json_i32(j, "word", 5) == 5);
  assert_true(json_i64(j, "big", 0) == INT64_MAX && json_i64(j, "small", 0) == INT64_MIN &&
              json_i64(j, "edge", 0) == INT64_MAX && json_i64(j, "none", INT64_MIN) == INT64_MIN);
  arena_clear(&a);
}

static void malformed_text_is_refused_with_its_place(void **state) {
  static const char *const bad[] = {"",         "{",       "[1,]",      "[1 2]",       "{\"a\" 1}",   "{a: 1}",
                                    "\"abc",    "\"\\q\"", "\"\\u12\"", "\"\\ud800\"", "\"\\u0000\"", "01",
                                    "1.",       "-",       "+1",        "nul",         "1e999",       "[1] x",
                                    "\"a\nb\"", "\"a\\",   ".5",        "\"\x9f\"",  "\"\xc3\"",    "\"\xed\xa0\x80\""};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    arena a;
    json *j;
    arena_init(&a, NULL);
    char *exact = malloc(strlen(bad[i]) + 1); /* no terminator within the given length, for the sanitiser */
    memcpy(exact, bad[i], strlen(bad[i]) + 1);
    tsr_status st = json_parse(&a, exact, strlen(bad[i]), "f.json", &j);
    assert_int_equal(tsr_status_code(st), TSR_PARSE_ERROR);
    assert_non_null(strstr(tsr_status_message(st), "f.json:"));
    assert_null(j);
    tsr_status_free(st);
    free(exact);
    arena_clear(&a);
  }
}

static void deep_nesting_is_refused(void **state) {
  char text[4000];
  memset(text, '[', sizeof text);
  arena a;
  json *j;
  arena_init(&a, NULL);
  tsr_status st = json_parse(&a, text, sizeof text, "f", &j);
  assert_int_equal(tsr_status_code(st), TSR_PARSE_ERROR);
  tsr_status_free(st);
  arena_clear(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_read), cmocka_unit_test(whole_numbers_keep_to_their_type),
      cmocka_unit_test(malformed_text_is_refused_with_its_place), cmocka_unit_test(deep_nesting_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
