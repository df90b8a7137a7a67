/* core/import/onnx/type_name.h - what ONNX calls the types of values that the library holds in wider ones, of which
 * CastLike and QuantizeLinear want to know. cv_type_name and cv_out_as are in cv.h. */
#ifndef CORE_IMPORT_ONNX_TYPE_NAME_H
#define CORE_IMPORT_ONNX_TYPE_NAME_H
#include "core/import/onnx/scope.h"

/* `type`: any name of a type. */
void cv_set_type_name(cv_scope *s, const char *name, const char *type);
/* Of the outputs of a body that was just built, for the node that it is the body of. */
void cv_keep_types(cv *c, const onnx_graph *g);
/* Of the results of the node that was just converted, where its row doesn't say them (cv_out_as). */
void cv_name_types(cv *c);
#endif
