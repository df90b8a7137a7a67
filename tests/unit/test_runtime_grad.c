/* tsr_graph_grad through the public interface alone: gradients through the table's ops and through an op of the
 * application's, run on the CPU against the reference; what is refused; failing allocations. */
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

/* ---- my.silu(x) = x / (1 + exp(-x)), with its derivative g (s + y (1 - s)) by ops of the table ------------------- */

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

static tsr_status silu_adjoint(void *user, const tsr_custom_call *c, tsr_custom_adjoint *a) {
  tsr_value s, d, one;
  const float ones = 1;
  tsr_status st = tsr_graph_op(a->graph, "sigmoid", a->operands, 1, NULL, 0, &s);
  if (!st) st = tsr_graph_constant(a->graph, TSR_F32, (tsr_shape){0}, &ones, &one);
  if (!st) st = tsr_graph_op(a->graph, "sub", (tsr_value[]){one, s}, 2, NULL, 0, &d);
  if (!st) st = tsr_graph_op(a->graph, "mul", (tsr_value[]){a->result, d}, 2, NULL, 0, &d);
  if (!st) st = tsr_graph_op(a->graph, "add", (tsr_value[]){s, d}, 2, NULL, 0, &d);
  return st ? st : tsr_graph_op(a->graph, "mul", (tsr_value[]){a->gradient, d}, 2, NULL, 0, &a->operand_gradients[0]);
}

static tsr_status wrong_adjoint(void *user, const tsr_custom_call *c, tsr_custom_adjoint *a) {
  return tsr_graph_op(a->graph, "reduce_sum", &a->gradient, 1, NULL, 0, &a->operand_gradients[0]);
}

static tsr_status failing_adjoint(void *user, const tsr_custom_call *c, tsr_custom_adjoint *a) {
  return tsr_graph_op(a->graph, "no_such_op", &a->gradient, 1, NULL, 0, &a->operand_gradients[0]);
}

static tsr_status add_op(tsr_context *ctx, const char *name,
                         tsr_status (*adjoint)(void *, const tsr_custom_call *, tsr_custom_adjoint *)) {
  return tsr_custom_op_register(
      ctx, &(tsr_custom_op){.name = name, .n_operands = 1, .infer = silu_infer, .cpu = silu_cpu, .adjoint = adjoint});
}

/* ---- loss = sum(act(A B) * W)
 * ----------------------------------------------------------------------------------------- */

enum { M = 12, K = 20, N = 9, N_OUT = 3 };
static const size_t sizes[] = {M * K, K * N, M * N}, out_sizes[N_OUT] = {1, M * K, K * N};

static tsr_status build(tsr_context *ctx, const char *act, tsr_graph **g) {
  tsr_value a = 0, b = 0, w, v, wrt[2];
  tsr_graph *loss = NULL;
  tsr_status st = tsr_graph_create(ctx, "loss", &loss);
  if (!st) st = tsr_graph_input(loss, "A", TSR_F32, (tsr_shape){2, {M, K}}, &a);
  if (!st) st = tsr_graph_input(loss, "B", TSR_F32, (tsr_shape){2, {K, N}}, &b);
  if (!st) st = tsr_graph_input(loss, "W", TSR_F32, (tsr_shape){2, {M, N}}, &w);
  if (!st) st = tsr_graph_op(loss, "matmul", (tsr_value[]){a, b}, 2, NULL, 0, &v);
  if (!st) st = tsr_graph_op(loss, act, &v, 1, NULL, 0, &v);
  if (!st) st = tsr_graph_op(loss, "mul", (tsr_value[]){v, w}, 2, NULL, 0, &v);
  if (!st) st = tsr_graph_op(loss, "reduce_sum", &v, 1, NULL, 0, &v);
  if (!st) st = tsr_graph_output(loss, v);
  wrt[0] = a, wrt[1] = b;
  if (!st) st = tsr_graph_grad(loss, wrt, 2, g);
  tsr_graph_destroy(&loss);
  return st;
}

