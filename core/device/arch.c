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

#include "core/device/dialect.h"
#include "core/device/matrix_instr.h"

/* A row's zero means none. */
typedef struct arch_row {
  const char *name, *part;
  const char *also; /* names that users type for what its text runs on, each followed by a blank: with features that the
                       text doesn't use, and later members of the family */
  tsr_dialect dialect;
  int major, minor; /* compute capability */
  int cores, subgroup, max_warps;
  int cores_per_processor; /* what a driver calls a multiprocessor: on RDNA a pair of compute units */
  int cores_per_die; /* compute units of an XCD that devices show: MI300 38 (X: 8 XCDs, A: 6, CPX mode: 1), MI350 32;
                        0: one die */
  int max_blocks, max_barriers; /* resident blocks per core; those of more than one warp (0: no further limit) */
  int shared, shared_per_core;  /* KB; RDNA: a CU's half of its pair's 128 */
  int64_t registers_per_core;
  int max_registers;           /* of a thread */
  int parts, register_granule; /* each part of a core has its own share of the registers; allocation unit per warp */
  int shared_granule, shared_reserved, banks; /* banks of 4 bytes */
  int l2_mb, memory_gb;
  double tflops_f32, tflops_f16, gb_s;
  bool wgmma, fp8, fnuz;
  bool f8_by_f16;    /* ptxas 13.0: F2FP.F16.E4M3.UNPACK_B, HMMA */
  int f8_sum_bits;   /* see core/device/caps.h */
  bool mfma_flushes; /* MIOpen's documentation */
  int lds_load;      /* bytes of a lane's load straight to LDS */
  bool ping_pong;
  bool async_copy, clusters;
  int max_block_z, launch_ns;
  arch_assembly assembly;
} arch_row;

#define SM(n, p) \
  .name = n, .part = p, .dialect = DIALECT_CUDA, .subgroup = 32, .cores_per_processor = 1, .registers_per_core = 65536, .max_registers = 255, .parts = 4, .register_granule = 256, .shared_granule = 128, .shared_reserved = 1024, .banks = 32, .async_copy = true, .max_block_z = 64, .launch_ns = 2500
#define AMD(n, p) \
  .name = n, .part = p, .dialect = DIALECT_HIP, .max_warps = 32, .max_blocks = 32, .max_barriers = 16, .max_block_z = 1024, .launch_ns = 5000
/* The operand of s_waitcnt: vmcnt is bits 3:0 and 15:14 (gfx9), bits 15:10 (gfx11); gfx12 has an instruction per
 * counter. gfx90a's loads straight to LDS have their earlier name. */
#define CDNA(n, p) \
  AMD(n, p), .subgroup = 64, .cores_per_processor = 1, .registers_per_core = 131072, .max_registers = 512, .parts = 4, .register_granule = 512, .assembly.waitcnt = "(vm & 15) | 7 << 4 | lgkm << 8 | (vm >> 4) << 14", .assembly.any_lgkm = 15
#define RDNA(n, p) \
  AMD(n, p), .subgroup = 32, .cores_per_processor = 2, .registers_per_core = 98304, .max_registers = 256, .parts = 2, .register_granule = 768, .shared = 64, .shared_per_core = 64, .shared_granule = 512, .banks = 32

#define LDS_BY_NAME \
  .assembly.lds_word = "global_load_lds_dword %0, off", .assembly.lds_16_bytes = "global_load_lds_dwordx4 %0, off"

