/* if and while: what they compute on the CPU, as the oracle says and as plain C does; that loops whose trips are known
 * ask the host for nothing and short ones are written out; the trace; nesting; buffers; what refuses them, from text
 * of either level and from C. Devices and types are test_op_types.c's and the random suite's, derivatives
 * test_graph_autodiff.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"

#define V "tensor<4xf32>"
#define I "tensor<i32>"

/* v doubles and i counts up while i < n (an operand), at most 50 times. */
#define LOOP(from, most)                                                                                              \
  "%z = \"tessera.graph.constant\"() {value = dense<" from "> : " I "}\n"                                             \
  "%i, %r = \"tessera.graph.while\"(%z, %x, %n) ({\n^bb0(%k: " I ", %v: " V ", %m: " I "):\n"                         \
  "%c = \"tessera.graph.compare\"(%k, %m) {predicate = \"lt\"}\n\"tessera.graph.return\"(%c)\n}, {\n"                 \
  "^bb0(%k: " I ", %v: " V ", %m: " I "):\n%one = \"tessera.graph.constant\"() {value = dense<1> : " I "}\n"          \
  "%a = \"tessera.graph.add\"(%k, %one)\n%b = \"tessera.graph.add\"(%v, %v)\n\"tessera.graph.return\"(%a, %b)\n"      \
  "}) {carried = 2, max_trips = " most "}\n"
/* The same with a count that is known. */
#define COUNTED(n)                                                                                                    \
  "%z = \"tessera.graph.constant\"() {value = dense<0> : " I "}\n"                                                    \
  "%i, %r = \"tessera.graph.while\"(%z, %x) ({\n^bb0(%k: " I ", %v: " V "):\n"                                        \
  "%m = \"tessera.graph.constant\"() {value = dense<" n "> : " I "}\n"                                                \
  "%c = \"tessera.graph.compare\"(%k, %m) {predicate = \"lt\"}\n\"tessera.graph.return\"(%c)\n}, {\n"                 \
  "^bb0(%k: " I ", %v: " V "):\n%one = \"tessera.graph.constant\"() {value = dense<1> : " I "}\n"                     \
  "%a = \"tessera.graph.add\"(%k, %one)\n%b = \"tessera.graph.add\"(%v, %v)\n\"tessera.graph.return\"(%a, %b)\n"      \
  "}) {max_trips = 1000}\n"
/* The same downwards: from n, by subtraction, while 0 < i. */
#define COUNTED_DOWN(n)                                                                                               \
  "%z = \"tessera.graph.constant\"() {value = dense<" n "> : " I "}\n"                                               \
  "%i, %r = \"tessera.graph.while\"(%z, %x) ({\n^bb0(%k: " I ", %v: " V "):\n"                                        \
  "%m = \"tessera.graph.constant\"() {value = dense<0> : " I "}\n"                                                   \
  "%c = \"tessera.graph.compare\"(%m, %k) {predicate = \"lt\"}\n\"tessera.graph.return\"(%c)\n}, {\n"                 \
  "^bb0(%k: " I ", %v: " V "):\n%two = \"tessera.graph.constant\"() {value = dense<2> : " I "}\n"                     \
  "%a = \"tessera.graph.sub\"(%k, %two)\n%b = \"tessera.graph.add\"(%v, %v)\n\"tessera.graph.return\"(%a, %b)\n"      \
  "}) {max_trips = 1000}\n"
/* Row sums or maxima: no short regions. */
#define BRANCH                                                                                                        \
  "%r = \"tessera.graph.if\"(%c, %x) ({\n^bb0(%v: tensor<2x4xf32>):\n"                                                \
  "%s = \"tessera.graph.reduce_sum\"(%v) {axes = [1]}\n\"tessera.graph.return\"(%s)\n}, {\n^bb0(%v: "                 \
  "tensor<2x4xf32>):\n%s = \"tessera.graph.reduce_max\"(%v) {axes = [1]}\n\"tessera.graph.return\"(%s)\n})\n"

typedef struct ran {
  int kernels, control;
  char trace[8192];
} ran;

