/* Tests of the rewrite rules: each fires on its pattern, keeps the values (oracle, both sides), can be switched off,
 * and tells why it was refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/passes/graph/simplify.h"
#include "tests/support/graph_text.h"

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"
#define NUM(r, v) "%" r " = \"tessera.graph.constant\"() {value = dense<" v "> : tensor<f32>}\n"

/* Of the generator s. */
#define DRAW(k) (((s = s * 1664525u + 1013904223u) >> 12) % (k))

typedef struct rule_case {
  const char *rule, *args, *body, *type, *left; /* left: the ops that remain, in order */
} rule_case;

#define X "%x: tensor<4x6xf32>"
#define T "tensor<4x6xf32>"
/* The least and the largest denormal number, of either sign, the least normal ones, zeros, others. */
#define WEIGHTS \
  "%w = \"tessera.graph.constant\"() {value = dense<\"0x01000000FFFF7F800000803F0000004000008000000080BF00000000000000800000C03F010080000000803E00008040\"> : tensor<6x2xf32>}\n"

/* 6x2, 6x3 and 3 numbers that differ. */
#define MATRICES \
  "%u = \"tessera.graph.constant\"() {value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 0.5], [1.5, 2.5]]> : tensor<6x2xf32>}\n" \
  "%v = \"tessera.graph.constant\"() {value = dense<[[1.0, 2.0, 0.5], [3.0, 4.0, 1.5], [5.0, 6.0, 2.5], [7.0, 8.0, 3.5], [9.0, 0.5, 4.5], [1.5, 2.5, 5.5]]> : tensor<6x3xf32>}\n" \
  "%b = \"tessera.graph.constant\"() {value = dense<[0.25, -0.5, 0.75]> : tensor<3xf32>}\n"

#define COLUMN "%c = \"tessera.graph.constant\"() {value = dense<[[0.5], [1.5], [2.5], [3.5]]> : tensor<4x1xf32>}\n"

