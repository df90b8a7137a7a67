/* core/runtime/graph.c - building graphs from C, IR text in and out, the reference evaluator; see tessera/graph.h. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/eval.h"
#include "core/ir/graph/ops.h"
#include "core/ir/layout.h"
#include "core/passes/graph/layouts.h"
#include "core/runtime/internal.h"
#include "tessera/transform.h"


tsr_status rt_graph_new(tsr_context *c, tsr_graph **out) {
  tsr_graph *g = *out = al_new(&c->al, tsr_graph);
  if (!g) return st_oom();
  g->ctx = c;
  return NULL;
}

tsr_status rt_graph_note(tsr_graph *g, ir_value *v, tsr_value *out) {
  if (!v || !al_grow(&g->ctx->al, &g->values, &g->cap_values, g->n_values + 1, sizeof *g->values)) return st_oom();
  g->values[g->n_values++] = v;
  *out = (tsr_value)g->n_values;
  return NULL;
}

tsr_status rt_graph_close(tsr_graph *g, ir_op *func) {
  tsr_value unused;
  g->func = func;
  g->closed = true;
  for (int i = 0; i < func->regions[0]->n_args; i++) TSR_TRY(rt_graph_note(g, func->regions[0]->args[i], &unused));
  return NULL;
}

static tsr_graph *begin(tsr_graph *g) {
  if (!g->within_pass) ir_begin(g->m);
  return g;
}

static tsr_status end(tsr_graph *g, tsr_status st) { return st && !g->within_pass ? ir_cause(g->m, NULL, st) : st; }

void tsr_graph_destroy(tsr_graph **gp) {
  tsr_graph *g = gp ? *gp : NULL;
  if (!g) return;
  ir_module_destroy(&g->m);
  al_free_array(&g->ctx->al, g->values, g->cap_values);
  name_set_clear(&g->inputs);
  al_delete(&g->ctx->al, g);
  *gp = NULL;
}

tsr_status tsr_graph_create(tsr_context *c, const char *name, tsr_graph **out) {
  RT_OUT("graph_create", out);
  RT_NEED("graph_create", "ctx", c);
  tsr_graph *g;
  TSR_TRY(rt_graph_new(c, &g));
  tsr_status st = ir_module_create(&c->al, &g->m);
  if (!st) {
    ir_builder b = ir_at_end(g->m, g->m->root->regions[0]);
    g->func = ir_op_new(&b, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
    if (!g->func || !ir_set_attr(g->func, "sym_name", ir_attr_str(g->m, name && *name ? name : "main"))) st = st_oom();
  }
  if (!st) {
    ir_builder in = ir_at_end(g->m, g->func->regions[0]);
    if (!ir_op_new(&in, graph_def(G_RETURN), 0, NULL, 0, NULL, 0)) st = st_oom();
  }
  if (st) tsr_graph_destroy(&g);
  *out = g;
  return st;
}

tsr_status tsr_graph_parse(tsr_context *c, const char *text, size_t bytes, const char *file, tsr_graph **out) {
  RT_OUT("graph_parse", out);
  RT_NEED("graph_parse", "ctx", c);
  TSR_TRY(rt_check_array("graph_parse", "text", text, (int64_t)bytes));
  tsr_graph *g;
  TSR_TRY(rt_graph_new(c, &g));
  tsr_status st = ir_parse(&c->al, text, bytes, file, &g->m);
  if (!st) {
    ir_op *func = graph_find_func(g->m, NULL);
    st = func ? rt_graph_close(g, func)
              : st_make(&c->al, TSR_PARSE_ERROR, RT_WHERE("graph_parse", "tsr_program_parse takes the other levels"),
                        "%s:1:1: expected a tessera.graph.func", file ? file : "<text>");
  }
  if (st) tsr_graph_destroy(&g);
  *out = g;
  return st;
}

tsr_status rt_check_shape(const tsr_graph *g, const char *fn, tsr_dtype t, const tsr_shape *s) {
  if (!dtype_unit(t)) return RT_BAD(g->ctx, fn, NULL, "unknown data type %d", (int)t);
  if (s->rank < 0 || s->rank > TSR_MAX_RANK)
    return RT_BAD(g->ctx, fn, NULL, "rank %d; at most %d", s->rank, TSR_MAX_RANK);
  int64_t n = (int64_t)dtype_unit(t);
  for (int i = 0; i < s->rank; i++)
    if (s->dims[i] != TSR_ANY_DIM && (s->dims[i] < 0 || __builtin_mul_overflow(n, s->dims[i] ? s->dims[i] : 1, &n)))
      return RT_BAD(g->ctx, fn, NULL, "dimension %d = %lld is out of range", i, (long long)s->dims[i]);
  return NULL;
}

tsr_status tsr_graph_input(tsr_graph *g, const char *name, tsr_dtype t, tsr_shape s, tsr_value *out) {
  RT_OUT("graph_input", out);
  RT_NEED("graph_input", "g", g);
  if (g->closed) return RT_BAD(g->ctx, "graph_input", NULL, "the graph is complete and can't be extended");
  TSR_TRY(rt_check_shape(g, "graph_input", t, &s));
  if (name && *name && !ir_name_is_plain(name))
    return RT_BAD(g->ctx, "graph_input", "a letter or _, then letters, digits and _ . $ -",
                  "the name is none that IR text can hold");
  if (name && name_set_has(&g->inputs, name))
    return RT_BAD(g->ctx, "graph_input", "names tell inputs apart; NULL is none", "there is an input \"%s\" already",
                  name);
  for (int i = 0; i < s.rank; i++)
    if (s.dims[i] == TSR_ANY_DIM) s.dims[i] = IR_DYNAMIC;
  const ir_type *type = ir_type_tensor(begin(g)->m, t, s.rank, s.dims);
  ir_value *v = ir_block_arg(g->m, g->func->regions[0], type, name);
  g->inputs.al = &g->ctx->al;
  if (v && name && *name && !name_set_add(&g->inputs, v->name)) return st_oom();
  return end(g, rt_graph_note(g, v, out));
}

static ir_builder before_return(tsr_graph *g) { return ir_before(g->func->regions[0]->last); }

tsr_status tsr_graph_constant(tsr_graph *g, tsr_dtype t, tsr_shape s, const void *data, tsr_value *out) {
  RT_OUT("graph_constant", out);
  RT_NEED("graph_constant", "g", g);
  if (g->closed) return RT_BAD(g->ctx, "graph_constant", NULL, "the graph is complete and can't be extended");
  TSR_TRY(rt_check_shape(g, "graph_constant", t, &s));
  const ir_type *type = ir_type_tensor(begin(g)->m, t, s.rank, s.dims);
  if (!type) return end(g, st_oom());
  if (ir_type_count(type) < 0) return RT_BAD(g->ctx, "graph_constant", NULL, "a constant has known dimensions");
  if (ir_type_count(type) > 0) RT_NEED("graph_constant", "data", data);
  ir_builder b = before_return(g);
  ir_value *v = graph_elements(&b, type, data);
  return end(g, v ? rt_graph_note(g, v, out) : st_oom());
}

tsr_status rt_check_attrs(const tsr_graph *g, const char *op, const tsr_attr *a, int n) {
  TSR_TRY(rt_check_array(op, "attributes", a, n));
  if (n > IR_MOST_ATTRS) return RT_BAD(g->ctx, op, NULL, "%d attributes; at most %d", n, IR_MOST_ATTRS);
  for (int i = 0; i < n; i++) {
    if (!a[i].name || !*a[i].name) return RT_BAD(g->ctx, op, NULL, "attribute %d has no name", i);
    TSR_TRY(rt_check_enum(&g->ctx->al, op, "attribute kind", (int64_t)a[i].kind,
                          "int, float, bool, string, ints, floats"));
    if (a[i].kind == TSR_ATTR_STRING && !a[i].s)
      return RT_BAD(g->ctx, op, NULL, "the string of attribute %s is NULL", a[i].name);
    const bool floats = a[i].kind == TSR_ATTR_FLOATS;
    const void *list = floats ? (const void *)a[i].floats : a[i].ints;
    const int n_list = floats ? a[i].n_floats : a[i].n_ints;
    if ((floats || a[i].kind == TSR_ATTR_INTS) && (n_list < 0 || (n_list && !list)))
      return RT_BAD(g->ctx, op, NULL, "the %d numbers of attribute %s are not there", n_list, a[i].name);
  }
  return NULL;
}

static const ir_opdef *find_op(const char *name) {
  char full[128] = "tessera.graph.";
  if (!strncmp(name, "tessera.", 8)) return ir_find_op(name);
  strncat(full, name, sizeof full - strlen(full) - 1);
  return ir_find_op(full);
}

static tsr_status add_op(tsr_graph *g, const char *name, const tsr_value *operands, int n, const tsr_attr *attrs,
                         int n_attrs, tsr_value *out, int n_out) {
  if (g->closed) return RT_BAD(g->ctx, "graph_op", NULL, "the graph is complete and can't be extended");
  const ir_opdef *def = name ? find_op(name) : NULL;
  bool custom = !def;
  if (custom) def = graph_def(G_CUSTOM);
  if (def->level != IR_GRAPH || def->code == G_FUNC || def->code == G_RETURN)
    return st_make(&g->ctx->al, TSR_NOT_FOUND, ST_WHERE("graph", name, "`tessera ops` lists them"),
                   "no such operation");
  ir_value *v[64];
  if (n < 0 || n > 64) return RT_BAD(g->ctx, name, NULL, "%d operands", n);
  TSR_TRY(rt_check_array(name, "operands", operands, n));
  TSR_TRY(rt_check_attrs(g, name, attrs, n_attrs));
  for (int i = 0; i < n; i++) {
    if (operands[i] < 1 || operands[i] > g->n_values)
      return RT_BAD(g->ctx, name, NULL, "operand %d is not a value of this graph", i);
    v[i] = g->values[operands[i] - 1];
  }
  ir_builder b = before_return(g);
  ir_op *op = ir_op_new(&b, def, n, v, n_out, NULL, 0);
  if (!op) return st_oom();
  tsr_status st = NULL;
  for (int i = 0; i < n_attrs && !st; i++)
    if (!ir_set_attr(op, attrs[i].name, ir_attr_given(g->m, &attrs[i]))) st = st_oom();
  if (!st && custom) {
    bool found = false;
    if (!ir_set_attr(op, "callee", ir_attr_str(g->m, name ? name : ""))) st = st_oom();
    if (!st) st = rt_custom_infer(g, name, op, &op->results[0]->type, &found);
    if (!st && !found)
      st =
          st_make(&g->ctx->al, TSR_NOT_FOUND, ST_WHERE("graph", name, "`tessera ops` lists them"), "no such operation");
  }
  if (!st) st = ir_verify_op(op);
  for (int i = 0; i < n_out && !st; i++) st = rt_graph_note(g, op->results[i], &out[i]);
  if (st) ir_op_remove(op);
  return st;
}

tsr_status tsr_graph_op(tsr_graph *g, const char *name, const tsr_value *operands, int n, const tsr_attr *attrs,
                        int n_attrs, tsr_value *out) {
  RT_NEED("graph_op", "out", out);
  tsr_status st = g ? end(g, add_op(begin(g), name, operands, n, attrs, n_attrs, out, 1)) : rt_missing("graph_op", "g");
  if (st) *out = 0; /* not before: it may be one of the operands */
  return st;
}

