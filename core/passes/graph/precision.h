/* core/passes/graph/precision.h - the modes of docs/precision.md that change types, as a pass over Graph IR: safe
 * computes floats narrower than f32 in f32; aggressive gives products fp8 operands with scales and attention bf16 ones,
 * with sums in f32; tf32 rounds the operands of products of f32 to that. What a function takes and gives keeps its
 * type. Each change is a line of the trace. */
#ifndef CORE_PASSES_GRAPH_PRECISION_H
#define CORE_PASSES_GRAPH_PRECISION_H
#include "core/ir/ir.h"
#include "core/passes/switches.h"

/* The attribute fp8_scales of a function. */
#define FP8_SCALES_WORDS "channel, tensor, none, block"

tsr_status graph_apply_precision(ir_module *m, tsr_precision mode, const pass_options *opts);
#endif
