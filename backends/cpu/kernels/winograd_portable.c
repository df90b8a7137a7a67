/* The transforms of Winograd's convolutions for portable. */
#include "winograd.h"

#define CPUK_SUFFIX portable
#include "vec_portable.h"

#include "body_winograd.h"
