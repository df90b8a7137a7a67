/* tests/conformance/test_op_types.c - each op of Graph IR's table in each data type, on a device, against the f64
 * reference: what the table's `types` names must be accepted and right, what it doesn't name must be refused by the
 * text's rules, and the device may refuse (TSR_UNSUPPORTED) only what is listed below. Shapes are primes, ones, and
 * without elements. Prints what is refused.
 *   TSR_TEST_DEVICE (cpu:0). Exit 77: the device is not here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/eval.h"
#include "tests/conformance/open_device.h"
#include "tests/conformance/random_graph.h"
#include "tests/support/numbers.h"

/* The emulator's, when this is linked with it (tests/simt). */
extern const void *const conformance_backends[] __attribute__((weak));

enum { MAX_IN = 7 };

/* $T: the type under test ($N: its name in attributes), $F what it is cast to (f32, or complex64 of complex types),
 * $S that of its sums (of bytes i32),
 * $R x $C the shape, 1$R not 0. `args` are values %a, %b, .. in the order of the text. of_floats: with these attributes
 * the op takes no other types. */
static const struct {
  const char *op, *args, *body;
  bool of_floats;
} cases[] = {
    {"constant", "", "%r = \"tessera.graph.constant\"() {value = dense<1> : tensor<$Rx$Cx$T>}"},
    {"matmul", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx$Rx$T>", "%r = \"tessera.graph.matmul\"(%a, %b)"},
    {"matmul", "%a: tensor<3x$Cx$Rx$T>, %b: tensor<$Rx$Cx$T>",
     "%r = \"tessera.graph.matmul\"(%a, %b) {transpose_a = true, transpose_b = true}"},
    {"matmul", "%a: tensor<$Rx1x$T>, %b: tensor<$Rx$Cx$T>",
     "%s = \"tessera.graph.broadcast\"(%a) {shape = [$R, $C]}\n%r = \"tessera.graph.matmul\"(%s, %b) {transpose_b = "
     "true}"},
    {"matmul", "%a: tensor<$Cx$T>, %b: tensor<$Rx$Cx$T>",
     "%s = \"tessera.graph.broadcast\"(%a) {shape = [$R, $C]}\n%n = \"tessera.graph.mul\"(%s, %s)\n%r = "
     "\"tessera.graph.matmul\"(%b, %n) {transpose_b = true}"},
    {"matmul", "%a: tensor<1x$Cx$T>", "%k = \"tessera.graph.constant\"() {value = dense<[[2]]> : tensor<1x1x$T>}\n%r = \"tessera.graph.matmul\"(%k, %a)"},
#define TWO(name) {name, "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx$T>", "%r = \"tessera.graph." name "\"(%a, %b)"}
    TWO("add"),
    TWO("sub"),
    TWO("mul"),
    TWO("div"),
    TWO("rem"),
    TWO("pow"),
    TWO("min"),
    TWO("max"),
    TWO("and"),
    TWO("or"),
    TWO("xor"),
    TWO("mul_high"),
    TWO("shift_left"),
    TWO("shift_right"),
    TWO("prelu"),
#define ONE(name) {name, "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph." name "\"(%a)"}
    ONE("neg"),
    ONE("abs"),
    ONE("exp"),
    ONE("log"),
    ONE("sqrt"),
    ONE("rsqrt"),
    ONE("tanh"),
    ONE("erf"),
    ONE("sigmoid"),
    ONE("relu"),
    ONE("gelu"),
    ONE("silu"),
    ONE("sin"),
    ONE("cos"),
    ONE("floor"),
    ONE("ceil"),
    ONE("round"),
    ONE("trunc"),
    ONE("sign"),
    ONE("isnan"),
    ONE("isinf"),
    ONE("hardsigmoid"),
    ONE("hardswish"),
    ONE("leaky_relu"),
    ONE("elu"),
    ONE("celu"),
    ONE("selu"),
    ONE("softplus"),
    ONE("mish"),
    ONE("softsign"),
    ONE("expm1"),
    ONE("log1p"),
    ONE("tan"),
    ONE("asin"),
    ONE("acos"),
    ONE("atan"),
    ONE("sinh"),
    ONE("cosh"),
    ONE("asinh"),
    ONE("acosh"),
    ONE("atanh"),
    {"celu", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.celu\"(%a) {alpha = -0.7}"},
    {"hardsigmoid", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.hardsigmoid\"(%a) {alpha = 0.2, beta = 0.4}"},
    ONE("not"),
    {"compare", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx1x$T>",
     "%r = \"tessera.graph.compare\"(%a, %b) {predicate = \"le\"}"},
    {"select", "%a: tensor<$Rx$Cxi1>, %b: tensor<$Rx$Cx$T>, %c: tensor<$Cx$T>",
     "%r = \"tessera.graph.select\"(%a, %b, %c)"},
    {"cast", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.cast\"(%a) {dtype = \"$F\"}"},
    {"cast", "%a: tensor<$Rx$Cxf32>", "%r = \"tessera.graph.cast\"(%a) {dtype = \"$T\"}"},
    {"broadcast", "%a: tensor<$Rx1x$T>", "%r = \"tessera.graph.broadcast\"(%a) {shape = [2, $R, $C]}"},
#define FOLD(name) \
  {"reduce_" name, "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.reduce_" name "\"(%a) {axes = [1]}"}, {"reduce_" name, "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.reduce_" name "\"(%a) {axes = [0, 1]}"}
    FOLD("sum"),
    FOLD("mean"),
    FOLD("max"),
    FOLD("min"),
    FOLD("prod"),
    ONE("softmax"),
    {"softmax", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.softmax\"(%a) {axis = 0}"},
    {"layernorm", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx$T>, %c: tensor<$Cx$T>",
     "%r = \"tessera.graph.layernorm\"(%a, %b, %c)"},
    {"rmsnorm", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx$T>", "%r = \"tessera.graph.rmsnorm\"(%a, %b)"},
    {"reshape", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.reshape\"(%a) {shape = [$C, $R]}"},
    ONE("transpose"),
    {"slice", "%a: tensor<$Rx$Cx$T>",
     "%r = \"tessera.graph.slice\"(%a) {starts = [0, 0], sizes = [-1, -1], strides = [2, 3]}"},
    {"concat", "%a: tensor<$Rx$Cx$T>, %b: tensor<2x$Cx$T>", "%r = \"tessera.graph.concat\"(%a, %b) {axis = 0}"},
    {"concat", "%a: tensor<$Rx1x$T>",
     "%s = \"tessera.graph.broadcast\"(%a) {shape = [2, $R, $C]}\n%r = \"tessera.graph.concat\"(%s, %s) {axis = 1}"},
    {"pad", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.pad\"(%a) {low = [1, 0], high = [0, 2]}"},
    {"iota", "", "%r = \"tessera.graph.iota\"() {shape = [$R, $C], dtype = \"$N\"}"},
    {"iota", "", "%s = \"tessera.graph.iota\"() {shape = [$R, $C], axis = 0, dtype = \"$N\"}\n%r = \"tessera.graph.transpose\"(%s)"},
    {"clip", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.clip\"(%a) {min = -1.0, max = 3.0}"},
    {"clip", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.clip\"(%a)"},
    {"where", "%a: tensor<$Rx$Cxi1>, %b: tensor<$Cx$T>, %c: tensor<$Rx1x$T>", "%r = \"tessera.graph.where\"(%a, %b, %c)"},
    {"tril", "%a: tensor<2x$Rx$Cx$T>", "%r = \"tessera.graph.tril\"(%a) {diagonal = 2}"},
    {"triu", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.triu\"(%a) {diagonal = -1}"},
    {"tile", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.tile\"(%a) {repeats = [2, 3]}"},
    {"split", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.split\"(%a) {axis = 1}"},
    {"split", "%a: tensor<$Rx6x$T>", "%s, %r = \"tessera.graph.split\"(%a) {axis = 1, sizes = [1, 5]}"},
    {"batch_norm", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx$T>, %c: tensor<$Cx$T>", "%v = \"tessera.graph.abs\"(%c)\n%r = \"tessera.graph.batch_norm\"(%a, %b, %v, %b, %c)"},
    {"group_norm", "%a: tensor<$Rx$Cx4x$T>, %b: tensor<$Cx$T>, %c: tensor<$Cx$T>", "%r = \"tessera.graph.group_norm\"(%a, %b, %c) {groups = 1}"},
    {"instance_norm", "%a: tensor<2x$Rx$Cx$T>, %b: tensor<$Rx$T>", "%r = \"tessera.graph.instance_norm\"(%a, %b)"},
    ONE("logsumexp"),
    {"logsumexp", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.logsumexp\"(%a) {axes = [1]}"},
    ONE("log_softmax"),
    {"rope", "%a: tensor<2x$Rx6x$T>", "%r = \"tessera.graph.rope\"(%a)"},
    {"rope", "%a: tensor<$Rx6x$T>, %b: tensor<$Rxi8>", "%r = \"tessera.graph.rope\"(%a, %b) {interleaved = true}"},
    {"rope", "%a: tensor<3x$Rx2x$T>, %b: tensor<$Rx1x$T>, %c: tensor<$Rx1x$T>", "%r = \"tessera.graph.rope\"(%a, %b, %c)"},
    TWO("mse"),
    {"kl", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx$Cx$T>", "%p = \"tessera.graph.abs\"(%b)\n%r = \"tessera.graph.kl\"(%a, %p) {reduction = \"none\"}"},
    {"cross_entropy", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rxi8>", "%r = \"tessera.graph.cross_entropy\"(%a, %b) {reduction = \"none\"}"},
    {"cross_entropy", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.cross_entropy\"(%a, %b) {axis = 0}"},
    {"qkv_projection", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx6x$T>", "%r, %k, %v = \"tessera.graph.qkv_projection\"(%a, %b)"},
    {"factorized_matmul", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx2x$T>, %c: tensor<2x$Rx$T>", "%r = \"tessera.graph.factorized_matmul\"(%a, %b, %c)"},
    {"flash_attention", "%a: tensor<1x2x$Rx$Cx$T>, %b: tensor<1x2x5x$Cx$T>, %c: tensor<1x2x5x3x$T>", "%r = \"tessera.graph.flash_attention\"(%a, %b, %c)"},
    {"flash_attention", "%a: tensor<2x3x$Rx4x$T>, %b: tensor<2x1x$Cx4x$T>, %c: tensor<2x1x$Cx6x$T>", "%r = \"tessera.graph.flash_attention\"(%a, %b, %c) {causal = true, scale = 0.125}"},
    {"flash_attention", "%a: tensor<1x1x$Rx8x$T>, %b: tensor<1x1x$Cx8x$T>, %c: tensor<$Rx$Cxi1>", "%r = \"tessera.graph.flash_attention\"(%a, %b, %b, %c) {window = 5, softcap = 3.0}"},
    {"flash_attention", "%a: tensor<1x1x$Rx8x$T>, %b: tensor<1x1x$Cx8x$T>, %c: tensor<1x$Cx$T>", "%r = \"tessera.graph.flash_attention\"(%a, %b, %b, %c)"},
    {"rng_uniform", "%a: tensor<2x$T>, %b: tensor<4xi32>", "%r = \"tessera.graph.rng_uniform\"(%a, %b) {shape = [$R, $C], dtype = \"i32\"}"},
    {"rng_uniform", "%a: tensor<2x$T>", "%r = \"tessera.graph.rng_uniform\"(%a) {shape = [$R, $C]}"},
    {"rng_normal", "%a: tensor<2x$T>", "%r = \"tessera.graph.rng_normal\"(%a) {shape = [$R, $C]}"},
    {"dropout", "%a: tensor<$Rx$Cx$T>, %b: tensor<2xi32>", "%r = \"tessera.graph.dropout\"(%a, %b) {p = 0.3}"},
    {"sgd", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx$Cxf16>", "%l = \"tessera.graph.constant\"() {value = dense<0.1> : tensor<f32>}\n%s = \"tessera.graph.constant\"() {value = dense<3> : tensor<i8>}\n%r, %v = \"tessera.graph.sgd\"(%a, %b, %l, %a) {momentum = 0.9, nesterov = true}"},
    {"adamw", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx$Cx$T>", "%l = \"tessera.graph.constant\"() {value = dense<0.1> : tensor<f32>}\n%s = \"tessera.graph.constant\"() {value = dense<3> : tensor<i8>}\n%q = \"tessera.graph.mul\"(%b, %b)\n%r, %m, %v = \"tessera.graph.adamw\"(%a, %b, %b, %q, %l, %s)"},
    {"check_numerics", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx$T>", "%n, %r = \"tessera.graph.check_numerics\"(%a, %b)"},
    {"check_numerics", "%a: tensor<$Rx$Cx$T>", "%r, %n = \"tessera.graph.check_numerics\"(%a)"},
    {"stochastic_cast", "%a: tensor<$Rx$Cx$T>, %b: tensor<2xi32>", "%r = \"tessera.graph.stochastic_cast\"(%a, %b) {dtype = \"fp8_e4m3\"}"},
    {"loss_scale", "%a: tensor<$Rx$Cx$T>", "%s = \"tessera.graph.constant\"() {value = dense<8.0> : tensor<f32>}\n%n = \"tessera.graph.constant\"() {value = dense<3> : tensor<i32>}\n%x, %y, %z, %r = \"tessera.graph.loss_scale\"(%s, %n, %a)"},
    {"quantize", "%a: tensor<$Rx$Cx$T>", "%r, %s = \"tessera.graph.quantize\"(%a) {scales = \"block\", block = 4}"},
    {"quantize", "%a: tensor<$Rx$Cx$T>", "%q, %r = \"tessera.graph.quantize\"(%a) {scales = \"channel\", axis = 0, powers_of_two = true}"},
    {"quantize_delayed", "%a: tensor<$Rx$Cx$T>, %b: tensor<5xf32>", "%s, %r, %h = \"tessera.graph.quantize_delayed\"(%a, %b) {dtype = \"f16\"}"},
    {"rescale", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx1xf32>", "%r = \"tessera.graph.rescale\"(%a, %b) {scales = \"block\"}"},
    {"fake_quantize", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.fake_quantize\"(%a) {dtype = \"f16\"}"},
    {"global_norm", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx$T>", "%r = \"tessera.graph.global_norm\"(%a, %b)"},
    {"clip_by_global_norm", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx$T>", "%r, %s, %n = \"tessera.graph.clip_by_global_norm\"(%a, %b)"},
    {"rnn", "%a: tensor<3x$Rx$Cx$T>, %b: tensor<1x3x$Cx$T>, %c: tensor<1x3x3x$T>", "%r, %h = \"tessera.graph.rnn\"(%a, %b, %c) {activation = \"relu\"}"},
    {"gru", "%a: tensor<2x$Rx$Cx$T>, %b: tensor<1x15x$Cx$T>, %c: tensor<1x15x5x$T>, %d: tensor<1x30x$T>", "%r, %h = \"tessera.graph.gru\"(%a, %b, %c, %d) {direction = \"reverse\"}"},
    {"gru", "%a: tensor<2x$Rx4x$T>, %b: tensor<1x$Cx4x$T>, %c: tensor<3x$Rx6x$T>, %d: tensor<2x18x6x$T>, %e: tensor<2x18x2x$T>", "%z = \"tessera.graph.slice\"(%c) {starts = [0, 0, 0], sizes = [3, $R, 2]}\n%h, %r = \"tessera.graph.gru\"(%z, %e, %d) {direction = \"bidirectional\", linear_before_reset = true}"},
    {"lstm", "%a: tensor<3x$Rx$Cx$T>, %b: tensor<2x20x$Cx$T>, %c: tensor<2x20x5x$T>, %d: tensor<2x40x$T>, %e: tensor<$Rxi32>, %f: tensor<2x$Rx5x$T>, %g: tensor<2x$Rx5x$T>", "%r, %h, %k = \"tessera.graph.lstm\"(%a, %b, %c, %d, %e, %f, %g) {direction = \"bidirectional\"}"},
    {"lstm", "%a: tensor<2x$Rx$Cx$T>, %b: tensor<1x20x$Cx$T>, %c: tensor<1x20x5x$T>", "%y, %h, %r = \"tessera.graph.lstm\"(%a, %b, %c)"},
    {"recurrence", "%a: tensor<2x$Rx12x$T>, %b: tensor<3x12x$T>, %c: tensor<12x$T>, %d: tensor<$Rx3x$T>, %e: tensor<$Rx3x$T>", "%r, %h, %k = \"tessera.graph.recurrence\"(%a, %b, %c, %d, %e) {cell = \"lstm\", reverse = true}"},
#define BACKWARD(results, attrs) \
  "%y, %l = \"tessera.graph.flash_attention\"(%a, %b, %b) {" attrs "}\n" \
  results " = \"tessera.graph.flash_attention_backward\"(%a, %b, %b, %c, %l, %l) {" attrs "}"
/* A matrix with 50 added to its diagonal, which small elements leave positive definite. */
#define DOMINANT \
  "%i = \"tessera.graph.iota\"() {shape = [$R, $R], axis = 0}\n%j = \"tessera.graph.iota\"() {shape = [$R, $R], axis = 1}\n" \
  "%e = \"tessera.graph.compare\"(%i, %j) {predicate = \"eq\"}\n%n = \"tessera.graph.cast\"(%e) {dtype = \"$N\"}\n" \
  "%k = \"tessera.graph.constant\"() {value = dense<50.0> : tensor<$T>}\n%d = \"tessera.graph.mul\"(%n, %k)\n" \
  "%m = \"tessera.graph.add\"(%a, %d)\n"
    {"cholesky", "%a: tensor<3x$Rx$Rx$T>", DOMINANT "%r = \"tessera.graph.cholesky\"(%m)"},
    {"cholesky", "%a: tensor<$Rx$Rx$T>", DOMINANT "%r = \"tessera.graph.cholesky\"(%m) {upper = true}"},
    {"cholesky", "%a: tensor<$Cx$Rx$Rx$T>", "%r = \"tessera.graph.cholesky\"(%a)"},
    {"dequantize", "%a: tensor<$Rx18x$T>", "%r = \"tessera.graph.dequantize\"(%a) {format = \"q4_0\"}"},
    {"dequantize", "%a: tensor<2x$Rx40x$T>", "%r = \"tessera.graph.dequantize\"(%a) {format = \"q4_1\"}"},
    {"dequantize", "%a: tensor<2x$Rx44x$T>", "%r = \"tessera.graph.dequantize\"(%a) {format = \"q5_0\"}"},
    {"dequantize", "%a: tensor<2x$Rx48x$T>", "%r = \"tessera.graph.dequantize\"(%a) {format = \"q5_1\"}"},
    {"dequantize", "%a: tensor<2x$Rx68x$T>", "%r = \"tessera.graph.dequantize\"(%a) {format = \"q8_0\"}"},
    {"dequantize", "%a: tensor<2x$Rx36x$T>", "%r = \"tessera.graph.dequantize\"(%a) {format = \"iq4_nl\"}"},
    {"dequantize", "%a: tensor<$Rx84x$T>", "%r = \"tessera.graph.dequantize\"(%a) {format = \"q2_k\"}"},
    {"block_matmul", "%a: tensor<$Rx32x$T>, %b: tensor<$Cx18xui8>", "%r = \"tessera.graph.block_matmul\"(%a, %b) {format = \"q4_0\", activations = \"q8_0\"}"},
    {"block_matmul", "%a: tensor<$Rx64x$T>, %b: tensor<$Cx40xui8>", "%r = \"tessera.graph.block_matmul\"(%a, %b) {format = \"q4_1\"}"},
    {"block_matmul", "%a: tensor<$Rx96x$T>, %b: tensor<$Cx54xui8>", "%r = \"tessera.graph.block_matmul\"(%a, %b) {format = \"q4_0\"}"},
    {"block_matmul", "%a: tensor<$Rx96x$T>, %b: tensor<$Cx66xui8>", "%r = \"tessera.graph.block_matmul\"(%a, %b) {format = \"q5_0\"}"},
    {"block_matmul", "%a: tensor<$Rx96x$T>, %b: tensor<$Cx72xui8>", "%r = \"tessera.graph.block_matmul\"(%a, %b) {format = \"q5_1\"}"},
    {"block_matmul", "%a: tensor<$Rx96x$T>, %b: tensor<$Cx102xui8>", "%r = \"tessera.graph.block_matmul\"(%a, %b) {format = \"q8_0\"}"},
    {"block_matmul", "%a: tensor<$Rx96x$T>, %b: tensor<$Cx54xui8>", "%r = \"tessera.graph.block_matmul\"(%a, %b) {format = \"iq4_nl\"}"},
    {"block_matmul", "%a: tensor<64x$T>, %b: tensor<$Cx40xui8>", "%r = \"tessera.graph.block_matmul\"(%a, %b) {format = \"q4_1\"}"},
    {"tri_solve", "%a: tensor<$Rx$Rx$T>, %b: tensor<$Rx$Cx$T>", DOMINANT "%r = \"tessera.graph.tri_solve\"(%m, %b)"},
    {"tri_solve", "%a: tensor<4x$Rx$Rx$T>, %b: tensor<4x$Rx$Cx$T>", DOMINANT "%r = \"tessera.graph.tri_solve\"(%m, %b) {upper = true}"},
    {"tri_solve", "%a: tensor<$Rx$Rx$T>, %b: tensor<$Rx1x$T>", DOMINANT "%r = \"tessera.graph.tri_solve\"(%m, %b) {transpose = true}"},
    {"tri_solve", "%a: tensor<$Rx$Rx$T>, %b: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.tri_solve\"(%a, %b) {unit_diagonal = true}"},
    {"qr", "%a: tensor<$Rx$Cx$T>", "%r, %q = \"tessera.graph.qr\"(%a)"},
    {"qr", "%a: tensor<3x$Cx$Rx$T>", "%q, %r = \"tessera.graph.qr\"(%a)"},
    {"svd", "%a: tensor<5x$Rx$Cx$T>", "%r, %s, %v = \"tessera.graph.svd\"(%a)"},
    {"svd", "%a: tensor<$Cx$Rx$T>", "%u, %r, %v = \"tessera.graph.svd\"(%a)"},
    {"svd", "%a: tensor<$Cx$Rx$T>", "%u, %s, %r = \"tessera.graph.svd\"(%a)"},
    {"flash_attention", "%a: tensor<2x4x$Rx8x$T>, %b: tensor<2x2x$Cx8x$T>, %c: tensor<2xi32>", "%o, %r = \"tessera.graph.flash_attention\"(%a, %b, %b, %c) {causal = true}"},
    {"flash_attention_backward", "%a: tensor<1x2x$Rx8x$T>, %b: tensor<1x1x$Cx8x$T>, %c: tensor<1x2x$Rx8x$T>", BACKWARD("%r, %1, %2", "causal = true, scale = 0.125")},
    {"flash_attention_backward", "%a: tensor<1x2x$Rx8x$T>, %b: tensor<1x1x$Cx8x$T>, %c: tensor<1x2x$Rx8x$T>", BACKWARD("%0, %r, %2", "window = 5")},
    {"flash_attention_backward", "%a: tensor<1x2x$Rx8x$T>, %b: tensor<1x1x$Cx8x$T>, %c: tensor<1x2x$Rx8x$T>", BACKWARD("%0, %1, %r", "softcap = 3.0")},
    {"einsum", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx3x$T>", "%r = \"tessera.graph.einsum\"(%a, %b) {equation = \"ij,jk->ki\"}"},
    {"einsum", "%a: tensor<2x$Rx$Cx$T>, %b: tensor<$Cx2x3x$T>, %c: tensor<3x$T>", "%r = \"tessera.graph.einsum\"(%a, %b, %c) {equation = \"bij,jbk,k->bi\"}"},
    {"einsum", "%a: tensor<$Rx$Rx$Cx$T>", "%r = \"tessera.graph.einsum\"(%a) {equation = \"ii...->...i\"}"},
    {"einsum", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx1x$T>", "%r = \"tessera.graph.einsum\"(%a, %b) {equation = \"i...,i...->...\"}"},
    {"depth_to_space", "%a: tensor<$Rx8x$Cx3x$T>", "%r = \"tessera.graph.depth_to_space\"(%a) {block = 2}"},
    {"space_to_depth", "%a: tensor<$Rx4x6x$Cx$T>", "%r = \"tessera.graph.space_to_depth\"(%a) {block = 2, layout = \"nhwc\"}"},
    {"max_pool", "%a: tensor<2x3x$Rx$Cx$T>", "%r = \"tessera.graph.max_pool\"(%a) {kernel = [2, 3], strides = [2, 1], padding = \"same\"}"},
    {"max_pool", "%a: tensor<$Rx5x6x$Cx$T>", "%r = \"tessera.graph.max_pool\"(%a) {kernel = [2, 3], low = [1, 0], strides = [2, 2], ceil_mode = true, layout = \"nhwc\"}"},
    {"average_pool", "%a: tensor<2x3x$Rx$Cx$T>", "%r = \"tessera.graph.average_pool\"(%a) {kernel = [3, 3], strides = [1, 2], padding = \"same\"}"},
    {"patches", "%a: tensor<2x4x$Rx$Cx$T>", "%r = \"tessera.graph.patches\"(%a) {kernel = [2, 3], groups = 2, strides = [2, 1], padding = \"same\"}"},
    {"patches", "%a: tensor<$Rx6x5x$Cx$T>", "%r = \"tessera.graph.patches\"(%a) {kernel = [2, 2], low = [1, 0], dilations = [2, 1], reversed = true, layout = \"nhwc\"}"},
    {"conv1d", "%a: tensor<2x$Cx$Rx$T>, %w: tensor<5x$Cx3x$T>, %b: tensor<5x$S>", "%r = \"tessera.graph.conv1d\"(%a, %w, %b) {padding = \"same\"}"},
    {"conv2d", "%a: tensor<2x6x$Rx$Cx$T>, %w: tensor<4x3x2x3x$T>, %b: tensor<4x$S>", "%r = \"tessera.graph.conv2d\"(%a, %w, %b) {groups = 2, strides = [2, 1], padding = \"same\"}"},
    {"conv2d", "%a: tensor<$Rx5x6x$Cx$T>, %w: tensor<3x2x$Cx7x$T>", "%r = \"tessera.graph.conv2d\"(%a, %w) {low = [1, 1], dilations = [1, 2], layout = \"nhwc\"}"},
    {"conv3d", "%a: tensor<2x$Rx3x$Cx2x$T>, %w: tensor<4x$Rx2x3x1x$T>", "%r = \"tessera.graph.conv3d\"(%a, %w) {padding = \"same_lower\", strides = [1, 2, 1]}"},
    {"conv2d", "%a: tensor<2x5x4x6x$T>, %w: tensor<2x3x3x6x$T>, %b: tensor<6x$S>", "%0 = \"tessera.graph.conv2d\"(%a, %w, %b) {groups = 2, padding = \"same\", layout = \"nhwc\"}\n%r = \"tessera.graph.relu\"(%0)"},
    {"conv2d", "%a: tensor<2x7x$Rx$Cx$T>, %w: tensor<7x1x3x2x$T>, %b: tensor<7x$S>", "%r = \"tessera.graph.conv2d\"(%a, %w, %b) {groups = 7, padding = \"same\", strides = [1, 2]}"},
    {"conv2d", "%a: tensor<$Rx$Cx3x5x$T>, %w: tensor<9x$Cx1x1x$T>, %b: tensor<9x$S>", "%r = \"tessera.graph.conv2d\"(%a, %w, %b)"},
    {"conv_transpose", "%a: tensor<2x$Cx$Rx$T>, %w: tensor<$Cx5x3x$T>, %b: tensor<5x$T>", "%r = \"tessera.graph.conv_transpose\"(%a, %w, %b) {strides = [2], low = [1], output_padding = [1]}"},
    {"conv_transpose", "%a: tensor<2x3x$Rx$Cx$T>, %w: tensor<2x3x2x$Cx$T>", "%r = \"tessera.graph.conv_transpose\"(%a, %w) {strides = [1, 2], padding = \"same\", layout = \"nhwc\"}"},
    {"average_pool", "%a: tensor<$Rx6x5x$Cx$T>", "%r = \"tessera.graph.average_pool\"(%a) {layout = \"nhwc\"}"},
    {"resize", "%a: tensor<$Rx3x5x1$Cx$T>", "%r = \"tessera.graph.resize\"(%a) {sizes = [7, 10], coordinate_transformation_mode = \"asymmetric\"}"},
    {"resize", "%a: tensor<2x1$Rx7x$Cx$T>", "%r = \"tessera.graph.resize\"(%a) {scales = [2, 3], layout = \"nhwc\"}"},
    {"resize", "%a: tensor<$Rx3x5x1$Cx$T>", "%r = \"tessera.graph.resize\"(%a) {sizes = [5, 6], mode = \"linear\"}", true},
    {"resize", "%a: tensor<2x1$Rx7x$Cx$T>", "%r = \"tessera.graph.resize\"(%a) {sizes = [9, 4], mode = \"cubic\", layout = \"nhwc\"}", true},
    {"resize", "%a: tensor<$Rx3x5x1$Cx$T>", "%r = \"tessera.graph.resize\"(%a) {sizes = [4, 6], mode = \"linear\", roi = [0.25, -0.5, 0.75, 1.5], coordinate_transformation_mode = \"tf_crop_and_resize\"}", true},
    {"grid_sample", "%a: tensor<$Rx3x5x1$Cx$T>, %b: tensor<$Rx2x3x2xf32>", "%r = \"tessera.graph.grid_sample\"(%a, %b) {mode = \"nearest\"}"},
    {"grid_sample", "%a: tensor<$Rx3x5x1$Cx$T>, %b: tensor<$Rx2x3x2xf32>", "%r = \"tessera.graph.grid_sample\"(%a, %b) {padding_mode = \"border\"}", true},
    {"grid_sample", "%a: tensor<2x1$Rx7x$T>, %b: tensor<2x$Cx1xbf16>", "%r = \"tessera.graph.grid_sample\"(%a, %b) {mode = \"cubic\", padding_mode = \"reflection\", align_corners = true}", true},
    {"grid_sample", "%a: tensor<2x1$Rx3x2x4x$T>, %b: tensor<2x$Cx2x1x3xf16>", "%r = \"tessera.graph.grid_sample\"(%a, %b)", true},
    {"one_hot", "%a: tensor<$Rx$T>", "%r = \"tessera.graph.one_hot\"(%a) {depth = $C}"},
    {"cumsum", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.cumsum\"(%a) {axis = 0, exclusive = true}"},
    {"cumsum", "%a: tensor<2x$Rx$Cx$T>", "%r = \"tessera.graph.cumsum\"(%a) {reverse = true}"},
    {"cumprod", "%a: tensor<$Rx$Cx$T>", "%r = \"tessera.graph.cumprod\"(%a) {reverse = true}"},
    {"nonzero", "%a: tensor<$Rx$Cx$T>", "%r, %n = \"tessera.graph.nonzero\"(%a) {size = 40}"},
    {"argmax", "%a: tensor<3x$Cx$T>", "%r = \"tessera.graph.argmax\"(%a) {axis = 0, dtype = \"i64\"}"},
    {"argmin", "%a: tensor<$Rx4x$T>", "%r = \"tessera.graph.argmin\"(%a) {select_last_index = true}"},
    {"topk", "%a: tensor<$Rx9x$T>", "%v, %r = \"tessera.graph.topk\"(%a) {k = 3}"},
    {"topk", "%a: tensor<5x$Cx$T>", "%r, %i = \"tessera.graph.topk\"(%a) {k = 4, axis = 0, largest = false}"},
    {"sort", "%a: tensor<$Rx$Cx$T>", "%r, %i = \"tessera.graph.sort\"(%a) {axis = 0}"},
    {"sort", "%a: tensor<$Rx$Cx$T>", "%v, %r = \"tessera.graph.sort\"(%a) {descending = true, dtype = \"i64\"}"},
    {"router", "%a: tensor<$Rx4x$T>", "%r, %e, %s, %c = \"tessera.graph.router\"(%a) {capacity = 3}"},
    {"router", "%a: tensor<$Rx4x$T>", "%w, %e, %r, %c = \"tessera.graph.router\"(%a)"},
    {"moe_dispatch", "%a: tensor<$Rx$Cx$T>", "%s = \"tessera.graph.iota\"() {shape = [$R, 1], axis = 0}\n%r = \"tessera.graph.moe_dispatch\"(%a, %s) {rows = 12}"},
    {"moe_combine", "%a: tensor<$Rx$Cx$T>, %b: tensor<4x5x$T>", "%s = \"tessera.graph.iota\"() {shape = [4, 5], axis = 1}\n%r = \"tessera.graph.moe_combine\"(%a, %s, %b)"},
    {"grouped_matmul", "%a: tensor<$Rx$Cx$T>, %b: tensor<3x$Cx5x$T>", "%s = \"tessera.graph.iota\"() {shape = [3], axis = 0, dtype = \"i64\"}\n%r = \"tessera.graph.grouped_matmul\"(%a, %b, %s)"},
    {"recursive_mixture", "%a: tensor<$Rx$Cx$T>, %b: tensor<1x$Cx3x$T>, %c: tensor<3x$Cx$Cx$T>", "%r = \"tessera.graph.recursive_mixture\"(%a, %b, %c, %c) {k = 3, activation = \"relu\"}"},
    {"complex", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Cx$T>", "%r = \"tessera.graph.complex\"(%a, %b)"},
    ONE("real"),
    ONE("imag"),
    ONE("conj"),
    ONE("as_signed"),
    ONE("as_unsigned"),
    ONE("as_bytes"),
    {"as_f16", "%a: tensor<$Rx10x$T>", "%r = \"tessera.graph.as_f16\"(%a)"},
    {"as_f16", "%a: tensor<$Rx10x$T>", "%p = \"tessera.graph.as_f16\"(%a)\n%r = \"tessera.graph.slice\"(%p) {starts = [0, 1], sizes = [$R, 1]}"},
    {"as_packed", "%a: tensor<$Rx$T>", "%r = \"tessera.graph.as_packed\"(%a) {shape = [2, $R], dtype = \"i4\"}"},
    {"as_packed", "%a: tensor<$Rx$T>", "%p = \"tessera.graph.as_packed\"(%a) {shape = [$R, 2], dtype = \"u4\"}\n%r = \"tessera.graph.transpose\"(%p)"},
    ONE("as_real"),
    {"as_complex", "%a: tensor<$Rx$Cx2x$T>", "%r = \"tessera.graph.as_complex\"(%a)"},
    {"fft", "%a: tensor<$Rx12x$T>", "%r = \"tessera.graph.fft\"(%a)"},
    {"fft", "%a: tensor<$Rx130x$Cx$T>", "%r = \"tessera.graph.fft\"(%a) {axes = [1], norm = \"ortho\"}"},
    {"fft", "%a: tensor<2x263x$T>", "%r = \"tessera.graph.fft\"(%a)"},
    {"ifft", "%a: tensor<5x$Rx3x$T>", "%r = \"tessera.graph.ifft\"(%a) {axes = [2, 0]}"},
    {"dft", "%a: tensor<$Rx12x$Cx2x$T>", "%r = \"tessera.graph.dft\"(%a) {axis = 1, to = 0, scale = 0.5}"},
    {"dft", "%a: tensor<$Rx18x5x2x$T>", "%r = \"tessera.graph.dft\"(%a) {axis = 1, inverse = true, twiddle = true}"},
    {"dft", "%a: tensor<3x2x9x$Cx$T>", "%p = \"tessera.graph.transpose\"(%a) {perm = [2, 3, 0, 1]}\n%r = \"tessera.graph.dft\"(%p) {axis = 0}"},
    {"rfft", "%a: tensor<$Rx15x$T>", "%r = \"tessera.graph.rfft\"(%a) {norm = \"forward\"}"},
    {"rfft", "%a: tensor<6x$Rx4x$T>", "%r = \"tessera.graph.rfft\"(%a) {axes = [0, 2]}"},
    {"irfft", "%a: tensor<$Rx8x$T>", "%r = \"tessera.graph.irfft\"(%a) {n = 15}"},
    {"irfft", "%a: tensor<6x$Rx3x$T>", "%r = \"tessera.graph.irfft\"(%a) {axes = [0, 2]}"},
    TWO("pointwise_mul"),
    {"dct", "%a: tensor<$Rx13x$T>", "%r = \"tessera.graph.dct\"(%a)"},
    {"dct", "%a: tensor<6x$Rx$T>", "%r = \"tessera.graph.dct\"(%a) {axis = 0, type = 3, norm = \"ortho\"}"},
    {"stft", "%a: tensor<$Rx20x$T>, %b: tensor<6x$T>", "%r = \"tessera.graph.stft\"(%a, %b) {size = 6, hop = 4}"},
    {"istft", "%a: tensor<$Rx3x4x$T>", "%r = \"tessera.graph.istft\"(%a) {hop = 2}"},
    {"spectral_conv", "%a: tensor<$Rx3x13x$T>, %b: tensor<3x4x5x2x$T>", "%z = \"tessera.graph.as_complex\"(%b)\n%r = \"tessera.graph.spectral_conv\"(%a, %z)"},
    {"spectral_conv", "%a: tensor<2x3x4x6x$T>, %b: tensor<3x5x3x3x2x$T>", "%z = \"tessera.graph.as_complex\"(%b)\n%r = \"tessera.graph.spectral_conv\"(%a, %z)"},
    {"if", "%a: tensor<$Rx$Cx$T>, %b: tensor<i1>", "%r = \"tessera.graph.if\"(%b, %a) ({\n^bb0(%v: tensor<$Rx$Cx$T>):\n%s = \"tessera.graph.concat\"(%v, %v) {axis = 0}\n\"tessera.graph.return\"(%s)\n}, {\n^bb0(%v: tensor<$Rx$Cx$T>):\n%s = \"tessera.graph.pad\"(%v) {low = [$R, 0], high = [0, 0]}\n\"tessera.graph.return\"(%s)\n})"},
    {"while", "%a: tensor<$Rx$Cx$T>, %b: tensor<i8>", "%z = \"tessera.graph.constant\"() {value = dense<100> : tensor<i8>}\n%i, %r = \"tessera.graph.while\"(%b, %a, %z) ({\n^bb0(%k: tensor<i8>, %v: tensor<$Rx$Cx$T>, %m: tensor<i8>):\n%c = \"tessera.graph.compare\"(%k, %m) {predicate = \"lt\"}\n\"tessera.graph.return\"(%c)\n}, {\n^bb0(%k: tensor<i8>, %v: tensor<$Rx$Cx$T>, %m: tensor<i8>):\n%o = \"tessera.graph.constant\"() {value = dense<51> : tensor<i8>}\n%l = \"tessera.graph.add\"(%k, %o)\n%t = \"tessera.graph.concat\"(%v, %v) {axis = 0}\n%s = \"tessera.graph.slice\"(%t) {starts = [$R, 0], sizes = [$R, $C]}\n\"tessera.graph.return\"(%l, %s)\n}) {carried = 2, max_trips = 3}"},
/* Indices of either sign, of which some are outside the smaller shapes. */
#define IN_RANGE(type) \
  "%n = \"tessera.graph.constant\"() {value = dense<9> : tensor<" type ">}\n%i = \"tessera.graph.rem\"(%b, %n)\n"
    {"gather", "%a: tensor<$Rx$Cx$T>, %b: tensor<3x2xi32>", IN_RANGE("i32") "%r = \"tessera.graph.gather\"(%a, %i)"},
    {"gather", "%a: tensor<$Rx$Cx$T>, %b: tensor<41xi64>", IN_RANGE("i64") "%r = \"tessera.graph.gather\"(%a, %i) {axis = -1}"},
    {"gather_elements", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx5xi64>", IN_RANGE("i64") "%r = \"tessera.graph.gather_elements\"(%a, %i) {axis = 1}"},
    {"gather_nd", "%a: tensor<$Rx$Cx$T>, %b: tensor<4x3x2xi32>", IN_RANGE("i32") "%r = \"tessera.graph.gather_nd\"(%a, %i)"},
    {"gather_nd", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx4x1xi64>", IN_RANGE("i64") "%r = \"tessera.graph.gather_nd\"(%a, %i) {batch_dims = 1}"},
    {"embedding", "%a: tensor<$Rx$Cx$T>, %b: tensor<3x5xi32>", IN_RANGE("i32") "%r = \"tessera.graph.embedding\"(%a, %i)"},
    {"scatter", "%a: tensor<$Rx$Cx$T>, %b: tensor<19x$Cxi32>, %c: tensor<19x$Cx$T>", IN_RANGE("i32") "%r = \"tessera.graph.scatter\"(%a, %i, %c)"},
    {"scatter_add", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx19xi64>, %c: tensor<$Rx19x$T>", IN_RANGE("i64") "%r = \"tessera.graph.scatter_add\"(%a, %i, %c) {axis = 1}"},
    {"scatter_nd", "%a: tensor<$Rx$Cx$T>, %b: tensor<19x1xi32>, %c: tensor<19x$Cx$T>", IN_RANGE("i32") "%r = \"tessera.graph.scatter_nd\"(%a, %i, %c)"},
    {"scatter_nd", "%a: tensor<$Rx$Cx$T>, %b: tensor<$Rx7x1xi32>, %c: tensor<$Rx7x$T>", IN_RANGE("i32") "%r = \"tessera.graph.scatter_nd\"(%a, %i, %c) {batch_dims = 1}"},
    {"cache_update", "%a: tensor<$Rx9x$Cx$T>, %b: tensor<$Rxi32>, %c: tensor<$Rx4x$Cx$T>", IN_RANGE("i32") "%r = \"tessera.graph.cache_update\"(%a, %c, %i)"},
    {"cache_update", "%a: tensor<$Rx5x$Cx$T>, %b: tensor<i64>, %c: tensor<$Rx3x$Cx$T>", IN_RANGE("i64") "%r = \"tessera.graph.cache_update\"(%a, %c, %i) {axis = 1, ring = true}"},
};

