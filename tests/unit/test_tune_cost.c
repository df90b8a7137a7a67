/* tests/unit/test_tune_cost.c - the cost model's shape: what must cost more costs more, its terms add up. */
#include "tests/support/tune_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double predict(const tune_device *d, const tune_problem *p, tune_config c) {
  return cost_model_roofline.predict(NULL, d, p, &c);
}

static void cost_larger_k_means_more_reuse_less_barrier(void **state) {
  tune_device d = small_gpu();
  tune_problem p = gemm(4096, 4096, 4096, TSR_BF16);
  tune_config c = {.m = 128,
                   .n = 128,
                   .k = 16,
                   .vectorize = 8,
                   .use_shared = 1,
                   .padding = 8,
                   .pipeline_stages = 2,
                   .warps = 8,
                   .split_k = 1,
                   .matrix_path = 1};
  cost_estimate a, b;
  cost_compute(&d, &p, &c, &a);
  c.k = 32;
  cost_compute(&d, &p, &c, &b);
  assert_true(b.term_ns[COST_BARRIER] < a.term_ns[COST_BARRIER]);
  for (c.k = 16; c.k <= 64; c.k *= 2) {
    char want[64];
    strb text;
    strb_init(&text, NULL);
    cost_explain(&d, &p, &c, &text);
    snprintf(want, sizeof want, "an accumulator's register is used %d times\n", c.k);
    assert_non_null(strstr(strb_text(&text), want));
    strb_clear(&text);
  }
  c.k = 32;
  c.m = c.n = 64;
  cost_estimate small;
  cost_compute(&d, &p, &c, &small);
  assert_true(small.l2_bytes > 1.9 * b.l2_bytes); /* half the tile, twice the traffic */
}

/* Too small a register budget makes the tuner's candidates, and the one it would start with, smaller. */
static void fewer_registers_mean_smaller_tiles(void **state) {
  tune_device d = small_gpu();
  tune_problem p = gemm(4096, 4096, 4096, TSR_F32);
  int32_t last_best = INT32_MAX, last_most = INT32_MAX;
  for (d.regs_per_thread = 256; d.regs_per_thread >= 32; d.regs_per_thread /= 2) {
    static tune_space s;
    space_point *pts;
    size_t n;
    bool cut;
    space_build(&d, &p, &(space_options){.knobs = SPACE_TILE | SPACE_KNOB(use_shared) | SPACE_KNOB(vectorize)}, &s);
    assert_null(space_enumerate(&s, NULL, 1u << 20, &pts, &n, &cut));
    assert_true(n > 0);
    tune_config best = {0};
    int32_t most = 0;
    for (size_t i = 0; i < n; i++) {
      tune_config c = space_config(&s, &pts[i]);
      assert_true(occ_regs(&d, &p, &c) <= d.regs_per_thread);
      if (c.m * c.n > most) most = c.m * c.n;
      if (!best.m || predict(&d, &p, c) < predict(&d, &p, best)) best = c;
    }
    assert_true(most < last_most && best.m * best.n <= last_best);
    last_most = most, last_best = best.m * best.n;
    al_free_array(NULL, pts, n);
  }
  assert_true(last_best <= 32 * 32);
}

static void gemv_costs_its_bytes_and_a_launch(void **state) {
  tune_problem p = gemm(1, 4096, 4096, TSR_BF16);
  tune_device d = *tune_device_find("h100");
  strb b;
  double us = 0, want = 4096.0 * 4096 * 2 / 3350 / 1e3;
  strb_init(&b, NULL);
  cost_explain_once(&d, &p, &b);
  const char *total = strstr(strb_text(&b), "total");
  assert_true(total && sscanf(total, "total %lf us", &us) == 1);
  assert_true(us > want && us < want + 5);
  assert_non_null(strstr(total, "bound by memory"));
  strb_clear(&b);
}

static void cost_terms_add_up_and_explain_names_all(void **state) {
  tune_device d = *tune_device_find("h100");
  tune_problem p = gemm(4096, 4096, 4096, TSR_BF16);
  tune_config c = {.m = 128,
                   .n = 128,
                   .k = 64,
                   .vectorize = 8,
                   .use_shared = 1,
                   .async_copy = 1,
                   .pipeline_stages = 3,
                   .warps = 8,
                   .split_k = 1,
                   .matrix_path = 1};
  cost_estimate e;
  cost_compute(&d, &p, &c, &e);
  double most = 0;
  for (int t = 0; t < COST_N_TERMS; t++) {
    assert_true(isfinite(e.term_ns[t]) && e.term_ns[t] >= 0);
    if (t <= COST_EXP && e.term_ns[t] > most) most = e.term_ns[t];
  }
  assert_true(e.total_ns >= most && e.total_ns >= cost_roofline_ns(&d, &p));
  assert_true(e.padded_flops == e.flops); /* 4096 divides */
  strb b;
  strb_init(&b, NULL);
  cost_explain(&d, &p, &c, &b);
  for (int t = 0; t < COST_N_TERMS; t++)
    assert_true(t == COST_EXP || strstr(strb_text(&b), cost_term_name((cost_term)t)));
  assert_non_null(strstr(strb_text(&b), "bound by"));
  strb_clear(&b);
}

