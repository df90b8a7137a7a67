/* tests/support/random_build.h - what the files of random graphs share: a graph under construction with a description
 * of itself, and shapes to draw. The first failure is kept; what follows it does nothing. */
#ifndef TESTS_SUPPORT_RANDOM_BUILD_H
#define TESTS_SUPPORT_RANDOM_BUILD_H
#include <stdarg.h>
#include <stdio.h>

#include "tests/conformance/random_graph.h"

/* 1, primes, multiples of tiles and their neighbours, now and then 0. */
static inline int64_t extent(rng *r) {
  static const int64_t awkward[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33, 47, 61, 64, 65, 96, 127, 128, 129, 131};
  if (rng_range(r, 0, 60) == 0) return 0;
  return awkward[rng_range(r, 0, (int64_t)(sizeof awkward / sizeof *awkward) - 1)];
}

typedef struct build {
  tsr_context *ctx;
  tsr_graph *g;
  rng *r;
  char *what;
  size_t left;
  tsr_status st; /* sticky */
  int n_inputs;
} build;

static inline void say(build *b, const char *fmt, ...) TSR_PRINTF(2, 3);

static inline void say(build *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(b->what, b->left, fmt, ap);
  va_end(ap);
  if (n > 0 && (size_t)n < b->left) {
    b->what += n;
    b->left -= (size_t)n;
  }
}

static inline void say_shape(build *b, const tsr_shape *s) {
  say(b, "[");
  for (int i = 0; i < s->rank; i++) say(b, i ? "x%lld" : "%lld", (long long)s->dims[i]);
  say(b, "]");
}

static inline tsr_value input(build *b, tsr_dtype t, tsr_shape s) {
  char name[16];
  tsr_value v = 0;
  snprintf(name, sizeof name, "a%d", b->n_inputs++);
  if (!b->st) b->st = tsr_graph_input(b->g, name, t, s, &v);
  say(b, " %s", tsr_dtype_name(t));
  say_shape(b, &s);
  return v;
}

static inline tsr_value op(build *b, const char *name, int n, const tsr_value *v, int n_attrs, const tsr_attr *a) {
  tsr_value out = 0;
  if (!b->st) b->st = tsr_graph_op(b->g, name, v, n, a, n_attrs, &out);
  say(b, " %s", name);
  return out;
}

static inline tsr_value op1(build *b, const char *name, tsr_value x) { return op(b, name, 1, &x, 0, NULL); }
static inline tsr_value op2(build *b, const char *name, tsr_value x, tsr_value y) {
  tsr_value v[2] = {x, y};
  return op(b, name, 2, v, 0, NULL);
}

static inline void output(build *b, tsr_value v) {
  if (!b->st) b->st = tsr_graph_output(b->g, v);
}

static inline tsr_shape shape_of(const build *b, tsr_value v) {
  tsr_dtype t;
  tsr_shape s = {0};
  if (!b->st) tsr_status_free(tsr_graph_type(b->g, v, &t, &s));
  return s;
}

static inline tsr_dtype float_type(rng *r) {
  static const tsr_dtype t[] = {TSR_F32, TSR_F32, TSR_F32, TSR_F16, TSR_BF16, TSR_F64};
  return t[rng_range(r, 0, 5)];
}

static inline tsr_dtype integer_type(rng *r) {
  static const tsr_dtype t[] = {TSR_I8, TSR_U8, TSR_I16, TSR_I32, TSR_I64, TSR_U16, TSR_U32, TSR_U64};
  return t[rng_range(r, 0, 7)];
}

static inline tsr_shape random_shape(rng *r, int rank, int64_t most) {
  tsr_shape s = {.rank = rank};
  int64_t n = 1;
  for (int i = rank - 1; i >= 0; i--) {
    s.dims[i] = extent(r);
    while (s.dims[i] > 1 && n * s.dims[i] > most) s.dims[i] = (s.dims[i] + 1) / 2;
    n *= s.dims[i] ? s.dims[i] : 1;
  }
  return s;
}

/* A shape that broadcasts to s. */
static inline tsr_shape narrower(rng *r, tsr_shape s) {
  int drop = (int)rng_range(r, 0, s.rank ? s.rank - 1 : 0);
  tsr_shape t = {.rank = s.rank - drop};
  for (int i = 0; i < t.rank; i++) t.dims[i] = rng_range(r, 0, 3) ? s.dims[i + drop] : 1;
  return t;
}

/* The families of random_indexed.c and random_spectral.c, and those of random_composed.c. */
void random_indexed(build *b);
void random_spectral(build *b);
void random_composed(build *b);
void random_attention(build *b);
void random_linalg(build *b);
void random_ordered(build *b);
void random_recurrent(build *b);
void random_convolution(build *b);
void random_control(build *b);
void random_normed(build *b);
/* That of random_training.c. */
void random_training(build *b);
#endif
