/* Complex numbers: their types and elements in text and in .npy files, the oracle's meaning of the ops that take them
 * against C's own complex arithmetic, programs on the CPU that keep them at their ends, and what refuses them. Each op
 * in each complex type on each device is test_op_types.c's, gradients are test_graph_autodiff.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <complex.h>
#include <math.h>

#include "core/base/dtype.h"
#include "core/import/npy.h"
#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"
#define CONSTANT(value, type) "%0 = \"tessera.graph.constant\"() {value = dense<" value "> : tensor<" type ">}\n"

/* As gt_func, without the types of the results. */
static const char *func(const char *args, const char *body, const char *results) {
  static char text[4096];
  snprintf(text, sizeof text,
           "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%s):\n%s\n\"tessera.graph.return\"(%s)\n}) "
           "{sym_name = \"main\"}\n})\n",
           args, body, results);
  return text;
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

static char *printed(const ir_module *m) {
  strb b;
  strb_init(&b, &m->arena.al);
  ir_print(&b, m);
  char *text = strdup(strb_text(&b));
  strb_clear(&b);
  return text;
}

static const ir_attr *value_of(const ir_module *m) {
  return ir_get_attr(graph_find_func(m, NULL)->regions[0]->first, "value");
}

static void text_keeps_types_and_elements(void **state) {
  static const struct { const char *value, *type; double want[4]; size_t bytes; bool splat; } cases[] = {
      {"[(1.5, -2.0), (0.0, 3.0)]", "2xcomplex<f32>", {1.5, -2, 0, 3}, 16, false},
      {"(0.25, 7.0)", "5xcomplex<f64>", {0.25, 7}, 16, true},
      {"(1.0, 2.0)", "complex<f16>", {1, 2}, 4, false},
      {"[1.5, 2]", "2xcomplex<f32>", {1.5, 0, 2, 0}, 16, false}, /* real numbers */
      {"(0x7F800000, 1.0)", "3xcomplex64", {INFINITY, 1}, 8, true},
      {"\"0x0000803F00000040\"", "1xcomplex<f32>", {1, 2}, 8, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char body[256];
    snprintf(body, sizeof body, "%%0 = \"tessera.graph.constant\"() {value = dense<%s> : tensor<%s>}\n", cases[i].value,
             cases[i].type);
    ir_module *m = gt_parse(func("", body, "%0")), *again;
    const ir_attr *a = value_of(m);
    assert_int_equal(a->u.dense.splat, cases[i].splat);
    assert_int_equal(a->u.dense.bytes, cases[i].bytes);
    for (size_t k = 0; k < a->u.dense.bytes / tsr_dtype_size(dtype_part(a->u.dense.type->dtype)); k++)
      assert_true(dtype_load(a->u.dense.type->dtype, a->u.dense.data, k) == cases[i].want[k]);
    char *first = printed(m);
    again = gt_parse(first);
    char *second = printed(again);
    assert_string_equal(first, second);
    assert_memory_equal(value_of(again)->u.dense.data, a->u.dense.data, a->u.dense.bytes);
    free(first);
    free(second);
    ir_module_destroy(&again);
    ir_module_destroy(&m);
  }
  for (int t = TSR_COMPLEX32; t <= TSR_COMPLEX128; t++) {
    assert_int_equal(tsr_dtype_parse(tsr_dtype_name((tsr_dtype)t)), t);
    assert_int_equal(tsr_dtype_parse(dtype_get((tsr_dtype)t)->mlir), t);
    assert_int_equal(tsr_dtype_size((tsr_dtype)t), 2 * tsr_dtype_size(dtype_part((tsr_dtype)t)));
  }
}

static void bad_text_gets_one_clear_line(void **state) {
  static const struct { const char *args, *body, *says; } cases[] = {
      {"%x: tensor<2xcomplex<i32>>", "", "there are no complex numbers of 'i32'"},
      {"%x: tensor<2xcomplex<bf16>>", "", "there are no complex numbers of 'bf16'"},
      {"%x: tensor<2xcomplex<f32>", "", "expected"},
      {"%x: tensor<2xcomplex>", "", "expected '<'"},
      {"%x: vector<2xcomplex<f32>>", "", "only tensors have elements of type complex<f32>"},
      {"%x: !tessera.view<2xcomplex<f32>>", "", "only tensors have elements of type complex<f32>"},
      {"%x: complex<f64>", "", "only tensors have elements of type complex<f64>"},
      {"%x: tensor<1x1x1x1x1x1x1x1xcomplex<f32>>", OP("0", "neg", "%x"), "at most 7 dimensions"},
      {"", CONSTANT("[(1.0, 2.0), 3.0]", "2xcomplex<f32>"), "write all elements as (re, im), or none"},
      {"", CONSTANT("(1.0, 2.0)", "2xf32"), "(re, im) is no element of type f32"},
      {"", CONSTANT("[(1.0, 2.0)]", "2x2xcomplex<f32>"), NULL}, /* one element for all */
      {"", CONSTANT("[(1.0, 2.0), (1.0, 2.0)]", "3xcomplex<f32>"), "dense has 2 values for 3 elements"},
      {"", CONSTANT("(1.0)", "complex<f32>"), "expected ','"},
      {"", CONSTANT("(1.0, 0x7F800000)", "complex<f16>"), "value 1 of dense is no complex32"},
      {"%x: tensor<2xcomplex<f32>>", OPA("0", "cast", "%x", "dtype = \"f32\""), "does not cast complex64 to f32"},
      {"%x: tensor<2xf32>, %y: tensor<2xcomplex<f32>>", OP("0", "mul", "%x, %y"), "operands are f32 and complex64"},
      {"%x: tensor<2xcomplex<f32>>", OP("0", "exp", "%x"), "exp: test.mlir:4:6: does not take complex64"},
      {"%x: tensor<2xcomplex<f32>>", OPA("0", "compare", "%x, %x", "predicate = \"lt\""), "does not take complex64"},
      {"%x: tensor<2x2xcomplex<f32>>", OP("0", "matmul", "%x, %x"), "does not take complex64"},
      {"%x: tensor<2x2xi8>", OPA("0", "matmul", "%x, %x", "out_dtype = \"complex64\""), "unknown out_dtype"},
      {"%x: tensor<2xcomplex<f32>>", OP("0", "reduce_max", "%x"), "does not take complex64"},
      {"%x: tensor<2xcomplex<f32>>", OP("0", "softmax", "%x"), "does not take complex64"},
      {"%x: tensor<2xcomplex<f32>>", OPA("0", "pad", "%x", "low = [1], high = [0], value = 2.0"), "padded with 0, not with 2"},
      {"%x: tensor<2xcomplex<f32>>",
       "%0 = \"tessera.graph.custom\"(%x) {callee = \"f\"} : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n",
       "custom: test.mlir:4:6: does not take complex64"},
      {"%x: tensor<2xf32>", OP("0", "conj", "%x"), "takes complex numbers, not f32"},
      {"%x: tensor<2xf32>", OP("0", "as_real", "%x"), "takes complex numbers, not f32"},
      {"%x: tensor<2xi32>", OP("0", "complex", "%x, %x"), "there are no complex numbers of i32"},
      {"%x: tensor<2x3xf32>", OP("0", "as_complex", "%x"), "the last dimension of f32[2, 3] is not 2"},
      {"%x: tensor<f32>", OP("0", "as_complex", "%x"), "the last dimension of f32[] is not 2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *said = gt_error(func(cases[i].args, cases[i].body, *cases[i].body ? "%0" : "%x"));
    if (!cases[i].says) assert_string_equal(said, "");
    else assert_true(gt_says(said, cases[i].says));
    assert_null(strchr(said, '\n'));
  }
}

static void kernels_take_pairs_alone(void **state) {
  static const char schedule[] =
      "\"tessera.schedule.program\"() ({\n^bb0(%x: tensor<4xcomplex<f32>>):\n"
      "%y = \"tessera.schedule.kernel\"(%x) ({\n^bb0(%a: tensor<4xcomplex<f32>>):\n"
      "%b = \"tessera.graph.neg\"(%a)\n\"tessera.schedule.yield\"(%b)\n"
      "}) {sym_name = \"k\", family = \"elementwise\"} : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>\n"
      "\"tessera.schedule.return\"(%y)\n}) {sym_name = \"main\"}\n";
  static const char alias[] =
      "\"tessera.tile.program\"() ({\n^bb0(%x: tensor<4xcomplex<f32>>):\n"
      "%y = \"tessera.tile.alias\"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4x%sxf32>\n"
      "\"tessera.tile.return\"(%y)\n}) {sym_name = \"main\"}\n";
  char text[512];
  assert_true(gt_says(gt_error(schedule), "complex elements"));
  for (int n = 1; n <= 3; n++) {
    const char *at = strstr(alias, "%s");
    snprintf(text, sizeof text, "%.*s%d%s", (int)(at - alias), alias, n, at + 2);
    if (n == 2) assert_string_equal(gt_error(text), "");
    else assert_true(gt_says(gt_error(text), "number of elements must stay"));
  }
}

/* ---- the oracle ------------------------------------------------------------------------------------------------ */

static double complex reference(int op, double complex a, double complex b) {
  switch (op) {
  case 0: return a + b;
  case 1: return a - b;
  case 2: return a * b;
  case 3: return a / b;
  case 4: return -a;
  case 5: return conj(a);
  case 6: return cabs(a);
  case 7: return creal(a);
  default: return cimag(a);
  }
}

static void oracle_agrees_with_c(void **state) {
  static const char *const names[] = {"add", "sub", "mul", "div", "neg", "conj", "abs", "real", "imag"};
  for (int op = 0; op < 9; op++) {
    char body[128];
    snprintf(body, sizeof body, "%%0 = \"tessera.graph.%s\"(%%x%s)\n", names[op], op < 4 ? ", %y" : "");
    ir_module *m = gt_parse(func("%x: tensor<7x3xcomplex<f64>>, %y: tensor<3xcomplex<f64>>", body, "%0"));
    ir_op *f = graph_find_func(m, NULL);
    gt_data in = gt_random(f, (unsigned)op, -2, 2), out = gt_outputs(f);
    double tolerance[42];
    assert_null(graph_eval(f, (const void *const *)in.p, out.p, (double *const[]){tolerance}));
    const double *x = in.p[0], *y = in.p[1], *z = out.p[0];
    for (int i = 0; i < 21; i++) {
      const double complex want = reference(op, x[2 * i] + x[2 * i + 1] * I, y[i % 3 * 2] + y[i % 3 * 2 + 1] * I);
      const int n = op < 6 ? 2 : 1;
      assert_true(fabs(z[n * i] - creal(want)) <= tolerance[n * i] && tolerance[n * i] < 1e-13);
      if (n == 2) assert_true(fabs(z[2 * i + 1] - cimag(want)) <= tolerance[2 * i + 1]);
    }
    gt_free(&in);
    gt_free(&out);
    ir_module_destroy(&m);
  }
}

/* Implementations may fuse one of a product's roundings, or not: where a product or sum of finite numbers overflows on
 * the way, nothing is known of the result, in doubles as in narrower types. */
static void oracle_knows_nothing_of_what_overflows_on_the_way(void **state) {
  static const double large[2][4] = {{1.2e308, 1.36e308, 1.6, 0.54}, {1.7e308, 1.6, 0.65, -0.76}};
  for (int op = 0; op < 2; op++) {
    ir_module *m = gt_parse(func("%x: tensor<complex<f64>>, %y: tensor<complex<f64>>",
                                 op ? OP("0", "div", "%x, %y") : OP("0", "mul", "%x, %y"), "%0"));
    double out[2], tolerance[2];
    assert_null(graph_eval(graph_find_func(m, NULL), (const void *const[]){large[op], large[op] + 2},
                           (void *const[]){out}, (double *const[]){tolerance}));
    assert_true(tolerance[0] == INFINITY);
    ir_module_destroy(&m);
  }
}

/* ---- programs -------------------------------------------------------------------------------------------------- */

typedef struct rig {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
} rig;

static rig compiled(const char *text) {
  rig r = {NULL};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &r.ctx));
  OK(tsr_device_open(r.ctx, "cpu:0", &r.dev));
  OK(tsr_program_parse(r.dev, text, strlen(text), "test.mlir", NULL, &r.p));
  return r;
}

static void close_rig(rig *r) {
  tsr_program_destroy(&r->p);
  tsr_device_close(&r->dev);
  tsr_context_destroy(&r->ctx);
}

static void run(rig *r, const void *const *in, void *const *out) {
  tsr_binding b[2][4] = {{{0}}};
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < (side ? tsr_program_n_outputs(r->p) : tsr_program_n_inputs(r->p)); i++) {
      const tsr_tensor_info t = side ? tsr_program_output(r->p, i) : tsr_program_input(r->p, i);
      OK(tsr_buffer_create(r->dev, t.bytes, TSR_MEMORY_DEVICE, &b[side][i].buffer));
      if (!side) OK(tsr_buffer_write(b[side][i].buffer, 0, in[i], t.bytes));
    }
  OK(tsr_program_run(r->p, NULL, b[0], b[1]));
  for (int i = 0; i < tsr_program_n_outputs(r->p); i++)
    OK(tsr_buffer_read(b[1][i].buffer, 0, out[i], tsr_program_output(r->p, i).bytes));
  for (int i = 0; i < 8; i++) tsr_buffer_destroy(&b[i / 4][i % 4].buffer);
}