typedef struct extents { int r, c; } extents;
static const extents shapes[] = {{13, 7}, {1, 1}, {1, 37}, {31, 1}, {0, 5}, {5, 0}},
                     packed_shapes[] = {{5, 7}, {1, 1}, {1, 7}, {7, 1}, {0, 5}, {5, 0}, {3, 4}, {6, 2}};
static const tsr_dtype types[] = {TSR_F64, TSR_F32, TSR_F16, TSR_BF16, TSR_F8E4M3, TSR_F8E5M2,
                                  TSR_I64, TSR_I32, TSR_I16, TSR_I8,   TSR_U8,     TSR_BOOL,
                                  TSR_U64, TSR_U32, TSR_U16,  TSR_I4,   TSR_U4,
                                  TSR_COMPLEX32, TSR_COMPLEX64, TSR_COMPLEX128};

typedef struct suite {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_stream *stream;
  bool cpu;
  int right, refused, unsupported, wrong;
} suite;

/* Is t among the types that the table names? */
static bool documented(const char *op, tsr_dtype t) {
  char full[64], list[160];
  const char *name = t == TSR_F8E4M3 || t == TSR_F8E5M2 ? "fp8"
                     : dtype_is_complex(t)                  ? "complex"
                                                            : tsr_dtype_name(t);
  snprintf(full, sizeof full, "tessera.graph.%s", op);
  snprintf(list, sizeof list, "%s", ir_find_op(full)->types_doc);
  for (char *save, *w = strtok_r(strtok_r(list, ";", &save), ", ", &save); w; w = strtok_r(NULL, ", ", &save))
    if (!strcmp(w, name)) return true;
  return false;
}

