/* sort and topk on the CPU: one call of the host (runtime/routine_order.c), held bit for bit against a plain insertion
 * by the rule that the ops state (NaN is the greatest, 0 and -0 are equal, equal ones keep their order) and against the
 * ops that they stand for; what other devices make of long rows. Each op in each type on each device is
 * test_op_types.c's, random ones the random suite's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "core/base/dtype.h"
#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"

typedef struct ordering {
  const char *type, *index;
  int a, n, c, k; /* k: 0 of a sort, which takes n */
  bool descending;
  unsigned kinds; /* of elements: how many different bit patterns, 0: any */
} ordering;

static int taken(const ordering *o) { return o->k ? o->k : o->n; }

static const char *text_of(const ordering *o) {
  static char text[1024];
  char attrs[64], to[64];
  snprintf(to, sizeof to, "tensor<%dx%dx%dx", o->a, taken(o), o->c);
  snprintf(attrs, sizeof attrs, o->k ? "k = %d, largest = %s" : "%.0ddescending = %s", o->k,
           o->descending ? "true" : "false");
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx%dx%dx%s>):\n%%0, %%1 = \"tessera.graph.%s\"(%%x) {axis "
           "= 1, dtype = \"%s\", %s}\n\"tessera.graph.return\"(%%0, %%1)\n}) {sym_name = \"main\"}\n",
           o->a, o->n, o->c, o->type, o->k ? "topk" : "sort", o->index, attrs);
  return text;
}

/* Does x come before y in ascending order? */
static bool is_less(tsr_dtype t, const void *p, size_t i, size_t j) {
  if (t == TSR_I64) return ((const int64_t *)p)[i] < ((const int64_t *)p)[j];
  const double x = dtype_load(t, p, i), y = dtype_load(t, p, j);
  return isnan(y) ? !isnan(x) : x < y;
}

/* The places of the elements of a row, in order. */
static void expected(const ordering *o, tsr_dtype t, const void *x, size_t at, int *places) {
  for (int i = 0; i < o->n; i++) {
    const size_t mine = at + (size_t)(i * o->c);
    int k = i;
    for (; k; k--) {
      const size_t its = at + (size_t)(places[k - 1] * o->c);
      if (!(o->descending ? is_less(t, x, its, mine) : is_less(t, x, mine, its))) break;
      places[k] = places[k - 1];
    }
    places[k] = i;
  }
}

static void run(const char *text, const char *disable, int n_kernels, const void *x, void *const *out) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding in = {0}, to[2] = {{0}};
  tsr_compile_options opts = {.disable = disable};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test.mlir", &opts, &p));
  if (n_kernels) assert_int_equal(tsr_program_n_kernels(p), n_kernels);
  OK(tsr_buffer_create(dev, tsr_program_input(p, 0).bytes, TSR_MEMORY_DEVICE, &in.buffer));
  OK(tsr_buffer_write(in.buffer, 0, x, tsr_program_input(p, 0).bytes));
  for (int i = 0; i < 2; i++)
    OK(tsr_buffer_create(dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &to[i].buffer));
  OK(tsr_program_run(p, NULL, &in, to));
  for (int i = 0; i < 2; i++) OK(tsr_buffer_read(to[i].buffer, 0, out[i], tsr_program_output(p, i).bytes));
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&to[i].buffer);
  tsr_buffer_destroy(&in.buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* Bit patterns: NaN of many kinds, infinities, zeros of both signs, denormal numbers. */
static void *drawn(const ordering *o, size_t size, unsigned *seed) {
  const size_t n = (size_t)o->a * (size_t)o->n * (size_t)o->c;
  unsigned char *x = malloc(n * size + 1);
  for (size_t i = 0; i < n; i++) {
    *seed = *seed * 1664525u + 1013904223u;
    uint64_t v = o->kinds ? (uint64_t)(*seed >> 16) % o->kinds * 0x9e3779b97f4a7c15 : *seed * 0x9e3779b97f4a7c15;
    const unsigned which = *seed >> 10 & 15;
    /* 0, -0, infinities, NaN; what has 8 bits has few patterns anyway */
    if (size == 1) v = *seed >> 12;
    else if (which == 0) v = 0;
    else if (which == 1) v = (uint64_t)0x8000 << (8 * size - 16);
    else if (which == 2) v = (uint64_t)(*seed & 1 ? 0xfff0 : 0x7ff0) << (8 * size - 16);
    for (size_t b = 0; b < size; b++) x[i * size + b] = (unsigned char)(v >> (8 * b));
  }
  return x;
}

static void check(const ordering *o, unsigned *seed) {
  const tsr_dtype t = tsr_dtype_parse(o->type), index = tsr_dtype_parse(o->index);
  const size_t size = tsr_dtype_size(t), n = (size_t)o->a * (size_t)taken(o) * (size_t)o->c;
  void *x = drawn(o, size, seed), *out[2] = {malloc(n * size + 1), malloc(n * tsr_dtype_size(index) + 1)};
  int *places = malloc(sizeof *places * (size_t)o->n);
  run(text_of(o), NULL, 1, x, out);
  for (int r = 0; r < o->a * o->c; r++) {
    const size_t from = (size_t)(r / o->c) * (size_t)(o->n * o->c) + (size_t)(r % o->c),
                 to = (size_t)(r / o->c) * (size_t)(taken(o) * o->c) + (size_t)(r % o->c);
    expected(o, t, x, from, places);
    for (int i = 0; i < taken(o); i++) {
      const size_t at = to + (size_t)(i * o->c), was = from + (size_t)(places[i] * o->c);
      const int64_t got = index == TSR_I64 ? ((int64_t *)out[1])[at] : ((int32_t *)out[1])[at];
      if (got != places[i])
        fail_msg("%srow %d: place %d has %lld, not %d", text_of(o), r, i, (long long)got, places[i]);
      if (memcmp((char *)out[0] + at * size, (char *)x + was * size, size))
        fail_msg("%srow %d: place %d has other bits", text_of(o), r, i);
    }
  }
  free(places);
  free(out[0]);
  free(out[1]);
  free(x);
}

static void every_type_in_both_directions(void **state) {
  static const char *const types[] = {"f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2",
                                      "i64", "i32", "i16", "i8",   "ui8"};
  unsigned seed = 11;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int way = 0; way < 8; way++) {
      const bool descending = way & 1;
      const int k = way & 2 ? 37 : 0;
      const ordering o = {types[t], way & 1 ? "i64" : "i32", 2, 300, way & 4 ? 3 : 1, k, descending, way & 4 ? 40 : 0};
      check(&o, &seed);
    }
}

