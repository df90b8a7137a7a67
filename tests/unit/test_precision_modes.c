/* The precision modes on the CPU: what safe, aggressive and tf32 make of types, that it shows in the results as it
 * must, that inputs and outputs keep their types, and the trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "core/base/dtype.h"
#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"

typedef struct ran {
  char trace[8192];
  char graph[8192];
} ran;

static void run(const char *text, tsr_precision mode, const void *const *in, void *out, ran *r) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding b[4] = {{0}}, o = {0};
  const tsr_compile_options opts = {.precision = mode, .tune = TSR_TUNE_OFF};
  char *told;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test.mlir", &opts, &p));
  for (int i = 0; i < tsr_program_n_inputs(p); i++) {
    OK(tsr_buffer_create(dev, tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &b[i].buffer));
    OK(tsr_buffer_write(b[i].buffer, 0, in[i], tsr_program_input(p, i).bytes));
  }
  OK(tsr_buffer_create(dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &o.buffer));
  OK(tsr_program_run(p, NULL, b, &o));
  OK(tsr_buffer_read(o.buffer, 0, out, tsr_program_output(p, 0).bytes));
  OK(tsr_program_explain(p, &told));
  snprintf(r->trace, sizeof r->trace, "%s", told);
  tsr_text_free(ctx, &told);
  OK(tsr_program_dump(p, TSR_LEVEL_GRAPH, &told, NULL));
  snprintf(r->graph, sizeof r->graph, "%s", told);
  tsr_text_free(ctx, &told);
  for (int i = 0; i < 4; i++) tsr_buffer_destroy(&b[i].buffer);
  tsr_buffer_destroy(&o.buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* A product of bf16 matrices, then the difference to a near number, in another kernel: rounded to bf16 in between, the
 * difference would be 0. */
static void safe_rounds_nothing_on_the_way(void **state) {
  const char *text = gt_func("%x: tensor<2x64xbf16>, %y: tensor<64x2xbf16>, %z: tensor<2xbf16>",
                             OP("0", "matmul", "%x, %y") OP("1", "sub", "%0, %z") OP("2", "softmax", "%0")
                                 OP("3", "mul", "%1, %2"),
                             "%3", "tensor<2x2xbf16>");
  uint16_t x[128], y[128], z[2], out[4];
  ran r;
  for (int i = 0; i < 128; i++) x[i] = dtype_f32_to_bf16(1), y[i] = dtype_f32_to_bf16(1 + (i < 4) * 0.0078125f);
  for (int i = 0; i < 2; i++) z[i] = dtype_f32_to_bf16(64);
  const void *const in[] = {x, y, z};
  run(text, TSR_PRECISION_SAFE, in, out, &r);
  for (int i = 0; i < 4; i++) assert_float_equal(dtype_bf16_to_f32(out[i]), 0.5 * 2 * 0.0078125, 1e-6);
  assert_non_null(strstr(r.trace, "precision: safe fired at tessera.graph.matmul"));
  assert_non_null(strstr(r.trace, "softmax in f32"));
  assert_null(strstr(r.graph, "\"tessera.graph.sub\"(%0, %z) : (tensor<2x2xbf16>"));
  run(text, TSR_PRECISION_STANDARD, in, out, &r);
  assert_null(strstr(r.trace, "precision: safe"));
}

static const char *product(const char *attrs) {
  static char text[1024];
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<4x32xf32>, %%y: tensor<32x3xf32>):\n%%0 = "
           "\"tessera.graph.matmul\"(%%x, %%y)\n\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"%s}\n",
           attrs);
  return text;
}

/* Row i of x is 10^(-4 i) times numbers about 1: with a scale of its own each is as exact as fp8 is, some 2^-4 of each
 * term; with one of the whole operand the last rows are below what fp8 has. */
static void aggressive_products_are_fp8_with_scales(void **state) {
  float x[128], y[96], out[12];
  double want[12] = {0};
  unsigned seed = 1;
  ran r;
  for (int i = 0; i < 128; i++)
    x[i] = (float)pow(10, -4 * (i / 32)) * (1 + (float)((seed = seed * 1664525u + 1013904223u) >> 8) / 16777216.0f);
  for (int i = 0; i < 96; i++) y[i] = 1 + (float)((seed = seed * 1664525u + 1013904223u) >> 8) / 16777216.0f;
  for (int i = 0; i < 12; i++)
    for (int k = 0; k < 32; k++) want[i] += (double)x[i / 3 * 32 + k] * y[k * 3 + i % 3];
  const void *const in[] = {x, y};
  run(product(", precision = \"aggressive\""), TSR_PRECISION_STANDARD, in, out, &r);
  bool exact = true;
  for (int i = 0; i < 12; i++) {
    if (!(fabs(out[i] - want[i]) <= 0.04 * want[i])) fail_msg("element %d is %g, not about %g", i, out[i], want[i]);
    exact &= fabs(out[i] - want[i]) <= 1e-5 * want[i];
  }
  assert_false(exact);
  assert_non_null(strstr(r.trace, "matmul: operands in fp8_e4m3, a scale for each row and column, sums in f32"));
  run(product(", fp8_scales = \"tensor\""), TSR_PRECISION_AGGRESSIVE, in, out, &r);
  assert_true(fabs(out[0] - want[0]) <= 0.04 * want[0]);
  assert_true(fabs(out[11] - want[11]) > 0.5 * want[11]);
  assert_non_null(strstr(r.trace, "a scale for each operand"));
}

