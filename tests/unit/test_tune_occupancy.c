/* Occupancy against hand-computed rows (CUDA's allocation rules), verdicts, profiles from files. */
#include "core/device/arch.h"
#include "core/emit/spirv/caps.h"
#include "core/profile/verdict.h"
#include "core/tune/cost.h"
#include "core/tune/kernel.h"
#include "core/tune/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static tune_device h100(void) { return *tune_device_find("h100"); }

static void occupancy_table_matches(void **state) {
  /* 64 warps, 65536 registers in units of 256 a warp, 228 KiB shared in units of 128 bytes and 1 KiB a block, 32
   * blocks. Each quarter has its own registers. */
  static const struct {
    occ_input in;
    int32_t blocks, warps;
    const char *limiter;
  } rows[] = {
      {{8, 32, 0}, 8, 64, "warps"},             /* 64/8 */
      {{8, 64, 0}, 4, 32, "registers"},         /* 65536/2048/8 */
      {{8, 65, 0}, 3, 24, "registers"},         /* 65*32 = 2080 -> 2304 a warp; 28 warps; 3 blocks */
      {{4, 255, 0}, 2, 8, "registers"},         /* 8160 -> 8192 a warp; 8 warps */
      {{4, 128, 0}, 4, 16, "registers"},
      {{1, 16, 0}, 32, 32, "blocks"},
      {{2, 16, 0}, 32, 64, "warps"},
      {{4, 32, 49152}, 4, 16, "shared"},        /* 233472/49152 = 4.75 */
      {{4, 32, 98304}, 2, 8, "shared"},
      {{4, 32, 1025}, 16, 64, "warps"},         /* 1152 + 1024 each: 107 would fit */
      {{4, 32, 115712}, 2, 8, "shared"},        /* 113 KiB and the 1 KiB that each block costs: half */
      {{4, 32, 115713}, 1, 4, "shared"},
      {{3, 40, 0}, 16, 48, "registers"},        /* 1280 a warp: 12 in each quarter, 48 in all, not 51 */
      {{16, 64, 0}, 2, 32, "registers"},
      {{32, 64, 0}, 1, 32, "registers"},
      {{32, 65, 0}, 0, 0, "registers"},         /* 28 warps: a block of 32 does not fit */
      {{8, 256, 0}, 0, 0, "registers"},         /* above what a thread may have */
      {{64, 16, 0}, 1, 64, "warps"},
      {{65, 16, 0}, 0, 0, "warps"},
  };
  tune_device d = h100();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    occ_result r = occ_compute(&d, &rows[i].in);
    assert_true(r.known);
    assert_int_equal(r.blocks, rows[i].blocks);
    assert_int_equal(r.active_warps, rows[i].warps);
    assert_string_equal(r.limiter, rows[i].limiter);
    assert_true(r.fraction == rows[i].warps / 64.0);
  }
}

/* Each architecture as its backend describes it. CUDA: limits of the programming guide's table "Technical
 * Specifications per Compute Capability", rules of the CUDA occupancy calculator. CDNA: waves a SIMD by VGPRs as LLVM's
 * unit test of the gfx90a and gfx940 subtargets lists them (8 up to 64, 7 to 72, 6 to 80, 5 to 96, 4 to 128, 3 to 168,
 * 2 to 256, 1 to 512). RDNA: 1536 VGPRs a SIMD in units of 24. */
