/* tests/unit/test_cpu_row_kernel.c - which kernel of the CPU computes a recipe follows from the recipe's steps: those
 * of the ops here, the same said otherwise, and none where one step is another, whatever the recipe's flags say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "core/passes/cpu/row_kernel.h"

static cpu_row_kernel taken(const row_recipe *r) {
  cpu_row_kernel k;
  assert_non_null(r);
  assert_true(cpu_row_kernel_of(r, 8, 0.5, &k));
  return k;
}

static bool is_taken(const row_recipe *r) {
  cpu_row_kernel k;
  return cpu_row_kernel_of(r, 8, 0.5, &k);
}

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

static void reductions_have_none(void **state) {
  static const char *const names[] = {"reduce_sum", "reduce_max", "reduce_mean", "reduce_prod"};
  for (int i = 0; i < 4; i++) {
    assert_non_null(recipe_named(names[i]));
    assert_false(is_taken(recipe_named(names[i])));
  }
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
      cmocka_unit_test(reductions_have_none),
      cmocka_unit_test(a_recipe_with_one_other_step_has_none),
      cmocka_unit_test(a_recipe_that_is_looked_after_by_other_statistics_has_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
