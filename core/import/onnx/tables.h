/* core/import/onnx/tables.h - the lists of rows, one a file of ops, each ended by a NULL name (onnx/rows.h). */
#ifndef CORE_IMPORT_ONNX_TABLES_H
#define CORE_IMPORT_ONNX_TABLES_H
#include "core/import/onnx/cv.h"

extern const cv_row onnx_rows_pointwise[], onnx_rows_compare[], onnx_rows_reduce[], onnx_rows_move[], onnx_rows_shape[],
    onnx_rows_slice[], onnx_rows_index[], onnx_rows_product[], onnx_rows_conv[], onnx_rows_conv_integer[],
    onnx_rows_pool[], onnx_rows_norm[], onnx_rows_quantize[], onnx_rows_image[], onnx_rows_recurrent[],
    onnx_rows_attention[], onnx_rows_loss[],
    onnx_rows_control[], onnx_rows_order[], onnx_rows_signal[], onnx_rows_train[],
    onnx_rows_detect[], onnx_rows_suppress[], onnx_rows_sequence[];
extern const cv_row onnx_rows_simplified[]; /* ONNX Runtime's, in ONNX's domain */
extern const cv_row onnx_rows_contrib[], onnx_rows_recurrent_contrib[], onnx_rows_decoder[],
    onnx_rows_fused[], onnx_rows_quantize_contrib[]; /* com.microsoft */
extern const cv_row onnx_rows_ml[]; /* ai.onnx.ml */
#endif
