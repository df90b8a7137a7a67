/* Vectors for any machine: 16 bytes, by the compilers' vector extension alone. */
#ifndef BACKENDS_CPU_KERNELS_VEC_PORTABLE_H
#define BACKENDS_CPU_KERNELS_VEC_PORTABLE_H

#define VF 4
#include "vec.h"

#endif
