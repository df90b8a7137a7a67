/* From schedule.kernel to problem, key and space, and back to sched_params. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/passes/graph/expand_ops.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/schedule/legalize.h"
#include "core/passes/schedule/from_graph.h"
#include "core/tune/bucket.h"
#include "core/tune/cost.h"
#include "core/tune/extract.h"
#include "core/tune/kernel.h"
#include "tests/support/graph_text.h"

static tsr_caps gpu(void) {
  tsr_caps c = {.dialect = DIALECT_SPIRV,
                .arch = "spirv1.6",
                .n_cores = 60,
                .subgroup = 32,
                .max_threads = 1024,
                .shared_bytes = 48 << 10,
                .vector_bytes = 16};
  c.matrix[c.n_matrix++] =
      (tsr_matrix_shape){.m = 16, .n = 16, .k = 16, .a = TSR_BF16, .b = TSR_BF16, .c = TSR_F32, .enabled = true};
  return c;
}
static tsr_caps cpu(void) {
  return (tsr_caps){.dialect = DIALECT_CPU, .arch = "avx512", .n_cores = 2, .vector_bytes = 64, .l2_bytes = 2 << 20};
}

static ir_module *compile(const char *args, const char *body, const char *result, const char *type) {
  ir_module *g = gt_parse(gt_func(args, body, result, type)), *s;
  assert_null(graph_expand_module(g, &(pass_options){0}));
  assert_null(graph_to_schedule(g, NULL, &s));
  ir_module_destroy(&g);
  return s;
}
static ir_op *kernel(ir_module *s) {
  for (ir_op *o = s->root->regions[0]->first->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL) return o;
  return NULL;
}
static ir_module *matmul_add(const char *dtype) {
  char args[200], type[64];
  snprintf(args, sizeof args, "%%A: tensor<300x500x%s>, %%B: tensor<500x200x%s>, %%C: tensor<300x200x%s>", dtype, dtype,
           dtype);
  snprintf(type, sizeof type, "tensor<300x200x%s>", dtype);
  return compile(args, "%0 = \"tessera.graph.matmul\"(%A, %B) {}\n%1 = \"tessera.graph.add\"(%0, %C)", "%1", type);
}

static void matmul_kernel_is_a_problem_with_a_key(void **state) {
  ir_module *s = matmul_add("bf16");
  tsr_caps c = gpu();
  tune_problem p;
  tune_kernel_key text;
  assert_true(tune_kernel_problem(kernel(s), "fast", &p));
  assert_true(p.family == FAMILY_MATMUL && p.batch == 1 && p.m == 300 && p.n == 200 && p.k == 500 && p.in == TSR_BF16 &&
              p.acc == TSR_F32 && !p.deterministic);
  tune_key k = tune_kernel_make_key(kernel(s), &p, &c, "driver 1", "fast", "", &text);
  assert_string_equal(k.op, "matmul+add");
  assert_string_equal(k.shape, "300x200x500");
  assert_string_equal(k.dtype, "bf16,bf16,bf16->bf16");
  assert_string_equal(k.arch, "spirv1.6/60");
  assert_int_equal(strlen(k.generator), 16);
  assert_true(tune_kernel_problem(kernel(s), "deterministic", &p) && p.deterministic);
  ir_module_destroy(&s);
}

static void other_families_are_problems_too(void **state) {
  tune_problem p;
  ir_module *s =
      compile("%A: tensor<64x1000xf32>", "%0 = \"tessera.graph.softmax\"(%A) {}", "%0", "tensor<64x1000xf32>");
  assert_true(tune_kernel_problem(kernel(s), "fast", &p));
  assert_true(p.family == FAMILY_ROW && p.m == 64 && p.n == 1000 && tune_problem_bytes(&p) == 2 * 64 * 1000 * 4);
  ir_module_destroy(&s);
  s = compile("%A: tensor<64x1000xf32>", "%0 = \"tessera.graph.reduce_sum\"(%A) {axes = [1]}", "%0", "tensor<64xf32>");
  assert_true(tune_kernel_problem(kernel(s), "fast", &p));
  assert_true(p.family == FAMILY_ROW &&
              tune_problem_bytes(&p) == 64 * 1000 * 4 + 64 * 4); /* what it writes is 64 elements */
  ir_module_destroy(&s);
  s = compile("%A: tensor<64x1000xf32>, %B: tensor<64x1000xf32>", "%0 = \"tessera.graph.add\"(%A, %B)", "%0",
              "tensor<64x1000xf32>");
  assert_true(tune_kernel_problem(kernel(s), "fast", &p));
  assert_true(p.family == FAMILY_ELEMENTWISE && p.n == 64000 && p.passes == 2);
  ir_module_destroy(&s);
}

