/* The Fourier transforms for portable. */
#include "internal.h"

#define CPUK_SUFFIX portable
#include "vec_portable.h"

#include "body_dft.h"
