/* core/passes/graph/autodiff.c - see autodiff.h. The copy of the function, whose composite ops become what they stand
 * for unless they have a derivative of their own, is extended in place. Backwards, value->scratch marks what depends on
 * the chosen arguments, value->data holds the gradient collected so far. */
#include "core/passes/graph/autodiff.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/expand.h"
#include "core/passes/graph/complex.h"
#include "core/passes/graph/layouts.h"

static tsr_status check_result(const ir_op *func) {
  const ir_type *t = func->regions[0]->last->n_operands ? func->regions[0]->last->operands[0]->type : NULL;
  if (t && ir_type_count(t) == 1 && dtype_is_float(t->dtype)) return NULL;
  return !t ? NULL
            : ir_error(func, "reduce it to one number first, e.g. reduce_sum",
                       "the first result must be one float to be differentiated");
}

static tsr_status check_request(const ir_op *func, const grad_request *q) {
  const int *wrt = q->wrt;
  const ir_block *r = func->regions[0];
  if (!r->last->n_operands) return ir_error(func, NULL, "has no result to differentiate");
  for (int i = 0; i < q->n_wrt; i++) {
    if (wrt[i] < 0 || wrt[i] >= r->n_args) return ir_error(func, NULL, "has no argument %d", wrt[i]);
    if (!dtype_is_float(dtype_part(r->args[wrt[i]]->type->dtype)))
      return ir_error(func, "cast inside the function", "argument %d is %s: only floats have gradients", wrt[i],
                      tsr_dtype_name(r->args[wrt[i]]->type->dtype));
  }
  return NULL;
}

static void mark_active(ir_block *r, const int *wrt, int n_wrt) {
  for (int i = 0; i < r->n_args; i++) r->args[i]->scratch = 0, r->args[i]->data = NULL;
  for (int i = 0; i < n_wrt; i++) r->args[wrt[i]]->scratch = 1;
  for (ir_op *o = r->first; o; o = o->next)
    for (int k = 0; k < o->n_results; k++) {
      ir_value *v = o->results[k];
      v->scratch = 0;
      v->data = NULL;
      for (int i = 0; i < o->n_operands; i++) v->scratch |= o->operands[i]->scratch;
    }
}

static bool collect(ir_builder *b, ir_value *v, ir_value *g) {
  v->data = v->data ? graph_op2(b, G_ADD, v->data, g) : g;
  return v->data != NULL;
}

static tsr_status no_derivative(const ir_op *op) {
  return graph_is(op, G_WHILE)
             ? ir_error(op, "a constant condition, or a count from a constant by constant steps, at most 1024 trips",
                        "has no derivative: how many trips it makes must be known when it is derived")
             : ir_error(op, NULL, "has no derivative");
}

static tsr_status step_back(ir_builder *b, ir_op *op, const grad_request *q);

/* What a composite op without a rule of its own stands for is built before it, and gone back over instead. */
static tsr_status step_back_over_parts(ir_builder *b, ir_op *op, const grad_request *q) {
  ir_value **parts = arena_array(&b->m->arena, ir_value *, op->n_results);
  ir_builder at = ir_before(op);
  ir_op *before = op->prev;
  if (!parts || !graph_ext(op)->expand(&at, op, parts) || at.failed) return st_oom();
  for (ir_op *o = before ? before->next : op->parent->first; o != op; o = o->next)
    for (int k = 0; k < o->n_results; k++) {
      o->results[k]->scratch = 0, o->results[k]->data = NULL;
      for (int i = 0; i < o->n_operands; i++) o->results[k]->scratch |= o->operands[i]->scratch;
    }
  for (int i = 0; i < op->n_results; i++)
    if (op->results[i]->data && !collect(b, parts[i], op->results[i]->data)) return st_oom();
  for (ir_op *o = op->prev, *prev; o != before; o = prev) {
    prev = o->prev;
    TSR_TRY(step_back(b, o, q));
  }
  return NULL;
}

