/* core/runtime/tune.h - where the compiler meets the tuner: looks decisions up while compiling (rt_tune_schedule in
 * internal.h: never fails the compilation but for a lost device or no memory), and searches when asked. */
#ifndef CORE_RUNTIME_TUNE_H
#define CORE_RUNTIME_TUNE_H
#include "core/runtime/internal.h"
#include "core/tune/kernel.h"
#include "core/tune/record.h"
#include "core/tune/tuner.h"
#include "tessera/tune.h"

/* One kernel ready for the tuner. Filled by rt_kernel_open; do not move. */
typedef struct rt_kernel {
  tsr_device *dev;
  tsr_policy policy;
  ir_module *schedule, *graph; /* the kernel alone */
  ir_op *kernel;
  tune_device device;
  tune_problem problem;
  tune_kernel_key key_text;
  tune_key key;
  tune_kernel_space space;
  tune_config dflt;
  bool gemv; /* up to four rows: memory sets the time, and the kernel is no point of the space */
  tune_target target;
  tsr_buffer **in, **out;      /* scratch operands, made on first use */
  void **host;                 /* copies of the inputs, for the reference */
  size_t *host_bytes;
  int n_in, n_out;
  bool ready;                  /* all of these are there */
  struct graph_evaluator *oracle;
  double *ns;                  /* per launch */
  int n_ns;
  char driver[128];
  char bucket[96];             /* shape text of its bucket; "": it shares with nothing */
} rt_kernel;

/* False in *worth: nothing to tune. */
tsr_status rt_kernel_open(tsr_device *dev, const ir_op *kernel, tsr_policy policy, const tune_device *device,
                          rt_kernel *out, bool *worth);
void rt_kernel_close(rt_kernel *k);
/* What is written into the kernel for a config. Nothing for the default: it is what the lowering does by itself, to the
 * last bit of code. */
sched_params rt_kernel_params(const rt_kernel *k, const tune_config *c);

/* The device's profile with its measured rates: from the cache, else (with `measure`) measured now and kept. */
tsr_status rt_tune_device(tsr_device *dev, tune_cache *cache, bool measure, tune_device *out);
/* The cache of that name, opened once a context; NULL when there is none. `create` makes the file. */
tune_cache *rt_tune_cache(tsr_context *ctx, const char *name, bool create);
/* Did the author of a schedule.kernel write parameters, without leaving the choice to the tuner? */
bool rt_tune_is_fixed(const ir_op *kernel);
/* Did this kernel's schedule come from the tuner? */
bool rt_was_tuned(const tsr_program *p, const char *kernel);
bool rt_any_tuned(const tsr_program *p);
/* Uniform in [-1, 1], small integers for integer types. */
void rt_fill_random(tsr_dtype t, void *p, size_t bytes, uint64_t seed);
#endif
