/* Rewrite rules of the application through the public interface alone: they fire, keep the values, are switched off and
 * refused with a line; what is no rule is refused when it is registered; failing allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "tessera/transform.h"
#include "tests/support/api_check.h"

#define FUNC(name, args, body, result)                                                             \
  "\"tessera.graph.func\"() ({\n^bb0(" args "):\n" body "\"tessera.graph.return\"(" result ")\n}) " \
  "{sym_name = \"" name "\"}\n"
#define RULE(args, pattern, p, replacement, q) \
  FUNC("pattern", args, pattern, p) FUNC("replacement", args, replacement, q)
#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"
#define NUM(r, v) "%" r " = \"tessera.graph.constant\"() {value = dense<" v "> : tensor<f32>}\n"
#define X "%x: tensor<?xf32>"
#define XY "%x: tensor<?xf32>, %y: tensor<?xf32>"

/* log of a softmax, over the last axis. */
#define LOG_SOFTMAX RULE(X, OP("0", "softmax", "%x") OP("1", "log", "%0"), "%1", OP("0", "log_softmax", "%x"), "%0")
#define CLAMP RULE(X, NUM("a", "0.0") NUM("b", "6.0") OP("0", "max", "%x, %a") OP("1", "min", "%0, %b"), "%1", \
                   OPA("0", "clip", "%x", "min = 0.0, max = 6.0"), "%0")
/* (x y) + (x z) -> x (y + z) */
#define FACTOR                                                                                                     \
  RULE(XY ", %z: tensor<?xf32>", OP("0", "mul", "%x, %y") OP("1", "mul", "%x, %z") OP("2", "add", "%0, %1"), "%2", \
       OP("0", "add", "%y, %z") OP("1", "mul", "%x, %0"), "%1")

static void expect(tsr_status st, tsr_code code, const char *says) {
  if (tsr_status_code(st) != code || !strstr(tsr_status_message(st), says) || strchr(tsr_status_message(st), '\n'))
    fail_msg("\"%s\" does not say \"%s\"", tsr_status_message(st), says);
  tsr_status_free(st);
}

typedef struct rig {
  tsr_context *ctx;
  tsr_device *dev;
} rig;

static rig open(void) {
  rig r = {NULL};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &r.ctx));
  OK(tsr_device_open(r.ctx, "cpu:0", &r.dev));
  return r;
}

static void shut(rig *r) {
  tsr_device_close(&r->dev);
  tsr_context_destroy(&r->ctx);
}

enum { MOST = 256 };

/* Compiles and runs text, whose inputs have at most MOST elements each, and compares with the reference; what the trace
 * says is in `trace`. Returns the number of launches. */
static int run(rig *r, const char *text, const tsr_compile_options *o, char *trace, size_t bytes) {
  static _Alignas(64) float data[4][MOST];
  static double want[MOST], tolerance[MOST];
  static float have[MOST];
  const void *in[4];
  tsr_binding bind[4] = {{NULL}}, out = {NULL};
  tsr_graph *g;
  tsr_program *p;
  char *said;
  OK(tsr_graph_parse(r->ctx, text, strlen(text), "text", &g));
  const tsr_status st = tsr_program_compile(r->dev, g, o, &p);
  OK(st);
  const int n = tsr_graph_n_inputs(g);
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < MOST; k++) data[i][k] = (float)((i + 3) * (k + 1) * 7919 % 2001 - 1000) / 400;
    in[i] = data[i];
    OK(tsr_buffer_import(r->dev, data[i], sizeof data[i], &bind[i].buffer));
  }
  const size_t size = tsr_program_output(p, 0).bytes;
  OK(tsr_buffer_create(r->dev, size, TSR_MEMORY_DEVICE, &out.buffer));
  OK(tsr_program_run(p, NULL, bind, &out));
  OK(tsr_buffer_read(out.buffer, 0, have, size));
  OK(tsr_graph_reference(g, in, (double *[]){want}, (double *[]){tolerance}));
  for (size_t i = 0; i < size / 4; i++)
    if (!(fabs((double)have[i] - want[i]) <= tolerance[i])) fail_msg("%zu: %g, want %g", i, (double)have[i], want[i]);
  OK(tsr_program_explain(p, &said));
  snprintf(trace, bytes, "%s", said);
  tsr_text_free(r->ctx, &said);
  const int launches = tsr_program_n_kernels(p);
  for (int i = 0; i < n; i++) tsr_buffer_destroy(&bind[i].buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  return launches;
}

