/* tests/cli/test_bad_ir.c - `tessera run` and `tessera dump` on malformed IR text of every level: one line with
 * file:line:column and exit status 2. */
#include <stdbool.h>

#include "tests/cli/cli_run.h"

#define FUNC(args, body) \
  "\"tessera.graph.func\"() ({\n^bb0(" args "):\n" body "\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n"
#define A "%A: tensor<2x3xf32>"
#define TILE(views, grid, body) \
  "\"tessera.tile.program\"() ({\n^bb0(%A: tensor<4xf32>):\n%C = \"tessera.tile.buffer\"() : () -> tensor<4xf32>\n\"tessera.tile.launch\"(%A, %C) {kernel = \"k\"}\n" \
  "\"tessera.tile.return\"(%C)\n}) {sym_name = \"main\"}\n\"tessera.tile.kernel\"() ({\n^bb0(" views "):\n" body "\n\"tessera.tile.return\"()\n}) {sym_name = \"k\", grid = " grid ", outputs = 1}\n"
#define VIEWS(n) "%a: !tessera.view<" n "xf32>, %c: !tessera.view<" n "xf32>"
#define GROW(to)                                                                                                       \
  "%x = \"tessera.tile.view\"(%a) : (!tessera.view<4xf32>) -> !tessera.view<2x2xf32>\n"                                \
  "%u = \"tessera.tile.view\"(%c) : (!tessera.view<4xf32>) -> !tessera.view<2x2xf32>\n"                                \
  "%o = \"tessera.tile.load\"(%u) {owned = true}\n%r = \"tessera.tile.gemm\"(%o, %x, %x)\n"                            \
  "\"tessera.tile.store\"(%r, " to ")"
#define NAMED(name) \
  "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<2xf32>):\n\"tessera.graph.return\"(%A)\n}) {sym_name = \"" name "\"}\n"
#define COPY "%v = \"tessera.tile.load\"(%a)\n\"tessera.tile.store\"(%v, %c)"
#define SCRATCH(kernel, offset) \
  "\"tessera.target.kernel\"() ({\n^bb0(%a: !tessera.view<4xf32>):\n%s = \"tessera.target.scratch\"() {offset = " offset "} : () -> !tessera.array<4xf32>\n" \
  "\"tessera.target.call\"(%a, %s) {fn = \"copy\"}\n\"tessera.target.return\"()\n}) {sym_name = \"k\", outputs = 1, " kernel "}\n"
#define MATRIX(name, shape, use) \
  "%" name " = \"tessera.target.mat_fill\"(%z) : (f16) -> !tessera.matrix<" shape "xf16, \"" use "\">\n"
#define MATRICES(a, b, c, b_shape)                                                                                     \
  "\"tessera.target.kernel\"() ({\n^bb0(%v: !tessera.view<4xf32>):\n%z = \"tessera.target.const\"() {value = 0.0} : "  \
  "() -> f16\n" MATRIX("a", "16x16", a) MATRIX("b", b_shape, b)                                                        \
      MATRIX("c", "16x16", c) "%d = \"tessera.target.mat_mma\"(%a, %b, %c)\n\"tessera.target.return\"()\n}) "          \
                              "{sym_name = \"k\", outputs = 1, grid = [1, 1, 1]}\n"
#define CPU ", dialect = \"cpu\""
#define CALL(call, region) \
  "\"tessera.target.kernel\"() ({\n^bb0(%a: !tessera.view<8x4xf32>, %b: !tessera.view<4x6xf32>, %c: !tessera.view<8x6xf32>, %v: !tessera.view<4xf32>):\n" \
  "%t = \"tessera.target.scratch\"() {offset = 0} : () -> !tessera.array<4x6xf32>\n%u = \"tessera.target.scratch\"() {offset = 96} : () -> !tessera.array<4x4xf32>\n" \
  "\"tessera.target.call\"" call region "\n\"tessera.target.return\"()\n}) {sym_name = \"k\", outputs = 2, grid = [1, 1, 1], scratch_bytes = 160" CPU "}\n"

