/* tools/tessera/bench_model.h - `tessera bench FILE`: a whole model, an ONNX file or Graph IR text. */
#ifndef TOOLS_TESSERA_BENCH_MODEL_H
#define TOOLS_TESSERA_BENCH_MODEL_H
#include "tools/tessera/bench_env.h"

typedef struct bench_model_options {
  tsr_context *ctx;
  const char *device;  /* NULL: the first; "all" */
  const char *shape;   /* NAME=2x3,..; NULL: none */
  const char *against; /* peers, a comma list; NULL: none */
  tsr_compile_options compile;
  const bench_env *env;
  double seconds;
  long seed;
  bool json;
} bench_model_options;

/* Is that a file to measure, not an operation's name? */
bool bench_is_model(const char *name);
/* The exit status. */
int bench_model(const char *file, const bench_model_options *o);
#endif
