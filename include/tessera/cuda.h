/* tessera/cuda.h - running on an application's own CUDA context. No CUDA header is needed: handles are passed as
 * pointers. Ownership: everything stays the application's. The context must outlive the device that was opened on it, a
 * pointer the buffer that imports it. Work is put on `stream`; the application orders its own work with that stream as
 * usual. */
#ifndef TESSERA_CUDA_H
#define TESSERA_CUDA_H
#include "tessera/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_cuda_import {
  int device;    /* ordinal of the context's device */
  void *context; /* CUcontext */
  void *stream;  /* CUstream; NULL: the library makes its own */
} tsr_cuda_import;

/* Device memory of the application (CUdeviceptr). */
typedef struct tsr_cuda_pointer {
  uint64_t address;
} tsr_cuda_pointer;

#ifdef __cplusplus
}
#endif
#endif
