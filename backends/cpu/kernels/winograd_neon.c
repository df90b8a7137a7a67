/* The transforms of Winograd's convolutions for neon. */
#if defined(__aarch64__)
#include "winograd.h"

#define CPUK_SUFFIX neon
#include "vec_neon.h"

#include "body_winograd.h"
#endif
