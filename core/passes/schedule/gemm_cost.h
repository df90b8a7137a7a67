/* core/passes/schedule/gemm_cost.h - what a product on tiles comes to, counted once for all who estimate: blocks, steps
 * of k, the sums of its parts. The choice of defaults (schedule/gemm_heuristics.c) and the tuner's model
 * (tune/family_matmul_cost.c) put rates to these counts, the first to two terms in whole rounds, the second to every
 * term that a measured device has; device/roofline.h adds them up. Numbers are doubles: extents come from users and
 * files. */
#ifndef CORE_PASSES_SCHEDULE_GEMM_COST_H
#define CORE_PASSES_SCHEDULE_GEMM_COST_H

typedef struct gemm_tiling {
  double batch, m, n, k; /* the product */
  double tile_m, tile_n, tile_k;
  double parts;        /* of k (split_k), from 1 on */
  double sharing; /* blocks among which all steps are shared out (stream_k); 0: each block has a tile or its part */
  double in_bytes, acc_bytes; /* of an element */
} gemm_tiling;

typedef struct gemm_counts {
  double tiles_m, tiles_n, tiles; /* all: with the batch */
  double steps, each;             /* of a tile; of a block, whole ones but where parts divide a step */
  double blocks;
  double operand_bytes;           /* each matrix of the batch once */
  double partial_bytes;           /* sums that are written by one block and read by another kernel */
} gemm_counts;

gemm_counts gemm_count(const gemm_tiling *t);

#endif
