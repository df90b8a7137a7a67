/* bench/baselines/llama.c - see llama.h. */
#include "bench/baselines/llama.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/baselines/tool.h"
#include "core/base/json.h"

struct llama_job {
  char program[4096], version[96];
  const char *model;
  int threads;
  bool gpu;
};

tsr_status llama_create(const char *model, int threads, bool gpu, llama_job **job) {
  llama_job *j = *job = calloc(1, sizeof *j);
  if (!j) return st_oom();
  j->model = model;
  j->threads = threads;
  j->gpu = gpu;
  if (tool_find("llama-bench", j->program, sizeof j->program)) return NULL;
  llama_destroy(job);
  return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL), "no llama-bench in PATH");
}

/* An array of one object, whose samples_ns has one number. */
static tsr_status read_result(llama_job *j, const char *text, size_t n, double *us) {
  arena a;
  json *all = NULL;
  arena_init(&a, NULL);
  tsr_status st = json_parse(&a, text, n, "llama-bench", &all);
  const json *row = !st && all->type == JSON_ARRAY ? all->first : NULL, *samples = json_get(row, "samples_ns");
  const bool good = samples && samples->type == JSON_ARRAY && samples->n == 1 && samples->first->number > 0;
  if (good) {
    *us = samples->first->number / 1e3;
    snprintf(j->version, sizeof j->version, "%d (%s)", (int)json_i32(row, "build_number", 0),
             json_str(row, "build_commit", "?"));
  }
  arena_clear(&a);
  if (st || good) return st;
  return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL), "llama-bench gives no time of a run");
}

tsr_status llama_time(llama_job *j, int64_t prompt_tokens, int64_t tokens, double *us) {
  char prompt[24], generated[24], threads[16];
  strb out;
  snprintf(prompt, sizeof prompt, "%lld", (long long)prompt_tokens);
  snprintf(generated, sizeof generated, "%lld", (long long)tokens);
  snprintf(threads, sizeof threads, "%d", j->threads);
  const char *const argv[] = {"llama-bench", "-m", j->model, "-p", prompt, "-n", generated, "-t", threads, "-r", "1",
                              "-ngl", j->gpu ? "99" : "0", "-o", "json", NULL};
  strb_init(&out, NULL);
  tsr_status st = tool_run(j->program, argv, false, &out);
  if (!st) st = read_result(j, strb_text(&out), out.n, us);
  strb_clear(&out);
  return st;
}

const char *llama_version(const llama_job *j) { return j->version; }

void llama_destroy(llama_job **job) {
  if (!job) return;
  free(*job);
  *job = NULL;
}
