/* The gemm kernels for portable. */
#include "internal.h"

#define CPUK_SUFFIX portable
#include "vec_portable.h"

#define GEMM_F32_MR 4
#define GEMM_F32_NV 2
#define GEMM_F64_MR 4
#define GEMM_F64_NV 2
#if defined(__x86_64__) /* a machine without AVX2: size before speed */
#define S_UNROLL CPUK_NO_UNROLL
#define S_SMALL
#endif
#include "body_gemm.h"
