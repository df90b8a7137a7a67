/* core/import/onnx/ops_fused.c - com.microsoft's ops that ONNX Runtime's optimizer makes of several: convolutions and
 * products with an activation, BERT's embeddings, products of quantized operands. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/bytes.h"
#include "core/import/onnx/rows.h"
#include "core/import/onnx/scope.h"
#include "core/import/onnx/tables.h"

/* ---- with an activation ------------------------------------------------------------------------------------------ */

/* The node's own numbers for it: activation_params, or attributes of their own names. */
static double parameter(cv *c, int i, const char *name, double dflt) {
  const onnx_attr *a = cv_attr(c, "activation_params");
  if (a && a->kind == ONNX_FLOATS && (size_t)i < a->n) return a->floats[i];
  return cv_float(c, name, dflt);
}

static ir_value *activated(cv *c, ir_value *y) {
  const char *name = cv_str(c, "activation", "");
  if (!*name) return y;
  if (!strcmp(name, "Relu")) return cv_op1(c, G_RELU, y);
  if (!strcmp(name, "Sigmoid")) return cv_op1(c, G_SIGMOID, y);
  if (!strcmp(name, "Tanh")) return cv_op1(c, G_TANH, y);
  const double alpha = parameter(c, 0, "activation_alpha", 0), beta = parameter(c, 1, "activation_beta", 0);
  if (!strcmp(name, "LeakyRelu")) return cv_at1(c, G_LEAKY_RELU, y, TSR_FLOAT("alpha", alpha));
  if (!strcmp(name, "HardSigmoid"))
    return cv_at1(c, G_HARDSIGMOID, y, TSR_FLOAT("alpha", alpha), TSR_FLOAT("beta", beta));
  if (!strcmp(name, "Clip")) return cv_op2(c, G_MIN, cv_op2(c, G_MAX, y, cv_like(c, y, alpha)), cv_like(c, y, beta));
  return cv_refuse(c, "activation %s", name);
}

/* What ONNX's op of the same operands gives, a further operand added, then the activation. */
static void fused(cv *c, const char *op, int added) {
  onnx_row("", op, 13)->fn(c);
  const cv_name *x = c->failed ? NULL : cv_scope_find(c->scope, c->node->out[0]);
  ir_value *y = x ? x->v : NULL;
  if (added && cv_has(c, added)) y = cv_op2(c, G_ADD, y, cv_need(c, added));
  cv_out(c, 0, y ? activated(c, y) : NULL);
}
static void op_fused_conv(cv *c) { fused(c, "Conv", 3); }
static void op_fused_gemm(cv *c) { fused(c, "Gemm", 0); }

/* ---- BERT's embeddings ------------------------------------------------------------------------------------------- */

/* Tokens, segments; tables of words, places and segments; the norm; which tokens there are; places. */
static void op_embeddings(cv *c) {
  ir_value *ids = cv_need(c, 0), *places = cv_need(c, 3);
  const int64_t batch = cv_dim(ids, 0), length = cv_dim(ids, 1);
  if (cv_rank(ids) != 2 || cv_rank(places) != 2) return cv_out(c, 0, cv_refuse(c, "operands of other dimensions"));
  ir_value *at = cv_has(c, 8) ? cv_gather(c, places, cv_need(c, 8), 0) : cv_part(c, places, 0, 0, length);
  ir_value *x = cv_op2(c, G_ADD, cv_gather(c, cv_need(c, 2), ids, 0), at);
  if (cv_has(c, 1)) x = cv_op2(c, G_ADD, x, cv_gather(c, cv_need(c, 4), cv_need(c, 1), 0));
  cv_out(c, 0,
         cv_make(c, G_LAYERNORM, 3, (ir_value *[]){x, cv_need(c, 5), cv_need(c, 6)},
                 CV_AT(TSR_FLOAT("eps", cv_float(c, "epsilon", 1e-12f)))));
  const int64_t last = 1;
  if (cv_wants(c, 1))
    cv_out(c, 1,
           cv_has(c, 7) ? cv_reduce(c, G_REDUCE_SUM, cv_need(c, 7), &last, 1, false)
                        : cv_fill(c, TSR_I32, 1, &batch, 0));
  if (cv_wants(c, 2)) cv_out(c, 2, x);
}