/* The path lane_n: not of a transposed b, whose columns don't lie side by side; of windows over an image, which are
 * collected. */
static void lane_n_need_b_as_it_lies(void **state) {
  static const char *const bodies[] = {"%0 = \"tessera.graph.matmul\"(%A, %B) {}",
                                       "%0 = \"tessera.graph.matmul\"(%A, %B) {transpose_b = true}",
                                       "%0 = \"tessera.graph.conv2d\"(%A, %B) {}"};
  for (int v = 0; v < 3; v++) {
    static tune_kernel_space sp;
    ir_module *s = v < 2 ? compile("%A: tensor<64x64xf32>, %B: tensor<64x64xf32>", bodies[v], "%0", "tensor<64x64xf32>")
                         : compile("%A: tensor<1x64x16x16xf32>, %B: tensor<64x64x3x3xf32>", bodies[v], "%0",
                                   "tensor<1x64x14x14xf32>");
    tsr_caps c = gpu();
    tune_problem p;
    c.subgroup = c.subgroup_min = c.subgroup_max = 8;
    assert_true(tune_kernel_problem(kernel(s), "fast", &p));
    tune_device d = tune_device_from_caps(&c, "test");
    tune_config dflt = tune_kernel_default(kernel(s), &c, NULL);
    tune_kernel_space_build(kernel(s), &d, &p, &dflt, &c, &sp);
    space_point *pts;
    size_t n, lane_n = 0;
    bool cut;
    assert_null(space_enumerate(&sp.s, NULL, 1u << 20, &pts, &n, &cut));
    for (size_t i = 0; i < n; i++) {
      tune_config at = space_config(&sp.s, &pts[i]);
      sched_params params = tune_config_params(&at, &p, &c);
      assert_int_equal(at.matrix_path == PATH_LANE_N,
                       params.matrix_path && !strcmp(params.matrix_path, "lane_n"));
      lane_n += at.matrix_path == PATH_LANE_N;
    }
    assert_int_equal(lane_n > 0, v != 1);
    al_free_array(NULL, pts, n);
    ir_module_destroy(&s);
  }
}

/* One row of f32 on SIMD registers: two columns a lane, where the row has whole ones. */
static void untuned_rows_are_read_by_whole_registers(void **state) {
  static const struct { int n, tile; } cases[] = {{4096, 16}, {1000, 32}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char args[128], type[32];
    snprintf(args, sizeof args, "%%A: tensor<1x256xf32>, %%B: tensor<256x%dxf32>", cases[i].n);
    snprintf(type, sizeof type, "tensor<1x%dxf32>", cases[i].n);
    ir_module *s = compile(args, "%0 = \"tessera.graph.matmul\"(%A, %B) {}", "%0", type);
    tsr_caps c = gpu();
    c.subgroup = c.subgroup_min = c.subgroup_max = 8, c.n_matrix = 0;
    tune_config d = tune_kernel_default(kernel(s), &c, NULL);
    assert_int_equal(d.m, 1);
    assert_int_equal(d.n, cases[i].tile);
    ir_module_destroy(&s);
  }
}

/* The n-major lane layout where tiles have no edge, else rows in lanes. It is what searches on lavapipe choose, and
 * twice as fast (docs/performance-log.md). */
