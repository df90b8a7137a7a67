/* The gradients of flash_attention, by the kernel of the CPU, against central differences of its loss in f64: each
 * element of small shapes over all options, lengths of 0 and 1 and extents of 1 among them, and of larger ones, which
 * take several tiles and parts, along random directions. Narrower types against f64 on the same numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "tests/support/attention_case.h"

typedef struct rig {
  tsr_context *ctx;
  tsr_device *dev;
} rig;

static void open_rig(rig *r) {
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &r->ctx));
  OK(tsr_device_open(r->ctx, "cpu:0", &r->dev));
}

static void close_rig(rig *r) {
  tsr_device_close(&r->dev);
  tsr_context_destroy(&r->ctx);
}

typedef struct results {
  void *out[ATTENTION_INPUTS];
  size_t bytes[ATTENTION_INPUTS];
} results;

static void free_all(void **p, int n) {
  for (int i = 0; i < n; i++) free(p[i]);
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

/* Operand x of gradient i: q, k, v, and behind the weights of the loss the bias. */
static int operand_of(int i) { return i < 3 ? i : 4; }

static double loss(const rig *r, const attention_gradient *g, void *const *in) {
  results y;
  attention_run(r->dev, g, in, y.out, y.bytes);
  const double v = *(const double *)y.out[0];
  free_all(y.out, g->n_out);
  return v;
}

/* The slope of the loss along a direction: an error of some h^2 from the third derivative, 2^-52 / h of the loss. */
static double slope(const rig *r, const attention_gradient *g, void *const *in, int operand, const double *along,
                    size_t n) {
  const double h = 1e-5;
  double y[2];
  double *x = in[operand], *kept = malloc(n * sizeof *kept + 1);
  memcpy(kept, x, n * sizeof *x);
  for (int s = 0; s < 2; s++) {
    for (size_t i = 0; i < n; i++) x[i] = kept[i] + (s ? -h : h) * along[i];
    y[s] = loss(r, g, in);
  }
  memcpy(x, kept, n * sizeof *x);
  free(kept);
  return (y[0] - y[1]) / (2 * h);
}

/* Each element where there are few, else random directions. */
static void check(const rig *r, const attention_case *c, const char *name) {
  enum { FEW = 400, DIRECTIONS = 4 };
  attention_gradient g;
  results have;
  void *in[ATTENTION_INPUTS];
  attention_compile(r->ctx, r->dev, c, ATTENTION_KERNEL, &g);
  assert_true(attention_says(r->ctx, g.p, "kernel flash_attention_backward") == (c->k && c->v));
  attention_fill(c, &g, in);
  attention_run(r->dev, &g, in, have.out, have.bytes);
  for (int i = 1; i < g.n_out; i++) {
    const int operand = operand_of(i - 1);
    const size_t n = attention_count(g.in[operand]), tries = n <= FEW ? n : DIRECTIONS;
    const double *grad = have.out[i];
    double *along = calloc(n + 1, sizeof *along);
    unsigned seed = (unsigned)i;
    assert_int_equal(have.bytes[i], n * sizeof *grad);
    for (size_t t = 0; t < tries; t++) {
      double got = 0;
      for (size_t e = 0; e < n; e++) {
        along[e] = n <= FEW ? e == t : attention_next(&seed) % 2 ? 1 : -1;
        got += along[e] * grad[e];
      }
      const double want = slope(r, &g, in, operand, along, n);
      if (!(fabs(got - want) <= 1e-6 * (1 + fabs(want))))
        fail_msg("%s: gradient %d, try %zu: %.12g, difference %.12g", name, i, t, got, want);
    }
    free(along);
  }
  free_all(have.out, g.n_out);
  free_all(in, g.n_in);
  tsr_program_destroy(&g.p);
}

typedef struct named {
  const char *name;
  attention_case c;
} named;