/* One by one and by digits, the ends of chunks of keys, of what is collected, and rows on several cores. */
static void lengths_about_the_ends(void **state) {
  static const ordering cases[] = {
      {"f32", "i32", 1, 1, 1, 0, false, 0},    {"f32", "i32", 3, 80, 1, 0, true, 0},
      {"f32", "i32", 3, 81, 1, 0, false, 7},   {"f64", "i32", 1, 256, 1, 0, false, 0},
      {"f32", "i32", 1, 257, 1, 0, true, 3},   {"f32", "i32", 40, 1000, 1, 0, false, 0},
      {"i32", "i64", 2, 900, 19, 0, true, 50}, {"i64", "i32", 600, 9, 1, 0, false, 4},
      {"f32", "i32", 2, 3000, 1, 1, true, 0},  {"f32", "i32", 2, 3000, 1, 31, true, 30},
      {"f32", "i32", 2, 3000, 1, 8, false, 9}, {"f32", "i32", 2, 3000, 1, 9, true, 0},
      {"f32", "i32", 2, 3000, 1, 40, false, 9}, {"f32", "i32", 2, 3000, 1, 41, true, 0},
      {"f64", "i64", 1, 2000, 2, 700, true, 500}, {"i64", "i32", 2, 1500, 1, 1499, false, 2},
      {"f16", "i32", 1, 64, 1, 64, true, 0},
  };
  unsigned seed = 12;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i], &seed);
}

static void switched_off_the_ops_give_the_same_bits(void **state) {
  static const ordering cases[] = {{"f32", "i32", 3, 200, 1, 0, false, 60}, {"bf16", "i32", 2, 300, 3, 40, true, 90}};
  unsigned seed = 13;
  for (int i = 0; i < 2; i++) {
    const size_t size = tsr_dtype_size(tsr_dtype_parse(cases[i].type)),
                 n = (size_t)(cases[i].a * taken(&cases[i]) * cases[i].c);
    void *x = drawn(&cases[i], size, &seed);
    char *out[4] = {malloc(n * size), malloc(n * 4), malloc(n * size), malloc(n * 4)};
    run(text_of(&cases[i]), NULL, 1, x, (void *const[]){out[0], out[1]});
    run(text_of(&cases[i]), "sort,topk", 0, x, (void *const[]){out[2], out[3]});
    assert_memory_equal(out[0], out[2], n * size);
    assert_memory_equal(out[1], out[3], n * 4);
    for (int k = 0; k < 4; k++) free(out[k]);
    free(x);
  }
}

/* How many calls of the host a program has, and what the trace says. */
static int calls(const char *device, const ordering *o, tsr_fallback fallback, const char *says) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  char *told;
  int n = 0;
  tsr_compile_options opts = {.fallback = fallback};
  const char *text = text_of(o);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, device, &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test.mlir", &opts, &p));
  for (int i = 0; i < tsr_program_n_kernels(p); i++) {
    const char *name = tsr_program_kernel(p, i).name;
    n += !strcmp(name, "sort") || !strcmp(name, "topk");
  }
  OK(tsr_program_explain(p, &told));
  if (!strstr(told, says)) fail_msg("not told: %s\n%s", says, told);
  tsr_text_free(ctx, &told);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return n;
}

static void other_devices_leave_long_rows_to_the_host(void **state) {
  const ordering few = {"f32", "i32", 2, 500, 1, 0, false, 0}, many = {"f32", "i32", 1, 20000, 1, 0, false, 0},
                 first = {"f32", "i32", 1, 20000, 1, 16, true, 0};
  assert_int_equal(calls("cpu:0", &first, TSR_FALLBACK_ALLOW, "one call of the host"), 1);
  assert_int_equal(calls("cuda:sm_90a", &few, TSR_FALLBACK_ALLOW, "the device computes it by other ops"), 0);
  assert_int_equal(calls("cuda:sm_90a", &first, TSR_FALLBACK_ALLOW, "the device computes it by other ops"), 0);
  assert_int_equal(calls("cuda:sm_90a", &many, TSR_FALLBACK_ALLOW, "sort has no kernel for cuda"), 1);
  assert_int_equal(calls("cuda:sm_90a", &many, TSR_FALLBACK_ERROR, "no fall-back to the host"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_in_both_directions),
      cmocka_unit_test(lengths_about_the_ends),
      cmocka_unit_test(switched_off_the_ops_give_the_same_bits),
      cmocka_unit_test(other_devices_leave_long_rows_to_the_host),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