static const arch_row rows[] = {
    {SM("sm_80", "A100"), .cores = 108, .max_warps = 64, .max_blocks = 32, .shared = 163, .shared_per_core = 164, .l2_mb = 40, .memory_gb = 80, .tflops_f32 = 19.5, .tflops_f16 = 312, .gb_s = 2039, .major = 8, .minor = 0},
    {SM("sm_86", "RTX 3090"), .cores = 82, .max_warps = 48, .max_blocks = 16, .shared = 99, .shared_per_core = 100, .l2_mb = 6, .memory_gb = 24, .tflops_f32 = 35.6, .tflops_f16 = 71, .gb_s = 936, .major = 8, .minor = 6},
    {SM("sm_89", "L40S"), .cores = 142, .max_warps = 48, .max_blocks = 24, .shared = 99, .shared_per_core = 100, .l2_mb = 96, .memory_gb = 48, .tflops_f32 = 91.6, .tflops_f16 = 362, .gb_s = 864, .fp8 = true, .major = 8, .minor = 9, .f8_sum_bits = 14},
    {SM("sm_90a", "H100"), .cores = 132, .max_warps = 64, .max_blocks = 32, .shared = 227, .shared_per_core = 228, .l2_mb = 50, .memory_gb = 80, .tflops_f32 = 66.9, .tflops_f16 = 989, .gb_s = 3350, .wgmma = true, .fp8 = true, .also = "sm_90 ", .major = 9, .minor = 0, .clusters = true, .f8_by_f16 = true, .f8_sum_bits = 14},
    {SM("sm_100", "B200"), .cores = 148, .max_warps = 64, .max_blocks = 32, .shared = 227, .shared_per_core = 228, .l2_mb = 126, .memory_gb = 180, .tflops_f32 = 75, .tflops_f16 = 562, .gb_s = 8000, .fp8 = true, .also = "sm_100a sm_103 sm_103a ", .major = 10, .minor = 0, .clusters = true, .f8_by_f16 = true},
    {SM("sm_120", "RTX 5090"), .cores = 170, .max_warps = 48, .max_blocks = 24, .shared = 99, .shared_per_core = 100, .l2_mb = 96, .memory_gb = 32, .tflops_f32 = 104.8, .tflops_f16 = 209, .gb_s = 1792, .fp8 = true, .also = "sm_120a sm_121 sm_121a ", .major = 12, .minor = 0, .clusters = true},
    {CDNA("gfx90a", "MI250X, one die"), .cores = 110, .shared = 64, .shared_per_core = 64, .shared_granule = 512, .banks = 32, .l2_mb = 8, .memory_gb = 64, .tflops_f32 = 23.9, .tflops_f16 = 191, .gb_s = 1638, .lds_load = 4, .assembly.lds_word = "global_load_dword %0, off lds", .mfma_flushes = true},
    {CDNA("gfx942", "MI300X"), .cores = 304, .shared = 64, .shared_per_core = 64, .shared_granule = 512, .banks = 32, .l2_mb = 4, .memory_gb = 192, .tflops_f32 = 163.4, .tflops_f16 = 1307, .gb_s = 5300, .fp8 = true, .fnuz = true, .lds_load = 4, LDS_BY_NAME, .ping_pong = true, .cores_per_die = 38},
    {CDNA("gfx950", "MI355X"), .cores = 256, .shared = 160, .shared_per_core = 160, .shared_granule = 1280, .banks = 64, .l2_mb = 4, .memory_gb = 288, .tflops_f32 = 157.3, .tflops_f16 = 2500, .gb_s = 8000, .fp8 = true, .lds_load = 16, LDS_BY_NAME, .ping_pong = true, .cores_per_die = 32},
    {RDNA("gfx1100", "RX 7900 XTX"), .cores = 96, .l2_mb = 6, .memory_gb = 24, .tflops_f32 = 61.4, .tflops_f16 = 123, .gb_s = 960, .assembly.waitcnt = "7 | lgkm << 4 | vm << 10", .assembly.any_lgkm = 63},
    {RDNA("gfx1201", "RX 9070 XT"), .cores = 64, .l2_mb = 8, .memory_gb = 16, .tflops_f32 = 48.7, .tflops_f16 = 195, .gb_s = 640, .fp8 = true},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static int dies(const arch_row *r, int cores) {
  int each = r->cores_per_die, n = each ? (cores + each / 2) / each : 1;
  return n > 0 ? n : 1;
}

static void fill(const arch_row *r, tsr_caps *c) {
  *c = (tsr_caps){.dialect = r->dialect,
                  .n_cores = r->cores,
                  .cores_from = CORES_LISTED,
                  .subgroup = r->subgroup,
                  .subgroup_min = r->subgroup,
                  .subgroup_max = r->subgroup,
                  .max_threads = 1024,
                  .max_block = {1024, 1024, r->max_block_z},
                  .max_grid = {INT32_MAX, 65535, 65535},
                  .max_warps_per_core = r->max_warps,
                  .max_blocks_per_core = r->max_blocks,
                  .max_barriers_per_core = r->max_barriers,
                  .core_parts = r->parts,
                  .register_granule = r->register_granule,
                  .shared_granule = r->shared_granule,
                  .shared_reserved = r->shared_reserved,
                  .registers_per_core = r->registers_per_core,
                  .max_registers = r->max_registers,
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
                  .async_copy = r->async_copy,
                  .tma = r->wgmma,
                  .wgmma = r->wgmma,
                  .clusters = r->clusters,
                  .int_dot = true,
                  .subgroup_shuffle = true,
                  .full_subgroups = true,
                  .fnuz = r->fnuz,
                  .peak_flops_f32 = r->tflops_f32 * 1e12,
                  .peak_flops_matrix = r->tflops_f16 * 1e12,
                  .bytes_per_s = r->gb_s * 1e9,
                  .launch_ns = r->launch_ns};
  snprintf(c->arch, sizeof c->arch, "%s", r->name);
  c->n_dies = dies(r, c->n_cores);
  c->f8_by_f16 = r->f8_by_f16;
  c->lds_load_bytes = r->lds_load;
  c->ping_pong = r->ping_pong;
  c->mfma_flushes = r->mfma_flushes;
  c->f8_sum_bits = r->f8_sum_bits;
  matrix_instr_list(c);
}

static bool is_called(const arch_row *r, const char *arch) {
  size_t n = strlen(arch);
  if (!strcmp(r->name, arch)) return true;
  for (const char *p = r->also ? r->also : "", *end; (end = strchr(p, ' ')); p = end + 1)
    if ((size_t)(end - p) == n && !strncmp(p, arch, n)) return true;
  return false;
}

static const arch_row *row_of(const char *arch) {
  for (const arch_row *r = rows; r < rows + N_ROWS; r++)
    if (is_called(r, arch)) return r;
  return NULL;
}

tsr_status arch_caps_of(tsr_dialect dialect, const char *arch, tsr_caps *out) {
  char known[256] = "";
  int n;
  const matrix_instr *instructions = matrix_instr_rows(&n);
  assert(!matrix_instr_check(instructions, n));
  (void)instructions;
  for (const arch_row *r = rows; r < rows + N_ROWS; r++) {
    if (r->dialect != dialect) continue;
    if (is_called(r, arch)) return fill(r, out), NULL;
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", r->name);
  }
  return st_make(NULL, TSR_NOT_FOUND, ST_WHERE(target_dialect_name(dialect), arch, known),
                 "unknown architecture \"%s\"", arch);
}

const char *arch_part(const char *arch) {
  const arch_row *r = row_of(arch);
  return r ? r->part : NULL;
}

const arch_assembly *arch_assembly_of(const char *arch) {
  static const arch_assembly none;
  const arch_row *r = row_of(arch);
  return r ? &r->assembly : &none;
}

/* 10.3 runs what is made for 10.0, 12.1 what is for 12.0: not with the suffix a, which binds code to one number. */
const char *arch_of_capability(int major, int minor) {
  const arch_row *best = NULL;
  for (const arch_row *r = rows; r < rows + N_ROWS; r++)
    if (r->dialect == DIALECT_CUDA && r->major == major && r->minor <= minor && (!best || r->minor > best->minor))
      best = r;
  return best ? best->name : NULL;
}

void arch_set_processors(tsr_caps *c, int processors) {
  const arch_row *r = row_of(c->arch);
  c->n_cores = r ? processors * r->cores_per_processor : processors;
  c->cores_from = CORES_DRIVER;
  c->n_dies = r ? dies(r, c->n_cores) : 1;
}