static void attention_is_estimated_term_by_term(void **state) {
  tune_device d = *tune_device_find("h100");
  tune_problem p = {.family = FAMILY_ATTENTION,
                    .op = "attention",
                    .batch = 32,
                    .m = 4096,
                    .n = 4096,
                    .k = 128,
                    .in = TSR_BF16,
                    .acc = TSR_F32,
                    .out = TSR_BF16};
  tune_config c = {.m = 128,
                   .n = 64,
                   .k = 128,
                   .use_shared = 1,
                   .async_copy = 1,
                   .pipeline_stages = 2,
                   .warps = 8,
                   .split_k = 1,
                   .matrix_path = 1};
  cost_estimate e, x;
  cost_compute(&d, &p, &c, &x);
  assert_int_equal(x.bound, COST_SHARED); /* eight warps read the keys and values each for itself */
  d.warpgroup_matrix = true;
  cost_compute(&d, &p, &c, &e);
  double scores = 32.0 * 4096 * 4096, qkvo = 4.0 * 32 * 4096 * 128 * 2;
  assert_true(e.flops == 4 * scores * 128 && e.padded_flops == e.flops); /* Q K' and P V */
  assert_true(e.term_ns[COST_EXP] == scores / (d.fma_gflops / 16));
  assert_true(e.memory_bytes == qkvo &&
              qkvo + 2 * scores * 2 > 3 * qkvo); /* unfused, the scores go out and come back */
  assert_true(e.bound == COST_L2 &&
              e.total_ns >=
                  cost_roofline_ns(&d, &p)); /* at the listed 5.5 TB/s: 128 rows are few for reading all keys */
  c.m = 256;
  cost_compute(&d, &p, &c, &x);
  assert_int_equal(x.bound, COST_MATH);
  c.m = 128;
  assert_int_equal(occ_shared_bytes(&p, &c),
                   2 * (128 * 128 + 2 * 2 * 64 * 128)); /* the queries, keys and values twice */
  c.m = 64;
  cost_compute(&d, &p, &c, &x);
  assert_true(x.l2_bytes > 1.9 * e.l2_bytes && x.term_ns[COST_MATH] > e.term_ns[COST_MATH]);
  c.m = 128, c.n = 192; /* 4096 = 21 x 192 + 64 */
  cost_compute(&d, &p, &c, &x);
  assert_true(x.padded_flops > e.padded_flops);
  c.n = 64, p.causal = true;
  cost_compute(&d, &p, &c, &x);
  assert_true(x.padded_flops >= x.flops && x.padded_flops < 0.52 * e.padded_flops && x.flops == e.flops / 2);
  p.causal = false, p.k = 16; /* narrow heads: a score costs an exponential and little else */
  cost_compute(&d, &p, &c, &x);
  assert_int_equal(x.bound, COST_EXP);
  p.k = 128, d.tier[1].bytes = 1 << 20; /* a megabyte of L2 holds no head's keys: each block reads them from memory */
  cost_compute(&d, &p, &c, &x);
  assert_true(x.memory_bytes == x.l2_bytes && x.bound == COST_MEMORY);
  c.m = 256, c.n = 256, c.warps = 4;
  assert_true(occ_regs(&d, &p, &c) > d.regs_per_thread && occ_of_config(&d, &p, &c).blocks == 0);
  strb b;
  strb_init(&b, NULL);
  cost_explain(&d, &p, &c, &b);
  assert_non_null(strstr(strb_text(&b), "Gexp/s, assumed"));
  strb_clear(&b);
}

