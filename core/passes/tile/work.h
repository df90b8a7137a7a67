/* core/passes/tile/work.h - what a tile.kernel does, counted from its text: arithmetic, traffic, how it lies in memory,
 * how it is staged. For profiles and the audit, of programs that were lowered and of programs written by hand. Loop
 * bounds may depend on the block (a causal mask); all blocks are then walked. What can't be known is negative. */
#ifndef CORE_PASSES_TILE_WORK_H
#define CORE_PASSES_TILE_WORK_H
#include "core/ir/tile/tile.h"

typedef struct tile_work {
  double flops; /* of a launch, what pads the tiles included; negative: a loop's or a branch's share is not known */
  double bytes;         /* each argument once; negative where a gather or a scatter chooses among their elements */
  double contiguous;    /* share of the elements moved to or from global memory whose neighbours are neighbours there;
                           negative: gathers, or none */
  bool has_gemm;
  tsr_dtype in, acc;    /* widest operand and narrowest accumulator of the products */
  int stages; /* of the loop around the products that copies tiles to shared memory; 0: no such loop, -1: the device's
                 default */
  bool async_copy;      /* its copies are asynchronous */
} tile_work;

void tile_work_count(const ir_op *kernel, tile_work *out);
#endif
