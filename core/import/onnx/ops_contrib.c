/* core/import/onnx/ops_contrib.c - ops of ONNX Runtime's domain com.microsoft that exporters and its optimizer write.
 */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/heads.h"
#include "core/import/onnx/tables.h"

static void op_gelu(cv *c) { cv_out(c, 0, cv_op1(c, G_GELU, cv_need(c, 0))); }

static void op_bias_gelu(cv *c) { cv_out(c, 0, cv_op1(c, G_GELU, cv_op2(c, G_ADD, cv_need(c, 0), cv_need(c, 1)))); }

static void op_fast_gelu(cv *c) {
  ir_value *x = cv_need(c, 0);
  if (cv_has(c, 1)) x = cv_op2(c, G_ADD, x, cv_need(c, 1));
  cv_out(c, 0, cv_at1(c, G_GELU, x, TSR_STRING("approximate", "tanh")));
}

static void op_quick_gelu(cv *c) {
  ir_value *x = cv_need(c, 0);
  ir_value *s = cv_op1(c, G_SIGMOID, cv_op2(c, G_MUL, x, cv_like(c, x, cv_float(c, "alpha", 1.702f))));
  cv_out(c, 0, cv_op2(c, G_MUL, x, s));
}

/* An operand whose rows lie before its batch, where `moves`: [rows, batch, columns]. */
static ir_value *batch_first(cv *c, ir_value *x, bool moves) {
  int64_t perm[TSR_MAX_RANK];
  const int rank = cv_rank(x);
  for (int i = 0; i < rank; i++) perm[i] = i < rank - 2 ? i + 1 : i == rank - 2 ? 0 : i;
  return moves ? cv_transpose(c, x, perm) : x;
}

/* alpha a b, either with its last two dimensions swapped */
static void op_fused_matmul(cv *c) {
  const double alpha = cv_float(c, "alpha", 1);
  ir_value *x = batch_first(c, cv_need(c, 0), cv_int(c, "transBatchA", 0) != 0),
           *y = batch_first(c, cv_need(c, 1), cv_int(c, "transBatchB", 0) != 0);
  ir_value *z = cv_at2(c, G_MATMUL, x, y, TSR_BOOLEAN("transpose_a", cv_int(c, "transA", 0) != 0),
                       TSR_BOOLEAN("transpose_b", cv_int(c, "transB", 0) != 0));
  cv_out(c, 0, alpha != 1 ? cv_op2(c, G_MUL, z, cv_like(c, z, alpha)) : z);
}

/* input + skip + bias, and its normalization by rows */
static void skip_norm(cv *c, graph_code code, int bias_at, double eps) {
  ir_value *x = cv_op2(c, G_ADD, cv_need(c, 0), cv_need(c, 1)), *gamma = cv_need(c, 2);
  ir_value *beta = code == G_LAYERNORM ? cv_in(c, 3) : NULL;
  if (cv_has(c, bias_at)) x = cv_op2(c, G_ADD, x, cv_need(c, bias_at));
  cv_out(c, 0, cv_make(c, code, beta ? 3 : 2, (ir_value *[]){x, gamma, beta}, CV_AT(TSR_FLOAT("eps", eps))));
  for (int i = 1; i < 3; i++)
    if (cv_wants(c, i)) cv_refuse(c, "its statistics");
  if (cv_wants(c, 3)) cv_out(c, 3, x);
}
static void op_skip_layer_norm(cv *c) { skip_norm(c, G_LAYERNORM, 4, cv_float(c, "epsilon", 1e-12f)); }
static void op_skip_rms_norm(cv *c) { skip_norm(c, G_RMSNORM, 3, cv_float(c, "epsilon", 1e-12f)); }

/* Which keys are seen, along [batch, heads, queries, keys]: integers [batch, keys] or [batch, queries, keys], of which
 * 0 isn't; [batch]: how many there are; [2 batch]: where they end, then where they begin. */
static ir_value *seen_keys(cv *c, ir_value *mask, int64_t batch, int64_t queries, int64_t keys) {
  const int64_t *d = mask->type->dims, rank = mask->type->rank;
  if (rank == 1 && batch && (d[0] == batch || d[0] == 2 * batch)) {
    const int64_t along[4] = {1, 1, 1, keys}, each[4] = {batch, 1, 1, 1};
    ir_value *at = cv_iota(c, mask->type->dtype, 4, along, 3);
    ir_value *end = cv_reshape(c, cv_part(c, mask, 0, 0, batch), 4, each), *seen = cv_compare(c, "lt", at, end);
    if (d[0] == batch) return seen;
    ir_value *begin = cv_reshape(c, cv_part(c, mask, 0, batch, batch), 4, each);
    return cv_op2(c, G_AND, seen, cv_compare(c, "ge", at, begin));
  }
  if (rank < 2 || rank > 3 || d[rank - 1] != keys || (rank == 3 && d[1] != queries))
    return cv_refuse(c, "a mask of other dimensions");
  const int64_t dims[4] = {d[0], 1, rank == 3 ? queries : 1, keys};
  return cv_compare(c, "ne", cv_reshape(c, mask, 4, dims), cv_like(c, mask, 0));
}

