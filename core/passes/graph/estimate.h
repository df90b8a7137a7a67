/* core/passes/graph/estimate.h - what a function would take on a device before it has kernels: of every op its
 * operations and bytes (graph_space_of) at the device's rates, added up by device/roofline.h. It ranks ways to compute
 * one thing; the tuner's model (tune/cost.h) is of kernels with schedules. */
#ifndef CORE_PASSES_GRAPH_ESTIMATE_H
#define CORE_PASSES_GRAPH_ESTIMATE_H
#include "core/device/caps.h"
#include "core/ir/graph/ops.h"
#include "core/passes/switches.h"

/* ns of a function whose composite ops are expanded and whose complex numbers are pairs. caps: of the device, whose
 * unknown rates are assumed. Values in `data` of func's values are lost. INFINITY where a dimension is unknown. */
double graph_estimate_ns(const ir_op *func, const tsr_caps *caps, const pass_options *opts);
#endif
