/* Search spaces: pruning against the stated limits point by point, enumeration, text, neighbours; cost model shape. */
#include "core/tune/cost.h"
#include "core/tune/space.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static tune_problem gemm(int64_t m, int64_t n, int64_t k, tsr_dtype t) {
  return (tune_problem){
      .family = FAMILY_MATMUL, .op = "matmul", .batch = 1, .m = m, .n = n, .k = k, .in = t, .acc = TSR_F32, .out = t};
}
static tune_device small_gpu(void) {
  return (tune_device){.name = "small",
                       .cores = 16,
                       .warp_size = 32,
                       .max_warps = 48,
                       .max_blocks = 16,
                       .max_threads = 512,
                       .regs_per_core = 65536,
                       .regs_per_thread = 255,
                       .reg_granule = 256,
                       .shared_granule = 256,
                       .shared_per_block = 49152,
                       .shared_per_core = 98304,
                       .banks = 32,
                       .clock_ghz = 1.5,
                       .fma_gflops = 8000,
                       .matrix_gflops = 60000,
                       .launch_ns = 5000,
                       .n_tiers = 2,
                       .tier = {{"l2", 4e6, 1500, 200, false}, {"memory", 8e9, 400, 500, false}},
                       .n_matrix = 1,
                       .matrix = {{16, 16, 16, TSR_BF16, TSR_F32}}};
}
static tune_device small_cpu(void) {
  return (tune_device){
      .name = "cpu",
      .is_cpu = true,
      .cores = 2,
      .warp_size = 16,
      .shared_per_block = 2 << 20,
      .clock_ghz = 2.5,
      .fma_gflops = 300,
      .n_tiers = 3,
      .tier = {{"l1", 48e3, 400, 5, false}, {"l2", 2e6, 150, 14, false}, {"memory", 0, 20, 250, false}}};
}

static void matmul_space_respects_every_limit(void **state) {
  tune_device d = small_gpu();
  tune_problem p = gemm(1000, 777, 512, TSR_BF16);
  static space s;
  space_build(&d, &p, NULL, &s);
  space_point *pts;
  size_t n;
  bool cut;
  assert_null(space_enumerate(&s, NULL, 1u << 20, &pts, &n, &cut));
  assert_false(cut);
  assert_true(n > 500);
  size_t with_matrix = 0;
  for (size_t i = 0; i < n; i++) {
    tune_config c = space_config(&s, &pts[i]);
    assert_true(c.warps * 32 <= d.max_threads);
    assert_true(occ_shared_bytes(&p, &c) <= d.shared_per_block);
    assert_true(occ_regs(&d, &p, &c) <= d.regs_per_thread);
    assert_true(c.vectorize * 2 <= 16 && c.k % c.vectorize == 0);
    assert_true(c.use_shared || (!c.padding && c.pipeline_stages == 1));
    assert_int_equal(c.async_copy, 0); /* the device has none */
    assert_true(c.split_k == 1 || c.split_k * c.k <= 512);
    assert_true(occ_of_config(&d, &p, &c).blocks >= 1);
    if (c.matrix_path) assert_true(c.m % 16 == 0 && c.n % 16 == 0 && c.m * c.n / 256 >= c.warps);
    with_matrix += c.matrix_path != 0;
  }
  assert_true(with_matrix > 0 && with_matrix < n);
  al_free_array(NULL, pts, n);
}

