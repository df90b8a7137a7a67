/* core/dist/algebra.h - which dimensions of an op's operands and results may be cut together. A class is one axis of
 * the op's iteration space: cut by an axis of the mesh, each rank does its part of it. All of it follows from
 * graph_shard_of, that is from the op's kind and index expression; nothing here knows an op by name but those that are
 * linear. */
#ifndef CORE_DIST_ALGEBRA_H
#define CORE_DIST_ALGEBRA_H
#include "core/base/arena.h"
#include "core/dist/spec.h"
#include "core/ir/graph/ops.h"

enum { DIST_MAX_OPERANDS = 64 };

typedef struct dist_class {
  int result;                    /* the results' dimension; -1: the class is reduced, results are partial */
  dist_how how;                  /* of a reduced one */
  bool rounds;                   /* adding the parts up rounds, so that the sum's order matters */
  bool even;                     /* padding would count: cut evenly or not at all */
  int8_t dim[DIST_MAX_OPERANDS]; /* the operand's dimension; -1: needed whole */
} dist_class;

/* Classes of op, in the arena; NULL with *n = 0 where all must be whole. False when out of memory. */
bool dist_classes(arena *a, const ir_op *op, dist_class **out, int *n);

/* Does op of partial operands (a bit for each of its first 64) give the partial result, other operands being whole? */
bool dist_passes_partial(const ir_op *op, uint64_t partial, dist_how how);
#endif
