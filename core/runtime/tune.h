/* core/runtime/tune.h - where the compiler meets the tuner: looks decisions up while compiling (rt_tune_schedule in
 * internal.h: never fails the compilation but for a lost device or no memory), and searches when asked. What is to be
 * measured is compiled through a function handed in: nothing here calls the compiler above. */
#ifndef CORE_RUNTIME_TUNE_H
#define CORE_RUNTIME_TUNE_H
#include "core/runtime/tune_kernel.h"
#include "core/runtime/tune_rates.h"
#include "core/runtime/tuned.h"
#include "core/tune/record.h"
#include "tessera/tune.h"

/* The cache of that name, opened once a context; NULL when there is none. `create` makes the file. */
tune_cache *rt_tune_cache(tsr_context *ctx, const char *name, bool create);
#endif