/* The path lane_n: on subgroups that are SIMD registers, and only what is read there without gathers. */
static void lane_n_in_lanes_are_points_where_they_suit(void **state) {
  static const struct { int64_t m, n, k; tsr_dtype t; bool deterministic, any; } cases[] = {
      {512, 512, 512, TSR_F32, false, true}, {512, 512, 512, TSR_I8, false, true}, {512, 512, 512, TSR_F32, true, false}, {512, 512, 512, TSR_F64, false, false}, {512, 500, 512, TSR_F32, false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tune_device d = small_gpu();
    tune_problem p = gemm(cases[i].m, cases[i].n, cases[i].k, cases[i].t);
    static space s;
    d.warp_size = 8, d.n_matrix = 0;
    p.deterministic = cases[i].deterministic;
    space_build(&d, &p, NULL, &s);
    space_point *pts;
    size_t n, lane_n = 0;
    bool cut;
    assert_null(space_enumerate(&s, NULL, 1u << 20, &pts, &n, &cut));
    for (size_t j = 0; j < n; j++) {
      tune_config c = space_config(&s, &pts[j]), plain = c;
      if (!c.matrix_path) continue;
      assert_int_equal(c.matrix_path, TUNE_PATH_LANE_N);
      assert_true(!c.use_shared && c.split_k == 1 && p.m % c.m == 0 && p.n % c.n == 0 && p.k % c.k == 0);
      assert_true(c.n % (32 / (int)tsr_dtype_size(p.in)) == 0);
      cost_estimate fast, slow;
      plain.matrix_path = 0;
      cost_compute(&d, &p, &c, &fast);
      cost_compute(&d, &p, &plain, &slow);
      if (c.m * c.n / c.warps / 8 == 32 && 8 * c.warps <= c.m)
        assert_true(fast.term_ns[COST_MATH] < slow.term_ns[COST_MATH]);
      lane_n++;
    }
    assert_int_equal(lane_n > 0, cases[i].any);
    al_free_array(NULL, pts, n);
  }
}

static void matmul_space_prunes_exactly_what_its_rule_refuses(void **state) {
  tune_device d = small_cpu();
  tune_problem p = gemm(64, 4096, 4096, TSR_F32);
  static space s;
  space_build(&d, &p, NULL, &s);
  space_point *pts;
  size_t n, legal = 0;
  bool cut;
  assert_null(space_enumerate(&s, NULL, 1u << 20, &pts, &n, &cut));
  for (size_t i = 0; i < n; i++) {
    tune_config c = space_config(&s, &pts[i]);
    legal++;
    bool dflt = c.m == s.dflt.m && c.n == s.dflt.n && c.k == s.dflt.k; /* the untuned kernel is always a point */
    assert_true(dflt || c.m <= 64);
    assert_true(dflt || (int64_t)(c.m + c.n) * c.k * 4 <= 2 * d.shared_per_block);
    assert_int_equal(c.matrix_path, 0);
  }
  assert_true(legal == n && n < space_size(&s));
  al_free_array(NULL, pts, n);
}

static void deterministic_space_moves_only_order_preserving_knobs(void **state) {
  tune_device d = small_gpu();
  tune_problem p = gemm(512, 512, 512, TSR_BF16);
  p.deterministic = true;
  static space s;
  space_build(&d, &p, NULL, &s);
  int fixed = 0, moving = 0;
  for (int32_t i = 0; i < s.n_knobs; i++) {
    if (s.knob[i].n == 1) fixed++;
    else moving++, assert_true(s.knob[i].keeps_order);
    if (!strcmp(s.knob[i].name, "split_k")) assert_true(s.knob[i].n == 1 && s.knob[i].value[0] == 1);
  }
  assert_true(fixed >= 3 && moving >= 5);
}

static void backend_without_a_knob_gets_it_fixed(void **state) {
  tune_device d = small_gpu();
  tune_problem p = gemm(512, 512, 512, TSR_F32);
  space_options opt = {.knobs = SPACE_TILE, .dflt = {.m = 48, .warps = 4}};
  static space s;
  space_build(&d, &p, &opt, &s);
  for (int32_t i = 0; i < s.n_knobs; i++) {
    bool tile = i < 3;
    assert_int_equal(s.knob[i].n > 1, tile);
    if (!strcmp(s.knob[i].name, "warps")) assert_int_equal(s.knob[i].value[0], 4);
  }
  bool has48 = false; /* the default is a point of the space, in order */
  for (int32_t j = 0; j < s.knob[0].n; j++) {
    has48 |= s.knob[0].value[j] == 48;
    if (j) assert_true(s.knob[0].value[j] > s.knob[0].value[j - 1]);
  }
  assert_true(has48);
}

static bool offers(const space *s, const char *name, int32_t value) {
  for (int32_t i = 0; i < s->n_knobs; i++)
    for (int32_t j = 0; j < s->knob[i].n && !strcmp(s->knob[i].name, name); j++)
      if (s->knob[i].value[j] == value) return true;
  return false;
}

/* Steps of 256 along k: where nothing is staged and elements are of 16 bits, and nowhere else. */
static void long_steps_offered_on_simd_registers_only(void **state) {
  static space s;
  tune_device gpu = small_gpu(), simd = gpu;
  simd.warp_size = 8;
  static const struct {
    bool simd;
    tsr_dtype t;
  } cases[] = {{true, TSR_BF16}, {true, TSR_F16}, {true, TSR_F32}, {false, TSR_BF16}};
  for (int i = 0; i < 4; i++) {
    tune_problem p = gemm(256, 256, 256, cases[i].t);
    space_build(cases[i].simd ? &simd : &gpu, &p, NULL, &s);
    assert_int_equal(offers(&s, "k", 256), i < 2);
    assert_true(offers(&s, "k", 128) && !offers(&s, "k", 512));
  }
}

static void row_and_elementwise_spaces_are_legal_and_not_empty(void **state) {
  tune_device devs[] = {small_gpu(), small_cpu()};
  static const int64_t cols[] = {1, 7, 64, 1000, 4096, 100000};
  for (size_t v = 0; v < 2; v++)
    for (size_t j = 0; j < sizeof cols / sizeof *cols; j++)
      for (int f = FAMILY_ELEMENTWISE; f <= FAMILY_ROW; f++) {
        tune_problem p = {.family = (sched_family)f,
                          .op = "x",
                          .m = f == FAMILY_ROW ? 33 : 1,
                          .n = cols[j],
                          .in = TSR_F32,
                          .out = TSR_F32,
                          .passes = 2};
        static space s;
        space_build(&devs[v], &p, NULL, &s);
        space_point at;
        assert_true(space_nearest(&s, &(tune_config){0}, &at));
        assert_true(space_is_legal(&s, &at, NULL, 0));
      }
}

static void point_text_round_trips(void **state) {
  tune_device d = small_gpu();
  tune_problem p = gemm(300, 200, 500, TSR_BF16);
  static space s;
  space_build(&d, &p, NULL, &s);
  space_point *pts;
  size_t n;
  bool cut;
  assert_null(space_enumerate(&s, NULL, 2000, &pts, &n, &cut));
  for (size_t i = 0; i < n; i += 37) {
    strb b;
    strb_init(&b, NULL);
    space_point_print(&s, &pts[i], &b);
    space_point back;
    assert_true(space_point_parse(&s, strb_text(&b), &back));
    assert_true(space_point_equal(&s, &pts[i], &back));
    tune_config c = space_config(&s, &pts[i]), c2;
    strb_clear(&b);
    strb_init(&b, NULL);
    tune_config_print(&c, &b);
    assert_true(tune_config_parse(strb_text(&b), &c2));
    assert_memory_equal(&c, &c2, sizeof c);
    space_point near;
    assert_true(space_nearest(&s, &c, &near));
    assert_true(space_point_equal(&s, &near, &pts[i]));
    strb_clear(&b);
  }
  al_free_array(NULL, pts, n);
  space_point q;
  tune_config c;
  assert_false(space_point_parse(&s, "m=128", &q));
  assert_false(space_point_parse(&s, "m=128 m=128", &q));
  assert_false(space_point_parse(&s, "nothing=1", &q));
  assert_false(tune_config_parse("m=12 n", &c));
  assert_false(tune_config_parse("m=12 zebra=1", &c));
  assert_false(tune_config_parse("m=99999999999", &c));
  assert_false(tune_config_parse("m=-4", &c));
}

static bool even_sum(const void *user, const int32_t *v, char *why, size_t n) { return (v[0] + v[1]) % 2 == 0; }

static void custom_space_counts_and_neighbours(void **state) {
  space_knob k[2] = {{"speed", true, 4, {1, 2, 3, 4}}, {"m", true, 3, {10, 11, 12}}};
  static space s;
  assert_true(space_custom(k, 2, even_sum, NULL, &s));
  assert_int_equal(space_size(&s), 12);
  space_point *pts;
  size_t n;
  bool cut;
  assert_null(space_enumerate(&s, NULL, 100, &pts, &n, &cut));
  assert_int_equal(n, 6);
  assert_int_equal(space_config(&s, &pts[0]).m, 11);
  space_point nb[2 * SPACE_MAX_KNOBS];
  assert_int_equal(space_neighbours(&s, &pts[0], nb), 0); /* one step changes the parity */
  al_free_array(NULL, pts, n);
  assert_null(space_enumerate(&s, NULL, 4, &pts, &n, &cut));
  assert_true(cut && n == 4);
  al_free_array(NULL, pts, n);
  s.legal = NULL;
  space_point corner = {{0}};
  assert_int_equal(space_neighbours(&s, &corner, nb), 2);
  k[0].n = 0;
  assert_false(space_custom(k, 2, NULL, NULL, &s));
}

static void space_print_accounts_for_every_point(void **state) {
  tune_device d = small_gpu();
  tune_problem p = gemm(256, 256, 256, TSR_BF16);
  static space s;
  space_build(&d, &p, NULL, &s);
  strb b;
  strb_init(&b, NULL);
  assert_null(space_print(&s, NULL, &b));
  const char *at = strstr(strb_text(&b), "points ");
  unsigned long long total = 0, legal = 0, pruned = 0, sum = 0, one;
  assert_int_equal(sscanf(at, "points %llu, legal %llu, pruned %llu", &total, &legal, &pruned), 3);
  assert_true(total == space_size(&s) && legal + pruned == total);
  for (const char *line = strstr(at, "\n  pruned"); line; line = strstr(line + 1, "\n  pruned")) {
    assert_int_equal(sscanf(line, "\n  pruned %llu", &one), 1);
    sum += one;
  }
  assert_true(sum == pruned);
  assert_non_null(strstr(at, "shared memory"));
  strb_clear(&b);
}

static void restricted_space_moves_only_the_named_knobs(void **state) {
  tune_device d = small_gpu();
  tune_problem p = gemm(256, 256, 256, TSR_F32);
  static space s;
  space_build(&d, &p, NULL, &s);
  tune_config dflt = {
      .m = 64, .n = 64, .k = 32, .vectorize = 4, .use_shared = 1, .pipeline_stages = 2, .split_k = 1, .warps = 4};
  space_restrict(&s, "m,warps", &dflt);
  for (int32_t i = 0; i < s.n_knobs; i++) {
    bool free = !strcmp(s.knob[i].name, "m") || !strcmp(s.knob[i].name, "warps");
    assert_int_equal(s.knob[i].n > 1, free);
  }
  space_point at;
  assert_true(space_nearest(&s, &dflt, &at));
  tune_config c = space_config(&s, &at);
  assert_memory_equal(&c, &dflt, sizeof c);
}

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
    static space s;
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
  tune_config few = {.m = 64, .n = 32, .k = 32, .vectorize = 1, .pipeline_stages = 1, .split_k = 1, .warps = 4}, many = few,
              shared = few;
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
  tune_config chunks = {.m = 1, .vectorize = 4, .warps = 8, .pipeline_stages = 1, .split_k = 1, .cluster = 1}, cluster = chunks;
  cluster.cluster = 8;
  assert_true(predict(&d, &rows, cluster) < 0.8 * predict(&d, &rows, chunks)); /* 2 of 3 passes over memory */
}