static char trace[1 << 16];
static void said(const char *what) {
  if (!strstr(trace, what)) fail_msg("the trace does not say \"%s\":\n%s", what, trace);
}
static void not_said(const char *what) {
  if (strstr(trace, what)) fail_msg("the trace says \"%s\":\n%s", what, trace);
}

#define ROWS "%a: tensor<3x4x6xf32>"
static const char log_of_softmax[] =
    FUNC("main", ROWS, OPA("s", "softmax", "%a", "axis = 2") OP("l", "log", "%s"), "%l");

static const tsr_rule log_softmax = {.name = "test.log_softmax", .text = LOG_SOFTMAX, .any_shape = true, .rounds = true};

static void a_rule_fires_on_other_shapes_and_is_switched_off_by_its_name_or_group(void **state) {
  rig r = open();
  OK(tsr_rule_register(r.ctx, &log_softmax));
  run(&r, log_of_softmax, NULL, trace, sizeof trace);
  said("test.log_softmax fired at tessera.graph.log");
  said("expanded log_softmax"); /* a composite op in its place */
  static const char *const off[] = {"test.log_softmax", "rewrites"};
  for (int i = 0; i < 2; i++) {
    run(&r, log_of_softmax, &(tsr_compile_options){.disable = off[i]}, trace, sizeof trace);
    said("test.log_softmax refused at tessera.graph.log");
    said("switched off");
    not_said("expanded log_softmax");
  }
  run(&r, log_of_softmax, &(tsr_compile_options){.policy = TSR_POLICY_DETERMINISTIC}, trace, sizeof trace);
  said("it would change rounding");
  shut(&r);
}

static void a_switch_of_a_rule_that_is_not_there_is_one_line(void **state) {
  rig r = open();
  tsr_graph *g;
  tsr_program *p;
  OK(tsr_graph_parse(r.ctx, log_of_softmax, sizeof log_of_softmax - 1, "text", &g));
  expect(tsr_program_compile(r.dev, g, &(tsr_compile_options){.disable = "fusion,test.none"}, &p), TSR_INVALID_ARGUMENT,
         "no rule of this context is called \"test.none\"");
  tsr_graph_destroy(&g);
  shut(&r);
}

static void commuting_operands_match_in_either_order_and_constants_by_value(void **state) {
  rig r = open();
  OK(tsr_rule_register(r.ctx, &(tsr_rule){.name = "test.clamp", .text = CLAMP, .any_shape = true}));
  OK(tsr_rule_register(r.ctx, &(tsr_rule){.name = "test.factor", .text = FACTOR, .any_shape = true, .rounds = true}));
  run(&r, FUNC("main", ROWS, NUM("s", "6.0") "%z = \"tessera.graph.constant\"() {value = dense<0.0> : tensor<6xf32>}\n"
               OP("0", "max", "%z, %a") OP("1", "min", "%s, %0"), "%1"),
      NULL, trace, sizeof trace);
  said("test.clamp fired");
  run(&r, FUNC("main", ROWS, NUM("s", "5.0") NUM("z", "0.0") OP("0", "max", "%z, %a") OP("1", "min", "%s, %0"), "%1"),
      NULL, trace, sizeof trace);
  not_said("test.clamp");
  run(&r, FUNC("main", ROWS ", %b: tensor<6xf32>, %c: tensor<4x6xf32>",
               OP("0", "mul", "%b, %a") OP("1", "mul", "%a, %c") OP("2", "add", "%1, %0"), "%2"),
      NULL, trace, sizeof trace);
  said("test.factor fired");
  shut(&r);
}

static bool only_small(void *user, const tsr_rule_hole *holes, int n, char *why, size_t bytes) {
  int *asked = user;
  ++*asked;
  if (n != 2 || strcmp(holes[1].name, "y")) return snprintf(why, bytes, "these are no holes of mine"), false;
  if (!holes[1].data) return snprintf(why, bytes, "y is no constant\nbut computed"), false;
  const float *y = holes[1].data;
  for (int64_t i = 0; i < holes[1].n_data; i++)
    if (y[i] != 0)
      return snprintf(why, bytes, "y has %g at %d of %d", (double)y[i], (int)i, (int)holes[1].n_data), false;
  return true;
}

