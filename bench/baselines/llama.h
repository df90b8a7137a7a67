/* bench/baselines/llama.h - llama.cpp as what `tessera bench FILE.gguf` compares with: its own benchmark, llama-bench,
 * in a process for each run. */
#ifndef BENCH_BASELINES_LLAMA_H
#define BENCH_BASELINES_LLAMA_H
#include "tessera/tessera.h"

typedef struct llama_job llama_job;
/* TSR_UNAVAILABLE where PATH has no llama-bench. gpu: all layers on what it takes for its first GPU, else none. The
 * model's path is used while the job lives. */
tsr_status llama_create(const char *model, int threads, bool gpu, llama_job **job) TSR_MUST_USE;
/* One run of a prompt, or of generation, whichever has tokens, after one that it doesn't count. */
tsr_status llama_time(llama_job *job, int64_t prompt_tokens, int64_t tokens, double *us) TSR_MUST_USE;
/* "8117 (a1b2c3d)", by the last run; "": unknown. */
const char *llama_version(const llama_job *job);
void llama_destroy(llama_job **job);
#endif
