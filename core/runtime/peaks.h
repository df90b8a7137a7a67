/* core/runtime/peaks.h - what a device can do, by loops of its own (tsr_device_peaks). */
#ifndef CORE_RUNTIME_PEAKS_H
#define CORE_RUNTIME_PEAKS_H
#include "core/runtime/internal.h"
#include "core/tune/tuner.h"
#include "tessera/profile.h"

/* From the cache, or measured with `compile` and kept; `cache` may be NULL. All 0 for a device without hardware. */
tsr_status rt_peaks(tsr_device *dev, tune_cache *cache, rt_compile_fn compile, tsr_dtype t, bool again,
                    tsr_peaks *out);
#endif
