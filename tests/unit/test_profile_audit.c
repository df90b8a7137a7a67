/* The audit of a program by its kernels: each point that fails, fails alone; what isn't known stays unknown. */
#include "core/base/json.h"
#include "core/profile/audit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static audit_kernel good_kernel(void) {
  return (audit_kernel){.name = "matmul_0",
                        .op = "matmul",
                        .occupancy = 0.75,
                        .flops_per_byte = 300,
                        .ridge = 290,
                        .spill_bytes = 0,
                        .registers = 64,
                        .registers_ideal = 64,
                        .shared_bytes = 65536,
                        .shared_ideal = 98304,
                        .contiguous = 1,
                        .bytes_per_access = 16,
                        .bank_ways = 1,
                        .stages = 3,
                        .async_copy = 1,
                        .async_possible = true,
                        .tuned = 1,
                        .tile_fits = 1};
}
static audit_program good_program(const audit_kernel *k, size_t n) {
  return (audit_program){.kernels = k,
                         .n_kernels = n,
                         .cache_persistent = 1,
                         .n_devices = 8,
                         .comm_ns = 1000,
                         .overlapped_ns = 900,
                         .has_matmul = true,
                         .widest_input = TSR_BF16,
                         .accumulator = TSR_F32,
                         .policy = "deterministic",
                         .needs_reproducible = true};
}

static void audit_passes_a_good_program(void **state) {
  audit_kernel k = good_kernel();
  audit_program p = good_program(&k, 1);
  audit_row rows[AUDIT_ROWS];
  audit_run(&p, rows);
  for (int i = 0; i < AUDIT_ROWS; i++) {
    assert_int_equal(rows[i].verdict, VERDICT_PASS);
    assert_string_equal(rows[i].hint, "");
  }
  assert_int_equal(audit_failed(rows), 0);
}

static void audit_each_fault_fails_its_point_alone(void **state) {
  for (int fault = 0; fault < AUDIT_ROWS + 1; fault++) {
    audit_kernel k[2] = {good_kernel(), good_kernel()};
    k[1].name = "bad_1";
    audit_program p = good_program(k, 2);
    int expect = fault;
    switch (fault) {
    case 0: k[1].occupancy = 0.2; break;
    case 1: k[1].spill_bytes = 16; break;
    case 2: k[1].contiguous = 0.5; break;
    case 3: k[1].stages = 1; break;
    case 4: k[1].tuned = 0; break;
    case 5: p.implicit_shards = 3; break;
    case 6: p.overlapped_ns = 100; break;
    case 7: p.accumulator = TSR_BF16; break;
    case 8: p.policy = "fast"; break;
    case 9: k[1].bytes_per_access = 4; break;
    case 10: k[1].bank_ways = 8; break;
    case 11: k[1].registers = 200; break;
    case 12: k[1].shared_bytes = 98305; break;
    case 13: k[1].tile_fits = 0, k[1].tile[0] = 100, k[1].tile[1] = 72, k[1].tile[2] = 64; break;
    default: p.cache_persistent = 0, expect = 4; break;
    }
    audit_row rows[AUDIT_ROWS];
    audit_run(&p, rows);
    assert_int_equal(audit_failed(rows), 1);
    assert_int_equal(rows[expect].verdict, VERDICT_FAIL);
    assert_true(rows[expect].hint[0] && rows[expect].found[0]);
    if (fault < 5 || (fault > 8 && fault < AUDIT_ROWS)) assert_string_equal(rows[expect].kernel, "bad_1");
  }
}

static void audit_unknown_stays_unknown(void **state) {
  audit_kernel k = {.name = "k",
                    .op = "matmul",
                    .occupancy = -1,
                    .flops_per_byte = -1,
                    .spill_bytes = -1,
                    .contiguous = -1,
                    .bytes_per_access = -1,
                    .bank_ways = -1,
                    .stages = -1,
                    .async_copy = -1,
                    .tuned = -1,
                    .registers = -1,
                    .shared_bytes = -1,
                    .tile_fits = -1};
  audit_program p = {.kernels = &k,
                     .n_kernels = 1,
                     .cache_persistent = -1,
                     .n_devices = -1,
                     .comm_ns = -1,
                     .overlapped_ns = -1,
                     .has_matmul = true};
  audit_row rows[AUDIT_ROWS];
  audit_run(&p, rows);
  strb t, j;
  strb_init(&t, NULL), strb_init(&j, NULL);
  for (int i = 0; i < AUDIT_ROWS; i++) assert_int_equal(rows[i].verdict, VERDICT_UNKNOWN);
  audit_text(rows, &t);
  assert_null(strstr(strb_text(&t), "pass"));
  audit_json(rows, &j);
  arena a;
  json *parsed;
  arena_init(&a, NULL);
  assert_null(json_parse(&a, strb_text(&j), j.n, "audit", &parsed));
  assert_int_equal(parsed->n, AUDIT_ROWS);
  arena_clear(&a);
  strb_clear(&t), strb_clear(&j);
}

