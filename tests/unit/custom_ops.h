/* tests/unit/custom_ops.h - two custom ops through the public interface, my.swish and my.rowdot, with a graph that has
 * three of them between fused ops, and its data. */
#ifndef TESTS_UNIT_CUSTOM_OPS_H
#define TESTS_UNIT_CUSTOM_OPS_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/api_check.h"

#define FAILS(code, says, e)                                          \
  do {                                                                \
    tsr_status f_ = (e);                                              \
    assert_int_equal(tsr_status_code(f_), code);                      \
    if (!strstr(tsr_status_message(f_), says)) fail_msg("\"%s\" does not say \"%s\"", tsr_status_message(f_), says); \
    assert_null(strchr(tsr_status_message(f_), '\n'));                \
    tsr_status_free(f_);                                              \
  } while (0)

/* ---- the ops: my.swish(x) = x / (1 + exp(-beta x)); my.rowdot(x, y)[i] = sum over j of x[i][j] y[i][j] ----------- */

typedef struct counts { long calls, rows, fail_from; } counts;

static inline bool swish_infer(void *user, const tsr_custom_call *c, char *why, size_t n) {
  if (c->operands[0].dtype != TSR_F32)
    return snprintf(why, n, "swish takes f32, not %s", tsr_dtype_name(c->operands[0].dtype)), false;
  for (int i = 0; i < c->n_attrs; i++) {
    const tsr_attr *a = &c->attrs[i];
    if (strcmp(a->name, "bounds")) continue;
    if (a->kind != TSR_ATTR_FLOATS || a->n_floats != 2 || a->floats[0] != -0.5 || a->floats[1] != 3)
      return snprintf(why, n, "bounds are no list of -0.5 and 3"), false;
  }
  c->result->dtype = TSR_F32;
  c->result->shape = c->operands[0].shape;
  return true;
}

static inline bool swish_cpu(void *user, const tsr_custom_call *c, int64_t first, int64_t last, char *why, size_t n) {
  counts *k = user;
  double beta = 1;
  for (int i = 0; i < c->n_attrs; i++)
    if (!strcmp(c->attrs[i].name, "beta")) beta = c->attrs[i].f;
  int64_t row = 1;
  for (int i = 1; i < c->result->shape.rank; i++) row *= c->result->shape.dims[i];
  const float *x = c->operands[0].data;
  float *y = c->result->data;
  if (k) {
    __atomic_add_fetch(&k->calls, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&k->rows, last - first, __ATOMIC_RELAXED);
    if (last > k->fail_from) return snprintf(why, n, "the kernel doesn't like row %ld", k->fail_from), false;
  }
  for (int64_t i = first * row; i < last * row; i++) y[i] = (float)((double)x[i] / (1 + exp(-beta * (double)x[i])));
  return true;
}

static inline bool rowdot_infer(void *user, const tsr_custom_call *c, char *why, size_t n) {
  const tsr_shape *a = &c->operands[0].shape, *b = &c->operands[1].shape;
  if (a->rank != 2 || b->rank != 2 || a->dims[0] != b->dims[0] || a->dims[1] != b->dims[1]) return false;
  c->result->dtype = TSR_F32;
  c->result->shape = (tsr_shape){.rank = 1, .dims = {a->dims[0]}};
  return true;
}

static inline bool rowdot_cpu(void *user, const tsr_custom_call *c, int64_t first, int64_t last, char *why, size_t n) {
  int64_t cols = c->operands[0].shape.dims[1];
  const float *a = c->operands[0].data, *b = c->operands[1].data;
  for (int64_t i = first; i < last; i++) {
    double sum = 0;
    for (int64_t j = 0; j < cols; j++) sum += (double)a[i * cols + j] * (double)b[i * cols + j];
    ((float *)c->result->data)[i] = (float)sum;
  }
  return true;
}

/* my.swish as Tile IR for every backend, without beta: one block per row. */
static inline size_t swish_source(void *user, const char *backend, const tsr_custom_call *c, char *text, size_t bytes) {
  long long m = (long long)c->result->shape.dims[0], n = (long long)c->result->shape.dims[1];
  return (size_t)snprintf(text, bytes,
                          "\"tessera.tile.kernel\"() ({\n^bb0(%%x: !tessera.view<%lldx%lldxf32>, %%y: !tessera.view<%lldx%lldxf32>):\n"
                          "%%i = \"tessera.tile.block_id\"() {axis = 0}\n%%z = \"tessera.tile.const\"() {value = 0}\n"
                          "%%wx = \"tessera.tile.window\"(%%x, %%i, %%z) {sizes = [1, %lld]}\n%%wy = \"tessera.tile.window\"(%%y, %%i, %%z) {sizes = [1, %lld]}\n"
                          "%%v = \"tessera.tile.load\"(%%wx)\n%%r = \"tessera.tile.map\"(%%v) ({\n^bb0(%%p: f32):\n%%s = \"tessera.tile.sigmoid\"(%%p)\n"
                          "%%q = \"tessera.tile.mul\"(%%p, %%s)\n\"tessera.tile.yield\"(%%q)\n})\n\"tessera.tile.store\"(%%r, %%wy)\n\"tessera.tile.return\"()\n"
                          "}) {sym_name = \"swish\", grid = [%lld, 1, 1], outputs = 1}\n",
                          m, n, m, n, n, n, m);
}