static void gradients_are_slopes_of_the_loss(void **state) {
  static const named cases[] = {
      {"plain", {TSR_F64, 1, 2, 2, 5, 7, 3, 3}},
      {"causal", {TSR_F64, 1, 2, 2, 7, 7, 3, 3, .causal = true}},
      {"causal, more keys", {TSR_F64, 2, 1, 1, 3, 8, 3, 3, .causal = true}},
      {"causal, queries that see nothing", {TSR_F64, 1, 2, 2, 8, 3, 3, 3, .causal = true}},
      {"a window", {TSR_F64, 1, 1, 1, 9, 9, 3, 2, .window = 3}},
      {"a causal window", {TSR_F64, 1, 1, 1, 9, 11, 3, 2, .window = 4, .causal = true}},
      {"a window of one, more queries", {TSR_F64, 1, 2, 1, 9, 4, 2, 2, .window = 1}},
      {"a cap", {TSR_F64, 1, 2, 2, 6, 5, 4, 4, .softcap = 0.7, .scale = 2}},
      {"a cap, causal", {TSR_F64, 1, 2, 2, 6, 6, 4, 4, .softcap = 0.5, .causal = true}},
      {"a bias", {TSR_F64, 1, 2, 2, 6, 5, 4, 4, .bias = true}},
      {"a bias, a cap, a window", {TSR_F64, 1, 2, 2, 6, 8, 4, 4, .bias = true, .softcap = 1.5, .window = 3}},
      {"a mask", {TSR_F64, 1, 2, 2, 6, 5, 4, 4, .mask = true}},
      {"a mask that hides rows", {TSR_F64, 1, 2, 2, 40, 1, 2, 2, .mask = true}},
      {"heads that share keys", {TSR_F64, 1, 6, 2, 4, 5, 3, 3}},
      {"heads that share keys, causal, a mask", {TSR_F64, 1, 4, 1, 5, 6, 3, 3, .causal = true, .mask = true}},
      {"lengths", {TSR_F64, 9, 2, 1, 3, 5, 2, 2, .lengths = true}},
      {"lengths, causal", {TSR_F64, 9, 2, 1, 3, 5, 2, 2, .lengths = true, .causal = true}},
      {"lengths 0 and 1", {TSR_F64, 12, 1, 1, 2, 1, 2, 2, .lengths = true, .causal = true}},
      {"narrower values", {TSR_F64, 1, 2, 2, 5, 6, 7, 1}},
      {"wider values", {TSR_F64, 1, 4, 2, 5, 6, 1, 7, .causal = true}},
      {"a negative scale", {TSR_F64, 1, 2, 2, 5, 6, 3, 3, .scale = -1.5}},
      {"one query", {TSR_F64, 1, 2, 2, 1, 6, 3, 3, .causal = true}},
      {"one key", {TSR_F64, 1, 2, 2, 6, 1, 3, 3}},
      {"one of all", {TSR_F64, 1, 1, 1, 1, 1, 1, 1, .causal = true}},
      {"queries without width, a bias", {TSR_F64, 1, 2, 1, 4, 5, 0, 3, .bias = true}},
      {"values without width", {TSR_F64, 1, 2, 2, 4, 5, 3, 0}},
  };
  rig r;
  open_rig(&r);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&r, &cases[i].c, cases[i].name);
  close_rig(&r);
}

static void gradients_of_several_tiles_are_slopes_of_the_loss(void **state) {
  static const named cases[] = {
      {"plain", {TSR_F64, 1, 2, 2, 150, 290, 8, 6}},
      {"causal", {TSR_F64, 1, 2, 1, 300, 300, 8, 8, .causal = true}},
      {"causal, more queries", {TSR_F64, 1, 2, 2, 290, 130, 8, 8, .causal = true, .softcap = 2}},
      {"a window", {TSR_F64, 1, 2, 2, 280, 280, 8, 8, .window = 40}},
      {"a bias", {TSR_F64, 1, 4, 2, 140, 270, 8, 8, .bias = true, .causal = true}},
      {"lengths, a mask", {TSR_F64, 5, 4, 2, 140, 270, 4, 4, .lengths = true, .mask = true}},
  };
  rig r;
  open_rig(&r);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&r, &cases[i].c, cases[i].name);
  close_rig(&r);
}

/* ---- narrower types ---------------------------------------------------------------------------------------------- */

/* Weights, the gradients of scores, and the result that the shift is made of have one rounding each; sums over keys or
 * queries make these no larger against the largest gradient than 16 of them. */
