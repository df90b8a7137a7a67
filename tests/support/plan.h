/* tests/support/plan.h - Tile IR of a graph's text, planned by default for a device that need not be here. */
#ifndef TESTS_SUPPORT_PLAN_H
#define TESTS_SUPPORT_PLAN_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* In two steps: what becomes a kernel; and its Tile IR with what its schedule leaves open by default. */
tsr_status plan_schedule(const char *graph, size_t bytes, const char *file, const tsr_caps *caps, ir_module **out);
tsr_status plan_kernels(ir_module *schedule, const tsr_caps *caps, ir_module **out);
tsr_status plan_tile(const char *graph, size_t bytes, const char *file, const tsr_caps *caps, ir_module **out);
#endif