static inline tsr_status register_ops(tsr_context *ctx, counts *k, bool with_source) {
  tsr_custom_op swish = {.name = "my.swish",
                         .n_operands = 1,
                         .infer = swish_infer,
                         .cpu = swish_cpu,
                         .source = with_source ? swish_source : NULL,
                         .user = k};
  tsr_custom_op rowdot = {.name = "my.rowdot", .n_operands = 2, .infer = rowdot_infer, .cpu = rowdot_cpu};
  tsr_status st = tsr_custom_op_register(ctx, &swish);
  return st ? st : tsr_custom_op_register(ctx, &rowdot);
}

/* ---- a graph with three of them between fused ops ---------------------------------------------------------------- */

enum { M = 300, K = 70, N = 90 };

/* s = swish(relu(A B), beta 1.5); t = sum over rows of transpose(swish(transpose(B))); results: rowdot(s, s) * 2 and
 * softmax(s + t). */
static inline tsr_status build(tsr_context *ctx, tsr_graph **g) {
  tsr_value a, b, v, w, p[2], t;
  tsr_attr beta[2] = {TSR_FLOAT("beta", 1.5), TSR_FLOATS("bounds", ((const double[]){-0.5, 3}), 2)};
  tsr_attr perm = TSR_INTS("perm", ((const int64_t[]){1, 0}), 2),
           axes = TSR_INTS("axes", ((const int64_t[]){0}), 1);
  tsr_status st = tsr_graph_create(ctx, "main", g);
  if (!st) st = tsr_graph_input(*g, "A", TSR_F32, (tsr_shape){2, {M, K}}, &a);
  if (!st) st = tsr_graph_input(*g, "B", TSR_F32, (tsr_shape){2, {K, N}}, &b);
  if (!st) st = tsr_graph_op(*g, "matmul", (tsr_value[]){a, b}, 2, NULL, 0, &v);
  if (!st) st = tsr_graph_op(*g, "relu", &v, 1, NULL, 0, &v);
  if (!st) st = tsr_graph_op(*g, "my.swish", &v, 1, beta, 2, &v);
  if (!st) st = tsr_graph_op(*g, "my.rowdot", (tsr_value[]){v, v}, 2, NULL, 0, &w);
  if (!st) st = tsr_graph_op(*g, "add", (tsr_value[]){w, w}, 2, NULL, 0, &w);
  if (!st) st = tsr_graph_output(*g, w);
  if (!st) st = tsr_graph_op(*g, "transpose", &b, 1, &perm, 1, &t);
  if (!st) st = tsr_graph_op(*g, "my.swish", &t, 1, NULL, 0, &t);
  if (!st) st = tsr_graph_op(*g, "transpose", &t, 1, &perm, 1, &t);
  if (!st) st = tsr_graph_op(*g, "reduce_sum", &t, 1, &axes, 1, &t);
  p[0] = v, p[1] = t;
  if (!st) st = tsr_graph_op(*g, "add", p, 2, NULL, 0, &v);
  if (!st) st = tsr_graph_op(*g, "softmax", &v, 1, NULL, 0, &v);
  return st ? st : tsr_graph_output(*g, v);
}

typedef struct data {
  float a[M * K], b[K * N], dot[M], soft[M * N];
  double want_dot[M], want_soft[M * N], tol_dot[M], tol_soft[M * N];
} data;

static inline void fill(data *d) {
  for (int i = 0; i < M * K; i++) d->a[i] = (float)((i * 7919 % 2001 - 1000) / 1500.0);
  for (int i = 0; i < K * N; i++) d->b[i] = (float)((i * 104729 % 2001 - 1000) / 1500.0);
}

static inline void quiet(void *user, tsr_log_level level, const char *text) {
  if (level == TSR_LOG_WARN && strstr(text, "my.")) ++*(int *)user;
}

static inline tsr_context *open_context(int *warnings) {
  tsr_context *ctx;
  tsr_context_desc desc = {.cache_dir = "", .log = quiet, .log_user = warnings};
  OK(tsr_context_create(&desc, &ctx));
  return ctx;
}

#endif
