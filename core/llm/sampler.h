/* core/llm/sampler.h - which token comes next. */
#ifndef CORE_LLM_SAMPLER_H
#define CORE_LLM_SAMPLER_H
#include <stdint.h>

typedef struct sampler {
  double temperature; /* 0: the likeliest, of several the first */
  uint64_t state;     /* begins as the seed */
} sampler;

/* Of n > 0 logits; drawn from softmax(logits / temperature). NaN is never taken where there is another number. */
int32_t sampler_take(sampler *s, const float *logits, int32_t n);
#endif
