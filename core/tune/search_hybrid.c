/* core/tune/search_hybrid.c - coarse grid, then Gaussian-process Bayesian optimisation with the cost model as prior
 * mean. The process models log(measured) - beta * log(predicted); beta is 1 until the measurements say that the model
 * misleads. Expected improvement picks; every fourth pick takes the lowest posterior mean, which polishes the
 * incumbent. Failed candidates count as slow, so their surroundings are left alone. */
#include "core/tune/gp.h"
#include "core/tune/strategy.h"

#include <math.h>
#include <string.h>

enum { GP_MOST = 192, EXPLOIT_EVERY = 4 };

static size_t initial_samples(const search_view *v) {
  size_t n = v->budget / 4;
  return n < 4 ? 4 : n > 10 ? 10 : n;
}

static double distance(const search_view *v, size_t a, size_t b) {
  const double *x = v->coords + a * (size_t)v->dim, *y = v->coords + b * (size_t)v->dim;
  double d = 0;
  for (int32_t i = 0; i < v->dim; i++) d += (x[i] - y[i]) * (x[i] - y[i]);
  return sqrt(d);
}

/* Far from all samples and cheap by the model: a coarse grid that leans towards what should be fast. */
static size_t spread_next(const search_view *v) {
  double best_score = -INFINITY, least = INFINITY;
  size_t best = SEARCH_STOP;
  for (size_t i = 0; i < v->n_points; i++)
    if (v->model_ns[i] < least) least = v->model_ns[i];
  for (size_t i = 0; i < v->n_points; i++) {
    if (v->measured[i]) continue;
    double nearest = 1;
    for (size_t j = v->n_seeds; j < v->n_samples; j++) {
      double d = distance(v, i, v->samples[j].candidate);
      if (d < nearest) nearest = d;
    }
    double score = nearest - 1.5 * log(v->model_ns[i] / least);
    if (score <= best_score) continue;
    best_score = score;
    best = i;
  }
  return best;
}

/* Slope of log(measured) over log(predicted), pulled towards 1. */
static double model_slope(const search_view *v) {
  double mx = 0, my = 0, sxx = 0, sxy = 0, n = 0;
  const double pull = 1.0;
  for (size_t i = 0; i < v->n_samples; i++) {
    if (v->samples[i].state != SAMPLE_OK) continue;
    mx += log(v->model_ns[v->samples[i].candidate]);
    my += log(v->samples[i].ns);
    n++;
  }
  if (n < 4) return 1;
  mx /= n, my /= n;
  for (size_t i = 0; i < v->n_samples; i++) {
    if (v->samples[i].state != SAMPLE_OK) continue;
    double x = log(v->model_ns[v->samples[i].candidate]) - mx;
    sxx += x * x;
    sxy += x * (log(v->samples[i].ns) - my);
  }
  double slope = (sxy + pull) / (sxx + pull);
  return slope < 0 ? 0 : slope > 1.5 ? 1.5 : slope;
}

/* Fits the process to the samples (the last GP_MOST). *best: the least log(ns). */
static bool fit(const search_view *v, gp *g, double slope, double *best) {
  double worst = -INFINITY;
  *best = INFINITY;
  for (size_t i = 0; i < v->n_samples; i++) {
    if (v->samples[i].state != SAMPLE_OK) continue;
    double y = log(v->samples[i].ns);
    if (y < *best) *best = y;
    if (y > worst) worst = y;
  }
  if (!isfinite(*best)) return false;
  size_t from = v->n_samples > GP_MOST ? v->n_samples - GP_MOST : 0;
  for (size_t i = from; i < v->n_samples; i++) {
    const search_sample *x = &v->samples[i];
    double y = x->state == SAMPLE_OK ? log(x->ns) : worst + 0.3;
    /* One slow outlier should not flatten everything else: beyond 4 x the best all is equally bad. */
    if (y > *best + 1.4) y = *best + 1.4;
    gp_add(g, v->coords + x->candidate * (size_t)v->dim, y - slope * log(v->model_ns[x->candidate]));
  }
  return gp_fit(g);
}

static size_t process_next(const search_view *v) {
  gp *g = NULL;
  double best, best_score = -INFINITY, slope = model_slope(v);
  size_t chosen = SEARCH_STOP;
  tsr_status st = gp_create(v->al, v->dim > 0 ? v->dim : 1, GP_MOST, &g);
  if (st) {
    tsr_status_free(st);
    return SEARCH_STOP;
  }
  if (fit(v, g, slope, &best)) {
    bool exploit = v->n_samples % EXPLOIT_EVERY == EXPLOIT_EVERY - 1;
    for (size_t i = 0; i < v->n_points; i++) {
      if (v->measured[i]) continue;
      double mean, var;
      gp_predict(g, v->coords + i * (size_t)v->dim, &mean, &var);
      mean += slope * log(v->model_ns[i]);
      double score = exploit ? -mean : gp_expected_improvement(mean, var, best);
      if (score <= best_score) continue;
      best_score = score;
      chosen = i;
    }
  }
  gp_destroy(&g);
  return chosen;
}

static size_t hybrid_next(void *state, const search_view *v) {
  if (v->n_samples < initial_samples(v) + v->n_seeds - 1 || v->dim < 1) return spread_next(v);
  size_t at = process_next(v);
  return at == SEARCH_STOP ? spread_next(v) : at;
}

const search_strategy search_hybrid = {
    "hybrid", "coarse grid, then Bayesian optimisation with the cost model as prior (default)", NULL, hybrid_next, NULL,
    NULL};
