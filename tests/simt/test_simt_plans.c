/* tests/simt/test_simt_plans.c - what a graph's kernels get by default, on every emulated device: small grids whose k
 * is split into parts, products of a few rows as gemv, rows longer than a block's registers. The plan must be the
 * expected one (its words are in the schedule or the Target IR), run without a finding of the emulator, and agree with
 * sums in f64 over the same inputs. Tolerance: the accumulator's k roundings of f32 plus one of the result. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "core/base/str.h"
#include "core/passes/lower.h"
#include "core/passes/simt/simt.h"
#include "tessera/tessera.h"
#include "tests/simt/backend_emu.h"
#include "tests/simt/emu_check.h"
#include "tests/simt/target_run.h"
#include "tests/support/plan.h"

enum { MAX_INPUTS = 4 };
static tsr_context *ctx;
static tsr_policy policy; /* of the programs; 0 = the context's */

static double uniform(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(*state >> 40) / (1 << 24) * 2 - 1;
}

/* A program of one text: inputs, and its one output, as f64. */
typedef struct run {
  double *in[MAX_INPUTS], *out;
  size_t n_in[MAX_INPUTS], n_out;
  int n_inputs;
  tsr_dtype out_type;
} run;

static void expect_words(const tsr_program *p, tsr_level level, const char *words, const char *name,
                         const char *device) {
  char *text;
  if (!words) return;
  ok(tsr_program_dump(p, level, &text, NULL), "dump");
  if (!strstr(text, words)) fail_msg("%s on %s: \"%s\" is not in the plan:\n%s", name, device, words, text);
  tsr_text_free(ctx, &text);
}