static void expand(const char *s, tsr_dtype t, int r, int c, char **out) {
  for (; *s; s++) {
    if (*s != '$') *(*out)++ = *s;
    else if (*++s == 'T') *out += sprintf(*out, "%s", dtype_get(t)->mlir);
    else if (*s == 'S') *out += sprintf(*out, "%s", t == TSR_I8 || t == TSR_U8 ? "i32" : dtype_get(t)->mlir);
    else if (*s == 'N') *out += sprintf(*out, "%s", tsr_dtype_name(t));
    else if (*s == 'F') *out += sprintf(*out, "%s", dtype_is_complex(t) ? "complex64" : "f32");
    else *out += sprintf(*out, "%d", *s == 'R' ? r : c);
  }
  **out = 0;
}

/* Numbers: of complex elements two each. */
static size_t count(const tsr_tensor_info *t) { return numbers_of(t); }

static tsr_status execute(suite *s, tsr_program *p, void **in, void *out) {
  tsr_binding bi[MAX_IN] = {{0}}, bo = {0};
  tsr_status st = NULL;
  for (int i = 0; !st && i < tsr_program_n_inputs(p); i++) {
    st = tsr_buffer_create(s->dev, tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &bi[i].buffer);
    if (!st) st = tsr_buffer_write(bi[i].buffer, 0, in[i], tsr_program_input(p, i).bytes);
  }
  if (!st) st = tsr_buffer_create(s->dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &bo.buffer);
  if (!st) st = tsr_program_run(p, s->stream, bi, &bo);
  if (!st) st = tsr_stream_sync(s->stream, -1); /* reads of results without elements wait for nothing */
  if (!st) st = tsr_buffer_read(bo.buffer, 0, out, tsr_program_output(p, 0).bytes);
  for (int i = 0; i < MAX_IN; i++) tsr_buffer_destroy(&bi[i].buffer);
  tsr_buffer_destroy(&bo.buffer);
  return st;
}

