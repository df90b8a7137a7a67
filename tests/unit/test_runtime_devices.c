/* Devices and what is bound to them. Buffers are aligned, and tensors that aren't compute the same. Several devices of
 * one context share a batch as docs/distributed.md does by hand: each has the weights and works through its rows, and
 * what is brought together is what one device computes of the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/support/api_check.h"

enum { ROWS = 45, INNER = 33, COLUMNS = 19, MOST = 3 };

static tsr_shape shape2(int64_t m, int64_t n) { return (tsr_shape){.rank = 2, .dims = {m, n}}; }

/* relu(X W) for so many rows. */
static tsr_program *part(tsr_context *ctx, tsr_device *dev, int64_t rows) {
  tsr_graph *g;
  tsr_program *p;
  tsr_value v[2], y;
  OK(tsr_graph_create(ctx, "part", &g));
  OK(tsr_graph_input(g, "X", TSR_F32, shape2(rows, INNER), &v[0]));
  OK(tsr_graph_input(g, "W", TSR_F32, shape2(INNER, COLUMNS), &v[1]));
  OK(tsr_graph_op(g, "matmul", v, 2, NULL, 0, &y));
  OK(tsr_graph_op(g, "relu", &y, 1, NULL, 0, &y));
  OK(tsr_graph_output(g, y));
  OK(tsr_program_compile(dev, g, NULL, &p));
  tsr_graph_destroy(&g);
  return p;
}

typedef struct share {
  tsr_program *p;
  tsr_buffer *x, *w, *y;
} share;

/* Started, not waited for. */
static share start(tsr_context *ctx, tsr_device *dev, const float *x, const float *w, int64_t rows) {
  share s = {part(ctx, dev, rows), NULL, NULL, NULL};
  OK(tsr_buffer_create(dev, (size_t)rows * INNER * 4, TSR_MEMORY_DEVICE, &s.x));
  OK(tsr_buffer_create(dev, INNER * COLUMNS * 4, TSR_MEMORY_DEVICE, &s.w));
  OK(tsr_buffer_create(dev, (size_t)rows * COLUMNS * 4, TSR_MEMORY_DEVICE, &s.y));
  OK(tsr_buffer_write(s.x, 0, x, (size_t)rows * INNER * 4));
  OK(tsr_buffer_write(s.w, 0, w, INNER * COLUMNS * 4));
  OK(tsr_program_run(s.p, NULL, (tsr_binding[]){{s.x, 0}, {s.w, 0}}, &(tsr_binding){s.y, 0}));
  return s;
}

static void finish(share *s, float *y) {
  OK(tsr_buffer_read(s->y, 0, y, tsr_buffer_bytes(s->y)));
  tsr_buffer_destroy(&s->x);
  tsr_buffer_destroy(&s->w);
  tsr_buffer_destroy(&s->y);
  tsr_program_destroy(&s->p);
}

/* Whole numbers, so that no order of sums rounds: results are equal to the bit on every kind of device. */
static void fill(float *p, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) p[i] = (float)((int)((i * 2654435761u + seed) % 17) - 8);
}

