/* The Fourier transforms for avx512. */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx512
#include "vec_avx512.h"

#include "body_dft.h"
#endif
