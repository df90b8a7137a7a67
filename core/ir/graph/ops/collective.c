/* core/ir/graph/ops/collective.c - what the ranks of a mesh do together: rows and shape rules. One device alone can't
 * evaluate them (but those of one rank, which change nothing): the meaning of a sharded program is that of the program
 * without shards. See ir/graph/collective.h. */
#include <string.h>

#include "core/ir/graph/ops/adjoint.h"
#include "core/ir/shard.h"

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static tsr_status check_axes(const ir_op *op) {
  const char *axes = ir_get_str(op, "axes", "");
  const int64_t ranks = ir_get_int(op, "ranks", 0);
  if (strpbrk(axes, ",|*:") || ir_shard_fault(axes, 1))
    return ir_error(op, "\"tp\", or several with the outer first: \"dp+tp\"", "axes \"%.80s\" names no axes of a mesh",
                    axes);
  return ranks < 1 || ranks > 1 << 20 ? ir_error(op, "1 to 2^20", "%lld ranks", (long long)ranks) : NULL;
}

static tsr_status check_reduction(const ir_op *op, tsr_dtype t) {
  static const char *const known[] = {"sum", "max", "min", "prod"};
  const char *r = ir_get_str(op, "reduction", "sum");
  if (dtype_is_complex(t) && strcmp(r, "sum"))
    return ir_error(op, "sum", "complex numbers have no %.20s", r);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(known[i], r)) return NULL;
  return ir_error(op, "sum, max, min or prod", "unknown reduction \"%.40s\"", r);
}

static tsr_status check_operand(const ir_op *op) {
  const ir_type *x = op->operands[0]->type;
  return x && x->kind == IR_T_TENSOR ? NULL : ir_error(op, op->def->operands_doc, "operand 0 must be a tensor");
}

static tsr_status infer_same(ir_op *op, const ir_type **results) {
  TSR_TRY(check_operand(op));
  TSR_TRY(check_axes(op));
  const ir_type *x = op->operands[0]->type;
  const int64_t root = ir_get_int(op, "root", 0);
  if (op->def->code == G_ALL_REDUCE) TSR_TRY(check_reduction(op, x->dtype));
  if (root < 0 || root >= ir_get_int(op, "ranks", 1))
    return ir_error(op, NULL, "root %lld of %lld ranks", (long long)root, (long long)ir_get_int(op, "ranks", 1));
  if (op->def->code == G_SHARD_MASK) {
    TSR_TRY(shape_axis(op, "dim", ir_get_int(op, "dim", 0), x->rank));
    if (ir_get_int(op, "extent", 0) < 0) return ir_error(op, NULL, "the extent is negative");
  }
  return shape_finish(op, x->dtype, x->rank, x->dims, results);
}

static tsr_status cut(ir_op *op, const ir_type *x, int64_t dim, int64_t *d) {
  const int64_t ranks = ir_get_int(op, "ranks", 1);
  TSR_TRY(shape_axis(op, "dim", dim, x->rank));
  *d = dim < 0 ? dim + x->rank : dim;
  if (x->dims[*d] == IR_DYNAMIC || x->dims[*d] % ranks == 0) return NULL;
  return ir_error(op, "pad it first", "dimension %lld of %lld can't be cut into %lld equal parts", (long long)*d,
                  (long long)x->dims[*d], (long long)ranks);
}

static tsr_status join(ir_op *op, const ir_type *x, int64_t dim, int64_t *d) {
  TSR_TRY(shape_axis(op, "dim", dim, x->rank));
  *d = dim < 0 ? dim + x->rank : dim;
  return NULL;
}

/* Dimensions are cut, joined, or one of each. */
static tsr_status infer_moved(ir_op *op, const ir_type **results) {
  TSR_TRY(check_operand(op));
  TSR_TRY(check_axes(op));
  const ir_type *x = op->operands[0]->type;
  const int64_t ranks = ir_get_int(op, "ranks", 1), dim = ir_get_int(op, "dim", 0);
  int64_t dims[TSR_MAX_RANK], d;
  memcpy(dims, x->dims, sizeof dims);
  if (op->def->code == G_REDUCE_SCATTER) TSR_TRY(check_reduction(op, x->dtype));
  if (op->def->code != G_ALL_GATHER) {
    TSR_TRY(cut(op, x, dim, &d));
    if (dims[d] != IR_DYNAMIC) dims[d] /= ranks;
  }
  if (op->def->code == G_ALL_GATHER || op->def->code == G_ALL_TO_ALL) {
    TSR_TRY(join(op, x, op->def->code == G_ALL_TO_ALL ? ir_get_int(op, "to", 0) : dim, &d));
    if (dims[d] != IR_DYNAMIC && __builtin_mul_overflow(dims[d], ranks, &dims[d]))
      return ir_error(op, NULL, "the joined dimension overflows 64 bits");
  }
  return shape_finish(op, x->dtype, x->rank, dims, results);
}

