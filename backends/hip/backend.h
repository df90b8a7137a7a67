/* backends/hip/backend.h - AMD devices through libamdhip64 and hipRTC, both loaded at run time. */
#ifndef BACKENDS_HIP_BACKEND_H
#define BACKENDS_HIP_BACKEND_H
#include "core/device/backend.h"

extern const be_vtable hip_backend;

#endif
