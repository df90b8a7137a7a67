/* Tests of what keeps numbers within narrow floats: stochastic rounding, scales of quantised tensors, delayed ones, and
 * a loss whose scale follows overflow; on the CPU, against numbers worked out here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"
#include "tessera/transform.h"

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"
enum { MOST = 4096, MOST_OUT = 6 };

typedef struct rig {
  tsr_context *ctx;
  tsr_device *dev;
} rig;

static int open_device(void **state) {
  static rig r;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &r.ctx));
  OK(tsr_device_open(r.ctx, "cpu:0", &r.dev));
  *state = &r;
  return 0;
}

static int close_device(void **state) {
  rig *r = *state;
  tsr_device_close(&r->dev);
  tsr_context_destroy(&r->ctx);
  return 0;
}

static void run(rig *r, const tsr_graph *g, const void *const *in, void *const *out) {
  tsr_program *p;
  tsr_binding bi[MOST_OUT] = {{0}}, bo[MOST_OUT] = {{0}};
  OK(tsr_program_compile(r->dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
  for (int i = 0; i < tsr_program_n_inputs(p); i++) {
    OK(tsr_buffer_create(r->dev, tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &bi[i].buffer));
    OK(tsr_buffer_write(bi[i].buffer, 0, in[i], tsr_program_input(p, i).bytes));
  }
  for (int i = 0; i < tsr_program_n_outputs(p); i++)
    OK(tsr_buffer_create(r->dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &bo[i].buffer));
  OK(tsr_program_run(p, NULL, bi, bo));
  for (int i = 0; i < tsr_program_n_outputs(p); i++)
    OK(tsr_buffer_read(bo[i].buffer, 0, out[i], tsr_program_output(p, i).bytes));
  for (int i = 0; i < MOST_OUT; i++) tsr_buffer_destroy(&bi[i].buffer), tsr_buffer_destroy(&bo[i].buffer);
  tsr_program_destroy(&p);
}

static tsr_graph *graph_of(rig *r, const char *args, const char *body, const char *results, const char *types) {
  const char *text = gt_func(args, body, results, types);
  tsr_graph *g;
  OK(tsr_graph_parse(r->ctx, text, strlen(text), "test.mlir", &g));
  return g;
}

static void run_text(rig *r, const char *args, const char *body, const char *results, const char *types,
                     const void *const *in, void *const *out) {
  tsr_graph *g = graph_of(r, args, body, results, types);
  run(r, g, in, out);
  tsr_graph_destroy(&g);
}

/* ---- stochastic rounding ----------------------------------------------------------------------------------------- */

static const tsr_dtype narrow[] = {TSR_BF16, TSR_F16, TSR_F8E4M3, TSR_F8E5M2};

static void round_all(rig *r, tsr_dtype t, const float *x, uint32_t seed, float *y) {
  char body[200];
  const uint32_t key[2] = {seed, 5}, counter[4] = {seed, 2, 3, 4};
  snprintf(body, sizeof body,
           "%%s = \"tessera.graph.stochastic_cast\"(%%x, %%k, %%c) {dtype = \"%s\"}\n"
           "%%0 = \"tessera.graph.cast\"(%%s) {dtype = \"f32\"}\n",
           tsr_dtype_name(t));
  run_text(r, "%x: tensor<4096xf32>, %k: tensor<2xi32>, %c: tensor<4xi32>", body, "%0", "tensor<4096xf32>",
           (const void *[]){x, key, counter}, (void *[]){y});
}

/* The two numbers of t about v. */
static void neighbours(tsr_dtype t, float v, double *low, double *high) {
  unsigned char bits[8];
  dtype_store(t, bits, 0, v);
  *low = *high = dtype_load(t, bits, 0);
  for (double d = fabs((double)v) * 0x1p-30; *low == *high && *low != (double)v; d *= 2) {
    dtype_store(t, bits, 0, *low > (double)v ? (double)v - d : (double)v + d);
    *(*low > (double)v ? low : high) = dtype_load(t, bits, 0);
  }
}

