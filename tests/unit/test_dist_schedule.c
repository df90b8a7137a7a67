/* Schedules of a rank: the order that the streams and waits give is enough and nothing of it is too much: without any
 * one wait the checker finds what is no more in order. Collectives begin when their operand is there, and computing
 * that doesn't need them goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/dist/order.h"
#include "core/dist/overlap.h"
#include "core/dist/schedule.h"
#include "tests/support/graph_text.h"

#define AR(r, a)         "%" r " = \"tessera.graph.all_reduce\"(%" a ") {axes = \"dp\", ranks = 2}\n"
#define UN(r, op, a)     "%" r " = \"tessera.graph." op "\"(%" a ")\n"
#define BIN(r, op, a, b) "%" r " = \"tessera.graph." op "\"(%" a ", %" b ")\n"

/* A backward pass: three gradients one after the other, each added up over the ranks, then all used. */
static const char backward[] = UN("a", "exp", "x") AR("ga", "a") UN("b", "neg", "a") AR("gb", "b") UN("c", "tanh", "b")
    AR("gc", "c") BIN("s", "add", "ga", "gb") BIN("y", "mul", "s", "gc");
/* Tensor parallel: each step needs the one before. */
static const char chain[] = UN("a", "exp", "x") AR("b", "a") UN("c", "neg", "b") AR("d", "c") UN("y", "tanh", "d");
static const char mixed[] = "%p = \"tessera.graph.shard_slice\"(%x) {axes = \"dp\", ranks = 2}\n" UN("a", "exp", "x")
    AR("b", "a") UN("c", "neg", "a") "%g = \"tessera.graph.all_gather\"(%p) {axes = \"dp\", ranks = 2}\n" BIN(
        "d", "add",
        "g", "c") "%s = \"tessera.graph.send\"(%d) {axes = \"dp\", ranks = 2}\n" UN("e", "exp",
                                                                                    "b") "%r = "
                                                                                         "\"tessera.graph.recv\"(%s) "
                                                                                         "{axes = \"dp\", ranks = "
                                                                                         "2}\n" BIN("y", "mul", "r",
                                                                                                    "e");

static ir_module *module_of(const char *body) {
  return gt_parse(gt_func("%x: tensor<64xf32>", body, "%y", "tensor<64xf32>"));
}

static void check_waits(const char *body, const dist_schedule_options *o, int *n_waits) {
  ir_module *m = module_of(body);
  dist_schedule s;
  char why[256];
  assert_null(dist_schedule_make(graph_find_func(m, NULL), o, &s));
  if (!dist_schedule_check(&s, why, sizeof why)) fail_msg("%s", why);
  for (int i = 0; i < s.n_steps; i++)
    for (int k = 0; k < s.steps[i].n_waits; k++, ++*n_waits) {
      dist_step *x = &s.steps[i];
      const int gone = x->waits[k], last = x->waits[x->n_waits - 1];
      x->waits[k] = last, x->n_waits--;
      if (dist_schedule_check(&s, why, sizeof why)) fail_msg("step %d need not wait for %d", i, gone);
      x->waits[x->n_waits++] = last, x->waits[k] = gone;
    }
  dist_schedule_clear(&s);
  ir_module_destroy(&m);
}

static void without_any_one_wait_something_is_out_of_order(void **state) {
  const char *const bodies[] = {backward, chain, mixed};
  for (int one = 0; one < 2; one++)
    for (int bucket = 0; bucket < 2; bucket++)
      for (int i = 0; i < 3; i++) {
        int n = 0;
        check_waits(bodies[i], &(dist_schedule_options){.one_stream = one, .bucket_bytes = bucket ? 1 << 20 : 0}, &n);
        assert_true(one ? n == 0 : n >= 2);
      }
}

static int count_comm(const dist_schedule *s) {
  int n = 0;
  for (int i = 0; i < s->n_steps; i++) n += s->steps[i].kind == DIST_COMM;
  return n;
}

/* The step that computes c isn't behind the first all-reduce, and nobody waits for that one before all is computed. */
static void computing_goes_on_beside_collectives(void **state) {
  ir_module *m = module_of(backward);
  dist_schedule s;
  assert_null(dist_schedule_make(graph_find_func(m, NULL), &(dist_schedule_options){0}, &s));
  assert_int_equal(count_comm(&s), 3);
  dist_before b = dist_before_make(&s.arena, &s);
  int beside = 0;
  for (int i = 0; i < s.n_steps; i++)
    for (int k = 0; k < s.n_steps; k++)
      beside += s.steps[i].kind == DIST_COMM && s.steps[k].kind == DIST_COMPUTE && !dist_is_before(&b, i, k) &&
                !dist_is_before(&b, k, i);
  assert_true(beside >= 3); /* b and c beside the first, c beside the second */
  dist_schedule_clear(&s);
  ir_module_destroy(&m);
}