/* Runs on the CPU; every buffer 8 bytes into its memory, twice with the same program. */
static void run(const char *text, const tsr_compile_options *o, const void *const *in, void *const *out, ran *r) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding b[2][8] = {{{0}}};
  char *told;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test.mlir", o, &p));
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < (side ? tsr_program_n_outputs(p) : tsr_program_n_inputs(p)); i++) {
      const tsr_tensor_info t = side ? tsr_program_output(p, i) : tsr_program_input(p, i);
      OK(tsr_buffer_create(dev, t.bytes + 8, TSR_MEMORY_DEVICE, &b[side][i].buffer));
      b[side][i].offset = 8;
      if (!side) OK(tsr_buffer_write(b[side][i].buffer, 8, in[i], t.bytes));
    }
  for (int again = 0; again < 2; again++) OK(tsr_program_run(p, NULL, b[0], b[1]));
  for (int i = 0; i < tsr_program_n_outputs(p); i++)
    OK(tsr_buffer_read(b[1][i].buffer, 8, out[i], tsr_program_output(p, i).bytes));
  r->kernels = tsr_program_n_kernels(p), r->control = 0;
  for (int i = 0; i < r->kernels; i++) r->control += !strcmp(tsr_program_kernel(p, i).family, "control");
  OK(tsr_program_explain(p, &told));
  snprintf(r->trace, sizeof r->trace, "%s", told);
  tsr_text_free(ctx, &told);
  for (int i = 0; i < 16; i++) tsr_buffer_destroy(&b[i / 8][i % 8].buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void reference(const char *text, const void *const *in, void *const *out) {
  ir_module *m = gt_parse(text);
  OK(graph_eval(graph_find_func(m, NULL), in, out, NULL));
  ir_module_destroy(&m);
}

static const char *loop_text(const char *body) {
  return gt_func("%x: " V ", %n: " I, body, "%r, %i", V ", " I);
}

static void loops_end_when_their_condition_does(void **state) {
  static const int32_t counts[] = {-3, 0, 1, 2, 7, 12, 49, 50, 60};
  const float x[4] = {1, -2, 0.5f, 0};
  const char *text = loop_text(LOOP("0", "50"));
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    const int want = counts[k] < 0 ? 0 : counts[k] > 50 ? 50 : counts[k];
    for (int side = 0; side < 2; side++) {
      float y[4];
      int32_t i = -1;
      ran r = {.control = 1};
      const void *const in[] = {x, &counts[k]};
      void *const out[] = {y, &i};
      if (side) run(text, NULL, in, out, &r);
      else reference(text, in, out);
      assert_int_equal(i, want);
      for (int e = 0; e < 4; e++) assert_float_equal(y[e], ldexpf(x[e], want), 0);
      assert_int_equal(r.control, 1);
      if (side) assert_non_null(strstr(r.trace, "a byte is read back at each trip"));
    }
  }
}

static void known_trips_are_written_out_or_ask_nothing(void **state) {
  const float x[4] = {1, -2, 0.5f, 0};
  const int32_t n = 0;
  float y[4];
  int32_t i;
  ran r;
  run(loop_text(COUNTED("5")), NULL, (const void *const[]){x, &n}, (void *const[]){y, &i}, &r);
  assert_int_equal(r.control, 0);
  assert_non_null(strstr(r.trace, "few trips: written out"));
  assert_int_equal(i, 5);
  assert_float_equal(y[1], -64, 0);
  run(loop_text(COUNTED("5")), &(tsr_compile_options){.disable = "unroll"}, (const void *const[]){x, &n},
      (void *const[]){y, &i}, &r);
  assert_int_equal(r.control, 1);
  assert_float_equal(y[1], -64, 0);
  run(loop_text(COUNTED("31")), NULL, (const void *const[]){x, &n}, (void *const[]){y, &i}, &r);
  assert_int_equal(r.control, 1);
  assert_non_null(strstr(r.trace, "31 trips, known now"));
  assert_int_equal(i, 31);
  assert_float_equal(y[2], ldexpf(0.5f, 31), 0);
  run(loop_text(COUNTED_DOWN("9")), NULL, (const void *const[]){x, &n}, (void *const[]){y, &i}, &r);
  assert_int_equal(r.control, 0);
  assert_int_equal(i, -1);
  assert_float_equal(y[1], -64, 0);
  run(loop_text(COUNTED_DOWN("62")), NULL, (const void *const[]){x, &n}, (void *const[]){y, &i}, &r);
  assert_non_null(strstr(r.trace, "31 trips, known now"));
  assert_int_equal(i, 0);
  assert_float_equal(y[2], ldexpf(0.5f, 31), 0);
  run(loop_text(COUNTED("0")), NULL, (const void *const[]){x, &n}, (void *const[]){y, &i}, &r);
  assert_int_equal(i, 0);
  assert_memory_equal(x, y, sizeof x);
}

