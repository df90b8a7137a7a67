/* Graphs with unknown dimensions through the public interface: built and parsed, given several shapes, run on the CPU
 * against the reference; shapes that don't fit; failing allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "tests/support/api_check.h"

/* softmax(A B + C), rows and columns unknown. */
static tsr_status build(tsr_context *ctx, tsr_graph **g) {
  tsr_value a, b, c, v;
  tsr_status st = tsr_graph_create(ctx, "main", g);
  if (!st) st = tsr_graph_input(*g, "A", TSR_F32, (tsr_shape){2, {TSR_ANY_DIM, 8}}, &a);
  if (!st) st = tsr_graph_input(*g, "B", TSR_F32, (tsr_shape){2, {8, TSR_ANY_DIM}}, &b);
  if (!st) st = tsr_graph_input(*g, "C", TSR_F32, (tsr_shape){1, {TSR_ANY_DIM}}, &c);
  if (!st) st = tsr_graph_op(*g, "matmul", (tsr_value[]){a, b}, 2, NULL, 0, &v);
  if (!st) st = tsr_graph_op(*g, "add", (tsr_value[]){v, c}, 2, NULL, 0, &v);
  if (!st) st = tsr_graph_op(*g, "softmax", &v, 1, NULL, 0, &v);
  return st ? st : tsr_graph_output(*g, v);
}

enum { MOST = 40 };
static float data[3][MOST * MOST], got[MOST * MOST];
static double want[MOST * MOST], tolerance[MOST * MOST];

static void run(tsr_device *dev, const tsr_graph *g) {
  tsr_program *p;
  tsr_binding in[3], out;
  OK(tsr_program_compile(dev, g, NULL, &p));
  for (int i = 0; i < 3; i++) {
    in[i].offset = 0;
    OK(tsr_buffer_create(dev, tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, data[i], tsr_program_input(p, i).bytes));
  }
  size_t bytes = tsr_program_output(p, 0).bytes;
  out.offset = 0;
  OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &out.buffer));
  OK(tsr_program_run(p, NULL, in, &out));
  OK(tsr_buffer_read(out.buffer, 0, got, bytes));
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
}

