/* Tests of schedule defaults: the table of default tiles, explicit tiles, legalisation with original and reason,
 * advice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/passes/graph/expand_ops.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/schedule/kernel.h"
#include "core/passes/schedule/from_graph.h"
#include "tests/support/graph_text.h"

static tsr_caps gpu(int64_t shared) {
  tsr_caps c = {.dialect = DIALECT_SPIRV,
                .n_cores = 60,
                .subgroup = 32,
                .max_threads = 1024,
                .shared_bytes = shared,
                .vector_bytes = 16};
  c.matrix[c.n_matrix++] =
      (tsr_matrix_shape){.m = 16, .n = 16, .k = 16, .a = TSR_BF16, .b = TSR_BF16, .c = TSR_F32, .enabled = true};
  return c;
}

static ir_module *matmul(const char *dtype, const char *attrs) {
  char args[200], body[200], type[64];
  snprintf(args, sizeof args, "%%A: tensor<4096x4096x%s>, %%B: tensor<4096x4096x%s>", dtype, dtype);
  snprintf(body, sizeof body, "%%0 = \"tessera.graph.matmul\"(%%A, %%B) {%s}", attrs);
  snprintf(type, sizeof type, "tensor<4096x4096x%s>", dtype);
  ir_module *g = gt_parse(gt_func(args, body, "%0", type)), *s;
  assert_null(graph_to_schedule(g, NULL, &s));
  ir_module_destroy(&g);
  return s;
}

static ir_op *kernel(ir_module *s) {
  for (ir_op *o = s->root->regions[0]->first->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL) return o;
  return NULL;
}

static ir_op *legalized(ir_op *k) {
  for (ir_op *o = k->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_SCHEDULE && o->def->code == S_LEGALIZED) return o;
  return NULL;
}

static void table_of_default_tiles(void **state) {
  sched_params p;
  assert_true(sched_recommended("gemm", TSR_BF16, &p) && p.m == 128 && p.n == 128 && p.k == 64);
  assert_true(sched_recommended("gemm", TSR_F8E4M3, &p) && p.m == 256 && p.n == 128 && p.k == 128);
  assert_true(sched_recommended("conv2d", TSR_F32, &p) && p.m == 128 && p.n == 128 && p.k == 32);
  assert_true(sched_recommended("flash_attention", TSR_BF16, &p) && p.m == 128 && p.n == 64 && p.k == 64);
  assert_true(sched_recommended("layernorm", TSR_F32, &p) && p.warps * 32 == 256 && p.m == p.warps);
  assert_false(sched_recommended("fft", TSR_F32, &p));
}

static void default_tile_is_the_tables_when_it_fits(void **state) {
  ir_module *s = matmul("bf16", "");
  tsr_caps c = gpu(228 << 10);
  sched_params p;
  assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c}));
  sched_read(kernel(s), &p);
  assert_true(p.m == 128 && p.n == 128 && p.k == 64 && p.pipeline_stages == 2 && p.vectorize == 8);
  assert_null(legalized(kernel(s)));
  ir_module_destroy(&s);
}

/* A convolution is a product with patches of the image, whose row of the table has shallower steps. */
static void convolution_starts_from_its_own_row(void **state) {
  ir_module *g = gt_parse(gt_func("%x: tensor<64x256x56x56xbf16>, %w: tensor<256x256x3x3xbf16>",
                                  "%0 = \"tessera.graph.conv2d\"(%x, %w)", "%0", "tensor<64x256x54x54xbf16>")), *s;
  tsr_caps c = gpu(228 << 10);
  sched_params p;
  assert_null(graph_expand_module(g, &(pass_options){0}));
  assert_null(graph_to_schedule(g, NULL, &s));
  assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c}));
  sched_read(kernel(s), &p);
  assert_true(p.m == 128 && p.n == 128 && p.k == 32 && p.pipeline_stages == 2);
  ir_module_destroy(&g);
  ir_module_destroy(&s);
}

