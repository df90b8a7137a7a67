/* core/device/arch.h - what CUDA and HIP architectures can do, by name and without hardware. */
#ifndef CORE_DEVICE_ARCH_H
#define CORE_DEVICE_ARCH_H
#include "core/base/status.h"
#include "core/device/caps.h"

/* Capabilities of "sm_90a", "gfx942", ... Other names of the same ("sm_120a", "sm_121") give the row's. TSR_NOT_FOUND
 * lists the known names. */
tsr_status arch_caps_of(tsr_dialect dialect, const char *arch, tsr_caps *out);
/* The name of a CUDA device by its compute capability ("sm_90a" for 9.0); the nearest known one that its code runs on,
 * NULL if none. */
const char *arch_of_capability(int major, int minor);
/* The part whose cores and rates the architecture's row has ("H100"); NULL: the architecture is not known. */
const char *arch_part(const char *arch);
/* What an architecture's text says in assembly, where generations spell it differently. NULL: it has no such load, or
 * an instruction for each counter. All NULL: the architecture is not known. */
typedef struct arch_assembly {
  const char *lds_word, *lds_16_bytes; /* a lane's load from memory straight to LDS */
  const char *waitcnt;                 /* s_waitcnt's operand from vm and lgkm */
  int any_lgkm;                        /* of which no number is waited for */
} arch_assembly;
const arch_assembly *arch_assembly_of(const char *arch);
/* What a device says of its multiprocessors, which on RDNA are pairs of compute units: its cores, and dies by them. */
void arch_set_processors(tsr_caps *c, int processors);

#endif
