/* The gradients of flash_attention as one kernel of the CPU: against the other ops that say the same, over options and
 * random shapes; the memory and launches that they take; bits that don't depend on threads; where other ops are taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "tests/support/api_check.h"

/* ---- a loss and its gradients ------------------------------------------------------------------------------------ */

enum { MOST_INPUTS = 6, KERNEL = 0, OTHER_OPS = 1 };

typedef struct attention_case {
  tsr_dtype t;
  int64_t batch, heads, kv_heads, m, n, k, v;
  bool causal, lengths, mask, bias; /* bias: added, with a gradient of its own */
  int64_t window;
  double softcap, scale;
} attention_case;

typedef struct gradient {
  tsr_program *p;
  int n_in, n_out;
  tsr_shape in[MOST_INPUTS];
  tsr_dtype types[MOST_INPUTS];
} gradient;

static tsr_value add_input(tsr_graph *g, gradient *out, tsr_dtype t, tsr_shape s) {
  tsr_value v;
  OK(tsr_graph_input(g, NULL, t, s, &v));
  out->in[out->n_in] = s;
  out->types[out->n_in++] = t;
  return v;
}

/* Of sum(w y), or with the log-sum-exp of f64 and f32 sum(w y) + sum(lse), with respect to q, k, v and a bias. */
static tsr_graph *loss_gradient(tsr_context *ctx, const attention_case *c, gradient *out) {
  const tsr_attr a[4] = {TSR_BOOLEAN("causal", c->causal), TSR_INT("window", c->window),
                         TSR_FLOAT("softcap", c->softcap), TSR_FLOAT("scale", c->scale)};
  tsr_graph *g, *grad;
  tsr_value x[5], y[2], w, wrt[4], s;
  int n = 3, n_wrt = 3;
  OK(tsr_graph_create(ctx, "main", &g));
  *out = (gradient){0};
  x[0] = add_input(g, out, c->t, (tsr_shape){4, {c->batch, c->heads, c->m, c->k}});
  x[1] = add_input(g, out, c->t, (tsr_shape){4, {c->batch, c->kv_heads, c->n, c->k}});
  x[2] = add_input(g, out, c->t, (tsr_shape){4, {c->batch, c->kv_heads, c->n, c->v}});
  w = add_input(g, out, c->t, (tsr_shape){4, {c->batch, c->heads, c->m, c->v}});
  if (c->mask || c->bias) x[n++] = add_input(g, out, c->mask ? TSR_BOOL : c->t, (tsr_shape){3, {c->heads, c->m, c->n}});
  if (c->bias) wrt[n_wrt++] = x[3];
  if (c->lengths) x[n++] = add_input(g, out, TSR_I32, (tsr_shape){1, {c->batch}});
  OK(tsr_graph_op_results(g, "flash_attention", x, n, a, c->scale ? 4 : 3, y, 2));
  OK(tsr_graph_op(g, "mul", (tsr_value[]){y[0], w}, 2, NULL, 0, &s));
  OK(tsr_graph_op(g, "reduce_sum", &s, 1, NULL, 0, &s));
  if (c->t != TSR_BF16 && !c->lengths && !c->mask && !c->causal && !c->window) {
    OK(tsr_graph_op(g, "reduce_sum", &y[1], 1, NULL, 0, &y[1]));
    OK(tsr_graph_op(g, "add", (tsr_value[]){s, y[1]}, 2, NULL, 0, &s));
  }
  OK(tsr_graph_output(g, s));
  memcpy(wrt, x, sizeof *x * 3);
  OK(tsr_graph_grad(g, wrt, n_wrt, &grad));
  out->n_out = 1 + n_wrt;
  tsr_graph_destroy(&g);
  return grad;
}

static void compile(tsr_context *ctx, tsr_device *dev, const attention_case *c, int how, gradient *out) {
  tsr_graph *g = loss_gradient(ctx, c, out);
  const tsr_compile_options o = {.disable = how == KERNEL ? NULL : "flash_attention_backward", .tune = TSR_TUNE_OFF};
  OK(tsr_program_compile(dev, g, &o, &out->p));
  tsr_graph_destroy(&g);
}

static int64_t count(tsr_shape s) {
  int64_t n = 1;
  for (int i = 0; i < s.rank; i++) n *= s.dims[i];
  return n;
}

static unsigned next(unsigned *seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 8; }