static void a_condition_sees_what_is_in_the_holes_and_its_reason_is_told(void **state) {
  rig r = open();
  int asked = 0;
#define DROP                                           \
  RULE(XY, OP("0", "sub", "%x, %y"), "%0",             \
       OP("0", "abs", "%x") OP("1", "sign", "%x") OP("2", "mul", "%0, %1"), "%2")
  tsr_rule drop = {.name = "test.drop", .text = DROP, .any_shape = true, .rounds = true, .unchecked = true};
  drop.fits = only_small, drop.user = &asked;
  OK(tsr_rule_register(r.ctx, &drop));
  run(&r, FUNC("main", ROWS ", %b: tensor<6xf32>", OP("0", "sub", "%a, %b"), "%0"), NULL, trace, sizeof trace);
  said("test.drop refused at tessera.graph.sub (line 3): y is no constant\n");
  run(&r,
      FUNC("main", ROWS,
           "%c = \"tessera.graph.constant\"() {value = dense<[0.0, 0.0, 2.0, 0.0, 0.0, 0.0]> : tensor<6xf32>}\n"
           OP("0", "sub", "%a, %c"), "%0"),
      NULL, trace, sizeof trace);
  said("y has 2 at 2 of 6");
  run(&r, FUNC("main", ROWS, "%c = \"tessera.graph.constant\"() {value = dense<0.0> : tensor<6xf32>}\n"
               OP("0", "sub", "%a, %c"), "%0"), NULL, trace, sizeof trace);
  said("test.drop fired");
  assert_true(asked >= 3);
  shut(&r);
}

static void values_needed_elsewhere_and_other_types_are_refused_unless_the_rule_takes_them(void **state) {
  static const char both[] =
      FUNC("main", ROWS, OP("s", "softmax", "%a") OP("l", "log", "%s") OP("t", "add", "%s, %l"), "%t");
  static const char half[] = FUNC("main", ROWS,
                                  OPA("h", "cast", "%a", "dtype = \"f16\"") OP("s", "softmax", "%h")
                                      OP("l", "log", "%s") OPA("f", "cast", "%l", "dtype = \"f32\""),
                                  "%f");
  tsr_rule shared = log_softmax, typed = log_softmax, fixed = log_softmax;
  shared.name = "test.shared", shared.shared = true;
  typed.name = "test.typed", typed.types = "f16, f32";
  fixed.name = "test.fixed", fixed.any_shape = false;
  rig r = open();
  OK(tsr_rule_register(r.ctx, &log_softmax));
  OK(tsr_rule_register(r.ctx, &fixed));
  run(&r, both, NULL, trace, sizeof trace);
  said("something else needs a value inside the pattern");
  run(&r, half, NULL, trace, sizeof trace);
  said("test.log_softmax refused at tessera.graph.log %l (line 5): %x does not take f16");
  run(&r, log_of_softmax, &(tsr_compile_options){.disable = "test.log_softmax"}, trace, sizeof trace);
  said("test.fixed refused at tessera.graph.log %l (line 4): %x does not take a value of that shape");
  OK(tsr_rule_register(r.ctx, &shared));
  OK(tsr_rule_register(r.ctx, &typed));
  run(&r, both, NULL, trace, sizeof trace);
  said("test.shared fired");
  run(&r, half, NULL, trace, sizeof trace);
  said("test.typed fired");
  shut(&r);
}

/* Each by itself comes to an end; together they don't. */
static void two_rules_that_undo_each_other_stop_at_a_bound_and_keep_the_values(void **state) {
  rig r = open();
  static const tsr_rule rules[] = {
      {.name = "test.there", .any_shape = true, .text = RULE(X, OP("0", "abs", "%x"), "%0", OP("1", "neg", "%x") OP("0", "max", "%x, %1"), "%0")},
      {.name = "test.back", .any_shape = true, .text = RULE(X, OP("1", "neg", "%x") OP("0", "max", "%x, %1"), "%0", OP("0", "abs", "%x"), "%0")},
  };
  for (int i = 0; i < 2; i++) OK(tsr_rule_register(r.ctx, &rules[i]));
  run(&r, FUNC("main", ROWS, OP("0", "abs", "%a"), "%0"), NULL, trace, sizeof trace);
  said("test.there fired");
  said("test.back fired");
  said("bound refused");
  shut(&r);
}

