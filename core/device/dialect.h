/* core/device/dialect.h - what holds of all devices of a dialect of device code, as one row a dialect, and the traits
 * of a device that follow from its capabilities. A fact of one architecture is a field of tsr_caps (core/device/arch.c
 * fills it). */
#ifndef CORE_DEVICE_DIALECT_H
#define CORE_DEVICE_DIALECT_H
#include "core/device/caps.h"

/* Sets of Target IR ops besides those of every GPU dialect (core/ir/target). */
enum { OPS_NVIDIA = 1 << 0, OPS_AMD = 1 << 1, OPS_SPIRV = 1 << 2 };

typedef struct dialect_row {
  const char *name;         /* "cuda": the `dialect` attribute of a Target IR kernel */
  unsigned ops;             /* sets of ops that it can say */
  bool gpu;                 /* a kernel is a block of threads with shared memory; else a tile is one thread's */
  bool has_arch_table;      /* architectures are rows of core/device/arch.c: with their occupancy known, tiles may be
                               shared among resident blocks */
  bool rates_measured;      /* rates are what self-tests reached, not a data sheet's */
  bool reports_spills;      /* its compiler tells of registers spilled, which a lighter schedule avoids */
  bool compile_deadline;    /* TSR_TIMEOUT is the driver's compiler, given up (TSR_VK_DEADLINE_MS) */
  /* Its compiler spreads narrow registers, moves instructions over branches and unrolls short loops whole: neighbours
   * stay in vectors of up to 16, stores stand without a branch, loops over whole products say that they stay loops. */
  bool moves_freely;
  /* The text for its compiler (core/emit/text); NULL: there is none. */
  const char *language, *text_name, *compile_with;
  /* What a null device of it stands for (backends/null). */
  const char *plain_arch;
  int plain_subgroup;
} dialect_row;

const dialect_row *dialect_of(const tsr_caps *c);
const dialect_row *dialect_at(tsr_dialect d);
/* "cpu", "spirv", ...: the `dialect` attribute of a Target IR kernel. */
const char *target_dialect_name(tsr_dialect d);

/* Subgroups of 2 to 8 lanes are a SIMD register of a CPU (lavapipe): a block runs on one core, its subgroups in turns;
 * caches stand in for shared memory, nothing runs beside a thread, and what doesn't fit registers spills to a near
 * cache. */
static inline bool simd_like(int subgroup) { return subgroup > 1 && subgroup <= 8; }
bool caps_simd_like(const tsr_caps *c);
/* Lanes of a SIMD-like device's subgroup where a kernel can rely on them, since the driver has no other size, 64-bit
 * indices, and one access for a word that all lanes read; else 0. */
int caps_simd_lanes(const tsr_caps *c);
/* Do threads that read neighbours in memory share one access? So on GPUs, apart from what is SIMD-like. */
bool caps_coalesces(const tsr_caps *c);
#endif
