/* Attention written as its parts becomes one kernel: which spellings the rule recognise_attention takes, why it leaves
 * others, that results agree with and without it, and that the op itself is its parts where no kernel takes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/ir/graph/expand.h"
#include "core/ir/schedule/schedule.h"
#include "core/passes/graph/expand_ops.h"
#include "core/passes/graph/simplify.h"
#include "core/passes/schedule/from_graph.h"
#include "tests/support/graph_text.h"

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"
#define NUMBER(r, v, t) "%" r " = \"tessera.graph.constant\"() {value = dense<" v "> : tensor<" t ">}\n"
#define QK OPA("s", "matmul", "%q, %k", "transpose_b = true")
#define PV(p) OP("0", "matmul", p ", %v")
#define TURN(r, x) OPA(r, "transpose", x, "perm = [1, 0, 2]")
#define ARGS4 "%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x7x4xf32>, %v: tensor<2x3x7x6xf32>"

static const struct spelling {
  const char *args, *body, *type, *families, *why; /* why: of the refusal, NULL: it fires */
} spellings[] = {
    {ARGS4, QK OP("p", "softmax", "%s") PV("%p"), "2x3x5x6xf32", "attention", NULL},
    {ARGS4, QK NUMBER("c", "0.5", "f32") OP("t", "mul", "%s, %c") OP("p", "softmax", "%t") PV("%p"), "2x3x5x6xf32",
     "attention", NULL},
    {ARGS4 ", %m: tensor<5x7xf32>",
     QK NUMBER("c", "3.0", "f32") OP("t", "div", "%s, %c") OP("u", "add", "%m, %t") OP("p", "softmax", "%u") PV("%p"),
     "2x3x5x6xf32", "attention", NULL},
    {ARGS4 ", %m: tensor<2x1x1x7xi1>",
     QK NUMBER("i", "0xFF800000", "f32") OP("u", "select", "%m, %s, %i") OP("p", "softmax", "%u") PV("%p"),
     "2x3x5x6xf32", "attention", NULL},
    {ARGS4 ", %m: tensor<2x1x1x7xi1>",
     QK NUMBER("i", "0xFF800000", "f32") OP("u", "select", "%m, %i, %s") OP("p", "softmax", "%u") PV("%p"),
     "2x3x5x6xf32", "elementwise attention", NULL},
    {ARGS4 ", %m: tensor<5x7xi1>",
     QK NUMBER("i", "-1.0e30", "f32") OP("u", "select", "%m, %s, %i") OP("p", "softmax", "%u") PV("%p"), "2x3x5x6xf32",
     "elementwise attention", NULL},
    {"%q: tensor<5x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x6xf32>", QK OP("p", "softmax", "%s") PV("%p"), "5x6xf32",
     "attention", NULL},
    {"%q: tensor<5x3x4xf32>, %k: tensor<7x3x4xf32>, %v: tensor<7x3x6xf32>",
     TURN("a", "%q") OPA("b", "transpose", "%k", "perm = [1, 2, 0]") TURN("c", "%v") OP("s", "matmul", "%a, %b")
         OP("p", "softmax", "%s") OP("o", "matmul", "%p, %c") TURN("0", "%o"),
     "5x3x6xf32", "attention elementwise", NULL},
    {"%q: tensor<1x3x5x4xf16>, %k: tensor<1x1x7x4xf16>, %v: tensor<1x1x7x6xf16>",
     QK OPA("w", "cast", "%s", "dtype = \"f32\"") NUMBER("c", "0.5", "f32") OP("t", "mul", "%w, %c")
         OP("p", "softmax", "%t") OPA("n", "cast", "%p", "dtype = \"f16\"") PV("%n"),
     "1x3x5x6xf16", "attention", NULL},
    {"%q: tensor<3x5x4xf32>, %k: tensor<3x7x4xf32>, %v: tensor<3x6x7xf32>",
     NUMBER("c", "0.5", "f32") OP("a", "mul", "%q, %c") OPA("s", "matmul", "%a, %k", "transpose_b = true")
         OP("p", "softmax", "%s") OPA("0", "matmul", "%p, %v", "transpose_b = true"),
     "3x5x6xf32", "attention", NULL},
    {ARGS4,
     QK OP("p", "softmax", "%s") OP("w", "matmul", "%p, %v") OP("r", "reduce_sum", "%p") OP("0", "add", "%w, %r"),
     "2x3x5x6xf32", "matmul row row matmul", "something else needs"},
    {ARGS4, QK OPA("p", "softmax", "%s", "axis = 2") PV("%p"), "2x3x5x6xf32", "matmul row matmul", ""},
    {"%s: tensor<5x7xf32>, %v: tensor<7x6xf32>", OP("p", "softmax", "%s") PV("%p"), "5x6xf32", "row matmul",
     "not of a product's rows"},
    {"%q: tensor<4x5xf32>, %k: tensor<4x7xf32>, %v: tensor<7x6xf32>",
     OPA("s", "matmul", "%q, %k", "transpose_a = true") OP("p", "softmax", "%s") PV("%p"), "5x6xf32",
     "matmul row matmul", "queries are transposed"},
    {"%q: tensor<5x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x300xf32>", QK OP("p", "softmax", "%s") PV("%p"),
     "5x300xf32", "matmul row matmul", "wider than 256"},
    {"%q: tensor<5x4xf16>, %k: tensor<7x4xf32>, %v: tensor<7x6xf32>", QK OP("p", "softmax", "%s") PV("%p"), "5x6xf32",
     "matmul row matmul", "not of one type"},
};

