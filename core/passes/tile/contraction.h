/* core/passes/tile/contraction.h - a product on its way to a tessera.tile.contract (tile/contraction.c), all of k, or
 * in parts that a second kernel adds. */
#ifndef CORE_PASSES_TILE_CONTRACTION_H
#define CORE_PASSES_TILE_CONTRACTION_H
#include "core/passes/tile/build.h"

typedef struct mm_operand {
  ir_value *value;   /* operand of the contraction */
  kb_space s;        /* as stored: the operand's last two dimensions */
  bool transpose;    /* stored [k, m] or [n, k] */
  const ir_type *orig;
  bool in_order;     /* its window is not flipped to lie as memory does */
} mm_operand;

typedef struct contraction {
  ir_op *op;
  graph_contract g;
  const ir_type *orig; /* [batch..., m, n] */
  kb_space c;
  mm_operand a, b;
  int64_t bm, bn, bk;
  int64_t chunk;     /* depth of one part of a split contraction; k if it is not split */
  ir_value *part;    /* which part this block computes */
  ir_value *from, *to; /* the range of k in place of all of it; NULL = none given */
  bool by_rows;        /* a few rows, each for itself (tile/expand_gemv.c) */
  kb_space before;     /* that of c, for what the epilogue reads and is computed before the product */
} contraction;

/* The workspace [parts, batch..., m, n] as a memory operand, at a fixed part (`part` elements further). */
kb_mem mm_workspace(const kb_kernel *k, const contraction *x, int64_t part);
/* Grid of a split contraction: parts are further block columns. */
tsr_status mm_split_grid(kb_kernel *k, contraction *x);
/* A tile's window in the workspace, at this block's part. */
tsr_status mm_part_window(kb_kernel *k, const contraction *x, const kb_space *at, ir_value **out);

/* The product over the range of k, on the tile at c.at, with all that the kernel stores: its results or, of a part of a
 * split contraction, the sum; windows: where to, made before. */
tsr_status mm_contract(kb_kernel *k, contraction *x, ir_value *const *windows);

/* Steps shared out among blocks (tile/stream_k.c): the workspace's type, NULL if the schedule has no such thing or the
 * product can't; the kernel that makes the pieces; the tile (a part of the first kernel's) and the sum of the kernel
 * that adds them. */
const ir_type *mm_stream_k_type(ir_module *m, const ir_op *product, const tsr_caps *caps, const sched_params *p);
tsr_status mm_stream_k_parts(kb_kernel *k, contraction *x);
void mm_stream_k_tile(const kb_kernel *k, contraction *x);
tsr_status mm_stream_k_sum(kb_kernel *k, contraction *x, ir_value **out);
#endif
