/* Tests of autodiff: the gradient of every differentiable op against central differences in f64, through the oracle.
 * With h = 1e-5 the difference quotient is off by about h^2 f''' / 6 + 1e-16 f / h: 1e-7 relative is a safe bound here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/passes/graph/autodiff.h"
#include "core/passes/graph/simplify.h"
#include "tests/support/graph_text.h"

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"
#define X "%x: tensor<3x4xf64>"
#define XY X ", %y: tensor<3x4xf64>"
#define Z "%x: tensor<3x4xcomplex<f64>>"
#define ZZ Z ", %y: tensor<4xcomplex<f64>>"

/* %0 of the body, of the given type, is weighted with the argument %w and summed. */
/* 4 on the diagonal of a 3 by 3 matrix. */
#define EYE \
  "%eye = \"tessera.graph.constant\"() {value = dense<[[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]> : " \
  "tensor<3x3xf64>}\n"

static const struct { const char *op, *args, *body, *type; double lo, hi; } cases[] = {
    {"add", X ", %y: tensor<4xf64>", OP("0", "add", "%x, %y"), "3x4", -1, 1},
    {"sub", X ", %y: tensor<3x1xf64>", OP("0", "sub", "%x, %y"), "3x4", -1, 1},
    {"mul", X ", %y: tensor<f64>", OP("0", "mul", "%x, %y"), "3x4", -1, 1},
    {"div", X ", %y: tensor<4xf64>", OP("0", "div", "%x, %y"), "3x4", 0.5, 2},
    {"rem", XY, OP("0", "rem", "%x, %y"), "3x4", 0.5, 2},
    {"pow", XY, OP("0", "pow", "%x, %y"), "3x4", 0.5, 2},
    {"max", X ", %y: tensor<4xf64>", OP("0", "max", "%x, %y"), "3x4", -1, 1},
    {"min", XY, OP("0", "min", "%x, %y"), "3x4", -1, 1},
    {"neg", X, OP("0", "neg", "%x"), "3x4", -1, 1},
    {"abs", X, OP("0", "abs", "%x"), "3x4", -1, 1},
    {"exp", X, OP("0", "exp", "%x"), "3x4", -1, 1},
    {"log", X, OP("0", "log", "%x"), "3x4", 0.5, 2},
    {"sqrt", X, OP("0", "sqrt", "%x"), "3x4", 0.5, 2},
    {"rsqrt", X, OP("0", "rsqrt", "%x"), "3x4", 0.5, 2},
    {"tanh", X, OP("0", "tanh", "%x"), "3x4", -2, 2},
    {"erf", X, OP("0", "erf", "%x"), "3x4", -2, 2},
    {"sigmoid", X, OP("0", "sigmoid", "%x"), "3x4", -2, 2},
    {"relu", X, OP("0", "relu", "%x"), "3x4", -2, 2},
    {"gelu", X, OP("0", "gelu", "%x"), "3x4", -2, 2},
    {"gelu tanh", X, OPA("0", "gelu", "%x", "approximate = \"tanh\""), "3x4", -2, 2},
    {"silu", X, OP("0", "silu", "%x"), "3x4", -2, 2},
    {"sin", X, OP("0", "sin", "%x"), "3x4", -2, 2},
    {"cos", X, OP("0", "cos", "%x"), "3x4", -2, 2},
    {"ceil", X, OP("1", "ceil", "%x") OP("0", "mul", "%1, %x"), "3x4", 0.1, 0.4},
    {"round", X, OP("1", "round", "%x") OP("0", "mul", "%1, %x"), "3x4", 0.1, 0.4},
    {"trunc", X, OP("1", "trunc", "%x") OP("0", "mul", "%1, %x"), "3x4", 0.1, 0.4},
    {"sign", X, OP("1", "sign", "%x") OP("0", "mul", "%1, %x"), "3x4", 0.1, 0.4},
    {"hardsigmoid", X, OP("0", "hardsigmoid", "%x"), "3x4", -2, 2},
    {"hardswish", X, OP("0", "hardswish", "%x"), "3x4", -2, 2},
    {"leaky_relu", X, OPA("0", "leaky_relu", "%x", "alpha = 0.2"), "3x4", -2, 2},
    {"elu", X, OPA("0", "elu", "%x", "alpha = 1.3"), "3x4", -2, 2},
    {"celu", X, OPA("0", "celu", "%x", "alpha = 0.7"), "3x4", -2, 2},
    {"selu", X, OP("0", "selu", "%x"), "3x4", -2, 2},
    {"softplus", X, OP("0", "softplus", "%x"), "3x4", -2, 2},
    {"mish", X, OP("0", "mish", "%x"), "3x4", -2, 2},
    {"softsign", X, OP("0", "softsign", "%x"), "3x4", -2, 2},
    {"expm1", X, OP("0", "expm1", "%x"), "3x4", -2, 2},
    {"log1p", X, OP("0", "log1p", "%x"), "3x4", -0.6, 2},
    {"tan", X, OP("0", "tan", "%x"), "3x4", -1.2, 1.2},
    {"asin", X, OP("0", "asin", "%x"), "3x4", -0.9, 0.9},
    {"acos", X, OP("0", "acos", "%x"), "3x4", -0.9, 0.9},
    {"atan", X, OP("0", "atan", "%x"), "3x4", -3, 3},
    {"sinh", X, OP("0", "sinh", "%x"), "3x4", -2, 2},
    {"cosh", X, OP("0", "cosh", "%x"), "3x4", -2, 2},
    {"asinh", X, OP("0", "asinh", "%x"), "3x4", -3, 3},
    {"acosh", X, OP("0", "acosh", "%x"), "3x4", 1.2, 3},
    {"atanh", X, OP("0", "atanh", "%x"), "3x4", -0.9, 0.9},
    {"prelu", X ", %y: tensor<4xf64>", OP("0", "prelu", "%x, %y"), "3x4", -1, 1},
    {"isnan", X, OP("c", "isnan", "%x") OP("1", "exp", "%x") OP("0", "select", "%c, %x, %1"), "3x4", -1, 1},
    {"floor", X, OP("1", "floor", "%x") OP("0", "mul", "%1, %x"), "3x4", 0.1, 0.9},
    {"select", XY, OPA("c", "compare", "%x, %y", "predicate = \"lt\"") OP("0", "select", "%c, %x, %y"), "3x4", -1, 1},
    {"cast", X, OPA("0", "cast", "%x", "dtype = \"f64\""), "3x4", -1, 1},
    {"broadcast", "%x: tensor<3x1xf64>", OPA("0", "broadcast", "%x", "shape = [2, 3, 4]"), "2x3x4", -1, 1},
    {"matmul", X ", %y: tensor<4x5xf64>", OP("0", "matmul", "%x, %y"), "3x5", -1, 1},
    {"matmul ta", X ", %y: tensor<3x5xf64>", OPA("0", "matmul", "%x, %y", "transpose_a = true"), "4x5", -1, 1},
    {"matmul tb", X ", %y: tensor<5x4xf64>", OPA("0", "matmul", "%x, %y", "transpose_b = true"), "3x5", -1, 1},
    {"matmul ta tb", X ", %y: tensor<5x3xf64>", OPA("0", "matmul", "%x, %y", "transpose_a = true, transpose_b = true"), "4x5", -1, 1},
    {"matmul batch", "%x: tensor<2x1x3x4xf64>, %y: tensor<3x4x2xf64>", OP("0", "matmul", "%x, %y"), "2x3x3x2", -1, 1},
    {"reduce_sum", X, OPA("0", "reduce_sum", "%x", "axes = [0]"), "4", -1, 1},
    {"reduce_mean", X, OPA("0", "reduce_mean", "%x", "axes = [-1], keepdims = true"), "3x1", -1, 1},
    {"reduce_max", X, OPA("0", "reduce_max", "%x", "axes = [1]"), "3", -1, 1},
    {"reduce_min", X, OPA("0", "reduce_min", "%x", "axes = [0]"), "4", -1, 1},
    {"reduce_prod", X, OPA("0", "reduce_prod", "%x", "axes = [1]"), "3", -1, 1},
    {"softmax", X, OP("0", "softmax", "%x"), "3x4", -1, 1},
    {"softmax axis", X, OPA("0", "softmax", "%x", "axis = 0"), "3x4", -1, 1},
    {"layernorm", X ", %y: tensor<4xf64>, %z: tensor<4xf64>", OP("0", "layernorm", "%x, %y, %z"), "3x4", -1, 1},
    {"layernorm plain", X, OPA("0", "layernorm", "%x", "eps = 0.1"), "3x4", -1, 1},
    {"rmsnorm", X ", %y: tensor<4xf64>", OP("0", "rmsnorm", "%x, %y"), "3x4", -1, 1},
    {"reshape", X, OPA("0", "reshape", "%x", "shape = [2, 6]"), "2x6", -1, 1},
    {"transpose", "%x: tensor<2x3x4xf64>", OPA("0", "transpose", "%x", "perm = [2, 0, 1]"), "4x2x3", -1, 1},
    {"slice", "%x: tensor<7x9xf64>", OPA("0", "slice", "%x", "starts = [1, 0], sizes = [2, 3], strides = [2, 4]"), "2x3", -1, 1},
    {"concat", X ", %y: tensor<2x4xf64>", OPA("0", "concat", "%x, %y, %x", "axis = 0"), "8x4", -1, 1},
    {"pad", X, OPA("0", "pad", "%x", "low = [1, 0], high = [0, 2], value = 3.0"), "4x6", -1, 1},
    {"clip", X, OPA("0", "clip", "%x", "min = -0.5, max = 0.25"), "3x4", -1, 1},
    {"where", XY, OPA("c", "compare", "%x, %y", "predicate = \"lt\"") OP("0", "where", "%c, %x, %y"), "3x4", -1, 1},
    {"tril", X, OPA("0", "tril", "%x", "diagonal = 1"), "3x4", -1, 1},
    {"triu", "%x: tensor<2x3x3xf64>", OP("0", "triu", "%x"), "2x3x3", -1, 1},
    {"tile", X, OPA("0", "tile", "%x", "repeats = [2, 3]"), "6x12", -1, 1},
    {"split", X, "%a, %0 = \"tessera.graph.split\"(%x) {axis = 1, sizes = [1, 3]}\n", "3x3", -1, 1},
    {"batch_norm", "%x: tensor<2x3x2xf64>, %y: tensor<3xf64>, %z: tensor<3xf64>", OP("v", "exp", "%z") OP("0", "batch_norm", "%x, %y, %v, %z, %y"), "2x3x2", -1, 1},
    {"group_norm", "%x: tensor<2x4x3xf64>, %y: tensor<4xf64>, %z: tensor<4xf64>", OPA("0", "group_norm", "%x, %y, %z", "groups = 2, eps = 0.1"), "2x4x3", -1, 1},
    {"instance_norm", "%x: tensor<2x2x4xf64>, %y: tensor<2xf64>", OPA("0", "instance_norm", "%x, %y", "eps = 0.1"), "2x2x4", -1, 1},
    {"logsumexp", X, OPA("0", "logsumexp", "%x", "axes = [1]"), "3", -1, 1},
    {"logsumexp all", X, OPA("0", "logsumexp", "%x", "keepdims = true"), "1x1", -1, 1},
    {"log_softmax", X, OPA("0", "log_softmax", "%x", "axis = 0"), "3x4", -1, 1},
    {"rope", X, OP("0", "rope", "%x"), "3x4", -1, 1},
    {"rope tables", "%x: tensor<2x3x4xf64>, %y: tensor<3x2xf64>, %z: tensor<3x2xf64>", OPA("0", "rope", "%x, %y, %z", "interleaved = true"), "2x3x4", -1, 1},
    {"mse", XY, OP("0", "mse", "%x, %y"), "", -1, 1},
    {"mse none", X ", %y: tensor<4xf64>", OPA("0", "mse", "%x, %y", "reduction = \"none\""), "3x4", -1, 1},
    {"kl", XY, OPA("0", "kl", "%x, %y", "reduction = \"sum\""), "", 0.1, 1},
    {"kl log", XY, OPA("0", "kl", "%x, %y", "log_target = true"), "", -1, 1},
    {"cross_entropy", X, OPA("i", "iota", "", "shape = [3]") OPA("0", "cross_entropy", "%x, %i", "ignore_index = 1"), "", -1, 1},
    {"cross_entropy axis", X, OPA("i", "iota", "", "shape = [4], dtype = \"i64\"") OPA("0", "cross_entropy", "%x, %i", "axis = 0, reduction = \"none\", ignore_index = 3"), "4", -1, 1},
    {"cross_entropy shares", XY, OP("0", "cross_entropy", "%x, %y"), "", 0.1, 1},
    {"qkv_projection", X ", %y: tensor<4x6xf64>, %z: tensor<6xf64>", "%a, %b, %c = \"tessera.graph.qkv_projection\"(%x, %y, %z)\n" OP("d", "mul", "%a, %c") OP("0", "mul", "%d, %b"), "3x2", -1, 1},
    {"factorized_matmul", X ", %y: tensor<4x2xf64>, %z: tensor<2x3xf64>", OP("0", "factorized_matmul", "%x, %y, %z"), "3x3", -1, 1},
    {"einsum", "%x: tensor<2x3x4xf64>, %y: tensor<4x5x2xf64>", OPA("0", "einsum", "%x, %y", "equation = \"bij,jkb->kbi\""), "5x2x3", -1, 1},
    {"einsum three", X ", %y: tensor<4x2xf64>, %z: tensor<2xf64>", OPA("0", "einsum", "%x, %y, %z", "equation = \"ij,jk,k->i\""), "3", -1, 1},
    {"einsum diagonal", "%x: tensor<3x3x2xf64>, %y: tensor<1x2xf64>", OPA("0", "einsum", "%x, %y", "equation = \"ii...,...->i...\""), "3x1x2", -1, 1},
    {"depth_to_space", "%x: tensor<1x4x2x1xf64>", OPA("0", "depth_to_space", "%x", "block = 2"), "1x1x4x2", -1, 1},
    {"space_to_depth", "%x: tensor<1x2x4x1xf64>", OPA("0", "space_to_depth", "%x", "block = 2, layout = \"nhwc\", order = \"crd\""), "1x1x2x4", -1, 1},
    {"max_pool", "%x: tensor<1x2x5x4xf64>", OPA("0", "max_pool", "%x", "kernel = [3, 2], strides = [2, 2], low = [1, 0], high = [1, 1]"), "1x2x3x2", -1, 1},
    {"max_pool nhwc", "%x: tensor<1x6x5x2xf64>", OPA("0", "max_pool", "%x", "kernel = [2, 2], dilations = [2, 1], layout = \"nhwc\""), "1x4x4x2", -1, 1},
    {"max_pool large", "%x: tensor<1x1x8x7xf64>", OPA("0", "max_pool", "%x", "kernel = [6, 5], low = [1, 1]"), "1x1x4x4", -1, 1},
    {"max_pool long", "%x: tensor<1x45x2xf64>", OPA("0", "max_pool", "%x", "kernel = [29], strides = [4], low = [3], layout = \"nhwc\""), "1x5x2", -1, 1},
    {"max_pool long, dilated", "%x: tensor<1x1x60xf64>", OPA("0", "max_pool", "%x", "kernel = [28], dilations = [2], high = [5], ceil_mode = true"), "1x1x11", -1, 1},
{"max_pool of all", "%x: tensor<1x2x3x2xf64>", OP("0", "max_pool", "%x"), "1x2x1x1", -1, 1},
    {"average_pool", "%x: tensor<1x1x5x5xf64>", OPA("0", "average_pool", "%x", "kernel = [2, 3], strides = [2, 2], low = [0, 1], ceil_mode = true"), "1x1x3x3", -1, 1},
    {"resize nearest", "%x: tensor<1x2x3x4xf64>", OPA("0", "resize", "%x", "sizes = [6, 3]"), "1x2x6x3", -1, 1},
    {"resize linear", "%x: tensor<1x1x5x3xf64>", OPA("0", "resize", "%x", "sizes = [7, 2], mode = \"linear\""), "1x1x7x2", -1, 1},
    {"resize cubic nhwc", "%x: tensor<1x4x2xf64>", OPA("0", "resize", "%x", "scales = [1.75], mode = \"cubic\", exclude_outside = true, layout = \"nhwc\""), "1x7x2", -1, 1},
    {"resize crop", "%x: tensor<1x1x4x4xf64>", OPA("0", "resize", "%x", "sizes = [3, 2], mode = \"linear\", roi = [0.25, -0.5, 0.75, 1.5], coordinate_transformation_mode = \"tf_crop_and_resize\""), "1x1x3x2", -1, 1},
    {"grid_sample", "%x: tensor<1x2x3x4xf64>, %y: tensor<1x2x3x2xf64>", OP("0", "grid_sample", "%x, %y"), "1x2x2x3", -1, 1},
    {"grid_sample of volumes", "%x: tensor<1x1x2x3x2xf64>, %y: tensor<1x1x2x1x3xf64>", OPA("0", "grid_sample", "%x, %y", "padding_mode = \"border\", align_corners = true"), "1x1x1x2x1", -1.2, 1.2},
    {"grid_sample cubic", "%x: tensor<2x1x4x3xf64>, %y: tensor<2x1x2x2xf64>", OPA("0", "grid_sample", "%x, %y", "mode = \"cubic\", padding_mode = \"reflection\""), "2x1x1x2", -1.5, 1.5},
    {"grid_sample nearest", "%x: tensor<1x2x5xf64>", "%g = \"tessera.graph.constant\"() {value = dense<[[[0.1], [-0.7], [3.0]]]> : tensor<1x3x1xf32>}\n" OPA("0", "grid_sample", "%x, %g", "mode = \"nearest\", padding_mode = \"border\""), "1x2x3", -1, 1},
    {"spectral_conv", "%x: tensor<1x2x5x4xf64>, %y: tensor<2x1x3x2xcomplex<f64>>", OP("0", "spectral_conv", "%x, %y"), "1x1x5x4", -1, 1},
    {"spectral_conv of all", "%x: tensor<2x1x6xf64>, %y: tensor<1x2x4xcomplex<f64>>", OP("0", "spectral_conv", "%x, %y"), "2x2x6", -1, 1},
    {"if", XY ", %z: tensor<f64>", "%n = \"tessera.graph.constant\"() {value = dense<0.1> : tensor<f64>}\n%c = \"tessera.graph.compare\"(%z, %n) {predicate = \"gt\"}\n%0 = \"tessera.graph.if\"(%c, %x, %y) ({\n^bb0(%a: tensor<3x4xf64>, %b: tensor<3x4xf64>):\n%1 = \"tessera.graph.mul\"(%a, %b)\n\"tessera.graph.return\"(%1)\n}, {\n^bb0(%a: tensor<3x4xf64>, %b: tensor<3x4xf64>):\n%1 = \"tessera.graph.tanh\"(%a)\n\"tessera.graph.return\"(%1)\n})\n", "3x4", -1, 1},
    {"while", X ", %y: tensor<4x4xf64>", "%i = \"tessera.graph.constant\"() {value = dense<0> : tensor<i32>}\n%j, %0 = \"tessera.graph.while\"(%i, %x, %y) ({\n^bb0(%k: tensor<i32>, %a: tensor<3x4xf64>, %b: tensor<4x4xf64>):\n%n = \"tessera.graph.constant\"() {value = dense<3> : tensor<i32>}\n%c = \"tessera.graph.compare\"(%k, %n) {predicate = \"lt\"}\n\"tessera.graph.return\"(%c)\n}, {\n^bb0(%k: tensor<i32>, %a: tensor<3x4xf64>, %b: tensor<4x4xf64>):\n%o = \"tessera.graph.constant\"() {value = dense<1> : tensor<i32>}\n%l = \"tessera.graph.add\"(%k, %o)\n%p = \"tessera.graph.matmul\"(%a, %b)\n%t = \"tessera.graph.tanh\"(%p)\n\"tessera.graph.return\"(%l, %t)\n}) {carried = 2, max_trips = 9}\n", "3x4", -1, 1},
    {"average_pool of few", "%x: tensor<1x2x7xf64>", OPA("0", "average_pool", "%x", "kernel = [1], strides = [4]"), "1x2x2", -1, 1},
    {"average_pool of volumes", "%x: tensor<1x1x3x3x2xf64>", OPA("0", "average_pool", "%x", "kernel = [2, 2, 2], strides = [1, 2, 1], padding = \"same\", count_include_pad = true"), "1x1x3x2x2", -1, 1},
    {"average_pool large", "%x: tensor<1x1x9x4xf64>", OPA("0", "average_pool", "%x", "kernel = [8, 4], low = [2, 1]"), "1x1x4x2", -1, 1},
    {"patches", "%x: tensor<2x4x5x3xf64>", OPA("0", "patches", "%x", "kernel = [2, 2], groups = 2, strides = [2, 1], low = [1, 0]"), "2x2x6x8", -1, 1},
    {"patches flat", "%x: tensor<2x5x2xf64>", OPA("0", "patches", "%x", "kernel = [3], dilations = [2], high = [2], reversed = true, flat = true, layout = \"nhwc\""), "6x6", -1, 1},
    {"conv1d", "%x: tensor<2x2x7xf64>, %y: tensor<3x2x3xf64>, %z: tensor<3xf64>", OPA("0", "conv1d", "%x, %y, %z", "strides = [2], low = [1]"), "2x3x3", -1, 1},
    {"conv2d", "%x: tensor<2x4x5x4xf64>, %y: tensor<2x2x3x2xf64>", OPA("0", "conv2d", "%x, %y", "groups = 2, strides = [2, 1], dilations = [1, 2], high = [2, 1]"), "2x2x3x3", -1, 1},
    {"conv2d nhwc", "%x: tensor<1x5x4x3xf64>, %y: tensor<3x2x3x2xf64>, %z: tensor<2xf64>", OPA("0", "conv2d", "%x, %y, %z", "padding = \"same\", strides = [3, 1], layout = \"nhwc\""), "1x2x4x2", -1, 1},
    {"conv2d nhwc groups", "%x: tensor<2x3x3x4xf64>, %y: tensor<2x2x2x4xf64>", OPA("0", "conv2d", "%x, %y", "groups = 2, layout = \"nhwc\""), "2x2x2x4", -1, 1},
    {"conv2d depthwise", "%x: tensor<1x5x4x2xf64>, %y: tensor<3x2x1x2xf64>, %z: tensor<2xf64>", OPA("0", "conv2d", "%x, %y, %z", "groups = 2, strides = [2, 1], layout = \"nhwc\""), "1x2x3x2", -1, 1},
    {"conv2d 1x1", "%x: tensor<2x3x2x2xf64>, %y: tensor<2x3x1x1xf64>", OP("0", "conv2d", "%x, %y"), "2x2x2x2", -1, 1},
    {"conv3d", "%x: tensor<1x1x3x3x2xf64>, %y: tensor<2x1x2x2x2xf64>", OPA("0", "conv3d", "%x, %y", "strides = [1, 2, 1], high = [1, 0, 1]"), "1x2x3x1x2", -1, 1},
    {"conv_transpose", "%x: tensor<1x4x2x3xf64>, %y: tensor<4x1x3x2xf64>, %z: tensor<2xf64>", OPA("0", "conv_transpose", "%x, %y, %z", "groups = 2, strides = [2, 1], low = [1, 0], output_padding = [1, 0]"), "1x2x5x4", -1, 1},
    {"conv_transpose nhwc", "%x: tensor<1x4x2xf64>, %y: tensor<3x2x2xf64>", OPA("0", "conv_transpose", "%x, %y", "strides = [3], padding = \"same\", layout = \"nhwc\""), "1x12x2", -1, 1},
    {"average_pool of all", "%x: tensor<1x3x2x2xf64>", OPA("0", "average_pool", "%x", "layout = \"nhwc\""), "1x1x1x2", -1, 1},
    {"cumsum", X, OPA("0", "cumsum", "%x", "axis = 0, exclusive = true"), "3x4", -1, 1},
    {"cumsum long", "%x: tensor<2x50xf64>", OPA("0", "cumsum", "%x", "reverse = true"), "2x50", -1, 1},
    {"cumprod", X, OP("0", "cumprod", "%x"), "3x4", 0.5, 2},
    {"cumprod long", "%x: tensor<50x1xf64>", OPA("0", "cumprod", "%x", "axis = 0, reverse = true, exclusive = true"), "50x1", 0.9, 1.1},
    {"nonzero", X, OPA("1", "compare", "%x, %x", "predicate = \"eq\"") "%i, %n = \"tessera.graph.nonzero\"(%1) {size = 3}\n" OPA("j", "transpose", "%i", "perm = [1, 0]") OP("0", "gather_nd", "%x, %j"), "3", -1, 1},
    {"argmax", X, OPA("i", "argmax", "%x", "keepdims = true") OPA("0", "gather_elements", "%x, %i", "axis = 1"), "3x1", -1, 1},
    {"argmin", X, OPA("i", "argmin", "%x", "axis = 0, keepdims = true") OP("0", "gather_elements", "%x, %i"), "1x4", -1, 1},
    {"topk", X, "%0, %i = \"tessera.graph.topk\"(%x) {k = 2}\n", "3x2", -1, 1},
    {"sort", X, "%1, %i = \"tessera.graph.sort\"(%x) {axis = 0, descending = true}\n" OPA("q", "iota", "", "shape = [3, 4], axis = 0, dtype = \"f64\"") OP("0", "mul", "%1, %q"), "3x4", -1, 1},
    {"router", X, "%0, %e, %s, %c = \"tessera.graph.router\"(%x) {capacity = 2}\n", "3x2", -1, 1},
    {"router over all", X, "%0, %e, %s, %c = \"tessera.graph.router\"(%x) {k = 1, softmax = \"all\"}\n", "3x1", -1, 1},
    {"moe_dispatch", X, "%s = \"tessera.graph.constant\"() {value = dense<[[0, 4], [9, 1], [2, 7]]> : tensor<3x2xi32>}\n" OPA("0", "moe_dispatch", "%x, %s", "rows = 6"), "6x4", -1, 1},
    {"moe_combine", X ", %y: tensor<2x2xf64>", "%s = \"tessera.graph.constant\"() {value = dense<[[0, 2], [9, 1]]> : tensor<2x2xi32>}\n" OP("0", "moe_combine", "%x, %s, %y"), "2x4", -1, 1},
    {"grouped_matmul", X ", %y: tensor<2x4x2xf64>", "%c = \"tessera.graph.constant\"() {value = dense<[1, 2]> : tensor<2xi32>}\n" OP("0", "grouped_matmul", "%x, %y, %c"), "3x2", -1, 1},
    {"recursive_mixture", "%x: tensor<3x2xf64>, %y: tensor<2x2x2xf64>, %z: tensor<2x2x2xf64>", OPA("0", "recursive_mixture", "%x, %y, %z, %z", "activation = \"silu\""), "3x2", -1, 1},
    {"cache_update", X ", %y: tensor<3x2xf64>", "%c = \"tessera.graph.constant\"() {value = dense<[1, 3, -1]> : tensor<3xi32>}\n" OPA("0", "cache_update", "%x, %y, %c", "axis = 1"), "3x4", -1, 1},
    {"cache_update ring", X ", %y: tensor<3x2xf64>", "%c = \"tessera.graph.constant\"() {value = dense<7> : tensor<i64>}\n" OPA("0", "cache_update", "%x, %y, %c", "axis = 1, ring = true"), "3x4", -1, 1},
    {"complex", X ", %y: tensor<4xf64>", OP("1", "complex", "%x, %y") OP("2", "mul", "%1, %1") OP("0", "abs", "%2"), "3x4", 0.5, 2},
    {"real", Z, OP("0", "real", "%x"), "3x4", -1, 1},
    {"imag", Z, OP("0", "imag", "%x"), "3x4", -1, 1},
    {"conj", Z, OP("1", "conj", "%x") OP("2", "mul", "%1, %x") OP("0", "as_real", "%2"), "3x4x2", -1, 1},
    {"as_complex", "%x: tensor<3x2xf64>", OP("1", "as_complex", "%x") OP("0", "abs", "%1"), "3", 0.5, 2},
    {"complex add", ZZ, OP("1", "add", "%x, %y") OP("0", "as_real", "%1"), "3x4x2", -1, 1},
    {"complex sub", ZZ, OP("1", "sub", "%x, %y") OP("0", "as_real", "%1"), "3x4x2", -1, 1},
    {"complex mul", ZZ, OP("1", "mul", "%x, %y") OP("0", "as_real", "%1"), "3x4x2", -1, 1},
    {"complex div", ZZ, OP("1", "div", "%x, %y") OP("0", "as_real", "%1"), "3x4x2", 0.5, 2},
    {"complex abs", Z, OP("1", "neg", "%x") OP("0", "abs", "%1"), "3x4", 0.5, 2},
    {"complex moves", Z,
     OPA("1", "transpose", "%x", "perm = [1, 0]") OPA("2", "slice", "%1", "starts = [1, 0], sizes = [2, 2], strides = [2, 1]")
         OPA("3", "pad", "%2", "low = [0, 1], high = [1, 0]") OPA("4", "reshape", "%3", "shape = [9]")
         OPA("5", "broadcast", "%4", "shape = [2, 9]") OPA("6", "concat", "%5, %5", "axis = -1") OP("0", "as_real", "%6"),
     "2x18x2", -1, 1},
    {"complex reduce_sum", Z, OPA("1", "reduce_sum", "%x", "axes = [0]") OP("0", "as_real", "%1"), "4x2", -1, 1},
    {"complex reduce_mean", Z, OPA("1", "reduce_mean", "%x", "axes = [-1], keepdims = true") OP("0", "as_real", "%1"), "3x1x2", -1, 1},
    {"complex select", ZZ, OP("r", "real", "%x") OP("i", "imag", "%x") OPA("c", "compare", "%r, %i", "predicate = \"lt\"")
     OP("1", "select", "%c, %x, %y") OP("0", "as_real", "%1"), "3x4x2", -1, 1},
    {"complex cast", Z, OPA("1", "cast", "%x", "dtype = \"complex128\"") OP("0", "as_real", "%1"), "3x4x2", -1, 1},
    {"fft", Z, OP("1", "fft", "%x") OP("0", "as_real", "%1"), "3x4x2", -1, 1},
    {"fft of two axes", Z, OPA("1", "fft", "%x", "axes = [0, 1], norm = \"ortho\"") OP("0", "as_real", "%1"), "3x4x2", -1, 1},
    {"ifft", Z, OPA("1", "ifft", "%x", "axes = [0]") OP("0", "as_real", "%1"), "3x4x2", -1, 1},
    {"rfft", X, OP("1", "rfft", "%x") OP("0", "as_real", "%1"), "3x3x2", -1, 1},
    {"irfft", Z, OPA("0", "irfft", "%x", "n = 7"), "3x7", -1, 1},
    {"dft", "%x: tensor<3x4x2xf64>", OPA("0", "dft", "%x", "axis = 1, to = 0, scale = 0.5"), "4x3x2", -1, 1},
    {"dft with twiddle factors", "%x: tensor<2x3x4x2x2xf64>", OPA("0", "dft", "%x", "axis = 1, inverse = true, twiddle = true"), "2x3x4x2x2", -1, 1},
    {"pointwise_mul", ZZ, OP("1", "pointwise_mul", "%x, %y") OP("0", "as_real", "%1"), "3x4x2", -1, 1},
    {"dct", X, OP("0", "dct", "%x"), "3x4", -1, 1},
    {"dct back", X, OPA("0", "dct", "%x", "type = 3, axis = 0, norm = \"ortho\""), "3x4", -1, 1},
    {"stft", "%x: tensor<2x9xf64>, %y: tensor<4xf64>", OPA("1", "stft", "%x, %y", "size = 4, hop = 2") OP("0", "as_real", "%1"), "2x3x3x2", -1, 1},
    {"istft", Z ", %y: tensor<6xf64>", OPA("0", "istft", "%x, %y", "hop = 2"), "10", 0.5, 2},
    {"gather", X, "%i = \"tessera.graph.constant\"() {value = dense<[3, 0, 3, -2, 9]> : tensor<5xi32>}\n" OPA("0", "gather", "%x, %i", "axis = 1"), "3x5", -1, 1},
    {"gather of one", X, "%i = \"tessera.graph.constant\"() {value = dense<1> : tensor<i64>}\n" OPA("0", "gather", "%x, %i", "axis = 0"), "4", -1, 1},
    {"gather in the middle", "%x: tensor<2x3x4xf64>", "%i = \"tessera.graph.constant\"() {value = dense<[[0, 2], [2, -3]]> : tensor<2x2xi32>}\n" OPA("0", "gather", "%x, %i", "axis = 1"), "2x2x2x4", -1, 1},
    {"gather_elements", X, "%i = \"tessera.graph.constant\"() {value = dense<[[0, 2, 1, 1], [-1, 2, 9, 1]]> : tensor<2x4xi32>}\n" OPA("0", "gather_elements", "%x, %i", "axis = 0"), "2x4", -1, 1},
    {"gather_nd", X, "%i = \"tessera.graph.constant\"() {value = dense<[[0, 2], [2, -1], [0, 2]]> : tensor<3x2xi32>}\n" OP("0", "gather_nd", "%x, %i"), "3", -1, 1},
    {"gather_nd batch", X, "%i = \"tessera.graph.constant\"() {value = dense<[[[0], [0]], [[3], [1]], [[-9], [2]]]> : tensor<3x2x1xi32>}\n" OPA("0", "gather_nd", "%x, %i", "batch_dims = 1"), "3x2", -1, 1},
    {"embedding", X, "%i = \"tessera.graph.constant\"() {value = dense<[[2, 2], [0, 2]]> : tensor<2x2xi64>}\n" OP("0", "embedding", "%x, %i"), "2x2x4", -1, 1},
    {"scatter", X ", %y: tensor<2x4xf64>", "%i = \"tessera.graph.constant\"() {value = dense<[[0, 2, 1, 1], [0, -2, 9, 1]]> : tensor<2x4xi32>}\n" OPA("0", "scatter", "%x, %i, %y", "axis = 0"), "3x4", -1, 1},
    {"scatter_add", X ", %y: tensor<2x4xf64>", "%i = \"tessera.graph.constant\"() {value = dense<[[0, 2, 1, 1], [0, -2, 9, 1]]> : tensor<2x4xi32>}\n" OPA("0", "scatter_add", "%x, %i, %y", "axis = 0"), "3x4", -1, 1},
    {"scatter_nd", X ", %y: tensor<3x4xf64>", "%i = \"tessera.graph.constant\"() {value = dense<[[0], [2], [0]]> : tensor<3x1xi32>}\n" OP("0", "scatter_nd", "%x, %i, %y"), "3x4", -1, 1},
    {"scatter_nd add", X ", %y: tensor<3x2xf64>", "%i = \"tessera.graph.constant\"() {value = dense<[[[0], [0]], [[3], [1]], [[-9], [2]]]> : tensor<3x2x1xi32>}\n" OPA("0", "scatter_nd", "%x, %i, %y", "batch_dims = 1, reduction = \"add\""), "3x4", -1, 1},
    {"a chain", XY, OP("1", "mul", "%x, %y") OP("2", "tanh", "%1") OP("3", "add", "%2, %x") OP("0", "softmax", "%3"), "3x4", -1, 1},
    {"flash_attention", "%x: tensor<1x2x3x2xf64>, %y: tensor<1x2x2x2xf64>, %z: tensor<1x2x2x3xf64>", OPA("0", "flash_attention", "%x, %y, %z", "causal = true, softcap = 1.5"), "1x2x3x3", -1, 1},
    {"dropout", X, "%k = \"tessera.graph.constant\"() {value = dense<[5, -7]> : tensor<2xi32>}\n" OPA("0", "dropout", "%x, %k", "p = 0.4"), "3x4", -1, 1},
    {"sgd", XY, "%l = \"tessera.graph.constant\"() {value = dense<0.1> : tensor<f64>}\n%s = \"tessera.graph.constant\"() {value = dense<3> : tensor<i32>}\n" "%0, %v = \"tessera.graph.sgd\"(%x, %y, %l, %x) {momentum = 0.9, weight_decay = 0.1, nesterov = true}\n", "3x4", -1, 1},
    {"adamw", XY, "%l = \"tessera.graph.constant\"() {value = dense<0.1> : tensor<f64>}\n%s = \"tessera.graph.constant\"() {value = dense<3> : tensor<i32>}\n" OP("q", "mul", "%x, %x") "%0, %m, %v = \"tessera.graph.adamw\"(%x, %y, %x, %q, %l, %s) {eps = 0.1}\n", "3x4", 0.5, 2},
    {"clip_by_global_norm", XY, "%0, %1, %n = \"tessera.graph.clip_by_global_norm\"(%x, %y) {max_norm = 0.5}\n", "3x4", 0.5, 1},
    {"global_norm", XY, OP("0", "global_norm", "%x, %y"), "", 0.5, 1},
    {"flash_attention with a bias", "%x: tensor<1x1x3x2xf64>, %y: tensor<1x1x3x2xf64>, %z: tensor<3x3xf64>", OP("0", "flash_attention", "%x, %y, %y, %z"), "1x1x3x2", -1, 1},
    {"lstm", "%x: tensor<2x2x2xf64>, %y: tensor<1x8x2xf64>, %z: tensor<1x8x2xf64>", "%0, %h, %c = \"tessera.graph.lstm\"(%x, %y, %z)", "2x1x2x2", -1, 1},
    {"gru", "%x: tensor<2x2x2xf64>, %y: tensor<2x6x2xf64>, %z: tensor<2x6x2xf64>", "%h, %0 = \"tessera.graph.gru\"(%x, %y, %z) {direction = \"bidirectional\"}", "2x2x2", -1, 1},
    {"gru that resets after the product", "%x: tensor<2x2x2xf64>, %y: tensor<1x6x2xf64>, %z: tensor<1x12xf64>", "%0, %h = \"tessera.graph.gru\"(%x, %y, %y, %z) {linear_before_reset = true}", "2x1x2x2", -1, 1},
    {"rnn", "%x: tensor<3x2x2xf64>, %y: tensor<1x2x2xf64>, %z: tensor<1x4xf64>", "%l = \"tessera.graph.constant\"() {value = dense<[3, 1]> : tensor<2xi32>}\n%h, %0 = \"tessera.graph.rnn\"(%x, %y, %y, %z, %l)", "1x2x2", -1, 1},
    {"recurrence", "%x: tensor<2x1x2xf64>, %y: tensor<2x2xf64>, %z: tensor<1x2xf64>", "%b = \"tessera.graph.constant\"() {value = dense<0.1> : tensor<2xf64>}\n%0, %h, %c = \"tessera.graph.recurrence\"(%x, %y, %b, %z, %z) {cell = \"rnn\", reverse = true}", "2x1x2", -1, 1},
    {"tri_solve", "%x: tensor<2x3x3xf64>, %y: tensor<2x3x2xf64>", OP("0", "tri_solve", "%x, %y"), "2x3x2", 0.5, 2},
    {"tri_solve transposed", "%x: tensor<3x3xf64>, %y: tensor<3x2xf64>", OPA("0", "tri_solve", "%x, %y", "transpose = true"), "3x2", 0.5, 2},
    {"tri_solve upper", "%x: tensor<3x3xf64>, %y: tensor<3x2xf64>", OPA("0", "tri_solve", "%x, %y", "upper = true"), "3x2", 0.5, 2},
    {"tri_solve of ones", "%x: tensor<3x3xf64>, %y: tensor<3x1xf64>", OPA("0", "tri_solve", "%x, %y", "upper = true, transpose = true, unit_diagonal = true"), "3x1", 0.5, 2},
    {"cholesky", "%x: tensor<2x3x3xf64>", EYE OP("a", "add", "%x, %eye") OP("0", "cholesky", "%a"), "2x3x3", -1, 1},
    {"cholesky upper", "%x: tensor<3x3xf64>", EYE OP("a", "add", "%x, %eye") OPA("0", "cholesky", "%a", "upper = true"), "3x3", -1, 1},
    {"qr", "%x: tensor<2x4x3xf64>, %y: tensor<4x3xf64>", "%q, %r = \"tessera.graph.qr\"(%x)\n" OP("u", "mul", "%q, %y") OP("v", "matmul", "%u, %r") OP("0", "matmul", "%v, %r"), "2x4x3", -1, 1},
    {"qr of a wide matrix", "%x: tensor<2x4xf64>, %y: tensor<2x2xf64>", "%q, %r = \"tessera.graph.qr\"(%x)\n" OP("u", "mul", "%q, %y") OP("0", "matmul", "%u, %r"), "2x4", -1, 1},
    {"qr, its second result alone", "%x: tensor<3x3xf64>", "%q, %0 = \"tessera.graph.qr\"(%x)", "3x3", -1, 1},
    {"svd", "%x: tensor<4x3xf64>, %y: tensor<4x3xf64>", "%u, %s, %v = \"tessera.graph.svd\"(%x)\n" OP("a", "mul", "%u, %y") OP("b", "mul", "%v, %s") OP("0", "matmul", "%a, %b"), "4x3", -1, 1},
    {"svd of a wide matrix", "%x: tensor<2x2x4xf64>, %y: tensor<2x4xf64>", "%u, %s, %v = \"tessera.graph.svd\"(%x)\n" OP("a", "mul", "%v, %y") OP("0", "matmul", "%u, %a"), "2x2x4", -1, 1},
    {"svd, its values alone", "%x: tensor<3x3xf64>", "%u, %0, %v = \"tessera.graph.svd\"(%x)", "3", -1, 1},
    {"flash_attention of heads that share keys", "%x: tensor<1x4x2x2xf64>, %y: tensor<1x2x3x2xf64>, %z: tensor<1x2x3x1xf64>", OPA("0", "flash_attention", "%x, %y, %z", "window = 2, scale = 0.7"), "1x4x2x1", -1, 1},
    {"flash_attention with lengths", "%x: tensor<2x1x2x2xf64>, %y: tensor<2x1x3x2xf64>", "%l = \"tessera.graph.constant\"() {value = dense<[2, 0]> : tensor<2xi32>}\n" OPA("0", "flash_attention", "%x, %y, %y, %l", "causal = true"), "2x1x2x2", -1, 1},
    {"flash_attention of two blocks of keys", "%x: tensor<1x2x2x1xf64>, %y: tensor<1x1x130x1xf64>, %z: tensor<2x130xf64>", OPA("0", "flash_attention", "%x, %y, %y, %z", "causal = true, softcap = 2.0"), "1x2x2x1", -1, 1},
    {"log-sum-exp of two blocks of keys", "%x: tensor<1x1x2x1xf64>, %y: tensor<1x1x130x1xf64>, %z: tensor<2x1xf64>", "%1, %0 = \"tessera.graph.flash_attention\"(%x, %y, %y, %z) {window = 50}\n", "1x1x2", -1, 1},
    {"log-sum-exp of flash_attention", "%x: tensor<1x2x2x2xf64>, %y: tensor<1x1x3x2xf64>, %z: tensor<1x1x3x2xf64>", "%1, %0 = \"tessera.graph.flash_attention\"(%x, %y, %z) {causal = true}\n", "1x2x2", -1, 1},
};

