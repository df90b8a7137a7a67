/* core/dist/reshard.h - the moves that bring a tensor from one way to lie to another: each one graph op on what a rank
 * has. Partial sums are scattered where they are cut anyway, and added up everywhere only where they are needed
 * whole. */
#ifndef CORE_DIST_RESHARD_H
#define CORE_DIST_RESHARD_H
#include "core/dist/spec.h"
#include "core/ir/graph/ops.h"

enum { DIST_MAX_MOVES = 32 };

typedef struct dist_move {
  graph_code code; /* all_reduce, reduce_scatter, all_gather, all_to_all, shard_slice */
  uint32_t axes;
  int dim, to; /* cut or joined; all_to_all: `dim` is cut, `to` joined */
  dist_how how;
  dist_spec after;
} dist_move;

/* Returns how many moves, in their order; -1: there are none (a whole value doesn't become partial). */
int dist_reshard(const dist_mesh *m, const dist_spec *from, const dist_spec *to, const int64_t *dims, dist_move *out);
/* The element type of what a rank has of v where it lies as s: parts of a sum of narrow floats are f32, so that the sum
 * is rounded once, as on one device. */
tsr_dtype dist_part_dtype(const ir_value *v, const dist_spec *s);
/* Bytes of the vector that a move is about, as core/coll counts them; before and after are what a rank has, of elements
 * of type t. */
double dist_move_bytes(const dist_mesh *m, const dist_move *v, const dist_spec *before, const ir_type *whole,
                       tsr_dtype t);
#endif