static tsr_status step_back(ir_builder *b, ir_op *op, const grad_request *q) {
  ir_value *g = op->n_results ? op->results[0]->data : NULL, **grads;
  bool wanted = false;
  for (int i = 0; i < op->n_results; i++) wanted |= op->results[i]->data && op->results[i]->scratch;
  if (!wanted) return NULL;
  const graph_row *row = graph_ext(op);
  bool custom = graph_is_kind(op, GRAPH_CUSTOM) && q->custom;
  if (!custom && row && !row->adjoint && graph_may_expand(op)) return step_back_over_parts(b, op, q);
  if (!custom && (!row || !row->adjoint))
    return op->results[0]->scratch ? no_derivative(op) : NULL;
  if (!(grads = arena_array(&b->m->arena, ir_value *, op->n_operands + 1))) return st_oom();
  if (custom) TSR_TRY(q->custom(q->user, op, g, grads));
  else if (!row->adjoint(b, op, g, grads)) return st_oom();
  for (int i = 0; i < op->n_operands; i++) {
    ir_value *v = op->operands[i];
    if (grads[i] && v->scratch && dtype_is_float(dtype_part(v->type->dtype)) && !collect(b, v, grads[i]))
      return st_oom();
  }
  return NULL;
}

/* What a scaled loss has besides: its scale and the count of good steps, as arguments behind all others. */
static tsr_status add_scale(ir_op *f, ir_value *state[2]) {
  static const tsr_dtype types[] = {TSR_F32, TSR_I32};
  const ir_value *y = f->regions[0]->last->operands[0];
  if (tsr_dtype_size(y->type->dtype) < 4)
    return ir_error(f, "cast it: a scale would leave its range", "a loss of %s can't be scaled",
                    tsr_dtype_name(y->type->dtype));
  for (int i = 0; i < 2; i++) {
    const ir_type *t = ir_type_tensor(f->module, types[i], 0, NULL);
    if (!t || !(state[i] = ir_block_arg(f->module, f->regions[0], t, NULL))) return st_oom();
  }
  return NULL;
}

/* The gradients g without the scale, then whether they are to be left out, the new scale and the new count. */
static tsr_status finish_scaled(ir_builder *b, ir_op *ret, const grad_request *q, ir_value *const state[2],
                                ir_value *const *g) {
  ir_value **x = arena_array(&b->m->arena, ir_value *, q->n_wrt + 2);
  const ir_type **types = arena_array(&b->m->arena, const ir_type *, q->n_wrt + 3);
  if (!x || !types) return st_oom();
  for (int i = 0; i < 2; i++) x[i] = state[i];
  for (int i = 0; i < q->n_wrt; i++) x[i + 2] = g[i];
  ir_op *op = ir_op_new(b, graph_def(G_LOSS_SCALE), q->n_wrt + 2, x, q->n_wrt + 3, NULL, 0);
  for (int i = 0; op && i < q->n_scale_attrs; i++)
    if (!ir_set_attr(op, q->scale_attrs[i].name, ir_attr_given(b->m, &q->scale_attrs[i]))) return st_oom();
  if (!op) return st_oom();
  TSR_TRY(op->def->infer(op, types));
  for (int i = 0; i < op->n_results; i++) op->results[i]->type = types[i];
  for (int i = 3; i < op->n_results; i++)
    if (!ir_add_operand(ret, op->results[i])) return st_oom();
  for (int i = 0; i < 3; i++)
    if (!ir_add_operand(ret, op->results[i == 0 ? 2 : i - 1])) return st_oom();
  return ir_verify_op(op);
}

static tsr_status differentiate(ir_op *f, const grad_request *q) {
  ir_block *r = f->regions[0];
  ir_op *ret = r->last, *last = ret->prev;
  ir_builder b = ir_before(ret);
  ir_value *state[2] = {NULL, NULL}, *y = ret->operands[0];
  ir_value **grads = arena_array(&f->module->arena, ir_value *, q->n_wrt + 1);
  if (!grads) return st_oom();
  if (q->scaled) TSR_TRY(add_scale(f, state));
  mark_active(r, q->wrt, q->n_wrt);
  ir_value *seed = q->scaled ? graph_broadcast(&b, state[0], y->type->rank, y->type->dims) : NULL;
  y->data = q->scaled ? graph_cast(&b, seed, y->type->dtype) : graph_fill(&b, y->type, 1);
  if (!y->data) return st_oom();
  for (ir_op *op = last, *prev; op; op = prev) {
    prev = op->prev;
    TSR_TRY(step_back(&b, op, q));
  }
  for (int i = 0; i < q->n_wrt; i++) {
    ir_value *x = r->args[q->wrt[i]];
    grads[i] = x->data ? x->data : graph_fill(&b, x->type, 0);
    if (!grads[i] || (!q->scaled && !ir_add_operand(ret, grads[i]))) return st_oom();
  }
  if (q->scaled) TSR_TRY(finish_scaled(&b, ret, q, state, grads));
  for (int i = 0; i < r->n_args; i++) r->args[i]->data = NULL;
  for (ir_op *o = r->first; o; o = o->next)
    for (int k = 0; k < o->n_results; k++) o->results[k]->data = NULL;
  ir_dce(f);
  return graph_sign(f) ? NULL : st_oom();
}