static void default_tile_is_legalised_on_small_shared_memory(void **state) {
  ir_module *s = matmul("bf16", "");
  tsr_caps c = gpu(48 << 10);
  sched_params p;
  assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c}));
  sched_read(kernel(s), &p);
  assert_true(sched_shared_bytes(kernel(s), &p) <= 48 << 10);
  assert_true(p.m == 128 && p.n == 128 && p.k == 32 && p.pipeline_stages == 2);
  ir_op *l = legalized(kernel(s));
  assert_non_null(l);
  assert_true(gt_says(ir_get_str(l, "original", ""), "128x128x64"));
  assert_true(gt_says(ir_get_str(l, "reason", ""), "shared memory"));
  /* Doing it again changes nothing more. */
  assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c}));
  int n = 0;
  for (ir_op *o = kernel(s)->regions[0]->first; o; o = o->next)
    n += o->def->level == IR_SCHEDULE && o->def->code == S_LEGALIZED;
  assert_int_equal(n, 1);
  ir_module_destroy(&s);
}

/* Fewer registers a thread: more threads while the block may have them, then a smaller tile, always with the reason. */
static void few_registers_force_a_smaller_tile(void **state) {
  int64_t last = 128 * 128 + 1;
  for (int registers = 256; registers >= 32; registers /= 2) {
    ir_module *s = matmul("bf16", "");
    tsr_caps c = gpu(228 << 10);
    sched_params p;
    c.max_registers = registers;
    c.max_threads = 256;
    assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c}));
    sched_read(kernel(s), &p);
    assert_true(p.m * p.n / (p.warps * 32) + 24 <= registers); /* one accumulator an output, and addresses */
    if (registers <= 64)
      assert_true(p.m * p.n < last && gt_says(ir_get_str(legalized(kernel(s)), "reason", ""), "registers per thread"));
    last = p.m * p.n;
    ir_module_destroy(&s);
  }
  assert_true(last < 64 * 64);
}

static void explicit_tile_is_honoured_or_an_error_naming_the_limit(void **state) {
  ir_module *s = matmul("bf16", "tile_shape = [64, 256, 32]");
  tsr_caps c = gpu(64 << 10);
  sched_params p;
  assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c, .error_if_illegal = true}));
  sched_read(kernel(s), &p);
  assert_true(p.m == 64 && p.n == 256 && p.k == 32);
  ir_module_destroy(&s);
  s = matmul("bf16", "tile_shape = [256, 256, 128]");
  tsr_status st = schedule_apply_defaults(s, &(schedule_options){.caps = &c, .error_if_illegal = true});
  assert_true(gt_says(tsr_status_message(st), "shared memory per block: needs"));
  tsr_status_free(st);
  assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c}));
  assert_non_null(legalized(kernel(s)));
  ir_module_destroy(&s);
}

static void explicit_tile_off_the_matrix_shape_is_rounded(void **state) {
  ir_module *s = matmul("bf16", "tile_shape = [100, 128, 40]");
  tsr_caps c = gpu(64 << 10);
  sched_params p;
  pass_trace t;
  trace_init(&t, NULL);
  assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c, .trace = &t}));
  sched_read(kernel(s), &p);
  assert_true(p.m % 16 == 0 && p.k % 16 == 0);
  assert_int_equal(trace_count(&t, "tile_advice", false), 1);
  assert_true(gt_says(t.v[0].reason, "128x128x40 is the nearest"));
  trace_clear(&t);
  ir_module_destroy(&s);
}

static void primitives_by_hand_win(void **state) {
  ir_module *s = matmul("f32", "");
  tsr_caps c = gpu(64 << 10);
  sched_params p, want = {.m = 64, .n = 64, .k = 16, .pipeline_stages = 3, .vectorize = 2, .warps = 4};
  assert_true(sched_write(kernel(s), &want));
  assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c}));
  sched_read(kernel(s), &p);
  assert_true(p.m == 64 && p.n == 64 && p.k == 16 && p.pipeline_stages == 3 && p.vectorize == 2 && p.warps == 4);
  ir_module_destroy(&s);
}

