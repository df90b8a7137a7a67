/* tests/unit/test_base_knob.c - every knob refuses what its row does not have, by its own type, and takes all that the
 * row lists; names that are no knob are found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/knob.h"
#include "core/passes/simt/matrix/paths.h"
#include "tessera/tessera.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void refuses(const char *name, const char *value, const char *word) {
  tsr_context *ctx = NULL;
  setenv(name, value, 1);
  tsr_status st = tsr_context_create(NULL, &ctx);
  unsetenv(name);
  if (tsr_status_code(st) != TSR_INVALID_ARGUMENT) fail_msg("%s=\"%s\": %s", name, value, tsr_status_message(st));
  assert_null(ctx);
  assert_non_null(strstr(tsr_status_message(st), name));
  assert_non_null(strstr(tsr_status_cause(st), word));
  assert_true(tsr_status_hint(st)[0]);
  assert_null(strchr(tsr_status_message(st), '\n'));
  tsr_status_free(st);
}

static void takes(const char *name, const char *value) {
  tsr_context *ctx = NULL;
  setenv(name, value, 1);
  tsr_status st = tsr_context_create(NULL, &ctx);
  unsetenv(name);
  if (st) fail_msg("%s=\"%s\": %s", name, value, tsr_status_message(st));
  tsr_context_destroy(&ctx);
}

static void every_knob_refuses_an_unknown_word(void **state) {
  static const char *const of_int[] = {"banana", "-1", "1x", " 1", "+1", "0x4", "99999999999999999999", "1000001"},
                           *const of_word[] = {"banana", "Auto", "auto,auto", " fast", "\x01", "%s%n"},
                           *const of_bool[] = {"banana", "2", "01", "-1"};
  size_t n;
  const knob *k = knob_table(&n);
  for (size_t i = 0; i < n; i++) {
    if (k[i].type == KNOB_TEXT || k[i].type == KNOB_SWITCH) continue;
    refuses(k[i].name, "banana", "banana");
    for (size_t w = 0; k[i].type == KNOB_INT && w < 8; w++) refuses(k[i].name, of_int[w], "\"");
    for (size_t w = 0; k[i].type == KNOB_WORD && w < 6; w++) refuses(k[i].name, of_word[w], "unknown word");
    for (size_t w = 0; k[i].type == KNOB_BOOL && w < 4; w++) refuses(k[i].name, of_bool[w], "unknown word");
  }
  refuses("TSR_DUMP", "graph,banana,tile", "\"banana\"");
  refuses("TSR_DUMP", "after", "\"after\"");
  refuses("TSR_DUMP", "before:expand", "\"before:expand\"");
  refuses("TSR_VK_FAULT", "oom:expand", "\"oom:expand\"");
  refuses("TSR_DUMP", "graph tile", "\"graph tile\"");
  refuses("TSR_VK_FAULT", "oom:x", "\"oom:x\"");
  refuses("TSR_VK_FAULT", "oom", "\"oom\"");
  refuses("TSR_VK_FAULT", "oom:1,lost", "\"lost\"");
  refuses("TSR_VK_FAULT", "oom:1:2", "\"oom:1:2\"");
  refuses("TSR_VK_HIDE", "timeline,timelines", "\"timelines\"");
  refuses("TSR_VK_HIDE", "shared", "\"shared\"");
  refuses("TSR_VK_HIDE", "shared=", "\"shared=\"");
  refuses("TSR_VK_HIDE", "shared=16k", "\"shared=16k\"");
  refuses("TSR_VK_HIDE", "shared:16384", "\"shared:16384\"");
  refuses("TSR_VK_HIDE", "int64=1", "\"int64=1\"");
  refuses("TSR_BACKEND", "cpu,banana:1", "\"banana\"");
}

static void every_knob_takes_what_its_row_lists(void **state) {
  size_t n;
  const knob *k = knob_table(&n);
  for (size_t i = 0; i < n; i++) {
    takes(k[i].name, "");
    takes(k[i].name, k[i].dflt);
    for (const char *w = k[i].words; w && *w && !strchr(k[i].words, ':'); w += strcspn(w, ","), w += *w == ',') {
      char word[32];
      snprintf(word, sizeof word, "%.*s", (int)strcspn(w, ","), w);
      if (!strchr(word, '=')) takes(k[i].name, word);
    }
  }
  takes("TSR_VK_FAULT", "oom:3,lost:5");
  takes("TSR_VK_HIDE", "timeline,int64,shared=16384,invocations=128");
  takes("TSR_DUMP", "graph,schedule,tile,target,source");
  takes("TSR_DUMP", "tile,after:expand");
  takes("TSR_BACKEND", "vulkan:1,cuda:sm_90a,hip,cpu");
  takes("TSR_CPU_BIND", "OFF");
  takes("TSR_THREADS", "256");
}

/* The knob's words and the paths that there are: each path can be asked for. */
static void each_matrix_path_is_a_word_of_its_knob(void **state) {
  for (int i = 0; simt_paths[i]; i++) takes("TSR_MATRIX", simt_paths[i]->name);
}

static int warned;
static char warning[256];
static void on_log(void *user, tsr_log_level level, const char *text) {
  warned++;
  snprintf(warning, sizeof warning, "%s", text);
}

static void unknown_variables_are_warned_of(void **state) {
  tsr_context *ctx;
  tsr_context_desc d = {.log = on_log};
  assert_null(tsr_context_create(&d, &ctx));
  assert_int_equal(warned, 0);
  tsr_context_destroy(&ctx);
  setenv("TSR_MATRX", "scalar", 1);
  assert_null(tsr_context_create(&d, &ctx));
  unsetenv("TSR_MATRX");
  tsr_context_destroy(&ctx);
  assert_int_equal(warned, 1);
  assert_non_null(strstr(warning, "TSR_MATRX"));
  assert_non_null(strstr(warning, "TSR_MATRIX?"));
  setenv("TSR_SOMETHING_ELSE_OF_A_LONG_NAME_THAT_NOBODY_READS", "1", 1);
  assert_null(tsr_context_create(&d, &ctx));
  unsetenv("TSR_SOMETHING_ELSE_OF_A_LONG_NAME_THAT_NOBODY_READS");
  tsr_context_destroy(&ctx);
  assert_int_equal(warned, 2);
  assert_null(strchr(warning, '?'));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_knob_refuses_an_unknown_word), cmocka_unit_test(every_knob_takes_what_its_row_lists),
      cmocka_unit_test(each_matrix_path_is_a_word_of_its_knob), cmocka_unit_test(unknown_variables_are_warned_of)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