/* Queries, keys and values of separate heads. */
static ir_value *attend(cv *c, ir_value *q, ir_value *k, ir_value *v, ir_value *mask, ir_value *bias, bool causal) {
  const double scale = cv_float(c, "scale", 0);
  if (!q || !k || !v) return NULL;
  ir_value *s = cv_at2(c, G_MATMUL, q, k, TSR_BOOLEAN("transpose_b", true));
  s = cv_op2(c, G_MUL, s, cv_like(c, s, scale != 0 ? scale : 1 / sqrt((double)cv_dim(q, 3))));
  if (bias) s = cv_op2(c, G_ADD, s, bias);
  if (mask) {
    ir_value *seen = seen_keys(c, mask, cv_dim(q, 0), cv_dim(q, 2), cv_dim(k, 2));
    s = cv_where(c, seen, s, cv_op2(c, G_ADD, s, cv_like(c, s, cv_float(c, "mask_filter_value", -10000))));
  }
  if (causal) {
    const int64_t dims[2] = {cv_dim(q, 2), cv_dim(k, 2)};
    ir_value *row = cv_iota(c, TSR_I32, 2, dims, 0), *at = cv_iota(c, TSR_I32, 2, dims, 1);
    ir_value *seen = cv_compare(c, "le", at, row);
    if (dims[0] < dims[1]) /* as ONNX Runtime has it: the last query sees all of more keys */
      seen = cv_op2(c, G_OR, seen, cv_compare(c, "eq", row, cv_number(c, TSR_I32, (double)(dims[0] - 1))));
    s = cv_where(c, seen, s, cv_like(c, s, -INFINITY));
  }
  return cv_heads_last(c, cv_op2(c, G_MATMUL, cv_at1(c, G_SOFTMAX, s, TSR_INT("axis", -1)), v));
}

/* x [batch, length, k] by weights [k, q + k + v] */
static void op_attention(cv *c) {
  ir_value *x = cv_op2(c, G_MATMUL, cv_need(c, 0), cv_need(c, 1)), *part[3];
  const int64_t heads = cv_int(c, "num_heads", 0);
  int64_t sizes[3] = {cv_dim(x, 2) / 3, cv_dim(x, 2) / 3, cv_dim(x, 2) / 3}, at = 0;
  cv_ints(c, "qkv_hidden_sizes", sizes, 3);
  if (cv_has(c, 2)) x = cv_op2(c, G_ADD, x, cv_need(c, 2));
  if (cv_has(c, 4) || cv_has(c, 6) || cv_wants(c, 1)) cv_refuse(c, "a past");
  for (int i = 0; i < 3; i++)
    if (sizes[i] < 1 || sizes[i] > cv_dim(x, 2)) sizes[i] = 0;
  if (cv_rank(x) != 3 || sizes[0] + sizes[1] + sizes[2] != cv_dim(x, 2)) cv_refuse(c, "qkv_hidden_sizes");
  for (int i = 0; i < 3; at += sizes[i++])
    part[i] = c->failed ? NULL : cv_heads_first(c, cv_part(c, x, 2, at, sizes[i]), heads);
  if (c->failed) return cv_out(c, 0, NULL);
  cv_out(c, 0, attend(c, part[0], part[1], part[2], cv_in(c, 3), cv_in(c, 5), cv_int(c, "unidirectional", 0) != 0));
}

static void op_multi_head(cv *c) {
  ir_value *part[3] = {cv_need(c, 0), cv_need(c, 1), cv_need(c, 2)};
  const int64_t heads = cv_int(c, "num_heads", 0);
  int64_t at = 0;
  if (cv_has(c, 6) || cv_has(c, 7) || cv_wants(c, 1)) cv_refuse(c, "a past");
  for (int i = 0; i < 3; i++) {
    const int64_t n = cv_dim(part[i], 2);
    if (cv_rank(part[i]) != 3) cv_refuse(c, "operands of other dimensions");
    if (cv_has(c, 3)) part[i] = cv_op2(c, G_ADD, part[i], cv_part(c, cv_need(c, 3), 0, at, n));
    part[i] = cv_heads_first(c, part[i], heads);
    at += n;
  }
  cv_out(c, 0,
         c->failed
             ? NULL
             : attend(c, part[0], part[1], part[2], cv_in(c, 4), cv_in(c, 5), cv_int(c, "unidirectional", 0) != 0));
}

/* x less its zero point, as i32: x, scale, zero of each operand, then the result's. */
static ir_value *steps_of(cv *c, int at) {
  ir_value *x = cv_cast(c, cv_need(c, at), TSR_I32);
  return cv_has(c, at + 2) ? cv_op2(c, G_SUB, x, cv_cast(c, cv_need(c, at + 2), TSR_I32)) : x;
}

/* The same in f32. */
static ir_value *plain(cv *c, int at) {
  return cv_op2(c, G_MUL, cv_cast(c, steps_of(c, at), TSR_F32), cv_need(c, at + 1));
}

