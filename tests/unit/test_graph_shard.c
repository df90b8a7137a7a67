/* What becomes of a result where an operand's axis is sharded: it follows from kind and index expression. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/graph_text.h"

/* For each axis of the operand: the result's axis, 'p' (partial values) or 'w' (needed whole). */
static const struct { const char *args, *op, *type; int operand; const char *want; } cases[] = {
    {"%a: tensor<2x3xf32>, %b: tensor<3xf32>", "add(%a, %b)", "2x3xf32", 0, "01"},
    {"%a: tensor<2x3xf32>, %b: tensor<3xf32>", "add(%a, %b)", "2x3xf32", 1, "1"},
    {"%a: tensor<2x3xf32>, %b: tensor<1x3xf32>", "add(%a, %b)", "2x3xf32", 1, "w1"},
    {"%a: tensor<7x2x3xf32>, %b: tensor<3x5xf32>", "matmul(%a, %b)", "7x2x5xf32", 0, "01p"},
    {"%a: tensor<7x2x3xf32>, %b: tensor<3x5xf32>", "matmul(%a, %b)", "7x2x5xf32", 1, "p2"},
    {"%a: tensor<3x2xf16>, %b: tensor<5x3xf16>", "matmul(%a, %b) {transpose_a = true, transpose_b = true}", "2x5xf16", 0, "p0"},
    {"%a: tensor<3x2xf16>, %b: tensor<5x3xf16>", "matmul(%a, %b) {transpose_a = true, transpose_b = true}", "2x5xf16", 1, "1p"},
    {"%a: tensor<2x3x4xf32>", "reduce_sum(%a) {axes = [0, 2]}", "3xf32", 0, "p0p"},
    {"%a: tensor<2x3x4xf32>", "reduce_max(%a) {axes = [1], keepdims = true}", "2x1x4xf32", 0, "0p2"},
    {"%a: tensor<2x3xf32>", "softmax(%a) {axis = 0}", "2x3xf32", 0, "w1"},
    {"%a: tensor<2x3xf32>, %g: tensor<3xf32>", "rmsnorm(%a, %g)", "2x3xf32", 0, "0w"},
    {"%a: tensor<2x3xf32>, %g: tensor<3xf32>", "rmsnorm(%a, %g)", "2x3xf32", 1, "w"},
    {"%a: tensor<1x3xf32>", "broadcast(%a) {shape = [4, 2, 3]}", "4x2x3xf32", 0, "w2"},
    {"%a: tensor<2x3x4xf32>", "transpose(%a) {perm = [2, 0, 1]}", "4x2x3xf32", 0, "120"},
    {"%a: tensor<2x6x5xf32>", "reshape(%a) {shape = [2, 2, 3, 5]}", "2x2x3x5xf32", 0, "0w3"},
    {"%a: tensor<4x6xf32>", "slice(%a) {starts = [0, 1], sizes = [4, 2]}", "4x2xf32", 0, "0w"},
    {"%a: tensor<2x3xi8>, %b: tensor<4x3xi8>", "concat(%a, %b)", "6x3xi8", 1, "w1"},
    {"%a: tensor<2x3xf32>", "pad(%a) {low = [0, 1], high = [0, 0]}", "2x4xf32", 0, "0w"},
    {"%c: tensor<2x1xi1>, %a: tensor<2x3xf32>, %b: tensor<3xf32>", "where(%c, %a, %b)", "2x3xf32", 0, "0w"},
    {"%a: tensor<2x3xf32>", "clip(%a) {min = 0.0, max = 1.0}", "2x3xf32", 0, "01"},
    {"%a: tensor<2x3x4xf32>", "tril(%a)", "2x3x4xf32", 0, "012"},
    {"%a: tensor<2x3x4xf32>", "tile(%a) {repeats = [1, 2, 1]}", "2x6x4xf32", 0, "0w2"},
    {"%a: tensor<6x4xf32>", "split(%a) {sizes = [6]}", "6x4xf32", 0, "01"},
    {"%a: tensor<6x4xi32>", "one_hot(%a) {depth = 5, axis = 0}", "5x6x4xf32", 0, "12"},
    {"%a: tensor<2x6x5xf32>", "group_norm(%a) {groups = 3}", "2x6x5xf32", 0, "0ww"},
    {"%a: tensor<2x6xf32>", "log_softmax(%a)", "2x6xf32", 0, "0w"},
    {"%a: tensor<2x6xf32>, %l: tensor<2xi32>", "cross_entropy(%a, %l) {reduction = \"none\"}", "2xf32", 1, "0"},
    {"%a: tensor<2x6xf32>, %l: tensor<2x6xf32>", "mse(%a, %l) {reduction = \"sum\"}", "f32", 0, "pp"},
    {"%a: tensor<4x5xf32>, %u: tensor<5x2xf32>, %v: tensor<2x7xf32>", "factorized_matmul(%a, %u, %v)", "4x7xf32", 0, "0w"},
    {"%a: tensor<4x5xf32>, %b: tensor<5x7xf32>", "einsum(%a, %b) {equation = \"ij,jk->ki\"}", "7x4xf32", 0, "1p"},
    {"%a: tensor<4x5xf32>, %b: tensor<5x7xf32>", "einsum(%a, %b) {equation = \"ij,jk->ik\"}", "4x7xf32", 1, "p1"},
    {"%a: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>", "flash_attention(%a, %k, %k)", "2x3x4x5xf32", 0, "012w"},
    {"%a: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %l: tensor<2x3x4xf32>", "%0, %1, %2 = flash_attention_backward(%a, %k, %k, %a, %l, %l)", "2x3x4x5xf32", 0, "01ww"},
    {"%a: tensor<6x4xf32>, %k: tensor<2xi32>", "dropout(%a, %k)", "6x4xf32", 0, "01"},
    {"%a: tensor<6x4xf32>, %l: tensor<f32>", "sgd(%a, %a, %l)", "6x4xf32", 0, "01"},
    {"%a: tensor<6x4xf32>, %k: tensor<2xi32>", "stochastic_cast(%a, %k) {dtype = \"f16\"}", "6x4xf16", 0, "01"},
    {"%a: tensor<6x4xf32>", "fake_quantize(%a) {scales = \"block\"}", "6x4xf32", 0, "0w"},
    {"%a: tensor<6x4xf32>", "global_norm(%a)", "f32", 0, "ww"},
    {"%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>", "tri_solve(%a, %b)", "2x4x3xf32", 0, "0ww"},
    {"%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>", "tri_solve(%a, %b) {upper = true}", "2x4x3xf32", 1, "0w2"},
    {"%a: tensor<4x64xf32>, %b: tensor<6x40xui8>", "block_matmul(%a, %b) {format = \"q4_1\"}", "4x6xf32", 0, "0w"},
    {"%a: tensor<4x64xf32>, %b: tensor<6x40xui8>", "block_matmul(%a, %b) {format = \"q4_1\"}", "4x6xf32", 1, "1w"},
    {"%a: tensor<4x256xf32>, %b: tensor<6x84xui8>", "block_matmul(%a, %b) {format = \"q2_k\"}", "4x6xf32", 0, "0w"},
    {"%a: tensor<6x40xui8>", "dequantize(%a) {format = \"q4_1\"}", "6x64xf32", 0, "0w"},
    {"%a: tensor<2x5x4x4xf32>", "cholesky(%a)", "2x5x4x4xf32", 0, "01ww"},
    {"%a: tensor<2x12x2x3xf32>", "depth_to_space(%a) {block = 2}", "2x3x4x6xf32", 0, "0www"},
    {"%a: tensor<2x12x6x6xf32>", "max_pool(%a) {kernel = [2, 2], strides = [2, 2]}", "2x12x3x3xf32", 0, "01ww"},
    {"%a: tensor<2x6x6x12xf32>", "average_pool(%a) {kernel = [3, 3], padding = \"same\", layout = \"nhwc\"}", "2x6x6x12xf32", 0, "0ww3"},
    {"%a: tensor<2x12x6x6xf32>", "average_pool(%a)", "2x12x1x1xf32", 0, "01pp"},
    {"%a: tensor<2x12x6x6xf32>", "resize(%a) {sizes = [9, 6], mode = \"linear\"}", "2x12x9x6xf32", 0, "01w3"},
    {"%a: tensor<2x6x12xf32>", "resize(%a) {sizes = [9], layout = \"nhwc\"}", "2x9x12xf32", 0, "0w2"},
    {"%a: tensor<2x12x6x6xf32>, %g: tensor<2x5x4x2xf32>", "grid_sample(%a, %g)", "2x12x5x4xf32", 0, "01ww"},
    {"%a: tensor<2x12x6x6xf32>, %g: tensor<2x5x4x2xf32>", "grid_sample(%a, %g)", "2x12x5x4xf32", 1, "0www"},
    {"%a: tensor<4x6x8xf32>, %w: tensor<6x5x3xcomplex<f32>>", "spectral_conv(%a, %w)", "4x5x8xf32", 0, "0ww"},
    {"%a: tensor<2x3x4xf32>", "cumsum(%a) {axis = 1}", "2x3x4xf32", 0, "0w2"},
    {"%a: tensor<2x3x4xf32>", "argmax(%a) {axis = 1}", "2x4xi32", 0, "0w1"},
    {"%a: tensor<2x3x4xf32>", "%0, %i = topk(%a) {k = 2}", "2x3x2xf32", 0, "01w"},
    {"%a: tensor<2x3x4xf32>", "%0, %i = sort(%a) {axis = 0}", "2x3x4xf32", 0, "w12"},
    /* of several results an axis must be the same one: an entry of the batch is y's second, the last state's first */
    {"%a: tensor<2x3x8xf32>, %r: tensor<2x8xf32>, %b: tensor<8xf32>, %h: tensor<3x2xf32>", "%0, %h1, %c = recurrence(%a, %r, %b, %h, %h) {cell = \"lstm\"}", "2x3x2xf32", 0, "www"},
    {"%a: tensor<2x3x5xf32>, %w: tensor<1x8x5xf32>, %r: tensor<1x8x2xf32>", "%0, %h, %c = lstm(%a, %w, %r)", "2x1x3x2xf32", 0, "www"},
    {"%a: tensor<4x3xf32>, %s: tensor<4x2xi32>", "moe_dispatch(%a, %s) {rows = 8}", "8x3xf32", 0, "w1"},
    {"%a: tensor<8x3xf32>, %s: tensor<4x2xi32>, %w: tensor<4x2xf32>", "moe_combine(%a, %s, %w)", "4x3xf32", 0, "w1"},
    {"%a: tensor<8x3xf32>, %w: tensor<2x3x5xf32>, %c: tensor<2xi32>", "grouped_matmul(%a, %w, %c)", "8x5xf32", 1, "ww1"},
    {"%a: tensor<2x4x6xf32>", "patches(%a) {kernel = [3], groups = 4}", "2x4x4x3xf32", 0, "01w"},
    {"%a: tensor<2x4x6xf32>", "patches(%a) {kernel = [3], flat = true}", "8x12xf32", 0, "www"},
    {"%a: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x8xf32>", "conv2d(%a, %w) {layout = \"nhwc\"}", "2x4x4x8xf32", 0, "0www"},
    {"%a: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x8xf32>", "conv2d(%a, %w) {layout = \"nhwc\"}", "2x4x4x8xf32", 1, "www3"},
    {"%a: tensor<2x4x6x6xf32>, %w: tensor<8x4x3x3xf32>", "conv2d(%a, %w)", "2x8x4x4xf32", 0, "0www"},
    {"%a: tensor<2x4x6x6xf32>, %w: tensor<8x4x3x3xf32>", "conv2d(%a, %w)", "2x8x4x4xf32", 1, "1www"},
    {"%a: tensor<2x4x6x6xf32>, %w: tensor<4x1x3x3xf32>", "conv2d(%a, %w) {groups = 4}", "2x4x4x4xf32", 0, "01ww"},
    {"%a: tensor<2x3xf32>, %b: tensor<3xf32>", "complex(%a, %b)", "2x3xcomplex<f32>", 1, "1"},
    {"%a: tensor<2x3xcomplex<f32>>", "mul(%a, %a)", "2x3xcomplex<f32>", 0, "01"},
    {"%a: tensor<2x3xcomplex<f32>>", "imag(%a)", "2x3xf32", 0, "01"},
    {"%a: tensor<2x3xcomplex<f32>>", "as_real(%a)", "2x3x2xf32", 0, "01"},
    {"%a: tensor<2x3xui64>", "as_signed(%a)", "2x3xi64", 0, "01"},
    {"%a: tensor<2x3xi16>", "as_unsigned(%a)", "2x3xui16", 0, "01"},
    {"%a: tensor<2x4xi4>", "as_bytes(%a)", "4xui8", 0, "ww"},
    {"%a: tensor<4xui8>", "as_packed(%a) {shape = [4, 2]}", "4x2xi4", 0, "w"},
    {"%a: tensor<2x4xui8>", "as_f16(%a)", "2x2xf16", 0, "0w"},
    {"%a: tensor<3x2xf32>", "as_complex(%a)", "3xcomplex<f32>", 0, "0w"},
    {"%a: tensor<2x3x4xcomplex<f32>>", "fft(%a) {axes = [0, 2]}", "2x3x4xcomplex<f32>", 0, "w1w"},
    {"%a: tensor<2x3xf32>", "rfft(%a)", "2x2xcomplex<f32>", 0, "0w"},
    {"%a: tensor<2x3xcomplex<f32>>", "irfft(%a)", "2x4xf32", 0, "0w"},
    {"%a: tensor<2x3xf32>", "dct(%a)", "2x3xf32", 0, "0w"},
    {"%a: tensor<2x9xf32>", "stft(%a) {size = 4, hop = 2}", "2x3x3xcomplex<f32>", 0, "0w"},
    {"%a: tensor<2x3x3xcomplex<f32>>", "istft(%a) {hop = 2}", "2x8xf32", 0, "0ww"},
    {"%a: tensor<3x4x5x2xf32>", "dft(%a) {axis = 1}", "3x4x5x2xf32", 0, "0w2w"},
    {"%a: tensor<3x4x5x2xf32>", "dft(%a) {axis = 2, to = 0}", "5x3x4x2xf32", 0, "12ww"},
    {"%a: tensor<3x4x5x2xf32>", "dft(%a) {axis = 1, twiddle = true}", "3x4x5x2xf32", 0, "0www"},
    {"%a: tensor<?x3xf32>", "clip(%a) {min = 0.0}", "?x3xf32", 0, "ww"},
    {"%a: tensor<2x3x4xf32>, %i: tensor<5x6xi32>", "gather(%a, %i) {axis = 1}", "2x5x6x4xf32", 0, "0w3"},
    {"%a: tensor<2x3x4xf32>, %i: tensor<5x6xi32>", "gather(%a, %i) {axis = 1}", "2x5x6x4xf32", 1, "12"},
    {"%a: tensor<2x3xf32>, %i: tensor<2x7xi32>", "gather_elements(%a, %i) {axis = 1}", "2x7xf32", 0, "0w"},
    {"%a: tensor<2x3xf32>, %i: tensor<2x7xi32>", "gather_elements(%a, %i) {axis = 1}", "2x7xf32", 1, "01"},
    {"%a: tensor<2x3x4xf32>, %i: tensor<2x5x1xi32>", "gather_nd(%a, %i) {batch_dims = 1}", "2x5x4xf32", 0, "0w2"},
    {"%a: tensor<2x3x4xf32>, %i: tensor<2x5x1xi32>", "gather_nd(%a, %i) {batch_dims = 1}", "2x5x4xf32", 1, "01w"},
    {"%a: tensor<2x3xf32>, %i: tensor<5x3xi32>, %u: tensor<5x3xf32>", "scatter_add(%a, %i, %u)", "2x3xf32", 0, "w1"},
    {"%a: tensor<2x3xf32>, %i: tensor<5x3xi32>, %u: tensor<5x3xf32>", "scatter_add(%a, %i, %u)", "2x3xf32", 1, "w1"},
    {"%a: tensor<2x3xf32>, %i: tensor<5x3xi32>, %u: tensor<5x3xf32>", "scatter_add(%a, %i, %u)", "2x3xf32", 2, "w1"},
    {"%a: tensor<2x3x4xf32>, %i: tensor<5x2xi32>, %u: tensor<5x4xf32>", "scatter_nd(%a, %i, %u)", "2x3x4xf32", 2, "w2"},
    {"%a: tensor<2x3x4xf32>, %i: tensor<5x2xi32>, %u: tensor<5x4xf32>", "scatter_nd(%a, %i, %u)", "2x3x4xf32", 1, "ww"},
    {"%a: tensor<2x3x8x4xf32>, %r: tensor<2x3x1x4xf32>, %p: tensor<2xi32>", "cache_update(%a, %r, %p)", "2x3x8x4xf32", 0, "01w3"},
    {"%a: tensor<2x3x8x4xf32>, %r: tensor<2x3x1x4xf32>, %p: tensor<2xi32>", "cache_update(%a, %r, %p)", "2x3x8x4xf32", 1, "01w3"},
    {"%a: tensor<2x3x8x4xf32>, %r: tensor<2x3x1x4xf32>, %p: tensor<2xi32>", "cache_update(%a, %r, %p)", "2x3x8x4xf32", 2, "0"},
    {"%a: tensor<?x3xf32>", "exp(%a)", "?x3xf32", 0, "w1"},
};

