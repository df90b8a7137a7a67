/* How the public calls grow with a graph: chains of 100,000 ops are built, printed, parsed, differentiated, specialized
 * and compiled on a small stack, and three times the ops take three times the memory and the allocations, counted and
 * not timed (a square would be nine times, and would not end). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/support/api_check.h"

enum { MANY = TSR_TEST_SLOW ? 24000 : 100000, FEW = TSR_TEST_SLOW ? 9000 : 24000, STACK = 2 << 20 };

typedef struct counts {
  size_t bytes, calls, live, peak;
} counts;

static void *counted_alloc(void *user, size_t size, size_t align) {
  counts *c = user;
  c->bytes += size;
  c->calls++;
  c->live += size;
  if (c->live > c->peak) c->peak = c->live;
  return al_default.alloc(NULL, size, align);
}

static void counted_free(void *user, void *p, size_t size, size_t align) {
  if (p) ((counts *)user)->live -= size;
  al_default.free(NULL, p, size, align);
}

/* ---- chains ----------------------------------------------------------------------------------------------------- */

typedef enum kind { ELEMENTWISE, PRODUCTS, N_KINDS } kind;
static const char *const names[N_KINDS] = {"elementwise", "products and softmaxes"};

/* Of n ops that end in one number; all have a derivative. */
static tsr_graph *chain(tsr_context *ctx, kind k, int n) {
  static const char *const ops[] = {"sin", "add", "tanh", "mul"};
  tsr_graph *g;
  tsr_value a, v[2];
  OK(tsr_graph_create(ctx, "main", &g));
  OK(tsr_graph_input(g, "A", TSR_F32, (tsr_shape){2, {4, 4}}, &a));
  v[0] = a;
  for (int i = 0; i < n - 1; i++) {
    v[1] = a;
    const char *op = k == ELEMENTWISE ? ops[i % 4] : i % 2 ? "softmax" : "matmul";
    OK(tsr_graph_op(g, op, v, i % 2 == (k == ELEMENTWISE) ? 2 : 1, NULL, 0, &v[0]));
  }
  OK(tsr_graph_op(g, "reduce_sum", v, 1, NULL, 0, &v[0]));
  OK(tsr_graph_output(g, v[0]));
  return g;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

enum { BUILD, PRINT, PARSE, GRAD, PRINT_GRAD, SPECIALIZE, COMPILE, COMPILE_GRAD, N_STEPS };
static const char *const steps[N_STEPS] = {
    "build", "print", "parse", "grad", "print the gradient", "specialize", "compile", "compile the gradient"};

typedef struct life {
  kind k;
  int n;
  bool whole; /* the gradient is compiled too */
  const char *device;
  counts now, step[N_STEPS];
} life;

static void mark(life *l, int step) {
  l->step[step] = l->now;
  l->now.bytes = l->now.calls = 0;
  l->now.peak = l->now.live;
}

static void *live(void *user) {
  life *l = user;
  const tsr_allocator al = {counted_alloc, counted_free, &l->now};
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_graph *again, *grad;
  tsr_value a = 1;
  char *text, *same;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .allocator = &al}, &ctx));
  OK(tsr_device_open(ctx, l->device, &dev));
  mark(l, BUILD);
  tsr_graph *g = chain(ctx, l->k, l->n);
  mark(l, BUILD);
  OK(tsr_graph_print(g, &text));
  mark(l, PRINT);
  OK(tsr_graph_parse(ctx, text, strlen(text), "chain", &again));
  mark(l, PARSE);
  OK(tsr_graph_print(again, &same));
  assert_true(!strcmp(text, same));
  tsr_text_free(ctx, &same);
  tsr_text_free(ctx, &text);
  tsr_graph_destroy(&again);
  mark(l, GRAD);
  OK(tsr_graph_grad(g, &a, 1, &grad));
  mark(l, GRAD);
  OK(tsr_graph_print(grad, &text));
  mark(l, PRINT_GRAD);
  tsr_text_free(ctx, &text);
  mark(l, COMPILE_GRAD);
  if (l->whole) OK(tsr_program_compile(dev, grad, NULL, &p));
  mark(l, COMPILE_GRAD);
  if (l->whole) tsr_program_destroy(&p);
  tsr_graph_destroy(&grad);
  mark(l, SPECIALIZE);
  OK(tsr_graph_specialize(g, &(tsr_shape){2, {4, 4}}, 1, &again));
  mark(l, SPECIALIZE);
  tsr_graph_destroy(&again);
  mark(l, COMPILE);
  OK(tsr_program_compile(dev, g, NULL, &p));
  mark(l, COMPILE);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  assert_int_equal(l->now.live, 0);
  return NULL;
}

/* Depth is no recursion's: a stack that 100,000 frames don't fit. */
static life lived(kind k, int n, const char *device, bool whole) {
  life l = {.k = k, .n = n, .device = device, .whole = whole};
  pthread_attr_t attr;
  pthread_t thread;
  assert_int_equal(pthread_attr_init(&attr), 0);
  assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
  assert_int_equal(pthread_create(&thread, &attr, live, &l), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
  return l;
}

static void check(kind k, const char *device, int n, bool whole) {
  const life one = lived(k, n / 3, device, whole), three = lived(k, n, device, whole);
  for (int i = 0; i < N_STEPS; i++) {
    const counts *a = &one.step[i], *b = &three.step[i];
    if (getenv("TSR_TEST_VERBOSE"))
      printf("%s on %s, %s: %zu and %zu calls, %zu and %zu bytes, %zu and %zu at once\n", names[k], device, steps[i],
             a->calls, b->calls, a->bytes, b->bytes, a->peak, b->peak);
    if (b->calls > 4.5 * (double)a->calls + 64 || b->bytes > 4.5 * (double)a->bytes + 65536 ||
        b->peak > 4.5 * (double)a->peak + 65536)
      fail_msg("%s on %s, %s: %zu calls, %zu bytes, %zu at once for a third; %zu, %zu, %zu", names[k], device, steps[i],
               a->calls, a->bytes, a->peak, b->calls, b->bytes, b->peak);
  }
}

static void elementwise_chains_grow_linearly(void **state) { check(ELEMENTWISE, "null:spirv", MANY, false); }
static void chains_of_products_grow_linearly(void **state) { check(PRODUCTS, "null:spirv", MANY, false); }

/* All of a chain's values live until its gradient reads them. */
static void gradients_grow_linearly(void **state) {
  check(ELEMENTWISE, "null:spirv", FEW, true);
  check(PRODUCTS, "null:spirv", FEW, true);
}

static void chains_grow_linearly_on_the_cpu(void **state) {
  check(ELEMENTWISE, "cpu:0", FEW, false);
  check(PRODUCTS, "cpu:0", FEW, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elementwise_chains_grow_linearly),
      cmocka_unit_test(chains_of_products_grow_linearly),
      cmocka_unit_test(gradients_grow_linearly),
      cmocka_unit_test(chains_grow_linearly_on_the_cpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
