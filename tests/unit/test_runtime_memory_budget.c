/* Programs within a budget of memory: the gradient of a chain of layers by the public interface, whose workspace comes
 * down to about the root of its length with the same bits; what can't be reached; values written in place; failing
 * allocations. */
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

/* A layer's kernel gives y = tanh(x w) and 1 - y y, which the step back takes: ONE, both their bytes. */
enum { M = 16, W = 16, LAYERS = 36, ONE = 2 * M * W * 4 };

/* loss = sum(tanh(.. tanh(x w) v ..)), and its gradients by x and each layer's matrix. */
static tsr_status gradient(tsr_context *ctx, int layers, tsr_graph **out) {
  tsr_graph *g = NULL;
  tsr_value x = 0, wrt[LAYERS + 1], y, loss;
  tsr_status st = tsr_graph_create(ctx, "loss", &g);
  if (!st) st = tsr_graph_input(g, "x", TSR_F32, (tsr_shape){2, {M, W}}, &x);
  y = wrt[0] = x;
  for (int i = 0; i < layers && !st; i++) {
    st = tsr_graph_input(g, NULL, TSR_F32, (tsr_shape){2, {W, W}}, &wrt[1 + i]);
    if (!st) st = tsr_graph_op(g, "matmul", (tsr_value[]){y, wrt[1 + i]}, 2, NULL, 0, &y);
    if (!st) st = tsr_graph_op(g, "tanh", &y, 1, NULL, 0, &y);
  }
  if (!st) st = tsr_graph_op(g, "reduce_sum", &y, 1, NULL, 0, &loss);
  if (!st) st = tsr_graph_output(g, loss);
  if (!st) st = tsr_graph_grad(g, wrt, 1 + layers, out);
  tsr_graph_destroy(&g);
  return st;
}

enum { N_IN = 1 + LAYERS, N_OUT = 2 + LAYERS };

static void run(tsr_device *dev, tsr_program *p, float out[N_OUT][M * W]) {
  static _Alignas(64) float x[N_IN][M * W];
  tsr_binding in[N_IN] = {{NULL}}, to[N_OUT] = {{NULL}};
  for (int k = 0; k < N_IN; k++) {
    for (int i = 0; i < M * W; i++) x[k][i] = (float)((i + 3 + k) * 7919 % 2001 - 1000) / 2500;
    OK(tsr_buffer_import(dev, x[k], sizeof x[k], &in[k].buffer));
  }
  for (int i = 0; i < N_OUT; i++)
    OK(tsr_buffer_create(dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &to[i].buffer));
  OK(tsr_program_run(p, NULL, in, to));
  for (int i = 0; i < N_OUT; i++) OK(tsr_buffer_read(to[i].buffer, 0, out[i], tsr_program_output(p, i).bytes));
  for (int i = 0; i < N_IN; i++) tsr_buffer_destroy(&in[i].buffer);
  for (int i = 0; i < N_OUT; i++) tsr_buffer_destroy(&to[i].buffer);
}

/* The number behind `what` in the program's trace. */
static double said(tsr_context *ctx, const tsr_program *p, const char *what) {
  char *text;
  OK(tsr_program_explain(p, &text));
  const char *at = strstr(text, what);
  if (!at) fail_msg("the trace does not say \"%s\":\n%s", what, text);
  const double x = strtod(at + strlen(what), NULL);
  tsr_text_free(ctx, &text);
  return x;
}

static double flops(const tsr_program *p) {
  double sum = 0;
  for (int i = 0; i < tsr_program_n_kernels(p); i++) sum += tsr_program_kernel(p, i).flops;
  return sum;
}

static const tsr_compile_options untuned = {.tune = TSR_TUNE_OFF};

