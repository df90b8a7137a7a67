/* core/passes/schedule/gemm_heuristics.h - what a GPU runs a contraction with when its author left that open: the path,
 * the tile, and into how many parts k is split. A small model (whole waves of blocks, the rate that a tile reaches,
 * bytes) decides; nothing is measured. */
#ifndef CORE_PASSES_SCHEDULE_GEMM_HEURISTICS_H
#define CORE_PASSES_SCHEDULE_GEMM_HEURISTICS_H
#include "core/device/caps.h"
#include "core/ir/schedule/schedule.h"

/* product: the contraction in a schedule.kernel. p: all zero on entry. */
void sched_matmul_default(const ir_op *product, const tsr_caps *c, sched_params *p);

/* The same with staged tiles in any case. */
void sched_matmul_tiles(const ir_op *product, const tsr_caps *c, sched_params *p);

/* How stream_k blocks share the steps of a product on tiles of p: a range of `each` steps a block, see tile/stream_k.c.
 * NULL, or why they can't. */
typedef struct sched_shares {
  int64_t rows, columns, tiles; /* tiles along m, n; all, with the batch */
  int64_t steps, each, blocks;  /* of a tile; of a block; those that get any */
} sched_shares;
const char *sched_stream_k(const ir_op *product, const tsr_caps *c, const sched_params *p, sched_shares *out);

#endif
