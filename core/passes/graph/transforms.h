/* core/passes/graph/transforms.h - Fourier transforms of pairs become what the device computes: kernels of as many
 * points as one takes, and passes over those where there are more; products with constant matrices where there is no
 * such kernel. */
#ifndef CORE_PASSES_GRAPH_TRANSFORMS_H
#define CORE_PASSES_GRAPH_TRANSFORMS_H
#include "core/device/caps.h"
#include "core/passes/switches.h"

/* All functions of a module, which is then verified if anything changed. caps NULL: of no device. */
TSR_MUST_USE tsr_status graph_lower_transforms(ir_module *m, const tsr_caps *caps, const pass_options *opts);
#endif
