/* core/tune/strategy.h - what a search strategy sees and answers: candidates, their samples, and the next one to try.
 * Strategies know nothing of the search that calls them (search.h). */
#ifndef CORE_TUNE_STRATEGY_H
#define CORE_TUNE_STRATEGY_H
#include "core/base/status.h"
#include "core/tune/space.h"

typedef enum sample_state { SAMPLE_OK, SAMPLE_FAILED, SAMPLE_WRONG } sample_state;
const char *sample_state_name(sample_state s);

typedef struct search_sample {
  size_t candidate;   /* index into search_view.points */
  double ns;          /* median; 0 unless SAMPLE_OK */
  double cost;        /* objective of it */
  sample_state state;
  bool from_cache;    /* known before this search: not measured now */
} search_sample;

/* What a strategy sees. Points are all legal ones (the best by the model when there are very many). */
typedef struct search_view {
  const tune_space *space;
  const space_point *points;
  const double *model_ns;   /* per point; negative: never */
  const double *coords;     /* dim per point */
  const uint8_t *measured;  /* per point */
  const search_sample *samples;
  const size_t *seeds;      /* points to try first: the default, then neighbours' winners */
  size_t n_points, n_samples, n_seeds, budget;
  int32_t dim;
  uint64_t *rng;
  const tsr_allocator *al;
} search_view;
#define SEARCH_STOP ((size_t)-1)

/* next returns an unmeasured candidate or SEARCH_STOP; `state` is whatever begin left, `user` without a begin. */
typedef struct search_strategy {
  const char *name, *help;
  tsr_status (*begin)(const search_view *v, void **state);
  size_t (*next)(void *state, const search_view *v);
  void (*end)(const search_view *v, void *state);
  void *user;
} search_strategy;
extern const search_strategy search_hybrid, search_grid, search_random, search_model_only;

/* xorshift64*: uniform in [0, n). */
uint64_t search_rand(uint64_t *state, uint64_t n);
#endif
