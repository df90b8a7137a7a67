/* core/ir/recipe.h - what an operation on rows computes, as data: folds over a row, each of which leaves one number (a
 * statistic), and what an element becomes with these. The lowering of rows that a block holds whole, the one that takes
 * them in chunks and the CPU's read the same recipe, to which the op's row points (ir/graph/ops/norm.c, reduce.c). A
 * chain of steps starts with the element (or with a fold's result) and ends with STEP_END. */
#ifndef CORE_IR_RECIPE_H
#define CORE_IR_RECIPE_H
#include <stdbool.h>

#include "core/ir/scalar_ops.h"

enum { RECIPE_STATS = 5, RECIPE_STEPS = 4 };

/* A step's code: a scalar op, whose second operand is the step's argument, or one of these. */
typedef enum recipe_code {
  STEP_END = SC_N,
  STEP_SQUARE,     /* v * v */
  STEP_RECIPROCAL, /* 1 / v */
  STEP_SCALE,      /* v = the largest magnitude of a row: the power of two that brings its squares into the range */
  STEP_WRAP,       /* what the result's integer type keeps of v */
} recipe_code;

typedef enum recipe_arg {
  ARG_NONE,
  ARG_COUNT, /* elements of the row */
  ARG_SHARE, /* 1 / that */
  ARG_EPS,   /* the attribute eps */
  ARG_LEAST, /* what keeps a scaled row of zeros from 0 / 0: little, and nothing where eps is 0 */
  ARG_STAT,  /* ARG_STAT + i: statistic i */
} recipe_arg;

typedef struct recipe_step { int code, arg; } recipe_step;

/* The statistic that the argument names; -1: it is a number, or there is none. */
static inline int recipe_stat_of(int arg) {
  const int i = arg - ARG_STAT;
  return i < 0 ? -1 : i;
}

/* A statistic: `finish` of the sum (max, min, prod) of `term`; without an op, of statistic `from`. */
typedef struct recipe_fold {
  const char *op;
  int from;
  recipe_step term[RECIPE_STEPS + 1], finish[RECIPE_STEPS + 1];
} recipe_fold;

/* In row_recipe.plain, where no statistic stands. */
enum { PLAIN_ONE = -1, PLAIN_ZERO = -2, PLAIN_UNUSED = -3 };

typedef struct row_recipe {
  int n_folds;
  recipe_fold fold[RECIPE_STATS];
  bool per_element;                    /* the result has the row's elements; else it is statistic 0 */
  recipe_step apply[RECIPE_STEPS + 1]; /* then times the second operand, plus the third */
  bool online; /* folds 0 and 1 are a maximum and a sum of exponentials about it, which one pass can keep together */
  /* Norms lose rows whose squares leave the type's range, or whose numbers differ by no more than their mean is rounded
   * to: statistic `variance` tells them (with statistic `mean`, -1: there is none). `careful` doesn't lose them;
   * plain[i] is the statistic here that stands for its statistic i. */
  const struct row_recipe *careful;
  int variance, mean, plain[RECIPE_STATS];
} row_recipe;

/* Where a type holds a norm's row: a variance of at least `bottom` (or an eps of it), and at least (mean * noise)^2:
 * noise for short rows, more where the rounding of the mean itself grows with the row. */
#define RECIPE_F32_BOTTOM 0x1p-100
#define RECIPE_F32_NOISE 0x1p-16
static inline double recipe_noise(double noise, double columns) {
  return columns > 0x1p14 ? noise * columns * 0x1p-14 : noise;
}

/* The recipe of an op of Graph IR by its name there without the dialect ("softmax"); NULL: there is none. */
const row_recipe *recipe_named(const char *name);
#endif
