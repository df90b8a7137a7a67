/* tessera/graph.h - graphs: built by calls, parsed or imported, evaluated by the reference, and ops of one's own in
 * them. Included by tessera/tessera.h, whose rules hold. */
#ifndef TESSERA_GRAPH_H
#define TESSERA_GRAPH_H

#include "tessera/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_graph tsr_graph;

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

/* A value of a graph; 0 is never one. */
typedef uint32_t tsr_value;

/* A dimension that is known only when the graph is specialised: '?' in IR text. */
#define TSR_ANY_DIM (-1)

typedef struct tsr_shape {
  int rank;
  int64_t dims[TSR_MAX_RANK];
} tsr_shape;

typedef struct tsr_tensor_info {
  const char *name; /* "" for outputs without one */
  tsr_dtype dtype;
  tsr_shape shape;
  size_t bytes;
  int line, column; /* where the text that was parsed defines it; 0 for graphs built by calls */
} tsr_tensor_info;

typedef enum tsr_attr_kind {
  TSR_ATTR_INT,
  TSR_ATTR_FLOAT,
  TSR_ATTR_BOOL,
  TSR_ATTR_STRING,
  TSR_ATTR_INTS,
  TSR_ATTR_FLOATS
} tsr_attr_kind;
/* An attribute of an op, by the name `tessera ops` lists. */
typedef struct tsr_attr {
  const char *name;
  tsr_attr_kind kind;
  int64_t i;
  double f;
  const char *s;
  const int64_t *ints;
  int n_ints;
  const double *floats;
  int n_floats;
} tsr_attr;
#define TSR_INT(name_, v) {.name = (name_), .kind = TSR_ATTR_INT, .i = (v)}
#define TSR_FLOAT(name_, v) {.name = (name_), .kind = TSR_ATTR_FLOAT, .f = (v)}
#define TSR_BOOLEAN(name_, v) {.name = (name_), .kind = TSR_ATTR_BOOL, .i = (v)}
#define TSR_STRING(name_, v) {.name = (name_), .kind = TSR_ATTR_STRING, .s = (v)}
#define TSR_INTS(name_, v, n) {.name = (name_), .kind = TSR_ATTR_INTS, .ints = (v), .n_ints = (n)}
#define TSR_FLOATS(name_, v, n) {.name = (name_), .kind = TSR_ATTR_FLOATS, .floats = (v), .n_floats = (n)}

/* An empty graph with the given function name; NULL = "main". */
TSR_API TSR_MUST_USE tsr_status tsr_graph_create(tsr_context *ctx, const char *name, tsr_graph **out);
/* From IR text of the Graph level (any level for tsr_program_parse). `file` is for messages and may be NULL. The graph
 * can't be extended; its inputs are the values 1, 2, ... in order. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_parse(tsr_context *ctx, const char *text, size_t bytes, const char *file,
                                                tsr_graph **out);

/* Of an input of a model that is imported. */
typedef struct tsr_import_input {
  const char *name;
  tsr_shape shape;  /* rank -1: the model's own; so is a dimension of TSR_ANY_DIM. What the model leaves open under a
                       name is what another input's shape here has for that name */
  tsr_dtype dtype;  /* of data */
  const void *data; /* the elements, row-major, where the model's program depends on them (a shape that is an input): it
                       is then made for these. NULL: not known */
} tsr_import_input;

typedef struct tsr_import_desc {
  const char *path; /* of the file */
  const void *data; /* or what it holds, in memory: path is then the name in messages and may be NULL */
  size_t bytes;
  const tsr_import_input *inputs; /* of those that the model leaves open; may be NULL */
  int n_inputs;
  bool bounded; /* a result of as many elements as the inputs make of it (NonZero, NonMaxSuppression) is as long as it
                   can be, with -1 behind the last one; else it is refused where that number isn't known */
} tsr_import_desc;
/* A model file as a graph, by its content: ONNX, or IR text of the Graph level. Of an ONNX model all dimensions become
 * numbers: those that it leaves open are given in desc->inputs. The graph can't be extended; its inputs are the values
 * 1, 2, ... in the model's order, with its names where IR text can hold them, else with _ for characters that it can't.
 * An input that is a sequence is as many tensors as desc->inputs gives shapes of, named NAME[0], NAME[1] and on; one
 * named NAME[], of any shape, says that the sequence is empty, or that an optional input is left out. Each tensor is an
 * input of its own, and so is each of an output that is a sequence.
 * In IR text dimensions stay open where desc->inputs is empty; else none may be left. TSR_NOT_FOUND: there is no input
 * of such a name. TSR_UNSUPPORTED names everything in the model that can't be converted, with counts. docs/onnx.md. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_import(tsr_context *ctx, const tsr_import_desc *desc, tsr_graph **out);
TSR_API void tsr_graph_destroy(tsr_graph **g);
/* name may be NULL or "": none. Else it is one that IR text can hold: a letter or _, then letters, digits and _ . $ -;
 * and no other input's of the graph (TSR_INVALID_ARGUMENT). */
