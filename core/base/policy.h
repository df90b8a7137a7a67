/* core/base/policy.h - the numerics policies and the precision modes, a row each: their words in IR, knobs and options,
 * and what they are for (docs/precision.md). */
#ifndef CORE_BASE_POLICY_H
#define CORE_BASE_POLICY_H
#include "tessera/tessera.h"

/* X(TSR_POLICY_*, its word, what it is for). The words of those but the first stand in IR and knobs. */
#define POLICY_DEFAULT_WORD "default"
#define POLICIES(X)                                                                              \
  X(FAST, "fast", "maximum speed: benchmarking, inference")                                      \
  X(DETERMINISTIC, "deterministic", "reproducible reductions: debugging, reproducible training") \
  X(KAHAN_SUM, "kahan_sum", "compensated summation: sensitive PDEs, physics training")

#define POLICY_LISTED(id, word, help) "," word
#define POLICY_SAID(id, word, help) ", " word
#define POLICY_LIST (&(POLICIES(POLICY_LISTED))[1])  /* "fast,..." */
#define POLICY_WORDS (&(POLICIES(POLICY_SAID))[2])   /* "fast, ...": for hints */

/* A policy that there is not is the default. */
const char *policy_name(tsr_policy p);
const char *policy_help(tsr_policy p);
/* TSR_POLICY_DEFAULT where no policy has this word; NULL is none. */
tsr_policy policy_named(const char *word);

/* X(TSR_PRECISION_*, its word, what it does), in the order of the enum. */
#define PRECISIONS(X)                                                                                       \
  X(STANDARD, "standard", "the types of the graph; sums of floats in f32 at least")                         \
  X(SAFE, "safe", "floats narrower than f32 are computed in f32")                                           \
  X(AGGRESSIVE, "aggressive", "products with fp8 operands and scales, attention with bf16 ones")            \
  X(DETERMINISTIC, "deterministic", "standard, under the policy of that name")                              \
  X(TF32, "tf32", "operands of f32 products and attention rounded to tf32")
#define PRECISION_WORDS (&(PRECISIONS(POLICY_SAID))[2]) /* "standard, ...": for hints */

/* A mode that there is not is standard. */
const char *precision_name(tsr_precision p);
const char *precision_help(tsr_precision p);
/* The mode of that name; false: there is none. NULL is none. */
bool precision_named(const char *word, tsr_precision *out);
#endif