static void untuned_products_take_the_n_major_layout(void **state) {
  static const struct { const char *a, *b, *attr, *c; int lanes, m, n, k, warps; } cases[] = {
      {"512x512xf32", "512x512xf32", "", "512x512xf32", 8, 64, 32, 16, 8},
      {"24x64xf32", "64x48xf32", "", "24x48xf32", 8, 8, 16, 16, 1},
      {"4x32x64xbf16", "4x64x64xbf16", "", "4x32x64xbf16", 8, 32, 32, 16, 4},
      {"64x32xi8", "32x32xi8", "", "64x32xi32", 8, 64, 32, 16, 8},
      {"64x64xf32", "64x64xf32", "transpose_b = true", "64x64xf32", 8, 0, 0, 0, 0},
      {"12x64xf32", "64x64xf32", "", "12x64xf32", 8, 8, 32, 16, 1},
      {"197x64xf32", "64x64xf32", "", "197x64xf32", 8, 16, 32, 16, 2},
      {"250x64xf32", "64x64xf32", "", "250x64xf32", 8, 64, 32, 16, 8},
      {"64x64xf32", "64x40xf32", "", "64x40xf32", 8, 0, 0, 0, 0},
      {"64x24xf32", "24x64xf32", "", "64x64xf32", 8, 0, 0, 0, 0},
      {"64x64xf64", "64x64xf64", "", "64x64xf64", 8, 0, 0, 0, 0},
      {"?x64xf32", "64x64xf32", "", "?x64xf32", 8, 0, 0, 0, 0},
      {"512x512xf32", "512x512xf32", "", "512x512xf32", 4, 0, 0, 0, 0}, /* a register of four has no such loads */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char args[160], type[40], body[160];
    snprintf(args, sizeof args, "%%A: tensor<%s>, %%B: tensor<%s>", cases[i].a, cases[i].b);
    snprintf(type, sizeof type, "tensor<%s>", cases[i].c);
    snprintf(body, sizeof body, "%%0 = \"tessera.graph.matmul\"(%%A, %%B) {%s}", cases[i].attr);
    ir_module *s = compile(args, body, "%0", type);
    tsr_caps c = gpu();
    c.subgroup = c.subgroup_min = c.subgroup_max = cases[i].lanes, c.n_matrix = 0, c.i64 = true;
    tune_config d = tune_kernel_default(kernel(s), &c, NULL);
    assert_int_equal(d.matrix_path == PATH_LANE_N, cases[i].m > 0);
    if (cases[i].m) {
      assert_int_equal(d.m, cases[i].m);
      assert_int_equal(d.n, cases[i].n);
      assert_int_equal(d.k, cases[i].k);
      assert_int_equal(d.warps, cases[i].warps);
    }
    ir_module_destroy(&s);
  }
}

static void every_point_keeps_the_kernels_own_limits(void **state) {
  ir_module *s = matmul_add("bf16");
  tsr_caps all[2] = {gpu(), cpu()};
  for (int v = 0; v < 2; v++) {
    static tune_kernel_space sp;
    tune_problem p;
    assert_true(tune_kernel_problem(kernel(s), "fast", &p));
    tune_device d = tune_device_from_caps(&all[v], "test");
    tune_config dflt = tune_kernel_default(kernel(s), &all[v], (int64_t[3]){96, 64, 500});
    tune_kernel_space_build(kernel(s), &d, &p, &dflt, &all[v], &sp);
    space_point at, *pts;
    assert_true(space_nearest(&sp.s, &dflt, &at));
    tune_config near = space_config(&sp.s, &at);
    assert_true(near.m == dflt.m && near.n == dflt.n &&
                near.k == dflt.k); /* the untuned kernel is a point of the space */
    size_t n;
    bool cut;
    assert_null(space_enumerate(&sp.s, NULL, 1u << 20, &pts, &n, &cut));
    assert_true(n > 20);
    for (size_t i = 0; i < n; i++) {
      tune_config c = space_config(&sp.s, &pts[i]);
      sched_params q = tune_config_params(&c, &p, &all[v]);
      char why[128];
      assert_int_equal(sched_broken_limit(kernel(s), &all[v], &q, why, sizeof why), SCHED_FITS);
      assert_true(q.m == c.m && q.n == c.n && q.k == c.k);
    }
    al_free_array(NULL, pts, n);
  }
  ir_module_destroy(&s);
}

