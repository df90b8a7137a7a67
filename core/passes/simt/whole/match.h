/* core/passes/simt/whole/match.h - a kernel of Tile IR that is one contraction (tile/contract.h: the op, or a loop
 * written by hand), an elementwise epilogue (the op's region, or maps behind it) and stores, for lowerings that replace
 * the whole kernel with one of their own, and gives them the parts that don't depend on how: index expressions of a
 * tile, and the epilogue of a few neighbouring elements. */
#ifndef CORE_PASSES_SIMT_WHOLE_MATCH_H
#define CORE_PASSES_SIMT_WHOLE_MATCH_H
#include "core/device/caps.h"
#include "core/ir/tile/contract.h"
#include "core/ir/tile/tile.h"
#include "core/passes/target/build.h"

/* One operand: a window whose kept dimensions are (row, column) of memory, in the order of the view. */
typedef struct simt_side {
  ir_value *arg;      /* kernel argument (Tile IR) */
  const ir_op *window;
  const ir_type *view;
  int row, col;       /* dimensions of the view that the tile covers; col is the last one */
  int k_dim;          /* the one along k */
  bool transposed;    /* a: stored [k, m]; b: stored [n, k] */
  tsr_dtype dtype;
} simt_side;

enum { SIMT_EPILOGUE_ARGS = 33, SIMT_EPILOGUE_OPS = 2048 }; /* of an epilogue's region: as fusion makes them */
enum { WHOLE_MOST_ARGS = 64 };                             /* of the kernel */

/* What is stored: a fragment, or what the contraction's epilogue yields for an output. */
typedef struct simt_stored {
  const ir_value *value;
  const ir_op *window;
} simt_stored;

typedef struct simt_matmul {
  const ir_op *kernel;
  const ir_op *contract;     /* the op, or the loop that is one */
  const ir_block *epilogue;  /* of the op, NULL of a loop: its arguments are the sum and `others` */
  ir_value *const *others;
  int n_outputs;             /* values that it yields before the op's results */
  const ir_value *counter; /* of a loop: what the operands' windows move by; NULL: they stand at k = 0 */
  const ir_op *tiles; /* the loop around all this over the tiles that a block has a share of (stream_k); NULL = one tile
                         a block */
  simt_side a, b;
  int64_t m, n, k;    /* the problem; k is what the loop covers */
  ir_value *last_k;   /* where it ends, in a loop over tiles; NULL = after k */
  ir_value *first_k;  /* where the loop starts, for a part of a split contraction; NULL = at 0 */
  int64_t bm, bn, bk;
  int64_t grid[3];
  int stages;
  tsr_dtype c;        /* of the accumulator */
  simt_stored stores[4];
  int n_stores;
} simt_matmul;

/* False with *why set when the kernel isn't one. */
bool simt_matmul_match(const ir_op *kernel, simt_matmul *out, const char **why);

/* v is one known integer. */
bool simt_known_index(const ir_value *v, int64_t *out);
/* The kernel's argument under a chain of views that keep the origin; NULL if there is none. */
ir_value *simt_argument_of(ir_value *v);

/* Where code is being made: values that stand for the block's position and the loop counter. */
typedef struct simt_place {
  tgb *t;
  const simt_matmul *mm;
  ir_value *const *args; /* Target IR values of the kernel's arguments */
  ir_value *block[3], *k, *tile; /* tile: counter of the loop over tiles */
} simt_place;

/* A Tile IR index expression as Target IR. */
ir_value *simt_place_index(const simt_place *p, const ir_value *v);
/* Offset along dimension d of a window's view. */
ir_value *simt_place_offset(const simt_place *p, const ir_op *window, int d);

/* The epilogue's value for `w` (1, 2, 4, 8) neighbours (row, col .. col + w - 1) of the tile; what is stored by store
 * s, converted to the memory's type. acc holds the accumulator's elements. Reads are clamped into their views, so any
 * position is safe. */
void simt_epilogue(const simt_place *p, int s, ir_value *row, ir_value *col, int w, ir_value *const *acc,
                   ir_value **out);
/* The argument that store s writes. */
ir_value *simt_store_target(const simt_place *p, int s);
/* Stores epilogue results directly. */
void simt_store_direct(const simt_place *p, int s, ir_value *row, ir_value *col, int w, ir_value *const *acc);
#endif