static const rule_case cases[] = {
    {"add_zero", X, NUM("c", "0.0") OP("0", "add", "%c, %x"), T, ""},
    {"add_zero", X, NUM("c", "0.0") OP("0", "sub", "%x, %c"), T, ""},
    {"mul_one", X, NUM("c", "1.0") OP("0", "mul", "%x, %c"), T, ""},
    {"mul_one", X, NUM("c", "1.0") OP("0", "div", "%x, %c"), T, ""},
    {"mul_zero", "%x: tensor<4xi32>", "%c = \"tessera.graph.constant\"() {value = dense<0> : tensor<i32>}\n" OP("0", "mul", "%x, %c"), "tensor<4xi32>", "constant"},
    {"div_to_mul", X, NUM("c", "8.0") OP("0", "div", "%x, %c"), T, "constant mul"},
    {"pow_small", X, NUM("c", "2.0") OP("0", "pow", "%x, %c"), T, "mul"},
    {"undo", X, OP("1", "neg", "%x") OP("0", "neg", "%1"), T, ""},
    {"undo", X, OP("1", "neg", "%x") OP("0", "abs", "%1"), T, "abs"},
    {"undo", X, OP("1", "relu", "%x") OP("0", "relu", "%1"), T, "relu"},
    {"cast_chain", "%x: tensor<4x6xbf16>", OPA("1", "cast", "%x", "dtype = \"f32\"") OPA("0", "cast", "%1", "dtype = \"bf16\""), "tensor<4x6xbf16>", ""},
    {"cast_chain", "%x: tensor<4x6xi8>", OPA("1", "cast", "%x", "dtype = \"i32\"") OPA("0", "cast", "%1", "dtype = \"f32\""), T, "cast"},
    {"transpose_chain", X, OP("1", "transpose", "%x") OP("0", "transpose", "%1"), T, ""},
    {"transpose_chain", "%x: tensor<2x3x4xf32>", OPA("1", "transpose", "%x", "perm = [1, 2, 0]") OPA("0", "transpose", "%1", "perm = [0, 2, 1]"), "tensor<3x2x4xf32>", "transpose"},
    {"reshape_chain", X, OPA("1", "reshape", "%x", "shape = [24]") OPA("0", "reshape", "%1", "shape = [8, 3]"), "tensor<8x3xf32>", "reshape"},
    {"reshape_chain", X, OPA("0", "reshape", "%x", "shape = [4, -1]"), T, ""},
    {"transpose_to_reshape", "%x: tensor<1x4x6xf32>", OPA("0", "transpose", "%x", "perm = [1, 0, 2]"), "tensor<4x1x6xf32>", "reshape"},
    {"transpose_to_reshape", "%x: tensor<1x4x1x6xf32>", OPA("0", "transpose", "%x", "perm = [1, 3, 2, 0]"), "tensor<4x6x1x1xf32>", "reshape"},
    {"reshape_of_slice", "%x: tensor<3x20xf32>", OPA("1", "slice", "%x", "starts = [0, 8], sizes = [3, 8]") OPA("0", "reshape", "%1", "shape = [3, 2, 4]"), "tensor<3x2x4xf32>", "reshape slice"},
    {"reshape_of_slice", "%x: tensor<6x5x4xf32>", OPA("1", "slice", "%x", "starts = [2, 0, 0], sizes = [3, 5, 4]") OPA("0", "reshape", "%1", "shape = [1, 6, 10]"), "tensor<1x6x10xf32>", "reshape slice"},
    {"reshape_of_slice", "%x: tensor<5x7xf32>", OPA("1", "slice", "%x", "starts = [4, 0], sizes = [1, 7]") OPA("0", "reshape", "%1", "shape = [7]"), "tensor<7xf32>", "reshape slice"},
    {"horizontal", X, MATRICES OP("1", "matmul", "%x, %u") OP("2", "matmul", "%x, %v") OP("3", "add", "%2, %b") OP("4", "softmax", "%1") OP("5", "softmax", "%3") OPA("0", "concat", "%4, %5", "axis = 1"), "tensor<4x5xf32>", "constant matmul constant add slice slice softmax softmax concat"},
    {"broadcast_chain", "%x: tensor<6xf32>", OPA("1", "broadcast", "%x", "shape = [4, 6]") OPA("0", "broadcast", "%1", "shape = [3, 4, 6]"), "tensor<3x4x6xf32>", "broadcast"},
    {"slice_chain", "%x: tensor<40xf32>", OPA("1", "slice", "%x", "starts = [3], sizes = [10], strides = [3]") OPA("0", "slice", "%1", "starts = [1], sizes = [4], strides = [2]"), "tensor<4xf32>", "slice"},
    {"slice_chain", X, OPA("0", "slice", "%x", "starts = [0, 0], sizes = [4, 6]"), T, ""},
    {"drop_broadcast", X ", %b: tensor<6xf32>", OPA("1", "broadcast", "%b", "shape = [4, 6]") OP("0", "add", "%x, %1"), T, "add"},
    {"shrink_splat", X, "%c = \"tessera.graph.constant\"() {value = dense<3.0> : tensor<4x6xf32>}\n" OP("0", "add", "%x, %c"), T, "constant add"},
    {"select_known", X ", %y: tensor<4x6xf32>", "%c = \"tessera.graph.constant\"() {value = dense<false> : tensor<i1>}\n" OP("0", "select", "%c, %x, %y"), T, ""},
    {"constant_fold", X, NUM("c", "2.0") OP("1", "exp", "%c") OP("0", "mul", "%x, %1"), T, "constant mul"},
    {"constant_fold", X, "%c = \"tessera.graph.constant\"() {value = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>}\n" OPA("1", "reshape", "%c", "shape = [2, 3]") OPA("2", "reduce_sum", "%1", "axes = [0, 1]") OP("0", "mul", "%x, %2"), T, "constant mul"},
    {"transpose_into_matmul", X ", %y: tensor<5x6xf32>", OP("1", "transpose", "%y") OP("0", "matmul", "%x, %1"), "tensor<4x5xf32>", "matmul"},
    {"transpose_into_matmul", "%x: tensor<2x6x4xf32>, %y: tensor<6x5xf32>", OPA("1", "transpose", "%x", "perm = [0, 2, 1]") OP("0", "matmul", "%1, %y"), "tensor<2x4x5xf32>", "matmul"},
    {"transpose_of_matmul", X ", %y: tensor<6x5xf32>", OP("1", "matmul", "%x, %y") OP("0", "transpose", "%1"), "tensor<5x4xf32>", "matmul"},
    {"recognize_relu", X, NUM("c", "0.0") OP("0", "max", "%x, %c"), T, "relu"},
    {"recognize_rsqrt", X, NUM("c", "1.0") OP("a", "abs", "%x") OP("1", "sqrt", "%a") OP("0", "div", "%c, %1"), T, "abs rsqrt"},
    {"recognize_sigmoid", X, NUM("c", "1.0") OP("1", "neg", "%x") OP("2", "exp", "%1") OP("3", "add", "%c, %2") OP("0", "div", "%c, %3"), T, "sigmoid"},
    {"recognize_silu", X, NUM("c", "1.0") OP("1", "neg", "%x") OP("2", "exp", "%1") OP("3", "add", "%2, %c") OP("0", "div", "%x, %3"), T, "silu"},
    {"recognize_silu", X, OP("1", "sigmoid", "%x") OP("0", "mul", "%1, %x"), T, "silu"},
    {"recognize_gelu", X, NUM("r", "1.4142135") NUM("o", "1.0") NUM("h", "0.5") OP("1", "div", "%x, %r") OP("2", "erf", "%1") OP("3", "add", "%2, %o") OP("4", "mul", "%x, %h") OP("0", "mul", "%4, %3"), T, "gelu"},
    {"recognize_gelu", X, NUM("r", "0.70710678") NUM("h", "0.5") OP("1", "mul", "%x, %r") OP("2", "erf", "%1") OP("3", "mul", "%2, %h") OP("4", "add", "%3, %h") OP("0", "mul", "%4, %x"), T, "gelu"},
    {"recognize_gelu", X, NUM("r", "0.7978845608") NUM("k", "0.044715") NUM("o", "1.0") NUM("h", "0.5") OP("1", "mul", "%x, %x") OP("2", "mul", "%1, %x") OP("3", "mul", "%2, %k") OP("4", "add", "%x, %3") OP("5", "mul", "%r, %4") OP("6", "tanh", "%5") OP("7", "add", "%o, %6") OP("8", "mul", "%h, %x") OP("0", "mul", "%8, %7"), T, "gelu"},
    {"recognize_gelu", X, NUM("r", "0.7978845608") NUM("k", "0.044715") NUM("o", "1.0") NUM("h", "0.5") OP("1", "mul", "%x, %x") OP("3", "mul", "%1, %k") OP("4", "add", "%o, %3") OP("a", "mul", "%r, %x") OP("5", "mul", "%a, %4") OP("6", "tanh", "%5") OP("7", "add", "%o, %6") OP("8", "mul", "%h, %x") OP("0", "mul", "%8, %7"), T, "gelu"},
    {"recognize_softmax", X, OPA("1", "reduce_max", "%x", "axes = [1], keepdims = true") OP("2", "sub", "%x, %1") OP("3", "exp", "%2") OPA("4", "reduce_sum", "%3", "axes = [-1], keepdims = true") OP("0", "div", "%3, %4"), T, "softmax"},
    {"recognize_softmax", X, OPA("1", "reduce_max", "%x", "axes = [0]") OPA("b", "reshape", "%1", "shape = [1, 6]") OP("2", "sub", "%x, %b") OP("3", "exp", "%2") OPA("4", "reduce_sum", "%3", "axes = [0], keepdims = true") OPA("5", "broadcast", "%4", "shape = [4, 6]") OP("0", "div", "%3, %5"), T, "softmax"},
    {"recognize_layernorm", X, NUM("e", "0.00001") OPA("1", "reduce_mean", "%x", "axes = [1], keepdims = true") OP("2", "sub", "%x, %1") OP("3", "mul", "%2, %2") OPA("4", "reduce_mean", "%3", "axes = [1], keepdims = true") OP("5", "add", "%4, %e") OP("6", "sqrt", "%5") OP("0", "div", "%2, %6"), T, "layernorm"},
    {"recognize_layernorm", X, NUM("e", "0.00001") NUM("t", "2.0") OPA("1", "reduce_mean", "%x", "axes = [1], keepdims = true") OP("2", "sub", "%x, %1") OP("3", "pow", "%2, %t") OPA("4", "reduce_mean", "%3", "axes = [1], keepdims = true") OP("5", "add", "%4, %e") OP("6", "rsqrt", "%5") OP("0", "mul", "%6, %2"), T, "layernorm"},
    {"recognize_rmsnorm", X, NUM("e", "0.01") OP("3", "mul", "%x, %x") OPA("4", "reduce_mean", "%3", "axes = [1], keepdims = true") OP("5", "add", "%e, %4") OP("6", "rsqrt", "%5") OP("0", "mul", "%x, %6"), T, "rmsnorm"},
    {"norm_affine", X ", %g: tensor<6xf32>, %b: tensor<1x6xf32>", OPA("1", "layernorm", "%x", "eps = 0.5") OP("2", "mul", "%1, %g") OP("0", "add", "%2, %b"), T, "reshape layernorm"},
    {"norm_affine", X ", %g: tensor<6xf32>", OP("1", "rmsnorm", "%x") OP("0", "mul", "%g, %1"), T, "rmsnorm"},
    {"recognize_attention", "%q: tensor<1x2x5x4xf32>, %k: tensor<1x2x6x4xf32>, %v: tensor<1x2x6x3xf32>, %m: tensor<6xf32>", NUM("c", "0.5") OPA("1", "matmul", "%q, %k", "transpose_b = true") OP("2", "mul", "%c, %1") OP("3", "add", "%2, %m") OP("4", "softmax", "%3") OP("0", "matmul", "%4, %v"), "tensor<1x2x5x3xf32>", "flash_attention"},
    {"dequantized_product", "%x: tensor<4x6xui8>, %y: tensor<6x5xi8>, %s: tensor<f32>", OPA("1", "cast", "%x", "dtype = \"f32\"") OP("2", "mul", "%1, %s") OPA("3", "cast", "%y", "dtype = \"f32\"") OP("4", "mul", "%s, %3") OP("0", "matmul", "%2, %4"), "tensor<4x5xf32>", "matmul cast mul mul"},
    {"fuse_dequantize", "%x: tensor<4x32xf32>, %w: tensor<6x18xui8>", OPA("1", "dequantize", "%w", "format = \"q4_0\"") OPA("0", "matmul", "%x, %1", "transpose_b = true"), "tensor<4x6xf32>", "block_matmul"},
    {"flush_denormals", X, WEIGHTS OP("0", "matmul", "%x, %w"), "tensor<4x2xf32>", "constant matmul"},
    {"flush_denormals", X, WEIGHTS OPA("1", "reshape", "%w", "shape = [2, 6]") OPA("0", "matmul", "%x, %1", "transpose_b = true"), "tensor<4x2xf32>", "constant matmul"},
    {"flush_denormals", "%x: tensor<2x6xf32>", WEIGHTS OP("0", "matmul", "%w, %x"), "tensor<6x6xf32>", "constant matmul"},
    {"scale_into_product", X, MATRICES OP("1", "matmul", "%x, %v") OP("0", "mul", "%1, %b"), "tensor<4x3xf32>", "constant matmul"},
    {"scale_into_product", "%x: tensor<6x4xf32>", MATRICES NUM("c", "0.3") OPA("1", "matmul", "%v, %x", "transpose_a = true") OP("0", "mul", "%c, %1"), "tensor<3x4xf32>", "constant matmul"},
    {"scale_into_product", X, MATRICES OP("1", "matmul", "%x, %v") OPA("2", "reshape", "%1", "shape = [2, 2, 3]") OP("3", "sub", "%2, %b") OP("4", "mul", "%b, %3") OP("0", "relu", "%4"), "tensor<2x2x3xf32>", "constant constant matmul reshape sub relu"},
    {"add_constants", X, MATRICES OP("1", "matmul", "%x, %v") OP("2", "sub", "%1, %b") OP("3", "mul", "%2, %b") OP("0", "add", "%b, %3"), "tensor<4x3xf32>", "constant matmul constant add"},
    {"common_subexpression", X, OP("1", "exp", "%x") OP("2", "exp", "%x") OP("0", "add", "%1, %2"), T, "exp add"},
    {"dead_code", X, OP("1", "exp", "%x") OP("0", "neg", "%x"), T, "neg"},
};

