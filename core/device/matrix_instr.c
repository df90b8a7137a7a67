/* core/device/matrix_instr.c - see device/matrix_instr.h. */
#include "core/device/matrix_instr.h"

bool f8_is_promoted(const tsr_caps *caps, tsr_dtype in) {
  return caps->f8_sum_bits > 0 && (in == TSR_F8E4M3 || in == TSR_F8E5M2);
}

int wgmma_groups(int64_t m) { return m == 256 ? 2 : (int)(m / 64); }

/* Registers of a consumer: 232 of two, 160 of three (simt/whole/wgmma.c, registers()). Both sets of sums leave room for
 * addresses and the epilogue's values. */
bool wgmma_holds(const tsr_caps *caps, tsr_dtype in, int64_t m, int64_t n) {
  int64_t groups = wgmma_groups(m), columns = m / 64 / groups * n;
  return columns <= (!f8_is_promoted(caps, in) ? 256 : groups == 3 ? 96 : 192);
}