static double value_of(graph_evaluator *e, ir_value *v, int64_t i) {
  graph_num n;
  tsr_status st = graph_element(e, v, i, &n);
  if (st) fail_msg("%s", tsr_status_message(st));
  return n.v;
}

static double loss_at(ir_op *f, const gt_data *in) {
  graph_evaluator *e;
  assert_null(graph_evaluator_create(f, (const void *const *)in->p, &e));
  double y = value_of(e, f->regions[0]->last->operands[0], 0);
  graph_evaluator_destroy(&e);
  return y;
}

static void check_gradient(const char *name, ir_op *f, ir_op *grad, int arg, int result, gt_data *in) {
  graph_evaluator *e;
  assert_null(graph_evaluator_create(grad, (const void *const *)in->p, &e));
  ir_value *g = grad->regions[0]->last->operands[result];
  double *x = in->p[arg], h = 1e-5;
  for (int64_t i = 0; i < graph_numbers(g->type); i++) { /* of complex numbers both parts */
    double have = value_of(e, g, i), at = x[i];
    x[i] = at + h;
    double up = loss_at(f, in);
    x[i] = at - h;
    double down = loss_at(f, in);
    x[i] = at;
    double want = (up - down) / (2 * h);
    if (!(fabs(have - want) <= 1e-7 * (1 + fabs(want))))
      fail_msg("%s: argument %d element %lld: gradient %.10g, difference %.10g", name, arg, (long long)i, have, want);
  }
  graph_evaluator_destroy(&e);
}

