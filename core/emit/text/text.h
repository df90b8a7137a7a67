/* core/emit/text/text.h - Target IR to C++ text for CUDA (NVRTC, --std=c++17), HIP (hipRTC, or clang -x hip
 * -nogpulib -nogpuinc) and the host emulator. The output is one self-contained translation unit: no headers, no
 * libraries. */
#ifndef CORE_EMIT_TEXT_TEXT_H
#define CORE_EMIT_TEXT_TEXT_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Appends the text of all kernels of `target`. TSR_UNSUPPORTED names an op that the dialect can't say. */
tsr_status emit_text(const ir_module *target, const tsr_caps *caps, strb *out);

#endif