/* Steps of the result's scale, as its bytes. */
static ir_value *bytes_at(cv *c, ir_value *y, int at) {
  const tsr_dtype t = cv_has(c, at + 1) ? cv_need(c, at + 1)->type->dtype : cv_need(c, 0)->type->dtype;
  y = cv_op1(c, G_ROUND, y);
  if (cv_has(c, at + 1)) y = cv_op2(c, G_ADD, y, cv_cast(c, cv_need(c, at + 1), TSR_F32));
  return cv_cast(c, y, t);
}

static ir_value *requantized(cv *c, ir_value *y, int at) {
  return bytes_at(c, cv_op2(c, G_DIV, y, cv_need(c, at)), at);
}

static void qlinear_two(cv *c, graph_code code) {
  ir_value *y = cv_op2(c, code, plain(c, 0), plain(c, 3));
  cv_out(c, 0, c->failed ? NULL : requantized(c, y, 6));
}
static void op_qlinear_add(cv *c) { qlinear_two(c, G_ADD); }
static void op_qlinear_mul(cv *c) { qlinear_two(c, G_MUL); }

static void op_qlinear_sigmoid(cv *c) {
  ir_value *y = cv_op1(c, G_SIGMOID, plain(c, 0));
  cv_out(c, 0, c->failed ? NULL : requantized(c, y, 3));
}

static void op_qlinear_leaky(cv *c) {
  ir_value *y = cv_at1(c, G_LEAKY_RELU, plain(c, 0), TSR_FLOAT("alpha", cv_float(c, "alpha", 0.01f)));
  cv_out(c, 0, c->failed ? NULL : requantized(c, y, 3));
}

/* The sum is exact; scale and count are one factor. */
static void op_qlinear_global_average(cv *c) {
  int64_t axes[TSR_MAX_RANK];
  double n = 1;
  ir_value *x = steps_of(c, 0);
  const int first = cv_int(c, "channels_last", 0) ? 1 : 2, rank = cv_rank(x);
  if (rank < 3) return cv_out(c, 0, cv_refuse(c, "no image"));
  for (int i = 0; i < rank - 2; i++) n *= (double)cv_dim(x, (int)(axes[i] = i + first));
  ir_value *y = cv_cast(c, cv_reduce(c, G_REDUCE_SUM, x, axes, rank - 2, true), TSR_F32);
  ir_value *factor = cv_op2(c, G_DIV, cv_need(c, 1), cv_op2(c, G_MUL, cv_need(c, 3), cv_number(c, TSR_F32, n)));
  y = cv_op2(c, G_MUL, y, factor);
  cv_out(c, 0, c->failed ? NULL : bytes_at(c, y, 3));
}

/* The result's scale and zero point come first, then each operand with its own. */
static void op_qlinear_concat(cv *c) {
  ir_value *x[CV_MOST_OPERANDS];
  const int n = ((int)c->node->n_in - 2) / 3;
  if (n < 1 || n > CV_MOST_OPERANDS || (int)c->node->n_in != 2 + 3 * n)
    return cv_out(c, 0, cv_refuse(c, "%zu operands", c->node->n_in));
  for (int i = 0; i < n; i++) x[i] = plain(c, 2 + 3 * i);
  const int axis = cv_axis(c, cv_int(c, "axis", 0), cv_rank(x[0]));
  cv_out(c, 0, c->failed ? NULL : requantized(c, cv_concat(c, n, x, axis), 0));
}

static void op_qlinear_softmax(cv *c) {
  ir_value *x = plain(c, 0);
  const int axis = cv_axis(c, cv_int(c, "axis", -1), cv_rank(x));
  if (cv_int(c, "opset", 13) < 13 && axis != cv_rank(x) - 1) cv_refuse(c, "axis %d of opset below 13", axis);
  ir_value *y = cv_at1(c, G_SOFTMAX, x, TSR_INT("axis", axis));
  cv_out(c, 0, c->failed ? NULL : requantized(c, y, 3));
}

const cv_row onnx_rows_contrib[] = {{"Gelu", 1, op_gelu},
                                    {"BiasGelu", 1, op_bias_gelu},
                                    {"FastGelu", 1, op_fast_gelu},
                                    {"QuickGelu", 1, op_quick_gelu},
                                    {"FusedMatMul", 1, op_fused_matmul},
                                    {"SkipLayerNormalization", 1, op_skip_layer_norm},
                                    {"SkipSimplifiedLayerNormalization", 1, op_skip_rms_norm},
                                    {"Attention", 1, op_attention},
                                    {"MultiHeadAttention", 1, op_multi_head},
                                    {"QLinearAdd", 1, op_qlinear_add},
                                    {"QLinearMul", 1, op_qlinear_mul},
                                    {"QLinearSigmoid", 1, op_qlinear_sigmoid},
                                    {"QLinearLeakyRelu", 1, op_qlinear_leaky},
                                    {"QLinearGlobalAveragePool", 1, op_qlinear_global_average},
                                    {"QLinearConcat", 1, op_qlinear_concat},
                                    {"QLinearSoftmax", 1, op_qlinear_softmax},
                                    {NULL, 0, NULL}};
