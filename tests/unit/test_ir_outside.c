/* A value is used where it is defined: in programs of several kernels with buffers between them, at every level, no
 * kernel reads a value of the program, of the module or of another kernel but by its arguments, and no program a
 * buffer of another or of the module. What keeps to that compiles and runs on cpu:0; what doesn't is refused in one
 * line, wherever in the module it stands. */
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

enum { KERNELS = 3 };
/* What is put in; '$' stands for the level. `launch` is the operands of one. */
typedef struct planted {
  const char *what, *module, *program, *kernel[KERNELS], *launch[KERNELS];
} planted;

static void put_text(strb *b, const char *level, const char *text) {
  for (; text && *text; text++)
    if (*text == '$') strb_puts(b, level);
    else strb_putc(b, *text);
}

static void put_kernel(strb *b, const char *level, int i, const char *inside) {
  char head[1000];
  bool is_tile = !strcmp(level, "tile");
  snprintf(head, sizeof head,
           "\"tessera.$.kernel\"() ({\n^bb0(%%a%d: !tessera.view<8xf32>, %%b%d: !tessera.view<8xf32>):\n"
           "%%i%d = \"tessera.$.const\"() {value = 0 : i64} : () -> index\n",
           i, i, i);
  put_text(b, level, head);
  put_text(b, level, inside);
  if (is_tile)
    snprintf(head, sizeof head,
             "%%x%d = \"tessera.tile.load\"(%%a%d)\n%%y%d = \"tessera.tile.map\"(%%x%d) ({\n^bb0(%%p: f32):\n"
             "%%q = \"tessera.tile.add\"(%%p, %%p)\n\"tessera.tile.yield\"(%%q)\n})\n"
             "\"tessera.tile.store\"(%%y%d, %%b%d)\n",
             i, i, i, i, i, i);
  else
    snprintf(head, sizeof head,
             "\"tessera.target.map\"(%%b%d, %%a%d) ({\n^bb0(%%p: f32):\n%%q = \"tessera.target.add\"(%%p, %%p)\n"
             "\"tessera.target.yield\"(%%q)\n})\n",
             i, i);
  strb_puts(b, head);
  strb_printf(b, "\"tessera.%s.return\"()\n}) {sym_name = \"k%d\"%s, grid = [1, 1, 1], outputs = 1}\n", level, i,
              is_tile ? "" : ", dialect = \"cpu\"");
}

/* Each kernel doubles: k0 A to %B0, k1 %B0 to %B1, k2 %B1 to %C. */
static void put(strb *b, const char *level, const planted *p) {
  static const char *const operands[KERNELS] = {"%A, %B0", "%B0, %B1", "%B1, %C"};
  strb_puts(b, "\"builtin.module\"() ({\n");
  put_text(b, level, p->module);
  put_text(b, level, "\"tessera.$.program\"() ({\n^bb0(%A: tensor<8xf32>):\n"
                     "%B0 = \"tessera.$.buffer\"() : () -> tensor<8xf32>\n"
                     "%B1 = \"tessera.$.buffer\"() : () -> tensor<8xf32>\n"
                     "%C = \"tessera.$.buffer\"() : () -> tensor<8xf32>\n");
  put_text(b, level, p->program);
  for (int i = 0; i < KERNELS; i++)
    strb_printf(b, "\"tessera.%s.launch\"(%s) {kernel = \"k%d\"}\n", level, p->launch[i] ? p->launch[i] : operands[i],
                i);
  put_text(b, level, "\"tessera.$.return\"(%C)\n}) {sym_name = \"main\"}\n");
  for (int i = 0; i < KERNELS; i++) put_kernel(b, level, i, p->kernel[i]);
  strb_puts(b, "})\n");
}

