/* core/runtime/registry.c - the only file that names backends and transports. */
#include "backends/coll/transports.h"
#include "backends/cpu/backend.h"
#include "backends/null/backend.h"
#include "core/runtime/internal.h"
#include "core/runtime/transports.h"
#if TSR_HAVE_VULKAN && __has_include("backends/vulkan/backend.h")
#define HAVE_VULKAN 1
#include "backends/vulkan/backend.h"
#endif
#if TSR_HAVE_CUDA && __has_include("backends/cuda/backend.h")
#define HAVE_CUDA 1
#include "backends/cuda/backend.h"
#endif
#if TSR_HAVE_HIP && __has_include("backends/hip/backend.h")
#define HAVE_HIP 1
#include "backends/hip/backend.h"
#endif

const be_vtable *const rt_backends[] = {
    &cpu_backend,
#if HAVE_VULKAN
    &vulkan_backend,
#endif
#if HAVE_CUDA
    &cuda_backend,
#endif
#if HAVE_HIP
    &hip_backend,
#endif
    &null_backend,
    NULL,
};

/* Of those that CMake could build and did not; TSR_WHY_VULKAN is its own word for the reason. */
const rt_not_built rt_backends_not_built[] = {
#if !HAVE_VULKAN
#ifdef TSR_WHY_VULKAN
    {"vulkan", "not built: " TSR_WHY_VULKAN},
#else
    {"vulkan", "not built: TSR_VULKAN was off when it was configured"},
#endif
#endif
#if !HAVE_CUDA
    {"cuda", "not built: TSR_CUDA was off when it was configured"},
#endif
#if !HAVE_HIP
    {"hip", "not built: TSR_HIP was off when it was configured"},
#endif
    {NULL, NULL},
};

const coll_transport *const rt_transports[] = {&transport_local, &transport_mpi,  &transport_ucc,
                                                &transport_nccl,  &transport_rccl, NULL};
