/* rnn, gru and lstm against the equations of ONNX's operators in plain C: the oracle and the CPU, in both directions,
 * with lengths and initial states; that their steps are one call on the CPU, and what other devices make of them. Each
 * op in each type on each device is test_op_types.c's, random ones the random suite's, gradients are
 * test_graph_autodiff.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"

enum { STEPS = 5, BATCH = 3, INPUTS = 4, N = 9, WIDE = 8 * N };

typedef struct cell {
  const char *name, *attrs;
  int gates;
} cell;

/* x, w, r, b, lengths, h, c and the results y, h, c. */
typedef struct data {
  float x[STEPS][BATCH][INPUTS], w[2][4 * N * INPUTS], r[2][4 * N * N], b[2][WIDE], h[2][BATCH][N], c[2][BATCH][N];
  int32_t lengths[BATCH];
} data;
typedef struct states {
  double y[STEPS][2][BATCH][N], h[2][BATCH][N], c[2][BATCH][N];
} states;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double dot(const float *w, const void *x, int n, bool narrow) {
  double s = 0;
  for (int i = 0; i < n; i++) s += w[i] * (narrow ? (double)((const float *)x)[i] : ((const double *)x)[i]);
  return s;
}

/* One entry's next states in direction d. reset: after the product. */
static void step(const cell *q, const data *in, int d, bool reset, bool relu, const float *x, double *h, double *c) {
  const float *wb = in->b[d], *rb = wb + q->gates * N;
  double p[4][N], s[4][N], after[N], held[N];
  for (int g = 0; g < q->gates; g++)
    for (int j = 0; j < N; j++) {
      const int row = g * N + j;
      p[g][j] = dot(in->w[d] + row * INPUTS, x, INPUTS, true) + wb[row];
      s[g][j] = dot(in->r[d] + row * N, h, N, false) + rb[row];
    }
  for (int j = 0; j < N && q->gates == 3; j++) held[j] = sigmoid(p[1][j] + s[1][j]) * h[j];
  for (int j = 0; j < N; j++) {
    if (q->gates == 4) {
      c[j] = sigmoid(p[2][j] + s[2][j]) * c[j] + sigmoid(p[0][j] + s[0][j]) * tanh(p[3][j] + s[3][j]);
      after[j] = sigmoid(p[1][j] + s[1][j]) * tanh(c[j]);
    } else if (q->gates == 3) {
      const double z = sigmoid(p[0][j] + s[0][j]),
                   row = dot(in->r[d] + (2 * N + j) * N, held, N, false) + rb[2 * N + j];
      after[j] = (1 - z) * tanh(p[2][j] + (reset ? sigmoid(p[1][j] + s[1][j]) * s[2][j] : row)) + z * h[j];
    } else {
      const double u = p[0][j] + s[0][j];
      after[j] = relu ? fmax(u, 0) : tanh(u);
    }
  }
  memcpy(h, after, sizeof after);
}

static void expected(const cell *q, const data *in, const char *direction, states *out) {
  const bool both = !strcmp(direction, "bidirectional"), reset = strstr(q->attrs, "linear_before_reset"),
             relu = strstr(q->attrs, "relu");
  memset(out, 0, sizeof *out);
  for (int d = 0; d <= both; d++)
    for (int k = 0; k < BATCH; k++) {
      double h[N], c[N];
      for (int j = 0; j < N; j++) h[j] = in->h[d][k][j], c[j] = in->c[d][k][j];
      for (int i = 0; i < STEPS; i++) {
        const int t = (both ? d == 1 : !strcmp(direction, "reverse")) ? STEPS - 1 - i : i;
        if (t >= in->lengths[k]) continue;
        step(q, in, d, reset, relu, in->x[t][k], h, c);
        memcpy(out->y[t][d][k], h, sizeof h);
      }
      memcpy(out->h[d][k], h, sizeof h);
      memcpy(out->c[d][k], c, sizeof c);
    }
}

static data drawn(void) {
  data in;
  unsigned seed = 9;
  for (size_t i = 0; i < offsetof(data, lengths) / sizeof(float); i++)
    ((float *)&in)[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / 16777216.0f - 0.5f;
  memcpy(in.lengths, (int32_t[]){STEPS, 2, 0}, sizeof in.lengths);
  return in;
}

static const char *text_of(const cell *q, const char *direction, int d) {
  static char text[1024];
  const int rows = q->gates * N;
  const bool lstm = q->gates == 4;
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx%dx%dxf32>, %%w: tensor<%dx%dx%dxf32>, %%r: "
           "tensor<%dx%dx%dxf32>, %%b: tensor<%dx%dxf32>, %%l: tensor<%dxi32>, %%h: tensor<%dx%dx%dxf32>, %%c: "
           "tensor<%dx%dx%dxf32>):\n%%0, %%1%s = \"tessera.graph.%s\"(%%x, %%w, %%r, %%b, %%l, %%h%s) {direction = "
           "\"%s\"%s}\n\"tessera.graph.return\"(%%0, %%1%s)\n}) {sym_name = \"main\"}\n",
           STEPS, BATCH, INPUTS, d, rows, INPUTS, d, rows, N, d, 2 * rows, BATCH, d, BATCH, N, d, BATCH, N,
           lstm ? ", %2" : "", q->name, lstm ? ", %c" : "", direction, q->attrs, lstm ? ", %2" : "");
  return text;
}

