/* tessera/transform.h - what makes graphs of graphs, besides tessera.h's tsr_graph_grad and tsr_graph_specialize:
 * forward-mode derivatives, programs within a budget of memory, and rewrite rules of the application. Conventions are
 * tessera.h's. */
#ifndef TESSERA_TRANSFORM_H
#define TESSERA_TRANSFORM_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- derivatives ----------------------------------------------------------------------------------------------- */

/* Forward-mode derivative, a Jacobian times a vector: a new graph whose inputs are g's and then, for each of the n
 * inputs wrt[i] (each named once), its tangent, of its type; whose outputs are g's and then, for each of them, its
 * tangent, of its type: how it moves when those inputs move along their tangents. What depends on none of them, and
 * what is no float, has zeros. It can't be extended; its inputs are the values 1, 2, ... in order. Of a graph from
 * tsr_graph_grad the tangents of the gradients are a Hessian times a vector. TSR_VERIFY_ERROR names an op without a
 * derivative on the way. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_jvp(const tsr_graph *g, const tsr_value *wrt, int n, tsr_graph **out);

/* tsr_graph_grad of a loss that is scaled, so that gradients in f16 and fp8 don't vanish, by a scale that follows
 * overflow. Inputs: g's, then the scale, f32, and a count of good steps, i32 (say 65536 and 0 at first). Outputs: g's,
 * the gradients over the scale in f32 (of f64 in f64), then a bool, that the step is to be left out since a gradient
 * wasn't finite, the new scale and the new count. All of it is computed on the device: the bool is what an update
 * selects its old state by. Scale and count are the whole state: a checkpoint that has them goes on with the same
 * bits. attrs are those of the graph op `loss_scale` (docs/ir.md), which says how the scale follows. The loss must be
 * f32 or f64. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_grad_scaled(const tsr_graph *g, const tsr_value *wrt, int n,
                                                      const tsr_attr *attrs, int n_attrs, tsr_graph **out);

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* The temporaries of a program compiled from g are to take at most so many bytes; inputs, outputs and constants are not
 * among them. Where they would take more, kernels whose results are read early and again much later run a second time
 * (checkpointing of a gradient's forward part): the results are the same to the bit. The trace says which, at what
 * cost, and the peak before and after. Where no choice that was tried comes down to the budget, compiling is
 * TSR_INVALID_ARGUMENT with the least that was found. The peak is that of the values alive at each kernel; what kernels
 * need besides (split sums) and gaps of the workspace come on top. g may be complete. bytes >= 1; 0: no budget. It is
 * the attribute `memory_budget` of the function in IR text, and goes on into graphs made of g. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_set_memory_budget(tsr_graph *g, int64_t bytes);

/* ---- layouts --------------------------------------------------------------------------------------------------- */

/* The order in which a value's dimensions lie in memory, the slowest first: {1, 0} is a matrix by columns, {0, 2, 3, 1}
 * an image n, c, h, w whose channels come last. v is an input, or a value that g returns, whichever program is made of
 * g: the program's input or output has the shape of what is in memory, row-major (tsr_program_input, tsr_dist_program_
 * input, tsr_graph_reference), and kernels take it as it lies where they can. In IR text: tensor<8x4xf32, {layout = [1,
 * 0]}>. A value that isn't returned is TSR_VERIFY_ERROR when a program is made. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_layout(tsr_graph *g, tsr_value v, const int64_t *order, int n);

/* ---- rewrite rules --------------------------------------------------------------------------------------------- */

/* What stands in a hole of a rule's pattern. */
typedef struct tsr_rule_hole {
  const char *name;
  tsr_dtype dtype;
  tsr_shape shape;
  const void *data; /* of a constant: its elements, row-major; NULL: it is computed */
  int64_t n_data;   /* how many are there: 1 where all are the same */
} tsr_rule_hole;

/* A rewrite rule of the application's own (docs/fusion.md), tried in every compilation of the context: on the graph as
 * it is given, and again behind the library's rules, to a fixed point. It fires or is refused by its name in the trace,
 * and is switched off by it, as all rules are. */
typedef struct tsr_rule {
  const char *name; /* with a '.' in it: "mylib.fold_scale"; at most 60 characters */
  /* IR text with two functions, "pattern" and "replacement", of the same arguments and with one result each. The
   * arguments are holes: of any value with that element type, rank and known dimensions ('?' is any). Operations match
   * with the same attributes (axes counted from either end) and, where they commute, in either order; constants of
   * equal elements match by their value, in any shape. At most 64 values. */
  const char *text;
  const char *types; /* "f16, bf16, f32": element types that the first hole's stands for, wherever it is written; NULL:
                        that one alone */
  bool any_shape;    /* holes take values of any shape */
  bool rounds;       /* may change rounding: only under the policy fast */
  bool shared;       /* fires also where something else needs a value inside the pattern, which is computed besides */
  bool unchecked;    /* the values are equal only where `fits` says so: they are not compared at registration */
  /* Optional: whether it may fire on these values; where not it writes one line to why, for the trace. May run on any
   * thread, several at once, and must not call into the library. `holes` and what it points to are valid during the
   * call. */
  bool (*fits)(void *user, const tsr_rule_hole *holes, int n_holes, char *why, size_t why_bytes);
  void *user;
} tsr_rule;
/* *rule is copied, its strings too; `user` must outlive the context. The two functions are evaluated on random inputs
 * by the oracle, for each type and several sizes of unknown dimensions: their values must be the same, with infinities
 * and NaN too, or, of a rule that may change rounding, within both sides' tolerances. TSR_INVALID_ARGUMENT: the name is
 * taken, a hole is not bound, types differ, values differ, or the rule fires on what it gives without end.
 * TSR_PARSE_ERROR, TSR_VERIFY_ERROR: the text is wrong. Rules fire at most 64 times each and 16 times for each
 * operation of a graph; a compilation that comes to that bound goes on with what it has, and its trace says so.
 * Programs compiled before have none of it. What the tuner keeps is kept by kernel, as the rules left it. */
TSR_API TSR_MUST_USE tsr_status tsr_rule_register(tsr_context *ctx, const tsr_rule *rule);

#ifdef __cplusplus
}
#endif
#endif
