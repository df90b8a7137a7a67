/* tessera/hip.h - running on an application's own HIP context. No HIP header is needed: handles are passed as pointers.
 * Ownership: everything stays the application's. The context must outlive the device that was opened on it, a pointer
 * the buffer that imports it. Work is put on `stream`; the application orders its own work with that stream as usual.
 */
#ifndef TESSERA_HIP_H
#define TESSERA_HIP_H
#include "tessera/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_hip_import {
  int device;    /* ordinal of the context's device */
  void *context; /* hipCtx_t; NULL: the primary context */
  void *stream;  /* hipStream_t; NULL: the library makes its own */
} tsr_hip_import;

/* Device memory of the application (void *). */
typedef struct tsr_hip_pointer {
  uint64_t address;
} tsr_hip_pointer;

#ifdef __cplusplus
}
#endif
#endif