/* ---- forward mode ---------------------------------------------------------------------------------------------- */

/* An op's tangent comes from its adjoint: the adjoint is linear in the gradient u of the result, operand gradients =
 * J^T u, so that its own adjoint with respect to u, given the operands' tangents t, is J t. What the first of the two
 * passes built, u too, is dead behind the second: were anything left of it, the adjoint would not be linear. Tangents
 * are kept in value->data. */

static bool is_differentiable(const ir_value *v) { return dtype_is_float(dtype_part(v->type->dtype)); }

static bool is_moved(const ir_op *op) {
  bool moved = false, gives = false;
  for (int i = 0; i < op->n_operands; i++) moved |= op->operands[i]->data != NULL;
  for (int i = 0; i < op->n_results; i++) gives |= is_differentiable(op->results[i]);
  return moved && gives;
}

/* A gradient for each result that can have one: nothing but a name, which no op may read in the end. */
static bool place_gradients(ir_builder *b, ir_op *op, ir_value **u) {
  for (int i = 0; i < op->n_results; i++) {
    u[i] = is_differentiable(op->results[i]) ? graph_fill(b, op->results[i]->type, 0) : NULL;
    if (b->failed) return false;
    if (!u[i]) continue;
    u[i]->def->data = op;
    u[i]->scratch = 1;
    op->results[i]->data = u[i];
  }
  return true;
}

/* The operands' gradients as functions of u, and then u's gradient where those have the operands' tangents. */
static tsr_status transpose_adjoint(ir_builder *b, ir_op *op, const grad_request *q) {
  const graph_row *row = graph_ext(op);
  const bool custom = graph_is_kind(op, GRAPH_CUSTOM) && q->custom;
  ir_op *before = b->before->prev;
  ir_value **u = arena_array(&b->m->arena, ir_value *, op->n_results + 1),
           **grads = arena_array(&b->m->arena, ir_value *, op->n_operands + 1);
  if (!custom && (!row || !row->adjoint)) return no_derivative(op);
  if (!u || !grads || !place_gradients(b, op, u)) return st_oom();
  if (custom) TSR_TRY(q->custom(q->user, op, u[0], grads));
  else if (!row->adjoint(b, op, u[0], grads)) return st_oom();
  ir_op *last = b->before->prev;
  for (ir_op *o = before->next; o != b->before; o = o->next)
    for (int k = 0; k < o->n_results; k++)
      for (int i = 0; i < o->n_operands; i++) o->results[k]->scratch |= o->operands[i]->scratch;
  for (int i = 0; i < op->n_operands; i++)
    if (grads[i] && grads[i]->scratch && op->operands[i]->data && !collect(b, grads[i], op->operands[i]->data))
      return st_oom();
  for (ir_op *o = last, *prev; o != before; o = prev) {
    prev = o->prev; /* what a composite op stands for comes between them, and has been gone over with it */
    TSR_TRY(step_back(b, o, q));
  }
  for (int i = 0; i < op->n_results; i++) op->results[i]->data = u[i] ? u[i]->data : NULL;
  for (ir_op *o = before->next; o != last->next; o = o->next)
    for (int k = 0; k < o->n_results; k++) o->results[k]->data = NULL, o->results[k]->scratch = 0;
  return NULL;
}

static tsr_status add_tangents(ir_op *f, const grad_request *q) {
  ir_block *r = f->regions[0];
  for (int i = 0; i < q->n_wrt; i++) {
    ir_value *x = r->args[q->wrt[i]];
    const char *name = x->name ? arena_fmt(&f->module->arena, "%s_tangent", x->name) : NULL;
    for (int k = 0; k < r->n_args && name; k++)
      if (r->args[k]->name && !strcmp(r->args[k]->name, name)) name = NULL;
    if (x->data) return ir_error(f, "each once", "argument %d is asked for twice", q->wrt[i]);
    if (!(x->data = ir_block_arg(f->module, r, x->type, name))) return st_oom();
  }
  return NULL;
}

