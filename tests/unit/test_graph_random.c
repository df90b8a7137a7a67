/* Tests of random numbers: the published answers of Philox 4x32-10, by the oracle and on the CPU; that a part drawn by
 * itself is that part of the whole; how numbers are spread; that what is dropped is what the uniform numbers say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tessera/tessera.h"

enum { MOST = 4096 };

typedef struct draws {
  tsr_context *ctx;
  tsr_device *dev;
} draws;

static int open_device(void **state) {
  static draws d;
  assert_null(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &d.ctx));
  assert_null(tsr_device_open(d.ctx, "cpu:0", &d.dev));
  *state = &d;
  return 0;
}

static int close_device(void **state) {
  draws *d = *state;
  tsr_device_close(&d->dev);
  tsr_context_destroy(&d->ctx);
  return 0;
}

/* g's one output on the CPU; the inputs come as they are. */
static void run(draws *d, const tsr_graph *g, const void *const *in, void *out) {
  tsr_program *p;
  tsr_binding bi[3] = {{0}}, bo = {0};
  assert_null(tsr_program_compile(d->dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
  for (int i = 0; i < tsr_program_n_inputs(p); i++) {
    const size_t bytes = tsr_program_input(p, i).bytes;
    assert_null(tsr_buffer_create(d->dev, bytes, TSR_MEMORY_DEVICE, &bi[i].buffer));
    assert_null(tsr_buffer_write(bi[i].buffer, 0, in[i], bytes));
  }
  assert_null(tsr_buffer_create(d->dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &bo.buffer));
  assert_null(tsr_program_run(p, NULL, bi, &bo));
  assert_null(tsr_buffer_read(bo.buffer, 0, out, tsr_program_output(p, 0).bytes));
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&bi[i].buffer);
  tsr_buffer_destroy(&bo.buffer);
  tsr_program_destroy(&p);
}

static tsr_graph *numbers(draws *d, const char *op, tsr_shape s, const char *dtype) {
  tsr_graph *g;
  tsr_value v[2], y;
  const tsr_attr a[2] = {TSR_INTS("shape", s.dims, s.rank), TSR_STRING("dtype", dtype)};
  assert_null(tsr_graph_create(d->ctx, NULL, &g));
  assert_null(tsr_graph_input(g, "key", TSR_I32, (tsr_shape){1, {2}}, &v[0]));
  assert_null(tsr_graph_input(g, "counter", TSR_I32, (tsr_shape){1, {4}}, &v[1]));
  assert_null(tsr_graph_op(g, op, v, 2, a, 2, &y));
  assert_null(tsr_graph_output(g, y));
  return g;
}

static void draw(draws *d, const char *op, tsr_shape s, const char *dtype, const uint32_t *key, const uint32_t *counter,
                 void *out) {
  tsr_graph *g = numbers(d, op, s, dtype);
  run(d, g, (const void *[]){key, counter}, out);
  tsr_graph_destroy(&g);
}

/* Random123's known answers (kat_vectors): counter, key, block. The second's block is followed by that of counter 0. */
static const struct { uint32_t counter[4], key[2], block[4]; } answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void philox_gives_the_published_answers(void **state) {
  draws *d = *state;
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    tsr_graph *g = numbers(d, "rng_uniform", (tsr_shape){2, {2, 4}}, "i32");
    double want[8], *out = want;
    uint32_t have[8];
    const void *in[] = {answers[i].key, answers[i].counter};
    assert_null(tsr_graph_reference(g, in, &out, NULL));
    run(d, g, in, have);
    for (int k = 0; k < 4; k++) {
      assert_int_equal(have[k], answers[i].block[k]);
      assert_true(want[k] == (double)(int32_t)answers[i].block[k]);
    }
    for (int k = 4; k < 8; k++) assert_true(want[k] == (double)(int32_t)have[k]);
    tsr_graph_destroy(&g);
  }
}