#define INDEX "%o = \"tessera.$.const\"() {value = 0 : i64} : () -> index\n"
#define BUFFER(name) name " = \"tessera.$.buffer\"() : () -> tensor<8xf32>\n"
#define USE(v) "%z = \"tessera.$.add\"(" v ", " v ") : (index, index) -> index\n"
#define WINDOW(v, i) "%w = \"tessera.$.window\"(" v ", " i ") {sizes = [8]}\n"
#define IN_A_LOOP(body) \
  "%n = \"tessera.$.const\"() {value = 1 : i64} : () -> index\n\"tessera.$.for\"(%n, %n, %n) ({\n^bb0(%k: index):\n" body \
  "\"tessera.$.yield\"()\n})\n"
#define OTHER_PROGRAM \
  "\"tessera.$.program\"() ({\n^bb0(%Z: tensor<8xf32>):\n" BUFFER("%Y") \
  "\"tessera.$.launch\"(%Z, %Y) {kernel = \"k0\"}\n\"tessera.$.return\"(%Y)\n}) {sym_name = \"other\"}\n"

static const planted refused[] = {
    {"a module's value in the first kernel", INDEX, NULL, {USE("%o")}, {NULL}},
    {"a module's value in the last kernel", INDEX, NULL, {NULL, NULL, USE("%o")}, {NULL}},
    {"a module's value in a loop of a kernel", INDEX, NULL, {NULL, IN_A_LOOP(USE("%o"))}, {NULL}},
    {"a module's value as a window's place", INDEX, NULL, {NULL, WINDOW("%a1", "%o")}, {NULL}},
    {"the value of an earlier kernel", NULL, NULL, {NULL, USE("%i0")}, {NULL}},
    {"the value of a later kernel", NULL, NULL, {USE("%i2")}, {NULL}},
    {"the view of an earlier kernel", NULL, NULL, {NULL, NULL, WINDOW("%a0", "%i2")}, {NULL}},
    {"the view of a later kernel", NULL, NULL, {WINDOW("%b2", "%i0")}, {NULL}},
    {"the program's input in a kernel", NULL, NULL, {NULL, WINDOW("%A", "%i1")}, {NULL}},
    {"the program's buffer in a kernel", NULL, NULL, {NULL, NULL, WINDOW("%B0", "%i2")}, {NULL}},
    {"a kernel's view launched with", NULL, NULL, {NULL}, {NULL, "%b0, %B1"}},
    {"a module's buffer read", BUFFER("%M"), NULL, {NULL}, {NULL, "%M, %B1"}},
    {"a module's buffer written", BUFFER("%M"), NULL, {NULL}, {NULL, "%B0, %M"}},
    {"another program's buffer", OTHER_PROGRAM, NULL, {NULL}, {NULL, "%Y, %B1"}},
    {"another program's input", OTHER_PROGRAM, NULL, {NULL}, {NULL, "%Z, %B1"}},
    {"a buffer that comes later", NULL, "\"tessera.$.launch\"(%A, %L) {kernel = \"k0\"}\n" BUFFER("%L"), {NULL}, {NULL}},
};

static void values_from_outside_are_refused(void **state) {
  static const char *const levels[] = {"tile", "target"};
  for (int l = 0; l < 2; l++)
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
      strb b;
      strb_init(&b, NULL);
      put(&b, levels[l], &refused[i]);
      tsr_status st = ir_run(dev, strb_text(&b), NULL, 0);
      tsr_code code = tsr_status_code(st);
      if (code != TSR_PARSE_ERROR && code != TSR_VERIFY_ERROR)
        fail_msg("%s, %s: %s\n%s", refused[i].what, levels[l], tsr_status_message(st), strb_text(&b));
      if (strchr(tsr_status_message(st), '\n')) fail_msg("%s: more than a line", refused[i].what);
      tsr_status_free(st);
      strb_clear(&b);
    }
}