static void chain_takes_memory_of_about_its_root_and_gives_the_same_bits(void **state) {
  static float plain[N_OUT][M * W], within[N_OUT][M * W];
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p, *q;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(gradient(ctx, LAYERS, &g));
  OK(tsr_program_compile(dev, g, &untuned, &p));
  assert_true(said(ctx, p, "workspace ") >= LAYERS * ONE);
  run(dev, p, plain);
  /* 2 sqrt(36) layers' results, and what one step back needs. */
  static const int64_t budgets[] = {30 * ONE, 20 * ONE, 14 * ONE};
  double before = 0;
  for (int i = 0; i < 3; i++) {
    OK(tsr_graph_set_memory_budget(g, budgets[i]));
    OK(tsr_program_compile(dev, g, &untuned, &q));
    const double bytes = said(ctx, q, "workspace ");
    if (!(bytes <= (double)budgets[i])) fail_msg("%g of %lld", bytes, (long long)budgets[i]);
    assert_true(said(ctx, q, "temporaries take ") <= (double)budgets[i]);
    assert_true(said(ctx, q, "bytes instead of ") >= LAYERS * ONE);
    /* Each layer again is 2 m n k operations and those of tanh; no more than all of them once. */
    const double more = flops(q) - flops(p), runs = tsr_program_n_kernels(q) - tsr_program_n_kernels(p);
    assert_true(more >= runs * 2 * M * W * W && more <= LAYERS * (2.0 * M * W * W + 64.0 * M * W));
    assert_true(runs >= before && runs > 0);
    before = runs;
    run(dev, q, within);
    assert_memory_equal(plain, within, sizeof plain);
    tsr_program_destroy(&q);
  }
  /* A budget that is wide enough changes nothing. */
  OK(tsr_graph_set_memory_budget(g, 1000 * ONE));
  OK(tsr_program_compile(dev, g, &untuned, &q));
  assert_int_equal(tsr_program_n_kernels(q), tsr_program_n_kernels(p));
  tsr_program_destroy(&q);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void what_can_not_be_reached_names_the_least_which_can(void **state) {
  static const char least[] = "the least found is ";
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(gradient(ctx, LAYERS, &g));
  OK(tsr_graph_set_memory_budget(g, ONE));
  tsr_status st = tsr_program_compile(dev, g, &untuned, &p);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  const char *at = strstr(tsr_status_message(st), least);
  if (!at || strchr(tsr_status_message(st), '\n')) fail_msg("%s", tsr_status_message(st));
  const int64_t bytes = strtoll(at + strlen(least), NULL, 10);
  assert_true(bytes > ONE && bytes < LAYERS * ONE / 2);
  tsr_status_free(st);
  OK(tsr_graph_set_memory_budget(g, bytes));
  OK(tsr_program_compile(dev, g, &untuned, &p));
  assert_true(said(ctx, p, "temporaries take ") <= (double)bytes);
  tsr_program_destroy(&p);
  st = tsr_graph_set_memory_budget(g, -1);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  OK(tsr_graph_set_memory_budget(g, 0));
  OK(tsr_program_compile(dev, g, &untuned, &p));
  assert_true(said(ctx, p, "workspace ") >= LAYERS * ONE);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* Also where running again only costs: the least is then what it takes as it is. */
static void the_least_is_never_above_what_it_takes(void **state) {
  static const char takes[] = "temporaries of ", least[] = "the least found is ";
  static const char *const acts[] = {"gelu", "tanh", "silu", "tanh"};
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (int rows = 1; rows <= 64; rows *= 4) {
    char text[2000];
    int n = snprintf(text, sizeof text,
                     "\"tessera.graph.func\"() ({\n^bb0(%%y0: tensor<%dx17xf32>, %%w: tensor<17x17xf32>):\n", rows);
    for (int i = 0; i < 4; i++)
      n += snprintf(text + n, sizeof text - (size_t)n,
                    "%%m%d = \"tessera.graph.matmul\"(%%y%d, %%w)\n%%y%d = \"tessera.graph.%s\"(%%m%d)\n", i, i, i + 1,
                    acts[i], i);
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "%%q = \"tessera.graph.mul\"(%%y4, %%y4)\n%%s = \"tessera.graph.reduce_sum\"(%%q)\n"
                  "\"tessera.graph.return\"(%%s)\n}) {sym_name = \"main\"}\n");
    tsr_graph *f, *g;
    tsr_program *p;
    OK(tsr_graph_parse(ctx, text, (size_t)n, "test", &f));
    OK(tsr_graph_grad(f, (const tsr_value[]){1, 2}, 2, &g));
    tsr_graph_destroy(&f);
    OK(tsr_graph_set_memory_budget(g, 1));
    tsr_status st = tsr_program_compile(dev, g, &untuned, &p);
    const char *all = strstr(tsr_status_message(st), takes), *at = strstr(tsr_status_message(st), least);
    if (!all || !at) fail_msg("%s", tsr_status_message(st));
    const int64_t bytes = strtoll(at + strlen(least), NULL, 10);
    assert_true(bytes > 1 && bytes <= strtoll(all + strlen(takes), NULL, 10));
    tsr_status_free(st);
    OK(tsr_graph_set_memory_budget(g, bytes));
    OK(tsr_program_compile(dev, g, &untuned, &p));
    tsr_program_destroy(&p);
    tsr_graph_destroy(&g);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static tsr_code whole_life(counting *c) {
  tsr_allocator al = {count_alloc, count_free, c};
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.allocator = &al, .cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  if (!st) st = gradient(ctx, 6, &g);
  if (!st) st = tsr_graph_set_memory_budget(g, 5 * ONE);
  if (!st) st = tsr_program_compile(dev, g, &untuned, &p);
  const tsr_code code = tsr_status_code(st);
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
      cmocka_unit_test(chain_takes_memory_of_about_its_root_and_gives_the_same_bits),
      cmocka_unit_test(what_can_not_be_reached_names_the_least_which_can),
      cmocka_unit_test(the_least_is_never_above_what_it_takes),
      cmocka_unit_test(every_failed_allocation_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