/* The program's result on random operands is the reference's. */
static tsr_status check(suite *s, const tsr_graph *g, const char *text) {
  tsr_program *p = NULL;
  tsr_status st = tsr_program_compile(s->dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p);
  if (st) return st;
  rng random = {11, !s->cpu && strstr(text, "norm"), !s->cpu};
  void *in[MAX_IN] = {NULL};
  tsr_tensor_info t = tsr_program_output(p, 0);
  void *out = malloc(t.bytes + 8);
  double *want = malloc(sizeof *want * (count(&t) + 1)), *tolerance = malloc(sizeof *want * (count(&t) + 1));
  for (int i = 0; i < tsr_program_n_inputs(p); i++) {
    tsr_tensor_info x = tsr_program_input(p, i);
    in[i] = calloc(1, x.bytes + 8); /* nothing beside packed elements */
    random_fill(&random, x.dtype, in[i], count(&x), false);
  }
  st = execute(s, p, in, out);
  if (!st) st = tsr_graph_reference(g, (const void *const *)in, &want, &tolerance);
  bool ok = true;
  for (size_t i = 0; !st && ok && i < count(&t); i++) {
    double have = dtype_load(t.dtype, out, i);
    ok = graph_agrees(t.dtype, have, (graph_num){.v = want[i], .e = tolerance[i]});
    if (!ok)
      printf("FAIL element %zu is %.9g, reference %.9g, tolerance %.3g:\n%s", i, have, want[i], tolerance[i], text);
  }
  if (!st && ok) s->right++;
  if (!ok) s->wrong++;
  for (int i = 0; i < MAX_IN; i++) free(in[i]);
  free(out);
  free(want);
  free(tolerance);
  tsr_program_destroy(&p);
  return st;
}

