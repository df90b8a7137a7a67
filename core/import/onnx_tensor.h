/* core/import/onnx_tensor.h - TensorProto of an ONNX model: name, type, shape, and where its data is. */
#ifndef CORE_IMPORT_ONNX_TENSOR_H
#define CORE_IMPORT_ONNX_TENSOR_H
#include "core/import/onnx_model.h"

TSR_MUST_USE tsr_status onnx_read_tensor(onnx_model *m, wire_message t, onnx_tensor *out);
/* The library's word for a TensorProto.DataType, else ONNX's; "type?" of an unknown number. */
const char *onnx_type_name(uint64_t type);
/* A field that is text: UTF-8 without control characters, copied into the model's arena. */
TSR_MUST_USE tsr_status onnx_text(onnx_model *m, const wire_field *x, const char *what, const char **out);
#endif