tsr_status tsr_graph_op_results(tsr_graph *g, const char *name, const tsr_value *operands, int n, const tsr_attr *attrs,
                                int n_attrs, tsr_value *out, int n_out) {
  RT_NEED("graph_op_results", "out", out);
  RT_NEED("graph_op_results", "g", g);
  if (n_out < 1 || n_out > 64) return RT_BAD(g->ctx, "graph_op_results", "1 to 64", "%d results", n_out);
  tsr_status st = end(g, add_op(begin(g), name, operands, n, attrs, n_attrs, out, n_out));
  for (int i = 0; i < n_out && st; i++) out[i] = 0;
  return st;
}

tsr_status tsr_graph_output(tsr_graph *g, tsr_value v) {
  RT_NEED("graph_output", "g", g);
  if (g->closed) return RT_BAD(g->ctx, "graph_output", NULL, "the graph is complete and can't be extended");
  if (v < 1 || v > g->n_values) return RT_BAD(g->ctx, "graph_output", NULL, "not a value of this graph");
  begin(g);
  return ir_add_operand(g->func->regions[0]->last, g->values[v - 1]) ? NULL : end(g, st_oom());
}

tsr_status tsr_graph_layout(tsr_graph *g, tsr_value v, const int64_t *order, int n) {
  const char *const fn = "graph_layout";
  RT_NEED(fn, "g", g);
  TSR_TRY(rt_check_array(fn, "order", order, n));
  if (v < 1 || v > g->n_values) return RT_BAD(g->ctx, fn, NULL, "not a value of this graph");
  ir_value *x = g->values[v - 1];
  const char *why = ir_layout_fault(order, n, x->type->rank);
  if (why) return RT_BAD(g->ctx, fn, "of a matrix: {0, 1} by rows, {1, 0} by columns", "%s", why);
  return (x->layout = ir_layout_make(&g->m->arena, order, n)) ? NULL : st_oom();
}