static void one(suite *s, size_t k, tsr_dtype t, int r, int c, bool *told) {
  char text[2048], *o = text;
  tsr_graph *g = NULL;
  o += sprintf(o, "\"tessera.graph.func\"() ({\n^bb0(");
  expand(cases[k].args, t, r, c, &o);
  o += sprintf(o, "):\n");
  expand(cases[k].body, t, r, c, &o);
  sprintf(o, "\n\"tessera.graph.return\"(%%r)\n}) {sym_name = \"main\"}\n");
  bool doc = documented(cases[k].op, t) && (!cases[k].of_floats || dtype_is_float(t));
  tsr_status st = tsr_graph_parse(s->ctx, text, strlen(text), "text", &g);
  if (!st != doc)
    printf("FAIL %s of %s is %s by the table: %s\n", cases[k].op, tsr_dtype_name(t), doc ? "allowed" : "not allowed",
           st ? tsr_status_message(st) : "accepted"),
        s->wrong++;
  else if (st) s->refused++;
  if (!st) {
    st = check(s, g, text);
    if (tsr_status_code(st) == TSR_UNSUPPORTED && !s->cpu && strstr(tsr_status_message(st), "shaderFloat64")) {
      s->unsupported++; /* that the CPU lacks nothing, and others nothing else, is what is tested */
      if (!*told) printf("unsupported: %s of %s: %s\n", cases[k].op, tsr_dtype_name(t), tsr_status_message(st));
      *told = true;
    } else if (st) printf("FAIL %s\n%s", tsr_status_message(st), text), s->wrong++;
  }
  tsr_status_free(st);
  tsr_graph_destroy(&g);
}

