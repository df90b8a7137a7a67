/* tools/tessera/bench_env.h - what a benchmark's figures depend on beside the case itself, recorded with each of them:
 * the machine, the library, what was asked for, the knobs that were set. What can't be read is null, never guessed. */
#ifndef TOOLS_TESSERA_BENCH_ENV_H
#define TOOLS_TESSERA_BENCH_ENV_H
#include "core/base/str.h"
#include "tools/tessera/bench.h"

typedef struct bench_env {
  char cpu[128], isa[32]; /* of the host, and the CPU kernels chosen; "": unknown */
  char os[200], governor[32], when[32];
  int cores, threads;     /* online; of the CPU backend */
  int least_runs;         /* of a case, whatever time they take */
  double cpu_mhz, load;   /* 0: unknown; load: negative: unknown. Both at the start */
  const char *tune;
  long seed, milliseconds;
} bench_env;

/* `tune` NULL: as the knob TSR_TUNE says. */
tsr_status bench_env_read(tsr_context *ctx, const char *tune, long seed, long milliseconds,
                          bench_env *out) TSR_MUST_USE;
/* A JSON object. */
void bench_env_json(const bench_env *e, const tsr_device_info *d, FILE *f);
/* One line without its end. */
void bench_env_text(const bench_env *e, strb *out);
#endif