static void gradients_agree_with_differences(void **state) {
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    char args[400], body[1400];
    snprintf(args, sizeof args, "%s, %%w: tensor<%s%sf64>", cases[c].args, cases[c].type, *cases[c].type ? "x" : "");
    snprintf(body, sizeof body, "%s%%p = \"tessera.graph.mul\"(%%0, %%w)\n%%loss = \"tessera.graph.reduce_sum\"(%%p)",
             cases[c].body);
    ir_module *m = gt_parse(gt_func(args, body, "%loss", "tensor<f64>"));
    ir_op *f = graph_find_func(m, NULL), *grad;
    int n = f->regions[0]->n_args, wrt[4] = {0, 1, 2, 3};
    tsr_status st = graph_grad(f, wrt, n, "grad", &grad);
    if (st) fail_msg("%s: %s", cases[c].op, tsr_status_message(st));
    for (unsigned draw = 0; draw < 3; draw++) { /* whose gradient a max takes shows in few draws */
      gt_data in = gt_random(f, (unsigned)c + 1000 * draw, cases[c].lo, cases[c].hi);
      for (int a = 0; a < n; a++) check_gradient(cases[c].op, f, grad, a, 1 + a, &in);
      if (draw == 0) assert_null(graph_simplify(grad, NULL));
      gt_free(&in);
    }
    ir_module_destroy(&m);
  }
}