static void config_switches_become_the_schedules_spelling(void **state) {
  tsr_caps g = gpu(), c = cpu();
  tune_problem mm = {.family = FAMILY_MATMUL, .in = TSR_BF16}, other = {.family = FAMILY_MATMUL, .in = TSR_F32},
               row = {.family = FAMILY_ROW, .in = TSR_F32};
  tune_config off = {.m = 64, .n = 32, .k = 16, .vectorize = 4, .pipeline_stages = 1, .split_k = 1, .warps = 2},
              on = off;
  on.use_shared = on.async_copy = on.matrix_path = 1, on.padding = 8, on.raster = 4;
  sched_params p = tune_config_params(&off, &mm, &g);
  assert_true(p.use_shared == -1 && p.padding == -1 && p.async_copy == -1 && !p.raster &&
              !strcmp(p.matrix_path, "fma"));
  assert_null(tune_config_params(&off, &other, &g)
                  .matrix_path); /* no instruction to do without: the lowering may still know a better path */
  p = tune_config_params(&on, &mm, &g);
  assert_true(p.use_shared == 1 && p.padding == 8 && p.async_copy == 1 && p.raster == 4 && !p.matrix_path);
  p = tune_config_params(&on, &mm, &c);
  assert_true(p.m == 64 && p.n == 32 && p.k == 16 && !p.use_shared && !p.pipeline_stages && p.raster == 4 &&
              !p.split_k && !p.vectorize);
  tune_config more = on;
  more.split_k = 2, more.vectorize = 256;
  p = tune_config_params(&more, &mm, &c);
  assert_true(p.split_k == 2 && p.vectorize == 256);
  p = tune_config_params(&on, &row, &g);
  assert_true(p.m == 64 && !p.n && !p.k && p.vectorize == 4);
}

static void known_device_brings_advice_but_no_limit(void **state) {
  tsr_caps c = gpu();
  tune_device d = tune_device_from_caps(&c, "NVIDIA H100 80GB HBM3");
  assert_true(d.regs_ideal == 64 && d.shared_per_block == 48 << 10 && !d.advisory && d.fma_gflops > 0 &&
              d.fma_from == TUNE_LISTED);
  d = tune_device_from_caps(&c, "Something else");
  assert_true(d.regs_ideal == 0 && d.fma_gflops == 0);
}

