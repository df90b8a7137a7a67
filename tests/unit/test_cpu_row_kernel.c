/* tests/unit/test_cpu_row_kernel.c - which kernel of the CPU computes a recipe follows from the recipe's steps: those
 * of the ops here, the same said otherwise, and none where one step is another, whatever the recipe's flags say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "core/passes/cpu/row_kernel.h"

static const recipe_step nothing[] = {{STEP_END, ARG_NONE}};

static cpu_row_kernel taken_of(const row_recipe *r, const recipe_step *before) {
  cpu_row_kernel k;
  assert_non_null(r);
  assert_true(cpu_row_kernel_of(r, before, 8, 0.5, &k));
  return k;
}

static cpu_row_kernel taken(const row_recipe *r) { return taken_of(r, nothing); }

static bool is_taken_of(const row_recipe *r, const recipe_step *before) {
  cpu_row_kernel k;
  return cpu_row_kernel_of(r, before, 8, 0.5, &k);
}

static bool is_taken(const row_recipe *r) { return is_taken_of(r, nothing); }

static void softmax_and_norms_have_the_kernels_that_compute_them(void **state) {
  cpu_row_kernel k = taken(recipe_named("softmax"));
  assert_string_equal(k.name, "row_softmax");
  assert_false(k.is_norm);
  k = taken(recipe_named("layernorm"));
  assert_string_equal(k.name, "row_normalize");
  assert_true(k.is_norm && k.mean_scale == 0.125 && k.square_scale == 0.125 && k.eps == 0.5);
  k = taken(recipe_named("rmsnorm"));
  assert_string_equal(k.name, "row_normalize");
  assert_true(k.is_norm && k.mean_scale == 0 && k.square_scale == 0.125 && k.eps == 0.5);
}

/* x / sqrt(sum of x^2): a norm that no op has is the kernel's with other numbers. */
static void a_norm_said_otherwise_has_its_own_numbers(void **state) {
  row_recipe l2 = {.n_folds = 1, .per_element = true, .mean = -1};
  l2.fold[0] = (recipe_fold){
      .op = "sum", .term = {{STEP_SQUARE, ARG_NONE}, {STEP_END, 0}}, .finish = {{SC_RSQRT, ARG_NONE}, {STEP_END, 0}}};
  l2.apply[0] = (recipe_step){SC_MUL, ARG_STAT}, l2.apply[1] = (recipe_step){STEP_END, 0};
  cpu_row_kernel k = taken(&l2);
  assert_true(k.is_norm && k.mean_scale == 0 && k.square_scale == 1 && k.eps == 0);
  l2.fold[0].finish[0] = (recipe_step){SC_DIV, ARG_COUNT};
  l2.fold[0].finish[1] = (recipe_step){SC_RSQRT, ARG_NONE}, l2.fold[0].finish[2] = (recipe_step){STEP_END, 0};
  assert_true(taken(&l2).square_scale == 0.125);
}

#define STEPS(...) ((const recipe_step[]){__VA_ARGS__, {STEP_END, ARG_NONE}})
#define SQUARE {STEP_SQUARE, ARG_NONE}
#define EXP {SC_EXP, ARG_NONE}
#define LESS {SC_SUB, ARG_NUMBER}

/* By the steps before the recipe's, which are a prologue's. */
static void sums_and_maxima_have_kernels_and_others_none(void **state) {
  const row_recipe *sum = recipe_named("reduce_sum"), *mean = recipe_named("reduce_mean"),
                   *max = recipe_named("reduce_max");
  static const char *const others[] = {"reduce_min", "reduce_prod"};
  cpu_row_kernel k = taken(sum);
  assert_string_equal(k.name, "row_sum");
  assert_true(k.finish && cpu_row_finish(k.finish)->code == STEP_END && !k.writes_rows);
  k = taken(mean);
  assert_string_equal(k.name, "row_sum");
  assert_true(cpu_row_finish(k.finish)->code == SC_DIV && k.finish->arg == ARG_COUNT);
  k = taken(max);
  assert_string_equal(k.name, "row_max");
  assert_true(k.finish && cpu_row_finish(k.finish)->code == STEP_END);
  assert_string_equal(taken_of(sum, STEPS(SQUARE)).name, "row_sqdev");
  k = taken_of(mean, STEPS(LESS, SQUARE));
  assert_string_equal(k.name, "row_sqdev");
  assert_true(cpu_row_finish(k.finish)->code == SC_DIV && !k.writes_rows);
  k = taken_of(sum, STEPS(LESS, EXP));
  assert_string_equal(k.name, "row_exp");
  assert_true(k.writes_rows);
  for (int i = 0; i < 2; i++) {
    assert_non_null(recipe_named(others[i]));
    assert_false(is_taken(recipe_named(others[i])));
  }
}