TSR_API TSR_MUST_USE tsr_status tsr_graph_input(tsr_graph *g, const char *name, tsr_dtype t, tsr_shape shape,
                                                tsr_value *out);
/* data: row-major elements, copied. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_constant(tsr_graph *g, tsr_dtype t, tsr_shape shape, const void *data,
                                                   tsr_value *out);
/* op: a name of the table, "add" or "tessera.graph.add", or a registered custom op. One result. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_op(tsr_graph *g, const char *op, const tsr_value *operands, int n_operands,
                                             const tsr_attr *attrs, int n_attrs, tsr_value *out);
/* The same of an op with n_out results ("split"), which out gets in order. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_op_results(tsr_graph *g, const char *op, const tsr_value *operands,
                                                     int n_operands, const tsr_attr *attrs, int n_attrs, tsr_value *out,
                                                     int n_out);
/* Control flow: other graphs of the context, whose inputs are the n operands, become parts of g (copies: they may go or
 * be used again). `if`: the outputs of then_graph where the condition, one bool, is true, else those of else_graph,
 * which have the same types; out gets as many values. `while`: as long as the graph `condition`, whose output is one
 * bool, gives true, and at most max_trips times, the outputs of `body` take the place of the first n_carried operands;
 * out gets what these are in the end. Shapes stay. tessera.graph.if and while (docs/ir.md) say what is differentiable
 * and what a trip costs. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_if(tsr_graph *g, tsr_value condition, const tsr_graph *then_graph,
                                             const tsr_graph *else_graph, const tsr_value *operands, int n,
                                             tsr_value *out);
TSR_API TSR_MUST_USE tsr_status tsr_graph_while(tsr_graph *g, const tsr_graph *condition, const tsr_graph *body,
                                                const tsr_value *operands, int n, int n_carried, int64_t max_trips,
                                                tsr_value *out);
TSR_API TSR_MUST_USE tsr_status tsr_graph_output(tsr_graph *g, tsr_value v);
TSR_API TSR_MUST_USE tsr_status tsr_graph_type(const tsr_graph *g, tsr_value v, tsr_dtype *t, tsr_shape *shape);
/* Reverse-mode derivative: a new graph with g's inputs, whose outputs are g's and then, for each of the n inputs wrt[i]
 * of g, the gradient of g's first output (one float) with respect to it. It can't be extended; its inputs are the
 * values 1, 2, ... in order. TSR_VERIFY_ERROR names an op without a derivative on the way. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_grad(const tsr_graph *g, const tsr_value *wrt, int n, tsr_graph **out);

/* Programs are made for one size each: a new graph in which the inputs of g have the given shapes (one per input; known
 * dimensions must be the same) and every type is inferred anew. It can't be extended; its inputs are the values 1, 2,
 * ... in order. TSR_SHAPE_MISMATCH or TSR_VERIFY_ERROR where the shapes don't fit. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_specialize(const tsr_graph *g, const tsr_shape *shapes, int n,
                                                     tsr_graph **out);

/* Text returned by the library; free with tsr_text_free. */
TSR_API void tsr_text_free(tsr_context *ctx, char **text);
TSR_API TSR_MUST_USE tsr_status tsr_graph_print(const tsr_graph *g, char **text);

/* ---- reference ------------------------------------------------------------------------------------------------- */

TSR_API int tsr_graph_n_inputs(const tsr_graph *g);
TSR_API int tsr_graph_n_outputs(const tsr_graph *g);
/* i counts from 0; strings belong to the graph; bytes is 0 where a dimension is unknown (TSR_ANY_DIM). */
TSR_API tsr_tensor_info tsr_graph_input_info(const tsr_graph *g, int i);
TSR_API tsr_tensor_info tsr_graph_output_info(const tsr_graph *g, int i);

