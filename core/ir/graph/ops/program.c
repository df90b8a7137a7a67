/* core/ir/graph/ops/program.c - functions, their ends, custom ops and constants. */
#include <string.h>

#include "core/ir/graph/ops/adjoint.h"
#include "core/ir/shard.h"

/* Axes that a value's shard names are the mesh's. */
static tsr_status check_shard(const ir_op *func, const ir_value *v, const char *mesh) {
  ir_shard_axis a;
  for (const char *at = v->shard; ir_shard_next(&at, v->shard, &a);)
    if (!ir_mesh_size(mesh, a.name, a.n))
      return ir_error_at(func, ir_value_loc(v), TSR_VERIFY_ERROR, mesh, "the mesh has no axis \"%.*s\"", a.n, a.name);
  return NULL;
}

static tsr_status check_mesh(const ir_op *op) {
  const char *mesh = ir_get_str(op, "mesh", NULL);
  const ir_block *r = op->regions[0];
  if (!mesh) return NULL;
  char fault[IR_MESH_FAULT];
  const char *why = ir_mesh_fault(mesh, fault);
  if (why) return ir_error(op, "\"tp=2,dp=4\"", "mesh: %s", why);
  for (int i = 0; i < r->n_args; i++)
    if (r->args[i]->shard) TSR_TRY(check_shard(op, r->args[i], mesh));
  for (const ir_op *o = r->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++)
      if (o->results[i]->shard) TSR_TRY(check_shard(op, o->results[i], mesh));
  return NULL;
}

/* What lies in memory in an order of the caller's is what the caller is given. */
static tsr_status check_layout(const ir_op *op, const ir_op *ret) {
  for (int i = 0; i < op->n_results; i++) {
    bool given = !op->results[i]->layout;
    for (int k = 0; k < ret->n_operands && !given; k++) given = ret->operands[k] == op->results[i];
    if (!given) return ir_error(op, NULL, "result %d has a layout, and the function doesn't return it", i);
  }
  return NULL;
}

static tsr_status verify_func(const ir_op *op) {
  const ir_block *r = op->regions[0];
  if (!graph_is(r->last, G_RETURN)) return ir_error(op, NULL, "the body must end with tessera.graph.return");
  for (int i = 0; i < r->n_args; i++)
    if (!r->args[i]->type || r->args[i]->type->kind != IR_T_TENSOR)
      return ir_error(op, NULL, "argument %d must be a tensor", i);
    else if (dtype_is_complex(r->args[i]->type->dtype) && r->args[i]->type->rank == TSR_MAX_RANK)
      return ir_error(op, "their parts are one more", "argument %d: complex tensors have at most %d dimensions", i,
                      TSR_MAX_RANK - 1);
  for (const ir_op *o = r->first; o; o = o->next)
    if (o->def->level != IR_GRAPH)
      return ir_error(o, "a function holds operations of its level only", "is no operation of Graph IR");
    else TSR_TRY(check_layout(o, r->last));
  return check_mesh(op);
}

/* A region's values are the program's own. */
static tsr_status check_no_layout(const ir_op *ret) {
  bool some = false;
  for (int i = 0; i < ret->parent->n_args; i++) some |= ret->parent->args[i]->layout != NULL;
  for (const ir_op *o = ret->parent->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) some |= o->results[i]->layout != NULL;
  return some ? ir_error(ret, NULL, "only inputs and results of functions of Graph IR have a layout") : NULL;
}

static tsr_status verify_return(const ir_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type->kind != IR_T_TENSOR) return ir_error(op, NULL, "result %d must be a tensor", i);
  const ir_op *func = op->parent ? op->parent->parent : NULL;
  if (graph_is_kind(func, GRAPH_CONTROL)) return check_no_layout(op);
  if (!graph_is(func, G_FUNC)) return ir_error(op, NULL, "must be inside tessera.graph.func, if or while");
  const ir_attr *given = ir_get_attr(func, "function_type");
  if (!given || op->next) return NULL;
  const ir_type *t = graph_signature(func);
  if (!t) return st_oom();
  return given->u.type == t ? NULL : ir_error(func, NULL, "function_type does not say %.400s", t->use);
}