static void primitives_without_use_are_named(void **state) {
  static const struct { tsr_dialect d; sched_params asked; int n; } cases[] = {
      {DIALECT_CPU, {.vectorize = 4, .use_shared = 1, .async_copy = 1, .pipeline_stages = 3, .warps = 4}, 5},
      {DIALECT_CPU, {.vectorize = 256, .split_k = 4}, 0}, /* a strip; parts of the sum */
      {DIALECT_CPU, {.split_k = 1 << 20}, 1},
      {DIALECT_SPIRV, {.vectorize = 2, .use_shared = 1, .pipeline_stages = 2}, 0},
      {DIALECT_SPIRV, {.async_copy = 1}, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ir_module *s = matmul("f32", "");
    tsr_caps c = gpu(64 << 10);
    sched_params p;
    pass_trace t;
    c.dialect = cases[i].d;
    c.async_copy = false;
    trace_init(&t, NULL);
    assert_true(sched_write(kernel(s), &cases[i].asked));
    tsr_status st = schedule_apply_defaults(s, &(schedule_options){.caps = &c, .trace = &t});
    if (st) fail_msg("case %zu: %s", i, tsr_status_message(st));
    assert_int_equal(trace_count(&t, "schedule_unused", false), cases[i].n);
    sched_read(kernel(s), &p);
    if (cases[i].asked.split_k > 4) assert_int_equal(p.split_k, 0);
    trace_clear(&t);
    ir_module_destroy(&s);
  }
}

static void cpu_tiles_are_left_to_its_lowering(void **state) {
  ir_module *s = matmul("f32", "");
  tsr_caps c = {.dialect = DIALECT_CPU};
  sched_params p;
  assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c}));
  sched_read(kernel(s), &p);
  assert_true(p.m == 0 && p.pipeline_stages == 0);
  ir_module_destroy(&s);
}

static void rows_and_elements_get_a_block_of_256_threads(void **state) {
  ir_module *g = gt_parse(gt_func("%A: tensor<512x1024xf32>", "%0 = \"tessera.graph.layernorm\"(%A)", "%0",
                                  "tensor<512x1024xf32>")),
            *s;
  tsr_caps c = gpu(48 << 10);
  sched_params p;
  assert_null(graph_to_schedule(g, NULL, &s));
  assert_null(schedule_apply_defaults(s, &(schedule_options){.caps = &c}));
  sched_read(kernel(s), &p);
  assert_true(p.warps == 8 && p.m == 8 && p.vectorize == 4);
  c.subgroup = 64;
  sched_params q = sched_default(kernel(s), &c);
  assert_true(q.warps == 4 && q.m == 4);
  ir_module_destroy(&g);
  ir_module_destroy(&s);
}

static void constant_operands_are_known(void **state) {
  const char *body =
      "%w = \"tessera.graph.constant\"() {value = dense<2.0> : tensor<8x4xf32>} : () -> tensor<8x4xf32>\n"
      "%r = \"tessera.graph.reshape\"(%w) {shape = [4, 8]} : (tensor<8x4xf32>) -> tensor<4x8xf32>\n"
      "%0 = \"tessera.graph.matmul\"(%A, %r)";
  ir_module *g = gt_parse(gt_func("%A: tensor<16x4xf32>", body, "%0", "tensor<16x8xf32>")), *s;
  assert_null(graph_to_schedule(g, NULL, &s));
  const ir_op *k = kernel(s), *mm = NULL;
  for (const ir_op *o = k->regions[0]->first; o; o = o->next)
    if (graph_is(o, G_MATMUL)) mm = o;
  assert_non_null(mm);
  assert_false(sched_is_constant(k, mm->operands[0]));
  assert_true(sched_is_constant(k, mm->operands[1]));
  assert_false(sched_is_constant(k, mm->results[0]));
  ir_module_destroy(&g);
  ir_module_destroy(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(table_of_default_tiles),
      cmocka_unit_test(default_tile_is_the_tables_when_it_fits),
      cmocka_unit_test(convolution_starts_from_its_own_row),
      cmocka_unit_test(default_tile_is_legalised_on_small_shared_memory),
      cmocka_unit_test(few_registers_force_a_smaller_tile),
      cmocka_unit_test(explicit_tile_is_honoured_or_an_error_naming_the_limit),
      cmocka_unit_test(explicit_tile_off_the_matrix_shape_is_rounded),
      cmocka_unit_test(primitives_by_hand_win),
      cmocka_unit_test(primitives_without_use_are_named),
      cmocka_unit_test(cpu_tiles_are_left_to_its_lowering),
      cmocka_unit_test(rows_and_elements_get_a_block_of_256_threads),
      cmocka_unit_test(constant_operands_are_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
