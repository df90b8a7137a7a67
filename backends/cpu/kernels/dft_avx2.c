/* The Fourier transforms for avx2. */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx2
#include "vec_avx2.h"

#include "body_dft.h"
#endif
