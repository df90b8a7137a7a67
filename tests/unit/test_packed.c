/* i4 and u4, two to a byte: their elements in text, programs on the CPU that keep them at their ends, for every number
 * of elements up to some, what is one kernel with the elementwise ops around it and what isn't, and what refuses them.
 * Each op in both types on each device is test_op_types.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "core/passes/graph/packed.h"
#include "tessera/dist.h"
#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"
#define CONSTANT(value, type) "%0 = \"tessera.graph.constant\"() {value = dense<" value "> : tensor<" type ">}\n"

static const char *func(const char *args, const char *body, const char *results) {
  static char text[4096];
  snprintf(text, sizeof text,
           "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%s):\n%s\n\"tessera.graph.return\"(%s)\n}) "
           "{sym_name = \"main\"}\n})\n",
           args, body, results);
  return text;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

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
  static const struct { const char *value, *type; int n; double want[5]; size_t bytes; bool splat; } cases[] = {
      {"[-8, 7, 1]", "3xi4", 3, {-8, 7, 1}, 2, false},
      {"[[0, 15], [7, 8]]", "2x2xui4", 4, {0, 15, 7, 8}, 2, false},
      {"-3", "9xi4", 1, {-3}, 1, true},
      {"12", "ui4", 1, {12}, 1, false},
      {"\"0x788F0F\"", "5xi4", 5, {-8, 7, -1, -8, -1}, 3, false},
      {"\"0x0B\"", "40xui4", 1, {11}, 1, true},
      {"[0xF, 0x7]", "2xi4", 2, {-1, 7}, 1, false},
      {"", "0x3xi4", 0, {0}, 0, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char body[256];
    snprintf(body, sizeof body, "%%0 = \"tessera.graph.constant\"() {value = dense<%s> : tensor<%s>}\n", cases[i].value,
             cases[i].type);
    if (!*cases[i].value)
      snprintf(body, sizeof body, "%%0 = \"tessera.graph.constant\"() {value = dense<\"0x\"> : tensor<%s>}\n",
               cases[i].type);
    ir_module *m = gt_parse(func("", body, "%0")), *again;
    const ir_attr *a = value_of(m);
    assert_int_equal(a->u.dense.splat, cases[i].splat);
    assert_int_equal(a->u.dense.bytes, cases[i].bytes);
    for (int k = 0; k < cases[i].n; k++)
      assert_true(dtype_load(a->u.dense.type->dtype, a->u.dense.data, (size_t)k) == cases[i].want[k]);
    char *first = printed(m);
    again = gt_parse(first);
    char *second = printed(again);
    assert_string_equal(first, second);
    free(first);
    free(second);
    ir_module_destroy(&again);
    ir_module_destroy(&m);
  }
}

static void bad_text_gets_one_clear_line(void **state) {
  static const struct { const char *args, *body, *says; } cases[] = {
      {"%x: !tessera.view<2xi4>", "", "only tensors have elements of type i4"},
      {"%x: vector<2xui4>", "", "only tensors have elements of type ui4"},
      {"", CONSTANT("8", "2xi4"), "value 0 of dense is no i4"},
      {"", CONSTANT("-1", "2xui4"), "value 0 of dense is no u4"},
      {"", CONSTANT("0x10", "2xui4"), "value 0 of dense is no u4"},
      {"", CONSTANT("[1, 2]", "3xi4"), "dense has 2 values for 3 elements"},
      {"", CONSTANT("\"0x123456\"", "3xi4"), "dense data must be 0x and 4 hexadecimal digits"},
      {"%x: tensor<2xi4>", OP("0", "exp", "%x"), "takes floats, not i4"},
      {"%x: tensor<2xi4>, %y: tensor<2xi8>", OP("0", "add", "%x, %y"), "operands are i4 and i8"},
      {"%x: tensor<2x2xi4>", OPA("0", "matmul", "%x, %x", "out_dtype = \"i4\""), "products give no i4"},
      {"%x: tensor<2xi4>", "%0 = \"tessera.graph.custom\"(%x) {callee = \"f\"} : (tensor<2xi4>) -> tensor<2xf32>\n",
       "does not take i4"},
      {"%x: tensor<2xi8>", OP("0", "as_bytes", "%x"), "takes i4 or u4, not i8"},
      {"%x: tensor<2xi8>", OP("0", "as_f16", "%x"), "takes u8 with a dimension at least"},
      {"%x: tensor<ui8>", OP("0", "as_f16", "%x"), "takes u8 with a dimension at least"},
      {"%x: tensor<4x3xui8>", OP("0", "as_f16", "%x"), "rows of 3 bytes are no f16"},
      {"%x: tensor<2xui8>", OPA("0", "as_packed", "%x", "shape = [5]"), "u8[2] are no bytes of i4[5]"},
      {"%x: tensor<2xi8>", OPA("0", "as_packed", "%x", "shape = [4]"), "i8[2] are no bytes of i4[4]"},
      {"%x: tensor<2xui8>", OPA("0", "as_packed", "%x", "shape = [4], dtype = \"i8\""), "dtype i8 isn't packed"},
      {"%x: tensor<2xui8>", OPA("0", "as_packed", "%x", "shape = [-4]"), "shape entry -4 is negative"},
      {"%x: tensor<2xui8>", OPA("0", "iota", "", "shape = [9], dtype = \"i4\""), "i4 doesn't hold places up to 8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *said = gt_error(func(cases[i].args, cases[i].body, *cases[i].body ? "%0" : "%x"));
    assert_true(gt_says(said, cases[i].says));
    assert_null(strchr(said, '\n'));
  }
}

static void kernels_take_bytes_alone(void **state) {
  static const char schedule[] =
      "\"tessera.schedule.program\"() ({\n^bb0(%x: tensor<4xi4>):\n"
      "%y = \"tessera.schedule.kernel\"(%x) ({\n^bb0(%a: tensor<4xi4>):\n"
      "%b = \"tessera.graph.neg\"(%a)\n\"tessera.schedule.yield\"(%b)\n"
      "}) {sym_name = \"k\", family = \"elementwise\"} : (tensor<4xi4>) -> tensor<4xi4>\n"
      "\"tessera.schedule.return\"(%y)\n}) {sym_name = \"main\"}\n";
  static const char alias[] =
      "\"tessera.tile.program\"() ({\n^bb0(%%x: tensor<5xi4>):\n"
      "%%y = \"tessera.tile.alias\"(%%x) : (tensor<5xi4>) -> tensor<%dx%s>\n"
      "\"tessera.tile.return\"(%%y)\n}) {sym_name = \"main\"}\n";
  char text[512];
  assert_true(gt_says(gt_error(schedule), "packed elements"));
  for (int n = 2; n <= 5; n++)
    for (int s = 0; s < 2; s++) {
      snprintf(text, sizeof text, alias, n, s ? "i8" : "ui8");
      if (n == 3 && !s) assert_string_equal(gt_error(text), "");
      else assert_true(gt_says(gt_error(text), "number of elements must stay"));
    }
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

typedef struct rig {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
} rig;

static rig compiled(const char *text, const char *disable) {
  rig r = {NULL};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &r.ctx));
  OK(tsr_device_open(r.ctx, "cpu:0", &r.dev));
  OK(tsr_program_parse(r.dev, text, strlen(text), "test.mlir", &(tsr_compile_options){.disable = disable}, &r.p));
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
      if (!side && t.bytes) OK(tsr_buffer_write(b[side][i].buffer, 0, in[i], t.bytes));
    }
  OK(tsr_program_run(r->p, NULL, b[0], b[1]));
  for (int i = 0; i < tsr_program_n_outputs(r->p); i++)
    if (tsr_program_output(r->p, i).bytes)
      OK(tsr_buffer_read(b[1][i].buffer, 0, out[i], tsr_program_output(r->p, i).bytes));
  for (int i = 0; i < 8; i++) tsr_buffer_destroy(&b[i / 4][i % 4].buffer);
}

/* x itself, -x, x reshaped, as floats, and the bytes; of numbers of elements of either kind. */
static void programs_keep_the_types_of_their_ends(void **state) {
  for (int rows = 0; rows <= 3; rows++)
    for (int columns = 0; columns <= 9; columns++) {
      const int n = rows * columns, bytes = (n + 1) / 2;
      char args[64], body[512];
      unsigned char x[16], y[16] = {0}, same[16] = {0}, again[16] = {0};
      float floats[32] = {0};
      for (int i = 0; i < 16; i++) x[i] = (unsigned char)(37 * i + 0x9c);
      snprintf(args, sizeof args, "%%x: tensor<%dx%dxi4>", rows, columns);
      snprintf(body, sizeof body,
               "%%0 = \"tessera.graph.neg\"(%%x)\n%%1 = \"tessera.graph.reshape\"(%%x) {shape = [%d, %d]}\n"
               "%%2 = \"tessera.graph.cast\"(%%x) {dtype = \"f32\"}\n%%3 = \"tessera.graph.as_bytes\"(%%1)\n",
               columns, rows);
      rig r = compiled(func(args, body, "%0, %x, %2, %3"), NULL);
      assert_int_equal(tsr_program_input(r.p, 0).dtype, TSR_I4);
      assert_int_equal(tsr_program_input(r.p, 0).bytes, bytes);
      assert_int_equal(tsr_program_output(r.p, 0).dtype, TSR_I4);
      assert_int_equal(tsr_program_output(r.p, 0).bytes, bytes);
      assert_int_equal(tsr_program_output(r.p, 3).dtype, TSR_U8);
      run(&r, (const void *const[]){x}, (void *const[]){y, same, floats, again});
      if (n % 2) x[bytes - 1] &= 15; /* what is passed through is a result too: 0 there */
      assert_memory_equal(same, x, (size_t)bytes);
      for (int i = 0; i < n; i++) {
        const double v = dtype_load(TSR_I4, x, (size_t)i);
        assert_true(floats[i] == v);
        assert_true(dtype_load(TSR_I4, y, (size_t)i) == (v == -8 ? -8 : -v));
        assert_true(dtype_load(TSR_I4, again, (size_t)i) == v);
      }
      if (n % 2) assert_true(y[bytes - 1] >> 4 == 0 && again[bytes - 1] >> 4 == 0);
      close_rig(&r);
    }
}