static void shared_steps_and_rows_have_their_rules(void **state) {
  tune_device d = *tune_device_find("h100");
  tune_problem p = gemm(1536, 1536, 8192, TSR_BF16), rows = {.family = FAMILY_ROW,
                                                             .op = "row",
                                                             .batch = 1,
                                                             .m = 64,
                                                             .n = 65536,
                                                             .k = 1,
                                                             .in = TSR_F32,
                                                             .acc = TSR_F32,
                                                             .out = TSR_F32,
                                                             .passes = 1};
  static space s;
  static const struct { int32_t cluster, warps, m; bool clusters; const char *why; } row_cases[] = {
      {8, 8, 1, true, NULL}, {8, 8, 1, false, "no clusters"}, {8, 8, 2, true, "one row"}, {2, 8, 1, true, "can't hold"}, {1, 8, 1, false, NULL}};
  char why[160];
  for (size_t i = 0; i < sizeof row_cases / sizeof *row_cases; i++) {
    d.clusters = row_cases[i].clusters;
    space_build(&d, &rows, NULL, &s);
    int32_t v[SPACE_MAX_KNOBS] = {0};
    for (int32_t k = 0; k < s.n_knobs; k++) {
      const char *name = s.knob[k].name;
      v[k] = !strcmp(name, "cluster") ? row_cases[i].cluster
             : !strcmp(name, "warps") ? row_cases[i].warps
             : !strcmp(name, "m")     ? row_cases[i].m
                                      : 1;
    }
    bool legal = s.legal(s.user, v, why, sizeof why);
    assert_int_equal(legal, !row_cases[i].why);
    if (!legal) assert_non_null(strstr(why, row_cases[i].why));
  }
  static const struct { int32_t m, n, stream, split; const char *why; } mm_cases[] = {
      {128, 256, 132, 1, NULL}, {128, 256, 132, 2, "own parts"}, {128, 128, 132, 1, "tile of its own"}, {128, 256, 1 << 16, 1, "two steps"}};
  for (size_t i = 0; i < sizeof mm_cases / sizeof *mm_cases; i++) {
    space_build(&d, &p, &(space_options){.knobs = ~0u}, &s);
    int32_t v[SPACE_MAX_KNOBS] = {0};
    tune_config c = {.m = mm_cases[i].m,
                     .n = mm_cases[i].n,
                     .k = 64,
                     .vectorize = 8,
                     .use_shared = 1,
                     .async_copy = 1,
                     .pipeline_stages = 2,
                     .warps = 8,
                     .split_k = mm_cases[i].split,
                     .matrix_path = 1,
                     .stream_k = mm_cases[i].stream};
    for (int32_t k = 0; k < s.n_knobs; k++) v[k] = *tune_config_field(&c, s.knob[k].name);
    bool legal = s.legal(s.user, v, why, sizeof why);
    if (legal == !mm_cases[i].why) continue;
    fail_msg("case %zu: %s", i, legal ? "legal" : why);
  }
}

