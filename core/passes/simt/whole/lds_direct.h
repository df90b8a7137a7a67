/* core/passes/simt/whole/lds_direct.h - the CDNA matmul with operands copied from global memory straight to LDS: lowers
 * a whole canonical matmul kernel of Tile IR (simt/whole/match.h) for gfx90a, gfx942 and gfx950, with or without the
 * eight-wave ping-pong. */
#ifndef CORE_PASSES_SIMT_WHOLE_LDS_DIRECT_H
#define CORE_PASSES_SIMT_WHOLE_LDS_DIRECT_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* False with the reason where simt_direct_kernel would leave the kernel alone. */
bool simt_direct_takes(const ir_op *kernel, const tsr_caps *caps, bool pingpong, const char **why);

/* Appends the Target IR kernel to m's root when this path fits; else leaves m alone, *done false, and *why says what is
 * missing. */
tsr_status simt_direct_kernel(const ir_op *kernel, const tsr_caps *caps, bool pingpong, ir_module *m, bool *done,
                              const char **why);

#endif
