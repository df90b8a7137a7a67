/* Tests of the Graph IR table: every op's inferred type, every rule's failure message, print -> parse -> print,
 * mlir-opt, the documents made from the tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/graph_text.h"

typedef struct typed {
  const char *args, *op, *type;
} typed;

static const typed good[] = {
    {"%a: tensor<4x5xf32>, %b: tensor<5x6xf32>", "matmul(%a, %b)", "4x6xf32"},
    {"%a: tensor<5x4xbf16>, %b: tensor<6x5xbf16>", "matmul(%a, %b) {transpose_a = true, transpose_b, accum_dtype = \"f32\", tile_shape = [64, 64, 32]}", "4x6xbf16"},
    {"%a: tensor<7x1x4x5xf16>, %b: tensor<3x5x6xf16>", "matmul(%a, %b) {out_dtype = \"f32\"}", "7x3x4x6xf32"},
    {"%a: tensor<4x5xi8>, %b: tensor<5x6xi8>", "matmul(%a, %b)", "4x6xi32"},
    {"%a: tensor<4x5xui8>, %b: tensor<5x6xi8>", "matmul(%a, %b)", "4x6xi32"},
    {"%a: tensor<4x5xf8E4M3FN>, %b: tensor<5x6xbf16>", "matmul(%a, %b)", "4x6xbf16"},
    {"%a: tensor<?x5xf32>, %b: tensor<?x6xf32>", "matmul(%a, %b)", "?x6xf32"},
    {"%a: tensor<4x0xf32>, %b: tensor<0x6xf32>", "matmul(%a, %b)", "4x6xf32"},
    {"%a: tensor<4x1xf32>, %b: tensor<3xf32>", "add(%a, %b)", "4x3xf32"},
    {"%a: tensor<f32>, %b: tensor<0x3xf32>", "sub(%a, %b)", "0x3xf32"},
    {"%a: tensor<?x3xf32>, %b: tensor<4x3xf32>", "mul(%a, %b)", "4x3xf32"},
    {"%a: tensor<?x1xf32>, %b: tensor<1x3xf32>", "div(%a, %b)", "?x3xf32"},
    {"%a: tensor<2xi32>, %b: tensor<2xi32>", "rem(%a, %b)", "2xi32"},
    {"%a: tensor<2xf64>, %b: tensor<2xf64>", "pow(%a, %b)", "2xf64"},
    {"%a: tensor<2xi8>, %b: tensor<2xi8>", "min(%a, %b)", "2xi8"},
    {"%a: tensor<2xi64>, %b: tensor<2xi64>", "max(%a, %b)", "2xi64"},
    {"%a: tensor<2xi1>, %b: tensor<2xi1>", "and(%a, %b)", "2xi1"},
    {"%a: tensor<2xi32>, %b: tensor<2xi32>", "or(%a, %b)", "2xi32"},
    {"%a: tensor<2xi1>", "not(%a)", "2xi1"},
    {"%a: tensor<2xf16>", "neg(%a)", "2xf16"},
    {"%a: tensor<2xi32>", "abs(%a)", "2xi32"},
    {"%a: tensor<2xbf16>", "exp(%a)", "2xbf16"},
    {"%a: tensor<2xf32>", "log(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "sqrt(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "rsqrt(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "tanh(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "erf(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "sigmoid(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "relu(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "gelu(%a) {approximate = \"tanh\"}", "2xf32"},
    {"%a: tensor<2xf32>", "silu(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "sin(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "cos(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "floor(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "ceil(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "round(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "trunc(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "sign(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "isnan(%a)", "2xi1"},
    {"%a: tensor<2xf32>", "isinf(%a)", "2xi1"},
    {"%a: tensor<2xf32>", "hardsigmoid(%a) {alpha = 0.2, beta = 0.5}", "2xf32"},
    {"%a: tensor<2xf32>", "hardswish(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "leaky_relu(%a) {alpha = 0.2}", "2xf32"},
    {"%a: tensor<2xf32>", "elu(%a) {alpha = 2.0}", "2xf32"},
    {"%a: tensor<2xf32>", "celu(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "selu(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "softplus(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "mish(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "softsign(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "expm1(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "log1p(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "tan(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "asin(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "acos(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "atan(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "sinh(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "cosh(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "asinh(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "acosh(%a)", "2xf32"},
    {"%a: tensor<2xf32>", "atanh(%a)", "2xf32"},
    {"%a: tensor<2x1xf32>, %b: tensor<3xf32>", "prelu(%a, %b)", "2x3xf32"},
    {"%a: tensor<2x1xi1>, %b: tensor<3xi1>", "xor(%a, %b)", "2x3xi1"},
    {"%a: tensor<2x1xi8>, %b: tensor<3xi8>", "shift_left(%a, %b)", "2x3xi8"},
    {"%a: tensor<2x1xui8>, %b: tensor<3xui8>", "shift_right(%a, %b)", "2x3xui8"},
    {"%a: tensor<2x1xf32>, %b: tensor<3xf32>", "compare(%a, %b) {predicate = \"le\"}", "2x3xi1"},
    {"%c: tensor<2x1xi1>, %a: tensor<3xf32>, %b: tensor<f32>", "select(%c, %a, %b)", "2x3xf32"},
    {"%a: tensor<2x?xf32>", "cast(%a) {dtype = \"fp8_e5m2\"}", "2x?xf8E5M2"},
    {"%a: tensor<2x1xf32>", "broadcast(%a) {shape = [3, -1, 4]}", "3x2x4xf32"},
    {"%a: tensor<2x3x4xf32>", "reduce_sum(%a) {axes = [0, -1]}", "3xf32"},
    {"%a: tensor<2x3x4xf32>", "reduce_mean(%a) {axes = [1], keepdims = true}", "2x1x4xf32"},
    {"%a: tensor<2x3x4xi32>", "reduce_max(%a)", "i32"},
    {"%a: tensor<2x?x4xf32>", "reduce_min(%a) {axes = [0]}", "?x4xf32"},
    {"%a: tensor<2x3xf32>", "reduce_prod(%a) {axes = [], keepdims = true}", "1x1xf32"},
    {"%a: tensor<2x3xf32>", "softmax(%a) {axis = 0}", "2x3xf32"},
    {"%a: tensor<2x3xbf16>, %g: tensor<3xf32>, %b: tensor<3xbf16>", "layernorm(%a, %g, %b) {eps = 0.001}", "2x3xbf16"},
    {"%a: tensor<2x3xf32>", "rmsnorm(%a)", "2x3xf32"},
    {"%a: tensor<2x3x4xf32>", "reshape(%a) {shape = [4, -1]}", "4x6xf32"},
    {"%a: tensor<?x4xf32>", "reshape(%a) {shape = [-1, 2]}", "?x2xf32"},
    {"%a: tensor<2x3x4xf32>", "transpose(%a)", "4x3x2xf32"},
    {"%a: tensor<2x3x4xf32>", "transpose(%a) {perm = [0, -1, 1]}", "2x4x3xf32"},
    {"%a: tensor<9x?xf32>", "slice(%a) {starts = [1, 2], sizes = [4, -1], strides = [2, 1]}", "4x?xf32"},
    {"%a: tensor<2x3xf32>, %b: tensor<2x?xf32>, %c: tensor<2x1xf32>", "concat(%a, %b, %c) {axis = -1}", "2x?xf32"},
    {"%a: tensor<2x3xf32>", "pad(%a) {low = [1, 0], high = [0, 2], value = -1}", "3x5xf32"},
    {"", "constant() {value = dense<[[1.0, 2.0]]> : tensor<1x2xf64>}", "1x2xf64"},
    {"", "iota() {shape = [2, 3]}", "2x3xi32"},
    {"", "iota() {shape = [256, 0], axis = -2, dtype = \"u8\"}", "256x0xui8"},
    {"", "iota() {shape = [3000], axis = 0, dtype = \"bf16\"}", "3000xbf16"},
    {"%a: tensor<?x3xf16>", "clip(%a) {min = 0, max = 6.0}", "?x3xf16"},
    {"%a: tensor<3xi8>", "clip(%a) {max = -2.0}", "3xi8"},
    {"%c: tensor<2x1xi1>, %a: tensor<3xf32>, %b: tensor<f32>", "where(%c, %a, %b)", "2x3xf32"},
    {"%a: tensor<2x3x3xi1>", "tril(%a)", "2x3x3xi1"},
    {"%a: tensor<2x?xf32>", "triu(%a) {diagonal = -9223372036854775807}", "2x?xf32"},
    {"%a: tensor<2x3x?xf32>", "tile(%a) {repeats = [1, 4, 2]}", "2x12x?xf32"},
    {"%a: tensor<4x6xf32>", "split(%a) {axis = -1, sizes = [6]}", "4x6xf32"},
    {"%a: tensor<?x5xi64>", "one_hot(%a) {depth = 7, axis = 1, dtype = \"bf16\"}", "?x7x5xbf16"},
    {"%a: tensor<ui8>", "one_hot(%a) {depth = 0}", "0xf32"},
    {"%a: tensor<2x3x?xbf16>, %m: tensor<3xf32>, %v: tensor<3xbf16>, %g: tensor<?xf32>", "batch_norm(%a, %m, %v, %g)", "2x3x?xbf16"},
    {"%a: tensor<2x6x5xf16>, %g: tensor<6xf32>, %b: tensor<6xf16>", "group_norm(%a, %g, %b) {groups = 3, eps = 0.0}", "2x6x5xf16"},
    {"%a: tensor<2x6x5x5xf32>", "instance_norm(%a)", "2x6x5x5xf32"},
    {"%a: tensor<2x6x5xf32>", "logsumexp(%a) {axes = [0, -1]}", "6xf32"},
    {"%a: tensor<2x6xf32>", "log_softmax(%a) {axis = 0}", "2x6xf32"},
    {"%a: tensor<2x4x6x8xbf16>, %c: tensor<6x4xf32>, %s: tensor<6x4xbf16>", "rope(%a, %c, %s)", "2x4x6x8xbf16"},
    {"%a: tensor<?x8xf32>, %p: tensor<5xi64>", "rope(%a, %p) {interleaved = true, base = 500000.0}", "?x8xf32"},
    {"%a: tensor<2x3xf32>, %b: tensor<3xf32>", "mse(%a, %b)", "f32"},
    {"%a: tensor<2x3xf32>, %b: tensor<2x3xf32>", "kl(%a, %b) {reduction = \"none\"}", "2x3xf32"},
    {"%a: tensor<2x5x3xf32>, %b: tensor<2x3xi64>", "cross_entropy(%a, %b) {axis = 1, reduction = \"none\", ignore_index = -100}", "2x3xf32"},
    {"%a: tensor<4x5xf32>, %b: tensor<4x5xf32>", "cross_entropy(%a, %b) {reduction = \"sum\"}", "f32"},
    {"%a: tensor<?x5xbf16>, %w: tensor<5x9xbf16>, %b: tensor<9xbf16>", "%q, %0, %v = qkv_projection(%a, %w, %b) {sizes = [3, 2, 4]}", "?x2xbf16"},
    {"%a: tensor<2x4x5xf32>, %w: tensor<5x9xf32>", "%q, %k, %0 = qkv_projection(%a, %w)", "2x4x3xf32"},
    {"%a: tensor<4x5xf32>, %u: tensor<5x2xf32>, %v: tensor<2x7xf32>, %b: tensor<7xf32>", "factorized_matmul(%a, %u, %v, %b)", "4x7xf32"},
    {"%a: tensor<?x5xbf16>, %b: tensor<5x3xbf16>", "einsum(%a, %b) {equation = \"ij,jk->ki\"}", "3x?xbf16"},
    {"%a: tensor<2x?x5xf32>, %b: tensor<1x4x5xf32>", "einsum(%a, %b) {equation = \"...d,...d\"}", "2x4xf32"},
    {"%a: tensor<2x4x5x8xf16>, %k: tensor<2x2x7x8xf16>, %v: tensor<2x2x7x3xf16>, %m: tensor<5x7xi1>", "flash_attention(%a, %k, %v, %m) {causal = true, window = 3}", "2x4x5x3xf16"},
    {"%a: tensor<?x4x?x8xbf16>, %k: tensor<?x4x?x8xbf16>, %b: tensor<4x1x1xf32>", "flash_attention(%a, %k, %k, %b) {scale = 2.0, softcap = 30.0}", "?x4x?x8xbf16"},
    {"%a: tensor<2x1xi8>, %b: tensor<3xi8>", "mul_high(%a, %b)", "2x3xi8"},
    {"%k: tensor<2xi32>, %c: tensor<4xi32>", "rng_uniform(%k, %c) {shape = [3, 5], dtype = \"bf16\"}", "3x5xbf16"},
    {"%k: tensor<?xi32>", "rng_uniform(%k) {shape = [], dtype = \"i32\"}", "i32"},
    {"%k: tensor<2xi32>", "rng_normal(%k) {shape = [0, 3]}", "0x3xf32"},
    {"%a: tensor<?x3xf16>, %k: tensor<2xi32>, %c: tensor<4xi32>", "dropout(%a, %k, %c) {p = 1.0}", "?x3xf16"},
    {"%a: tensor<?x3xf32>, %g: tensor<2x3xbf16>, %l: tensor<f32>", "sgd(%a, %g, %l) {weight_decay = 0.1}", "?x3xf32"},
    {"%a: tensor<3xf64>, %g: tensor<3xf64>, %l: tensor<f32>", "%0, %v = sgd(%a, %g, %l, %a) {momentum = 0.9, nesterov = true}", "3xf64"},
    {"%a: tensor<2x3xf32>, %g: tensor<2x3xf16>, %l: tensor<f32>, %s: tensor<i64>", "%m, %v, %0 = adamw(%a, %g, %a, %a, %l, %s) {beta1 = 0.0}", "2x3xf32"},
    {"%a: tensor<?x3xf32>, %b: tensor<bf16>", "%n, %0 = check_numerics(%a, %b)", "i32"},
    {"%a: tensor<?x3xf32>, %b: tensor<f64>", "global_norm(%a, %b)", "f64"},
    {"%a: tensor<?x3xf16>, %b: tensor<bf16>", "%x, %0, %n = clip_by_global_norm(%a, %b) {max_norm = 2.0}", "bf16"},
    {"%a: tensor<2x?x4x4xf64>, %b: tensor<2x?x4x3xf64>", "tri_solve(%a, %b) {upper = true, transpose = true, unit_diagonal = true}", "2x?x4x3xf64"},
    {"%a: tensor<4x4xf32>, %b: tensor<4x?xf32>", "tri_solve(%a, %b)", "4x?xf32"},
    {"%a: tensor<?x4x4xf32>", "cholesky(%a) {upper = true}", "?x4x4xf32"},
    {"%a: tensor<2x3x4xf32>", "%q, %0 = qr(%a)", "2x3x4xf32"},
    {"%x: tensor<?x3x4xf16>, %w: tensor<2x24x4xf16>, %r: tensor<2x24x6xf16>, %b: tensor<2x48xf16>, %l: tensor<?xi32>", "%0, %h, %c = lstm(%x, %w, %r, %b, %l) {direction = \"bidirectional\"}", "?x2x3x6xf16"},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x18x4xf32>, %r: tensor<1x18x6xf32>", "%y, %0 = gru(%x, %w, %r) {direction = \"reverse\", linear_before_reset = true}", "1x3x6xf32"},
    {"%x: tensor<5x?x4xbf16>, %w: tensor<1x6x?xbf16>, %r: tensor<1x6x6xbf16>", "%y, %0 = rnn(%x, %w, %r) {activation = \"relu\"}", "1x?x6xbf16"},
    {"%x: tensor<5x3x24xf64>, %r: tensor<6x24xf64>, %b: tensor<24xf64>, %h: tensor<3x6xf64>, %l: tensor<3xi32>", "%y, %h1, %0 = recurrence(%x, %r, %b, %h, %h, %l) {cell = \"lstm\"}", "3x6xf64"},
    {"%a: tensor<?x5x4xf64>", "%0, %r = qr(%a)", "?x5x4xf64"},
    {"%a: tensor<?x4xf32>", "%0, %r = qr(%a)", "?x?xf32"},
    {"%a: tensor<2x3x4xf32>", "%u, %0, %v = svd(%a)", "2x3xf32"},
    {"%a: tensor<5x3xf64>", "%0, %s, %v = svd(%a)", "5x3xf64"},
    {"%a: tensor<5x3xf64>", "%u, %s, %0 = svd(%a)", "3x3xf64"},
    {"%a: tensor<2x4x5x8xf16>, %k: tensor<2x2x7x8xf16>, %v: tensor<2x2x7x3xf16>, %l: tensor<2xi32>", "%1, %0 = flash_attention(%a, %k, %v, %l)", "2x4x5xf32"},
    {"%a: tensor<?x4x5x8xf64>, %k: tensor<?x2x?x8xf64>, %m: tensor<?xi1>, %l: tensor<?x2xi32>", "%1, %0 = flash_attention(%a, %k, %k, %m, %l)", "?x4x5xf64"},
    {"%a: tensor<1x12x2x3xi8>", "depth_to_space(%a) {block = 2}", "1x3x4x6xi8"},
    {"%a: tensor<1x4x?x3xf32>", "space_to_depth(%a) {block = 2, layout = \"nhwc\"}", "1x2x?x12xf32"},
    {"%a: tensor<?x3x?x9xi8>", "max_pool(%a) {kernel = [3, 2], strides = [2, 2], low = [1, 0]}", "?x3x?x4xi8"},
    {"%a: tensor<2x112x112x64xbf16>", "max_pool(%a) {kernel = [3, 3], strides = [2, 2], padding = \"same\", layout = \"nhwc\"}", "2x56x56x64xbf16"},
    {"%a: tensor<2x4x?xf32>", "average_pool(%a) {kernel = [3], padding = \"same_lower\", count_include_pad = true}", "2x4x?xf32"},
    {"%a: tensor<2x4x7x7x7xf64>", "average_pool(%a) {kernel = [3, 2, 1], strides = [2, 2, 3], dilations = [1, 2, 1], ceil_mode = true}", "2x4x3x3x3xf64"},
    {"%a: tensor<2x4x?x7xf32>", "average_pool(%a)", "2x4x1x1xf32"},
    {"%a: tensor<?x4x?x7xf32>", "resize(%a) {sizes = [5, 6], mode = \"cubic\"}", "?x4x5x6xf32"},
    {"%a: tensor<?x4x?x7xi1>", "resize(%a) {scales = [1.5, 0.5]}", "?x4x?x3xi1"},
    {"%a: tensor<2x4x7xf16>", "resize(%a) {scales = [3], layout = \"nhwc\"}", "2x12x7xf16"},
    {"%a: tensor<2x?x4xf16>", "cumsum(%a) {axis = 1, exclusive = true, reverse = true}", "2x?x4xf16"},
    {"%a: tensor<5xui8>", "cumprod(%a)", "5xui8"},
    {"%a: tensor<2x3xi1>", "%0, %n = nonzero(%a) {size = 4, dtype = \"i64\"}", "2x4xi64"},
    {"%a: tensor<?x3x4xf8E5M2>", "argmax(%a) {axis = 1, keepdims = true, select_last_index = true}", "?x1x4xi32"},
    {"%a: tensor<?xbf16>", "argmin(%a) {dtype = \"i64\"}", "i64"},
    {"%a: tensor<2x?xi8>", "%0, %i = topk(%a) {k = 3, largest = false, sorted = false}", "2x3xi8"},
    {"%a: tensor<2x3x4xf32>", "%v, %0 = topk(%a) {k = 0, axis = 1}", "2x0x4xi32"},
    {"%a: tensor<2x?xf64>", "%v, %0 = sort(%a) {axis = 0, descending = true, stable = false, dtype = \"i64\"}", "2x?xi64"},
    {"%a: tensor<?x8xbf16>", "%0, %e, %s, %c = router(%a) {k = 3, softmax = \"all\"}", "?x3xbf16"},
    {"%a: tensor<5x8xf32>", "%w, %e, %s, %0 = router(%a) {capacity = 4}", "8xi32"},
    {"%a: tensor<5x8xf16>, %s: tensor<5x2xi64>", "moe_dispatch(%a, %s) {rows = 12}", "12x8xf16"},
    {"%y: tensor<12x8xf16>, %s: tensor<5x2xi32>, %w: tensor<5x2xf32>", "moe_combine(%y, %s, %w)", "5x8xf16"},
    {"%a: tensor<12x8xbf16>, %w: tensor<4x8x3xbf16>, %c: tensor<4xi32>", "grouped_matmul(%a, %w, %c)", "12x3xbf16"},
    {"%a: tensor<12x8xf32>, %g: tensor<3x8x4xf32>, %u: tensor<4x8x16xf32>, %d: tensor<4x16x8xf32>", "recursive_mixture(%a, %g, %u, %d) {k = 1, activation = \"silu\"}", "12x8xf32"},
    {"%a: tensor<?x6x9x8xi8>", "patches(%a) {kernel = [3, 2], groups = 2, strides = [2, 1]}", "?x2x28x18xi8"},
    {"%a: tensor<2x9x8x6xbf16>", "patches(%a) {kernel = [3, 2], padding = \"same\", flat = true, layout = \"nhwc\"}", "144x36xbf16"},
    {"%a: tensor<?x4x9xf32>, %w: tensor<6x2x3xf32>, %b: tensor<6xf32>", "conv1d(%a, %w, %b) {groups = 2, low = [1]}", "?x6x8xf32"},
    {"%a: tensor<2x224x224x3xbf16>, %w: tensor<7x7x3x64xbf16>", "conv2d(%a, %w) {strides = [2, 2], padding = \"same\", layout = \"nhwc\"}", "2x112x112x64xbf16"},
    {"%a: tensor<2x?x?x9xf64>, %w: tensor<?x4x3x3xf64>", "conv2d(%a, %w) {dilations = [2, 3], high = [0, 4]}", "2x?x?x7xf64"},
    {"%a: tensor<2x4x7x7x7xf16>, %w: tensor<8x4x3x2x1xf16>", "conv3d(%a, %w) {strides = [2, 2, 3]}", "2x8x3x3x3xf16"},
    {"%a: tensor<2x4x5x6xf32>, %w: tensor<4x3x3x2xf32>, %b: tensor<6xf32>", "conv_transpose(%a, %w, %b) {groups = 2, strides = [2, 3], low = [1, 0], output_padding = [1, 2]}", "2x6x11x19xf32"},
    {"%a: tensor<2x?x4xf32>, %w: tensor<3x5x4xf32>", "conv_transpose(%a, %w) {strides = [2], padding = \"same\", layout = \"nhwc\"}", "2x?x5xf32"},
    {"%a: tensor<2x1xf16>, %b: tensor<3xf16>", "complex(%a, %b)", "2x3xcomplex<f16>"},
    {"%a: tensor<?x3xcomplex<f64>>", "real(%a)", "?x3xf64"},
    {"%a: tensor<2xcomplex<f32>>", "imag(%a)", "2xf32"},
    {"%a: tensor<2xcomplex<f32>>", "conj(%a)", "2xcomplex<f32>"},
    {"%a: tensor<complex<f32>>", "as_real(%a)", "2xf32"},
    {"%a: tensor<?x2xf64>", "as_complex(%a)", "?xcomplex<f64>"},
    {"%a: tensor<2x1xcomplex<f32>>, %b: tensor<3xcomplex<f32>>", "mul(%a, %b)", "2x3xcomplex<f32>"},
    {"%a: tensor<2xcomplex<f64>>", "abs(%a)", "2xf64"},
    {"%a: tensor<2xi32>", "cast(%a) {dtype = \"complex64\"}", "2xcomplex<f32>"},
    {"%a: tensor<?x8xcomplex<f32>>", "fft(%a) {norm = \"ortho\"}", "?x8xcomplex<f32>"},
    {"%a: tensor<3x8x2xcomplex<f64>>", "ifft(%a) {axes = [0, 1]}", "3x8x2xcomplex<f64>"},
    {"%a: tensor<3x9x2xf16>", "rfft(%a) {axes = [0, 1]}", "3x5x2xcomplex<f16>"},
    {"%a: tensor<?xf32>", "rfft(%a)", "?xcomplex<f32>"},
    {"%a: tensor<3x5xcomplex<f32>>", "irfft(%a)", "3x8xf32"},
    {"%a: tensor<3x?xcomplex<f32>>", "irfft(%a) {n = 9}", "3x9xf32"},
    {"%a: tensor<3x1xcomplex<f32>>, %b: tensor<5xcomplex<f32>>", "pointwise_mul(%a, %b)", "3x5xcomplex<f32>"},
    {"%a: tensor<3x4x5x2xf64>", "dft(%a) {axis = 1}", "3x4x5x2xf64"},
    {"%a: tensor<?x7xf16>", "dct(%a) {type = 3}", "?x7xf16"},
    {"%a: tensor<3x?xf64>", "dct(%a) {norm = \"forward\"}", "3x?xf64"},
    {"%a: tensor<2x10xf32>, %w: tensor<4xf32>", "stft(%a, %w) {size = 4, hop = 3}", "2x3x3xcomplex<f32>"},
    {"%a: tensor<?xf16>", "stft(%a) {size = 5, hop = 9}", "?x3xcomplex<f16>"},
    {"%a: tensor<2x3x3xcomplex<f32>>, %w: tensor<4xf32>", "istft(%a, %w) {hop = 3}", "2x10xf32"},
    {"%a: tensor<?x3xcomplex<f64>>", "istft(%a) {hop = 3, size = 5}", "?xf64"},
    {"%a: tensor<3x4x?x2xf32>", "dft(%a) {axis = 0, to = 2, inverse = true}", "4x?x3x2xf32"},
    {"%a: tensor<2x3x4xf32>, %i: tensor<5x6xi32>", "gather(%a, %i) {axis = 1}", "2x5x6x4xf32"},
    {"%a: tensor<2x3xi1>, %i: tensor<i64>", "gather(%a, %i) {axis = -1}", "2xi1"},
    {"%a: tensor<?x3xf32>, %i: tensor<?xi64>", "gather(%a, %i)", "?x3xf32"},
    {"%a: tensor<2x3xf16>, %i: tensor<2x7xi64>", "gather_elements(%a, %i) {axis = 1}", "2x7xf16"},
    {"%a: tensor<?x3xf16>, %i: tensor<2x7xi64>", "gather_elements(%a, %i) {axis = 1}", "2x7xf16"},
    {"%a: tensor<2x3x4xf32>, %i: tensor<5x2xi32>", "gather_nd(%a, %i)", "5x4xf32"},
    {"%a: tensor<2x3x4xf32>, %i: tensor<2x5x1xi32>", "gather_nd(%a, %i) {batch_dims = 1}", "2x5x4xf32"},
    {"%a: tensor<100x8xbf16>, %i: tensor<2x5xi32>", "embedding(%a, %i)", "2x5x8xbf16"},
    {"%a: tensor<2x3xi8>, %i: tensor<5x3xi32>, %u: tensor<5x3xi8>", "scatter(%a, %i, %u)", "2x3xi8"},
    {"%a: tensor<2x3xf32>, %i: tensor<2x0xi64>, %u: tensor<2x0xf32>", "scatter_add(%a, %i, %u) {axis = -1}", "2x3xf32"},
    {"%a: tensor<2x3x4xf32>, %i: tensor<5x2xi32>, %u: tensor<5x4xf32>", "scatter_nd(%a, %i, %u) {reduction = \"add\"}", "2x3x4xf32"},
    {"%a: tensor<2x4x16x8xbf16>, %r: tensor<2x4x3x8xbf16>, %p: tensor<2xi32>", "cache_update(%a, %r, %p) {ring = true}", "2x4x16x8xbf16"},
    {"%a: tensor<?x16x8xi8>, %r: tensor<?x?x8xi8>, %p: tensor<?xi64>", "cache_update(%a, %r, %p)", "?x16x8xi8"},
    {"%a: tensor<16xf32>, %r: tensor<2xf32>, %p: tensor<i64>", "cache_update(%a, %r, %p) {axis = 0}", "16xf32"},
};

/* "name(operands) attrs", or "results = name(operands) attrs", as a line of text. */
static const char *line(const char *op) {
  static char text[600];
  const char *equals = strstr(op, " = "), *paren = strchr(op, '('), *name = op;
  if (equals && equals < paren) name = equals + 3;
  snprintf(text, sizeof text, "%.*s\"tessera.graph.%.*s\"%s", (int)(name - op), op, (int)(paren - name), name, paren);
  if (name != op) return text;
  snprintf(text, sizeof text, "%%0 = \"tessera.graph.%.*s\"%s", (int)(paren - op), op, paren);
  return text;
}

