/* core/import/onnx.h - what an ONNX model has: opsets, inputs, outputs, initializers and nodes, of the graph and of all
 * graphs inside it. Read from the mapped file; weights are not copied, external data is not opened, and a location
 * outside of the model's folder is refused. Format: onnx.proto3 of ONNX, IR versions 3 and later. */
#ifndef CORE_IMPORT_ONNX_H
#define CORE_IMPORT_ONNX_H
#include "core/import/onnx_model.h"

/* Whether a file that starts like this may be a model: there is no mark, but no text and no other format read here
 * begins with the IR version. */
bool onnx_is(const void *p, size_t n);
TSR_MUST_USE tsr_status onnx_open(const char *path, onnx_model **out);
/* From memory that outlives the model. */
TSR_MUST_USE tsr_status onnx_parse(const void *p, size_t n, const char *name, onnx_model **out);
void onnx_close(onnx_model **m);
/* A file of test data for an input or output of that type, as a model that has its tensor alone; of a sequence all its
 * tensors, of an empty one or of an optional value that is left out none. */
TSR_MUST_USE tsr_status onnx_open_data(const char *path, const onnx_value *type, onnx_model **out);
#endif
