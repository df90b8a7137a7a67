/* Layouts of what functions take and give: in text and back, what is refused, what is in memory, and on a mesh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ir/ir.h"
#include "tessera/transform.h"
#include "tests/support/dist_rig.h"
#include "tests/support/graph_text.h"

static dist_rig rig;

static int open_rig(void **state) { return rig_open(&rig), 0; }
static int close_rig(void **state) { return rig_close(&rig), 0; }

static void print_into(strb *b, const ir_module *m) {
  strb_clear(b), strb_init(b, NULL);
  ir_print(b, m);
}

static void text_survives_printing_and_reading(void **state) {
  const char *text = gt_func("%a: tensor<8x4xf32, {shard = [\"dp\", \"*\"], layout = [1, 0]}>, "
                             "%b: tensor<f32, {layout = []}>, %c: tensor<2x0x1x3xi4, {layout = [0, 2, 3, 1]}>",
                             "%0 = \"tessera.graph.exp\"(%a) : (tensor<8x4xf32, {layout = [1, 0]}>) -> tensor<8x4xf32, "
                             "{partial = [\"tp\"], layout = [0, 1], shard = [\"*\", \"*\"]}>",
                             "%0, %b, %c", "tensor<8x4xf32>, tensor<f32>, tensor<2x0x1x3xi4>");
  static const char *const parts[] = {"%a: tensor<8x4xf32, {layout = [1, 0], shard = [\"dp\", \"*\"]}>",
                                      "%b: tensor<f32, {layout = []}>", "{layout = [0, 2, 3, 1]}",
                                      "{layout = [0, 1], shard = [\"*\", \"*\"], partial = [\"tp\"]}"};
  ir_module *m = gt_parse(text), *again, *copy;
  strb one, two;
  strb_init(&one, NULL), strb_init(&two, NULL);
  print_into(&one, m);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) assert_non_null(strstr(strb_text(&one), parts[i]));
  again = gt_parse(strb_text(&one));
  print_into(&two, again);
  assert_string_equal(strb_text(&one), strb_text(&two));
  assert_null(ir_module_clone(m, &copy));
  print_into(&two, copy);
  assert_string_equal(strb_text(&one), strb_text(&two));
  strb_clear(&one), strb_clear(&two);
  ir_module_destroy(&m), ir_module_destroy(&again), ir_module_destroy(&copy);
}

static void wrong_layouts_are_refused(void **state) {
  static const struct {
    const char *type, *says;
  } bad[] = {{"tensor<8x4xf32, {layout = [1]}>", "one number for each dimension"},
             {"tensor<8x4xf32, {layout = [0, 1, 2]}>", "one number for each dimension"},
             {"tensor<8x4xf32, {layout = []}>", "one number for each dimension"},
             {"tensor<8x4xf32, {layout = [0, 0]}>", "names a dimension twice"},
             {"tensor<8x4xf32, {layout = [0, 2]}>", "doesn't have"},
             {"tensor<8x4xf32, {layout = [-1, 0]}>", "doesn't have"},
             {"tensor<8x4xf32, {layout = [0, 9223372036854775807]}>", "doesn't have"},
             {"tensor<8x4xf32, {layout = [0, 1], layout = [0, 1]}>", "given twice"},
             {"tensor<8x4xf32, {layout = \"col\"}>", "expected"},
             {"tensor<8x4xf32, {layout}>", "expected"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char args[256];
    snprintf(args, sizeof args, "%%a: %s", bad[i].type);
    assert_true(gt_says(gt_error(gt_func(args, "", "%a", "tensor<8x4xf32>")), bad[i].says));
  }
  static const struct {
    const char *body, *says;
  } bodies[] = {
      {"%h = \"tessera.graph.exp\"(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32, {layout = [1, 0]}>\n"
       "%y = \"tessera.graph.neg\"(%h)\n",
       "the function doesn't return it"},
      {"%y = \"tessera.graph.exp\"(%a) : (tensor<4x4xf32, {layout = [1, 0]}>) -> tensor<4x4xf32>\n",
       "lies otherwise in memory where it is defined"}};
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
    assert_true(gt_says(gt_error(gt_func("%a: tensor<4x4xf32>", bodies[i].body, "%y", "tensor<4x4xf32>")),
                        bodies[i].says));
  const char *alone = "%y = \"tessera.graph.exp\"(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32, {layout = [1, 0]}>";
  assert_true(gt_says(gt_error(alone), "only inputs and results of functions"));
}

/* Element `at` of a tensor in row-major order: where it is in memory of the layout. */
static int64_t place(const int64_t *dims, const int64_t *order, int rank, int64_t at) {
  int64_t index[8], p = 0;
  for (int i = rank - 1; i >= 0; i--) index[i] = at % dims[i], at /= dims[i];
  for (int i = 0; i < rank; i++) p = p * dims[order[i]] + index[order[i]];
  return p;
}

