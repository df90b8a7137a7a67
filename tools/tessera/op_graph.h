/* tools/tessera/op_graph.h - a graph from what the user names: a FILE of Graph IR text, or one OP with a shape and a
 * type. */
#ifndef TOOLS_TESSERA_OP_GRAPH_H
#define TOOLS_TESSERA_OP_GRAPH_H
#include "core/ir/graph/ops.h"
#include "tools/tessera/cli.h"

/* Says that --dtype has no place beside a file; the exit status. */
int op_graph_dtype(const char *command, const char *file);
/* `what` with a `/` or `.` or an existing file is a file; its shape, if any, is "A=2x3,B=3x4" for unknown dimensions.
 * An op: matmul takes [B,]M,N,K, others ROWSxCOLS or N elements. Returns an exit code; 0 and *out on success, else one
 * line was printed. */
int op_graph(const char *command, tsr_context *ctx, const char *what, const char *shape, const char *dtype,
             tsr_graph **out);
bool op_graph_is_file(const char *what);
/* The graph op's own short name, of a name that there is for one use of it, too ("decode_9_3"). */
const char *op_graph_name(const char *op);
/* The row of the graph op of a short name ("matmul"); NULL: there is none. */
const ir_opdef *op_graph_row(const char *op);
/* What its row says of the op: its kind, and how many operands a graph of this op alone gives it. Of a name that there
 * is not: pointwise, 1. */
graph_kind op_graph_kind(const char *op);
enum { OP_GRAPH_OPERANDS = 6, OP_GRAPH_RESULTS = 4 }; /* at most */
int op_graph_operands(const char *op);
int op_graph_results(const char *op);
/* The attributes that such a graph of the op has: reductions go along the last axis, others have what they need.
 * Returns how many; *out is static. */
int op_graph_attrs(const char *op, const tsr_attr **out);
/* The operand's type where the graph's is t: i32 of indices, bool of masks. Is it one of indices of rows? And its shape
 * where the graph's is s. */
tsr_dtype op_graph_operand_type(const char *op, int operand, tsr_dtype t);
bool op_graph_is_index(const char *op, int operand);
/* Is it a square matrix with a diagonal that is larger than what else a row has? */
bool op_graph_is_dominant(const char *op, int operand);
tsr_shape op_graph_operand(const char *op, int operand, tsr_shape s);
#endif
