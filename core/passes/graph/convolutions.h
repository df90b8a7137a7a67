/* core/passes/graph/convolutions.h - the rule fft_convolution: a convolution becomes the product of spectra where that
 * is estimated to cost less, or where its attribute `algorithm` asks for it. It changes rounding, and a number that is
 * not finite spreads over its image: so it is off where no rewrite may change rounding and in the mode safe, but for
 * what asks. */
#ifndef CORE_PASSES_GRAPH_CONVOLUTIONS_H
#define CORE_PASSES_GRAPH_CONVOLUTIONS_H
#include "core/device/caps.h"
#include "core/passes/switches.h"
#include "tessera/tessera.h"

/* All functions of a module, which is then verified if anything changed. caps NULL: of no device; what asks alone is
 * rewritten. */
TSR_MUST_USE tsr_status graph_choose_convolutions(ir_module *m, const tsr_caps *caps, tsr_precision mode,
                                                  const pass_options *opts);
#endif
