/* tessera/weights.h: files of weights as tables of tensors and as constants of graphs that stay in the file; what its
 * header doesn't allow; an allocator that refuses. */
#include "tessera/weights.h"

#include <math.h>

#include "tests/unit/product_rig.h"

#define CORPUS TSR_SOURCE_DIR "/tests/fuzz/corpus/"
#define FAILS(code, says, e)                                                                    \
  do {                                                                                          \
    tsr_status f_ = (e);                                                                        \
    assert_int_equal(tsr_status_code(f_), code);                                                \
    if (!strstr(tsr_status_message(f_), says)) fail_msg("%s: %s", #e, tsr_status_message(f_)); \
    assert_null(strchr(tsr_status_message(f_), '\n'));                                          \
    tsr_status_free(f_);                                                                        \
  } while (0)

static const char safetensors[] = CORPUS "safetensors/three.safetensors", npz[] = CORPUS "npz/deflated.npz",
                  gguf[] = CORPUS "gguf/five.gguf";

static void a_file_is_a_table_of_tensors(void **state) {
  rig r = open_rig();
  tsr_weights *w;
  OK(tsr_weights_open(r.ctx, safetensors, &w));
  assert_int_equal(tsr_weights_count(w), 3);
  const tsr_tensor_info b = tsr_weights_tensor(w, 0), a = tsr_weights_tensor(w, 1), c = tsr_weights_tensor(w, 2);
  assert_string_equal(a.name, "a");
  assert_int_equal(a.dtype, TSR_F32);
  assert_true(a.shape.rank == 2 && a.shape.dims[0] == 2 && a.shape.dims[1] == 3 && a.bytes == 24);
  assert_true(b.dtype == TSR_I64 && b.shape.dims[0] == 0 && b.bytes == 0);
  assert_int_equal(tsr_weights_find(w, "a"), 1);
  assert_int_equal(tsr_weights_find(w, "A"), -1);
  float six[6] = {0};
  OK(tsr_weights_read(w, 1, six, sizeof six));
  OK(tsr_weights_read(w, 0, NULL, 0));
  FAILS(TSR_INVALID_ARGUMENT, "there is room for 20", tsr_weights_read(w, 1, six, 20));
  FAILS(TSR_INVALID_ARGUMENT, "tensor 3 of 3", tsr_weights_read(w, 3, six, sizeof six));
  FAILS(TSR_INVALID_ARGUMENT, "tensor -1 of 3", tsr_weights_read(w, -1, six, sizeof six));
  assert_string_equal(tsr_weights_tensor(w, 3).name, "");
  assert_string_equal(tsr_weights_tensor(w, -1).name, "");
  if (!c.dtype) {
    assert_int_equal(c.bytes, 0);
    FAILS(TSR_UNSUPPORTED, "not read", tsr_weights_read(w, 2, six, 6));
  }
  tsr_weights_close(&w);
  assert_null(w);
  close_rig(&r);
}

/* The sum of all elements of a tensor, as a program gives it; the graph outlives the file's handle. */
static double sum_of(rig *r, const char *path, const char *name) {
  tsr_weights *w;
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *out;
  tsr_value v;
  float sum;
  OK(tsr_weights_open(r->ctx, path, &w));
  OK(tsr_graph_create(r->ctx, NULL, &g));
  OK(tsr_graph_weight(g, w, name, &v));
  tsr_weights_close(&w);
  OK(tsr_graph_op(g, "reduce_sum", &v, 1, NULL, 0, &v));
  OK(tsr_graph_output(g, v));
  OK(tsr_program_compile(r->dev, g, NULL, &p));
  tsr_graph_destroy(&g);
  OK(tsr_buffer_create(r->dev, sizeof sum, TSR_MEMORY_DEVICE, &out));
  OK(tsr_program_run(p, NULL, NULL, &(tsr_binding){out, 0}));
  OK(tsr_buffer_read(out, 0, &sum, sizeof sum));
  tsr_buffer_destroy(&out);
  tsr_program_destroy(&p);
  return (double)sum;
}

static double sum_read(rig *r, const char *path, const char *name) {
  tsr_weights *w;
  double sum = 0;
  OK(tsr_weights_open(r->ctx, path, &w));
  const int i = tsr_weights_find(w, name);
  const tsr_tensor_info t = tsr_weights_tensor(w, i);
  assert_int_equal(t.dtype, TSR_F32);
  float *x = malloc(t.bytes);
  OK(tsr_weights_read(w, i, x, t.bytes));
  for (size_t k = 0; k < t.bytes / sizeof *x; k++) sum += (double)x[k];
  free(x);
  tsr_weights_close(&w);
  return sum;
}

/* As they lie in the file; unpacked; blocks. A sum of 512 elements in f32: some roundings of its terms. */
static void tensors_are_constants_of_graphs(void **state) {
  rig r = open_rig();
  static const struct { const char *path, *name; } cases[] = {
      {safetensors, "a"}, {npz, "a"}, {gguf, "plain"}, {gguf, "q4"}, {gguf, "q6"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double want = sum_read(&r, cases[i].path, cases[i].name), got = sum_of(&r, cases[i].path, cases[i].name);
    if (!(fabs(got - want) <= 1e-4 * (1 + fabs(want)))) fail_msg("%s: %g, not %g", cases[i].name, got, want);
  }
  close_rig(&r);
}

static void constants_stay_in_the_file(void **state) {
  rig r = open_rig();
  tsr_weights *w;
  tsr_graph *g;
  tsr_value v;
  char *text;
  OK(tsr_weights_open(r.ctx, gguf, &w));
  OK(tsr_graph_create(r.ctx, NULL, &g));
  OK(tsr_graph_weight(g, w, "plain", &v));
  OK(tsr_graph_output(g, v));
  OK(tsr_graph_weight(g, w, "q4", &v));
  OK(tsr_graph_output(g, v));
  OK(tsr_graph_print(g, &text));
  assert_non_null(strstr(text, "five.gguf\", 416> : tensor<2x3xf32>"));
  assert_non_null(strstr(text, "five.gguf\", 448> : tensor<2x20xui8>"));
  assert_non_null(strstr(text, "tessera.graph.dequantize"));
  assert_non_null(strstr(text, "\"q4_1\""));
  tsr_text_free(r.ctx, &text);
  FAILS(TSR_NOT_FOUND, "no tensor \"none\"", tsr_graph_weight(g, w, "none", &v));
  assert_int_equal(v, 0);
  FAILS(TSR_UNSUPPORTED, "iq1_s", tsr_graph_weight(g, w, "iq1", &v));
  tsr_graph_destroy(&g);
  static const char empty[] = "\"tessera.graph.func\"() ({\"tessera.graph.return\"() : () -> ()}) : () -> ()";
  OK(tsr_graph_parse(r.ctx, empty, sizeof empty - 1, NULL, &g));
  FAILS(TSR_INVALID_ARGUMENT, "complete", tsr_graph_weight(g, w, "plain", &v));
  tsr_graph_destroy(&g);
  tsr_weights_close(&w);
  close_rig(&r);
}

static void arguments_that_are_missing_are_named(void **state) {
  rig r = open_rig();
  tsr_weights *w;
  tsr_graph *g;
  tsr_value v;
  float x;
  FAILS(TSR_INVALID_ARGUMENT, "out", tsr_weights_open(r.ctx, gguf, NULL));
  FAILS(TSR_INVALID_ARGUMENT, "ctx", tsr_weights_open(NULL, gguf, &w));
  FAILS(TSR_INVALID_ARGUMENT, "path", tsr_weights_open(r.ctx, NULL, &w));
  FAILS(TSR_INVALID_ARGUMENT, "nowhere", tsr_weights_open(r.ctx, "nowhere.safetensors", &w));
  FAILS(TSR_PARSE_ERROR, "not a safetensors", tsr_weights_open(r.ctx, CORPUS "ir/op_07_matmul.mlir", &w));
  assert_null(w);
  OK(tsr_weights_open(r.ctx, gguf, &w));
  OK(tsr_graph_create(r.ctx, NULL, &g));
  FAILS(TSR_INVALID_ARGUMENT, "w", tsr_weights_read(NULL, 0, &x, 4));
  FAILS(TSR_INVALID_ARGUMENT, "dst", tsr_weights_read(w, 0, NULL, 24));
  FAILS(TSR_INVALID_ARGUMENT, "out", tsr_graph_weight(g, w, "plain", NULL));
  FAILS(TSR_INVALID_ARGUMENT, "g", tsr_graph_weight(NULL, w, "plain", &v));
  FAILS(TSR_INVALID_ARGUMENT, "w", tsr_graph_weight(g, NULL, "plain", &v));
  FAILS(TSR_INVALID_ARGUMENT, "name", tsr_graph_weight(g, w, NULL, &v));
  assert_int_equal(tsr_weights_count(NULL), 0);
  assert_int_equal(tsr_weights_find(NULL, "a"), -1);
  assert_int_equal(tsr_weights_find(w, NULL), -1);
  assert_string_equal(tsr_weights_tensor(NULL, 0).name, "");
  tsr_weights_close(&w);
  tsr_weights_close(&w);
  tsr_weights_close(NULL);
  tsr_graph_destroy(&g);
  close_rig(&r);
}

static tsr_status all_of_it(tsr_context *ctx) {
  static const char *const paths[] = {safetensors, npz, gguf}, *const names[] = {"a", "a", "q4"};
  tsr_graph *g = NULL;
  tsr_status st = tsr_graph_create(ctx, NULL, &g);
  for (int i = 0; i < 3 && !st; i++) {
    tsr_weights *w = NULL;
    tsr_value v;
    st = tsr_weights_open(ctx, paths[i], &w);
    if (!st) st = tsr_graph_weight(g, w, names[i], &v);
    tsr_weights_close(&w);
  }
  tsr_graph_destroy(&g);
  return st;
}

static void an_allocator_that_refuses_is_a_status_and_no_leak(void **state) {
  bool done = false;
  for (long left = 0; left < 4000 && !done; left++) {
    counting c = {.left = 1 << 20};
    tsr_allocator al = {count_alloc, count_free, &c};
    tsr_context_desc d = {.abi_version = TSR_ABI_VERSION, .cache_dir = "", .allocator = &al};
    tsr_context *ctx;
    OK(tsr_context_create(&d, &ctx));
    const long held = c.live;
    c.left = left;
    tsr_status st = all_of_it(ctx);
    done = !st;
    if (st) assert_int_equal(tsr_status_code(st), TSR_OUT_OF_MEMORY);
    c.left = 1 << 20;
    tsr_status_free(st);
    assert_int_equal(c.live, held);
    tsr_context_destroy(&ctx);
    assert_int_equal(c.live, 0);
  }
  assert_true(done);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_is_a_table_of_tensors),
                                     cmocka_unit_test(tensors_are_constants_of_graphs),
                                     cmocka_unit_test(constants_stay_in_the_file),
                                     cmocka_unit_test(arguments_that_are_missing_are_named),
                                     cmocka_unit_test(an_allocator_that_refuses_is_a_status_and_no_leak)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
