/* Tests of the parser: bad input gives one line with file:line:column; the two short forms; allocation failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ir/schedule/schedule.h"
#include "core/passes/graph/autodiff.h"
#include "core/passes/graph/complex.h"
#include "core/passes/graph/simplify.h"
#include "core/passes/schedule/from_graph.h"
#include "tests/support/graph_text.h"

#define IN(body) \
  "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<4xf32>):\n" body "\n\"tessera.graph.return\"(%a)\n}) : () -> ()\n"

static const struct { const char *name, *text, *says; } bad[] = {
    {"empty", "", "1:1: expected an operation, found the end of the text"},
    {"only a comment", "// nothing\n", "2:1: expected an operation"},
    {"unterminated string", "\"tessera.graph.fu", "1:1: unterminated string"},
    {"unterminated region", "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<4xf32>):\n", "3:1: expected '}', found the end of the text"},
    {"unterminated operands", IN("%0 = \"tessera.graph.neg\"(%a"), "expected ')'"},
    {"unterminated attributes", IN("%0 = \"tessera.graph.softmax\"(%a) {axis = 0"), "expected '}'"},
    {"unterminated type", IN("%0 = \"tessera.graph.neg\"(%a) : (tensor<4xf32"), "expected '>'"},
    {"unterminated list", IN("%0 = \"tessera.graph.reduce_sum\"(%a) {axes = [0"), "expected ']'"},
    {"unknown op", IN("%0 = \"tessera.graph.negate\"(%a)"), "3:6: unknown operation \"tessera.graph.negate\""},
    {"unknown attribute", IN("%0 = \"tessera.graph.neg\"(%a) {fast = true}"), "3:6: unknown attribute 'fast'"},
    {"attribute twice", IN("%0 = \"tessera.graph.softmax\"(%a) {axis = 0, axis = 0}"), "attribute 'axis' is given twice"},
    {"name of a digit, then letters", IN("%0a = \"tessera.graph.neg\"(%a)"), "a name that begins with a digit is a number"},
    {"operand of a digit, then letters", IN("%0 = \"tessera.graph.neg\"(%0a)"), "a name that begins with a digit is a number"},
    {"undefined value", IN("%0 = \"tessera.graph.neg\"(%b)"), "3:26: %b is not defined before this use"},
    {"value uses itself", IN("%0 = \"tessera.graph.neg\"(%0)"), "%0 is not defined before this use"},
    {"cycle of two", IN("%0 = \"tessera.graph.neg\"(%1)\n%1 = \"tessera.graph.neg\"(%0)"), "3:26: %1 is not defined before this use"},
    {"defined twice", IN("%0 = \"tessera.graph.neg\"(%a)\n%0 = \"tessera.graph.neg\"(%a)"), "4:1: %0 is defined twice"},
    {"wrong operand type", IN("%0 = \"tessera.graph.neg\"(%a) : (tensor<5xf32>) -> tensor<5xf32>"), "%a has type tensor<4xf32>"},
    {"wrong count of types", IN("%0 = \"tessera.graph.neg\"(%a) : () -> tensor<4xf32>"), "0 operand types for 1 operands"},
    {"unknown element type", "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<4xf31>):\n}) : () -> ()", "2:19: unknown element type 'f31'"},
    {"dimension out of range", "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<99999999999999999999xf32>):\n}) : () -> ()", "dimension out of range"},
    {"elements overflow", "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<4294967296x4294967296xf32>):\n}) : () -> ()", "overflows 64 bits"},
    {"bytes overflow", "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<4611686018427387904xf32>):\n}) : () -> ()", "overflows 64 bits"},
    {"negative dimension", "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<-4xf32>):\n}) : () -> ()", "2:17: expected"},
    {"too many dimensions", "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<1x1x1x1x1x1x1x1x1xf32>):\n}) : () -> ()", "more than 8 dimensions"},
    {"integer out of range", IN("%0 = \"tessera.graph.softmax\"(%a) {axis = 99999999999999999999}"), "integer out of range"},
    {"malformed number", IN("%0 = \"tessera.graph.softmax\"(%a) {axis = 1.2.3}"), "malformed number"},
    {"two blocks", "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<4xf32>):\n^bb1:\n}) : () -> ()", "a region has one block"},
    {"dense too short", IN("%0 = \"tessera.graph.constant\"() {value = dense<[1.0, 2.0]> : tensor<3xf32>}"), "dense has 2 values for 3 elements"},
    {"dense hex too short", IN("%0 = \"tessera.graph.constant\"() {value = dense<\"0x00\"> : tensor<3xf32>}"), "hexadecimal digits"},
    {"dense integer beyond its type", IN("%0 = \"tessera.graph.constant\"() {value = dense<[1, 300]> : tensor<2xi8>}"), "value 1 of dense is no i8"},
    {"dense integer with a point", IN("%0 = \"tessera.graph.constant\"() {value = dense<1.5> : tensor<2xi32>}"), "value 0 of dense is no i32"},
    {"dense integer without an end", IN("%0 = \"tessera.graph.constant\"() {value = dense<inf> : tensor<2xi64>}"), "value 0 of dense is no i64"},
    {"dense bool that is 5", IN("%0 = \"tessera.graph.constant\"() {value = dense<5> : tensor<2xi1>}"), "value 0 of dense is no bool"},
    {"dense bits beyond their type", IN("%0 = \"tessera.graph.constant\"() {value = dense<[0x1FFFF]> : tensor<1xf16>}"), "value 0 of dense is no f16"},
    {"bits beyond their type", IN("%0 = \"tessera.graph.pad\"(%a) {low = [1], high = [0], value = 0x17F800000 : f32}"), "does not fit its type"},
    {"an integer beyond its type", IN("%0 = \"tessera.graph.softmax\"(%a) {axis = 128 : i8}"), "does not fit its type"},
    {"an infinite integer", IN("%0 = \"tessera.graph.softmax\"(%a) {axis = inf : i64}"), "does not fit its type"},
    {"a word like inf", IN("%0 = \"tessera.graph.pad\"(%a) {low = [1], high = [0], value = infinity}"), "unknown element type 'infinity'"},
    {"dense of unknown size", IN("%0 = \"tessera.graph.constant\"() {value = dense<1.0> : tensor<?xf32>}"), "known dimensions"},
    {"text after the module", "\"builtin.module\"() ({\n}) : () -> ()\n\"x\"", "expected the end of the text"},
    {"zero byte escape", "\"a\\00b\"() : () -> ()", "a zero byte in a string"},
    {"not MLIR at all", "int main(void) { return 0; }", "1:1: expected a string"},
    {"unterminated function type", "\"tessera.graph.func\"() ({\n}) {function_type = (tensor<4xf32>) -> (", "expected a type"},
    {"function type without an arrow", "\"tessera.graph.func\"() ({\n}) {function_type = (tensor<4xf32>)}", "2:36: expected '->'"},
    {"function type of another function", "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<4xf32>):\n\"tessera.graph.return\"(%a)\n}) {function_type = () -> tensor<4xf32>}", "1:1: function_type does not say (tensor<4xf32>) -> tensor<4xf32>"},
    {"a value of function type", "\"tessera.graph.func\"() ({\n^bb0(%a: (f32) -> f32):\n}) : () -> ()", "2:10: expected a type"},
    {"missing equals", IN("%0 \"tessera.graph.neg\"(%a)"), "3:4: expected '='"},
};

static void bad_text_gives_one_line_with_its_place(void **state) {
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const char *message = gt_error(bad[i].text);
    if (!gt_says(message, bad[i].says) || !gt_says(message, "test.mlir:") || strchr(message, '\n'))
      fail_msg("%s", bad[i].name);
  }
}

static void invalid_utf8_is_named(void **state) {
  static const struct {
    const char *text;
    size_t n;
  } cases[] = {{"// \xff\n", 5}, {"// \xc0\x80\n", 6}, {"// \xed\xa0\x80\n", 7}, {"// \xe2\x82", 5}, {"// a\0b", 6}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ir_module *m;
    tsr_status st = ir_parse(NULL, cases[i].text, cases[i].n, "test.mlir", &m);
    assert_int_equal(tsr_status_code(st), TSR_PARSE_ERROR);
    assert_true(gt_says(tsr_status_message(st), "test.mlir:1:"));
    assert_true(gt_says(tsr_status_message(st), i < 4 ? "not valid UTF-8" : "a zero byte"));
    tsr_status_free(st);
  }
}

static void deep_nesting_is_refused(void **state) {
  strb b;
  strb_init(&b, NULL);
  for (int i = 0; i < 5000; i++) strb_puts(&b, "\"builtin.module\"() ({\n");
  assert_true(gt_says(gt_error(strb_text(&b)), "nested too deeply"));
  strb_clear(&b);
  strb_puts(&b, "\"tessera.graph.func\"() ({\n}) {x = ");
  for (int i = 0; i < 5000; i++) strb_putc(&b, '[');
  assert_true(gt_says(gt_error(strb_text(&b)), "nested too deeply"));
  strb_clear(&b);
  strb_puts(&b, "\"tessera.graph.func\"() ({\n}) {x = ");
  for (int i = 0; i < 5000; i++) strb_putc(&b, '(');
  assert_true(gt_says(gt_error(strb_text(&b)), "nested too deeply"));
  strb_clear(&b);
  strb_puts(&b, "\"tessera.graph.constant\"() {value = dense<");
  for (int i = 0; i < 5000; i++) strb_putc(&b, '[');
  assert_true(gt_says(gt_error(strb_text(&b)), "nested too deeply"));
  strb_clear(&b);
}

/* 20,000 ops in a chain: parsing, verifying and fusing take time in proportion and no deep stack. */
static void long_chains_are_fine(void **state) {
  strb b;
  strb_init(&b, NULL);
  strb_puts(&b, "\"tessera.graph.func\"() ({\n^bb0(%v0: tensor<4x4xf32>):\n");
  for (int i = 1; i <= 20000; i++) strb_printf(&b, "%%v%d = \"tessera.graph.neg\"(%%v%d)\n", i, i - 1);
  strb_puts(&b, "\"tessera.graph.return\"(%v20000)\n}) : () -> ()\n");
  ir_module *m = gt_parse(strb_text(&b)), *c;
  assert_null(ir_module_clone(m, &c));
  ir_module_destroy(&c);
  ir_module_destroy(&m);
  strb_clear(&b);
}