static void axes_carry_reduce_or_are_gathered(void **state) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char type[100], line[200], got[TSR_MAX_RANK + 1] = "";
    snprintf(type, sizeof type, "tensor<%s>", cases[i].type);
    const char *equals = *cases[i].op == '%' ? strstr(cases[i].op, " = ") : NULL;
    const char *results = equals ? cases[i].op : "%0", *op_name = equals ? equals + 3 : cases[i].op;
    const char *paren = strchr(op_name, '(');
    snprintf(line, sizeof line, "%.*s = \"tessera.graph.%.*s\"%s", equals ? (int)(equals - results) : 2, results,
             (int)(paren - op_name), op_name, paren);
    ir_module *m = gt_parse(gt_func(cases[i].args, line, "%0", type));
    const ir_op *op = graph_find_func(m, NULL)->regions[0]->first;
    for (int a = 0; a < op->operands[cases[i].operand]->type->rank; a++) {
      int to = -1;
      graph_shard s = graph_shard_of(op, cases[i].operand, a, &to);
      got[a] = (char)(s == SHARD_CARRIES ? '0' + to : s == SHARD_PARTIAL ? 'p' : 'w');
      got[a + 1] = 0;
    }
    assert_string_equal(got, cases[i].want);
    ir_module_destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(axes_carry_reduce_or_are_gathered)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
