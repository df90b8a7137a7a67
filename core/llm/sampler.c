/* core/llm/sampler.c - see sampler.h. Sums are in f64 and in order, so that a seed gives the same tokens from the same
 * logits on every machine. */
#include "core/llm/sampler.h"

#include <math.h>

/* splitmix64, its upper 53 bits: in [0, 1). */
static double uniform(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int32_t likeliest(const float *logits, int32_t n) {
  int32_t best = 0;
  for (int32_t i = 1; i < n; i++)
    if (logits[i] > logits[best] || (isnan(logits[best]) && !isnan(logits[i]))) best = i;
  return best;
}

int32_t sampler_take(sampler *s, const float *logits, int32_t n) {
  const int32_t best = likeliest(logits, n);
  const double top = (double)logits[best];
  if (s->temperature <= 0 || !isfinite(top)) return best;
  double sum = 0;
  for (int32_t i = 0; i < n; i++)
    if (!isnan(logits[i])) sum += exp(((double)logits[i] - top) / s->temperature);
  double left = uniform(&s->state) * sum;
  for (int32_t i = 0; i < n; i++) {
    if (isnan(logits[i])) continue;
    left -= exp(((double)logits[i] - top) / s->temperature);
    if (left < 0) return i;
  }
  return best;
}
