/* core/device/arch.c - one table row per architecture of CUDA and HIP. Sources: CUDA C++ programming guide, "Compute
 * Capabilities"; the vendors' data sheets for the part named in the row (dense rates); AMD's instruction set manuals.
 * Allocation units: CUDA's occupancy calculator; LLVM's AMDGPU subtargets (512 VGPRs a SIMD in eights on CDNA; 1536 of
 * 32 lanes in units of 24 on the RDNA parts here). Banks: 32, on CDNA 4 64 (as Composable Kernel's architecture table
 * has it); an RDNA CU's half of its pair's memory has 32. sm_100's matrix rate is that of mma.sync, which is all that
 * the text uses there: a quarter of the data sheet's 2,250 TFLOP/s, which only tcgen05 reaches (2,048 operations a
 * clock and SM as on sm_80; no public figure is known). */
#include "core/device/arch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/device/matrix_instr.h"

typedef struct arch_row {
  const char *name, *part;
  tsr_dialect dialect;
  int cores, subgroup, max_warps;
  int max_blocks, max_barriers;      /* resident blocks per core; those of more than one warp (0: no further limit) */
  int shared, shared_per_core;       /* KB; RDNA: a CU's half of its pair's 128 */
  int64_t registers_per_core;
  int parts, register_granule; /* each part of a core has its own share of the registers; allocation unit per warp */
  int shared_granule, shared_reserved, banks; /* banks of 4 bytes */
  int l2_mb, memory_gb;
  double tflops_f32, tflops_f16, gb_s;
  bool wgmma, fp8, fnuz;
  int lds_load; /* bytes of a lane's load straight to LDS; 0: none */
  bool ping_pong;
} arch_row;

static const arch_row rows[] = {
    {"sm_80", "A100", DIALECT_CUDA, 108, 32, 64, 32, 0, 163, 164, 65536, 4, 256, 128, 1024, 32, 40, 80, 19.5, 312, 2039, false, false, false},
    {"sm_86", "RTX 3090", DIALECT_CUDA, 82, 32, 48, 16, 0, 99, 100, 65536, 4, 256, 128, 1024, 32, 6, 24, 35.6, 71, 936, false, false, false},
    {"sm_89", "L40S", DIALECT_CUDA, 142, 32, 48, 24, 0, 99, 100, 65536, 4, 256, 128, 1024, 32, 96, 48, 91.6, 362, 864, false, true, false},
    {"sm_90a", "H100", DIALECT_CUDA, 132, 32, 64, 32, 0, 227, 228, 65536, 4, 256, 128, 1024, 32, 50, 80, 66.9, 989, 3350, true, true, false},
    {"sm_100", "B200", DIALECT_CUDA, 148, 32, 64, 32, 0, 227, 228, 65536, 4, 256, 128, 1024, 32, 126, 180, 75, 562, 8000, false, true, false},
    {"sm_120", "RTX 5090", DIALECT_CUDA, 170, 32, 48, 24, 0, 99, 100, 65536, 4, 256, 128, 1024, 32, 96, 32, 104.8, 209, 1792, false, true, false},
    {"gfx90a", "MI250X, one die", DIALECT_HIP, 110, 64, 32, 32, 16, 64, 64, 131072, 4, 512, 512, 0, 32, 8, 64, 23.9, 191, 1638, false, false, false, 4},
    {"gfx942", "MI300X", DIALECT_HIP, 304, 64, 32, 32, 16, 64, 64, 131072, 4, 512, 512, 0, 32, 4, 192, 163.4, 1307, 5300, false, true, true, 4, true},
    {"gfx950", "MI355X", DIALECT_HIP, 256, 64, 32, 32, 16, 160, 160, 131072, 4, 512, 1280, 0, 64, 4, 288, 157.3, 2500, 8000, false, true, false, 16, true},
    {"gfx1100", "RX 7900 XTX", DIALECT_HIP, 96, 32, 32, 32, 16, 64, 64, 98304, 2, 768, 512, 0, 32, 6, 24, 61.4, 123, 960, false, false, false},
    {"gfx1201", "RX 9070 XT", DIALECT_HIP, 64, 32, 32, 32, 16, 64, 64, 98304, 2, 768, 512, 0, 32, 8, 16, 48.7, 195, 640, false, true, false},
};

/* XCDs of CDNA 3 and 4, from the compute units that a device shows: 38 each on MI300 (X: 8, A: 6, one partition of CPX
 * mode: 1), 32 each on MI350. */
static int dies(const char *arch, int cores) {
  int each = !strcmp(arch, "gfx942") ? 38 : !strcmp(arch, "gfx950") ? 32 : 0, n = each ? (cores + each / 2) / each : 1;
  return n > 0 ? n : 1;
}