static tsr_status verify_custom(const ir_op *op) {
  for (int i = 0; i <= op->n_operands; i++) {
    const ir_type *t = i < op->n_operands ? op->operands[i]->type : op->results[0]->type;
    if (dtype_is_complex(t->dtype))
      return ir_error(op, "as_real gives it the parts", "does not take %s", tsr_dtype_name(t->dtype));
    if (dtype_word(t->dtype))
      return ir_error(op, "as_signed gives it the words", "does not take %s", tsr_dtype_name(t->dtype));
    if (dtype_packed(t->dtype))
      return ir_error(op, "as_bytes gives it the bytes", "does not take %s", tsr_dtype_name(t->dtype));
  }
  return NULL;
}

static tsr_status infer_constant(ir_op *op, const ir_type **results) {
  const ir_type *t = ir_get_attr(op, "value")->u.dense.type;
  return shape_finish(op, t->dtype, t->rank, t->dims, results);
}

static tsr_status eval_constant(graph_evaluator *e, ir_op *op, int64_t at) {
  const ir_attr *a = ir_get_attr(op, "value");
  int64_t i = 0;
  if (dtype_is_long(op->results[0]->type->dtype))
    i = dtype_load_int(TSR_I64, a->u.dense.data, a->u.dense.splat ? 0 : (size_t)at);
  graph_write(e, op->results[0], at, (graph_num){graph_constant_at(op, at), 0, 0, i});
  return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static const ir_opdef rows[] = {
    {NAME(FUNC, "func"), .flags = IR_ISOLATED, .n_regions = 1, .verify = verify_func, .ext = ROW(GRAPH_PROGRAM),
     .attrs = ATTRS({"sym_name", IR_A_STR, false, "main", "the function's name"},
                    {"function_type", IR_A_TYPE, false, NULL,
                     "(argument types) -> result types, as MLIR writes a function's; must be what the body has"},
                    {"policy", IR_A_STR, false, NULL,
                     "numerics policy of this function: fast, deterministic, kahan_sum; the context's if absent"},
                    {"precision", IR_A_STR, false, NULL, "precision mode: standard, safe, aggressive, deterministic, tf32"},
                    {"fp8_scales", IR_A_STR, false, "channel",
                     "of aggressive: a scale for each row and column of a product (channel), for each operand (tensor), "
                     "for 32 elements along the sum (block), none"},
                    {"symbolic", IR_A_ARRAY, false, NULL,
                     "extents above 64 that were unknown dimensions before the function was specialised: tuning "
                     "decisions are shared per bucket of them"},
                    {"memory_budget", IR_A_INT, false, "0",
                     "bytes that the program's temporaries may take: kernels run again where they would take more; 0: "
                     "any number"},
                    {"mesh", IR_A_STR, false, NULL,
                     "axes and sizes of the mesh that shards name, \"tp=2,dp=4\"; any mesh if absent"}),
     .help = "A function: block arguments are its inputs, the body ends with return."},
    {NAME(RETURN, "return"), .flags = IR_TERMINATOR, .max_operands = IR_VARIADIC, .operands_doc = "results...",
     .types_doc = ANY AND_COMPLEX, .verify = verify_return, .ext = ROW(GRAPH_PROGRAM),
     .help = "Ends a function or a region; the operands are its outputs."},
    {NAME(CUSTOM, "custom"), .flags = IR_PURE | IR_ANY_ATTRS, .max_operands = IR_VARIADIC, .n_results = 1,
     .operands_doc = "inputs...", .types_doc = ANY,
     .attrs = ATTRS({"callee", IR_A_STR, true, NULL, "name under which the op was registered"}),
     .verify = verify_custom, .ext = ROW(GRAPH_CUSTOM),
     .help = "An op registered by the application (tsr_custom_op_register); the result's type is written out and must "
             "be what the op infers. Further attributes are the op's own. Never fused."},
    {NAME(CONSTANT, "constant"), .flags = IR_PURE, .n_results = 1, .types_doc = ANY AND_COMPLEX,
     .infer = infer_constant,
     .attrs = ATTRS(
         {"value", IR_A_DENSE, true, NULL, "the elements: dense<[[1.0, 2.0]]> : tensor<1x2xf32>, or one for all"}),
     .ext = ROW(GRAPH_CONSTANT, eval_constant, adjoint_none, .pairs = pairs_constant, .words = words_constant),
     .help = "A tensor known when the program is compiled."},
};

const ir_rows graph_program_ops = {rows, sizeof rows / sizeof *rows};