/* ---- forward mode ---------------------------------------------------------------------------------------------- */

/* The arguments moved by h along their tangents, which are arguments n.. of `in`. */
static gt_data moved(const gt_data *in, int n, double h) {
  gt_data to = *in;
  for (int a = 0; a < n; a++) {
    to.p[a] = malloc(in->bytes[a]);
    for (size_t i = 0; i < in->bytes[a] / sizeof(double); i++)
      ((double *)to.p[a])[i] = ((const double *)in->p[a])[i] + h * ((const double *)in->p[n + a])[i];
  }
  return to;
}

/* Each result of f at those arguments, its elements in a row. */
static int all_results(ir_op *f, const gt_data *in, double *out, int most) {
  graph_evaluator *e;
  int n = 0;
  assert_null(graph_evaluator_create(f, (const void *const *)in->p, &e));
  for (int k = 0; k < f->regions[0]->last->n_operands; k++) {
    ir_value *v = f->regions[0]->last->operands[k];
    for (int64_t i = 0; i < graph_numbers(v->type) && n < most; i++) out[n++] = value_of(e, v, i);
  }
  graph_evaluator_destroy(&e);
  return n;
}

/* f's tangents against its differences along a random direction. */
static void check_tangents(const char *name, ir_op *f, unsigned seed, double lo, double hi) {
  enum { MOST = 4096 };
  static double up[MOST], down[MOST], have[2 * MOST];
  const double h = 1e-5;
  ir_op *jvp;
  int n = f->regions[0]->n_args, wrt[8];
  for (int i = 0; i < n; i++) wrt[i] = i;
  tsr_status st = graph_jvp_of(f, &(grad_request){.wrt = wrt, .n_wrt = n, .name = "jvp"}, &jvp);
  if (st) fail_msg("%s: %s", name, tsr_status_message(st));
  gt_data in = gt_random(jvp, seed, lo, hi), to = moved(&in, n, h), from = moved(&in, n, -h);
  const int count = all_results(f, &to, up, MOST);
  assert_int_equal(all_results(f, &from, down, MOST), count);
  assert_int_equal(all_results(jvp, &in, have, 2 * MOST), 2 * count);
  for (int i = 0; i < count; i++) {
    const double want = (up[i] - down[i]) / (2 * h);
    if (!(fabs(have[count + i] - want) <= 2e-6 * (1 + fabs(want))))
      fail_msg("%s: number %d: tangent %.10g, difference %.10g", name, i, have[count + i], want);
  }
  for (int a = 0; a < n; a++) free(to.p[a]), free(from.p[a]);
  gt_free(&in);
}

