/* core/runtime/compile_cached.h - compiling with the cache's schedules: one that doesn't compile, where the untuned
 * program does, loses its place in the cache and gives way to its runner-up, then to the default. */
#ifndef CORE_RUNTIME_COMPILE_CACHED_H
#define CORE_RUNTIME_COMPILE_CACHED_H
#include "core/runtime/spills.h"

/* What compile.c hands in. once: one try, which takes m; after a failure *failed, where it is asked for, is what there
 * was of the program, for rt_tune_failed. whole: what a program that falls back is compiled anew with. */
typedef struct rt_compilers {
  tsr_status (*once)(tsr_device *dev, ir_module *m, const tsr_compile_options *o, rt_lighter *lighter,
                     tsr_program **out, tsr_program **failed);
  rt_compile_fn whole;
} rt_compilers;

/* Takes m. */
tsr_status rt_compile_cached(tsr_device *dev, ir_module *m, const tsr_compile_options *o, rt_lighter *lighter,
                             const rt_compilers *c, tsr_program **out);
#endif