static tsr_status eval_alone(graph_evaluator *e, ir_op *op, int64_t at) {
  if (ir_get_int(op, "ranks", 1) != 1)
    return ir_error_at(op, op->loc, TSR_UNSUPPORTED, "run it on a mesh: docs/distributed.md",
                       "one device can't evaluate a collective of %lld ranks", (long long)ir_get_int(op, "ranks", 1));
  graph_write(e, op->results[0], at, graph_read(e, op->operands[0], at));
  return NULL;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define AXES {"axes", IR_A_STR, true, NULL, "axes of the mesh, the outer first: \"tp\", \"dp+tp\""}
#define RANKS {"ranks", IR_A_INT, true, NULL, "ranks along them"}
#define DIM(what) {"dim", IR_A_INT, false, "0", what}
#define CHUNK                                                                                                        \
  {"chunk", IR_A_INT, false, NULL, "which chunk of a product's rows x is: it goes by itself, beside the next one's product"}
#define REDUCTION {"reduction", IR_A_STR, false, "sum", "sum, max, min or prod"}
#define OP(CODE, s, rule, ...)                                                                                        \
  NAME(CODE, s), .flags = IR_PURE, .min_operands = 1, .max_operands = 1, .n_results = 1, .operands_doc = "x",           \
      .infer = rule, .ext = ROW(GRAPH_COLLECTIVE, eval_alone, .words = words_reduce), .attrs = ATTRS(AXES, RANKS, __VA_ARGS__)
#define NONE A_END

static const ir_opdef rows[] = {
    {OP(ALL_REDUCE, "all_reduce", infer_same, REDUCTION, CHUNK), .types_doc = ANY AND_COMPLEX,
     .help = "Every rank gets the sum of all ranks' x."},
    {OP(REDUCE_SCATTER, "reduce_scatter", infer_moved, DIM("the dimension that is cut"), REDUCTION, CHUNK), .types_doc = ANY AND_COMPLEX,
     .help = "Every rank gets its piece of the sum of all ranks' x."},
    {OP(ALL_GATHER, "all_gather", infer_moved, DIM("the dimension along which pieces are joined"), CHUNK), .types_doc = ANY AND_COMPLEX,
     .help = "Every rank gets all ranks' x, one behind the other."},
    {OP(ALL_TO_ALL, "all_to_all", infer_moved, DIM("the dimension that is cut"),
        {"to", IR_A_INT, false, "0", "the dimension along which what arrives is joined"}), .types_doc = ANY AND_COMPLEX,
     .help = "Each rank sends each other one piece of x, and joins what it gets in order of the ranks."},
    {OP(BROADCAST_FROM, "broadcast_from", infer_same, {"root", IR_A_INT, false, "0", "whose x all get"}),
     .types_doc = ANY AND_COMPLEX, .help = "Every rank gets one rank's x."},
    {OP(SEND, "send", infer_same, {"shift", IR_A_INT, false, "1", "1: to the next rank, the last one's to the first; "
        "-1: the other way round"}), .types_doc = ANY AND_COMPLEX,
     .help = "Sends x to a neighbour. The result is the message from the other neighbour on its way, for recv alone."},
    {OP(RECV, "recv", infer_same, NONE), .types_doc = ANY AND_COMPLEX, .help = "Waits for the message of a send."},
    {OP(BARRIER, "barrier", infer_same, NONE), .types_doc = ANY AND_COMPLEX, .help = "x, once all ranks have theirs."},
    {OP(SHARD_SLICE, "shard_slice", infer_moved, DIM("the dimension that is cut")), .types_doc = ANY AND_COMPLEX,
     .help = "The rank's own piece of an x that all ranks have alike; nothing is sent."},
    {OP(SHARD_MASK, "shard_mask", infer_same, DIM("the dimension that is cut and padded"),
        {"extent", IR_A_INT, true, NULL, "its extent on all ranks together, without padding"},
        {"reduction", IR_A_STR, false, "sum", "padding becomes what leaves this reduction as it is"}), .types_doc = ANY AND_COMPLEX,
     .help = "x with the padding behind the last element of a dimension set to what a reduction over it ignores."},
};

const ir_rows graph_collective_ops = {rows, sizeof rows / sizeof *rows};