/* The case as a function: of its own result, or of the loss. */
static ir_module *case_module(size_t c, bool loss) {
  char args[400], body[1000], type[64];
  snprintf(args, sizeof args, "%s, %%w: tensor<%s%sf64>", cases[c].args, cases[c].type, *cases[c].type ? "x" : "");
  snprintf(body, sizeof body, "%s%%p = \"tessera.graph.mul\"(%%0, %%w)\n%%loss = \"tessera.graph.reduce_sum\"(%%p)",
           cases[c].body);
  snprintf(type, sizeof type, "tensor<%s%sf64>", cases[c].type, *cases[c].type ? "x" : "");
  return gt_parse(gt_func(args, body, loss ? "%loss" : "%p", loss ? "tensor<f64>" : type));
}

static void tangents_agree_with_differences(void **state) {
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    ir_module *m = case_module(c, false);
    check_tangents(cases[c].op, graph_find_func(m, NULL), (unsigned)c, cases[c].lo, cases[c].hi);
    ir_module_destroy(&m);
  }
}

/* A Hessian times a vector. */
static void tangents_of_gradients_agree_with_differences(void **state) {
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    ir_module *m = case_module(c, true);
    ir_op *f = graph_find_func(m, NULL), *grad;
    int n = f->regions[0]->n_args, wrt[4] = {0, 1, 2, 3};
    assert_null(graph_grad(f, wrt, n, "grad", &grad));
    check_tangents(cases[c].op, grad, (unsigned)c + 1000, cases[c].lo, cases[c].hi);
    ir_module_destroy(&m);
  }
}

