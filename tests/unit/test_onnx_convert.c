/* The conversion of ONNX models: what is computed from shapes becomes constants, conditions and loops that are known
 * are written out, functions put in place, external data read, results right; and what can't be converted is said
 * whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>

#include "core/import/onnx.h"
#include "core/import/onnx/convert.h"
#include "core/ir/graph/eval.h"
#include "tests/support/onnx_message.h"

enum { N = 2 };

/* x [N, 3] and what is added to it. */
static message graph_with_x(void) {
  message g = {.n = 0}, v = value("x", F32, "N", 3);
  inside(&g, 11, &v);
  return g;
}

static tsr_status convert(const message *m, ir_module **out, onnx_report *r) {
  onnx_model *model;
  tsr_status st = onnx_parse(m->p, m->n, "m.onnx", &model);
  if (st) return st;
  st = onnx_convert(model, &(onnx_options){.any_dim = N}, NULL, out, r);
  onnx_close(&model);
  return st;
}

static size_t count(const ir_module *m, graph_code code) {
  size_t n = 0;
  for (const ir_op *o = graph_find_func(m, NULL)->regions[0]->first; o; o = o->next) n += graph_is(o, code);
  return n;
}

static const float xs[6] = {1, 2, 3, 4, 5, 6};

/* Output 0 of x = 1..6 is `want`, of that many elements. */
static void gives(const message *m, const float *want, int64_t n) {
  ir_module *module;
  float got[64];
  tsr_status st = convert(m, &module, NULL);
  if (st) print_message("%s\n", tsr_status_message(st));
  assert_null(st);
  ir_op *func = graph_find_func(module, NULL);
  assert_int_equal(ir_type_count(func->regions[0]->last->operands[0]->type), n);
  st = graph_eval(func, (const void *[]){xs}, (void *[]){got}, NULL);
  if (st) print_message("%s\n", tsr_status_message(st));
  assert_null(st);
  for (int64_t i = 0; i < n; i++)
    if (got[i] != want[i]) fail_msg("element %d: %g, not %g", (int)i, got[i], want[i]);
  ir_module_destroy(&module);
}

/* Reshape(x, Concat(Gather(Shape(x), 1), -1)) */
static void chains_of_shapes_become_constants(void **state) {
  message g = graph_with_x(), n = node_of("Shape", NAMES("x"), NAMES("s"));
  inside(&g, 1, &n);
  add_ints(&g, "one", 1, (int64_t[]){1}, (int64_t[]){1}, 1);
  add_ints(&g, "rest", 1, (int64_t[]){1}, (int64_t[]){-1}, 1);
  n = node_of("Gather", NAMES("s", "one"), NAMES("d"));
  inside(&g, 1, &n);
  n = node_of("Concat", NAMES("d", "rest"), NAMES("shape"));
  add_int(&n, "axis", 0);
  inside(&g, 1, &n);
  n = node_of("Reshape", NAMES("x", "shape"), NAMES("y"));
  inside(&g, 1, &n);
  add_value(&g, 12, "y");
  message m = model(&g);
  ir_module *module;
  assert_null(convert(&m, &module, NULL));
  const ir_op *func = graph_find_func(module, NULL);
  assert_true(graph_is(func->regions[0]->first, G_RESHAPE) && count(module, G_GATHER) == 0);
  assert_int_equal(func->regions[0]->last->operands[0]->type->dims[0], 3);
  assert_string_equal(func->regions[0]->args[0]->name, "x");
  assert_string_equal(func->regions[0]->last->operands[0]->name, "y");
  ir_module_destroy(&module);
  gives(&m, xs, 6);
}