static void steps_that_no_kernel_does_have_none(void **state) {
  const row_recipe *sum = recipe_named("reduce_sum"), *max = recipe_named("reduce_max");
  assert_false(is_taken_of(sum, STEPS(LESS)));
  assert_false(is_taken_of(sum, STEPS(EXP)));
  assert_false(is_taken_of(sum, STEPS(EXP, SQUARE)));
  assert_false(is_taken_of(sum, STEPS(SQUARE, SQUARE)));
  assert_false(is_taken_of(sum, STEPS({SC_ADD, ARG_NUMBER}, SQUARE)));
  assert_false(is_taken_of(max, STEPS(SQUARE)));
  assert_false(is_taken_of(max, STEPS(LESS, EXP)));
  assert_false(is_taken_of(recipe_named("softmax"), STEPS(LESS, EXP)));
  row_recipe r = *sum;
  r.fold[0].term[0] = (recipe_step){SC_ABS, ARG_NONE}, r.fold[0].term[1] = (recipe_step){STEP_END, ARG_NONE};
  assert_false(is_taken(&r));
  r = *sum, r.fold[0].finish[0] = (recipe_step){SC_ADD, ARG_EPS};
  assert_false(is_taken(&r));
  r = *sum, r.fold[0].finish[0] = (recipe_step){SC_RSQRT, ARG_NONE};
  assert_false(is_taken(&r));
  r = *sum, r.n_folds = 2;
  assert_false(is_taken(&r));
}

/* Every step of a recipe in turn becomes another, or has another argument, or one is added. */
static void a_recipe_with_one_other_step_has_none(void **state) {
  static const char *const names[] = {"softmax", "layernorm", "rmsnorm"};
  for (int i = 0; i < 3; i++) {
    row_recipe r = *recipe_named(names[i]);
    int tried = 0;
    for (int f = 0; f <= r.n_folds; f++)
      for (int part = 0; part < 2; part++) {
        recipe_step *chain = f == r.n_folds ? r.apply : part ? r.fold[f].finish : r.fold[f].term;
        if (f == r.n_folds && part) continue;
        for (int s = 0;; s++) {
          const recipe_step was = chain[s];
          if (was.code != STEP_END) {
            chain[s] = (recipe_step){SC_LOG, ARG_NONE}, tried++;
            assert_false(is_taken(&r));
            chain[s] = (recipe_step){was.code, ARG_STAT + 4};
            assert_false(is_taken(&r));
          } else if (s < RECIPE_STEPS) {
            chain[s] = (recipe_step){SC_ABS, ARG_NONE}, chain[s + 1] = (recipe_step){STEP_END, 0}, tried++;
            assert_false(is_taken(&r));
          }
          chain[s] = was;
          if (was.code == STEP_END) break;
        }
      }
    for (int f = 0; f < r.n_folds; f++) {
      const char *was = r.fold[f].op;
      r.fold[f].op = "prod";
      assert_false(is_taken(&r));
      r.fold[f].op = was;
    }
    r.per_element = false;
    assert_false(is_taken(&r));
    r.per_element = true;
    assert_true(tried > 5 && is_taken(&r));
  }
}

/* Rows that f32 loses are told by the kernel's numbers: a recipe that tells them by others isn't its. */
static void a_recipe_that_is_looked_after_by_other_statistics_has_none(void **state) {
  row_recipe r = *recipe_named("layernorm");
  r.variance = 2;
  assert_false(is_taken(&r));
  r = *recipe_named("layernorm"), r.mean = -1;
  assert_false(is_taken(&r));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(softmax_and_norms_have_the_kernels_that_compute_them),
      cmocka_unit_test(a_norm_said_otherwise_has_its_own_numbers),
      cmocka_unit_test(sums_and_maxima_have_kernels_and_others_none),
      cmocka_unit_test(steps_that_no_kernel_does_have_none),
      cmocka_unit_test(a_recipe_with_one_other_step_has_none),
      cmocka_unit_test(a_recipe_that_is_looked_after_by_other_statistics_has_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