/* How many ops of each kind a tangent costs beside the function itself. */
static const struct { const char *args, *body, *type, *ops; } costs[] = {
    {"%x: tensor<3x4xf32>, %y: tensor<4x5xf32>", OP("0", "matmul", "%x, %y"), "tensor<3x5xf32>", "matmul matmul matmul add"},
    {"%x: tensor<3x4xf32>", OP("0", "tanh", "%x"), "tensor<3x4xf32>", "tanh constant mul sub mul"},
    {"%x: tensor<3x4xf32>", OPA("0", "reduce_sum", "%x", "axes = [1]"), "tensor<3xf32>", "reduce_sum reduce_sum"},
    {"%x: tensor<3x4xf32>", OPA("0", "transpose", "%x", "perm = [1, 0]"), "tensor<4x3xf32>", "transpose transpose"},
    {"%x: tensor<3x4xf32>, %i: tensor<2xi32>", OP("0", "gather", "%x, %i"), "tensor<2x4xf32>", "gather reshape gather_nd"},
};

static void a_tangent_leaves_nothing_of_the_pass_back(void **state) {
  for (size_t c = 0; c < sizeof costs / sizeof *costs; c++) {
    ir_module *m = gt_parse(gt_func(costs[c].args, costs[c].body, "%0", costs[c].type));
    ir_op *f = graph_find_func(m, NULL), *jvp;
    const int n = strstr(costs[c].args, "%y") ? 2 : 1;
    char ops[400] = "";
    assert_null(graph_jvp_of(f, &(grad_request){.wrt = (int[]){0, 1}, .n_wrt = n, .name = "jvp"}, &jvp));
    assert_null(graph_simplify(jvp, NULL));
    for (const ir_op *o = jvp->regions[0]->first; !graph_is(o, G_RETURN); o = o->next)
      snprintf(ops + strlen(ops), sizeof ops - strlen(ops), "%s%s", *ops ? " " : "", strrchr(o->def->name, '.') + 1);
    if (strcmp(ops, costs[c].ops)) fail_msg("%s: %s, wanted %s", costs[c].body, ops, costs[c].ops);
    ir_module_destroy(&m);
  }
}