/* Constants of any length, and that are one element for all. */
static void constants_have_a_byte_an_element(void **state) {
  enum { N = 6001 };
  static const int sizes[] = {1, 2, 33, N};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const int n = sizes[s];
    static float out[N];
    static unsigned char data[N / 2 + 1], back[N / 2 + 1];
    tsr_context *ctx;
    tsr_graph *g;
    tsr_value c, f;
    const tsr_attr to_f32 = TSR_STRING("dtype", "f32");
    rig r = {NULL};
    for (int i = 0; i < N / 2 + 1; i++) data[i] = (unsigned char)(i * 91 + 7);
    OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
    OK(tsr_device_open(ctx, "cpu:0", &r.dev));
    OK(tsr_graph_create(ctx, "main", &g));
    OK(tsr_graph_constant(g, TSR_U4, (tsr_shape){1, {n}}, data, &c));
    OK(tsr_graph_op(g, "cast", &c, 1, &to_f32, 1, &f));
    OK(tsr_graph_output(g, f));
    OK(tsr_graph_output(g, c));
    assert_int_equal(tsr_graph_output_info(g, 0).bytes, 4 * n);
    OK(tsr_program_compile(r.dev, g, NULL, &r.p));
    r.ctx = ctx;
    run(&r, NULL, (void *const[]){out, back});
    for (int i = 0; i < n; i++) assert_true(out[i] == (i % 2 ? data[i / 2] >> 4 : data[i / 2] & 15));
    assert_memory_equal(back, data, (size_t)n / 2);
    if (n % 2) assert_int_equal(back[n / 2], data[n / 2] & 15);
    tsr_graph_destroy(&g);
    close_rig(&r);
  }
  float seven[5];
  rig r = compiled(func("", CONSTANT("-7", "5xi4") OPA("1", "cast", "%0", "dtype = \"f32\""), "%1"), NULL);
  run(&r, NULL, (void *const[]){seven});
  for (int i = 0; i < 5; i++) assert_true(seven[i] == -7);
  close_rig(&r);
}