static void run_one(tsr_graph *g, const float *x, float *y, int64_t n, tsr_shape *in, tsr_shape *out) {
  tsr_program *p = NULL;
  tsr_buffer *b[2] = {NULL, NULL};
  const size_t bytes = (size_t)n * sizeof *x;
  assert_null(tsr_program_compile(rig.cpu[0], g, NULL, &p));
  *in = tsr_program_input(p, 0).shape, *out = tsr_program_output(p, 0).shape;
  for (int i = 0; i < 2; i++) assert_null(tsr_buffer_create(rig.cpu[0], bytes, TSR_MEMORY_DEVICE, &b[i]));
  assert_null(tsr_buffer_write(b[0], 0, x, bytes));
  assert_null(tsr_program_run(p, NULL, &(tsr_binding){.buffer = b[0]}, &(tsr_binding){.buffer = b[1]}));
  assert_null(tsr_buffer_read(b[1], 0, y, bytes));
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&b[i]);
  tsr_program_destroy(&p);
}

/* The same function with and without layouts on its input and its result, of which one is given by a call. */
static void memory_has_the_order_that_is_said(void **state) {
  static const struct {
    int rank;
    int64_t dims[4], in[4], out[4];
  } c[] = {{2, {8, 5}, {1, 0}, {0, 1}},          {2, {8, 5}, {0, 1}, {1, 0}},       {2, {33, 70}, {1, 0}, {1, 0}},
           {1, {7}, {0}, {0}},                   {0, {0}, {0}, {0}},                {2, {1, 9}, {1, 0}, {1, 0}},
           {3, {2, 0, 3}, {2, 0, 1}, {1, 2, 0}}, {3, {3, 4, 5}, {2, 0, 1}, {1, 0, 2}},
           {4, {2, 3, 4, 5}, {0, 2, 3, 1}, {3, 2, 1, 0}}};
  for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
    tsr_graph *g[2];
    int64_t n = 1;
    tsr_shape s = {.rank = c[k].rank}, in, out;
    for (int i = 0; i < c[k].rank; i++) n *= s.dims[i] = c[k].dims[i];
    float *x = calloc((size_t)n + 1, 4), *y = calloc((size_t)n + 1, 4), *mx = calloc((size_t)n + 1, 4),
          *my = calloc((size_t)n + 1, 4);
    for (int i = 0; i < 2; i++) {
      tsr_value v, w;
      assert_null(tsr_graph_create(rig.ctx, NULL, &g[i]));
      assert_null(tsr_graph_input(g[i], "x", TSR_F32, s, &v));
      assert_null(tsr_graph_op(g[i], "neg", &v, 1, NULL, 0, &w));
      assert_null(tsr_graph_output(g[i], w));
      if (i) assert_null(tsr_graph_layout(g[i], v, c[k].in, c[k].rank));
      if (i) assert_null(tsr_graph_layout(g[i], w, c[k].out, c[k].rank));
    }
    for (int64_t i = 0; i < n; i++) x[i] = (float)i - 3, mx[place(c[k].dims, c[k].in, c[k].rank, i)] = x[i];
    run_one(g[0], x, y, n, &in, &out);
    run_one(g[1], mx, my, n, &in, &out);
    for (int i = 0; i < c[k].rank; i++) {
      assert_int_equal(in.dims[i], c[k].dims[c[k].in[i]]);
      assert_int_equal(out.dims[i], c[k].dims[c[k].out[i]]);
    }
    double *want = calloc((size_t)n + 1, 8);
    assert_null(tsr_graph_reference(g[1], (const void *[]){mx}, &want, NULL));
    for (int64_t i = 0; i < n; i++) {
      const int64_t at = place(c[k].dims, c[k].out, c[k].rank, i);
      double one;
      assert_true(my[at] == y[i] && want[at] == y[i]);
      assert_null(tsr_graph_reference_at(g[1], (const void *[]){mx}, 0, &at, 1, &one, NULL));
      assert_true(one == y[i]);
    }
    free(x), free(y), free(mx), free(my), free(want);
    tsr_graph_destroy(&g[0]), tsr_graph_destroy(&g[1]);
  }
}

static void calls_are_refused(void **state) {
  tsr_graph *g;
  tsr_value v, w;
  tsr_program *p;
  assert_null(tsr_graph_create(rig.ctx, NULL, &g));
  assert_null(tsr_graph_input(g, "x", TSR_F32, (tsr_shape){2, {2, 3}}, &v));
  assert_null(tsr_graph_op(g, "exp", &v, 1, NULL, 0, &w));
  assert_true(rig_says(tsr_graph_layout(g, v, (int64_t[]){0, 0}, 2), "twice"));
  assert_true(rig_says(tsr_graph_layout(g, v, (int64_t[]){0}, 1), "one number for each"));
  assert_true(rig_says(tsr_graph_layout(g, v, (int64_t[]){0, 2}, 2), "doesn't have"));
  assert_true(rig_says(tsr_graph_layout(g, 9, (int64_t[]){0, 1}, 2), "not a value"));
  assert_null(tsr_graph_layout(g, w, (int64_t[]){1, 0}, 2));
  assert_null(tsr_graph_output(g, v));
  assert_true(rig_says(tsr_program_compile(rig.cpu[0], g, NULL, &p), "the function doesn't return it"));
  tsr_graph_destroy(&g);
}