/* Each of the same number is one of its two neighbours, and their mean is the number within five standard errors. */
static void rounds_to_a_neighbour_with_the_right_mean(void **state) {
  static const float values[] = {1.1f, -1.0019f, 0.9999f, 3.3f, -217.7f, 0.0123f, 2.5f};
  static float x[MOST], y[MOST];
  for (size_t t = 0; t < sizeof narrow / sizeof *narrow; t++)
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
      double low, high, mean = 0;
      for (int i = 0; i < MOST; i++) x[i] = values[k];
      round_all(*state, narrow[t], x, (uint32_t)k + 1, y);
      neighbours(narrow[t], x[0], &low, &high);
      for (int i = 0; i < MOST; i++) {
        if ((double)y[i] != low && (double)y[i] != high)
          fail_msg("%s of %s is %g, not %g or %g", "rounding", tsr_dtype_name(narrow[t]), (double)y[i], low, high);
        mean += (double)y[i] / MOST;
      }
      const double step = high - low, way = step > 0 ? ((double)x[0] - low) / step : 0;
      const double spread = step * sqrt(way * (1 - way) / MOST);
      if (!(fabs(mean - (double)x[0]) <= 5 * spread + 1e-7 * step))
        fail_msg("%s: the mean of %g is %g", tsr_dtype_name(narrow[t]), (double)x[0], mean);
    }
}

/* What a type has stays, whatever is drawn; what cast makes infinite, NaN or the largest number is so. */
static void exact_values_and_ends_stay(void **state) {
  static float x[MOST], y[MOST];
  for (size_t t = 0; t < sizeof narrow / sizeof *narrow; t++) {
    unsigned char bits[2];
    const double most = dtype_get(narrow[t])->max;
    for (int i = 0; i < MOST; i++) {
      const float ends[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, (float)most, -(float)most, 1.5f, -2.0f, FLT_MAX};
      x[i] = ends[i % 10];
    }
    round_all(*state, narrow[t], x, 77, y);
    for (int i = 0; i < MOST; i++) {
      dtype_store(narrow[t], bits, 0, (double)x[i]);
      const float want = (float)dtype_load(narrow[t], bits, 0);
      if (i % 10 == 4 ? !isnan(y[i]) : memcmp(&want, &y[i], 4) != 0)
        fail_msg("%s of %g is %g, not %g", tsr_dtype_name(narrow[t]), (double)x[i], (double)y[i], (double)want);
    }
  }
}

/* Below the smallest normal number the distance of numbers stays. */
static void small_numbers_keep_their_mean(void **state) {
  static float x[MOST], y[MOST];
  double mean = 0;
  for (int i = 0; i < MOST; i++) x[i] = 0.3f / 512; /* fp8_e4m3 begins at 1/512 */
  round_all(*state, TSR_F8E4M3, x, 3, y);
  for (int i = 0; i < MOST; i++) {
    assert_true(y[i] == 0 || y[i] == 1.0f / 512);
    mean += (double)y[i] / MOST;
  }
  assert_true(fabs(mean * 512 - 0.3) < 5 * sqrt(0.3 * 0.7 / MOST));
}