static void one_graph_serves_many_shapes(void **state) {
  static const int64_t sizes[][2] = {{1, 1}, {3, 5}, {17, 40}, {40, 1}, {0, 7}};
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  OK(tsr_context_create(NULL, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(build(ctx, &g));
  assert_int_equal(tsr_graph_input_info(g, 0).shape.dims[0], TSR_ANY_DIM);
  assert_int_equal(tsr_graph_output_info(g, 0).bytes, 0);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < MOST * MOST; k++) data[i][k] = (float)(((i + 2) * (k + 3) * 7919 % 2001 - 1000) / 900.0);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int64_t m = sizes[i][0], n = sizes[i][1];
    tsr_graph *s;
    OK(tsr_graph_specialize(g, (tsr_shape[]){{2, {m, 8}}, {2, {8, n}}, {1, {n}}}, 3, &s));
    assert_int_equal(tsr_graph_output_info(s, 0).bytes, (size_t)(m * n) * 4);
    OK(tsr_graph_reference(s, (const void *[]){data[0], data[1], data[2]}, (double *[]){want},
                           (double *[]){tolerance}));
    run(dev, s);
    for (int64_t k = 0; k < m * n; k++)
      if (!(fabs(got[k] - want[k]) <= tolerance[k]))
        fail_msg("%lldx%lld [%lld]: %g, want %g", (long long)m, (long long)n, (long long)k, (double)got[k], want[k]);
    tsr_graph_destroy(&s);
  }
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void program_set_keeps_the_latest_shapes(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program_set *s;
  tsr_program *p[4], *q;
  OK(tsr_context_create(NULL, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(build(ctx, &g));
  OK(tsr_program_set_create(dev, g, NULL, 3, &s));
#define ASK(m, n, to) OK(tsr_program_set_get(s, (tsr_shape[]){{2, {m, 8}}, {2, {8, n}}, {1, {n}}}, 3, to))
  for (int i = 0; i < 3; i++) ASK(10 + i, 7, &p[i]);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(tsr_program_output(p[i], 0).shape.dims[0], 10 + i);
    ASK(10 + i, 7, &q);
    assert_ptr_equal(q, p[i]);
  }
  ASK(10, 7, &q); /* 11 is now the one asked for longest ago */
  ASK(10, 9, &p[3]);
  assert_int_equal(tsr_program_set_count(s), 3);
  ASK(10, 7, &q);
  assert_ptr_equal(q, p[0]);
  ASK(12, 7, &q);
  assert_ptr_equal(q, p[2]);
  ASK(11, 7, &q); /* made anew, in place of 10x9 */
  assert_int_equal(tsr_program_output(q, 0).shape.dims[0], 11);
  assert_int_equal(tsr_program_set_count(s), 3);
  tsr_status st = tsr_program_set_get(s, (tsr_shape[]){{2, {4, 9}}, {2, {8, 7}}, {1, {7}}}, 3, &q);
  assert_int_equal(tsr_status_code(st), TSR_SHAPE_MISMATCH);
  assert_null(q);
  tsr_status_free(st);
  st = tsr_program_set_get(s, NULL, 0, &q);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  tsr_program_set_destroy(&s);
  assert_null(s);
  tsr_program_set_destroy(&s);
  st = tsr_program_set_create(dev, g, NULL, -1, &s);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void expect(tsr_status st, tsr_code code, const char *says) {
  if (tsr_status_code(st) != code || !strstr(tsr_status_message(st), says))
    fail_msg("\"%s\" (%s) does not say \"%s\"", tsr_status_message(st), tsr_code_name(tsr_status_code(st)), says);
  tsr_status_free(st);
}

static void shapes_that_do_not_fit_are_errors(void **state) {
  static const char text[] =
      "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<?x?xf32>, %B: tensor<?x4xf32>):\n%0 = \"tessera.graph.add\"(%A, "
      "%B)\n"
      "%1 = \"tessera.graph.reshape\"(%0) {shape = [-1, 2]}\n\"tessera.graph.return\"(%1)\n}) {sym_name = \"main\"}\n";
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g, *s;
  tsr_program *p;
  OK(tsr_context_create(NULL, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_graph_parse(ctx, text, sizeof text - 1, "any.mlir", &g));
  expect(tsr_program_compile(dev, g, NULL, &p), TSR_VERIFY_ERROR,
         "any.mlir:2:6: argument %A has an unknown dimension (tsr_graph_specialize");
  expect(tsr_graph_grad(g, (tsr_value[]){1}, 1, &s), TSR_VERIFY_ERROR,
         "any.mlir:2:6: argument %A has an unknown dimension");
  expect(tsr_graph_specialize(g, (tsr_shape[]){{2, {3, 4}}}, 1, &s), TSR_INVALID_ARGUMENT, "1 shapes for 2 inputs");
  expect(tsr_graph_specialize(g, (tsr_shape[]){{2, {3, 4}}, {1, {4}}}, 2, &s), TSR_SHAPE_MISMATCH,
         "any.mlir:2:27: the shape given for input %B");
  expect(tsr_graph_specialize(g, (tsr_shape[]){{2, {3, 4}}, {2, {3, 5}}}, 2, &s), TSR_SHAPE_MISMATCH, "input %B");
  expect(tsr_graph_specialize(g, (tsr_shape[]){{2, {3, TSR_ANY_DIM}}, {2, {3, 4}}}, 2, &s), TSR_SHAPE_MISMATCH,
         "input %A");
  expect(tsr_graph_specialize(g, (tsr_shape[]){{2, {3, -7}}, {2, {3, 4}}}, 2, &s), TSR_INVALID_ARGUMENT,
         "out of range");
  expect(tsr_graph_specialize(g, (tsr_shape[]){{2, {3, 3}}, {2, {3, 4}}}, 2, &s), TSR_VERIFY_ERROR,
         "any.mlir:3:6: shapes f32[3, 3] and f32[3, 4]");
  assert_null(s);
  OK(tsr_graph_specialize(g, (tsr_shape[]){{2, {1, 4}}, {2, {3, 4}}}, 2, &s));
  assert_int_equal(tsr_graph_output_info(s, 0).shape.dims[0], 6);
  tsr_graph_destroy(&s);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* A training step's shapes share their bucket's decisions too: the gradient knows what was unknown. */
static void a_gradient_keeps_what_was_unknown(void **state) {
  static const char mark[] = "symbolic = [300 : i64, 2400 : i64, 28800 : i64]";
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g, *s, *d;
  tsr_program *p;
  tsr_value v[2];
  char *text;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_graph_create(ctx, "main", &g));
  OK(tsr_graph_input(g, "A", TSR_F32, (tsr_shape){2, {TSR_ANY_DIM, 8}}, &v[0]));
  OK(tsr_graph_input(g, "W", TSR_F32, (tsr_shape){2, {8, 96}}, &v[1]));
  OK(tsr_graph_op(g, "matmul", v, 2, NULL, 0, &v[0]));
  OK(tsr_graph_op(g, "reduce_sum", v, 1, NULL, 0, &v[0]));
  OK(tsr_graph_output(g, v[0]));
  OK(tsr_graph_specialize(g, (tsr_shape[]){{2, {300, 8}}, {2, {8, 96}}}, 2, &s));
  OK(tsr_graph_grad(s, (tsr_value[]){1, 2}, 2, &d));
  OK(tsr_graph_print(d, &text));
  assert_non_null(strstr(text, mark));
  tsr_text_free(ctx, &text);
  OK(tsr_program_compile(dev, d, NULL, &p));
  OK(tsr_program_dump(p, TSR_LEVEL_SCHEDULE, &text, NULL));
  assert_non_null(strstr(text, mark));
  tsr_text_free(ctx, &text);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&d);
  tsr_graph_destroy(&s);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static tsr_code whole_life(counting *c) {
  tsr_allocator al = {count_alloc, count_free, c};
  tsr_context *ctx = NULL;
  tsr_graph *g = NULL, *s = NULL;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.allocator = &al, .cache_dir = ""}, &ctx);
  if (!st) st = build(ctx, &g);
  if (!st) st = tsr_graph_specialize(g, (tsr_shape[]){{2, {5, 8}}, {2, {8, 6}}, {1, {6}}}, 3, &s);
  tsr_code code = tsr_status_code(st);
  tsr_status_free(st);
  tsr_graph_destroy(&s);
  tsr_graph_destroy(&g);
  tsr_context_destroy(&ctx);
  return code;
}

static void every_failed_allocation_is_a_status(void **state) { refuse_each_allocation(whole_life, false); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_graph_serves_many_shapes),
      cmocka_unit_test(program_set_keeps_the_latest_shapes),
      cmocka_unit_test(shapes_that_do_not_fit_are_errors),
      cmocka_unit_test(a_gradient_keeps_what_was_unknown),
      cmocka_unit_test(every_failed_allocation_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