static void a_branch_is_what_the_condition_says(void **state) {
  const float x[8] = {1, 2, 3, 4, -1, -2, -3, -4}, want[2][2] = {{4, -1}, {10, -10}};
  const char *text = gt_func("%c: tensor<i1>, %x: tensor<2x4xf32>", BRANCH, "%r", "tensor<2xf32>");
  for (int c = 0; c < 2; c++) {
    const unsigned char cond = (unsigned char)c;
    float y[2];
    ran r;
    reference(text, (const void *const[]){&cond, x}, (void *const[]){y});
    assert_memory_equal(y, want[c], sizeof y);
    run(text, NULL, (const void *const[]){&cond, x}, (void *const[]){y}, &r);
    assert_memory_equal(y, want[c], sizeof y);
    assert_int_equal(r.control, 1);
    assert_non_null(strstr(r.trace, "the host reads the condition back and runs main_if0_then or main_if0_else"));
  }
}

#define SHORT                                                                                                         \
  "%r = \"tessera.graph.if\"(%c, %x) ({\n^bb0(%v: " V "):\n%s = \"tessera.graph.sqrt\"(%v)\n"                         \
  "\"tessera.graph.return\"(%s)\n}, {\n^bb0(%v: " V "):\n%s = \"tessera.graph.neg\"(%v)\n"                            \
  "\"tessera.graph.return\"(%s)\n})\n"

static void short_branches_are_a_select(void **state) {
  const float x[4] = {-4, 4, -1, 9};
  const char *text = gt_func("%c: tensor<1x1xi1>, %x: " V, SHORT, "%r", V);
  const unsigned char no = 0;
  float y[4];
  ran r;
  run(text, NULL, (const void *const[]){&no, x}, (void *const[]){y}, &r); /* NaN of the other branch goes nowhere */
  for (int i = 0; i < 4; i++) assert_float_equal(y[i], -x[i], 0);
  assert_int_equal(r.kernels, 1);
  assert_int_equal(r.control, 0);
  assert_non_null(strstr(r.trace, "both run, and a select takes one"));
  run(text, &(tsr_compile_options){.disable = "select_if"}, (const void *const[]){&no, x}, (void *const[]){y}, &r);
  for (int i = 0; i < 4; i++) assert_float_equal(y[i], -x[i], 0);
  assert_int_equal(r.control, 1);
}