/* Evaluates the graph in f64 on the host (the oracle). inputs: row-major elements in each input's own type; outputs:
 * arrays of doubles, one per element. tolerance (may be NULL, also its entries) receives per element the largest
 * absolute error that a correct implementation with f32 accumulation may show, derived from data types and reduction
 * lengths. Of complex elements two doubles each, the real and the imaginary part. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_reference(const tsr_graph *g, const void *const *inputs,
                                                    double *const *outputs, double *const *tolerance);
/* The same for n elements (row-major positions, of complex types 2 i for element i's real part and 2 i + 1 for its
 * imaginary one) of one output: for results too large to evaluate whole. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_reference_at(const tsr_graph *g, const void *const *inputs, int output,
                                                       const int64_t *elements, int n, double *values,
                                                       double *tolerance);

/* ---- custom ops ------------------------------------------------------------------------------------------------ */

typedef struct tsr_custom_tensor {
  tsr_dtype dtype;
  tsr_shape shape;
  void *data; /* row-major; NULL where only types are asked for */
} tsr_custom_tensor;

/* What an op's derivative has and gives: ops added to `graph` by tsr_graph_op or tsr_graph_constant make the gradient
 * of each operand from that of the result. */
typedef struct tsr_custom_adjoint {
  tsr_graph *graph; /* for tsr_graph_op, tsr_graph_constant and tsr_graph_type, during the call alone */
  const tsr_value *operands;
  tsr_value result,
      gradient; /* the op's result, and the derivative of the whole with respect to it, of the same type */
  tsr_value
      *operand_gradients; /* to be filled, each of its operand's type; 0 (as it comes) = the operand has no influence */
} tsr_custom_adjoint;

typedef struct tsr_custom_call {
  const tsr_custom_tensor *operands;
  int n_operands;
  const tsr_attr *attrs; /* those given to tsr_graph_op or written in the text */
  int n_attrs;
  tsr_custom_tensor *result;
} tsr_custom_call;

/* A kernel developer's own op (docs/custom-ops.md): a pure function of its operands and attributes, so that an unused
 * one is left out and equal ones are computed once. It is a launch of its own in the program, never fused. Callbacks
 * may run on any thread, several at once, and (but for adjoint) must not call into the library. Those that return false
 * write one line to why. */
typedef struct tsr_custom_op {
  const char *name; /* "mylib.swish"; used as tsr_graph_op's op, and as callee of "tessera.graph.custom" in IR text */
  int n_operands;
  /* Fills the result's type from the operands' and the attributes, or returns false: TSR_SHAPE_MISMATCH. */
  bool (*infer)(void *user, const tsr_custom_call *call, char *why, size_t why_bytes);
  /* The CPU kernel, also the reference: writes rows first..last-1 of the result's first dimension (0..1 if its rank is
   * 0). Called for disjoint ranges by the CPU device's threads, and not at all for a result without elements. False
   * fails the run with TSR_LAUNCH_FAILED. */
  bool (*cpu)(void *user, const tsr_custom_call *call, int64_t first, int64_t last, char *why, size_t why_bytes);
  /* Optional: a kernel of the op's own for a backend ("vulkan", "cuda", "hip", "cpu", ...): Tile IR text with one
   * tessera.tile.kernel whose arguments are views of the operands and the result, written as snprintf does: at most
   * bytes with the closing zero; returns the length without it (at most 16 MiB, the same in both calls), 0 = none for
   * this backend. Without one the CPU kernel runs between copies to and from the host: tsr_program_run then waits for
   * the device, the launch counts in tsr_program_n_fallbacks, and TSR_FALLBACK_ERROR makes it TSR_UNSUPPORTED. */
  size_t (*source)(void *user, const char *backend, const tsr_custom_call *call, char *text, size_t bytes);
  void *user;
  /* Optional: the op's derivative, for tsr_graph_grad; without one that is an error where the op is on the way. The
   * only callback that may call into the library: the functions named at tsr_custom_adjoint, whose statuses it passes
   * on. */
  tsr_status (*adjoint)(void *user, const tsr_custom_call *call, tsr_custom_adjoint *a);
} tsr_custom_op;
/* *op is copied, its name too. TSR_INVALID_ARGUMENT where the name is taken. */
TSR_API TSR_MUST_USE tsr_status tsr_custom_op_register(tsr_context *ctx, const tsr_custom_op *op);

#ifdef __cplusplus
}
#endif
#endif