static void the_seeds_lines_parse_as_written(void **state) {
  ir_module *m = gt_parse("%0 = \"tessera.schedule.tile\"(%A, %B)\n       {m=128, n=128, k=64, autotune=true}\n");
  const ir_op *op = m->root->regions[0]->first->regions[0]->first;
  assert_int_equal(ir_get_int(op, "m", 0), 128);
  assert_true(ir_get_bool(op, "autotune", false));
  assert_string_equal(op->operands[0]->name, "A");
  ir_module_destroy(&m);
  m = gt_parse(
      "%fragC = \"tessera.tile.mma_sync\"(%fragA, %fragB, %fragC)\n          {m=16, n=16, k=16, dtype=\"bf16\"}\n");
  op = m->root->regions[0]->first->regions[0]->first;
  assert_int_equal(op->def->level, IR_TILE);
  assert_int_equal(ir_get_int(op, "k", 0), 16);
  strb b;
  strb_init(&b, NULL);
  ir_print(&b, m);
  ir_module *again = gt_parse(strb_text(&b));
  strb c;
  strb_init(&c, NULL);
  ir_print(&c, again);
  assert_string_equal(strb_text(&b), strb_text(&c));
  strb_clear(&b);
  strb_clear(&c);
  ir_module_destroy(&m);
  ir_module_destroy(&again);
}

