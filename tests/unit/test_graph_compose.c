/* Tests of composite ops: what they mean, worked out by hand; into how many kernels, of which family, they become. The
 * pass is test_graph_expand.c's. Their types, bad inputs, derivatives and sharding are rows of the tables in
 * graph_ops_good.h, test_graph_compose_refusals, autodiff_cases.h and test_graph_shard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/expand.h"
#include "core/ir/schedule/schedule.h"
#include "core/passes/graph/expand_ops.h"
#include "core/passes/graph/simplify.h"
#include "core/passes/schedule/from_graph.h"
#include "tests/support/graph_text.h"
#include "tessera/tessera.h"

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"
#define INF INFINITY

enum { MOST = 40 };

/* ---- meaning ----------------------------------------------------------------------------------------------------- */

static void *stored(tsr_dtype t, const double *v, int64_t n) {
  char *p = malloc((size_t)n * 8 + 8);
  for (int64_t i = 0; i < n; i++) dtype_store(t, p, (size_t)i, v[i]);
  return p;
}

static const struct meaning {
  const char *args, *body, *type;
  double in[3][MOST], want[MOST];
} meanings[] = {
    {"", OPA("0", "iota", "", "shape = [2, 3], axis = 0"), "2x3xi32", {{0}}, {0, 0, 0, 1, 1, 1}},
    {"", OPA("0", "iota", "", "shape = [2, 3], dtype = \"f16\""), "2x3xf16", {{0}}, {0, 1, 2, 0, 1, 2}},
    {"%a: tensor<6xf32>", OPA("0", "clip", "%a", "min = -1.0, max = 2"), "6xf32", {{-INF, -1, 0, 3, INF, NAN}}, {-1, -1, 0, 2, 2, NAN}},
    {"%a: tensor<3xf32>", OPA("0", "clip", "%a", "min = 2.0, max = 1.0"), "3xf32", {{0, 1.5, 3}}, {1, 1, 1}},
    {"%a: tensor<3xf32>", OP("0", "clip", "%a"), "3xf32", {{-INF, 0, NAN}}, {-INF, 0, NAN}},
    {"%a: tensor<3xui8>", OPA("0", "clip", "%a", "min = -5, max = 200"), "3xui8", {{0, 100, 255}}, {0, 100, 200}},
    {"%a: tensor<3xi8>", OPA("0", "clip", "%a", "max = 1.0e300"), "3xi8", {{-128, 0, 127}}, {-128, 0, 127}},
    {"%a: tensor<3xi1>, %b: tensor<2x1xf32>", OP("x", "neg", "%b") OP("0", "where", "%a, %b, %x"), "2x3xf32",
     {{1, 0, 1}, {NAN, 6}}, {NAN, NAN, NAN, 6, -6, 6}},
    {"%a: tensor<2x3xf32>", OP("0", "tril", "%a"), "2x3xf32", {{1, NAN, INF, 4, 5, NAN}}, {1, 0, 0, 4, 5, 0}},
    {"%a: tensor<2x3xf32>", OPA("0", "tril", "%a", "diagonal = 1"), "2x3xf32", {{1, 2, 3, 4, 5, 6}}, {1, 2, 0, 4, 5, 6}},
    {"%a: tensor<2x3xf32>", OPA("0", "tril", "%a", "diagonal = -1"), "2x3xf32", {{1, 2, 3, 4, 5, 6}}, {0, 0, 0, 4, 0, 0}},
    {"%a: tensor<2x2x2xi1>", OP("0", "triu", "%a"), "2x2x2xi1", {{1, 1, 1, 1, 0, 1, 1, 0}}, {1, 1, 0, 1, 0, 1, 0, 0}},
    {"%a: tensor<2x2xi64>", OPA("0", "triu", "%a", "diagonal = 9223372036854775807"), "2x2xi64", {{1, 2, 3, 4}}, {0}},
    {"%a: tensor<2x2xi64>", OPA("0", "tril", "%a", "diagonal = 9223372036854775807"), "2x2xi64", {{1, 2, 3, 4}}, {1, 2, 3, 4}},
    {"%a: tensor<2x2xi32>", OPA("0", "tile", "%a", "repeats = [2, 3]"), "4x6xi32", {{1, 2, 3, 4}}, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}},
    {"%a: tensor<2x1x2xi32>", OPA("0", "tile", "%a", "repeats = [1, 2, 1]"), "2x2x2xi32", {{1, 2, 3, 4}}, {1, 2, 1, 2, 3, 4, 3, 4}},
    {"%a: tensor<1x1x1x1x1x1x1x2xi8>", OPA("0", "tile", "%a", "repeats = [2, 1, 1, 1, 1, 1, 1, 2]"), "2x1x1x1x1x1x1x4xi8", {{1, 2}}, {1, 2, 1, 2, 1, 2, 1, 2}},
    {"%a: tensor<1x1x1x1x1x1x2x2xi8>", OPA("0", "tile", "%a", "repeats = [1, 1, 1, 1, 1, 2, 2, 2]"), "1x1x1x1x1x2x4x4xi8", {{1, 2, 3, 4}},
     {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}},
    {"%a: tensor<2x3xi32>", "%1, %0 = \"tessera.graph.split\"(%a) {axis = 1, sizes = [1, 2]}\n", "2x2xi32", {{1, 2, 3, 4, 5, 6}}, {2, 3, 5, 6}},
    {"%a: tensor<4x1xi32>", "%1, %0 = \"tessera.graph.split\"(%a)\n", "2x1xi32", {{1, 2, 3, 4}}, {3, 4}},
    {"%a: tensor<6xi32>", OPA("0", "one_hot", "%a", "depth = 3, on = 5, off = 1.0"), "6x3xf32", {{0, 2, -1, -3, 3, -4}}, {5, 1, 1, 1, 1, 5, 1, 1, 5, 5, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"%a: tensor<2xui8>", OPA("0", "one_hot", "%a", "depth = 2, axis = 0, dtype = \"bool\""), "2x2xi1", {{1, 255}}, {0, 0, 1, 0}},
    {"%a: tensor<2x2xf64>, %v: tensor<2xf64>", OPA("0", "batch_norm", "%a, %v, %v", "eps = 0.0"), "2x2xf64", {{2, 5, 4, 9}, {1, 4}}, {1, 0.5, 3, 2.5}},
    {"%a: tensor<1x4x1xf64>", OPA("0", "group_norm", "%a", "groups = 2, eps = 0.0"), "1x4x1xf64", {{1, 3, 10, 14}}, {-1, 1, -1, 1}},
    {"%a: tensor<1x2x2xf64>, %g: tensor<2xf64>", OPA("0", "instance_norm", "%a, %g, %g", "eps = 0.0"), "1x2x2xf64", {{1, 3, 10, 14}, {2, 5}}, {0, 4, 0, 10}},
    {"%a: tensor<4x2xf64>", OPA("0", "logsumexp", "%a", "axes = [1]"), "4xf64", {{-INF, -INF, 1000, -INF, INF, 3, NAN, 1}}, {-INF, 1000, INF, NAN}},
    {"%a: tensor<2x2xf64>", OP("0", "log_softmax", "%a"), "2x2xf64", {{1000, -INF, -1000, -1000}}, {0, -INF, -0.69314718055994531, -0.69314718055994531}},
    {"%a: tensor<2x2xf64>", OP("0", "rope", "%a"), "2x2xf64", {{3, 4, 1, 0}}, {3, 4, 0.54030230586813972, 0.84147098480789651}},
    {"%a: tensor<1x4xf64>, %c: tensor<1x2xf64>", OP("0", "rope", "%a, %c, %c"), "1x4xf64", {{1, 2, 3, 4}, {2, 3}}, {-4, -6, 8, 18}},
    {"%a: tensor<1x4xf64>, %c: tensor<1x2xf64>", OPA("0", "rope", "%a, %c, %c", "interleaved = true"), "1x4xf64", {{1, 2, 3, 4}, {2, 3}}, {-2, 6, -3, 21}},
    {"%a: tensor<1x2xf64>, %p: tensor<1xi8>", OP("0", "rope", "%a, %p"), "1x2xf64", {{1, 0}, {-1}}, {0.54030230586813972, -0.84147098480789651}},
    {"%a: tensor<2x2xf64>, %b: tensor<2xf64>", OP("0", "mse", "%a, %b"), "f64", {{1, 2, 3, 4}, {1, 1}}, {3.5}},
    {"%a: tensor<3xf64>, %b: tensor<3xf64>", OPA("0", "kl", "%a, %b", "reduction = \"none\""), "3xf64", {{-INF, 0, 2}, {0, 1, 2}}, {0, 0, 2 * (0.69314718055994531 - 2)}},
    {"%a: tensor<2xf64>, %b: tensor<2xf64>", OPA("0", "kl", "%a, %b", "reduction = \"sum\", log_target = true"), "f64", {{-INF, 1}, {-INF, 0}}, {-1}},
    {"%a: tensor<4x2xf64>, %b: tensor<4xi32>", OPA("0", "cross_entropy", "%a, %b", "reduction = \"none\", ignore_index = -1"), "4xf64", {{0, 0, 1000, 0, 0, NAN, 0, 0}, {0, 0, -1, 2}}, {0.69314718055994531, 0, 0, NAN}},
    {"%a: tensor<3x2xf64>, %b: tensor<3xi32>", OPA("0", "cross_entropy", "%a, %b", "ignore_index = 7"), "f64", {{0, 0, 5, 5, INF, NAN}, {0, 1, 7}}, {0.69314718055994531}},
    {"%a: tensor<1x2xf64>, %b: tensor<1xi32>", OPA("0", "cross_entropy", "%a, %b", "ignore_index = 7"), "f64", {{0, 0}, {7}}, {0}},
    {"%a: tensor<2x2xf64>, %b: tensor<2x2xf64>", OPA("0", "cross_entropy", "%a, %b", "reduction = \"sum\""), "f64", {{0, 0, -INF, 3}, {0.5, 0.5, 0, 2}}, {0.69314718055994531}},
    {"%a: tensor<1x2xf64>, %b: tensor<2x3xf64>", "%1, %2, %0 = \"tessera.graph.qkv_projection\"(%a, %b)\n", "1x1xf64", {{1, 2}, {1, 2, 3, 4, 5, 6}}, {15}},
    {"%a: tensor<1x1x2x1xf64>, %b: tensor<1x1x2x1xf64>", OPA("0", "flash_attention", "%a, %a, %b", "causal = true"), "1x1x2x1xf64", {{0, 0}, {2, 4}}, {2, 3}},
    {"%a: tensor<1x1x3x1xf64>, %b: tensor<1x1x1x1xf64>", OPA("0", "flash_attention", "%a, %b, %b", "causal = true"), "1x1x3x1xf64", {{1, 2, 3}, {5}}, {0, 0, 5}},
    {"%a: tensor<1x1x4x1xf64>, %b: tensor<1x1x4x1xf64>", OPA("0", "flash_attention", "%a, %a, %b", "window = 2"), "1x1x4x1xf64", {{0}, {2, 4, 9, 1}}, {3, 5, 14.0 / 3, 5}},
    {"%a: tensor<1x2x1x2xf64>, %b: tensor<1x1x2x2xf64>", OPA("0", "flash_attention", "%a, %b, %b", "scale = 1.0, softcap = 2.0"), "1x2x1x2xf64", {{0, 0, INF, 0}, {1, 3, -1, 5}}, {0, 4, 0.96402758007581691, 3.0359724199241831}},
    {"%a: tensor<1x1x2x2xf64>, %b: tensor<2x1xf64>", "%n = \"tessera.graph.iota\"() {shape = [2, 2], axis = 1}\n%m = \"tessera.graph.iota\"() {shape = [2, 2], axis = 0}\n%c = \"tessera.graph.compare\"(%n, %m) {predicate = \"gt\"}\n" OP("0", "flash_attention", "%a, %a, %a, %c"), "1x1x2x2xf64", {{1, 2, 3, 4}}, {3, 4, 0, 0}},
    {"%a: tensor<1x1x1x1xf64>, %b: tensor<2xf64>", OPA("r", "reshape", "%b", "shape = [1, 1, 2, 1]") OP("0", "flash_attention", "%a, %r, %r, %b"), "1x1x1x1xf64", {{1}, {-INF, -INF}}, {0}},
#define LENGTHS(v, t) "%l = \"tessera.graph.constant\"() {value = dense<" v "> : tensor<" t "xi32>}\n"
#define LSE(args, attrs) "%1, %0 = \"tessera.graph.flash_attention\"(" args ") {" attrs "}\n"
    {"%a: tensor<2x1x1x1xf64>, %b: tensor<2x1x2x1xf64>", LENGTHS("[1, 0]", "2") OP("0", "flash_attention", "%a, %b, %b, %l"), "2x1x1x1xf64", {{0, 0}, {2, 4, 6, 8}}, {2, 0}},
    {"%a: tensor<2x1x1x1xf64>, %b: tensor<2x1x2x1xf64>", LENGTHS("[-3, 9]", "2") OP("0", "flash_attention", "%a, %b, %b, %l"), "2x1x1x1xf64", {{0, 0}, {2, 4, 6, 8}}, {0, 7}},
    {"%a: tensor<1x1x2x1xf64>, %b: tensor<1x1x3x1xf64>", LENGTHS("[2]", "1") OPA("0", "flash_attention", "%a, %b, %b, %l", "causal = true"), "1x1x2x1xf64", {{0, 0}, {2, 4, 99}}, {2, 3}},
    {"%a: tensor<1x1x2x1xf64>, %b: tensor<1x1x3x1xf64>", LENGTHS("[1]", "1") OPA("0", "flash_attention", "%a, %b, %b, %l", "causal = true"), "1x1x2x1xf64", {{0, 0}, {2, 4, 99}}, {0, 2}},
    {"%a: tensor<1x4x1x1xf64>, %b: tensor<1x2x2x1xf64>", LENGTHS("[[1, 2]]", "1x2") OP("0", "flash_attention", "%a, %b, %b, %l"), "1x4x1x1xf64", {{0}, {2, 4, 6, 8}}, {2, 2, 7, 7}},
    {"%a: tensor<1x1x2x1xf64>, %b: tensor<1x1x2x1xf64>", LSE("%a, %b, %b", "causal = true"), "1x1x2xf64", {{1, 1}, {3, 3}}, {3, 3.6931471805599454}},
    {"%a: tensor<1x1x1x1xf64>, %b: tensor<1x1x2x1xf64>", LENGTHS("[0]", "1") LSE("%a, %b, %b, %l", ""), "1x1x1xf64", {{1}, {3, 3}}, {-INF}},
    {"%a: tensor<1x1x1x1xf64>, %b: tensor<1x1x2x1xf64>", LSE("%a, %b, %b", ""), "1x1x1xf64", {{1}, {3, INF}}, {INF}},
/* A query of 0 against keys 1 and 3 with values 2 and 4: weights of 1/2, dy of 1, shift of 3. */
#define CONST64(name, v, shape) name " = \"tessera.graph.constant\"() {value = dense<" v "> : tensor<" shape "xf64>}\n"
#define BACKWARD(results, attrs)                                                                                      \
  CONST64("%k", "[[[[1.0], [3.0]]]]", "1x1x2x1") CONST64("%l", "[[[0.69314718055994531]]]", "1x1x1")                  \
  CONST64("%s", "[[[3.0]]]", "1x1x1") CONST64("%y", "[[[[1.0]]]]", "1x1x1x1")                                         \
  results " = \"tessera.graph.flash_attention_backward\"(%a, %k, %b, %y, %l, %s) {" attrs "}\n"
    {"%a: tensor<1x1x1x1xf64>, %b: tensor<1x1x2x1xf64>", BACKWARD("%0, %1, %2", ""), "1x1x1x1xf64", {{0}, {2, 4}}, {1}},
    {"%a: tensor<1x1x1x1xf64>, %b: tensor<1x1x2x1xf64>", BACKWARD("%0, %1, %2", "scale = 3.0"), "1x1x1x1xf64", {{0}, {2, 4}}, {3}},
    {"%a: tensor<1x1x1x1xf64>, %b: tensor<1x1x2x1xf64>", BACKWARD("%1, %0, %2", ""), "1x1x2x1xf64", {{0}, {2, 4}}, {0, 0}},
    {"%a: tensor<1x1x1x1xf64>, %b: tensor<1x1x2x1xf64>", BACKWARD("%1, %2, %0", "causal = true"), "1x1x2x1xf64", {{0}, {2, 4}}, {0.5, 0.5}},
    {"%a: tensor<1x1x1x1xf64>, %b: tensor<1x1x2x1xf64>", BACKWARD("%1, %2, %0", "window = 1"), "1x1x2x1xf64", {{0}, {2, 4}}, {0, 0.5}},
    {"%a: tensor<1x2xf64>, %b: tensor<2x2xf64>", OP("0", "factorized_matmul", "%a, %b, %b"), "1x2xf64", {{1, 2}, {1, 2, 3, 4}}, {37, 54}},
#define RATE "%l = \"tessera.graph.constant\"() {value = dense<0.1> : tensor<f64>}\n"
#define STEP "%s = \"tessera.graph.constant\"() {value = dense<2> : tensor<i32>}\n"
#define ADAMW(results) \
  RATE STEP "%g = \"tessera.graph.constant\"() {value = dense<0.5> : tensor<1xf64>}\n" \
  OPA("m", "slice", "%b", "starts = [0], sizes = [1]") OPA("v", "slice", "%b", "starts = [1], sizes = [1]") \
  results " = \"tessera.graph.adamw\"(%a, %g, %m, %v, %l, %s) {beta2 = 0.99, eps = 0.5, weight_decay = 0.1}\n"
    /* optimizers, worked out by hand; what isn't finite */
    {"%a: tensor<2xf64>, %b: tensor<2xf64>", RATE OP("0", "sgd", "%a, %b, %l"), "2xf64", {{1, 2}, {10, NAN}}, {0, NAN}},
    {"%a: tensor<1xf64>, %b: tensor<1xf64>", RATE "%0, %v = \"tessera.graph.sgd\"(%a, %b, %l, %b) {momentum = 0.5, weight_decay = 2.0}\n", "1xf64", {{1}, {4}}, {0.2}},
    {"%a: tensor<1xf64>, %b: tensor<1xf64>", RATE "%0, %v = \"tessera.graph.sgd\"(%a, %b, %l, %b) {momentum = 0.5, nesterov = true}\n", "1xf64", {{1}, {4}}, {0.3}},
    {"%a: tensor<1xf64>, %b: tensor<1xf64>", RATE "%v, %0 = \"tessera.graph.sgd\"(%a, %b, %l, %b) {momentum = 0.5, weight_decay = 2.0}\n", "1xf64", {{1}, {4}}, {8}},
    {"%a: tensor<1xf64>, %b: tensor<2xf64>", ADAMW("%0, %x, %y"), "1xf64", {{1}, {0.1, 0.04}}, {0.9523002755069976}},
    {"%a: tensor<1xf64>, %b: tensor<2xf64>", ADAMW("%x, %0, %y"), "1xf64", {{1}, {0.1, 0.04}}, {0.14}},
    {"%a: tensor<1xf64>, %b: tensor<2xf64>", ADAMW("%x, %y, %0"), "1xf64", {{1}, {0.1, 0.04}}, {0.0421}},
    {"%a: tensor<4xf32>, %b: tensor<2x2xf16>", "%0, %1 = \"tessera.graph.check_numerics\"(%a, %b)\n", "i32", {{NAN, 1, INF, 0}, {NAN, NAN, -INF, 7}}, {3}},
    {"%a: tensor<4xf32>, %b: tensor<2x2xf16>", "%1, %0 = \"tessera.graph.check_numerics\"(%a, %b)\n", "i32", {{NAN, 1, INF, 0}, {NAN, NAN, -INF, 7}}, {2}},
#define SCALED(results, attrs) results " = \"tessera.graph.loss_scale\"(%a, %b, %c) {" attrs "}\n"
    {"%a: tensor<f32>, %b: tensor<i32>, %c: tensor<2xf16>", SCALED("%0, %x, %y, %z", "interval = 5"), "f32", {{8}, {4}, {1, 2}}, {16}},
    {"%a: tensor<f32>, %b: tensor<i32>, %c: tensor<2xf16>", SCALED("%x, %0, %y, %z", "interval = 6"), "i32", {{8}, {4}, {1, 2}}, {5}},
    {"%a: tensor<f32>, %b: tensor<i32>, %c: tensor<2xf16>", SCALED("%x, %y, %z, %0", ""), "2xf32", {{8}, {4}, {1, INF}}, {0.125, INF}},
    {"%a: tensor<f32>, %b: tensor<i32>, %c: tensor<2xf16>", SCALED("%x, %y, %0, %z", ""), "i1", {{8}, {4}, {1, NAN}}, {1}},
    {"%a: tensor<f32>, %b: tensor<i32>, %c: tensor<2xf16>", SCALED("%x, %y, %0, %z", ""), "i1", {{8}, {4}, {0, -4}}, {0}},
    {"%a: tensor<f32>, %b: tensor<i32>, %c: tensor<0xf16>", SCALED("%0, %y, %x, %z", "interval = 1, max = 12.0"), "f32", {{8}, {0}, {0}}, {12}},
    {"%a: tensor<f32>, %b: tensor<i32>, %c: tensor<1xf64>", SCALED("%0, %y, %x, %z", "backoff = 0.25, min = 3.0"), "f32", {{8}, {4}, {-INF}}, {3}},
    {"%a: tensor<4xf32>", "%0, %s = \"tessera.graph.quantize\"(%a)\n", "4xf8E4M3FN", {{-896, 1, 0, 33}}, {-448, 0.5, 0, 16}},
    {"%a: tensor<4xf32>, %b: tensor<f32>", "%0, %s = \"tessera.graph.quantize\"(%a, %b) {dtype = \"fp8_e5m2\"}\n", "4xf8E5M2", {{-INF, NAN, 1e6, 3}, {0.5}}, {-57344, NAN, 57344, 6}},
    {"%a: tensor<3xf32>", "%x, %0 = \"tessera.graph.quantize\"(%a) {scales = \"block\", block = 2}\n", "2xf32", {{NAN, 1, INF}}, {NAN, INF}},
    {"%a: tensor<0x3xf32>", "%x, %0 = \"tessera.graph.quantize\"(%a) {scales = \"channel\"}\n", "1x3xf32", {{0}}, {1, 1, 1}},
    {"%a: tensor<2x2xf32>", OPA("0", "fake_quantize", "%a", "scales = \"channel\", axis = 0"), "2x2xf32", {{448, 17, -9, 0}}, {448, 16, -9, 0}},
    {"%a: tensor<2xf64>, %b: tensor<f64>", OP("0", "global_norm", "%a, %b"), "f64", {{3, 4}, {12}}, {13}},
    {"%a: tensor<2xf64>, %b: tensor<f64>", "%x, %y, %0 = \"tessera.graph.clip_by_global_norm\"(%a, %b)\n", "f64", {{3, 4}, {12}}, {13}},
    {"%a: tensor<2xf64>, %b: tensor<f64>", "%0, %x, %y = \"tessera.graph.clip_by_global_norm\"(%a, %b) {max_norm = 6.5}\n", "2xf64", {{3, 4}, {12}}, {1.5, 2}},
    {"%a: tensor<2xf64>, %b: tensor<f64>", "%0, %x, %y = \"tessera.graph.clip_by_global_norm\"(%a, %b) {max_norm = 14.0}\n", "2xf64", {{3, 4}, {12}}, {3, 4}},
    {"%a: tensor<2xf64>, %b: tensor<f64>", "%0, %x, %y = \"tessera.graph.clip_by_global_norm\"(%a, %b)\n", "2xf64", {{3, INF}, {12}}, {0, NAN}},
    {"%a: tensor<2xf64>, %b: tensor<f64>", "%0, %x, %y = \"tessera.graph.clip_by_global_norm\"(%a, %b)\n", "2xf64", {{3, 4}, {NAN}}, {NAN, NAN}},
    {"%a: tensor<2xf64>, %b: tensor<2xi32>", OPA("0", "dropout", "%a, %b", "p = 1.0"), "2xf64", {{NAN, 4}, {1, 2}}, {0, 0}},
    {"%a: tensor<2xf64>, %b: tensor<2xi32>", OPA("0", "dropout", "%a, %b", "p = 0.0"), "2xf64", {{NAN, 4}, {1, 2}}, {NAN, 4}},
#define EIN(eq, args) OPA("0", "einsum", args, "equation = \"" eq "\"")
    {"%a: tensor<2x2xf64>, %b: tensor<2x2xf64>", EIN("ij,jk->ik", "%a, %b"), "2x2xf64", {{1, 2, 3, 4}, {5, 6, 7, 8}}, {19, 22, 43, 50}},
    {"%a: tensor<2x2xf64>, %b: tensor<2x2xf64>", EIN(" ij , jk ", "%a, %b"), "2x2xf64", {{1, 2, 3, 4}, {5, 6, 7, 8}}, {19, 22, 43, 50}},
    {"%a: tensor<2x2xf64>, %b: tensor<2x2xf64>", EIN("ji,kj->ki", "%a, %b"), "2x2xf64", {{1, 2, 3, 4}, {5, 6, 7, 8}}, {23, 34, 31, 46}},
    {"%a: tensor<2x3xf64>", EIN("ba", "%a"), "3x2xf64", {{1, 2, 3, 4, 5, 6}}, {1, 4, 2, 5, 3, 6}},
    {"%a: tensor<2x2xf64>", EIN("ii", "%a"), "f64", {{1, NAN, INF, 4}}, {5}},
    {"%a: tensor<2x2xf64>", EIN("ii->i", "%a"), "2xf64", {{1, NAN, INF, 4}}, {1, 4}},
    {"%a: tensor<2x2xf64>", EIN("Ab->", "%a"), "f64", {{1, 2, 3, 4}}, {10}},
    {"%a: tensor<2xf64>, %b: tensor<3xf64>", EIN("i,j->ji", "%a, %b"), "3x2xf64", {{1, 2}, {3, 4, 5}}, {3, 6, 4, 8, 5, 10}},
    {"%a: tensor<2x2xf64>, %b: tensor<2xf64>", EIN("...i,i->...", "%a, %b"), "2xf64", {{1, 2, 3, 4}, {1, 10}}, {21, 43}},
    {"%a: tensor<2x2xf64>, %b: tensor<1x2xf64>", EIN("...i,...i->i...", "%a, %b"), "2x2xf64", {{1, 2, 3, 4}, {1, 10}}, {1, 3, 20, 40}},
    {"%a: tensor<2x2xf64>, %b: tensor<1x2xf64>", EIN("a...,...b->ab", "%a, %b"), "2x2xf64", {{1, 2, 3, 4}, {1, 10}}, {3, 30, 7, 70}},
    {"%a: tensor<2x2xf64>, %b: tensor<1x2xf64>", EIN("...,...", "%b, %a"), "2x2xf64", {{1, 2, 3, 4}, {1, 10}}, {1, 20, 3, 40}},
    {"%a: tensor<2x2xf64>, %b: tensor<2xf64>", EIN("ij,i,j->", "%a, %b, %b"), "f64", {{1, 2, 3, 4}, {1, 10}}, {451}},
    {"%a: tensor<2x0xf64>, %b: tensor<0x2xf64>", EIN("ij,jk->ik", "%a, %b"), "2x2xf64", {{0}}, {0, 0, 0, 0}},
    {"%a: tensor<1x8x1x1xi32>", OPA("0", "depth_to_space", "%a", "block = 2"), "1x2x2x2xi32", {{0, 1, 2, 3, 4, 5, 6, 7}}, {0, 2, 4, 6, 1, 3, 5, 7}},
    {"%a: tensor<1x8x1x1xi32>", OPA("0", "depth_to_space", "%a", "block = 2, order = \"crd\""), "1x2x2x2xi32", {{0, 1, 2, 3, 4, 5, 6, 7}}, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"%a: tensor<1x1x1x8xi32>", OPA("0", "depth_to_space", "%a", "block = 2, layout = \"nhwc\""), "1x2x2x2xi32", {{0, 1, 2, 3, 4, 5, 6, 7}}, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"%a: tensor<1x2x2x2xi32>", OPA("0", "space_to_depth", "%a", "block = 2"), "1x8x1x1xi32", {{0, 2, 4, 6, 1, 3, 5, 7}}, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"%a: tensor<2xi64>", OPA("0", "one_hot", "%a", "depth = 2, dtype = \"i64\""), "2x2xi64", {{-9223372036854775808.0, 1}}, {0, 0, 0, 1}},
    /* windows: padding doesn't count, NaN does; the last one may hang over; holes; an even window's odd padding */
    {"%a: tensor<1x1x5xf64>", OPA("0", "max_pool", "%a", "kernel = [3], low = [1], high = [1]"), "1x1x5xf64", {{-3, -1, -4, 1, -5}}, {-1, -1, 1, 1, 1}},
    {"%a: tensor<1x1x5xi8>", OPA("0", "max_pool", "%a", "kernel = [2], strides = [2], ceil_mode = true"), "1x1x3xi8", {{-128, -127, -3, -1, -128}}, {-127, -1, -128}},
    {"%a: tensor<1x1x4xf64>", OPA("0", "max_pool", "%a", "kernel = [2]"), "1x1x3xf64", {{1, NAN, 2, INF}}, {NAN, NAN, INF}},
    {"%a: tensor<1x1x1xf64>", OPA("0", "max_pool", "%a", "kernel = [2], dilations = [4], low = [2], high = [2]"), "1x1x1xf64", {{7}}, {-INF}},
    {"%a: tensor<1x1x3xui8>", OPA("0", "max_pool", "%a", "kernel = [2], padding = \"same\""), "1x1x3xui8", {{1, 5, 2}}, {5, 5, 2}},
    {"%a: tensor<1x1x3xui8>", OPA("0", "max_pool", "%a", "kernel = [2], padding = \"same_lower\""), "1x1x3xui8", {{1, 5, 2}}, {1, 5, 5}},
    {"%a: tensor<1x3x1xi64>", OPA("0", "max_pool", "%a", "kernel = [2], strides = [3], high = [1], ceil_mode = true, layout = \"nhwc\""), "1x1x1xi64", {{4, 5, 6}}, {5}},
    {"%a: tensor<2x1x2x2xf64>", OP("0", "max_pool", "%a"), "2x1x1x1xf64", {{1, 4, 2, 3, -1, -2, -3, -4}}, {4, -1}},
    {"", OPA("a", "iota", "", "shape = [1, 1, 40], axis = 2, dtype = \"f64\"") OPA("0", "max_pool", "%a", "kernel = [29], strides = [3]"), "1x1x4xf64", {{0}}, {28, 31, 34, 37}},
    {"", OPA("a", "iota", "", "shape = [1, 1, 40], axis = 2, dtype = \"f64\"") OPA("0", "average_pool", "%a", "kernel = [29], strides = [3]"), "1x1x4xf64", {{0}}, {14, 17, 20, 23}},
    {"", OPA("a", "iota", "", "shape = [56], dtype = \"f64\"") OPA("b", "reshape", "%a", "shape = [1, 1, 7, 8]") OPA("0", "average_pool", "%b", "kernel = [6, 6]"), "1x1x2x3xf64", {{0}}, {22.5, 23.5, 24.5, 30.5, 31.5, 32.5}},
    {"%a: tensor<1x1x3xf64>", OPA("0", "average_pool", "%a", "kernel = [3], low = [1], high = [1]"), "1x1x3xf64", {{3, 6, 9}}, {4.5, 6, 7.5}},
    {"%a: tensor<1x1x3xf64>", OPA("0", "average_pool", "%a", "kernel = [3], low = [1], high = [1], count_include_pad = true"), "1x1x3xf64", {{3, 6, 9}}, {3, 6, 5}},
    {"%a: tensor<1x1x5xf64>", OPA("0", "average_pool", "%a", "kernel = [3], strides = [3], ceil_mode = true, count_include_pad = true"), "1x1x2xf64", {{1, 2, 3, 4, 5}}, {2, 4.5}},
    {"%a: tensor<1x1x5xf64>", OPA("0", "average_pool", "%a", "kernel = [2], dilations = [3]"), "1x1x2xf64", {{1, 2, 3, 4, 5}}, {2.5, 3.5}},
    {"%a: tensor<1x1x1xf64>", OPA("0", "average_pool", "%a", "kernel = [2], dilations = [4], low = [2], high = [2]"), "1x1x1xf64", {{7}}, {0}},
    /* so many places that their counts are computed where they are read, not constants */
    {"", OPA("a", "iota", "", "shape = [1, 1, 2099], axis = 2, dtype = \"f64\"") OPA("b", "average_pool", "%a", "kernel = [3], strides = [2], low = [1], high = [1]") OPA("0", "slice", "%b", "starts = [0, 0, 0], sizes = [1, 1, 2]"), "1x1x2xf64", {{0}}, {0.5, 2}},
    {"", OPA("a", "iota", "", "shape = [1, 1, 2099], axis = 2, dtype = \"f64\"") OPA("b", "average_pool", "%a", "kernel = [3], strides = [2], low = [1], high = [1]") OPA("0", "slice", "%b", "starts = [0, 0, 1048], sizes = [1, 1, 2]"), "1x1x2xf64", {{0}}, {2096, 2097.5}},
    {"", OPA("a", "iota", "", "shape = [1, 1, 1, 1026], axis = 3, dtype = \"f64\"") OPA("c", "broadcast", "%a", "shape = [1, 1, 3, 1026]") OPA("b", "average_pool", "%c", "kernel = [3, 3], low = [1, 1], high = [1, 1]") OPA("0", "slice", "%b", "starts = [0, 0, 0, 1023], sizes = [1, 1, 1, 3]"), "1x1x1x3xf64", {{0}}, {1023, 1024, 1024.5}},
    {"%a: tensor<1x2x2x2xf64>", OPA("0", "average_pool", "%a", "kernel = [2, 2], layout = \"nhwc\""), "1x1x1x2xf64", {{1, 10, 2, 20, 3, 30, 4, 40}}, {2.5, 25}},
    {"%a: tensor<1x1x3x3xf64>", OPA("0", "average_pool", "%a", "kernel = [2, 2], padding = \"same\""), "1x1x3x3xf64", {{1, 2, 3, 4, 5, 6, 7, 8, 9}}, {3, 4, 4.5, 6, 7, 7.5, 7.5, 8.5, 9}},
    {"%a: tensor<1x2x1x1x2xf64>", OPA("0", "average_pool", "%a", "layout = \"nhwc\""), "1x1x1x1x2xf64", {{1, 2, 3, 4}}, {2, 3}},
    /* convolutions: correlation, as everywhere; padding; groups; both layouts */
    {"%a: tensor<1x1x4xf64>, %w: tensor<1x1x2xf64>", OP("0", "conv1d", "%a, %w"), "1x1x3xf64", {{1, 2, 3, 4}, {10, 1}}, {12, 23, 34}},
    {"%a: tensor<1x4x1xf64>, %w: tensor<3x1x2xf64>", OPA("0", "conv1d", "%a, %w", "padding = \"same\", strides = [2], layout = \"nhwc\""), "1x2x2xf64", {{1, 2, 3, 4}, {1, -1, 10, -10, 100, -100}}, {321, -321, 43, -43}},
    {"%a: tensor<1x2x2x2xf64>, %w: tensor<2x1x1x2xf64>, %b: tensor<2xf64>", OPA("0", "conv2d", "%a, %w", "groups = 2, dilations = [1, 1]"), "1x2x2x1xf64", {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 10, 2, 20}}, {21, 43, 130, 174}},
    {"%a: tensor<1x2x1x2xf64>, %w: tensor<2x1x1x2xf64>", OPA("0", "conv2d", "%a, %w", "groups = 2, layout = \"nhwc\""), "1x1x1x2xf64", {{1, 2, 3, 4}, {1, 10, 2, 20}}, {7, 100}},
    {"%a: tensor<1x1x3xf64>, %w: tensor<1x1x2xf64>", OPA("0", "conv1d", "%a, %w", "dilations = [2], low = [2], high = [1]"), "1x1x4xf64", {{1, 2, 3}, {1, 10}}, {10, 20, 31, 2}},
    /* of integers: bytes are summed in i32, an only channel and channels by themselves too */
    {"%a: tensor<1x2x1x2xui8>, %w: tensor<2x2x1x2xi8>", OP("0", "conv2d", "%a, %w"), "1x2x1x1xi32", {{255, 255, 255, 255}, {-128, -128, -128, -128, 127, 1, 0, -1}}, {-130560, 32385}},
    {"%a: tensor<1x2x1x2xi8>, %w: tensor<2x1x1x2xui8>, %b: tensor<2xi32>", OPA("0", "conv2d", "%a, %w, %b", "groups = 2, low = [0, 1]"), "1x2x1x2xi32", {{-128, 127, 1, -1}, {255, 254, 1, 0}, {5, -7}}, {-32507, -377, -7, -6}},
    {"%a: tensor<1x1x3xui8>, %w: tensor<1x1x2xui8>", OP("0", "conv1d", "%a, %w"), "1x1x2xi32", {{255, 255, 1}, {255, 2}}, {65535, 65027}},
    {"%a: tensor<1x1x3xi64>, %w: tensor<2x1x2xi64>", OP("0", "conv1d", "%a, %w"), "1x2x2xi64", {{1 << 20, 3, -1}, {1 << 20, 2, 0, -1}}, {1099511627782, 3145726, -3, 1}},
    {"%a: tensor<1x0x2xi8>, %w: tensor<1x0x1xi8>, %b: tensor<1xi32>", OP("0", "conv1d", "%a, %w, %b"), "1x1x2xi32", {{0}, {0}, {-2}}, {-2, -2}},
    {"%a: tensor<2x1x3xf64>", OPA("0", "patches", "%a", "kernel = [2], flat = true"), "4x2xf64", {{1, 2, 3, 4, 5, 6}}, {1, 2, 2, 3, 4, 5, 5, 6}},
    /* every element adds its window of weights; what is cut; what no window needs */
    {"%a: tensor<1x1x2xf64>, %w: tensor<1x1x3xf64>", OPA("0", "conv_transpose", "%a, %w", "strides = [2]"), "1x1x5xf64", {{1, 10}, {1, 2, 3}}, {1, 2, 13, 20, 30}},
    {"%a: tensor<1x1x2xf64>, %w: tensor<1x1x3xf64>, %b: tensor<1xf64>", OPA("0", "conv_transpose", "%a, %w, %b", "strides = [2], low = [1], high = [1], output_padding = [1]"), "1x1x4xf64", {{1, 10}, {1, 2, 3}, {100}}, {102, 113, 120, 130}},
    {"%a: tensor<1x1x1x2xf64>, %w: tensor<1x1x2x2xf64>", OPA("0", "conv_transpose", "%a, %w", "strides = [2, 2]"), "1x1x2x4xf64", {{1, 10}, {1, 2, 3, 4}}, {1, 2, 10, 20, 3, 4, 30, 40}},
    {"%a: tensor<2x1x1x1xf64>, %w: tensor<1x2x2x3xf64>, %b: tensor<2xf64>", OPA("0", "conv_transpose", "%a, %w, %b", "strides = [2, 3]"), "2x2x2x3xf64", {{1, 10}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {100, 200}}, {101, 102, 103, 104, 105, 106, 207, 208, 209, 210, 211, 212, 110, 120, 130, 140, 150, 160, 270, 280, 290, 300, 310, 320}},
    {"%a: tensor<1x2x2xf64>, %w: tensor<2x1x2xf64>", OPA("0", "conv_transpose", "%a, %w", "strides = [2]"), "1x1x4xf64", {{1, 2, 10, 20}, {1, 2, 3, 4}}, {31, 42, 62, 84}},
    {"%a: tensor<1x2x1xf64>, %w: tensor<1x2x1xf64>", OPA("0", "conv_transpose", "%a, %w", "strides = [3], layout = \"nhwc\""), "1x4x2xf64", {{1, 10}, {1, 2}}, {1, 2, 0, 0, 0, 0, 10, 20}},
    {"%a: tensor<1x2x2xf64>, %w: tensor<2x1x2xf64>", OPA("0", "conv_transpose", "%a, %w", "groups = 2, padding = \"same\""), "1x2x2xf64", {{1, 2, 3, 4}, {1, 10, 2, 20}}, {1, 12, 6, 68}},
    {"%a: tensor<1x0x3xf64>, %w: tensor<2x0x2xf64>, %b: tensor<2xf64>", OP("0", "conv1d", "%a, %w, %b"), "1x2x2xf64", {{0}, {0}, {3, 4}}, {3, 3, 4, 4}},
    {"%a: tensor<1x1x3xf64>", OPA("0", "patches", "%a", "kernel = [2], low = [1], reversed = true"), "1x3x2xf64", {{1, 2, 3}}, {1, 0, 2, 1, 3, 2}},
    {"%a: tensor<1x1x0x3xf64>", OPA("0", "average_pool", "%a", "kernel = [2, 2], padding = \"same\""), "1x1x0x3xf64", {{0}}, {0}},
    {"%a: tensor<1x1x2x2xui8>", OPA("0", "resize", "%a", "scales = [2, 3]"), "1x1x4x6xui8", {{1, 2, 3, 4}}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}},
    {"%a: tensor<1x1x4xi32>", OPA("0", "resize", "%a", "scales = [0.6]"), "1x1x2xi32", {{1, 2, 3, 4}}, {1, 3}},
    {"%a: tensor<1x1x4xi32>", OPA("0", "resize", "%a", "sizes = [8], nearest_mode = \"floor\", coordinate_transformation_mode = \"align_corners\""), "1x1x8xi32", {{1, 2, 3, 4}}, {1, 1, 1, 2, 2, 3, 3, 4}},
    {"%a: tensor<1x1x4xi32>", OPA("0", "resize", "%a", "sizes = [8], nearest_mode = \"round_prefer_ceil\", coordinate_transformation_mode = \"asymmetric\""), "1x1x8xi32", {{1, 2, 3, 4}}, {1, 2, 2, 3, 3, 4, 4, 4}},
    {"%a: tensor<1x1x4xi32>", OPA("0", "resize", "%a", "sizes = [8], nearest_mode = \"ceil\""), "1x1x8xi32", {{1, 2, 3, 4}}, {1, 2, 2, 3, 3, 4, 4, 4}},
    {"%a: tensor<1x1x4xi32>", OPA("0", "resize", "%a", "sizes = [2], nearest_mode = \"floor\", coordinate_transformation_mode = \"asymmetric\""), "1x1x2xi32", {{1, 2, 3, 4}}, {1, 3}},
    {"%a: tensor<1x1x4xi32>", OPA("0", "resize", "%a", "sizes = [2]"), "1x1x2xi32", {{1, 2, 3, 4}}, {1, 3}},
    {"%a: tensor<1x1x4xi32>", OPA("0", "resize", "%a", "sizes = [2], nearest_mode = \"round_prefer_ceil\""), "1x1x2xi32", {{1, 2, 3, 4}}, {2, 4}},
    {"%a: tensor<1x1x4xi32>", OPA("0", "resize", "%a", "sizes = [4], nearest_mode = \"floor\", coordinate_transformation_mode = \"tf_half_pixel_for_nn\""), "1x1x4xi32", {{1, 2, 3, 4}}, {1, 2, 3, 4}},
    {"%a: tensor<1x1x3xi32>", OPA("0", "resize", "%a", "sizes = [2], nearest_mode = \"floor\", coordinate_transformation_mode = \"tf_half_pixel_for_nn\""), "1x1x2xi32", {{1, 2, 3}}, {1, 3}},
    {"%a: tensor<1x4x2xi32>", OPA("0", "resize", "%a", "sizes = [3], layout = \"nhwc\""), "1x3x2xi32", {{1, 5, 2, 6, 3, 7, 4, 8}}, {1, 5, 2, 6, 4, 8}},
    {"%a: tensor<1x1x2xf64>", OPA("0", "resize", "%a", "sizes = [4], mode = \"linear\""), "1x1x4xf64", {{1, 2}}, {1, 1.25, 1.75, 2}},
    {"%a: tensor<1x1x2xf64>", OPA("0", "resize", "%a", "sizes = [3], mode = \"linear\", coordinate_transformation_mode = \"align_corners\""), "1x1x3xf64", {{1, NAN}}, {1, NAN, NAN}},
    {"%a: tensor<1x1x2xf64>", OPA("0", "resize", "%a", "sizes = [4], mode = \"linear\""), "1x1x4xf64", {{INF, 1}}, {INF, INF, INF, 1}},
    {"%a: tensor<1x1x2xf64>", OPA("0", "resize", "%a", "scales = [2.5], mode = \"linear\", coordinate_transformation_mode = \"asymmetric\""), "1x1x5xf64", {{1, 2}}, {1, 1.4, 1.8, 2, 2}},
    {"%a: tensor<1x1x4xf64>", OPA("0", "resize", "%a", "sizes = [1], mode = \"linear\""), "1x1x1xf64", {{1, 2, 3, 4}}, {2.5}},
    {"%a: tensor<1x1x4xf64>", OPA("0", "resize", "%a", "sizes = [1], mode = \"linear\", coordinate_transformation_mode = \"pytorch_half_pixel\""), "1x1x1xf64", {{1, 2, 3, 4}}, {1}},
    {"%a: tensor<1x1x4xf64>", OPA("0", "resize", "%a", "sizes = [1], mode = \"linear\", coordinate_transformation_mode = \"align_corners\""), "1x1x1xf64", {{1, 2, 3, 4}}, {1}},
    {"%a: tensor<1x1x4xf64>", OPA("0", "resize", "%a", "scales = [0.6], mode = \"linear\""), "1x1x2xf64", {{1, 2, 3, 4}}, {1 + 1.0 / 3, 3}},
    {"%a: tensor<1x1x4xf64>", OPA("0", "resize", "%a", "scales = [0.6], mode = \"linear\", coordinate_transformation_mode = \"half_pixel_symmetric\""), "1x1x2xf64", {{1, 2, 3, 4}}, {5.0 / 3, 10.0 / 3}},
    {"%a: tensor<1x1x2x4xf64>", OPA("0", "resize", "%a", "scales = [0.6, 0.6], mode = \"linear\""), "1x1x1x2xf64", {{1, 2, 3, 4, 5, 6, 7, 8}}, {8.0 / 3, 13.0 / 3}},
    {"%a: tensor<1x1x4xf64>", OPA("0", "resize", "%a", "sizes = [8], mode = \"cubic\""), "1x1x8xf64", {{1, 2, 3, 4}}, {0.89453125, 1.19140625, 1.66796875, 2.296875, 2.703125, 3.33203125, 3.80859375, 4.10546875}},
    {"%a: tensor<1x1x4xf64>", OPA("0", "resize", "%a", "sizes = [8], mode = \"cubic\", cubic_coeff_a = -0.5"), "1x1x8xf64", {{1, 2, 3, 4}}, {0.9296875, 1.1796875, 1.7265625, 2.25, 2.75, 3.2734375, 3.8203125, 4.0703125}},
    {"%a: tensor<1x1x4xf64>", OPA("0", "resize", "%a", "sizes = [8], mode = \"cubic\", cubic_coeff_a = -0.5, exclude_outside = true"), "1x1x8xf64", {{1, 2, 3, 4}}, {0.9117647058823528, 1.167883211678832, 1.7099236641221374, 2.25, 2.75, 3.2900763358778624, 3.832116788321168, 4.088235294117647}},
    {"%a: tensor<1x1x4x4xf64>", OPA("0", "resize", "%a", "sizes = [3, 3], mode = \"linear\", roi = [0.4, 0.6, 0.6, 0.8], coordinate_transformation_mode = \"tf_crop_and_resize\""), "1x1x3x3xf64", {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}, {7.6, 7.9, 8.2, 8.8, 9.1, 9.4, 10, 10.3, 10.6}},
    {"%a: tensor<1x1x4x4xf64>", OPA("0", "resize", "%a", "sizes = [3, 3], mode = \"linear\", roi = [0.4, 0.6, 1.2, 1.7], extrapolation_value = 10.0, coordinate_transformation_mode = \"tf_crop_and_resize\""), "1x1x3x3xf64", {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}, {7.6, 10, 10, 12.4, 10, 10, 10, 10, 10}},
    {"%a: tensor<1x1x4xi32>", OPA("0", "resize", "%a", "sizes = [3], roi = [-1, 1], extrapolation_value = 7.0, coordinate_transformation_mode = \"tf_crop_and_resize\""), "1x1x3xi32", {{1, 2, 3, 4}}, {7, 1, 4}},
    {"%a: tensor<1x1x4xi32>", OPA("0", "resize", "%a", "sizes = [1], roi = [0.0, 1.0], nearest_mode = \"ceil\", coordinate_transformation_mode = \"tf_crop_and_resize\""), "1x1x1xi32", {{1, 2, 3, 4}}, {3}},
    {"%a: tensor<1x1x2x1x2xf64>", OPA("0", "resize", "%a", "sizes = [4, 1, 2], mode = \"linear\""), "1x1x4x1x2xf64", {{1, 5, 2, 6}}, {1, 5, 1.25, 5.25, 1.75, 5.75, 2, 6}},
    {"%a: tensor<1x1x0x3xf64>", OPA("0", "resize", "%a", "sizes = [0, 6]"), "1x1x0x6xf64", {{0}}, {0}},
    /* along an axis: what is before, NaN, infinity, wrapping; the first or last extreme; NaN is the greatest */
    {"%a: tensor<2x3xf64>", OP("0", "cumsum", "%a"), "2x3xf64", {{1, 2, 3, INF, -INF, 5}}, {1, 3, 6, INF, NAN, NAN}},
    {"%a: tensor<3x2xf64>", OPA("0", "cumsum", "%a", "axis = 0, exclusive = true"), "3x2xf64", {{1, 2, 3, NAN, 5, 6}}, {0, 0, 1, 2, 4, NAN}},
    {"%a: tensor<4xui8>", OPA("0", "cumsum", "%a", "reverse = true"), "4xui8", {{1, 100, 100, 100}}, {45, 44, 200, 100}},
    {"%a: tensor<4xf64>", OPA("0", "cumsum", "%a", "reverse = true, exclusive = true"), "4xf64", {{1, 2, 3, 4}}, {9, 7, 4, 0}},
    {"%a: tensor<0x3xf64>", OPA("0", "cumsum", "%a", "axis = 0"), "0x3xf64", {{0}}, {0}},
    {"", OPA("a", "iota", "", "shape = [2000], dtype = \"f64\"") OP("b", "cumsum", "%a") OPA("0", "slice", "%b", "starts = [31], sizes = [4], strides = [600]"), "4xf64", {{0}}, {496, 199396, 758296, 1677196}},
    {"%a: tensor<4xf64>", OP("0", "cumprod", "%a"), "4xf64", {{2, -3, 0, 5}}, {2, -6, 0, 0}},
    {"%a: tensor<4xi8>", OPA("0", "cumprod", "%a", "exclusive = true"), "4xi8", {{100, 2, 3, 9}}, {1, 100, -56, 88}},
    {"%a: tensor<5xf64>", "%0, %n = \"tessera.graph.nonzero\"(%a) {size = 4}\n", "1x4xi32", {{0, 3, -0.0, NAN, 1}}, {1, 3, 4, -1}},
    {"%a: tensor<2x3xi1>", "%0, %n = \"tessera.graph.nonzero\"(%a) {size = 2, dtype = \"i64\"}\n", "2x2xi64", {{0, 0, 1, 1, 0, 1}}, {0, 1, 2, 0}},
    {"%a: tensor<2x3xi1>", "%n, %0 = \"tessera.graph.nonzero\"(%a) {size = 2}\n", "i32", {{0, 0, 1, 1, 0, 1}}, {3}},
    {"%a: tensor<0x3xi8>", "%0, %n = \"tessera.graph.nonzero\"(%a) {size = 1, fill = 7}\n", "2x1xi32", {{0}}, {7, 7}},
    {"", OPA("a", "iota", "", "shape = [9000]") OPA("c", "constant", "", "value = dense<1499> : tensor<i32>") OP("d", "rem", "%a, %c") OPA("e", "compare", "%d, %c", "predicate = \"eq\"") OPA("f", "compare", "%d, %a", "predicate = \"ne\"") OP("g", "or", "%e, %f") "%h, %n = \"tessera.graph.nonzero\"(%g) {size = 8000}\n" OPA("0", "slice", "%h", "starts = [0, 0], sizes = [1, 3], strides = [1, 3750]"), "1x3xi32", {{0}}, {1499, 5249, 8999}},
    {"%a: tensor<2x4xf64>", OP("0", "argmax", "%a"), "2xi32", {{1, 5, 5, 2, -INF, NAN, INF, NAN}}, {1, 1}},
    {"%a: tensor<2x4xf64>", OPA("0", "argmax", "%a", "select_last_index = true, keepdims = true"), "2x1xi32", {{1, 5, 5, 2, -INF, NAN, INF, NAN}}, {2, 3}},
    {"%a: tensor<2x3xi64>", OPA("0", "argmin", "%a", "axis = 0, dtype = \"i64\""), "3xi64", {{1, 5, -3, 1, 4, -3}}, {0, 1, 0}},
    {"%a: tensor<3xf64>", OP("0", "argmin", "%a"), "i32", {{-INF, NAN, -INF}}, {1}},
    {"%a: tensor<1x6xf64>", "%0, %i = \"tessera.graph.topk\"(%a) {k = 4}\n", "1x4xf64", {{3, NAN, -1, 7, INF, 3}}, {NAN, INF, 7, 3}},
    {"%a: tensor<1x6xf64>", "%v, %0 = \"tessera.graph.topk\"(%a) {k = 5}\n", "1x5xi32", {{3, NAN, -1, 7, NAN, 3}}, {1, 4, 3, 0, 5}},
    {"%a: tensor<1x6xf64>", "%v, %0 = \"tessera.graph.topk\"(%a) {k = 3, largest = false}\n", "1x3xi32", {{0, NAN, -INF, -0.0, NAN, -INF}}, {2, 5, 0}},
    {"%a: tensor<3x2xi8>", "%v, %0 = \"tessera.graph.topk\"(%a) {k = 1, axis = 0, dtype = \"i64\"}\n", "1x2xi64", {{-128, 3, 127, 3, -5, 2}}, {1, 0}},
    {"%a: tensor<2x0xf64>", "%0, %i = \"tessera.graph.topk\"(%a) {k = 0}\n", "2x0xf64", {{0}}, {0}},
    {"%a: tensor<6xf64>", "%0, %i = \"tessera.graph.sort\"(%a)\n", "6xf64", {{3, NAN, -1, INF, -INF, 3}}, {-INF, -1, 3, 3, INF, NAN}},
    {"%a: tensor<6xf64>", "%v, %0 = \"tessera.graph.sort\"(%a) {descending = true}\n", "6xi32", {{3, NAN, -0.0, NAN, 0, 3}}, {1, 3, 0, 5, 2, 4}},
    {"%a: tensor<2x3xi64>", "%0, %i = \"tessera.graph.sort\"(%a) {axis = 0, descending = true}\n", "2x3xi64", {{1, 5, -3, 2, 4, -2}}, {2, 5, -2, 1, 4, -3}},
    {"%a: tensor<6xui8>", "%v, %0 = \"tessera.graph.sort\"(%a)\n", "6xi32", {{255, 1, 0, 255, 1, 0}}, {2, 5, 1, 4, 0, 3}},
    /* experts: what is first has room, a masked expert none; rows behind all groups are zeros */
    {"%a: tensor<3x3xf64>", "%w, %0, %s, %c = \"tessera.graph.router\"(%a)\n", "3x2xi32", {{1, 2, 0, 5, 5, -INF, NAN, 0, 1}}, {1, 0, 0, 1, 0, 2}},
    {"%a: tensor<3x3xf64>", "%w, %e, %0, %c = \"tessera.graph.router\"(%a)\n", "3x2xi32", {{1, 2, 0, 5, 5, -INF, 7, 0, 1}}, {3, 2, 0, 4, 1, 5}},
    {"%a: tensor<3x3xf64>", "%w, %e, %0, %c = \"tessera.graph.router\"(%a) {capacity = 1}\n", "3x2xi32", {{1, 2, 0, 5, 5, -INF, 7, 0, 1}}, {1, 3, 0, 3, 3, 2}},
    {"%a: tensor<3x3xf64>", "%w, %e, %s, %0 = \"tessera.graph.router\"(%a) {capacity = 2}\n", "3xi32", {{1, 2, 0, 5, 5, -INF, 7, 0, 1}}, {2, 2, 1}},
    {"%a: tensor<3x2xf64>", "%0, %e, %s, %c = \"tessera.graph.router\"(%a)\n", "3x2xf64", {{3, 3, 9, -INF, -INF, -INF}}, {0.5, 0.5, 1, 0, 0, 0}},
    {"%a: tensor<2x3xf64>", "%0, %e, %s, %c = \"tessera.graph.router\"(%a) {k = 1, capacity = 1, softmax = \"all\"}\n", "2x1xf64", {{3, 3, -INF, 4, 4, -INF}}, {0.5, 0}},
    {"%a: tensor<2x2xf64>, %s: tensor<2x2xi32>", OPA("0", "moe_dispatch", "%a, %s", "rows = 4"), "4x2xf64", {{1, 2, INF, 4}, {3, 0, 1, 4}}, {1, 2, INF, 4, 0, 0, 1, 2}},
    {"%a: tensor<2x2xf64>, %s: tensor<2x2xi32>", OPA("w", "constant", "", "value = dense<[[0.5, 2.0], [3.0, 1.0]]> : tensor<2x2xf64>") OP("0", "moe_combine", "%a, %s, %w"), "2x2xf64", {{1, 2, 3, 4}, {1, 0, 0, 2}}, {3.5, 6, 3, 6}},
    /* 70 groups, of which number 3 has two rows and number 66 one */
    {"%a: tensor<4x1xf64>, %n: tensor<i32>, %m: tensor<i32>", OPA("w", "iota", "", "shape = [70, 1, 1], axis = 0, dtype = \"f64\"") OPA("j", "iota", "", "shape = [70], axis = 0, dtype = \"i32\"") OP("3", "sub", "%j, %n") OP("4", "abs", "%3") OP("5", "sub", "%j, %m") OP("6", "abs", "%5") OPA("o", "constant", "", "value = dense<1> : tensor<i32>") OPA("t", "constant", "", "value = dense<2> : tensor<i32>") OP("7", "sub", "%t, %4") OP("8", "sub", "%7, %4") OP("9", "relu", "%8") OP("10", "sub", "%o, %6") OP("11", "relu", "%10") OP("12", "add", "%9, %11") OP("0", "grouped_matmul", "%a, %w, %12"), "4x1xf64", {{1, 2, 3, 4}, {3}, {66}}, {3, 6, 198, 0}},
    {"%a: tensor<5x1xf64>, %c: tensor<3xi32>", OPA("w", "constant", "", "value = dense<[[[1.0, 2.0]], [[0x7FF8000000000000, 1.0]], [[3.0, 5.0]]]> : tensor<3x1x2xf64>") OP("0", "grouped_matmul", "%a, %w, %c"), "5x2xf64", {{1, 2, 3, 4, 5}, {1, -2, 3}}, {1, 2, 6, 10, 9, 15, 12, 20, 0, 0}},
    {"%a: tensor<2x1xf64>, %g: tensor<2x1x2xf64>", OPA("u", "constant", "", "value = dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf64>") OPA("0", "recursive_mixture", "%a, %g, %u, %u", "k = 1, activation = \"relu\""), "2x1xf64", {{1, -1}, {0, 1, 1, 0}}, {10, -1}},
    /* rows outside the cache are dropped, one by one, whatever a place plus a row comes to */
    {"%a: tensor<2x3xf64>, %p: tensor<2xi32>", OPA("r", "constant", "", "value = dense<[[7.0, 8.0], [9.0, 5.0]]> : tensor<2x2xf64>") OPA("0", "cache_update", "%a, %r, %p", "axis = 1"), "2x3xf64", {{1, NAN, 3, 4, 5, 6}, {1, 2}}, {1, 7, 8, 4, 5, 9}},
    {"%a: tensor<2x3xf64>, %p: tensor<2xi32>", OPA("r", "constant", "", "value = dense<[[7.0, 8.0], [9.0, 5.0]]> : tensor<2x2xf64>") OPA("0", "cache_update", "%a, %r, %p", "axis = -1"), "2x3xf64", {{1, 2, 3, 4, 5, 6}, {-1, 2147483647.0}}, {8, 2, 3, 4, 5, 6}},
    {"%a: tensor<2x3xf64>, %p: tensor<2xi32>", OPA("r", "constant", "", "value = dense<[[7.0, 8.0], [9.0, 5.0]]> : tensor<2x2xf64>") OPA("0", "cache_update", "%a, %r, %p", "axis = 1"), "2x3xf64", {{1, 2, 3, 4, 5, 6}, {-2147483648.0, 3}}, {1, 2, 3, 4, 5, 6}},
    {"%a: tensor<2x3xf64>, %p: tensor<2xi32>", OPA("r", "constant", "", "value = dense<[[7.0, 8.0], [9.0, 5.0]]> : tensor<2x2xf64>") OPA("0", "cache_update", "%a, %r, %p", "axis = 1, ring = true"), "2x3xf64", {{1, 2, 3, 4, 5, 6}, {5, -1}}, {8, 2, 7, 4, 5, 6}},
    {"%a: tensor<2x3xf64>, %p: tensor<2xi32>", OPA("r", "constant", "", "value = dense<[[7.0, 8.0], [9.0, 5.0]]> : tensor<2x2xf64>") OPA("0", "cache_update", "%a, %r, %p", "axis = 1, ring = true"), "2x3xf64", {{1, 2, 3, 4, 5, 6}, {2147483647.0, 3}}, {1, 7, 8, 9, 5, 6}},
    {"%a: tensor<3x1xf64>, %p: tensor<i32>", OPA("r", "constant", "", "value = dense<[[7.0], [0x7FF0000000000000]]> : tensor<2x1xf64>") OP("0", "cache_update", "%a, %r, %p"), "3x1xf64", {{1, 2, 3}, {1}}, {1, 7, INF}},
    {"%a: tensor<3x1xf64>, %p: tensor<i32>", OPA("r", "slice", "%a", "starts = [0, 0], sizes = [0, 1]") OP("0", "cache_update", "%a, %r, %p"), "3x1xf64", {{1, 2, 3}, {1}}, {1, 2, 3}},
};