static const struct { const char *what, *text, *says; } cases[] = {
    /* text */
    {"empty", "", "x.mlir:1:1: expected an operation"},
    {"a comment alone", "// nothing\n", "x.mlir:2:1: expected an operation"},
    {"not IR", "hello\n", "x.mlir:1:1: "},
    {"unterminated region", "\"tessera.graph.func\"() ({\n^bb0(" A "):\n%0 = \"tessera.graph.neg\"(%A)\n", "x.mlir:4:1: expected '}'"},
    {"unterminated string", FUNC(A, "%0 = \"tessera.graph.neg(%A)"), "x.mlir:3:6: unterminated string"},
    {"unterminated list", FUNC(A, "%0 = \"tessera.graph.reduce_sum\"(%A) {axes = [0"), "x.mlir:4:1: "},
    {"unterminated type", "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<2x3x", "x.mlir:2:"},
    {"invalid UTF-8", FUNC(A, "%0 = \"tessera.graph.neg\xff\"(%A)"), "x.mlir:3:24: byte 0xff is not valid UTF-8"},
    {"two functions of one name", NAMED("f") NAMED("g") NAMED("f"), "there is another \"f\""},
    {"invalid UTF-8 outside of strings", FUNC(A, "\xc3\x28"), "x.mlir:3:1: byte 0xc3 is not valid UTF-8"},
    {"an overlong form", FUNC(A, "%0 = \"tessera.graph.neg\"(%A) // \xc0\xaf"), "x.mlir:3:33: byte 0xc0 is not valid UTF-8"},
    {"a surrogate", FUNC(A, "// \xed\xa0\x80"), "x.mlir:3:4: byte 0xed is not valid UTF-8"},
    /* names */
    {"unknown op", FUNC(A, "%0 = \"tessera.graph.frobnicate\"(%A)"), "x.mlir:3:6: unknown operation \"tessera.graph.frobnicate\""},
    {"op of no level", FUNC(A, "%0 = \"arith.addf\"(%A, %A)"), "x.mlir:3:6: unknown operation"},
    {"unknown attribute", FUNC(A, "%0 = \"tessera.graph.neg\"(%A) {speed = 3}"), "x.mlir:3:6: unknown attribute 'speed'"},
    {"attribute of another kind", FUNC(A, "%0 = \"tessera.graph.reduce_sum\"(%A) {axes = \"all\"}"), "x.mlir:3:6: attribute 'axes' must be"},
    {"missing attribute", FUNC(A, "%0 = \"tessera.graph.compare\"(%A, %A)"), "x.mlir:3:6: "},
    {"undefined value", FUNC(A, "%0 = \"tessera.graph.neg\"(%B)"), "x.mlir:3:26: %B is not defined"},
    {"defined twice", FUNC(A, "%A = \"tessera.graph.neg\"(%A)"), "x.mlir:3:1: %A is defined twice"},
    {"of itself", FUNC(A, "%0 = \"tessera.graph.neg\"(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>"), "x.mlir:3:26: %0 is not defined before"},
    {"cyclic", FUNC(A, "%0 = \"tessera.graph.add\"(%1, %A) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\n%1 = \"tessera.graph.neg\"(%0)"), "x.mlir:3:26: %1 is not defined before"},
    /* types */
    {"shapes that don't fit", FUNC("%A: tensor<2xf32>, %B: tensor<3xf32>", "%0 = \"tessera.graph.add\"(%A, %B)"), "x.mlir:3:6: shapes f32[2] and f32[3] do not broadcast"},
    {"types that don't fit", FUNC("%A: tensor<2xf32>, %B: tensor<2xi32>", "%0 = \"tessera.graph.add\"(%A, %B)"), "x.mlir:3:6: operands are f32 and i32"},
    {"operand count", FUNC(A, "%0 = \"tessera.graph.add\"(%A)"), "x.mlir:3:6: takes 2 operands, has 1"},
    {"result declared wrong", FUNC(A, "%0 = \"tessera.graph.neg\"(%A) : (tensor<2x3xf32>) -> tensor<3x2xf32>"), "x.mlir:3:6: result 0 is declared"},
    {"operand declared wrong", FUNC(A, "%0 = \"tessera.graph.neg\"(%A) : (tensor<3x2xf32>) -> tensor<3x2xf32>"), "x.mlir:3:"},
    {"unknown element type", FUNC("%A: tensor<2xf33>", "%0 = \"tessera.graph.neg\"(%A)"), "x.mlir:2:"},
    {"axis out of range", FUNC(A, "%0 = \"tessera.graph.reduce_sum\"(%A) {axes = [7]}"), "x.mlir:3:6: axis 7"},
    {"dense too long", FUNC(A, "%0 = \"tessera.graph.constant\"() {value = dense<[1.0, 2.0, 3.0]> : tensor<2xf32>}"), "x.mlir:3:47: dense has 3 values"},
    {"no return", "\"tessera.graph.func\"() ({\n^bb0(" A "):\n%0 = \"tessera.graph.neg\"(%A)\n}) {sym_name = \"main\"}\n", "x.mlir:1:1: the body must end"},
    {"unknown dimension", FUNC("%A: tensor<?x4xf32>", "%0 = \"tessera.graph.neg\"(%A)"), "x.mlir:2:6: input A has an unknown dimension (--shape A="},
    /* sizes */
    {"huge dimension", FUNC("%A: tensor<99999999999999999999xf32>", "%0 = \"tessera.graph.neg\"(%A)"), "x.mlir:2:17: dimension out of range"},
    {"negative dimension", FUNC("%A: tensor<-4xf32>", "%0 = \"tessera.graph.neg\"(%A)"), "x.mlir:2:17: "},
    {"element count", FUNC("%A: tensor<4611686018427387904x8xf32>", "%0 = \"tessera.graph.neg\"(%A)"), "x.mlir:2:42: the number of elements overflows"},
    {"element count beside a zero", FUNC("%A: tensor<4611686018427387904x0x8xf32>", "%0 = \"tessera.graph.neg\"(%A)"), "x.mlir:2:"},
    {"element count of a result", FUNC("%A: tensor<1152921504606846976x1xf32>, %B: tensor<1x1024xf32>", "%0 = \"tessera.graph.add\"(%A, %B)"), "x.mlir:"},
    {"bytes", FUNC("%A: tensor<4611686018427387904xf32>", "%0 = \"tessera.graph.neg\"(%A)"), "x.mlir:2:40: the number of elements overflows"},
    {"rank", FUNC("%A: tensor<1x1x1x1x1x1x1x1x1xf32>", "%0 = \"tessera.graph.neg\"(%A)"), "x.mlir:2:33: more than 8 dimensions"},
    {"integer", FUNC(A, "%0 = \"tessera.graph.reduce_sum\"(%A) {axes = [99999999999999999999]}"), "x.mlir:3:46: integer out of range"},
    /* the levels below */
    {"schedule: undefined value", "\"tessera.schedule.program\"() ({\n^bb0(%A: tensor<4xf32>):\n\"tessera.schedule.return\"(%B)\n}) {sym_name = \"main\"}\n", "x.mlir:3:27: %B is not defined"},
    {"schedule: unknown family", "\"tessera.schedule.program\"() ({\n^bb0(%A: tensor<4xf32>):\n%0 = \"tessera.schedule.kernel\"(%A) ({\n^bb0(%a: tensor<4xf32>):\n\"tessera.schedule.yield\"(%a)\n}) "
     "{sym_name = \"k\", family = \"magic\"} : (tensor<4xf32>) -> tensor<4xf32>\n\"tessera.schedule.return\"(%0)\n}) {sym_name = \"main\"}\n", "x.mlir:3:6: unknown family \"magic\""},
    {"tile: no such kernel", "\"tessera.tile.program\"() ({\n^bb0(%A: tensor<4xf32>):\n\"tessera.tile.launch\"(%A) {kernel = \"k\"}\n\"tessera.tile.return\"(%A)\n}) {sym_name = \"main\"}\n", "x.mlir:3:1: no kernel \"k\""},
    {"tile: a view beyond its memory", TILE(VIEWS("1000000000"), "[1, 1, 1]", "%z = \"tessera.tile.const\"() {value = 900000000}\n%w = \"tessera.tile.window\"(%a, %z) {sizes = [4]}\n%v = \"tessera.tile.load\"(%w)"), "x.mlir:4:1: argument 0 has 4 elements"},
    {"tile: a view before its memory", TILE("%a: !tessera.view<4xf32, strides = [-1]>, %c: !tessera.view<4xf32>", "[1, 1, 1]", COPY), "x.mlir:"},
    {"tile: grid", TILE(VIEWS("4"), "[1, -1, 1]", COPY), "x.mlir:7:1: grid extent -1"},
    {"tile: an owned load that no gemm adds to", TILE(VIEWS("4"), "[1, 1, 1]", "%v = \"tessera.tile.load\"(%c) {owned = true}\n\"tessera.tile.store\"(%v, %c)"), "x.mlir:9:6: what is owned is for one gemm to add to"},
    {"tile: an owned sum that is stored elsewhere", TILE(VIEWS("4"), "[1, 1, 1]", GROW("%x")), "x.mlir:11:6: what is owned is for one gemm to add to"},
    {"tile: an op of another level", TILE(VIEWS("4"), "[1, 1, 1]", "%v = \"tessera.graph.neg\"(%a)"), "x.mlir:9:6: "},
    {"target: grid", SCRATCH("grid = [-1, 1, 1], scratch_bytes = 64" CPU, "0"), "x.mlir:1:1: grid extent -1"},
    {"target: grid beyond 32 bits", SCRATCH("grid = [9999999999, 1, 1], scratch_bytes = 64" CPU, "0"), "x.mlir:1:1: grid extent 9999999999"},
    {"target: scratch beyond the kernel's", SCRATCH("grid = [1, 1, 1], scratch_bytes = 64" CPU, "52"), "x.mlir:3:6: 4 elements at byte 52 do not fit"},
    {"target: scratch without any", SCRATCH("grid = [1, 1, 1]" CPU, "0"), "x.mlir:3:6: 4 elements at byte 0 do not fit"},
    {"target: scratch before its begin", SCRATCH("grid = [1, 1, 1], scratch_bytes = 64" CPU, "-16"), "x.mlir:3:6: offset = -16"},
    {"target: scratch between elements", SCRATCH("grid = [1, 1, 1], scratch_bytes = 64" CPU, "2"), "x.mlir:3:6: offset = 2"},
    {"target: an accumulator as an operand", MATRICES("a", "acc", "acc", "16x16"), "x.mlir:7:6: operand 1 must be a matrix of use \"b\""},
    {"target: operands changed about", MATRICES("b", "a", "acc", "16x16"), "x.mlir:7:6: operand 0 must be a matrix of use \"a\""},
    {"target: no accumulator", MATRICES("a", "b", "b", "16x16"), "x.mlir:7:6: operand 2 must be a matrix of use \"acc\""},
    {"target: matrices that don't fit", MATRICES("a", "b", "acc", "8x16"), "x.mlir:7:6: shapes don't fit: 16x16 times 8x16 into 16x16"},
    {"target: another dialect", SCRATCH("grid = [1, 1, 1], scratch_bytes = 64, dialect = \"cuda\"", "0"), "x.mlir:1:1: dialect = \"cuda\""},
    {"call: product smaller than its operands'", CALL("(%t, %a, %b) {fn = \"matmul\"}", ""), "x.mlir:5:1: \"matmul\" takes"},
    {"call: product larger than its operands'", CALL("(%c, %u, %b) {fn = \"gemm\"}", ""), "x.mlir:5:1: \"gemm\" takes"},
    {"call: depths", CALL("(%t, %a, %b) {fn = \"matmul\", transpose_a = true}", ""), "x.mlir:5:1: \"matmul\" takes"},
    {"call: copy", CALL("(%t, %u) {fn = \"copy\"}", ""), "x.mlir:5:1: \"copy\" takes"},
    {"call: move", CALL("(%t, %u) {fn = \"move\"}", ""), "x.mlir:5:1: \"move\" takes"},
    {"call: splat", CALL("(%t, %u) {fn = \"splat\"}", ""), "x.mlir:5:1: \"splat\" takes"},
    {"call: reduce", CALL("(%u, %t) {fn = \"reduce\", axis = 1}", ""), "x.mlir:5:1: \"reduce\" takes"},
    {"call: reduce along no axis", CALL("(%t, %t) {fn = \"reduce\", axis = 7}", ""), "x.mlir:5:1: \"reduce\" takes"},
    {"call: transpose", CALL("(%t, %t) {fn = \"transpose\", perm = [1, 0]}", ""), "x.mlir:5:1: \"transpose\" takes"},
    {"call: no permutation", CALL("(%u, %u) {fn = \"transpose\", perm = [1, 1]}", ""), "x.mlir:5:1: \"transpose\" takes"},
    {"call: fft", CALL("(%u, %u, %u, %t) {fn = \"fft_stage\", radix = 2, span = 1}", ""), "x.mlir:5:1: \"fft_stage\" takes"},
    {"call: fft radix", CALL("(%u, %u, %u, %u) {fn = \"fft_stage\", radix = 3, span = 1}", ""), "x.mlir:5:1: \"fft_stage\" takes"},
    {"call: dft", CALL("(%t, %a, %b) {fn = \"dft\", axis = 0, lines = 1}", ""), "x.mlir:5:1: \"dft\" takes"},
    {"call: gather without a region", CALL("(%t, %a) {fn = \"gather\"}", ""), "x.mlir:5:1: \"gather\" takes"},
    {"call: too few operands", CALL("(%t) {fn = \"copy\"}", ""), "x.mlir:5:1: takes 2 operands"},
    {"call: scatter of one index", CALL("(%t, %a)", " ({\n^bb0(%i: index, %j: index):\n\"tessera.target.yield\"(%i)\n}) {fn = \"scatter\"}"), "x.mlir:5:1: \"scatter\" takes"},
    {"tile: too large a tile", TILE(VIEWS("4"), "[1, 1, 1]", "%v = \"tessera.tile.fill\"() {value = 0} : () -> !tessera.frag<1099511627776xf32>"), "x.mlir:9:6: the tile is too large"},
};