static void left_ops(const ir_op *f, char *out) {
  *out = 0;
  for (const ir_op *o = f->regions[0]->first; o; o = o->next) {
    if (graph_is(o, G_RETURN)) continue;
    if (*out) strcat(out, " ");
    strcat(out, strrchr(o->def->name, '.') + 1);
  }
}

static void each_rule_fires_and_keeps_the_values(void **state) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const rule_case *c = &cases[i];
    const char *text = gt_func(c->args, c->body, "%0", c->type);
    ir_module *before = gt_parse(text), *after = gt_parse(text);
    char left[400];
    pass_trace t;
    trace_init(&t, NULL);
    tsr_status st = graph_simplify_module(after, &(pass_options){.trace = &t});
    if (st) fail_msg("%s: %s", c->rule, tsr_status_message(st));
    left_ops(graph_find_func(after, NULL), left);
    if (!trace_count(&t, c->rule, true)) fail_msg("%s did not fire on\n%s", c->rule, c->body);
    /* Nothing is said of the application's rules where it has none. */
    if (trace_count(&t, "bound", false)) fail_msg("a bound was met on\n%s", c->body);
    if (strcmp(left, c->left)) fail_msg("%s: left '%s', wanted '%s'", c->rule, left, c->left);
    if (!gt_same(graph_find_func(before, NULL), graph_find_func(after, NULL), 5, -2, 2))
      fail_msg("%s changes values of\n%s", c->rule, c->body);
    trace_clear(&t);
    ir_module_destroy(&before);
    ir_module_destroy(&after);
  }
}

