/* core/import/onnx_value.h - names, types and shapes of an ONNX model's values, and the lists that a model keeps. */
#ifndef CORE_IMPORT_ONNX_VALUE_H
#define CORE_IMPORT_ONNX_VALUE_H
#include "core/import/onnx_tensor.h"

/* One more at the end of a list, zeroed; NULL: out of memory. */
void *onnx_add(onnx_model *m, void *list, size_t *n, size_t *cap, size_t size);
#define ONNX_ADD(m, list) onnx_add(m, &(m)->list.v, &(m)->list.n, &(m)->list.cap, sizeof *(m)->list.v)
/* How many fields of each number below `most` a message has. */
TSR_MUST_USE tsr_status onnx_count(const onnx_model *m, wire_message g, size_t *n, size_t most);
/* ValueInfoProto: name, type and shape. */
TSR_MUST_USE tsr_status onnx_read_value(onnx_model *m, wire_message v, onnx_value *out);
/* Tensor i of a sequence, called NAME[i]; -1: what says that the sequence is empty or the optional value left out,
 * NAME[]. Its name is NULL where memory is out. */
onnx_value onnx_element(arena *a, const onnx_value *v, int64_t i);
#endif
