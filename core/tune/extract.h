/* core/tune/extract.h - one kernel of a Schedule IR program on its own: as a program that can be compiled and timed
 * with other parameters, and as a graph function that the oracle can evaluate. What the kernel reads becomes an input;
 * constants stay constants. */
#ifndef CORE_TUNE_EXTRACT_H
#define CORE_TUNE_EXTRACT_H
#include "core/ir/ir.h"

/* A module with one schedule.program (policy and precision as where the kernel stands) of this one kernel. */
TSR_MUST_USE tsr_status extract_schedule(const ir_op *kernel, ir_module **out);
/* The kernel of such a module. */
ir_op *extract_kernel(const ir_module *schedule);
/* A module with one graph.func "main" that computes the kernel's body; same inputs and results. */
TSR_MUST_USE tsr_status extract_graph(const ir_op *kernel, ir_module **out);
#endif