/* The carry of all four words. */
static void counter_wraps_to_zero(void **state) {
  const uint32_t key[2] = {3, 4}, last[4] = {~0u, ~0u, ~0u, ~0u}, zero[4] = {0}, low[4] = {~0u, ~0u, 7, 0},
                 next[4] = {0, 0, 8, 0};
  uint32_t a[8], b[4];
  draw(*state, "rng_uniform", (tsr_shape){1, {8}}, "i32", key, last, a);
  draw(*state, "rng_uniform", (tsr_shape){1, {4}}, "i32", key, zero, b);
  assert_memory_equal(a + 4, b, sizeof b);
  draw(*state, "rng_uniform", (tsr_shape){1, {8}}, "i32", key, low, a);
  draw(*state, "rng_uniform", (tsr_shape){1, {4}}, "i32", key, next, b);
  assert_memory_equal(a + 4, b, sizeof b);
}

/* Whatever the shape, and of a shard with its place in the counter. */
static void part_is_the_same_as_in_the_whole(void **state) {
  static const char *const ops[] = {"rng_uniform", "rng_normal"};
  const uint32_t key[2] = {11, 12};
  for (int o = 0; o < 2; o++) {
    uint32_t whole[48], part[24], other[48];
    draw(*state, ops[o], (tsr_shape){2, {6, 8}}, "f32", key, (uint32_t[4]){0, 0, 5, 1}, whole);
    draw(*state, ops[o], (tsr_shape){2, {3, 8}}, "f32", key, (uint32_t[4]){3 * 8 / 4, 0, 5, 1}, part);
    draw(*state, ops[o], (tsr_shape){3, {2, 3, 8}}, "f32", key, (uint32_t[4]){0, 0, 5, 1}, other);
    assert_memory_equal(part, whole + 24, sizeof part);
    assert_memory_equal(other, whole, sizeof whole);
  }
}

/* Of n independent numbers the mean is off by some standard deviations / sqrt n: five are allowed. */
static void numbers_are_spread_as_they_should(void **state) {
  static const char *const types[] = {"f32", "f64"};
  const uint32_t key[2] = {1, 2}, counter[4] = {0};
  for (int normal = 0; normal < 2; normal++)
    for (int t = 0; t < 2; t++) {
      static double wide[MOST];
      static float narrow[MOST];
      double mean = 0, square = 0, low = INFINITY, high = -INFINITY;
      draw(*state, normal ? "rng_normal" : "rng_uniform", (tsr_shape){1, {MOST}}, types[t], key, counter,
           t ? (void *)wide : narrow);
      for (int i = 0; i < MOST; i++) {
        const double x = t ? wide[i] : (double)narrow[i];
        mean += x / MOST, square += x * x / MOST;
        low = fmin(low, x), high = fmax(high, x);
      }
      const double deviation = normal ? 1 : sqrt(1 / 12.0), middle = normal ? 0 : 0.5;
      assert_true(fabs(mean - middle) < 5 * deviation / sqrt(MOST));
      /* the variance of x^2: 2 of a normal number, less of a uniform one */
      assert_true(fabs(square - mean * mean - deviation * deviation) < 5 * sqrt(2.0 / MOST));
      if (!normal) assert_true(low >= 0 && high < 1 && low < 0.01 && high > 0.99);
      else assert_true(low > -5.8 * (1 + t) && high < 5.8 * (1 + t) && low < -2 && high > 2);
    }
}