static void each_rule_can_be_switched_off(void **state) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const rule_case *c = &cases[i];
    for (int all = 0; all < 2; all++) {
      ir_module *m = gt_parse(gt_func(c->args, c->body, "%0", c->type));
      pass_trace t;
      trace_init(&t, NULL);
      assert_null(graph_simplify_module(m, &(pass_options){.trace = &t, .disable = all ? "x,rewrites" : c->rule}));
      assert_int_equal(trace_count(&t, c->rule, true), 0);
      trace_clear(&t);
      ir_module_destroy(&m);
    }
  }
}

static void every_rule_of_the_table_is_tested(void **state) {
  graph_rule_info rules[64];
  size_t n = graph_simplify_rules(rules, 64);
  for (size_t i = 0; i < n; i++) {
    bool found = false;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) found |= !strcmp(cases[k].rule, rules[i].name);
    if (!found) fail_msg("%s has no test", rules[i].name);
  }
}

static const struct { const char *rule, *args, *body, *type, *why; } refused[] = {
    {"mul_zero", X, NUM("c", "0.0") OP("0", "mul", "%x, %c"), T, "NaN and infinity"},
    {"div_to_mul", X, NUM("c", "3.0") OP("0", "div", "%x, %c"), T, "not exact"},
    {"cast_chain", X, OPA("1", "cast", "%x", "dtype = \"bf16\"") OPA("0", "cast", "%1", "dtype = \"f32\""), T, "the inner cast rounds"},
    {"reshape_of_slice", "%x: tensor<3x20xf32>", OPA("1", "slice", "%x", "starts = [0, 8], sizes = [3, 8]") OPA("0", "reshape", "%1", "shape = [24]"), "tensor<24xf32>", "cuts what the reshape joins"},
    {"reshape_of_slice", "%x: tensor<3x20xf32>", OPA("1", "slice", "%x", "starts = [0, 6], sizes = [3, 8]") OPA("0", "reshape", "%1", "shape = [3, 2, 4]"), "tensor<3x2x4xf32>", "cuts what the reshape joins"},
    {"horizontal", X ", %u: tensor<6x2xf32>, %v: tensor<6x3xf32>", OP("1", "matmul", "%x, %u") OP("2", "matmul", "%x, %v") OPA("0", "concat", "%1, %2", "axis = 1"), "tensor<4x5xf32>", "copied in each run"},
    {"horizontal", X, "%h = \"tessera.graph.constant\"() {value = dense<1.5> : tensor<6x1000xf16>}\n%k = \"tessera.graph.constant\"() {value = dense<2.5> : tensor<6x1000xf16>}\n" OPA("u", "cast", "%h", "dtype = \"f32\"") OPA("v", "cast", "%k", "dtype = \"f32\"") OP("1", "matmul", "%x, %u") OP("2", "matmul", "%x, %v") OP("3", "relu", "%v") OP("4", "reduce_sum", "%3") OPA("5", "concat", "%1, %2", "axis = 1") OP("0", "add", "%5, %4"), "tensor<4x2000xf32>", "other readers"},
    {"horizontal", X, MATRICES OP("1", "matmul", "%x, %u") OP("2", "matmul", "%x, %v") OP("3", "exp", "%1") OPA("0", "concat", "%3, %2", "axis = 1"), "tensor<4x5xf32>", "kernels of their own"},
    {"horizontal", X, MATRICES OP("1", "matmul", "%x, %u") OP("2", "matmul", "%x, %v") OPA("3", "reshape", "%1", "shape = [8]") OP("4", "softmax", "%3") OP("5", "reduce_sum", "%4") OP("0", "sub", "%2, %5"), "tensor<4x3xf32>", "have to be copied"},
    {"norm_affine", X ", %g: tensor<4x1xf32>", OP("1", "rmsnorm", "%x") OP("0", "mul", "%g, %1"), T, "one number per column"},
    {"scale_into_product", X, MATRICES COLUMN OP("1", "matmul", "%x, %v") OP("0", "mul", "%1, %c"), "tensor<4x3xf32>", "along these channels"},
    {"scale_into_product", X ", %y: tensor<6x3xf32>", MATRICES OP("1", "matmul", "%x, %v") OP("2", "mul", "%1, %b") OP("y2", "mul", "%v, %y") OP("3", "reduce_sum", "%y2") OP("0", "add", "%2, %3"), "tensor<4x3xf32>", "along these channels"},
    {"scale_into_product", X, MATRICES NUM("c", "1.0e38") OP("1", "matmul", "%x, %v") OP("0", "mul", "%1, %c"), "tensor<4x3xf32>", "a weight would be out of range"},
    {"scale_into_product", X, MATRICES NUM("c", "1.0e-38") OP("1", "matmul", "%x, %v") OP("0", "mul", "%1, %c"), "tensor<4x3xf32>", "a weight would be out of range"},
    {"scale_into_product", X, MATRICES NUM("c", "3.0e38") NUM("d", "3.0") OP("1", "matmul", "%x, %v") OP("2", "add", "%1, %c") OP("0", "mul", "%2, %d"), "tensor<4x3xf32>", "would not be finite"},
};

