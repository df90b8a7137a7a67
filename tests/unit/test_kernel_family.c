/* tests/unit/test_kernel_family.c - rows of core/ir/kernel_family.h: names are parsed and listed, each schedule.kernel
 * family has its rules and a problem of the family it is tuned as, limits are told by their codes, the counts of a
 * tiled product are those that counting one by one gives, each row serves the tuner whole, and parts of a kernel add up
 * one way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ir/schedule/schedule.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/schedule/from_graph.h"
#include "core/passes/schedule/gemm_cost.h"
#include "core/passes/schedule/kernel.h"
#include "core/passes/schedule/legalize.h"
#include "core/device/roofline.h"
#include "core/tune/cost.h"
#include "core/tune/family.h"
#include "core/tune/kernel.h"
#include "tests/support/graph_text.h"

static void a_family_is_known_by_its_name_unless_its_kernels_are_made_by_hand(void **state) {
  for (int f = 0; f < N_FAMILIES; f++) {
    const kernel_family_row *row = kernel_family((sched_family)f);
    bool by_hand = row->fuses == FUSES_BY_HAND;
    assert_string_equal(sched_family_name((sched_family)f), row->name);
    assert_int_equal(sched_family_parse(row->name), by_hand ? N_FAMILIES : f);
    assert_true(by_hand == !strstr(KERNEL_FAMILY_NAMES, row->name));
    assert_true(by_hand == !strstr(KERNEL_FAMILY_SPACES, row->name));
    int extents = 1;
    for (const char *at = row->extents; *at; at++) extents += *at == ',';
    assert_int_equal(row->n_extents, extents);
    if (row->tuned_as != FAMILY_NONE) assert_int_equal(kernel_family(row->tuned_as)->n_extents, extents);
  }
  assert_int_equal(sched_family_parse("banana"), N_FAMILIES);
  assert_string_equal(sched_family_name(N_FAMILIES), "?");
}

static ir_op *kernel_of(ir_module *m) {
  for (ir_op *p = m->root->regions[0]->first; p; p = p->next)
    for (ir_op *o = p->n_regions ? p->regions[0]->first : NULL; o; o = o->next)
      if (o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL) return o;
  return NULL;
}

static ir_module *scheduled(const char *args, const char *body, const char *type) {
  ir_module *g = gt_parse(gt_func(args, body, "%0", type)), *s = NULL;
  assert_null(graph_to_schedule(g, NULL, &s));
  ir_module_destroy(&g);
  return s;
}

static const tsr_caps device = {.dialect = DIALECT_SPIRV,
                                .n_cores = 16,
                                .subgroup = 32,
                                .max_threads = 256,
                                .shared_bytes = 32 << 10,
                                .max_registers = 128,
                                .vector_bytes = 16};

static void a_kernel_has_the_rules_and_the_problem_of_its_row(void **state) {
  static const struct {
    sched_family family;
    const char *args, *body, *type;
  } rows[] = {
      {FAMILY_ELEMENTWISE, "%A: tensor<64x1000xf32>", "%0 = \"tessera.graph.neg\"(%A)", "tensor<64x1000xf32>"},
      {FAMILY_ROW, "%A: tensor<64x1000xf32>", "%0 = \"tessera.graph.softmax\"(%A) {}", "tensor<64x1000xf32>"},
      {FAMILY_MATMUL, "%A: tensor<64x96xf32>, %B: tensor<96x80xf32>", "%0 = \"tessera.graph.matmul\"(%A, %B)", "tensor<64x80xf32>"},
      {FAMILY_COPY, "%A: tensor<4x5xf32>", "%0 = \"tessera.graph.pad\"(%A) {low = [1, 1], high = [0, 2]}", "tensor<5x8xf32>"},
      {FAMILY_GATHER, "%A: tensor<40x5xf32>, %I: tensor<7xi32>", "%0 = \"tessera.graph.embedding\"(%A, %I)", "tensor<7x5xf32>"},
      {FAMILY_SCATTER, "%A: tensor<40x5xf32>, %I: tensor<7x5xi32>, %U: tensor<7x5xf32>", "%0 = \"tessera.graph.scatter\"(%A, %I, %U)", "tensor<40x5xf32>"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ir_module *s = scheduled(rows[i].args, rows[i].body, rows[i].type);
    const ir_op *k = kernel_of(s);
    tune_problem p;
    assert_int_equal(sched_family_of(k), rows[i].family);
    const kernel_family_row *row = kernel_family(rows[i].family);
    assert_non_null(sched_rules_of(k)->defaults);
    assert_true(sched_default(k, &device).warps > 0);
    assert_true(tune_kernel_problem(k, "fast", &p) == (row->tuned_as != FAMILY_NONE));
    if (row->tuned_as != FAMILY_NONE) assert_int_equal(p.family, row->tuned_as);
    ir_module_destroy(&s);
  }
}

static void a_broken_limit_is_told_by_its_code_and_names_itself(void **state) {
  static const struct {
    sched_params p;
    sched_limit limit;
    const char *begins;
  } rows[] = {
      {{.m = 64, .n = 64, .k = 32, .warps = 4}, SCHED_FITS, ""},
      {{.m = 64, .n = 64, .k = 32, .warps = 9}, SCHED_LIMIT_THREADS, "threads per block: 288"},
      {{.m = 64, .n = 64, .k = 512, .warps = 4}, SCHED_LIMIT_SHARED, "shared memory per block: needs 262144"},
      {{.m = 64, .n = 64, .k = 16, .warps = 1}, SCHED_LIMIT_REGISTERS, "registers per thread: 128"},
      {{.m = 64, .n = 64, .k = 16, .warps = 4, .cluster = 2}, SCHED_LIMIT_CLUSTERS, "clusters: the device has none"},
      {{.m = 64, .n = 64, .k = 16, .warps = 4, .vectorize = 8}, SCHED_LIMIT_ACCESS, "access width: 32 bytes"},
  };
  ir_module *s = scheduled("%A: tensor<64x96xf32>, %B: tensor<96x80xf32>", "%0 = \"tessera.graph.matmul\"(%A, %B)",
                           "tensor<64x80xf32>");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char why[160] = "";
    sched_params p = rows[i].p;
    assert_int_equal(sched_broken_limit(kernel_of(s), &device, &p, why, sizeof why), rows[i].limit);
    assert_true(!strncmp(why, rows[i].begins, strlen(rows[i].begins)));
    assert_true(sched_legalize(kernel_of(s), &device, &p));
    assert_int_equal(sched_broken_limit(kernel_of(s), &device, &p, why, sizeof why), SCHED_FITS);
    if (rows[i].limit == SCHED_LIMIT_REGISTERS)
      assert_true(p.warps > rows[i].p.warps); /* threads, not a smaller tile */
  }
  char small[8] = "";
  assert_int_equal(sched_broken_limit(kernel_of(s), &device, &rows[1].p, small, sizeof small), SCHED_LIMIT_THREADS);
  ir_module_destroy(&s);
}