static void program_verdicts_have_three_outcomes(void **state) {
  const char *hint;
  assert_int_equal(verdict_tuned(1, 1, &hint), VERDICT_PASS);
  assert_string_equal(hint, "");
  assert_int_equal(verdict_tuned(0, 1, &hint), VERDICT_FAIL);
  assert_non_null(strstr(hint, "tessera tune"));
  assert_int_equal(verdict_tuned(-1, 0, &hint), VERDICT_FAIL); /* nothing is kept, whatever it runs */
  assert_non_null(strstr(hint, "TSR_CACHE_DIR"));
  assert_int_equal(verdict_tuned(-1, 1, &hint), VERDICT_UNKNOWN);
  assert_int_equal(verdict_tuned(1, -1, &hint), VERDICT_UNKNOWN);
  assert_int_equal(verdict_sharding(1, -1, &hint), VERDICT_PASS);
  assert_int_equal(verdict_sharding(4, 0, &hint), VERDICT_PASS);
  assert_int_equal(verdict_sharding(4, 2, &hint), VERDICT_FAIL);
  assert_non_null(strstr(hint, "ShardSpec"));
  assert_int_equal(verdict_sharding(4, -1, &hint), VERDICT_UNKNOWN);
  assert_int_equal(verdict_sharding(-1, 2, &hint), VERDICT_UNKNOWN);
  assert_int_equal(verdict_overlap(1, -1, -1, &hint), VERDICT_PASS);
  assert_int_equal(verdict_overlap(4, 1000, 500, &hint), VERDICT_PASS);
  assert_int_equal(verdict_overlap(4, 1000, 499, &hint), VERDICT_FAIL);
  assert_int_equal(verdict_overlap(4, 0, 0, &hint), VERDICT_PASS);
  assert_int_equal(verdict_overlap(4, 1000, -1, &hint), VERDICT_UNKNOWN);
  assert_int_equal(verdict_precision(TSR_BF16, TSR_F32, &hint), VERDICT_PASS);
  assert_int_equal(verdict_precision(TSR_F8E4M3, TSR_F32, &hint), VERDICT_PASS);
  assert_int_equal(verdict_precision(TSR_BF16, TSR_BF16, &hint), VERDICT_FAIL);
  assert_non_null(strstr(hint, "accumulate in f32"));
  assert_int_equal(verdict_precision(TSR_F32, TSR_F32, &hint), VERDICT_FAIL);
  assert_non_null(strstr(hint, "bf16"));
  assert_int_equal(verdict_precision(TSR_DTYPE_NONE, TSR_F32, &hint), VERDICT_UNKNOWN);
  assert_int_equal(verdict_policy("fast", false, &hint), VERDICT_PASS);
  assert_int_equal(verdict_policy("deterministic", true, &hint), VERDICT_PASS);
  assert_int_equal(verdict_policy("kahan_sum", true, &hint), VERDICT_FAIL);
  assert_int_equal(verdict_policy("", true, &hint), VERDICT_UNKNOWN);
}

/* One kernel without a tuned schedule fails the point, one that nobody tunes leaves it open; the kernel is named. */
static void audit_names_the_kernel_that_is_not_tuned(void **state) {
  audit_row rows[AUDIT_ROWS];
  audit_kernel k[3] = {good_kernel(), good_kernel(), good_kernel()};
  audit_program p = good_program(k, 3);
  k[0].tuned = -1, k[0].name = "hand_0";
  audit_run(&p, rows);
  assert_int_equal(rows[4].verdict, VERDICT_UNKNOWN);
  assert_string_equal(rows[4].kernel, "hand_0");
  k[2].tuned = 0, k[2].name = "slow_2";
  audit_run(&p, rows);
  assert_int_equal(rows[4].verdict, VERDICT_FAIL);
  assert_string_equal(rows[4].kernel, "slow_2");
}

/* Without a product there is nothing to narrow; a kernel that nobody can look into may have one. */
static void audit_precision_of_unknown_kernels_is_unknown(void **state) {
  audit_row rows[AUDIT_ROWS];
  audit_kernel k = good_kernel();
  audit_program p = good_program(&k, 1);
  p.has_matmul = false;
  audit_run(&p, rows);
  assert_int_equal(rows[7].verdict, VERDICT_PASS);
  p.has_unknown = true;
  audit_run(&p, rows);
  assert_int_equal(rows[7].verdict, VERDICT_UNKNOWN);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(audit_passes_a_good_program),
      cmocka_unit_test(audit_each_fault_fails_its_point_alone),
      cmocka_unit_test(audit_unknown_stays_unknown),
      cmocka_unit_test(program_verdicts_have_three_outcomes),
      cmocka_unit_test(audit_names_the_kernel_that_is_not_tuned),
      cmocka_unit_test(audit_precision_of_unknown_kernels_is_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