static void every_op_infers_its_type(void **state) {
  const ir_opdef *t;
  char seen[G_N_CODES] = {0};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char type[100];
    snprintf(type, sizeof type, "tensor<%s>", good[i].type);
    ir_module *m = gt_parse(gt_func(good[i].args, line(good[i].op), "%0", type));
    seen[graph_find_func(m, NULL)->regions[0]->first->def->code] = 1;
    ir_module_destroy(&m);
  }
  for (size_t i = 0; (t = ir_row(IR_GRAPH, i)); i++)
    if ((t->flags & IR_PURE) && t->code != G_CUSTOM && !seen[t->code])
      fail_msg("%s has no case", t->name); /* custom: the application infers */
}

static const typed bad[] = { /* type: what the message says */
    {"%a: tensor<4x5xf32>, %b: tensor<6x5xf32>", "matmul(%a, %b)", "f32[4, 5] by f32[6, 5]: 5 columns for 6 rows"},
    {"%a: tensor<5xf32>, %b: tensor<5x6xf32>", "matmul(%a, %b)", "needs matrices"},
    {"%a: tensor<2x4x5xf32>, %b: tensor<3x5x6xf32>", "matmul(%a, %b)", "leading dimensions"},
    {"%a: tensor<4x5xf32>, %b: tensor<5x6xi32>", "matmul(%a, %b)", "can't multiply f32 by i32"},
    {"%a: tensor<4x5xi1>, %b: tensor<5x6xi1>", "matmul(%a, %b)", "can't multiply bool"},
    {"%a: tensor<4x5xi8>, %b: tensor<5x6xi32>", "matmul(%a, %b)", "can't multiply i8 by i32"},
    {"%a: tensor<4x5xf16>, %b: tensor<5x6xbf16>", "matmul(%a, %b)", "neither of f16 and bf16 is the wider"},
    {"%a: tensor<4x5xf16>, %b: tensor<5x6xf16>", "matmul(%a, %b) {accum_dtype = \"i32\"}", "can't accumulate in i32"},
    {"%a: tensor<4x5xf16>, %b: tensor<5x6xf16>", "matmul(%a, %b) {accum_dtype = \"f16\"}", "can't accumulate in f16"},
    {"%a: tensor<4x5xbf16>, %b: tensor<5x6xbf16>", "matmul(%a, %b) {accum_dtype = \"bf16\"}", "can't accumulate in bf16"},
    {"%a: tensor<4x5xf32>, %b: tensor<5x6xf32>", "matmul(%a, %b) {accum_dtype = \"tf32\"}", "can't accumulate in tf32"},
    {"%a: tensor<4x5xi64>, %b: tensor<5x6xi64>", "matmul(%a, %b) {accum_dtype = \"i32\"}", "can't accumulate in i32"},
    {"%a: tensor<4x5xi8>, %b: tensor<5x6xi8>", "matmul(%a, %b) {accum_dtype = \"i16\"}", "can't accumulate in i16"},
    {"%a: tensor<4x5xf16>, %b: tensor<5x6xf16>", "matmul(%a, %b) {accum_dtype = \"f31\"}", "unknown accum_dtype \"f31\""},
    {"%a: tensor<4x5xf16>, %b: tensor<5x6xf16>", "matmul(%a, %b) {out_dtype = \"i32\"}", "out_dtype i32 for f16"},
    {"%a: tensor<4x5xf16>, %b: tensor<5x6xf16>", "matmul(%a, %b) {tile_shape = [64, 64]}", "three integers"},
    {"%a: tensor<4x5xf16>, %b: tensor<5x6xf16>", "matmul(%a, %b) {tile_shape = [64, 0, 8]}", "entry 0 is out of range"},
    {"%a: tensor<4x5xf16>", "matmul(%a)", "takes 2 operands, has 1"},
    {"%a: tensor<4x5xf16>, %b: tensor<5x6xf16>", "matmul(%a, %b) {transpose_c = true}", "unknown attribute 'transpose_c'"},
    {"%a: tensor<4x5xf16>, %b: tensor<5x6xf16>", "matmul(%a, %b) {transpose_a = \"yes\"}", "must be a bool, not a string"},
    {"%a: tensor<4x3xf32>, %b: tensor<4xf32>", "add(%a, %b)", "shapes f32[4, 3] and f32[4] do not broadcast"},
    {"%a: tensor<4xf32>, %b: tensor<4xbf16>", "add(%a, %b)", "operands are f32 and bf16 (there is no implicit cast"},
    {"%a: tensor<4xi1>, %b: tensor<4xi1>", "add(%a, %b)", "does not take bool"},
    {"%a: tensor<4xi32>", "exp(%a)", "takes floats, not i32"},
    {"%a: tensor<4xf32>", "not(%a)", "takes bool or integers, not f32"},
    {"%a: tensor<4xf32>, %b: tensor<4xf32>", "xor(%a, %b)", "takes bool or integers, not f32"},
    {"%a: tensor<4xi1>", "sign(%a)", "does not take bool"},
    {"%a: tensor<4xi32>", "ceil(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "round(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "trunc(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "isnan(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "isinf(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "hardsigmoid(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "hardswish(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "leaky_relu(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "elu(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "celu(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "selu(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "softplus(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "mish(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "softsign(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "expm1(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "log1p(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "tan(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "asin(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "acos(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "atan(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "sinh(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "cosh(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "asinh(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "acosh(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>", "atanh(%a)", "takes floats, not i32"},
    {"%a: tensor<4xi32>, %b: tensor<4xi32>", "prelu(%a, %b)", "takes floats, not i32"},
    {"%a: tensor<4x3xf32>, %b: tensor<4xf32>", "prelu(%a, %b)", "shapes f32[4, 3] and f32[4] do not broadcast"},
    {"%a: tensor<4xf32>", "prelu(%a)", "takes 2 operands, has 1"},
    {"%a: tensor<4xf32>, %b: tensor<4xf32>", "shift_left(%a, %b)", "takes integers, not f32"},
    {"%a: tensor<4xi1>, %b: tensor<4xi1>", "shift_right(%a, %b)", "takes integers, not bool"},
    {"%a: tensor<4xi8>, %b: tensor<4xi32>", "shift_left(%a, %b)", "operands are i8 and i32 (there is no implicit cast"},
    {"%a: tensor<4xf32>", "celu(%a) {alpha = 0.0}", "alpha is 0"},
    {"%a: tensor<4xf32>", "elu(%a) {alpha = \"one\"}", "must be a"},
    {"%a: tensor<4xf32>", "leaky_relu(%a) {slope = 0.1}", "unknown attribute 'slope'"},
    {"%a: tensor<4xf32>", "gelu(%a) {approximate = \"fast\"}", "unknown approximation \"fast\""},
    {"%a: tensor<4xf32>, %b: tensor<4xf32>", "compare(%a, %b) {predicate = \"less\"}", "unknown predicate \"less\""},
    {"%a: tensor<4xf32>, %b: tensor<4xf32>", "compare(%a, %b)", "attribute 'predicate' is missing"},
    {"%a: tensor<4xf32>, %b: tensor<4xf32>", "select(%a, %a, %b)", "the condition must be bool (i1), not f32"},
    {"%a: tensor<4xf32>", "cast(%a) {dtype = \"f33\"}", "unknown dtype \"f33\""},
    {"%a: tensor<4xf32>", "broadcast(%a) {shape = [5]}", "dimension 0 is 4 and can't become 5"},
    {"%a: tensor<4x4xf32>", "broadcast(%a) {shape = [4]}", "shape has 1 entries for an operand of rank 2"},
    {"%a: tensor<4xf32>", "broadcast(%a) {shape = [-2, 4]}", "shape entry -2 is negative"},
    {"%a: tensor<4xf32>", "broadcast(%a) {shape = [\"x\"]}", "must be a list of integers"},
    {"%a: tensor<4xf32>", "reduce_sum(%a) {axes = [1]}", "axis 1 for a tensor of rank 1"},
    {"%a: tensor<4x4xf32>", "reduce_sum(%a) {axes = [1, -1]}", "axis 1 is given twice"},
    {"%a: tensor<4xi1>", "reduce_max(%a)", "does not take bool"},
    {"%a: tensor<4xi32>", "reduce_mean(%a)", "takes floats, not i32"},
    {"", "iota() {shape = [2], axis = 1}", "axis 1 for a tensor of rank 1"},
    {"", "iota() {shape = []}", "axis -1 for a tensor of rank 0"},
    {"", "iota() {shape = [-1]}", "shape entry -1 is negative"},
    {"", "iota() {shape = [\"n\"]}", "must be a list of integers"},
    {"", "iota() {shape = [257], dtype = \"u8\"}", "u8 doesn't hold places up to 256"},
    {"", "iota() {shape = [129], dtype = \"i8\"}", "i8 doesn't hold places up to 128"},
    {"", "iota() {shape = [2], dtype = \"bool\"}", "places are numbers, not bool"},
    {"", "iota() {shape = [2], dtype = \"int\"}", "unknown dtype \"int\""},
    {"", "iota() {shape = [4294967296, 4294967296], dtype = \"i64\"}", "too many elements"},
    {"%a: tensor<4xi1>", "clip(%a) {min = 0}", "does not take bool"},
    {"%a: tensor<4xi32>", "clip(%a) {min = 0.5}", "min is 0.5 for i32"},
    {"%a: tensor<4xf32>", "clip(%a) {max = \"1\"}", "must be a float, not a string"},
    {"%a: tensor<4xf32>, %b: tensor<4xf32>", "where(%a, %a, %b)", "the condition must be bool (i1), not f32"},
    {"%c: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf16>", "where(%c, %a, %b)", "there is no implicit cast"},
    {"%a: tensor<4xf32>", "tril(%a)", "needs matrices, not rank 1"},
    {"%a: tensor<4x4xf32>", "triu(%a) {diagonal = 0.5}", "must be an integer, not a float"},
    {"%a: tensor<4x4xf32>", "tile(%a) {repeats = [2]}", "repeats has 1 entries for 2 dimensions"},
    {"%a: tensor<4xf32>", "tile(%a) {repeats = [-1]}", "-1 times axis 0"},
    {"%a: tensor<4xf32>", "tile(%a) {repeats = [9223372036854775807]}", "the repeated axis 0 overflows"},
    {"%a: tensor<4xf32>", "split(%a) {axis = 1}", "axis 1 for a tensor of rank 1"},
    {"%a: tensor<4xf32>", "split(%a) {sizes = [1, 3]}", "2 sizes for 1 results"},
    {"%a: tensor<4xf32>", "split(%a) {sizes = [3]}", "sizes add up to 3, the axis has 4"},
    {"%a: tensor<4xf32>", "split(%a) {sizes = [-4]}", "size -4 of result 0 is out of range"},
    {"%a: tensor<4xf32>", "split(%a) {sizes = [4.5]}", "must be a list of integers"},
    {"%a: tensor<4xf32>", "one_hot(%a) {depth = 4}", "indices are integers, not f32"},
    {"%a: tensor<4xi1>", "one_hot(%a) {depth = 4}", "indices are integers, not bool"},
    {"%a: tensor<4xi32>", "one_hot(%a)", "attribute 'depth' is missing"},
    {"%a: tensor<4xi32>", "one_hot(%a) {depth = -4}", "depth -4 is negative"},
    {"%a: tensor<4xi32>", "one_hot(%a) {depth = 4, axis = 2}", "axis 2 for a tensor of rank 2"},
    {"%a: tensor<1x1x1x1x1x1x1x4xi32>", "one_hot(%a) {depth = 4}", "more than 8 dimensions"},
    {"%a: tensor<4x3xf32>, %m: tensor<4xf32>, %v: tensor<3xf32>", "batch_norm(%a, %m, %v)", "operand 1 is f32[4] for 3 channels"},
    {"%a: tensor<4x3xf32>, %m: tensor<3xf16>, %v: tensor<3xf32>", "batch_norm(%a, %m, %v)", "operand 1 is f16 for f32"},
    {"%a: tensor<4x3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>", "batch_norm(%a, %m, %v) {axis = 2}", "axis 2 for a tensor of rank 2"},
    {"%a: tensor<4x3xf32>", "batch_norm(%a)", "takes 3 or some more operands, has 1"},
    {"%a: tensor<4x3xi32>", "group_norm(%a) {groups = 1}", "takes floats, not i32"},
    {"%a: tensor<4x3xf32>", "group_norm(%a) {groups = 2}", "3 channels in 2 groups"},
    {"%a: tensor<4x3xf32>", "group_norm(%a) {groups = 0}", "3 channels in 0 groups"},
    {"%a: tensor<4xf32>", "group_norm(%a) {groups = 1}", "needs channels, not rank 1"},
    {"%a: tensor<4x3xf32>", "group_norm(%a) {groups = 1, eps = -1.0}", "eps is -1"},
    {"%a: tensor<4x3xf32>", "instance_norm(%a)", "not rank 2"},
    {"%a: tensor<4x3xi32>", "logsumexp(%a)", "takes floats, not i32"},
    {"%a: tensor<4x3xf32>", "logsumexp(%a) {axes = [2]}", "axis 2 for a tensor of rank 2"},
    {"%a: tensor<4x3xf32>", "log_softmax(%a) {axis = 2}", "axis 2 for a tensor of rank 2"},
    {"%a: tensor<4x3xf32>", "rope(%a)", "the width 3 is odd"},
    {"%a: tensor<4xf32>", "rope(%a)", "not rank 1"},
    {"%a: tensor<4x2xi32>", "rope(%a)", "takes floats, not i32"},
    {"%a: tensor<4x2xf32>", "rope(%a) {base = 0.0}", "base is 0"},
    {"%a: tensor<4x2xf32>, %p: tensor<4xf32>", "rope(%a, %p)", "positions are integers, not f32"},
    {"%a: tensor<4x2xf32>, %p: tensor<3xi32>", "rope(%a, %p)", "positions i32[3] for f32[4, 2]"},
    {"%a: tensor<4x2xf32>, %p: tensor<4x2xf32>", "rope(%a, %p, %p)", "a table f32[4, 2] for f32[4, 2]"},
    {"%a: tensor<4x2xf32>, %p: tensor<4x1xf16>", "rope(%a, %p, %p)", "a table of f16 for f32"},
    {"%a: tensor<4x2xf32>, %b: tensor<3xf32>", "mse(%a, %b)", "do not broadcast"},
    {"%a: tensor<4x2xf32>, %b: tensor<2xf16>", "mse(%a, %b)", "operands are f32 and f16"},
    {"%a: tensor<4x2xf32>", "mse(%a, %a) {reduction = \"max\"}", "unknown reduction \"max\""},
    {"%a: tensor<4x2xi32>", "kl(%a, %a)", "takes floats, not i32"},
    {"%a: tensor<4x2xf32>, %b: tensor<4x2xi32>", "cross_entropy(%a, %b)", "i32[4, 2] for logits f32[4, 2]"},
    {"%a: tensor<4x2xf32>, %b: tensor<4xf32>", "cross_entropy(%a, %b)", "f32[4] for logits f32[4, 2]"},
    {"%a: tensor<4x2xf32>, %b: tensor<4x2xf16>", "cross_entropy(%a, %b)", "targets are f16 for f32"},
    {"%a: tensor<4x2xf32>, %b: tensor<4xi1>", "cross_entropy(%a, %b)", "not bool"},
    {"%a: tensor<4x2xf32>", "cross_entropy(%a, %a) {ignore_index = 1}", "ignore_index with targets of f32"},
    {"%a: tensor<4x2xf32>, %b: tensor<2xi32>", "cross_entropy(%a, %b) {axis = 2}", "axis 2 for a tensor of rank 2"},
    {"%a: tensor<4x2xf32>, %b: tensor<4xi64>", "cross_entropy(%a, %b) {ignore_index = 9007199254740993}", "ignore_index 9007199254740993 is out of range"},
    {"%a: tensor<4x2xf32>, %w: tensor<3x6xf32>", "%0, %k, %v = qkv_projection(%a, %w)", "can't multiply f32[4, 2] by f32[3, 6]"},
    {"%a: tensor<4x3xf32>, %w: tensor<3x6xf32>", "qkv_projection(%a, %w)", "has 3 results, not 1"},
    {"%a: tensor<4x3xf32>, %w: tensor<3x5xf32>", "%0, %k, %v = qkv_projection(%a, %w)", "5 columns in 3 equal parts"},
    {"%a: tensor<4x3xf32>, %w: tensor<3x6xf32>, %b: tensor<5xf32>", "%0, %k, %v = qkv_projection(%a, %w, %b)", "bias is f32[5] for 6 columns"},
    {"%a: tensor<4x3xf32>, %w: tensor<3x6xf32>, %b: tensor<6xf16>", "%0, %k, %v = qkv_projection(%a, %w, %b)", "bias is f16 for f32"},
    {"%a: tensor<4x3xf32>, %w: tensor<3x6xf32>", "%0, %k, %v = qkv_projection(%a, %w) {sizes = [2, 2, 1]}", "sizes add up to 5, there are 6 columns"},
    {"%a: tensor<4x3xf32>, %w: tensor<3x6xf32>", "%0, %k, %v = qkv_projection(%a, %w) {sizes = [8, -2, 0]}", "size -2 of result 1 is out of range"},
    {"%a: tensor<4x3xf32>, %w: tensor<3x6xf32>", "%0, %k, %v = qkv_projection(%a, %w) {sizes = [6]}", "sizes has 1 entries for 3"},
    {"%a: tensor<4x3xi32>, %w: tensor<3x6xi32>", "%0, %k, %v = qkv_projection(%a, %w)", "takes floats, not i32"},
    {"%a: tensor<4x5xf32>, %u: tensor<5x2xf32>, %v: tensor<3x7xf32>", "factorized_matmul(%a, %u, %v)", "can't multiply f32[4, 2] by f32[3, 7]"},
    {"%a: tensor<4x5xf32>, %u: tensor<5x2xf16>, %v: tensor<2x7xf32>", "factorized_matmul(%a, %u, %v)", "weights are f16 for f32"},
    {"%a: tensor<4x5xf32>, %u: tensor<5x2xf32>, %v: tensor<2x7xf32>, %b: tensor<2xf32>", "factorized_matmul(%a, %u, %v, %b)", "bias is f32[2] for 7 columns"},
    {"%a: tensor<4x2xf32>", "einsum(%a)", "attribute 'equation' is missing"},
    {"%a: tensor<4x2xf32>", "einsum(%a) {equation = \"i;\"}", "';' is no letter of \"i;\""},
    {"%a: tensor<4x2xf32>", "einsum(%a) {equation = \"i..\"}", "'.' is no letter"},
    {"%a: tensor<4x2xf32>", "einsum(%a) {equation = \"......\"}", "has \"...\" twice"},
    {"%a: tensor<4x2xf32>", "einsum(%a) {equation = \"ijk\"}", "term 0 has 3 axes, operand 0 has 2"},
    {"%a: tensor<4x2xf32>", "einsum(%a) {equation = \"abcdefghi\"}", "more than 8 dimensions"},
    {"%a: tensor<4x2xf32>", "einsum(%a) {equation = \"ij,jk\"}", "\"ij,jk\" for 1 operands"},
    {"%a: tensor<4x2xf32>", "einsum(%a, %a) {equation = \"ij\"}", "\"ij\" for 2 operands"},
    {"%a: tensor<4x2xf32>", "einsum(%a, %a) {equation = \"ij,jk\"}", "axis 'j' is 4 in operand 1 and 2 before"},
    {"%a: tensor<4x2xf32>, %b: tensor<3x2xf32>", "einsum(%a, %b) {equation = \"...j,...j\"}", "axis '.' is 3 in operand 1 and 4 before"},
    {"%a: tensor<4x2xf32>", "einsum(%a) {equation = \"ij-i\"}", "\"-i\" at the end"},
    {"%a: tensor<4x2xf32>", "einsum(%a) {equation = \"ij->i,\"}", "\",\" at the end"},
    {"%a: tensor<4x2xf32>", "einsum(%a) {equation = \"ij->ii\"}", "axis 'i' is twice in the result"},
    {"%a: tensor<4x2xf32>", "einsum(%a) {equation = \"ij->k\"}", "axis 'k' of the result is in no operand"},
    {"%a: tensor<1x1x1x1x1xf32>", "einsum(%a, %a) {equation = \"abcde,fghij\"}", "the result has more than 8 dimensions"},
    {"%a: tensor<1x1x1x1x1x1x1xf32>, %b: tensor<1x1x1x1x1x1x1x1xf32>", "einsum(%a, %a, %b) {equation = \"abcydef,aijxklm,bcyijxpq->defklmpq\"}", "a product of two operands has more than 8 dimensions"},
    {"%a: tensor<4x2xi32>", "einsum(%a) {equation = \"ij\"}", "takes floats, not i32"},
    {"%a: tensor<4x2xf32>, %b: tensor<2xf16>", "einsum(%a, %b) {equation = \"ij,j\"}", "operands are f32 and f16"},
    {"%a: tensor<4x5x8xf32>", "flash_attention(%a, %a, %a)", "q is f32[4, 5, 8]"},
    {"%a: tensor<2x4x5x8xi32>", "flash_attention(%a, %a, %a)", "takes floats, not i32"},
    {"%a: tensor<2x4x5x8xf8E4M3FN>", "flash_attention(%a, %a, %a)", "no attention in"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x4x5x8xf16>", "flash_attention(%a, %k, %k)", "k is f16 for f32"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<1x4x5x8xf32>", "flash_attention(%a, %k, %k)", "batches of 2, 1 and 1"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x3x5x8xf32>", "flash_attention(%a, %k, %k)", "4 heads of queries for 3 of keys"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x0x5x8xf32>", "flash_attention(%a, %k, %k)", "4 heads of queries for 0 of keys"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x4x6x8xf32>", "flash_attention(%a, %k, %a)", "keys f32[2, 4, 6, 8] and values f32[2, 4, 5, 8]"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x4x5x7xf32>", "flash_attention(%a, %k, %a)", "queries of 8 elements, keys of 7"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>, %b: tensor<5x5xf32>", "flash_attention(%a, %k, %v, %b)", "bias f32[5, 5] for scores [2, 4, 5, 7]"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>, %b: tensor<1x2x4x5x7xf32>", "flash_attention(%a, %k, %v, %b)", "bias f32[1, 2, 4, 5, 7] for scores"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>, %b: tensor<5x7xi32>", "flash_attention(%a, %k, %v, %b)", "lengths i32[5, 7] for a batch of 2 and 2 heads of keys"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>, %b: tensor<3xi32>", "flash_attention(%a, %k, %v, %b)", "lengths i32[3] for a batch of 2"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>, %b: tensor<2x3xi32>", "flash_attention(%a, %k, %v, %b)", "lengths i32[2, 3] for a batch of 2 and 2 heads of keys"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>, %b: tensor<5x7xf32>, %l: tensor<2xi64>", "flash_attention(%a, %k, %v, %b, %l)", "lengths are i64"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>, %b: tensor<5x7xi64>", "flash_attention(%a, %k, %v, %b)", "bias is i64 for f32"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>, %b: tensor<2xi32>", "flash_attention(%a, %k, %v, %b, %b)", "bias is i32 for f32"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>", "%1, %2, %0 = flash_attention(%a, %k, %v)", "3 results"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>", "flash_attention(%a, %k)", "operands"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>", "flash_attention(%a, %k, %v) {scale = 1.0e400}", "scale inf"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>", "flash_attention(%a, %k, %v) {softcap = -1.0}", "softcap -1"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>", "flash_attention(%a, %k, %v) {window = -1}", "window -1"},
    {"%a: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>", "flash_attention(%a, %k, %v) {window = 2147483648}", "window 2147483648"},
    {"%a: tensor<4xf32>, %b: tensor<4xf32>", "mul_high(%a, %b)", "takes integers, not f32"},
    {"%a: tensor<4xi1>, %b: tensor<4xi1>", "mul_high(%a, %b)", "takes integers, not bool"},
    {"%k: tensor<2xi64>", "rng_uniform(%k) {shape = [4]}", "the key is i64[2]"},
    {"%k: tensor<3xi32>", "rng_normal(%k) {shape = [4]}", "the key is i32[3]"},
    {"%k: tensor<1x2xi32>", "rng_uniform(%k) {shape = [4]}", "the key is i32[1, 2]"},
    {"%k: tensor<2xi32>, %c: tensor<2xi32>", "rng_uniform(%k, %c) {shape = [4]}", "the counter is i32[2]"},
    {"%k: tensor<2xi32>", "rng_uniform(%k)", "attribute 'shape' is missing"},
    {"%k: tensor<2xi32>", "rng_uniform(%k) {shape = [4, -1]}", "shape entry -1 is negative"},
    {"%k: tensor<2xi32>", "rng_uniform(%k) {shape = [\"n\"]}", "must be a list of integers"},
    {"%k: tensor<2xi32>", "rng_uniform(%k) {shape = [1, 1, 1, 1, 1, 1, 1, 1, 1]}", "at most 8"},
    {"%k: tensor<2xi32>", "rng_uniform(%k) {shape = [4], dtype = \"i64\"}", "no numbers of i64"},
    {"%k: tensor<2xi32>", "rng_normal(%k) {shape = [4], dtype = \"i32\"}", "no numbers of i32"},
    {"%k: tensor<2xi32>", "rng_normal(%k) {shape = [4], dtype = \"f33\"}", "unknown dtype"},
    {"%k: tensor<2xi32>", "rng_normal(%k) {shape = [65536, 32768]}", "more than 2147483647 elements"},
    {"", "rng_uniform() {shape = [4]}", "operands, has 0"},
    {"%a: tensor<4xi32>, %k: tensor<2xi32>", "dropout(%a, %k)", "takes floats, not i32"},
    {"%a: tensor<4xf32>, %k: tensor<2xi32>", "dropout(%a, %k) {p = 1.5}", "p is 1.5"},
    {"%a: tensor<4xf32>, %k: tensor<2xi32>", "dropout(%a, %k) {p = nan}", "p is "},
    {"%a: tensor<4xf32>, %k: tensor<2xf32>", "dropout(%a, %k)", "the key is f32[2]"},
    {"%a: tensor<65536x32768xf32>, %k: tensor<2xi32>", "dropout(%a, %k)", "more than 2147483647 elements"},
    {"%a: tensor<4xf32>", "dropout(%a)", "operands, has 1"},
    {"%a: tensor<4xf16>, %l: tensor<f32>", "sgd(%a, %a, %l)", "parameters are f16"},
    {"%a: tensor<4xi32>, %l: tensor<f32>", "sgd(%a, %a, %l)", "takes floats, not i32"},
    {"%a: tensor<4xf32>, %g: tensor<4xi32>, %l: tensor<f32>", "sgd(%a, %g, %l)", "gradients are i32"},
    {"%a: tensor<4xf32>, %g: tensor<1xf32>, %l: tensor<f32>", "sgd(%a, %g, %l)", "the gradient is f32[1] for f32[4]"},
    {"%a: tensor<4xf32>, %l: tensor<1xf32>", "sgd(%a, %a, %l)", "the learning rate is f32[1]"},
    {"%a: tensor<4xf32>, %l: tensor<i32>", "sgd(%a, %a, %l)", "the learning rate is i32[]"},
    {"%a: tensor<4xf32>, %l: tensor<f32>", "sgd(%a, %a, %l) {momentum = 0.9}", "momentum without a velocity"},
    {"%a: tensor<4xf32>, %l: tensor<f32>", "sgd(%a, %a, %l, %a)", "has 2 results, not 1"},
    {"%a: tensor<4xf32>, %l: tensor<f32>", "%0, %1 = sgd(%a, %a, %l)", "has 1 results, not 2"},
    {"%a: tensor<4xf32>, %l: tensor<f32>, %v: tensor<4xf64>", "%0, %1 = sgd(%a, %a, %l, %v)", "the velocity is f64[4] for f32[4]"},
    {"%a: tensor<4xf32>, %l: tensor<f32>", "%0, %1 = sgd(%a, %a, %l, %a) {momentum = 1.0}", "momentum is 1"},
    {"%a: tensor<4xf32>, %l: tensor<f32>", "sgd(%a, %a, %l) {weight_decay = -1.0}", "weight_decay is -1"},
    {"%a: tensor<4xf32>, %l: tensor<f32>, %s: tensor<i32>, %m: tensor<3xf32>", "%0, %1, %2 = adamw(%a, %a, %m, %a, %l, %s)", "the first moment is f32[3]"},
    {"%a: tensor<4xf32>, %l: tensor<f32>, %s: tensor<i32>, %m: tensor<4xbf16>", "%0, %1, %2 = adamw(%a, %a, %a, %m, %l, %s)", "the second moment is bf16[4]"},
    {"%a: tensor<4xf32>, %l: tensor<f32>", "%0, %1, %2 = adamw(%a, %a, %a, %a, %l, %l)", "the step is f32[]"},
    {"%a: tensor<4xf32>, %l: tensor<f32>, %s: tensor<i1>", "%0, %1, %2 = adamw(%a, %a, %a, %a, %l, %s)", "the step is bool[]"},
    {"%a: tensor<4xf32>, %l: tensor<f32>, %s: tensor<i32>", "adamw(%a, %a, %a, %a, %l, %s)", "has 3 results, not 1"},
    {"%a: tensor<4xf32>, %l: tensor<f32>, %s: tensor<i32>", "%0, %1, %2 = adamw(%a, %a, %a, %a, %l, %s) {beta2 = 1.0}", "beta2 is 1"},
    {"%a: tensor<4xf32>, %l: tensor<f32>, %s: tensor<i32>", "%0, %1, %2 = adamw(%a, %a, %a, %a, %l, %s) {eps = -1.0}", "eps is -1"},
    {"%a: tensor<4xf32>, %b: tensor<4xi32>", "%0, %1 = check_numerics(%a, %b)", "operand 1 is i32"},
    {"%a: tensor<4xf32>", "check_numerics(%a)", "has 2 results, not 1"},
    {"%a: tensor<4xf32>, %b: tensor<4xi32>", "global_norm(%a, %b)", "operand 1 is i32"},
    {"", "global_norm()", "operands, has 0"},
    {"%a: tensor<4xf32>", "%0, %n = clip_by_global_norm(%a) {max_norm = 0.0}", "max_norm is 0"},
    {"%a: tensor<4xf32>, %b: tensor<4xi32>", "%0, %1, %n = clip_by_global_norm(%a, %b)", "operand 1 is i32"},
    {"%a: tensor<4xf32>", "clip_by_global_norm(%a)", "has 2 results, not 1"},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>", "%0, %h, %c = lstm(%x, %w, %r) {direction = \"both\"}", "unknown direction \"both\""},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>", "%0, %h, %c = lstm(%x, %w, %r) {direction = \"bidirectional\"}", "w is f32[1, 24, 4], not f32[2, 24, 4]"},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>", "%0, %h = gru(%x, %w, %r)", "w is f32[1, 24, 4], not f32[1, 18, 4]"},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>", "%0, %h, %c = lstm(%x, %r, %r)", "w is f32[1, 24, 6], not f32[1, 24, 4]"},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>", "%0, %h, %c = lstm(%r, %w, %w)", "w is"},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>, %b: tensor<1x24xf32>", "%0, %h, %c = lstm(%x, %w, %r, %b)", "b is f32[1, 24], not f32[1, 48]"},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>, %b: tensor<1x48xf32>, %l: tensor<3xi64>", "%0, %h, %c = lstm(%x, %w, %r, %b, %l)", "lengths is i64[3], not i32[3]"},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>, %b: tensor<1x48xf32>, %l: tensor<3xi32>", "%0, %h, %c = lstm(%x, %w, %r, %b, %l, %b)", "the initial state is f32[1, 48], not f32[1, 3, 6]"},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>, %b: tensor<1x48xf32>, %l: tensor<3xi32>, %h: tensor<1x3x6xf32>", "%0, %h1, %c = lstm(%x, %w, %r, %b, %l, %h, %b)", "the initial cell is f32[1, 48], not f32[1, 3, 6]"},
    {"%x: tensor<65537x3x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x6xf32>", "%0, %h, %c = lstm(%x, %w, %r)", "65537 steps"},
    {"%x: tensor<5x3xf32>, %w: tensor<1x24x4xf32>", "%0, %h = rnn(%x, %w, %w)", "x is f32[5, 3]"},
    {"%x: tensor<5x3x4xi32>, %w: tensor<1x24x4xi32>", "%0, %h = rnn(%x, %w, %w)", "takes floats, not i32"},
    {"%x: tensor<5x3x4xf8E5M2>, %w: tensor<1x4x4xf8E5M2>", "%0, %h = rnn(%x, %w, %w)", "no recurrence in"},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x4x4xf32>", "%0, %h = rnn(%x, %w, %w) {activation = \"sine\"}", "unknown activation \"sine\""},
    {"%x: tensor<5x3x4xf32>, %w: tensor<1x4x4xf32>", "%0, %h = rnn(%x, %w)", "operands"},
    {"%x: tensor<5x3x8xf32>, %r: tensor<2x8xf32>, %b: tensor<8xf32>, %h: tensor<3x2xf32>", "%0, %y, %c = recurrence(%x, %r, %b, %h, %h) {cell = \"gru\"}", "8 columns for 3 gates of 2"},
    {"%x: tensor<5x3x8xf32>, %r: tensor<2x8xf32>, %b: tensor<8xf32>, %h: tensor<3x2xf32>", "%0, %y, %c = recurrence(%x, %r, %b, %h, %h) {cell = \"mlp\"}", "unknown cell \"mlp\""},
    {"%x: tensor<5x3x8xf32>, %r: tensor<2x8xf32>, %b: tensor<8xf32>, %h: tensor<3x2xf32>", "%0, %y, %c = recurrence(%x, %r, %h, %h, %h) {cell = \"lstm\"}", "the bias is f32[3, 2], not f32[8]"},
    {"%x: tensor<5x3x8xf16>, %r: tensor<2x8xf16>, %b: tensor<8xf16>, %h: tensor<3x2xf16>", "%0, %y, %c = recurrence(%x, %r, %b, %h, %h) {cell = \"lstm\"}", "no loop in f16"},
    {"%a: tensor<4x4xf16>", "cholesky(%a)", "no factors in f16"},
    {"%a: tensor<4x4xi32>", "cholesky(%a)", "takes floats, not i32"},
    {"%a: tensor<4x4xcomplex<f32>>", "cholesky(%a)", "does not take complex64"},
    {"%a: tensor<4xf32>", "cholesky(%a)", "needs matrices, not f32[4]"},
    {"%a: tensor<2x4x5xf32>", "cholesky(%a)", "f32[2, 4, 5] is not square"},
    {"%a: tensor<4x4xf32>", "cholesky(%a, %a)", "operands"},
    {"%a: tensor<4x5xf32>, %b: tensor<4x2xf32>", "tri_solve(%a, %b)", "f32[4, 5] is not square"},
    {"%a: tensor<4x4xf32>, %b: tensor<5x2xf32>", "tri_solve(%a, %b)", "f32[5, 2] for the matrix f32[4, 4]"},
    {"%a: tensor<2x4x4xf32>, %b: tensor<4x2xf32>", "tri_solve(%a, %b)", "f32[4, 2] for the matrix f32[2, 4, 4]"},
    {"%a: tensor<2x4x4xf32>, %b: tensor<3x4x2xf32>", "tri_solve(%a, %b)", "equal batches and as many rows"},
    {"%a: tensor<4x4xf32>, %b: tensor<4x2xf64>", "tri_solve(%a, %b)", "operands are f32 and f64"},
    {"%a: tensor<4x4xf32>, %b: tensor<4xf32>", "tri_solve(%a, %b)", "needs matrices, not f32[4]"},
    {"%a: tensor<1x12x2x3xi8>", "depth_to_space(%a) {block = 5}", "12 channels in parts of 25"},
    {"%a: tensor<1x12x2x3xi8>", "depth_to_space(%a) {block = 0}", "block 0 is out of range"},
    {"%a: tensor<12x2x3xi8>", "depth_to_space(%a) {block = 1}", "not rank 3"},
    {"%a: tensor<1x12x2x3xi8>", "depth_to_space(%a) {block = 2, layout = \"chw\"}", "unknown layout \"chw\""},
    {"%a: tensor<1x12x2x3xi8>", "space_to_depth(%a) {block = 2, order = \"rcd\"}", "unknown order \"rcd\""},
    {"%a: tensor<1x12x2x3xi8>", "space_to_depth(%a) {block = 2}", "3 columns in parts of 2"},
    {"%a: tensor<4x2xf32>", "max_pool(%a) {kernel = [2]}", "needs images, not rank 2"},
    {"%a: tensor<1x1x1x1x1x1xf32>", "average_pool(%a)", "needs images, not rank 6"},
    {"%a: tensor<1x1x4xi1>", "max_pool(%a)", "does not take bool"},
    {"%a: tensor<1x1x4xi32>", "average_pool(%a)", "takes floats, not i32"},
    {"%a: tensor<1x1x4x4xf32>", "max_pool(%a) {kernel = [2]}", "kernel has 1 entries for 2 dimensions"},
    {"%a: tensor<1x1x4xf32>", "max_pool(%a) {kernel = [0]}", "kernel entry 0 is out of range"},
    {"%a: tensor<1x1x4xf32>", "max_pool(%a) {kernel = [2147483648]}", "kernel entry 2147483648 is out of range"},
    {"%a: tensor<1x1x4xf32>", "max_pool(%a) {kernel = [2], strides = [0]}", "strides entry 0 is out of range"},
    {"%a: tensor<1x1x4xf32>", "max_pool(%a) {kernel = [2], dilations = [-1]}", "dilations entry -1 is out of range"},
    {"%a: tensor<1x1x4xf32>", "max_pool(%a) {kernel = [2], low = [-1]}", "low entry -1 is out of range"},
    {"%a: tensor<1x1x4xf32>", "average_pool(%a) {kernel = [2], high = [1, 1]}", "high has 2 entries for 1 dimensions"},
    {"%a: tensor<1x1x4xf32>", "average_pool(%a) {kernel = [2], low = [0], high = [2]}", "padding of 0 and 2 for windows that span 2"},
    {"%a: tensor<1x1x4xf32>", "average_pool(%a) {kernel = [3], dilations = [2]}", "windows span 5 elements, axis 2 has 4"},
    {"%a: tensor<1x9223372036854775807x1xi8>", "max_pool(%a) {kernel = [2], high = [1], layout = \"nhwc\"}", "the padded axis 1 overflows 64 bits"},
    {"%a: tensor<1x1x4xf32>", "max_pool(%a) {kernel = [2], padding = \"valid\"}", "unknown padding \"valid\""},
    {"%a: tensor<1x1x4xf32>", "max_pool(%a) {kernel = [2], padding = \"same\", high = [1]}", "leaves nothing to low, high and ceil_mode"},
    {"%a: tensor<1x1x4xf32>", "max_pool(%a) {kernel = [2], layout = \"chw\"}", "unknown layout \"chw\""},
    {"%a: tensor<1x1x4xf32>", "max_pool(%a) {strides = [2]}", "strides without a kernel"},
    {"%a: tensor<1x1x4xf32>", "average_pool(%a) {ceil_mode = true}", "ceil_mode without a kernel"},
    {"%a: tensor<1x1x0xf32>", "average_pool(%a)", "axis 2 has no elements"},
    {"%a: tensor<4x2xf32>", "resize(%a) {sizes = [2]}", "needs images, not rank 2"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {mode = \"cubic\"}", "needs sizes or scales"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2], scales = [0.5]}", "one of them says it"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2, 2]}", "sizes has 2 entries for 1 dimensions"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2.5]}", "sizes must be a list of integers"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [-1]}", "axis 2 gets -1 elements"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [1048577]}", "axis 2 gets 1048577 elements; at most 1048576"},
    {"%a: tensor<1x1x0xf32>", "resize(%a) {sizes = [1]}", "axis 2 has no elements"},
    {"%a: tensor<1x1x9223372036854775807xi8>", "resize(%a) {sizes = [1]}", "is too long"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {scales = [2, 2]}", "scales has 2 entries, not 1"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {scales = [\"2\"]}", "scales must be a list of numbers"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {scales = [0]}", "scale 0 is not positive"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {scales = [inf]}", "scales entry 0 is inf"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {scales = [1000000.0]}", "axis 2 gets 4000000 elements"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2], mode = \"bilinear\"}", "unknown mode \"bilinear\""},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2], nearest_mode = \"round\"}", "unknown nearest_mode \"round\""},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2], coordinate_transformation_mode = \"half\"}", "unknown coordinate_transformation_mode \"half\""},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2], layout = \"chw\"}", "unknown layout \"chw\""},
    {"%a: tensor<1x1x4xi32>", "resize(%a) {sizes = [2], mode = \"linear\"}", "only nearest takes i32"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2], cubic_coeff_a = nan}", "cubic_coeff_a is nan"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2], coordinate_transformation_mode = \"tf_crop_and_resize\"}", "tf_crop_and_resize needs roi"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2], roi = [0, 1]}", "roi is of tf_crop_and_resize alone"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2], roi = [0.0], coordinate_transformation_mode = \"tf_crop_and_resize\"}", "roi has 1 entries, not 2"},
    {"%a: tensor<1x1x4xf32>", "resize(%a) {sizes = [2], roi = [0.0, nan], coordinate_transformation_mode = \"tf_crop_and_resize\"}", "roi entry 1 is nan"},
    {"%a: tensor<1x1x4xi8>", "resize(%a) {sizes = [2], extrapolation_value = 128.0}", "extrapolation_value is 128 for i8"},
    {"%a: tensor<1x1x4xi1>", "resize(%a) {sizes = [2], extrapolation_value = 0.5}", "extrapolation_value is 0.5 for bool"},
    {"%a: tensor<4xi1>", "cumsum(%a)", "does not take bool"},
    {"%a: tensor<f32>", "cumsum(%a)", "axis -1 for a tensor of rank 0"},
    {"%a: tensor<4x5xf32>", "cumprod(%a) {axis = 2}", "axis 2 for a tensor of rank 2"},
    {"%a: tensor<4x5xf32>", "cumprod(%a) {axis = \"x\"}", "must be"},
    {"%a: tensor<0x2147483648xi8>", "cumsum(%a)", "2147483648 elements along the axis"},
    {"%a: tensor<4xf32>", "%0, %n = nonzero(%a)", "attribute 'size' is missing"},
    {"%a: tensor<4xf32>", "%0, %n = nonzero(%a) {size = -1}", "size is -1"},
    {"%a: tensor<4xf32>", "%0, %n = nonzero(%a) {size = 4, dtype = \"f32\"}", "indices can't be f32"},
    {"%a: tensor<f32>", "%0, %n = nonzero(%a) {size = 4}", "needs a tensor with dimensions"},
    {"%a: tensor<1073741824xi8>", "%0, %n = nonzero(%a) {size = 4}", "1073741824 elements"},
    {"%a: tensor<4x0xf32>", "argmax(%a)", "axis 1 has no elements"},
    {"%a: tensor<4xi1>", "argmin(%a)", "does not take bool"},
    {"%a: tensor<4xf32>", "argmin(%a) {axis = -2}", "axis -2 for a tensor of rank 1"},
    {"%a: tensor<4xf32>", "argmax(%a) {dtype = \"i8\"}", "indices can't be i8"},
    {"%a: tensor<4xf32>", "%0, %i = topk(%a)", "attribute 'k' is missing"},
    {"%a: tensor<4xf32>", "%0, %i = topk(%a) {k = 5}", "k is 5 of 4"},
    {"%a: tensor<4xf32>", "%0, %i = topk(%a) {k = -1}", "k is -1 of 4"},
    {"%a: tensor<4xf32>", "%0 = topk(%a) {k = 1}", "result"},
    {"%a: tensor<4xi1>", "%0, %i = topk(%a) {k = 1}", "does not take bool"},
    {"%a: tensor<0x536870912xi8>", "%0, %i = sort(%a)", "536870912 elements along the axis"},
    {"%a: tensor<4xf32>", "%0, %i = sort(%a) {dtype = \"u8\"}", "indices can't be u8"},
    {"%a: tensor<4xcomplex<f32>>", "dct(%a)", "does not take complex64"},
    {"%a: tensor<4xf32>", "dct(%a) {type = 4}", "type 4"},
    {"%a: tensor<4xf32>", "dct(%a) {axis = 1}", "axis"},
    {"%a: tensor<4xf32>", "dct(%a) {norm = \"none\"}", "unknown norm \"none\""},
    {"%a: tensor<4x0xf32>", "dct(%a)", "the axis has 0 points"},
    {"%a: tensor<2097153xf32>", "dct(%a)", "the axis has 2097153 points"},
    {"%a: tensor<f32>", "dct(%a)", "axis"},
    {"%a: tensor<4xbf16>", "stft(%a) {size = 2, hop = 1}", "takes real numbers, not bf16"},
    {"%a: tensor<f32>", "stft(%a) {size = 2, hop = 1}", "takes 1 to 6 dimensions, not 0"},
    {"%a: tensor<4xf32>", "stft(%a) {size = 5, hop = 1}", "0 frames of 5 numbers"},
    {"%a: tensor<4xf32>", "stft(%a) {size = 0, hop = 1}", "frames of 0 numbers"},
    {"%a: tensor<4xf32>", "stft(%a) {size = 2, hop = 0}", "hop 0"},
    {"%a: tensor<4xf32>", "stft(%a) {size = 2, hop = -9223372036854775808}", "hop -9223372036854775808"},
    {"%a: tensor<40000000xf32>", "stft(%a) {size = 1000, hop = 1}", "39999001 frames of 1000 numbers"},
    {"%a: tensor<4xf32>, %w: tensor<3xf32>", "stft(%a, %w) {size = 2, hop = 1}", "the window is f32[3], not f32[2]"},
    {"%a: tensor<4xf32>, %w: tensor<2xf64>", "stft(%a, %w) {size = 2, hop = 1}", "the window is f64[2], not f32[2]"},
    {"%a: tensor<4x3xf32>", "istft(%a) {hop = 1}", "takes complex numbers, not f32"},
    {"%a: tensor<4xcomplex<f32>>", "istft(%a) {hop = 1}", "takes two dimensions or more, not 1"},
    {"%a: tensor<4x?xcomplex<f32>>", "istft(%a) {hop = 1}", "the number of bins is unknown"},
    {"%a: tensor<4x3xcomplex<f32>>", "istft(%a) {hop = 1, size = 6}", "size 6 of 3 bins"},
    {"%a: tensor<4x3xcomplex<f32>>", "istft(%a) {hop = 0}", "hop 0"},
    {"%a: tensor<0x3xcomplex<f32>>", "istft(%a) {hop = 1}", "0 frames of 4 numbers"},
    {"%a: tensor<4x3xcomplex<f32>>, %w: tensor<1x4xf32>", "istft(%a, %w) {hop = 1}", "the window is f32[1, 4], not f32[4]"},
    {"%a: tensor<4xf32>", "%0, %e, %s, %c = router(%a)", "logits are f32[4]"},
    {"%a: tensor<4x3xi32>", "%0, %e, %s, %c = router(%a)", "takes floats, not i32"},
    {"%a: tensor<4x3xf32>", "%0, %e, %s, %c = router(%a) {k = 4}", "k is 4 of 3 experts"},
    {"%a: tensor<4x3xf32>", "%0, %e, %s, %c = router(%a) {k = 0}", "k is 0 of 3 experts"},
    {"%a: tensor<4x3xf32>", "%0, %e, %s, %c = router(%a) {capacity = -1}", "capacity -1 is negative"},
    {"%a: tensor<4x3xf32>", "%0, %e, %s, %c = router(%a) {capacity = 2147483647}", "more than 1073741823 slots"},
    {"%a: tensor<4x3xf32>", "%0, %e, %s, %c = router(%a) {softmax = \"some\"}", "unknown softmax"},
    {"%a: tensor<4x3xf32>, %s: tensor<4x2xi8>", "moe_dispatch(%a, %s) {rows = 8}", "slots are i8"},
    {"%a: tensor<4x3xf32>, %s: tensor<5x2xi32>", "moe_dispatch(%a, %s) {rows = 8}", "slots are i32[5, 2] for 4 tokens"},
    {"%a: tensor<4x3xf32>, %s: tensor<4x2xi32>", "moe_dispatch(%a, %s)", "attribute 'rows' is missing"},
    {"%a: tensor<4x3xf32>, %s: tensor<4x2xi32>", "moe_dispatch(%a, %s) {rows = -8}", "-8 rows"},
    {"%a: tensor<4xf32>, %s: tensor<4x2xi32>", "moe_dispatch(%a, %s) {rows = 8}", "x is f32[4]"},
    {"%a: tensor<4x3xf32>, %s: tensor<4xi32>, %w: tensor<4xf32>", "moe_combine(%a, %s, %w)", "slots are i32[4]"},
    {"%a: tensor<8x3xf32>, %s: tensor<4x2xi32>, %w: tensor<4x1xf32>", "moe_combine(%a, %s, %w)", "weights are f32[4, 1] for slots i32[4, 2]"},
    {"%a: tensor<8x3xf32>, %s: tensor<4x2xi32>, %w: tensor<4x2xi32>", "moe_combine(%a, %s, %w)", "weights are i32"},
    {"%a: tensor<8x3xf32>, %w: tensor<4x2x3xf32>, %c: tensor<4xi32>", "grouped_matmul(%a, %w, %c)", "f32[8, 3] by f32[4, 2, 3]"},
    {"%a: tensor<8x3xf32>, %w: tensor<4x3x3xf16>, %c: tensor<4xi32>", "grouped_matmul(%a, %w, %c)", "operands are f32 and f16"},
    {"%a: tensor<8x3xf32>, %w: tensor<4x3x3xf32>, %c: tensor<3xi32>", "grouped_matmul(%a, %w, %c)", "counts are i32[3] for 4 groups"},
    {"%a: tensor<8x3xf32>, %w: tensor<4x3x3xf32>, %c: tensor<4xf32>", "grouped_matmul(%a, %w, %c)", "counts are f32"},
    {"%a: tensor<8x3xf32>, %g: tensor<3x4xf32>, %u: tensor<4x3x5xf32>, %d: tensor<4x5x3xf32>", "recursive_mixture(%a, %g, %u, %d)", "gates is f32[3, 4]"},
    {"%a: tensor<8x3xf32>, %g: tensor<2x3x4xf32>, %u: tensor<4x2x5xf32>, %d: tensor<4x5x3xf32>", "recursive_mixture(%a, %g, %u, %d)", "widths of 3, 3, 2 and 3"},
    {"%a: tensor<8x3xf32>, %g: tensor<2x3x4xf32>, %u: tensor<5x3x5xf32>, %d: tensor<4x5x3xf32>", "recursive_mixture(%a, %g, %u, %d)", "4, 5 and 4 experts"},
    {"%a: tensor<8x3xf32>, %g: tensor<2x3x4xf32>, %u: tensor<4x3x5xf32>, %d: tensor<4x6x3xf32>", "recursive_mixture(%a, %g, %u, %d)", "hidden widths of 5 and 6"},
    {"%a: tensor<8x3xf32>, %g: tensor<2x3x4xf32>, %u: tensor<4x3x5xf32>, %d: tensor<4x5x3xf32>", "recursive_mixture(%a, %g, %u, %d) {activation = \"floor\"}", "unknown activation \"floor\""},
    {"%a: tensor<8x3xf32>, %g: tensor<2x3x4xf32>, %u: tensor<4x3x5xf16>, %d: tensor<4x5x3xf32>", "recursive_mixture(%a, %g, %u, %d)", "operands are f32 and f16"},
    {"%a: tensor<8x3xf32>, %g: tensor<65x3x4xf32>, %u: tensor<4x3x5xf32>, %d: tensor<4x5x3xf32>", "recursive_mixture(%a, %g, %u, %d)", "gates of 65 levels"},
    {"%a: tensor<1x4x4xf32>", "patches(%a) {kernel = [0]}", "kernel entry 0 is out of range"},
    {"%a: tensor<1x4x4xf32>", "patches(%a) {kernel = [2], groups = 3}", "4 channels in 3 groups"},
    {"%a: tensor<1x1099511627776x1xi8>", "patches(%a) {kernel = [2147483647], low = [2147483646]}", "its extents overflow 64 bits"},
    {"%a: tensor<4x2xf32>, %w: tensor<4x2xf32>", "conv1d(%a, %w)", "has f32[4, 2] and f32[4, 2]"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<2x4x3xf32>", "conv2d(%a, %w)", "has f32[1, 4, 4] and f32[2, 4, 3]"},
    {"%a: tensor<1x4x4xi32>, %w: tensor<2x4x3xi32>", "conv1d(%a, %w)", "takes floats, not i32"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<2x4x3xbf16>", "conv1d(%a, %w)", "bf16"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<2x4x?xf32>", "conv1d(%a, %w)", "weights are f32[2, 4, ?]"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<2x4x0xf32>", "conv1d(%a, %w)", "weights are f32[2, 4, 0]"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<2x3x3xf32>", "conv1d(%a, %w)", "f32[1, 4, 4] by f32[2, 3, 3] in 1 groups"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<3x2x3xf32>", "conv1d(%a, %w) {groups = 2}", "f32[1, 4, 4] by f32[3, 2, 3] in 2 groups"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<2x4x3xf32>", "conv1d(%a, %w) {groups = 0}", "in 0 groups"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<2x4x5xf32>", "conv1d(%a, %w)", "windows span 5 elements, axis 2 has 4"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<2x4x3xf32>, %b: tensor<3xf32>", "conv1d(%a, %w, %b)", "bias is f32[3] for 2 channels"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<2x4x3xf32>", "conv1d(%a, %w) {layout = \"hwc\"}", "unknown layout \"hwc\""},
    {"%a: tensor<1x4x4xf32>, %w: tensor<4x2x3xf32>", "conv_transpose(%a, %w) {output_padding = [1]}", "output_padding of 1 for a stride of 1"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<3x2x3xf32>", "conv_transpose(%a, %w)", "f32[1, 4, 4] by f32[3, 2, 3] in 1 groups"},
    {"%a: tensor<1x4x1xf32>, %w: tensor<4x2x3xf32>", "conv_transpose(%a, %w) {low = [2], high = [1]}", "axis 2 of the result has no elements"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<4x2x3xf32>", "conv_transpose(%a, %w) {low = [3]}", "padding of 3 and 0 for windows that span 3"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<4x2x3xf32>", "conv_transpose(%a, %w) {padding = \"same\", output_padding = [0]}", "leaves nothing to low, high and output_padding"},
    {"%a: tensor<1x1x2305843009213693951xf32>, %w: tensor<1x2x3xf32>", "conv_transpose(%a, %w) {strides = [8]}", "overflows 64 bits"},
    {"%a: tensor<1x4x4xf32>, %w: tensor<4x2x3xf32>, %b: tensor<4xf32>", "conv_transpose(%a, %w, %b)", "bias is f32[4] for 2 channels"},
    {"%a: tensor<1x4xf32>, %w: tensor<4x2xf32>", "conv_transpose(%a, %w)", "needs images, not rank 2"},
    {"%a: tensor<4xf32>", "softmax(%a) {axis = -2}", "axis -2 for a tensor of rank 1"},
    {"%a: tensor<4xf32>", "softmax(%a) {axis = 1.5}", "attribute 'axis' must be an integer, not a float"},
    {"%a: tensor<f32>", "layernorm(%a)", "needs at least one dimension"},
    {"%a: tensor<4x3xf32>, %g: tensor<4xf32>", "rmsnorm(%a, %g)", "gamma is f32[4] for rows of f32[4, 3]"},
    {"%a: tensor<4x3xbf16>, %g: tensor<3xf16>", "rmsnorm(%a, %g)", "gamma is f16 for rows of bf16"},
    {"%a: tensor<4x3xf32>", "rmsnorm(%a) {eps = -1.0}", "eps is -1"},
    {"%a: tensor<4x3xf32>", "reshape(%a) {shape = [5, -1]}", "12 elements can't be split into rows of 5"},
    {"%a: tensor<4x3xf32>", "reshape(%a) {shape = [-1, -1]}", "only one entry of shape may be -1"},
    {"%a: tensor<4x3xf32>", "reshape(%a) {shape = [13]}", "12 elements into a shape of 13"},
    {"%a: tensor<4x3xf32>", "reshape(%a) {shape = [-3]}", "shape entry -3 is negative"},
    {"%a: tensor<4x3xf32>", "transpose(%a) {perm = [0]}", "perm has 1 entries for 2 dimensions"},
    {"%a: tensor<4x3xf32>", "transpose(%a) {perm = [0, 2]}", "perm entry 2 for a tensor of rank 2"},
    {"%a: tensor<4x3xf32>", "transpose(%a) {perm = [1, 1]}", "perm has axis 1 twice"},
    {"%a: tensor<4xf32>", "slice(%a) {starts = [1], sizes = [4]}", "4 elements from 1 by 1 leave axis 0 of 4"},
    {"%a: tensor<4xf32>", "slice(%a) {starts = [5], sizes = [0]}", "start 5 is outside axis 0 of 4"},
    {"%a: tensor<4xf32>", "slice(%a) {starts = [0], sizes = [1], strides = [0]}", "stride 0 on axis 0"},
    {"%a: tensor<4xf32>", "slice(%a) {starts = [0], sizes = [9000000000000000000], strides = [9000000000000000000]}", "leave axis 0"},
    {"%a: tensor<4x3xf32>, %b: tensor<4x2xf32>", "concat(%a, %b) {axis = 0}", "can't join f32[4, 3] and f32[4, 2] along axis 0"},
    {"%a: tensor<4x3xf32>, %b: tensor<4x3xf16>", "concat(%a, %b) {axis = 0}", "operands are f32 and f16"},
    {"%a: tensor<4xf32>", "pad(%a) {low = [-1], high = [0]}", "negative padding on axis 0"},
    {"%a: tensor<4xf32>, %i: tensor<4xf32>", "gather(%a, %i)", "indices must be i32 or i64, not f32"},
    {"%a: tensor<4xf32>, %i: tensor<4xi16>", "embedding(%a, %i)", "indices must be i32 or i64, not i16"},
    {"%a: tensor<f32>, %i: tensor<4xi32>", "gather(%a, %i)", "needs a first operand with dimensions"},
    {"%a: tensor<4xf32>, %i: tensor<4xi32>", "gather(%a, %i) {axis = 1}", "axis 1 for a tensor of rank 1"},
    {"%a: tensor<1x1x1x1x1xf32>, %i: tensor<1x1x1x1x1xi32>", "gather(%a, %i)", "the result has 9 dimensions, at most 8"},
    {"%a: tensor<4xf32>, %i: tensor<4xi32>", "embedding(%a, %i)", "needs a table of two dimensions"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x5xi32>", "gather_elements(%a, %i) {axis = 1}", "indices i32[3, 5] for f32[4, 5] along axis 1"},
    {"%a: tensor<4x5xf32>, %i: tensor<4xi32>", "gather_elements(%a, %i)", "indices i32[4] for f32[4, 5] along axis 0"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x3xi32>", "gather_nd(%a, %i)", "indices of 3 numbers for 2 dimensions"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x0xi32>", "gather_nd(%a, %i)", "indices of 0 numbers for 2 dimensions"},
    {"%a: tensor<4x5xf32>, %i: tensor<i32>", "gather_nd(%a, %i)", "needs indices with dimensions"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x?xi32>", "gather_nd(%a, %i)", "the indices' last dimension must be known"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x1xi32>", "gather_nd(%a, %i) {batch_dims = 1}", "batch dimension 0 is 4 and 3"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x1xi32>", "gather_nd(%a, %i) {batch_dims = 2}", "batch_dims = 2 for ranks 2 and 2"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x1xi32>", "gather_nd(%a, %i) {batch_dims = -1}", "batch_dims = -1 for ranks 2 and 2"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x5xi32>, %u: tensor<2x5xf32>", "scatter(%a, %i, %u)", "updates are f32[2, 5], not f32[3, 5]"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x5xi32>, %u: tensor<3x5xf16>", "scatter_add(%a, %i, %u)", "operands are f32 and f16"},
    {"%a: tensor<4x5xi1>, %i: tensor<3x5xi32>, %u: tensor<3x5xi1>", "scatter_add(%a, %i, %u)", "does not add bool"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>", "scatter_nd(%a, %i, %u)", "updates are f32[3], not f32[3, 5]"},
    {"%a: tensor<4x5xf32>, %i: tensor<3x1xi32>, %u: tensor<3x5xf32>", "scatter_nd(%a, %i, %u) {reduction = \"mul\"}", "unknown reduction \"mul\""},
    {"%a: tensor<4x5xf32>, %i: tensor<3x5xi32>", "scatter(%a, %i)", "takes 3 operands, has 2"},
    {"%a: tensor<4x5xf32>, %r: tensor<1x5xf32>", "cache_update(%a, %r)", "takes 3 operands, has 2"},
    {"%a: tensor<2x4x5xf32>, %r: tensor<2x1x5xf16>, %p: tensor<i32>", "cache_update(%a, %r, %p)", "the cache is f32 and the rows are f16"},
    {"%a: tensor<2x4x5xf32>, %r: tensor<2x1x4xf32>, %p: tensor<i32>", "cache_update(%a, %r, %p)", "rows f32[2, 1, 4] for a cache f32[2, 4, 5], axis 1"},
    {"%a: tensor<2x4x5xf32>, %r: tensor<1x5xf32>, %p: tensor<i32>", "cache_update(%a, %r, %p)", "rows f32[1, 5] for a cache f32[2, 4, 5], axis 1"},
    {"%a: tensor<2x4x5xf32>, %r: tensor<2x5x5xf32>, %p: tensor<i32>", "cache_update(%a, %r, %p)", "rows f32[2, 5, 5] for a cache f32[2, 4, 5], axis 1"},
    {"%a: tensor<2x4x5xf32>, %r: tensor<2x1x5xf32>, %p: tensor<f32>", "cache_update(%a, %r, %p)", "positions are f32"},
    {"%a: tensor<2x4x5xf32>, %r: tensor<2x1x5xf32>, %p: tensor<3xi32>", "cache_update(%a, %r, %p)", "positions i32[3] of a cache f32[2, 4, 5] along axis 1"},
    {"%a: tensor<2x4x5xf32>, %r: tensor<2x1x5xf32>, %p: tensor<2x1xi32>", "cache_update(%a, %r, %p)", "positions i32[2, 1] of a cache f32[2, 4, 5] along axis 1"},
    {"%a: tensor<4x5xf32>, %r: tensor<1x5xf32>, %p: tensor<4xi32>", "cache_update(%a, %r, %p)", "positions i32[4] of a cache f32[4, 5] along axis 0"},
    {"%a: tensor<4x5xf32>, %r: tensor<1x5xf32>, %p: tensor<i32>", "cache_update(%a, %r, %p) {axis = 2}", "axis 2 for a tensor of rank 2"},
    {"%a: tensor<5xf32>, %r: tensor<1xf32>, %p: tensor<i32>", "cache_update(%a, %r, %p)", "axis -2 for a tensor of rank 1"},
    {"%a: tensor<3000000000x1xi8>, %r: tensor<1x1xi8>, %p: tensor<i64>", "cache_update(%a, %r, %p)", "3000000000 rows along the axis"},
    {"%a: tensor<4xf32>", "pad(%a) {low = [9223372036854775807], high = [0]}", "the padded axis 0 overflows"},
    {"%a: tensor<1x1xf32>", "broadcast(%a) {shape = [4294967296, 4294967296]}", "too many elements"},
    {"%a: tensor<3000000000x1xf32>, %b: tensor<1x3000000000xf32>", "matmul(%a, %b)", "too many elements"},
    {"", "constant()", "attribute 'value' is missing"},
    {"", "constant() {value = 1.0}", "must be dense data, not a float"},
};

static void every_rule_fails_with_one_clear_line(void **state) {
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const char *message = gt_error(gt_func(bad[i].args, line(bad[i].op), "%0", "tensor<4xf32>"));
    if (!gt_says(message, bad[i].type) || !gt_says(message, "test.mlir:4:") || strchr(message, '\n'))
      fail_msg("%s", bad[i].op);
  }
}

static void wrong_declared_type_is_an_error(void **state) {
  const char *message = gt_error(gt_func(
      "%a: tensor<4xf32>", "%0 = \"tessera.graph.neg\"(%a) : (tensor<4xf32>) -> tensor<5xf32>", "%0", "tensor<5xf32>"));
  assert_true(gt_says(message, "result 0 is declared tensor<5xf32> but is tensor<4xf32>"));
}

static void functions_must_return_tensors(void **state) {
  assert_true(gt_says(
      gt_error("\"tessera.graph.func\"() ({\n^bb0(%a: tensor<4xf32>):\n%0 = \"tessera.graph.neg\"(%a)\n}) : () -> ()"),
      "must end with tessera.graph.return"));
  assert_true(
      gt_says(gt_error("\"tessera.graph.func\"() ({\n^bb0(%a: f32):\n\"tessera.graph.return\"(%a)\n}) : () -> ()"),
              "argument 0 must be a tensor"));
}

static char *printed(const ir_module *m) {
  strb b;
  strb_init(&b, NULL);
  ir_print(&b, m);
  char *s = strdup(strb_text(&b));
  strb_clear(&b);
  return s;
}

static void print_parse_print_is_stable_for_every_op(void **state) {
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char type[100];
    snprintf(type, sizeof type, "tensor<%s>", good[i].type);
    ir_module *m = gt_parse(gt_func(good[i].args, line(good[i].op), "%0", type));
    char *once = printed(m);
    ir_module *again = gt_parse(once);
    char *twice = printed(again);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
    ir_module_destroy(&m);
    ir_module_destroy(&again);
  }
}

static int have(const char *program) {
  char command[200];
  snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
  return system(command) == 0;
}

static void mlir_opt_reads_every_op(void **state) {
  const char *opt = have("mlir-opt-19") ? "mlir-opt-19" : have("mlir-opt") ? "mlir-opt" : NULL;
  if (!opt) {
    fprintf(stderr, "skipped: mlir-opt is not installed\n");
    skip();
  }
  char file[] = "/tmp/tessera_mlir_XXXXXX", command[200];
  int fd = mkstemp(file);
  assert_true(fd >= 0);
  FILE *f = fdopen(fd, "w");
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char type[100];
    snprintf(type, sizeof type, "tensor<%s>", good[i].type);
    ir_module *m = gt_parse(gt_func(good[i].args, line(good[i].op), "%0", type));
    strb b;
    strb_init(&b, NULL);
    char name[32];
    snprintf(name, sizeof name, "f%zu", i);
    ir_set_attr(graph_find_func(m, NULL), "sym_name", ir_attr_str(m, name));
    ir_print_op(&b, graph_find_func(m, NULL), 0);
    fprintf(f, "%s\n", strb_text(&b));
    strb_clear(&b);
    ir_module_destroy(&m);
  }
  fclose(f);
  snprintf(command, sizeof command, "%s --allow-unregistered-dialect %s >/dev/null", opt, file);
  int rc = system(command);
  unlink(file);
  assert_int_equal(rc, 0);
}

static void json_lists_every_op_of_every_level(void **state) {
  strb b;
  strb_init(&b, NULL);
  ir_ops_json(&b);
  assert_true(strb_ok(&b));
  for (int l = 0; l < IR_N_LEVELS; l++) {
    const ir_opdef *t;
    for (size_t i = 0; (t = ir_row((ir_level)l, i)); i++) {
      char name[100];
      snprintf(name, sizeof name, "{\"name\": \"%s\"", t->name);
      assert_true(gt_says(strb_text(&b), name));
    }
  }
  assert_true(
      gt_says(strb_text(&b),
              "{\"name\": \"axis\", \"kind\": \"integer\", \"required\": false, \"default\": \"-1\", \"help\": "));
  strb_clear(&b);
}

/* The checked-in document is the generated one. TSR_UPDATE_GOLDEN=1 writes it anew. */
static void the_document_is_up_to_date(void **state) {
  strb b;
  strb_init(&b, NULL);
  ir_ops_markdown(&b);
  FILE *f = fopen(TSR_SOURCE_DIR "/docs/ir.md", getenv("TSR_UPDATE_GOLDEN") ? "w+" : "r");
  assert_non_null(f);
  if (getenv("TSR_UPDATE_GOLDEN")) {
    fwrite(b.p, 1, b.n, f);
    rewind(f);
  }
  char *have_text = calloc(1, b.n + 2);
  size_t n = fread(have_text, 1, b.n + 1, f);
  fclose(f);
  if (n != b.n || memcmp(have_text, b.p, n))
    fail_msg("docs/ir.md is out of date: TSR_UPDATE_GOLDEN=1 ctest -R test_graph_ops writes it");
  free(have_text);
  strb_clear(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_infers_its_type),
      cmocka_unit_test(every_rule_fails_with_one_clear_line),
      cmocka_unit_test(wrong_declared_type_is_an_error),
      cmocka_unit_test(functions_must_return_tensors),
      cmocka_unit_test(print_parse_print_is_stable_for_every_op),
      cmocka_unit_test(mlir_opt_reads_every_op),
      cmocka_unit_test(json_lists_every_op_of_every_level),
      cmocka_unit_test(the_document_is_up_to_date),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
