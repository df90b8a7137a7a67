/* tests/simt/test_simt_bugs.c - every planted mistake of kernels/bugs.cpp is found, as what it is and in several orders
 * of execution; and the bank-conflict counts are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/simt/simt.h"

typedef struct bug {
  const char *kernel;
  emu_kind kind;
  int threads, shared, warp, blocks, cluster;
  bool x_writable;
  emu_kind or_kind; /* what another order of execution shows it as; 0 = nothing else */
} bug;

static const bug bugs[] = {
    {"global_read_outside", EMU_OUT_OF_BOUNDS, 129},
    {"global_write_outside", EMU_OUT_OF_BOUNDS, 128},
    {"plain_pointer_outside", EMU_OUT_OF_BOUNDS, 128},
    {"input_written", EMU_OUT_OF_BOUNDS, 32},
    {"shared_outside", EMU_OUT_OF_BOUNDS, 32, 128},
    {"vector_misaligned", EMU_MISALIGNED, 32},
    {"read_without_barrier", EMU_RACE, 64, 256},
    {"write_without_barrier", EMU_RACE, 64, 256},
    {"warp_barrier_instead_of_barrier", EMU_RACE, 64, 256},
    {"blocks_write_the_same", EMU_RACE, 32, 0, 32, 2},
    {"unwritten_shared", EMU_UNWRITTEN, 32, 256},
    {"barrier_in_a_branch", EMU_DIVERGENT, 64},
    {"barrier_after_exit", EMU_DIVERGENT, 64},
    {"different_barriers", EMU_DIVERGENT, 64},
    {"shuffle_in_a_branch", EMU_DIVERGENT, 32},
    {"mma_in_a_branch", EMU_DIVERGENT, 32},
    {"shuffle_from_missing_lane", EMU_DIVERGENT, 48},
    {"cp_async_without_wait", EMU_ASYNC_EARLY, 32, 512},
    {"cp_async_one_group_too_many", EMU_ASYNC_EARLY, 32, 1024},
    {"cp_async_wait_without_barrier", EMU_RACE, 32, 512},
    {"cp_async_never_waited", EMU_EXIT_PENDING, 32, 512},
    {"cp_async_over_a_read", EMU_RACE, 32, 512},
    {"tma_without_wait", EMU_ASYNC_EARLY, 128, 8256},
    {"tma_waited_by_one_thread", EMU_ASYNC_EARLY, 128, 8256},
    {"barrier_init_not_fenced", EMU_ASYNC_FENCE, 128, 8256},
    {"tma_wrong_parity", EMU_DEADLOCK, 128, 8256},
    {"tma_expects_too_little", EMU_DEADLOCK, 128, 8256},
    {"mbarrier_too_many_arrivals", EMU_MBARRIER, 128, 64},
    {"mbarrier_not_initialised", EMU_MBARRIER, 32, 64},
    {"mbarrier_without_barrier", EMU_RACE, 32, 64, .or_kind = EMU_MBARRIER},
    {"mbarrier_overwritten", EMU_MBARRIER, 32, 64},
    {"wgmma_read_before_wait", EMU_ASYNC_EARLY, 128, 8256},
    {"wgmma_waits_for_too_few", EMU_EXIT_PENDING, 128, 8256},
    {"wgmma_without_fence", EMU_ASYNC_FENCE, 128, 8256},
    {"wgmma_of_stored_data", EMU_ASYNC_FENCE, 128, 8192},
    {"wgmma_overwritten_in_flight", EMU_RACE, 128, 8256},
    {"wgmma_off_the_pattern", EMU_BAD_ARGUMENT, 128, 8256},
    {"ring_without_empty_barrier", EMU_RACE, 256, 8256, .or_kind = EMU_ASYNC_EARLY},
    {"store_without_proxy_fence", EMU_ASYNC_FENCE, 32, 8192, .x_writable = true},
    {"store_source_reused", EMU_RACE, 32, 8192, .x_writable = true},
    {"store_never_waited", EMU_EXIT_PENDING, 32, 8192, .x_writable = true},
    {"too_many_registers", EMU_DEADLOCK, 384},
    {"more_registers_than_at_launch", EMU_DEADLOCK, 384},
    {"register_count_not_a_multiple", EMU_BAD_ARGUMENT, 384},
    {"named_barrier_of_odd_count", EMU_BAD_ARGUMENT, 64},
    {"named_barrier_missing_warp", EMU_DIVERGENT, 64},
    {"multicast_to_exited_block", EMU_EXIT_PENDING, 32, 8256, 32, 2, 2},
    {"exit_before_remote_arrival", EMU_EXIT_PENDING, 32, 64, 32, 2, 2},
    {"cluster_barrier_in_a_branch", EMU_DIVERGENT, 32, 0, 32, 2, 2},
    {"store_to_block_not_begun", EMU_RACE, 32, 64, 32, 2, 2},
    {"remote_store_without_cluster_barrier", EMU_RACE, 32, 64, 32, 2, 2, .or_kind = EMU_UNWRITTEN},
    {"remote_slots_used_twice", EMU_RACE, 32, 64, 32, 2, 2},
    {"exit_before_remote_store", EMU_EXIT_PENDING, 32, 64, 32, 2, 2},
    {"cluster_wait_without_arrival", EMU_DIVERGENT, 32, 0, 32, 2, 2},
    {"lds_load_without_wait", EMU_ASYNC_EARLY, 64, 256, 64},
    {"lds_load_base_differs", EMU_BAD_ARGUMENT, 64, 512, 64},
    {"wmma_halves_differ", EMU_BAD_ARGUMENT, 32},
    {"conflict_32", EMU_N_KINDS, 32, 4224},
    {"conflict_none", EMU_N_KINDS, 32, 4224},
    {"conflict_ldmatrix", EMU_N_KINDS, 32, 1024},
};
enum { N_BUGS = sizeof bugs / sizeof *bugs };

