/* A product with a sum on cpu:0 in a context whose tuning cache is a folder of the test's own; for the tests of tuning
 * through the public interface. Included after cmocka.h. */
#ifndef TESTS_UNIT_TUNE_MATMUL_H
#define TESTS_UNIT_TUNE_MATMUL_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/profile.h"
#include "tessera/tune.h"

static char dir[64];

static inline int make_dir(void **state) {
  snprintf(dir, sizeof dir, "/tmp/tsr-rt-XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}
static inline int drop_dir(void **state) {
  char cmd[100];
  snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
  return system(cmd);
}

typedef struct fixture {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
} fixture;

static inline fixture open_matmul(int64_t m, int64_t n, int64_t k) {
  fixture f = {0};
  tsr_value a, b, c, mm, r;
  assert_null(tsr_context_create(&(tsr_context_desc){.cache_dir = dir}, &f.ctx));
  assert_null(tsr_device_open(f.ctx, "cpu:0", &f.dev));
  assert_null(tsr_graph_create(f.ctx, "main", &f.g));
  assert_null(tsr_graph_input(f.g, "A", TSR_F32, (tsr_shape){2, {m, k}}, &a));
  assert_null(tsr_graph_input(f.g, "B", TSR_F32, (tsr_shape){2, {k, n}}, &b));
  assert_null(tsr_graph_input(f.g, "C", TSR_F32, (tsr_shape){2, {m, n}}, &c));
  assert_null(tsr_graph_op(f.g, "matmul", (tsr_value[]){a, b}, 2, NULL, 0, &mm));
  assert_null(tsr_graph_op(f.g, "add", (tsr_value[]){mm, c}, 2, NULL, 0, &r));
  assert_null(tsr_graph_output(f.g, r));
  return f;
}
static inline void close_all(fixture *f) {
  tsr_graph_destroy(&f->g);
  tsr_device_close(&f->dev);
  tsr_context_destroy(&f->ctx);
}

static const tsr_tune_options few = {.samples = 8, .samples_fixed = true, .stop_fraction = 2};
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)

/* Compiles f's graph and runs it on fixed data; *out: its n results, to be freed. Returns the reference's, to be freed.
 */
static inline double *run_options(fixture *f, const tsr_compile_options *o, float **out, size_t *n_out) {
  tsr_program *p;
  tsr_binding in[3], res;
  assert_null(tsr_program_compile(f->dev, f->g, o, &p));
  const void *host[3];
  for (int i = 0; i < 3; i++) {
    tsr_tensor_info t = tsr_program_input(p, i);
    float *data = malloc(t.bytes);
    uint32_t s = 17 + (uint32_t)i;
    for (size_t k = 0; k < t.bytes / 4; k++) s = s * 1664525u + 1013904223u, data[k] = (float)(s >> 8) / 8388608.0f - 1;
    assert_null(tsr_buffer_create(f->dev, t.bytes, TSR_MEMORY_HOST, &in[i].buffer));
    assert_null(tsr_buffer_write(in[i].buffer, 0, data, t.bytes));
    in[i].offset = 0;
    host[i] = data;
  }
  tsr_tensor_info t = tsr_program_output(p, 0);
  *n_out = t.bytes / 4;
  assert_null(tsr_buffer_create(f->dev, t.bytes, TSR_MEMORY_HOST, &res.buffer));
  res.offset = 0;
  assert_null(tsr_program_run(p, NULL, in, &res));
  *out = malloc(t.bytes);
  double ns[8];
  assert_null(tsr_program_profile(p, NULL, in, &res, ns)); /* waits */
  assert_null(tsr_buffer_read(res.buffer, 0, *out, t.bytes));
  double *want = malloc(*n_out * sizeof *want), *outs[1] = {want};
  assert_null(tsr_graph_reference(f->g, host, outs, NULL));
  for (int i = 0; i < 3; i++) {
    free((void *)host[i]);
    tsr_buffer_destroy(&in[i].buffer);
  }
  tsr_buffer_destroy(&res.buffer);
  tsr_program_destroy(&p);
  return want;
}
#endif
