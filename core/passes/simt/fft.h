/* core/passes/simt/fft.h - stages of a fast Fourier transform. */
#ifndef CORE_PASSES_SIMT_FFT_H
#define CORE_PASSES_SIMT_FFT_H
#include "core/passes/simt/state.h"

tsr_status simt_lower_fft(simt *c, ir_op *op);

#endif
