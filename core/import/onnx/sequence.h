/* core/import/onnx/sequence.h - values that stand for ONNX's sequences and for optional values that are left out while
 * a model is converted: constants that no op reads, with this attribute and the list behind their `data` field
 * (ops_sequence.c). */
#ifndef CORE_IMPORT_ONNX_SEQUENCE_H
#define CORE_IMPORT_ONNX_SEQUENCE_H
#include "core/import/onnx/cv.h"

#define CV_SEQUENCE "sequence"

static inline bool cv_is_sequence(const ir_value *v) {
  return v && graph_is(v->def, G_CONSTANT) && ir_get_attr(v->def, CV_SEQUENCE);
}
/* Of those tensors, which are copied; n -1: an optional value that is left out. NULL: refused. */
ir_value *cv_sequence(cv *c, int64_t n, ir_value *const *v);
/* Its tensors; how many, -1: it is an optional value that is left out. */
int64_t cv_sequence_tensors(const ir_value *v, ir_value *const **out);
#endif