static void occupancy_of_known_architectures(void **state) {
  static const struct {
    const char *arch;
    occ_input in;
    int32_t warps; /* per core */
    const char *limiter;
  } rows[] = {
      {"sm_80", {8, 32, 0}, 64, "warps"},       {"sm_80", {8, 40, 0}, 48, "registers"},   {"sm_80", {8, 48, 0}, 40, "registers"},
      {"sm_80", {8, 96, 0}, 16, "registers"},   {"sm_80", {1, 32, 0}, 32, "blocks"},      {"sm_80", {8, 32, 81920}, 16, "shared"}, /* 80 + 1 KiB of 164 */
      {"sm_80", {8, 32, 83968}, 8, "shared"},   {"sm_80", {4, 168, 0}, 12, "registers"},  {"sm_80", {8, 32, 166913}, 0, "shared"}, /* above 163 KiB a block */
      {"sm_86", {8, 32, 0}, 48, "warps"},       {"sm_86", {8, 40, 0}, 48, "warps"},       {"sm_86", {2, 32, 0}, 32, "blocks"},
      {"sm_86", {4, 128, 0}, 16, "registers"},  {"sm_86", {4, 32, 33792}, 8, "shared"},   {"sm_86", {32, 32, 0}, 32, "warps"},
      {"sm_89", {2, 32, 0}, 48, "warps"},       {"sm_89", {1, 32, 0}, 24, "blocks"},      {"sm_89", {8, 64, 0}, 32, "registers"},
      {"sm_89", {4, 32, 49152}, 8, "shared"},   {"sm_89", {4, 32, 101376}, 4, "shared"},
      {"sm_90a", {8, 32, 0}, 64, "warps"},      {"sm_90a", {12, 168, 0}, 12, "registers"}, {"sm_90a", {4, 32, 232448}, 4, "shared"}, /* 227 KiB */
      {"sm_90a", {4, 32, 232449}, 0, "shared"}, {"sm_90a", {1, 16, 0}, 32, "blocks"},
      {"sm_100", {4, 64, 0}, 32, "registers"}, {"sm_100", {8, 32, 114688}, 16, "shared"}, {"sm_100", {2, 16, 0}, 64, "warps"},
      {"sm_120", {1, 16, 0}, 24, "blocks"},    {"sm_120", {8, 80, 0}, 24, "registers"},  {"sm_120", {6, 40, 0}, 48, "warps"},
      {"gfx90a", {4, 64, 0}, 32, "warps"},      {"gfx90a", {4, 65, 0}, 28, "registers"},   {"gfx90a", {4, 72, 0}, 28, "registers"},
      {"gfx90a", {4, 73, 0}, 24, "registers"},  {"gfx90a", {4, 80, 0}, 24, "registers"},   {"gfx90a", {4, 96, 0}, 20, "registers"},
      {"gfx90a", {4, 97, 0}, 16, "registers"},  {"gfx90a", {4, 128, 0}, 16, "registers"},  {"gfx90a", {4, 168, 0}, 12, "registers"},
      {"gfx90a", {4, 169, 0}, 8, "registers"},  {"gfx90a", {4, 256, 0}, 8, "registers"},   {"gfx90a", {4, 512, 0}, 4, "registers"},
      {"gfx90a", {1, 32, 0}, 32, "warps"},      {"gfx90a", {4, 32, 32768}, 8, "shared"},
      {"gfx942", {8, 128, 0}, 16, "registers"}, {"gfx942", {8, 129, 0}, 8, "registers"},   {"gfx942", {4, 32, 65536}, 4, "shared"},
      {"gfx942", {8, 256, 0}, 8, "registers"},  {"gfx942", {8, 257, 0}, 0, "registers"},   /* one wave a SIMD: a block of 8 has no room */
      {"gfx950", {4, 32, 81920}, 8, "shared"},  {"gfx950", {4, 32, 81921}, 4, "shared"},   {"gfx950", {8, 256, 0}, 8, "registers"},
      {"gfx1100", {4, 96, 0}, 32, "warps"},     {"gfx1100", {4, 97, 0}, 24, "registers"},  {"gfx1100", {4, 120, 0}, 24, "registers"},
      {"gfx1100", {4, 192, 0}, 16, "registers"}, {"gfx1100", {4, 216, 0}, 12, "registers"}, /* 7 a SIMD: 14, blocks of 4 */
      {"gfx1100", {2, 216, 0}, 14, "registers"}, {"gfx1100", {8, 256, 0}, 8, "registers"},  {"gfx1100", {8, 32, 32768}, 16, "shared"},
      {"gfx1201", {4, 96, 0}, 32, "warps"},     {"gfx1201", {2, 168, 0}, 18, "registers"}, {"gfx1201", {1, 24, 0}, 32, "warps"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tsr_caps caps;
    assert_null(arch_caps_of(strncmp(rows[i].arch, "gfx", 3) ? DIALECT_CUDA : DIALECT_HIP, rows[i].arch, &caps));
    tune_device d = tune_device_from_caps(&caps, "");
    occ_result r = occ_compute(&d, &rows[i].in);
    if (r.active_warps != rows[i].warps || strcmp(r.limiter, rows[i].limiter))
      fail_msg("%s, %d warps of %d registers, %lld bytes: %d by %s, not %d by %s", rows[i].arch, rows[i].in.warps,
               rows[i].in.regs, (long long)rows[i].in.shared_bytes, r.active_warps, r.limiter, rows[i].warps,
               rows[i].limiter);
  }
}

static void occupancy_gb200_counts_96_warps(void **state) {
  tune_device d = *tune_device_find("GB200");
  occ_result r = occ_compute(&d, &(occ_input){.warps = 8, .regs = 16});
  assert_int_equal(r.active_warps, 96);
  r = occ_compute(&d, &(occ_input){.warps = 8, .regs = 48}); /* 1536 a warp: 42 warps, 5 blocks */
  assert_int_equal(r.active_warps, 40);
}

static void occupancy_queried_limit_refuses_block(void **state) {
  tune_device d = h100();
  occ_input in = {.warps = 4, .regs = 32, .shared_bytes = 97 * 1024};
  assert_int_equal(occ_compute(&d, &in).blocks, 2); /* the profile's figure is advice */
  d.advisory = false;
  assert_int_equal(occ_compute(&d, &in).blocks, 0);
}

static void occupancy_cpu_is_unknown(void **state) {
  tune_device d = {.is_cpu = true, .max_warps = 64};
  assert_false(occ_compute(&d, &(occ_input){.warps = 4}).known);
  d = (tune_device){.warp_size = 32};
  assert_false(occ_compute(&d, &(occ_input){.warps = 4}).known);
}

static void shared_bytes_counts_stages_and_padding(void **state) {
  tune_problem p = {.family = FAMILY_MATMUL, .m = 512, .n = 512, .k = 512, .in = TSR_BF16, .out = TSR_F32};
  tune_config c = {.m = 128, .n = 128, .k = 64, .use_shared = 1, .pipeline_stages = 2, .warps = 8};
  assert_int_equal(occ_shared_bytes(&p, &c), 64 * 1024); /* more than many Vulkan devices have */
  c.pipeline_stages = 3;
  assert_int_equal(occ_shared_bytes(&p, &c), 96 * 1024);
  c.padding = 1;
  assert_int_equal(occ_shared_bytes(&p, &c), 3 * 2 * (128 * 65 + 64 * 129));
  c.use_shared = 0;
  assert_int_equal(occ_shared_bytes(&p, &c), 0);
}

static void registers_grow_with_tile_and_shrink_with_warps(void **state) {
  tune_device d = h100();
  tune_problem p = {.family = FAMILY_MATMUL, .m = 512, .n = 512, .k = 512, .in = TSR_F32, .out = TSR_F32};
  tune_config small = {.m = 64, .n = 64, .k = 32, .use_shared = 1, .async_copy = 1, .pipeline_stages = 2, .warps = 8},
              large = small;
  large.m = large.n = 128;
  assert_true(occ_regs(&d, &p, &large) >= occ_regs(&d, &p, &small) + 48); /* 64 against 16 accumulators */
  tune_config many = large;
  many.warps = 16;
  assert_true(occ_regs(&d, &p, &many) < occ_regs(&d, &p, &large));
}

static void bank_conflict_padding_removes_it(void **state) {
  tune_device d = h100();
  assert_int_equal(occ_bank_conflict(&d, TSR_F32, 32, 0, 4), 32);
  assert_int_equal(occ_bank_conflict(&d, TSR_F32, 32, 1, 4), 1);
  assert_int_equal(occ_bank_conflict(&d, TSR_F32, 128, 1, 4), 1);
  assert_int_equal(occ_bank_conflict(&d, TSR_F32, 33, 0, 4), 1);
  assert_int_equal(occ_bank_conflict(&d, TSR_F32, 32, 2, 4), 2);
}

/* Default tiles (16 bytes more a row) of f16: ldmatrix takes 16 bytes of eight rows, which meet no bank twice; unpadded
 * rows of 128 bytes all begin in one. */
static void bank_conflicts_are_of_what_a_lane_takes(void **state) {
  static const struct {
    tsr_dialect dialect;
    const char *arch;
    int path, padding, ways;
  } rows[] = {{DIALECT_CUDA, "sm_80", 1, 8, 1},   {DIALECT_CUDA, "sm_80", 1, 0, 8}, {DIALECT_CUDA, "sm_80", 0, 8, 4},
              {DIALECT_CUDA, "sm_90a", 1, 0, 1}, /* wgmma: swizzled */
              {DIALECT_CUDA, "sm_90a", 0, 0, 32}, {DIALECT_HIP, "gfx942", 1, 8, 2}, {DIALECT_HIP, "gfx942", 1, 0, 16},
              {DIALECT_HIP, "gfx942", 2, 0, 1},   {DIALECT_HIP, "gfx950", 1, 8, 1}, {DIALECT_HIP, "gfx1100", 1, 8, 1},
              {DIALECT_HIP, "gfx1100", 1, 0, 8}};
  tune_problem p = {.family = FAMILY_MATMUL,
                    .op = "matmul",
                    .batch = 1,
                    .m = 1024,
                    .n = 1024,
                    .k = 1024,
                    .in = TSR_F16,
                    .acc = TSR_F32,
                    .out = TSR_F16};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tsr_caps caps;
    assert_null(arch_caps_of(rows[i].dialect, rows[i].arch, &caps));
    tune_device d = tune_device_from_caps(&caps, "");
    tune_config c = {
        .m = 64, .n = 64, .k = 64, .use_shared = 1, .padding = rows[i].padding, .matrix_path = rows[i].path};
    if (occ_bank_ways(&d, &p, &c) != rows[i].ways)
      fail_msg("%s, path %d, padding %d: %d ways, not %d", rows[i].arch, rows[i].path, rows[i].padding,
               occ_bank_ways(&d, &p, &c), rows[i].ways);
    c.use_shared = 0;
    assert_int_equal(occ_bank_ways(&d, &p, &c), 0);
  }
}