static void programs_keep_the_types_of_their_ends(void **state) {
  rig r = compiled(func("%x: tensor<2x3xcomplex<f32>>, %y: tensor<3xcomplex<f32>>",
                           OP("0", "mul", "%x, %y") OP("1", "abs", "%x") OPA("2", "reshape", "%y", "shape = [3, 1]"),
                           "%0, %1, %x, %2"));
  float complex x[6], y[3], product[6], same[6], reshaped[3];
  float size[6];
  for (int i = 0; i < 6; i++) x[i] = (float)(3 * i + 1) + (float)(4 - i) * I;
  for (int i = 0; i < 3; i++) y[i] = (float)(i - 1) + 0.5f * I;
  assert_int_equal(tsr_program_input(r.p, 0).dtype, TSR_COMPLEX64);
  assert_int_equal(tsr_program_input(r.p, 0).shape.rank, 2);
  assert_int_equal(tsr_program_input(r.p, 0).bytes, sizeof x);
  assert_int_equal(tsr_program_output(r.p, 0).dtype, TSR_COMPLEX64);
  assert_int_equal(tsr_program_output(r.p, 1).dtype, TSR_F32);
  assert_int_equal(tsr_program_n_kernels(r.p), 2);
  run(&r, (const void *const[]){x, y}, (void *const[]){product, size, same, reshaped});
  for (int i = 0; i < 6; i++) {
    assert_true(cabsf(product[i] - x[i] * y[i % 3]) <= 2e-6f * cabsf(x[i]));
    assert_true(fabsf(size[i] - cabsf(x[i])) <= 2e-6f * cabsf(x[i]));
  }
  assert_memory_equal(same, x, sizeof x);
  assert_memory_equal(reshaped, y, sizeof y);
  close_rig(&r);
}