/* Indices may be shorter than the tensor along the other axes: the rest is not read, or stays as it is. */
static void indices_reach_a_part(void **state) {
  static const int64_t to_third[1] = {-1}, row_first[2] = {1, 0};
  message g = graph_with_x(), n;
  add_ints(&g, "at", 2, (int64_t[]){1, 1}, to_third, 1);
  n = node_of("GatherElements", NAMES("x", "at"), NAMES("y"));
  add_int(&n, "axis", 1);
  inside(&g, 1, &n);
  add_value(&g, 12, "y");
  message m = model(&g);
  gives(&m, (const float[]){3}, 1);
  g = graph_with_x();
  add_ints(&g, "at", 2, (int64_t[]){2, 1}, row_first, 2);
  n = node_of("GatherElements", NAMES("x", "at"), NAMES("y")); /* along axis 0, of the first column */
  inside(&g, 1, &n);
  add_value(&g, 12, "y");
  m = model(&g);
  gives(&m, (const float[]){4, 1}, 2);
  static const char *const how[] = {"none", "add", "mul", "max", "min"};
  static const float third[] = {2, 5, 6, 3, 2}; /* 3 with 2 */
  for (int i = 0; i < 5; i++) {
    g = graph_with_x();
    add_ints(&g, "at", 2, (int64_t[]){1, 1}, to_third, 1);
    add_floats(&g, "with", 2, (int64_t[]){1, 1}, (float[]){2}, 1);
    n = node_of("ScatterElements", NAMES("x", "at", "with"), NAMES("y"));
    add_int(&n, "axis", 1);
    add_string(&n, "reduction", how[i]);
    inside(&g, 1, &n);
    add_value(&g, 12, "y");
    m = model(&g);
    gives(&m, (const float[]){1, 2, third[i], 4, 5, 6}, 6);
  }
}

/* A branch adds x to itself, the other multiplies. */
static message branch(const char *op, const char *out) {
  message g = {.n = 0}, n = node_of(op, NAMES("x", "x"), NAMES(out));
  inside(&g, 1, &n);
  add_value(&g, 12, out);
  return g;
}

static message conditional(bool known) {
  message g = graph_with_x(), a = branch("Add", "a"), b = branch("Mul", "b"), n;
  add_floats(&g, "limit", 0, NULL, (float[]){known ? 1 : 20}, 1);
  add_ints(&g, "axes", 1, (int64_t[]){2}, (int64_t[]){0, 1}, 2);
  n = node_of("ReduceSum", NAMES(known ? "limit" : "x", known ? "" : "axes"), NAMES("sum"));
  add_int(&n, "keepdims", 0);
  inside(&g, 1, &n);
  n = node_of("Less", NAMES("limit", "sum"), NAMES("c")); /* 20 < 21; 1 < 1 */
  inside(&g, 1, &n);
  n = node_of("If", NAMES("c"), NAMES("y"));
  add_graph(&n, "then_branch", &a);
  add_graph(&n, "else_branch", &b);
  inside(&g, 1, &n);
  add_value(&g, 12, "y");
  return model(&g);
}

static void conditions_choose_a_branch(void **state) {
  message m = conditional(true);
  ir_module *module;
  assert_null(convert(&m, &module, NULL));
  assert_true(count(module, G_MUL) == 1 && count(module, G_ADD) == 0 && count(module, G_SELECT) == 0);
  ir_module_destroy(&module);
  gives(&m, (float[]){1, 4, 9, 16, 25, 36}, 6);
  m = conditional(false);
  gives(&m, (float[]){2, 4, 6, 8, 10, 12}, 6);
}

/* Three times: v = v + x, and each v is kept. */
static void loops_are_written_out(void **state) {
  message body = {.n = 0}, g = graph_with_x(), n = node_of("Add", NAMES("v", "x"), NAMES("w"));
  inside(&body, 1, &n);
  n = node_of("Identity", NAMES("w"), NAMES("kept"));
  inside(&body, 1, &n);
  n = node_of("Identity", NAMES("goes_on"), NAMES("still"));
  inside(&body, 1, &n);
  const char *const in[] = {"i", "goes_on", "v"}, *const out[] = {"still", "w", "kept"};
  for (int i = 0; i < 3; i++) add_value(&body, 11, in[i]);
  for (int i = 0; i < 3; i++) add_value(&body, 12, out[i]);
  add_ints(&g, "three", 0, NULL, (int64_t[]){3}, 1);
  n = node_of("Loop", NAMES("three", "", "x"), NAMES("last", "all"));
  add_graph(&n, "body", &body);
  inside(&g, 1, &n);
  add_value(&g, 12, "all");
  message m = model(&g);
  gives(&m, (float[]){2, 4, 6, 8, 10, 12, 3, 6, 9, 12, 15, 18, 4, 8, 12, 16, 20, 24}, 18);
}