static void tangents_that_make_no_sense_are_errors(void **state) {
  static const struct { int wrt[2], n; const char *says; } bad[] = {
      {{1}, 1, "only floats have gradients"}, {{7}, 1, "has no argument 7"}, {{0, 0}, 2, "argument 0 is asked for twice"}};
  ir_module *m = gt_parse(gt_func("%x: tensor<2xf32>, %i: tensor<2xi32>", OP("0", "neg", "%x"), "%0", "tensor<2xf32>"));
  ir_op *jvp;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const grad_request q = {.wrt = bad[i].wrt, .n_wrt = bad[i].n, .name = "j"};
    tsr_status st = graph_jvp_of(graph_find_func(m, NULL), &q, &jvp);
    assert_true(gt_says(tsr_status_message(st), bad[i].says));
    assert_null(jvp);
    tsr_status_free(st);
  }
  ir_module_destroy(&m);
  m = gt_parse(gt_func("%x: tensor<1xf32>",
                       "%0 = \"tessera.graph.custom\"(%x) {callee = \"f\"} : (tensor<1xf32>) -> tensor<1xf32>", "%0",
                       "tensor<1xf32>"));
  const grad_request q = {.wrt = (int[]){0}, .n_wrt = 1, .name = "j"};
  tsr_status st = graph_jvp_of(graph_find_func(m, NULL), &q, &jvp);
  assert_true(gt_says(tsr_status_message(st), "custom: test.mlir:4:6: has no derivative"));
  tsr_status_free(st);
  ir_module_destroy(&m);
}