/* Steps of an eighth of the distance of bf16 numbers at 1: to the nearest, they would be lost one by one. */
static void bf16_parameters_learn_by_small_steps(void **state) {
  static uint16_t w[MOST], next[MOST];
  static float g[MOST];
  const float rate = 0.0078125f / 8;
  tsr_graph *graph = graph_of(*state,
                              "%w: tensor<4096xbf16>, %g: tensor<4096xf32>, %l: tensor<f32>, %k: tensor<2xi32>, %c: "
                              "tensor<4xi32>",
                              OP("0", "sgd", "%w, %g, %l, %k, %c"), "%0", "tensor<4096xbf16>");
  double mean = 0;
  for (int i = 0; i < MOST; i++) w[i] = dtype_f32_to_bf16(1), g[i] = -1;
  for (int step = 0; step < 16; step++) {
    const uint32_t key[2] = {1, 2}, counter[4] = {0, 0, (uint32_t)step, 0};
    run(*state, graph, (const void *[]){w, g, &rate, key, counter}, (void *[]){next});
    memcpy(w, next, sizeof w);
  }
  for (int i = 0; i < MOST; i++) mean += (double)dtype_bf16_to_f32(w[i]) / MOST;
  assert_true(fabs(mean - (1 + 16 * (double)rate)) < 0.0078125 * 5 * sqrt(16 * 0.25 / MOST));
  tsr_graph_destroy(&graph);
}

/* One rounding from any type: by way of f32 the first number would be a tie. */
static void casts_to_tf32_round_once(void **state) {
  const double x[4] = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, INFINITY, 3.4028234663852886e38};
  const int64_t n[4] = {(INT64_C(1) << 40) + (INT64_C(1) << 29) + 1, -2049, 2049, (1 << 24) + (1 << 13) + 1};
  const float want[4] = {1 + 0x1p-10f, 1, INFINITY, INFINITY},
              whole[4] = {0x1p40f + 0x1p30f, -2048, 2048, 0x1p24f + 0x1p14f};
  float y[4], z[4];
  run_text(*state, "%x: tensor<4xf64>, %n: tensor<4xi64>",
           OPA("0", "cast", "%x", "dtype = \"tf32\"") OPA("1", "cast", "%0", "dtype = \"f32\"")
               OPA("2", "cast", "%n", "dtype = \"tf32\"") OPA("3", "cast", "%2", "dtype = \"f32\""),
           "%1, %3", "tensor<4xf32>, tensor<4xf32>", (const void *[]){x, n}, (void *[]){y, z});
  for (int i = 0; i < 4; i++) {
    assert_true(y[i] == want[i]);
    assert_true(z[i] == whole[i]);
  }
}

/* ---- quantisation ------------------------------------------------------------------------------------------------ */

/* 5 columns in blocks of 2: the last block is one column. */
static void scales_are_of_those_that_share_one(void **state) {
  const float x[10] = {448, -1, 0, 0, 7, 0.5f, -896, 3, 2, -448};
  float q[10], s[6];
  const void *const in[] = {x};
  void *const out[] = {q, s};
#define QUANTISED(attrs) \
  "%q, %s = \"tessera.graph.quantize\"(%x) {" attrs "}\n" OPA("0", "rescale", "%q, %s", attrs)
  run_text(*state, "%x: tensor<2x5xf32>", QUANTISED("scales = \"block\", block = 2"), "%0, %s",
           "tensor<2x5xf32>, tensor<2x3xf32>", in, out);
  const float blocks[6] = {1, 1, 7.0f / 448, 2, 3.0f / 448, 1};
  for (int i = 0; i < 6; i++) assert_float_equal(s[i], blocks[i], 1e-7 * (double)blocks[i]);
  for (int i = 0; i < 10; i++) assert_float_equal(q[i], x[i], fabs((double)x[i]) / 16 + 1e-3);
  run_text(*state, "%x: tensor<2x5xf32>", QUANTISED("scales = \"channel\", axis = 0"), "%0, %s",
           "tensor<2x5xf32>, tensor<2x1xf32>", in, out);
  assert_true(s[0] == 1 && s[1] == 2);
  run_text(*state, "%x: tensor<2x5xf32>", QUANTISED("scales = \"channel\""), "%0, %s",
           "tensor<2x5xf32>, tensor<1x5xf32>", in, out);
  assert_true(s[0] == 1 && s[1] == 2 && fabsf(s[2] - 3.0f / 448) < 1e-9f && s[4] == 1);
  run_text(*state, "%x: tensor<2x5xf32>", QUANTISED(""), "%0, %s", "tensor<2x5xf32>, tensor<f32>", in, out);
  assert_true(s[0] == 2 && q[6] == -896 && q[0] == 448);
  run_text(*state, "%x: tensor<2x5xf32>", QUANTISED("scales = \"block\", axis = 0"), "%0, %s",
           "tensor<2x5xf32>, tensor<1x5xf32>", in, out);
  assert_true(s[0] == 1 && s[1] == 2);
}

