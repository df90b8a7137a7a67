/* core/tune/cost.h - the analytic cost model: what each part of a kernel would cost alone, how well they overlap, and
 * how evenly the blocks fill the device. Input: a device (limits and rates), a problem, a config. Output: nanoseconds
 * with every term, so that an estimate can be explained. It ranks candidates and is the prior mean of the search; its
 * absolute figure is only as good as the device's measured rates. Sources: roofline (Williams 2009), wave quantisation
 * and L2 reuse by raster order as in nvMatmulHeuristics. */
#ifndef CORE_TUNE_COST_H
#define CORE_TUNE_COST_H
#include "core/tune/cost_parts.h"
#include "core/tune/families.h"

void cost_compute(const tune_device *d, const tune_problem *p, const tune_config *c, cost_estimate *out);
/* Term by term, one line each, with the inputs and where each rate comes from: measured (the day stands below), reached
 * (a lower bound from our own kernels), listed (guide, data sheet, profile file), assumed (nobody told). */
void cost_explain(const tune_device *d, const tune_problem *p, const tune_config *c, strb *out);
/* The same for a kernel without knobs that reads each operand once: bytes or multiply-adds at the device's rates, and
 * the launch. */
void cost_explain_once(const tune_device *d, const tune_problem *p, strb *out);
/* The least time the device could need: compulsory bytes and flops at its peaks. 0 when no rate is known. */
double cost_roofline_ns(const tune_device *d, const tune_problem *p);

/* A cost model is a table: the built-in one, or a user's. predict returns nanoseconds, or a negative value for "never".
 */
typedef struct cost_model {
  const char *name;
  double (*predict)(void *user, const tune_device *d, const tune_problem *p, const tune_config *c);
  void (*explain)(void *user, const tune_device *d, const tune_problem *p, const tune_config *c,
                  strb *out); /* may be NULL */
  void *user;
} cost_model;
extern const cost_model cost_model_roofline;

/* What is minimised: latency x (1 / throughput) by default (docs/tuning.md); work is flops, or bytes without
 * arithmetic. */
typedef double (*cost_objective)(void *user, double latency_ns, double work);
double cost_latency_by_throughput(void *user, double latency_ns, double work);
double cost_latency(void *user, double latency_ns, double work);
#endif
