/* core/passes/autodiff.h - reverse-mode differentiation of Graph IR: a function becomes the function of its value and its
 * gradients, itself plain Graph IR, to be simplified, fused and run like any other. */
#ifndef CORE_PASSES_AUTODIFF_H
#define CORE_PASSES_AUTODIFF_H
#include "core/ir/graph_ops.h"

/* Adds to func's module a function `name` with func's arguments, whose results are func's and then, for each i in
 * wrt[0..n_wrt), the gradient of func's first result with respect to argument wrt[i] (its shape and type). The first result
 * must be one float; the arguments must be floats. An op without a derivative on the way is an error that names it. */
tsr_status graph_grad(ir_op *func, const int *wrt, int n_wrt, const char *name, ir_op **out);
#endif