/* twice(v, by) = v * by + v in a domain of the model's own. */
static void functions_are_put_in_place(void **state) {
  message f = {.n = 0}, g = graph_with_x(), n, opset = {.n = 0};
  text(&f, 1, "twice");
  text(&f, 10, "mine");
  text(&f, 4, "v");
  text(&f, 5, "r");
  n = node_of("Mul", NAMES("v", "v"), NAMES("p"));
  inside(&f, 7, &n);
  n = node_of("Add", NAMES("p", "v"), NAMES("r"));
  inside(&f, 7, &n);
  integer(&opset, 2, 17);
  inside(&f, 9, &opset);
  n = node_of("twice", NAMES("x"), NAMES("y"));
  text(&n, 7, "mine");
  inside(&g, 1, &n);
  add_value(&g, 12, "y");
  message m = model(&g);
  inside(&m, 25, &f);
  gives(&m, (float[]){2, 6, 12, 20, 30, 42}, 6);
}

/* bounded(v, low, high) = Clip(v, low, high), also by way of another function; what a caller leaves out, at the end or
 * by an empty name, Clip lacks too. */
static void operands_of_functions_may_be_left_out(void **state) {
  static const char *const names[] = {"bounded", "outer"}, *const calls[] = {"Clip", "bounded"};
  const char *const in[4][4] = {{"x"}, {"x", "two"}, {"x", "", "two"}, {"x", "two", "four"}};
  const float want[4][6] = {{1, 2, 3, 4, 5, 6}, {2, 2, 3, 4, 5, 6}, {1, 2, 2, 2, 2, 2}, {2, 2, 3, 4, 4, 4}};
  for (int k = 0; k < 8; k++) {
    message g = graph_with_x(), f[2] = {{.n = 0}}, n;
    add_floats(&g, "two", 0, NULL, (float[]){2}, 1);
    add_floats(&g, "four", 0, NULL, (float[]){4}, 1);
    for (int i = 0; i < 2; i++) {
      message opset = {.n = 0};
      text(&f[i], 1, names[i]);
      text(&f[i], 10, "mine");
      for (int j = 0; j < 3; j++) text(&f[i], 4, (const char *[]){"v", "low", "high"}[j]);
      text(&f[i], 5, "r");
      n = node_of(calls[i], NAMES("v", "low", "high"), NAMES("r"));
      if (i) text(&n, 7, "mine");
      inside(&f[i], 7, &n);
      integer(&opset, 2, 17);
      inside(&f[i], 9, &opset);
    }
    n = node_of(names[k / 4], in[k % 4], NAMES("y"));
    text(&n, 7, "mine");
    inside(&g, 1, &n);
    add_value(&g, 12, "y");
    message m = model(&g);
    for (int i = 0; i < 2; i++) inside(&m, 25, &f[i]);
    gives(&m, want[k % 4], 6);
  }
}

