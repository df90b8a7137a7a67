/* The transforms of Winograd's convolutions for portable. */
#include "winograd.h"

#define CPUK_SUFFIX portable
#include "vec_portable.h"

#undef CPUK_UNROLL /* small, as all of portable */
#define CPUK_UNROLL CPUK_NO_UNROLL

#include "body_winograd.h"
