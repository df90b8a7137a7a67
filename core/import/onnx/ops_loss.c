/* core/import/onnx/ops_loss.c - ONNX's losses of classification. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

/* -w[label] x[label] of each element of labels, classes along axis 1; 0 where the label is ignore_index. */
static void nll(cv *c, ir_value *x, ir_value *labels, ir_value *weights) {
  const int rank = cv_rank(x);
  int64_t dims[TSR_MAX_RANK];
  if (!x || !labels || labels->type->rank != rank - 1) return cv_out(c, 0, cv_refuse(c, "labels of other dimensions"));
  const tsr_dtype t = x->type->dtype;
  dims[0] = labels->type->dims[0];
  dims[1] = 1;
  for (int i = 2; i < rank; i++) dims[i] = labels->type->dims[i - 1];
  labels = cv_cast(c, labels, labels->type->dtype == TSR_I64 ? TSR_I64 : TSR_I32);
  ir_value *picked = cv_at2(c, G_GATHER_ELEMENTS, x, cv_reshape(c, labels, rank, dims), TSR_INT("axis", 1));
  picked = cv_reshape(c, picked, rank - 1, labels->type->dims);
  ir_value *w = weights ? cv_gather(c, weights, labels, 0) : NULL;
  if (cv_attr(c, "ignore_index")) {
    ir_value *counts = cv_compare(c, "ne", labels, cv_like(c, labels, (double)cv_int(c, "ignore_index", 0)));
    picked = cv_where(c, counts, picked, cv_number(c, t, 0)); /* what lies outside was read as something */
    w = w ? cv_where(c, counts, w, cv_number(c, t, 0)) : cv_cast(c, counts, t);
  }
  ir_value *loss = cv_op1(c, G_NEG, w ? cv_op2(c, G_MUL, picked, w) : picked);
  const char *how = cv_str(c, "reduction", "mean");
  if (!strcmp(how, "sum")) loss = cv_op1(c, G_REDUCE_SUM, loss);
  else if (!strcmp(how, "mean"))
    loss = w ? cv_op2(c, G_DIV, cv_op1(c, G_REDUCE_SUM, loss), cv_op1(c, G_REDUCE_SUM, w))
             : cv_op1(c, G_REDUCE_MEAN, loss);
  else if (strcmp(how, "none")) cv_refuse(c, "reduction %s", how);
  cv_out(c, 0, loss);
}

static void op_nll(cv *c) { nll(c, cv_need(c, 0), cv_need(c, 1), cv_in(c, 2)); }

static void op_cross_entropy(cv *c) {
  ir_value *log = cv_at1(c, G_LOG_SOFTMAX, cv_need(c, 0), TSR_INT("axis", 1));
  nll(c, log, cv_need(c, 1), cv_in(c, 2));
  if (cv_wants(c, 1)) cv_out(c, 1, log);
}

const cv_row onnx_rows_loss[] = {
    {"NegativeLogLikelihoodLoss", 12, op_nll}, {"SoftmaxCrossEntropyLoss", 12, op_cross_entropy}, {NULL, 0, NULL}};
