/* core/passes/graph/autodiff.h - differentiation of Graph IR: a function becomes the function of its value and its
 * gradients (reverse mode), or of its value and its tangents (forward mode), itself plain Graph IR, to be simplified,
 * fused and run like any other. */
#ifndef CORE_PASSES_GRAPH_AUTODIFF_H
#define CORE_PASSES_GRAPH_AUTODIFF_H
#include "core/ir/graph/ops.h"

/* Adds to func's module a function `name` with func's arguments, whose results are func's and then, for each i in
 * wrt[0..n_wrt), the gradient of func's first result with respect to argument wrt[i] (its shape and type). The first
 * result must be one float; the arguments must be floats. An op without a derivative on the way is an error that names
 * it. */
tsr_status graph_grad(ir_op *func, const int *wrt, int n_wrt, const char *name, ir_op **out);

/* The derivative of an op that only the application knows: fills grads[i] (NULL = none, else of operand i's type) given
 * the gradient g of op's result; new ops go before the function's return. */
typedef tsr_status (*grad_custom_fn)(void *user, ir_op *op, ir_value *g, ir_value **grads);
typedef struct grad_request {
  const int *wrt;
  int n_wrt;
  const char *name;
  grad_custom_fn custom; /* NULL: custom ops have no derivative */
  void *user;
  /* The loss is scaled (the graph op loss_scale, whose attributes these are): behind the arguments come the scale, f32,
   * and the count of good steps, i32; the gradients are those without the scale, and behind them come whether the step
   * is to be left out, the new scale and the new count. */
  bool scaled;
  const tsr_attr *scale_attrs;
  int n_scale_attrs;
} grad_request;
tsr_status graph_grad_of(ir_op *func, const grad_request *r, ir_op **out);

/* Forward mode: adds a function r->name with func's arguments and then, for each i in wrt, the tangent of argument
 * wrt[i]; its results are func's and then the tangent of each. */
tsr_status graph_jvp_of(ir_op *func, const grad_request *r, ir_op **out);
#endif
