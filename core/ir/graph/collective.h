/* core/ir/graph/collective.h - ops of kind GRAPH_COLLECTIVE as all see them: what the ranks along some axes of a mesh
 * do together, or what depends on the rank. They stand in the program of one rank, which all ranks run; programs of one
 * device have none. docs/distributed.md, "Collectives in graphs". */
#ifndef CORE_IR_GRAPH_COLLECTIVE_H
#define CORE_IR_GRAPH_COLLECTIVE_H
#include "core/ir/graph/ops.h"

typedef struct graph_collective {
  const char *axes;      /* of the mesh, the outer first: "tp", "dp+tp" */
  int64_t ranks;         /* along them */
  int dim, to;           /* the dimension that is cut or joined; all_to_all joins `to` */
  const char *reduction; /* sum, max, min, prod */
  int64_t root, shift;
  int64_t extent;        /* shard_mask: the whole dimension's, without padding */
} graph_collective;
/* op must have been verified. */
graph_collective graph_collective_get(const ir_op *op);

/* What a collective is built with beyond its operand; zero: the default. */
ir_value *graph_collective_build(ir_builder *b, graph_code c, ir_value *x, const graph_collective *with);
/* Does anything go over links? */
bool graph_collective_moves(const ir_op *op);
#endif
