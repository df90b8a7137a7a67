/* A step of decoding on the CPU: one query, heads that share keys, through the public interface. Right for lengths that
 * fit no tile and no part, with a number that says how many keys count; the same bits on any number of threads; and
 * queries are multiplied in the type that keys have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "tests/support/api_check.h"

typedef struct shape {
  int64_t heads, kv_heads, width, keys, length; /* length < 0: all keys, and no number that says so */
} shape;

typedef struct data {
  void *x[4]; /* q, k, v, length */
  size_t bytes[4];
  int32_t length;
} data;

/* Values of -1 to 1, q's of -4 to 4: some keys matter much more than others. */
static void fill(void *p, tsr_dtype t, int64_t n, uint32_t seed, double most) {
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    dtype_store(t, p, i, most * ((double)(seed >> 8) / 8388608.0 - 1));
  }
}

static data make(const shape *s, tsr_dtype t) {
  const int64_t n[3] = {s->heads * s->width, s->kv_heads * s->keys * s->width, s->kv_heads * s->keys * s->width};
  data d = {.length = (int32_t)s->length};
  for (int i = 0; i < 3; i++) {
    d.bytes[i] = (size_t)n[i] * tsr_dtype_size(t);
    assert_non_null(d.x[i] = malloc(d.bytes[i]));
    fill(d.x[i], t, n[i], (uint32_t)i + 1, i ? 1 : 4);
  }
  d.bytes[3] = sizeof d.length;
  return d;
}

/* The largest error, in units of what the type may be off by. */
static double error_of(const shape *s, tsr_dtype t, const data *d, const void *y) {
  const int64_t n = s->length < 0 ? s->keys : s->length, group = s->heads / s->kv_heads;
  double *p = malloc(sizeof *p * (size_t)(n + 1)), worst = 0;
  assert_non_null(p);
  for (int64_t h = 0; h < s->heads; h++) {
    double top = -INFINITY, sum = 0;
    const int64_t from = h / group * s->keys;
    for (int64_t j = 0; j < n; j++) {
      p[j] = 0;
      for (int64_t c = 0; c < s->width; c++)
        p[j] += dtype_load(t, d->x[0], h * s->width + c) * dtype_load(t, d->x[1], (from + j) * s->width + c);
      p[j] /= sqrt((double)s->width);
      top = fmax(top, p[j]);
    }
    for (int64_t j = 0; j < n; j++) sum += p[j] = exp(p[j] - top);
    for (int64_t c = 0; c < s->width; c++) {
      double want = 0;
      for (int64_t j = 0; j < n; j++) want += p[j] / sum * dtype_load(t, d->x[2], (from + j) * s->width + c);
      /* Scores below 32 of `width` products each, weights rounded to the type, an average of values below 1. */
      const double unit = t == TSR_F32 ? ldexp(1, -24) : ldexp(1, t == TSR_F16 ? -11 : -8),
                   may = 4 * unit + ldexp(1, -24) * 32 * sqrt((double)s->width);
      worst = fmax(worst, fabs(dtype_load(t, y, h * s->width + c) - want) / may);
    }
  }
  free(p);
  return worst;
}

static tsr_program *compile(tsr_context *ctx, tsr_device *dev, const shape *s, tsr_dtype t, tsr_policy policy) {
  tsr_graph *g;
  tsr_value v[4], y;
  tsr_program *p;
  const tsr_attr causal = TSR_BOOLEAN("causal", true);
  const tsr_shape keys = {4, {1, s->kv_heads, s->keys, s->width}};
  OK(tsr_graph_create(ctx, "decode", &g));
  OK(tsr_graph_input(g, "q", t, (tsr_shape){4, {1, s->heads, 1, s->width}}, &v[0]));
  OK(tsr_graph_input(g, "k", t, keys, &v[1]));
  OK(tsr_graph_input(g, "v", t, keys, &v[2]));
  if (s->length >= 0) OK(tsr_graph_input(g, "n", TSR_I32, (tsr_shape){1, {1}}, &v[3]));
  OK(tsr_graph_op(g, "flash_attention", v, s->length < 0 ? 3 : 4, &causal, 1, &y));
  OK(tsr_graph_output(g, y));
  OK(tsr_program_compile(dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF, .policy = policy}, &p));
  tsr_graph_destroy(&g);
  return p;
}

