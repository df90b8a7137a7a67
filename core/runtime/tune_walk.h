/* core/runtime/tune_walk.h - the kernels of a graph that tuning on purpose goes over: searched (graph_tune.c), or told
 * of (tune_explain.c). */
#ifndef CORE_RUNTIME_TUNE_WALK_H
#define CORE_RUNTIME_TUNE_WALK_H
#include "core/runtime/tune.h"

/* What every kernel of the graph is handed to. stop ends the walk. */
typedef struct rt_tune_walk {
  tsr_device *dev;
  const tsr_tune_options *tune;
  tune_cache *cache;
  tsr_tune_report *report;
  strb *text;
  const tsr_schedule *candidate;
  const char *label;
  bool stop, estimates; /* estimates: fn is handed kernels without a space too, as long as their problem is known */
} rt_tune_walk;
typedef tsr_status (*rt_tune_kernel_fn)(rt_tune_walk *w, rt_kernel *k);

/* Compiles the graph as it is and hands each kernel that can be tuned to fn. measure: the device's rates, if they are
 * not known. */
tsr_status rt_each_kernel(rt_tune_walk *w, const tsr_graph *g, const tsr_compile_options *o, bool measure,
                          rt_tune_kernel_fn fn);
tsr_status rt_check_tune_options(const tsr_device *dev, const tsr_compile_options *o, const tsr_tune_options *t);
#endif