static void objective_default_is_latency_times_inverse_throughput(void **state) {
  assert_true(fabs(cost_latency_by_throughput(NULL, 10, 5) - 20) < 1e-12);
  assert_true(cost_latency_by_throughput(NULL, 9, 5) < cost_latency_by_throughput(NULL, 10, 5));
  assert_true(cost_latency(NULL, 10, 5) == 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matmul_space_respects_every_limit),
      cmocka_unit_test(lane_n_in_lanes_are_points_where_they_suit),
      cmocka_unit_test(matmul_space_prunes_exactly_what_its_rule_refuses),
      cmocka_unit_test(deterministic_space_moves_only_order_preserving_knobs),
      cmocka_unit_test(backend_without_a_knob_gets_it_fixed),
      cmocka_unit_test(long_steps_offered_on_simd_registers_only),
      cmocka_unit_test(row_and_elementwise_spaces_are_legal_and_not_empty),
      cmocka_unit_test(point_text_round_trips),
      cmocka_unit_test(custom_space_counts_and_neighbours),
      cmocka_unit_test(restricted_space_moves_only_the_named_knobs),
      cmocka_unit_test(space_print_accounts_for_every_point),
      cmocka_unit_test(cost_larger_k_means_more_reuse_less_barrier),
      cmocka_unit_test(fewer_registers_mean_smaller_tiles),
      cmocka_unit_test(gemv_costs_its_bytes_and_a_launch),
      cmocka_unit_test(cost_terms_add_up_and_explain_names_all),
      cmocka_unit_test(attention_is_estimated_term_by_term),
      cmocka_unit_test(cost_prefers_what_must_be_better),
      cmocka_unit_test(cost_of_shared_steps_and_shared_rows),
      cmocka_unit_test(shared_steps_and_rows_have_their_rules),
      cmocka_unit_test(objective_default_is_latency_times_inverse_throughput),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