static void batch_split_over_devices_is_the_whole_on_one(void **state) {
  static float x[ROWS * INNER], w[INNER * COLUMNS], whole[ROWS * COLUMNS], together[ROWS * COLUMNS];
  tsr_context *ctx;
  tsr_device *dev[MOST] = {NULL};
  share s[MOST];
  int n = 2;
  fill(x, ROWS * INNER, 1), fill(w, INNER * COLUMNS, 2);
  OK(tsr_context_create(&(tsr_context_desc){.abi_version = TSR_ABI_VERSION, .cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev[0]));
  OK(tsr_device_open(ctx, "cpu:0", &dev[1]));
  tsr_status st = tsr_device_open(ctx, "vulkan:0", &dev[2]); /* another kind, where there is one */
  if (st) printf("skipped: a third device: %s\n", tsr_status_message(st));
  else n = 3;
  tsr_status_free(st);
  s[0] = start(ctx, dev[0], x, w, ROWS);
  finish(&s[0], whole);
  float most = 0;
  for (int i = 0; i < ROWS * COLUMNS; i++) most = whole[i] > most ? whole[i] : most;
  assert_true(most > 100); /* there is something to compare */
  for (int i = 0; i < n; i++)
    s[i] = start(ctx, dev[i], x + i * (ROWS / n) * INNER, w, i + 1 < n ? ROWS / n : ROWS - i * (ROWS / n));
  for (int i = 0; i < n; i++) finish(&s[i], together + i * (ROWS / n) * COLUMNS);
  assert_memory_equal(whole, together, sizeof whole);
  for (int i = 0; i < n; i++) tsr_device_close(&dev[i]);
  tsr_context_destroy(&ctx);
}

/* 128 bits at least; ours start at multiples of 256. */
static void buffers_start_at_multiples_of_256(void **state) {
  static const size_t sizes[] = {1, 3, 64, 100, 4097, 1 << 20};
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.abi_version = TSR_ABI_VERSION, .cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
    tsr_buffer *b;
    OK(tsr_buffer_create(dev, sizes[i / 2], i % 2 ? TSR_MEMORY_HOST : TSR_MEMORY_DEVICE, &b));
    assert_true(tsr_buffer_map(b) && (uintptr_t)tsr_buffer_map(b) % 256 == 0);
    tsr_buffer_destroy(&b);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* Of a list the first that is there, by argument and by knob; what isn't there is passed over, what is wrong isn't. */
static void list_of_devices_opens_the_first_there(void **state) {
  static const struct {
    const char *list, *opens;
  } lists[] = {{"none:0,cpu:0", "cpu:0"},        {"cpu:7,cpu", "cpu:0"}, {"cpu,none", "cpu:0"},
               {"null:spirv,cpu", "null:spirv"}, {"none,never", NULL},   {"none,", NULL}};
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.abi_version = TSR_ABI_VERSION, .cache_dir = ""}, &ctx));
  for (size_t i = 0; i < 2 * sizeof lists / sizeof *lists; i++) {
    bool knob = i % 2;
    if (knob) setenv("TSR_BACKEND", lists[i / 2].list, 1);
    tsr_status st = tsr_device_open(ctx, knob ? NULL : lists[i / 2].list, &dev);
    unsetenv("TSR_BACKEND");
    if (lists[i / 2].opens) OK(st);
    else assert_int_equal(tsr_status_code(st), TSR_UNAVAILABLE);
    if (dev) assert_string_equal(tsr_device_get_info(dev)->id, lists[i / 2].opens);
    if (!lists[i / 2].opens) tsr_status_free(st), assert_null(dev);
    tsr_device_close(&dev);
  }
  tsr_context_destroy(&ctx);
}

/* Every tensor begins at an odd element of its buffer. */
static void misaligned_views_compute_the_same(void **state) {
  static const char *const devices[] = {"cpu:0", "vulkan:0"};
  static float x[ROWS * INNER + 32], w[INNER * COLUMNS + 32], y[ROWS * COLUMNS + 32], want[ROWS * COLUMNS];
  tsr_context *ctx;
  bool left_out = false;
  OK(tsr_context_create(&(tsr_context_desc){.abi_version = TSR_ABI_VERSION, .cache_dir = ""}, &ctx));
  for (int d = 0; d < 2; d++) {
    tsr_device *dev;
    tsr_status st = tsr_device_open(ctx, devices[d], &dev);
    if (st) {
      printf("skipped: %s: %s\n", devices[d], tsr_status_message(st));
      tsr_status_free(st);
      left_out = true;
      continue;
    }
    fill(x, ROWS * INNER, 1), fill(w, INNER * COLUMNS, 2);
    share s = start(ctx, dev, x, w, ROWS);
    tsr_program *p = s.p;
    s.p = NULL;
    finish(&s, want);
    for (size_t odd = 1; odd < 16; odd += 3) {
      tsr_buffer *in[2], *out;
      fill(x + odd, ROWS * INNER, 1), fill(w + odd + 1, INNER * COLUMNS, 2);
      OK(tsr_buffer_create(dev, sizeof x, TSR_MEMORY_DEVICE, &in[0]));
      OK(tsr_buffer_create(dev, sizeof w, TSR_MEMORY_DEVICE, &in[1]));
      OK(tsr_buffer_create(dev, sizeof y, TSR_MEMORY_DEVICE, &out));
      OK(tsr_buffer_write(in[0], 0, x, sizeof x));
      OK(tsr_buffer_write(in[1], 0, w, sizeof w));
      OK(tsr_program_run(p, NULL, (tsr_binding[]){{in[0], 4 * odd}, {in[1], 4 * (odd + 1)}},
                         &(tsr_binding){out, 4 * (odd + 2)}));
      OK(tsr_buffer_read(out, 0, y, sizeof y));
      assert_memory_equal(y + odd + 2, want, sizeof want);
      tsr_buffer_destroy(&in[0]);
      tsr_buffer_destroy(&in[1]);
      tsr_buffer_destroy(&out);
    }
    tsr_program_destroy(&p);
    tsr_device_close(&dev);
  }
  tsr_context_destroy(&ctx);
  if (left_out) skip(); /* the other device was looked at */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(buffers_start_at_multiples_of_256),
                                     cmocka_unit_test(misaligned_views_compute_the_same),
                                     cmocka_unit_test(list_of_devices_opens_the_first_there),
                                     cmocka_unit_test(batch_split_over_devices_is_the_whole_on_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