static void small_collectives_of_a_kind_go_as_one(void **state) {
  static const struct {
    int64_t bucket;
    int steps;
  } cases[] = {{0, 3}, {256, 3}, {512, 2}, {768, 1}, {1 << 20, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ir_module *m = module_of(backward);
    dist_schedule s;
    assert_null(
        dist_schedule_make(graph_find_func(m, NULL), &(dist_schedule_options){.bucket_bytes = cases[i].bucket}, &s));
    assert_int_equal(count_comm(&s), cases[i].steps);
    dist_schedule_clear(&s);
    ir_module_destroy(&m);
  }
}

static void memory_is_used_again(void **state) {
  char body[4096] = UN("v0", "exp", "x"), line[160];
  for (int i = 0; i < 8; i++) {
    snprintf(line, sizeof line,
             "%%w%d = \"tessera.graph.all_reduce\"(%%v%d) {axes = \"dp\", ranks = 2}\n%%v%d = "
             "\"tessera.graph.exp\"(%%w%d)\n",
             i, i, i + 1, i);
    strcat(body, line);
  }
  strcat(body, UN("y", "neg", "v8"));
  ir_module *m = module_of(body);
  dist_schedule s;
  char why[256];
  assert_null(dist_schedule_make(graph_find_func(m, NULL), &(dist_schedule_options){0}, &s));
  if (!dist_schedule_check(&s, why, sizeof why)) fail_msg("%s", why);
  assert_true(s.workspace >= 512 && s.workspace <= 3 * 256); /* of 17 values of 256 bytes */
  /* Two values in one place at a time: found. */
  for (int i = 0; i < s.n_slots; i++) s.slots[i].offset = 0;
  assert_false(dist_schedule_check(&s, why, sizeof why));
  dist_schedule_clear(&s);
  ir_module_destroy(&m);
}

/* A function of n ops with a collective behind every 2,000 of them: how often ops are looked at until all are in order.
 */
static int64_t looked_at(int n) {
  strb b;
  dist_schedule s;
  strb_init(&b, NULL);
  strb_puts(&b, "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<64xf32>):\n" UN("v0", "exp", "x"));
  for (int i = 1; i < n; i++)
    if (i % 2000 == 0)
      strb_printf(&b, "%%v%d = \"tessera.graph.all_reduce\"(%%v%d) {axes = \"dp\", ranks = 2}\n", i, i - 1);
    else strb_printf(&b, "%%v%d = \"tessera.graph.%s\"(%%v%d, %%x)\n", i, i % 2 ? "add" : "mul", i - 1 - (i % 7 == 6));
  strb_printf(&b, "\"tessera.graph.return\"(%%v%d) : (tensor<64xf32>) -> ()\n}) : () -> ()\n", n - 1);
  ir_module *m = gt_parse(strb_text(&b));
  assert_null(dist_schedule_make(graph_find_func(m, NULL), &(dist_schedule_options){0}, &s));
  const int64_t looked = s.looked;
  dist_schedule_clear(&s);
  ir_module_destroy(&m);
  strb_clear(&b);
  return looked;
}

static void large_programs_take_as_long_for_each_op(void **state) {
  const int64_t small = looked_at(10000), large = looked_at(40000);
  assert_in_range(small, 1, 40000);
  assert_in_range(large, 1, 160000);
  assert_true(large < 5 * small);
}

/* n layers, each added up over the ranks before the next one: how often values and pairs of steps are looked at until
 * they have places, are checked, and have their overlap. */
static int64_t looked_at_layers(int n, bool one_stream) {
  strb b;
  dist_schedule s;
  char why[256];
  int64_t checked;
  strb_init(&b, NULL);
  strb_puts(&b, "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<64xf32>):\n" UN("v0", "exp", "x"));
  for (int i = 0; i < n; i++)
    strb_printf(&b,
                "%%w%d = \"tessera.graph.all_reduce\"(%%v%d) {axes = \"dp\", ranks = 2}\n%%v%d = "
                "\"tessera.graph.exp\"(%%w%d)\n",
                i, i, i + 1, i);
  strb_printf(&b, "%%y = \"tessera.graph.neg\"(%%v%d)\n", n);
  strb_puts(&b, "\"tessera.graph.return\"(%y) : (tensor<64xf32>) -> ()\n}) : () -> ()\n");
  ir_module *m = gt_parse(strb_text(&b));
  assert_null(dist_schedule_make(graph_find_func(m, NULL), &(dist_schedule_options){.one_stream = one_stream}, &s));
  if (!dist_schedule_check_counted(&s, why, sizeof why, &checked)) fail_msg("%s", why);
  assert_in_range(s.workspace, 256, 3 * 256);
  dist_span *spans = arena_array(&s.arena, dist_span, s.n_steps + 1);
  double *us = arena_array(&s.arena, double, s.n_steps + 1), sum = 0;
  for (int i = 0; i < s.n_steps; i++) spans[i] = (dist_span){i, i + 1.5}; /* each ends beside the next one */
  const int64_t looked = s.looked + checked + dist_overlap(&s, spans, us);
  for (int i = 0; i < s.n_steps; i++) sum += us[i];
  assert_true(one_stream ? sum == 0 : sum == s.n_steps - 1); /* half a us of each of two neighbours */
  dist_schedule_clear(&s);
  ir_module_destroy(&m);
  strb_clear(&b);
  return looked;
}

static void many_collectives_take_as_long_for_each_one(void **state) {
  for (int one_stream = 0; one_stream < 2; one_stream++) {
    const int64_t small = looked_at_layers(1000, one_stream), large = looked_at_layers(8000, one_stream);
    assert_in_range(small, 1, 40 * 1000);
    assert_in_range(large, 1, 40 * 8000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_any_one_wait_something_is_out_of_order),
      cmocka_unit_test(computing_goes_on_beside_collectives),
      cmocka_unit_test(small_collectives_of_a_kind_go_as_one),
      cmocka_unit_test(memory_is_used_again),
      cmocka_unit_test(large_programs_take_as_long_for_each_op),
      cmocka_unit_test(many_collectives_take_as_long_for_each_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
