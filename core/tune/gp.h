/* core/tune/gp.h - Gaussian-process regression for a few dozen points: Matern 5/2 with one length per dimension, found
 * by maximum likelihood on a fixed grid (coordinate ascent), so the same observations always give the same bits. Input:
 * coordinates in 0..1 and values of any scale (standardised inside). Source: Rasmussen & Williams 2006, ch. 2, 4, 5. */
#ifndef CORE_TUNE_GP_H
#define CORE_TUNE_GP_H
#include "core/base/status.h"

enum { GP_MAX_DIM = 16 };

typedef struct gp gp;

/* Room for `cap` observations of `dim` coordinates. */
TSR_MUST_USE tsr_status gp_create(const tsr_allocator *al, int dim, int cap, gp **out);
void gp_destroy(gp **g);
/* False when full or a value is not finite. */
bool gp_add(gp *g, const double *x, double y);
/* Finds lengths and noise, factorises. False without observations or when the matrix can't be factorised. */
bool gp_fit(gp *g);
/* Factorises with given lengths and noise share instead of searching for them. */
bool gp_fit_fixed(gp *g, const double *lengths, double noise);
/* Mean and variance (of the noiseless value) in the scale of the values added. Needs a fit. */
void gp_predict(const gp *g, const double *x, double *mean, double *variance);
/* Log marginal likelihood of the fit, up to a constant. */
double gp_log_likelihood(const gp *g);
const double *gp_lengths(const gp *g);
/* E[max(best - f, 0)] for minimisation. */
double gp_expected_improvement(double mean, double variance, double best);
#endif