static void buckets_round_up_unknown_extents_only(void **state) {
  static const int64_t rows[][2] = {{0, 0},
                                    {1, 1},
                                    {63, 63},
                                    {64, 64},
                                    {65, 96},
                                    {96, 96},
                                    {97, 128},
                                    {128, 128},
                                    {129, 192},
                                    {193, 256},
                                    {300, 384},
                                    {385, 512},
                                    {768, 768},
                                    {1000, 1024},
                                    {1025, 1536},
                                    {4097, 6144},
                                    {INT64_MAX, INT64_MAX}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_true(tune_bucket(rows[i][0]) == rows[i][1]);
  for (int64_t x = 1; x < 5000; x++)
    assert_true(tune_bucket(x) >= x && tune_bucket(x) <= x + x / 2 && tune_bucket(tune_bucket(x)) == tune_bucket(x) &&
                tune_bucket(x + 1) >= tune_bucket(x));
  ir_module *m =
      gt_parse(gt_func("%A: tensor<5x60x700xf32>", "%0 = \"tessera.graph.neg\"(%A)", "%0", "tensor<5x60x700xf32>"));
  ir_op *func = m->root->regions[0]->first;
  const int64_t unknown[3] = {5, IR_DYNAMIC, 700};
  char text[96];
  tune_problem p = {.family = FAMILY_ROW, .batch = 1, .m = 300, .n = 700};
  assert_false(bucket_shape(func, &p, text, sizeof text));
  assert_true(bucket_note(func, ir_type_tensor(m, TSR_F32, 3, unknown), func->regions[0]->args[0]->type));
  assert_true(bucket_shape(func, &p, text, sizeof text)); /* 5 x 60 rows; 60 alone is small, 700 was known */
  assert_string_equal(text, "~384x700");
  p = (tune_problem){.family = FAMILY_ELEMENTWISE, .batch = 1, .m = 1, .n = 5 * 60 * 700};
  assert_true(bucket_shape(func, &p, text, sizeof text));
  assert_string_equal(text, "~262144");
  p = (tune_problem){.family = FAMILY_MATMUL, .batch = 5, .m = 60, .n = 32, .k = 700};
  assert_false(bucket_shape(func, &p, text, sizeof text)); /* each extent is exact */
  assert_string_equal(text, "");
  p = (tune_problem){.family = FAMILY_MATMUL, .batch = 1, .m = 300, .n = 32, .k = 700};
  assert_true(bucket_shape(func, &p, text, sizeof text));
  assert_string_equal(text, "~384x32x700");
  assert_false(bucket_shape(func, &p, text, 8)); /* no room: no bucket rather than another's */
  ir_module_destroy(&m);
}

/* Rates of a table are never called measured, those of a self-test are no peak. */
static void estimate_says_where_each_rate_comes_from(void **state) {
  tsr_caps c = gpu();
  tune_problem p = {.family = FAMILY_MATMUL,
                    .op = "matmul",
                    .m = 256,
                    .n = 256,
                    .k = 256,
                    .in = TSR_F32,
                    .acc = TSR_F32,
                    .out = TSR_F32};
  tune_config at = {.m = 64, .n = 64, .k = 16, .use_shared = 1, .pipeline_stages = 2, .warps = 4};
  strb text;
  strb_init(&text, NULL);
  c.peak_flops_f32 = 1e13, c.bytes_per_s = 1e12, c.memory_bytes = 1 << 30, c.launch_ns = 4000;
  tune_device d = tune_device_from_caps(&c, "a device");
  assert_true(d.fma_from == TUNE_REACHED && !tune_device_has_roofline(&d));
  cost_explain(&d, &p, &at, &text);
  assert_non_null(strstr(strb_text(&text), "Gflop/s, reached\n"));
  assert_null(strstr(strb_text(&text), "measured"));
  c.dialect = DIALECT_CUDA;
  d = tune_device_from_caps(&c, "a device");
  assert_true(d.fma_from == TUNE_LISTED && tune_device_has_roofline(&d));
  tune_device_measured(&d, "memory", 900);
  d.barrier_ns = 30, d.barrier_from = TUNE_MEASURED, d.measured_on = 86400;
  strb_clear(&text), strb_init(&text, NULL);
  cost_explain(&d, &p, &at, &text);
  static const char *const says[] = {
      "Gflop/s, listed\n",       "GB/s, assumed; 16-way conflicts on 32 banks, assumed\n  l2",
      "at 900 GB/s, measured\n", "30 ns each, measured\n",
      "us  listed\n  blocks",    "measured on 1970-01-02 00:00 UTC"};
  for (size_t i = 0; i < sizeof says / sizeof *says; i++)
    if (!strstr(strb_text(&text), says[i])) fail_msg("no \"%s\" in %s", says[i], strb_text(&text));
  strb_clear(&text);
}

/* A program of two kernels, one operand of which is given twice. */
static void extracted_kernel_computes_the_same(void **state) {
  ir_module *s = compile("%A: tensor<24x24xf32>, %C: tensor<24x24xf32>",
                         "%0 = \"tessera.graph.softmax\"(%A) {}\n%1 = \"tessera.graph.matmul\"(%0, %0) {transpose_b = true}\n%2 = \"tessera.graph.add\"(%1, %C)",
                         "%2", "tensor<24x24xf32>");
  int n = 0;
  for (ir_op *o = s->root->regions[0]->first->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_SCHEDULE || o->def->code != S_KERNEL) continue;
    ir_module *one, *graph;
    n++;
    assert_null(extract_schedule(o, &one));
    assert_null(extract_graph(o, &graph));
    ir_op *k = extract_kernel(one);
    assert_non_null(k);
    assert_string_equal(ir_get_str(k, "sym_name", ""), ir_get_str(o, "sym_name", "?"));
    ir_module *flat = gt_flatten(one);
    assert_true(gt_same(graph->root->regions[0]->first, flat->root->regions[0]->first, 7, -1, 1));
    sched_params p = {.m = 8, .n = 8, .k = 8}, back;
    assert_true(sched_write(k, &p));
    assert_null(ir_verify(one));
    sched_read(k, &back);
    assert_true(back.m == 8);
    sched_read(o, &back);
    assert_true(back.m == 0); /* the original is left alone */
    ir_module_destroy(&flat), ir_module_destroy(&one), ir_module_destroy(&graph);
  }
  assert_true(n >= 2);
  ir_module_destroy(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matmul_kernel_is_a_problem_with_a_key),
      cmocka_unit_test(other_families_are_problems_too),
      cmocka_unit_test(lane_n_need_b_as_it_lies),
      cmocka_unit_test(untuned_rows_are_read_by_whole_registers),
      cmocka_unit_test(untuned_products_take_the_n_major_layout),
      cmocka_unit_test(every_point_keeps_the_kernels_own_limits),
      cmocka_unit_test(config_switches_become_the_schedules_spelling),
      cmocka_unit_test(extracted_kernel_computes_the_same),
      cmocka_unit_test(known_device_brings_advice_but_no_limit),
      cmocka_unit_test(estimate_says_where_each_rate_comes_from),
      cmocka_unit_test(buckets_round_up_unknown_extents_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
