/* core/passes/schedule/gemm_cost.h - what a product on tiles comes to, counted once for all who estimate: blocks, steps
 * of k, operations, the sums of its parts. The choice of defaults (schedule/gemm_heuristics.c) and the tuner's model
 * (tune/family_matmul_cost.c) put rates to these counts, the first to two terms, the second to every term that a
 * measured device has; device/roofline.h adds them up. Numbers are doubles: extents come from users and files. */
#ifndef CORE_PASSES_SCHEDULE_GEMM_COST_H
#define CORE_PASSES_SCHEDULE_GEMM_COST_H

typedef struct gemm_tiling {
  double batch, m, n, k; /* the product */
  double tile_m, tile_n, tile_k;
  double parts;        /* of k (split_k), from 1 on */
  double sharing; /* blocks among which all steps are shared out (stream_k); 0: each block has a tile or its part */
  double in_bytes, acc_bytes; /* of an element */
  double grain_m, grain_n;    /* of kernels that stop at the edges: they compute multiples of this; 0: whole tiles */
} gemm_tiling;

typedef struct gemm_counts {
  double tiles_m, tiles_n, tiles; /* all: with the batch */
  double steps, each;             /* of a tile; of a block, whole ones but where parts divide a step */
  double blocks;
  double flops, block_flops;      /* with what tiles add: of all, and of a block's steps, rounded up to whole ones */
  double operand_bytes;           /* each matrix of the batch once */
  double partial_bytes;           /* sums that are written by one block and read by another kernel */
} gemm_counts;

gemm_counts gemm_count(const gemm_tiling *t);

/* The arithmetic of a product at `share` of `peak`, all cores' operations in a ns. On so many cores it ends when the
 * last round of whole blocks does; cores 0: it is spread evenly, and the caller has idle cores cost all terms alike
 * (`busy` of roofline_ns). */
double gemm_math_ns(const gemm_counts *c, double peak, double share, double cores);

#endif
