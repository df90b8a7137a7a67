/* core/runtime/tune_rates.h - a device's profile with the rates that it was seen to reach. */
#ifndef CORE_RUNTIME_TUNE_RATES_H
#define CORE_RUNTIME_TUNE_RATES_H
#include "core/runtime/internal.h"
#include "core/tune/tuner.h"

/* The device's profile with its measured rates: from the cache, else (with `compile`) measured now and kept. */
tsr_status rt_tune_device(tsr_device *dev, tune_cache *cache, rt_compile_fn compile, tune_device *out);
#endif