static void refusals_tell_why(void **state) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    ir_module *m = gt_parse(gt_func(refused[i].args, refused[i].body, "%0", refused[i].type));
    pass_trace t;
    bool found = false;
    trace_init(&t, NULL);
    assert_null(graph_simplify_module(m, &(pass_options){.trace = &t}));
    for (size_t k = 0; k < t.n; k++)
      found |= !t.v[k].fired && !strcmp(t.v[k].rule, refused[i].rule) && strstr(t.v[k].reason, refused[i].why);
    if (!found) fail_msg("%s was not refused with '%s'", refused[i].rule, refused[i].why);
    trace_clear(&t);
    ir_module_destroy(&m);
  }
}

static int64_t put_dims(char *to, const int64_t *dims, int n, const char *between) {
  int64_t all = 1;
  *to = 0;
  for (int i = 0; i < n; all *= dims[i++]) sprintf(to + strlen(to), "%s%lld", i ? between : "", (long long)dims[i]);
  return all;
}

/* Slices of any place and stride, reshaped to any shape: with extents of 0 and 1 among them. */
static void reshapes_of_slices_and_moves_of_ones_keep_the_values(void **state) {
  uint32_t s = 1;
  int fired[2] = {0};
  for (int n = 0; n < 600; n++) {
    int64_t from[4], starts[4], sizes[4], strides[4], to[8];
    const int rank = 1 + (int)(DRAW(4));
    int parts = 0;
    for (int i = 0; i < rank; i++) {
      from[i] = 1 + DRAW(6);
      strides[i] = DRAW(4) ? 1 : 2;
      sizes[i] = DRAW(3) ? from[i] : (int64_t)(DRAW((unsigned)from[i] + 1));
      if (strides[i] == 2) sizes[i] /= 2;
      starts[i] = strides[i] == 2 ? 0 : (int64_t)(DRAW(2)) * (from[i] - sizes[i]);
      /* the reshape: each extent, split where it is even, or joined with the one before, and ones */
      if (parts && DRAW(4) == 0) to[parts - 1] *= sizes[i];
      else if (sizes[i] % 2 == 0 && DRAW(2)) to[parts++] = sizes[i] / 2, to[parts++] = 2;
      else to[parts++] = sizes[i];
      if (parts < 6 && DRAW(4) == 0) to[parts++] = 1;
    }
    if (parts > TSR_MAX_RANK) continue;
    char body[1200], args[96], a[64], b[64], c[64], d[64], type[80], perm[64] = "0";
    put_dims(a, from, rank, "x");
    sprintf(args, "%%x: tensor<%sxf32>", a);
    put_dims(a, starts, rank, ", ");
    put_dims(b, sizes, rank, ", ");
    put_dims(c, strides, rank, ", ");
    put_dims(d, to, parts, ", ");
    int order[8] = {0};
    for (int i = 1; i < parts; i++) { /* ones change places with their neighbours */
      order[i] = i;
      if ((to[order[i]] == 1 || to[order[i - 1]] == 1) && DRAW(2)) order[i] = order[i - 1], order[i - 1] = i;
    }
    *perm = 0;
    int64_t moved[8];
    for (int i = 0; i < parts; i++) {
      sprintf(perm + strlen(perm), "%s%d", i ? ", " : "", order[i]);
      moved[i] = to[order[i]];
    }
    put_dims(type + sprintf(type, "tensor<"), moved, parts, "x");
    strcat(type, "xf32>");
    sprintf(body, "%" OPA("1", "slice", "%%x", "starts = [%s], sizes = [%s], strides = [%s]")
                      "%" OPA("2", "reshape", "%%1", "shape = [%s]") "%" OPA("0", "transpose", "%%2", "perm = [%s]"),
            a, b, c, d, perm);
    ir_module *before = gt_parse(gt_func(args, body, "%0", type)), *after = NULL;
    pass_trace t;
    trace_init(&t, NULL);
    assert_null(ir_module_clone(before, &after));
    assert_null(graph_simplify_module(after, &(pass_options){.trace = &t}));
    fired[0] += trace_count(&t, "reshape_of_slice", true);
    fired[1] += trace_count(&t, "transpose_to_reshape", true);
    if (!gt_same(graph_find_func(before, NULL), graph_find_func(after, NULL), 5, -2, 2))
      fail_msg("values of\n%s", body);
    trace_clear(&t);
    ir_module_destroy(&before);
    ir_module_destroy(&after);
  }
  assert_true(fired[0] > 50 && fired[1] > 50);
}