static void fill(const arch_row *r, tsr_caps *c) {
  bool cuda = r->dialect == DIALECT_CUDA;
  *c = (tsr_caps){.dialect = r->dialect,
                  .n_cores = r->cores,
                  .subgroup = r->subgroup,
                  .subgroup_min = r->subgroup,
                  .subgroup_max = r->subgroup,
                  .max_threads = 1024,
                  .max_block = {1024, 1024, cuda ? 64 : 1024},
                  .max_grid = {INT32_MAX, 65535, 65535},
                  .max_warps_per_core = r->max_warps,
                  .max_blocks_per_core = r->max_blocks,
                  .max_barriers_per_core = r->max_barriers,
                  .core_parts = r->parts,
                  .register_granule = r->register_granule,
                  .shared_granule = r->shared_granule,
                  .shared_reserved = r->shared_reserved,
                  .registers_per_core = r->registers_per_core,
                  .max_registers = cuda                           ? 255
                                   : !strncmp(r->name, "gfx9", 4) ? 512
                                                                  : 256,
                  .shared_bytes = (int64_t)r->shared << 10,
                  .shared_per_core = (int64_t)r->shared_per_core << 10,
                  .shared_banks = r->banks,
                  .l2_bytes = (int64_t)r->l2_mb << 20,
                  .max_buffer_bytes = (int64_t)r->memory_gb << 30,
                  .memory_bytes = (int64_t)r->memory_gb << 30,
                  .alignment = 256,
                  .vector_bytes = 16,
                  .f64 = true,
                  .denorm_f16 = true,
                  .denorm_f32 = true,
                  .denorm_f64 = true,
                  .f16 = true,
                  .bf16 = true,
                  .f8 = r->fp8,
                  .i8 = true,
                  .i64 = true,
                  .atomics = true,
                  .async_copy = cuda,
                  .tma = r->wgmma,
                  .wgmma = r->wgmma,
                  .clusters = r->wgmma,
                  .int_dot = true,
                  .subgroup_shuffle = true,
                  .subgroup_arithmetic = true,
                  .full_subgroups = true,
                  .fnuz = r->fnuz,
                  .peak_flops_f32 = r->tflops_f32 * 1e12,
                  .peak_flops_matrix = r->tflops_f16 * 1e12,
                  .bytes_per_s = r->gb_s * 1e9,
                  .launch_ns = cuda ? 2500 : 5000};
  snprintf(c->arch, sizeof c->arch, "%s", r->name);
  c->n_dies = dies(c->arch, c->n_cores);
  c->f8_by_f16 =
      !strcmp(c->arch, "sm_90a") || !strcmp(c->arch, "sm_100"); /* ptxas 13.0: F2FP.F16.E4M3.UNPACK_B, HMMA */
  c->lds_load_bytes = r->lds_load;
  c->ping_pong = r->ping_pong;
  c->mfma_flushes = !strcmp(c->arch, "gfx90a"); /* MIOpen's documentation */
  c->f8_sum_bits = !strcmp(c->arch, "sm_89") || !strcmp(c->arch, "sm_90a") ? 14 : 0;
  matrix_instr_list(c);
}

/* The names that users type for what a row's text runs on: those with features that the text doesn't use, and later
 * members of the family. */
static const char *row_name(const char *arch) {
  static const char *const same[][2] = {{"sm_90", "sm_90a"},   {"sm_100a", "sm_100"}, {"sm_103", "sm_100"},
                                        {"sm_103a", "sm_100"}, {"sm_120a", "sm_120"}, {"sm_121", "sm_120"},
                                        {"sm_121a", "sm_120"}};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++)
    if (!strcmp(arch, same[i][0])) return same[i][1];
  return arch;
}

tsr_status arch_caps_of(tsr_dialect dialect, const char *arch, tsr_caps *out) {
  char known[256] = "";
  int n;
  const matrix_instr *instructions = matrix_instr_rows(&n);
  assert(!matrix_instr_check(instructions, n));
  (void)instructions;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].dialect != dialect) continue;
    if (!strcmp(rows[i].name, row_name(arch))) return fill(&rows[i], out), NULL;
    size_t n = strlen(known);
    snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", rows[i].name);
  }
  return st_make(NULL, TSR_NOT_FOUND, ST_WHERE(dialect == DIALECT_CUDA ? "cuda" : "hip", arch, known),
                 "unknown architecture \"%s\"", arch);
}

const char *arch_of_capability(int major, int minor) {
  if (major == 9) return "sm_90a";
  if (major == 10)
    return "sm_100"; /* 10.3 runs it too, 12.1 what is made for 12.0: not with the suffix a, which binds code to one
                        number */
  if (major == 12) return "sm_120";
  if (major == 8) return minor >= 9 ? "sm_89" : minor >= 6 ? "sm_86" : "sm_80";
  return NULL;
}

void arch_set_processors(tsr_caps *c, int processors) {
  c->n_cores = strncmp(c->arch, "gfx1", 4) ? processors : 2 * processors;
  c->n_dies = dies(c->arch, c->n_cores);
}
