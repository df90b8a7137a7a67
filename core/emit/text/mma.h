/* core/emit/text/mma.h - the wrapper of one matrix instruction, as a module that uses it has it above its kernels. */
#ifndef CORE_EMIT_TEXT_MMA_H
#define CORE_EMIT_TEXT_MMA_H
#include "core/emit/text/line.h"

const char *text_mma_type(tsr_dtype t, bool fnuz);
void text_cuda_mma(strb *b, const text_mma *i, const text_use *u);
void text_cuda_wgmma(strb *b, const text_mma *i, const text_use *u);
void text_hip_mma(strb *b, const text_mma *i, const text_use *u);

#endif