/* Raised by what comes after the parser: inference, lowering for a device, code, memory. */
#define SQUARE(n, t) "%A: tensor<" n "x" n "x" t ">"
#define NEG "%0 = \"tessera.graph.neg\"(%A)"
static const struct { const char *what, *args, *text, *says; } later[] = {
    {"a constant that no device holds", "run x.mlir --device cpu:0",
     "\"tessera.graph.func\"() ({\n%0 = \"tessera.graph.constant\"() {value = dense<1.0> : tensor<1099511627776xf32>} : () "
     "-> tensor<1099511627776xf32>\n%1 = \"tessera.graph.reduce_sum\"(%0) : (tensor<1099511627776xf32>) -> "
     "tensor<f32>\n\"tessera.graph.return\"(%1) : (tensor<f32>) -> ()\n}) {sym_name = \"main\"} : () -> ()\n",
     "x.mlir:2:6: a constant of 4398046511104 bytes"},
    {"four terabytes", "run x.mlir", FUNC(SQUARE("1048576", "f32"), NEG), "x.mlir:3:6: no memory for output 0: 4398046511104 bytes"},
    {"of output", "run x.mlir", FUNC("%A: tensor<1xf32>", "%0 = \"tessera.graph.broadcast\"(%A) {shape = [1099511627776]}"), "x.mlir:3:6: no memory for output 0: 4398046511104 bytes"},
    {"between kernels", "run x.mlir", FUNC("%A: tensor<2048x1xf32>, %B: tensor<1x536870912xf32>", "%1 = \"tessera.graph.matmul\"(%A, %B)\n%0 = \"tessera.graph.softmax\"(%1)"), "x.mlir:3:6: a temporary of 4398046511104 bytes"},
    {"for a device that isn't here", "dump x.mlir --level source --device cuda:sm_90a", FUNC("%A: tensor<2048x1xf32>, %B: tensor<1x536870912xf32>", "%1 = \"tessera.graph.matmul\"(%A, %B)\n%0 = \"tessera.graph.softmax\"(%1)"), "x.mlir:3:6: "},
    {"an unknown custom op", "run x.mlir", FUNC(A, "%0 = \"tessera.graph.custom\"(%A) {callee = \"my.op\"} : (tensor<2x3xf32>) -> tensor<2x3xf32>"), "x.mlir:3:6: no custom operation \"my.op\""},
    {"an unknown custom op, on another device", "dump x.mlir --level target --device cuda:sm_90a", FUNC(A, "%0 = \"tessera.graph.custom\"(%A) {callee = \"my.op\"} : (tensor<2x3xf32>) -> tensor<2x3xf32>"), "x.mlir:3:6: no custom operation"},
    {"a grid that the device lacks", "dump x.mlir --level target --device cuda:sm_90a", TILE(VIEWS("4"), "[1, 1, 70000]", COPY), "x.mlir:7:1: kernel \"k\": 70000 blocks on axis 2"},
    {"a sum that grows in memory", "dump x.mlir --level target --device cuda:sm_80", TILE(VIEWS("4"), "[1, 1, 1]", GROW("%u")), "a sum that grows in memory is for the CPU alone"},
    {"shared memory that the device lacks", "dump x.mlir --level target --device cuda:sm_80", TILE(VIEWS("4"), "[1, 1, 1]", "%s = \"tessera.tile.alloc\"() : () -> !tessera.shared<1024x1024xf32>\n%w = \"tessera.tile.view\"(%a) : (!tessera.view<4xf32>) -> !tessera.view<1024x1024xf32, strides = [0, 0]>\n\"tessera.tile.copy\"(%w, %s)\n%f = \"tessera.tile.load\"(%s)\n%u = \"tessera.tile.view\"(%c) : (!tessera.view<4xf32>) -> !tessera.view<1024x1024xf32, strides = [0, 0]>\n\"tessera.tile.store\"(%f, %u)"), "x.mlir:9:6: "},
};