/* One by one: tiles that hold an element, steps of each, blocks that get any step. */
static void counts_of_tiles_are_those_of_counting(void **state) {
  srand(5);
  for (int round = 0; round < 300; round++) {
    int batch = 1 + rand() % 3, m = 1 + rand() % 70, n = 1 + rand() % 70, k = 1 + rand() % 90, tm = 1 + rand() % 40,
        tn = 1 + rand() % 40, tk = 1 + rand() % 30, sharing = rand() % 3 ? 0 : 1 + rand() % 50,
        parts = sharing ? 1 : 1 + rand() % 3;
    gemm_counts c = gemm_count(&(gemm_tiling){batch, m, n, k, tm, tn, tk, parts, sharing, 2, 4});
    int tiles = 0, steps = 0, blocks = 0;
    for (int b = 0; b < batch; b++)
      for (int i = 0; i < m; i += tm)
        for (int j = 0; j < n; j += tn) tiles++;
    for (int i = 0; i < k; i += tk) steps++;
    assert_true(c.tiles == tiles && c.steps == steps && c.tiles_m * c.tiles_n * batch == tiles);
    assert_true(c.operand_bytes == 2.0 * batch * (m + n) * k);
    const double block = 2.0 * tm * tn * tk;
    assert_true(c.flops == block * tiles * steps && c.block_flops == block * ceil(c.each));
    if (!sharing) {
      assert_true(c.blocks == tiles * parts && c.each * parts == c.steps);
      assert_true(c.partial_bytes == (parts > 1 ? 2.0 * 4 * parts * batch * m * n : 0));
      continue;
    }
    for (int at = 0; at < tiles * steps; at += (int)c.each) blocks++;
    assert_true(c.blocks == blocks && blocks <= sharing && c.each == (int)c.each);
    assert_true(c.partial_bytes == 2.0 * (tiles + blocks) * tm * tn * 4);
  }
}