/* No product of f32 with keys of another type, which would be packed for each tile. */
static void check_types(tsr_context *ctx, const tsr_program *p, tsr_dtype t) {
  char *text, narrow[32];
  OK(tsr_program_dump(p, TSR_LEVEL_TARGET, &text, NULL));
  snprintf(narrow, sizeof narrow, "x%s", tsr_dtype_name(t));
  int products = 0;
  for (const char *c = strstr(text, "fn = \"gemm\""); c; c = strstr(c + 1, "fn = \"gemm\""), products++) {
    const char *types = strstr(c, "} : ("), *end = types ? strchr(types, '\n') : NULL, *at = types;
    assert_non_null(end);
    int of_type = 0;
    while ((at = strstr(at, narrow)) && at++ < end) of_type++;
    if (of_type < 2 + (t == TSR_F32)) fail_msg("%s: %.*s", tsr_dtype_name(t), (int)(end - types), types);
  }
  assert_true(products > 0);
  tsr_text_free(ctx, &text);
}

static void *run(const shape *s, tsr_dtype t, const data *d, const char *threads, tsr_policy policy) {
  tsr_context *ctx;
  tsr_device *dev;
  setenv("TSR_THREADS", threads, 1);
  OK(tsr_context_create(NULL, &ctx));
  unsetenv("TSR_THREADS");
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  tsr_program *p = compile(ctx, dev, s, t, policy);
  check_types(ctx, p, t);
  tsr_binding in[4] = {{0}}, out = {0};
  void *y = calloc(1, d->bytes[0]);
  assert_non_null(y);
  const int n = s->length < 0 ? 3 : 4;
  for (int i = 0; i < n; i++) {
    OK(tsr_buffer_create(dev, d->bytes[i], TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, i == 3 ? &d->length : d->x[i], d->bytes[i]));
  }
  OK(tsr_buffer_create(dev, d->bytes[0], TSR_MEMORY_DEVICE, &out.buffer));
  OK(tsr_program_run(p, NULL, in, &out));
  OK(tsr_buffer_read(out.buffer, 0, y, d->bytes[0]));
  for (int i = 0; i < n; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return y;
}

static void one_query_is_right_on_any_number_of_threads(void **state) {
  static const shape shapes[] = {{9, 3, 64, 512, -1},    {9, 3, 64, 2100, -1},  {8, 2, 128, 1541, -1},
                                 {3, 3, 20, 1100, -1},   {5, 1, 33, 1024, -1},  {9, 3, 64, 1, -1},
                                 {9, 3, 64, 1600, 0},    {9, 3, 64, 1600, 1},   {9, 3, 64, 1600, 515},
                                 {9, 3, 64, 1600, 1600}, {4, 2, 256, 300, 299}, {17, 1, 8, 1030, 1029}};
  static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
      const data d = make(&shapes[i], types[k]);
      void *y = run(&shapes[i], types[k], &d, "1", TSR_POLICY_FAST);
      const double e = error_of(&shapes[i], types[k], &d, y);
      if (!(e <= 1)) fail_msg("shape %d, %s: error %g", (int)i, tsr_dtype_name(types[k]), e);
      free(y);
      y = run(&shapes[i], types[k], &d, "1", TSR_POLICY_DETERMINISTIC);
      for (int threads = 2; threads < 5; threads++) {
        char number[16];
        snprintf(number, sizeof number, "%d", threads);
        void *other = run(&shapes[i], types[k], &d, number, TSR_POLICY_DETERMINISTIC);
        assert_memory_equal(y, other, d.bytes[0]);
        free(other);
      }
      free(y);
      for (int x = 0; x < 3; x++) free(d.x[x]);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_query_is_right_on_any_number_of_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