/* Numbers from -1 to 1; lengths -1 to 40; a mask of three in four. */
static void fill(void *to, tsr_dtype t, int64_t n, unsigned seed) {
  for (int64_t i = 0; i < n; i++) {
    const unsigned r = next(&seed);
    const float f = (float)r / 8388608.0f - 1;
    if (t == TSR_F64) ((double *)to)[i] = (double)f;
    else if (t == TSR_F32) ((float *)to)[i] = f;
    else if (t == TSR_I32) ((int32_t *)to)[i] = (int32_t)(r % 42) - 1;
    else if (t == TSR_BOOL) ((unsigned char *)to)[i] = r % 4 != 0;
    else {
      uint32_t bits;
      memcpy(&bits, &f, sizeof bits);
      ((uint16_t *)to)[i] = (uint16_t)(bits >> 16);
    }
  }
}

/* Runs it on numbers that follow from the shapes; out[i]: bytes of result i, to be freed. */
static void run(tsr_device *dev, const gradient *g, void **out, size_t *bytes) {
  tsr_binding in[MOST_INPUTS] = {{0}}, results[MOST_INPUTS] = {{0}};
  for (int i = 0; i < g->n_in; i++) {
    const size_t size = (size_t)count(g->in[i]) * tsr_dtype_size(g->types[i]);
    void *data = malloc(size);
    fill(data, g->types[i], count(g->in[i]), (unsigned)i + 3);
    OK(tsr_buffer_create(dev, size, TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, data, size));
    free(data);
  }
  for (int i = 0; i < g->n_out; i++)
    OK(tsr_buffer_create(dev, tsr_program_output(g->p, i).bytes, TSR_MEMORY_DEVICE, &results[i].buffer));
  OK(tsr_program_run(g->p, NULL, in, results));
  for (int i = 0; i < g->n_out; i++) {
    bytes[i] = tsr_program_output(g->p, i).bytes;
    out[i] = malloc(bytes[i]);
    OK(tsr_buffer_read(results[i].buffer, 0, out[i], bytes[i]));
  }
  for (int i = 0; i < MOST_INPUTS; i++) tsr_buffer_destroy(&in[i].buffer), tsr_buffer_destroy(&results[i].buffer);
}

static double number(const void *x, tsr_dtype t, size_t i) {
  if (t == TSR_F64) return ((const double *)x)[i];
  if (t == TSR_F32) return (double)((const float *)x)[i];
  const uint32_t bits = (uint32_t)((const uint16_t *)x)[i] << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return (double)f;
}

static bool says(tsr_context *ctx, tsr_program *p, const char *text) {
  char *told;
  OK(tsr_program_explain(p, &told));
  const bool found = strstr(told, text) != NULL;
  tsr_text_free(ctx, &told);
  return found;
}

/* ---- the same numbers as other ops give -------------------------------------------------------------------------- */

/* Sums of up to some thousand products of numbers below 1, in two orders: 64 roundings of the largest gradient. */
static void compare(tsr_context *ctx, tsr_device *dev, const attention_case *c, const char *name) {
  const double eps = c->t == TSR_F64 ? 0x1p-53 : c->t == TSR_F32 ? 0x1p-24 : 0x1p-9;
  void *out[2][MOST_INPUTS];
  size_t bytes[MOST_INPUTS];
  int n_out = 0;
  for (int how = KERNEL; how <= OTHER_OPS; how++) {
    gradient g;
    compile(ctx, dev, c, how, &g);
    assert_true(says(ctx, g.p, "kernel flash_attention_backward") == (how == KERNEL));
    run(dev, &g, out[how], bytes);
    n_out = g.n_out;
    tsr_program_destroy(&g.p);
  }
  for (int i = 1; i < n_out; i++) {
    const size_t n = bytes[i] / tsr_dtype_size(c->t);
    double largest = 0;
    for (size_t k = 0; k < n; k++) largest = fmax(largest, fabs(number(out[1][i], c->t, k)));
    for (size_t k = 0; k < n; k++) {
      const double x = number(out[0][i], c->t, k), y = number(out[1][i], c->t, k);
      if (!(fabs(x - y) <= 64 * eps * largest))
        fail_msg("%s: gradient %d, number %zu of %zu: %.9g, by other ops %.9g", name, i, k, n, x, y);
    }
    assert_true(largest > 0);
  }
  for (int i = 0; i < n_out; i++) free(out[0][i]), free(out[1][i]);
}

