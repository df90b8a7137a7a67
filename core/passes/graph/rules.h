/* core/passes/graph/rules.h - what a rewrite rule of graph_simplify sees, and the rules by file. */
#ifndef CORE_PASSES_GRAPH_RULES_H
#define CORE_PASSES_GRAPH_RULES_H
#include "core/ir/graph/ops.h"

enum { GRAPH_FOLD_MAX = 4096 }; /* elements of a constant, and points of the space, worth computing in constant_fold */

typedef struct rewrite {
  ir_builder b;    /* before op */
  ir_op *op;
  const char *why; /* set by a rule that matched but must not fire */
  const struct pass_options *options;
  bool reads_constants; /* a rule may look at all elements of large constants: once, not in every sweep */
} rewrite;

/* The value that replaces op's result, or NULL: no match, refused (why) or out of memory (b.failed). */
typedef ir_value *(*rewrite_fn)(rewrite *r);

/* X(name, changes rounding, help) */
#define GRAPH_RULES(X)                                                                                   \
  X(add_zero, 0, "x + 0, x - 0 -> x")                                                                    \
  X(mul_one, 0, "x * 1, x / 1 -> x")                                                                     \
  X(mul_zero, 0, "x * 0 -> 0, integers only")                                                            \
  X(div_to_mul, 0, "x / c -> x * (1 / c) where 1 / c is exact")                                          \
  X(pow_small, 0, "x ^ 1 -> x, x ^ 2 -> x * x")                                                          \
  X(undo, 0, "neg of neg, not of not -> x; abs of abs or neg, relu of relu -> one")                      \
  X(cast_chain, 0, "cast to its own type -> x; cast of a lossless cast -> one cast")                     \
  X(transpose_chain, 0, "transpose of transpose -> one; identity -> x")                                  \
  X(reshape_chain, 0, "reshape of reshape -> one; identity -> x")                                        \
  X(transpose_to_reshape, 0, "a transpose that moves dimensions of extent 1 alone -> reshape")            \
  X(reshape_of_slice, 0, "reshape of slice -> slice of reshape: the memory as it lies, and a window of it") \
  X(broadcast_chain, 0, "broadcast of broadcast -> one; identity -> x")                                  \
  X(slice_chain, 0, "slice of slice -> one; whole -> x")                                                 \
  X(drop_broadcast, 0, "operands that an elementwise op would broadcast by itself")                      \
  X(shrink_splat, 0, "a constant of equal elements in an elementwise op -> one number")                  \
  X(select_known, 0, "select with a constant condition or equal sides")                                  \
  X(constant_fold, 0, "ops on small constants are evaluated")                                            \
  X(transpose_into_matmul, 0, "a swap of an operand's last two dimensions -> transpose_a, transpose_b")  \
  X(transpose_of_matmul, 0, "the transpose of a product -> the product of the transposes")               \
  X(fuse_dequantize, 0, "the product with a dequantized matrix, transposed -> block_matmul")              \
  X(dequantized_product, 1, "the product of scaled integers of 8 bits -> that of the integers, scaled")     \
  X(scale_into_product, 1, "a product with constant weights, times a number for each channel -> scaled weights") \
  X(add_constants, 1, "constants for each channel that are added behind a product one by one -> one")   \
  X(flush_denormals, 1, "denormal numbers of a constant that a product multiplies -> 0")                  \
  X(recognize_relu, 0, "max(x, 0) -> relu")                                                              \
  X(recognize_rsqrt, 1, "1 / sqrt(x) -> rsqrt")                                                          \
  X(recognize_sigmoid, 1, "1 / (1 + exp(-x)) -> sigmoid")                                                \
  X(recognize_silu, 1, "x * sigmoid(x), x / (1 + exp(-x)) -> silu")                                      \
  X(recognize_gelu, 1, "gelu from erf or tanh")                                                          \
  X(recognize_softmax, 1, "exp(x - max) / sum -> softmax")                                               \
  X(recognize_layernorm, 1, "(x - mean) / sqrt(variance + eps) -> layernorm")                            \
  X(recognize_rmsnorm, 1, "x / sqrt(mean(x * x) + eps) -> rmsnorm")                                      \
  X(norm_affine, 1, "a norm times gamma, plus beta -> its operands")                                     \
  X(recognize_attention, 1, "softmax(scale q k^T + mask) v -> flash_attention")

#define DECLARE(name, rounds, help) ir_value *rule_##name(rewrite *r);
GRAPH_RULES(DECLARE)
#undef DECLARE

/* v is a constant whose elements are all *c. */
static inline bool splat_of(const ir_value *v, double *c) { return v->def && graph_splat(v->def, c); }
/* Every element of v is c. */
static inline bool is_number(const ir_value *v, double c) {
  double x;
  return splat_of(v, &x) && x == c;
}
#endif
