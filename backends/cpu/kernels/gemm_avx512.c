/* The gemm kernels for avx512. */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx512
#include "vec_avx512.h"

#define GEMM_F32_MR 12
#define GEMM_F32_NV 2
#define GEMM_F64_MR 12
#define GEMM_F64_NV 2
#include "body_gemm.h"
#endif