static void external_data_is_read(void **state) {
  char folder[] = "/tmp/tessera_onnx_XXXXXX", path[64], data[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m.onnx", folder);
  snprintf(data, sizeof data, "%s/w.bin", folder);
  message g = graph_with_x(), t = tensor("w", F32, 1, (int64_t[]){3}), n = node_of("Add", NAMES("x", "w"), NAMES("y"));
  external(&t, "location", "w.bin");
  external(&t, "offset", "4");
  integer(&t, 14, 1);
  inside(&g, 5, &t);
  inside(&g, 1, &n);
  add_value(&g, 12, "y");
  message m = model(&g);
  FILE *f = fopen(path, "wb");
  assert_true(f && fwrite(m.p, 1, m.n, f) == m.n && !fclose(f));
  for (int kept = 4; kept >= 3; kept--) { /* then one is missing */
    f = fopen(data, "wb");
    assert_true(f && fwrite((float[]){0, 10, 20, 30}, 4, (size_t)kept, f) == (size_t)kept && !fclose(f));
    onnx_model *model;
    ir_module *module;
    float got[6];
    assert_null(onnx_open(path, &model));
    tsr_status st = onnx_convert(model, &(onnx_options){.any_dim = N}, NULL, &module, NULL);
    if (kept == 4) {
      assert_null(st);
      assert_null(graph_eval(graph_find_func(module, NULL), (const void *[]){xs}, (void *[]){got}, NULL));
      assert_true(got[0] == 11 && got[5] == 36);
    } else assert_non_null(strstr(tsr_status_message(st), "12 bytes at 4 of \"w.bin\", which has 12"));
    tsr_status_free(st);
    ir_module_destroy(&module);
    onnx_close(&model);
  }
  remove(path), remove(data), rmdir(folder);
}

/* The file is sparse: what lies before the data takes no room. The constant stays in it. */
static void data_behind_4_gigabytes_is_read(void **state) {
  char folder[] = "/tmp/tessera_onnx_XXXXXX", path[64], data[64];
  float ones[256], got[6];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m.onnx", folder);
  snprintf(data, sizeof data, "%s/w.bin", folder);
  for (int i = 0; i < 256; i++) ones[i] = 1;
  message g = graph_with_x(), t = tensor("w", F32, 1, (int64_t[]){256}),
          n = node_of("ReduceSum", NAMES("w"), NAMES("s"));
  external(&t, "location", "w.bin");
  external(&t, "offset", "5368709123"); /* and at no multiple of 4 */
  integer(&t, 14, 1);
  inside(&g, 5, &t);
  add_int(&n, "keepdims", 0);
  inside(&g, 1, &n);
  n = node_of("Add", NAMES("x", "s"), NAMES("y"));
  inside(&g, 1, &n);
  add_value(&g, 12, "y");
  message m = model(&g);
  FILE *f = fopen(path, "wb");
  assert_true(f && fwrite(m.p, 1, m.n, f) == m.n && !fclose(f));
  f = fopen(data, "wb");
  const bool there = f && !fseeko(f, 5368709123, SEEK_SET) && fwrite(ones, 1, sizeof ones, f) == sizeof ones;
  if (!f || fclose(f) || !there) { /* a file system without room for such files */
    remove(path), remove(data), rmdir(folder);
    skip();
  }
  onnx_model *model;
  ir_module *module;
  assert_null(onnx_open(path, &model));
  tsr_status st = onnx_convert(model, &(onnx_options){.any_dim = N}, NULL, &module, NULL);
  assert_null(st);
  onnx_close(&model); /* the module has a mapping of its own */
  assert_null(graph_eval(graph_find_func(module, NULL), (const void *[]){xs}, (void *[]){got}, NULL));
  assert_true(got[0] == 257 && got[5] == 262);
  ir_module_destroy(&module);
  remove(path), remove(data), rmdir(folder);
}

static void all_that_is_unsupported_is_said(void **state) {
  message g = graph_with_x(), n = node_of("Nope", NAMES("x"), NAMES("a"));
  inside(&g, 1, &n);
  n = node_of("Nope", NAMES("a"), NAMES("b"));
  inside(&g, 1, &n);
  n = node_of("Relu", NAMES("b"), NAMES("c")); /* is fine but for its operand */
  inside(&g, 1, &n);
  n = node_of("Flatten", NAMES("x"), NAMES("d"));
  add_int(&n, "axis", 7);
  inside(&g, 1, &n);
  add_value(&g, 12, "c");
  message m = model(&g);
  ir_module *module;
  onnx_report r;
  tsr_status st = convert(&m, &module, &r);
  assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
  assert_non_null(strstr(tsr_status_message(st),
                         "3 of 4 nodes can't be converted: Nope x2 (there is no conversion of it); "
                         "Flatten (axis 7 of 2 dimensions)"));
  assert_true(r.problems.n == 2 && r.problems.v[0].count == 2 && !module);
  tsr_status_free(st);
  onnx_report_clear(&r);
}

static void shapes_that_are_not_known_are_asked_for(void **state) {
  message g = graph_with_x(), n = node_of("Relu", NAMES("x"), NAMES("y"));
  inside(&g, 1, &n);
  add_value(&g, 12, "y");
  message m = model(&g);
  onnx_model *model;
  ir_module *module;
  assert_null(onnx_parse(m.p, m.n, "m.onnx", &model));
  tsr_status st = onnx_convert(model, &(onnx_options){.any_dim = 0}, NULL, &module, NULL);
  assert_non_null(
      strstr(tsr_status_message(st), "input x has an unknown dimension (--shape x=2x3.. gives it a number, --shape N=2 "
                                     "all of that name)"));
  tsr_status_free(st);
  onnx_close(&model);
}

static void refused(tsr_context *ctx, const tsr_import_desc *d, const char *says) {
  tsr_graph *g = (tsr_graph *)ctx;
  tsr_status st = tsr_graph_import(ctx, d, &g);
  if (!strstr(tsr_status_message(st), says)) fail_msg("%s, not %s", tsr_status_message(st), says);
  assert_null(g);
  tsr_status_free(st);
}

/* x [N, 3], y [N, 3] and z [M, 3]: what a given shape says of N holds for the input that leaves it open. */
static void a_dimension_has_one_number_by_its_name(void **state) {
  message g = graph_with_x(), n = node_of("Add", NAMES("x", "y"), NAMES("s")), y = value("y", F32, "N", 3);
  const message z = value("z", F32, "M", 3);
  inside(&g, 11, &y);
  inside(&g, 11, &z);
  inside(&g, 1, &n);
  add_value(&g, 12, "s");
  message m = model(&g);
  tsr_context *ctx;
  tsr_graph *made;
  assert_null(tsr_context_create(NULL, &ctx));
  tsr_import_input in[2] = {{.name = "y", .shape = {.rank = 2, .dims = {5, TSR_ANY_DIM}}},
                            {.name = "z", .shape = {.rank = 2, .dims = {7, 3}}}};
  tsr_import_desc d = {.data = m.p, .bytes = m.n, .inputs = in, .n_inputs = 2};
  assert_null(tsr_graph_import(ctx, &d, &made));
  const int64_t want[3] = {5, 5, 7};
  for (int i = 0; i < 3; i++) {
    const tsr_shape s = tsr_graph_input_info(made, i).shape;
    assert_true(s.rank == 2 && s.dims[0] == want[i] && s.dims[1] == 3);
  }
  tsr_graph_destroy(&made);
  d.n_inputs = 1;
  refused(ctx, &d, "input z has an unknown dimension (--shape z=2x3.. gives it a number, --shape M=2 all of that");
  in[0].shape.dims[1] = 4;
  refused(ctx, &d, "dimension 1 of input y is 3, not 4");
  tsr_context_destroy(&ctx);
}

/* As many steps as x says: what is carried keeps its shape, and there is no shape of what is collected. */
static void loops_without_a_known_end_keep_shapes(void **state) {
  for (int grows = 0; grows < 2; grows++) {
    message body = {.n = 0}, g = graph_with_x(), n = node_of("Identity", NAMES("go"), NAMES("still"));
    inside(&body, 1, &n);
    n = node_of(grows ? "Shape" : "Neg", NAMES("v"), NAMES("w"));
    inside(&body, 1, &n);
    n = node_of("Exp", NAMES("v"), NAMES("kept"));
    inside(&body, 1, &n);
    const char *const in[] = {"i", "go", "v"}, *const out[] = {"still", "w", "kept"};
    for (int i = 0; i < 3; i++) add_value(&body, 11, in[i]);
    for (int i = 0; i < (grows ? 2 : 3); i++) add_value(&body, 12, out[i]);
    n = node_of("ArgMax", NAMES("x"), NAMES("many"));
    inside(&g, 1, &n);
    n = node_of("ReduceMax", NAMES("many"), NAMES("trips"));
    inside(&g, 1, &n);
    n = node_of("Loop", NAMES("trips", "", "x"), NAMES("last", "all"));
    add_graph(&n, "body", &body);
    inside(&g, 1, &n);
    add_value(&g, 12, "last");
    message m = model(&g);
    ir_module *module;
    tsr_status st = convert(&m, &module, NULL);
    const char *says = grows ? "Loop (what it carries changes its shape at a step)"
                             : "Loop (how many steps there are depends on what the inputs hold";
    if (!strstr(tsr_status_message(st), says)) fail_msg("%s", tsr_status_message(st));
    assert_null(module);
    tsr_status_free(st);
  }
}

/* A body that is a Loop of a Loop ..: written out it would be too long. */
static void endless_models_are_refused(void **state) {
  message body = {.n = 0}, n = node_of("Identity", NAMES("x"), NAMES("w")), g = graph_with_x();
  inside(&body, 1, &n);
  for (int depth = 0; depth < 5; depth++) {
    add_value(&body, 11, "i");
    add_value(&body, 11, "c");
    n = node_of("Identity", NAMES("c"), NAMES("still"));
    inside(&body, 1, &n);
    add_value(&body, 12, "still");
    message *to = depth < 4 ? &body : &g, outer = depth < 4 ? (message){.n = 0} : g;
    n = node_of("Loop", NAMES("many", ""), NAMES("unused"));
    add_graph(&n, "body", &body);
    inside(&outer, 1, &n);
    *to = outer;
  }
  add_ints(&g, "many", 0, NULL, (int64_t[]){500}, 1);
  add_value(&g, 12, "x");
  message m = model(&g);
  ir_module *module;
  tsr_status st = convert(&m, &module, NULL);
  assert_non_null(strstr(tsr_status_message(st), "too many nodes"));
  tsr_status_free(st);
}

/* Shapes of IR text's inputs: all of them or none, by name. */
static void shapes_of_text_are_taken(void **state) {
  static const char text[] =
      "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<?x3xf32>, %b: tensor<?x3xf32>):\n%0 = \"tessera.graph.add\"(%a, "
      "%b)\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";
  tsr_context *ctx;
  tsr_graph *made;
  assert_null(tsr_context_create(NULL, &ctx));
  tsr_import_input x[] = {{.name = "a", .shape = {2, {4, TSR_ANY_DIM}}}, {.name = "b", .shape = {2, {4, 3}}}};
  tsr_import_desc d = {.data = text, .bytes = sizeof text - 1};
  assert_null(tsr_graph_import(ctx, &d, &made));
  assert_int_equal(tsr_graph_output_info(made, 0).shape.dims[0], TSR_ANY_DIM);
  tsr_graph_destroy(&made);
  d.inputs = x, d.n_inputs = 2;
  assert_null(tsr_graph_import(ctx, &d, &made));
  assert_int_equal(tsr_graph_output_info(made, 0).shape.dims[0], 4);
  tsr_graph_destroy(&made);
  d.n_inputs = 1;
  refused(ctx, &d, "input b has an unknown dimension");
  d.n_inputs = 2;
  x[1].shape.dims[0] = 5;
  refused(ctx, &d, "tessera.graph.add");
  x[1].shape = (tsr_shape){1, {3}};
  refused(ctx, &d, "input %b does not fit");
  x[1].name = "c";
  refused(ctx, &d, "model has no input \"c\"");
  x[1].name = "b", x[1].data = text;
  refused(ctx, &d, "no shape of IR text depends on elements");
  tsr_context_destroy(&ctx);
}

static void models_are_imported_from_memory(void **state) {
  static const char text[] = "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<2xf32>):\n  \"tessera.graph.return\"(%a) : "
                             "(tensor<2xf32>) -> ()\n}) {sym_name = \"main\"} : () -> ()\n";
  message g = graph_with_x(), n = node_of("Relu", NAMES("x"), NAMES("y:0"));
  inside(&g, 1, &n);
  add_value(&g, 12, "y:0");
  message m = model(&g);
  tsr_context *ctx;
  tsr_graph *made;
  assert_null(tsr_context_create(NULL, &ctx));
  tsr_import_input x = {.name = "x", .shape = {.rank = 2, .dims = {4, 3}}};
  const tsr_import_desc d = {.data = m.p, .bytes = m.n, .inputs = &x, .n_inputs = 1};
  assert_null(tsr_graph_import(ctx, &d, &made));
  assert_true(tsr_graph_n_inputs(made) == 1 && tsr_graph_input_info(made, 0).shape.dims[0] == 4);
  assert_string_equal(tsr_graph_output_info(made, 0).name, "y_0");
  tsr_graph_destroy(&made);
  assert_null(tsr_graph_import(ctx, &(tsr_import_desc){.data = text, .bytes = sizeof text - 1}, &made));
  assert_int_equal(tsr_graph_n_inputs(made), 1);
  tsr_graph_destroy(&made);
  x.name = "X";
  refused(ctx, &d, "model has no input \"X\"");
  x.name = "x[0";
  refused(ctx, &d, "input x has an unknown dimension");
  x.name = "x";
  refused(ctx, NULL, "desc");
  refused(ctx, &(tsr_import_desc){.path = NULL}, "path");
  refused(ctx, &(tsr_import_desc){.path = "/none.onnx"}, "/none.onnx: can't be opened");
  refused(ctx, &(tsr_import_desc){.data = m.p, .bytes = m.n, .n_inputs = 1}, "inputs");
  refused(ctx, &(tsr_import_desc){.data = m.p, .bytes = m.n}, "input x has an unknown dimension");
  x.shape.dims[0] = TSR_ANY_DIM;
  refused(ctx, &d, "input x has an unknown dimension");
  x.shape.dims[0] = -2;
  refused(ctx, &d, "input x: dimension 0 is -2");
  x.shape.rank = 9;
  refused(ctx, &d, "input x: rank 9");
  x.name = NULL;
  refused(ctx, &d, "input 0 has no name");
  tsr_context_destroy(&ctx);
}

/* Of recorded cases (tests/onnx/cases): the op that multiplies has operands of one byte, and sums in i32. */
static void bytes_are_multiplied_as_bytes(void **state) {
  static const char *const cases[] = {"conv_integer_padded_1", "conv_integer_signed_weights", "conv_integer_line",
                                      "conv_integer_volume", "qlinear_conv_u8", "matmul_integer_u8_u8_70",
                                      "matmul_integer_u8_i8_70", "integer_to_float_columns", "qgemm"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char path[512];
    snprintf(path, sizeof path, TSR_SOURCE_DIR "/tests/onnx/cases/%s/model.onnx", cases[i]);
    onnx_model *model;
    ir_module *module;
    assert_null(onnx_open(path, &model));
    assert_null(onnx_convert(model, &(onnx_options){.any_dim = 0}, NULL, &module, NULL));
    int n = 0;
    for (const ir_op *o = graph_find_func(module, NULL)->regions[0]->first; o; o = o->next) {
      const bool convolves = graph_is(o, G_CONV1D) || graph_is(o, G_CONV2D) || graph_is(o, G_CONV3D);
      if ((!convolves && !graph_is(o, G_MATMUL)) || o->operands[0]->type->dtype == TSR_I32) continue; /* window sums */
      assert_int_equal(tsr_dtype_size(o->operands[0]->type->dtype), 1);
      assert_int_equal(o->operands[1]->type->dtype == TSR_U8 && graph_is(o, G_MATMUL), false);
      assert_int_equal(o->results[0]->type->dtype, TSR_I32);
      n++;
    }
    if (n != 1) fail_msg("%s has %d products of bytes", cases[i], n);
    ir_module_destroy(&module);
    onnx_close(&model);
  }
}

/* LRN's power of 3/4 is by roots where nothing below 0 has one taken, and by pow elsewhere; both are right. */
static void normalisation_takes_roots_where_it_may(void **state) {
  static const struct { float alpha, beta, bias; bool roots; } cases[] = {
      {15, 0.75f, 1, true},   {0, 0.75f, 0.25f, true},   {15, 0.5f, 1, false},
      {15, 0.75f, -1, false}, {-15, 0.75f, 1000, false}, {15, 0.75f, 0, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    message g = graph_with_x(), n = node_of("LRN", NAMES("x"), NAMES("y"));
    add_int(&n, "size", 1);
    add_float(&n, "alpha", cases[i].alpha);
    add_float(&n, "beta", cases[i].beta);
    add_float(&n, "bias", cases[i].bias);
    inside(&g, 1, &n);
    add_value(&g, 12, "y");
    const message m = model(&g);
    ir_module *module;
    float got[6];
    assert_null(convert(&m, &module, NULL));
    assert_int_equal(count(module, G_SQRT), cases[i].roots ? 2 : 0);
    assert_int_equal(count(module, G_POW), !cases[i].roots);
    assert_null(graph_eval(graph_find_func(module, NULL), (const void *[]){xs}, (void *[]){got}, NULL));
    for (int k = 0; k < 6; k++) {
      const double want = xs[k] / pow(cases[i].bias + cases[i].alpha * xs[k] * xs[k], cases[i].beta);
      assert_true(fabs(got[k] - want) <= 1e-6 * fabs(want)); /* some ten roundings of 2^-24 */
    }
    ir_module_destroy(&module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_are_multiplied_as_bytes),
      cmocka_unit_test(normalisation_takes_roots_where_it_may),
      cmocka_unit_test(chains_of_shapes_become_constants),
      cmocka_unit_test(indices_reach_a_part),
      cmocka_unit_test(conditions_choose_a_branch),
      cmocka_unit_test(loops_are_written_out),
      cmocka_unit_test(functions_are_put_in_place),
      cmocka_unit_test(operands_of_functions_may_be_left_out),
      cmocka_unit_test(external_data_is_read),
      cmocka_unit_test(data_behind_4_gigabytes_is_read),
      cmocka_unit_test(all_that_is_unsupported_is_said),
      cmocka_unit_test(shapes_that_are_not_known_are_asked_for),
      cmocka_unit_test(a_dimension_has_one_number_by_its_name),
      cmocka_unit_test(loops_without_a_known_end_keep_shapes),
      cmocka_unit_test(endless_models_are_refused),
      cmocka_unit_test(shapes_of_text_are_taken),
      cmocka_unit_test(models_are_imported_from_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
