/* The fused reduction kernels for neon. */
#if defined(__aarch64__)
#include "internal.h"

#define CPUK_SUFFIX neon
#include "vec_neon.h"

#include "body_rows.h"
#endif
