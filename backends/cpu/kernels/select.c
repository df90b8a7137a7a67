/* Chooses a kernel table by what the processor and the operating system support.
 * Features are read bit by bit from cpuid: no family or model implies one, and AVX needs the OS to save its registers
 * (xgetbv). */
#include "internal.h"
#include "winograd.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* ---- what the machine has ---- */

enum {
  HAS_AVX2 = 1 << 0,
  HAS_AVX512 = 1 << 1, /* F, BW, DQ, VL, and everything of AVX2 */
  HAS_VNNI = 1 << 2,
  HAS_BF16 = 1 << 3,
  FAST_BF16 = 1 << 4, /* vdpbf16ps does twice the work of an f32 FMA in the same time */
  HAS_AMX = 1 << 5,   /* TILE, BF16, INT8, and the kernel's permission */
  HAS_NEON = 1 << 6
};

#if defined(__x86_64__)
static uint64_t xgetbv0(void) {
  uint32_t lo, hi;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (uint64_t)hi << 32 | lo;
}
static bool is_vendor(const char *name) {
  unsigned max, id[3];
  __get_cpuid(0, &max, &id[0], &id[2], &id[1]);
  return memcmp(id, name, 12) == 0;
}
/* Tile data is a state that a process must ask for (Linux Documentation/arch/x86/xstate.rst); threads made later
 * inherit it. */
static bool amx_usable(unsigned features, uint64_t xcr0) {
#if defined(CPUK_AMX_EMULATE)
  return true;
#elif defined(__linux__)
  enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
  const bool bf16 = features >> 22 & 1, tile = features >> 24 & 1, int8 = features >> 25 & 1;
  return bf16 && tile && int8 && (xcr0 & 0x60000) == 0x60000 &&
         syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
  return false;
#endif
}
static unsigned detect(void) {
  unsigned a, b, c, d, has = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const unsigned osxsave = c >> 27 & 1, avx = c >> 28 & 1, fma = c >> 12 & 1, f16c = c >> 29 & 1;
  if (!(osxsave && avx && fma && f16c) || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  const uint64_t xcr0 = xgetbv0();
  const unsigned avx2 = b >> 5 & 1, bmi2 = b >> 8 & 1, f = b >> 16 & 1, dq = b >> 17 & 1, bw = b >> 30 & 1,
                 vl = b >> 31 & 1;
  const unsigned vnni = c >> 11 & 1, amx = d;
  if ((xcr0 & 0x6) == 0x6 && avx2 && bmi2) has |= HAS_AVX2;
  if (!(has & HAS_AVX2) || (xcr0 & 0xe6) != 0xe6 || !(f && dq && bw && vl)) return has;
  has |= HAS_AVX512;
  if (vnni) has |= HAS_VNNI;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1)) has |= HAS_BF16;
  /* Measured: full rate on Zen 4 and 5, half rate on Sapphire Rapids, where converting to f32 is as fast and AMX far
   * faster. */
  if ((has & HAS_BF16) && is_vendor("AuthenticAMD")) has |= FAST_BF16;
  if ((has & HAS_VNNI) && (has & HAS_BF16) && amx_usable(amx, xcr0)) has |= HAS_AMX;
  return has;
}
#elif defined(__aarch64__)
static unsigned detect(void) { return HAS_NEON; }
#else
static unsigned detect(void) { return 0; }
#endif

/* ---- tables, best first ---- */

static void nothing(void) {}