/* Each 32 elements have a scale: far apart along the sum as well, all are as exact as fp8 is. */
static void aggressive_products_by_blocks(void **state) {
  static float x[4 * 96], y[96 * 3], out[12];
  ran r;
  for (int i = 0; i < 4 * 96; i++) x[i] = (float)pow(10, -4 * (i / 32 % 3)) * (1 + (float)(i * 37 % 64) / 64);
  for (int i = 0; i < 96 * 3; i++) y[i] = (float)pow(10, 4 * (i / 3 / 32)) * (1 + (float)(i * 29 % 64) / 64);
  const void *const in[] = {x, y};
  run("\"tessera.graph.func\"() ({\n^bb0(%x: tensor<4x96xf32>, %y: tensor<96x3xf32>):\n%0 = "
      "\"tessera.graph.matmul\"(%x, %y)\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\", fp8_scales = "
      "\"block\"}\n",
      TSR_PRECISION_AGGRESSIVE, in, out, &r);
  for (int i = 0; i < 12; i++) {
    double want = 0;
    for (int k = 0; k < 96; k++) want += (double)x[i / 3 * 96 + k] * (double)y[k * 3 + i % 3];
    assert_float_equal(out[i], want, 0.04 * want);
    assert_true(fabs((double)out[i] - want) > 1e-6 * want);
  }
  assert_non_null(strstr(r.trace, "a power of two for each 32 elements, products of bf16"));
}

/* An image's windows are made of what is rounded, once; attention takes f32. */
static void tf32_rounds_what_products_read(void **state) {
  static float in0[4096], out[4096];
  const void *const in[] = {in0, in0};
  ran r;
  for (int i = 0; i < 4096; i++) in0[i] = 1 + 0x1p-11f;
  run(gt_func("%x: tensor<1x4x8x8xf32>, %y: tensor<4x4x3x3xf32>", OP("0", "conv2d", "%x, %y"), "%0",
              "tensor<1x4x6x6xf32>"),
      TSR_PRECISION_TF32, in, out, &r);
  for (int i = 0; i < 144; i++) assert_float_equal(out[i], 36, 0);
  assert_non_null(strstr(r.trace, "operands in tf32, sums in f32"));
  run(gt_func("%x: tensor<1x1x4x8xf32>", OP("0", "flash_attention", "%x, %x, %x"), "%0", "tensor<1x1x4x8xf32>"),
      TSR_PRECISION_TF32, in, out, &r);
  for (int i = 0; i < 32; i++) assert_float_equal(out[i], 1, 1e-6);
  assert_non_null(strstr(r.trace, "flash_attention: operands in tf32"));
  run(gt_func("%x: tensor<4x4xbf16>, %y: tensor<4x4xbf16>", OP("0", "matmul", "%x, %y"), "%0", "tensor<4x4xbf16>"),
      TSR_PRECISION_TF32, in, out, &r);
  assert_null(strstr(r.trace, "tf32"));
}

/* Transposed operands have their scales along the other dimension; a row of zeros has the scale 1. */
static void aggressive_products_of_transposed_operands(void **state) {
  const char *text = "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<2x8x3xf32>, %y: tensor<4x8xf32>):\n%0 = "
                     "\"tessera.graph.matmul\"(%x, %y) {transpose_a = true, transpose_b = true}\n"
                     "\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";
  float x[48], y[32], out[24];
  ran r;
  for (int i = 0; i < 48; i++) x[i] = i % 3 == 1 ? 0 : (float)(1 << (i % 5));
  for (int i = 0; i < 32; i++) y[i] = (float)(1 << (i % 7)) / (float)(1 << (4 * (i / 8)));
  const void *const in[] = {x, y};
  run(text, TSR_PRECISION_AGGRESSIVE, in, out, &r);
  for (int i = 0; i < 24; i++) {
    double want = 0;
    for (int k = 0; k < 8; k++) want += (double)x[i / 12 * 24 + k * 3 + i / 4 % 3] * y[i % 4 * 8 + k];
    assert_float_equal(out[i], want, 0.08 * fabs(want));
  }
}