static int put_constant(char *to, const char *name, const char *dims, int64_t n, uint32_t *state) {
  uint32_t s = *state;
  int at = sprintf(to, "%%%s = \"tessera.graph.constant\"() {value = dense<\"0x", name);
  for (int64_t i = 0; i < n; i++) {
    const union { float f; unsigned char byte[4]; } x = {((float)DRAW(400) - 200) / 64};
    for (int k = 0; k < 4; k++) at += sprintf(to + at, "%02X", x.byte[k]);
  }
  *state = s;
  return at + sprintf(to + at, "\"> : tensor<%sxf32>}\n", dims);
}

/* Products of groups, stored either way, seen as an image; a batch norm behind them, or a part of one. */
static void batch_norms_behind_products_keep_the_values(void **state) {
  uint32_t s = 7;
  int fired[2] = {0};
  for (int n = 0; n < 400; n++) {
    const int images = 1 + (int)(DRAW(2)), groups = 1 + (int)(DRAW(3)), m = 1 + (int)(DRAW(3)), k = (int)(DRAW(5)),
              h = 1 + (int)(DRAW(3)), w = 1 + (int)(DRAW(3)), c = groups * m, parts = 1 + (int)(DRAW(7));
    const bool ta = DRAW(2), tb = DRAW(2), flat = DRAW(3) == 0;
    char body[6000], args[96], type[96], dims[64], channels[64];
    int at = 0;
    sprintf(dims, "%dx%dx%d", groups, ta ? k : m, ta ? m : k);
    at += put_constant(body, "w", dims, groups * m * k, &s);
    if (flat) sprintf(channels, "%dx%dx1", groups, m);
    else sprintf(channels, "%s%dx1x1", DRAW(2) ? "1x" : "", c);
    for (int i = 0; i < 3; i++) at += put_constant(body + at, (const char *[]){"m", "s", "b"}[i], channels, c, &s);
    at += sprintf(body + at, OPA("%1", "matmul", "%%w, %%x", "transpose_a = %s, transpose_b = %s"),
                  ta ? "true" : "false", tb ? "true" : "false");
    at += sprintf(body + at, OPA("%2", "reshape", "%%1", "shape = [%d, %d, %d, %d]"), images, flat ? groups : c,
                  flat ? m : h, flat ? h * w : w);
    int last = 2;
    if (parts & 1) at += sprintf(body + at, OP("%3", "sub", "%%%d, %%m"), last), last = 3;
    if (parts & 2) at += sprintf(body + at, OP("%4", "mul", "%%s, %%%d"), last), last = 4;
    if (parts & 4) at += sprintf(body + at, OP("%5", "add", "%%%d, %%b"), last), last = 5;
    sprintf(body + at, OP("%0", "neg", "%%%d"), last);
    sprintf(args, "%%x: tensor<%dx%dx%dx%dxf32>", images, groups, tb ? h * w : k, tb ? k : h * w);
    if (flat) sprintf(type, "tensor<%dx%dx%dx%dxf32>", images, groups, m, h * w);
    else sprintf(type, "tensor<%dx%dx%dx%dxf32>", images, c, h, w);
    ir_module *before = gt_parse(gt_func(args, body, "%0", type)), *after = NULL;
    pass_trace t;
    trace_init(&t, NULL);
    assert_null(ir_module_clone(before, &after));
    assert_null(graph_simplify_module(after, &(pass_options){.trace = &t}));
    fired[0] += trace_count(&t, "scale_into_product", true);
    fired[1] += trace_count(&t, "add_constants", true);
    if (!gt_same(graph_find_func(before, NULL), graph_find_func(after, NULL), 5, -2, 2))
      fail_msg("values of\n%s", body);
    trace_clear(&t);
    ir_module_destroy(&before);
    ir_module_destroy(&after);
  }
  assert_true(fired[0] > 100 && fired[1] > 50);
}

