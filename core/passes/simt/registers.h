/* core/passes/simt/registers.h - fragments as registers. */
#ifndef CORE_PASSES_SIMT_REGISTERS_H
#define CORE_PASSES_SIMT_REGISTERS_H
#include "core/passes/simt/state.h"

/* f as registers of its layout (materialises splats, converts opaque values). */
tsr_status simt_regs(simt *c, const simt_frag *f, simt_frag *out);

#endif