static void gradients_of_each_option_are_those_of_other_ops(void **state) {
  static const struct {
    const char *name;
    attention_case c;
  } cases[] = {
      {"plain", {TSR_F64, 1, 2, 2, 40, 40, 8, 8}},
      {"causal over several tiles", {TSR_F32, 1, 2, 2, 300, 300, 16, 16, .causal = true}},
      {"causal, more keys", {TSR_F64, 1, 2, 2, 150, 400, 8, 8, .causal = true}},
      {"causal, more queries", {TSR_F64, 2, 1, 1, 400, 150, 8, 8, .causal = true}},
      {"a window", {TSR_F64, 1, 2, 2, 300, 300, 8, 8, .window = 40}},
      {"a causal window", {TSR_F64, 1, 2, 2, 300, 280, 8, 8, .window = 40, .causal = true}},
      {"a window of one", {TSR_F64, 1, 2, 2, 140, 300, 8, 8, .window = 1}},
      {"a cap", {TSR_F64, 1, 2, 2, 150, 150, 8, 8, .softcap = 0.7, .scale = 2}},
      {"a cap and a bias", {TSR_F64, 2, 2, 2, 150, 150, 8, 8, .softcap = 0.7, .bias = true, .causal = true}},
      {"a negative scale", {TSR_F64, 1, 2, 2, 150, 150, 8, 8, .scale = -0.5}},
      {"a bias", {TSR_F64, 2, 4, 2, 30, 150, 8, 5, .bias = true}},
      {"a mask", {TSR_F64, 2, 2, 2, 150, 30, 8, 8, .mask = true}},
      {"a mask and causal", {TSR_F32, 1, 4, 1, 150, 150, 8, 8, .mask = true, .causal = true}},
      {"heads that share keys", {TSR_F64, 2, 6, 2, 130, 140, 8, 12}},
      {"one head of keys, causal", {TSR_F64, 1, 6, 1, 260, 300, 8, 3, .causal = true}},
      {"lengths", {TSR_F64, 6, 2, 1, 30, 40, 8, 8, .lengths = true}},
      {"lengths, causal", {TSR_F64, 6, 2, 1, 30, 40, 8, 8, .lengths = true, .causal = true}},
      {"lengths, a window", {TSR_F64, 6, 1, 1, 30, 40, 8, 8, .lengths = true, .window = 7}},
      {"lengths, a mask", {TSR_F64, 6, 2, 2, 30, 40, 8, 8, .lengths = true, .mask = true}},
      {"widths of 1", {TSR_F64, 1, 1, 1, 17, 33, 1, 1}},
      {"one query", {TSR_F64, 3, 2, 2, 1, 33, 4, 4, .causal = true}},
      {"one key", {TSR_F64, 3, 2, 2, 33, 1, 4, 4}},
      {"narrow", {TSR_BF16, 1, 2, 2, 150, 150, 16, 16, .causal = true}},
      {"wide heads", {TSR_F32, 1, 1, 1, 70, 70, 256, 200}},
      {"many heads, so that keys are in one part", {TSR_F64, 4, 5, 5, 300, 300, 4, 4, .causal = true}},
  };
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) compare(ctx, dev, &cases[i].c, cases[i].name);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void gradients_of_random_shapes_are_those_of_other_ops(void **state) {
  unsigned seed = 20;
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (int i = 0; i < 40; i++) {
    attention_case c = {.t = next(&seed) % 3 ? TSR_F64 : TSR_F32, .batch = 1 + next(&seed) % 3};
    char name[160];
    c.kv_heads = 1 + next(&seed) % 2, c.heads = c.kv_heads * (1 + next(&seed) % 3);
    c.m = 1 + next(&seed) % 300, c.n = 1 + next(&seed) % 300, c.k = 1 + next(&seed) % 20, c.v = 2 + next(&seed) % 20;
    c.causal = next(&seed) % 2, c.window = next(&seed) % 3 ? 0 : 1 + next(&seed) % 100;
    c.mask = next(&seed) % 3 == 0, c.bias = !c.mask && next(&seed) % 2;
    c.softcap = next(&seed) % 3 ? 0 : 1.5, c.scale = next(&seed) % 2 ? 0 : 0.3;
    if (c.n < 3) c.n = 3; /* of less there may be nothing but zeros */
    snprintf(name, sizeof name, "case %d: %lldx%lldx%lldx%lldx%lld of %lld heads of keys, width %lld%s", i,
             (long long)c.batch, (long long)c.heads, (long long)c.m, (long long)c.n, (long long)c.k,
             (long long)c.kv_heads, (long long)c.v, c.causal ? ", causal" : "");
    compare(ctx, dev, &c, name);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* ---- memory, launches, bits -------------------------------------------------------------------------------------- */

static long workspace(tsr_context *ctx, tsr_program *p) {
  char *told;
  OK(tsr_program_explain(p, &told));
  const char *at = strstr(told, "workspace ");
  assert_non_null(at);
  const long bytes = strtol(at + strlen("workspace "), NULL, 10);
  tsr_text_free(ctx, &told);
  return bytes;
}

/* Twice the length, twice the temporaries: the result, its log-sum-exp, shift, and dq of each part. */
static void temporaries_grow_as_the_length_and_launches_stay(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  long before = 0;
  int launches = 0;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (int64_t n = 512; n <= 8192; n *= 2) {
    const attention_case c = {TSR_F32, 2, 8, 8, n, n, 64, 64, .causal = true};
    gradient g, by_parts;
    compile(ctx, dev, &c, KERNEL, &g);
    compile(ctx, dev, &c, OTHER_OPS, &by_parts);
    const long bytes = workspace(ctx, g.p), scores = c.batch * c.heads * n * n * 4;
    if (before) assert_true(bytes <= 2 * before + 4096);
    assert_true(workspace(ctx, by_parts.p) > 2 * bytes);
    assert_true(bytes < scores / 2);
    if (launches) assert_int_equal(tsr_program_n_kernels(g.p), launches);
    launches = tsr_program_n_kernels(g.p);
    before = bytes;
    tsr_program_destroy(&g.p);
    tsr_program_destroy(&by_parts.p);
  }
  print_message("%d launches, %ld bytes of temporaries for 16 heads of length 8192\n", launches, before);
  assert_int_equal(launches, 5); /* attention, the loss in two steps, shift, the gradients */
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void bits_do_not_depend_on_threads(void **state) {
  static const attention_case cases[] = {{TSR_F32, 1, 2, 2, 700, 700, 16, 16, .causal = true},
                                         {TSR_F32, 2, 4, 2, 300, 900, 16, 8}};
  static const char *const threads[] = {"1", "2", "5"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    void *out[3][MOST_INPUTS];
    size_t bytes[MOST_INPUTS];
    gradient g;
    for (int t = 0; t < 3; t++) {
      tsr_context *ctx;
      tsr_device *dev;
      setenv("TSR_THREADS", threads[t], 1);
      OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
      OK(tsr_device_open(ctx, "cpu:0", &dev));
      compile(ctx, dev, &cases[i], KERNEL, &g);
      assert_true(says(ctx, g.p, "kernel flash_attention_backward"));
      run(dev, &g, out[t], bytes);
      tsr_program_destroy(&g.p);
      tsr_device_close(&dev);
      tsr_context_destroy(&ctx);
    }
    for (int r = 1; r < g.n_out; r++)
      for (int t = 1; t < 3; t++) assert_memory_equal(out[0][r], out[t][r], bytes[r]);
    for (int r = 0; r < g.n_out; r++)
      for (int t = 0; t < 3; t++) free(out[t][r]);
  }
  unsetenv("TSR_THREADS");
}

/* ---- where other ops are taken ----------------------------------------------------------------------------------- */

static void other_devices_and_modes_take_other_ops_and_say_so(void **state) {
  static const struct {
    const char *device;
    tsr_precision mode;
  } cases[] = {{"cuda:sm_90a", TSR_PRECISION_STANDARD}, {"null:spirv", TSR_PRECISION_STANDARD},
               {"cpu:0", TSR_PRECISION_TF32},           {"cpu:0", TSR_PRECISION_AGGRESSIVE},
               {"cpu:0", TSR_PRECISION_SAFE},           {"cpu:0", TSR_PRECISION_DETERMINISTIC}};
  const attention_case c = {TSR_F32, 1, 2, 2, 64, 64, 16, 16};
  tsr_context *ctx;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsr_device *dev;
    gradient g;
    OK(tsr_device_open(ctx, cases[i].device, &dev));
    tsr_graph *graph = loss_gradient(ctx, &c, &g);
    OK(tsr_program_compile(dev, graph, &(tsr_compile_options){.precision = cases[i].mode, .tune = TSR_TUNE_OFF}, &g.p));
    const bool whole = cases[i].mode == TSR_PRECISION_DETERMINISTIC;
    assert_true(says(ctx, g.p,
                     "flash_attention_backward refused at tessera.graph.flash_attention_backward: other ops "
                     "here, for keys block by block") == !whole);
    assert_true(says(ctx, g.p, "kernel flash_attention_backward") == whole);
    tsr_program_destroy(&g.p);
    tsr_graph_destroy(&graph);
    tsr_device_close(&dev);
  }
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_of_each_option_are_those_of_other_ops),
      cmocka_unit_test(gradients_of_random_shapes_are_those_of_other_ops),
      cmocka_unit_test(temporaries_grow_as_the_length_and_launches_stay),
      cmocka_unit_test(bits_do_not_depend_on_threads),
      cmocka_unit_test(other_devices_and_modes_take_other_ops_and_say_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
