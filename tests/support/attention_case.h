/* tests/support/attention_case.h - an attention, the program of its loss and gradients, and numbers to run it on.
 * Include after cmocka.h. */
#ifndef TESTS_SUPPORT_ATTENTION_CASE_H
#define TESTS_SUPPORT_ATTENTION_CASE_H
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/support/api_check.h"

enum { ATTENTION_INPUTS = 6, ATTENTION_KERNEL = 0, ATTENTION_OTHER_OPS = 1 }; /* the latter: how gradients are found */

typedef struct attention_case {
  tsr_dtype t;
  int64_t batch, heads, kv_heads, m, n, k, v;
  bool causal, lengths, mask, bias; /* bias: added, with a gradient of its own */
  bool bias_of_keys;                /* one for all queries, without a gradient; bias must be set too */
  double bias_near;                 /* what a bias's numbers lie around */
  int64_t window;
  double softcap, scale;
  tsr_precision mode;
} attention_case;

typedef struct attention_gradient {
  tsr_program *p;
  int n_in, n_out;
  tsr_shape in[ATTENTION_INPUTS];
  tsr_dtype types[ATTENTION_INPUTS];
} attention_gradient;

static inline tsr_value attention_input(tsr_graph *g, attention_gradient *out, tsr_dtype t, tsr_shape s) {
  tsr_value v;
  OK(tsr_graph_input(g, NULL, t, s, &v));
  out->in[out->n_in] = s;
  out->types[out->n_in++] = t;
  return v;
}

/* Of sum(w y), and of sum(lse) where queries see all keys, with respect to q, k, v and a bias. */
static inline tsr_graph *attention_loss(tsr_context *ctx, const attention_case *c, attention_gradient *out) {
  const tsr_attr a[4] = {TSR_BOOLEAN("causal", c->causal), TSR_INT("window", c->window),
                         TSR_FLOAT("softcap", c->softcap), TSR_FLOAT("scale", c->scale)};
  tsr_graph *g, *grad;
  tsr_value x[5], y[2], w, wrt[4], s;
  int n = 3, n_wrt = 3;
  OK(tsr_graph_create(ctx, "main", &g));
  *out = (attention_gradient){0};
  x[0] = attention_input(g, out, c->t, (tsr_shape){4, {c->batch, c->heads, c->m, c->k}});
  x[1] = attention_input(g, out, c->t, (tsr_shape){4, {c->batch, c->kv_heads, c->n, c->k}});
  x[2] = attention_input(g, out, c->t, (tsr_shape){4, {c->batch, c->kv_heads, c->n, c->v}});
  w = attention_input(g, out, c->t, (tsr_shape){4, {c->batch, c->heads, c->m, c->v}});
  if (c->mask || c->bias)
    x[n++] = attention_input(g, out, c->mask ? TSR_BOOL : c->t,
                             (tsr_shape){3, {c->heads, c->bias_of_keys ? 1 : c->m, c->n}});
  if (c->bias && !c->bias_of_keys) wrt[n_wrt++] = x[3];
  if (c->lengths) x[n++] = attention_input(g, out, TSR_I32, (tsr_shape){1, {c->batch}});
  OK(tsr_graph_op_results(g, "flash_attention", x, n, a, c->scale ? 4 : 3, y, 2));
  OK(tsr_graph_op(g, "mul", (tsr_value[]){y[0], w}, 2, NULL, 0, &s));
  OK(tsr_graph_op(g, "reduce_sum", &s, 1, NULL, 0, &s));
  if (!c->lengths && !c->mask && !c->causal && !c->window) {
    OK(tsr_graph_op(g, "reduce_sum", &y[1], 1, NULL, 0, &y[1]));
    OK(tsr_graph_op(g, "cast", &y[1], 1, &(tsr_attr)TSR_STRING("dtype", tsr_dtype_name(c->t)), 1, &y[1]));
    OK(tsr_graph_op(g, "add", (tsr_value[]){s, y[1]}, 2, NULL, 0, &s));
  }
  OK(tsr_graph_output(g, s));
  memcpy(wrt, x, sizeof *x * 3);
  OK(tsr_graph_grad(g, wrt, n_wrt, &grad));
  out->n_out = 1 + n_wrt;
  tsr_graph_destroy(&g);
  return grad;
}

