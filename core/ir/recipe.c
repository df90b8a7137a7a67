/* core/ir/recipe.c - see ir/recipe.h: a row an operation. */
#include "core/ir/recipe.h"

#include <stddef.h>
#include <string.h>

#define END {STEP_END, ARG_NONE}
#define STAT(i) (ARG_STAT + (i))
/* Division by the count happens once a row, and so does that by a sum. */
#define CAREFUL_ADDED {.op = NULL, .from = 0, .term = {END}, .finish = {{SC_MUL, ARG_EPS}, {SC_MUL, STAT(0)}, {SC_MAX, ARG_LEAST}, END}}
#define CAREFUL_SCALE {.op = "max", .term = {{SC_ABS, ARG_NONE}, END}, .finish = {{STEP_SCALE, ARG_NONE}, END}}

static const row_recipe careful_layernorm = {
    .name = "layernorm", .n_folds = 5, .per_element = true,
    .fold = {CAREFUL_SCALE,
             {.op = "sum", .term = {{SC_MUL, STAT(0)}, END}, .finish = {{SC_DIV, ARG_COUNT}, END}},
             /* The mean of what the first mean leaves of equal numbers is exact: nothing rests. */
             {.op = "sum", .term = {{SC_MUL, STAT(0)}, {SC_SUB, STAT(1)}, END}, .finish = {{SC_DIV, ARG_COUNT}, END}},
             CAREFUL_ADDED,
             {.op = "sum", .term = {{SC_MUL, STAT(0)}, {SC_SUB, STAT(1)}, {SC_SUB, STAT(2)}, {STEP_SQUARE, ARG_NONE}, END},
              .finish = {{SC_DIV, ARG_COUNT}, {SC_ADD, STAT(3)}, {SC_RSQRT, ARG_NONE}, END}}},
    .apply = {{SC_MUL, STAT(0)}, {SC_SUB, STAT(1)}, {SC_SUB, STAT(2)}, {SC_MUL, STAT(4)}, END}};

static const row_recipe careful_rmsnorm = {
    .name = "rmsnorm", .n_folds = 3, .per_element = true,
    .fold = {CAREFUL_SCALE,
             CAREFUL_ADDED,
             {.op = "sum", .term = {{SC_MUL, STAT(0)}, {STEP_SQUARE, ARG_NONE}, END},
              .finish = {{SC_DIV, ARG_COUNT}, {SC_ADD, STAT(1)}, {SC_RSQRT, ARG_NONE}, END}}},
    .apply = {{SC_MUL, STAT(0)}, {SC_MUL, STAT(2)}, END}};

static const row_recipe rows[] = {
    {.name = "reduce_sum", .n_folds = 1, .fold = {{.op = "sum", .term = {END}, .finish = {{STEP_WRAP, ARG_NONE}, END}}}},
    {.name = "reduce_prod", .n_folds = 1, .fold = {{.op = "prod", .term = {END}, .finish = {{STEP_WRAP, ARG_NONE}, END}}}},
    {.name = "reduce_mean", .n_folds = 1, .fold = {{.op = "sum", .term = {END}, .finish = {{SC_DIV, ARG_COUNT}, END}}}},
    {.name = "reduce_max", .n_folds = 1, .fold = {{.op = "max", .term = {END}, .finish = {END}}}},
    {.name = "reduce_min", .n_folds = 1, .fold = {{.op = "min", .term = {END}, .finish = {END}}}},
    {.name = "softmax", .n_folds = 2, .per_element = true, .online = true,
     .fold = {{.op = "max", .term = {END}, .finish = {END}},
              {.op = "sum", .term = {{SC_SUB, STAT(0)}, {SC_EXP, ARG_NONE}, END}, .finish = {{STEP_RECIPROCAL, ARG_NONE}, END}}},
     .apply = {{SC_SUB, STAT(0)}, {SC_EXP, ARG_NONE}, {SC_MUL, STAT(1)}, END}},
    {.name = "layernorm", .n_folds = 3, .per_element = true,
     .fold = {{.op = "sum", .term = {END}, .finish = {{SC_MUL, ARG_SHARE}, END}},
              {.op = "sum", .term = {{SC_SUB, STAT(0)}, {STEP_SQUARE, ARG_NONE}, END}, .finish = {{SC_MUL, ARG_SHARE}, END}},
              {.op = NULL, .from = 1, .term = {END}, .finish = {{SC_ADD, ARG_EPS}, {SC_RSQRT, ARG_NONE}, END}}},
     .apply = {{SC_SUB, STAT(0)}, {SC_MUL, STAT(2)}, END},
     .careful = &careful_layernorm, .variance = 1, .mean = 0, .plain = {PLAIN_ONE, 0, PLAIN_ZERO, PLAIN_UNUSED, 2}},
    {.name = "rmsnorm", .n_folds = 2, .per_element = true,
     .fold = {{.op = "sum", .term = {{STEP_SQUARE, ARG_NONE}, END}, .finish = {{SC_MUL, ARG_SHARE}, END}},
              {.op = NULL, .from = 0, .term = {END}, .finish = {{SC_ADD, ARG_EPS}, {SC_RSQRT, ARG_NONE}, END}}},
     .apply = {{SC_MUL, STAT(1)}, END},
     .careful = &careful_rmsnorm, .variance = 0, .mean = -1, .plain = {PLAIN_ONE, PLAIN_UNUSED, 1, PLAIN_UNUSED, PLAIN_UNUSED}},
};

const row_recipe *recipe_find(const char *op_name) {
  const char *name = strrchr(op_name, '.');
  for (size_t i = 0; name && i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, name + 1)) return &rows[i];
  return NULL;
}
