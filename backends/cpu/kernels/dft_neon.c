/* The Fourier transforms for neon. */
#if defined(__aarch64__)
#include "internal.h"

#define CPUK_SUFFIX neon
#include "vec_neon.h"

#include "body_dft.h"
#endif
