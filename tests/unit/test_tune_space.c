/* Search spaces: pruning against the stated limits point by point, enumeration, text, neighbours. */
#include "tests/support/tune_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void matmul_space_respects_every_limit(void **state) {
  tune_device d = small_gpu();
  tune_problem p = gemm(1000, 777, 512, TSR_BF16);
  static tune_space s;
  space_build(&d, &p, NULL, &s);
  space_point *pts;
  size_t n;
  bool cut;
  assert_null(space_enumerate(&s, NULL, 1u << 20, &pts, &n, &cut));
  assert_false(cut);
  assert_true(n > 500);
  size_t with_matrix = 0;
  for (size_t i = 0; i < n; i += TSR_TEST_SLOW ? 7 : 1) {
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
  static const struct { int64_t m, n, k; tsr_dtype t; bool deterministic, any, collects_b; } cases[] = {
      {512, 512, 512, TSR_F32, false, true}, {197, 512, 512, TSR_F32, false, true}, {1, 512, 512, TSR_F32, false, true}, {64, 196, 576, TSR_F32, false, true, true}, {64, 196, 576, TSR_F32, false, false}, {512, 512, 512, TSR_I8, false, true}, {512, 512, 512, TSR_F32, true, false}, {512, 512, 512, TSR_F64, false, false}, {512, 500, 512, TSR_F32, false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tune_device d = small_gpu();
    tune_problem p = gemm(cases[i].m, cases[i].n, cases[i].k, cases[i].t);
    static tune_space s;
    d.warp_size = 8, d.n_matrix = 0;
    p.deterministic = cases[i].deterministic;
    p.collects_b = cases[i].collects_b;
    space_build(&d, &p, NULL, &s);
    space_point *pts;
    size_t n, lane_n = 0;
    bool cut;
    assert_null(space_enumerate(&s, NULL, 1u << 20, &pts, &n, &cut));
    for (size_t j = 0; j < n; j += TSR_TEST_SLOW ? 7 : 1) {
      tune_config c = space_config(&s, &pts[j]), plain = c;
      if (!c.matrix_path) continue;
      assert_int_equal(c.matrix_path, PATH_LANE_N);
      assert_true(!c.use_shared && c.split_k == 1 && (p.n % c.n == 0 || p.collects_b) && p.k % c.k == 0);
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
  static tune_space s;
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
  static tune_space s;
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
  static tune_space s;
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

static bool offers(const tune_space *s, const char *name, int32_t value) {
  for (int32_t i = 0; i < s->n_knobs; i++)
    for (int32_t j = 0; j < s->knob[i].n && !strcmp(s->knob[i].name, name); j++)
      if (s->knob[i].value[j] == value) return true;
  return false;
}

/* Steps of 256 along k: where nothing is staged and elements are of 16 bits, and nowhere else. */
static void long_steps_offered_on_simd_registers_only(void **state) {
  static tune_space s;
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
        static tune_space s;
        space_build(&devs[v], &p, NULL, &s);
        space_point at;
        assert_true(space_nearest(&s, &(tune_config){0}, &at));
        assert_true(space_is_legal(&s, &at, NULL, 0));
      }
}

static void point_text_round_trips(void **state) {
  tune_device d = small_gpu();
  tune_problem p = gemm(300, 200, 500, TSR_BF16);
  static tune_space s;
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
  static tune_space s;
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
  static tune_space s;
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
  static tune_space s;
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
  static tune_space s;
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
      cmocka_unit_test(shared_steps_and_rows_have_their_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
