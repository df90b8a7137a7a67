/* core/profile/verdict.h - the rules of docs/checklist.md and docs/occupancy.md as functions of what they look at. A
 * negative input means that the device does not tell; the verdict is then "unknown", never a guess. */
#ifndef CORE_PROFILE_VERDICT_H
#define CORE_PROFILE_VERDICT_H
#include "tessera/base.h"

typedef enum verdict { VERDICT_UNKNOWN, VERDICT_PASS, VERDICT_FAIL } verdict;
const char *verdict_name(verdict v);

/* >= 50 % is enough where the kernel's flops per byte reach the device's ridge; below the ridge latency must be hidden
 * by warps, so 50 % is required there too and `hint` differs. Negative inputs are unknown. */
verdict verdict_occupancy(double fraction, double flops_per_byte, double ridge, const char **hint);
/* Spilled bytes per thread as the driver tells them; negative: unknown. */
verdict verdict_spills(int64_t spill_bytes, const char **hint);
/* Against the advised figure; 0 or less: unknown. */
verdict verdict_registers(int32_t regs, int32_t ideal, const char **hint);
verdict verdict_shared(int64_t bytes, int64_t limit, const char **hint);
/* Share of accesses whose lanes are contiguous (0..1), and bytes per access of a lane. */
verdict verdict_coalescing(double contiguous, const char **hint);
verdict verdict_alignment(int64_t bytes_per_access, const char **hint);
/* Ways of the worst bank conflict; 0 where no shared memory is used. */
verdict verdict_padding(int ways, const char **hint);
/* Async copy and at least two stages; only asked of kernels with a k loop. `possible`: the device has async copy. */
verdict verdict_pipeline(int stages, int async_copy, bool possible, const char **hint);
/* fits: 1, 0, or -1 where the tile is not known. */
verdict verdict_tile(int fits, const char **hint);
/* A schedule from the tuner (1, 0, negative: not known) and a cache on disk that keeps it. */
verdict verdict_tuned(int tuned, int cache_persistent, const char **hint);
/* Tensors without a ShardSpec; asked of programs on several devices. */
verdict verdict_sharding(int n_devices, int implicit_shards, const char **hint);
/* At least half of the communication runs beside compute. */
verdict verdict_overlap(int n_devices, double comm_ns, double overlapped_ns, const char **hint);
/* Products of at most 16-bit inputs summed in 32 bits or more; TSR_DTYPE_NONE: not known. */
verdict verdict_precision(tsr_dtype widest_input, tsr_dtype accumulator, const char **hint);
/* Deterministic where the same bits are needed again. */
verdict verdict_policy(const char *policy, bool needs_reproducible, const char **hint);
#endif