static run run_text(const char *device, const char *text, const char *name, const tsr_schedule *by_hand,
                    const char *schedule_words, const char *target_words) {
  run r = {0};
  uint64_t state = 7;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding in[MAX_INPUTS] = {{0}}, out[1] = {{0}};
  ok(tsr_device_open(ctx, device, &dev), device);
  tsr_compile_options options = {.policy = policy, .schedules = by_hand, .n_schedules = by_hand != NULL};
  ok(tsr_program_parse(dev, text, strlen(text), name, &options, &p), name);
  expect_words(p, TSR_LEVEL_SCHEDULE, schedule_words, name, device);
  expect_words(p, TSR_LEVEL_TARGET, target_words, name, device);
  r.n_inputs = tsr_program_n_inputs(p);
  for (int i = 0; i < r.n_inputs; i++) {
    tsr_tensor_info t = tsr_program_input(p, i);
    void *data = malloc(t.bytes);
    r.n_in[i] = t.bytes / tsr_dtype_size(t.dtype);
    r.in[i] = malloc(r.n_in[i] * sizeof(double));
    for (size_t e = 0; e < r.n_in[i]; e++) {
      dtype_store(t.dtype, data, e, dtype_is_float(t.dtype) ? uniform(&state) : floor(uniform(&state) * 8));
      r.in[i][e] = dtype_load(t.dtype, data, e);
    }
    ok(tsr_buffer_create(dev, t.bytes, TSR_MEMORY_DEVICE, &in[i].buffer), name);
    ok(tsr_buffer_write(in[i].buffer, 0, data, t.bytes), name);
    free(data);
  }
  tsr_tensor_info t = tsr_program_output(p, 0);
  void *data = malloc(t.bytes);
  r.out_type = t.dtype;
  r.n_out = t.bytes / tsr_dtype_size(t.dtype);
  r.out = malloc(r.n_out * sizeof(double));
  ok(tsr_buffer_create(dev, t.bytes, TSR_MEMORY_DEVICE, &out[0].buffer), name);
  ok(tsr_program_run(p, NULL, in, out), name);
  ok(tsr_buffer_read(out[0].buffer, 0, data, t.bytes), name);
  for (size_t e = 0; e < r.n_out; e++) r.out[e] = dtype_load(t.dtype, data, e);
  free(data);
  for (int i = 0; i < MAX_INPUTS; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&out[0].buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  return r;
}

static void clear(run *r) {
  for (int i = 0; i < r->n_inputs; i++) free(r->in[i]);
  free(r->out);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

typedef struct product {
  const char *name;
  int64_t batch, m, n, k;
  bool ta, tb, gelu;
  const char *in, *out;       /* element types in text */
  const char *schedule_words; /* in the schedule on every device; NULL = not looked at */
} product;

static void put_product(strb *b, const product *p) {
  long long batch = p->batch ? p->batch : 1, am = p->ta ? p->k : p->m, ak = p->ta ? p->m : p->k,
            bk = p->tb ? p->n : p->k, bn = p->tb ? p->k : p->n, m = p->m, n = p->n;
  char a[64], w[64], c[64];
  snprintf(a, sizeof a, "tensor<%lldx%lldx%lldx%s>", batch, am, ak, p->in);
  snprintf(w, sizeof w, "tensor<%lldx%lldx%lldx%s>", batch, bk, bn, p->in);
  snprintf(c, sizeof c, "tensor<%lldx%lldx%lldx%s>", batch, m, n, p->out);
  strb_printf(b, "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%%A: %s, %%B: %s, %%v: tensor<%lldx%s>):\n",
              a, w, n, p->out);
  strb_printf(b, "%%0 = \"tessera.graph.matmul\"(%%A, %%B) {transpose_a = %s, transpose_b = %s} : (%s, %s) -> %s\n",
              p->ta ? "true" : "false", p->tb ? "true" : "false", a, w, c);
  strb_printf(b, "%%1 = \"tessera.graph.add\"(%%0, %%v) : (%s, tensor<%lldx%s>) -> %s\n", c, n, p->out, c);
  if (p->gelu) strb_printf(b, "%%2 = \"tessera.graph.gelu\"(%%1) : (%s) -> %s\n", c, c);
  strb_printf(b, "\"tessera.graph.return\"(%%%d) : (%s) -> ()\n}) {sym_name = \"main\"} : () -> () }) : () -> ()\n",
              p->gelu ? 2 : 1, c);
}

static void compare_product(const run *r, const product *p, const char *device) {
  int64_t batch = p->batch ? p->batch : 1;
  double unit = dtype_is_float(r->out_type) ? dtype_get(r->out_type)->eps : 0;
  for (int64_t z = 0; z < batch; z++)
    for (int64_t i = 0; i < p->m; i++)
      for (int64_t j = 0; j < p->n; j++) {
        double sum = 0, scale = 0;
        for (int64_t k = 0; k < p->k; k++) {
          double x = r->in[0][z * p->m * p->k + (p->ta ? k * p->m + i : i * p->k + k)] *
                     r->in[1][z * p->n * p->k + (p->tb ? j * p->k + k : k * p->n + j)];
          sum += x;
          scale += fabs(x);
        }
        double v = sum + r->in[2][j], got = r->out[(z * p->m + i) * p->n + j];
        /* the product and the sum round to the result's type before the activation */
        double tolerance = dtype_is_float(r->out_type)
                               ? 4 * (double)(p->k + 8) * 6e-8 * (scale + 1) + 4 * unit * (fabs(v) + fabs(sum) + 1e-3)
                               : 0.5;
        if (p->gelu) v = v * 0.5 * (1 + erf(v * M_SQRT1_2));
        if (!(fabs(got - v) <= tolerance))
          fail_msg("%s on %s: [%d, %d, %d] is %g, not %g", p->name, device, (int)z, (int)i, (int)j, got, v);
      }
}

static void check_products(const product *p, int n, int first_device, int last_device) {
  for (int i = 0; i < n; i++)
    for (int d = first_device; d <= last_device; d++) {
      char device[16];
      strb text;
      strb_init(&text, &al_default);
      put_product(&text, &p[i]);
      snprintf(device, sizeof device, "emu:%d", d);
      run r = run_text(device, strb_text(&text), p[i].name, NULL, p[i].schedule_words, NULL);
      compare_product(&r, &p[i], emu_device_arch[d]);
      clear(&r);
      strb_clear(&text);
    }
}

static const char gemv[] = "path = \"gemv\"", split[] = "tessera.schedule.split_k";

static void few_rows_are_a_gemv(void **state) {
  static const product list[] = {
      {.name = "one_row", .m = 1, .n = 96, .k = 600, .in = "bf16", .out = "bf16", .gelu = true, .schedule_words = gemv},
      {.name = "one_row_transposed", .m = 1, .n = 72, .k = 1100, .tb = true, .in = "bf16", .out = "bf16", .schedule_words = gemv},
      {.name = "three_rows", .m = 3, .n = 70, .k = 200, .ta = true, .in = "f32", .out = "f32", .schedule_words = gemv},
      {.name = "four_rows_batched", .batch = 2, .m = 4, .n = 40, .k = 300, .tb = true, .in = "f16", .out = "f16", .schedule_words = gemv},
      {.name = "two_rows_i8", .m = 2, .n = 64, .k = 320, .tb = true, .in = "i8", .out = "i32", .schedule_words = gemv},
  };
  check_products(list, sizeof list / sizeof *list, 0, EMU_N_DEVICES - 1);
}

static void a_deep_product_with_a_small_grid_is_split(void **state) {
  static const product list[] = {
      {.name = "deep", .m = 64, .n = 64, .k = 2048, .in = "bf16", .out = "bf16", .gelu = true, .schedule_words = split},
      {.name = "deep_ragged", .m = 50, .n = 72, .k = 1500, .tb = true, .in = "f16", .out = "f16", .schedule_words = split},
      {.name = "sixteen_rows", .m = 16, .n = 64, .k = 2048, .tb = true, .in = "bf16", .out = "bf16", .schedule_words = split},
  };
  check_products(list, sizeof list / sizeof *list, 0, EMU_N_DEVICES - 1);
}

static void check_wgmma(const product *p) {
  strb text;
  strb_init(&text, &al_default);
  put_product(&text, p);
  run r = run_text("emu:1", strb_text(&text), p->name, NULL, p->schedule_words, "path = \"wgmma");
  compare_product(&r, p, "sm_90a");
  clear(&r);
  strb_clear(&text);
}

/* The parts take the same matrix path as a whole product. */
static void parts_run_on_wgmma(void **state) {
  check_wgmma(&(product){
      .name = "deep_wgmma", .m = 100, .n = 136, .k = 1344, .in = "bf16", .out = "bf16", .schedule_words = split});
}

/* Twelve tiles of five steps among 32, seven among 17 blocks: pieces that begin or end within a tile, one tile over
 * three blocks. */
static void steps_are_shared_out_among_blocks(void **state) {
  static const struct { product p; tsr_schedule s; } list[] = {
      {{.name = "stream_k", .m = 192, .n = 248, .k = 312, .in = "bf16", .out = "bf16", .gelu = true}, {.m = 64, .n = 64, .k = 64, .stream_k = 32}},
      {{.name = "stream_k_batched", .batch = 3, .m = 64, .n = 128, .k = 456, .tb = true, .in = "f16", .out = "f16"}, {.m = 64, .n = 64, .k = 64, .stream_k = 17}},
      {{.name = "stream_k_deep", .m = 64, .n = 64, .k = 640, .ta = true, .in = "bf16", .out = "bf16"}, {.m = 64, .n = 64, .k = 64, .stream_k = 7}}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    for (int d = 0; d < EMU_N_DEVICES; d++) {
      char device[16];
      strb text;
      strb_init(&text, &al_default);
      put_product(&text, &list[i].p);
      snprintf(device, sizeof device, "emu:%d", d);
      bool hopper = !strcmp(emu_device_arch[d], "sm_90a");
      run r = run_text(device, strb_text(&text), list[i].p.name, &list[i].s, "tessera.schedule.stream_k",
                       hopper ? "path = \"wgmma" : NULL);
      compare_product(&r, &list[i].p, emu_device_arch[d]);
      clear(&r);
      strb_clear(&text);
    }
}

/* 8-bit and tf32 operands that don't run along k are transposed by a kernel before the product. */
static void operands_are_transposed_for_wgmma(void **state) {
  static const product list[] = {
      {.name = "f8_nn", .m = 128, .n = 144, .k = 256, .in = "f8E4M3FN", .out = "f8E4M3FN", .schedule_words = "_transpose_b"},
      {.name = "f8_tn", .m = 144, .n = 128, .k = 128, .ta = true, .in = "f8E5M2", .out = "f8E5M2", .schedule_words = "_transpose_a"},
      {.name = "i8_tt", .m = 128, .n = 128, .k = 160, .ta = true, .tb = true, .in = "i8", .out = "i32", .schedule_words = "_transpose_a"},
      {.name = "tf32_batched", .batch = 2, .m = 128, .n = 132, .k = 128, .in = "tf32", .out = "tf32", .schedule_words = "_transpose_b"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) check_wgmma(&list[i]);
}

/* ---- rows
 * --------------------------------------------------------------------------------------------------------------------
 */

typedef struct row_case { const char *op; int64_t rows, n; const char *type; } row_case;

static void put_rows(strb *b, const row_case *c) {
  bool narrow = !strncmp(c->op, "reduce", 6);
  long long rows = c->rows, n = c->n;
  strb_printf(b,
              "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%lldx%lldx%s>, %%w: "
              "tensor<%lldx%s>, %%v: tensor<%lldx%s>):\n",
              rows, n, c->type, n, c->type, n, c->type);
  if (narrow)
    strb_printf(b, "%%0 = \"tessera.graph.%s\"(%%A) {axes = [1], keepdims = true}\n%%1 = \"tessera.graph.exp\"(%%0)\n",
                c->op);
  else if (!strcmp(c->op, "softmax"))
    strb_puts(b, "%0 = \"tessera.graph.softmax\"(%A)\n%1 = \"tessera.graph.mul\"(%0, %w)\n");
  else if (!strcmp(c->op, "rmsnorm"))
    strb_puts(b, "%0 = \"tessera.graph.rmsnorm\"(%A, %w)\n%1 = \"tessera.graph.add\"(%0, %v)\n");
  else strb_puts(b, "%0 = \"tessera.graph.layernorm\"(%A, %w, %v)\n%1 = \"tessera.graph.silu\"(%0)\n");
  strb_puts(b, "\"tessera.graph.return\"(%1)\n}) {sym_name = \"main\"} }) : () -> ()\n");
}

/* Element j of a row's result. sum, most, squares: of the row; the last about the mean for layernorm. */
static double row_value(const row_case *c, double x, double w, double v, double sum, double most, double squares,
                        double exps) {
  double n = (double)c->n, mean = sum / n;
  if (!strcmp(c->op, "reduce_mean")) return exp(mean);
  if (!strcmp(c->op, "reduce_max") || !strcmp(c->op, "reduce_min")) return exp(most);
  if (!strcmp(c->op, "softmax")) return exp(x - most) / exps * w;
  if (!strcmp(c->op, "rmsnorm")) return x / sqrt(squares / n + 1e-5) * w + v;
  double y = (x - mean) / sqrt(squares / n + 1e-5) * w + v;
  return y / (1 + exp(-y));
}

static void compare_rows(const run *r, const row_case *c, const char *device) {
  double unit = dtype_get(r->out_type)->eps;
  int64_t width = (int64_t)r->n_out / c->rows;
  for (int64_t i = 0; i < c->rows; i++) {
    const double *x = r->in[0] + i * c->n;
    double sum = 0, most = -INFINITY, squares = 0, exps = 0;
    for (int64_t j = 0; j < c->n; j++) sum += x[j], most = fmax(most, x[j]);
    for (int64_t j = 0; j < c->n && !strcmp(c->op, "reduce_min"); j++) most = fmin(most, x[j]);
    double about = strcmp(c->op, "layernorm") ? 0 : sum / (double)c->n;
    for (int64_t j = 0; j < c->n; j++) squares += (x[j] - about) * (x[j] - about), exps += exp(x[j] - most);
    for (int64_t j = 0; j < width; j++) {
      double v = row_value(c, x[j], r->n_inputs > 1 ? r->in[1][j] : 0, r->n_inputs > 2 ? r->in[2][j] : 0, sum, most,
                           squares, exps),
             got = r->out[i * width + j];
      /* two roundings to the result's type, and those of f32 sums, which lanes and a tree keep short; a norm's result
       * is the sum of a product and v, each of which can be larger than it */
      double parts = strstr(c->op, "norm") ? fabs(v) + 2 : fabs(v);
      if (!(fabs(got - v) <= 4 * unit * (fabs(v) + 1e-6) + 16 * 6e-8 * parts + 1e-12))
        fail_msg("%s of %d on %s: [%d, %d] is %.9g, not %.9g", c->op, (int)c->n, device, (int)i, (int)j, got, v);
    }
  }
}

/* 33000 and 36864 columns: whole chunks, and a last one that is ragged. */
static const row_case long_rows[] = {{"softmax", 2, 33000, "f32"},    {"layernorm", 2, 36864, "f32"},
                                     {"rmsnorm", 2, 33001, "f32"},    {"reduce_mean", 3, 33000, "f32"},
                                     {"reduce_min", 2, 40000, "f32"}, {"softmax", 1, 36864, "bf16"}};

/* way: what the Target IR of rows that a block can't hold has in it. */
static void check_rows(const char *device, const char *label, const char *way) {
  for (size_t i = 0; i < sizeof long_rows / sizeof *long_rows; i++) {
    strb text;
    strb_init(&text, &al_default);
    put_rows(&text, &long_rows[i]);
    run r = run_text(device, strb_text(&text), long_rows[i].op, NULL, NULL, way);
    compare_rows(&r, &long_rows[i], label);
    clear(&r);
    strb_clear(&text);
  }
}

static const char chunks[] = "tessera.target.for", cluster[] = "tessera.target.cluster_store";

/* sm_90a holds them in the registers of a cluster; the others read them in chunks, more than once. */
static void rows_beyond_the_registers_of_a_block(void **state) {
  for (int d = 0; d < EMU_N_DEVICES; d++) {
    char device[16];
    snprintf(device, sizeof device, "emu:%d", d);
    check_rows(device, emu_device_arch[d], strcmp(emu_device_arch[d], "sm_90a") ? chunks : cluster);
  }
}

/* Rows that a block could hold, by hand: compensated sums go through the cluster too, and a device without clusters
 * says so. */
static void clusters_by_hand(void **state) {
  static const struct { row_case c; int64_t cluster; tsr_policy policy; } list[] = {
      {{"layernorm", 2, 1000, "f32"}, 2, TSR_POLICY_KAHAN_SUM}, {{"softmax", 3, 2048, "bf16"}, 4, TSR_POLICY_DETERMINISTIC}, {{"reduce_max", 2, 777, "f32"}, 8, TSR_POLICY_FAST}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    tsr_schedule s = {.kernel = list[i].c.op, .m = 1, .warps = 1, .cluster = list[i].cluster};
    strb text;
    strb_init(&text, &al_default);
    put_rows(&text, &list[i].c);
    policy = list[i].policy;
    run r = run_text("emu:1", strb_text(&text), list[i].c.op, &s, "tessera.schedule.cluster", cluster);
    compare_rows(&r, &list[i].c, "sm_90a");
    clear(&r);
    r = run_text("emu:0", strb_text(&text), list[i].c.op, &s, "clusters: the device has none", NULL);
    compare_rows(&r, &list[i].c, "sm_80");
    clear(&r);
    policy = TSR_POLICY_DEFAULT;
    strb_clear(&text);
  }
}

static void long_rows_on_vulkan(void **state) {
  need_device(ctx, "vulkan:0");
  check_rows("vulkan:0", "vulkan:0", chunks);
}

/* As many stages as fit beside the result's tile, of whatever width: fp8 has narrower tiles (two sets of sums), and
 * more of them. */
static void stages_fill_shared_memory_beside_the_result(void **state) {
  static const struct { const char *type, *stages; } cases[] = {{"bf16", ", 3 stages"}, {"f8E4M3FN", ", 6 stages"}};
  tsr_caps caps;
  ok(emu_arch_caps("sm_90a", &caps), "sm_90a");
  caps.n_cores = 132;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[600];
    const char *t = cases[i].type;
    ir_module *tile = NULL, *target = NULL;
    snprintf(text, sizeof text,
             "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<4096x4096x%s>, %%B: tensor<4096x4096x%s>):\n%%0 = "
             "\"tessera.graph.matmul\"(%%A, %%B) {transpose_b = true}\n\"tessera.graph.return\"(%%0)\n}) {sym_name = "
             "\"main\"}",
             t, t);
    ok(plan_tile(text, strlen(text), "plan", &caps, &tile), t);
    ok(tile_expand(tile, &caps), t);
    ok(tile_to_simt(tile, &caps, &target), t);
    const char *path = "";
    for (ir_op *op = target->root->regions[0]->first; op; op = op->next)
      if (strstr(op->def->name, ".kernel")) path = ir_get_str(op, "path", "");
    if (!strstr(path, cases[i].stages) || !strstr(path, "TMA epilogue")) fail_msg("%s: %s", t, path);
    ir_module_destroy(&target);
    ir_module_destroy(&tile);
  }
}

/* An argument is a pattern: the cases whose names match it alone, since all of them take minutes. */
int main(int argc, char **argv) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  const void *extra[] = {&emu_backend, NULL};
  ok(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .extra_backends = extra}, &ctx), "context");
  const struct CMUnitTest tests[] = {cmocka_unit_test(clusters_by_hand),
                                     cmocka_unit_test(few_rows_are_a_gemv),
                                     cmocka_unit_test(a_deep_product_with_a_small_grid_is_split),
                                     cmocka_unit_test(parts_run_on_wgmma),
                                     cmocka_unit_test(steps_are_shared_out_among_blocks),
                                     cmocka_unit_test(operands_are_transposed_for_wgmma),
                                     cmocka_unit_test(stages_fill_shared_memory_beside_the_result),
                                     cmocka_unit_test(rows_beyond_the_registers_of_a_block),
                                     cmocka_unit_test(long_rows_on_vulkan)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tsr_context_destroy(&ctx);
  return failed != 0;
}
