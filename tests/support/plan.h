/* tests/support/plan.h - Tile IR of a graph's text, planned by default for a device that need not be here. */
#ifndef TESTS_SUPPORT_PLAN_H
#define TESTS_SUPPORT_PLAN_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

tsr_status plan_tile(const char *graph, size_t bytes, const char *file, const tsr_caps *caps, ir_module **out);
#endif