/* As MLIR writes them: printed again in the one form, and new where arguments or results are. */
static void function_types_are_attributes(void **state) {
  ir_module *m = gt_parse("\"tessera.graph.func\"() ({\n^bb0(%a: tensor<2x?xf32>, %b: tensor<?xf32>):\n%0 = "
                          "\"tessera.graph.mul\"(%a, %b)\n\"tessera.graph.return\"(%0)\n}) "
                          "{function_type=(tensor<2x?xf32>,tensor<?xf32>)->(tensor<2x?xf32>), sym_name = \"main\"}\n"
                          "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<f32>):\n%p = \"tessera.graph.custom\"(%x) "
                          "{callee = \"f\", of = ((i1) -> (), index) -> ((f32) -> (), none), at = [() -> f32]}"
                          " : (tensor<f32>) -> tensor<f32>\n\"tessera.graph.return\"(%p, %p)\n}) {sym_name = "
                          "\"other\", function_type = (tensor<f32>) -> (tensor<f32>, tensor<f32>)}\n");
  strb b, c;
  strb_init(&b, NULL);
  strb_init(&c, NULL);
  ir_print(&b, m);
  assert_true(gt_says(strb_text(&b), "function_type = (tensor<2x?xf32>, tensor<?xf32>) -> tensor<2x?xf32>,"));
  assert_true(gt_says(strb_text(&b), "of = ((i1) -> (), index) -> ((f32) -> (), none), at = [() -> f32]"));
  ir_module *again = gt_parse(strb_text(&b));
  ir_print(&c, again);
  assert_string_equal(strb_text(&b), strb_text(&c));
  strb_clear(&b);
  strb_clear(&c);
  ir_module_destroy(&again);
  ir_module_destroy(&m);
  m = gt_parse("\"tessera.graph.func\"() ({\n^bb0(%a: tensor<3xf32>):\n%0 = \"tessera.graph.mul\"(%a, %a)\n%1 = "
               "\"tessera.graph.reduce_sum\"(%0) {axes = [0]}\n\"tessera.graph.return\"(%1)\n}) "
               "{function_type = (tensor<3xf32>) -> tensor<f32>, sym_name = \"main\"}\n");
  ir_op *grad;
  assert_null(graph_grad(graph_find_func(m, NULL), (int[]){0}, 1, "grad", &grad));
  ir_print_op(&b, grad, 0);
  assert_true(gt_says(strb_text(&b), "function_type = (tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>)"));
  strb_clear(&b);
  ir_module_destroy(&m);
}