/* From the smallest to the largest there is, each scale is the power of two that it must be, and x comes back whole. */
static void powers_of_two_are_exact(void **state) {
  static float x[256], y[256], s[256];
  for (int i = 0; i < 256; i++) x[i] = ldexpf(i % 2 ? 1.5f : 1.0f, i - 126);
  run_text(*state, "%x: tensor<256xf32>",
           "%q, %s = \"tessera.graph.quantize\"(%x) {scales = \"channel\", powers_of_two = true, dtype = "
           "\"fp8_e5m2\"}\n" OPA("0", "rescale", "%q, %s", "scales = \"channel\""),
           "%0, %s",
           "tensor<256xf32>, tensor<256xf32>", (const void *[]){x}, (void *[]){y, s});
  for (int i = 0; i < 254; i++) {
    int e;
    const double least = (double)x[i] / 57344;
    assert_true(frexp((double)s[i], &e) == 0.5);
    assert_true((double)s[i] >= least && ((double)s[i] < 2 * least || s[i] == FLT_MIN));
    if (!(fabs((double)y[i] - (double)x[i]) <= ldexp(1, -126 - 17)))
      fail_msg("%g came back as %g", (double)x[i], (double)y[i]);
  }
}

/* The scale is that of the steps before; what is beyond it saturates, and shows in the next one. */
static void delayed_scales_follow_a_step_behind(void **state) {
  float history[3] = {0, 0, 0}, next[3], y[2], s, x[2];
  static const float most[] = {448, 896, 224, 224, 224, 224}, scales[] = {1, 1, 2, 2, 2, 0.5f};
  tsr_graph *g = graph_of(*state, "%x: tensor<2xf32>, %h: tensor<3xf32>",
                          "%q, %s, %n = \"tessera.graph.quantize_delayed\"(%x, %h)\n" OP("0", "rescale", "%q, %s"),
                          "%0, %s, %n", "tensor<2xf32>, tensor<f32>, tensor<3xf32>");
  for (int i = 0; i < 6; i++) {
    x[0] = -most[i], x[1] = 0;
    run(*state, g, (const void *[]){x, history}, (void *[]){y, &s, next});
    assert_float_equal(s, scales[i], 1e-7);
    assert_float_equal(y[0], -fminf(most[i], 448 * s), 0);
    assert_true(next[0] == most[i] && next[1] == history[0] && next[2] == history[1]);
    memcpy(history, next, sizeof history);
  }
  tsr_graph_destroy(&g);
}

/* Gradients go through as if nothing were rounded, but not through what saturates. */
static void gradients_go_straight_through(void **state) {
  const float x[3] = {1.03f, 2000, -3}, scale = 2;
  float loss, grad[3];
  tsr_graph *g = graph_of(*state, "%x: tensor<3xf32>, %s: tensor<f32>",
                          OP("0", "fake_quantize", "%x, %s") OP("1", "mul", "%0, %0") OP("2", "reduce_sum", "%1"), "%2",
                          "tensor<f32>"),
            *d;
  OK(tsr_graph_grad(g, (const tsr_value[]){1}, 1, &d));
  run(*state, d, (const void *[]){x, &scale}, (void *[]){&loss, grad});
  assert_float_equal(grad[0], 2, 0); /* of 1.0, what fp8_e4m3 has next to 0.515 times 2 */
  assert_float_equal(grad[1], 0, 0);
  assert_float_equal(grad[2], -6, 0);
  tsr_graph_destroy(&d);
  tsr_graph_destroy(&g);
}

