/* core/tune/search.h - finding a good point of a space with few measurements. A strategy proposes, the search measures,
 * and remembers. Strategies, cost models, objectives and the way of measuring are function tables.
 * Invariant: all choices follow from (space, model, seed, measured values) alone, so a recorded set of measurements
 * replays to the same choice, bit for bit. Not thread-safe; measuring may use threads. */
#ifndef CORE_TUNE_SEARCH_H
#define CORE_TUNE_SEARCH_H
#include "core/tune/cost.h"
#include "core/tune/strategy.h"

/* By name ("hybrid", "grid", "random", "model-only"), or NULL; by index for lists. */
const search_strategy *search_strategy_find(const char *name);
const search_strategy *search_strategy_at(size_t i);

/* One measurement of n candidates whose runs are interleaved. */
typedef struct search_result {
  double ns; /* median */
  sample_state state;
  double beats_default; /* share of the rounds in which it was faster than the default, whose runs were interleaved; 0:
                           not known */
} search_result;
typedef struct search_progress {
  size_t done, budget;
  double last_ns, best_ns, fraction_of_roofline; /* 0: not known */
  const space_point *best;
} search_progress;
typedef struct search_measure {
  /* Fills out[i] for points[i]. A status ends the search (device lost); a candidate that fails is SAMPLE_FAILED. */
  tsr_status (*measure)(void *user, const tune_space *s, const space_point *points, size_t n, search_result *out);
  /* Called after each sample and before anything else can fail: a killed search keeps it. May be NULL. */
  void (*keep)(void *user, const tune_space *s, const space_point *point, const search_result *result);
  /* False cancels. May be NULL. */
  bool (*progress)(void *user, const search_progress *p);
  void *user;
} search_measure;

/* A value known from before. */
typedef struct search_known {
  space_point point;
  search_result result;
} search_known;

typedef struct search_desc {
  const tsr_allocator *al;
  const tune_space *space;
  const tune_device *device;
  const tune_problem *problem;
  const search_strategy *strategy; /* NULL: hybrid */
  const cost_model *model;         /* NULL: roofline */
  cost_objective objective;        /* NULL: latency x 1/throughput */
  void *objective_user;
  const search_measure *measure;
  const tune_config *dflt;         /* what runs without tuning; always measured */
  const tune_config *neighbours;   /* winners of nearby shapes, nearest first */
  const search_known *known;       /* of an earlier, killed search */
  size_t n_neighbours, n_known;
  size_t samples;                  /* 0: 50; reduced when there are neighbours unless samples_fixed */
  bool samples_fixed;
  double stop_fraction;            /* of the roofline; 0: 0.97; 2 or more: never */
  double keep_default_gain;        /* the winner must beat the default by this share; 0: 0.05 */
  uint64_t seed;
} search_desc;

typedef struct search_outcome {
  space_point best, runner_up;
  bool has_best, has_runner_up, cancelled, stopped_early;
  double best_ns, runner_up_ns, default_ns, predicted_ns, roofline_ns;
  size_t measurements; /* candidates timed on the device now, the play-off counted */
  size_t n_samples, n_legal, n_model; /* samples with known ones; legal points; points that the model allows */
  search_sample *samples;             /* in order; the points beside them */
  space_point *sample_points;
} search_outcome;

TSR_MUST_USE tsr_status search_run(const search_desc *d, search_outcome *out);
void search_outcome_clear(const tsr_allocator *al, search_outcome *o);
/* Samples a search takes: 50, fewer with cached neighbours, never under 8. */
size_t search_budget(size_t asked, size_t n_neighbours);
#endif