static void what_they_mean(void **state) {
  for (size_t c = 0; c < sizeof meanings / sizeof *meanings; c++) {
    const struct meaning *x = &meanings[c];
    char type[100];
    snprintf(type, sizeof type, "tensor<%s>", x->type);
    ir_module *m = gt_parse(gt_func(x->args, x->body, "%0", type));
    ir_op *f = graph_find_func(m, NULL);
    void *in[3] = {NULL};
    for (int i = 0; i < f->regions[0]->n_args; i++) {
      const ir_type *t = f->regions[0]->args[i]->type;
      in[i] = stored(t->dtype, x->in[i], ir_type_count(t));
    }
    graph_evaluator *e;
    assert_null(graph_evaluator_create(f, (const void *const *)in, &e));
    ir_value *y = f->regions[0]->last->operands[0];
    for (int64_t i = 0; i < ir_type_count(y->type); i++) {
      graph_num n;
      assert_null(graph_element(e, y, i, &n));
      if (isnan(x->want[i]) ? !isnan(n.v) : !(fabs(n.v - x->want[i]) <= 1e-12 * fabs(x->want[i]) || n.v == x->want[i]))
        fail_msg("%s element %lld is %.17g, wanted %.17g", x->body, (long long)i, n.v, x->want[i]);
    }
    graph_evaluator_destroy(&e);
    assert_null(y->data); /* nothing is left in the function */
    for (int i = 0; i < 3; i++) free(in[i]);
    ir_module_destroy(&m);
  }
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* families: of the kernels in order, "row elementwise". */
static const struct fused { const char *args, *body, *results, *types, *families; } fusions[] = {
    {"%a: tensor<5x7xf32>", OPA("0", "iota", "", "shape = [5, 7], dtype = \"f32\"") OP("1", "mul", "%0, %a"), "%1", "tensor<5x7xf32>", "elementwise"},
    {"", OPA("0", "iota", "", "shape = [5, 7]"), "%0", "tensor<5x7xi32>", "elementwise"},
    /* read by two, computed in both */
    {"%a: tensor<5x7xf32>",
     OPA("0", "iota", "", "shape = [5, 7], axis = 0, dtype = \"f32\"") OP("1", "mul", "%0, %a") OPA("2", "reduce_sum", "%1", "axes = [1]") OP("3", "transpose", "%0") OP("4", "exp", "%3"),
     "%2, %4", "tensor<5xf32>, tensor<7x5xf32>", "row elementwise"},
    /* products and copies read memory */
    {"%a: tensor<5x7xf32>", OPA("0", "iota", "", "shape = [7, 3], dtype = \"f32\"") OP("1", "matmul", "%a, %0") OPA("2", "iota", "", "shape = [5, 3], dtype = \"f32\"") OP("3", "add", "%1, %2"), "%3", "tensor<5x3xf32>", "elementwise matmul elementwise"},
    {"%a: tensor<5x7xi32>", OPA("0", "iota", "", "shape = [7, 5]") OP("1", "transpose", "%0") OP("2", "concat", "%a, %1"), "%2", "tensor<10x7xi32>", "elementwise copy"},
    {"%a: tensor<5x7xf32>", OPA("0", "iota", "", "shape = [35], dtype = \"f32\"") OPA("1", "reshape", "%0", "shape = [5, 7]") OP("2", "add", "%a, %1"), "%2", "tensor<5x7xf32>", "elementwise elementwise"},
    {"%a: tensor<5x7xf32>", OP("0", "exp", "%a") OPA("1", "clip", "%0", "min = 1.0, max = 2.0") OP("2", "neg", "%1"), "%2", "tensor<5x7xf32>", "elementwise"},
    {"%a: tensor<5x7xf32>, %b: tensor<7x3xf32>", OP("0", "matmul", "%a, %b") OPA("1", "clip", "%0", "min = 0.0, max = 6.0"), "%1", "tensor<5x3xf32>", "matmul"},
    {"%a: tensor<2x5x7xf32>", OP("0", "tril", "%a") OP("1", "softmax", "%0"), "%1", "tensor<2x5x7xf32>", "row"},
    {"%a: tensor<2x5x7xf32>", OPA("0", "triu", "%a", "diagonal = 2"), "%0", "tensor<2x5x7xf32>", "elementwise"},
    {"%a: tensor<5x7xf32>", OPA("0", "tile", "%a", "repeats = [2, 3]"), "%0", "tensor<10x21xf32>", "elementwise"},
    {"%a: tensor<5x7xf32>", "%0, %1 = \"tessera.graph.split\"(%a) {axis = 1, sizes = [3, 4]}\n" OP("2", "exp", "%0") OP("3", "softmax", "%1"), "%2, %3", "tensor<5x3xf32>, tensor<5x4xf32>", "elementwise row"},
    {"%a: tensor<5xi64>", OPA("0", "one_hot", "%a", "depth = 7"), "%0", "tensor<5x7xf32>", "elementwise"},
    {"%a: tensor<5xi32>, %b: tensor<5x7xf32>", OPA("0", "one_hot", "%a", "depth = 7") OP("1", "mul", "%0, %b") OPA("2", "reduce_sum", "%1", "axes = [1]"), "%2", "tensor<5xf32>", "row"},
    /* random numbers: computed where they are needed, of a key that is read there */
    {"%k: tensor<2xi32>, %c: tensor<4xi32>", OPA("0", "rng_uniform", "%k, %c", "shape = [5, 7]"), "%0", "tensor<5x7xf32>", "elementwise"},
    {"%k: tensor<2xi32>", OPA("0", "rng_normal", "%k", "shape = [5, 7]"), "%0", "tensor<5x7xf32>", "elementwise"},
    {"%a: tensor<5x7xf32>, %k: tensor<2xi32>, %c: tensor<4xi32>", OP("0", "gelu", "%a") OP("1", "dropout", "%0, %k, %c") OP("2", "add", "%1, %a"), "%2", "tensor<5x7xf32>", "elementwise"},
    /* an optimizer is one kernel, and one of a few numbers */
    {"%a: tensor<5x7xf32>, %g: tensor<5x7xbf16>, %l: tensor<f32>", "%0, %1 = \"tessera.graph.sgd\"(%a, %g, %l, %a) {momentum = 0.9}\n", "%0, %1", "tensor<5x7xf32>, tensor<5x7xf32>", "elementwise"},
    {"%a: tensor<5x7xf32>, %g: tensor<5x7xf32>, %l: tensor<f32>, %s: tensor<i32>", OP("q", "mul", "%a, %a") "%0, %1, %2 = \"tessera.graph.adamw\"(%a, %g, %a, %q, %l, %s)\n", "%0, %1, %2", "tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>", "elementwise elementwise"},
    {"%a: tensor<5x7xf32>, %k: tensor<2xi32>, %c: tensor<4xi32>", OP("0", "gelu", "%a") OPA("1", "stochastic_cast", "%0, %k, %c", "dtype = \"bf16\""), "%1", "tensor<5x7xbf16>", "elementwise"},
    {"%a: tensor<5x8xf32>", "%0, %1 = \"tessera.graph.quantize\"(%a) {scales = \"block\"}\n", "%0, %1", "tensor<5x8xf8E4M3FN>, tensor<5x1xf32>", "row"},
    {"%a: tensor<5x7xf32>", "%0, %1 = \"tessera.graph.check_numerics\"(%a)\n", "%0, %1", "tensor<i32>, tensor<i32>", "row row"},
    /* a norm kernel, and the channels' factors */
    {"%a: tensor<2x6x5xf32>", OPA("0", "group_norm", "%a", "groups = 3"), "%0", "tensor<2x6x5xf32>", "row"},
    {"%a: tensor<2x6x5xf32>, %g: tensor<6xf32>, %b: tensor<6xf32>", OPA("0", "group_norm", "%a, %g, %b", "groups = 3"), "%0", "tensor<2x6x5xf32>", "row elementwise"},
    {"%a: tensor<2x6x5xf32>, %g: tensor<6xf32>, %b: tensor<6xf32>", OP("0", "instance_norm", "%a, %g, %b"), "%0", "tensor<2x6x5xf32>", "row"},
    {"%a: tensor<2x6x5xf16>, %g: tensor<6xf16>, %b: tensor<6xf16>", OP("0", "instance_norm", "%a, %g, %b"), "%0", "tensor<2x6x5xf16>", "row"},
    {"%a: tensor<2x6x5xbf16>, %g: tensor<6xbf16>, %b: tensor<6xbf16>", OPA("0", "group_norm", "%a, %g, %b", "groups = 2"), "%0", "tensor<2x6x5xbf16>", "row elementwise"},
    {"%a: tensor<2x6x5xf32>, %m: tensor<6xf32>, %v: tensor<6xf32>", OP("w", "abs", "%v") OP("0", "batch_norm", "%a, %m, %w, %v, %m"), "%0", "tensor<2x6x5xf32>", "elementwise elementwise"},
    {"%a: tensor<4x9xf32>", OPA("0", "logsumexp", "%a", "axes = [1]"), "%0", "tensor<4xf32>", "row"},
    {"%a: tensor<4x9xbf16>", OP("0", "log_softmax", "%a"), "%0", "tensor<4x9xbf16>", "row"},
    {"%a: tensor<4x9xf32>, %l: tensor<4xi32>", OPA("0", "cross_entropy", "%a, %l", "reduction = \"none\""), "%0", "tensor<4xf32>", "row"},
    {"%a: tensor<4x9xf32>, %l: tensor<4xi32>", OP("0", "cross_entropy", "%a, %l"), "%0", "tensor<f32>", "row row"},
    {"%a: tensor<4x9xf32>, %l: tensor<4x9xf32>", OP("0", "cross_entropy", "%a, %l"), "%0", "tensor<f32>", "row row"},
    {"%a: tensor<4x9xf32>, %l: tensor<4x9xf32>", OP("0", "mse", "%a, %l"), "%0", "tensor<f32>", "row"},
    {"%a: tensor<2x3x4x8xf32>, %c: tensor<4x4xf32>, %s: tensor<4x4xf32>", OP("0", "rope", "%a, %c, %s"), "%0", "tensor<2x3x4x8xf32>", "elementwise"},
    {"%a: tensor<2x3x4x8xbf16>", OPA("0", "rope", "%a", "interleaved = true"), "%0", "tensor<2x3x4x8xbf16>", "elementwise elementwise"},
    {"%a: tensor<2x4x5xf32>, %w: tensor<5x9xf32>, %b: tensor<9xf32>", "%q, %k, %v = \"tessera.graph.qkv_projection\"(%a, %w, %b)\n" OP("1", "softmax", "%q") OP("2", "exp", "%k"), "%1, %2", "tensor<2x4x3xf32>, tensor<2x4x3xf32>", "matmul row elementwise"},
    {"%a: tensor<40x5xf32>, %u: tensor<5x2xf32>, %v: tensor<2x7xf32>, %b: tensor<7xf32>", OP("0", "factorized_matmul", "%a, %u, %v, %b"), "%0", "tensor<40x7xf32>", "matmul matmul"},
    {"%a: tensor<1x12x2x3xf32>", OPA("0", "depth_to_space", "%a", "block = 2"), "%0", "tensor<1x3x4x6xf32>", "elementwise"},
    /* pooling: a kernel that pads, if anything, and one that reads it; axis by axis where windows are large */
    {"%a: tensor<2x8x9x9xf32>", OPA("0", "max_pool", "%a", "kernel = [3, 3], strides = [2, 2], padding = \"same\"") OP("1", "relu", "%0"), "%1", "tensor<2x8x5x5xf32>", "copy elementwise"},
    {"%a: tensor<2x9x9x8xbf16>", OPA("0", "max_pool", "%a", "kernel = [2, 2], strides = [2, 2], layout = \"nhwc\""), "%0", "tensor<2x4x4x8xbf16>", "elementwise"},
    {"%a: tensor<2x8x9x9xbf16>", OPA("0", "average_pool", "%a", "kernel = [3, 3], padding = \"same\""), "%0", "tensor<2x8x9x9xbf16>", "copy elementwise"},
    {"%a: tensor<2x8x9x9x9xf32>", OPA("0", "average_pool", "%a", "kernel = [3, 3, 3]"), "%0", "tensor<2x8x7x7x7xf32>", "elementwise"},
    {"%a: tensor<2x8x9x9xf32>", OPA("0", "average_pool", "%a", "kernel = [7, 7]"), "%0", "tensor<2x8x3x3xf32>", "elementwise elementwise"},
    {"%a: tensor<2x8x9x9xf32>", OP("0", "average_pool", "%a"), "%0", "tensor<2x8x1x1xf32>", "row"},
    {"%a: tensor<2x9x9x8xbf16>", OPA("0", "max_pool", "%a", "layout = \"nhwc\""), "%0", "tensor<2x1x1x8xbf16>", "row"},
    /* convolutions: one product that reads the image, with its bias and what follows; no patches in memory */
    {"%a: tensor<2x9x9x8xf32>, %w: tensor<3x3x8x16xf32>, %b: tensor<16xf32>", OPA("0", "conv2d", "%a, %w, %b", "padding = \"same\", layout = \"nhwc\"") OP("1", "relu", "%0"), "%1", "tensor<2x9x9x16xf32>", "matmul"},
    {"%a: tensor<2x9x9x8xf32>, %w: tensor<3x3x8x16xf32>, %b: tensor<16xf32>, %c: tensor<2x9x9x16xf32>", OPA("0", "conv2d", "%a, %w, %b", "padding = \"same\", layout = \"nhwc\"") OP("1", "add", "%0, %c") OP("2", "relu", "%1"), "%2", "tensor<2x9x9x16xf32>", "matmul"},
    {"%a: tensor<2x8x9x9xf32>, %w: tensor<16x8x3x3xf32>, %b: tensor<16xf32>", OPA("0", "conv2d", "%a, %w, %b", "strides = [2, 2]"), "%0", "tensor<2x16x4x4xf32>", "matmul"},
    {"%a: tensor<2x8x9x9xbf16>, %w: tensor<16x8x1x1xbf16>", OP("0", "conv2d", "%a, %w"), "%0", "tensor<2x16x9x9xbf16>", "matmul"},
    {"%a: tensor<2x8x9x9xi8>, %w: tensor<16x8x3x3xi8>, %b: tensor<16xi32>", OPA("0", "conv2d", "%a, %w, %b", "padding = \"same\"") OP("1", "relu", "%0"), "%1", "tensor<2x16x9x9xi32>", "matmul"},
    {"%a: tensor<64x9xu8>, %w: tensor<9x32xi8>", OP("0", "matmul", "%a, %w") OPA("1", "transpose", "%0", "perm = [1, 0]"), "%1", "tensor<32x64xi32>", "matmul elementwise"},
    /* groups' rows are the channels of what follows; a batch lies before them, or none */
    {"%a: tensor<2x8x9x9xf32>, %w: tensor<16x2x3x3xf32>, %b: tensor<16xf32>, %s: tensor<1x16x1x1xf32>, %c: tensor<2x16x7x7xf32>", OPA("0", "conv2d", "%a, %w, %b", "groups = 4") OP("1", "mul", "%0, %s") OP("2", "add", "%1, %c") OP("3", "relu", "%2"), "%3", "tensor<2x16x7x7xf32>", "matmul"},
    {"%a: tensor<2x8x9xf32>, %w: tensor<16x2x3xf32>, %b: tensor<2x1x1xf32>, %s: tensor<16x1xf32>", OPA("0", "conv1d", "%a, %w", "groups = 4") OP("1", "mul", "%0, %s") OP("2", "add", "%1, %b"), "%2", "tensor<2x16x7xf32>", "matmul"},
    {"%a: tensor<2x8x9x9xf32>, %w: tensor<16x2x3x3xf32>", OPA("0", "conv2d", "%a, %w", "groups = 4"), "%0", "tensor<2x16x7x7xf32>", "matmul"},
    {"%a: tensor<2x8x9x9xf32>, %w: tensor<16x8x3x3xf32>, %b: tensor<16xf32>, %c: tensor<2x16x9x9xf32>, %s: tensor<1x16x1x1xf32>", OPA("0", "conv2d", "%a, %w, %b", "padding = \"same\"") OP("1", "mul", "%0, %s") OP("2", "add", "%1, %c") OP("3", "relu", "%2"), "%3", "tensor<2x16x9x9xf32>", "matmul"},
    {"%a: tensor<2x9x9x8xf32>, %w: tensor<3x3x1x8xf32>, %b: tensor<8xf32>", OPA("0", "conv2d", "%a, %w, %b", "groups = 8, layout = \"nhwc\"") OP("1", "relu", "%0"), "%1", "tensor<2x7x7x8xf32>", "elementwise"},
    {"%a: tensor<2x8x9xf32>, %w: tensor<8x4x3xf32>", OP("0", "conv_transpose", "%a, %w"), "%0", "tensor<2x4x11xf32>", "elementwise matmul"},
    /* einsum: operands are read as they are; products of few multiplications */
    /* resize: repeated or every second elements are read in place; a gather and a weighted sum along each other axis */
    {"%a: tensor<2x8x9x9xf32>", OPA("0", "resize", "%a", "scales = [2, 3]"), "%0", "tensor<2x8x18x27xf32>", "elementwise copy"},
    {"%a: tensor<2x8x10x9xf32>", OPA("0", "resize", "%a", "sizes = [5, 3]") OP("1", "relu", "%0"), "%1", "tensor<2x8x5x3xf32>", "elementwise"},
    {"%a: tensor<2x8x9x9xbf16>", OPA("0", "resize", "%a", "sizes = [12, 9]"), "%0", "tensor<2x8x12x9xbf16>", "gather"},
    {"%a: tensor<2x8x9x9xbf16>", OPA("0", "resize", "%a", "sizes = [12, 18], mode = \"cubic\"") OP("1", "relu", "%0"), "%1", "tensor<2x8x12x18xbf16>", "gather elementwise gather elementwise"},
    {"%a: tensor<2x3x4x5xf32>, %b: tensor<2x3x6x5xf32>", EIN("bhqd,bhkd->bhqk", "%a, %b"), "%0", "tensor<2x3x4x6xf32>", "matmul"},
    {"%a: tensor<4x5xf32>, %b: tensor<6x4xf32>", EIN("ji,kj->ik", "%a, %b"), "%0", "tensor<5x6xf32>", "matmul"},
    {"%a: tensor<4x5xf32>, %b: tensor<4x5xf32>", EIN("ij,ij->i", "%a, %b"), "%0", "tensor<4xf32>", "row"},
    {"%a: tensor<40x50xf32>, %b: tensor<50x40xf32>, %c: tensor<40xf32>", EIN("ij,jk,k->i", "%a, %b, %c"), "%0", "tensor<40xf32>", "matmul matmul"},
    /* along an axis: a triangle of a few; an extreme and its place; elements one after the other, or all by rank */
    {"%a: tensor<5x7xf32>", OP("0", "cumsum", "%a"), "%0", "tensor<5x7xf32>", "copy elementwise"},
    {"%a: tensor<5x7xf32>", OP("0", "argmax", "%a"), "%0", "tensor<5xi32>", "row"},
    {"%a: tensor<5x7xf32>", "%0, %1 = \"tessera.graph.topk\"(%a) {k = 2}\n", "%0, %1", "tensor<5x2xf32>, tensor<5x2xi32>", "elementwise row copy elementwise gather"},
};

static void they_fuse_with_their_neighbours(void **state) {
  for (size_t c = 0; c < sizeof fusions / sizeof *fusions; c++) {
    const struct fused *x = &fusions[c];
    char text[65536], families[200] = "";
    snprintf(text, sizeof text, "%s", gt_func(x->args, x->body, x->results, x->types));
    ir_module *m = gt_parse(text), *work = gt_parse(text), *s;
    assert_null(graph_expand_module(work, NULL));
    assert_false(graph_has_composite(graph_find_func(work, NULL)));
    assert_null(graph_simplify_module(work, NULL));
    tsr_status st = graph_to_schedule(work, NULL, &s);
    if (st) fail_msg("%s\n%s", x->body, tsr_status_message(st));
    for (ir_op *o = s->root->regions[0]->first->regions[0]->first; o; o = o->next)
      if (o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL) {
        if (*families) strcat(families, " ");
        strcat(families, ir_get_str(o, "family", "?"));
      }
    if (strcmp(families, x->families)) fail_msg("%s\nbecomes '%s', wanted '%s'", x->body, families, x->families);
    ir_module *flat = gt_flatten(s);
    assert_true(gt_same(graph_find_func(m, NULL), graph_find_func(flat, NULL), 3, -4, 4));
    ir_module_destroy(&flat);
    ir_module_destroy(&s);
    ir_module_destroy(&work);
    ir_module_destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_they_mean),
      cmocka_unit_test(they_fuse_with_their_neighbours),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
