/* tests/simt/backend_emu.h - the emulator as a backend of the runtime, for tests (tsr_context_desc.extra_backends):
 * devices emu:0 to emu:4 are an sm_80, sm_90a, gfx90a, gfx942 and gfx1100 whose memory is the host's and whose kernels
 * run in the emulator. A launch with findings fails with the first of them as its message. */
#ifndef TSR_SIMT_BACKEND_EMU_H
#define TSR_SIMT_BACKEND_EMU_H
#include "core/device/backend.h"

extern const be_vtable emu_backend;
enum { EMU_N_DEVICES = 5 };
extern const char *const emu_device_arch[EMU_N_DEVICES];

typedef struct emu_counts { long units, launches, findings; } emu_counts; /* since the process began */
emu_counts emu_backend_counts(void);
#endif