static void what_is_dropped_is_below_p(void **state) {
  draws *d = *state;
  static float x[MOST], u[MOST], y[MOST], grad[MOST];
  const uint32_t key[2] = {7, 9}, counter[4] = {1, 2, 3, 4};
  const double p = 0.3;
  tsr_graph *g;
  tsr_value v[3], out;
  const tsr_attr a = TSR_FLOAT("p", p);
  for (int i = 0; i < MOST; i++) x[i] = i == 5 ? NAN : (float)(i + 1);
  draw(d, "rng_uniform", (tsr_shape){1, {MOST}}, "f32", key, counter, u);
  assert_null(tsr_graph_create(d->ctx, NULL, &g));
  assert_null(tsr_graph_input(g, "x", TSR_F32, (tsr_shape){1, {MOST}}, &v[0]));
  assert_null(tsr_graph_input(g, "key", TSR_I32, (tsr_shape){1, {2}}, &v[1]));
  assert_null(tsr_graph_input(g, "counter", TSR_I32, (tsr_shape){1, {4}}, &v[2]));
  assert_null(tsr_graph_op(g, "dropout", v, 3, &a, 1, &out));
  assert_null(tsr_graph_output(g, out));
  run(d, g, (const void *[]){x, key, counter}, y);
  tsr_graph_destroy(&g);
  int dropped = 0;
  for (int i = 0; i < MOST; i++) {
    const bool stays = (double)u[i] >= nearbyint(p * 0x1p24) * 0x1p-24;
    dropped += !stays;
    grad[i] = stays ? (float)(1 / (1 - p)) : 0;
    assert_true(stays ? isnan(x[i]) || y[i] == x[i] * grad[i] : y[i] == 0);
  }
  assert_true(fabs(dropped - p * MOST) < 5 * sqrt(p * (1 - p) * MOST));
}

/* The gradient of a sum after dropout is 1 / (1 - p) where x stays, 0 where it doesn't. */
static void gradient_goes_through_the_same_elements(void **state) {
  draws *d = *state;
  static float x[MOST], y[MOST], grad[MOST];
  const uint32_t key[2] = {7, 9};
  tsr_graph *g, *gradient;
  tsr_value v[2], out, sum;
  const tsr_attr a = TSR_FLOAT("p", 0.5);
  for (int i = 0; i < MOST; i++) x[i] = 1;
  assert_null(tsr_graph_create(d->ctx, NULL, &g));
  assert_null(tsr_graph_input(g, "x", TSR_F32, (tsr_shape){1, {MOST}}, &v[0]));
  assert_null(tsr_graph_input(g, "key", TSR_I32, (tsr_shape){1, {2}}, &v[1]));
  assert_null(tsr_graph_op(g, "dropout", v, 2, &a, 1, &out));
  assert_null(tsr_graph_op(g, "reduce_sum", &out, 1, NULL, 0, &sum));
  assert_null(tsr_graph_output(g, sum));
  assert_null(tsr_graph_output(g, out));
  assert_null(tsr_graph_grad(g, v, 1, &gradient));
  tsr_program *p;
  tsr_binding in[2] = {{0}}, bo[3] = {{0}};
  assert_null(tsr_program_compile(d->dev, gradient, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
  assert_null(tsr_buffer_create(d->dev, sizeof x, TSR_MEMORY_DEVICE, &in[0].buffer));
  assert_null(tsr_buffer_create(d->dev, sizeof key, TSR_MEMORY_DEVICE, &in[1].buffer));
  for (int i = 0; i < 3; i++)
    assert_null(tsr_buffer_create(d->dev, i ? sizeof x : 4, TSR_MEMORY_DEVICE, &bo[i].buffer));
  assert_null(tsr_buffer_write(in[0].buffer, 0, x, sizeof x));
  assert_null(tsr_buffer_write(in[1].buffer, 0, key, sizeof key));
  assert_null(tsr_program_run(p, NULL, in, bo));
  assert_null(tsr_buffer_read(bo[1].buffer, 0, y, sizeof y));
  assert_null(tsr_buffer_read(bo[2].buffer, 0, grad, sizeof grad));
  assert_memory_equal(y, grad, sizeof y); /* x is 1 */
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&in[i].buffer);
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&bo[i].buffer);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&gradient);
  tsr_graph_destroy(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(philox_gives_the_published_answers),
                                     cmocka_unit_test(counter_wraps_to_zero),
                                     cmocka_unit_test(part_is_the_same_as_in_the_whole),
                                     cmocka_unit_test(numbers_are_spread_as_they_should),
                                     cmocka_unit_test(what_is_dropped_is_below_p),
                                     cmocka_unit_test(gradient_goes_through_the_same_elements)};
  return cmocka_run_group_tests(tests, open_device, close_device);
}