static const struct { tsr_rule rule; tsr_code code; const char *says; } bad[] = {
    {{.name = "plain", .text = LOG_SOFTMAX}, TSR_INVALID_ARGUMENT, "the name can't be a rule's"},
    {{.name = "with space.x", .text = LOG_SOFTMAX}, TSR_INVALID_ARGUMENT, "the name can't be a rule's"},
    {{.name = NULL, .text = LOG_SOFTMAX}, TSR_INVALID_ARGUMENT, "the name can't be a rule's"},
    {{.name = "t.none"}, TSR_INVALID_ARGUMENT, "text is NULL"},
    {{.name = "t.empty", .text = ""}, TSR_PARSE_ERROR, "t.empty:1:1: expected an operation"},
    {{.name = "t.first", .text = FUNC("main", X, OP("0", "neg", "%x"), "%0")}, TSR_INVALID_ARGUMENT, "no function called \"pattern\""},
    {{.name = "t.junk", .text = "\"tessera.graph.func\"("}, TSR_PARSE_ERROR, "t.junk:1:"},
    {{.name = "t.half", .text = FUNC("pattern", X, OP("0", "neg", "%x"), "%0")}, TSR_INVALID_ARGUMENT, "no function called \"replacement\""},
    {{.name = "t.types", .text = LOG_SOFTMAX, .types = "f32, f33"}, TSR_INVALID_ARGUMENT, "no element type is called \"f33\""},
    {{.name = "t.unchecked", .text = LOG_SOFTMAX, .unchecked = true}, TSR_INVALID_ARGUMENT, "needs a condition"},
    {{.name = "t.unbound", .text = RULE(XY, OP("0", "neg", "%x"), "%0", OP("0", "add", "%x, %y") OP("1", "sub", "%y, %0"), "%1")}, TSR_INVALID_ARGUMENT, "does not bind hole %y"},
    {{.name = "t.dead", .text = RULE(X, OP("1", "exp", "%x") OP("0", "neg", "%x"), "%0", OP("0", "neg", "%x"), "%0")}, TSR_INVALID_ARGUMENT, "exp of the pattern is no part of its result"},
    {{.name = "t.hole", .text = RULE(X, "", "%x", OP("0", "abs", "%x"), "%0")}, TSR_INVALID_ARGUMENT, "no operation with one result"},
    {{.name = "t.holes", .text = FUNC("pattern", XY, OP("0", "add", "%x, %y"), "%0") FUNC("replacement", X, OP("0", "neg", "%x"), "%0")}, TSR_INVALID_ARGUMENT, "2 hole(s) in the pattern, 1 in the replacement"},
    {{.name = "t.other", .text = FUNC("pattern", X, OP("0", "neg", "%x"), "%0") FUNC("replacement", "%x: tensor<?xf16>", OP("0", "abs", "%x"), "%0")}, TSR_INVALID_ARGUMENT, "hole %x is of one type"},
    {{.name = "t.result", .text = RULE(X, OP("0", "neg", "%x"), "%0", OPA("0", "cast", "%x", "dtype = \"f16\""), "%0")}, TSR_INVALID_ARGUMENT, "result is of another type"},
    {{.name = "t.two", .text = RULE(X, OP("0", "neg", "%x"), "%0, %x", OP("0", "neg", "%x"), "%0, %x")}, TSR_INVALID_ARGUMENT, "one result each, not 2 and 2"},
    {{.name = "t.wrong", .text = RULE(X, OP("0", "tanh", "%x"), "%0", OP("0", "sigmoid", "%x"), "%0"), .rounds = true}, TSR_INVALID_ARGUMENT, "the replacement has other values"},
    {{.name = "t.nan", .text = RULE(XY, OP("1", "sub", "%x, %x") OP("0", "add", "%1, %y"), "%0", NUM("z", "0.0") OP("0", "add", "%y, %z"), "%0")}, TSR_INVALID_ARGUMENT, "infinities and NaN among the inputs"},
    {{.name = "t.rounds", .text = FACTOR}, TSR_INVALID_ARGUMENT, "the replacement has other values"},
    {{.name = "t.itself", .text = RULE(XY, OP("0", "add", "%x, %y"), "%0", OP("0", "add", "%y, %x"), "%0")}, TSR_INVALID_ARGUMENT, "fires on what it gives, without end"},
    {{.name = "t.grows", .text = RULE(X, OP("0", "relu", "%x"), "%0", OP("1", "relu", "%x") OP("0", "relu", "%1"), "%0")}, TSR_INVALID_ARGUMENT, "fires on what it gives, without end"},
    {{.name = "t.build", .text = RULE("%x: tensor<?x8xf32>", OPA("1", "reshape", "%x", "shape = [12]") OP("0", "neg", "%1"), "%0", OP("1", "neg", "%x") OPA("0", "reshape", "%1", "shape = [12]"), "%0")}, TSR_INVALID_ARGUMENT, "it can't be built for f32"},
};

