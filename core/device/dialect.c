/* core/device/dialect.c - see dialect.h. */
#include "core/device/dialect.h"

static const dialect_row rows[N_DIALECTS] = {
    [DIALECT_CPU] = {.name = "cpu", .plain_arch = "cpu", .plain_subgroup = 1},
    [DIALECT_SPIRV] = {.name = "spirv", .ops = OPS_SPIRV, .gpu = true, .compile_deadline = true, .rates_measured = true, .plain_arch = "spirv", .plain_subgroup = 32},
    [DIALECT_CUDA] = {.name = "cuda", .ops = OPS_NVIDIA, .gpu = true, .has_arch_table = true, .reports_spills = true,
                      .language = "CUDA C++", .text_name = "CUDA", .compile_with = "NVRTC --std=c++17", .plain_arch = "sm_80", .plain_subgroup = 32},
    [DIALECT_HIP] = {.name = "hip", .ops = OPS_AMD, .gpu = true, .has_arch_table = true, .reports_spills = true, .moves_freely = true,
                     .language = "HIP C++", .text_name = "HIP", .compile_with = "clang -x hip --cuda-device-only -nogpulib -nogpuinc -O3", .plain_arch = "gfx90a", .plain_subgroup = 64},
    [DIALECT_HOST] = {.name = "host", .ops = OPS_NVIDIA | OPS_AMD, .gpu = true,
                      .language = "CUDA C++", .text_name = "CUDA", .compile_with = "NVRTC --std=c++17", .plain_arch = "host", .plain_subgroup = 32}};

const dialect_row *dialect_at(tsr_dialect d) { return &rows[d]; }
const dialect_row *dialect_of(const tsr_caps *c) { return &rows[c->dialect]; }
const char *target_dialect_name(tsr_dialect d) { return rows[d].name; }

bool caps_simd_like(const tsr_caps *c) { return dialect_of(c)->gpu && simd_like(c->subgroup); }

int caps_simd_lanes(const tsr_caps *c) {
  return caps_simd_like(c) && c->subgroup_max == c->subgroup && c->i64 && !c->one_lane_a_time ? c->subgroup : 0;
}

bool caps_coalesces(const tsr_caps *c) { return dialect_of(c)->gpu && !caps_simd_like(c); }
