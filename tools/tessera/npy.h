/* tools/tessera/npy.h - arrays in NumPy's .npy format, versions 1 to 3; Fortran order and big-endian elements are
 * converted, other element types and malformed files refused with one line. Format: numpy.lib.format, NEP 1. */
#ifndef TOOLS_TESSERA_NPY_H
#define TOOLS_TESSERA_NPY_H
#include <stdio.h>

#include "tessera/tessera.h"

typedef struct npy_array {
  tsr_dtype dtype; /* f64 f32 f16 i64 i32 i16 i8 u8 bool */
  tsr_shape shape;
  void *data; /* free() */
  size_t bytes;
} npy_array;

/* False after writing one line to why. Bytes after the array are ignored, as NumPy does. */
bool npy_load(const char *path, npy_array *out, char *why, size_t why_bytes);
/* The same from memory; `name` is for messages. */
bool npy_parse(const void *bytes, size_t n, const char *name, npy_array *out, char *why, size_t why_bytes);
/* Not every type of tensor can be kept. */
bool npy_has_form(tsr_dtype t);
/* Of a type that has one; ferror(f) tells. */
void npy_write(FILE *f, const npy_array *a);
void npy_free(npy_array *a);
/* Elements of `a` converted to t (rounded, saturated) into dst. */
void npy_convert(const npy_array *a, tsr_dtype t, void *dst);
#endif
