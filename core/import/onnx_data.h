/* core/import/onnx_data.h - the elements of an ONNX model's tensors: where they are in a file as they are wanted, or
 * unpacked. Integers of 2 and 4 bits are held one a byte, floats of types that the library lacks in f16 or f32. */
#ifndef CORE_IMPORT_ONNX_DATA_H
#define CORE_IMPORT_ONNX_DATA_H
#include "core/import/onnx_model.h"

/* The library's type for what ONNX calls so (onnx_tensor.type, onnx_value.type); NONE: it has none. */
tsr_dtype onnx_dtype(const char *type);
/* The same by TensorProto.DataType. */
tsr_dtype onnx_dtype_of(int64_t type);
/* Of a type whose elements are held in wider ones: their bits; else 0. */
int onnx_narrow_bits(const char *type);

/* Floating-point types that the library lacks: elements are held in f16, or float8e8m0's in f32, which have all their
 * values. */
typedef enum onnx_small_float {
  ONNX_NO_SMALL_FLOAT,
  ONNX_F8E4M3FNUZ,
  ONNX_F8E5M2FNUZ,
  ONNX_F4E2M1,
  ONNX_F8E8M0
} onnx_small_float;
onnx_small_float onnx_small_float_of(const char *type);

/* Where a tensor's elements are, row-major in onnx_dtype's type: `file` and `offset` where they lie in a mapped file as
 * they are, at any alignment; else file is NULL and the memory the model's. */
typedef struct onnx_elements {
  const void *p;
  size_t bytes;
  const char *file;
  uint64_t offset;
} onnx_elements;
TSR_MUST_USE tsr_status onnx_tensor_elements(onnx_model *m, const onnx_tensor *t, onnx_elements *out);
#endif