/* The attribute `device` of a program of schedules. */
#define FOR_DEVICE(id)                                                                                                \
  "\"tessera.schedule.program\"() ({\n^bb0(%A: tensor<4xf32>):\n%0 = \"tessera.schedule.kernel\"(%A) ({\n"            \
  "^bb0(%1: tensor<4xf32>):\n%2 = \"tessera.graph.neg\"(%1)\n\"tessera.schedule.yield\"(%2)\n}) {sym_name = \"k\", "  \
  "family = \"elementwise\", space = [4]} : (tensor<4xf32>) -> tensor<4xf32>\n\"tessera.schedule.return\"(%0)\n})"   \
  " {sym_name = \"main\", device = \"" id "\"}\n"
static const struct { const char *what, *text, *says; } scheduled_for[] = {
    {"a device that there is not", FOR_DEVICE("banana"), "x.mlir:1:1: no device is called \"banana\" (cpu, "},
    {"no number and no architecture", FOR_DEVICE("cpu:banana"), "x.mlir:1:1: no device is called \"cpu:banana\" (cpu:0"},
};

/* Text that is made rather than written: `head`, then `piece` n times. */
static const struct { const char *what, *head, *piece; int n; const char *says; } deep[] = {
    {"regions", "", "\"tessera.graph.func\"() ({\n", 100000, "regions nested too deeply"},
    {"attributes", "\"tessera.graph.func\"() ({\n^bb0(" A "):\n%0 = \"tessera.graph.neg\"(%A) {x = ", "[", 200000, "attributes nested too deeply"},
    {"lists", "\"tessera.graph.func\"() ({\n%0 = \"tessera.graph.constant\"() {value = dense<", "[", 200000, "lists nested too deeply"},
    {"a long name", "\"tessera.graph.func\"() ({\n^bb0(" A "):\n%", "a", 1000000, "x.mlir:3:"},
    {"a long line", "\"tessera.graph.func\"() ({\n^bb0(" A "):\n", " ", 1000000, "x.mlir:3:1000001: "},
};

