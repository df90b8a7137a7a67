/* tests/simt/target_run.h - from IR to a run in the emulator: Tile IR is lowered for an architecture, printed as CUDA
 * or HIP text, compiled for the host and launched. Used by the tests and by the emulated backend. */
#ifndef TSR_SIMT_TARGET_RUN_H
#define TSR_SIMT_TARGET_RUN_H
#include "core/device/backend.h"
#include "core/ir/ir.h"
#include "tests/simt/simt.h"

enum { EMU_MAX_KERNELS = 64, EMU_MAX_MAPS = 8, EMU_MAX_ARGS = 64 };

typedef struct emu_unit { /* a compiled translation unit and what its kernels need */
  emu_module *module;
  char *source;
  tsr_caps caps;
  be_kernel_desc kernels[EMU_MAX_KERNELS];
  be_tensor_map maps[EMU_MAX_KERNELS][EMU_MAX_MAPS];
  char names[EMU_MAX_KERNELS][128], paths[EMU_MAX_KERNELS][96];
  int n_kernels;
} emu_unit;

/* Of the dialect whose table has the architecture: "sm_90a" is CUDA, "gfx942" is HIP. */
tsr_status emu_arch_caps(const char *arch, tsr_caps *out);
/* Compiles the kernels of a Tile IR or Target IR module. TSR_UNSUPPORTED as the lowering says it; TSR_INTERNAL with the
 * compiler's first lines if the text doesn't compile. *out is zero after failure. */
tsr_status emu_build(const ir_module *m, const tsr_caps *caps, emu_unit *out);
/* The same of text that is already there. The descs are copied. */
tsr_status emu_build_text(const char *source, const be_kernel_desc *kernels, int n, const tsr_caps *caps,
                          emu_unit *out);
void emu_unit_clear(emu_unit *u);
/* Runs one kernel over its buffers (n_args of them; the last n_outputs are writable), adding to `r`. */
tsr_status emu_launch(const emu_unit *u, int kernel, const emu_range *buffers, unsigned seed, emu_report *r);

#endif