tsr_status tsr_graph_set_memory_budget(tsr_graph *g, int64_t bytes) {
  RT_NEED("graph_set_memory_budget", "g", g);
  if (bytes < 0) return RT_BAD(g->ctx, "graph_set_memory_budget", "0 = none", "%lld bytes", (long long)bytes);
  begin(g);
  return ir_set_attr(g->func, "memory_budget", ir_attr_int(g->m, bytes)) ? NULL : end(g, st_oom());
}

static void public_dims(const ir_type *t, int64_t dims[TSR_MAX_RANK]) {
  for (int i = 0; i < t->rank; i++) dims[i] = t->dims[i] == IR_DYNAMIC ? TSR_ANY_DIM : t->dims[i];
}

tsr_status tsr_graph_type(const tsr_graph *g, tsr_value v, tsr_dtype *t, tsr_shape *s) {
  RT_OUT("graph_type", t);
  RT_NEED("graph_type", "shape", s);
  *s = (tsr_shape){0};
  RT_NEED("graph_type", "g", g);
  if (v < 1 || v > g->n_values) return RT_BAD(g->ctx, "graph_type", NULL, "not a value of this graph");
  const ir_type *x = g->values[v - 1]->type;
  *t = x->dtype;
  s->rank = x->rank;
  public_dims(x, s->dims);
  return NULL;
}