static void run_deep(cli *c, size_t i) {
  size_t head = strlen(deep[i].head), piece = strlen(deep[i].piece), n = head + piece * (size_t)deep[i].n;
  char *text = malloc(n + 1);
  memcpy(text, deep[i].head, head);
  for (int k = 0; k < deep[i].n; k++) memcpy(text + head + (size_t)k * piece, deep[i].piece, piece);
  cli_write(c, "x.mlir", text, n);
  cli_refused(c, deep[i].what, "run x.mlir", deep[i].says);
  cli_refused(c, deep[i].what, "dump x.mlir --level tile", "x.mlir:");
  free(text);
}

/* Each attribute is looked for among all. */
static void many_attributes(cli *c) {
  static char text[400000];
  size_t n = (size_t)snprintf(text, sizeof text, "%s",
                              "\"tessera.graph.func\"() ({\n^bb0(" A "):\n%0 = \"tessera.graph.custom\"(%A) {callee = \"c\"");
  for (int i = 0; i < 20000; i++) n += (size_t)snprintf(text + n, sizeof text - n, ", a%d = %d", i, i);
  n += (size_t)snprintf(text + n, sizeof text - n, "}\n");
  cli_write(c, "x.mlir", text, n);
  cli_refused(c, "20000 attributes", "run x.mlir", ": more than 1024 attributes");
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cli_write(&c, "x.mlir", cases[i].text, strlen(cases[i].text));
    cli_refused(&c, cases[i].what, "run x.mlir", cases[i].says);
    cli_refused(&c, cases[i].what, "dump x.mlir --level tile --device null:spirv", "x.mlir:");
  }
  for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
    cli_write(&c, "x.mlir", later[i].text, strlen(later[i].text));
    cli_refused(&c, later[i].what, later[i].args, later[i].says);
  }
  for (size_t i = 0; i < sizeof scheduled_for / sizeof *scheduled_for; i++) {
    cli_write(&c, "x.mlir", scheduled_for[i].text, strlen(scheduled_for[i].text));
    cli_refused(&c, scheduled_for[i].what, "run x.mlir", scheduled_for[i].says);
    cli_refused(&c, scheduled_for[i].what, "dump x.mlir --level tile --device cuda:sm_80", scheduled_for[i].says);
  }
  for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) run_deep(&c, i);
  many_attributes(&c);
  cli_write(&c, "x.mlir", "abc\0def", 7);
  cli_refused(&c, "a zero byte", "run x.mlir", "x.mlir:1:4: a zero byte");
  cli_refused(&c, "a folder", "run .", ".: can't be read");
  cli_refused(&c, "nothing there", "run gone.mlir", "gone.mlir: can't be opened");
  cli_refused(&c, "no such level", "dump x.mlir --level magic", "--level is graph");
  cli_refused(&c, "no such policy", "run x.mlir --policy sloppy", "sloppy");
  return cli_end(&c);
}
