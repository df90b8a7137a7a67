/* One matmul on a pool of threads, on the kernels alone: the launch that the Tile IR interpreter makes, without the
 * interpreter. Kept small on purpose: it is the model to copy, and the place to try another decomposition. */
#ifndef BENCH_KERNELS_GEMM_LAUNCH_H
#define BENCH_KERNELS_GEMM_LAUNCH_H

#include "backends/cpu/kernels/kernels.h"

#include <stdatomic.h>

/* A hint to the processor in a loop that waits. */
static inline void gemm_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

typedef struct gemm_job {
  const cpuk_table *table;
  cpuk_plan_args shape; /* strides and types of A and B; b_packed: b is already packed, k block after k block */
  cpuk_plan plan;
  const void *a, *b;
  void *c; /* m x n, row stride ldc, of the kind's acc_type */
  ptrdiff_t ldc;
  void *packed_b;          /* gemm_packed_b_bytes(): written by the launch unless b_packed */
  void *scratch[64];       /* per thread: gemm_scratch_bytes() */
  atomic_uint *panel_state; /* one per panel and k block, zero before the launch */
  atomic_uint next_block, waiting;
} gemm_job;

size_t gemm_packed_b_bytes(const gemm_job *job);
size_t gemm_scratch_bytes(const gemm_job *job);
size_t gemm_n_panels(const gemm_job *job); /* of panel_state */
/* Packs all of B ahead, in the order that the launch expects. */
void gemm_pack_all_b(const gemm_job *job, void *dst);
/* The work of thread `me` of `n_threads`; all of them call it. */
void gemm_run_thread(gemm_job *job, unsigned me, unsigned n_threads);

#endif
