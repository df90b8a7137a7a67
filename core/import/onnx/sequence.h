/* core/import/onnx/sequence.h - values that stand for ONNX's sequences while a model is converted: constants that no op
 * reads, with this attribute and the list behind their `data` field (ops_sequence.c). */
#ifndef CORE_IMPORT_ONNX_SEQUENCE_H
#define CORE_IMPORT_ONNX_SEQUENCE_H
#include "core/import/onnx/cv.h"

#define CV_SEQUENCE "sequence"

static inline bool cv_is_sequence(const ir_value *v) {
  return v && graph_is(v->def, G_CONSTANT) && ir_get_attr(v->def, CV_SEQUENCE);
}
#endif