/* Equal names in several kernels are several values, and buffers carry what one kernel has for the next. */
static void buffers_carry_values_between_kernels(void **state) {
  static const planted fine[] = {
      {"nothing", NULL, NULL, {NULL}, {NULL}},
      {"own values of one name", NULL, NULL, {INDEX USE("%o"), INDEX USE("%o"), INDEX IN_A_LOOP(USE("%o"))}, {NULL}},
      {"own buffer", NULL, BUFFER("%M"), {NULL}, {NULL}},
  };
  static const char *const levels[] = {"tile", "target"};
  for (int l = 0; l < 2; l++)
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
      float y[8] = {0};
      strb b;
      strb_init(&b, NULL);
      put(&b, levels[l], &fine[i]);
      tsr_status st = ir_run(dev, strb_text(&b), y, sizeof y);
      if (st) fail_msg("%s, %s: %s\n%s", fine[i].what, levels[l], tsr_status_message(st), strb_text(&b));
      for (int k = 0; k < 8; k++) assert_true(y[k] == 8 * (float)(1 + k % 2));
      strb_clear(&b);
    }
}

/* The same above: kernels of a schedule and functions of a graph take what they need by their operands. */
static void schedules_and_graphs_keep_to_it_too(void **state) {
  static const char *const texts[] = {
      "\"tessera.schedule.program\"() ({\n^bb0(%A: tensor<8xf32>):\n%0 = \"tessera.schedule.kernel\"() ({\n"
      "%2 = \"tessera.graph.neg\"(%A)\n\"tessera.schedule.yield\"(%2)\n}) {sym_name = \"k\", family = \"elementwise\", "
      "space = [8]} : () -> tensor<8xf32>\n\"tessera.schedule.return\"(%0)\n}) {sym_name = \"main\"}\n",
      "\"tessera.schedule.program\"() ({\n^bb0(%A: tensor<8xf32>):\n%0 = \"tessera.schedule.kernel\"(%A) ({\n"
      "^bb0(%1: tensor<8xf32>):\n%2 = \"tessera.graph.neg\"(%1)\n\"tessera.schedule.yield\"(%2)\n}) {sym_name = \"k\", "
      "family = \"elementwise\", space = [8]} : (tensor<8xf32>) -> tensor<8xf32>\n"
      "%3 = \"tessera.schedule.kernel\"(%0) ({\n^bb0(%4: tensor<8xf32>):\n%5 = \"tessera.graph.add\"(%4, %2)\n"
      "\"tessera.schedule.yield\"(%5)\n}) {sym_name = \"l\", family = \"elementwise\", space = [8]} : (tensor<8xf32>) -> "
      "tensor<8xf32>\n\"tessera.schedule.return\"(%3)\n}) {sym_name = \"main\"}\n",
      "\"tessera.schedule.program\"() ({\n^bb0(%A: tensor<8xf32>):\n%0 = \"tessera.schedule.kernel\"(%A) ({\n"
      "^bb0(%1: tensor<8xf32>):\n%2 = \"tessera.graph.add\"(%1, %A)\n\"tessera.schedule.yield\"(%2)\n}) {sym_name = \"k\", "
      "family = \"elementwise\", space = [8]} : (tensor<8xf32>) -> tensor<8xf32>\n\"tessera.schedule.return\"(%0)\n}) "
      "{sym_name = \"main\"}\n",
      "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%A: tensor<8xf32>):\n%0 = \"tessera.graph.neg\"(%A)\n"
      "\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n\"tessera.graph.func\"() ({\n^bb0(%B: tensor<8xf32>):\n"
      "%1 = \"tessera.graph.add\"(%B, %0)\n\"tessera.graph.return\"(%1)\n}) {sym_name = \"other\"}\n})\n",
      "\"builtin.module\"() ({\n%c = \"tessera.graph.constant\"() {value = dense<1.0> : tensor<8xf32>}\n"
      "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<8xf32>):\n%0 = \"tessera.graph.add\"(%A, %c)\n"
      "\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n})\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    tsr_status st = ir_run(dev, texts[i], NULL, 0);
    tsr_code code = tsr_status_code(st);
    if (code != TSR_PARSE_ERROR && code != TSR_VERIFY_ERROR)
      fail_msg("%zu: %s: %s\n%s", i, tsr_code_name(code), tsr_status_message(st), texts[i]);
    tsr_status_free(st);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_from_outside_are_refused),
                                     cmocka_unit_test(buffers_carry_values_between_kernels),
                                     cmocka_unit_test(schedules_and_graphs_keep_to_it_too)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
