/* Custom ops that are misused, whose kernel fails, or around which memory runs out. */
#include "tests/unit/custom_ops.h"

static void custom_op_misuse_is_one_clear_line(void **state) {
  int warnings = 0;
  counts k = {.fail_from = 200};
  static data d;
  tsr_context *ctx = open_context(&warnings);
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_value a, b, y;
  OK(register_ops(ctx, &k, false));
  FAILS(TSR_INVALID_ARGUMENT, "registered already", register_ops(ctx, &k, false));
  FAILS(TSR_INVALID_ARGUMENT, "needs a name", tsr_custom_op_register(ctx, &(tsr_custom_op){.name = "x"}));
  OK(tsr_graph_create(ctx, "g", &g));
  OK(tsr_graph_input(g, "A", TSR_F16, (tsr_shape){2, {4, 5}}, &a));
  OK(tsr_graph_input(g, "B", TSR_F32, (tsr_shape){2, {4, 6}}, &b));
  FAILS(TSR_SHAPE_MISMATCH, "swish takes f32, not f16", tsr_graph_op(g, "my.swish", &a, 1, NULL, 0, &y));
  FAILS(TSR_SHAPE_MISMATCH, "the operands don't fit",
        tsr_graph_op(g, "my.rowdot", (tsr_value[]){a, b}, 2, NULL, 0, &y));
  FAILS(TSR_VERIFY_ERROR, "takes 2 operands, has 1", tsr_graph_op(g, "my.rowdot", &b, 1, NULL, 0, &y));
  FAILS(TSR_NOT_FOUND, "no such operation", tsr_graph_op(g, "my.unknown", &b, 1, NULL, 0, &y));
  tsr_graph_destroy(&g);
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  static const char *const texts[][2] = {
      {"bad.mlir:3:6: no custom operation", "%0 = \"tessera.graph.custom\"(%A) {callee = \"my.unknown\"} : (tensor<6x10xf32>) -> tensor<6x10xf32>"},
      {"bad.mlir:3:6: the result's type is not what my.swish infers", "%0 = \"tessera.graph.custom\"(%A) {callee = \"my.swish\"} : (tensor<6x10xf32>) -> tensor<6x11xf32>"},
      {"bad.mlir:3:6", "%0 = \"tessera.graph.custom\"(%A) : (tensor<6x10xf32>) -> tensor<6x10xf32>"}};
  for (int i = 0; i < 3; i++) {
    char text[512];
    int n = snprintf(text, sizeof text,
                     "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<6x10xf32>):\n%s\n\"tessera.graph.return\"(%%0)\n}) "
                     "{sym_name = \"main\"}\n",
                     texts[i][1]);
    FAILS((i == 0   ? TSR_NOT_FOUND
           : i == 1 ? TSR_SHAPE_MISMATCH
                    : TSR_VERIFY_ERROR),
          texts[i][0], tsr_program_parse(dev, text, (size_t)n, "bad.mlir", NULL, &p));
  }
  /* A kernel that fails ends the run, and the program can run again. */
  tsr_buffer *in[2], *out[2];
  fill(&d);
  OK(build(ctx, &g));
  OK(tsr_program_compile(dev, g, NULL, &p));
  OK(tsr_buffer_create(dev, sizeof d.a, TSR_MEMORY_DEVICE, &in[0]));
  OK(tsr_buffer_create(dev, sizeof d.b, TSR_MEMORY_DEVICE, &in[1]));
  OK(tsr_buffer_create(dev, sizeof d.dot, TSR_MEMORY_DEVICE, &out[0]));
  OK(tsr_buffer_create(dev, sizeof d.soft, TSR_MEMORY_DEVICE, &out[1]));
  OK(tsr_buffer_write(in[0], 0, d.a, sizeof d.a));
  OK(tsr_buffer_write(in[1], 0, d.b, sizeof d.b));
  tsr_binding bi[2] = {{in[0], 0}, {in[1], 0}}, bo[2] = {{out[0], 0}, {out[1], 0}};
  FAILS(TSR_LAUNCH_FAILED, "my.swish: the kernel doesn't like row 200", tsr_program_run(p, NULL, bi, bo));
  FAILS(TSR_LAUNCH_FAILED, "row 200",
        tsr_graph_reference(g, (const void *[]){d.a, d.b}, (double *[]){d.want_dot, d.want_soft}, NULL));
  k.fail_from = 1 << 30;
  OK(tsr_program_run(p, NULL, bi, bo));
  for (int i = 0; i < 2; i++) {
    tsr_buffer_destroy(&in[i]);
    tsr_buffer_destroy(&out[i]);
  }
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static tsr_code whole_life(counting *c) {
  static data d;
  tsr_allocator al = {count_alloc, count_free, c};
  tsr_context_desc desc = {.allocator = &al, .cache_dir = ""};
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  tsr_status st = tsr_context_create(&desc, &ctx);
  if (!st) st = register_ops(ctx, NULL, true);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  if (!st) st = build(ctx, &g);
  if (!st) st = tsr_program_compile(dev, g, NULL, &p);
  if (!st) st = tsr_graph_reference_at(g, (const void *[]){d.a, d.b}, 0, (int64_t[]){3}, 1, d.want_dot, d.tol_dot);
  tsr_code code = tsr_status_code(st);
  tsr_status_free(st);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return code;
}

static void every_failed_allocation_around_custom_ops_is_a_status(void **state) {
  counting c = {.left = 1L << 40};
  assert_int_equal(whole_life(&c), TSR_OK);
  assert_int_equal(c.live, 0);
  long needed = (1L << 40) - c.left;
  for (long i = 0; i < needed; i += 1 + i / 400) {
    c = (counting){.left = i};
    tsr_code code = whole_life(&c);
    if (code != TSR_OUT_OF_MEMORY && code != TSR_OK)
      fail_msg("allocation %ld of %ld: %s", i, needed, tsr_code_name(code));
    if (c.live) fail_msg("allocation %ld of %ld: %ld blocks leak", i, needed, c.live);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(custom_op_misuse_is_one_clear_line),
      cmocka_unit_test(every_failed_allocation_around_custom_ops_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
