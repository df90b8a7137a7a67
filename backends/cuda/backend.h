/* backends/cuda/backend.h - NVIDIA devices through libcuda and NVRTC, both loaded at run time. */
#ifndef BACKENDS_CUDA_BACKEND_H
#define BACKENDS_CUDA_BACKEND_H
#include "core/device/backend.h"

extern const be_vtable cuda_backend;

#endif
