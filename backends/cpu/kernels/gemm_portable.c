/* The gemm kernels for portable. */
#include "internal.h"

#define CPUK_SUFFIX portable
#include "vec_portable.h"

#define GEMM_F32_MR 4
#define GEMM_F32_NV 2
#define GEMM_F64_MR 4
#define GEMM_F64_NV 2
#include "body_gemm.h"
