/* core/passes/simt/matrix/amd.h - AMD's matrix instructions. */
#ifndef CORE_PASSES_SIMT_MATRIX_AMD_H
#define CORE_PASSES_SIMT_MATRIX_AMD_H
#include "core/device/matrix_instr.h"
#include "core/passes/simt/state.h"

/* AMD: the deepest 16 x 16 instruction for a product's types that divides its depth, or NULL. */
const matrix_instr *simt_amd_instruction(const tsr_caps *caps, const simt_gemm *g);

#endif
