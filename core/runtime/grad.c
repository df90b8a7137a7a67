/* core/runtime/grad.c - derivatives of graphs (core/passes/graph/autodiff.h), with those that applications give for
 * their own ops. Input: a graph and some of its inputs; output: a new, complete graph. */
#include <string.h>

#include "core/ir/graph/ops.h"
#include "core/passes/graph/autodiff.h"
#include "core/runtime/custom.h"
#include "tessera/transform.h"

/* What the op's callback gave, as values of the function. */
static tsr_status take_gradients(const tsr_graph *g, const ir_op *op, const char *name, const tsr_value *given,
                                 ir_value **grads) {
  for (int i = 0; i < op->n_operands; i++) {
    if (!given[i]) continue;
    if (given[i] > g->n_values)
      return ir_error_at(op, op->loc, TSR_INVALID_ARGUMENT, NULL,
                         "the adjoint of %s gave no value of the graph for operand %d", name, i);
    grads[i] = g->values[given[i] - 1];
    if (grads[i]->type != op->operands[i]->type)
      return ir_error_at(op, op->loc, TSR_SHAPE_MISMATCH, "it must have the operand's shape and type",
                         "the adjoint of %s gave another type for operand %d", name, i);
  }
  return NULL;
}

static tsr_status custom_adjoint(void *user, ir_op *op, ir_value *gradient, ir_value **grads) {
  tsr_graph g = {.ctx = user, .m = op->module, .func = op->parent->parent, .within_pass = true};
  rt_host_call h;
  tsr_value operands[RT_CUSTOM_OPERANDS], given[RT_CUSTOM_OPERANDS] = {0};
  tsr_custom_adjoint a = {.graph = &g, .operands = operands, .operand_gradients = given};
  tsr_status st = NULL;
  TSR_GOTO(rt_custom_call(g.ctx, &g.m->arena, op, op->n_operands, &h));
  const tsr_custom_op *x = &h.custom->op;
  if (!x->adjoint)
    TSR_GOTO(ir_error(op, "give the op an adjoint when it is registered", "%s has no derivative", x->name));
  *h.call.result = rt_custom_tensor(op->results[0]->type);
  for (int i = 0; i < op->n_operands; i++) TSR_GOTO(rt_graph_note(&g, op->operands[i], &operands[i]));
  TSR_GOTO(rt_graph_note(&g, op->results[0], &a.result));
  TSR_GOTO(rt_graph_note(&g, gradient, &a.gradient));
  TSR_GOTO(x->adjoint(x->user, &h.call, &a));
  st = take_gradients(&g, op, x->name, given, grads);
done:
  al_free_array(&g.ctx->al, g.values, g.cap_values);
  return st;
}

/* The number of an input among the function's arguments. */
static tsr_status input_number(const tsr_graph *g, const char *fn, tsr_value v, int *out) {
  const ir_value *x = v >= 1 && v <= g->n_values ? g->values[v - 1] : NULL;
  if (!x || x->owner != g->func->regions[0])
    return RT_BAD(g->ctx, fn, NULL, "value %u is not an input of the graph", (unsigned)v);
  *out = x->index;
  return NULL;
}

static tsr_status check_known(const tsr_graph *g) {
  const ir_block *r = g->func->regions[0];
  for (int i = 0; i < r->n_args; i++)
    if (ir_type_count(r->args[i]->type) < 0)
      return ir_error_at(g->func, r->args[i]->loc, TSR_VERIFY_ERROR, "tsr_graph_specialize gives it a number",
                         "argument %%%s has an unknown dimension", r->args[i]->name ? r->args[i]->name : "?");
  return NULL;
}

/* What all are: `derive` adds the function, whose name ends so. q: what is asked for besides the inputs. */
static tsr_status derivative(const tsr_graph *g, const char *fn, const tsr_value *wrt, int n, const char *suffix,
                             grad_request q, tsr_status (*derive)(ir_op *, const grad_request *, ir_op **),
                             tsr_graph **out) {
  if (n < 1 || n > 1 << 16) return RT_BAD(g->ctx, fn, NULL, "%d inputs", n);
  TSR_TRY(ir_verify(g->m));
  TSR_TRY(check_known(g));
  tsr_graph *d;
  TSR_TRY(rt_graph_new(g->ctx, &d));
  tsr_status st = NULL;
  TSR_GOTO(ir_module_clone(g->m, &d->m));
  ir_op *func = graph_find_func(d->m, NULL), *made = NULL;
  int *numbers = arena_array(&d->m->arena, int, n);
  const char *name = arena_fmt(&d->m->arena, "%s_%s", ir_get_str(func, "sym_name", "main"), suffix);
  if (!numbers || !name) TSR_GOTO(st_oom());
  for (int i = 0; i < n; i++) TSR_GOTO(input_number(g, fn, wrt[i], &numbers[i]));
  q.wrt = numbers, q.n_wrt = n, q.name = name, q.custom = custom_adjoint, q.user = g->ctx;
  TSR_GOTO(derive(func, &q, &made));
  ir_op_remove(func);
  TSR_GOTO(rt_graph_close(d, made));
  *out = d;
done:
  if (st) tsr_graph_destroy(&d);
  return st;
}

tsr_status tsr_graph_grad(const tsr_graph *g, const tsr_value *wrt, int n, tsr_graph **out) {
  RT_OUT("graph_grad", out);
  RT_NEED("graph_grad", "g", g);
  RT_NEED("graph_grad", "wrt", wrt);
  return derivative(g, "graph_grad", wrt, n, "grad", (grad_request){0}, graph_grad_of, out);
}

tsr_status tsr_graph_grad_scaled(const tsr_graph *g, const tsr_value *wrt, int n, const tsr_attr *attrs, int n_attrs,
                                 tsr_graph **out) {
  RT_OUT("graph_grad_scaled", out);
  RT_NEED("graph_grad_scaled", "g", g);
  RT_NEED("graph_grad_scaled", "wrt", wrt);
  TSR_TRY(rt_check_attrs(g, "graph_grad_scaled", attrs, n_attrs));
  return derivative(g, "graph_grad_scaled", wrt, n, "grad",
                    (grad_request){.scaled = true, .scale_attrs = attrs, .n_scale_attrs = n_attrs}, graph_grad_of, out);
}

tsr_status tsr_graph_jvp(const tsr_graph *g, const tsr_value *wrt, int n, tsr_graph **out) {
  RT_OUT("graph_jvp", out);
  RT_NEED("graph_jvp", "g", g);
  RT_NEED("graph_jvp", "wrt", wrt);
  return derivative(g, "graph_jvp", wrt, n, "jvp", (grad_request){0}, graph_jvp_of, out);
}