/* A loop in a loop, with an if in it: v is multiplied by 2 n times and then 1 added where that is even, m times. */
static void control_nests(void **state) {
  const char *body =
      "%z = \"tessera.graph.constant\"() {value = dense<0> : " I "}\n"
      "%i, %r = \"tessera.graph.while\"(%z, %x, %n) ({\n^bb0(%k: " I ", %v: " V ", %m: " I "):\n"
      "%c = \"tessera.graph.compare\"(%k, %m) {predicate = \"lt\"}\n\"tessera.graph.return\"(%c)\n}, {\n"
      "^bb0(%k: " I ", %v: " V ", %m: " I "):\n%one = \"tessera.graph.constant\"() {value = dense<1> : " I "}\n"
      "%nil = \"tessera.graph.constant\"() {value = dense<0> : " I "}\n"
      "%j, %w = \"tessera.graph.while\"(%nil, %v, %m) ({\n^bb0(%q: " I ", %u: " V ", %h: " I "):\n"
      "%d = \"tessera.graph.compare\"(%q, %h) {predicate = \"lt\"}\n\"tessera.graph.return\"(%d)\n}, {\n"
      "^bb0(%q: " I ", %u: " V ", %h: " I "):\n%t = \"tessera.graph.constant\"() {value = dense<1> : " I "}\n"
      "%qq = \"tessera.graph.add\"(%q, %t)\n%uu = \"tessera.graph.add\"(%u, %u)\n\"tessera.graph.return\"(%qq, %uu)\n"
      "}) {carried = 2, max_trips = 20}\n"
      "%two = \"tessera.graph.constant\"() {value = dense<2> : " I "}\n%e = \"tessera.graph.rem\"(%k, %two)\n"
      "%even = \"tessera.graph.compare\"(%e, %nil) {predicate = \"eq\"}\n"
      "%f = \"tessera.graph.if\"(%even, %w) ({\n^bb0(%a: " V "):\n%l = \"tessera.graph.constant\"() {value = dense<1.0> : " V
      "}\n%s = \"tessera.graph.add\"(%a, %l)\n\"tessera.graph.return\"(%s)\n}, {\n^bb0(%a: " V "):\n"
      "\"tessera.graph.return\"(%a)\n})\n"
      "%kk = \"tessera.graph.add\"(%k, %one)\n\"tessera.graph.return\"(%kk, %f)\n}) {carried = 2, max_trips = 20}\n";
  const char *text = loop_text(body);
  const float x[4] = {1, 0, -1, 3};
  for (int32_t n = 0; n < 5; n++)
    for (int side = 0; side < 2; side++) {
      const tsr_compile_options o = {.disable = "select_if"};
      float y[4], want;
      int32_t i;
      ran r;
      const void *const in[] = {x, &n};
      void *const out[] = {y, &i};
      if (side) run(text, &o, in, out, &r);
      else reference(text, in, out);
      for (int e = 0; e < 4; e++) {
        want = x[e];
        for (int k = 0; k < n; k++) want = ldexpf(want, n) + (k % 2 == 0);
        assert_float_equal(y[e], want, 0);
      }
    }
}

/* What is carried may change places: no trip overwrites what it reads. */
static void carried_values_change_places(void **state) {
  const char *body =
      "%z = \"tessera.graph.constant\"() {value = dense<0> : " I "}\n"
      "%i, %r, %s = \"tessera.graph.while\"(%z, %x, %y, %n) ({\n^bb0(%k: " I ", %v: " V ", %w: " V ", %m: " I "):\n"
      "%c = \"tessera.graph.compare\"(%k, %m) {predicate = \"lt\"}\n\"tessera.graph.return\"(%c)\n}, {\n"
      "^bb0(%k: " I ", %v: " V ", %w: " V ", %m: " I "):\n%one = \"tessera.graph.constant\"() {value = dense<1> : " I "}\n"
      "%a = \"tessera.graph.add\"(%k, %one)\n\"tessera.graph.return\"(%a, %w, %v)\n}) {carried = 3, max_trips = 9}\n";
  const char *text = gt_func("%x: " V ", %y: " V ", %n: " I, body, "%r, %s", V ", " V);
  const float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
  for (int32_t n = 0; n < 6; n++) {
    float a[4], b[4];
    ran r;
    run(text, NULL, (const void *const[]){x, y, &n}, (void *const[]){a, b}, &r);
    assert_memory_equal(a, n % 2 ? y : x, sizeof a);
    assert_memory_equal(b, n % 2 ? x : y, sizeof b);
  }
}