static void run(const char *text, const void *const *in, void *const *out) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding b[2][7] = {{{0}}};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test.mlir", NULL, &p));
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < (side ? tsr_program_n_outputs(p) : tsr_program_n_inputs(p)); i++) {
      const tsr_tensor_info t = side ? tsr_program_output(p, i) : tsr_program_input(p, i);
      OK(tsr_buffer_create(dev, t.bytes, TSR_MEMORY_DEVICE, &b[side][i].buffer));
      if (!side) OK(tsr_buffer_write(b[side][i].buffer, 0, in[i], t.bytes));
    }
  OK(tsr_program_run(p, NULL, b[0], b[1]));
  for (int i = 0; i < tsr_program_n_outputs(p); i++)
    OK(tsr_buffer_read(b[1][i].buffer, 0, out[i], tsr_program_output(p, i).bytes));
  for (int i = 0; i < 14; i++) tsr_buffer_destroy(&b[i / 7][i % 7].buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* Sums of a few products of numbers below 1: a few units of 2^-24 each, five steps of them. */
static void compare(const char *what, const float *got, const double *want, int n) {
  for (int i = 0; i < n; i++)
    if (!(fabs(got[i] - want[i]) <= 2e-6)) fail_msg("%s: element %d is %g, not %g", what, i, got[i], want[i]);
}

static void cells_follow_the_equations(void **state) {
  static const cell cells[] = {{"rnn", "", 1},
                               {"rnn", ", activation = \"relu\"", 1},
                               {"gru", "", 3},
                               {"gru", ", linear_before_reset = true", 3},
                               {"lstm", "", 4}};
  static const char *const directions[] = {"forward", "reverse", "bidirectional"};
  const data in = drawn();
  for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
    for (int way = 0; way < 3; way++) {
      const cell *q = &cells[k];
      const int d = way == 2 ? 2 : 1, rows = q->gates * N;
      static float w[2 * 4 * N * INPUTS], r[2 * 4 * N * N], b[2 * WIDE], y[2][STEPS * 2 * BATCH * N],
          h[2][2 * BATCH * N], c[2][2 * BATCH * N];
      static states want;
      for (int i = 0; i < d; i++) { /* packed: as many rows as the cell has */
        memcpy(w + i * rows * INPUTS, in.w[i], sizeof *w * (size_t)(rows * INPUTS));
        memcpy(r + i * rows * N, in.r[i], sizeof *r * (size_t)(rows * N));
        memcpy(b + i * 2 * rows, in.b[i], sizeof *b * (size_t)(2 * rows));
      }
      const void *const args[] = {in.x, w, r, b, in.lengths, in.h, in.c};
      const char *text = text_of(q, directions[way], d);
      ir_module *m = gt_parse(text);
      OK(graph_eval(graph_find_func(m, NULL), args, (void *const[]){y[0], h[0], c[0]}, NULL));
      ir_module_destroy(&m);
      run(text, args, (void *const[]){y[1], h[1], c[1]});
      expected(q, &in, directions[way], &want);
      for (int side = 0; side < 2; side++) {
        for (int t = 0; t < STEPS; t++)
          compare(text, y[side] + t * d * BATCH * N, want.y[t][0][0], d * BATCH * N);
        compare(text, h[side], want.h[0][0], d * BATCH * N);
        if (q->gates == 4) compare(text, c[side], want.c[0][0], d * BATCH * N);
      }
    }
}

/* So many states that they are several items of different widths, and more entries than go together: the CPU against
 * the oracle, whose sums are f64's. Sums of 150 products below 1/4 each, four steps of them. */
static void many_states_and_entries_follow_the_oracle(void **state) {
  enum { STATES = 150, ENTRIES = 11, T = 4 };
  static const char *const ops[] = {"rnn", "gru", "lstm"};
  static float got[T * ENTRIES * STATES], want[T * ENTRIES * STATES], h[2][3][ENTRIES * STATES];
  for (int k = 0; k < 3; k++) {
    char text[1024];
    const int rows = (k == 2 ? 4 : k == 1 ? 3 : 1) * STATES;
    snprintf(text, sizeof text,
             "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx%dx3xf32>, %%w: tensor<1x%dx3xf32>, %%r: "
             "tensor<1x%dx%dxf32>):\n%%0, %%1%s = \"tessera.graph.%s\"(%%x, %%w, %%r)\n"
             "\"tessera.graph.return\"(%%0, %%1%s)\n}) {sym_name = \"main\"}\n",
             T, ENTRIES, rows, rows, STATES, k == 2 ? ", %2" : "", ops[k], k == 2 ? ", %2" : "");
    ir_module *m = gt_parse(text);
    gt_data in = gt_random(graph_find_func(m, NULL), 7, -0.25, 0.25);
    OK(graph_eval(graph_find_func(m, NULL), (const void *const *)in.p, (void *const[]){want, h[0][0], h[0][1]}, NULL));
    run(text, (const void *const *)in.p, (void *const[]){got, h[1][0], h[1][1]});
    for (int i = 0; i < T * ENTRIES * STATES; i++)
      if (!(fabs((double)got[i] - (double)want[i]) <= 2e-5))
        fail_msg("%s: %d is %g, not %g", ops[k], i, (double)got[i], (double)want[i]);
    gt_free(&in);
    ir_module_destroy(&m);
  }
}

/* How many kernels an lstm of so many steps is on a device, and how many of them are the loop. */
static int launches(const char *device, int steps, bool switched_off, int *loops, char **why) {
  char text[512];
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_compile_options o = {.fallback = TSR_FALLBACK_ALLOW, .disable = switched_off ? "recurrence" : NULL};
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx2x8xf32>, %%w: tensor<1x64x8xf32>, %%r: tensor<1x64x16xf32>"
           "):\n%%0, %%1, %%2 = \"tessera.graph.lstm\"(%%x, %%w, %%r)\n\"tessera.graph.return\"(%%0)\n}) {sym_name = "
           "\"main\"}\n",
           steps);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, device, &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test.mlir", &o, &p));
  const int n = tsr_program_n_kernels(p);
  *loops = 0;
  for (int i = 0; i < n; i++) *loops += !strcmp(tsr_program_kernel(p, i).name, "recurrence");
  char *told;
  OK(tsr_program_explain(p, &told));
  *why = strdup(told);
  tsr_text_free(ctx, &told);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return n;
}