static bool refused(const pass_trace *t, const char *why) {
  for (size_t i = 0; i < t->n; i++)
    if (!strcmp(t->v[i].rule, "recognize_attention") && !t->v[i].fired && strstr(t->v[i].reason, why)) return true;
  return false;
}

static ir_module *lowered(const char *text, const pass_options *o, char *families, size_t size) {
  ir_module *work = gt_parse(text), *s;
  assert_null(graph_expand_module(work, o));
  assert_null(graph_simplify_module(work, o));
  tsr_status st = graph_to_schedule(work, o, &s);
  if (st) fail_msg("%s\n%s", text, tsr_status_message(st));
  *families = 0;
  for (ir_op *p = s->root->regions[0]->first->regions[0]->first; p; p = p->next)
    if (p->def->level == IR_SCHEDULE && p->def->code == S_KERNEL)
      snprintf(families + strlen(families), size - strlen(families), "%s%s", *families ? " " : "",
               ir_get_str(p, "family", "?"));
  ir_module_destroy(&work);
  return s;
}

static void parts_become_one_kernel_or_say_why_not(void **state) {
  for (size_t c = 0; c < sizeof spellings / sizeof *spellings; c++) {
    const struct spelling *x = &spellings[c];
    char type[100], text[8192], families[200];
    pass_trace t;
    trace_init(&t, NULL);
    snprintf(type, sizeof type, "tensor<%s>", x->type);
    snprintf(text, sizeof text, "%s", gt_func(x->args, x->body, "%0", type));
    ir_module *m = gt_parse(text), *s = lowered(text, &(pass_options){.trace = &t}, families, sizeof families);
    if (strcmp(families, x->families)) fail_msg("%s\nbecomes '%s', wanted '%s'", x->body, families, x->families);
    assert_int_equal(trace_count(&t, "recognize_attention", true), !x->why);
    if (x->why && *x->why && !refused(&t, x->why)) fail_msg("%s\nis not refused for: %s", x->body, x->why);
    ir_module *flat = gt_flatten(s);
    if (!gt_same(graph_find_func(m, NULL), graph_find_func(flat, NULL), 3, -2, 2)) fail_msg("%s\ndiffers", x->body);
    ir_module_destroy(&flat);
    ir_module_destroy(&s);
    ir_module_destroy(&m);
    trace_clear(&t);
  }
}