static void exact_mode_keeps_rounding(void **state) {
  ir_module *m = gt_parse(gt_func(X, OP("1", "sigmoid", "%x") OP("0", "mul", "%1, %x"), "%0", T));
  pass_trace t;
  trace_init(&t, NULL);
  assert_null(graph_simplify_module(m, &(pass_options){.trace = &t, .exact = true}));
  assert_int_equal(trace_count(&t, "recognize_silu", true), 0);
  assert_int_equal(trace_count(&t, "recognize_silu", false), 1);
  strb b;
  strb_init(&b, NULL);
  trace_json(&b, &t);
  assert_true(gt_says(strb_text(&b), "\"rule\": \"recognize_silu\", \"op\": \"tessera.graph.mul\", \"line\": 5, "
                                     "\"fired\": false, \"reason\": \"it would change rounding\""));
  strb_clear(&b);
  trace_clear(&t);
  ir_module_destroy(&m);
}

static void denormals_are_zeros_of_their_sign_others_stay(void **state) {
  static const uint32_t want[] = {0,          0x80000000, 0x3f800000, 0x40000000, 0x00800000, 0xbf800000,
                                  0x00000000, 0x80000000, 0x3fc00000, 0x00800001, 0x3e800000, 0x40800000};
  ir_module *m = gt_parse(gt_func(X, WEIGHTS OP("0", "matmul", "%x, %w"), "%0", "tensor<4x2xf32>"));
  assert_null(graph_simplify_module(m, NULL));
  const ir_op *constant = graph_find_func(m, NULL)->regions[0]->first;
  assert_true(graph_is(constant, G_CONSTANT));
  assert_memory_equal(ir_get_attr(constant, "value")->u.dense.data, want, sizeof want);
  ir_module_destroy(&m);
  m = gt_parse(gt_func(X, WEIGHTS OP("0", "matmul", "%x, %w"), "%0", "tensor<4x2xf32>"));
  assert_null(graph_simplify_module(m, &(pass_options){.exact = true}));
  constant = graph_find_func(m, NULL)->regions[0]->first;
  assert_int_equal(*(const uint32_t *)ir_get_attr(constant, "value")->u.dense.data, 1);
  ir_module_destroy(&m);
}

