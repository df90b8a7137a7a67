/* core/import/onnx/rows.h - the table of ONNX ops. Each file of ops has a list of rows, ended by a NULL name: a name,
 * the first opset version whose meaning the function has, and the function. Of several rows of one name the newest
 * counts that the model's opset has. A new op is a row and its function, in the file of its kind. */
#ifndef CORE_IMPORT_ONNX_ROWS_H
#define CORE_IMPORT_ONNX_ROWS_H
#include "core/import/onnx/tables.h"

/* NULL: no row. version 0: any. */
const cv_row *onnx_row(const char *domain, const char *op, int64_t version);
#endif
