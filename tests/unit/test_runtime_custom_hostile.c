/* Custom ops whose callbacks break their word: lengths of sources, messages without an end. Meant for the address
 * sanitizer as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/api_check.h"

typedef struct behaviour {
  size_t first, second; /* what source returns without and with memory */
  bool fills_why, fails_infer, fails_cpu;
} behaviour;

static bool full_of_letters(char *why, size_t n) {
  memset(why, 'x', n);
  return false;
}

static bool infer(void *user, const tsr_custom_call *c, char *why, size_t n) {
  const behaviour *b = user;
  if (b->fails_infer) return full_of_letters(why, n);
  c->result->dtype = c->operands[0].dtype, c->result->shape = c->operands[0].shape;
  return true;
}

static bool cpu(void *user, const tsr_custom_call *c, int64_t first, int64_t last, char *why, size_t n) {
  const behaviour *b = user;
  if (b->fails_cpu) return full_of_letters(why, n);
  return true;
}

static size_t source(void *user, const char *backend, const tsr_custom_call *c, char *text, size_t bytes) {
  const behaviour *b = user;
  for (size_t i = 0; text && i + 1 < bytes; i++) text[i] = ' ';
  if (bytes) text[bytes - 1] = 0;
  return text ? b->second : b->first;
}

static tsr_code compile_and_run(behaviour *b, bool with_source, char message[1024]) {
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  tsr_buffer *x = NULL, *y = NULL;
  tsr_value v;
  const tsr_custom_op op = {
      .name = "my.op", .n_operands = 1, .infer = infer, .cpu = cpu, .source = with_source ? source : NULL, .user = b};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_custom_op_register(ctx, &op));
  OK(tsr_graph_create(ctx, "main", &g));
  OK(tsr_graph_input(g, "A", TSR_F32, (tsr_shape){1, {8}}, &v));
  tsr_status st = tsr_graph_op(g, "my.op", &v, 1, NULL, 0, &v);
  if (!st) st = tsr_graph_output(g, v);
  if (!st) st = tsr_program_compile(dev, g, NULL, &p);
  if (!st) st = tsr_buffer_create(dev, 32, TSR_MEMORY_DEVICE, &x);
  if (!st) st = tsr_buffer_create(dev, 32, TSR_MEMORY_DEVICE, &y);
  if (!st) st = tsr_program_run(p, NULL, &(tsr_binding){x, 0}, &(tsr_binding){y, 0});
  if (!st) st = tsr_buffer_read(y, 0, message, 32);
  tsr_code code = tsr_status_code(st);
  snprintf(message, 1024, "%s", tsr_status_message(st));
  tsr_status_free(st);
  tsr_buffer_destroy(&x);
  tsr_buffer_destroy(&y);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return code;
}

static void source_lengths_are_checked(void **state) {
  static const struct {
    size_t first, second;
  } rows[] = {{SIZE_MAX, SIZE_MAX},
              {SIZE_MAX, 5},
              {SIZE_MAX - 1, 1},
              {(size_t)1 << 40, 9},
              {(1 << 24) + 1, 3},
              {10, 11},
              {10, 9},
              {10, SIZE_MAX},
              {10, 0}};
  char message[1024];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    behaviour b = {.first = rows[i].first, .second = rows[i].second};
    tsr_code code = compile_and_run(&b, true, message);
    if (code != TSR_INVALID_ARGUMENT || !strstr(message, "the source of my.op for cpu"))
      fail_msg("row %zu: %s: %s", i, tsr_code_name(code), message);
  }
}

static void messages_without_an_end_are_cut(void **state) {
  char message[1024];
  behaviour b = {.fails_infer = true}, c = {.fails_cpu = true};
  assert_int_equal(compile_and_run(&b, false, message), TSR_SHAPE_MISMATCH);
  assert_true(strlen(message) < 400 && strstr(message, "xxxx"));
  assert_int_equal(compile_and_run(&c, false, message), TSR_LAUNCH_FAILED);
  assert_true(strlen(message) < 400 && strstr(message, "xxxx"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(source_lengths_are_checked),
                                     cmocka_unit_test(messages_without_an_end_are_cut)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
