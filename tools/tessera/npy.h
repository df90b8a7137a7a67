/* tools/tessera/npy.h - arrays in NumPy's .npy format, versions 1 to 3, C order, little-endian (others are converted or refused with
 * one line). Format: numpy.lib.format, NEP 1. */
#ifndef TOOLS_TESSERA_NPY_H
#define TOOLS_TESSERA_NPY_H
#include "tessera/tessera.h"

typedef struct npy_array {
  tsr_dtype dtype; /* f64 f32 f16 i64 i32 i16 i8 u8 bool */
  tsr_shape shape;
  void *data; /* free() */
  size_t bytes;
} npy_array;

/* False after writing one line to why. */
bool npy_load(const char *path, npy_array *out, char *why, size_t why_bytes);
bool npy_save(const char *path, const npy_array *a, char *why, size_t why_bytes);
void npy_free(npy_array *a);
/* Elements of `a` converted to t (rounded, saturated) into dst. */
void npy_convert(const npy_array *a, tsr_dtype t, void *dst);
#endif
