/* backends/simt/simt_arch.h - what CUDA and HIP architectures can do, by name and without hardware. */
#ifndef BACKENDS_SIMT_SIMT_ARCH_H
#define BACKENDS_SIMT_SIMT_ARCH_H
#include "core/base/status.h"
#include "core/device/caps.h"

/* Capabilities of "sm_90a", "gfx942", ... Other names of the same ("sm_120a", "sm_121") give the row's. TSR_NOT_FOUND
 * lists the known names. */
tsr_status simt_arch_caps(tsr_dialect dialect, const char *arch, tsr_caps *out);
/* The name of a CUDA device by its compute capability ("sm_90a" for 9.0); the nearest known one that its code runs on,
 * NULL if none. */
const char *simt_cuda_arch(int major, int minor);
/* What a device says of its multiprocessors, which on RDNA are pairs of compute units: its cores, and dies by them. */
void simt_set_processors(tsr_caps *c, int processors);

#endif