/* ---- products of quantized operands ------------------------------------------------------------------------------ */

/* (a - za) (b - zb) sa sb + bias; zero points of all or of each column. */
static ir_value *scaled_product(cv *c, ir_value *const a[2], ir_value *const b[2], ir_value *sa, ir_value *sb,
                                int bias) {
  ir_value *y = cv_cast(c, bytes_product(c, a[0], a[1], b[0], b[1]), TSR_F32);
  y = cv_op2(c, G_MUL, y, cv_op2(c, G_MUL, cv_cast(c, sa, TSR_F32), cv_cast(c, sb, TSR_F32)));
  return cv_has(c, bias) ? cv_op2(c, G_ADD, y, cv_need(c, bias)) : y;
}

/* a, b, scales, zero points, bias */
static void op_integer_to_float(cv *c) {
  ir_value *a[2] = {cv_need(c, 0), cv_in(c, 4)}, *b[2] = {cv_need(c, 1), cv_in(c, 5)};
  cv_out(c, 0, scaled_product(c, a, b, cv_need(c, 2), cv_need(c, 3), 6));
}

/* a in f32, rounded to u8 as a whole; b with its scale and zero point, bias */
static void op_dynamic_matmul(cv *c) {
  ir_value *q[3], *b[2] = {cv_need(c, 1), cv_in(c, 3)};
  cv_quantize_dynamic(c, cv_need(c, 0), q);
  cv_out(c, 0, scaled_product(c, (ir_value *[]){q[0], q[2]}, b, q[1], cv_need(c, 2), 4));
}

/* a, b, each with scale and zero point, then bias in their product's scale, the result's scale and zero point. */
static void op_qgemm(cv *c) {
  ir_value *a = cv_need(c, 0), *b = cv_need(c, 3);
  if (cv_int(c, "transA", 0)) a = cv_rank(a) == 2 ? cv_swap(c, a, 0, 1) : cv_refuse(c, "operands of other dimensions");
  ir_value *sb = cv_need(c, 4);
  if (cv_int(c, "transB", 0)) b = cv_rank(b) == 2 ? cv_swap(c, b, 0, 1) : cv_refuse(c, "operands of other dimensions");
  ir_value *y = bytes_product(c, a, cv_need(c, 2), b, cv_need(c, 5));
  if (cv_has(c, 6)) y = cv_op2(c, G_ADD, y, cv_need(c, 6));
  ir_value *scale = cv_op2(c, G_MUL, cv_cast(c, cv_need(c, 1), TSR_F32), cv_cast(c, sb, TSR_F32));
  y = cv_op2(c, G_MUL, cv_cast(c, y, TSR_F32), scale);
  if (cv_float(c, "alpha", 1) != 1) y = cv_op2(c, G_MUL, y, cv_like(c, y, cv_float(c, "alpha", 1)));
  if (!cv_has(c, 7)) return cv_out(c, 0, y);
  ir_value *zero = cv_has(c, 8) ? cv_need(c, 8) : cv_number(c, cv_need(c, 0) ? cv_need(c, 0)->type->dtype : TSR_U8, 0);
  y = cv_op1(c, G_ROUND, cv_op2(c, G_DIV, y, cv_need(c, 7)));
  cv_out(c, 0, zero ? cv_cast(c, cv_op2(c, G_ADD, y, cv_cast(c, zero, TSR_F32)), zero->type->dtype) : NULL);
}

const cv_row onnx_rows_fused[] = {{"FusedConv", 1, op_fused_conv},
                                  {"FusedGemm", 1, op_fused_gemm},
                                  {"EmbedLayerNormalization", 1, op_embeddings},
                                  {"MatMulIntegerToFloat", 1, op_integer_to_float},
                                  {"DynamicQuantizeMatMul", 1, op_dynamic_matmul},
                                  {"QGemm", 1, op_qgemm},
                                  {NULL, 0, NULL}};
