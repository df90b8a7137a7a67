/* Maps of the CPU whose last dimension has few elements, so that strips run along a longer one: pairs that turn, read
 * with strides, at places that count; from one element on, and of more rows than a strip has. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/api_check.h"

enum { X, COS, SIN, Y, N_INPUTS, MOST = 3 * 3000 };

/* rope(x[:, :, 1:3]) * y */
static tsr_graph *build(tsr_context *ctx, int64_t heads, int64_t places) {
  const tsr_shape shapes[N_INPUTS] = {{3, {heads, places, 3}}, {2, {places, 1}}, {2, {places, 1}}, {3, {heads, 1, 2}}};
  static const char *const names[N_INPUTS] = {"x", "cos", "sin", "y"};
  const int64_t starts[3] = {0, 0, 1}, sizes[3] = {heads, places, 2};
  const tsr_attr cut[2] = {TSR_INTS("starts", starts, 3), TSR_INTS("sizes", sizes, 3)};
  const tsr_attr pairs = TSR_BOOLEAN("interleaved", true);
  tsr_graph *g;
  tsr_value v[N_INPUTS], z;
  OK(tsr_graph_create(ctx, "main", &g));
  for (int i = 0; i < N_INPUTS; i++) OK(tsr_graph_input(g, names[i], TSR_F32, shapes[i], &v[i]));
  OK(tsr_graph_op(g, "slice", &v[X], 1, cut, 2, &z));
  OK(tsr_graph_op(g, "rope", (tsr_value[]){z, v[COS], v[SIN]}, 3, &pairs, 1, &z));
  OK(tsr_graph_op(g, "mul", (tsr_value[]){z, v[Y]}, 2, NULL, 0, &z));
  OK(tsr_graph_output(g, z));
  return g;
}

static void check(tsr_context *ctx, tsr_device *dev, int64_t heads, int64_t places) {
  static float in[N_INPUTS][MOST], got[MOST];
  static double want[MOST], off[MOST];
  tsr_graph *g = build(ctx, heads, places);
  tsr_program *p;
  tsr_binding b[N_INPUTS], out;
  uint32_t seed = 7;
  OK(tsr_program_compile(dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
  for (int i = 0; i < N_INPUTS; i++) {
    const size_t bytes = tsr_program_input(p, i).bytes;
    for (size_t k = 0; k < bytes / sizeof(float); k++) {
      seed = seed * 1664525u + 1013904223u;
      in[i][k] = (float)(seed >> 8) / 8388608 - 1;
    }
    OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &b[i].buffer));
    OK(tsr_buffer_write(b[i].buffer, 0, in[i], bytes));
    b[i].offset = 0;
  }
  const size_t bytes = tsr_program_output(p, 0).bytes;
  out.offset = 0;
  OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &out.buffer));
  OK(tsr_program_run(p, NULL, b, &out));
  OK(tsr_buffer_read(out.buffer, 0, got, bytes));
  OK(tsr_graph_reference(g, (const void *[]){in[X], in[COS], in[SIN], in[Y]}, (double *[]){want}, (double *[]){off}));
  for (size_t i = 0; i < bytes / sizeof(float); i++)
    if (!(fabs((double)got[i] - want[i]) <= off[i]))
      fail_msg("%lld heads, %lld places, element %zu: %g, not %g +- %g", (long long)heads, (long long)places, i,
               (double)got[i], want[i], off[i]);
  for (int i = 0; i < N_INPUTS; i++) tsr_buffer_destroy(&b[i].buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
}

static void short_last_dimensions_give_the_same(void **state) {
  static const int64_t shapes[][2] = {{1, 1}, {1, 9}, {7, 1}, {5, 37}, {40, 3}, {1, 3000}, {3, 1000}};
  tsr_context *ctx;
  tsr_device *dev;
  (void)state;
  OK(tsr_context_create(NULL, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check(ctx, dev, shapes[i][0], shapes[i][1]);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(short_last_dimensions_give_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
