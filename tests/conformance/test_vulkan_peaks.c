/* Peaks of matrix instructions on a live Vulkan device (tsr_device_peaks): there where the device has matrices for a
 * type and not elsewhere, kept, and the loop that measures them computes what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "core/runtime/internal.h"
#include "core/runtime/peak_matrix.h"
#include "tessera/profile.h"
#include "tests/support/api_check.h"

static tsr_context *ctx;
static tsr_device *dev;

/* Element (row, column) of an operand that begins at `start`. */
static int at(size_t start, int columns, int row, int column) {
  static const int of[5] = {0, 1, 0, 2, 1};
  size_t i = start + (size_t)row * (size_t)columns + (size_t)column;
  return of[(i * 7 + i / 13) % 5];
}

/* Of sum (i, j) after all steps. */
static int expected(const peak_matrix *p, int i, int j, int row, int column) {
  const tsr_matrix_shape *x = &p->shape;
  int sum = 0;
  for (int s = 0; s < p->steps; s++) {
    size_t a = (size_t)((i + s) % p->down) * (size_t)(x->m * x->k), b = (size_t)j * (size_t)(x->k * x->n);
    for (int k = 0; k < x->k; k++) sum += at(a, x->k, row, k) * at(b, x->n, k, column);
  }
  return sum;
}

static void compute(const peak_matrix *p) {
  const tsr_matrix_shape *x = &p->shape;
  strb text;
  tsr_program *prog;
  tsr_buffer *in, *out;
  strb_init(&text, &al_default);
  peak_matrix_text(&text, p, &dev->caps);
  assert_true(strb_ok(&text));
  OK(tsr_program_parse(dev, strb_text(&text), text.n, "peak", &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &prog));
  const size_t in_bytes = tsr_program_input(prog, 0).bytes, out_bytes = tsr_program_output(prog, 0).bytes;
  char *a = calloc(1, in_bytes), *c = calloc(1, out_bytes);
  for (size_t i = 0; i < in_bytes / tsr_dtype_size(x->a); i++) dtype_store(x->a, a, i, at(i, 1, 0, 0));
  OK(tsr_buffer_create(dev, in_bytes, TSR_MEMORY_DEVICE, &in));
  OK(tsr_buffer_create(dev, out_bytes, TSR_MEMORY_DEVICE, &out));
  OK(tsr_buffer_write(in, 0, a, in_bytes));
  OK(tsr_program_run(prog, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0}));
  OK(tsr_buffer_read(out, 0, c, out_bytes));
  size_t e = 0;
  for (long block = 0; block < p->blocks; block++)
    for (int i = 0; i < p->down; i++)
      for (int j = 0; j < p->across; j++)
        for (int row = 0; row < x->m; row++)
          for (int column = 0; column < x->n; column++, e++)
            if (dtype_load(x->c, c, e) != expected(p, i, j, row, column))
              fail_msg("%dx%dx%d %s, block %ld, sum (%d, %d), element (%d, %d): %g, not %d", x->m, x->n, x->k,
                       tsr_dtype_name(x->a), block, i, j, row, column, dtype_load(x->c, c, e),
                       expected(p, i, j, row, column));
  assert_int_equal(e * tsr_dtype_size(x->c), out_bytes);
  free(a), free(c);
  strb_clear(&text);
  tsr_buffer_destroy(&in), tsr_buffer_destroy(&out);
  tsr_program_destroy(&prog);
}

static void loops_compute_their_sums(void **state) {
  int n = 0;
  for (int i = 0; i < dev->caps.n_matrix; i++) {
    const tsr_matrix_shape *x = &dev->caps.matrix[i];
    if (!x->enabled || x->scope != SCOPE_SUBGROUP || x->a != x->b) continue;
    compute(&(peak_matrix){*x, 2, 2, 3, 3});
    compute(&(peak_matrix){*x, 4, 2, 1, 5});
    n++;
  }
  if (!n) skip();
}

static void peaks_are_there_for_the_types_of_matrices(void **state) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_I8};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    tsr_peaks p;
    const bool has = caps_find_matrix(&dev->caps, types[i], types[i], TSR_DTYPE_NONE) >= 0;
    OK(tsr_device_peaks(dev, types[i], false, &p));
    print_message("%s: %.4g by multiply-adds, %.4g by matrices (GFLOP/s)\n", tsr_dtype_name(types[i]), p.gflops,
                  p.matrix_gflops);
    if ((p.matrix_gflops > 0) != has) fail_msg("%s: %g", tsr_dtype_name(types[i]), p.matrix_gflops);
  }
}

static int begin(void **state) {
  setenv("TSR_MATRIX", "coopmat", 1); /* slow shapes too: lavapipe's are plain arithmetic */
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  tsr_status st = tsr_device_open(ctx, "vulkan:0", &dev);
  if (st) print_message("%s\n", tsr_status_message(st));
  tsr_status_free(st);
  return 0;
}

static int end(void **state) {
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(loops_compute_their_sums),
                                     cmocka_unit_test(peaks_are_there_for_the_types_of_matrices)};
  begin(NULL);
  if (!dev) {
    end(NULL);
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, end);
}
