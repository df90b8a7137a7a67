/* core/import/onnx/sequence.h - values that stand for ONNX's sequences while a model is converted. */
#ifndef CORE_IMPORT_ONNX_SEQUENCE_H
#define CORE_IMPORT_ONNX_SEQUENCE_H
#include "core/import/onnx/cv.h"

bool cv_is_sequence(const ir_value *v);
#endif