static void the_rule_can_be_switched_off_and_keeps_to_exact_policies(void **state) {
  static const pass_options off = {.disable = "recognize_attention"}, without = {.disable = "flash_attention"},
                            exact = {.exact = true};
  char text[4096], families[200];
  snprintf(text, sizeof text, "%s",
           gt_func(ARGS4, QK OP("p", "softmax", "%s") PV("%p"), "%0", "tensor<2x3x5x6xf32>"));
  const pass_options *const options[] = {&off, &without, &exact};
  for (int i = 0; i < 3; i++) {
    ir_module *s = lowered(text, options[i], families, sizeof families);
    assert_string_equal(families, "matmul row matmul");
    ir_module_destroy(&s);
  }
}

static void the_op_is_its_parts_where_no_kernel_takes_it(void **state) {
  static const struct { const char *args, *type, *disable, *families; } cases[] = {
#define SHARED "%q: tensor<1x2x5x4xf32>, %k: tensor<1x1x7x4xf32>, %v: tensor<1x1x7x"
      {SHARED "6xf32>", "tensor<1x2x5x6xf32>", NULL, "attention"},
      {SHARED "6xf32>", "tensor<1x2x5x6xf32>", "flash_attention", "matmul row matmul"},
      {SHARED "257xf32>", "tensor<1x2x5x257xf32>", NULL, "matmul row matmul"},
      {"%q: tensor<1x2x9x4xf32>, %k: tensor<1x2x7x4xf32>, %v: tensor<1x2x7x257xf32>", "tensor<1x2x9x257xf32>", NULL, "matmul row matmul"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[4096], families[200];
    pass_trace t;
    trace_init(&t, NULL);
    snprintf(text, sizeof text, "%s",
             gt_func(cases[i].args, OPA("0", "flash_attention", "%q, %k, %v", "causal = true"), "%0", cases[i].type));
    ir_module *m = gt_parse(text),
              *s = lowered(text, &(pass_options){.trace = &t, .disable = cases[i].disable}, families, sizeof families);
    if (strcmp(families, cases[i].families))
      fail_msg("%s: '%s', wanted '%s'", cases[i].args, families, cases[i].families);
    assert_int_equal(trace_count(&t, "flash_attention", true), i == 0);
    assert_int_equal(trace_count(&t, "flash_attention", false), i != 0);
    ir_module *flat = gt_flatten(s);
    assert_true(gt_same(graph_find_func(m, NULL), graph_find_func(flat, NULL), 3, -2, 2));
    ir_module_destroy(&flat);
    ir_module_destroy(&s);
    ir_module_destroy(&m);
    trace_clear(&t);
  }
}

/* Lengths and the log-sum-exp cost no kernel more; a result that nobody reads is not written. */
static void lengths_and_log_sums_are_the_same_kernels(void **state) {
  static const char *const bodies[][2] = {{"%0, %1", "tensor<2x4x5x6xf32>, tensor<2x4x5xf32>"},
                                          {"%1", "tensor<2x4x5xf32>"},
                                          {"%0", "tensor<2x4x5x6xf32>"}};
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char text[4096], families[200];
    snprintf(text, sizeof text, "%s",
             gt_func("%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>, %v: tensor<2x2x7x6xf32>, %l: tensor<2xi32>",
                     "%0, %1 = \"tessera.graph.flash_attention\"(%q, %k, %v, %l) {causal = true}\n", bodies[i][0],
                     bodies[i][1]));
    ir_module *m = gt_parse(text), *s = lowered(text, &(pass_options){0}, families, sizeof families), *flat;
    assert_string_equal(families, "attention");
    flat = gt_flatten(s);
    assert_true(gt_same(graph_find_func(m, NULL), graph_find_func(flat, NULL), 3, -2, 2));
    ir_module_destroy(&flat);
    ir_module_destroy(&s);
    ir_module_destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(parts_become_one_kernel_or_say_why_not),
                                     cmocka_unit_test(the_rule_can_be_switched_off_and_keeps_to_exact_policies),
                                     cmocka_unit_test(the_op_is_its_parts_where_no_kernel_takes_it),
                                     cmocka_unit_test(lengths_and_log_sums_are_the_same_kernels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