/* Of a number there is no axis to reduce, and the axis of its parts is none. */
static void reductions_of_one_number_are_that_number(void **state) {
  rig r = compiled(func("%x: tensor<complex<f32>>, %y: tensor<1xcomplex<f64>>",
                           OP("0", "reduce_sum", "%x") OPA("1", "reduce_mean", "%x", "keepdims = true")
                           OPA("2", "reduce_sum", "%y", "axes = []"),
                           "%0, %1, %2"));
  const float complex x = 1.5f - 2 * I;
  const double complex y = -3 + 0.25 * I;
  float complex sum, mean;
  double complex all;
  run(&r, (const void *const[]){&x, &y}, (void *const[]){&sum, &mean, &all});
  assert_true(sum == x && mean == x && all == y);
  close_rig(&r);
}

/* Neither a product's parts nor |y|^2 may leave f32's range where the result is within it. */
static void division_and_magnitude_of_large_and_small_numbers(void **state) {
  rig r = compiled(func("%x: tensor<3xcomplex<f32>>, %y: tensor<3xcomplex<f32>>",
                           OP("0", "div", "%x, %y") OP("1", "abs", "%y"), "%0, %1"));
  const float complex x[3] = {1e30f + 1e30f * I, 1e-30f, 3.0f}, y[3] = {1e30f, 2e-30f * I, -1e25f + 1e25f * I};
  float complex z[3];
  float size[3];
  run(&r, (const void *const[]){x, y}, (void *const[]){z, size});
  for (int i = 0; i < 3; i++) {
    const double complex want = (double complex)x[i] / (double complex)y[i];
    assert_true(cabs(z[i] - want) <= 1e-6 * cabs(want));
    assert_true(fabs(size[i] - cabs((double complex)y[i])) <= 1e-6 * cabs((double complex)y[i]));
  }
  close_rig(&r);
}

