/* tests/support/tune_rig.h - a product to tune, a small GPU and a small CPU. */
#ifndef TESTS_SUPPORT_TUNE_RIG_H
#define TESTS_SUPPORT_TUNE_RIG_H
#include "core/tune/cost.h"
#include "core/tune/space.h"

static inline tune_problem gemm(int64_t m, int64_t n, int64_t k, tsr_dtype t) {
  return (tune_problem){
      .family = FAMILY_MATMUL, .op = "matmul", .batch = 1, .m = m, .n = n, .k = k, .in = t, .acc = TSR_F32, .out = t};
}
static inline tune_device small_gpu(void) {
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
static inline tune_device small_cpu(void) {
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

#endif
