/* tools/tessera/bench_llm.h - `tessera bench FILE.gguf`: a language model's prompt and generation, tokens by time. */
#ifndef TOOLS_TESSERA_BENCH_LLM_H
#define TOOLS_TESSERA_BENCH_LLM_H
#include "tools/tessera/bench_env.h"

enum { BENCH_LLM_ROUNDS = 3 }; /* at least */

typedef struct bench_llm_options {
  tsr_context *ctx;
  const char *device;            /* NULL: the first; "all" */
  const char *against;           /* "llama"; NULL: nothing */
  int64_t prompt_tokens, tokens; /* 0: not measured */
  const bench_env *env;
  double seconds;                /* budget of one row, but for the first rounds */
  long seed;                     /* of the tokens */
  bool json;
} bench_llm_options;

/* Is that a language model's file, not an operation's name? */
bool bench_is_llm(const char *name);
/* The exit status. */
int bench_llm(const char *file, const bench_llm_options *o);
#endif
