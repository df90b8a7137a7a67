/* core/device/matrix_instr.h - facts of matrix instructions that both the choice of tiles and the lowerings need. */
#ifndef CORE_DEVICE_MATRIX_INSTR_H
#define CORE_DEVICE_MATRIX_INSTR_H
#include "core/device/caps.h"

/* fp8 on a device whose tensor cores keep few bits of their sums (caps.f8_sum_bits): the sums are added to others in
 * f32 each F8_PROMOTE of k, as CUTLASS and DeepGEMM do, which takes twice the registers. */
enum { F8_PROMOTE = 128 };
bool f8_is_promoted(const tsr_caps *caps, tsr_dtype in);
/* wgmma (sm_90a): the warpgroups that own a tile of m rows, and whether their registers hold an m x n
 * tile's sums. */
int wgmma_groups(int64_t m);
bool wgmma_holds(const tsr_caps *caps, tsr_dtype in, int64_t m, int64_t n);
#endif