tsr_status tsr_graph_print(const tsr_graph *g, char **text) {
  RT_OUT("graph_print", text);
  RT_NEED("graph_print", "g", g);
  strb b;
  strb_init(&b, &g->ctx->al);
  ir_print(&b, g->m);
  return rt_text(g->ctx, &b, text);
}

static tsr_status check_inputs(const tsr_graph *g, const char *fn, const void *const *inputs) {
  int n = tsr_graph_n_inputs(g);
  TSR_TRY(rt_check_array(fn, "inputs", inputs, n));
  for (int i = 0; i < n; i++)
    if (!inputs[i] && tsr_graph_input_info(g, i).bytes) return RT_BAD(g->ctx, fn, NULL, "input %d is NULL", i);
  return NULL;
}

/* Inputs and results are read and written as they lie in memory: *func is g's function, or one of *copy. */
static tsr_status as_in_memory(const tsr_graph *g, ir_module **copy, ir_op **func) {
  *copy = NULL;
  *func = g->func;
  if (!graph_has_layouts(g->func)) return NULL;
  TSR_TRY(ir_module_clone(g->m, copy));
  *func = graph_find_func(*copy, ir_get_str(g->func, "sym_name", NULL));
  return graph_apply_layouts(*copy, NULL);
}

tsr_status tsr_graph_reference(const tsr_graph *g, const void *const *inputs, double *const *outputs,
                               double *const *tolerance) {
  graph_evaluator *e = NULL;
  ir_module *copy = NULL;
  ir_op *func;
  tsr_status st = NULL;
  RT_NEED("graph_reference", "g", g);
  TSR_TRY(check_inputs(g, "graph_reference", inputs));
  TSR_TRY(rt_check_array("graph_reference", "outputs", outputs, tsr_graph_n_outputs(g)));
  for (int i = 0; i < tsr_graph_n_outputs(g); i++)
    if (tsr_graph_output_info(g, i).bytes) RT_NEED("graph_reference", "an output", outputs[i]);
  TSR_TRY(ir_verify(g->m));
  TSR_GOTO(as_in_memory(g, &copy, &func));
  TSR_GOTO(graph_evaluator_create(func, inputs, &e));
  graph_evaluator_set_custom(e, rt_custom_eval, g->ctx);
  TSR_GOTO(graph_evaluate_all(e));
  const ir_op *ret = func->regions[0]->last;
  for (int i = 0; i < ret->n_operands; i++) {
    int64_t n = graph_numbers(ret->operands[i]->type);
    for (int64_t k = 0; k < n; k++) {
      graph_num x;
      TSR_GOTO(graph_element(e, ret->operands[i], k, &x));
      outputs[i][k] = x.v;
      if (tolerance && tolerance[i]) tolerance[i][k] = x.e;
    }
  }
done:
  graph_evaluator_destroy(&e);
  ir_module_destroy(&copy);
  return st;
}

