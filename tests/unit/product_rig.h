/* tests/unit/product_rig.h - a context with its CPU for tests of the public interface, and relu(A B + C) on it. */
#ifndef TESTS_UNIT_PRODUCT_RIG_H
#define TESTS_UNIT_PRODUCT_RIG_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/api_check.h"

typedef struct rig {
  tsr_context *ctx;
  tsr_device *dev;
} rig;

static inline rig open_rig(void) {
  rig r = {0};
  tsr_context_desc d = {.abi_version = TSR_ABI_VERSION, .cache_dir = ""};
  OK(tsr_context_create(&d, &r.ctx));
  OK(tsr_device_open(r.ctx, "cpu:0", &r.dev));
  return r;
}

static inline void close_rig(rig *r) {
  tsr_device_close(&r->dev);
  tsr_context_destroy(&r->ctx);
  assert_null(r->ctx);
}

static inline tsr_shape shape2(int64_t m, int64_t n) { return (tsr_shape){.rank = 2, .dims = {m, n}}; }

/* A[m,k] * B[k,n] + C[n], relu. */
static inline tsr_graph *product(rig *r, tsr_dtype t, int64_t m, int64_t n, int64_t k) {
  tsr_graph *g;
  tsr_value v[2], c[2], y;
  OK(tsr_graph_create(r->ctx, "product", &g));
  OK(tsr_graph_input(g, "A", t, shape2(m, k), &v[0]));
  OK(tsr_graph_input(g, "B", t, shape2(k, n), &v[1]));
  OK(tsr_graph_input(g, "C", t, (tsr_shape){.rank = 1, .dims = {n}}, &c[1]));
  OK(tsr_graph_op(g, "matmul", v, 2, NULL, 0, &c[0]));
  OK(tsr_graph_op(g, "add", c, 2, NULL, 0, &y));
  OK(tsr_graph_op(g, "relu", &y, 1, NULL, 0, &y));
  OK(tsr_graph_output(g, y));
  return g;
}

static inline float value_at(size_t i, size_t seed) {
  return (float)((double)((i * 2654435761u + seed * 40503u) % 2001) / 1000.0 - 1.0);
}

static inline tsr_buffer *filled(rig *r, size_t n, size_t seed) {
  tsr_buffer *b;
  OK(tsr_buffer_create(r->dev, n * 4, TSR_MEMORY_HOST, &b));
  float *p = tsr_buffer_map(b);
  assert_non_null(p);
  for (size_t i = 0; i < n; i++) p[i] = value_at(i, seed);
  return b;
}

/* Runs the f32 product with options; out holds m * n floats. */
static inline void run_product(rig *r, const tsr_compile_options *o, int64_t m, int64_t n, int64_t k, float *out) {
  tsr_graph *g = product(r, TSR_F32, m, n, k);
  tsr_program *p;
  OK(tsr_program_compile(r->dev, g, o, &p));
  tsr_buffer *in[3] = {filled(r, (size_t)(m * k), 1), filled(r, (size_t)(k * n), 2), filled(r, (size_t)n, 3)}, *y;
  OK(tsr_buffer_create(r->dev, (size_t)(m * n) * 4, TSR_MEMORY_DEVICE, &y));
  tsr_binding bi[3] = {{in[0], 0}, {in[1], 0}, {in[2], 0}}, bo = {y, 0};
  OK(tsr_program_run(p, NULL, bi, &bo));
  OK(tsr_buffer_read(y, 0, out, (size_t)(m * n) * 4));
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&in[i]);
  tsr_buffer_destroy(&y);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
}

#endif