static bool is_wanted(const char *op, int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], op)) return true;
  return argc < 2;
}

/* Every row of the table has its case. */
static void check_complete(suite *s) {
  const ir_opdef *row;
  for (size_t i = 0; (row = ir_row(IR_GRAPH, i)); i++) {
    bool found = row->code == G_FUNC || row->code == G_RETURN || row->code == G_CUSTOM || row->code == G_CONTROL ||
                 ((const graph_row *)row->ext)->kind == GRAPH_COLLECTIVE; /* one device alone runs none */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
      found |= !strcmp(strrchr(row->name, '.') + 1, cases[k].op);
    if (!found) printf("FAIL %s has no case\n", row->name), s->wrong++;
  }
}

/* The names of ops: these alone. */
int main(int argc, char **argv) {
  suite s = {0};
  const char *device;
  const tsr_context_desc desc = {.cache_dir = "", .extra_backends = conformance_backends};
  int rc = open_for_test(&desc, &s.ctx, &s.dev, &device);
  if (rc) return rc;
  tsr_status st = tsr_stream_create(s.dev, 0, &s.stream);
  if (st) {
    printf("%s\n", tsr_status_message(st));
    return 1;
  }
  check_complete(&s);
  s.cpu = !strncmp(device, "cpu", 3);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (size_t t = 0; t < sizeof types / sizeof *types && is_wanted(cases[k].op, argc, argv); t++) {
      const bool packed = dtype_packed(types[t]);
      const extents *of = packed ? packed_shapes : shapes;
      const size_t n = packed ? sizeof packed_shapes / sizeof *of : sizeof shapes / sizeof *of;
      bool told = false;
      for (size_t i = 0; i < n; i += s.cpu ? 1 : 5) one(&s, k, types[t], of[i].r, of[i].c, &told);
    }
  tsr_stream_destroy(&s.stream);
  tsr_device_close(&s.dev);
  tsr_context_destroy(&s.ctx);
  printf("%s: %d right, %d refused as the table says, %d unsupported, %d wrong\n", device, s.right, s.refused,
         s.unsupported, s.wrong);
  return s.wrong != 0;
}