/* Large constants: copies of a module have their elements once, and so has what slices them in order. */
static void large_constants_are_shared_with_their_parts_and_copies(void **state) {
  enum { ROWS = 300, COLUMNS = 64 };
  static const struct { const char *slice, *type; int first; bool shares; } rows[] = {
      {"starts = [100, 0], sizes = [50, 64]", "tensor<50x64xf32>", 100 * COLUMNS, true},
      {"starts = [7, 10], sizes = [1, 20]", "tensor<1x20xf32>", 7 * COLUMNS + 10, true},
      {"starts = [0, 1], sizes = [300, 20]", "tensor<300x20xf32>", 0, false},
      {"starts = [0, 0], sizes = [150, 64], strides = [2, 1]", "tensor<150x64xf32>", 0, false},
      {"starts = [9, 0], sizes = [0, 64]", "tensor<0x64xf32>", 0, false}};
  static char body[8 * ROWS * COLUMNS + 400];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *at = body + sprintf(body, "%%w = \"tessera.graph.constant\"() {value = dense<\"0x");
    for (int k = 0; k < ROWS * COLUMNS; k++) at += sprintf(at, "%02X0000%02X", k & 255, 0x40 + (k >> 8) % 3);
    sprintf(at, "\"> : tensor<300x64xf32>}\n%%0 = \"tessera.graph.slice\"(%%w) {%s}\n", rows[i].slice);
    char *text = malloc(sizeof body + 1000);
    sprintf(text, "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<f32>):\n%s\"tessera.graph.return\"(%%0)\n}) "
                  "{sym_name = \"main\"}\n", body);
    ir_module *read = gt_parse(text), *before = NULL, *after = NULL;
    free(text);
    assert_null(ir_module_clone(read, &before));
    assert_null(ir_module_clone(before, &after));
    ir_module_destroy(&read);
    const ir_attr *whole = ir_get_attr(graph_find_func(before, NULL)->regions[0]->first, "value");
    assert_null(graph_simplify_module(after, NULL));
    const ir_op *first = graph_find_func(after, NULL)->regions[0]->first;
    const ir_attr *a = ir_get_attr(first, "value");
    assert_true(graph_is(first->next, G_RETURN) == rows[i].shares || !ir_type_count(first->results[0]->type));
    if (rows[i].shares) assert_ptr_equal(a->u.dense.data, (char *)whole->u.dense.data + 4 * rows[i].first);
    assert_true(gt_same(graph_find_func(before, NULL), graph_find_func(after, NULL), 5, -2, 2));
    ir_module_destroy(&before);
    ir_module *later = NULL; /* its own, once that is gone */
    assert_null(ir_module_clone(after, &later));
    ir_module_destroy(&after);
    assert_null(ir_verify(later));
    ir_module_destroy(&later);
  }
}

/* Random small programs over awkward constants. */
static void random_programs_keep_their_values(void **state) {
  static const char *const un[] = {"neg", "abs", "relu", "transpose", "transpose", "exp", "sigmoid", "not_used"};
  static const char *const bin[] = {"add", "sub", "mul", "max", "div", "matmul"};
  static const char *const numbers[] = {"0.0", "1.0", "2.0", "0.5", "-1.0"};
  for (uint32_t seed = 1; seed <= 300; seed++) {
    char body[8192], *at = body;
    uint32_t s = seed;
    int n = 2;
    for (int i = 0; i < 12; i++) {
      unsigned kind = DRAW(4), a = DRAW((unsigned)n), b = DRAW((unsigned)n), u = DRAW(7), w = DRAW(6), c = DRAW(5);
      if (kind == 0) at += sprintf(at, "%%v%d = \"tessera.graph.%s\"(%%v%u)\n", n, un[u], a);
      else if (kind == 1)
        at += sprintf(at, "%%v%d = \"tessera.graph.%s\"(%%v%u, %%v%u)\n", n, bin[w == 4 ? 0 : w], a, b);
      else if (kind == 2)
        at += sprintf(at,
                      "%%c%d = \"tessera.graph.constant\"() {value = dense<%s> : tensor<5x5xf32>}\n%%v%d = "
                      "\"tessera.graph.%s\"(%%v%u, %%c%d)\n",
                      n, numbers[c], n, bin[w == 4 && c == 0 ? 0 : w], a, n);
      else
        at += sprintf(at,
                      "%%c%d = \"tessera.graph.constant\"() {value = dense<%s> : tensor<f32>}\n%%v%d = "
                      "\"tessera.graph.%s\"(%%c%d, %%v%u)\n",
                      n, numbers[c], n, bin[w % 4], n, a);
      n++;
    }
    char results[32];
    snprintf(results, sizeof results, "%%v%d, %%v%d", n - 1, n - 2);
    const char *text =
        gt_func("%v0: tensor<5x5xf32>, %v1: tensor<5x5xf32>", body, results, "tensor<5x5xf32>, tensor<5x5xf32>");
    ir_module *before = gt_parse(text), *after = gt_parse(text);
    assert_null(graph_simplify_module(after, NULL));
    if (!gt_same(graph_find_func(before, NULL), graph_find_func(after, NULL), seed, -1, 1))
      fail_msg("seed %u:\n%s", seed, body);
    ir_module_destroy(&before);
    ir_module_destroy(&after);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_rule_fires_and_keeps_the_values), cmocka_unit_test(each_rule_can_be_switched_off),
      cmocka_unit_test(every_rule_of_the_table_is_tested),    cmocka_unit_test(refusals_tell_why),
      cmocka_unit_test(denormals_are_zeros_of_their_sign_others_stay),
      cmocka_unit_test(reshapes_of_slices_and_moves_of_ones_keep_the_values),
                                     cmocka_unit_test(batch_norms_behind_products_keep_the_values),
      cmocka_unit_test(exact_mode_keeps_rounding),
      cmocka_unit_test(large_constants_are_shared_with_their_parts_and_copies),
      cmocka_unit_test(random_programs_keep_their_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