/* x times itself while i < n, an operand. */
#define SQUARES                                                                                                        \
  CONSTANT("0", "i32")                                                                                                 \
  "%i, %r = \"tessera.graph.while\"(%0, %x, %n) ({\n^bb0(%k: tensor<i32>, %v: tensor<2xcomplex<f32>>, %m: "              \
  "tensor<i32>):\n" OPA("c", "compare", "%k, %m", "predicate = \"lt\"") "\"tessera.graph.return\"(%c)\n}, {\n"          \
  "^bb0(%k: tensor<i32>, %v: tensor<2xcomplex<f32>>, %m: tensor<i32>):\n"                                              \
  "%o = \"tessera.graph.constant\"() {value = dense<1> : tensor<i32>}\n" OP("l", "add", "%k, %o")                      \
  OP("w", "mul", "%v, %v") "\"tessera.graph.return\"(%l, %w)\n}) {carried = 2, max_trips = 9}\n"

/* Where its trips are unknown a loop of complex numbers is refused for that, and only where a derivative needs it. */
static void unknown_trips_matter_where_a_derivative_needs_them(void **state) {
  static const char args[] = "%x: tensor<2xcomplex<f32>>, %n: tensor<i32>, %y: tensor<2xf32>";
  static const char body[] = SQUARES OP("a", "abs", "%r") OP("p", "mul", "%a, %y")
      OPA("s", "reduce_sum", "%p", "axes = [0]");
  const char *text = func(args, body, "%s");
  const float complex x[2] = {0.5f + 1.0f * I, -1.5f};
  const float y[2] = {1, 2};
  const int32_t n = 2;
  rig r;
  tsr_graph *g, *d;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &r.ctx));
  OK(tsr_device_open(r.ctx, "cpu:0", &r.dev));
  OK(tsr_graph_parse(r.ctx, text, strlen(text), "test.mlir", &g));
  tsr_status st = tsr_graph_grad(g, (const tsr_value[]){1}, 1, &d);
  assert_true(gt_says(tsr_status_message(st), "has no derivative: how many trips it makes"));
  tsr_status_free(st);
  OK(tsr_graph_grad(g, (const tsr_value[]){3}, 1, &d)); /* that of y is |r| */
  float sum, by_y[2];
  OK(tsr_program_compile(r.dev, d, NULL, &r.p));
  run(&r, (const void *const[]){x, &n, y}, (void *const[]){&sum, by_y});
  for (int i = 0; i < 2; i++) assert_true(fabs(by_y[i] - pow(cabs(x[i]), 4)) < 1e-5);
  assert_true(fabsf(sum - by_y[0] - 2 * by_y[1]) < 1e-5f);
  tsr_graph_destroy(&d);
  tsr_graph_destroy(&g);
  close_rig(&r);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static void npy_files_hold_complex_numbers(void **state) {
  static const double numbers[] = {1.5, -2, 0, 3.25};
  for (int t = TSR_COMPLEX64; t <= TSR_COMPLEX128; t++) {
    unsigned char data[32], swapped[32];
    char why[256], *file = NULL;
    size_t n, bytes = 2 * tsr_dtype_size((tsr_dtype)t), part = tsr_dtype_size(dtype_part((tsr_dtype)t));
    for (size_t i = 0; i < 4; i++) dtype_store((tsr_dtype)t, data, i, numbers[i]);
    for (size_t i = 0; i < bytes; i++) swapped[i] = data[i / part * part + (part - 1 - i % part)];
    for (int big = 0; big < 2; big++) {
      npy_array x = {.dtype = (tsr_dtype)t, .shape = {1, {2}}, .data = big ? swapped : data, .bytes = bytes}, y;
      FILE *f = open_memstream(&file, &n);
      npy_write(f, &x);
      fclose(f);
      assert_non_null(strstr(file + 10, t == TSR_COMPLEX64 ? "'<c8'" : "'<c16'"));
      if (big) *strchr(file + 10, '<') = '>';
      assert_true(npy_parse(file, n, "x.npy", &y, why, sizeof why));
      assert_int_equal(y.dtype, t);
      assert_memory_equal(y.data, data, bytes);
      npy_free(&y);
      free(file);
    }
  }
  assert_false(npy_has_form(TSR_COMPLEX32));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_keeps_types_and_elements),
      cmocka_unit_test(bad_text_gets_one_clear_line),
      cmocka_unit_test(kernels_take_pairs_alone),
      cmocka_unit_test(oracle_agrees_with_c),
      cmocka_unit_test(oracle_knows_nothing_of_what_overflows_on_the_way),
      cmocka_unit_test(programs_keep_the_types_of_their_ends),
      cmocka_unit_test(reductions_of_one_number_are_that_number),
      cmocka_unit_test(division_and_magnitude_of_large_and_small_numbers),
      cmocka_unit_test(unknown_trips_matter_where_a_derivative_needs_them),
      cmocka_unit_test(npy_files_hold_complex_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