static void what_stays_as_it_is_says_why(void **state) {
  static const struct { const char *args, *body, *type, *why; } cases[] = {
      {"%x: tensor<4x4xf64>, %y: tensor<4x4xf64>", OP("0", "matmul", "%x, %y"), "tensor<4x4xf64>", "matmul: f64 stays"},
      {"%x: tensor<4x4xi8>, %y: tensor<4x4xi8>", OP("0", "matmul", "%x, %y"), "tensor<4x4xi32>", "its operands are integers"},
      {"%x: tensor<1x4x8x8xf32>, %y: tensor<4x4x3x3xf32>", OP("0", "conv2d", "%x, %y"), "tensor<1x4x6x6xf32>", "through its windows"},
      {"%x: tensor<1x1x4x8xf32>, %y: tensor<1x1x4x8xf32>", OP("0", "flash_attention", "%x, %y, %y"), "tensor<1x1x4x8xf32>", "flash_attention in bf16"},
  };
  static char zeros[4096];
  const void *const in[] = {zeros, zeros};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static char out[4096];
    ran r;
    run(gt_func(cases[i].args, cases[i].body, "%0", cases[i].type), TSR_PRECISION_AGGRESSIVE, in, out, &r);
    if (!strstr(r.trace, cases[i].why)) fail_msg("%s: %s", cases[i].why, r.trace);
  }
}

static void deterministic_is_the_policy(void **state) {
  const float x[4] = {1, 2, 3, 4};
  float y;
  ran r;
  const void *const in[] = {x};
  run(gt_func("%x: tensor<4xf32>", OP("0", "reduce_sum", "%x"), "%0", "tensor<f32>"), TSR_PRECISION_DETERMINISTIC, in,
      &y, &r);
  assert_float_equal(y, 10, 0);
  assert_non_null(strstr(r.trace, "policy deterministic"));
}

/* The mode is a policy: what names another one in the same place is refused, compile options go before the text's. */
static void another_policy_beside_deterministic(void **state) {
  static const struct {
    const char *attrs;
    tsr_policy policy;
    tsr_precision mode;
    const char *why, *trace; /* NULL: compiles, and the trace says this */
  } cases[] = {
      {"", TSR_POLICY_FAST, TSR_PRECISION_DETERMINISTIC, "policy fast beside precision deterministic", NULL},
      {"", TSR_POLICY_KAHAN_SUM, TSR_PRECISION_DETERMINISTIC, "policy kahan_sum beside precision deterministic", NULL},
      {", policy = \"fast\", precision = \"deterministic\"", 0, 0, "policy fast beside precision deterministic", NULL},
      {", policy = \"deterministic\", precision = \"deterministic\"", 0, 0, NULL, "policy deterministic"},
      {"", TSR_POLICY_DETERMINISTIC, TSR_PRECISION_DETERMINISTIC, NULL, "policy deterministic"},
      {", policy = \"fast\"", 0, TSR_PRECISION_DETERMINISTIC, NULL, "policy deterministic"},
      {", precision = \"deterministic\"", TSR_POLICY_FAST, 0, NULL, "policy fast"},
  };
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tsr_compile_options o = {.policy = cases[i].policy, .precision = cases[i].mode, .tune = TSR_TUNE_OFF};
    const char *text = product(cases[i].attrs);
    tsr_program *p = NULL;
    char *told = NULL;
    tsr_status st = tsr_program_parse(dev, text, strlen(text), "test.mlir", &o, &p);
    if (cases[i].why) {
      assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
      assert_non_null(strstr(tsr_status_message(st), cases[i].why));
    } else {
      OK(st);
      OK(tsr_program_explain(p, &told));
      if (!strstr(told, cases[i].trace)) fail_msg("case %zu: %s", i, told);
    }
    if (cases[i].why) tsr_status_free(st);
    tsr_text_free(ctx, &told);
    tsr_program_destroy(&p);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* A schedule has its types already. */
static void modes_need_a_graph(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  char *text;
  const tsr_compile_options o = {.precision = TSR_PRECISION_SAFE};
  const char *graph = product(", precision = \"safe\"");
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, graph, strlen(graph), "test.mlir", NULL, &p));
  OK(tsr_program_dump(p, TSR_LEVEL_SCHEDULE, &text, NULL));
  tsr_program_destroy(&p);
  OK(tsr_program_parse(dev, text, strlen(text), "schedule.mlir", NULL, &p)); /* says what was done */
  tsr_program_destroy(&p);
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "schedule.mlir", &o, &p);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  assert_non_null(strstr(tsr_status_message(st), "below the level in which a precision mode changes types"));
  tsr_status_free(st);
  tsr_text_free(ctx, &text);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(safe_rounds_nothing_on_the_way),
      cmocka_unit_test(aggressive_products_are_fp8_with_scales),
      cmocka_unit_test(aggressive_products_by_blocks),
      cmocka_unit_test(tf32_rounds_what_products_read),
      cmocka_unit_test(aggressive_products_of_transposed_operands),
      cmocka_unit_test(what_stays_as_it_is_says_why),
      cmocka_unit_test(deterministic_is_the_policy),
      cmocka_unit_test(another_policy_beside_deterministic),
      cmocka_unit_test(modes_need_a_graph),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
