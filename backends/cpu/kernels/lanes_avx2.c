/* The strip kernels for avx2. */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx2
#include "vec_avx2.h"
#include "pick_avx2.h"

#include "body_lanes.h"
#endif