/* In whole rounds of blocks, and as if they were spread evenly, which is what the tuner takes: the same where no core
 * idles and no part is rounded up, else the rounds take longer. */
static void arithmetic_in_rounds_is_that_spread_evenly_and_what_idles(void **state) {
  gemm_tiling t = {1, 1024, 1024, 512, 128, 128, 64, 1, 0, 2, 4, 0, 0};
  gemm_counts c = gemm_count(&t);
  assert_true(gemm_math_ns(&c, 1000, 0.5, 0) == 2.0 * 1024 * 1024 * 512 / 1000 / 0.5);
  assert_true(gemm_math_ns(&c, 1000, 0.5, 16) == gemm_math_ns(&c, 1000, 0.5, 0)); /* 64 blocks */
  assert_true(gemm_math_ns(&c, 1000, 0.5, 63) > 1.9 * gemm_math_ns(&c, 1000, 0.5, 0));
  assert_true(gemm_math_ns(&c, 1000, 0.5, 128) == 2 * gemm_math_ns(&c, 1000, 0.5, 0));
  t.parts = 3; /* 8 steps: two blocks of three, and the third is counted as one of them */
  c = gemm_count(&t);
  assert_true(gemm_math_ns(&c, 1000, 1, 192) == gemm_math_ns(&c, 1000, 1, 0) * 9 / 8);
  t = (gemm_tiling){2, 5, 17, 3, 64, 64, 64, 1, 0, 2, 4, 4, 16}; /* a CPU's kernels stop at the edges */
  assert_true(gemm_count(&t).flops == 2.0 * 2 * 8 * 32 * 3);
  srand(6);
  for (int round = 0; round < 300; round++) {
    const int parts = 1 + rand() % 3, cores = 1 + rand() % 200;
    c = gemm_count(&(gemm_tiling){1 + rand() % 3, 1 + rand() % 9000, 1 + rand() % 9000, 1 + rand() % 9000,
                                  1 + rand() % 300, 1 + rand() % 300, 1 + rand() % 100, parts, 0, 2, 4, 0, 0});
    assert_true(gemm_math_ns(&c, 700, 0.75, cores) >= (1 - 1e-12) * gemm_math_ns(&c, 700, 0.75, 0));
  }
}

static tune_device h100(void) {
  tune_device d = *tune_device_find("H100");
  d.max_threads = 1024;
  return d;
}

static const tune_device cpu = {
    .name = "cpu", .is_cpu = true, .cores = 4, .warp_size = 16, .shared_per_block = 1 << 20};

/* What is asked of a problem of any family: terms that are numbers, the bound one of those side by side, work that
 * grows with the problem, resources that saturate instead of wrapping. */