static void numbers_keep_their_bits(void **state) {
  ir_module *m =
      gt_parse(gt_func("",
                       "%0 = \"tessera.graph.constant\"() {value = dense<[0x7FC00000, 0xFF800000, 1.0e-45, -0.0, "
                       "3.4028234663852886e38]> : tensor<5xf32>}\n"
                       "%1 = \"tessera.graph.constant\"() {value = dense<9223372036854775807> : tensor<i64>}\n"
                       "%2 = \"tessera.graph.constant\"() {value = dense<[true, false]> : tensor<2xi1>}\n"
                       "%3 = \"tessera.graph.constant\"() {value = dense<0.1> : tensor<3x3xf64>}",
                       "%0, %1, %2, %3", "tensor<5xf32>, tensor<i64>, tensor<2xi1>, tensor<3x3xf64>"));
  strb b;
  strb_init(&b, NULL);
  ir_print(&b, m);
  ir_module *again = gt_parse(strb_text(&b));
  for (ir_op *x = graph_find_func(m, NULL)->regions[0]->first, *y = graph_find_func(again, NULL)->regions[0]->first;
       x->n_results; x = x->next, y = y->next) {
    ir_attr *p = ir_get_attr(x, "value"), *q = ir_get_attr(y, "value");
    assert_int_equal(p->u.dense.bytes, q->u.dense.bytes);
    assert_memory_equal(p->u.dense.data, q->u.dense.data, p->u.dense.bytes);
    assert_int_equal(p->u.dense.splat, q->u.dense.splat);
  }
  strb_clear(&b);
  ir_module_destroy(&m);
  ir_module_destroy(&again);
}

/* Infinities and NaN are read as words and as bits, and printed as bits, which MLIR reads. */
static void what_is_no_number_survives_text(void **state) {
  static const struct {
    const char *text, *bits;
  } values[] = {{"inf", "0x7FF0000000000000"},        {"+inf : f64", "0x7FF0000000000000"},
                {"-inf : f32", "0xFFF0000000000000"}, {"nan", "0x7FF8000000000000"},
                {"nan : f16", "0x7FF8000000000000"},  {"0x7C00 : f16", "0x7FF0000000000000"},
                {"0xFF80 : bf16", "0xFFF0000000000000"}, {"0x7F800000 : f32", "0x7FF0000000000000"}};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char body[256];
    strb one, two;
    strb_init(&one, NULL), strb_init(&two, NULL);
    snprintf(body, sizeof body,
             "%%0 = \"tessera.graph.pad\"(%%x) {low = [1], high = [0], value = %s}\n"
             "%%1 = \"tessera.graph.constant\"() {value = dense<[inf, -inf, nan, -1.5]> : tensor<4xbf16>}",
             values[i].text);
    ir_module *m = gt_parse(gt_func("%x: tensor<2xf32>", body, "%0, %1", "tensor<3xf32>, tensor<4xbf16>"));
    ir_print(&one, m);
    ir_module *again = gt_parse(strb_text(&one));
    ir_print(&two, again);
    assert_string_equal(strb_text(&one), strb_text(&two));
    if (!gt_says(strb_text(&one), values[i].bits)) fail_msg("%s: %s", values[i].text, strb_text(&one));
    assert_true(gt_says(strb_text(&one), "dense<[0x7F80, 0xFF80, 0x7FC0, -1.5]>"));
    strb_clear(&one), strb_clear(&two);
    ir_module_destroy(&m), ir_module_destroy(&again);
  }
}

/* ---- allocation failures --------------------------------------------------------------------------------------- */

typedef struct failing {
  long left;  /* allocations until failure; negative = never */
  long live;  /* bytes */
} failing;

