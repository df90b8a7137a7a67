/* core/llm/generate.h - a text continued by a model: prompt to tokens, tokens one after the other, their bytes as they
 * come. */
#ifndef CORE_LLM_GENERATE_H
#define CORE_LLM_GENERATE_H
#include "core/llm/model.h"

typedef struct llm_request {
  const char *prompt;
  size_t prompt_bytes;
  int64_t tokens;     /* at most so many; fewer where the model ends the text */
  double temperature; /* 0: always the likeliest */
  uint64_t seed;
  /* Bytes of the text as they come, whole characters where it is UTF-8. May be NULL. */
  void (*text)(void *user, const char *p, size_t n);
  void *user;
} llm_request;

typedef struct llm_result {
  token_list tokens; /* those given, without the prompt's and without the one that ends the text */
  strb text;
  int64_t n_prompt;
  double prompt_s, first_s, rest_s; /* the prompt's run; to the first token, from the call on; the runs after it */
  int64_t n_rest;                   /* tokens that took rest_s */
} llm_result;

/* The result is cleared by llm_result_clear, also after a failure. */
TSR_MUST_USE tsr_status llm_generate(llm_model *m, const llm_request *q, llm_result *out);
void llm_result_clear(llm_result *r);
#endif
