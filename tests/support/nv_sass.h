/* tests/support/nv_sass.h - what is in the machine code of an NVIDIA kernel, read straight from the cubin: nvdisasm is
 * not everywhere. Instructions are 16 bytes, the low 12 bits their code, the next 4 the predicate. The codes were read
 * off nvdisasm 12.4 and 12.8 on cubins of ptxas 13.0 for sm_80, 89, 90a, 100 and 120, and agree in all; test_sass.c
 * compares with nvdisasm where there is one. */
#ifndef TESTS_SUPPORT_NV_SASS_H
#define TESTS_SUPPORT_NV_SASS_H
#include <stdbool.h>
#include <stddef.h>

typedef enum nv_op { NV_HMMA, NV_IMMA, NV_QMMA, NV_HGMMA, NV_IGMMA, NV_QGMMA, NV_MEMBAR, NV_N_OPS } nv_op;

/* Mnemonic, without the dots. */
const char *nv_op_name(nv_op op);

/* How often an instruction stands in all kernels of a cubin; -1 if it is none. */
int nv_sass_count(const void *cubin, size_t bytes, nv_op op);

/* Matrix products of whole numbers that saturate. */
int nv_sass_saturating(const void *cubin, size_t bytes);

/* Fences of the whole GPU or wider in the innermost loops with matrix instructions, and in n_loops how many such loops
 * there are. */
int nv_sass_wide_fences(const void *cubin, size_t bytes, int sm, int *n_loops);

#endif