static tsr_status push_forward(ir_op *f, const grad_request *q) {
  ir_block *r = f->regions[0];
  ir_op *ret = r->last, *last = ret->prev;
  const int n_results = ret->n_operands;
  ir_builder b = ir_before(ret);
  mark_active(r, NULL, 0);
  TSR_TRY(add_tangents(f, q));
  for (ir_op *op = r->first; last && op != last->next; op = op->next)
    if (is_moved(op)) TSR_TRY(transpose_adjoint(&b, op, q));
  for (int i = 0; i < n_results; i++) {
    const ir_value *y = ret->operands[i];
    ir_value *t = y->data ? y->data : graph_fill(&b, y->type, 0);
    if (!t || !ir_add_operand(ret, t)) return st_oom();
  }
  for (int i = 0; i < r->n_args; i++) r->args[i]->data = NULL;
  for (ir_op *o = r->first; o; o = o->next)
    for (int k = 0; k < o->n_results; k++) o->results[k]->data = NULL;
  ir_dce(f);
  for (ir_op *o = r->first; o; o = o->next)
    if (graph_is(o, G_CONSTANT) && o->data)
      return ir_error(o->data, NULL, "has no forward derivative: its adjoint is not linear in the gradient");
  return graph_sign(f) ? NULL : st_oom();
}

/* ---- both ------------------------------------------------------------------------------------------------------ */

tsr_status graph_grad(ir_op *func, const int *wrt, int n_wrt, const char *name, ir_op **out) {
  return graph_grad_of(func, &(grad_request){.wrt = wrt, .n_wrt = n_wrt, .name = name}, out);
}

/* Attention gives its log-sum-exp too, which its derivative reads. */
static tsr_status ask_for_sums(ir_op *f) {
  for (ir_op *op = f->regions[0]->first, *next; op; op = next) {
    next = op->next;
    if (!graph_is_kind(op, GRAPH_ATTENTION) || op->n_results > 1) continue;
    ir_builder b = ir_before(op);
    const ir_type *q = op->operands[0]->type,
                  *sums = ir_type_tensor(f->module, graph_accum_default(q->dtype), 3, q->dims),
                  *types[2] = {op->results[0]->type, sums};
    ir_op *both = types[1] ? ir_op_new(&b, op->def, op->n_operands, op->operands, 2, types, 0) : NULL;
    if (!both || !ir_attrs_copy(both, op)) return st_oom();
    both->results[0]->name = op->results[0]->name;
    ir_replace_uses(f, op->results[0], both->results[0]);
    ir_op_remove(op);
  }
  return NULL;
}

/* A copy of func with its composite ops and complex numbers written out, changed by `derive`. */
static tsr_status derivative(ir_op *func, const grad_request *q, tsr_status (*derive)(ir_op *, const grad_request *),
                             ir_op **out) {
  ir_module *m = func->module;
  ir_begin(m);
  ir_builder end = ir_at_end(m, func->parent);
  ir_op *f = ir_op_copy(&end, func, NULL, NULL);
  if (!f) return st_oom();
  tsr_status st = ir_set_attr(f, "sym_name", ir_attr_str(m, q->name)) ? NULL : st_oom();
  if (!st) st = graph_expand(f, &(graph_expand_options){.keep_adjoint = true});
  if (!st) st = graph_split_complex(f);
  if (!st) st = ask_for_sums(f);
  if (!st) st = derive(f, q);
  if (!st) graph_drop_layouts(f);
  if (!st) st = ir_verify(m);
  if (st) st = ir_cause(m, NULL, st);
  if (st) ir_op_remove(f);
  else *out = f;
  return st;
}

tsr_status graph_grad_of(ir_op *func, const grad_request *q, ir_op **out) {
  *out = NULL;
  TSR_TRY(check_result(func));
  TSR_TRY(check_request(func, q));
  return derivative(func, q, differentiate, out);
}

tsr_status graph_jvp_of(ir_op *func, const grad_request *q, ir_op **out) {
  *out = NULL;
  TSR_TRY(check_request(func, q));
  return derivative(func, q, push_forward, out);
}