/* A product takes a transposed operand as it lies: no kernel is there for the transpose. */
static void products_read_columns_in_place(void **state) {
  const char *columns = "%x: tensor<40x24xf32, {layout = [1, 0]}>, %w: tensor<24x56xf32, {layout = [1, 0]}>";
  tsr_graph *g = rig_graph(&rig, columns, "%y = \"tessera.graph.matmul\"(%x, %w)\n", "%y", "tensor<40x56xf32>");
  tsr_program *p;
  rig_data d;
  assert_null(tsr_program_compile(rig.cpu[0], g, NULL, &p));
  assert_int_equal(tsr_program_n_kernels(p), 1);
  rig_data_make(g, 3, false, &d);
  assert_null(rig_run_one(rig.cpu[0], g, NULL, &d));
  assert_int_equal(rig_misses(g, &d, 1, "columns"), 0);
  rig_data_free(g, &d);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
}

/* What goes through a gradient: the inputs keep their layouts, what isn't returned any more loses its own. */
static void gradients_are_of_the_same_memory(void **state) {
  tsr_graph *g = rig_graph(&rig, "%x: tensor<6x4xf32, {layout = [1, 0]}>",
                           "%q = \"tessera.graph.mul\"(%x, %x)\n"
                           "%y = \"tessera.graph.reduce_sum\"(%q) {axes = [0, 1]} : (tensor<6x4xf32>) -> tensor<f32, "
                           "{layout = []}>\n",
                           "%y", "tensor<f32>"),
            *d = NULL;
  char *text;
  rig_data x;
  assert_null(tsr_graph_grad(g, (tsr_value[]){1}, 1, &d));
  assert_null(tsr_graph_print(d, &text));
  assert_non_null(strstr(text, "%x: tensor<6x4xf32, {layout = [1, 0]}>"));
  tsr_text_free(rig.ctx, &text);
  rig_data_make(d, 5, false, &x);
  assert_null(rig_run_one(rig.cpu[0], d, NULL, &x));
  assert_int_equal(rig_misses(d, &x, 1, "gradient"), 0);
  rig_data_free(d, &x);
  tsr_graph_destroy(&d), tsr_graph_destroy(&g);
}

/* On a mesh: a shard's entries are of the tensor as it is written, a rank's part has memory's order. */
static void shards_go_with_layouts(void **state) {
  tsr_graph *g = rig_graph(&rig,
                           "%x: tensor<8x6xf32, {layout = [1, 0], shard = [\"dp\", \"*\"]}>, "
                           "%w: tensor<6x10xf32, {layout = [1, 0], shard = [\"*\", \"tp\"]}>",
                           "%h = \"tessera.graph.matmul\"(%x, %w)\n%y = \"tessera.graph.relu\"(%h) : (tensor<8x10xf32>) "
                           "-> tensor<8x10xf32, {layout = [1, 0], shard = [\"dp\", \"tp\"]}>\n",
                           "%y, %x", "tensor<8x10xf32>, tensor<8x6xf32>");
  tsr_mesh *m = rig_mesh(&rig, "tp=2,dp=2", 2);
  tsr_dist_program *p;
  tsr_dist_tensor *t;
  char *text;
  rig_data d;
  assert_null(tsr_dist_program_compile(m, g, NULL, &p));
  assert_int_equal(tsr_dist_program_n_collectives(p), 0);
  static const char *const lies[] = {"*,dp", "tp,*"};
  for (int i = 0; i < 2; i++) {
    assert_null(tsr_dist_program_input(p, i, &t));
    assert_null(tsr_dist_tensor_print(t, &text));
    assert_non_null(strstr(text, lies[i]));
    tsr_text_free(rig.ctx, &text);
    tsr_dist_tensor_destroy(&t);
  }
  tsr_dist_program_destroy(&p);
  rig_data_make(g, 7, true, &d);
  assert_null(rig_run(m, g, NULL, &d));
  assert_int_equal(rig_misses(g, &d, 0, "mesh"), 0);
  rig_data_free(g, &d);
  tsr_mesh_destroy(&m);
  tsr_graph_destroy(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_survives_printing_and_reading), cmocka_unit_test(wrong_layouts_are_refused),
      cmocka_unit_test(memory_has_the_order_that_is_said),  cmocka_unit_test(calls_are_refused),
      cmocka_unit_test(products_read_columns_in_place),     cmocka_unit_test(gradients_are_of_the_same_memory),
      cmocka_unit_test(shards_go_with_layouts),
  };
  return cmocka_run_group_tests(tests, open_rig, close_rig);
}