/* The count comes from the device's table row, through its caps and the profile's text, to what judges a padding. */
static void bank_count_is_a_property_of_the_device(void **state) {
  static const struct {
    tsr_dialect dialect;
    const char *arch;
    int banks, unpadded, padded; /* ways of rows of 64 words, with 0 and 1 more */
  } rows[] = {{DIALECT_CUDA, "sm_80", 32, 32, 1},
              {DIALECT_CUDA, "sm_90a", 32, 32, 1},
              {DIALECT_HIP, "gfx90a", 32, 32, 1},
              {DIALECT_HIP, "gfx942", 32, 32, 1},
              {DIALECT_HIP, "gfx950", 64, 64, 1},
              {DIALECT_HIP, "gfx1100", 32, 32, 1},
              {DIALECT_SPIRV, "{\"shared_banks\": 16}", 16, 16, 1},
              {DIALECT_SPIRV, "{}", 32, 32, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tsr_caps caps;
    if (rows[i].dialect == DIALECT_SPIRV)
      assert_null(spirv_caps_parse(NULL, rows[i].arch, strlen(rows[i].arch), "caps", &caps));
    else assert_null(arch_caps_of(rows[i].dialect, rows[i].arch, &caps));
    tune_device d = tune_device_from_caps(&caps, ""), kept;
    strb b;
    strb_init(&b, NULL);
    tune_device_print(&d, &b);
    assert_null(tune_device_parse(strb_text(&b), "profile", &kept));
    strb_clear(&b);
    assert_int_equal(caps.shared_banks, rows[i].banks);
    assert_int_equal(kept.banks, rows[i].banks);
    assert_int_equal(occ_bank_conflict(&kept, TSR_F32, 64, 0, 4), rows[i].unpadded);
    assert_int_equal(occ_bank_conflict(&kept, TSR_F32, 64, 1, 4), rows[i].padded);
    /* 12 more words: 76 a row. Every fourth bank is hit: so many lanes share one as there are lanes for it. */
    assert_int_equal(occ_bank_conflict(&kept, TSR_F32, 64, 12, 4), 4);
    tune_problem p = {.family = FAMILY_MATMUL,
                      .op = "matmul",
                      .batch = 1,
                      .m = 1024,
                      .n = 1024,
                      .k = 1024,
                      .in = TSR_F32,
                      .acc = TSR_F32,
                      .out = TSR_F32};
    tune_config plain = {.m = 64, .n = 64, .k = 64, .use_shared = 1, .pipeline_stages = 2, .warps = 4, .split_k = 1},
                padded = plain;
    padded.padding = 1;
    cost_estimate with, without;
    cost_compute(&kept, &p, &plain, &without);
    cost_compute(&kept, &p, &padded, &with);
    assert_int_equal(without.bank_ways, rows[i].unpadded);
    assert_true(without.term_ns[COST_SHARED] == rows[i].unpadded * with.term_ns[COST_SHARED]);
  }
}

/* Configs come from users and cache files: whatever 32 bits hold gives some number, in bounds and never negative. */
static void any_config_is_computed_safely(void **state) {
  static const int32_t values[] = {INT32_MIN, -1, 0, 1, 3, 64, 65537, INT32_MAX};
  static const sched_family families[] = {FAMILY_MATMUL, FAMILY_ROW, FAMILY_ELEMENTWISE, FAMILY_ATTENTION};
  enum { N = sizeof values / sizeof *values };
  tune_device d = h100();
  for (int i = 0; i < N * N * N * 4; i++) {
    int32_t x = values[i % N], y = values[i / N % N], z = values[i / N / N % N];
    tune_config c = {.m = x,
                     .n = y,
                     .k = z,
                     .padding = y,
                     .pipeline_stages = x,
                     .warps = z,
                     .vectorize = y,
                     .use_shared = 1,
                     .cluster = x,
                     .split_k = z,
                     .stream_k = y,
                     .raster = x};
    tune_problem p = {.family = families[i / N / N / N],
                      .op = "x",
                      .batch = INT64_MAX,
                      .m = INT64_MAX,
                      .n = INT64_MAX,
                      .k = z == INT32_MAX ? INT64_MAX : 1 << 20,
                      .in = TSR_F64,
                      .acc = TSR_F64,
                      .out = TSR_F64,
                      .passes = INT32_MAX};
    int32_t ways = occ_bank_conflict(&d, TSR_F64, x, y, z);
    assert_true(ways >= 1 && ways <= 32);
    if (x > 0 && y > 0 && z > 0) assert_true(occ_shared_bytes(&p, &c) >= 0 && occ_regs(&d, &p, &c) > 0);
    occ_result r = occ_of_config(&d, &p, &c);
    assert_true(r.blocks >= 0 && r.active_warps >= 0 && r.active_warps <= d.max_warps);
    strb text;
    strb_init(&text, NULL);
    cost_explain(&d, &p, &c, &text);
    timeline_explain(&d, &p, &c, &text);
    assert_true(strb_ok(&text));
    strb_clear(&text);
  }
}

static void verdicts_follow_the_guide(void **state) {
  const char *hint = NULL;
  assert_int_equal(verdict_occupancy(0.5, 300, 290, &hint), VERDICT_PASS);
  assert_string_equal(hint, "");
  assert_int_equal(verdict_occupancy(0.49, 300, 290, &hint), VERDICT_FAIL);
  const char *compute_hint = hint;
  assert_int_equal(verdict_occupancy(0.49, 2, 290, &hint), VERDICT_FAIL);
  assert_string_not_equal(compute_hint, hint);
  assert_int_equal(verdict_occupancy(-1, 300, 290, &hint), VERDICT_UNKNOWN);
  assert_int_equal(verdict_occupancy(0.9, 300, 0, NULL), VERDICT_UNKNOWN);
  assert_int_equal(verdict_spills(0, &hint), VERDICT_PASS);
  assert_int_equal(verdict_spills(8, &hint), VERDICT_FAIL);
  assert_int_equal(verdict_spills(-1, &hint), VERDICT_UNKNOWN);
  assert_int_equal(verdict_registers(64, h100().regs_ideal, &hint), VERDICT_PASS);
  assert_int_equal(verdict_registers(65, h100().regs_ideal, &hint), VERDICT_FAIL);
  assert_int_equal(verdict_registers(0, 64, &hint), VERDICT_UNKNOWN);
  assert_int_equal(verdict_shared(96 * 1024, h100().shared_per_block, &hint), VERDICT_PASS);
  assert_int_equal(verdict_shared(96 * 1024 + 1, h100().shared_per_block, &hint), VERDICT_FAIL);
  /* Unknown always says why. */
  hint = "";
  assert_true(verdict_registers(-1, 64, &hint) == VERDICT_UNKNOWN && strstr(hint, "does not tell"));
  assert_true(verdict_registers(32, 0, &hint) == VERDICT_UNKNOWN && strstr(hint, "no figure"));
  assert_true(verdict_shared(1024, 0, &hint) == VERDICT_UNKNOWN && strstr(hint, "no figure"));
  assert_true(verdict_occupancy(-1, 10, 5, &hint) == VERDICT_UNKNOWN && strstr(hint, "does not tell"));
  assert_true(verdict_occupancy(0.6, 10, 0, &hint) == VERDICT_UNKNOWN && strstr(hint, "peaks"));
  assert_true(verdict_alignment(-1, &hint) == VERDICT_UNKNOWN && strstr(hint, "lowering"));
  assert_true(verdict_coalescing(-1, &hint) == VERDICT_UNKNOWN && strstr(hint, "gathered"));
}

static void profile_files_equal_builtin_rows(void **state) {
  static const char *const files[] = {"h100", "gb200"};
  for (size_t i = 0; i < 2; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/core/tune/profiles/%s.profile", TSR_SOURCE_DIR, files[i]);
    tune_device d;
    assert_null(tune_device_load(path, &d));
    strb a, b;
    strb_init(&a, NULL), strb_init(&b, NULL);
    tune_device_print(&d, &a), tune_device_print(tune_device_find(files[i]), &b);
    assert_string_equal(strb_text(&a), strb_text(&b));
    strb_clear(&a), strb_clear(&b);
  }
  assert_int_equal(h100().max_warps, 64);
  assert_int_equal(h100().regs_ideal, 64);
  assert_int_equal(h100().shared_per_block, 96 * 1024);
  const tune_device *g = tune_device_find("gb200");
  assert_true(g->max_warps == 96 && g->regs_ideal == 48 && g->shared_per_block == 128 * 1024);
  assert_ptr_equal(tune_device_find("NVIDIA H100 80GB HBM3 H100"), tune_device_find("h100"));
  assert_null(tune_device_find("Radeon"));
}

static void profile_keeps_what_a_device_can_do(void **state) {
  tune_device d = h100(), again;
  d.clusters = d.lds_direct = d.warpgroup_matrix = true;
  d.shared_ideal = 65536;
  d.matrix_from = TUNE_REACHED, d.launch_from = d.barrier_from = TUNE_MEASURED, d.measured_on = 1795000000,
  d.queried = true;
  strb text;
  strb_init(&text, NULL);
  tune_device_print(&d, &text);
  assert_null(tune_device_parse(strb_text(&text), "printed", &again));
  assert_true(again.clusters && again.lds_direct && again.warpgroup_matrix);
  assert_int_equal(again.shared_ideal, 65536);
  assert_true(again.fma_from == TUNE_LISTED && again.matrix_from == TUNE_REACHED &&
              again.launch_from == TUNE_MEASURED && again.barrier_from == TUNE_MEASURED);
  assert_true(again.measured_on == 1795000000 && again.queried);
  strb_clear(&text);
}

/* An estimate of exactly half a last digit is printed one way by the device that was measured and another by what was
 * kept, if a bit is lost. */
static void profile_keeps_every_bit_of_a_rate(void **state) {
  for (int i = 1; i < 2000; i++) {
    tune_device d = h100(), again;
    d.launch_ns = 1000.0 / i, d.barrier_ns = 0.1 * i, d.fma_gflops = 1e6 / i;
    for (int t = 0; t < d.n_tiers; t++)
      d.tier[t].gbps = 2097152.0 * (t + 1) / (i + 0.5), d.tier[t].latency_cycles = 1e4 / i;
    strb text;
    strb_init(&text, NULL);
    tune_device_print(&d, &text);
    assert_null(tune_device_parse(strb_text(&text), "printed", &again));
    strb_clear(&text);
    assert_true(again.launch_ns == d.launch_ns && again.barrier_ns == d.barrier_ns && again.fma_gflops == d.fma_gflops);
    for (int t = 0; t < d.n_tiers; t++)
      assert_true(again.tier[t].bytes == d.tier[t].bytes && again.tier[t].gbps == d.tier[t].gbps &&
                  again.tier[t].latency_cycles == d.tier[t].latency_cycles);
  }
}

static void profile_bad_line_names_its_place(void **state) {
  static const char *const bad[] = {
      "name = x\ncores = -1\n",       "name = x\nwhat = 3\n",          "name = x\ntier = l2 1\n",
      "name = x\ntier = l2 -1 5 5\n", "name = x\ntier = l2 1 5 nan\n", "name = x\nmatrix = 16 16 16 bf16 nope\n",
      "name = x\ncores = 1e300\n",    "name = x\ncores 4\n",           "name = x\nfma_from = hearsay\n"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tune_device d;
    tsr_status st = tune_device_parse(bad[i], "f.profile", &d);
    assert_int_equal(tsr_status_code(st), TSR_PARSE_ERROR);
    assert_non_null(strstr(tsr_status_message(st), "f.profile:2:1"));
    assert_int_equal(d.name[0], 0);
    tsr_status_free(st);
  }
  tune_device d;
  tsr_status st = tune_device_parse("cores = 4\n", "f", &d);
  assert_int_equal(tsr_status_code(st), TSR_PARSE_ERROR);
  tsr_status_free(st);
  st = tune_device_load("/nonexistent/profile", &d);
  assert_int_equal(tsr_status_code(st), TSR_IO_ERROR);
  tsr_status_free(st);
}

static void device_measured_rate_replaces_listed(void **state) {
  tune_device d = h100();
  tune_device_measured(&d, "memory", 3012);
  assert_true(tune_device_tier(&d, "memory")->gbps == 3012 && tune_device_tier(&d, "memory")->measured);
  tune_device q = {.cores = 78, .max_warps = 48};
  tune_device_complete(&q, &d);
  assert_true(q.cores == 78 && q.max_warps == 48 && q.regs_ideal == 64 && q.n_tiers == 4);
  assert_true(tune_device_peak(&d, TSR_F8E4M3, true) == 2 * tune_device_peak(&d, TSR_BF16, true));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(occupancy_table_matches),
      cmocka_unit_test(occupancy_of_known_architectures),
      cmocka_unit_test(occupancy_gb200_counts_96_warps),
      cmocka_unit_test(occupancy_queried_limit_refuses_block),
      cmocka_unit_test(occupancy_cpu_is_unknown),
      cmocka_unit_test(shared_bytes_counts_stages_and_padding),
      cmocka_unit_test(registers_grow_with_tile_and_shrink_with_warps),
      cmocka_unit_test(bank_conflict_padding_removes_it),
      cmocka_unit_test(bank_conflicts_are_of_what_a_lane_takes),
      cmocka_unit_test(bank_count_is_a_property_of_the_device),
      cmocka_unit_test(any_config_is_computed_safely),
      cmocka_unit_test(verdicts_follow_the_guide),
      cmocka_unit_test(profile_files_equal_builtin_rows),
      cmocka_unit_test(profile_keeps_what_a_device_can_do),
      cmocka_unit_test(profile_keeps_every_bit_of_a_rate),
      cmocka_unit_test(profile_bad_line_names_its_place),
      cmocka_unit_test(device_measured_rate_replaces_listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
