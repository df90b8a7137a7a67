/* core/runtime/tune_kernel.h - one kernel as the tuner's target: compiled alone with a candidate's parameters, by a
 * function handed in, run on scratch operands, and compared with the oracle. */
#ifndef CORE_RUNTIME_TUNE_KERNEL_H
#define CORE_RUNTIME_TUNE_KERNEL_H
#include "core/runtime/internal.h"
#include "core/tune/kernel.h"
#include "core/tune/tuner.h"

/* One kernel ready for the tuner. Filled by rt_kernel_open; do not move. */
typedef struct rt_kernel {
  tsr_device *dev;
  rt_compile_fn compile;
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

/* False in *worth: nothing to tune. `compile` makes the candidates; NULL where none will be. */
tsr_status rt_kernel_open(tsr_device *dev, const ir_op *kernel, tsr_policy policy, const tune_device *device,
                          rt_compile_fn compile, rt_kernel *out, bool *worth);
void rt_kernel_close(rt_kernel *k);
/* What is written into the kernel for a config. Nothing for the default: it is what the lowering does by itself, to the
 * last bit of code. */
sched_params rt_kernel_params(const rt_kernel *k, const tune_config *c);
/* Uniform in [-1, 1], small integers for integer types. */
void rt_fill_random(tsr_dtype t, void *p, size_t bytes, uint64_t seed);
#endif
