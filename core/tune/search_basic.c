/* core/tune/search_basic.c - the strategies without a surrogate: grid, random, model-only. */
#include "core/tune/strategy.h"

/* Points at equal strides through the enumeration, each stride shifted once the first pass is done. */
static size_t grid_next(void *state, const search_view *v) {
  size_t budget = v->budget ? v->budget : 1, stride = v->n_points / budget ? v->n_points / budget : 1;
  for (size_t shift = 0; shift < stride; shift++)
    for (size_t at = shift + stride / 2; at < v->n_points; at += stride)
      if (!v->measured[at]) return at;
  for (size_t at = 0; at < v->n_points; at++)
    if (!v->measured[at]) return at;
  return SEARCH_STOP;
}

static size_t random_next(void *state, const search_view *v) {
  size_t left = 0;
  for (size_t i = 0; i < v->n_points; i++) left += !v->measured[i];
  if (!left) return SEARCH_STOP;
  size_t nth = (size_t)search_rand(v->rng, left);
  for (size_t i = 0; i < v->n_points; i++)
    if (!v->measured[i] && nth-- == 0) return i;
  return SEARCH_STOP;
}

static size_t model_next(void *state, const search_view *v) { return SEARCH_STOP; }

const search_strategy search_grid = {"grid", "even strides through the legal points", NULL, grid_next, NULL, NULL};
const search_strategy search_random = {"random", "uniform without repetition, seeded", NULL, random_next, NULL, NULL};
const search_strategy search_model_only = {
    "model-only", "the cost model's first choice, nothing is measured", NULL, model_next, NULL, NULL};