/* Each level's text, read again, gives the same text and runs. */
static void lower_levels_are_text_that_runs(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  const char *source = loop_text(LOOP("0", "50"));
  const float x[4] = {1, -2, 0.5f, 0};
  const int32_t n = 5;
  for (tsr_level level = TSR_LEVEL_GRAPH; level <= TSR_LEVEL_TARGET; level++) {
    tsr_program *p;
    char *text, *again;
    float y[4];
    int32_t i;
    ran r;
    OK(tsr_program_parse(dev, source, strlen(source), "test.mlir", NULL, &p));
    OK(tsr_program_dump(p, level, &text, NULL));
    tsr_program_destroy(&p);
    OK(tsr_program_parse(dev, text, strlen(text), "again.mlir", NULL, &p));
    OK(tsr_program_dump(p, level, &again, NULL));
    assert_string_equal(text, again);
    run(text, NULL, (const void *const[]){x, &n}, (void *const[]){y, &i}, &r);
    assert_int_equal(i, 5);
    assert_float_equal(y[1], -64, 0);
    tsr_program_destroy(&p);
    tsr_text_free(ctx, &text);
    tsr_text_free(ctx, &again);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

#define PROGRAM(name, args, body) \
  "\"tessera.target.program\"() ({\n^bb0(" args "):\n" body "}) {sym_name = \"" name "\"}\n"
#define STEP(operands, kind, first, second, more) \
  "\"tessera.target.control\"(" operands ") {kind = \"" kind "\", first = \"" first "\", second = \"" second "\", " more "}\n"
#define BUFFER "%b = \"tessera.target.buffer\"() : () -> tensor<4xf32>\n"
#define RETURN(v) "\"tessera.target.return\"(" v ")\n"
#define SAME PROGRAM("same", "%x: tensor<4xf32>", RETURN("%x"))

static void bad_steps_are_refused(void **state) {
  static const struct { const char *text, *why; } cases[] = {
      {PROGRAM("main", "%x: tensor<4xf32>", BUFFER STEP("%x, %b", "while", "", "main", "outputs = 1, carried = 1, max_trips = 3") RETURN("%b")), "program \"main\" runs itself"},
      {PROGRAM("main", "%x: tensor<4xf32>", BUFFER STEP("%x, %b", "while", "", "gone", "outputs = 1, carried = 1, max_trips = 3") RETURN("%b")), "no program \"gone\""},
      {PROGRAM("main", "%x: tensor<4xf32>", BUFFER STEP("%x, %b", "while", "same", "same", "outputs = 1, carried = 1, max_trips = 3") RETURN("%b")) SAME, "program \"same\" must give one bool"},
      {PROGRAM("main", "%x: tensor<4xf32>", BUFFER STEP("%x, %b", "until", "same", "same", "outputs = 1, carried = 1") RETURN("%b")) SAME, "unknown kind \"until\""},
      {PROGRAM("main", "%x: tensor<4xf32>", BUFFER STEP("%x, %b", "while", "", "same", "outputs = 3, carried = 1") RETURN("%b")) SAME, "outputs = 3 of 2 operands"},
      {PROGRAM("main", "%x: tensor<4xf32>", BUFFER STEP("%x, %b", "while", "", "same", "outputs = 1, carried = 0") RETURN("%b")) SAME, "carried = 0 for 1 outputs"},
      {PROGRAM("main", "%x: tensor<4xf32>", BUFFER STEP("%x, %b", "while", "", "same", "outputs = 1, carried = 1, max_trips = -1") RETURN("%b")) SAME, "max_trips = -1"},
      {PROGRAM("main", "%x: tensor<4xf32>", BUFFER STEP("%x, %x", "while", "", "same", "outputs = 1, carried = 1") RETURN("%b")) SAME, "operand 1 must be a buffer"},
      {PROGRAM("main", "%x: tensor<4xf32>", BUFFER STEP("%b, %b", "while", "", "same", "outputs = 1, carried = 1") RETURN("%b")) SAME, "operand 1 is written and read"},
      {PROGRAM("main", "%x: tensor<4xf32>", BUFFER STEP("%x, %x, %b", "if", "same", "same", "outputs = 1") RETURN("%b")) SAME, "operand 0 must be one bool"},
      {PROGRAM("main", "%x: tensor<5xf32>", "%b = \"tessera.target.buffer\"() : () -> tensor<5xf32>\n" STEP("%x, %b", "while", "", "same", "outputs = 1, carried = 1") RETURN("%b")) SAME, "input 0 of program \"same\" has another type"},
  };
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tsr_program *p;
    tsr_status st = tsr_program_parse(dev, cases[k].text, strlen(cases[k].text), "bad.mlir", NULL, &p);
    assert_non_null(st);
    assert_true(gt_says(tsr_status_message(st), cases[k].why));
    assert_null(p);
    tsr_status_free(st);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* ---- from C ------------------------------------------------------------------------------------------------------ */

static tsr_graph *doubling(tsr_context *ctx, bool condition) {
  tsr_graph *g;
  tsr_value k, v, m, c;
  const int32_t one = 1;
  OK(tsr_graph_create(ctx, condition ? "condition" : "body", &g));
  OK(tsr_graph_input(g, "k", TSR_I32, (tsr_shape){.rank = 0}, &k));
  OK(tsr_graph_input(g, "v", TSR_F32, (tsr_shape){1, {TSR_ANY_DIM}}, &v));
  OK(tsr_graph_input(g, "m", TSR_I32, (tsr_shape){.rank = 0}, &m));
  if (condition) {
    const tsr_attr lt = TSR_STRING("predicate", "lt");
    OK(tsr_graph_op(g, "compare", (tsr_value[]){k, m}, 2, &lt, 1, &c));
    OK(tsr_graph_output(g, c));
    return g;
  }
  OK(tsr_graph_constant(g, TSR_I32, (tsr_shape){.rank = 0}, &one, &c));
  OK(tsr_graph_op(g, "add", (tsr_value[]){k, c}, 2, NULL, 0, &k));
  OK(tsr_graph_op(g, "add", (tsr_value[]){v, v}, 2, NULL, 0, &v));
  OK(tsr_graph_output(g, k));
  OK(tsr_graph_output(g, v));
  return g;
}

/* Regions with an unknown dimension take the operand's, now or when the graph is specialised. */
static void graphs_become_regions(void **state) {
  tsr_context *ctx;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  tsr_graph *cond = doubling(ctx, true), *body = doubling(ctx, false), *g, *s;
  tsr_value v[3], out[2];
  OK(tsr_graph_create(ctx, "main", &g));
  OK(tsr_graph_input(g, "k", TSR_I32, (tsr_shape){.rank = 0}, &v[0]));
  OK(tsr_graph_input(g, "v", TSR_F32, (tsr_shape){1, {TSR_ANY_DIM}}, &v[1]));
  OK(tsr_graph_input(g, "m", TSR_I32, (tsr_shape){.rank = 0}, &v[2]));
  OK(tsr_graph_while(g, cond, body, v, 3, 2, 100, out));
  OK(tsr_graph_output(g, out[1]));
  tsr_graph_destroy(&cond);
  tsr_graph_destroy(&body);
  const tsr_shape shapes[] = {{.rank = 0}, {1, {2}}, {.rank = 0}};
  OK(tsr_graph_specialize(g, shapes, 3, &s));
  const int32_t k = 0, m = 3;
  const float x[2] = {1.5f, -1};
  double y[2], e[2];
  OK(tsr_graph_reference(s, (const void *const[]){&k, x, &m}, (double *const[]){y}, (double *const[]){e}));
  assert_float_equal(y[0], 12, 0);
  assert_float_equal(y[1], -8, 0);
  tsr_graph_destroy(&s);
  tsr_graph_destroy(&g);
  tsr_context_destroy(&ctx);
}

static void bad_calls_get_one_clear_line(void **state) {
  tsr_context *ctx;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  tsr_graph *cond = doubling(ctx, true), *body = doubling(ctx, false), *g;
  tsr_value v[3], out[4] = {0};
  OK(tsr_graph_create(ctx, "main", &g));
  OK(tsr_graph_input(g, "k", TSR_I32, (tsr_shape){.rank = 0}, &v[0]));
  OK(tsr_graph_input(g, "v", TSR_F32, (tsr_shape){1, {2}}, &v[1]));
  OK(tsr_graph_input(g, "m", TSR_I32, (tsr_shape){.rank = 0}, &v[2]));
  const struct { tsr_status st; const char *why; } cases[] = {
      {tsr_graph_while(NULL, cond, body, v, 3, 2, 9, out), "g"},
      {tsr_graph_while(g, NULL, body, v, 3, 2, 9, out), "condition"},
      {tsr_graph_while(g, cond, g, v, 3, 2, 9, out), "the body is the graph itself"},
      {tsr_graph_while(g, cond, body, v, 2, 2, 9, out), "3 inputs for 2 operands"},
      {tsr_graph_while(g, cond, body, v, 3, 4, 9, out), "4 values carried of 3 operands"},
      {tsr_graph_while(g, cond, body, v, 3, 1, 9, out), "the body returns 2 values, 1 are carried"},
      {tsr_graph_while(g, cond, body, v, 3, 2, -9, out), "max_trips = -9"},
      {tsr_graph_while(g, body, cond, v, 3, 2, 9, out), "the condition must return one bool"},
      {tsr_graph_while(g, cond, body, v, 3, 2, 9, NULL), "out"},
      {tsr_graph_while(g, cond, body, (tsr_value[]){v[0], v[1], 77}, 3, 2, 9, out), "operand 2 is not a value"},
      {tsr_graph_if(g, v[0], body, body, v, 3, out), "the condition is i32[], not one bool"},
      {tsr_graph_if(g, 99, body, body, v, 3, out), "operand 0 is not a value"},
      {tsr_graph_if(g, v[0], body, NULL, v, 3, out), "else graph"},
      {tsr_graph_while(g, cond, body, (tsr_value[]){v[0], v[0], v[2]}, 3, 2, 9, out), "argument 1 of the condition is f32[?], the operand i32[]"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    assert_non_null(cases[k].st);
    assert_true(gt_says(tsr_status_message(cases[k].st), cases[k].why));
    tsr_status_free(cases[k].st);
  }
  OK(tsr_graph_while(g, cond, body, v, 3, 2, 9, out)); /* nothing of the others is left */
  OK(tsr_graph_output(g, out[1]));
  tsr_graph_destroy(&g);
  tsr_graph_destroy(&cond);
  tsr_graph_destroy(&body);
  tsr_context_destroy(&ctx);
}

static void unknown_trips_have_no_derivative(void **state) {
  tsr_context *ctx;
  tsr_graph *g, *d;
  const char *text = gt_func("%x: " V ", %n: " I, LOOP("0", "50") "%s = \"tessera.graph.reduce_sum\"(%r)", "%s",
                             "tensor<f32>");
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_graph_parse(ctx, text, strlen(text), "test.mlir", &g));
  tsr_status st = tsr_graph_grad(g, (const tsr_value[]){1}, 1, &d);
  assert_non_null(st);
  assert_true(gt_says(tsr_status_message(st), "while: test.mlir"));
  assert_true(gt_says(tsr_status_message(st), "has no derivative: how many trips it makes"));
  tsr_status_free(st);
  tsr_graph_destroy(&g);
  tsr_context_destroy(&ctx);
}

static tsr_code life(counting *c) {
  const tsr_allocator al = {count_alloc, count_free, c};
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_program *p = NULL;
  const char *text = loop_text(LOOP("0", "50"));
  tsr_status st = tsr_context_create(&(tsr_context_desc){.allocator = &al, .cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  if (!st) st = tsr_program_parse(dev, text, strlen(text), "test.mlir", NULL, &p);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  const tsr_code code = tsr_status_code(st);
  tsr_status_free(st);
  return code;
}

static void every_allocation_may_fail(void **state) { assert_true(refuse_each_allocation(life, true) > 100); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_end_when_their_condition_does),
      cmocka_unit_test(known_trips_are_written_out_or_ask_nothing),
      cmocka_unit_test(a_branch_is_what_the_condition_says),
      cmocka_unit_test(short_branches_are_a_select),
      cmocka_unit_test(control_nests),
      cmocka_unit_test(carried_values_change_places),
      cmocka_unit_test(lower_levels_are_text_that_runs),
      cmocka_unit_test(bad_steps_are_refused),
      cmocka_unit_test(graphs_become_regions),
      cmocka_unit_test(bad_calls_get_one_clear_line),
      cmocka_unit_test(unknown_trips_have_no_derivative),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