static emu_module *module;
static float *x, *y;
static emu_report report;

static void run(const bug *b, unsigned seed) {
  emu_tensor_map map;
  assert_null(emu_tensor_map_make(&map, x, 2, 2, (int64_t[]){64, 64}, (int64_t[]){0, 128}, (int[]){64, 64}, 128));
  void *args[] = {&x, &y, &map};
  emu_range ranges[] = {{x, 8192, b->x_writable}, {y, 1024, true}};
  for (int i = 0; i < 8192; i++) ((uint8_t *)x)[i] = (uint8_t)(i % 61);
  memset(&report, 0, sizeof report);
  assert_true(emu_run(module,
                      &(emu_run_desc){.kernel = b->kernel,
                                      .grid = {b->blocks},
                                      .block = {b->threads},
                                      .cluster = {b->cluster},
                                      .warp = b->warp,
                                      .shared_bytes = b->shared,
                                      .args = args,
                                      .n_args = 3,
                                      .ranges = ranges,
                                      .n_ranges = 2,
                                      .seed = seed},
                      &report));
}

static void planted_bugs_are_found(void **state) {
  int missed = 0;
  for (int i = 0; i < N_BUGS && bugs[i].kind != EMU_N_KINDS; i++)
    for (unsigned seed = 0; seed < 4; seed++) {
      run(&bugs[i], seed);
      if (report.n_kind[bugs[i].kind] || (bugs[i].or_kind && report.n_kind[bugs[i].or_kind])) continue;
      fprintf(stderr, "%s, seed %u: no finding of kind \"%s\"\n", bugs[i].kernel, seed, emu_kind_name(bugs[i].kind));
      emu_report_print(&report, stderr);
      missed++;
    }
  assert_int_equal(missed, 0);
}

static const bug *named(const char *kernel) {
  for (int i = 0; i < N_BUGS; i++)
    if (!strcmp(bugs[i].kernel, kernel)) return &bugs[i];
  return NULL;
}

static void bank_conflicts_are_counted(void **state) {
  run(named("conflict_32"), 0);
  assert_int_equal(report.n_findings, 0);
  assert_int_equal(emu_report_worst_degree(&report), 32);
  run(named("conflict_none"), 0);
  assert_int_equal(emu_report_worst_degree(&report), 1);
  run(named("conflict_ldmatrix"), 0);
  assert_int_equal(report.n_findings, 0);
  assert_int_equal(emu_report_worst_degree(&report), 8);
}

static void tensor_maps_the_driver_refuses_are_refused(void **state) {
  emu_tensor_map m;
  int64_t dims[] = {64, 64}, strides[] = {0, 128}, odd[] = {0, 130};
  assert_non_null(emu_tensor_map_make(&m, (char *)x + 8, 2, 2, dims, strides, (int[]){64, 64}, 128));
  assert_non_null(emu_tensor_map_make(&m, x, 2, 2, dims, odd, (int[]){64, 64}, 128));
  assert_non_null(emu_tensor_map_make(&m, x, 2, 2, dims, strides, (int[]){64, 257}, 128));
  assert_non_null(emu_tensor_map_make(&m, x, 4, 2, dims, strides, (int[]){64, 64}, 128));
  assert_non_null(emu_tensor_map_make(&m, x, 2, 2, dims, strides, (int[]){4, 64}, 0));
  assert_null(emu_tensor_map_make(&m, x, 2, 2, dims, strides, (int[]){64, 64}, 128));
}

static void text_that_does_not_compile_is_refused(void **state) {
  char *log;
  const char *const name = "k";
  assert_null(emu_compile(
      &(emu_compile_desc){.source =
                              "#include TSR_EMULATOR\nnamespace tsr { KERNEL(32) k(float *x) { this is wrong; } }",
                          .kernels = &name,
                          .n_kernels = 1},
      &log));
  assert_non_null(strstr(log, "error"));
  free(log);
}

int main(void) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  const char *names[N_BUGS];
  char *log;
  for (int i = 0; i < N_BUGS; i++) names[i] = bugs[i].kernel;
  module = emu_compile(
      &(emu_compile_desc){.path = TSR_SOURCE_DIR "/tests/simt/kernels/bugs.cpp", .kernels = names, .n_kernels = N_BUGS},
      &log);
  if (!module) fprintf(stderr, "%s\n", log);
  free(log);
  if (!module) return 1;
  x = aligned_alloc(128, 8192);
  y = aligned_alloc(128, 1024);
  const struct CMUnitTest tests[] = {cmocka_unit_test(planted_bugs_are_found),
                                     cmocka_unit_test(bank_conflicts_are_counted),
                                     cmocka_unit_test(tensor_maps_the_driver_refuses_are_refused),
                                     cmocka_unit_test(text_that_does_not_compile_is_refused)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  emu_module_destroy(module);
  free(x);
  free(y);
  return failed != 0;
}