/* The kinds of `base`, with the reduction kernels, bf16 and the integer kinds named. */
#define TABLE(ISA, FEATURES, base, row, bf16, s8s8, u8s8, product, BEGIN, END)                                         \
  {                                                                                                                    \
    .isa = ISA, .features = FEATURES, .lanes = &cpuk_lanes_##base, .rows = &cpuk_rows_##row, .dft = &cpuk_dft_##base,  \
    .gemm = {[CPUK_GEMM_F32] = &cpuk_gemm_f32_##base, [CPUK_GEMM_BF16] = &cpuk_gemm_bf16_##bf16,                       \
             [CPUK_GEMM_F16] = &cpuk_gemm_f16_##base, [CPUK_GEMM_S8S8] = &cpuk_gemm_s8s8_##s8s8,                       \
             [CPUK_GEMM_U8S8] = &cpuk_gemm_u8s8_##u8s8, [CPUK_GEMM_F64] = &cpuk_gemm_f64_##base,                       \
             [CPUK_GEMM_F32_KAHAN] = &cpuk_gemm_f32_kahan_##base, [CPUK_GEMM_F64_KAHAN] = &cpuk_gemm_f64_kahan_##base, \
             [CPUK_GEMM_S16] = &cpuk_gemm_s16_##base, [CPUK_GEMM_S32] = &cpuk_gemm_s32_##base, [CPUK_GEMM_S64] = &cpuk_gemm_s64_##base},\
    .blocks = &product, .winograd = &cpuk_winograd_##base, .thread_begin = BEGIN, .thread_end = END                    \
  }
typedef struct choice {
  unsigned needs;
  cpuk_table table;
} choice;
static const choice choices[] = {
#if defined(__x86_64__)
    {HAS_AVX512 | HAS_AMX, TABLE("amx", "avx512 vnni bf16 amx-bf16 amx-int8", avx512, avx512bf16, amx, amx, amx,
                                 cpuk_blocks_avx512vnni, cpuk_amx_thread_begin, cpuk_amx_thread_end)},
    {HAS_AVX512 | HAS_VNNI | FAST_BF16,
     TABLE("avx512", "avx512 vnni bf16", avx512, avx512bf16, avx512bf16, avx512vnni, avx512vnni,
           cpuk_blocks_avx512vnni, nothing, nothing)},
    {HAS_AVX512 | HAS_VNNI,
     TABLE("avx512", "avx512 vnni", avx512, avx512, avx512, avx512vnni, avx512vnni,
           cpuk_blocks_avx512vnni, nothing, nothing)},
    {HAS_AVX512, TABLE("avx512", "avx512", avx512, avx512, avx512, avx512, avx512, cpuk_blocks_avx2, nothing, nothing)},
    {HAS_AVX2, TABLE("avx2", "avx2 fma f16c", avx2, avx2, avx2, avx2, avx2, cpuk_blocks_avx2, nothing, nothing)},
#elif defined(__aarch64__)
    {HAS_NEON, TABLE("neon", "neon", neon, neon, neon, neon, neon, block_kernels_portable, nothing, nothing)},
#endif
    {0, TABLE("portable", "portable", portable, portable, portable, portable, portable, block_kernels_portable, nothing,
              nothing)},
};
enum { N_CHOICES = sizeof choices / sizeof *choices };
static const char *const known[] = {"portable", "avx2", "avx512", "amx", "neon"};

const cpuk_table *cpuk_available(size_t i) {
  unsigned has = detect();
  for (size_t j = 0; j < N_CHOICES; j++)
    if ((has & choices[j].needs) == choices[j].needs && i-- == 0) return &choices[j].table;
  return NULL;
}

const cpuk_table *cpuk_select(const char *isa, char *err, size_t err_bytes) {
  const cpuk_table *t;
  if (isa == NULL || *isa == 0 || strcmp(isa, "auto") == 0) return cpuk_available(0);
  for (size_t i = 0; (t = cpuk_available(i)) != NULL; i++)
    if (strcmp(t->isa, isa) == 0) return t;
  bool is_known = false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) is_known = is_known || strcmp(isa, known[i]) == 0;
  if (err != NULL && err_bytes != 0) {
    int n = snprintf(err, err_bytes, is_known ? "CPU instruction set '%s' isn't supported by this machine; it has:"
                                              : "unknown CPU instruction set '%s'; this machine has: auto", isa);
    for (size_t i = 0; (t = cpuk_available(i)) != NULL && n >= 0 && (size_t)n < err_bytes; i++)
      if (i == 0 || strcmp(t->isa, cpuk_available(i - 1)->isa) != 0)
        n += snprintf(err + n, err_bytes - (size_t)n, " %s", t->isa);
  }
  return NULL;
}
