/* tests/unit/test_cpu_product_bits.c - under `deterministic` an element of a product has the bits that its own row and
 * column give: also where the product has other rows or columns beside them (a part of a mesh), where blocks are cut
 * otherwise (other numbers of threads), and where an operand is a constant, which is packed ahead. */
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

typedef struct product {
  tsr_dtype t;
  int64_t m, n, k;
  bool transpose_a, transpose_b;
} product;

static size_t bytes_of(const product *p, int64_t rows, int64_t columns) {
  return (size_t)(rows * columns) * tsr_dtype_size(p->t);
}

static tsr_shape shape_of(bool transposed, int64_t rows, int64_t columns) {
  return (tsr_shape){.rank = 2, .dims = {transposed ? columns : rows, transposed ? rows : columns}};
}

static void *numbers(const product *p, int64_t rows, int64_t columns, uint32_t seed) {
  char *x = malloc(bytes_of(p, rows, columns));
  assert_non_null(x);
  for (int64_t i = 0; i < rows * columns; i++) {
    seed = seed * 1664525u + 1013904223u;
    dtype_store(p->t, x, (size_t)i, ((double)(seed >> 8) / 8388608.0 - 1) * 3);
  }
  return x;
}

/* Rows [from, from + rows) or columns, of a matrix of `of` rows: from where it lies, transposed or not. */
static void *rows_of(const product *p, const void *x, bool transposed, int64_t all_rows, int64_t columns, int64_t from,
                     int64_t rows) {
  const size_t e = tsr_dtype_size(p->t);
  char *y = malloc(bytes_of(p, rows, columns));
  assert_non_null(y);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) {
      const int64_t at = transposed ? c * all_rows + from + r : (from + r) * columns + c,
                    to = transposed ? c * rows + r : r * columns + c;
      memcpy(y + (size_t)to * e, (const char *)x + (size_t)at * e, e);
    }
  return y;
}

/* a b by a context with as many threads; the caller frees it. */
static void *multiply(const product *p, const void *a, const void *b, int threads, bool constant) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *prog;
  tsr_value v[2], y;
  char count[16];
  const tsr_shape sa = shape_of(p->transpose_a, p->m, p->k), sb = shape_of(p->transpose_b, p->k, p->n);
  const tsr_attr attrs[] = {{.name = "transpose_a", .kind = TSR_ATTR_BOOL, .i = p->transpose_a},
                            {.name = "transpose_b", .kind = TSR_ATTR_BOOL, .i = p->transpose_b}};
  snprintf(count, sizeof count, "%d", threads);
  setenv("TSR_THREADS", count, 1);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_graph_create(ctx, "main", &g));
  OK(tsr_graph_input(g, "a", p->t, sa, &v[0]));
  if (constant) OK(tsr_graph_constant(g, p->t, sb, b, &v[1]));
  else OK(tsr_graph_input(g, "b", p->t, sb, &v[1]));
  OK(tsr_graph_op(g, "matmul", v, 2, attrs, 2, &y));
  OK(tsr_graph_output(g, y));
  const tsr_compile_options o = {.policy = TSR_POLICY_DETERMINISTIC, .tune = TSR_TUNE_OFF};
  OK(tsr_program_compile(dev, g, &o, &prog));
  tsr_binding in[2] = {{0}}, out = {0};
  OK(tsr_buffer_create(dev, bytes_of(p, p->m, p->k), TSR_MEMORY_DEVICE, &in[0].buffer));
  OK(tsr_buffer_write(in[0].buffer, 0, a, bytes_of(p, p->m, p->k)));
  if (!constant) {
    OK(tsr_buffer_create(dev, bytes_of(p, p->k, p->n), TSR_MEMORY_DEVICE, &in[1].buffer));
    OK(tsr_buffer_write(in[1].buffer, 0, b, bytes_of(p, p->k, p->n)));
  }
  const size_t bytes = bytes_of(p, p->m, p->n);
  void *c = malloc(bytes);
  OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &out.buffer));
  OK(tsr_program_run(prog, NULL, in, &out));
  OK(tsr_buffer_read(out.buffer, 0, c, bytes));
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&prog);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return c;
}

static void same(const product *p, const void *want, const void *have, int64_t rows, int64_t columns,
                 const char *what) {
  const size_t e = tsr_dtype_size(p->t);
  int64_t other = 0;
  for (int64_t i = 0; i < rows * columns; i++)
    other += memcmp((const char *)want + (size_t)i * e, (const char *)have + (size_t)i * e, e) != 0;
  if (other)
    fail_msg("%s %lldx%lldx%lld%s%s: %s: %lld of %lld elements have other bits", tsr_dtype_name(p->t), (long long)p->m,
             (long long)p->n, (long long)p->k, p->transpose_a ? ", a transposed" : "",
             p->transpose_b ? ", b transposed" : "", what, (long long)other, (long long)(rows * columns));
}

static void one(const product *p, uint32_t seed) {
  void *a = numbers(p, p->m, p->k, seed), *b = numbers(p, p->k, p->n, seed + 1), *whole = multiply(p, a, b, 1, false),
       *c;
  static const int threads[] = {2, 3, 5, 16};
  for (int i = 0; i < 4; i++) {
    c = multiply(p, a, b, threads[i], false);
    same(p, whole, c, p->m, p->n, "other threads");
    free(c);
  }
  c = multiply(p, a, b, 2, true);
  same(p, whole, c, p->m, p->n, "a constant");
  free(c);
  for (int64_t rows = 1; rows < p->m; rows = rows * 3 + 1) {
    product q = *p;
    q.m = rows;
    void *part = rows_of(p, a, p->transpose_a, p->m, p->k, p->m - rows, rows),
         *want = rows_of(p, whole, false, p->m, p->n, p->m - rows, rows);
    c = multiply(&q, part, b, 1, false);
    same(&q, want, c, rows, p->n, "part of the rows");
    free(c), free(part), free(want);
  }
  for (int64_t columns = 1; columns < p->n; columns = columns * 3 + 1) {
    product q = *p;
    q.n = columns;
    void *part = rows_of(p, b, !p->transpose_b, p->n, p->k, p->n - columns, columns),
         *turned = rows_of(p, whole, true, p->n, p->m, p->n - columns, columns);
    c = multiply(&q, a, part, 1, false);
    same(&q, turned, c, p->m, columns, "part of the columns");
    free(c), free(part), free(turned);
  }
  free(a), free(b), free(whole);
}

static void an_element_has_the_bits_of_its_row_and_column(void **state) {
  static const tsr_dtype types[] = {TSR_F32, TSR_BF16, TSR_F16, TSR_F64};
  static const int64_t shapes[][3] = {{12, 12, 12}, {8, 8, 2},   {363, 16, 200}, {172, 1, 64},
                                      {1, 40, 300}, {5, 33, 70}, {52, 130, 17},  {30, 7, 1500}};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (int way = 0; way < 4; way++)
        one(&(product){types[t], shapes[s][0], shapes[s][1], shapes[s][2], way & 1, way >> 1}, (uint32_t)s * 7 + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(an_element_has_the_bits_of_its_row_and_column)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
