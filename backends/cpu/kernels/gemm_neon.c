/* The gemm kernels for neon. */
#if defined(__aarch64__)
#include "internal.h"

#define CPUK_SUFFIX neon
#include "vec_neon.h"

#define GEMM_F32_MR 6
#define GEMM_F32_NV 4
#define GEMM_F64_MR 6
#define GEMM_F64_NV 4
#include "body_gemm.h"
#endif
