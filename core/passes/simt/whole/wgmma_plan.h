/* core/passes/simt/whole/wgmma_plan.h - which matmul kernels simt/whole/wgmma.c takes, and how: stages, warpgroups,
 * cluster and what lies where in shared memory. */
#ifndef CORE_PASSES_SIMT_WHOLE_WGMMA_PLAN_H
#define CORE_PASSES_SIMT_WHOLE_WGMMA_PLAN_H
#include "core/passes/simt/whole/epilogue.h"
#include "core/passes/simt/whole/match.h"

enum { WGMMA_ATOM = 128 }; /* bytes of the swizzle */

typedef struct wgmma_side {
  bool mn_major;     /* memory runs along m or n */
  int box[2];        /* elements, lines: one TMA copy */
  int n_boxes;       /* per stage */
  int64_t bytes;     /* per stage */
} wgmma_side;

typedef struct wgmma_plan {
  simt_matmul mm;
  int size, per_atom, k_step; /* bytes of an element, elements of 128 bytes, depth of one wgmma */
  int consumers, blocks;      /* warpgroups; 64-row blocks of each */
  int cluster, stages, ctas;
  wgmma_side a, b;
  bool tma_store, promote;    /* promote: sums of 128 of k are added up in f32 */
  simt_tile_store store;
  int64_t at_a, at_b, at_full, at_empty, shared;
} wgmma_plan;

/* NULL: planned; else why the kernel isn't taken. */
const char *simt_wgmma_plan_kernel(const ir_op *kernel, const tsr_caps *caps, wgmma_plan *p);
#endif
