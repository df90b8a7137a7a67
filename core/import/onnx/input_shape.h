/* core/import/onnx/input_shape.h - the shapes that a model's inputs have when it is converted: as given, else as the
 * model says, where a dimension that it leaves open under a name is what a given shape has for that name. */
#ifndef CORE_IMPORT_ONNX_INPUT_SHAPE_H
#define CORE_IMPORT_ONNX_INPUT_SHAPE_H
#include "core/import/onnx/options.h"

TSR_MUST_USE tsr_status onnx_input_shape(const onnx_model *m, const onnx_options *o, const onnx_value *v,
                                         tsr_shape *out);
#endif
