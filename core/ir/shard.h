/* core/ir/shard.h - how a tensor lies on the devices of a mesh, as text: for each dimension the axes that cut it, for
 * all together those over which each device has only a part of the sum. "dp,*" cuts rows along dp; "dp+tp,*" along
 * both, dp the outer one; "*,*|tp,pp:max" is whole, but each device's values must still be added up over tp and
 * compared over pp. In IR it stands behind the tensor's type: tensor<8x4xf32, {shard = ["dp", "*"], partial = ["tp"]}>.
 * A mesh is text too: "tp=2,dp=4". Nothing here knows devices; core/dist gives both a meaning. */
#ifndef CORE_IR_SHARD_H
#define CORE_IR_SHARD_H
#include "core/ir/ir.h"

typedef struct ir_shard_axis {
  const char *name; /* n characters */
  int n;
  int dim;         /* -1: partial */
  const char *how; /* of a partial axis: what is between ':' and the end of the entry, n_how characters */
  int n_how;
} ir_shard_axis;

/* The axis at *at, which begins at `shard` and is moved on; false: there are no more. */
bool ir_shard_next(const char **at, const char *shard, ir_shard_axis *out);
/* What is wrong with it for a tensor of this rank: one sentence; NULL: nothing. */
const char *ir_shard_fault(const char *shard, int rank);
/* shard = ["dp", "*"], partial = ["tp"] */
void ir_shard_print(strb *b, const char *shard);

/* The size of an axis of a mesh; 0: it has none of that name. */
int64_t ir_mesh_size(const char *mesh, const char *name, int n);
/* The axis at *at, which is moved on: size 0 where it has none; false: there are no more. */
bool ir_mesh_next(const char **at, const char **name, int *n, int64_t *size);
enum { IR_MESH_FAULT = 160 };
/* What is wrong with it, and with which axis, in `text`: one sentence; NULL: nothing. */
const char *ir_mesh_fault(const char *mesh, char text[IR_MESH_FAULT]);
#endif