tsr_status tsr_graph_reference_at(const tsr_graph *g, const void *const *inputs, int output, const int64_t *elements,
                                  int n, double *values, double *tolerance) {
  graph_evaluator *e = NULL;
  ir_module *copy = NULL;
  ir_op *func;
  tsr_status st = NULL;
  RT_NEED("graph_reference_at", "g", g);
  TSR_TRY(check_inputs(g, "graph_reference_at", inputs));
  TSR_TRY(rt_check_array("graph_reference_at", "elements", elements, n));
  TSR_TRY(rt_check_array("graph_reference_at", "values", values, n));
  const ir_op *ret = g->func->regions[0]->last;
  if (output < 0 || output >= ret->n_operands)
    return RT_BAD(g->ctx, "graph_reference_at", NULL, "no output %d", output);
  int64_t count = graph_numbers(ret->operands[output]->type);
  TSR_GOTO(as_in_memory(g, &copy, &func));
  ret = func->regions[0]->last;
  TSR_GOTO(graph_evaluator_create(func, inputs, &e));
  graph_evaluator_set_custom(e, rt_custom_eval, g->ctx);
  for (int i = 0; i < n; i++) {
    graph_num x;
    if (elements[i] < 0 || elements[i] >= count)
      TSR_GOTO(
          RT_BAD(g->ctx, "graph_reference_at", NULL, "element %lld of %lld", (long long)elements[i], (long long)count));
    TSR_GOTO(graph_element(e, ret->operands[output], elements[i], &x));
    values[i] = x.v;
    if (tolerance) tolerance[i] = x.e;
  }
done:
  graph_evaluator_destroy(&e);
  ir_module_destroy(&copy);
  return st;
}

int tsr_graph_n_inputs(const tsr_graph *g) { return !g ? 0 : g->func->regions[0]->n_args; }
int tsr_graph_n_outputs(const tsr_graph *g) { return !g ? 0 : g->func->regions[0]->last->n_operands; }

static tsr_tensor_info info_of(const ir_value *v) {
  tsr_tensor_info i = {.name = v->name ? v->name : "",
                       .dtype = v->type->dtype,
                       .shape.rank = v->type->rank,
                       .line = ir_value_loc(v).line,
                       .column = ir_value_loc(v).col};
  public_dims(v->type, i.shape.dims);
  int64_t n = ir_type_count(v->type);
  i.bytes = n > 0 ? (size_t)ir_type_bytes(v->type) : 0;
  return i;
}

tsr_tensor_info tsr_graph_input_info(const tsr_graph *g, int i) {
  return i < 0 || i >= tsr_graph_n_inputs(g) ? (tsr_tensor_info){.name = ""} : info_of(g->func->regions[0]->args[i]);
}
tsr_tensor_info tsr_graph_output_info(const tsr_graph *g, int i) {
  return i < 0 || i >= tsr_graph_n_outputs(g) ? (tsr_tensor_info){.name = ""}
                                              : info_of(g->func->regions[0]->last->operands[i]);
}

tsr_status tsr_ops_json(tsr_context *c, char **text) {
  RT_OUT("ops_json", text);
  RT_NEED("ops_json", "ctx", c);
  strb b;
  strb_init(&b, &c->al);
  ir_ops_json(&b);
  return rt_text(c, &b, text);
}

tsr_status tsr_ops_markdown(tsr_context *c, char **text) {
  RT_OUT("ops_markdown", text);
  RT_NEED("ops_markdown", "ctx", c);
  strb b;
  strb_init(&b, &c->al);
  ir_ops_markdown(&b);
  return rt_text(c, &b, text);
}