static void what_is_no_rule_is_refused_by_one_line(void **state) {
  rig r = open();
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    expect(tsr_rule_register(r.ctx, &bad[i].rule), bad[i].code, bad[i].says);
  OK(tsr_rule_register(r.ctx, &log_softmax));
  expect(tsr_rule_register(r.ctx, &log_softmax), TSR_INVALID_ARGUMENT, "\"test.log_softmax\" is registered already");
  expect(tsr_rule_register(NULL, &log_softmax), TSR_INVALID_ARGUMENT, "ctx is NULL");
  expect(tsr_rule_register(r.ctx, NULL), TSR_INVALID_ARGUMENT, "rule is NULL");
  run(&r, log_of_softmax, NULL, trace, sizeof trace);
  not_said(": t.");
  shut(&r);
}

/* ---- an op of the application's in the place of the table's ------------------------------------------------------ */

static bool silu_infer(void *user, const tsr_custom_call *c, char *why, size_t n) {
  c->result->dtype = c->operands[0].dtype;
  c->result->shape = c->operands[0].shape;
  return c->operands[0].dtype == TSR_F32;
}

static bool silu_cpu(void *user, const tsr_custom_call *c, int64_t first, int64_t last, char *why, size_t n) {
  int64_t row = 1;
  for (int i = 1; i < c->result->shape.rank; i++) row *= c->result->shape.dims[i];
  const float *x = c->operands[0].data;
  for (int64_t i = first * row; i < last * row; i++)
    ((float *)c->result->data)[i] = (float)((double)x[i] / (1 + exp(-(double)x[i])));
  return true;
}

#define TO_SILU                                                                                          \
  RULE(X, OP("0", "sigmoid", "%x") OP("1", "mul", "%x, %0"), "%1",                                       \
       "%0 = \"tessera.graph.custom\"(%x) {callee = \"my.silu\"} : (tensor<?xf32>) -> tensor<?xf32>\n", "%0")
#define SILU FUNC("main", ROWS, OP("0", "sigmoid", "%a") OP("1", "mul", "%0, %a"), "%1")

static tsr_status add_silu(tsr_context *ctx) {
  tsr_status st = tsr_custom_op_register(
      ctx, &(tsr_custom_op){.name = "my.silu", .n_operands = 1, .infer = silu_infer, .cpu = silu_cpu});
  const tsr_rule rule = {.name = "my.to_silu", .text = TO_SILU, .any_shape = true, .rounds = true};
  return st ? st : tsr_rule_register(ctx, &rule);
}

static void a_rule_puts_an_op_of_the_application_in_place(void **state) {
  rig r = open();
  OK(add_silu(r.ctx));
  run(&r, SILU, NULL, trace, sizeof trace);
  said("my.to_silu fired");
  shut(&r);
}

static tsr_code whole_life(counting *c) {
  tsr_allocator al = {count_alloc, count_free, c};
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.allocator = &al, .cache_dir = ""}, &ctx);
  if (!st) st = add_silu(ctx);
  if (!st) st = tsr_rule_register(ctx, &log_softmax);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  if (!st) st = tsr_graph_parse(ctx, SILU, strlen(SILU), "text", &g);
  if (!st) st = tsr_program_compile(dev, g, NULL, &p);
  tsr_code code = tsr_status_code(st);
  tsr_status_free(st);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return code;
}

static void every_failed_allocation_is_a_status(void **state) { refuse_each_allocation(whole_life, true); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rule_fires_on_other_shapes_and_is_switched_off_by_its_name_or_group),
      cmocka_unit_test(a_switch_of_a_rule_that_is_not_there_is_one_line),
      cmocka_unit_test(commuting_operands_match_in_either_order_and_constants_by_value),
      cmocka_unit_test(a_condition_sees_what_is_in_the_holes_and_its_reason_is_told),
      cmocka_unit_test(values_needed_elsewhere_and_other_types_are_refused_unless_the_rule_takes_them),
      cmocka_unit_test(two_rules_that_undo_each_other_stop_at_a_bound_and_keep_the_values),
      cmocka_unit_test(what_is_no_rule_is_refused_by_one_line),
      cmocka_unit_test(a_rule_puts_an_op_of_the_application_in_place),
      cmocka_unit_test(every_failed_allocation_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