/* (x - zero) scale of weights and what quantizes is one kernel, and nothing unpacked is in memory. */
static void elementwise_ops_are_one_kernel_with_reading_and_packing(void **state) {
  static const char dequantize[] =
      OPA("0", "cast", "%x", "dtype = \"f32\"") OP("2", "sub", "%0, %z") OP("3", "mul", "%2, %s"),
      quantize[] = OP("0", "div", "%x, %s") OP("1", "round", "%0") OPA("2", "cast", "%1", "dtype = \"u4\""),
      both[] = OP("0", "add", "%x, %x") OP("1", "neg", "%0");
  static const struct { const char *args, *body, *result; int kernels; } cases[] = {
      {"%x: tensor<6x8xi4>, %z: tensor<6x1xf32>, %s: tensor<6x1xf32>", dequantize, "%3", 1},
      {"%x: tensor<6x8xui4>, %z: tensor<f32>, %s: tensor<8xf32>", dequantize, "%3", 1},
      {"%x: tensor<6x7xi4>, %z: tensor<6x1xf32>, %s: tensor<6x1xf32>", dequantize, "%3", 2}, /* rows end within a byte */
      {"%x: tensor<6x8xf32>, %s: tensor<6x1xf32>", quantize, "%2", 1},
      {"%x: tensor<3x5x8xi4>", both, "%1", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rig r = compiled(func(cases[i].args, cases[i].body, cases[i].result), NULL);
    if (tsr_program_n_kernels(r.p) != cases[i].kernels)
      fail_msg("case %zu is %d kernels, not %d", i, tsr_program_n_kernels(r.p), cases[i].kernels);
    close_rig(&r);
  }
}

/* Rule packed_reads: the same results with and without it, fewer kernels with it, and a line either way. */
static void reads_are_moved_and_refused_by_name(void **state) {
  static const char body[] = OPA("0", "cast", "%x", "dtype = \"f32\"") OP("1", "mul", "%0, %s"),
      computed[] = OPA("0", "cast", "%x", "dtype = \"f32\"") OPA("1", "reduce_sum", "%s", "axes = [0]")
          OP("2", "mul", "%0, %1");
  unsigned char x[24];
  float scale[48], out[2][48];
  int kernels[2];
  for (int i = 0; i < 24; i++) x[i] = (unsigned char)(i * 77 + 3);
  for (int i = 0; i < 48; i++) scale[i] = 0.25f * (float)i;
  for (int off = 0; off < 2; off++) {
    rig r = compiled(func("%x: tensor<6x8xi4>, %s: tensor<6x8xf32>", body, "%1"), off ? "packed_reads" : NULL);
    kernels[off] = tsr_program_n_kernels(r.p);
    run(&r, (const void *const[]){x, scale}, (void *const[]){out[off]});
    close_rig(&r);
  }
  assert_memory_equal(out[0], out[1], sizeof out[0]);
  assert_true(kernels[0] == 1 && kernels[1] == 2);
  for (int k = 0; k < 2; k++) {
    ir_module *m = gt_parse(func("%x: tensor<6x8xi4>, %s: tensor<6x8xf32>", k ? computed : body, k ? "%2" : "%1"));
    pass_trace trace;
    trace_init(&trace, &m->arena.al);
    assert_null(graph_to_bytes(m, &(pass_options){.trace = &trace}));
    assert_int_equal(trace.n, 2);
    assert_true(trace.v[0].fired && trace.v[1].fired == !k);
    assert_string_equal(trace.v[1].rule, "packed_reads");
    assert_non_null(strstr(trace.v[1].reason, k ? "another operand is computed" : "two elements are read of a byte"));
    trace_clear(&trace);
    ir_module_destroy(&m);
  }
}

static void meshes_refuse_them_by_name(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_mesh *m;
  tsr_dist_tensor *t;
  const char *axes[] = {"x"};
  const int64_t sizes[] = {2};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  const tsr_mesh_desc d = {.axes = axes, .sizes = sizes, .n_axes = 1, .devices = &dev, .n_devices = 1};
  OK(tsr_mesh_create(ctx, &d, &m));
  tsr_status st = tsr_dist_tensor_create(m, TSR_I4, (tsr_shape){1, {8}}, NULL, TSR_UNEVEN_PAD, &t);
  assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
  assert_true(gt_says(tsr_status_message(st), "elements of i4 share bytes"));
  tsr_status_free(st);
  const char *text = func("%x: tensor<8xui4>, %y: tensor<8xf32, {shard = [\"x\"]}>",
                          OPA("0", "cast", "%x", "dtype = \"f32\"") OP("1", "add", "%0, %y"), "%1");
  tsr_graph *g;
  tsr_dist_program *p;
  OK(tsr_graph_parse(ctx, text, strlen(text), "test.mlir", &g));
  st = tsr_dist_program_compile(m, g, NULL, &p);
  assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
  assert_true(gt_says(tsr_status_message(st), "input 0 is u4, whose elements share bytes"));
  tsr_status_free(st);
  tsr_graph_destroy(&g);
  tsr_mesh_destroy(&m);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_keeps_types_and_elements),
      cmocka_unit_test(bad_text_gets_one_clear_line),
      cmocka_unit_test(kernels_take_bytes_alone),
      cmocka_unit_test(programs_keep_the_types_of_their_ends),
      cmocka_unit_test(constants_have_a_byte_an_element),
      cmocka_unit_test(elementwise_ops_are_one_kernel_with_reading_and_packing),
      cmocka_unit_test(reads_are_moved_and_refused_by_name),
      cmocka_unit_test(meshes_refuse_them_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
