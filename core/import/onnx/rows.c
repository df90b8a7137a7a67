/* core/import/onnx/rows.c - see rows.h. */
#include "core/import/onnx/rows.h"

#include <string.h>

static const cv_row *const of_onnx[] = {
    onnx_rows_pointwise, onnx_rows_compare,  onnx_rows_reduce,     onnx_rows_move,      onnx_rows_shape,
    onnx_rows_slice,     onnx_rows_index,    onnx_rows_product,    onnx_rows_conv,      onnx_rows_pool,
    onnx_rows_norm,      onnx_rows_quantize, onnx_rows_image,      onnx_rows_recurrent, onnx_rows_attention,
    onnx_rows_loss,      onnx_rows_control,  onnx_rows_order,      onnx_rows_signal,    onnx_rows_detect,
    onnx_rows_suppress,  onnx_rows_simplified, onnx_rows_conv_integer, onnx_rows_sequence, NULL};
static const cv_row *const of_microsoft[] = {onnx_rows_contrib, onnx_rows_recurrent_contrib, onnx_rows_decoder,
                                             onnx_rows_fused,   onnx_rows_quantize_contrib,  NULL};
static const cv_row *const of_ml[] = {onnx_rows_ml, NULL};
static const cv_row *const of_preview[] = {onnx_rows_train, NULL};

static const struct {
  const char *name;
  const cv_row *const *lists;
} domains[] = {{"", of_onnx}, {"com.microsoft", of_microsoft}, {"ai.onnx.ml", of_ml},
               {"ai.onnx.preview.training", of_preview}};

const cv_row *onnx_row(const char *domain, const char *op, int64_t version) {
  const cv_row *best = NULL;
  for (size_t d = 0; d < sizeof domains / sizeof *domains; d++)
    for (const cv_row *const *l = domains[d].lists; *l && !strcmp(domains[d].name, domain); l++)
      for (const cv_row *r = *l; r->op; r++)
        if (!strcmp(r->op, op) && (!version || r->since <= version) && (!best || r->since > best->since)) best = r;
  return best;
}