/* ---- a loss with a scale ----------------------------------------------------------------------------------------- */

/* The gradient of x in f16 is the scale: above 65504 it is infinite. Inputs x, scale, count. */
static void scale_follows_overflow(void **state) {
  rig *r = *state;
  const tsr_attr a[] = {TSR_INT("interval", 3), TSR_FLOAT("max", 131072)};
  static const float scales[] = {131072, 65536, 32768, 32768, 32768, 65536, 32768};
  static const int counts[] = {0, 0, 0, 1, 2, 0, 0};
  const float x[2] = {1, 2};
  float scale = 131072, next, loss, grad[2];
  int32_t count = 0, counted;
  unsigned char skip;
  tsr_graph *g = graph_of(r, "%x: tensor<2xf32>",
                          OPA("h", "cast", "%x", "dtype = \"f16\"") OPA("w", "cast", "%h", "dtype = \"f32\"")
                              OP("0", "reduce_sum", "%w"),
                          "%0", "tensor<f32>"),
            *d;
  OK(tsr_graph_grad_scaled(g, (const tsr_value[]){1}, 1, a, 2, &d));
  for (int i = 0; i < 6; i++) {
    run(r, d, (const void *[]){x, &scale, &count}, (void *[]){&loss, grad, &skip, &next, &counted});
    assert_float_equal(scale, scales[i], 0);
    assert_int_equal(count, counts[i]);
    assert_int_equal(skip, scale > 65504);
    assert_float_equal(loss, 3, 0);
    if (!skip) assert_true(grad[0] == 1 && grad[1] == 1);
    scale = next, count = counted;
  }
  assert_float_equal(scale, scales[6], 0);
  tsr_graph_destroy(&d);
  tsr_graph_destroy(&g);
}

static void wrong_scaling_is_told(void **state) {
  rig *r = *state;
  const tsr_attr bad = TSR_FLOAT("growth", 0.5), unknown = TSR_INT("grow", 2);
  tsr_graph *g = graph_of(r, "%x: tensor<2xf32>", OP("0", "reduce_sum", "%x"), "%0", "tensor<f32>"), *d;
  tsr_status st = tsr_graph_grad_scaled(g, (const tsr_value[]){1}, 1, &bad, 1, &d);
  assert_true(gt_says(tsr_status_message(st), "growth is 0.5, not from 1 to"));
  tsr_status_free(st);
  st = tsr_graph_grad_scaled(g, (const tsr_value[]){1}, 1, &unknown, 1, &d);
  assert_true(gt_says(tsr_status_message(st), "grow"));
  tsr_status_free(st);
  tsr_graph_destroy(&g);
  g = graph_of(r, "%x: tensor<2xf16>", OP("0", "reduce_sum", "%x"), "%0", "tensor<f16>");
  st = tsr_graph_grad_scaled(g, (const tsr_value[]){1}, 1, NULL, 0, &d);
  assert_true(gt_says(tsr_status_message(st), "a loss of f16 can't be scaled"));
  assert_null(d);
  tsr_status_free(st);
  tsr_graph_destroy(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounds_to_a_neighbour_with_the_right_mean),
      cmocka_unit_test(exact_values_and_ends_stay),
      cmocka_unit_test(small_numbers_keep_their_mean),
      cmocka_unit_test(bf16_parameters_learn_by_small_steps),
      cmocka_unit_test(casts_to_tf32_round_once),
      cmocka_unit_test(scales_are_of_those_that_share_one),
      cmocka_unit_test(powers_of_two_are_exact),
      cmocka_unit_test(delayed_scales_follow_a_step_behind),
      cmocka_unit_test(gradients_go_straight_through),
      cmocka_unit_test(scale_follows_overflow),
      cmocka_unit_test(wrong_scaling_is_told),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