static void check_narrow(const rig *r, attention_case c, const char *name) {
  attention_gradient g, exact;
  results have, want;
  void *in[ATTENTION_INPUTS], *wide[ATTENTION_INPUTS];
  const tsr_dtype t = c.t;
  attention_compile(r->ctx, r->dev, &c, ATTENTION_KERNEL, &g);
  attention_fill(&c, &g, in);
  c.t = TSR_F64;
  attention_compile(r->ctx, r->dev, &c, ATTENTION_KERNEL, &exact);
  attention_fill(&c, &exact, wide);
  for (int i = 0; i < g.n_in; i++)
    for (size_t e = 0; g.types[i] == t && e < attention_count(g.in[i]); e++)
      ((double *)wide[i])[e] = dtype_load(t, in[i], e);
  attention_run(r->dev, &g, in, have.out, have.bytes);
  attention_run(r->dev, &exact, wide, want.out, want.bytes);
  for (int i = 1; i < g.n_out; i++) {
    const double *w = want.out[i];
    const size_t n = want.bytes[i] / sizeof *w;
    const double within = 16 * (attention_rounding(t) + c.bias_near * attention_rounding(TSR_F32)); /* scores' own */
    double largest = 0;
    for (size_t e = 0; e < n; e++) largest = fmax(largest, fabs(w[e]));
    for (size_t e = 0; e < n; e++)
      if (!(fabs(dtype_load(t, have.out[i], e) - w[e]) <= within * largest))
        fail_msg("%s of %s: gradient %d, number %zu: %.9g, in f64 %.9g, the largest %.9g", name, tsr_dtype_name(t), i,
                 e, dtype_load(t, have.out[i], e), w[e], largest);
    assert_true(largest > 0);
  }
  free_all(have.out, g.n_out);
  free_all(want.out, g.n_out);
  free_all(in, g.n_in);
  free_all(wide, g.n_in);
  tsr_program_destroy(&g.p);
  tsr_program_destroy(&exact.p);
}

static void gradients_of_narrow_types_are_those_of_f64(void **state) {
  static const named cases[] = {
      {"plain", {0, 1, 2, 2, 40, 70, 16, 16}},
      {"causal", {0, 1, 2, 2, 200, 200, 32, 32, .causal = true}},
      {"a window", {0, 1, 2, 1, 150, 170, 16, 8, .window = 30}},
      {"a cap", {0, 1, 2, 2, 50, 60, 8, 24, .softcap = 1.5, .scale = 1}},
      {"a bias", {0, 1, 2, 2, 50, 60, 8, 8, .bias = true, .causal = true}},
      {"a large bias of keys", {0, 1, 2, 2, 200, 200, 32, 32, .bias = true, .bias_of_keys = true, .bias_near = 100}},
      {"a mask", {0, 1, 2, 2, 50, 60, 8, 8, .mask = true}},
      {"lengths", {0, 7, 4, 2, 20, 30, 8, 8, .lengths = true, .causal = true}},
      {"one query", {0, 2, 2, 2, 1, 33, 8, 8}},
      {"up to two keys", {0, 8, 1, 1, 3, 2, 8, 8, .lengths = true}},
      {"heads of 64", {0, 1, 4, 2, 140, 140, 64, 64, .causal = true}},
  };
  static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16};
  rig r;
  open_rig(&r);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
      attention_case c = cases[i].c;
      c.t = types[k];
      check_narrow(&r, c, cases[i].name);
    }
  close_rig(&r);
}

/* ---- nothing ----------------------------------------------------------------------------------------------------- */

static void gradients_of_nothing_are_zeros(void **state) {
  static const named cases[] = {
      {"no queries", {TSR_F64, 2, 2, 1, 0, 5, 3, 3, .causal = true}},
      {"no keys", {TSR_F64, 2, 2, 1, 5, 0, 3, 3, .causal = true}},
      {"no batch", {TSR_F64, 0, 2, 1, 5, 5, 3, 3}},
  };
  rig r;
  open_rig(&r);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    attention_gradient g;
    results have;
    void *in[ATTENTION_INPUTS];
    attention_compile(r.ctx, r.dev, &cases[i].c, ATTENTION_KERNEL, &g);
    attention_fill(&cases[i].c, &g, in);
    attention_run(r.dev, &g, in, have.out, have.bytes);
    for (int k = 1; k < g.n_out; k++)
      for (size_t e = 0; e < have.bytes[k] / sizeof(double); e++)
        if (((double *)have.out[k])[e] != 0)
          fail_msg("%s: gradient %d, number %zu: %g", cases[i].name, k, e, ((double *)have.out[k])[e]);
    free_all(have.out, g.n_out);
    free_all(in, g.n_in);
    tsr_program_destroy(&g.p);
  }
  close_rig(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_are_slopes_of_the_loss),
      cmocka_unit_test(gradients_of_several_tiles_are_slopes_of_the_loss),
      cmocka_unit_test(gradients_of_narrow_types_are_those_of_f64),
      cmocka_unit_test(gradients_of_nothing_are_zeros),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
