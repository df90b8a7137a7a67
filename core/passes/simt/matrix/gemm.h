/* core/passes/simt/matrix/gemm.h - gemm in general, and the SIMT outer product. */
#ifndef CORE_PASSES_SIMT_MATRIX_GEMM_H
#define CORE_PASSES_SIMT_MATRIX_GEMM_H
#include "core/passes/simt/state.h"

tsr_status simt_fma_gemm(simt *c, const simt_gemm *g, const simt_frag *acc,
                         simt_frag *out); /* gemm of fma and lane_n */
tsr_status simt_lower_gemm(simt *c, ir_op *op);

#endif