static void *failing_alloc(void *user, size_t size, size_t align) {
  failing *f = user;
  if (f->left == 0) return NULL;
  f->left--;
  void *p = NULL;
  if (posix_memalign(&p, align < 16 ? 16 : align, size)) return NULL;
  f->live += (long)size;
  return p;
}

static void failing_free(void *user, void *p, size_t size, size_t align) {
  failing *f = user;
  f->live -= (long)size;
  free(p);
}

static const char *transformer(void) {
  return gt_func("%x: tensor<4x6xf32>, %w: tensor<6x6xf32>, %g: tensor<6xf32>",
                 "%c = \"tessera.graph.constant\"() {value = dense<2.0> : tensor<4x6xf32>}\n%n = \"tessera.graph.rmsnorm\"(%x, %g)\n%q = \"tessera.graph.matmul\"(%n, %w)\n"
                 "%s = \"tessera.graph.mul\"(%q, %c)\n%p = \"tessera.graph.softmax\"(%s) {axis = 0}\n%t = \"tessera.graph.transpose\"(%p)\n"
                 "%o = \"tessera.graph.matmul\"(%p, %t) {tile_shape = [16, 16, 16]}\n%e = \"tessera.graph.sigmoid\"(%o)\n%f = \"tessera.graph.mul\"(%e, %o)\n"
                 "%r = \"tessera.graph.reduce_sum\"(%f) {axes = [0, 1]}", "%r", "tensor<f32>");
}

static tsr_status whole_path(const tsr_allocator *al, const char *text) {
  ir_module *m = NULL, *s = NULL;
  ir_op *grad;
  pass_trace t;
  strb b;
  tsr_status st = NULL;
  trace_init(&t, al);
  strb_init(&b, al);
  TSR_GOTO(ir_parse(al, text, strlen(text), "test.mlir", &m));
  TSR_GOTO(graph_grad(graph_find_func(m, NULL), (int[]){0, 1, 2}, 3, "grad", &grad));
  TSR_GOTO(graph_split_complex_module(m));
  TSR_GOTO(graph_simplify_module(m, &(pass_options){.trace = &t}));
  TSR_GOTO(graph_to_schedule(m, &(pass_options){.trace = &t}, &s));
  ir_print(&b, s);
  if (!strb_ok(&b)) st = st_oom();
  else if (t.failed) st = st_oom();
done:
  strb_clear(&b);
  trace_clear(&t);
  ir_module_destroy(&m);
  ir_module_destroy(&s);
  return st;
}

static void every_allocation_failure_is_a_status(void **state) {
  failing f = {.left = -1};
  tsr_allocator al = {failing_alloc, failing_free, &f};
  char *text = strdup(transformer());
  tsr_status st = whole_path(&al, text);
  if (st) fail_msg("%s", tsr_status_message(st));
  assert_int_equal(f.live, 0);
  long n = 0;
  for (; n < 100000; n++) {
    f.left = n;
    st = whole_path(&al, text);
    if (!st) break;
    if (tsr_status_code(st) != TSR_OUT_OF_MEMORY) fail_msg("allocation %ld: %s", n, tsr_status_message(st));
    tsr_status_free(st);
    if (f.live != 0) fail_msg("allocation %ld: %ld bytes leaked", n, f.live);
  }
  assert_true(n > 50 && n < 100000);
  assert_int_equal(f.live, 0);
  free(text);
}

/* What a builder gets for a type that there was no memory for. */
static void a_value_without_a_type_is_none(void **state) {
  ir_module *m;
  assert_null(ir_module_create(NULL, &m));
  ir_builder b = ir_at_end(m, m->root->regions[0]);
  assert_null(ir_block_arg(m, m->root->regions[0], NULL, "a"));
  assert_int_equal(m->root->regions[0]->n_args, 0);
  assert_null(ir_build1(&b, "tessera.tile.fill", NULL, 0, NULL));
  assert_true(b.failed);
  ir_module_destroy(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_text_gives_one_line_with_its_place), cmocka_unit_test(invalid_utf8_is_named),
      cmocka_unit_test(deep_nesting_is_refused),                cmocka_unit_test(long_chains_are_fine),
      cmocka_unit_test(the_seeds_lines_parse_as_written),       cmocka_unit_test(numbers_keep_their_bits),
      cmocka_unit_test(what_is_no_number_survives_text),
      cmocka_unit_test(function_types_are_attributes),          cmocka_unit_test(a_value_without_a_type_is_none),
      cmocka_unit_test(every_allocation_failure_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
