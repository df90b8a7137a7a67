/* The gemm kernels for avx2. */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx2
#include "vec_avx2.h"

#define GEMM_F32_MR 6
#define GEMM_F32_NV 2
#define GEMM_F64_MR 6
#define GEMM_F64_NV 2
#include "body_gemm.h"
#endif
