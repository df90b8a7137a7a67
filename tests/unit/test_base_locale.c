/* An application whose locale writes 1,5 and takes bytes above 127 for letters: everything that the library writes and
 * reads is as in the C locale, and the application's locale is left alone. The locale is compiled into a folder of this
 * test's own, so that the machine need not have it. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/json.h"
#include "core/base/number.h"
#include "core/tune/device.h"
#include "tests/support/api_check.h"

static const char text[] =
    "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%A: tensor<4x8xf32>):\n"
    "%c = \"tessera.graph.constant\"() {value = dense<1.375> : tensor<8xf32>}\n"
    "%0 = \"tessera.graph.mul\"(%A, %c)\n%1 = \"tessera.graph.layernorm\"(%0) {eps = 0.001953125}\n"
    "%2 = \"tessera.graph.gelu\"(%1)\n\"tessera.graph.return\"(%2)\n}) {sym_name = \"main\"}\n})\n";
static const char profile[] = "name = x\nclock_ghz = 1.5\ntier = hbm 1e9 1234.5 600.25 measured\n";

enum { N_TEXTS = 5 };
static char *in_c[N_TEXTS], *in_german[N_TEXTS];
static float y_c[32], y_german[32];
static char dir[] = "/tmp/tessera_locale_XXXXXX";

static void run(tsr_context *ctx, tsr_program *p, tsr_device *dev, float y[32]) {
  float x[32];
  tsr_buffer *in = NULL, *out = NULL;
  for (int i = 0; i < 32; i++) x[i] = (float)(i * 7 % 11) / 8;
  OK(tsr_buffer_create(dev, sizeof x, TSR_MEMORY_DEVICE, &in));
  OK(tsr_buffer_create(dev, sizeof x, TSR_MEMORY_DEVICE, &out));
  OK(tsr_buffer_write(in, 0, x, sizeof x));
  OK(tsr_program_run(p, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0}));
  OK(tsr_buffer_read(out, 0, y, sizeof x));
  tsr_buffer_destroy(&in);
  tsr_buffer_destroy(&out);
}

static void keep(tsr_context *ctx, char **copy, char *t) {
  *copy = strdup(t);
  tsr_text_free(ctx, &t);
}

/* All texts of one locale: a graph, sources for three devices, a profile; and a result. */
static void make(char *texts[N_TEXTS], float y[32]) {
  static const char *const ids[] = {"null:cuda", "null:hip", "cpu:0"};
  tsr_context *ctx = NULL;
  tsr_graph *g = NULL;
  char *t = NULL;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_graph_parse(ctx, text, sizeof text - 1, "test", &g));
  OK(tsr_graph_print(g, &t));
  keep(ctx, &texts[0], t);
  for (int i = 0; i < 3; i++) {
    tsr_device *dev = NULL;
    tsr_program *p = NULL;
    OK(tsr_device_open(ctx, ids[i], &dev));
    OK(tsr_program_parse(dev, texts[0], strlen(texts[0]), "again", &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
    OK(tsr_program_dump(p, TSR_LEVEL_SOURCE, &t, NULL));
    keep(ctx, &texts[1 + i], t);
    if (i == 2) run(ctx, p, dev, y);
    tsr_program_destroy(&p);
    tsr_device_close(&dev);
  }
  tune_device d;
  strb b;
  OK(tune_device_parse(profile, "test", &d));
  assert_true(d.n_tiers == 1 && d.tier[0].gbps == 1234.5 && d.tier[0].latency_cycles == 600.25 && d.tier[0].measured);
  strb_init(&b, NULL);
  tune_device_print(&d, &b);
  texts[4] = strdup(strb_text(&b));
  strb_clear(&b);
  tsr_graph_destroy(&g);
  tsr_context_destroy(&ctx);
}

static void texts_and_results_are_those_of_the_c_locale(void **state) {
  make(in_german, y_german);
  for (int i = 0; i < N_TEXTS; i++) assert_string_equal(in_german[i], in_c[i]);
  assert_memory_equal(y_german, y_c, sizeof y_c);
  assert_non_null(strstr(in_c[0], "1.375"));
}

static void numbers_have_a_point(void **state) {
  char s[32];
  json *j;
  arena a;
  arena_init(&a, NULL);
  number_print(s, sizeof s, "%.3f", 1.375);
  assert_string_equal(s, "1.375");
  assert_true(number_read("1.375", NULL) == 1.375);
  OK(json_parse(&a, "{\"x\": 1.375}", 12, "test", &j));
  assert_true(json_num(j, "x", 0) == 1.375);
  arena_clear(&a);
}

/* What the locale takes for a letter is none in IR text. */
static void names_are_ascii(void **state) {
  tsr_context *ctx = NULL;
  tsr_graph *g = NULL;
  tsr_value v;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_graph_create(ctx, "main", &g));
  tsr_status st = tsr_graph_input(g, "\xe9", TSR_F32, (tsr_shape){1, {4}}, &v);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  tsr_graph_destroy(&g);
  tsr_context_destroy(&ctx);
}

static void the_applications_locale_stays(void **state) {
  char s[32];
  snprintf(s, sizeof s, "%.1f", 1.5);
  assert_string_equal(s, "1,5");
}

/* What glibc's setlocale keeps of LOCPATH, of which the address sanitizer would say that it leaks. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:argz_add_sep\n"; }

/* False: this machine has not what it takes. */
static bool compile_locale(void) {
  char command[256];
  if (!mkdtemp(dir)) return false;
  snprintf(command, sizeof command, "localedef -i de_DE -f ISO-8859-1 %s/de_DE.ISO-8859-1 >%s/log 2>&1", dir, dir);
  if (system(command) == -1) return false;
  setenv("LOCPATH", dir, 1);
  locale_t there = newlocale(LC_ALL_MASK, "de_DE.ISO-8859-1", (locale_t)0);
  if (there) freelocale(there);
  return there != (locale_t)0;
}

static int first_in_c(void **state) {
  make(in_c, y_c);
  return !setlocale(LC_ALL, "de_DE.ISO-8859-1");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(texts_and_results_are_those_of_the_c_locale),
                                     cmocka_unit_test(numbers_have_a_point), cmocka_unit_test(names_are_ascii),
                                     cmocka_unit_test(the_applications_locale_stays)};
  char command[64];
  int rc = 77;
  if (compile_locale()) rc = cmocka_run_group_tests(tests, first_in_c, NULL);
  else printf("skipped: localedef can't make a German locale here\n");
  snprintf(command, sizeof command, "rm -rf %s", dir);
  if (system(command)) printf("%s is left\n", dir);
  for (int i = 0; i < N_TEXTS; i++) free(in_c[i]), free(in_german[i]);
  return rc;
}