static void steps_are_one_call_on_the_cpu(void **state) {
  int loops, n;
  char *why;
  n = launches("cpu:0", 4, false, &loops, &why);
  assert_int_equal(loops, 1);
  free(why);
  assert_int_equal(launches("cpu:0", 100, false, &loops, &why), n);
  assert_int_equal(loops, 1);
  assert_non_null(strstr(why, "one call of the host"));
  free(why);
  assert_true(launches("cpu:0", 4, true, &loops, &why) > n);
  assert_int_equal(loops, 0);
  free(why);
  assert_true(launches("cuda:sm_90a", 4, false, &loops, &why) > n); /* compiled, not run */
  assert_int_equal(loops, 0);
  assert_non_null(strstr(why, "the device computes it by other ops"));
  free(why);
  launches("cuda:sm_90a", 65, false, &loops, &why);
  assert_int_equal(loops, 1);
  assert_non_null(strstr(why, "recurrence has no kernel for cuda"));
  free(why);
}

/* States of no numbers: nothing is to be computed, and nothing to be shared out among cores. */
static void states_of_nothing_run(void **state) {
  static const char *const ops[] = {"lstm", "gru", "rnn"};
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    char text[512];
    tsr_program *p;
    tsr_binding in[3] = {{0}}, out = {0};
    snprintf(text, sizeof text,
             "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<2x1x3xf32>, %%w: tensor<1x0x3xf32>, %%r: "
             "tensor<1x0x0xf32>):\n%%0, %%1%s = \"tessera.graph.%s\"(%%x, %%w, %%r)\n"
             "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
             i ? "" : ", %2", ops[i]);
    OK(tsr_program_parse(dev, text, strlen(text), "test.mlir", NULL, &p));
    for (int k = 0; k < 3; k++)
      OK(tsr_buffer_create(dev, tsr_program_input(p, k).bytes, TSR_MEMORY_DEVICE, &in[k].buffer));
    assert_int_equal(tsr_program_output(p, 0).bytes, 0);
    OK(tsr_buffer_create(dev, 0, TSR_MEMORY_DEVICE, &out.buffer));
    OK(tsr_program_run(p, NULL, in, &out));
    for (int k = 0; k < 3; k++) tsr_buffer_destroy(&in[k].buffer);
    tsr_buffer_destroy(&out.buffer);
    tsr_program_destroy(&p);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cells_follow_the_equations),
      cmocka_unit_test(many_states_and_entries_follow_the_oracle),
      cmocka_unit_test(steps_are_one_call_on_the_cpu),
      cmocka_unit_test(states_of_nothing_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
