/* What the tests of arguments share (test_runtime_arguments.c, test_runtime_arguments_tools.c): calls with what the
 * headers don't allow, counted by function, objects to call them with, and the check that every function of a header
 * was tried. */
#ifndef TESTS_UNIT_BAD_ARGUMENTS_H
#define TESTS_UNIT_BAD_ARGUMENTS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/api_check.h"

static const char *tried[256];
static size_t n_tried;

/* Calls of one function are listed once. */
static void try(const char *call) {
  size_t n = strcspn(call, "(") + 1;
  for (size_t i = 0; i < n_tried; i++)
    if (!strncmp(tried[i], call, n)) return;
  assert_true(n_tried < sizeof tried / sizeof *tried);
  tried[n_tried++] = call;
}

static bool was_tried(const char *name, size_t n) {
  for (size_t i = 0; i < n_tried; i++)
    if (!strncmp(tried[i], name, n) && tried[i][n] == '(') return true;
  return false;
}

static void expect_bad(const char *call, tsr_status st) {
  try(call);
  if (tsr_status_code(st) != TSR_INVALID_ARGUMENT)
    fail_msg("%s: %s: %s", call, tsr_code_name(tsr_status_code(st)), tsr_status_message(st));
  if (!*tsr_status_cause(st) || strchr(tsr_status_message(st), '\n'))
    fail_msg("%s: \"%s\"", call, tsr_status_message(st));
  tsr_status_free(st);
}

/* A status, and nothing else. */
#define BAD(...) expect_bad(#__VA_ARGS__, __VA_ARGS__)
/* The same for a call that gives something: `out` holds junk before and must be empty afterwards. */
#define BAD_OUT(out, ...)                                                 \
  do {                                                                    \
    memset(&(out), 0x5a, sizeof(out));                                    \
    expect_bad(#__VA_ARGS__, __VA_ARGS__);                                \
    if (out) fail_msg("%s leaves something behind", #__VA_ARGS__);        \
  } while (0)
#define HOLDS_TEXT(call, want) do { try(#call); if (!(*(call) want)) fail_msg("%s", #call " " #want); } while (0)
#define HOLDS(call, want) do { try(#call); if (!((call) want)) fail_msg("%s", #call " " #want); } while (0)

static const char text_ok[] = "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<2x3xf32>):\n%0 = "
                              "\"tessera.graph.neg\"(%A)\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";

static tsr_context *ctx;
static tsr_device *dev, *arch;
static tsr_graph *g;
static tsr_value a, b;
static tsr_program *prog;
static tsr_buffer *buf;
static tsr_binding one;

static int set_up(void **state) {
  const tsr_shape s = {2, {4, 4}};
  tsr_value v[2];
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_device_open(ctx, "null:spirv", &arch));
  OK(tsr_graph_create(ctx, NULL, &g));
  OK(tsr_graph_input(g, "A", TSR_F32, s, &a));
  v[0] = v[1] = a;
  OK(tsr_graph_op(g, "matmul", v, 2, NULL, 0, &b));
  OK(tsr_graph_output(g, b));
  OK(tsr_program_compile(dev, g, NULL, &prog));
  OK(tsr_buffer_create(dev, 64, TSR_MEMORY_DEVICE, &buf));
  one = (tsr_binding){buf, 0};
  return 0;
}

static int tear_down(void **state) {
  tsr_buffer_destroy(&buf);
  tsr_program_destroy(&prog);
  tsr_graph_destroy(&g);
  tsr_device_close(&arch);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}

/* Returns how many functions the headers have. */
static int every_function_was_tried(const char *const *headers, size_t n_headers) {
  static char text[1 << 17];
  char path[512];
  int n = 0;
  for (size_t i = 0; i < n_headers; i++) {
    snprintf(path, sizeof path, "%s/include/tessera/%s.h", TSR_SOURCE_DIR, headers[i]);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    for (const char *at = text; (at = strstr(at, "\nTSR_API "));) {
      at += strlen("\nTSR_API ");
      const char *open = strchr(at, '('), *name = open;
      while (name > at &&
             (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z') || (name[-1] >= '0' && name[-1] <= '9')))
        name--;
      n++;
      if (!was_tried(name, (size_t)(open - name)))
        fail_msg("%.*s of %s.h is not tried", (int)(open - name), name, headers[i]);
    }
  }
  return n;
}
#endif