static void cost_prefers_what_must_be_better(void **state) {
  tune_device g = small_gpu(), c = small_cpu();
  tune_problem big = gemm(4096, 4096, 4096, TSR_BF16), tall = gemm(128, 128, 65536, TSR_BF16);
  tune_config base = {.m = 128,
                      .n = 128,
                      .k = 32,
                      .vectorize = 8,
                      .use_shared = 1,
                      .padding = 8,
                      .pipeline_stages = 2,
                      .warps = 8,
                      .split_k = 1,
                      .matrix_path = 1};
  tune_config scalar = base, narrow = base, tiny = base, split = base;
  scalar.matrix_path = 0;
  narrow.vectorize = 1;
  tiny.m = tiny.n = 16, tiny.warps = 1;
  split.split_k = 8;
  assert_true(predict(&g, &big, base) < predict(&g, &big, scalar));
  assert_true(predict(&g, &big, base) <= predict(&g, &big, narrow));
  assert_true(predict(&g, &big, base) < predict(&g, &big, tiny));
  assert_true(predict(&g, &tall, split) < predict(&g, &tall, base)); /* one block leaves 15 cores idle */
  assert_true(predict(&g, &big, base) < predict(&g, &big, split));
  tune_problem f = gemm(1024, 1024, 1024, TSR_F32);
  tune_config one = {.m = 1024, .n = 1024, .k = 256, .pipeline_stages = 2, .split_k = 1}, two = one;
  two.m = 512;
  assert_true(predict(&c, &f, two) < predict(&c, &f, one)); /* two cores, one task */
  tune_device simd = small_gpu(); /* lavapipe */
  simd.warp_size = 8;
  tune_config few = {.m = 64, .n = 32, .k = 32, .vectorize = 1, .pipeline_stages = 1, .split_k = 1, .warps = 4},
              many = few, shared = few;
  many.warps = 16, many.m = 16;
  shared.use_shared = 1;
  assert_true(predict(&simd, &f, few) < predict(&simd, &f, many)); /* sums per lane against everything else */
  assert_true(predict(&simd, &f, few) < predict(&simd, &f, shared));
  tune_problem rows = {.family = FAMILY_ROW,
                       .op = "row",
                       .batch = 1,
                       .m = 256,
                       .n = 512,
                       .k = 1,
                       .in = TSR_F32,
                       .acc = TSR_F32,
                       .out = TSR_F32,
                       .passes = 1};
  tune_config alone = {.m = 1, .vectorize = 1, .warps = 1, .pipeline_stages = 1, .split_k = 1}, together = alone;
  together.warps = 8;
  assert_true(predict(&simd, &rows, alone) < predict(&simd, &rows, together));
}

static void cost_of_shared_steps_and_shared_rows(void **state) {
  tune_device d = *tune_device_find("h100");
  tune_problem p = gemm(1536, 1536, 8192, TSR_BF16), rows = {.family = FAMILY_ROW,
                                                             .op = "row",
                                                             .batch = 1,
                                                             .m = 4096,
                                                             .n = 65536,
                                                             .k = 1,
                                                             .in = TSR_F32,
                                                             .acc = TSR_F32,
                                                             .out = TSR_F32,
                                                             .passes = 1};
  tune_config alone = {.m = 128,
                       .n = 256,
                       .k = 64,
                       .vectorize = 8,
                       .use_shared = 1,
                       .async_copy = 1,
                       .pipeline_stages = 3,
                       .warps = 8,
                       .split_k = 1,
                       .matrix_path = 1},
              stream = alone;
  stream.stream_k = 132;
  assert_true(predict(&d, &p, stream) < 0.8 * predict(&d, &p, alone)); /* 72 tiles on 132 cores */
  tune_config chunks = {.m = 1, .vectorize = 4, .warps = 8, .pipeline_stages = 1, .split_k = 1, .cluster = 1},
              cluster = chunks;
  cluster.cluster = 8;
  assert_true(predict(&d, &rows, cluster) < 0.8 * predict(&d, &rows, chunks)); /* 2 of 3 passes over memory */
}

static void objective_default_is_latency_times_inverse_throughput(void **state) {
  assert_true(fabs(cost_latency_by_throughput(NULL, 10, 5) - 20) < 1e-12);
  assert_true(cost_latency_by_throughput(NULL, 9, 5) < cost_latency_by_throughput(NULL, 10, 5));
  assert_true(cost_latency(NULL, 10, 5) == 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cost_larger_k_means_more_reuse_less_barrier),
      cmocka_unit_test(fewer_registers_mean_smaller_tiles),
      cmocka_unit_test(gemv_costs_its_bytes_and_a_launch),
      cmocka_unit_test(cost_terms_add_up_and_explain_names_all),
      cmocka_unit_test(attention_is_estimated_term_by_term),
      cmocka_unit_test(cost_prefers_what_must_be_better),
      cmocka_unit_test(cost_of_shared_steps_and_shared_rows),
      cmocka_unit_test(objective_default_is_latency_times_inverse_throughput),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
