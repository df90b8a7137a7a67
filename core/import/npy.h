/* core/import/npy.h - arrays in NumPy's .npy format, versions 1 to 3; Fortran order and big-endian elements are
 * converted, other element types and malformed files refused with one line. Format: numpy.lib.format, NEP 1. */
#ifndef CORE_IMPORT_NPY_H
#define CORE_IMPORT_NPY_H
#include <stdio.h>

#include "tessera/tessera.h"

typedef struct npy_array {
  tsr_dtype dtype; /* f64 f32 f16 i64 i32 i16 i8 u64 u32 u16 u8 bool complex64 complex128 */
  tsr_shape shape;
  void *data; /* free() */
  size_t bytes;
} npy_array;

/* What stands before an array. The bytes may be the start of a file alone: as many as there are, or NPY_MOST_HEADER. */
enum { NPY_MOST_HEADER = (1 << 20) + 12 };
typedef struct npy_header {
  tsr_dtype dtype; /* TSR_DTYPE_NONE: a type that isn't read; then bytes is 0 */
  char descr[32];  /* the type as it is written, "<f4" */
  bool swapped, fortran;
  tsr_shape shape;
  size_t at, bytes; /* of the data: where in the file, and how much */
} npy_header;
bool npy_parse_header(const void *start, size_t n, const char *name, npy_header *out, char *why, size_t why_bytes);
/* The elements from the file's order to the machine's and to C order; from and to don't overlap. Bools
 * become 0 or 1. */
void npy_arrange(const npy_header *h, const void *from, void *to);

/* False after writing one line to why. Bytes after the array are ignored, as NumPy does. */
bool npy_load(const char *path, npy_array *out, char *why, size_t why_bytes);
/* The same from memory; `name` is for messages. */
bool npy_parse(const void *bytes, size_t n, const char *name, npy_array *out, char *why, size_t why_bytes);
/* Not every type of tensor can be kept: NumPy has no i4 and u4, which are written as i1 and u1. */
bool npy_has_form(tsr_dtype t);
/* Of a type that has one; ferror(f) tells. */
void npy_write(FILE *f, const npy_array *a);
void npy_free(npy_array *a);
/* Elements of `a` converted to t (rounded, saturated) into dst. A real number becomes a complex one; of a complex one a
 * type that isn't takes the real part. */
void npy_convert(const npy_array *a, tsr_dtype t, void *dst);
#endif