typedef struct values {
  float in[3][M * K];
  double want[N_OUT][M * K], tol[N_OUT][M * K];
  float have[N_OUT][M * K];
} values;

static void fill(values *x) {
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < M * K; k++) x->in[i][k] = (float)(((i + 3) * (k + 1) * 7919 % 2001 - 1000) / 1200.0);
}

static tsr_status evaluate(const tsr_graph *g, values *x) {
  return tsr_graph_reference(g, (const void *[]){x->in[0], x->in[1], x->in[2]},
                             (double *[]){x->want[0], x->want[1], x->want[2]},
                             (double *[]){x->tol[0], x->tol[1], x->tol[2]});
}

static tsr_status run(tsr_device *dev, const tsr_graph *g, values *x) {
  tsr_program *p = NULL;
  tsr_binding in[3] = {{NULL}}, out[N_OUT] = {{NULL}};
  tsr_status st = tsr_program_compile(dev, g, NULL, &p);
  for (int i = 0; i < 3 && !st; i++) {
    st = tsr_buffer_create(dev, sizes[i] * 4, TSR_MEMORY_DEVICE, &in[i].buffer);
    if (!st) st = tsr_buffer_write(in[i].buffer, 0, x->in[i], sizes[i] * 4);
  }
  for (int i = 0; i < N_OUT && !st; i++)
    st = tsr_buffer_create(dev, out_sizes[i] * 4, TSR_MEMORY_DEVICE, &out[i].buffer);
  if (!st) st = tsr_program_run(p, NULL, in, out);
  for (int i = 0; i < N_OUT && !st; i++) st = tsr_buffer_read(out[i].buffer, 0, x->have[i], out_sizes[i] * 4);
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&in[i].buffer);
  for (int i = 0; i < N_OUT; i++) tsr_buffer_destroy(&out[i].buffer);
  tsr_program_destroy(&p);
  return st;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void gradient_through_a_custom_op_is_that_of_the_op_it_copies(void **state) {
  static values own, table;
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g, *t;
  OK(tsr_context_create(NULL, &ctx));
  OK(add_op(ctx, "my.silu", silu_adjoint));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(build(ctx, "my.silu", &g));
  OK(build(ctx, "silu", &t));
  assert_int_equal(tsr_graph_n_outputs(g), N_OUT);
  fill(&own);
  fill(&table);
  OK(evaluate(g, &own));
  OK(evaluate(t, &table));
  OK(run(dev, g, &own));
  OK(run(dev, t, &table));
  for (int o = 0; o < N_OUT; o++)
    for (size_t i = 0; i < out_sizes[o]; i++) {
      double own_tol = own.tol[o][i], table_tol = table.tol[o][i];
      if (!(fabs(own.want[o][i] - table.want[o][i]) <= own_tol + table_tol))
        fail_msg("%d[%zu]: %g by the op's own derivative, %g by the table's", o, i, own.want[o][i], table.want[o][i]);
      if (!(fabs(own.have[o][i] - own.want[o][i]) <= own_tol))
        fail_msg("%d[%zu]: %g, want %g", o, i, (double)own.have[o][i], own.want[o][i]);
      if (!(fabs(table.have[o][i] - table.want[o][i]) <= table_tol))
        fail_msg("table: %d[%zu]: %g, want %g", o, i, (double)table.have[o][i], table.want[o][i]);
    }
  /* And against differences: moving one element of A moves the loss by that much. */
  double loss = own.want[0][0], slope = own.want[1][7];
  own.in[0][7] += 0.01f;
  OK(evaluate(g, &own));
  double measured = (own.want[0][0] - loss) / 0.01;
  if (!(fabs(measured - slope) <= 0.02 * fabs(slope) + 0.02)) fail_msg("slope %g, derivative %g", measured, slope);
  tsr_graph_destroy(&g);
  tsr_graph_destroy(&t);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void expect(tsr_status st, tsr_code code, const char *says) {
  assert_int_equal(tsr_status_code(st), code);
  if (!strstr(tsr_status_message(st), says) || strchr(tsr_status_message(st), '\n'))
    fail_msg("\"%s\" does not say \"%s\"", tsr_status_message(st), says);
  tsr_status_free(st);
}

static void derivatives_that_can_not_be_are_one_clear_line(void **state) {
  tsr_context *ctx;
  tsr_graph *g, *d;
  OK(tsr_context_create(NULL, &ctx));
  OK(add_op(ctx, "my.plain", NULL));
  OK(add_op(ctx, "my.wrong", wrong_adjoint));
  OK(add_op(ctx, "my.failing", failing_adjoint));
  expect(build(ctx, "my.plain", &d), TSR_VERIFY_ERROR, "my.plain has no derivative (give the op an adjoint");
  expect(build(ctx, "my.wrong", &d), TSR_SHAPE_MISMATCH, "the adjoint of my.wrong gave another type for operand 0");
  expect(build(ctx, "my.failing", &d), TSR_NOT_FOUND, "no_such_op");
  assert_null(d);
  static const char text[] =
      "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<4xf32>, %i: tensor<4xi32>):\n%y = \"tessera.graph.custom\"(%x) "
      "{callee = \"my.plain\"} : (tensor<4xf32>) -> tensor<4xf32>\n"
      "%s = \"tessera.graph.reduce_sum\"(%y)\n\"tessera.graph.return\"(%s)\n}) {sym_name = \"main\"}\n";
  OK(tsr_graph_parse(ctx, text, sizeof text - 1, "g.mlir", &g));
  expect(tsr_graph_grad(g, (tsr_value[]){1}, 1, &d), TSR_VERIFY_ERROR, "g.mlir:3:6: my.plain has no derivative");
  expect(tsr_graph_grad(g, (tsr_value[]){2}, 1, &d), TSR_VERIFY_ERROR, "only floats have gradients");
  expect(tsr_graph_grad(g, (tsr_value[]){3}, 1, &d), TSR_INVALID_ARGUMENT, "value 3 is not an input");
  expect(tsr_graph_grad(g, (tsr_value[]){1}, 0, &d), TSR_INVALID_ARGUMENT, "0 inputs");
  assert_null(d);
  tsr_graph_destroy(&g);
  tsr_context_destroy(&ctx);
}

/* loss = sum(my.silu(A B) * W): its tangent along one element of A is that element's gradient, and the tangent of what
 * depends on nothing that moves is 0. */
static void tangents_through_a_custom_op_are_its_gradient_times_the_direction(void **state) {
  enum { N_IN = 4, AT = 7 };
  static values x;
  static float direction[M * K];
  static double out[2 * N_OUT][M * K];
  double *results[2 * N_OUT];
  tsr_context *ctx;
  tsr_graph *g, *d, *again;
  OK(tsr_context_create(NULL, &ctx));
  OK(add_op(ctx, "my.silu", silu_adjoint));
  OK(build(ctx, "my.silu", &g));
  OK(tsr_graph_jvp(g, (tsr_value[]){1}, 1, &d));
  assert_int_equal(tsr_graph_n_inputs(d), N_IN);
  assert_string_equal(tsr_graph_input_info(d, 3).name, "A_tangent");
  assert_int_equal(tsr_graph_n_outputs(d), 2 * N_OUT);
  fill(&x);
  direction[AT] = 1;
  for (int i = 0; i < 2 * N_OUT; i++) results[i] = out[i];
  OK(tsr_graph_reference(d, (const void *[]){x.in[0], x.in[1], x.in[2], direction}, results, NULL));
  assert_true(fabs(out[N_OUT][0] - out[1][AT]) <= 1e-9 * (1 + fabs(out[1][AT])));
  /* Hessians are symmetric: that of A's gradients against a difference of them. */
  OK(evaluate(g, &x));
  const float before = x.in[0][AT];
  x.in[0][AT] += 1.0f / 1024;
  const double h = (double)x.in[0][AT] - (double)before;
  double first = x.want[1][AT + 1];
  OK(evaluate(g, &x));
  const double slope = (x.want[1][AT + 1] - first) / h;
  const double have = out[N_OUT + 1][AT + 1];
  if (!(fabs(slope - have) <= 1e-2 * (1 + fabs(slope)))) fail_msg("%g by differences, %g", slope, have);
  expect(tsr_graph_jvp(g, (tsr_value[]){9}, 1, &again), TSR_INVALID_ARGUMENT, "value 9 is not an input");
  expect(tsr_graph_jvp(g, (tsr_value[]){1}, 0, &again), TSR_INVALID_ARGUMENT, "0 inputs");
  expect(tsr_graph_jvp(g, (tsr_value[]){2, 2}, 2, &again), TSR_VERIFY_ERROR, "asked for twice");
  expect(tsr_graph_jvp(g, NULL, 1, &again), TSR_INVALID_ARGUMENT, "wrt is NULL");
  assert_null(again);
  tsr_graph_destroy(&d);
  tsr_graph_destroy(&g);
  tsr_context_destroy(&ctx);
}

/* ---- attention backwards: keys block by block -------------------------------------------------------------------- */

enum { HEADS = 2, QUERIES = 256, KEYS = 700, WIDTH = 16, QUERY_NUMBERS = HEADS * QUERIES * WIDTH,
       KEY_NUMBERS = HEADS * KEYS * WIDTH };

/* sum(attention(q, k, v) * w) by the op, or by its parts, which the rule would recognise but for a switch. */
static tsr_graph *attention_loss(tsr_context *ctx, bool parts) {
  const tsr_shape queries = {4, {1, HEADS, QUERIES, WIDTH}}, keys = {4, {1, HEADS, KEYS, WIDTH}},
                  shapes[] = {queries, keys, keys, queries};
  const float scale = 0.25f;
  tsr_graph *g, *grad;
  tsr_value v[4], s, c;
  OK(tsr_graph_create(ctx, "main", &g));
  for (int i = 0; i < 4; i++) OK(tsr_graph_input(g, NULL, TSR_F32, shapes[i], &v[i]));
  if (parts) {
    const tsr_attr turned = TSR_BOOLEAN("transpose_b", 1);
    OK(tsr_graph_op(g, "matmul", v, 2, &turned, 1, &s));
    OK(tsr_graph_constant(g, TSR_F32, (tsr_shape){0}, &scale, &c));
    OK(tsr_graph_op(g, "mul", (tsr_value[]){s, c}, 2, NULL, 0, &s));
    OK(tsr_graph_op(g, "softmax", &s, 1, NULL, 0, &s));
    OK(tsr_graph_op(g, "matmul", (tsr_value[]){s, v[2]}, 2, NULL, 0, &s));
  } else OK(tsr_graph_op(g, "flash_attention", v, 3, NULL, 0, &s));
  OK(tsr_graph_op(g, "mul", (tsr_value[]){s, v[3]}, 2, NULL, 0, &s));
  OK(tsr_graph_op(g, "reduce_sum", &s, 1, NULL, 0, &s));
  OK(tsr_graph_output(g, s));
  OK(tsr_graph_grad(g, v, 3, &grad));
  tsr_graph_destroy(&g);
  return grad;
}

/* The gradients; returns the bytes of the program's temporaries. */
static long attention_gradients(tsr_context *ctx, tsr_device *dev, bool parts, float *const *in, float *const *out) {
  static const size_t numbers[] = {QUERY_NUMBERS, KEY_NUMBERS, KEY_NUMBERS, QUERY_NUMBERS};
  tsr_graph *g = attention_loss(ctx, parts);
  tsr_program *p;
  tsr_binding b[2][4] = {{{0}}};
  char *told, *at;
  OK(tsr_program_compile(dev, g, &(tsr_compile_options){.disable = "recognize_attention"}, &p));
  for (int i = 0; i < 4; i++) {
    OK(tsr_buffer_create(dev, numbers[i] * sizeof(float), TSR_MEMORY_DEVICE, &b[0][i].buffer));
    OK(tsr_buffer_create(dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &b[1][i].buffer));
    OK(tsr_buffer_write(b[0][i].buffer, 0, in[i], numbers[i] * sizeof(float)));
  }
  OK(tsr_program_run(p, NULL, b[0], b[1]));
  for (int i = 0; i < 3; i++) OK(tsr_buffer_read(b[1][i + 1].buffer, 0, out[i], numbers[i] * sizeof(float)));
  OK(tsr_program_explain(p, &told));
  at = strstr(told, "workspace ");
  assert_non_null(at);
  const long bytes = strtol(at + strlen("workspace "), NULL, 10);
  tsr_text_free(ctx, &told);
  for (int i = 0; i < 8; i++) tsr_buffer_destroy(&b[i / 4][i % 4].buffer);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  return bytes;
}

/* Sums of at most 700 products below 1 in f32, in other orders: 1e-4 is some 20 of their roundings. */
static void attention_backwards_keeps_few_scores(void **state) {
  static float x[4][KEY_NUMBERS], y[2][3][KEY_NUMBERS];
  const long scores = (long)HEADS * QUERIES * KEYS * (long)sizeof(float);
  tsr_context *ctx;
  tsr_device *dev;
  unsigned seed = 3;
  long bytes[2];
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < KEY_NUMBERS; k++)
      x[i][k] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  float *const in[] = {x[0], x[1], x[2], x[3]};
  for (int k = 0; k < 2; k++) {
    float *const out[] = {y[k][0], y[k][1], y[k][2]};
    bytes[k] = attention_gradients(ctx, dev, k, in, out);
  }
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < (i ? KEY_NUMBERS : QUERY_NUMBERS); k++)
      if (!(fabsf(y[0][i][k] - y[1][i][k]) <= 1e-4f))
        fail_msg("gradient %d, number %d: %g by blocks, %g by parts", i, k, y[0][i][k], y[1][i][k]);
  assert_true(bytes[0] < scores);
  assert_true(bytes[1] > scores);
  print_message("temporaries of %ld bytes by blocks, %ld by parts; the scores are %ld\n", bytes[0], bytes[1], scores);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static tsr_code whole_life(counting *c) {
  tsr_allocator al = {count_alloc, count_free, c};
  tsr_context *ctx = NULL;
  tsr_graph *g = NULL, *forward = NULL;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.allocator = &al, .cache_dir = ""}, &ctx);
  if (!st) st = add_op(ctx, "my.silu", silu_adjoint);
  if (!st) st = build(ctx, "my.silu", &g);
  if (!st) st = tsr_graph_jvp(g, (tsr_value[]){1, 2}, 2, &forward);
  tsr_code code = tsr_status_code(st);
  tsr_status_free(st);
  tsr_graph_destroy(&forward);
  tsr_graph_destroy(&g);
  tsr_context_destroy(&ctx);
  return code;
}

static void every_failed_allocation_of_a_gradient_is_a_status(void **state) {
  refuse_each_allocation(whole_life, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradient_through_a_custom_op_is_that_of_the_op_it_copies),
      cmocka_unit_test(tangents_through_a_custom_op_are_its_gradient_times_the_direction),
      cmocka_unit_test(derivatives_that_can_not_be_are_one_clear_line),
      cmocka_unit_test(attention_backwards_keeps_few_scores),
      cmocka_unit_test(every_failed_allocation_of_a_gradient_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