static void product_with_zeros_has_the_right_gradient(void **state) {
  ir_module *m =
      gt_parse(gt_func("%x: tensor<3x3xf64>", OPA("0", "reduce_prod", "%x", "axes = [1]") OP("1", "reduce_sum", "%0"),
                       "%1", "tensor<f64>"));
  ir_op *grad;
  assert_null(graph_grad(graph_find_func(m, NULL), (int[]){0}, 1, "grad", &grad));
  double x[9] = {2, 3, 4, 2, 0, 4, 0, 0, 5}, want[9] = {12, 8, 6, 0, 8, 0, 0, 0, 0}, loss, g[9];
  assert_null(graph_eval(grad, (const void *const[]){x}, (void *const[]){&loss, g}, NULL));
  for (int i = 0; i < 9; i++) assert_true(g[i] == want[i]);
  ir_module_destroy(&m);
}

static void gradient_of_an_unused_argument_is_zero(void **state) {
  ir_module *m =
      gt_parse(gt_func("%x: tensor<2xf32>, %y: tensor<3xbf16>", OP("0", "reduce_sum", "%x"), "%0", "tensor<f32>"));
  ir_op *grad;
  assert_null(graph_grad(graph_find_func(m, NULL), (int[]){1, 0}, 2, "grad", &grad));
  float x[2] = {1, 2}, loss, gx[2];
  uint16_t y[3] = {0}, gy[3] = {1, 1, 1};
  assert_null(graph_eval(grad, (const void *const[]){x, y}, (void *const[]){&loss, gy, gx}, NULL));
  assert_true(loss == 3 && gx[0] == 1 && gx[1] == 1 && gy[0] == 0 && gy[2] == 0);
  ir_module_destroy(&m);
}

static void mixed_types_cast_back(void **state) {
  ir_module *m = gt_parse(gt_func("%x: tensor<2x3xbf16>, %y: tensor<3x2xf16>",
                                  OPA("0", "matmul", "%x, %y", "out_dtype = \"f32\"") OP("1", "reduce_sum", "%0"), "%1",
                                  "tensor<f32>"));
  ir_op *grad;
  assert_null(graph_grad(graph_find_func(m, NULL), (int[]){0, 1}, 2, "grad", &grad));
  assert_int_equal(grad->regions[0]->last->operands[1]->type->dtype, TSR_BF16);
  assert_int_equal(grad->regions[0]->last->operands[2]->type->dtype, TSR_F16);
  ir_module_destroy(&m);
}

static void requests_that_make_no_sense_are_errors(void **state) {
  ir_module *m = gt_parse(gt_func("%x: tensor<2xf32>, %i: tensor<2xi32>", OP("0", "neg", "%x"), "%0", "tensor<2xf32>"));
  ir_op *f = graph_find_func(m, NULL), *grad;
  tsr_status st = graph_grad(f, (int[]){0}, 1, "grad", &grad);
  assert_true(gt_says(tsr_status_message(st), "must be one float"));
  tsr_status_free(st);
  ir_module_destroy(&m);
  m = gt_parse(gt_func("%x: tensor<1xf32>, %i: tensor<2xi32>", OP("0", "neg", "%x"), "%0", "tensor<1xf32>"));
  f = graph_find_func(m, NULL);
  st = graph_grad(f, (int[]){1}, 1, "grad", &grad);
  assert_true(gt_says(tsr_status_message(st), "only floats have gradients"));
  tsr_status_free(st);
  st = graph_grad(f, (int[]){7}, 1, "grad", &grad);
  assert_true(gt_says(tsr_status_message(st), "has no argument 7"));
  tsr_status_free(st);
  ir_module_destroy(&m);
  m = gt_parse(gt_func("%x: tensor<1xf32>",
                       "%0 = \"tessera.graph.custom\"(%x) {callee = \"f\"} : (tensor<1xf32>) -> tensor<1xf32>", "%0",
                       "tensor<1xf32>"));
  st = graph_grad(graph_find_func(m, NULL), (int[]){0}, 1, "grad", &grad);
  assert_true(gt_says(tsr_status_message(st), "custom: test.mlir:4:6: has no derivative"));
  tsr_status_free(st);
  ir_module_destroy(&m);
}

/* Composite ops have the derivative of what they stand for, which a case above must have shown. */
static bool is_case(const ir_opdef *t) {
  if (!((const graph_row *)t->ext)->expand) return false;
  bool found = !strstr(t->types_doc, "f64");
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    char call[64];
    snprintf(call, sizeof call, "\"%s\"(", t->name);
    found |= strstr(cases[c].body, call) != NULL;
  }
  return found;
}

static void every_float_op_has_a_derivative(void **state) {
  const ir_opdef *t;
  for (size_t i = 0; (t = ir_row(IR_GRAPH, i)); i++)
    if ((t->flags & IR_PURE) && t->code != G_CUSTOM && t->code != G_CONTROL && /* made behind derivatives */
        ((const graph_row *)t->ext)->kind != GRAPH_COLLECTIVE && /* gradients are taken before programs are cut up */
        !((const graph_row *)t->ext)->adjoint &&
        !((const graph_row *)t->ext)->pairs && !is_case(t)) /* complex numbers are differentiated on their parts */
      fail_msg("%s has no derivative", t->name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_agree_with_differences),
      cmocka_unit_test(tangents_agree_with_differences),
      cmocka_unit_test(tangents_of_gradients_agree_with_differences),
      cmocka_unit_test(a_tangent_leaves_nothing_of_the_pass_back),
      cmocka_unit_test(tangents_that_make_no_sense_are_errors),
      cmocka_unit_test(product_with_zeros_has_the_right_gradient),
      cmocka_unit_test(gradient_of_an_unused_argument_is_zero),
      cmocka_unit_test(mixed_types_cast_back),
      cmocka_unit_test(requests_that_make_no_sense_are_errors),
      cmocka_unit_test(every_float_op_has_a_derivative),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