static void ask_everything(const tune_device *d, const tune_problem *p, const tune_config *c) {
  const tune_family *f = tune_family_of(p->family);
  const tune_config huge = {.m = INT32_MAX, .n = INT32_MAX, .k = INT32_MAX, .vectorize = INT32_MAX, .use_shared = 1,
                            .pipeline_stages = INT32_MAX, .warps = INT32_MAX, .cluster = 1};
  tune_problem twice = *p;
  cost_estimate e;
  char tile[64];
  int64_t extents[4];
  twice.n *= 2;
  assert_true(tune_problem_flops(&twice) > tune_problem_flops(p) && tune_problem_bytes(&twice) > tune_problem_bytes(p));
  assert_int_equal(tune_problem_extents(p, extents), (int)strlen(f->extents));
  tune_config_tile(p, c, tile, sizeof tile);
  assert_true(tile[0] >= '1' && tile[0] <= '9');
  cost_compute(d, p, c, &e);
  for (int i = 0; i < COST_N_TERMS; i++) assert_true(isfinite(e.term_ns[i]) && e.term_ns[i] >= 0);
  assert_true(e.blocks >= 1 && e.total_ns >= e.term_ns[e.bound] && e.term_ns[COST_LAUNCH] > 0);
  assert_true(e.padded_flops >= e.flops * (1 - 1e-12) || p->causal);
  assert_true(occ_regs(d, p, &huge) > 0 && occ_shared_bytes(p, &huge) >= 0);
}

static void a_row_serves_the_tuner_whole(void **state) {
  const tune_device devices[] = {h100(), cpu};
  int n_searched = 0;
  for (int i = 0; i < N_FAMILIES; i++) {
    const sched_family tuned_as = kernel_family((sched_family)i)->tuned_as;
    const tune_family *f = tune_family_of((sched_family)i);
    assert_true((f == NULL) == (tuned_as == FAMILY_NONE));
    if (!f) continue;
    assert_ptr_equal(f, tune_family_of(tuned_as));
    assert_true((f->problem == NULL) == (kernel_family(tuned_as)->fuses == FUSES_BY_HAND));
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
      const tune_problem p = {.family = tuned_as,
                              .op = "x",
                              .batch = 2,
                              .m = 512,
                              .n = 1024,
                              .k = 64,
                              .in = TSR_BF16,
                              .acc = TSR_F32,
                              .out = TSR_BF16,
                              .passes = 2};
      tune_config c = {.m = 64, .n = 64, .use_shared = 1, .pipeline_stages = 2, .warps = 4, .split_k = 1, .cluster = 1};
      if (f->knobs[0].n) {
        static tune_space s;
        space_point at;
        space_build(&devices[d], &p, NULL, &s);
        assert_true(s.n_knobs == f->knobs[devices[d].is_cpu].n && space_nearest(&s, &s.dflt, &at));
        for (int k = 0; k < s.n_knobs; k++) assert_true(s.field[k] >= 0 && s.knob[k].n > 0);
        c = space_config(&s, &at);
        n_searched++;
      }
      ask_everything(&devices[d], &p, &c);
    }
  }
  assert_int_equal(n_searched, 2 * 3); /* elementwise, row, matmul */
  assert_null(tune_family_of(FAMILY_NONE));
}

static void parts_side_by_side_take_between_the_longest_and_their_sum(void **state) {
  const double ns[] = {30, 100, 70};
  assert_int_equal(roofline_bound(ns, 3), 1);
  assert_true(roofline_overlapped_ns(ns, 3, 1) == 100 && roofline_overlapped_ns(ns, 3, 0) == 200);
  assert_true(roofline_overlapped_ns(ns, 3, 0.5) == 150);
  assert_true(roofline_ns(&(roofline_parts){ns, 3, 0.5, 0.5, {7, 0, 3}}) == 310); /* nothing runs under the last two */
  assert_true(roofline_launch_ns(1234, true) == 1234 && roofline_launch_ns(0, true) < roofline_launch_ns(0, false));
  assert_true(roofline_rounds(132, 132) == 1 && roofline_rounds(133, 132) == 2 && roofline_rounds(5, 0) == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_family_is_known_by_its_name_unless_its_kernels_are_made_by_hand),
      cmocka_unit_test(a_kernel_has_the_rules_and_the_problem_of_its_row),
      cmocka_unit_test(a_broken_limit_is_told_by_its_code_and_names_itself),
      cmocka_unit_test(counts_of_tiles_are_those_of_counting),
      cmocka_unit_test(arithmetic_in_rounds_is_that_spread_evenly_and_what_idles),
      cmocka_unit_test(a_row_serves_the_tuner_whole),
      cmocka_unit_test(parts_side_by_side_take_between_the_longest_and_their_sum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