static inline void attention_compile(tsr_context *ctx, tsr_device *dev, const attention_case *c, int how,
                                     attention_gradient *out) {
  tsr_graph *g = attention_loss(ctx, c, out);
  const tsr_compile_options o = {.disable = how == ATTENTION_KERNEL ? NULL : "flash_attention_backward",
                                 .tune = TSR_TUNE_OFF,
                                 .precision = c->mode};
  OK(tsr_program_compile(dev, g, &o, &out->p));
  tsr_graph_destroy(&g);
}

static inline size_t attention_count(tsr_shape s) {
  size_t n = 1;
  for (int i = 0; i < s.rank; i++) n *= (size_t)s.dims[i];
  return n;
}

static inline unsigned attention_next(unsigned *seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 8; }

/* Numbers from -1 to 1; lengths from one too few to one too many; a mask of three in four. To be freed. */
static inline void attention_fill(const attention_case *c, const attention_gradient *g, void **in) {
  for (int k = 0; k < g->n_in; k++) {
    const size_t n = attention_count(g->in[k]);
    unsigned seed = (unsigned)k + 3;
    in[k] = malloc(n * tsr_dtype_size(g->types[k]) + 1);
    for (size_t i = 0; i < n; i++) {
      const unsigned r = attention_next(&seed);
      if (g->types[k] == TSR_I32) ((int32_t *)in[k])[i] = (int32_t)(r % (unsigned)(c->n + 3)) - 1;
      else if (g->types[k] == TSR_BOOL) ((unsigned char *)in[k])[i] = r % 4 != 0;
      else dtype_store(g->types[k], in[k], i, (double)r / 8388608.0 - 1 + (k == 4 ? c->bias_near : 0));
    }
  }
}

/* Runs it; out[i]: result i, bytes[i] long, to be freed. */
static inline void attention_run(tsr_device *dev, const attention_gradient *g, void *const *data, void **out,
                                 size_t *bytes) {
  tsr_binding in[ATTENTION_INPUTS] = {{0}}, results[ATTENTION_INPUTS] = {{0}};
  for (int i = 0; i < g->n_in; i++) {
    const size_t size = attention_count(g->in[i]) * tsr_dtype_size(g->types[i]);
    OK(tsr_buffer_create(dev, size, TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, data[i], size));
  }
  for (int i = 0; i < g->n_out; i++)
    OK(tsr_buffer_create(dev, tsr_program_output(g->p, i).bytes, TSR_MEMORY_DEVICE, &results[i].buffer));
  OK(tsr_program_run(g->p, NULL, in, results));
  for (int i = 0; i < g->n_out; i++) {
    bytes[i] = tsr_program_output(g->p, i).bytes;
    out[i] = malloc(bytes[i] + 1);
    OK(tsr_buffer_read(results[i].buffer, 0, out[i], bytes[i]));
  }
  for (int i = 0; i < ATTENTION_INPUTS; i++) tsr_buffer_destroy(&in[i].buffer), tsr_buffer_destroy(&results[i].buffer);
}

static inline bool attention_says(tsr_context *ctx, tsr_program *p, const char *text) {
  char *told;
  OK(tsr_program_explain(p, &told));
  const bool found = strstr(told, text) != NULL;
  tsr_text_free(ctx, &told);
  return found;
}

/* Half of the distance of numbers near 1. */
static inline double attention_rounding(tsr_dtype t) {
  return t == TSR_F64 ? 0x1p-53 : t == TSR_F32 ? 0x1p-24 : t == TSR_F16 ? 0x1p-11 : 0x1p-9;
}
#endif
